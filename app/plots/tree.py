"""A topic tree or subnetwork for print, drawn from left to right: words in boxes, heavier edges wider."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import holoviews as hv
import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.plots.read import Source
from topiary.app.plots.request import COLUMN, FigureRequest
from topiary.app.plots.sheet import FigureSheet, measure_width, wrap
from topiary.app.plots.style import MUTED, POINTS, SMALL
from topiary.app.views.palette import LIGHT, find_layer_colour
from topiary.app.views.tree.layout import weigh_links
from topiary.app.views.tree.opening import choose_threshold, list_top_topics
from topiary.app.views.tree.picture import TreeChoice, cut_tree
from topiary.app.views.tree.positions import LayerRow, order_layers, spread_nodes
from topiary.engine.hierarchy.tree import Edge, Node

# In points: distance of lines, padding in a box, gap between boxes, margin of the sheet, height of a layer's heading.
_LEADING, _PADDING, _BOX_GAP, _MARGIN, _HEADING = 8.2, 3.0, 5.0, 2.0, 13.0
_LAYER_GAP = 0.09  # share of the sheet's width between two layers, where the edges run
_NARROWEST_BOX = 30.0  # points; a narrower box holds no word
_MOST_WORDS, _MOST_LINES, _USUAL_TOPICS = 12, 3, 8  # words and lines of a box; topics of a layer by default
_WIDEST_EDGE = 3.5  # points, the width of the heaviest edge


class FigureBox(NamedTuple):
    """The contents of a topic's box: its identity, and its words, preceded by its title."""

    identity: str
    words: tuple[str, ...]


def draw_tree(
    boxes: Mapping[Node, FigureBox],
    edges: Sequence[Edge],
    *,
    more: Mapping[int, int] | None = None,
    width: float = COLUMN,
) -> hv.Overlay:
    """Draw a part of a topic hierarchy, its highest layer on the left.

    Parameters
    ----------
    boxes : mapping of Node to FigureBox
    edges : sequence of Edge
        Between topics that have boxes.
    more : mapping of layer to int, optional
        How many topics of a layer are left out.
    width : float
        Inches.
    """
    sheet, more = FigureSheet(POINTS * width), more or {}
    numbers = sorted({node.layer for node in boxes}, reverse=True)
    gap = _LAYER_GAP * sheet.width * min(1.0, 3 / len(numbers))
    box_width = (sheet.width - 2 * _MARGIN - gap * (len(numbers) - 1)) / len(numbers)
    if box_width < _NARROWEST_BOX:
        advice = "choose a wider figure (--width page) or a lower layer"
        raise ReadError(f"{len(numbers)} layers do not fit in {width:g} inches; {advice}")
    texts = {node: _wrap_words(box, box_width) for node, box in boxes.items()}
    heights = {node: _LEADING * len(lines) + 2 * _PADDING for node, lines in texts.items()}
    layers, centres = _place_boxes(
        [[node for node in boxes if node.layer == layer] for layer in numbers], edges, heights
    )
    lefts = {layer: _MARGIN + place * (box_width + gap) for place, layer in enumerate(numbers)}
    height = max(y + heights[node] / 2 for node, y in centres.items()) + _MARGIN
    heaviest = max((edge.size for edge in edges), default=1.0)
    for edge in edges:
        start = lefts[edge.above.layer] + box_width, centres[edge.above]
        end = lefts[edge.below.layer], centres[edge.below]
        colour = "#9aa3ab" if edge.weight > 0 else LIGHT.lowers
        sheet.bend(start, end, colour, max(0.5, _WIDEST_EDGE * edge.size / heaviest))
    for nodes in layers:
        layer = nodes[0].layer
        colour = find_layer_colour(LIGHT, layer)
        sheet.text(lefts[layer], _MARGIN + _HEADING / 2 - 2, f"layer {layer}", colour=colour, bold=True)
        for node in nodes:
            _draw_box(
                sheet,
                texts[node],
                (lefts[layer], centres[node] - heights[node] / 2),
                (box_width, heights[node]),
                colour,
            )
        if more.get(layer):
            lowest = max(centres[node] + heights[node] / 2 for node in nodes)
            middle = lefts[layer] + box_width / 2
            sheet.text(middle, lowest + 6, f"{more[layer]} more", size=SMALL, colour=MUTED, align="center")
            height = max(height, lowest + 11)
    return sheet.element(height)


def plot_tree(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw the tree below the requested topics, or below all topics of a layer, the most popular of each layer."""
    hierarchy = sources[0].hierarchy(request.minibatch)
    threshold, cap = choose_threshold(request.threshold, hierarchy), request.most or _USUAL_TOPICS
    named = hierarchy.find_topics(request.topic, request.layer)
    roots = named or list_top_topics(hierarchy, request.layer)
    part, more = cut_tree(hierarchy, TreeChoice(tuple(named or roots[:cap]), threshold, cap=cap))
    if not named and len(roots) > cap:
        more = more | {roots[0].layer: len(roots) - cap}
    return draw_tree(
        {node: _make_box(hierarchy, node) for node in part.nodes}, part.edges, more=more, width=request.width
    )


def _make_box(hierarchy: Hierarchy, node: Node) -> FigureBox:
    return FigureBox(format_identity(node), (*hierarchy.title(node).split(), *hierarchy.other_words(node, _MOST_WORDS)))


def _wrap_words(box: FigureBox, box_width: float) -> list[str]:
    """Return the lines of a box: the identity, then as many words as fit."""
    return wrap([box.identity, *box.words], box_width - 2 * _PADDING)[:_MOST_LINES]


def _place_boxes(
    layers: list[list[Node]], edges: Sequence[Edge], heights: Mapping[Node, float]
) -> tuple[list[list[Node]], dict[Node, float]]:
    """Order each layer so that few edges cross; return the ordered layers and the vertical centre of each box."""
    links = [(link > 0).astype(np.int64) for link in weigh_links(layers, edges)]
    order = order_layers(links, [len(nodes) for nodes in layers])
    layers = [[nodes[place] for place in places.tolist()] for nodes, places in zip(layers, order, strict=True)]
    sizes = [np.array([heights[node] for node in nodes]) for nodes in layers]
    rows = [LayerRow(place, np.arange(len(each)), each) for place, each in enumerate(sizes)]
    middles = spread_nodes(rows, weigh_links(layers, edges), [len(nodes) for nodes in layers], _BOX_GAP)
    top = min(float((each - size / 2).min()) for each, size in zip(middles, sizes, strict=True))
    pairs = zip(layers, middles, strict=True)
    return layers, {
        node: y - top + _MARGIN + _HEADING
        for nodes, each in pairs
        for node, y in zip(nodes, each.tolist(), strict=True)
    }


def _draw_box(
    sheet: FigureSheet, lines: list[str], corner: tuple[float, float], size: tuple[float, float], colour: str
) -> None:
    left, top = corner
    sheet.box(left, top, *size, colour, 0.8)
    identity, _, first = lines[0].partition(" ")
    middle = top + _PADDING + _LEADING / 2
    sheet.text(left + _PADDING, middle, identity, colour=colour, bold=True)
    sheet.text(left + _PADDING + measure_width(identity, bold=True) + 2, middle, first)
    for number, text in enumerate(lines[1:], start=1):
        sheet.text(left + _PADDING, middle + _LEADING * number, text)
