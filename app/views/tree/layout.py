"""The layout of a subnetwork with its boxes, in plain numbers: places, curves, bands.

The same subnetwork always gives the same layout, and a layout has no colours.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.views.tree.boxes import TopicBox
from app.views.tree.positions import BoxGaps, BoxSizes, LayerRow, Ordering, fold_layers, order_layers, spread_nodes
from engine.hierarchy.tree import Edge, Node, Subnetwork

WIDE = 16 / 9
MARGIN = 18.0
_ACROSS, _ROWS = 15.0, 26.0
_BAND_TITLE = 24.0
_ROOMIEST = 3.0  # times the usual gap between layers
CHIP = (74.0, 26.0)


class BoxPlace(NamedTuple):
    """The upper left corner of a box."""

    x: float
    y: float
    row: int


class Curve(NamedTuple):
    """An edge as an SVG path, and its line width."""

    edge: Edge
    path: str
    width: float


class Band(NamedTuple):
    """One layer of the picture: its number, the position of its title, and the chip "n more"."""

    layer: int
    y: float
    shown: int
    more: int
    chip: tuple[float, float]


class TreeLayout(NamedTuple):
    """A picture of ``width`` x ``height`` points."""

    width: float
    height: float
    places: dict[Node, BoxPlace]
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...]

    def order(self) -> dict[int, tuple[Node, ...]]:
        """Return the nodes of each layer from left to right, which the next layout may start from."""
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
) -> TreeLayout:
    """Place a subnetwork.

    Parameters
    ----------
    part : Subnetwork
    boxes : mapping of Node to TopicBox
    aspect : float
        Width / height of the window; wide layers are folded so that the picture fills it.
    previous : mapping of layer to nodes, optional
        `TreeLayout.order` of the picture before, kept if that costs few crossings.
    more : mapping of layer to int, optional
        How many topics of a layer are left out.
    """
    layers = _split_layers(part)
    links = weigh_links(layers, part.edges)
    order = order_layers(
        [(link > 0).astype(np.int64) for link in links],
        [len(nodes) for nodes in layers],
        _reuse_order(layers, previous),
    )
    layers = [[nodes[place] for place in places.tolist()] for nodes, places in zip(layers, order, strict=True)]
    links = weigh_links(layers, part.edges)
    sizes = [_measure_sizes(nodes, boxes) for nodes in layers]
    gaps = BoxGaps(_ACROSS, _ROWS, _choose_layer_gap(sizes))
    counts = fold_layers(sizes, gaps, aspect)
    rows = [
        LayerRow(layer, members := np.arange(len(nodes))[row::count], sizes[layer].widths[members])
        for layer, (nodes, count) in enumerate(zip(layers, counts, strict=True))
        for row in range(min(count, len(nodes)))
    ]
    centres = spread_nodes(rows, links, [len(nodes) for nodes in layers], _ACROSS)
    shelves = _stack_shelves(layers, rows, centres, boxes, gaps)
    spare = (max(shelf.ends[-1] for shelf in shelves) + MARGIN) / aspect - shelves[-1].bottom - MARGIN
    if spare > 0 and len(layers) > 1:  # use all of the height: longer edges are easier to follow
        roomy = min(gaps.layers + spare / (len(layers) - 1), _ROOMIEST * gaps.layers)
        shelves = _stack_shelves(layers, rows, centres, boxes, gaps._replace(layers=roomy))
    places = {
        node: BoxPlace(x, shelf.top, number)
        for number, shelf in enumerate(shelves)
        for node, x in zip(shelf.nodes, shelf.starts, strict=True)
    }
    bands = _place_bands(shelves, more or {})
    width = max([shelf.ends[-1] for shelf in shelves] + [band.chip[0] + CHIP[0] for band in bands if band.more])
    return TreeLayout(
        width + MARGIN,
        shelves[-1].bottom + MARGIN,
        {node: places[node] for nodes in layers for node in nodes},
        tuple(_draw_curve(edge, places, boxes, shelves) for edge in part.edges),
        bands,
    )


def _split_layers(part: Subnetwork) -> list[list[Node]]:
    layers: dict[int, list[Node]] = {}
    for node in part.nodes:
        layers.setdefault(node.layer, []).append(node)
    return [layers[layer] for layer in sorted(layers, reverse=True)]


def weigh_links(layers: Sequence[Sequence[Node]], edges: Sequence[Edge]) -> list[NDArray[np.float64]]:
    """Return weights of lines between neighbouring layers, (upper, lower) per pair: roots of the edges' weights."""
    seat = {node: (layer, place) for layer, nodes in enumerate(layers) for place, node in enumerate(nodes)}
    links = [np.zeros((len(upper), len(lower))) for upper, lower in pairwise(layers)]
    for edge in edges:
        (layer, above), (_, below) = seat[edge.above], seat[edge.below]
        links[layer][above, below] = edge.size**0.5
    return links


