"""How good a hierarchy is: whether children are like their parents, and the topics of lower layers more special.

Specialization and affinity: Kim et al. (CIKM 2012) as in the code of tsntm (Isonuma et al., ACL 2020); CLNPMI: Chen et
al. (2021).  Topics of every layer are compared as distributions over the words.
"""

from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray, IntArray
from engine.quality.coherence import Meetings, pair_npmi

THRESHOLD = 5.0  # a child is this many times heavier in its parent than in a flat topic: tau of the trees


class Affinity(NamedTuple):
    """How alike topics are to those of the layer below, as cosines of their words; nan where there are none.

    Attributes
    ----------
    child : float
        To their children, the mean over the children of a topic, then over the topics that have one.
    other : float
        To topics that are not their children, likewise.
    weighted : float
        To all topics, by their weight in the topic: no threshold decides.
    """

    child: float
    other: float
    weighted: float


def children(weights: Array, threshold: float = THRESHOLD) -> Array:
    """Which topics (J, K) bool of a layer are children of the layer above: absolute weights over ``threshold / J``."""
    return np.abs(weights) > threshold / len(weights)


def affinity(parents: Array, below: Array, weights: Array, edges: Array) -> Affinity:
    """Hierarchical affinity of a layer with the one below.

    Parameters
    ----------
    parents : (V, K) array
        Topics over the words.
    below : (V, J) array
        Those of the layer below.
    weights : (J, K) array
        Of these in the parents.
    edges : (J, K) bool array
        Which of them are children, as `children` says.
    """
    alike = _unit(below).T @ _unit(parents)
    return Affinity(_per_parent(alike, edges), _per_parent(alike, ~edges), _per_parent(alike, np.abs(weights)))


def specialization(projection: Array, word_counts: Array) -> FloatArray:
    """Topic specialization (K,): one minus the cosine of a topic (V, K) and the counts of the words (V,) in the corpus.

    0 for a topic that speaks as the corpus does; a hierarchy should have more of it in its lower layers.
    """
    corpus = np.asarray(word_counts, dtype=np.float64)
    return np.asarray(1.0 - _unit(corpus[:, None])[:, 0] @ _unit(projection))


def cross_npmi(
    parents: IntArray,
    below: IntArray,
    edges: Array,
    met: Meetings,
    *,
    positive: bool = False,
    repeated: float | None = None,
) -> float:
    """Cross-level NPMI (CLNPMI): the mean over edges of the mean NPMI of a word of the parent and one of the child.

    Words that both have are left out, and an edge between topics that share all counts 0.

    Parameters
    ----------
    parents, below : (K, n) and (J, n) int arrays
        First words of the topics of a layer and of the one below.
    edges : (J, K) bool array
        Which of these are children.
    met : Meetings
        Of at least all these words.
    positive : bool
        Take pairs of negative NPMI for 0, as some do.
    repeated : float, optional
        What pairs with a word that both have count instead of being left out; -1 in some code.

    Returns
    -------
    float
        nan without an edge.
    """
    child, parent = np.nonzero(edges)
    if not len(child):
        return float("nan")
    upper, lower = parents[parent], below[child]
    value = pair_npmi(met.rows(upper)[:, :, None], met.rows(lower)[:, None, :], met)
    value = np.maximum(value, 0.0) if positive else value
    same = upper[:, :, None] == lower[:, None, :]
    shared = same.any(axis=2)[:, :, None] | same.any(axis=1)[:, None, :]
    if repeated is not None:
        return float(np.where(shared, repeated, value).mean())
    pairs = (~shared).sum(axis=(1, 2))
    return float((np.where(shared, 0.0, value).sum(axis=(1, 2)) / np.maximum(pairs, 1)).mean())


def _unit(columns: Array) -> FloatArray:
    """Columns scaled to length 1; one of zeros stays."""
    table = np.asarray(columns, dtype=np.float64)
    return np.asarray(table / np.maximum(np.linalg.norm(table, axis=0), np.finfo(np.float64).tiny))


def _per_parent(alike: FloatArray, weights: Array) -> float:
    """Mean of every column (J, K) by its weights, then over the columns that have any; nan without one."""
    total = weights.sum(axis=0)
    known = total > 0
    return float(((alike * weights).sum(axis=0)[known] / total[known]).mean()) if known.any() else float("nan")
