"""The boxes of the tree: their words, font sizes and dimensions.

The weights of the topics of a tree for one class: as numbers, relative to the largest, and in words.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, PRINTED_WORDS, Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri
from topiary.app.names import format_signed
from topiary.app.views.text import BOLD, LONGEST_TITLE, fit_lines, format_percent, measure_text, shorten, wrap_words
from topiary.engine.hierarchy.tree import Edge, Node

LARGEST, SMALLEST = 14.0, 9.0  # font sizes; the smallest is still readable at full size
LEADING = 1.24
HEADER = 1.15  # font size of the identity, relative to the words
HEAD = 1.75  # height of the line of identity and share with the bar below, relative to the font size of the words
PADDING = 7.0
SHAPE = 1.6  # wanted ratio of width to height of the words
LONGEST = 22  # letters of a word at most; e-mail addresses and hashes are cut
_WIDEST = 13.0  # width in ems of a word of a title for which a box is made wide
FAR = 24.0  # font size that can be read in a picture of half its size
GIST_SIZE = 2.2  # font size of a gist, relative to that of all words
GIST_HEAD = 1.6  # height of a gist's line of identity and share with the bar below, relative to its font size
GIST_LEADING = 1.16
LEVELS = (0.7, 0.84, 1.0, 1.2, 1.5, 2.0)  # magnifications of the gist, one for each zoom level
_SPREAD = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)  # how much its letters differ by share there; without, titles have most room
_GIST_LINES, _GIST_WIDTH = 3, 7.6  # lines of the gist for which a box has room, and their width in ems at most,
_MIDDLE = 2  # at this level: three words of a title are whole there
_PICTURE_WIDTH = 7.5  # width of the picture of a topic of images, in ems


class BoxPicture(NamedTuple):
    """The picture of a topic whose words are pixels, and its position and size in the box."""

    uri: str
    top: float
    width: float
    height: float


class Gist(NamedTuple):
    """The contents of a box at one zoom level of a small tree: the title, and as many whole words as have room.

    ``head`` is the font size of identity and share, the same in all boxes.  The words are in font size ``font``: the
    lines ``title`` hold the title, which is cut at its end if there is no room, and ``lines`` others.
    """

    head: float
    font: float
    title: tuple[str, ...]
    lines: tuple[str, ...]


class TopicBox(NamedTuple):
    """The contents and size of one node, before it has a place.

    ``bar`` is the share relative to the largest share of the layer; ``title`` are the lines of the title, and ``lines``
    those of the other words, in font size ``font``.  When the tree is small, one of ``gists`` is shown
    instead, one for each zoom level, that with the smallest letters first.  At every level letters grow with the share
    of the topic, and with nothing else; the smaller the tree, the less they differ.  Topics of images have a
    ``picture`` instead of words.  The text of a ``quiet`` box is paler.
    """

    node: Node
    identity: str
    share: str
    bar: float
    title: tuple[str, ...]
    lines: tuple[str, ...]
    font: float
    gists: tuple[Gist, ...]
    picture: BoxPicture | None
    width: float
    height: float
    quiet: bool = False


def choose_font_size(hierarchy: Hierarchy, node: Node) -> float:
    """Return the font size of a node, proportional to the tenth root of its popularity as in the authors' figures."""
    largest = float(hierarchy.popularity[node.layer - 1].max())
    relative = hierarchy.weight(node) / largest if largest > 0 else 1.0
    return float(max(SMALLEST, LARGEST * relative**0.1))


def make_boxes(
    hierarchy: Hierarchy, nodes: Iterable[Node], edges: Iterable[Edge] = (), *, n_lines: int = 1
) -> dict[Node, TopicBox]:
    """Return the box of every node, with its contents and size.

    Parameters
    ----------
    edges : iterable of Edge
        The edges that are drawn.  Gists of a child leave out words that the box of a parent shows at the same zoom.
    n_lines : int
        Lines of the title for which every box has room, however small the tree is.
    """
    parents: dict[Node, list[Node]] = {}
    for edge in edges:
        parents.setdefault(edge.below, []).append(edge.above)
    nodes = list(nodes)
    least = min((choose_font_size(hierarchy, node) for node in nodes), default=SMALLEST)
    boxes: dict[Node, TopicBox] = {}
    for node in sorted(nodes, key=lambda node: -node.layer):
        above = [boxes[parent] for parent in parents.get(node, ()) if parent in boxes]
        boxes[node] = _make_box(hierarchy, node, above, GIST_SIZE * least, n_lines)
    return {node: boxes[node] for node in nodes}


