"""The topics of a layer on a device, one entry at a time: Dirichlet draws, Langevin steps, and running means.

A table is (rows, topics) and C-contiguous; counts are integers, times a factor.  Every entry has its own random stream,
and columns are summed by blocks of rows, added in order, so that a seed gives the same bits on any device.  All is in
double precision, as on the processor, whose draws are used; :mod:`engine.topic_moves` has the equations.
"""

from math import exp, fabs, inf, nan, sqrt
from typing import Any

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import augment, latent
from topiary.engine.gpu import lanes
from topiary.engine.jit import compiled, inlined
from topiary.engine.topic_moves.diffusion import SMALLEST

uint = np.uint64
BLOCK = 64  # rows
SAME = 0.5  # as in engine.topic_moves.steps
_LAYER_SHIFT = 40  # a stream's item is the layer, then the entry in the low 40 bits


@inlined
def start_entry(seed: int, step: int, layer: int, entry: int) -> Any:
    """Return the stream of one entry of the topics of a layer."""
    return streams.start_stream(seed, streams.TOPICS, step, (layer << _LAYER_SHIFT) + entry)


@compiled
def draw_entries(
    seed: int,
    step: int,
    layer: int,
    counts: Array,
    factor: float,
    eta: float,
    root: int,
    rates: FloatArray,
    phi: FloatArray,
    in_logs: bool,
    new: FloatArray,
) -> None:
    """Draw ``Gam(eta + counts factor + Pois(rates_k phi_vk))``, or its logarithm, for every entry.

    Parameters
    ----------
    seed, step, layer : int
    counts : (rows, topics) array
    factor, eta : float
    root : int
        ``1 / eta`` if that is a whole number, else 0 (:func:`engine.gibbs.augment.find_root`).
    rates : (topics,) float64
        What topics keep of themselves; empty if they keep nothing, and then ``phi`` is not read.
    phi : (rows, topics) float64
    in_logs : bool
    new : (rows, topics) float64
        Gets the draws; NaN where a count is no number, as the draw of a gamma would then never end.
    """
    n_topics = new.shape[1]
    for entry in range(lanes.find_first_item(), new.shape[0] * n_topics, lanes.count_workers()):
        v, k = uint(entry // n_topics), uint(entry % n_topics)
        rng = start_entry(seed, step, layer, entry)
        count = counts[v, k] * factor
        if len(rates) > 0:
            more, rng = latent.draw_poisson(rng, rates[k] * phi[v, k])
            count += more
        value, shape = nan, eta + count
        if shape < inf and in_logs:
            if count == 0.0 and root > 0:
                value, rng = augment.draw_root_log_gamma(rng, root)
            else:
                value, rng = augment.draw_log_gamma(rng, shape)
        elif shape < inf:
            if count == 0.0 and root > 0:
                value, rng = augment.draw_root_gamma(rng, root)
            else:
                value, rng = augment.draw_gamma(rng, shape)
        new[v, k] = value


@compiled
def find_largest(table: FloatArray, largest: FloatArray) -> None:
    """Write the largest entry of every column."""
    for k in range(lanes.find_first_item(), table.shape[1], lanes.count_workers()):
        value = -inf
        for v in range(table.shape[0]):
            value = max(value, table[uint(v), uint(k)])
        largest[uint(k)] = value


@compiled
def raise_entries(largest: FloatArray, table: FloatArray) -> None:
    """Replace logarithms by ``exp(value - largest_k)``."""
    n_topics = table.shape[1]
    for entry in range(lanes.find_first_item(), table.shape[0] * n_topics, lanes.count_workers()):
        v, k = uint(entry // n_topics), uint(entry % n_topics)
        table[v, k] = exp(table[v, k] - largest[k])


@compiled
def sum_blocks(table: Array, sums: FloatArray) -> None:
    """Write the column sums of every block of rows, (blocks, topics)."""
    n_topics = table.shape[1]
    for item in range(lanes.find_first_item(), sums.shape[0] * n_topics, lanes.count_workers()):
        block, k = item // n_topics, uint(item % n_topics)
        total = 0.0
        for v in range(block * BLOCK, min((block + 1) * BLOCK, table.shape[0])):
            total += table[uint(v), k]
        sums[uint(block), k] = total


@compiled
def add_blocks(sums: FloatArray, totals: FloatArray) -> None:
    """Write the sums over all blocks, (topics,)."""
    for k in range(lanes.find_first_item(), sums.shape[1], lanes.count_workers()):
        total = 0.0
        for block in range(sums.shape[0]):
            total += sums[uint(block), uint(k)]
        totals[uint(k)] = total


@compiled
def divide_entries(
    sums: FloatArray, moved: Array, old: FloatArray, new: FloatArray, rows: FloatArray, columns: FloatArray
) -> None:
    """Divide columns by their sums, in place, and write them as sweeps read them.

    Parameters
    ----------
    sums : (topics,) float64
    moved : (topics,) bool
        Columns that have moved; the others, and those without a usable sum, become ``old``.
    old, new : (rows, topics) float64
    rows : (rows, padded topics) float32
    columns : (topics, padded rows) float32
        The same transposed; no rows for layer 1.
    """
    n_topics = new.shape[1]
    for entry in range(lanes.find_first_item(), new.shape[0] * n_topics, lanes.count_workers()):
        v, k = uint(entry // n_topics), uint(entry % n_topics)
        total, value = sums[k], old[v, k]
        if moved[k] and total > 0.0 and total < inf:
            value = max(new[v, k] * (1.0 / total), augment.TINY)
        new[v, k] = value
        rows[v, k] = np.float32(value)
        if columns.shape[0] > 0:
            columns[k, v] = np.float32(value)


@compiled
def propose_entries(
    seed: int,
    step: int,
    layer: int,
    phi: FloatArray,
    counts: Array,
    factor: float,
    eta: float,
    pull: FloatArray,
    steps: FloatArray,
    new: FloatArray,
) -> None:
    """Write the V-dimensional draw of DLDA eq. 15 (:func:`engine.topic_moves.diffusion.step_langevin`)."""
    n_topics = new.shape[1]
    for entry in range(lanes.find_first_item(), new.shape[0] * n_topics, lanes.count_workers()):
        v, k = uint(entry // n_topics), uint(entry % n_topics)
        noise, _ = augment.draw_normal(start_entry(seed, step, layer, entry))
        p, size = phi[v, k], steps[k]
        drift = counts[v, k] * factor + eta - pull[k] * p
        new[v, k] = p + size * drift + sqrt(2.0 * size * p) * noise


@compiled
def project_entries(phi: FloatArray, totals: FloatArray, reflect: bool, new: FloatArray) -> None:
    """Move every column from its sum to 1 along ``phi``, and make its entries at least ``SMALLEST``."""
    n_topics = new.shape[1]
    for entry in range(lanes.find_first_item(), new.shape[0] * n_topics, lanes.count_workers()):
        v, k = uint(entry // n_topics), uint(entry % n_topics)
        moved = new[v, k] - (totals[k] - 1.0) * phi[v, k]
        if reflect:
            moved = fabs(moved)
        new[v, k] = max(moved, SMALLEST)


@compiled
def scale_samples(
    totals: FloatArray, factor: float, eta: float, n_rows: int, inverse: FloatArray, spread: FloatArray
) -> None:
    """Write the numbers that scale a sample (:class:`engine.topic_moves.steps.ScaledSample`)."""
    for item in range(lanes.find_first_item(), len(totals), lanes.count_workers()):
        k = uint(item)
        total = totals[k] * factor + eta * n_rows
        inverse[k] = 1.0 / total if total > 0.0 else 0.0
        spread[k] = 1.0 / (total + 1.0) if eta > 0.0 else 0.0


@compiled
def sum_overlaps(mean: Array, sample: Array, factor: float, eta: float, inverse: FloatArray, sums: FloatArray) -> None:
    """Write ``sum_v min(mean_vk, sample_vk)`` of every block of rows."""
    n_topics = mean.shape[1]
    for item in range(lanes.find_first_item(), sums.shape[0] * n_topics, lanes.count_workers()):
        block, k = item // n_topics, uint(item % n_topics)
        total = 0.0
        for row in range(block * BLOCK, min((block + 1) * BLOCK, mean.shape[0])):
            v = uint(row)
            total += min(np.float64(mean[v, k]), (sample[v, k] * factor + eta) * inverse[k])
        sums[uint(block), k] = total


@compiled
def weigh_samples(
    overlaps: FloatArray, inverse: FloatArray, samples: Array, memory: int, new: Array, weight: FloatArray
) -> None:
    """Write the numbers of samples in a mean with one more, and the weight of this one."""
    for item in range(lanes.find_first_item(), len(overlaps), lanes.count_workers()):
        k = uint(item)
        before = samples[k] if overlaps[k] >= SAME else 0
        new[k] = min(before + 1, memory)
        weight[k] = 1.0 / new[k] if inverse[k] > 0.0 else 0.0


@compiled
def mix_samples(
    mean: Array,
    variance: Array,
    sample: Array,
    factor: float,
    eta: float,
    inverse: FloatArray,
    spread: FloatArray,
    weight: FloatArray,
    new: Array,
    new_variance: Array,
) -> None:
    """Write the mean with one more sample, and the variance of a draw (:mod:`engine.topic_moves.steps`)."""
    n_topics = mean.shape[1]
    for entry in range(lanes.find_first_item(), mean.shape[0] * n_topics, lanes.count_workers()):
        v, k = uint(entry // n_topics), uint(entry % n_topics)
        old, w = np.float64(mean[v, k]), weight[k]
        current = (sample[v, k] * factor + eta) * inverse[k]
        change = current - old
        new[v, k] = old + w * change
        accumulated = variance[v, k] + w * change * change
        new_variance[v, k] = (1.0 - w) * accumulated + w * current * (1.0 - current) * spread[k]
