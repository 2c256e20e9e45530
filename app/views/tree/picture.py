"""The picture of a chosen part of a hierarchy, with changed edges marked."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.names import plural
from topiary.app.views.compare.recurrence import describe_most
from topiary.app.views.text import escape, format_percent
from topiary.app.views.theme import LIVE, PictureTheme
from topiary.app.views.tree.boxes import TopicBox, find_class_overlay, make_boxes, make_room
from topiary.app.views.tree.layout import WIDE, TreeLayout, draw_bend, lay_out_tree
from topiary.app.views.tree.opening import LOWEST, RULES, USUAL, Detail, add_linking_topics
from topiary.app.views.tree.tree_svg import EdgeStroke, TreeLook, TreeScene, draw_tree_svg, measure_picture
from topiary.engine.hierarchy.tree import Direction, Edge, Node, Part, Subnetwork, cut_subnetwork


class EdgeNews(NamedTuple):
    """Edges between topics on screen that exist in only one of two snapshots.

    Attributes
    ----------
    since : str
        The step of the earlier snapshot, in words.
    gone : tuple of Edge
        With their former weights.
    """

    since: str
    new: tuple[Edge, ...] = ()
    gone: tuple[Edge, ...] = ()

    def words(self) -> str:
        """Return the changes in words for a caption; empty if nothing changed."""
        counts = ((len(self.new), "new (dashed)"), (len(self.gone), "gone (dotted)"))
        pieces = [f"{count} {word}" for count, word in counts if count]
        return f"Lines since {self.since}: {' and '.join(pieces)}." if pieces else ""


def find_edge_news(before: Hierarchy | None, now: Hierarchy, part: Subnetwork, choice: "TreeChoice") -> EdgeNews | None:
    """Return the edges that differ between two snapshots of a run; None without an earlier one.

    Parameters
    ----------
    part : Subnetwork
        The part of ``now`` that is drawn.
    choice : TreeChoice
        Which edges are drawn.
    """
    if before is None or before.run != now.run or before.n_layers != now.n_layers:
        return None
    choice = choice._replace(sure=False)
    edges_before = {(edge.above, edge.below) for edge in list_edges(before, choice)}
    edges_now = {(edge.above, edge.below) for edge in list_edges(now, choice)}
    nodes = set(part.nodes)
    gone = (edge for edge in list_edges(before, choice) if (edge.above, edge.below) not in edges_now)
    return EdgeNews(
        before.moment,
        tuple(edge for edge in part.edges if (edge.above, edge.below) not in edges_before),
        tuple(edge for edge in gone if edge.above in nodes and edge.below in nodes),
    )


def style_new_edges(news: EdgeNews | None) -> dict[tuple[Node, Node], EdgeStroke]:
    """Return the strokes of new edges, by parent and child."""
    if news is None:
        return {}
    label = f"new since {news.since}"
    return {
        (edge.above, edge.below): EdgeStroke(
            "var(--tp-new)", f"{8 + 1.5 * _choose_width(edge):.1f} {_choose_gap(edge):.1f}", label
        )
        for edge in news.new
    }


def draw_gone_edges(news: EdgeNews | None, boxes: Mapping[Node, TopicBox], layout: TreeLayout) -> str:
    """Draw the edges that no longer exist; they go beneath everything else."""
    if news is None:
        return ""
    return "".join(_draw_gone_edge(edge, news.since, boxes, layout) for edge in news.gone)


def _draw_gone_edge(edge: Edge, since: str, boxes: Mapping[Node, TopicBox], layout: TreeLayout) -> str:
    above, below = layout.places[edge.above], layout.places[edge.below]
    x, y = above.x + boxes[edge.above].width / 2, above.y + boxes[edge.above].height
    path = f"M{x:.1f} {y:.1f}{draw_bend(x, y, below.x + boxes[edge.below].width / 2, below.y)}"
    share = f"{format_percent(edge.weight)} of {format_identity(edge.above)} was {format_identity(edge.below)}"
    title = f"gone since {since}: {share}"
    dash = (
        f'stroke-width="{_choose_width(edge):.2f}'
        f'" stroke-dasharray="0.1 {_choose_gap(edge):.1f}" stroke-linecap="round"'
    )
    look = f'class="tp-gone" fill="none" stroke="var(--tp-gone)" stroke-opacity=".75" {dash}'
    return f'<path d="{path}" {look}><title>{escape(title)}</title></path>'


def _choose_gap(edge: Edge) -> float:
    """Return the gap between dots; it grows with the width, because the round ends of dots would close it."""
    return 4 + 1.25 * _choose_width(edge)


def _choose_width(edge: Edge) -> float:
    return max(1.6, 9.0 * edge.size**0.5)


CAP = 40  # topics of a layer that are drawn at most; a chip "n more" stands for the rest


class TreeChoice(NamedTuple):
    """The chosen part of the graph: roots, threshold (the paper's tau), direction, part, folded and hidden topics.

    ``label`` is the class, from 1, whose weights are shown; 0 is none.  With ``light``, topics of few tokens are drawn
    too; otherwise only those that are roots.  With ``sure``, only edges are drawn that most other seeds found, or where
    there are none, that are above the threshold with a probability of 90 %.  The threshold chooses the edges only if
    ``detail`` is "paper"; otherwise one of the `RULES` does, and a weight is certain if it is above the average one.
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
    sure: bool = False
    detail: Detail = "paper"

    @property
    def certain_above(self) -> float:
        """The threshold by which it is judged how certain an edge is."""
        return self.threshold if self.detail == "paper" else LOWEST


class TreeDrawing(NamedTuple):
    """A finished picture: its SVG text, the part shown, the layout, and its size (width, height).

    ``more`` holds how many topics of each layer are left out; ``linking`` are topics that only lead to shared ones.
    """

    svg: str
    part: Subnetwork
    layout: TreeLayout
    more: dict[int, int]
    size: tuple[float, float]
    news: EdgeNews | None = None
    linking: frozenset[Node] = frozenset()


def list_edges(hierarchy: Hierarchy, choice: TreeChoice) -> list[Edge]:
    """Return the edges of a choice, only the certain ones if it asks for them."""
    rule = RULES.get(choice.detail)
    edges = (
        hierarchy.edges(choice.threshold)
        if rule is None
        else rule.list_edges(hierarchy, choice.roots, choice.direction)
    )
    return hierarchy.keep_sure(edges, choice.certain_above) if choice.sure else edges


def cut_tree(hierarchy: Hierarchy, choice: TreeChoice) -> tuple[Subnetwork, dict[int, int]]:
    """Cut the chosen part out of the graph, at most ``choice.cap`` topics per layer, the most popular ones.

    Topics that several roots share come with the topics that lead to them.

    Returns
    -------
    part : Subnetwork
    more : dict of layer to int
        How many topics of each layer are left out.
    """
    part, left_out = _cut_capped(hierarchy, choice)
    if choice.part != "shared" or len(part.nodes) == len(part.roots):
        return part, left_out
    barred = (choice.closed | choice.without | (frozenset() if choice.light else hierarchy.light)) - set(part.roots)
    barred |= choice.closed
    return add_linking_topics(part, list_edges(hierarchy, choice), choice.direction, barred=barred), left_out


def list_below(hierarchy: Hierarchy, choice: TreeChoice, node: Node) -> tuple[Node, ...]:
    """Return a topic and all topics below it by the rule of a tree, also those that are folded there."""
    whole = choice._replace(
        roots=(node,), direction="down", part="union", closed=frozenset(), cap=sum(hierarchy.widths)
    )  # fmt: skip
    return cut_tree(hierarchy, whole)[0].nodes


def _cut_capped(hierarchy: Hierarchy, choice: TreeChoice) -> tuple[Subnetwork, dict[int, int]]:
    """Return the part reached from the roots, capped layer by layer, and how many topics of each layer are left out."""
    graph = list_edges(hierarchy, choice)
    roots = [root for root in choice.roots if hierarchy.has(root)]
    layers = sorted({*range(1, hierarchy.n_layers + 1)}, reverse=choice.direction == "down")
    without, left_out = set(choice.without), {}
    if not choice.light:
        without.update(hierarchy.light.difference(roots))

    def cut() -> Subnetwork:
        return cut_subnetwork(graph, roots, choice.direction, part=choice.part, closed=choice.closed, without=without)

    part = cut()
    for layer in layers:
        nodes = [node for node in part.nodes if node.layer == layer and node not in part.roots]
        if len(nodes) > choice.cap:
            dropped = sorted(nodes, key=hierarchy.rank)[choice.cap :]
            left_out[layer] = len(dropped)
            without.update(dropped)
            part = cut()
    return part, left_out


def list_ancestors(hierarchy: Hierarchy, choice: TreeChoice, node: Node) -> list[Node]:
    """Return a topic preceded by its chain of heaviest parents, top first; the topic alone in an upward tree."""
    chain = [node]
    while choice.direction == "down" and (parents := hierarchy.parents(chain[0], 1)):
        chain.insert(0, parents[0].node)
    return chain


def reveal_topic(hierarchy: Hierarchy, choice: TreeChoice, node: Node) -> TreeChoice:
    """Return a choice with which a topic is drawn too, under its heaviest ancestors, none of them folded or hidden.

    From the top, an ancestor becomes a root if no edge above the threshold leads to it; in an upward tree, the topic.
    """
    ancestors = list_ancestors(hierarchy, choice, node)
    choice = choice._replace(closed=choice.closed.difference(ancestors), without=choice.without.difference(ancestors))
    if hierarchy.light.intersection(ancestors):
        choice = choice._replace(light=True)
    for ancestor in ancestors:
        nodes = cut_tree(hierarchy, choice)[0].nodes
        if node not in nodes and ancestor not in nodes:
            choice = choice._replace(roots=(*choice.roots, ancestor))
    return choice


def find_apart(hierarchy: Hierarchy, part: Subnetwork) -> tuple[Node, ...]:
    """Return the background topics of a picture that no drawn edge joins; none if there is nothing else."""
    joined = {node for edge in part.edges for node in (edge.above, edge.below)}
    apart = [node for node in part.nodes if node not in joined and hierarchy.role(node) == BACKGROUND]
    return tuple(sorted(apart, key=hierarchy.rank)) if len(apart) < len(part.nodes) else ()


_LEAST_ELSEWHERE = 0.02  # of a child: a smaller share in other top topics is left out


def describe_elsewhere(hierarchy: Hierarchy, part: Subnetwork) -> dict[Node, str]:
    """Return, for the topics right below roots in the top layer, how much of them is in other top topics."""
    roots = {root for root in part.roots if root.layer == hierarchy.n_layers}
    found = {}
    for node in {edge.below for edge in part.edges if edge.above in roots}:
        elsewhere = sum(each.weight for each in hierarchy.belongs(node) if each.node not in roots)
        if elsewhere >= _LEAST_ELSEWHERE:
            found[node] = f"{format_percent(elsewhere)} in other top topics"
    return found


def draw_tree(
    hierarchy: Hierarchy,
    choice: TreeChoice,
    *,
    theme: PictureTheme = LIVE,
    aspect: float = WIDE,
    previous: Mapping[int, Sequence[Node]] | None = None,
    selected: Node | None = None,
    before: Hierarchy | None = None,
) -> TreeDrawing:
    """Draw the chosen part of a hierarchy.

    Parameters
    ----------
    theme : PictureTheme
        `LIVE` for the page, `LIGHT` for a file (which also gets the caption).
    aspect : float
        Width / height of the window.
    previous : mapping, optional
        `TreeLayout.order` of the previous picture.
    before : Hierarchy, optional
        The snapshot that was on screen before; edges that exist in only one of the two are marked.
    """
    part, left_out = cut_tree(hierarchy, choice)
    linking = (
        frozenset(part.nodes).difference(_cut_capped(hierarchy, choice)[0].nodes)
        if choice.part == "shared"
        else frozenset()
    )
    contents = make_boxes(hierarchy, part.nodes, part.edges)
    contents |= {node: contents[node]._replace(quiet=True) for node in linking}
    tags = describe_elsewhere(hierarchy, part)
    contents |= {node: make_room(contents[node], text) for node, text in tags.items()}
    apart = find_apart(hierarchy, part)
    layout = lay_out_tree(part, contents, aspect=aspect, previous=previous, more=left_out, apart=apart)
    edges = list_edges(hierarchy, choice)
    expandable = {edge.above if choice.direction == "down" else edge.below for edge in edges}
    opinion = find_class_overlay(hierarchy, choice.label)
    news = find_edge_news(before, hierarchy, part, choice)
    look = TreeLook(
        theme,
        write_caption(hierarchy, choice, linking=len(linking)),
        expandable,
        choice.direction,
        selected,
        strokes=style_new_edges(news),
        beneath=draw_gone_edges(news, contents, layout),
        opinion=opinion,
        threshold=choice.certain_above,
        tags=tags,
    )
    svg = draw_tree_svg(TreeScene(hierarchy, part, contents, layout), look)
    return TreeDrawing(svg, part, layout, left_out, measure_picture(layout, look), news, linking)


def describe_rule(choice: TreeChoice) -> str:
    """Return in words which edges are drawn."""
    if choice.detail == "paper":
        return f"edges: weight > {choice.threshold:g} / topics of the layer below"
    return RULES[choice.detail].describe(choice.direction)


def describe_sure(hierarchy: Hierarchy) -> str:
    """Return in words which edges are kept if only those are drawn that are sure."""
    seeds = hierarchy.recurrence
    return "sure within this run (90%)" if seeds is None else describe_most(seeds.n_runs)


def write_caption(hierarchy: Hierarchy, choice: TreeChoice, *, linking: int = 0) -> str:
    """Return the caption of a tree: run, snapshot, the meaning of an edge, and seed.

    ``linking`` is the number of topics that only lead to shared ones.
    """
    opinion = find_class_overlay(hierarchy, choice.label)
    notes = f" · colour: weight for {opinion.name}" if opinion else ""
    notes += f" · paler: {plural(linking, 'topic')} that lead to shared ones" if linking else ""
    notes += " · red dashes: made rarer" if any(edge.weight < 0 for edge in list_edges(hierarchy, choice)) else ""
    notes += f" · only edges {describe_sure(hierarchy)}" if choice.sure else ""
    return (
        f"{hierarchy.corpus} · run {hierarchy.run} · {hierarchy.moment} · "
        f"{describe_rule(choice)}{notes} · seed {hierarchy.seed} · Topiary"
    )
