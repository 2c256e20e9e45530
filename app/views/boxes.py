"""The boxes of the tree: which words stand in them, in which size, and how large they come out."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from app.frame import Frame
from app.views.text import percent, shorten, text_width, wrap
from engine.tree import Node

LARGEST, SMALLEST = 14.0, 9.0  # font sizes; the smallest is still read at 1:1
LEADING = 1.24
HEADER = 1.15  # font of the rank, relative to the words
HEAD = 1.75  # the line of rank and share with the bar beneath, relative to the words
PADDING = 7.0
SHAPE = 2.1  # wanted width : height of the words
_LONGEST = 22  # letters of one word; e-mail addresses and hashes are cut


class Box(NamedTuple):
    """The contents and size of one node, before it has a place.

    ``bar`` is the share relative to the largest of the layer; ``lines`` are the words; ``gist`` are up
    to three short lines shown instead when the picture is looked at from afar, in the size ``gist_font``.
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
    width: float
    height: float


def font_size(frame: Frame, node: Node) -> float:
    """Font of a node: falls with the tenth root of its popularity, as in the authors' figures."""
    most = float(frame.popularity[node.layer - 1].max())
    relative = frame.weight(node) / most if most > 0 else 1.0
    return float(max(SMALLEST, LARGEST * relative**0.1))


def boxes(frame: Frame, nodes: Iterable[Node], n_words: int = 12) -> dict[Node, Box]:
    """Fill and measure the box of every node."""
    return {node: _box(frame, node, n_words) for node in nodes}


def _box(frame: Frame, node: Node, n_words: int) -> Box:
    font = font_size(frame, node)
    words = [shorten(word.text, _LONGEST) for word in frame.top_words(node, n_words)]
    name = shorten(frame.name(node), 40)
    lines = _wrapped(words)
    rank, share = str(frame.rank(node)), percent(frame.share(node))
    header = 1.12 * text_width(rank) * HEADER + text_width(share) * 0.85 + 1.4
    ems = max(header, 1.08 * text_width(name), *(text_width(line) for line in lines))
    width = ems * font + 2 * PADDING
    height = HEAD * font + (LEADING * font) * (len(lines) + bool(name)) + 2 * PADDING - 3
    gist = wrap(name.split(), 8.0)[:3] if name else words[:3]
    gist_font = min(
        (width - 10) / max(1.08 * text_width(line) for line in gist), (height - 24) / (1.15 * len(gist)), 2.6 * font
    )
    most = float(frame.shares[node.layer - 1].max())
    bar = frame.share(node) / most if most > 0 else 0.0
    return Box(node, rank, share, bar, name, tuple(lines), font, tuple(gist), gist_font, width, height)


def _wrapped(words: list[str]) -> list[str]:
    area = sum(text_width(word) + 0.28 for word in words) * LEADING
    return wrap(words, max(math.sqrt(area * SHAPE), *(text_width(word) for word in words)))
