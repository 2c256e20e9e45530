"""Coordinate ascent on the documents' part of the bound, topics fixed (Blei, Ng and Jordan, 2003, section 5).

For a document with counts ``n_v``, with ``e_k = exp(E[ln theta_k])`` and ``g_vk = exp(E[ln phi_kv])``:

    p_vk = e_k g_vk / norm_v,  norm_v = sum_k e_k g_vk,      gamma_k = alpha_k + sum_v n_v p_vk,

alternately until gamma converges, and p once more.  ``p`` is never stored: the counts of the topics are
``sum_d n_v p_vk = g_vk sum_d (n_v / norm_v) e_k``, so a cell leaves one number, and a document its ``e``.  A factor
that all ``e_k`` have in common cancels, so that ``e_k = exp(psi(gamma_k))``.

Numbers are added up word by word, in the order of the documents: results are the same bits for any number of threads.
"""

from math import factorial, log, pi
from typing import NamedTuple

import numpy as np

from engine.contract import Array, Batch, FloatArray
from engine.corpus import list_owners, sort_by_word
from engine.gibbs.priors import multiply_rows
from engine.jit import compiled, inlined
from engine.pool import Pool, cut_rows

LEAST_LOG = -320.0  # of exponentials: products of two are still normal numbers, and negligible

_LOG_2 = log(2.0)
_HALF_LOG_2_PI = 0.5 * log(2.0 * pi)
_BIAS, _S52 = np.int64(1023), np.int64(52)
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12 = (1.0 / factorial(n) for n in range(2, 13))


