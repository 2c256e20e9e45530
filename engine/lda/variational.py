"""Variational inference of LDA: the kernel that coordinate ascent and stochastic variational inference share.

q(phi_k) = Dir(lambda_k), q(theta_d) = Dir(gamma_d), q(z_di) = Cat(p_dv).  A step updates p and gamma of its documents
and then

    lambda <- (1 - rho) lambda + rho (beta + N / B sum_d n_dv p_dvk),

with rho = 1 and all documents for coordinate ascent (Blei, Ng and Jordan, "Latent Dirichlet allocation", JMLR 2003,
smoothed as in its section 5.4), and a decreasing rho and B of the N documents for stochastic variational inference
(Hoffman, Blei and Bach, NIPS 2010; Hoffman, Blei, Wang and Paisley, JMLR 2013).
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine import first_topics, streams
from topiary.engine.contract import SHARE, Array, Batch, Facts, FloatArray, Info, Kernel, Local, Rates, Sweeps, Topics
from topiary.engine.corpus import slice_documents
from topiary.engine.hierarchy import topics as hierarchy
from topiary.engine.hierarchy.paths import normalise_shares
from topiary.engine.jit import compiled
from topiary.engine.lda import documents
from topiary.engine.lda.documents import digamma, exp_digamma, log_gamma
from topiary.engine.pool import Pool, cut_evenly
from topiary.engine.shared_settings import LdaSettings
from topiary.engine.topic_moves.rows import BLOCK, Blocks, run_blocks

LEAST_LAMBDA = 1e-100  # the smallest value that an entry of lambda may have


def compute_table(lam: FloatArray, totals: FloatArray, words: Array, pool: Pool) -> FloatArray:
    """Return ``exp(E[ln phi_kv]) = exp(psi(lambda_vk) - psi(sum_v lambda_vk))``, (V, K), set for ``words`` only."""
    present = np.zeros(len(lam), np.bool_)
    present[words] = True
    rows = np.flatnonzero(present)
    table = np.empty_like(lam)
    scale = np.empty_like(totals)
    documents.write_exp_digammas(totals, scale)
    pool.run(_fill_table, [(lam, 1.0 / scale, rows, table, a, b) for a, b in cut_evenly(len(rows), pool.n_threads)])
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
        return documents.init_gamma(docs, self.config.expand_alpha(state.lam.shape[1]))

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
        for begin in range(0, n, documents.BLOCK):
            block = slice_documents(docs, begin, min(begin + documents.BLOCK, n))
            rows = slice(begin, begin + documents.BLOCK)
            start = local.gamma[rows].astype(np.float64) if continues and local else documents.init_gamma(block, alpha)
            fit = documents.place_documents(table, block, alpha, start, pool)
            documents.add_counts(table, block, fit, counts, pool)
            bound += float(fit.bound.sum())
            token_rounds += int(fit.rounds @ documents.count_tokens(block))
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
        return documents.place_documents(table, docs, alpha, gamma, self.pool).gamma

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
        rates = documents.compute_rates(phi, normalise_shares(gamma), scored, self.pool)
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
