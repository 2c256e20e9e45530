"""What stands above a tree, a sentence and a bar of all topics of its layer, and a tree as rows for a phone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.names import plural
from topiary.app.views.html import render
from topiary.app.views.text import BOLD, format_percent, measure_text
from topiary.app.views.tree.picture import describe_elsewhere
from topiary.engine.hierarchy.tree import Direction, Edge, Node, Subnetwork

_TITLE, _PADDING, _GAP = 12.5, 18.0, 4.0  # of a cell of the bar: size of the letters, and pixels within and between
_LEAST_SEGMENT = 0.02  # part of a topic that has a piece of its own in the bar of a row


class TopicRow(NamedTuple):
    """A row of the topics on a phone: how deep it stands, its share in words, its bar, and a remark.

    ``bar`` is a CSS colour; ``pieces`` are the parts of its length at which it is cut, which all lie in (0, 1).
    """

    node: Node
    depth: int
    share: str
    length: float
    pieces: Sequence[float] = ()
    tag: str = ""


def draw_share_bar(hierarchy: Hierarchy, layer: int, roots: Collection[Node], width: float) -> str:
    """Return a bar of the topics of a layer, each as wide as its share; a title stands only where it fits whole.

    A click makes a topic the root.

    Parameters
    ----------
    roots : collection of Node
        The roots of the tree, which are marked.
    width : float
        Of the bar, in pixels.
    """
    nodes = [node for node in hierarchy.nodes(layer) if hierarchy.share(node) > 0]
    total = sum(map(hierarchy.share, nodes))
    room = width - _GAP * len(nodes)
    cells = []
    for node in nodes:
        title, part = hierarchy.title(node), hierarchy.share(node) / total
        fits = BOLD * _TITLE * measure_text(title) + _PADDING <= part * room
        cells.append((node, part, title if fits else "", node in roots))
    return render("explore.share_bar", hierarchy, layer, cells) if len(cells) > 1 else ""


def describe_tree(hierarchy: Hierarchy, part: Subnetwork, direction: Direction) -> str:
    """Return one sentence about a tree: what most of its root is, or what its roots reach."""
    n_reached = len(part.nodes) - len(part.roots)
    if len(part.roots) != 1:
        what = "topics that they are made of" if direction == "down" else "topics that they are part of"
        return f"{len(part.roots)} topics, and {n_reached} {what}." if part.roots else ""
    root = part.roots[0]
    title, ends = hierarchy.title(root), [edge for edge in part.edges if root in (edge.above, edge.below)]
    if not ends:
        return f"{title}: no other topic is drawn."
    if direction == "up":
        belongs = hierarchy.belongs(root)
        n_more = len(belongs) - 1
        more = f"; the rest is in {plural(n_more, 'more topic')}" if n_more else ""
        return f"{format_percent(belongs[0].weight)} of {title} is in {hierarchy.title(belongs[0].node)}{more}."
    first, *others = sorted(ends, key=lambda edge: -edge.size)
    rest = format_percent(sum(edge.size for edge in others))
    more = f"; {plural(len(others), 'more topic')} {'makes' if len(others) == 1 else 'make'} up another {rest}"
    verb = "of" if hierarchy.linear else "of what is changed by"
    return f"{format_percent(first.size)} {verb} {title} is {hierarchy.title(first.below)}{more if others else ''}."


def list_top_rows(hierarchy: Hierarchy) -> list[TopicRow]:
    """Return the topics of the top layer as rows whose bars are cut where their children begin."""
    nodes = [node for node in hierarchy.nodes(hierarchy.n_layers) if hierarchy.share(node) > 0]
    largest = max(map(hierarchy.share, nodes), default=1.0)
    rows = []
    for node in nodes:
        pieces, end = [], 0.0
        for child in hierarchy.children(node, hierarchy.widths[-2]):
            if abs(child.weight) < _LEAST_SEGMENT or end >= 1.0:
                break
            end += abs(child.weight)
            pieces.append(min(end, 1.0))
        share = hierarchy.share(node)
        rows.append(TopicRow(node, 0, format_percent(share), share / largest, pieces))
    return rows


def list_tree_rows(hierarchy: Hierarchy, part: Subnetwork, direction: Direction) -> list[TopicRow]:
    """Return a tree as rows, each topic below every one that leads to it, the heaviest edges first."""
    tags = describe_elsewhere(hierarchy, part)
    links: dict[Node, list[tuple[Node, Edge]]] = {}
    for edge in sorted(part.edges, key=lambda edge: -edge.size):
        near, far = (edge.above, edge.below) if direction == "down" else (edge.below, edge.above)
        links.setdefault(near, []).append((far, edge))
    return [
        row
        for root in part.roots
        for row in (
            TopicRow(root, 0, format_percent(hierarchy.share(root)), 1.0),
            *_list_rows_below(root, 1, links, tags),
        )
    ]


def _list_rows_below(
    node: Node, depth: int, links: Mapping[Node, Sequence[tuple[Node, Edge]]], tags: Mapping[Node, str]
) -> Iterator[TopicRow]:
    for far, edge in links.get(node, ()):
        tag = tags.get(far, "") if depth == 1 else ""
        yield TopicRow(far, depth, f"{format_percent(edge.size)} of it", edge.size, (), tag)
        yield from _list_rows_below(far, depth + 1, links, tags)


def draw_rows(hierarchy: Hierarchy, rows: Sequence[TopicRow], selected: Node | None) -> str:
    """Return rows of topics for a phone; a click on one selects its topic."""
    return render("explore.rows", hierarchy, rows, selected)
