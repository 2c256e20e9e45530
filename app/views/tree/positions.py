"""The order of the nodes in each layer, and their positions."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ordering: TypeAlias = list[NDArray[np.intp]]  # per layer, its nodes (by index) from left to right
_ORDER_SWEEPS = 10
_SHUFFLES = 2
_LOYALTY = 1.15  # an order based on the previous picture may have this many times the crossings


def count_crossings(links: Sequence[NDArray[np.int64]], order: Ordering) -> int:
    """Return how many pairs of edges cross.

    Parameters
    ----------
    links : sequence of (n_upper, n_lower) 0/1 arrays
        Adjacency between each layer and the next.
    order : list of index arrays
        One per layer, left to right.
    """
    total = 0
    for gap, link in enumerate(links):
        adjacency = link[np.ix_(order[gap], order[gap + 1])]
        # edges (u', v') with u' < u and v' > v, for every edge (u, v)
        right = adjacency[:, ::-1].cumsum(axis=1)[:, ::-1] - adjacency
        above = right.cumsum(axis=0) - right
        total += int((adjacency * above).sum())
    return total


def order_layers(
    links: Sequence[NDArray[np.int64]], sizes: Sequence[int], previous: Ordering | None = None
) -> Ordering:
    """Return an order of the nodes of each layer with few crossings of edges.

    Parameters
    ----------
    links : sequence of (n_upper, n_lower) 0/1 arrays
    sizes : sequence of int
        Nodes per layer, top first.
    previous : list of index arrays, optional
        The order of the picture on screen, which is kept unless another one is clearly better.
    """
    if not links:
        return [np.arange(size) for size in sizes] if previous is None else previous
    orders = [_improve_order(links, start) for start in _propose_orders(links, sizes)]
    scores = [count_crossings(links, order) for order in orders]
    best = int(np.argmin(scores))
    if previous is None:
        return orders[best]
    for candidate in (previous, _improve_order(links, previous)):
        if count_crossings(links, candidate) <= _LOYALTY * scores[best]:
            return candidate
    return orders[best]


def _propose_orders(links: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> list[Ordering]:
    """Return orders to start from: the given one, depth first, and some at random (with a fixed seed)."""
    rng = np.random.default_rng(7)
    starts = [[np.arange(size) for size in sizes], _order_depth_first(links, sizes)]
    starts.extend([rng.permutation(size) for size in sizes] for _ in range(_SHUFFLES))
    return starts


def _order_depth_first(links: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> Ordering:
    """Return the nodes of each layer in the order in which a depth-first walk from the top visits them."""
    visited: list[dict[int, None]] = [{} for _ in sizes]

    def visit(layer: int, node: int) -> None:
        if node in visited[layer]:
            return
        visited[layer][node] = None
        if layer < len(links):
            for child in np.flatnonzero(links[layer][node]).tolist():
                visit(layer + 1, child)

    for layer, size in enumerate(sizes):
        for node in range(size):
            visit(layer, node)
    return [np.array(list(nodes), dtype=np.intp) for nodes in visited]


def _improve_order(links: Sequence[NDArray[np.int64]], start: Ordering) -> Ordering:
    """Return the order with the fewest crossings found by sweeps of barycentre sorting and swaps of neighbours."""
    order = [layer.copy() for layer in start]
    best, fewest = [layer.copy() for layer in order], count_crossings(links, order)
    for sweep in range(_ORDER_SWEEPS):
        layers = range(1, len(order)) if sweep % 2 == 0 else range(len(order) - 2, -1, -1)
        for layer in layers:
            adjacency = [_order_adjacency(links, order, layer, above=sweep % 2 == 0)]
            order[layer] = order[layer][_sort_by_barycentre(adjacency[0])]
        for layer in range(len(order)):
            _swap_neighbours(links, order, layer)
        if (count := count_crossings(links, order)) < fewest:
            best, fewest = [layer.copy() for layer in order], count
    return best


def _order_adjacency(
    links: Sequence[NDArray[np.int64]], order: Ordering, layer: int, *, above: bool
) -> NDArray[np.int64]:
    """Return the adjacency (nodes of ``layer``, nodes of the layer above or below), both in their current order."""
    if above:
        return links[layer - 1][np.ix_(order[layer - 1], order[layer])].T
    return links[layer][np.ix_(order[layer], order[layer + 1])]


def _sort_by_barycentre(adjacency: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the order of nodes by the mean position of their neighbours."""
    degree = adjacency.sum(axis=1)
    centre = adjacency @ np.arange(adjacency.shape[1]) / np.maximum(degree, 1)
    # a node without neighbours keeps its relative position
    current = np.arange(len(adjacency)) * (adjacency.shape[1] / max(len(adjacency), 1))
    return np.argsort(np.where(degree > 0, centre, current), kind="stable")


def _swap_neighbours(links: Sequence[NDArray[np.int64]], order: Ordering, layer: int) -> None:
    """Swap adjacent nodes of a layer wherever that saves crossings, until no swap does (or 8 rounds)."""
    for turn in range(8):
        adjacencies = []
        if layer > 0:
            adjacencies.append(_order_adjacency(links, order, layer, above=True))
        if layer < len(links):
            adjacencies.append(_order_adjacency(links, order, layer, above=False))
        gain = sum(
            (_count_saved(adjacency) for adjacency in adjacencies), np.zeros(len(order[layer]) - 1, dtype=np.int64)
        )
        swaps = (gain > 0) & (np.arange(len(gain)) % 2 == turn % 2)
        if not (gain > 0).any():
            return
        left = np.flatnonzero(swaps)
        nodes = order[layer].copy()
        nodes[left], nodes[left + 1] = order[layer][left + 1], order[layer][left]
        order[layer] = nodes


