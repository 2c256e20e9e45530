"""The topics with which a tree opens, and the paths to topics that several roots share."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy
from topiary.engine.hierarchy.tree import Direction, Edge, Node, Subnetwork, cut_subnetwork

USUAL = 5.0  # the paper's tau in Figure 7
STEP = 0.5  # distance between the thresholds that are offered
LOWEST = 1.0  # below it even an average topic would be a child
_ENOUGH_TOPICS, _MOST_ROOTS, _FEW_ROOTS = (
    24,
    6,
    3,
)  # topics of a first view at least, roots at most, and roots if that is too few


Detail: TypeAlias = Literal["backbone", "normal", "all", "paper"]


class ChildRule(NamedTuple):
    """The children that are drawn: the heaviest until a share ``cover`` of the parent is covered, within limits.

    Topics other than the roots have the ``below`` heaviest children, if that is not 0.
    """

    cover: float
    least: int
    most: int
    below: int = 0

    def list_edges(self, hierarchy: Hierarchy, roots: Collection[Node], direction: Direction) -> list[Edge]:
        """Return the edges of all topics of a hierarchy, if these are the roots of a tree."""
        edges = hierarchy.heaviest_edges(self.cover, self.least, self.most, direction)
        if not self.below:
            return edges
        few = hierarchy.heaviest_edges(1.0, self.below, self.below, direction)
        own = [edge for edge in edges if _find_near_end(edge, direction) in roots]
        others = [edge for edge in few if _find_near_end(edge, direction) not in roots]
        return sorted((*own, *others), key=lambda edge: (-edge.layer, edge.parent, edge.child))

    def describe(self, direction: Direction) -> str:
        """Return the rule in words, for captions."""
        kin, of = ("children", "parent") if direction == "down" else ("parents", "child")
        share = f"edges: heaviest {kin} until {100 * self.cover:.0f}% of the {of} is covered"
        limits = f", {self.least} to {self.most}" if self.most < EVERY else ""
        return f"{share}{limits}{f', {self.below} of each topic below' if self.below else ''}"


EVERY = 1_000_000  # more children than any topic has
RULES: Mapping[Detail, ChildRule] = {
    "backbone": ChildRule(0.4, 1, 2),
    "normal": ChildRule(0.7, 2, 6, below=3),
    "all": ChildRule(0.95, 2, EVERY),
}  # "paper" is the threshold tau instead


def list_top_topics(hierarchy: Hierarchy, layer: int | None = None, *, light: bool = False) -> list[Node]:
    """Return the topics of a layer (default: the top), most popular first, background ones last.

    Light topics are left out unless ``light``, or if all are light.

    Raises
    ------
    LookupError
        When there is no such layer.
    """
    own = layer or hierarchy.n_layers
    hierarchy.at_rank(own, 1)
    nodes = hierarchy.nodes(own)
    nodes = [node for node in nodes if light or node not in hierarchy.light] or nodes
    return sorted(nodes, key=lambda node: hierarchy.role(node) == BACKGROUND)


def choose_main_roots(hierarchy: Hierarchy, graph: Sequence[Edge]) -> tuple[Node, ...]:
    """Return the root of a first view: the first of `list_top_topics` with children; a few if none has any."""
    tops, parents = list_top_topics(hierarchy), {edge.above for edge in graph}
    able = [node for node in tops if node in parents and hierarchy.role(node) != BACKGROUND]
    return tuple(able[:1] or tops[:_FEW_ROOTS])


def choose_threshold(chosen: float | None, *hierarchies: Hierarchy) -> float:
    """Return the chosen threshold, or the highest one at which all hierarchies open with a tree."""
    return min(map(find_opening_threshold, hierarchies), default=USUAL) if chosen is None else chosen


def find_opening_threshold(hierarchy: Hierarchy) -> float:
    """Return the highest step, from `USUAL` down to `LOWEST`, at which a tree is readable.

    With few topics in a layer, weights cannot be many times the average: at tau = 5 a topic above 16 others has a
    child only if almost a third of its weight is in one of them.
    """
    for step in range(round((USUAL - LOWEST) / STEP) + 1):
        if _is_readable(hierarchy, threshold := USUAL - STEP * step):
            return threshold
    return USUAL


def choose_first_roots(hierarchy: Hierarchy, threshold: float) -> tuple[Node, ...]:
    """Return the roots of the first view: the first of `list_joined_topics` that together reach enough topics."""
    nodes, graph = list_joined_topics(hierarchy, threshold), hierarchy.edges(threshold)
    for count in range(1, min(_MOST_ROOTS, len(nodes)) + 1):
        if len(cut_subnetwork(graph, nodes[:count]).nodes) >= _ENOUGH_TOPICS:
            return tuple(nodes[:count])
    return tuple(nodes[:_FEW_ROOTS])


def list_joined_topics(hierarchy: Hierarchy, threshold: float) -> list[Node]:
    """Return the topics of the top layer that have children, most popular first; the whole layer if none has."""
    nodes = hierarchy.nodes(hierarchy.n_layers)
    parents = {edge.above for edge in hierarchy.edges(threshold)}
    return [node for node in nodes if node in parents] or nodes


def find_lower_threshold(
    hierarchy: Hierarchy, roots: tuple[Node, ...], threshold: float, direction: Direction = "down"
) -> float | None:
    """Return the highest step below a threshold at which at least half of the roots have edges, or None."""
    heaviest = sorted((_find_heaviest_edges(hierarchy, root, direction) for root in roots), reverse=True)
    limit = min(heaviest[len(heaviest) // 2], threshold) if heaviest else 0.0
    return STEP * (math.ceil(limit / STEP) - 1) if limit > 0 else None


def _is_readable(hierarchy: Hierarchy, threshold: float) -> bool:
    """Return True if the most popular topic and two of the next five have children, and some path reaches layer 1."""
    if hierarchy.n_layers == 1:
        return False
    tables: list[NDArray[np.bool_]] = [np.abs(layer) > threshold / len(layer) for layer in hierarchy.phi[:0:-1]]
    roots = tables[0][:, hierarchy.order[-1][:_MOST_ROOTS]]
    reached = roots.any(axis=1)
    for table in tables[1:]:
        reached = table[:, reached].any(axis=1)
    parents = np.asarray(roots.any(axis=0))
    return bool(parents[0] and parents.sum() >= min(_FEW_ROOTS, len(parents)) and reached.any())


def _find_heaviest_edges(hierarchy: Hierarchy, root: Node, direction: Direction) -> float:
    """Return the weight of a topic's heaviest edge in a direction, in multiples of the average weight."""
    heaviest = hierarchy.children(root, 1) if direction == "down" else hierarchy.parents(root, 1)
    lower = root.layer - 1 if direction == "down" else root.layer
    return abs(heaviest[0].weight) * hierarchy.widths[lower - 1] if heaviest else 0.0


