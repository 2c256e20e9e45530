"""The most popular topics of a layer as words, with their shares."""

from collections.abc import Sequence
from typing import NamedTuple

import holoviews as hv
import numpy as np

from app.plots.read import Source
from app.plots.request import COLUMN, Request
from app.plots.sheet import Sheet, text_width, wrap
from app.plots.style import MUTED, POINTS, RULE
from app.views.text import format_percent

OPTIONS = ("layer", "node", "minibatch", "most")
RUNS = (1, 1)
_USUAL, _WORDS, _LINES = 10, 12, 2
_LEADING, _GAP, _EDGE = 9.0, 5.0, 2.0


class Topic(NamedTuple):
    """A line of the figure: rank, share of its layer (0 to 1), name of a person or "", words."""

    rank: int
    share: float
    name: str
    words: tuple[str, ...]


def draw(topics: Sequence[Topic], *, width: float = COLUMN) -> hv.Overlay:
    """Write topics beneath each other.

    Parameters
    ----------
    topics : sequence of Topic
    width : float
        Inches.
    """
    sheet = Sheet(POINTS * width)
    ranks = max(text_width(str(topic.rank), bold=True) for topic in topics)
    shares = max(text_width(format_percent(topic.share)) for topic in topics)
    start = _EDGE + ranks + shares + 12
    y = _EDGE
    for place, topic in enumerate(topics):
        if place:
            sheet.line(np.array([[_EDGE, y], [sheet.width - _EDGE, y]]), RULE, 0.5)
            y += _GAP / 2
        lines = wrap(topic.words, sheet.width - start - _EDGE)[:_LINES]
        middle = y + _LEADING / 2
        sheet.text(_EDGE + ranks, middle, str(topic.rank), bold=True, align="right")
        sheet.text(_EDGE + ranks + 6 + shares, middle, format_percent(topic.share), colour=MUTED, align="right")
        for text in ([topic.name] if topic.name else []) + lines:
            sheet.text(start, y + _LEADING / 2, text, bold=text == topic.name)
            y += _LEADING
        y += _GAP / 2
    return sheet.element(y + _EDGE)


def figure(sources: Sequence[Source], request: Request) -> hv.Overlay:
    """Write topics of a layer: those of the wanted ranks, or the most popular ones."""
    hierarchy = sources[0].hierarchy(request.minibatch)
    layer = request.layer or 1
    hierarchy.at_rank(layer, 1)
    nodes = [hierarchy.at_rank(layer, rank) for rank in request.node] or hierarchy.nodes(layer)[
        : request.most or _USUAL
    ]
    found = [
        Topic(
            hierarchy.rank(node),
            hierarchy.share(node),
            hierarchy.name(node),
            tuple(word.text for word in hierarchy.top_words(node, _WORDS)),
        )
        for node in nodes
    ]
    return draw(found, width=request.width)
