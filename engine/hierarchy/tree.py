"""The layered graph of a hierarchy: edges, subnetworks under chosen roots, relations in layer 1, and a map of topics.

A topic may have several parents, so this is a layered graph and not a strict tree (DLDA Figure 7).  Nothing here
depends on words, ranks or the display: nodes are (layer, column), and results are in a deterministic order.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.engine.contract import Array, FloatArray, IntArray

Direction: TypeAlias = Literal["down", "up"]
Part: TypeAlias = Literal["union", "shared", "unique"]


class Node(NamedTuple):
    """A topic: its layer, counted from 1, and its column in Phi^(layer), counted from 0, before any pruning."""

    layer: int
    column: int


class Edge(NamedTuple):
    """An edge ``Phi^(layer)[child, parent] = weight`` from a topic of ``layer`` to one of the layer below.

    A negative weight means that the child becomes rarer under the parent.
    """

    layer: int
    parent: int
    child: int
    weight: float

    @property
    def size(self) -> float:
        """The weight without its sign."""
        return abs(self.weight)

    @property
    def above(self) -> Node:
        """The parent."""
        return Node(self.layer, self.parent)

    @property
    def below(self) -> Node:
        """The child."""
        return Node(self.layer - 1, self.child)


class Subnetwork(NamedTuple):
    """Part of the graph.

    Attributes
    ----------
    roots : tuple of Node
        Its starting topics, as requested; always among ``nodes``.
    nodes : tuple of Node
        Top layer first, then by column.
    edges : tuple of Edge
        All edges between two of ``nodes``, except those that lead from a closed node away from the roots.
    hidden : dict of Node to int
        For each closed node with more topics beyond it, the number that opening it would add.
    """

    roots: tuple[Node, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    hidden: dict[Node, int]


def find_edges(phi: Sequence[Array], threshold: float) -> list[Edge]:
    """Return the edges of Figure 7: those with ``|Phi^(l)(child, parent)| > threshold / K_{l-1}``, for l >= 2.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
        The topics, or other weights of edges (:mod:`engine.hierarchy.effects`), which may be negative;
        ``phi[0]`` over words has no edges.
    threshold : float
        The paper's tau: a child must be this many times heavier than under a flat topic.

    Returns
    -------
    list of Edge
        Top layer first, then by parent, then by child.
    """
    edges: list[Edge] = []
    for layer in range(len(phi), 1, -1):
        weights = np.asarray(phi[layer - 1], dtype=np.float64).T
        edges += _list_edges(layer, weights, np.abs(weights) > threshold / weights.shape[1])
    return edges


def _list_edges(layer: int, weights: FloatArray, chosen: Array) -> list[Edge]:
    """Return the chosen edges of a layer, given its weights (parents, children)."""
    parents, children = np.nonzero(chosen)
    values = weights[parents, children]
    return [Edge(layer, *each) for each in zip(parents.tolist(), children.tolist(), values.tolist(), strict=True)]


def find_heaviest_edges(
    phi: Sequence[Array],
    cover: float,
    least: int,
    most: int,
    direction: Direction = "down",
    *,
    apart: Sequence[NDArray[np.bool_]] = (),
) -> list[Edge]:
    """Return the edges to the heaviest children of every topic that together cover a part of it.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
        As in :func:`find_edges`.
    cover : float
        Share of a topic's weight that its children must reach.
    least, most : int
        Number of children of a topic; fewer only where the others have no weight.
    direction : "down" or "up"
        With "up", the heaviest parents of every topic are found in the same way.
    apart : sequence of (K_l,) bool arrays
        Topics of every layer that are left out as children (or as parents), and not counted as weight to be covered.

    Returns
    -------
    list of Edge
        In the order of :func:`find_edges`.
    """
    edges: list[Edge] = []
    for layer in range(len(phi), 1, -1):
        signed = np.asarray(phi[layer - 1], dtype=np.float64).T  # parents x children
        sizes = np.abs(signed) if direction == "down" else np.abs(signed.T)
        if len(apart):
            sizes = np.where(apart[layer - 2 if direction == "down" else layer - 1], 0.0, sizes)
        order = np.argsort(-sizes, axis=1, kind="stable")
        sorted_sizes = np.take_along_axis(sizes, order, axis=1)
        covered = np.cumsum(sorted_sizes, axis=1) - sorted_sizes  # before each
        counts = np.clip((covered < cover * sorted_sizes.sum(axis=1, keepdims=True)).sum(axis=1), least, most)
        keep = np.zeros(sizes.shape, dtype=bool)
        chosen = (np.arange(sizes.shape[1]) < counts[:, None]) & (sorted_sizes > 0)
        np.put_along_axis(keep, order, chosen, axis=1)
        edges += _list_edges(layer, signed, keep if direction == "down" else keep.T)
    return edges


def cut_subnetwork(
    graph: Iterable[Edge],
    roots: Iterable[Node],
    direction: Direction = "down",
    *,
    part: Part = "union",
    closed: Collection[Node] = (),
    without: Collection[Node] = (),
) -> Subnetwork:
    """Return the part of a graph that can be reached from ``roots``.

    Parameters
    ----------
    graph : iterable of Edge
        Usually from :func:`find_edges`.
    roots : iterable of Node
        Starting topics, of any layers; repeated ones count once.
    direction : "down" or "up"
        To the children, or to the parents.
    part : "union", "shared" or "unique"
        Everything reached; only topics reached from two or more roots; only topics reached from
        one root.  Roots stay in every part, and shared and unique together give the union.
    closed : collection of Node
        Collapsed topics: shown, but not walked through.
    without : collection of Node
        Hidden topics: neither shown nor walked through (roots are never hidden).
    """
    graph = list(graph)
    starts = tuple(dict.fromkeys(roots))
    excluded = set(without) - set(starts)
    steps = _list_steps(
        (edge for edge in graph if edge.above not in excluded and edge.below not in excluded), direction
    )
    reached = [_reach_nodes(steps, root, closed) for root in starts]
    nodes = _select_part(reached, part) | set(starts)
    collapsed = {node for node in closed if node in nodes and steps[node]}
    hidden = {
        node: len(_reach_nodes(steps, node, set(closed) - {node}) - nodes) for node in sorted(collapsed, key=_sort_key)
    }
    edges = tuple(
        edge
        for edge in graph
        if edge.above in nodes
        and edge.below in nodes
        and (edge.above if direction == "down" else edge.below) not in closed
    )
    return Subnetwork(starts, tuple(sorted(nodes, key=_sort_key)), edges, hidden)


def _sort_key(node: Node) -> tuple[int, int]:
    """Return the key that sorts nodes from the top layer down, then by column."""
    return (-node.layer, node.column)


def _list_steps(graph: Iterable[Edge], direction: Direction) -> defaultdict[Node, list[Node]]:
    """Return the neighbours of every node in one direction."""
    steps: defaultdict[Node, list[Node]] = defaultdict(list)
    for edge in graph:
        start, end = (edge.above, edge.below) if direction == "down" else (edge.below, edge.above)
        steps[start].append(end)
    return steps


def _reach_nodes(steps: defaultdict[Node, list[Node]], root: Node, closed: Collection[Node]) -> set[Node]:
    """Return the nodes that can be reached from ``root`` without walking through closed ones."""
    reached, waiting = {root}, [root]
    while waiting:
        node = waiting.pop()
        new = set() if node in closed else set(steps[node]) - reached
        reached |= new
        waiting += new
    return reached


def _select_part(reached: list[set[Node]], part: Part) -> set[Node]:
    """Return the nodes reached from any root, from several, or from exactly one, as ``part`` says."""
    counts = Counter(node for nodes in reached for node in nodes)
    if part == "union":
        return set(counts)
    return {node for node, count in counts.items() if (count > 1) == (part == "shared")}


RELATED = 0.85  # least correlation of related topics, as in the paper's figure


class Relations(NamedTuple):
    """Pairs of topics of layer 1, strongest first.

    Attributes
    ----------
    one, other : (n,) int64
        Columns of the two topics, ``one < other``.
    correlation : (n,) float64
        At least the threshold, at most 1.
    """

    one: IntArray
    other: IntArray
    correlation: FloatArray


def correlate_topics(weights: Sequence[Array]) -> FloatArray:
    """Return the correlation of the topics of layer 1 through the units above.

    Parameters
    ----------
    weights : sequence of (K_l, K_{l+1}) arrays
        ``W^(1)``, ``W^(2)`` ...: ``phi[1:]`` of a model with signed weights.

    Returns
    -------
    (K_1, K_1) float64
        ``W^(1) W^(2) (W^(1) W^(2))'`` (for two layers ``W^(1) W^(1)'``) divided by the lengths of its rows: 1 on the
        diagonal, and 0 for a topic without any weight.
    """
    product = np.asarray(weights[0], dtype=np.float64)
    for table in weights[1:]:
        product = product @ np.asarray(table, dtype=np.float64)
    lengths = np.sqrt((product**2).sum(axis=1))
    rows = product / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    correlation = np.clip(rows @ rows.T, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def find_relations(weights: Sequence[Array], threshold: float = RELATED) -> Relations:
    """Return the pairs of topics of layer 1 whose correlation is at least ``threshold``; none if it is the only layer.

    Ties stay in the order of their columns.
    """
    if not weights:
        return Relations(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    table = correlate_topics(weights)
    rows, columns = np.triu_indices(len(table), 1)
    strong = table[rows, columns] >= threshold
    rows, columns = rows[strong], columns[strong]
    order = np.argsort(-table[rows, columns], kind="stable")
    return Relations(rows[order], columns[order], table[rows, columns][order])


_ROUNDS = 200  # most rounds of pushing circles apart
_PUSH = 0.5  # share of an overlap that one round removes


def place_topics(words: Array) -> FloatArray:
    """Place topics on a plane by classical scaling (Torgerson, 1952) of the Hellinger distances of their words.

    Parameters
    ----------
    words : (V, K) array
        Topics over words, columns that sum to 1.

    Returns
    -------
    (K, 2) float64
        Coordinates around 0, with the axis of larger spread first; the topic farthest out on an axis is on its
        positive side.
    """
    roots = np.sqrt(np.asarray(words, dtype=np.float64))
    return scale_classically(np.maximum(1.0 - roots.T @ roots, 0.0))


def scale_classically(squared: FloatArray) -> FloatArray:
    """Place points on a plane by classical scaling (Torgerson, 1952), given their squared distances (K, K).

    Returns
    -------
    (K, 2) float64
        As those of :func:`place_topics`.
    """
    inner = -0.5 * (squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean())
    values, vectors = np.linalg.eigh(inner)
    points = np.zeros((len(values), 2))
    for axis, number in enumerate(range(len(values) - 1, max(len(values) - 3, -1), -1)):
        column = vectors[:, number] * np.sqrt(max(values[number], 0.0))
        points[:, axis] = column * (np.sign(column[np.argmax(np.abs(column))]) or 1.0)
    return points


def separate_circles(centres: FloatArray, radii: FloatArray, gap: float = 0.0) -> FloatArray:
    """Push circles apart until hardly any overlap, moving each as little as possible.

    Parameters
    ----------
    centres : (K, 2) float64
    radii : (K,) float64
    gap : float
        Space between neighbouring circles.
    """
    moved = centres.copy()
    least_distance = radii[:, None] + radii + gap
    np.fill_diagonal(least_distance, 0.0)
    angles = 2.399963 * np.arange(len(radii))  # different directions for circles at the same point
    nudge = 1e-6 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(_ROUNDS):
        offsets = moved[:, None] - moved + (nudge[:, None] - nudge)
        distance = np.maximum(np.sqrt((offsets**2).sum(axis=2)), 1e-12)
        overlap = np.maximum(least_distance - distance, 0.0)
        if overlap.max() < 1e-3 * least_distance.max():
            break
        moved = moved + _PUSH * (offsets * (overlap / distance)[:, :, None]).sum(axis=1) / 2
    return moved
