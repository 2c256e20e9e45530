"""The figure of matched topics of two runs, with their scores."""

from collections.abc import Sequence
from typing import NamedTuple

import holoviews as hv
import numpy as np

from topiary.app.analysis.comparison import Comparison, Pair
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.plots.read import Source, choose_layer, choose_topics, match_sources, shorten_name
from topiary.app.plots.request import COLUMN, FigureRequest
from topiary.app.plots.sheet import FigureSheet, cut, measure_width, wrap
from topiary.app.plots.style import COLOURS, MUTED, POINTS, RULE, SMALL
from topiary.app.views.text import format_percent
from topiary.engine.hierarchy.tree import Node

_USUAL, _WORDS, _LINES = 10, 8, 2  # pairs by default; words and lines of a topic
# In points: distance of lines, gap between topics, margin, height of the headings.
_LEADING, _GAP, _EDGE, _HEAD = 8.5, 6.0, 2.0, 14.0
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
    matches : sequence of MatchedPair
    width : float
        Inches.
    """
    sheet = FigureSheet(POINTS * width)
    column = sheet.width * (1 - _BRIDGE) / 2 - _EDGE
    starts = _EDGE, sheet.width - _EDGE - column
    middles: list[list[float]] = []
    bottom = _HEAD
    for start, head, entries in zip(starts, heads, sides, strict=True):
        sheet.text(start, _EDGE + _LEADING / 2, cut(head, column, bold=True), bold=True)
        middles.append(_draw_column(sheet, entries, start, column))
        bottom = max(bottom, middles[-1][-1] + _LEADING * _LINES / 2 if middles[-1] else _HEAD)
    left, right = starts[0] + column + 2, starts[1] - _SCORE
    sheet.text(starts[1] - 3, _EDGE + _LEADING / 2, "alike", size=SMALL, colour=MUTED, align="right")
    for match in matches:
        ends = (left, middles[0][match.a]), (right, middles[1][match.b])
        is_similar = match.score >= _ALIKE
        sheet.bend(*ends, COLOURS[0] if is_similar else COLOURS[1], 0.5 + 1.5 * match.score)
        sheet.text(starts[1] - 3, ends[1][1], format_percent(match.score, 0), size=SMALL, colour=MUTED, align="right")
    return sheet.element(bottom + _EDGE)


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
    words = *hierarchy.title(node).split(), *hierarchy.other_words(node, _WORDS)
    return TopicEntry(format_identity(node), words)


def _draw_column(sheet: FigureSheet, entries: Sequence[TopicEntry], start: float, width: float) -> list[float]:
    """Draw one side; return the vertical centres of its topics, where lines begin or end."""
    indent = 3 + max((measure_width(entry.identity, bold=True) for entry in entries), default=0.0)
    middles, y = [], _EDGE + _HEAD
    for place, entry in enumerate(entries):
        if place:
            sheet.line(np.array([[start, y - _GAP / 2], [start + width, y - _GAP / 2]]), RULE, 0.4)
        sheet.text(start + indent - 3, y + _LEADING / 2, entry.identity, bold=True, align="right")
        for number, text in enumerate(wrap(entry.words, width - indent)[:_LINES]):
            sheet.text(start + indent, y + _LEADING * (number + 0.5), text)
        middles.append(y + _LEADING * _LINES / 2)
        y += _LEADING * _LINES + _GAP
    return middles
