"""The parents of the topics on the map: where each topic comes from, and which parents have a colour."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node

PARENT_LAYERS = (2, 3)
_WORDS_SHARE = 0.4  # of the words in the distance of two topics; the rest is of their parents, equal for each layer


class Family(NamedTuple):
    """A parent on the map, and the numbers of the topics of which it is the heaviest parent, in the map's order."""

    parent: Node
    topics: tuple[int, ...]


def trace_parents(hierarchy: Hierarchy, columns: Sequence[int]) -> list[FloatArray]:
    """Return from which topics of layer 2, and of layer 3, topics of layer 1 come.

    The part that comes from a parent is the weight of the edge times the popularity of the parent.  Parents that make
    a topic rarer have no part in it.  Background topics have none, unless all parents are background.

    Parameters
    ----------
    columns : sequence of int
        Columns of Phi^(1).

    Returns
    -------
    list of (n, K_l) float64 arrays
        Rows sum to 1; empty for a hierarchy of one layer.
    """
    traced: list[FloatArray] = []
    weights = np.eye(hierarchy.widths[0])[list(columns)]
    for layer in PARENT_LAYERS:
        if layer > hierarchy.n_layers:
            break
        weights = weights @ np.maximum(np.asarray(hierarchy.phi[layer - 1], dtype=np.float64), 0.0)
        parts = weights * np.maximum(hierarchy.popularity[layer - 1], 0.0)
        apart = np.array([role == BACKGROUND for role in hierarchy.roles[layer - 1]])
        if not apart.all():
            parts = np.where(apart, 0.0, parts)
        totals = parts.sum(axis=1, keepdims=True)
        traced.append(np.where(totals > 0, parts / np.where(totals > 0, totals, 1.0), 1.0 / parts.shape[1]))
    return traced


def describe_topics(words: FloatArray, traced: Sequence[FloatArray]) -> FloatArray:
    """Return the features (F, n) whose Hellinger distances place topics: their words (V, n) and their parents."""
    if not traced:
        return words
    part = (1.0 - _WORDS_SHARE) / len(traced)
    return np.concatenate([_WORDS_SHARE * words, *(part * parts.T for parts in traced)])


def group_topics(hierarchy: Hierarchy, layer: int, parts: FloatArray, shares: FloatArray) -> list[Family]:
    """Return the topics of each parent of a layer, the parents with the largest sum of ``shares`` (n,) first."""
    heaviest = np.argmax(parts, axis=1)
    sums = np.bincount(heaviest, weights=shares, minlength=parts.shape[1])
    order = [column for column in np.argsort(-sums, kind="stable").tolist() if (heaviest == column).any()]
    return [
        Family(hierarchy.node(layer, column), tuple(np.flatnonzero(heaviest == column).tolist())) for column in order
    ]


def choose_families(families: Sequence[Sequence[Family]], n_hues: int) -> Sequence[Family]:
    """Return those by which the map is coloured: the lowest layer with a hue for each parent, or the highest layer."""
    return next((each for each in families if len(each) <= n_hues), families[-1]) if families else ()


def assign_hues(families: Sequence[Family], n_hues: int) -> dict[Node, int]:
    """Return the hue of the first parents, at most one for each of ``n_hues``.

    A parent takes the hue of its column if it is free, so that most parents keep their hues from snapshot to snapshot.
    """
    hues: dict[Node, int] = {}
    for family in families[:n_hues]:
        wanted = ((family.parent.column + step) % n_hues for step in range(n_hues))
        hues[family.parent] = next(hue for hue in wanted if hue not in hues.values())
    return hues
