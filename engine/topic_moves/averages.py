"""Running means of topics over the last samples, which users see instead of one noisy draw.

A topic drawn from ``Dir(eta + x)`` carries the noise of that draw; averaged are its expectations under the counts of
each sweep, ``(eta + x_vk) / (eta V + x_.k)`` (Rao-Blackwellised), or, where topics move by steps, the topics
themselves. A mean makes sense only while topic ``k`` stays the same topic: if the chain has swapped two, the next
sample has little in common with the mean, which then restarts with that sample.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.jit import compiled
from engine.pool import Pool
from engine.topic_moves.rows import BLOCK, Blocks, run_blocks, sum_columns

MEMORY = 20  # samples; the weight of older ones falls by a factor of e within as many more
SAME = 0.5  # share of words that a topic has in common with its mean; below it the mean restarts


class TopicMean(NamedTuple):
    """A running mean of the topics of one layer: ``phi`` (K_{l-1}, K_l) float32 over ``samples`` (K_l,) int32."""

    phi: Array
    samples: Array


class ScaledSample(NamedTuple):
    """A sample whose columns sum to 1 as ``(sample + eta) inverse``."""

    sample: Array
    eta: float
    inverse: FloatArray


def begin_mean(phi: FloatArray) -> TopicMean:
    """Return the mean before the first sample, which will replace it."""
    return TopicMean(phi.astype(np.float32), np.zeros(phi.shape[1], dtype=np.int32))


def update_mean(mean: TopicMean, sample: Array, eta: float, pool: Pool) -> tuple[TopicMean, FloatArray]:
    """Add one sample to the mean.

    Parameters
    ----------
    mean : TopicMean
    sample : (K_{l-1}, K_l) array, >= 0
        Counts of a sweep, or topics (then ``eta`` is 0).
    eta : float
        Added to every entry before columns are divided by their sums.
    pool : Pool

    Returns
    -------
    TopicMean
    (K_l,) float64
        The weight of the sample in it.
    """
    totals = sum_columns(sample, pool) + eta * len(sample)
    inverse = np.where(totals > 0.0, 1.0 / np.where(totals > 0.0, totals, 1.0), 0.0)
    scaled = ScaledSample(sample, eta, inverse)
    common = run_blocks(_sum_overlaps, (mean.phi, scaled), sample.shape, pool)
    samples = np.where(common < SAME, 0, mean.samples)
    samples = np.minimum(samples + 1, MEMORY).astype(np.int32)
    weight = np.where(totals > 0.0, 1.0 / samples, 0.0)
    new = np.empty_like(mean.phi)
    run_blocks(_mix_sample, (mean.phi, scaled, weight, new), sample.shape, pool)
    return TopicMean(new, samples), weight


class LayerMeans(NamedTuple):
    """Running means of all layers: ``mean[l-1]`` of ``averaged[l-1]`` (K_l,) samples, and ``mean_r`` (K_L,) of r."""

    mean: tuple[Array, ...]
    averaged: tuple[Array, ...]
    mean_r: FloatArray


def begin_layer_means(phi: tuple[FloatArray, ...], r: FloatArray) -> LayerMeans:
    """Return the means of all layers before the first sample."""
    means = [begin_mean(layer) for layer in phi]
    return LayerMeans(tuple(mean.phi for mean in means), tuple(mean.samples for mean in means), r)


def update_layer_means(
    old: LayerMeans, samples: Sequence[Array], etas: Sequence[float], r: FloatArray, pool: Pool
) -> LayerMeans:
    """Add one sample of every layer, and its r, to the means; arguments as in :func:`update_mean`."""
    means, weight = [], np.zeros(0)
    for mean, averaged, sample, eta in zip(old.mean, old.averaged, samples, etas, strict=True):
        new, weight = update_mean(TopicMean(mean, averaged), sample, eta, pool)
        means.append(new)
    mean_r = old.mean_r + weight * (r - old.mean_r)
    return LayerMeans(tuple(mean.phi for mean in means), tuple(mean.samples for mean in means), mean_r)


@compiled
def _sum_overlaps(mean: Array, scaled: ScaledSample, blocks: Blocks) -> None:
    """Write ``sum_v min(mean_vk, sample_vk)`` by block."""
    sample, eta, inverse = scaled
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, sample.shape[0])):
            for k in range(sample.shape[1]):
                total[k] += min(np.float64(mean[v, k]), (sample[v, k] + eta) * inverse[k])


@compiled
def _mix_sample(mean: Array, scaled: ScaledSample, weight: FloatArray, new: Array, blocks: Blocks) -> None:
    """Write ``mean + weight (sample - mean)`` to ``new``."""
    sample, eta, inverse = scaled
    for v in range(blocks.first * BLOCK, min(blocks.last * BLOCK, sample.shape[0])):
        for k in range(sample.shape[1]):
            old = np.float64(mean[v, k])
            new[v, k] = old + weight[k] * ((sample[v, k] + eta) * inverse[k] - old)
