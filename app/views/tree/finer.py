"""The topics of runs that refine topics of a tree, drawn below these as their children, with dotted lines."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.views.palette import PictureTheme, find_layer_colour
from topiary.app.views.text import escape, format_percent
from topiary.app.views.tree.boxes import TopicBox, make_boxes
from topiary.app.views.tree.layout import Curve, TreeLayout
from topiary.app.views.tree.opening import list_top_topics
from topiary.app.views.tree.tree_svg import describe_edge, draw_gist, draw_handle, draw_outline, draw_text, draw_words
from topiary.engine.hierarchy.tree import Edge, Node, Subnetwork

MOST = 8  # topics of a run that are drawn below the topic which it refines, and children below one of them
DOTS = "1.5 5"  # of their outlines
_BEYOND, _LAYERS = 10_000_000, 1000  # more than any topic's column, and than any topic's layer
_PILL = 18.0  # height of a handle


class OpenedTopic(NamedTuple):
    """A topic of a run that refines a topic of the tree.

    Attributes
    ----------
    refined : Node
        The topic of the tree.
    hierarchy : Hierarchy
        The topics of the run.
    node : Node
        The topic of that run.
    edges : tuple of Edge
        The drawn edges that lead to it from its parents in that run; none to a topic of the top layer.
    children : int
        Topics that are drawn below it once it is unfolded.
    is_unfolded : bool
    """

    refined: Node
    hierarchy: Hierarchy
    node: Node
    edges: tuple[Edge, ...] = ()
    children: int = 0
    is_unfolded: bool = False

    @property
    def identity(self) -> str:
        """The run and the identity of the topic in it, such as ``12/L3:4``."""
        return write_identity(self.hierarchy, self.node)

    @property
    def place(self) -> Node:
        """What stands for it in the layout: a node that is no topic, those of the top layer right below ``refined``."""
        layer = self.refined.layer - 1 - (self.hierarchy.n_layers - self.node.layer)
        return Node(layer, _number_place(self.hierarchy, self.node))

    @property
    def lines(self) -> tuple["OpenedLine", ...]:
        """The lines that lead to it."""
        run, place = self.hierarchy.run, self.place
        if not self.edges:
            root = Edge(self.refined.layer, self.refined.column, place.column, self.hierarchy.share(self.node))
            return (OpenedLine(root, format_identity(self.refined), self),)
        return tuple(
            OpenedLine(
                Edge(place.layer + 1, _number_place(self.hierarchy, edge.above), place.column, edge.weight),
                f"{run}/{format_identity(edge.above)}",
                self,
                edge,
            )
            for edge in self.edges
        )

    def describe(self) -> str:
        """Return in one line what it is."""
        hierarchy, node = self.hierarchy, self.node
        layer = f" of layer {node.layer}" if self.edges else ""
        share = format_percent(hierarchy.share(node))
        return f"topic {format_identity(node)}{layer} of run {hierarchy.run}, {share} of its tokens"


class OpenedLine(NamedTuple):
    """A line of the picture that leads to an opened topic.

    Attributes
    ----------
    edge : Edge
        As the layout has it; from the topic that is refined, its weight is the topic's share of the tokens of its run.
    source : str
        Identity of the topic from which it comes.
    topic : OpenedTopic
    own : Edge or None
        The edge of the run that it stands for; None if it comes from the topic that is refined.
    """

    edge: Edge
    source: str
    topic: OpenedTopic
    own: Edge | None = None


def write_identity(hierarchy: Hierarchy, node: Node) -> str:
    """Return the identity of a topic among those of other runs, such as ``12/L3:4``."""
    return f"{hierarchy.run}/{format_identity(node)}"


def _number_place(hierarchy: Hierarchy, node: Node) -> int:
    """Return the column of what stands for a topic, the same in every picture and beyond those of all topics."""
    return (hierarchy.run * _LAYERS + node.layer) * _BEYOND + node.column


def list_opened(
    hierarchy: Hierarchy,
    nodes: Iterable[Node],
    runs: Collection[int],
    unfolded: Collection[str],
    list_edges: Callable[[Hierarchy], Iterable[Edge]],
) -> list[OpenedTopic]:
    """Return the topics that are drawn of those ``runs`` that refine a topic of ``nodes``.

    Parameters
    ----------
    hierarchy : Hierarchy
    nodes : iterable of Node
        The topics of the tree.
    runs : collection of int
    unfolded : collection of str
        Identities such as ``12/L3:4`` of topics whose children are drawn, if they are drawn themselves.
    list_edges : (hierarchy) -> iterable of Edge
        Returns the edges to the children that a topic has.
    """
    return [
        topic
        for refined in nodes
        for finer in hierarchy.finer.get(refined, ())
        if finer.run in runs
        for topic in _open_run(refined, finer, unfolded, list_edges(finer))
    ]


def _open_run(
    refined: Node, finer: Hierarchy, unfolded: Collection[str], edges: Iterable[Edge]
) -> Iterable[OpenedTopic]:
    """Return the largest topics of the top layer of a run, and below those unfolded their heaviest children."""
    children: dict[Node, list[Edge]] = {}
    for edge in sorted(edges, key=lambda edge: -edge.size):
        own = children.setdefault(edge.above, [])
        if len(own) < MOST and edge.below not in finer.light:
            own.append(edge)
    drawn: dict[Node, list[Edge]] = {node: [] for node in list_top_topics(finer)[:MOST]}
    waiting = list(drawn)
    for node in waiting:  # it grows: every layer is complete before its children are looked at
        if write_identity(finer, node) in unfolded:
            for edge in children.get(node, ()):
                if edge.below not in drawn:
                    drawn[edge.below] = []
                    waiting.append(edge.below)
                drawn[edge.below].append(edge)
    for node, leading in drawn.items():
        is_unfolded = write_identity(finer, node) in unfolded
        yield OpenedTopic(refined, finer, node, tuple(leading), len(children.get(node, ())), is_unfolded)


def list_runs(opened: Iterable[OpenedTopic]) -> list[int]:
    """Return the numbers of the runs that are opened."""
    return sorted({each.hierarchy.run for each in opened})


def add_opened(part: Subnetwork, opened: Sequence[OpenedTopic]) -> Subnetwork:
    """Return a part of a tree for the layout, with the opened topics as children."""
    nodes = [each.place for each in opened]
    edges = [line.edge for each in opened for line in each.lines]
    return part._replace(nodes=(*part.nodes, *nodes), edges=(*part.edges, *edges))


def make_opened_boxes(opened: Sequence[OpenedTopic]) -> dict[Node, TopicBox]:
    """Return the boxes of opened topics, by the nodes that stand for them."""
    boxes: dict[Node, TopicBox] = {}
    for run in list_runs(opened):
        own = [each for each in opened if each.hierarchy.run == run]
        edges = [edge for each in own for edge in each.edges]
        contents = make_boxes(own[0].hierarchy, [each.node for each in own], edges)
        boxes |= {each.place: contents[each.node] for each in own}
    return boxes


def split_layout(layout: TreeLayout, opened: Sequence[OpenedTopic]) -> tuple[TreeLayout, dict[Edge, Curve]]:
    """Return a layout without the lines of opened topics and without counting these, and their lines by edge.

    Of the rows that have nothing else, the first alone keeps its caption.
    """
    places = {each.place for each in opened}
    own = {curve.edge: curve for curve in layout.curves if curve.edge.below in places}
    bands = [
        band._replace(shown=band.shown - sum(place.layer == band.layer for place in places)) for band in layout.bands
    ]
    captions = [band for band in bands if band.shown] + [band for band in bands if not band.shown][:1]
    curves = tuple(curve for curve in layout.curves if curve.edge.below not in places)
    return layout._replace(curves=curves, bands=tuple(captions)), own


def draw_opened(
    opened: Sequence[OpenedTopic],
    boxes: Mapping[Node, TopicBox],
    layout: TreeLayout,
    curves: Mapping[Edge, Curve],
    theme: PictureTheme,
    *,
    live: bool,
) -> str:
    """Draw opened topics and the dotted lines that lead to them, over everything else."""
    lines = "".join(_draw_line(line, curves[line.edge], theme, live=live) for each in opened for line in each.lines)
    lines = f'<g class="tp-edges" fill="none" stroke-opacity=".7" stroke-linecap="round">{lines}</g>' if lines else ""
    top = max((band.layer for band in layout.bands), default=0)
    drawn = []
    for each in opened:
        box, place = boxes[each.place], layout.places[each.place]
        roles = _write_roles(each, 1 + top - each.place.layer) if live else ""
        inside = draw_outline(box, theme, DOTS) + draw_words(box, theme) + (draw_gist(box, theme) if live else "")
        if each.children:
            folded = None if each.is_unfolded else each.children
            inside += draw_handle(box, theme, folded, below=True, live=live)
        drawn.append(f'<g transform="translate({place.x:.1f} {place.y:.1f})"{roles}>{inside}</g>')
    return lines + "".join(drawn)


def _draw_line(line: OpenedLine, curve: Curve, theme: PictureTheme, *, live: bool) -> str:
    opened, own = line.topic, line.own
    colour = find_layer_colour(theme, opened.refined.layer if own is None else own.layer)
    if line.edge.weight < 0:
        colour = theme.lowers
    path = f'<path d="{curve.path}" stroke="{colour}" stroke-width="{curve.width:.2f}"'
    path += f' stroke-dasharray="0.1 {3 + 1.6 * curve.width:.1f}"'  # round dots, apart
    if not live:
        return f"{path}/>"
    run, source = opened.hierarchy.run, line.source
    tip = f"run {run} refines {source}\n{opened.describe()}"
    if own is not None:
        tip = f"{describe_edge(opened.hierarchy, own)}\nof run {run}"
    lines = "&#10;".join(escape(each) for each in tip.split("\n"))
    ends = f'data-from="{source}" data-to="{opened.identity}" data-tip="{lines}"'
    return f'<g class="tp-edge" {ends}><path class="tp-hit" d="{curve.path}"/>{path} class="tp-line"/></g>'


def _write_roles(opened: OpenedTopic, level: int) -> str:
    """Return the attributes of an opened topic for screen readers, the style sheet and the tooltip."""
    hierarchy, node = opened.hierarchy, opened.node
    words = escape(", ".join(word.text for word in hierarchy.top_words(node)))
    title, head = escape(hierarchy.title(node)), opened.describe()
    folds = f' aria-expanded="{str(opened.is_unfolded).lower()}"' if opened.children else ""
    return (
        f' class="tp-node" data-id="{opened.identity}" data-run="{hierarchy.run}" role="treeitem" tabindex="-1"'
        f' aria-level="{level}"{folds} aria-selected="false" aria-label="{title}: {head}, opens that run. {words}"'
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
