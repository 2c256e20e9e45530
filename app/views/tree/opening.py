"""With which threshold and which roots a tree opens, and at which one more of it is seen."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.analysis.hierarchy import Hierarchy
from engine.hierarchy.tree import Direction, Node, cut_subnetwork

USUAL = 5.0  # the paper's tau in Figure 7
STEP = 0.5  # between two thresholds that are offered
LOWEST = 1.0  # under which even an average topic is a child
_ENOUGH, _MOST_ROOTS, _FEW = 24, 6, 3


def threshold_of(chosen: float | None, *hierarchies: Hierarchy) -> float:
    """The threshold that somebody chose, or the highest one at which all hierarchies open with a tree."""
    return min(map(opening_threshold, hierarchies), default=USUAL) if chosen is None else chosen


def opening_threshold(hierarchy: Hierarchy) -> float:
    """The highest step, from `USUAL` down to `LOWEST`, at which there is a tree to read.

    With few topics in a layer weights cannot be many times the average: at tau = 5 a topic over 16 others must have
    almost a third of its weight in one of them to have a child at all.
    """
    return next((threshold for threshold in _steps(USUAL, LOWEST) if _readable(hierarchy, threshold)), USUAL)


def first_roots(hierarchy: Hierarchy, threshold: float) -> tuple[Node, ...]:
    """Choose the roots of the first view: of `joined`, the most popular ones until there is enough to see."""
    nodes, graph = joined(hierarchy, threshold), hierarchy.edges(threshold)
    for count in range(1, min(_MOST_ROOTS, len(nodes)) + 1):
        if len(cut_subnetwork(graph, nodes[:count]).nodes) >= _ENOUGH:
            return tuple(nodes[:count])
    return tuple(nodes[:_FEW])


def joined(hierarchy: Hierarchy, threshold: float) -> list[Node]:
    """Topics of the top layer that have children, most popular first; all of them where none has."""
    nodes = hierarchy.nodes(hierarchy.n_layers)
    parents = {edge.above for edge in hierarchy.edges(threshold)}
    return [node for node in nodes if node in parents] or nodes


def more_at(
    hierarchy: Hierarchy, roots: tuple[Node, ...], threshold: float, direction: Direction = "down"
) -> float | None:
    """The highest step below a threshold at which every other root, or more, is joined to something; None without."""
    heaviest = sorted((_heaviest(hierarchy, root, direction) for root in roots), reverse=True)
    least = min(heaviest[len(heaviest) // 2], threshold) if heaviest else 0.0
    return STEP * (math.ceil(least / STEP) - 1) if least > 0 else None


def _readable(hierarchy: Hierarchy, threshold: float) -> bool:
    """Whether the most popular topic and two of the next five have children, and some way leads to layer 1."""
    if hierarchy.n_layers == 1:
        return False
    tables: list[NDArray[np.bool_]] = [np.abs(layer) > threshold / len(layer) for layer in hierarchy.phi[:0:-1]]
    roots = tables[0][:, hierarchy.order[-1][:_MOST_ROOTS]]
    reached = roots.any(axis=1)
    for table in tables[1:]:
        reached = table[:, reached].any(axis=1)
    parents = np.asarray(roots.any(axis=0))
    return bool(parents[0] and parents.sum() >= min(_FEW, len(parents)) and reached.any())


def _heaviest(hierarchy: Hierarchy, root: Node, direction: Direction) -> float:
    """How many times the average the heaviest edge of a topic is, in that direction."""
    found = hierarchy.children(root, 1) if direction == "down" else hierarchy.parents(root, 1)
    lower = root.layer - 1 if direction == "down" else root.layer
    return abs(found[0].weight) * hierarchy.widths[lower - 1] if found else 0.0


def _steps(high: float, low: float) -> Iterator[float]:
    return (high - STEP * step for step in range(int((high - low) / STEP) + 1))
