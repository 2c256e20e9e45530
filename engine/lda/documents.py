"""Coordinate ascent on the documents' part of the bound, with topics fixed (Blei, Ng and Jordan, 2003, section 5).

For a document with counts ``n_v``, let ``e_k = exp(E[ln theta_k])`` and ``g_vk = exp(E[ln phi_kv])``.  The updates

    p_vk = e_k g_vk / norm_v,  norm_v = sum_k e_k g_vk,      gamma_k = alpha_k + sum_v n_v p_vk

alternate until gamma converges; p is then updated once more.  ``p`` is never stored: the counts of the topics are
``sum_d n_v p_vk = g_vk sum_d (n_v / norm_v) e_k``, so it is enough to store one number per cell, and ``e`` per
document.  A common factor of all ``e_k`` cancels, so ``e_k = exp(psi(gamma_k))`` can be used.

Numbers are added word by word, in the order of the documents, so results are bit-identical for any number of threads.
"""

from math import factorial, log, pi
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray
from topiary.engine.corpus import list_owners, sort_by_word
from topiary.engine.gibbs.upper import multiply_rows
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool, cut_rows

LEAST_LOG = -320.0  # least argument of exponentials: products of two are still normal numbers, and negligible

_LOG_2 = log(2.0)
_HALF_LOG_2_PI = 0.5 * log(2.0 * pi)
_BIAS, _S52 = np.int64(1023), np.int64(52)  # of a float64: bias of the exponent, bits of the significand
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12 = (1.0 / factorial(n) for n in range(2, 13))


@inlined
def logarithm(x: float) -> float:
    """Return ``ln x`` of a positive normal float64, accurate to 1e-14."""
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
    """Return ``e^x`` for x up to 700, with a relative error of at most 1e-13; at least ``e^LEAST_LOG``."""
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
    """Return ``psi(y) - ln y`` for y >= 6, accurate to 1e-12."""
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


BLOCK = 1024  # number of documents whose counts are added up together
MOVED, ROUNDS = 1e-3, 100  # a document stops when gamma changes by less than MOVED on average, or after ROUNDS


class Fit(NamedTuple):
    """Result of coordinate ascent of documents.

    Attributes
    ----------
    gamma : (documents, K) float64
        Parameters of q(theta_d) = Dir(gamma_d).
    e : (documents, K) float64
        ``exp(psi(gamma))``, from which p is computed.
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


def init_gamma(docs: Batch, alpha: FloatArray) -> FloatArray:
    """Return the initial gamma, (documents, K): ``alpha + n_d / K``, the same share of the document for every topic."""
    tokens = count_tokens(docs)
    return np.ascontiguousarray(alpha + (tokens / len(alpha))[:, None])


def count_tokens(docs: Batch) -> FloatArray:
    """Return the number of tokens of every document, (documents,)."""
    cumulated = np.concatenate([[0.0], np.cumsum(docs.counts, dtype=np.float64)])
    return np.asarray(cumulated[docs.starts[1:]] - cumulated[docs.starts[:-1]])


def place_documents(
    table: FloatArray, docs: Batch, alpha: FloatArray, gamma: FloatArray, pool: Pool, rounds: int = ROUNDS
) -> Fit:
    """Update ``gamma`` in place until it converges, or for ``rounds`` rounds; return the fit.

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
    arguments = (starts, order, owner, fit, table, counts)
    pool.run(_add_words, [(*arguments, a, b) for a, b in cut_rows(starts, pool.n_threads)])


def compute_rates(phi: FloatArray, theta: FloatArray, scored: Batch, pool: Pool) -> FloatArray:
    """Return ``sum_k theta_dk phi_vk`` at every cell of ``scored``, (cells,)."""
    rates = np.empty(len(scored.words))
    arguments = (phi, theta, scored.words, scored.starts, rates)
    pool.run(_rate_cells, [(*arguments, a, b) for a, b in cut_rows(scored.starts, pool.n_threads)])
    return rates


