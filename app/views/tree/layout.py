"""The layout of a subnetwork with its boxes, in plain numbers: places, curves, bands.

The same subnetwork always gives the same layout, and a layout has no colours.

The order of the nodes in each layer, and their positions.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.app.views.tree.boxes import TopicBox
from topiary.engine.hierarchy.tree import Edge, Node, Subnetwork

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


WIDE = 16 / 9  # width / height of the window by default
MARGIN = 18.0
_BOX_GAP, _ROW_GAP = 16.0, 28.0  # gaps between the boxes of a row, and between the rows of a layer
_WIDEST_GAP = 80.0  # between the boxes of a row in a picture that has room
_GUTTER = 112.0  # width of the column of captions left of all boxes, which no edge enters
_CAPTION_LINE = 13.0  # baseline of a caption below the top of its layer
_MOST_STRETCH = 3.0  # the gap between layers grows to at most this many times the usual
CHIP = (74.0, 26.0)  # width and height of the chip "n more"
APART = -1_000_000  # the number of the band of background topics that stand apart, which is no layer


class BoxPlace(NamedTuple):
    """The upper left corner of a box, and the number of its row, from the top."""

    x: float
    y: float
    row: int


class Curve(NamedTuple):
    """An edge as an SVG path, and its line width."""

    edge: Edge
    path: str
    width: float


class Band(NamedTuple):
    """One layer of the picture: its number, the position of its caption, and the chip "n more".

    Layer `APART` are background topics that stand apart.
    """

    layer: int
    y: float
    shown: int
    more: int
    chip: tuple[float, float]


class TreeLayout(NamedTuple):
    """The layout of a picture of ``width`` x ``height`` points."""

    width: float
    height: float
    places: dict[Node, BoxPlace]
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...]

    def order(self) -> dict[int, tuple[Node, ...]]:
        """Return the nodes of each layer from left to right, as a start for the next layout."""
        layers: dict[int, list[Node]] = {}
        for node in self.places:
            layers.setdefault(node.layer, []).append(node)
        return {layer: tuple(nodes) for layer, nodes in layers.items()}


def lay_out_tree(
    part: Subnetwork,
    boxes: Mapping[Node, TopicBox],
    *,
    aspect: float = WIDE,
    previous: Mapping[int, Sequence[Node]] | None = None,
    more: Mapping[int, int] | None = None,
    apart: Sequence[Node] = (),
) -> TreeLayout:
    """Lay out a subnetwork.

    Parameters
    ----------
    boxes : mapping of Node to TopicBox
    aspect : float
        Width / height of the window; wide layers are folded so that the picture fills it.
    previous : mapping of layer to nodes, optional
        `TreeLayout.order` of the previous picture, which is kept if that costs few crossings.
    more : mapping of layer to int, optional
        How many topics of each layer are left out.
    apart : sequence of Node
        Topics without edges that stand in rows of their own below all others.
    """
    layers = _split_layers(part, apart)
    links = weigh_links(layers, part.edges)
    order = order_layers(
        [(link > 0).astype(np.int64) for link in links],
        [len(nodes) for nodes in layers],
        _reuse_order(layers, previous),
    )
    layers = [[nodes[index] for index in indices.tolist()] for nodes, indices in zip(layers, order, strict=True)]
    links = weigh_links(layers, part.edges)
    sizes = [_measure_sizes(nodes, boxes) for nodes in layers]
    gaps = BoxGaps(_BOX_GAP, _ROW_GAP, _choose_layer_gap(sizes))
    counts = fold_layers(sizes, gaps, aspect)
    rows = [
        LayerRow(layer, members := np.arange(len(nodes))[row::count], sizes[layer].widths[members])
        for layer, (nodes, count) in enumerate(zip(layers, counts, strict=True))
        for row in range(min(count, len(nodes)))
    ]
    counts_by_layer = [len(nodes) for nodes in layers]
    centres = spread_nodes(rows, links, counts_by_layer, _BOX_GAP)
    shelves = _stack_shelves(layers, rows, centres, boxes, gaps)
    spare = aspect * (shelves[-1].bottom + MARGIN) - max(shelf.ends[-1] for shelf in shelves) - MARGIN
    longest = max(len(row.members) for row in rows)
    if spare > 0 and longest > 1:  # use all of the width
        across = min(_BOX_GAP + spare / (longest - 1), _WIDEST_GAP)
        centres = spread_nodes(rows, links, counts_by_layer, across)
        shelves = _stack_shelves(layers, rows, centres, boxes, gaps)
    spare = (max(shelf.ends[-1] for shelf in shelves) + MARGIN) / aspect - shelves[-1].bottom - MARGIN
    if spare > 0 and len(layers) > 1:  # use all of the height: longer edges are easier to follow
        roomy = min(gaps.layers + spare / (len(layers) - 1), _MOST_STRETCH * gaps.layers)
        shelves = _stack_shelves(layers, rows, centres, boxes, gaps._replace(layers=roomy))
    bands = _place_bands(shelves, more or {})
    if apart:
        below = _stack_apart(apart, boxes, shelves)
        bands += (Band(APART, below[0].top - 10, len(apart), 0, (0.0, 0.0)),)
        shelves += below
    indices = {
        node: BoxPlace(x, shelf.top, number)
        for number, shelf in enumerate(shelves)
        for node, x in zip(shelf.nodes, shelf.starts, strict=True)
    }
    width = max([shelf.ends[-1] for shelf in shelves] + [band.chip[0] + CHIP[0] for band in bands if band.more])
    return TreeLayout(
        width + MARGIN,
        shelves[-1].bottom + MARGIN,
        {node: indices[node] for nodes in (*layers, apart) for node in nodes},
        tuple(_draw_curve(edge, indices, boxes, shelves) for edge in part.edges),
        bands,
    )


def _split_layers(part: Subnetwork, apart: Sequence[Node]) -> list[list[Node]]:
    layers: dict[int, list[Node]] = {}
    for node in part.nodes:
        if node in apart:
            continue
        layers.setdefault(node.layer, []).append(node)
    return [layers[layer] for layer in sorted(layers, reverse=True)]


def weigh_links(layers: Sequence[Sequence[Node]], edges: Sequence[Edge]) -> list[NDArray[np.float64]]:
    """Return the square roots of the edge weights, one (n_upper, n_lower) array per pair of neighbouring layers."""
    positions = {node: (layer, index) for layer, nodes in enumerate(layers) for index, node in enumerate(nodes)}
    links = [np.zeros((len(upper), len(lower))) for upper, lower in pairwise(layers)]
    for edge in edges:
        (layer, above), (_, below) = positions[edge.above], positions[edge.below]
        links[layer][above, below] = edge.size**0.5
    return links


def _reuse_order(layers: list[list[Node]], previous: Mapping[int, Sequence[Node]] | None) -> Ordering | None:
    """Return the nodes of each layer in their previous order, new ones last; None without a previous order."""
    if not previous:
        return None
    order: Ordering = []
    for nodes in layers:
        previous_places = {node: place for place, node in enumerate(previous.get(nodes[0].layer, ()))}
        order.append(np.argsort([previous_places.get(node, len(previous_places)) for node in nodes], kind="stable"))
    return order


def _measure_sizes(nodes: list[Node], boxes: Mapping[Node, TopicBox]) -> BoxSizes:
    return BoxSizes(np.array([boxes[node].width for node in nodes]), np.array([boxes[node].height for node in nodes]))


def _choose_layer_gap(sizes: list[BoxSizes]) -> float:
    """Return the gap between layers, which grows with the width of the widest layer within limits."""
    widest = max(float(layer.widths.sum()) for layer in sizes)
    return float(np.clip(0.035 * widest, 64.0, 120.0))


class _Shelf(NamedTuple):
    """A row of placed boxes; edges to lower rows pass between them."""

    nodes: list[Node]
    top: float
    bottom: float
    starts: list[float]
    ends: list[float]


def _stack_shelves(
    layers: list[list[Node]],
    rows: list[LayerRow],
    centres: list[NDArray[np.float64]],
    boxes: Mapping[Node, TopicBox],
    gaps: BoxGaps,
) -> list[_Shelf]:
    """Return the rows of boxes stacked from the top down, shifted so that the leftmost box starts at the gutter."""
    left = min(float((centres[row.layer][row.members] - row.widths / 2).min()) for row in rows) - MARGIN - _GUTTER
    shelves: list[_Shelf] = []
    y, layer = MARGIN, 0
    for row in rows:
        if shelves:
            y = shelves[-1].bottom + (gaps.rows if row.layer == layer else gaps.layers)
        layer = row.layer
        nodes = [layers[layer][member] for member in row.members.tolist()]
        starts = centres[layer][row.members] - row.widths / 2 - left
        bottom = y + max(boxes[node].height for node in nodes)
        shelves.append(_Shelf(nodes, y, bottom, starts.tolist(), (starts + row.widths).tolist()))
    return shelves


def _stack_apart(apart: Sequence[Node], boxes: Mapping[Node, TopicBox], above: list[_Shelf]) -> list[_Shelf]:
    """Return rows of boxes below all others, each as wide as the picture at most."""
    start, end = MARGIN + _GUTTER, max(shelf.ends[-1] for shelf in above)
    rows: list[list[Node]] = [[]]
    x = start
    for node in apart:
        if rows[-1] and x + boxes[node].width > end:
            rows.append([])
            x = start
        rows[-1].append(node)
        x += boxes[node].width + _BOX_GAP
    shelves: list[_Shelf] = []
    y = above[-1].bottom + 2.2 * _ROW_GAP
    for nodes in rows:
        starts, x = [], start
        for node in nodes:
            starts.append(x)
            x += boxes[node].width + _BOX_GAP
        bottom = y + max(boxes[node].height for node in nodes)
        ends = [left + boxes[node].width for left, node in zip(starts, nodes, strict=True)]
        shelves.append(_Shelf(nodes, y, bottom, starts, ends))
        y = bottom + _ROW_GAP
    return shelves


def _place_bands(shelves: list[_Shelf], left_out: Mapping[int, int]) -> tuple[Band, ...]:
    """Return the band of each layer; its chip "n more" comes after the last box of its last row."""
    layers: dict[int, list[_Shelf]] = {}
    for shelf in shelves:
        layers.setdefault(shelf.nodes[0].layer, []).append(shelf)
    bands = []
    for layer, layer_shelves in layers.items():
        last = layer_shelves[-1]
        chip = (last.ends[-1] + _BOX_GAP, (last.top + last.bottom - CHIP[1]) / 2)
        n_shown = sum(len(shelf.nodes) for shelf in layer_shelves)
        bands.append(Band(layer, layer_shelves[0].top + _CAPTION_LINE, n_shown, left_out.get(layer, 0), chip))
    return tuple(bands)


def _draw_curve(
    edge: Edge, places: Mapping[Node, BoxPlace], boxes: Mapping[Node, TopicBox], shelves: list[_Shelf]
) -> Curve:
    """Draw an edge from the bottom of the parent to the top of the child, between the boxes of the rows it crosses."""
    above, below = places[edge.above], places[edge.below]
    x, y = above.x + boxes[edge.above].width / 2, above.y + boxes[edge.above].height
    end_x, end_y = below.x + boxes[edge.below].width / 2, below.y
    path = [f"M{x:.1f} {y:.1f}"]
    if y < shelves[above.row].bottom:
        y = shelves[above.row].bottom
        path.append(f"V{y:.1f}")
    for shelf in shelves[above.row + 1 : below.row]:
        share = (shelf.top - y) / max(end_y - y, 1.0)
        passage_x = _find_passage(shelf, x + (end_x - x) * min(1.0, 0.35 + share))
        path.append(draw_bend(x, y, passage_x, shelf.top))
        path.append(f"V{shelf.bottom:.1f}")
        x, y = passage_x, shelf.bottom
    path.append(draw_bend(x, y, end_x, end_y))
    return Curve(edge, "".join(path), max(0.9, 9.0 * edge.size**0.5))


def draw_bend(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return a curve of an SVG path that leaves one point and reaches the next one vertically."""
    half = (to_y - y) / 2
    return f"C{x:.1f} {y + half:.1f} {to_x:.1f} {to_y - half:.1f} {to_x:.1f} {to_y:.1f}"


def _find_passage(shelf: _Shelf, x: float) -> float:
    """Return the x nearest to the given one at which an edge can pass between, or outside, the boxes of a row."""
    clearance = _BOX_GAP / 2
    index = bisect_left(shelf.ends, x)  # the first box that ends right of x
    if index == len(shelf.ends) or x < shelf.starts[index] - clearance / 2:
        is_free = index == len(shelf.ends) or index == 0 or x > shelf.ends[index - 1] + clearance / 2
        if is_free and index < len(shelf.ends):
            return x
        return max(x, shelf.ends[index - 1] + clearance)
    before, after = shelf.starts[index] - clearance, shelf.ends[index] + clearance
    return before if x - before < after - x else after
