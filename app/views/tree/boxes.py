"""The boxes of the tree: their words, font sizes and dimensions."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from app.analysis.hierarchy import BACKGROUND, PRINTED_WORDS, Hierarchy
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
FAR = 24.0  # font size that can be read in a picture of half its size
SHORTEST = 4  # letters of a cut word at least
GIST = 12  # letters of a line of the gist at most
GIST_SIZE, LEAD_SIZE = 2.2, 3.2  # font sizes of gist and lead, relative to that of the words
_GIST_LEADING, _GIST_MARGIN = 1.15, 12.0  # line height of the gist, and space left and right of it
_TAB_SIZE, _TAB_GROWTH = 16.0, 1.4  # font size of the tab with rank and share, and its usual growth in a small tree
_COVERED = 36.0  # height inside a small box that the tab and the button below it cover
_PICTURE_WIDTH = 7.5  # width of the picture of a topic of images, in ems


class BoxPicture(NamedTuple):
    """The picture of a topic whose words are pixels, and its position and size in the box."""

    uri: str
    top: float
    width: float
    height: float


class TopicBox(NamedTuple):
    """The contents and size of one node, before it has a place.

    ``bar`` is the share relative to the largest share of the layer; ``title`` are the lines of the name or title, and
    ``lines`` those of the other words, in font size ``font``.  When the tree is small, ``gist`` is shown instead: up to
    three short lines of the name or title, in font size ``gist_font``; when it is smaller still, the single line
    ``lead`` in font size ``lead_font``.  All three sizes grow with the share of the topic, and with nothing else.
    Topics of images have a ``picture`` instead of words.  The text of a ``quiet`` box is paler.
    """

    node: Node
    rank: str
    share: str
    bar: float
    name: str
    title: tuple[str, ...]
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
    pictured = has_pictures(hierarchy)
    title, lines = _wrap_words(hierarchy, node)
    gist = () if pictured else _choose_gist(hierarchy, node)
    header = BOLD * measure_text(rank) * HEADER + measure_text(share) * 0.85 + 1.4
    ems = max([header, _PICTURE_WIDTH * pictured, _measure_bold(title), *map(measure_text, lines)])
    width = max(ems * font + 2 * PADDING, GIST_SIZE * font * _measure_bold(gist) + _GIST_MARGIN)
    width = max(width, _TAB_GROWTH * measure_tab(rank, share) - 2 * PADDING)
    height = HEAD * font + LEADING * font * (len(lines) + len(title)) + 2 * PADDING - 3
    picture = _place_picture(hierarchy, node, width - 2 * PADDING, height) if pictured else None
    if picture is not None:
        height += picture.height + 2
    return TopicBox(
        node=node,
        rank=rank,
        share=share,
        bar=hierarchy.share(node) / largest if largest > 0 else 0.0,
        name=shorten(hierarchy.name(node), 40),
        title=tuple(title),
        lines=tuple(lines),
        font=font,
        gist=gist,
        gist_font=GIST_SIZE * font,
        picture=picture,
        width=width,
        height=max(height, GIST_SIZE * font * _GIST_LEADING * len(gist) + _COVERED * bool(gist)),
        quiet=hierarchy.role(node) == BACKGROUND,
        lead=_cut_lead(gist, (width - _GIST_MARGIN) / (LEAD_SIZE * font)),
        lead_font=LEAD_SIZE * font,
    )


def measure_tab(rank: str, share: str) -> float:
    """Return the width of the tab on a small box that shows its rank and, if not empty, its share."""
    return 12.0 + _TAB_SIZE * (BOLD * measure_text(rank) + (measure_text(f" · {share}") if share else 0.0))


def _wrap_words(hierarchy: Hierarchy, node: Node) -> tuple[list[str], list[str]]:
    """Return the lines of a box's title, and those of the other words; together about `SHAPE` times as wide as high."""
    name = shorten(hierarchy.name(node), 40).split()
    if has_pictures(hierarchy):
        return ([" ".join(name)] if name else []), []
    title = name or [shorten(word, LONGEST) for word in hierarchy.title_words(node)]
    n_others = PRINTED_WORDS - (0 if name else len(title))
    others = [word.text for word in hierarchy.top_words(node)] if name else hierarchy.other_words(node, n_others)
    words = [shorten(word, LONGEST) for word in others]
    area = sum(measure_text(word) + 0.28 for word in (*title, *words)) * LEADING
    width = max([math.sqrt(area * SHAPE), *map(measure_text, words), _measure_bold(title)])
    return wrap_words(title, width / BOLD), wrap_words(words, width)


def _measure_bold(lines: Iterable[str]) -> float:
    """Return the width of the widest of some bold lines, in ems."""
    return BOLD * max(map(measure_text, lines), default=0.0)


def _choose_gist(hierarchy: Hierarchy, node: Node) -> tuple[str, ...]:
    """Return up to three short lines to show when the tree is small."""
    name = hierarchy.name(node)
    lines = wrap_words(name.split(), 7.0)[:3] if name else hierarchy.title_words(node)
    return tuple(shorten(line, GIST) for line in lines)


def _cut_lead(gist: tuple[str, ...], width: float) -> str:
    """Return the first line of the gist, cut to a width in ems."""
    line = gist[0] if gist else ""
    cuts = (shorten(line, length) for length in range(len(line), SHORTEST, -1))
    return next((cut for cut in cuts if _measure_bold([cut]) <= width), shorten(line, SHORTEST))


def cut_legible(line: str, font: Callable[[str], float]) -> str:
    """Return a line, cut until the ``font`` size in which it fits is readable in a small picture, or to a minimum."""
    cuts = (shorten(line, length) for length in range(len(line), SHORTEST, -1))
    return next((cut for cut in cuts if font(cut) >= FAR), shorten(line, SHORTEST))


def _place_picture(hierarchy: Hierarchy, node: Node, width: float, top: float) -> BoxPicture:
    rows, columns = hierarchy.image_shape or (1, 1)
    return BoxPicture(draw_atom_uri(hierarchy, node), top - PADDING, width, width * rows / columns)
