"""Whether a curve still falls, told from its points alone: no clock, no randomness, nothing of the model.

A curve of point perplexity falls steeply at first, then slowly, with a noise of about 0.3 % (the topics move; the
documents and the dice that judge them do not), of small corpora 0.7 %, and the lowest of many noisy points goes on
falling by luck.  So the mean of the last third of the steps is compared with the lowest that three neighbouring points
before it have together.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Curve: TypeAlias = Sequence[tuple[int, float]] | Array  # an array has a row (step, value) for each point

WINDOW = 1 / 3  # part of the steps that has to bring something
GAIN = 0.003  # of the lowest mean before it
LEAST_POINTS = 3  # of the window, and before it: fewer say nothing beside the noise
LEAST_SWEEPS = 150  # of a run that ends at its plateau: topics still come apart when perplexity hardly falls
SMOOTH = 3  # points of such a mean
NEAR = 0.02  # a run has burnt in where its curve first is as near to the lowest value it has reached


def plateau(curve: Curve) -> int | None:
    """The step since which a curve no longer improves, None while it still falls (or has too few points to tell).

    Parameters
    ----------
    curve : sequence of (step, value), or such an array
        Steps ascending, lower values better; values that are not finite are left out.

    Returns
    -------
    int or None
        The last step before the first window that brought less than ``GAIN``, with no window after it that brought
        more.
    """
    steps, values = _drop_unknown(curve)
    if len(steps) < 2 * LEAST_POINTS:
        return None
    ends = np.arange(1, len(steps) + 1)
    begins = _begins(steps)
    told = np.minimum(begins, ends - begins) >= LEAST_POINTS
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means = np.convolve(values, np.full(SMOOTH, 1 / SMOOTH), "valid")
    lowest = np.concatenate([np.full(SMOOTH, math.inf), np.minimum.accumulate(means)])
    level = told & ((sums[ends] - sums[begins]) / np.maximum(ends - begins, 1) > lowest[begins] * (1 - GAIN))
    falls = np.flatnonzero(~level)
    first = falls[-1] + 1 if len(falls) else 0
    return None if first == len(level) else int(steps[begins[first] - 1])


def settled(curve: Curve, swept: int) -> bool:
    """Whether a run that sweeps all documents may end: after ``swept`` sweeps, and its curve no longer improves."""
    return swept >= LEAST_SWEEPS and plateau(curve) is not None


def burnt_in(curve: Curve) -> int | None:
    """The step at which a curve first comes within ``NEAR`` of the lowest value it has reached; None without points."""
    steps, values = _drop_unknown(curve)
    near = np.flatnonzero(values <= values.min(initial=math.inf) * (1 + NEAR))
    return int(steps[near[0]]) if len(near) else None


def trend(curve: Curve) -> str:
    """Say it: ``still falling``, ``no longer improving since step 210``, or nothing of a curve too short to tell."""
    since = plateau(curve)
    if since is not None:
        return f"no longer improving since step {since:,}"
    steps, _ = _drop_unknown(curve)
    before = _begins(steps)[-1] if len(steps) else 0
    return "still falling" if min(before, len(steps) - before) >= LEAST_POINTS else ""


def _drop_unknown(curve: Curve) -> tuple[Array, Array]:
    """Steps, and values, of the points that are numbers."""
    points = np.asarray(curve, dtype=np.float64).reshape(-1, 2)
    steps, values = points[np.isfinite(points[:, 1])].T
    return steps.astype(np.int64), values


def _begins(steps: Array) -> Array:
    """Where the window begins that ends with each point: so many points are before it."""
    return np.searchsorted(steps, steps * (1 - WINDOW), side="right")
