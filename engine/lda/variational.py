"""Variational inference of LDA: the kernel that coordinate ascent and stochastic variational inference share.

q(phi_k) = Dir(lambda_k), q(theta_d) = Dir(gamma_d), q(z_di) = Cat(p_dv).  A step updates p and gamma of its documents
and then

    lambda <- (1 - rho) lambda + rho (beta + N / B sum_d n_dv p_dvk),

with rho = 1 and all documents for coordinate ascent (Blei, Ng and Jordan, "Latent Dirichlet allocation", JMLR 2003,
smoothed as in its section 5.4), and a decreasing rho and B of the N documents for stochastic variational inference
(Hoffman, Blei and Bach, NIPS 2010; Hoffman, Blei, Wang and Paisley, JMLR 2013).

Coordinate ascent on the documents' part of the bound, with topics fixed (Blei, Ng and Jordan, 2003, section 5).

For a document with counts ``n_v``, let ``e_k = exp(E[ln theta_k])`` and ``g_vk = exp(E[ln phi_kv])``.  The updates

    p_vk = e_k g_vk / norm_v,  norm_v = sum_k e_k g_vk,      gamma_k = alpha_k + sum_v n_v p_vk

alternate until gamma converges; p is then updated once more.  ``p`` is never stored: the counts of the topics are
``sum_d n_v p_vk = g_vk sum_d (n_v / norm_v) e_k``, so it is enough to store one number per cell, and ``e`` per
document.  A common factor of all ``e_k`` cancels, so ``e_k = exp(psi(gamma_k))`` can be used.

Numbers are added word by word, in the order of the documents, so results are bit-identical for any number of threads.
"""

from math import factorial, log, pi
from typing import Any, NamedTuple

import numpy as np

from topiary.engine import first_topics, streams
from topiary.engine.contract import SHARE, Array, Batch, Facts, FloatArray, Info, Kernel, Local, Rates, Sweeps, Topics
from topiary.engine.corpus import list_owners, slice_documents, sort_by_word
from topiary.engine.gibbs.upper import multiply_rows
from topiary.engine.hierarchy import topics as hierarchy
from topiary.engine.hierarchy.paths import normalise_shares
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool, cut_evenly, cut_rows
from topiary.engine.shared_settings import LdaSettings
from topiary.engine.topic_moves.rows import BLOCK, Blocks, run_blocks

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


DOCUMENT_BLOCK = 1024  # number of documents whose counts are added up together
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
    pool.run_parts(parts, _place_rows, table, docs, alpha, fit, MOVED, rounds)
    return fit


def add_counts(table: FloatArray, docs: Batch, fit: Fit, counts: FloatArray, pool: Pool) -> None:
    """Add ``n_v p_vk`` of all documents to ``counts`` (V, K)."""
    starts, order = sort_by_word(docs.words, len(counts))
    parts, owner = cut_rows(starts, pool.n_threads), list_owners(docs.starts)
    pool.run_parts(parts, _add_words, starts, order, owner, fit, table, counts)


def compute_rates(phi: FloatArray, theta: FloatArray, scored: Batch, pool: Pool) -> FloatArray:
    """Return ``sum_k theta_dk phi_vk`` at every cell of ``scored``, (cells,)."""
    rates = np.empty(len(scored.words))
    parts = cut_rows(scored.starts, pool.n_threads)
    pool.run_parts(parts, _rate_cells, phi, theta, scored.words, scored.starts, rates)
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
    table: FloatArray, docs: Batch, alpha: FloatArray, fit: Fit, moved: float, most: int, first: int, last: int
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


LEAST_LAMBDA = 1e-100  # the smallest value that an entry of lambda may have


def compute_table(lam: FloatArray, totals: FloatArray, words: Array, pool: Pool) -> FloatArray:
    """Return ``exp(E[ln phi_kv]) = exp(psi(lambda_vk) - psi(sum_v lambda_vk))``, (V, K), set for ``words`` only."""
    present = np.zeros(len(lam), np.bool_)
    present[words] = True
    rows = np.flatnonzero(present)
    table = np.empty_like(lam)
    scale = np.empty_like(totals)
    write_exp_digammas(totals, scale)
    pool.run_parts(cut_evenly(len(rows), pool.n_threads), _fill_table, lam, 1.0 / scale, rows, table)
    return table


def blend_lambda(
    lam: FloatArray, counts: FloatArray, beta: FloatArray, step: float, scale: float, pool: Pool
) -> tuple[FloatArray, FloatArray]:
    """Return ``(1 - step) lambda + step (beta + scale counts)`` and its column sums (Hoffman et al. 2013, eq. 26)."""
    new = np.empty_like(lam)
    totals = run_blocks(_blend_rows, (lam, counts, beta, step, scale, new), lam.shape, pool)
    return new, totals