@inlined
def logarithm(x: float) -> float:
    """Return ``ln x`` of a positive normal float64, to 1e-14."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits - _ROOT_HALF) >> _S52
    m = np.int64(bits - (exponent << _S52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    tail = 1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * (1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0)))))
    series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * tail))
    return np.float64(exponent) * _LOG_2 + 2.0 * s * (1.0 + z * series)


@inlined
def exponential(x: float) -> float:
    """Return ``e^x`` of a number up to 700, to 1e-13 of the result; at least ``e^LEAST_LOG``."""
    x = max(x, LEAST_LOG)
    n = np.floor(x * (1.0 / _LOG_2) + 0.5)
    r = x - n * _LOG_2
    tail = _E8 + r * (_E9 + r * (_E10 + r * (_E11 + r * _E12)))
    tail = _E4 + r * (_E5 + r * (_E6 + r * (_E7 + r * tail)))
    series = 1.0 + r * (1.0 + r * (_E2 + r * (_E3 + r * tail)))
    return series * np.int64((np.int64(n) + _BIAS) << _S52).view(np.float64)


@inlined
def _sum_inverses(x: float) -> float:
    """Return ``sum_{i < 6} 1 / (x + i)``, with one division: ``x (x + 5) = a``, ``(x + 1)(x + 4) = a + 4`` ..."""
    a = x * (x + 5.0)
    b, c = a + 4.0, a + 6.0
    return (2.0 * x + 5.0) * (b * c + a * (b + c)) / (a * b * c)


@inlined
def _compute_asymptotic(y: float) -> float:
    """Return ``psi(y) - ln y`` for y >= 6, to 1e-12."""
    inverse = 1.0 / y
    z = inverse * inverse
    tail = 1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z * (1.0 / 12.0)))
    return -0.5 * inverse - z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * tail)))


@inlined
def digamma(x: float) -> float:
    """Return ``psi(x)`` for x > 0."""
    y = x + 6.0
    return logarithm(y) + _compute_asymptotic(y) - _sum_inverses(x)


@inlined
def exp_digamma(x: float) -> float:
    """Return ``exp(psi(x))`` for x > 0 without a logarithm; at least ``e^LEAST_LOG``."""
    y = x + 6.0
    return y * exponential(_compute_asymptotic(y) - _sum_inverses(x))


@inlined
def log_gamma(x: float) -> float:
    """Return ``ln Gamma(x)`` for x > 0."""
    y = x + 6.0
    inverse = 1.0 / y
    z = inverse * inverse
    tail = 1.0 / 1680.0 - z * (1.0 / 1188.0 - z * (691.0 / 360360.0 - z * (1.0 / 156.0)))
    series = inverse * (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * tail)))
    a = x * (x + 5.0)
    return (y - 0.5) * logarithm(y) - y + _HALF_LOG_2_PI + series - logarithm(a * (a + 4.0) * (a + 6.0))


BLOCK = 1024  # documents whose counts are added up together
MOVED, ROUNDS = 1e-3, 100  # a document has converged when gamma moves less than MOVED on average, or after ROUNDS


class Fit(NamedTuple):
    """Result of coordinate ascent of documents.

    Attributes
    ----------
    gamma : (documents, K) float64
        Of q(theta_d) = Dir(gamma_d).
    e : (documents, K) float64
        ``e`` of gamma, from which p is computed.
    weights : (cells,) float64
        ``n_v / norm_v``.
    bound : (documents,) float64
        ``E[ln p(w, z, theta | phi)] + H[q(z)] + H[q(theta)]``.
    rounds : (documents,) int64
        Rounds until convergence.
    """

    gamma: FloatArray
    e: FloatArray
    weights: FloatArray
    bound: FloatArray
    rounds: Array


def begin_gamma(docs: Batch, alpha: FloatArray) -> FloatArray:
    """Return the first gamma: every topic has the same part of the document, ``alpha + n_d / K``, (documents, K)."""
    tokens = count_tokens(docs)
    return np.ascontiguousarray(alpha + (tokens / len(alpha))[:, None])


def count_tokens(docs: Batch) -> FloatArray:
    """Return the tokens of every document, (documents,)."""
    before = np.concatenate([[0.0], np.cumsum(docs.counts, dtype=np.float64)])
    return np.asarray(before[docs.starts[1:]] - before[docs.starts[:-1]])


def place_documents(
    table: FloatArray, docs: Batch, alpha: FloatArray, gamma: FloatArray, pool: Pool, rounds: int = ROUNDS
) -> Fit:
    """Update ``gamma`` in place until it converges or for this number of rounds; return the fit.

    ``table`` (V, K) is g; only the rows of words that occur are read.
    """
    n, k = gamma.shape
    fit = Fit(gamma, np.empty((n, k)), np.empty(len(docs.words)), np.empty(n), np.empty(n, np.int64))
    parts = cut_rows(docs.starts, pool.n_threads)
    pool.run(_place_rows, [(table, docs, alpha, fit, a, b, MOVED, rounds) for a, b in parts])
    return fit


def add_counts(table: FloatArray, docs: Batch, fit: Fit, counts: FloatArray, pool: Pool) -> None:
    """Add ``n_v p_vk`` of all documents to ``counts`` (V, K)."""
    starts, order = sort_by_word(docs.words, len(counts))
    owner = list_owners(docs.starts)
    head = (starts, order, owner, fit, table, counts)
    pool.run(_add_words, [(*head, a, b) for a, b in cut_rows(starts, pool.n_threads)])


def compute_rates(phi: FloatArray, theta: FloatArray, scored: Batch, pool: Pool) -> FloatArray:
    """Return ``sum_k theta_dk phi_vk`` at every cell of ``scored``, (cells,)."""
    rates = np.empty(len(scored.words))
    head = (phi, theta, scored.words, scored.starts, rates)
    pool.run(_rate_cells, [(*head, a, b) for a, b in cut_rows(scored.starts, pool.n_threads)])
    return rates


class Worksheet(NamedTuple):
    """Working memory of one document.

    ``near`` (words, K) and ``turned`` (K, words) are its rows of g, so that both sums of a round run along rows; the
    rest is per word or per topic.
    """

    near: FloatArray
    turned: FloatArray
    norm: FloatArray
    weights: FloatArray
    total: FloatArray
    terms: FloatArray


@compiled
def _make_desk(n_words: int, n_topics: int) -> Worksheet:
    return Worksheet(
        np.empty((n_words, n_topics)),
        np.empty((n_topics, n_words)),
        np.empty(n_words),
        np.empty(n_words),
        np.empty(n_topics),
        np.empty(max(n_topics, n_words)),
    )


@compiled
def _place_rows(
    table: FloatArray, docs: Batch, alpha: FloatArray, fit: Fit, first: int, last: int, moved: float, most: int
) -> None:
    """Run coordinate ascent of documents ``first:last``."""
    words, counts, starts = docs.words, docs.counts, docs.starts
    gamma, e, weights, bound, rounds = fit
    longest = 1
    for d in range(first, last):
        longest = max(longest, starts[d + 1] - starts[d])
    desk = _make_desk(longest, len(alpha))
    prior = _compute_log_beta(alpha, desk.terms)
    for d in range(first, last):
        cells = counts[starts[d] : starts[d + 1]]
        _lay_document(table, words[starts[d] : starts[d + 1]], desk)
        write_exp_digammas(gamma[d], e[d])
        done = 0
        while True:
            _run_round(cells, e[d], desk)
            done += 1
            change = _update_gamma(alpha, e[d], desk.total, gamma[d], desk.terms)
            write_exp_digammas(gamma[d], e[d])
            if change < moved * len(alpha) or done >= most:
                break
        _run_round(cells, e[d], desk)
        rounds[d] = done
        weights[starts[d] : starts[d + 1]] = desk.weights[: len(cells)]
        explained = _sum_explained(cells, desk.norm, e[d], gamma[d], alpha, desk.terms)
        bound[d] = _compute_log_beta(gamma[d], desk.terms) - prior + explained


@compiled
def _lay_document(table: FloatArray, words: Array, desk: Worksheet) -> None:
    for i in range(len(words)):
        desk.near[i, :] = table[words[i]]
    for k in range(table.shape[1]):
        for i in range(len(words)):
            desk.turned[k, i] = desk.near[i, k]


@compiled
def write_exp_digammas(gamma: FloatArray, e: FloatArray) -> None:
    """Write ``e_k = exp(psi(gamma_k))``."""
    for k in range(len(e)):
        e[k] = exp_digamma(gamma[k])


@compiled
def _run_round(counts: Array, e: FloatArray, desk: Worksheet) -> None:
    """Write ``norm_v``, ``n_v / norm_v``, and ``sum_v (n_v / norm_v) g_vk`` to ``total``."""
    n = len(counts)
    multiply_rows(e, desk.turned, desk.norm[:n])
    for i in range(n):
        desk.weights[i] = counts[i] / desk.norm[i]
    multiply_rows(desk.weights[:n], desk.near, desk.total)


@compiled
def _update_gamma(alpha: FloatArray, e: FloatArray, total: FloatArray, gamma: FloatArray, terms: FloatArray) -> float:
    """Set ``gamma = alpha + e total`` in place; return the size of its change, over all topics."""
    for k in range(len(alpha)):
        new = alpha[k] + e[k] * total[k]
        terms[k] = abs(new - gamma[k])
        gamma[k] = new
    return _sum_terms(terms, len(alpha))


@inlined
def _sum_terms(terms: FloatArray, n: int) -> float:
    """Sum the first ``n`` terms, four sums side by side."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        a += terms[i]
        b += terms[i + 1]
        c += terms[i + 2]
        d += terms[i + 3]
    for i in range(whole, n):
        a += terms[i]
    return (a + b) + (c + d)


