"""What several roots share, with the topics through which they reach it: without these no line would lead there."""

from collections.abc import Collection, Iterable, Sequence

from engine.hierarchy.tree import Direction, Edge, Node, Subnetwork


def linked(part: Subnetwork, graph: Sequence[Edge], direction: Direction, *, barred: Collection[Node]) -> Subnetwork:
    """Add the topics of the heaviest path from each root to each shared topic that no line would lead to.

    Parameters
    ----------
    part : Subnetwork
        What two roots or more reach, and the roots.
    graph : sequence of Edge
        The whole graph that it was cut from.
    direction : "down" or "up"
        To the children, or to the parents.
    barred : collection of Node
        Topics that are not walked through: folded and hidden ones.
    """
    kept = set(part.nodes)
    steps, nearer = _steps(graph, direction), _nearer(graph, direction)
    for root in part.roots:
        before = _heaviest(steps, root, direction, barred)
        reached = {root}
        for node in _outward((kept & before.keys()) - {root}, direction):
            led = nearer.get(node, set()) & (reached - (set(barred) - {root}))
            trail = [node] if led else _trail(before, node, reached)
            kept.update(trail)
            reached.update(trail)
    if len(kept) == len(part.nodes):
        return part
    nodes = tuple(sorted(kept, key=lambda node: (-node.layer, node.column)))
    closed = {node for node in barred if node in kept}
    edges = tuple(
        edge for edge in graph if edge.above in kept and edge.below in kept and _near(edge, direction) not in closed
    )
    return part._replace(nodes=nodes, edges=edges)


def _near(edge: Edge, direction: Direction) -> Node:
    return edge.above if direction == "down" else edge.below


def _steps(graph: Iterable[Edge], direction: Direction) -> dict[Node, list[tuple[Node, float]]]:
    steps: dict[Node, list[tuple[Node, float]]] = {}
    for edge in graph:
        far = edge.below if direction == "down" else edge.above
        steps.setdefault(_near(edge, direction), []).append((far, edge.size))
    return steps


def _nearer(graph: Iterable[Edge], direction: Direction) -> dict[Node, set[Node]]:
    """For every topic, those next to it on the roots' side."""
    found: dict[Node, set[Node]] = {}
    for edge in graph:
        far = edge.below if direction == "down" else edge.above
        found.setdefault(far, set()).add(_near(edge, direction))
    return found


def _outward(nodes: Iterable[Node], direction: Direction) -> list[Node]:
    """Topics from the roots' side on."""
    return sorted(nodes, key=lambda node: (-node.layer if direction == "down" else node.layer, node.column))


def _heaviest(
    steps: dict[Node, list[tuple[Node, float]]], root: Node, direction: Direction, barred: Collection[Node]
) -> dict[Node, Node]:
    """For every topic that a root reaches, the one before it on the heaviest path."""
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
        layer = _outward(onward, direction)
    return before


def _trail(before: dict[Node, Node], node: Node, reached: Collection[Node]) -> list[Node]:
    """The topics from one that is already led to, to this one."""
    trail = [node]
    while trail[-1] not in reached:
        trail.append(before[trail[-1]])
    return trail
