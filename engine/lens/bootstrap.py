"""The Poisson bootstrap of shares over documents, for groups with few documents.

In every draw b document j counts m_j^b ~ Poisson(1) times, and the share of topic k in a group G is

    R_k^b = sum_{j in G} m_j^b a_j w_jk / sum_{j in G} m_j^b a_j.

The numbers of document j come from a stream of its own, addressed by the number of the document in the corpus.  So they
depend neither on the other documents of the group nor on the number of threads.
"""

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.jit import compiled
from topiary.engine.lens.moments import DocumentShares
from topiary.engine.pool import Pool, cut_evenly
from topiary.engine.streams import draw_uniform, start_stream

DRAWS = 200
SEED = 1
_NO_EVENT = float(np.exp(-1.0))  # P(m = 0) of a Poisson variable with mean 1


def draw_variances(
    seed: int, shares: DocumentShares, weights: FloatArray, order: IntArray, ranges: IntArray, pool: Pool | None = None
) -> FloatArray:
    """Return the variances of the shares of groups over ``DRAWS`` Poisson-bootstrap draws.

    Parameters
    ----------
    seed : int
    shares : DocumentShares
    weights : (N,) float64
        Weight a_j of every document.
    order : (n,) int array
        Numbers of documents; each group is a contiguous part of it, and groups may overlap.
    ranges : (G, 2) int array
        First position of each group in ``order``, and the position after its last.
    pool : Pool, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    (G, K + 1) float64
        The last column is for the rest of the documents.  Draws without any document are left out.
    """
    variances = np.zeros((len(ranges), shares.n_topics + 1))
    if len(ranges):
        pool = pool or Pool(1)
        parts = [(seed, shares, weights, order, ranges, *part, variances) for part in cut_evenly(len(ranges), 16)]
        pool.run(_draw_groups, parts)
    return variances


@compiled
def _draw_groups(
    seed: int,
    shares: DocumentShares,
    weights: FloatArray,
    order: Array,
    ranges: Array,
    first: int,
    last: int,
    variances: FloatArray,
) -> None:
    """Write the variances of groups ``first:last``."""
    sums = np.empty((shares.n_topics + 1, DRAWS))
    totals, drawn = np.empty(DRAWS), np.empty(DRAWS)
    for group in range(first, last):
        sums[:] = 0.0
        totals[:] = 0.0
        for place in range(ranges[group, 0], ranges[group, 1]):
            j = order[place]
            _draw_counts(seed, j, drawn)
            for b in range(DRAWS):
                drawn[b] *= weights[j]
                totals[b] += drawn[b]
            for entry in range(shares.starts[j], shares.starts[j + 1]):
                _add_multiple(sums[shares.topics[entry]], shares.units[entry] / 65535.0, drawn)
            _add_multiple(sums[shares.n_topics], shares.rest[j] / 65535.0, drawn)
        for topic in range(shares.n_topics + 1):
            variances[group, topic] = _measure_variance(sums[topic], totals)


@compiled
def _draw_counts(seed: int, document: int, drawn: FloatArray) -> None:
    """Fill ``drawn`` with the Poisson(1) counts of a document, by inversion."""
    rng = start_stream(seed, streams.BOOTSTRAP, 0, document)
    for b in range(len(drawn)):
        uniform, rng = draw_uniform(rng)
        count, probability = 0, _NO_EVENT
        while uniform >= probability and count < 20:
            uniform -= probability
            count += 1
            probability /= count
        drawn[b] = count


@compiled
def _add_multiple(total: FloatArray, share: float, drawn: FloatArray) -> None:
    """Add ``share * drawn`` to ``total``."""
    for b in range(len(drawn)):
        total[b] += share * drawn[b]


@compiled
def _measure_variance(sums: FloatArray, totals: FloatArray) -> float:
    """Return the variance of ``sums / totals`` over the draws with a total above 0; 0 with fewer than two."""
    n, mean, squares = 0, 0.0, 0.0
    for b in range(len(sums)):
        if totals[b] > 0.0:
            ratio = sums[b] / totals[b]
            n += 1
            change = ratio - mean
            mean += change / n
            squares += change * (ratio - mean)
    return squares / (n - 1) if n > 1 else 0.0