def _reuse_order(layers: list[list[Node]], previous: Mapping[int, Sequence[Node]] | None) -> Ordering | None:
    """Return the old order of the nodes that are still there, with new ones at the end."""
    if not previous:
        return None
    order: Ordering = []
    for nodes in layers:
        old = {node: place for place, node in enumerate(previous.get(nodes[0].layer, ()))}
        order.append(np.argsort([old.get(node, len(old)) for node in nodes], kind="stable"))
    return order


def _measure_sizes(nodes: list[Node], boxes: Mapping[Node, TopicBox]) -> BoxSizes:
    return BoxSizes(np.array([boxes[node].width for node in nodes]), np.array([boxes[node].height for node in nodes]))


def _choose_layer_gap(sizes: list[BoxSizes]) -> float:
    widest = max(float(layer.widths.sum()) for layer in sizes)
    return float(np.clip(0.035 * widest, 64.0, 120.0))


class _Shelf(NamedTuple):
    """A row of boxes in their places, between which edges to lower rows pass."""

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
    left = min(float((centres[row.layer][row.members] - row.widths / 2).min()) for row in rows) - MARGIN
    shelves: list[_Shelf] = []
    y, layer = MARGIN + _BAND_TITLE, 0
    for row in rows:
        if shelves:
            y = shelves[-1].bottom + (gaps.rows if row.layer == layer else gaps.layers)
        layer = row.layer
        nodes = [layers[layer][member] for member in row.members.tolist()]
        starts = centres[layer][row.members] - row.widths / 2 - left
        bottom = y + max(boxes[node].height for node in nodes)
        shelves.append(_Shelf(nodes, y, bottom, starts.tolist(), (starts + row.widths).tolist()))
    return shelves


def _place_bands(shelves: list[_Shelf], more: Mapping[int, int]) -> tuple[Band, ...]:
    layers: dict[int, list[_Shelf]] = {}
    for shelf in shelves:
        layers.setdefault(shelf.nodes[0].layer, []).append(shelf)
    bands = []
    for layer, own in layers.items():
        last = own[-1]
        chip = (last.ends[-1] + _ACROSS, (last.top + last.bottom - CHIP[1]) / 2)
        n_shown = sum(len(shelf.nodes) for shelf in own)
        bands.append(Band(layer, own[0].top - 14, n_shown, more.get(layer, 0), chip))
    return tuple(bands)


def _draw_curve(
    edge: Edge, places: Mapping[Node, BoxPlace], boxes: Mapping[Node, TopicBox], shelves: list[_Shelf]
) -> Curve:
    """Draw an edge: from the parent's foot to the child's head, between the boxes of rows it must cross."""
    above, below = places[edge.above], places[edge.below]
    x, y = above.x + boxes[edge.above].width / 2, above.y + boxes[edge.above].height
    end_x, end_y = below.x + boxes[edge.below].width / 2, below.y
    path = [f"M{x:.1f} {y:.1f}"]
    if y < shelves[above.row].bottom:
        y = shelves[above.row].bottom
        path.append(f"V{y:.1f}")
    for shelf in shelves[above.row + 1 : below.row]:
        part = (shelf.top - y) / max(end_y - y, 1.0)
        through = _find_passage(shelf, x + (end_x - x) * min(1.0, 0.35 + part))
        path.append(draw_bend(x, y, through, shelf.top))
        path.append(f"V{shelf.bottom:.1f}")
        x, y = through, shelf.bottom
    path.append(draw_bend(x, y, end_x, end_y))
    return Curve(edge, "".join(path), max(0.9, 9.0 * edge.size**0.5))


def draw_bend(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return a part of an SVG path that leaves one point and reaches the next one vertically."""
    half = (to_y - y) / 2
    return f"C{x:.1f} {y + half:.1f} {to_x:.1f} {to_y - half:.1f} {to_x:.1f} {to_y:.1f}"


def _find_passage(shelf: _Shelf, x: float) -> float:
    """Return the x nearest to the wanted one that passes between two boxes of the row, or next to them all."""
    room = _ACROSS / 2
    at = bisect_left(shelf.ends, x)  # the first box that ends right of x
    if at == len(shelf.ends) or x < shelf.starts[at] - room / 2:
        free = at == len(shelf.ends) or at == 0 or x > shelf.ends[at - 1] + room / 2
        if free and at < len(shelf.ends):
            return x
        return max(x, shelf.ends[at - 1] + room)
    before, after = shelf.starts[at] - room, shelf.ends[at] + room
    return before if x - before < after - x else after
