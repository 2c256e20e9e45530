"""Which pruned topics are drawn in a tree, where, and with which lines to successors and children."""

from collections.abc import Sequence
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy, Relative, identity
from app.analysis.pruned_topics import LastSeen, Successor, gone, successors
from app.views.text import BOLD, escape, format_percent, shorten, text_width, wrap
from app.views.tree.boxes import LEADING, PADDING, SMALLEST, Box, Picture
from app.views.tree.layout import Guests
from engine.hierarchy.tree import Edge, Node, Subnetwork

FEWEST, MOST = 2, 8  # pruned topics of one layer drawn at most: as many as it has topics on screen, within these bounds
_SUCCESSORS, _CLOSE = 3, 0.5  # successors drawn: at most so many, each with at least this part of the first one's
_WORDS, _LONGEST, _TITLE = 6, 18, 26  # words of a pruned topic, letters of one and of the title
_WIDE, _PICTURE = 13.0, 5.5  # ems
HEAD = 1.55  # the line that says "pruned", relative to the words


class Hanging(NamedTuple):
    """A pruned topic in a tree.

    Attributes
    ----------
    last_seen : LastSeen
    beside : Node or None
        The topic of its layer next to which it stands; None is at the end of the layer.
    successors : tuple of Successor
        Topics on screen among those that have the largest parts of its words now.
    children : tuple of Relative
        Topics on screen that it was made of.
    """

    last_seen: LastSeen
    beside: Node | None
    successors: tuple[Successor, ...]
    children: tuple[Relative, ...]

    @property
    def node(self) -> Node:
        """Which topic it was."""
        return self.last_seen.node


class PrunedLayout(NamedTuple):
    """The pruned topics of a tree: those that hang in it, and how many more there are elsewhere."""

    shown: tuple[Hanging, ...] = ()
    more: int = 0

    def guests(self) -> Guests:
        """What the layout wants to know of them."""
        edges = (
            Edge(each.node.layer, each.node.column, child.node.column, child.weight)
            for each in self.shown
            for child in each.children
        )
        return Guests({each.node: each.beside for each in self.shown}, tuple(edges))


def hang(last_seen: Sequence[LastSeen], now: Hierarchy, part: Subnetwork, threshold: float) -> PrunedLayout:
    """Find the pruned topics that have neighbours in a tree: successors, or children they were made of.

    Parameters
    ----------
    last_seen : sequence of LastSeen
    now : Hierarchy
    part : Subnetwork
        What is drawn of ``now``.
    threshold : float
        A topic was made of those below it whose weight was above ``threshold / K``.
    """
    away = gone({each.node: each.when for each in last_seen}, now)
    shown, layers = set(part.nodes), {node.layer for node in part.nodes}
    found: dict[int, list[Hanging]] = {}
    for each in last_seen:
        if each.node in away and each.node.layer in layers:
            hanging = _hanging(each, now, part, shown, threshold)
            if hanging.successors or hanging.children:
                found.setdefault(each.node.layer, []).append(hanging)
    living = {layer: sum(node.layer == layer for node in part.nodes) for layer in layers}
    chosen = [
        hanging
        for layer in sorted(found, reverse=True)
        for hanging in sorted(found[layer], key=_tie, reverse=True)[: min(MOST, max(FEWEST, living[layer]))]
    ]
    return PrunedLayout(tuple(chosen), len(away) - len(chosen))


def _hanging(each: LastSeen, now: Hierarchy, part: Subnetwork, shown: set[Node], threshold: float) -> Hanging:
    layer = each.node.layer
    every = successors(each.numbers, each.weights, layer, now)[:_SUCCESSORS]
    close = tuple(
        successor for successor in every if successor.part >= _CLOSE * every[0].part and successor.node in shown
    )
    least = threshold / now.widths[layer - 2] if layer > 1 else 0.0
    children = tuple(child for child in each.children if child.weight > least and child.node in shown)
    beside = close[0].node if close else _sharing(part, children)
    return Hanging(each, beside, close, children)