class Worksheet(NamedTuple):
    """Working memory of one document.

    ``near`` (words, K) and its transpose ``turned`` (K, words) are the document's rows of g, so that both sums of a
    round run along rows; the other arrays have one number per word or per topic.
    """

    near: FloatArray
    turned: FloatArray
    norm: FloatArray
    weights: FloatArray
    total: FloatArray
    terms: FloatArray


@compiled
def _make_worksheet(n_words: int, n_topics: int) -> Worksheet:
    """Return working memory for documents of at most ``n_words`` different words."""
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
    sheet = _make_worksheet(longest, len(alpha))
    prior = _compute_log_beta(alpha, sheet.terms)
    for d in range(first, last):
        cells = counts[starts[d] : starts[d + 1]]
        _copy_rows(table, words[starts[d] : starts[d + 1]], sheet)
        write_exp_digammas(gamma[d], e[d])
        n_rounds = 0
        while True:
            _run_round(cells, e[d], sheet)
            n_rounds += 1
            change = _update_gamma(alpha, e[d], sheet.total, gamma[d], sheet.terms)
            write_exp_digammas(gamma[d], e[d])
            if change < moved * len(alpha) or n_rounds >= most:
                break
        _run_round(cells, e[d], sheet)
        rounds[d] = n_rounds
        weights[starts[d] : starts[d + 1]] = sheet.weights[: len(cells)]
        explained = _sum_explained(cells, sheet.norm, e[d], gamma[d], alpha, sheet.terms)
        bound[d] = _compute_log_beta(gamma[d], sheet.terms) - prior + explained


@compiled
def _copy_rows(table: FloatArray, words: Array, sheet: Worksheet) -> None:
    """Copy the rows of g for a document's words to working memory."""
    for i in range(len(words)):
        sheet.near[i, :] = table[words[i]]
    for k in range(table.shape[1]):
        for i in range(len(words)):
            sheet.turned[k, i] = sheet.near[i, k]


@compiled
def write_exp_digammas(gamma: FloatArray, e: FloatArray) -> None:
    """Write ``e_k = exp(psi(gamma_k))``."""
    for k in range(len(e)):
        e[k] = exp_digamma(gamma[k])


@compiled
def _run_round(counts: Array, e: FloatArray, sheet: Worksheet) -> None:
    """Update p implicitly: write ``norm_v``, ``n_v / norm_v``, and ``total_k = sum_v (n_v / norm_v) g_vk``."""
    n = len(counts)
    multiply_rows(e, sheet.turned, sheet.norm[:n])
    for i in range(n):
        sheet.weights[i] = counts[i] / sheet.norm[i]
    multiply_rows(sheet.weights[:n], sheet.near, sheet.total)


@compiled
def _update_gamma(alpha: FloatArray, e: FloatArray, total: FloatArray, gamma: FloatArray, terms: FloatArray) -> float:
    """Set ``gamma = alpha + e total`` in place; return the sum over topics of its absolute changes."""
    for k in range(len(alpha)):
        new = alpha[k] + e[k] * total[k]
        terms[k] = abs(new - gamma[k])
        gamma[k] = new
    return _sum_terms(terms, len(alpha))


@inlined
def _sum_terms(terms: FloatArray, n: int) -> float:
    """Return the sum of the first ``n`` terms, in four interleaved parts for speed."""
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
    """Return ``sum_v n_v ln norm_v - sum_k (gamma_k - alpha_k) ln e_k``, the terms of the bound with p and gamma."""
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
    """Add ``n_v p_vk`` of all documents to ``counts`` for words ``first:last``."""
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
    """Write the rates of the cells of documents ``first:last``."""
    terms = np.empty(phi.shape[1])
    for d in range(first, last):
        for cell in range(starts[d], starts[d + 1]):
            v = words[cell]
            for k in range(phi.shape[1]):
                terms[k] = phi[v, k] * theta[d, k]
            rates[cell] = _sum_terms(terms, phi.shape[1])
