"""How sure a hierarchy is: intervals of words and edges, inclusion of edges, and topics that wander.

Everything follows from the mean and the variance of a draw (:mod:`engine.topic_moves.averages`).  The posterior of one
entry of a topic is taken to be the Beta distribution with that mean and variance, which it is exactly where the counts
of the topic stand still.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from engine.contract import Array, FloatArray
from engine.hierarchy.topics import project_topics

LEVEL = 0.9  # of intervals
SURE = 0.9  # inclusion from which an edge counts as sure
WANDERING = 0.8  # cosine between two draws of a topic; below it their mean is not one topic
_LEAST = 1e-3  # concentration of a Beta distribution: less means that an entry is 0 or 1


class Interval(NamedTuple):
    """The ends of 90 % of a distribution, entry by entry."""

    low: FloatArray
    high: FloatArray


def find_interval(mean: Array, variance: Array, level: float = LEVEL) -> Interval:
    """Return the interval of entries (any shape) of topics; an entry without variance is its own interval.

    It is the central one, but begins at 0 (or ends at 1) where the density is highest there: most entries of a topic
    are next to nothing, and the central interval would leave them out.
    """
    a, b, varies = _match_beta(mean, variance)
    tail = (1.0 - level) / 2
    below = np.select([a <= 1.0, b <= 1.0], [0.0, 1.0 - level], tail)
    low, high = (np.where(varies, special.betaincinv(a, b, part), mean) for part in (below, below + level))
    return Interval(low, high)


def measure_inclusion(mean: Array, variance: Array, threshold: float) -> FloatArray:
    """Return P(weight > threshold) of every edge (any shape)."""
    a, b, varies = _match_beta(mean, variance)
    return np.asarray(np.where(varies, special.betaincc(a, b, threshold), np.asarray(mean) > threshold))


def measure_agreement(mean: Array, variance: Array) -> FloatArray:
    """Return the cosine (K_l,) to be expected between two independent draws of each topic: below .8 it wanders.

    ``E[s . t] / E[s . s] = sum_v m_v^2 / sum_v (m_v^2 + var_v)``.
    """
    own = np.square(mean, dtype=np.float64).sum(axis=0)
    total = own + np.asarray(variance, dtype=np.float64).sum(axis=0)
    return np.asarray(own / np.where(total > 0.0, total, 1.0))


def project_variances(phi: Sequence[Array], variances: Sequence[Array]) -> list[FloatArray]:
    """Return the variances (V, K_l) of the words of every layer.

    Words of layer l are ``W^(l) = W^(l-1) Phi^(l)``.  With both factors independent, and every topic of layer l as
    concentrated as the Dirichlet distribution that has its variance in sum,

        var W_vc = sum_k (Phi_kc^2 + var Phi_kc) var W_vk + (sum_k Phi_kc W_vk^2 - W_vc^2) / (a_c + 1).
    """
    words = np.asarray(phi[0], dtype=np.float64)
    found = [np.asarray(variances[0], dtype=np.float64)]
    for layer, variance in zip(phi[1:], variances[1:], strict=True):
        table = np.asarray(layer, dtype=np.float64)
        within = (table * (1.0 - table)).sum(axis=0)
        own = np.asarray(variance, dtype=np.float64)
        spread = own.sum(axis=0) / np.where(within > 0.0, within, 1.0)
        above = words @ table
        around = np.maximum((words**2) @ table - above**2, 0.0) * np.minimum(spread, 1.0)
        found.append(found[-1] @ (table**2 + own) + around)
        words = above
    return found


def bound_words(phi: Sequence[Array], variances: Sequence[Array], words: Sequence[Array]) -> list[Interval]:
    """Return the 90 % intervals of chosen words of the topics of every layer.

    Parameters
    ----------
    phi, variances : sequence of (K_{l-1}, K_l) arrays
        Means and variances of the lowest layers.
    words : sequence of (K_l, n) int arrays
        The words of each topic.

    Returns
    -------
    list of Interval of (K_l, n) arrays
    """
    means, spreads = project_topics(phi), project_variances(phi, variances)
    return [
        find_interval(np.take_along_axis(mean.T, chosen, axis=1), np.take_along_axis(spread.T, chosen, axis=1))
        for mean, spread, chosen in zip(means, spreads, words, strict=True)
    ]


def _match_beta(mean: Array, variance: Array) -> tuple[FloatArray, FloatArray, Array]:
    """Return the parameters of the Beta distributions with these moments, and which entries vary at all."""
    m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    varies = (v > 0.0) & (m > 0.0) & (m < 1.0)
    concentration = np.maximum(m * (1.0 - m) / np.where(varies, v, 1.0) - 1.0, _LEAST)
    tiny = np.finfo(np.float64).tiny
    return np.maximum(m * concentration, tiny), np.maximum((1.0 - m) * concentration, tiny), varies
