"""The track below the cursor of the film: the curve of a run, with a tick at every snapshot that is kept."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 1000.0, 40.0  # of the track; the browser stretches it to the width of the page
_TICK, _LARGEST = 7.0, 26.0  # height of a tick, and further height of the tick of the largest change
LEAST_POINTS = 2  # of a curve
_MARGIN = 3.0  # free space above and below the curve


def place_moments(minibatches: Sequence[int]) -> list[float]:
    """Return the places of snapshots on the track, 0 to `WIDTH`, by the square roots of their mini-batches.

    Snapshots are closest at the beginning and at the end of a run; in proportion to the mini-batches, the first ones
    would lie on top of each other.
    """
    return [_find_place(minibatch, minibatches) for minibatch in minibatches]


def draw_track(
    minibatches: Sequence[int], curve: NDArray[np.float64], changes: Mapping[int, float] | None = None
) -> str:
    """Return the track as SVG.

    Parameters
    ----------
    minibatches : sequence of int
        Mini-batches of the snapshots, ascending.
    curve : (n, 2) array
        Mini-batches, ascending, and values; may be empty.
    changes : mapping of int to float, optional
        How much moved before a snapshot, by its mini-batch: its tick is higher.
    """
    largest = max((changes or {}).values(), default=0.0)
    heights = (_measure_tick((changes or {}).get(minibatch), largest) for minibatch in minibatches)
    ticks = "".join(
        f'<path class="fm-tick" d="M{place:.1f} {HEIGHT:g}v{-height:.1f}"/>'
        for place, height in zip(place_moments(minibatches), heights, strict=True)
    )
    view = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" aria-hidden="true"'
    return f'<svg class="fm-track" {view}>{draw_curve(minibatches, curve)}{ticks}</svg>'


def draw_curve(minibatches: Sequence[int], curve: NDArray[np.float64], scale: tuple[float, float] | None = None) -> str:
    """Return the part of a curve between the first and the last snapshot, or nothing if it has no two points.

    Parameters
    ----------
    minibatches : sequence of int
        Mini-batches of the snapshots, ascending.
    curve : (n, 2) array
        Mini-batches, ascending, and values; those that are not finite are left out.
    scale : (low, high), optional
        The values at the bottom and at the top; by default the lowest and the highest one of the curve.
    """
    if not minibatches or not len(curve):
        return ""
    inside = np.isfinite(curve[:, 1]) & (curve[:, 0] >= minibatches[0]) & (curve[:, 0] <= minibatches[-1])
    points = curve[inside]
    if len(points) < LEAST_POINTS:
        return ""
    low, high = scale or (float(points[:, 1].min()), float(points[:, 1].max()))
    unit = (HEIGHT - 2 * _MARGIN) / (high - low) if high > low else 0.0
    line = " ".join(
        f"{_find_place(minibatch, minibatches):.1f},{HEIGHT - _MARGIN - unit * (value - low):.1f}"
        for minibatch, value in points
    )
    return f'<polyline class="fm-curve" points="{line}"/>'


def _find_place(minibatch: float, minibatches: Sequence[int]) -> float:
    first, last = math.sqrt(minibatches[0]), math.sqrt(minibatches[-1])
    return WIDTH * (math.sqrt(minibatch) - first) / (last - first) if last > first else 0.0


def _measure_tick(change: float | None, largest: float) -> float:
    return _TICK + (_LARGEST * change / largest if change and largest else 0.0)
