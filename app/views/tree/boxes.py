"""The boxes of the tree: their words, font sizes and dimensions."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from app.analysis.hierarchy import BACKGROUND, Hierarchy
from app.analysis.topic_images import draw_atom_uri, has_pictures
from app.views.text import BOLD, format_percent, measure_text, shorten, wrap_words
from engine.hierarchy.tree import Node

LARGEST, SMALLEST = 14.0, 9.0  # font sizes; the smallest is still readable at full size
LEADING = 1.24
HEADER = 1.15  # font size of the rank, relative to the words
HEAD = 1.75  # height of the line of rank and share with the bar below, relative to the font size of the words
PADDING = 7.0
SHAPE = 2.1  # wanted ratio of width to height of the words
LONGEST = 22  # letters of a word at most; e-mail addresses and hashes are cut
LEAD = 4.5  # ems; a longer first line of a gist cannot be read when the picture is small
FAR = 24.0  # font size that can be read in a picture of half its size
SHORTEST = 4  # letters of a cut word at least
GIST = 13  # letters of a line of the gist at most
_PICTURE_WIDTH = 7.5  # width of the picture of a topic of images, in ems


class BoxPicture(NamedTuple):
    """The picture of a topic whose words are pixels, and its position and size in the box."""

    uri: str
    top: float
    width: float
    height: float


class TopicBox(NamedTuple):
    """The contents and size of one node, before it has a place.

    ``bar`` is the share relative to the largest share of the layer; ``lines`` are the words in font size ``font``.
    When the tree is small, ``gist`` is shown instead: up to three short lines of the name or title, in font size
    ``gist_font``; when it is smaller still, the single line ``lead`` in font size ``lead_font``.  Topics of images
    have a ``picture`` instead of all these.  The text of a ``quiet`` box is paler.
    """

    node: Node
    rank: str
    share: str
    bar: float
    name: str
    lines: tuple[str, ...]
    font: float
    gist: tuple[str, ...]
    gist_font: float
    picture: BoxPicture | None
    width: float
    height: float
    quiet: bool = False
    lead: str = ""
    lead_font: float = 1.0


def choose_font_size(hierarchy: Hierarchy, node: Node) -> float:
    """Return the font size of a node, proportional to the tenth root of its popularity as in the authors' figures."""
    largest = float(hierarchy.popularity[node.layer - 1].max())
    relative = hierarchy.weight(node) / largest if largest > 0 else 1.0
    return float(max(SMALLEST, LARGEST * relative**0.1))


def make_boxes(hierarchy: Hierarchy, nodes: Iterable[Node]) -> dict[Node, TopicBox]:
    """Return the box of every node, with its contents and size."""
    return {node: _make_box(hierarchy, node) for node in nodes}


def _make_box(hierarchy: Hierarchy, node: Node) -> TopicBox:
    font = choose_font_size(hierarchy, node)
    largest = float(hierarchy.shares[node.layer - 1].max())
    rank, share = str(hierarchy.rank(node)), format_percent(hierarchy.share(node))
    name = shorten(hierarchy.name(node), 40)
    pictured = has_pictures(hierarchy)
    lines = [] if pictured else _wrap_words([shorten(word.text, LONGEST) for word in hierarchy.top_words(node)])
    header = BOLD * measure_text(rank) * HEADER + measure_text(share) * 0.85 + 1.4
    ems = max([header, BOLD * measure_text(name), _PICTURE_WIDTH * pictured, *(measure_text(line) for line in lines)])
    width = ems * font + 2 * PADDING
    height = HEAD * font + LEADING * font * (len(lines) + bool(name)) + 2 * PADDING - 3
    picture = _place_picture(hierarchy, node, width - 2 * PADDING, height) if pictured else None
    if picture is not None:
        height += picture.height + 2
    gist = () if pictured else _choose_gist(hierarchy, node)
    return TopicBox(
        node=node,
        rank=rank,
        share=share,
        bar=hierarchy.share(node) / largest if largest > 0 else 0.0,
        name=name,
        lines=tuple(lines),
        font=font,
        gist=gist,
        gist_font=min(_fit_font(gist, width, height), 2.6 * font),
        picture=picture,
        width=width,
        height=height,
        quiet=hierarchy.role(node) == BACKGROUND,
        lead=(lead := _cut_lead(gist, width, height)),
        lead_font=min(_fit_font((lead,), width, height), 3.0 * font),
    )


def _wrap_words(words: list[str]) -> list[str]:
    """Return lines of words that together have about the ratio `SHAPE` of width to height."""
    area = sum(measure_text(word) + 0.28 for word in words) * LEADING
    return wrap_words(words, max([math.sqrt(area * SHAPE), *(measure_text(word) for word in words)]))


def _choose_gist(hierarchy: Hierarchy, node: Node) -> tuple[str, ...]:
    """Return up to three short lines to show when the tree is small."""
    name = hierarchy.name(node)
    lines = wrap_words(name.split(), 7.0)[:3] if name else hierarchy.title_words(node)
    return tuple(shorten(line, GIST) for line in lines)


def _cut_lead(gist: tuple[str, ...], width: float, height: float) -> str:
    """Return the first line of the gist, or its shortest if the first is long; cut so that it stays readable."""
    first = gist[0] if gist else ""
    line = first if measure_text(first) <= LEAD else min(gist, key=measure_text)
    return cut_legible(line, lambda cut: _fit_font((cut,), width, height))


def cut_legible(line: str, font: Callable[[str], float]) -> str:
    """Return a line, cut until the ``font`` size in which it fits is readable in a small picture, or to a minimum."""
    cuts = (shorten(line, length) for length in range(len(line), SHORTEST, -1))
    return next((cut for cut in cuts if font(cut) >= FAR), shorten(line, SHORTEST))


def _fit_font(lines: tuple[str, ...], width: float, height: float) -> float:
    """Return the largest font size in which lines fit into a box."""
    widest = max((BOLD * measure_text(line) for line in lines), default=0.0)
    return min((width - 12) / widest, (height - 26) / (1.15 * len(lines))) if widest > 0 else 1.0


def _place_picture(hierarchy: Hierarchy, node: Node, width: float, top: float) -> BoxPicture:
    rows, columns = hierarchy.image_shape or (1, 1)
    return BoxPicture(draw_atom_uri(hierarchy, node), top - PADDING, width, width * rows / columns)