def _count_saved(adjacency: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the crossings saved by swapping node i and i + 1, for every i."""
    n_left = adjacency.cumsum(axis=1) - adjacency  # edges of each node that end left of each place
    current = (adjacency[:-1] * n_left[1:]).sum(axis=1)
    swapped = (adjacency[1:] * n_left[:-1]).sum(axis=1)
    return np.asarray(current - swapped, dtype=np.int64)


Floats = NDArray[np.float64]
_PULL_SWEEPS = 24
_FULL_PULL, _LEAST_PULL = 1e-4, 0.01  # weight of links from which a node is pulled with full strength; least strength
_FOLD_COST = 0.03  # one more row must enlarge the picture by at least this share


class BoxSizes(NamedTuple):
    """Widths and heights of the boxes of one layer, in their order from left to right."""

    widths: Floats
    heights: Floats


class BoxGaps(NamedTuple):
    """The gaps between the boxes of a row, the rows of a layer, and the layers."""

    across: float
    rows: float
    layers: float


class LayerRow(NamedTuple):
    """One row of a layer: the places in the layer (0 = leftmost) of its members, and the widths of their boxes."""

    layer: int
    members: NDArray[np.intp]
    widths: Floats


def fit_isotonic(values: Floats, weights: Floats) -> Floats:
    """Return the non-decreasing sequence nearest to ``values`` in weighted least squares.

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


def settle_centres(wanted: Floats, weights: Floats, widths: Floats, gap: float) -> Floats:
    """Return the centres nearest to ``wanted`` that keep the order of the boxes and a ``gap`` between neighbours."""
    if len(wanted) == 0:
        return np.zeros(0)
    distance = np.concatenate([[0.0], ((widths[:-1] + widths[1:]) / 2 + gap).cumsum()])
    settled: Floats = fit_isotonic(wanted - distance, weights) + distance
    return settled


def fold_layers(layers: Sequence[BoxSizes], gaps: BoxGaps, aspect: float) -> list[int]:
    """Return the number of interleaved rows into which each layer is folded.

    The numbers make the picture as large as possible in a window of ``aspect`` = width / height.
    """
    totals = [float((layer.widths + gaps.across).sum()) for layer in layers]
    widest = max(float(layer.widths.max()) for layer in layers)
    best, smallest = [1] * len(layers), np.inf
    for limit in np.geomspace(widest + gaps.across, max(*totals, widest) + gaps.across, 48):
        rows = [max(1, int(np.ceil(total / limit))) for total in totals]
        width = max(_measure_row_widths(layer, count, gaps.across) for layer, count in zip(layers, rows, strict=True))
        height = sum(_measure_row_heights(layer, count, gaps.rows) for layer, count in zip(layers, rows, strict=True))
        height += gaps.layers * (len(layers) - 1)
        size = max(width / aspect, height) * (1 + _FOLD_COST * (sum(rows) - len(rows)))
        if size < smallest - 1e-9:
            best, smallest = rows, size
    return best


def spread_nodes(
    rows: Sequence[LayerRow], links: Sequence[NDArray[np.float64]], sizes: Sequence[int], gap: float
) -> list[Floats]:
    """Return the x coordinate of the centre of every node.

    Each node is drawn to the weighted mean of its neighbours, alternately those above and those
    below, under the constraint that the boxes of a row do not touch.

    Parameters
    ----------
    links : sequence of (n_upper, n_lower) arrays
        Edge weights between consecutive layers, nodes in their left-to-right order.
    sizes : sequence of int
        Nodes per layer.
    gap : float
        The least space between two boxes of a row.

    Returns
    -------
    list of (n,) arrays, one per layer
    """
    centres = [np.zeros(size) for size in sizes]
    for row in rows:
        start = settle_centres(np.zeros(len(row.members)), np.ones(len(row.members)), row.widths, gap)
        centres[row.layer][row.members] = start - (start[0] + start[-1]) / 2
    for sweep in range(_PULL_SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else rows[::-1]:
            wanted, pull = _request_centres(links, centres, row.layer, downwards=downwards)
            centres[row.layer][row.members] = settle_centres(wanted[row.members], pull[row.members], row.widths, gap)
    return centres


def _request_centres(
    links: Sequence[NDArray[np.float64]], centres: list[Floats], layer: int, *, downwards: bool
) -> tuple[Floats, Floats]:
    """Return the wanted centres of the nodes of a layer, and the weight of each in `settle_centres`."""
    if downwards and layer > 0:
        weights, neighbours = links[layer - 1].T, centres[layer - 1]
    elif not downwards and layer < len(links):
        weights, neighbours = links[layer], centres[layer + 1]
    else:
        return centres[layer], np.ones(len(centres[layer]))
    mass = weights.sum(axis=1)
    mean = weights @ neighbours / np.where(mass > 0, mass, 1.0)
    pull = np.clip(mass / _FULL_PULL, _LEAST_PULL, 1.0)
    return np.where(mass > 0, mean, centres[layer]), np.where(mass > 0, pull, 0.25)


def _measure_row_widths(layer: BoxSizes, rows: int, gap: float) -> float:
    """Return the width of the widest row of a layer folded into ``rows`` rows."""
    return max(float((layer.widths[row::rows] + gap).sum()) - gap for row in range(rows))


def _measure_row_heights(layer: BoxSizes, rows: int, gap: float) -> float:
    """Return the height of a layer folded into ``rows`` rows, with the gaps between them."""
    rows = min(rows, len(layer.heights))
    return sum(float(layer.heights[row::rows].max()) for row in range(rows)) + gap * (rows - 1)
