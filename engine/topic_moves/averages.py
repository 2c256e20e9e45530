"""Running means and variances of topics over the last samples, shown to users instead of one noisy draw.

A topic drawn from ``Dir(eta + x)`` carries the noise of that draw, so the mean is taken over its expectations under the
counts of each sweep, ``(eta + x_vk) / (eta V + x_.k)`` (Rao-Blackwellised); if topics move by steps, over the topics
themselves.  A mean makes sense only while topic ``k`` stays the same topic: if the chain has swapped two topics, the
next sample has little in common with the mean, which then restarts with that sample.

The variance is that of a draw: the mean over the samples of the Dirichlet's own variance under the counts,
``m (1 - m) / (eta V + x_.k + 1)`` (0 if topics move by steps), plus the variance of the samples around their mean (law
of total variance).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool
from topiary.engine.topic_moves.rows import BLOCK, Blocks, run_blocks, sum_columns

MEMORY = 20  # least number of samples remembered; older ones lose a factor of e of their weight within as many more
PART = 4  # the last 1 / PART of the steps are remembered, and the start is forgotten
SAME = 0.5  # least share of words that a topic has in common with its mean; below it the mean restarts


class TopicMean(NamedTuple):
    """A running mean of the topics of one layer.

    ``phi`` (K_{l-1}, K_l) float32 over ``samples`` (K_l,) int32, and ``variance`` (K_{l-1}, K_l) float32 of a draw.
    """

    phi: Array
    samples: Array
    variance: Array


class ScaledSample(NamedTuple):
    """A scaled sample ``m = (sample + eta) inverse``, columns of sum 1; draws have variance ``m (1 - m) spread``."""

    sample: Array
    eta: float
    inverse: FloatArray
    spread: FloatArray


def count_memory(t: int) -> int:
    """Return how many samples the mean of step ``t`` remembers.

    A small fixed number would suffice for the mean, but not for the variance: samples of upper layers stay alike for
    hundreds of sweeps, and intervals from twenty of them contained only 50 to 60 % of the true edges in simulations.
    """
    return max(MEMORY, t // PART)


def init_mean(phi: FloatArray) -> TopicMean:
    """Return an initial mean, which the first sample replaces."""
    return TopicMean(
        phi.astype(np.float32), np.zeros(phi.shape[1], dtype=np.int32), np.zeros(phi.shape, dtype=np.float32)
    )


def update_mean(
    mean: TopicMean, sample: Array, eta: float, pool: Pool, memory: int = MEMORY
) -> tuple[TopicMean, FloatArray]:
    """Return the mean with one more sample, and the sample's weight in it.

    Parameters
    ----------
    mean : TopicMean
    sample : (K_{l-1}, K_l) array, >= 0
        Counts of a sweep, or topics (then ``eta`` is 0).
    eta : float
        Added to every entry before columns are divided by their sums.
    pool : Pool
    memory : int
        Number of samples that the mean remembers (:func:`count_memory`).

    Returns
    -------
    TopicMean
    (K_l,) float64
        The weight of the sample in the mean.
    """
    if not len(mean.variance):  # of a checkpoint written before variances were kept
        mean = mean._replace(variance=np.zeros_like(mean.phi))
    totals = sum_columns(sample, pool) + eta * len(sample)
    inverse = np.where(totals > 0.0, 1.0 / np.where(totals > 0.0, totals, 1.0), 0.0)
    scaled = ScaledSample(sample, eta, inverse, 1.0 / (totals + 1.0) if eta > 0.0 else np.zeros_like(totals))
    overlap = run_blocks(_sum_overlaps, (mean.phi, scaled), sample.shape, pool)
    samples = np.where(overlap < SAME, 0, mean.samples)
    samples = np.minimum(samples + 1, memory).astype(np.int32)
    weight = np.where(totals > 0.0, 1.0 / samples, 0.0)
    new, variance = np.empty_like(mean.phi), np.empty_like(mean.phi)
    run_blocks(_mix_sample, (mean, scaled, weight, new, variance), sample.shape, pool)
    return TopicMean(new, samples, variance), weight


class LayerMeans(NamedTuple):
    """Running means of all layers.

    ``mean[l-1]`` of ``averaged[l-1]`` (K_l,) samples with ``variance[l-1]``, and ``mean_r`` (K_L,) of r.
    """

    mean: tuple[Array, ...]
    averaged: tuple[Array, ...]
    variance: tuple[Array, ...]
    mean_r: FloatArray


def init_layer_means(phi: tuple[FloatArray, ...], r: FloatArray) -> LayerMeans:
    """Return initial means of all layers, which the first sample replaces."""
    return _join_layers([init_mean(layer) for layer in phi], r)


def update_layer_means(
    old: LayerMeans,
    samples: Sequence[Any],
    etas: Sequence[float],
    r: FloatArray,
    update: Callable[..., tuple[TopicMean, Array]],
    memory: int = MEMORY,
) -> LayerMeans:
    """Return the means with one more sample of every layer and of r.

    ``update(mean, sample, eta, memory)`` adds the sample of a layer, as :func:`update_mean` does.
    """
    means, weight = [], np.zeros(0)
    variance = old.variance or (np.zeros(0),) * len(old.mean)
    for *mean, sample, eta in zip(old.mean, old.averaged, variance, samples, etas, strict=True):
        new, weight = update(TopicMean(*mean), sample, eta, memory)
        means.append(new)
    return _join_layers(means, old.mean_r + np.asarray(weight) * (r - old.mean_r))


def _join_layers(means: Sequence[TopicMean], r: FloatArray) -> LayerMeans:
    """Return the means of single layers as one tuple of arrays per field."""
    phi, averaged, variance = (tuple(parts) for parts in zip(*means, strict=True))
    return LayerMeans(phi, averaged, variance, r)


@compiled
def _sum_overlaps(mean: Array, scaled: ScaledSample, blocks: Blocks) -> None:
    """Write ``sum_v min(mean_vk, sample_vk)`` of every block to ``blocks.sums``."""
    sample, eta, inverse, _ = scaled
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, sample.shape[0])):
            for k in range(sample.shape[1]):
                total[k] += min(np.float64(mean[v, k]), (sample[v, k] + eta) * inverse[k])


@compiled
def _mix_sample(
    mean: TopicMean, scaled: ScaledSample, weight: FloatArray, new: Array, variance: Array, blocks: Blocks
) -> None:
    """Write ``mean + weight (sample - mean)`` to ``new``, and the variance of a draw around it."""
    sample, eta, inverse, spread = scaled
    for v in range(blocks.first * BLOCK, min(blocks.last * BLOCK, sample.shape[0])):
        for k in range(sample.shape[1]):
            old, w, current = np.float64(mean.phi[v, k]), weight[k], (sample[v, k] + eta) * inverse[k]
            change = current - old
            new[v, k] = old + w * change
            accumulated = mean.variance[v, k] + w * change * change
            variance[v, k] = (1.0 - w) * accumulated + w * current * (1.0 - current) * spread[k]
