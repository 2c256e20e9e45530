"""Topics that documents use together, as a graph without directions (DPFA, Figure 3)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray, IntArray

THRESHOLD = 0.85  # of the paper's figure


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


def correlations(weights: Sequence[Array]) -> FloatArray:
    """Correlation of the topics of layer 1 through the units above.

    Parameters
    ----------
    weights : sequence of (K_l, K_{l+1}) arrays
        ``W^(1)``, ``W^(2)`` ...: ``phi[1:]`` of a model with signed weights.

    Returns
    -------
    (K_1, K_1) float64
        ``W^(1) W^(2) (W^(1) W^(2))'`` (of two layers ``W^(1) W^(1)'``) divided by the lengths of its rows: 1 on the
        diagonal, and 0 where a topic has no weight at all.
    """
    product = np.asarray(weights[0], dtype=np.float64)
    for table in weights[1:]:
        product = product @ np.asarray(table, dtype=np.float64)
    lengths = np.sqrt((product**2).sum(axis=1))
    rows = product / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    found = np.clip(rows @ rows.T, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def relations(weights: Sequence[Array], threshold: float = THRESHOLD) -> Relations:
    """Find the pairs of topics whose correlation is at least ``threshold``; none where there is a single layer.

    Equals stay in the order of their columns.
    """
    if not weights:
        return Relations(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    table = correlations(weights)
    one, other = np.triu_indices(len(table), 1)
    strong = table[one, other] >= threshold
    one, other = one[strong], other[strong]
    order = np.argsort(-table[one, other], kind="stable")
    return Relations(one[order], other[order], table[one, other][order])