def compute_divergence(lam: FloatArray, totals: FloatArray, beta: FloatArray, pool: Pool) -> float:
    """Return ``sum_k KL(Dir(lambda_k) || Dir(beta))``."""
    means = np.empty_like(totals)
    _write_digammas(totals, means)
    by_word = run_blocks(_sum_divergence, (lam, means, beta), lam.shape, pool)
    logs = np.empty(len(totals) + len(beta) + 1)
    _write_log_gammas(np.concatenate([totals, beta, [beta.sum()]]), logs)
    normal = logs[: len(totals)].sum() + len(totals) * (logs[len(totals) : -1].sum() - logs[-1])
    return float(by_word.sum() + normal)


@compiled
def _write_digammas(x: FloatArray, out: FloatArray) -> None:
    for k in range(len(x)):
        out[k] = digamma(x[k])


@compiled
def _write_log_gammas(x: FloatArray, out: FloatArray) -> None:
    for k in range(len(x)):
        out[k] = log_gamma(x[k])


@compiled
def _fill_table(lam: FloatArray, scale: FloatArray, rows: Array, table: FloatArray, first: int, last: int) -> None:
    for i in range(first, last):
        v = rows[i]
        for k in range(len(scale)):
            table[v, k] = max(exp_digamma(lam[v, k]) * scale[k], 1e-140)


@compiled
def _blend_rows(
    lam: FloatArray, counts: FloatArray, beta: FloatArray, step: float, scale: float, new: FloatArray, blocks: Blocks
) -> None:
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, lam.shape[0])):
            prior = beta[v]
            for k in range(lam.shape[1]):
                value = (1.0 - step) * lam[v, k] + step * (prior + scale * counts[v, k])
                new[v, k] = value
                total[k] += value


@compiled
def _sum_divergence(lam: FloatArray, means: FloatArray, beta: FloatArray, blocks: Blocks) -> None:
    """Write ``sum_v (lambda - beta)(psi(lambda) - psi(sum lambda)) - ln Gamma(lambda)``."""
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, lam.shape[0])):
            prior = beta[v]
            for k in range(lam.shape[1]):
                value = lam[v, k]
                total[k] += (value - prior) * (digamma(value) - means[k]) - log_gamma(value)


DIVERGENCE_INTERVAL = 10  # mini-batches between two computations of the divergence of the topics from their prior
CONVERGED_CHANGE = 1e-5  # relative change of the bound below which coordinate ascent has converged


class State(NamedTuple):
    """State of variational LDA.

    ``t`` () int64 is the number of steps done; ``lam`` (V, K) is lambda and ``totals`` (K,) its column sums;
    ``divergence`` () is KL(q(phi) || p(phi)); ``bound`` () is the evidence lower bound per document at the last step,
    and ``change`` () its relative change in that step (infinity before the second step).  ``gamma`` (N, K) float32
    holds gamma of every training document if it is kept from step to step, else it is (0, K).
    """

    t: Array
    lam: FloatArray
    totals: FloatArray
    divergence: FloatArray
    change: FloatArray
    bound: FloatArray
    gamma: Array


class Gammas(NamedTuple):
    """Local variables of documents: ``gamma`` (documents, K) float32."""

    gamma: Array


class VariationalStatistics(NamedTuple):
    """Sums over the documents of a batch.

    ``counts`` (V, K) are ``sum_d n_dv p_dvk``, and ``bound`` is the documents' part of the evidence lower bound.
    ``token_rounds`` adds up the tokens of each document times the rounds that its gamma took to converge.
    """

    counts: FloatArray
    bound: float
    documents: int
    tokens: int
    token_rounds: int


class GammaChain(NamedTuple):
    """Documents under evaluation: ``clock`` () int64 counts the calls so far, ``gamma`` is (documents, K)."""

    clock: Array
    gamma: FloatArray


class Pace(NamedTuple):
    """What a step reads, and how far it goes.

    Attributes
    ----------
    batch_size : int or None
        Number of documents in a mini-batch; None if every step reads all documents.
    fresh_steps : int or None
        Number of first steps in which gamma starts from scratch; None if it does in every step and is not kept.
    tau, kappa : float
        Of the step sizes ``(t + tau)^-kappa``, which are 1 by default.
    """

    batch_size: int | None = None
    fresh_steps: int | None = None
    tau: float = 0.0
    kappa: float = 0.0


