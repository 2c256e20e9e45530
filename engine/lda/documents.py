"""Coordinate ascent on the documents' part of the bound, topics fixed (Blei, Ng and Jordan, 2003, section 5).

For a document with counts ``n_v``, with ``e_k = exp(E[ln theta_k])`` and ``g_vk = exp(E[ln phi_kv])``:

    p_vk = e_k g_vk / norm_v,  norm_v = sum_k e_k g_vk,      gamma_k = alpha_k + sum_v n_v p_vk,

in turn until gamma stands still, and p once more.  ``p`` is never written down: the counts of the topics are
``sum_d n_v p_vk = g_vk sum_d (n_v / norm_v) e_k``, so a cell leaves one number, and a document its ``e``.  A factor
that all ``e_k`` have in common cancels, so that ``e_k = exp(psi(gamma_k))``.

Numbers are added up word by word, in the order of the documents: results are the same bits for any number of threads.
"""

import itertools
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.contract import Array, Batch, FloatArray
from engine.jit import compiled, inlined
from engine.lda.special import exp_digamma, log_gamma, logarithm
from engine.pool import Pool

BLOCK = 1024  # documents whose counts are added up together
MOVED, ROUNDS = 1e-3, 100  # a document is done when gamma moves less than this on average, or after so many rounds

_summing = partial(compiled, fastmath={"reassoc", "contract"})  # sums of products in vector registers


class Placed(NamedTuple):
    """What coordinate ascent leaves of some documents.

    Attributes
    ----------
    gamma : (documents, K) float64
        Of q(theta_d) = Dir(gamma_d).
    e : (documents, K) float64
        ``e`` of gamma, of which p is made.
    weights : (cells,) float64
        ``n_v / norm_v``.
    bound : (documents,) float64
        ``E[ln p(w, z, theta | phi)] + H[q(z)] + H[q(theta)]``.
    rounds : (documents,) int64
        Rounds that it took.
    """

    gamma: FloatArray
    e: FloatArray
    weights: FloatArray
    bound: FloatArray
    rounds: Array


def fresh(docs: Batch, alpha: FloatArray) -> FloatArray:
    """Where gamma starts: every topic has the same part of the document, ``alpha + n_d / K``, (documents, K)."""
    tokens = lengths(docs)
    return np.ascontiguousarray(alpha + (tokens / len(alpha))[:, None])


def lengths(docs: Batch) -> FloatArray:
    """Tokens of every document, (documents,)."""
    before = np.concatenate([[0.0], np.cumsum(docs.counts, dtype=np.float64)])
    return np.asarray(before[docs.starts[1:]] - before[docs.starts[:-1]])


def place(
    table: FloatArray, docs: Batch, alpha: FloatArray, gamma: FloatArray, pool: Pool, rounds: int = ROUNDS
) -> Placed:
    """Go on from ``gamma``, which is changed in place, until it stands still or for so many rounds.

    ``table`` (V, K) is g; only the rows of words that occur are read.
    """
    n, k = gamma.shape
    placed = Placed(gamma, np.empty((n, k)), np.empty(len(docs.words)), np.empty(n), np.empty(n, np.int64))
    cells = (docs.words, docs.counts, docs.starts)
    parts = _even(docs.starts, pool.n_threads)
    pool.run(_place, [(table, *cells, alpha, *placed, a, b, MOVED, rounds) for a, b in parts])
    return placed


def add_counts(table: FloatArray, docs: Batch, placed: Placed, counts: FloatArray, pool: Pool) -> None:
    """Add ``n_v p_vk`` of all documents to ``counts`` (V, K)."""
    starts, order = _by_words(docs.words, len(counts))
    owner = np.repeat(np.arange(len(docs.documents)), np.diff(docs.starts))
    given = (starts, order, owner, placed.weights, placed.e, table, counts)
    pool.run(_add, [(*given, a, b) for a, b in _even(starts, pool.n_threads)])


def rates(phi: FloatArray, theta: FloatArray, scored: Batch, pool: Pool) -> FloatArray:
    """``sum_k theta_dk phi_vk`` at every cell of ``scored``, (cells,)."""
    found = np.empty(len(scored.words))
    given = (phi, theta, scored.words, scored.starts, found)
    pool.run(_rate, [(*given, a, b) for a, b in _even(scored.starts, pool.n_threads)])
    return found


def _even(starts: Array, n_parts: int) -> list[tuple[int, int]]:
    """Cut rows into runs with about equal numbers of cells."""
    shares = np.arange(1, n_parts) * int(starts[-1]) // n_parts
    edges = [0, *np.searchsorted(starts, shares).tolist(), len(starts) - 1]
    return [(a, b) for a, b in itertools.pairwise(edges) if a < b]


