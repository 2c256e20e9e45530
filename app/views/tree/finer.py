"""The topics of runs that refine topics of a tree, drawn below these as their children, with dotted lines."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from app.analysis.hierarchy import Hierarchy, format_identity
from app.views.palette import PictureTheme, find_layer_colour
from app.views.text import escape, format_percent
from app.views.tree.boxes import TopicBox, make_boxes
from app.views.tree.layout import Curve, TreeLayout
from app.views.tree.opening import list_top_topics
from app.views.tree.tree_svg import draw_gist, draw_outline, draw_text, draw_words
from engine.hierarchy.tree import Edge, Node, Subnetwork

MOST = 8  # topics of a run that are drawn below the topic which it refines
DOTS = "1.5 5"  # of their outlines
_BEYOND = 10_000_000  # columns of the nodes that stand for them in the layout: larger than those of all topics
_PILL = 18.0  # height of a handle


class OpenedTopic(NamedTuple):
    """A topic of a run that refines a topic of the tree.

    Attributes
    ----------
    place : Node
        What stands for it in the layout: a node of the layer below that of ``parent``, which has no topic.
    parent : Node
        The topic of the tree.
    hierarchy : Hierarchy
        The topics of the run.
    node : Node
        The topic of that run.
    """

    place: Node
    parent: Node
    hierarchy: Hierarchy
    node: Node

    @property
    def identity(self) -> str:
        """The run and the identity of the topic in it, such as ``12/L3:4``."""
        return f"{self.hierarchy.run}/{format_identity(self.node)}"

    @property
    def edge(self) -> Edge:
        """The line that leads to it; its weight is the topic's share of the tokens of its run."""
        return Edge(self.parent.layer, self.parent.column, self.place.column, self.hierarchy.share(self.node))

    def describe(self) -> str:
        """Return in one line what it is."""
        share = format_percent(self.hierarchy.share(self.node))
        return f"topic {self.hierarchy.rank(self.node)} of run {self.hierarchy.run}, {share} of its tokens"


def list_opened(hierarchy: Hierarchy, nodes: Iterable[Node], runs: Collection[int]) -> list[OpenedTopic]:
    """Return the largest topics of the top layer of those ``runs`` that refine a topic of ``nodes``."""
    found = [
        (parent, finer, node)
        for parent in nodes
        for finer in hierarchy.finer.get(parent, ())
        if finer.run in runs
        for node in list_top_topics(finer)[:MOST]
    ]
    return [
        OpenedTopic(Node(parent.layer - 1, _BEYOND + number), parent, finer, node)
        for number, (parent, finer, node) in enumerate(found)
    ]


def list_runs(opened: Iterable[OpenedTopic]) -> list[int]:
    """Return the numbers of the runs that are opened."""
    return sorted({each.hierarchy.run for each in opened})


def add_opened(part: Subnetwork, opened: Sequence[OpenedTopic]) -> Subnetwork:
    """Return a part of a tree for the layout, with the opened topics as children."""
    nodes = [each.place for each in opened]
    return part._replace(nodes=(*part.nodes, *nodes), edges=(*part.edges, *(each.edge for each in opened)))


def make_opened_boxes(opened: Sequence[OpenedTopic]) -> dict[Node, TopicBox]:
    """Return the boxes of opened topics, by the nodes that stand for them."""
    boxes: dict[Node, TopicBox] = {}
    for run in list_runs(opened):
        own = [each for each in opened if each.hierarchy.run == run]
        contents = make_boxes(own[0].hierarchy, [each.node for each in own])
        boxes |= {each.place: contents[each.node] for each in own}
    return boxes


def split_layout(layout: TreeLayout, opened: Sequence[OpenedTopic]) -> tuple[TreeLayout, dict[Node, Curve]]:
    """Return a layout without the lines of opened topics and without counting these, and their lines by place."""
    places = {each.place for each in opened}
    own = {curve.edge.below: curve for curve in layout.curves if curve.edge.below in places}
    bands = tuple(
        band._replace(shown=band.shown - sum(place.layer == band.layer for place in places)) for band in layout.bands
    )
    curves = tuple(curve for curve in layout.curves if curve.edge.below not in places)
    return layout._replace(curves=curves, bands=bands), own