class VariationalKernel(Kernel):
    """The kernel of LDA at this pace; results do not depend on ``n_threads``."""

    real = True
    work = 10.0

    def __init__(self, config: LdaSettings, pace: Pace, facts: Facts, n_threads: int) -> None:
        self.config, self.pace, self.facts, self.pool = config, pace, facts, Pool(n_threads)
        self.beta = config.expand_beta(facts.n_words)
        self.batch_size = pace.batch_size or facts.n_documents
        self.sweeps_after = None if pace.batch_size else 0

    def _compute_step_size(self, t: int) -> float:
        """Return rho of step t = 1, 2, ..."""
        return float((t + self.pace.tau) ** -self.pace.kappa)

    def _compute_table(self, state: State, docs: Batch) -> FloatArray:
        return compute_table(state.lam, state.totals, docs.words, self.pool)

    def _init_gamma(self, state: State, docs: Batch) -> FloatArray:
        return init_gamma(docs, self.config.expand_alpha(state.lam.shape[1]))

    def _make_state(self, t: int, lam: FloatArray) -> State:
        """Return the state with this lambda at step ``t``, before any bound is known."""
        lam, totals = blend_lambda(lam, lam, self.beta, 0.0, 1.0, self.pool)
        divergence = compute_divergence(lam, totals, self.beta, self.pool)
        no_gamma = np.zeros((0, lam.shape[1]), dtype=np.float32)
        unknown_bounds = np.array(np.inf), np.array(np.nan)
        return State(np.array(t, dtype=np.int64), lam, totals, np.array(divergence), *unknown_bounds, no_gamma)

    def init(self, seed: int) -> State:
        """Draw lambda_vk ~ Gamma(100, 1/100), as Hoffman et al. (2010)."""
        shape = (self.facts.n_words, self.config.layers[0])
        return self._make_state(0, streams.make_generator(seed, streams.INIT).gamma(100.0, 0.01, shape))

    def init_from_documents(self, seed: int, docs: Batch) -> State:
        """Return a first state: random, or with one topic per cluster of documents (:mod:`engine.first_topics`)."""
        if self.config.start == "random":
            return self.init(seed)
        clusters = first_topics.cluster_topics(seed, docs, self.facts.n_words, (self.config.layers[0],), self.pool)
        return self._make_state(0, self._make_pseudo_counts(clusters.phi[0], clusters.r))

    def _make_pseudo_counts(self, phi: FloatArray, share: FloatArray) -> FloatArray:
        """Return the lambda with means ``phi`` that spreads all tokens of the corpus over the topics by ``share``."""
        tokens = self.facts.n_tokens or self.facts.n_documents * 100
        return phi * (self.beta.sum() + tokens * share)

    def prepare(self, seed: int, state: State, docs: Batch) -> State:
        """Return the state with the first gamma of all training documents, if it is kept."""
        if self.pace.fresh_steps is None:
            return state
        return state._replace(gamma=self._init_gamma(state, docs).astype(np.float32))

    def gather(
        self, seed: int, state: State, docs: Batch, local: Gammas | None
    ) -> tuple[VariationalStatistics, Gammas | None]:
        """Fit gamma of the documents with the topics fixed, and sum their expected counts."""
        alpha, table, pool = self.config.expand_alpha(state.lam.shape[1]), self._compute_table(state, docs), self.pool
        n = len(docs.documents)
        gamma = np.empty((n if local is not None else 0, len(alpha)), dtype=np.float32)
        continues = local is not None and len(local.gamma) == n and int(state.t) >= (self.pace.fresh_steps or 0)
        counts = np.zeros_like(state.lam)
        bound, token_rounds = 0.0, 0
        for begin in range(0, n, DOCUMENT_BLOCK):
            block = slice_documents(docs, begin, min(begin + DOCUMENT_BLOCK, n))
            rows = slice(begin, begin + DOCUMENT_BLOCK)
            start = local.gamma[rows].astype(np.float64) if continues and local else init_gamma(block, alpha)
            fit = place_documents(table, block, alpha, start, pool)
            add_counts(table, block, fit, counts, pool)
            bound += float(fit.bound.sum())
            token_rounds += int(fit.rounds @ count_tokens(block))
            gamma[rows] = fit.gamma if local is not None else gamma[rows]
        statistics = VariationalStatistics(counts, bound, n, int(docs.counts.sum(dtype=np.float64)), token_rounds)
        return statistics, None if local is None else Gammas(gamma)

    def move(self, seed: int, state: State, statistics: VariationalStatistics) -> tuple[State, Info]:
        """Move lambda; the reported bound belongs to the documents just fitted and the topics before the move."""
        t, batch_size = int(state.t) + 1, self.pace.batch_size
        step_size = self._compute_step_size(t)
        scale = self.facts.n_documents / max(statistics.documents, 1) if batch_size else 1.0
        lam, totals = blend_lambda(state.lam, statistics.counts, self.beta, step_size, scale, self.pool)
        n_documents = self.facts.n_documents if batch_size else statistics.documents
        elbo = statistics.bound / max(statistics.documents, 1) - float(state.divergence) / max(n_documents, 1)
        divergence = state.divergence
        if t % (DIVERGENCE_INTERVAL if batch_size else 1) == 0:
            divergence = np.array(compute_divergence(lam, totals, self.beta, self.pool))
        step_sizes = (np.full(len(totals), step_size),) if batch_size else ()
        change = abs(elbo - float(state.bound)) / max(abs(elbo), 1e-300) if np.isfinite(state.bound) else np.inf
        moved = state._replace(
            t=np.array(t, dtype=np.int64),
            lam=lam,
            totals=totals,
            divergence=divergence,
            change=np.array(change),
            bound=np.array(elbo),
        )
        return moved, Info(step_sizes, elbo, statistics.tokens, statistics.token_rounds)

    def topics(self, state: State) -> Topics:
        """Return E[phi], alpha, and the expected number of tokens of every topic."""
        weights = np.maximum(state.totals - self.beta.sum(), 0.0)
        alpha = self.config.expand_alpha(len(weights))
        return Topics((state.lam / state.totals,), alpha, units=(SHARE,), popularity=(weights,))

    def _fit_gamma(self, state: State, docs: Batch, gamma: FloatArray) -> FloatArray:
        """Update gamma of the documents until it converges, topics fixed, and return it."""
        table, alpha = self._compute_table(state, docs), self.config.expand_alpha(state.lam.shape[1])
        return place_documents(table, docs, alpha, gamma, self.pool).gamma

    def infer(self, seed: int, state: State, docs: Batch, sweeps: Sweeps | None = None) -> Local:
        """Return E[theta] of the documents, the share of each topic in them, and the expected tokens, gamma - alpha."""
        gamma = self._fit_gamma(state, docs, self._init_gamma(state, docs))
        alpha = self.config.expand_alpha(gamma.shape[1])
        return Local((normalise_shares(gamma),), tokens=np.maximum(gamma - alpha, 0.0))

    def start_chain(self, seed: int, state: State, docs: Batch) -> GammaChain:
        """Return the first gamma of documents under evaluation."""
        return GammaChain(np.array(0, dtype=np.int64), self._init_gamma(state, docs))

    def advance_chain(
        self, seed: int, state: State, chain: GammaChain, observed: Batch, scored: Batch, sweeps: Sweeps
    ) -> tuple[GammaChain, Rates]:
        """Fit gamma to the observed counts and return E[theta] E[phi] as rates; one sweep, as all would be equal."""
        gamma = self._fit_gamma(state, observed, chain.gamma.copy())
        phi = state.lam / state.totals
        rates = compute_rates(phi, normalise_shares(gamma), scored, self.pool)
        return GammaChain(chain.clock + 1, gamma), Rates(rates, np.ones(len(gamma)))

    def restore(self, seed: int, arrays: dict[str, Array]) -> State:
        """Return the state that continues a snapshot; one of another model has no lambda, only mean topics."""
        phi = hierarchy.unpack_topics(arrays).phi[0]
        if "totals" not in arrays:
            share = np.full(phi.shape[1], 1.0 / phi.shape[1])
            return self._make_state(0, np.maximum(self._make_pseudo_counts(phi, share), LEAST_LAMBDA))
        totals: Any = np.asarray(arrays["totals"], dtype=np.float64)
        return self._make_state(int(arrays["t"]), np.maximum(phi * totals, LEAST_LAMBDA))

    def local(self, state: State) -> Gammas | None:
        """Return gamma of every training document, None if it is not kept."""
        return None if self.pace.fresh_steps is None else Gammas(state.gamma)

    def with_local(self, state: State, local: Gammas | None) -> State:
        """Return the state with these gamma."""
        return state if local is None else state._replace(gamma=local.gamma)

    def keep(self, state: State) -> dict[str, Array]:
        """Return the number of steps and the totals of lambda."""
        return {"t": state.t, "totals": state.totals}

    def has_converged(self, state: State) -> bool | None:
        """Return True if the bound no longer rises, once gamma continues from step to step; None for mini-batches."""
        if self.pace.fresh_steps is None:
            return None
        return int(state.t) > self.pace.fresh_steps + 1 and float(state.change) < CONVERGED_CHANGE
