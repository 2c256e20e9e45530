"""The order of the nodes in each layer: few crossings, the same every time, near to what it was.

Barycentre sweeps with adjacent swaps (Sugiyama, Tagawa and Toda 1981; Eades and Kelly 1986) from a
few starting orders, on dense adjacency matrices: layers have at most some hundred nodes.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ordering: TypeAlias = list[NDArray[np.intp]]  # per layer, its nodes (by index) from left to right
_SWEEPS = 10
_SHUFFLES = 2
_LOYALTY = 1.15  # an order grown from the previous picture may have this many times the crossings


def crossings(links: Sequence[NDArray[np.int64]], order: Ordering) -> int:
    """Count how often two edges cross.

    Parameters
    ----------
    links : sequence of (n_upper, n_lower) 0/1 arrays
        Adjacency between each layer and the next.
    order : list of index arrays
        One per layer, left to right.
    """
    total = 0
    for gap, link in enumerate(links):
        placed = link[np.ix_(order[gap], order[gap + 1])]
        # edges (u', v') with u' < u and v' > v, for every edge (u, v)
        right = placed[:, ::-1].cumsum(axis=1)[:, ::-1] - placed
        above = right.cumsum(axis=0) - right
        total += int((placed * above).sum())
    return total


def order_layers(
    links: Sequence[NDArray[np.int64]], sizes: Sequence[int], previous: Ordering | None = None
) -> Ordering:
    """Find an order with few crossings.

    Parameters
    ----------
    links : sequence of (n_upper, n_lower) 0/1 arrays
    sizes : sequence of int
        Nodes per layer, top first.
    previous : list of index arrays, optional
        The order the reader has before the eyes; it is kept unless another is clearly better.
    """
    if not links:
        return [np.arange(size) for size in sizes] if previous is None else previous
    found = [_improve(links, start) for start in _starts(links, sizes)]
    scores = [crossings(links, order) for order in found]
    best = int(np.argmin(scores))
    if previous is None:
        return found[best]
    for known in (previous, _improve(links, previous)):
        if crossings(links, known) <= _LOYALTY * scores[best]:
            return known
    return found[best]


def _starts(links: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> list[Ordering]:
    rng = np.random.default_rng(7)
    starts = [[np.arange(size) for size in sizes], _depth_first(links, sizes)]
    starts.extend([rng.permutation(size) for size in sizes] for _ in range(_SHUFFLES))
    return starts


def _depth_first(links: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> Ordering:
    met: list[dict[int, None]] = [{} for _ in sizes]

    def visit(layer: int, node: int) -> None:
        if node in met[layer]:
            return
        met[layer][node] = None
        if layer < len(links):
            for child in np.flatnonzero(links[layer][node]).tolist():
                visit(layer + 1, child)

    for layer, size in enumerate(sizes):
        for node in range(size):
            visit(layer, node)
    return [np.array(list(nodes), dtype=np.intp) for nodes in met]


def _improve(links: Sequence[NDArray[np.int64]], start: Ordering) -> Ordering:
    order = [layer.copy() for layer in start]
    best, fewest = [layer.copy() for layer in order], crossings(links, order)
    for sweep in range(_SWEEPS):
        layers = range(1, len(order)) if sweep % 2 == 0 else range(len(order) - 2, -1, -1)
        for layer in layers:
            near = [_placed(links, order, layer, above=sweep % 2 == 0)]
            order[layer] = order[layer][_by_barycentre(near[0])]
        for layer in range(len(order)):
            _swap_neighbours(links, order, layer)
        if (count := crossings(links, order)) < fewest:
            best, fewest = [layer.copy() for layer in order], count
    return best


def _placed(links: Sequence[NDArray[np.int64]], order: Ordering, layer: int, *, above: bool) -> NDArray[np.int64]:
    """Adjacency (nodes of ``layer``, nodes of its neighbour layer), both in their present order."""
    if above:
        return links[layer - 1][np.ix_(order[layer - 1], order[layer])].T
    return links[layer][np.ix_(order[layer], order[layer + 1])]


def _by_barycentre(near: NDArray[np.int64]) -> NDArray[np.intp]:
    degree = near.sum(axis=1)
    centre = near @ np.arange(near.shape[1]) / np.maximum(degree, 1)
    # a node without neighbours there stays where it is, relative to the others
    own = np.arange(len(near)) * (near.shape[1] / max(len(near), 1))
    return np.argsort(np.where(degree > 0, centre, own), kind="stable")


def _swap_neighbours(links: Sequence[NDArray[np.int64]], order: Ordering, layer: int) -> None:
    """Swap adjacent nodes of a layer wherever that saves crossings, until nothing does (or 8 rounds)."""
    for turn in range(8):
        near = []
        if layer > 0:
            near.append(_placed(links, order, layer, above=True))
        if layer < len(links):
            near.append(_placed(links, order, layer, above=False))
        gain = sum((_gain(one) for one in near), np.zeros(len(order[layer]) - 1, dtype=np.int64))
        request = (gain > 0) & (np.arange(len(gain)) % 2 == turn % 2)
        if not (gain > 0).any():
            return
        left = np.flatnonzero(request)
        nodes = order[layer].copy()
        nodes[left], nodes[left + 1] = order[layer][left + 1], order[layer][left]
        order[layer] = nodes


def _gain(near: NDArray[np.int64]) -> NDArray[np.int64]:
    """Crossings saved by swapping node i and i + 1, for every i."""
    before = near.cumsum(axis=1) - near  # edges of a node that end left of each place
    now = (near[:-1] * before[1:]).sum(axis=1)
    swapped = (near[1:] * before[:-1]).sum(axis=1)
    return np.asarray(now - swapped, dtype=np.int64)
