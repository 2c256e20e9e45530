"""Topics for print, words in boxes: a tree drawn from left to right, and matched topics of two runs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import holoviews as hv
import numpy as np

from topiary.app.analysis.comparison import Comparison, Pair
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.plots.read import Source, choose_layer, choose_topics, match_sources, shorten_name
from topiary.app.plots.request import COLUMN, FigureRequest
from topiary.app.plots.style import COLOURS, MUTED, POINTS, RULE, SMALL, FigureSheet, cut, measure_width, wrap
from topiary.app.views.text import format_percent
from topiary.app.views.theme import LIGHT, find_layer_colour
from topiary.app.views.tree.layout import LayerRow, order_layers, spread_nodes, weigh_links
from topiary.app.views.tree.opening import choose_threshold, list_top_topics
from topiary.app.views.tree.picture import TreeChoice, cut_tree
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


_USUAL, _PAIR_WORDS, _PAIR_LINES = 10, 8, 2  # pairs by default; words and lines of a topic
# In points: distance of lines, gap between topics, margin, height of the headings.
_PAIR_LEADING, _PAIR_GAP, _PAIR_EDGE, _PAIR_HEAD = 8.5, 6.0, 2.0, 14.0
_SCORE = 19.0  # points, the width of the column with the scores
_BRIDGE = 0.22  # share of the width between the two sides, where lines join matched topics
_ALIKE = 0.5  # pairs with at least this score are drawn in the colour of similar topics


class TopicEntry(NamedTuple):
    """A topic on one side: its identity, and the words of its title before others."""

    identity: str
    words: tuple[str, ...]


class MatchedPair(NamedTuple):
    """Two matched topics: their indices in the two lists, and their similarity (0 to 1)."""

    a: int
    b: int
    score: float


def draw_comparison(
    heads: tuple[str, str],
    sides: tuple[Sequence[TopicEntry], Sequence[TopicEntry]],
    matches: Sequence[MatchedPair],
    *,
    width: float = COLUMN,
) -> hv.Overlay:
    """Draw the topics of both sides, and lines with scores between matched topics.

    Parameters
    ----------
    heads : pair of str
        The names of the two runs.
    sides : pair of sequences of TopicEntry
    width : float
        Inches.
    """
    sheet = FigureSheet(POINTS * width)
    column = sheet.width * (1 - _BRIDGE) / 2 - _PAIR_EDGE
    starts = _PAIR_EDGE, sheet.width - _PAIR_EDGE - column
    middles: list[list[float]] = []
    bottom = _PAIR_HEAD
    for start, head, entries in zip(starts, heads, sides, strict=True):
        sheet.text(start, _PAIR_EDGE + _PAIR_LEADING / 2, cut(head, column, bold=True), bold=True)
        middles.append(_draw_column(sheet, entries, start, column))
        bottom = max(bottom, middles[-1][-1] + _PAIR_LEADING * _PAIR_LINES / 2 if middles[-1] else _PAIR_HEAD)
    left, right = starts[0] + column + 2, starts[1] - _SCORE
    sheet.text(starts[1] - 3, _PAIR_EDGE + _PAIR_LEADING / 2, "alike", size=SMALL, colour=MUTED, align="right")
    for match in matches:
        ends = (left, middles[0][match.a]), (right, middles[1][match.b])
        is_similar = match.score >= _ALIKE
        sheet.bend(*ends, COLOURS[0] if is_similar else COLOURS[1], 0.5 + 1.5 * match.score)
        sheet.text(starts[1] - 3, ends[1][1], format_percent(match.score, 0), size=SMALL, colour=MUTED, align="right")
    return sheet.element(bottom + _PAIR_EDGE)


def plot_comparison(sources: Sequence[Source], request: FigureRequest) -> hv.Overlay:
    """Draw topics of a layer of the second run (the requested ones, or the most popular) and their partners."""
    comparison = match_sources(sources[0], sources[1], request.minibatch)
    layer = choose_layer(comparison.b, request, min(comparison.a.n_layers, comparison.b.n_layers))
    comparison.a.at_rank(layer, 1)  # raises an error if there is no such layer
    nodes = choose_topics(comparison.b, layer, request, _USUAL)
    pairs = [pair for node in nodes if (pair := comparison.pair("b", node)) is not None]
    partners = _sort_partners(comparison, pairs)
    places = {node: place for place, node in enumerate(partners)}
    matches = [MatchedPair(places[pair.a], place, pair.score) for place, pair in enumerate(pairs) if pair.a is not None]
    sides = [_make_entry(comparison.a, node) for node in partners], [_make_entry(comparison.b, node) for node in nodes]
    heads = shorten_name(sources[0]), shorten_name(sources[1])
    return draw_comparison(heads, sides, matches, width=request.width)


def _sort_partners(comparison: Comparison, pairs: Sequence[Pair]) -> list[Node]:
    """Return the partners in the first run, most popular first."""
    return sorted((pair.a for pair in pairs if pair.a is not None), key=comparison.a.rank)


def _make_entry(hierarchy: Hierarchy, node: Node) -> TopicEntry:
    words = *hierarchy.title(node).split(), *hierarchy.other_words(node, _PAIR_WORDS)
    return TopicEntry(format_identity(node), words)


def _draw_column(sheet: FigureSheet, entries: Sequence[TopicEntry], start: float, width: float) -> list[float]:
    """Draw one side; return the vertical centres of its topics, where lines begin or end."""
    indent = 3 + max((measure_width(entry.identity, bold=True) for entry in entries), default=0.0)
    middles, y = [], _PAIR_EDGE + _PAIR_HEAD
    for place, entry in enumerate(entries):
        if place:
            sheet.line(np.array([[start, y - _PAIR_GAP / 2], [start + width, y - _PAIR_GAP / 2]]), RULE, 0.4)
        sheet.text(start + indent - 3, y + _PAIR_LEADING / 2, entry.identity, bold=True, align="right")
        for number, text in enumerate(wrap(entry.words, width - indent)[:_PAIR_LINES]):
            sheet.text(start + indent, y + _PAIR_LEADING * (number + 0.5), text)
        middles.append(y + _PAIR_LEADING * _PAIR_LINES / 2)
        y += _PAIR_LEADING * _PAIR_LINES + _PAIR_GAP
    return middles
