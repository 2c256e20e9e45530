"""Where nodes stand: wide layers folded into rows, and the least-squares x under minimum gaps."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SWEEPS = 24
_FIRM, _LEAST_PULL = 1e-4, 0.01  # links lighter than the first (those of guests) hardly push others away
_FOLD_COST = 0.03  # a row more must make the picture this much larger to be worth it


class Sizes(NamedTuple):
    """Widths and heights of the boxes of one layer, in their order from left to right."""

    widths: Floats
    heights: Floats


class Gaps(NamedTuple):
    """Free space between boxes of a row, rows of a layer, and layers."""

    across: float
    rows: float
    layers: float


class Row(NamedTuple):
    """One row of a layer: which of the layer's places (0 = leftmost) stand in it."""

    layer: int
    members: NDArray[np.intp]
    widths: Floats


def isotonic(values: Floats, weights: Floats) -> Floats:
    """Find the non-decreasing sequence nearest to ``values`` in weighted least squares.

    Pool-adjacent-violators (Ayer et al. 1955): exact, one pass.
    """
    means: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, length = value, weight, 1
        while means and means[-1] > mean:
            mean = (means[-1] * masses[-1] + mean * mass) / (masses[-1] + mass)
            mass += masses.pop()
            length += lengths.pop()
            means.pop()
        means.append(mean)
        masses.append(mass)
        lengths.append(length)
    return np.repeat(means, lengths)


def settle(request: Floats, weights: Floats, widths: Floats, gap: float) -> Floats:
    """Centres nearest to ``request`` so that neighbours keep their order and ``gap`` between them."""
    if len(request) == 0:
        return np.zeros(0)
    distance = np.concatenate([[0.0], ((widths[:-1] + widths[1:]) / 2 + gap).cumsum()])
    settled: Floats = isotonic(request - distance, weights) + distance
    return settled


def fold(layers: Sequence[Sizes], gaps: Gaps, aspect: float) -> list[int]:
    """Choose into how many interleaved rows each layer is folded.

    The choice makes the picture as large as possible in a window of ``aspect`` = width / height.
    """
    totals = [float((layer.widths + gaps.across).sum()) for layer in layers]
    widest = max(float(layer.widths.max()) for layer in layers)
    best, smallest = [1] * len(layers), np.inf
    for limit in np.geomspace(widest + gaps.across, max(*totals, widest) + gaps.across, 48):
        rows = [max(1, int(np.ceil(total / limit))) for total in totals]
        width = max(_row_widths(layer, count, gaps.across) for layer, count in zip(layers, rows, strict=True))
        height = sum(_row_heights(layer, count, gaps.rows) for layer, count in zip(layers, rows, strict=True))
        height += gaps.layers * (len(layers) - 1)
        size = max(width / aspect, height) * (1 + _FOLD_COST * (sum(rows) - len(rows)))
        if size < smallest - 1e-9:
            best, smallest = rows, size
    return best


def spread(rows: Sequence[Row], links: Sequence[NDArray[np.float64]], sizes: Sequence[int], gap: float) -> list[Floats]:
    """Find the x of the centre of every node.

    Each node is drawn to the weighted mean of its neighbours, alternately those above and those
    below, under the constraint that the boxes of a row do not touch.

    Parameters
    ----------
    rows : sequence of Row
    links : sequence of (n_upper, n_lower) arrays
        Edge weights between consecutive layers, nodes in their left-to-right order.
    sizes : sequence of int
        Nodes per layer.
    gap : float
        Least space between two boxes.

    Returns
    -------
    list of (n,) arrays, one per layer
    """
    centres = [np.zeros(size) for size in sizes]
    for row in rows:
        start = settle(np.zeros(len(row.members)), np.ones(len(row.members)), row.widths, gap)
        centres[row.layer][row.members] = start - (start[0] + start[-1]) / 2
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else rows[::-1]:
            request, pull = _requested(links, centres, row.layer, downwards=downwards)
            centres[row.layer][row.members] = settle(request[row.members], pull[row.members], row.widths, gap)
    return centres


def _requested(
    links: Sequence[NDArray[np.float64]], centres: list[Floats], layer: int, *, downwards: bool
) -> tuple[Floats, Floats]:
    if downwards and layer > 0:
        near, others = links[layer - 1].T, centres[layer - 1]
    elif not downwards and layer < len(links):
        near, others = links[layer], centres[layer + 1]
    else:
        return centres[layer], np.ones(len(centres[layer]))
    mass = near.sum(axis=1)
    mean = near @ others / np.where(mass > 0, mass, 1.0)
    pull = np.clip(mass / _FIRM, _LEAST_PULL, 1.0)
    return np.where(mass > 0, mean, centres[layer]), np.where(mass > 0, pull, 0.25)


def _row_widths(layer: Sizes, rows: int, gap: float) -> float:
    return max(float((layer.widths[row::rows] + gap).sum()) - gap for row in range(rows))


def _row_heights(layer: Sizes, rows: int, gap: float) -> float:
    rows = min(rows, len(layer.heights))
    return sum(float(layer.heights[row::rows].max()) for row in range(rows)) + gap * (rows - 1)