def draw_opened(
    opened: Sequence[OpenedTopic],
    boxes: Mapping[Node, TopicBox],
    layout: TreeLayout,
    curves: Mapping[Node, Curve],
    theme: PictureTheme,
    *,
    live: bool,
) -> str:
    """Draw opened topics and the dotted lines that lead to them, over everything else."""
    lines = "".join(_draw_line(each, curves[each.place], theme, live=live) for each in opened)
    lines = f'<g class="tp-edges" fill="none" stroke-opacity=".7" stroke-linecap="round">{lines}</g>' if lines else ""
    top = max((band.layer for band in layout.bands), default=0)
    drawn = []
    for each in opened:
        box, place = boxes[each.place], layout.places[each.place]
        roles = _write_roles(each, 1 + top - each.place.layer) if live else ""
        inside = draw_outline(box, theme, DOTS) + draw_words(box, theme) + (draw_gist(box, theme) if live else "")
        drawn.append(f'<g transform="translate({place.x:.1f} {place.y:.1f})"{roles}>{inside}</g>')
    return lines + "".join(drawn)


def _draw_line(opened: OpenedTopic, curve: Curve, theme: PictureTheme, *, live: bool) -> str:
    colour = find_layer_colour(theme, opened.parent.layer)
    path = f'<path d="{curve.path}" stroke="{colour}" stroke-width="{curve.width:.2f}"'
    path += f' stroke-dasharray="0.1 {3 + 1.6 * curve.width:.1f}"'  # round dots, apart
    if not live:
        return f"{path}/>"
    tip = f"run {opened.hierarchy.run} refines {format_identity(opened.parent)}&#10;{opened.describe()}"
    ends = f'data-from="{format_identity(opened.parent)}" data-to="{opened.identity}" data-tip="{tip}"'
    return f'<g class="tp-edge" {ends}><path class="tp-hit" d="{curve.path}"/>{path} class="tp-line"/></g>'


def _write_roles(opened: OpenedTopic, level: int) -> str:
    """Return the attributes of an opened topic for screen readers, the style sheet and the tooltip."""
    hierarchy, node = opened.hierarchy, opened.node
    words = escape(", ".join(word.text for word in hierarchy.top_words(node)))
    title, head = escape(hierarchy.title(node)), opened.describe()
    return (
        f' class="tp-node" data-id="{opened.identity}" data-run="{hierarchy.run}" role="treeitem" tabindex="-1"'
        f' aria-level="{level}" aria-selected="false" aria-label="{title}: {head}, opens that run. {words}"'
        f' data-tip="{title}&#10;{head}&#10;{words}&#10;click to open run {hierarchy.run} at this topic"'
    )


def draw_finer_handles(
    hierarchy: Hierarchy,
    boxes: Mapping[Node, TopicBox],
    layout: TreeLayout,
    runs: Collection[int],
    theme: PictureTheme,
    *,
    live: bool,
) -> str:
    """Draw on each refined topic a handle for its newest run and for those opened; a file shows only the latter."""
    pieces: list[str] = []
    for node, box in boxes.items():
        finer = hierarchy.finer.get(node, ())
        shown = [each for each in finer if each.run in runs]
        if live and finer and finer[-1] not in shown:
            shown.append(finer[-1])
        place = layout.places[node]
        for number, each in enumerate(shown):
            corner = place.x + box.width, place.y + box.height + number * _PILL
            is_opened, middle = each.run in runs, place.x + box.width / 2
            pieces.append(_draw_handle(node, each, corner, theme, middle=middle, opened=is_opened, live=live))
    return "".join(pieces)


def _draw_handle(
    node: Node,
    finer: Hierarchy,
    corner: tuple[float, float],
    theme: PictureTheme,
    *,
    middle: float,
    opened: bool,
    live: bool,
) -> str:
    """Draw a handle at the lower right ``corner`` of a box: the number of finer topics, or the run if it is opened.

    ``middle`` is the x of the middle of the box.
    """
    n_topics = len(list_top_topics(finer))
    text = f"run {finer.run}" if opened else f"{n_topics} finer"
    width, colour = 14.0 + 6.4 * len(text), find_layer_colour(theme, node.layer)
    shape = f'x="0" y="-6" width="{width:.1f}" height="{_PILL}" rx="9" fill="{theme.box}"'
    pill = f'<rect {shape} stroke="{colour}" stroke-width="1.3" stroke-dasharray="{DOTS}" stroke-linecap="round"/>'
    label = draw_text(width / 2, 7, 11.5, theme.ink, text, ' text-anchor="middle"')
    left = max(corner[0] + 6 - width, middle + 18)  # clear of the handle that folds children
    place = f'transform="translate({left:.1f} {corner[1]:.1f})"'
    if not live:
        return f"<g {place}>{pill}{label}</g>"
    act = "fold them" if opened else "open them here"
    tip = f"{n_topics} finer topics, run {finer.run}&#10;a run on the documents of this topic: click (or F) to {act}"
    keys = f'data-id="{format_identity(node)}" data-value="{finer.run}" data-tip="{tip}"'
    return f'<g {place} class="tp-finer" aria-hidden="true" {keys}><g class="tp-grow">{pill}{label}</g></g>'
