"""What an analyst chose to see of a frame, and the whole way from there to a picture."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.analysis.hierarchy import Frame
from app.analysis.pruned_topics import Remains
from app.views.palette import LIVE, Theme
from app.views.tree.boxes import boxes
from app.views.tree.class_overlay import class_overlay
from app.views.tree.edge_changes import EdgeNews, edge_news, gone_edges, new_strokes
from app.views.tree.layout import WIDE, Layout, lay_out
from app.views.tree.opening import USUAL
from app.views.tree.pruned_layout import Haunting, ghost_boxes, hang
from app.views.tree.pruned_svg import ghost_lines, ghost_nodes
from app.views.tree.tree_svg import Look, Scene, size_of, tree_svg
from engine.hierarchy.tree import Direction, Node, Part, Subnetwork, subnetwork

CAP = 40  # topics of one layer drawn before "n more" stands for the rest


class Choice(NamedTuple):
    """Which part of the graph: roots, threshold (the paper's tau), direction, part, what is folded away.

    ``label`` is the class, from 1, whose weights are shown; 0 is none.  ``light`` draws topics of few tokens too,
    which otherwise are there as roots only.
    """

    roots: tuple[Node, ...]
    threshold: float = USUAL
    direction: Direction = "down"
    part: Part = "union"
    closed: frozenset[Node] = frozenset()
    without: frozenset[Node] = frozenset()
    cap: int = CAP
    label: int = 0
    light: bool = False


_NONE = Haunting()


class Drawing(NamedTuple):
    """A finished picture: its SVG text, what it shows, where everything stands, and its width and height."""

    svg: str
    part: Subnetwork
    layout: Layout
    more: dict[int, int]
    size: tuple[float, float]
    news: EdgeNews | None = None
    haunting: Haunting = _NONE


def cut(frame: Frame, choice: Choice) -> tuple[Subnetwork, dict[int, int]]:
    """Cut the chosen part out of the graph, at most ``choice.cap`` topics a layer, the most popular ones.

    Returns
    -------
    part : Subnetwork
    more : dict of layer to int
        How many topics each layer lost to the cap.
    """
    graph = frame.edges(choice.threshold)
    roots = [root for root in choice.roots if frame.has(root)]
    layers = sorted({*range(1, frame.n_layers + 1)}, reverse=choice.direction == "down")
    without, more = set(choice.without), {}
    if not choice.light:
        without.update(frame.light.difference(roots))

    def reached() -> Subnetwork:
        return subnetwork(graph, roots, choice.direction, part=choice.part, closed=choice.closed, without=without)

    part = reached()
    for layer in layers:
        nodes = [node for node in part.nodes if node.layer == layer and node not in part.roots]
        if len(nodes) > choice.cap:
            dropped = sorted(nodes, key=frame.rank)[choice.cap :]
            more[layer] = len(dropped)
            without.update(dropped)
            part = reached()
    return part, more


def reveal(frame: Frame, choice: Choice, node: Node) -> Choice:
    """Choose so much more of the graph that a topic is drawn too: under its heaviest ancestors, unfolded and unhidden.

    Ancestors become roots, from the top, as far as no edge above the threshold leads on; upwards, the topic itself.
    """
    line = [node]
    while choice.direction == "down" and (parents := frame.parents(line[0], 1)):
        line.insert(0, parents[0].node)
    choice = choice._replace(closed=choice.closed.difference(line), without=choice.without.difference(line))
    if frame.light.intersection(line):
        choice = choice._replace(light=True)
    for each in line:
        drawn = cut(frame, choice)[0].nodes
        if node not in drawn and each not in drawn:
            choice = choice._replace(roots=(*choice.roots, each))
    return choice


def draw(
    frame: Frame,
    choice: Choice,
    *,
    theme: Theme = LIVE,
    aspect: float = WIDE,
    previous: Mapping[int, Sequence[Node]] | None = None,
    selected: Node | None = None,
    before: Frame | None = None,
    remains: Sequence[Remains] = (),
) -> Drawing:
    """Draw the chosen part of a frame.

    Parameters
    ----------
    frame : Frame
    choice : Choice
    theme : Theme
        `LIVE` for the page, `LIGHT` or `DARK` for a file (which also gets the caption).
    aspect : float
        Width / height of the window.
    previous : mapping, optional
        `Layout.order` of the picture before.
    selected : Node, optional
    before : Frame, optional
        The snapshot on screen until now; edges that only one of the two has are marked.
    remains : sequence of Remains
        Pruned topics, to be drawn where they have neighbours in the picture.
    """
    part, more = cut(frame, choice)
    contents = boxes(frame, part.nodes)
    haunting = hang(remains, frame, part, choice.threshold)
    everyone = contents | ghost_boxes(haunting)
    layout = lay_out(part, everyone, aspect=aspect, previous=previous, more=more, guests=haunting.guests())
    edges = frame.edges(choice.threshold)
    onward = {edge.above if choice.direction == "down" else edge.below for edge in edges}
    opinion = class_overlay(frame, choice.label)
    news = edge_news(before, frame, part, choice.threshold)
    look = Look(
        theme,
        caption(frame, choice, pruned=len(haunting.shown)),
        onward,
        choice.direction,
        selected,
        strokes=new_strokes(news),
        beneath=gone_edges(news, contents, layout) + ghost_lines(haunting, everyone, layout, theme),
        above=ghost_nodes(haunting, frame, everyone, layout, theme),
        opinion=opinion,
    )
    svg = tree_svg(Scene(frame, part, contents, layout), look)
    return Drawing(svg, part, layout, more, size_of(layout, look), news, haunting)


def caption(frame: Frame, choice: Choice, *, pruned: int = 0) -> str:
    """Say where the picture comes from and what is an edge in it: run, snapshot, threshold, seed.

    ``pruned`` is how many pruned topics are drawn.
    """
    opinion = class_overlay(frame, choice.label)
    about = f" · colour: weight for {opinion.name}" if opinion else ""
    about += f" · grey dashes: {pruned} pruned {'topic' if pruned == 1 else 'topics'}" if pruned else ""
    return (
        f"{frame.corpus} · run {frame.run} · mini-batch {frame.minibatch:,} · edges: weight > {choice.threshold:g} / "
        f"topics of the layer below{about} · seed {frame.seed} · Topiary"
    )