def _make_box(hierarchy: Hierarchy, node: Node, parents: Sequence[TopicBox], head: float, n_lines: int) -> TopicBox:
    """Return the box of a topic; ``head`` is the font size of identity and share in a small tree."""
    font = choose_font_size(hierarchy, node)
    largest = float(hierarchy.shares[node.layer - 1].max())
    identity, share = format_identity(node), format_percent(hierarchy.share(node))
    pictured = hierarchy.has_pictures
    title, others = _choose_words(hierarchy, node)
    width = max(_measure_width(title, others, pictured=pictured), measure_head(identity, share)) * font
    if not pictured:
        width = max(width, LEVELS[-1] * head * BOLD * measure_text(identity))  # the share is left out without room
        width = max(width, GIST_SIZE * font * min(_find_widest(title), _GIST_WIDTH))
    title_lines, lines = fit_lines(title, width / font / BOLD, len(title)), wrap_words(others, width / font)
    width += 2 * PADDING
    height = HEAD * font + LEADING * font * (len(lines) + len(title_lines)) + 2 * PADDING - 3
    picture = _place_picture(hierarchy, node, width - 2 * PADDING, height) if pictured else None
    if picture is not None:
        height += picture.height + 2
    else:
        lines_height = _GIST_LINES * GIST_LEADING * head * (GIST_SIZE * font / head) ** _SPREAD[_MIDDLE]
        height = max(height, LEVELS[_MIDDLE] * (GIST_HEAD * head + lines_height) + PADDING + 1)
        height = max(height, LEVELS[-1] * (GIST_HEAD + n_lines * GIST_LEADING) * head + 5)
    box = TopicBox(
        node=node,
        identity=identity,
        share=share,
        bar=hierarchy.share(node) / largest if largest > 0 else 0.0,
        title=tuple(title_lines),
        lines=tuple(lines),
        font=font,
        gists=(),
        picture=picture,
        width=width,
        height=height,
        quiet=hierarchy.role(node) == BACKGROUND,
    )
    return box if pictured else box._replace(gists=_choose_gists(box, head, (title, others), parents))


TAG = 16.0  # font size of a tag at the foot of a box; it can be read in a picture of three quarters of its size


def make_room(box: TopicBox, tag: str) -> TopicBox:
    """Return a box with room for a tag at its foot."""
    return box._replace(
        width=max(box.width, BOLD * TAG * measure_text(tag) + 2 * PADDING), height=box.height + 1.4 * TAG
    )


def measure_head(identity: str, share: str) -> float:
    """Return the width of the line of identity and share, in ems."""
    return BOLD * HEADER * measure_text(identity) + measure_text(share) + 0.7


def _choose_words(hierarchy: Hierarchy, node: Node) -> tuple[str, list[str]]:
    """Return the title of a box and its other words; of topics of images, only a name that a user gave."""
    if hierarchy.has_pictures:
        return shorten(hierarchy.name(node), LONGEST_TITLE), []
    n_others = PRINTED_WORDS - (0 if hierarchy.name(node) else len(hierarchy.title_words(node)))
    others = hierarchy.other_words(node, n_others)
    return shorten(hierarchy.title(node), LONGEST_TITLE), [shorten(word, LONGEST) for word in others]


def _find_widest(title: str) -> float:
    """Return the width in ems of the widest word of a title for which a box is made wide."""
    return min(max((BOLD * measure_text(word) for word in title.split()), default=0.0), _WIDEST)


def _measure_width(title: str, others: Sequence[str], *, pictured: bool) -> float:
    """Return the width in ems at which all words together are about `SHAPE` times as wide as high."""
    area = sum(measure_text(word) + 0.28 for word in (*title.split(), *others)) * LEADING
    return max([math.sqrt(area * SHAPE), _PICTURE_WIDTH * pictured, _find_widest(title), *map(measure_text, others)])