def _tie(hanging: Hanging) -> float:
    """How much binds a pruned topic to those on screen."""
    return sum(successor.part for successor in hanging.successors) + sum(child.weight for child in hanging.children)


def _sharing(part: Subnetwork, children: Sequence[Relative]) -> Node | None:
    """Find the topic on screen that is made most of the heaviest of these children."""
    edges = [edge for child in children for edge in part.edges if edge.below == child.node]
    return max(edges, key=lambda edge: edge.size).above if edges else None


def pruned_boxes_svg(pruned_layout: PrunedLayout) -> dict[Node, Box]:
    """Fill and measure the boxes of pruned topics: smaller than any other, a title and few words."""
    return {each.node: _box(each.last_seen) for each in pruned_layout.shown}


def _box(last_seen: LastSeen) -> Box:
    font, title = SMALLEST, shorten(last_seen.title, _TITLE)
    pictured = bool(last_seen.picture)
    words = [] if pictured else [shorten(word, _LONGEST) for word in last_seen.words[:_WORDS]]
    lines = wrap(words, _WIDE)
    head = text_width("pruned") + text_width(identity(last_seen.node)) + 1.4
    ems = max([head, BOLD * text_width(title), _PICTURE, *(text_width(line) for line in lines)])
    width = ems * font + 2 * PADDING
    height = (HEAD + LEADING * (1 + len(lines))) * font + 2 * PADDING - 3
    picture = None
    if pictured:
        picture = Picture(last_seen.picture, height - PADDING, width - 2 * PADDING, width - 2 * PADDING)
        height += picture.height + 2
    gist = tuple(shorten(word, 11) for word in last_seen.title.split()[:2]) if not pictured else ()
    size = min((width - 12) / max([1.0, *(BOLD * text_width(line) for line in gist)]), (height - 22) / 2.5, 2 * font)
    return Box(
        node=last_seen.node,
        rank="",
        share="",
        bar=0.0,
        name=title,
        lines=tuple(lines),
        font=font,
        gist=gist,
        gist_font=size,
        picture=picture,
        width=width,
        height=height,
    )


def report(hanging: Hanging, now: Hierarchy) -> str:
    """Say when a pruned topic went and where its words are now."""
    when = hanging.last_seen.when
    there = f" of run {when.run}" if when.run != now.run else ""
    pieces = [f"pruned at mini-batch {when.minibatch:,}{there}"]
    if hanging.successors:
        first, *others = [
            (format_percent(successor.part), f"topic {now.rank(successor.node)}") for successor in hanging.successors
        ]
        rest = "".join(f", {part} in {name}" for part, name in others)
        pieces.append(f"{first[0]} of its words are now in {first[1]}{rest}")
    if hanging.children:
        pieces.append("it stood over " + ", ".join(f"topic {now.rank(child.node)}" for child in hanging.children))
    return "; ".join(pieces)


def pruned_sentence(pruned_layout: PrunedLayout) -> str:
    """Write the legend beneath the tree: how many there are, and what the lines are."""
    count, more = len(pruned_layout.shown), pruned_layout.more
    if not count:
        return "No pruned topic has a neighbour in this tree."
    rest = f" {more} more {'is' if more == 1 else 'are'} not drawn here." if more else ""
    noun = "pruned topic" if count == 1 else "pruned topics"
    return (
        f"{count} {noun} in grey dashes; dashed lines lead to the topics with the largest parts of their words now, "
        f"dotted lines to what they were made of.{rest}"
    )


def pruned_outline(pruned_layout: PrunedLayout, now: Hierarchy) -> str:
    """Write the pruned topics of a tree as a list, for screen readers and for copying."""
    if not pruned_layout.shown:
        return ""
    items = "".join(
        f'<li><button data-do="select" data-id="{identity(each.node)}">Pruned topic {identity(each.node)} of layer '
        f"{each.node.layer}</button> <small>{escape(report(each, now))}</small> "
        f"{' '.join(escape(word) for word in each.last_seen.words[:8])}</li>"
        for each in pruned_layout.shown
    )
    return f'<p class="ex-hint">Pruned topics, no longer part of the tree:</p><ul class="ex-outline">{items}</ul>'