@compiled
def _compute_log_beta(x: FloatArray, terms: FloatArray) -> float:
    """Return ``sum_k ln Gamma(x_k) - ln Gamma(sum_k x_k)``."""
    for k in range(len(x)):
        terms[k] = log_gamma(x[k])
    return _sum_terms(terms, len(x)) - log_gamma(_sum_terms(x, len(x)))


@compiled
def _sum_explained(
    counts: Array, norm: FloatArray, e: FloatArray, gamma: FloatArray, alpha: FloatArray, terms: FloatArray
) -> float:
    """Return ``sum_v n_v ln norm_v - sum_k (gamma_k - alpha_k) ln e_k``, the part of p and gamma in the bound."""
    for i in range(len(counts)):
        terms[i] = counts[i] * logarithm(norm[i])
    total = _sum_terms(terms, len(counts))
    for k in range(len(e)):
        terms[k] = (gamma[k] - alpha[k]) * logarithm(e[k])
    return total - _sum_terms(terms, len(e))


@compiled
def _add_words(
    starts: Array, order: Array, owner: Array, fit: Fit, table: FloatArray, counts: FloatArray, first: int, last: int
) -> None:
    """Add the counts of words ``first:last``."""
    weights, e = fit.weights, fit.e
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


@compiled
def _rate_cells(
    phi: FloatArray, theta: FloatArray, words: Array, starts: Array, rates: FloatArray, first: int, last: int
) -> None:
    terms = np.empty(phi.shape[1])
    for d in range(first, last):
        for cell in range(starts[d], starts[d + 1]):
            v = words[cell]
            for k in range(phi.shape[1]):
                terms[k] = phi[v, k] * theta[d, k]
            rates[cell] = _sum_terms(terms, phi.shape[1])
