"""The topics that a tree opens with, and the paths to topics that several roots share."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from app.analysis.hierarchy import Hierarchy
from engine.hierarchy.tree import Direction, Edge, Node, Subnetwork, cut_subnetwork

USUAL = 5.0  # the paper's tau in Figure 7
STEP = 0.5  # between two thresholds that are offered
LOWEST = 1.0  # below it even an average topic would be a child
_ENOUGH, _MOST_ROOTS, _FEW = 24, 6, 3


def choose_threshold(chosen: float | None, *hierarchies: Hierarchy) -> float:
    """Return the chosen threshold, or the highest one at which all hierarchies open with a tree."""
    return min(map(find_opening_threshold, hierarchies), default=USUAL) if chosen is None else chosen


def find_opening_threshold(hierarchy: Hierarchy) -> float:
    """Return the highest step, from `USUAL` down to `LOWEST`, at which a tree is readable.

    With few topics in a layer, weights cannot be many times the average: at tau = 5 a topic above 16 others has a
    child only if almost a third of its weight is in one of them.
    """
    return next(
        (threshold for threshold in _list_thresholds(USUAL, LOWEST) if _is_readable(hierarchy, threshold)), USUAL
    )


def choose_first_roots(hierarchy: Hierarchy, threshold: float) -> tuple[Node, ...]:
    """Return the roots of the first view: of `list_joined_topics`, as many as give enough to see."""
    nodes, graph = list_joined_topics(hierarchy, threshold), hierarchy.edges(threshold)
    for count in range(1, min(_MOST_ROOTS, len(nodes)) + 1):
        if len(cut_subnetwork(graph, nodes[:count]).nodes) >= _ENOUGH:
            return tuple(nodes[:count])
    return tuple(nodes[:_FEW])


def list_joined_topics(hierarchy: Hierarchy, threshold: float) -> list[Node]:
    """Return topics of the top layer that have children, most popular first; all of them if none has."""
    nodes = hierarchy.nodes(hierarchy.n_layers)
    parents = {edge.above for edge in hierarchy.edges(threshold)}
    return [node for node in nodes if node in parents] or nodes


def find_lower_threshold(
    hierarchy: Hierarchy, roots: tuple[Node, ...], threshold: float, direction: Direction = "down"
) -> float | None:
    """Return the highest step below a threshold at which at least half of the roots have edges, or None."""
    heaviest = sorted((_find_heaviest_edges(hierarchy, root, direction) for root in roots), reverse=True)
    least = min(heaviest[len(heaviest) // 2], threshold) if heaviest else 0.0
    return STEP * (math.ceil(least / STEP) - 1) if least > 0 else None


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
    return bool(parents[0] and parents.sum() >= min(_FEW, len(parents)) and reached.any())


def _find_heaviest_edges(hierarchy: Hierarchy, root: Node, direction: Direction) -> float:
    """Return the weight of the heaviest edge of a topic in that direction, in multiples of the average."""
    heaviest = hierarchy.children(root, 1) if direction == "down" else hierarchy.parents(root, 1)
    lower = root.layer - 1 if direction == "down" else root.layer
    return abs(heaviest[0].weight) * hierarchy.widths[lower - 1] if heaviest else 0.0


def _list_thresholds(high: float, low: float) -> Iterator[float]:
    return (high - STEP * step for step in range(int((high - low) / STEP) + 1))


def add_linking_topics(
    part: Subnetwork, graph: Sequence[Edge], direction: Direction, *, barred: Collection[Node]
) -> Subnetwork:
    """Add the topics of the heaviest path from each root to each shared topic that no drawn edge would lead to.

    Parameters
    ----------
    part : Subnetwork
        The roots, and the topics that at least two of them reach.
    graph : sequence of Edge
        The whole graph that it was cut from.
    direction : "down" or "up"
        To the children, or to the parents.
    barred : collection of Node
        Topics that paths do not pass: folded and hidden ones.
    """
    members = set(part.nodes)
    steps, nearer = _list_steps(graph, direction), _list_nearer(graph, direction)
    for root in part.roots:
        before = _find_heaviest(steps, root, direction, barred)
        reached = {root}
        for node in _sort_outward((members & before.keys()) - {root}, direction):
            near = nearer.get(node, set()) & (reached - (set(barred) - {root}))
            trail = [node] if near else _trace_path(before, node, reached)
            members.update(trail)
            reached.update(trail)
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
    return edge.above if direction == "down" else edge.below


def _list_steps(graph: Iterable[Edge], direction: Direction) -> dict[Node, list[tuple[Node, float]]]:
    steps: dict[Node, list[tuple[Node, float]]] = {}
    for edge in graph:
        far = edge.below if direction == "down" else edge.above
        steps.setdefault(_find_near_end(edge, direction), []).append((far, edge.size))
    return steps


def _list_nearer(graph: Iterable[Edge], direction: Direction) -> dict[Node, set[Node]]:
    """Return, for every topic, its neighbours on the roots' side."""
    nearer: dict[Node, set[Node]] = {}
    for edge in graph:
        far = edge.below if direction == "down" else edge.above
        nearer.setdefault(far, set()).add(_find_near_end(edge, direction))
    return nearer


def _sort_outward(nodes: Iterable[Node], direction: Direction) -> list[Node]:
    """Return topics sorted from the roots' side on."""
    return sorted(nodes, key=lambda node: (-node.layer if direction == "down" else node.layer, node.column))


def _find_heaviest(
    steps: dict[Node, list[tuple[Node, float]]], root: Node, direction: Direction, barred: Collection[Node]
) -> dict[Node, Node]:
    """Return, for every topic that a root reaches, the one before it on the heaviest path."""
    weights, before = {root: 1.0}, {root: root}
    layer = [root]
    while layer:
        onward: set[Node] = set()
        for node in layer:
            if node in barred and node != root:
                continue
            for far, size in steps.get(node, ()):
                if weights[node] * size > weights.get(far, 0.0):
                    weights[far], before[far] = weights[node] * size, node
                onward.add(far)
        layer = _sort_outward(onward, direction)
    return before


def _trace_path(before: dict[Node, Node], node: Node, reached: Collection[Node]) -> list[Node]:
    """Return the topics from one that is already joined to this one."""
    trail = [node]
    while trail[-1] not in reached:
        trail.append(before[trail[-1]])
    return trail