def add_linking_topics(
    part: Subnetwork, graph: Sequence[Edge], direction: Direction, *, barred: Collection[Node]
) -> Subnetwork:
    """Add the topics on the heaviest path from each root to each shared topic to which no drawn edge leads.

    Parameters
    ----------
    part : Subnetwork
        The roots, and the topics that at least two of them reach.
    graph : sequence of Edge
        The whole graph, from which ``part`` was cut.
    direction : "down" or "up"
        To the children, or to the parents.
    barred : collection of Node
        Topics that paths must not pass: folded and hidden ones.
    """
    members = set(part.nodes)
    steps, nearer = _list_steps(graph, direction), _list_nearer(graph, direction)
    for root in part.roots:
        predecessors = _find_predecessors(steps, root, direction, barred)
        reached = {root}
        for node in _sort_outward((members & predecessors.keys()) - {root}, direction):
            neighbours = nearer.get(node, set()) & (reached - (set(barred) - {root}))
            path = [node] if neighbours else _trace_path(predecessors, node, reached)
            members.update(path)
            reached.update(path)
    if len(members) == len(part.nodes):
        return part
    nodes = tuple(sorted(members, key=lambda node: (-node.layer, node.column)))
    closed = {node for node in barred if node in members}
    edges = tuple(
        edge
        for edge in graph
        if edge.above in members and edge.below in members and _find_near_end(edge, direction) not in closed
    )
    return part._replace(nodes=nodes, edges=edges)


def _find_near_end(edge: Edge, direction: Direction) -> Node:
    """Return the end of an edge on the side of the roots."""
    return edge.above if direction == "down" else edge.below


def _list_steps(graph: Iterable[Edge], direction: Direction) -> dict[Node, list[tuple[Node, float]]]:
    """Return the neighbours of every topic away from the roots, each with the weight of its edge."""
    steps: dict[Node, list[tuple[Node, float]]] = {}
    for edge in graph:
        far_end = edge.below if direction == "down" else edge.above
        steps.setdefault(_find_near_end(edge, direction), []).append((far_end, edge.size))
    return steps


def _list_nearer(graph: Iterable[Edge], direction: Direction) -> dict[Node, set[Node]]:
    """Return the neighbours of every topic on the side of the roots."""
    nearer: dict[Node, set[Node]] = {}
    for edge in graph:
        far_end = edge.below if direction == "down" else edge.above
        nearer.setdefault(far_end, set()).add(_find_near_end(edge, direction))
    return nearer


def _sort_outward(nodes: Iterable[Node], direction: Direction) -> list[Node]:
    """Return topics sorted by layer, starting on the side of the roots."""
    return sorted(nodes, key=lambda node: (-node.layer if direction == "down" else node.layer, node.column))


def _find_predecessors(
    steps: dict[Node, list[tuple[Node, float]]], root: Node, direction: Direction, barred: Collection[Node]
) -> dict[Node, Node]:
    """Return the predecessor of every topic that a root reaches, on the heaviest path from the root."""
    weights, predecessors = {root: 1.0}, {root: root}
    layer = [root]
    while layer:
        next_layer: set[Node] = set()
        for node in layer:
            if node in barred and node != root:
                continue
            for far_end, size in steps.get(node, ()):
                if weights[node] * size > weights.get(far_end, 0.0):
                    weights[far_end], predecessors[far_end] = weights[node] * size, node
                next_layer.add(far_end)
        layer = _sort_outward(next_layer, direction)
    return predecessors


def _trace_path(predecessors: dict[Node, Node], node: Node, reached: Collection[Node]) -> list[Node]:
    """Return the path from a topic back to the first topic already reached, both included."""
    path = [node]
    while path[-1] not in reached:
        path.append(predecessors[path[-1]])
    return path