@compiled
def _by_words(words: Array, n_words: int) -> tuple[Array, Array]:
    """Where the cells of every word begin, (V + 1,), and the cells by words, each in the order of documents."""
    starts = np.zeros(n_words + 1, np.int64)
    for cell in range(len(words)):
        starts[words[cell] + 1] += 1
    for v in range(n_words):
        starts[v + 1] += starts[v]
    order = np.empty(len(words), np.int64)
    at = starts[:-1].copy()
    for cell in range(len(words)):
        v = words[cell]
        order[at[v]] = cell
        at[v] += 1
    return starts, order


@_summing
def _place(
    table: FloatArray,
    words: Array,
    counts: Array,
    starts: Array,
    alpha: FloatArray,
    gamma: FloatArray,
    e: FloatArray,
    weights: FloatArray,
    bound: FloatArray,
    rounds: Array,
    first: int,
    last: int,
    moved: float,
    most: int,
) -> None:
    """Coordinate ascent of documents ``first:last``."""
    longest = 0
    for d in range(first, last):
        longest = max(longest, starts[d + 1] - starts[d])
    near, total, norm = np.empty((longest, len(alpha))), np.empty(len(alpha)), np.empty(longest)
    prior = _log_beta(alpha)
    for d in range(first, last):
        a, n = starts[d], starts[d + 1] - starts[d]
        for i in range(n):
            near[i, :] = table[words[a + i]]
        for k in range(len(alpha)):
            e[d, k] = exp_digamma(gamma[d, k])
        done = 0
        while True:
            _round(near, counts, a, n, e[d], total, weights, norm)
            done += 1
            change = 0.0
            for k in range(len(alpha)):
                new = alpha[k] + e[d, k] * total[k]
                change += abs(new - gamma[d, k])
                gamma[d, k] = new
            for k in range(len(alpha)):
                e[d, k] = exp_digamma(gamma[d, k])
            if change < moved * len(alpha) or done >= most:
                break
        _round(near, counts, a, n, e[d], total, weights, norm)
        rounds[d] = done
        bound[d] = _log_beta(gamma[d]) - prior + _explained(counts, a, n, norm, e[d], gamma[d], alpha)


@_summing
def _round(
    near: FloatArray,
    counts: Array,
    a: int,
    n: int,
    e: FloatArray,
    total: FloatArray,
    weights: FloatArray,
    norm: FloatArray,
) -> None:
    """Weigh the cells of one document, and leave ``sum_v (n_v / norm_v) g_vk`` in ``total``."""
    total[:] = 0.0
    for i in range(n):
        mass = 0.0
        for k in range(len(e)):
            mass += e[k] * near[i, k]
        weight = counts[a + i] / mass
        norm[i], weights[a + i] = mass, weight
        for k in range(len(e)):
            total[k] += weight * near[i, k]


@_summing
def _log_beta(x: FloatArray) -> float:
    """``sum_k ln Gamma(x_k) - ln Gamma(sum_k x_k)``."""
    logs, total = 0.0, 0.0
    for k in range(len(x)):
        logs += log_gamma(x[k])
        total += x[k]
    return logs - log_gamma(total)


@_summing
def _explained(
    counts: Array, a: int, n: int, norm: FloatArray, e: FloatArray, gamma: FloatArray, alpha: FloatArray
) -> float:
    """``sum_v n_v ln norm_v - sum_k (gamma_k - alpha_k) ln e_k``: what p and gamma add to the bound."""
    found = 0.0
    for i in range(n):
        found += counts[a + i] * logarithm(norm[i])
    for k in range(len(e)):
        found -= (gamma[k] - alpha[k]) * logarithm(e[k])
    return found


@compiled
def _add(
    starts: Array,
    order: Array,
    owner: Array,
    weights: FloatArray,
    e: FloatArray,
    table: FloatArray,
    counts: FloatArray,
    first: int,
    last: int,
) -> None:
    """Add the counts of words ``first:last``."""
    total = np.empty(e.shape[1])
    for v in range(first, last):
        if starts[v] == starts[v + 1]:
            continue
        total[:] = 0.0
        for i in range(starts[v], starts[v + 1]):
            cell = order[i]
            _add_row(weights[cell], e[owner[cell]], total)
        for k in range(len(total)):
            counts[v, k] += table[v, k] * total[k]


@inlined
def _add_row(weight: float, row: FloatArray, total: FloatArray) -> None:
    for k in range(len(total)):
        total[k] += weight * row[k]


@_summing
def _rate(
    phi: FloatArray, theta: FloatArray, words: Array, starts: Array, found: FloatArray, first: int, last: int
) -> None:
    for d in range(first, last):
        for cell in range(starts[d], starts[d + 1]):
            v, rate = words[cell], 0.0
            for k in range(phi.shape[1]):
                rate += phi[v, k] * theta[d, k]
            found[cell] = rate