def _choose_gists(
    box: TopicBox, head: float, contents: tuple[str, Sequence[str]], parents: Sequence[TopicBox]
) -> tuple[Gist, ...]:
    """Return the gist of a box at each zoom level; after the title come words that no parent shows there."""
    title, others = contents
    gists = []
    for level, (magnification, spread) in enumerate(zip(LEVELS, _SPREAD, strict=True)):
        shown = {word for parent in parents for word in _list_words(parent, level)}
        rest = [word for word in others if word not in shown]
        size = head * magnification * (GIST_SIZE * box.font / head) ** spread
        gists.append(_fill_gist(box, (head * magnification, size), title, rest))
    return tuple(gists)


def _list_words(box: TopicBox, level: int) -> list[str]:
    """Return the words that a box shows at a zoom level."""
    lines = [line for gist in box.gists[level : level + 1] for line in (*gist.title, *gist.lines)]
    return [word.rstrip(",") for line in lines for word in line.split()]


def _fill_gist(box: TopicBox, sizes: tuple[float, float], title: str, others: Sequence[str]) -> Gist:
    """Return the gist with the title and as many other words as fit into a box, none if the title has to be cut.

    ``sizes`` are the font sizes of the head and of the words.
    """
    head, font = sizes
    width, n_lines = (box.width - 2 * PADDING) / font, int((box.height - GIST_HEAD * head - 4) / (GIST_LEADING * font))
    first = fit_lines(title, width / BOLD, n_lines)
    rest = _fit_words(others, width, n_lines - len(first)) if " ".join(first) == title else []
    return Gist(head, font, tuple(first), tuple(rest))


def _fit_words(words: Sequence[str], width: float, n_lines: int) -> list[str]:
    """Return lines of at most ``width`` ems with those of some words that fit, in their order."""
    lines: list[str] = []
    for word in words:
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and measure_text(joined) <= width:
            lines[-1] = joined
        elif len(lines) < n_lines and measure_text(word) <= width:
            lines.append(word)
    return lines


def _place_picture(hierarchy: Hierarchy, node: Node, width: float, top: float) -> BoxPicture:
    rows, columns = hierarchy.image_shape or (1, 1)
    return BoxPicture(draw_atom_uri(hierarchy, node), top - PADDING, width, width * rows / columns)


class ClassOverlay(NamedTuple):
    """The weights of the topics of a hierarchy for one class.

    Attributes
    ----------
    label : int
        The number of the class, counted from 0.
    most : float
        The largest weight, of either sign, of any topic for any class.
    """

    hierarchy: Hierarchy
    label: int
    name: str
    most: float

    def weight(self, node: Node) -> float:
        """Return the weight of a topic for the class, less the mean over classes."""
        return self.hierarchy.opinion(node, self.label)

    def part(self, node: Node) -> float:
        """Return the weight of a topic divided by the largest weight, -1 to 1."""
        return self.weight(node) / self.most if self.most > 0 else 0.0

    def words(self, node: Node) -> str:
        """Return the weight of a topic in words."""
        weight = self.weight(node)
        verb = "speaks for" if weight > 0 else "speaks against" if weight < 0 else "is silent about"
        return f"{verb} {self.name} ({format_signed(weight)})"


def find_class_overlay(hierarchy: Hierarchy, label: int) -> ClassOverlay | None:
    """Return the overlay of class ``label``, counted from 1; None if there is no such class."""
    if not 1 <= label <= len(hierarchy.classes):
        return None
    largest = max(float(abs(layer).max()) for layer in hierarchy.class_weights)
    return ClassOverlay(hierarchy, label - 1, hierarchy.classes[label - 1], largest)


def find_class(classes: Sequence[str], name: str) -> int:
    """Return the number of a class, counted from 1, by its name, ignoring case if that leaves only one.

    Raises
    ------
    LookupError
        If there is no such class.
    """
    if not classes:
        raise LookupError("no topic speaks for a class here: class weights come with sDATM, on documents with labels")
    matches = [index for index, other in enumerate(classes) if other.casefold() == name.casefold()]
    index = classes.index(name) if name in classes else matches[0] if len(matches) == 1 else -1
    if index < 0:
        raise LookupError(f"there is no class {name!r}; the classes are {', '.join(classes)}")
    return index + 1
