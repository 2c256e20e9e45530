"""The layout of a subnetwork with its boxes, in plain numbers: places, curves, bands.

The same subnetwork always gives the same layout, and a layout has no colours.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.views.tree.boxes import TopicBox
from topiary.app.views.tree.positions import (
    BoxGaps,
    BoxSizes,
    LayerRow,
    Ordering,
    fold_layers,
    order_layers,
    spread_nodes,
)
from topiary.engine.hierarchy.tree import Edge, Node, Subnetwork

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
