"""Uncertainty of a hierarchy: intervals of words and edges, inclusion of edges, and topics that wander between draws.

Everything follows from the mean and the variance of a draw (:mod:`engine.topic_moves.steps`).  The posterior of one
entry of a topic is taken to be the Beta distribution with that mean and variance, which is exact if the counts of the
topic do not change.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from topiary.engine.contract import Array, FloatArray, Topics
from topiary.engine.hierarchy import effects
from topiary.engine.hierarchy.topics import project_topics

LEVEL = 0.9  # probability of an interval
SURE = 0.9  # probability of inclusion from which an edge counts as sure
WIDENED = 15.0  # factor on the variance of edges, measured on planted worlds (`tests.benchmarks.sure_edges`)
WANDERING = 0.8  # cosine between two draws of a topic below which their mean is not one topic
_LEAST_CONCENTRATION = 1e-3  # of a Beta distribution; at this value an entry is nearly always 0 or 1


class Interval(NamedTuple):
    """The ends of the intervals of an array of distributions, entry by entry."""

    low: FloatArray
    high: FloatArray


def find_interval(mean: Array, variance: Array, level: float = LEVEL) -> Interval:
    """Return the credible intervals of entries of topics (any shape); without variance both ends are the mean.

    Intervals are central, except that they begin at 0 (or end at 1) if the density is highest there: most entries of a
    topic are close to 0, which a central interval would leave out.
    """
    a, b, varies = _match_beta(mean, variance)
    tail = (1.0 - level) / 2
    low_tails = np.select([a <= 1.0, b <= 1.0], [0.0, 1.0 - level], tail)
    low, high = (
        np.where(varies, scipy.special.betaincinv(a, b, tails), mean) for tails in (low_tails, low_tails + level)
    )
    return Interval(low, high)


def measure_inclusion(mean: Array, variance: Array, threshold: float) -> FloatArray:
    """Return the posterior probability that each edge (any shape) exceeds the threshold, P(weight > threshold)."""
    a, b, varies = _match_beta(mean, variance)
    return np.asarray(np.where(varies, scipy.special.betaincc(a, b, threshold), np.asarray(mean) > threshold))


def widen_edges(variance: Array) -> FloatArray:
    """Return the variance of edges times ``WIDENED``, for what a chain does not see of the places it never reaches.

    A chain keeps the parents that it began with for thousands of sweeps.  The variance of its samples is therefore too
    small: as it is, 90 % intervals hold 6 of 10 true weights on worlds whose number of topics is not known.
    """
    return WIDENED * np.asarray(variance, dtype=np.float64)


def measure_agreement(mean: Array, variance: Array) -> FloatArray:
    """Return the expected cosine (K_l,) between two independent draws of each topic; see ``WANDERING``.

    For draws s and t with mean m it is ``E[s . t] / E[s . s] = sum_v m_v^2 / sum_v (m_v^2 + var_v)``.
    """
    squared_means = np.square(mean, dtype=np.float64).sum(axis=0)
    total = squared_means + np.asarray(variance, dtype=np.float64).sum(axis=0)
    return np.asarray(squared_means / np.where(total > 0.0, total, 1.0))


def project_variances(phi: Sequence[Array], variances: Sequence[Array]) -> list[FloatArray]:
    """Return the variances (V, K_l) of the word weights of the topics of every layer.

    The words of layer l are ``W^(l) = W^(l-1) Phi^(l)``.  If both factors are independent, and every topic c of layer l
    is Dirichlet with the concentration a_c that gives its total variance,

        var W_vc = sum_k (Phi_kc^2 + var Phi_kc) var W_vk + (sum_k Phi_kc W_vk^2 - W_vc^2) / (a_c + 1).
    """
    words = np.asarray(phi[0], dtype=np.float64)
    word_variances = [np.asarray(variances[0], dtype=np.float64)]
    for layer, variance in zip(phi[1:], variances[1:], strict=True):
        table = np.asarray(layer, dtype=np.float64)
        largest_variance = (table * (1.0 - table)).sum(axis=0)
        table_variance = np.asarray(variance, dtype=np.float64)
        spread = table_variance.sum(axis=0) / np.where(largest_variance > 0.0, largest_variance, 1.0)
        projected = words @ table
        spread_variance = np.maximum((words**2) @ table - projected**2, 0.0) * np.minimum(spread, 1.0)
        word_variances.append(word_variances[-1] @ (table**2 + table_variance) + spread_variance)
        words = projected
    return word_variances


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


def weigh_edges(topics: Topics) -> tuple[FloatArray, ...]:
    """Return the weight (K_l, K_{l+1}) of every edge above layer l, as a share of the weight of all edges there.

    The weight of the edge from topic c down to topic k is ``Phi_kc`` times the popularity of c, before scaling.
    """
    presentation = effects.present_hierarchy(topics)
    pairs = zip(presentation.weights[1:], presentation.popularity[1:], strict=True)
    return tuple(_scale_to_one(np.abs(np.asarray(phi, dtype=np.float64)) * weights) for phi, weights in pairs)


def measure_persistence(before: Sequence[FloatArray], now: Sequence[FloatArray]) -> tuple[float, ...]:
    """Return the share of the edge weights above each layer that has not moved, 0 to 1.

    Both arguments are results of :func:`weigh_edges` from one run.  If the widths of layers differ, the share is 0.
    """
    if [weights.shape for weights in before] != [weights.shape for weights in now]:
        return (0.0,) * len(now)
    return tuple(float(np.minimum(old, new).sum()) for old, new in zip(before, now, strict=True))


def _match_beta(mean: Array, variance: Array) -> tuple[FloatArray, FloatArray, Array]:
    """Return the parameters a and b of the Beta distributions with these moments, and a mask of entries that vary."""
    m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    varies = (v > 0.0) & (m > 0.0) & (m < 1.0)
    concentration = np.maximum(m * (1.0 - m) / np.where(varies, v, 1.0) - 1.0, _LEAST_CONCENTRATION)
    tiny = np.finfo(np.float64).tiny
    return np.maximum(m * concentration, tiny), np.maximum((1.0 - m) * concentration, tiny), varies


def _scale_to_one(weights: FloatArray) -> FloatArray:
    """Scale weights to sum 1; weights of 0 stay 0."""
    total = float(weights.sum())
    return weights / total if total > 0.0 else weights
