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


class _Setup(NamedTuple):
    """What all functions of the kernel need: settings, pace, facts about the corpus, threads and the prior."""

    config: LdaSettings
    pace: Pace
    facts: Facts
    pool: Pool
    beta: FloatArray

    def compute_step_size(self, t: int) -> float:
        """Return rho of step t = 1, 2, ..."""
        return float((t + self.pace.tau) ** -self.pace.kappa)

    def init_gamma(self, state: State, docs: Batch) -> FloatArray:
        return documents.init_gamma(docs, self.config.expand_alpha(state.lam.shape[1]))

    def compute_table(self, state: State, docs: Batch) -> FloatArray:
        return compute_table(state.lam, state.totals, docs.words, self.pool)

    def make_state(self, t: int, lam: FloatArray) -> State:
        """Return the state with this lambda at step ``t``, before any bound is known."""
        lam, totals = blend_lambda(lam, lam, self.beta, 0.0, 1.0, self.pool)
        divergence = compute_divergence(lam, totals, self.beta, self.pool)
        no_gamma = np.zeros((0, lam.shape[1]), dtype=np.float32)
        unknown_bounds = np.array(np.inf), np.array(np.nan)
        return State(np.array(t, dtype=np.int64), lam, totals, np.array(divergence), *unknown_bounds, no_gamma)


def build_kernel(config: LdaSettings, pace: Pace, facts: Facts, n_threads: int) -> Kernel:
    """Return the kernel of LDA at this pace; results do not depend on ``n_threads``."""
    setup = _Setup(config, pace, facts, Pool(n_threads), config.expand_beta(facts.n_words))
    fresh_steps = pace.fresh_steps
    return Kernel(
        batch_size=pace.batch_size or facts.n_documents,
        sweeps_after=None if pace.batch_size else 0,
        real=True,
        measure="perplexity",
        init=lambda seed: _init_state(setup, seed),
        init_from_documents=lambda seed, docs: _init_from_documents(setup, seed, docs),
        prepare=lambda seed, state, docs: _prepare_state(setup, seed, state, docs),
        gather=lambda seed, state, docs, local: _gather_statistics(setup, seed, state, docs, local),
        move=lambda seed, state, statistics: _move_state(setup, seed, state, statistics),
        local=lambda state: None if fresh_steps is None else Gammas(state.gamma),
        with_local=lambda state, local: state if local is None else state._replace(gamma=local.gamma),
        infer=lambda seed, state, docs, sweeps=None: _infer_theta(setup, seed, state, docs, sweeps),
        topics=lambda state: _present_topics(setup, state),
        start_chain=lambda seed, state, docs: _start_chain(setup, seed, state, docs),
        advance_chain=lambda *arguments: _advance_chain(setup, *arguments),
        keep=lambda state: {"t": state.t, "totals": state.totals},
        restore=lambda seed, arrays: _restore_state(setup, seed, arrays),
        has_converged=None if fresh_steps is None else lambda state: _has_converged(fresh_steps, state),
        work=10.0,
    )


def _init_state(setup: _Setup, seed: int) -> State:
    """Draw lambda_vk ~ Gamma(100, 1/100), as Hoffman et al. (2010)."""
    shape = (setup.facts.n_words, setup.config.layers[0])
    return setup.make_state(0, streams.make_generator(seed, streams.INIT).gamma(100.0, 0.01, shape))


def _init_from_documents(setup: _Setup, seed: int, docs: Batch) -> State:
    """Return a first state: random, or with one topic per cluster of documents (:mod:`engine.first_topics`)."""
    if setup.config.start == "random":
        return _init_state(setup, seed)
    clusters = first_topics.cluster_topics(seed, docs, setup.facts.n_words, (setup.config.layers[0],), setup.pool)
    return setup.make_state(0, _make_pseudo_counts(setup, clusters.phi[0], clusters.r))


def _make_pseudo_counts(setup: _Setup, phi: FloatArray, share: FloatArray) -> FloatArray:
    """Return the lambda with means ``phi`` that spreads all tokens of the corpus over the topics by ``share``."""
    tokens = setup.facts.n_tokens or setup.facts.n_documents * 100
    return phi * (setup.beta.sum() + tokens * share)


def _prepare_state(setup: _Setup, _seed: int, state: State, docs: Batch) -> State:
    if setup.pace.fresh_steps is None:
        return state
    return state._replace(gamma=setup.init_gamma(state, docs).astype(np.float32))


def _gather_statistics(
    setup: _Setup, _seed: int, state: State, docs: Batch, local: Gammas | None
) -> tuple[VariationalStatistics, Gammas | None]:
    """Fit gamma of the documents with the topics fixed, and sum their expected counts."""
    alpha, table, pool = setup.config.expand_alpha(state.lam.shape[1]), setup.compute_table(state, docs), setup.pool
    n = len(docs.documents)
    gamma = np.empty((n if local is not None else 0, len(alpha)), dtype=np.float32)
    continues = local is not None and len(local.gamma) == n and int(state.t) >= (setup.pace.fresh_steps or 0)
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


def _move_state(setup: _Setup, _seed: int, state: State, statistics: VariationalStatistics) -> tuple[State, Info]:
    """Move lambda; the reported bound belongs to the documents just fitted and the topics before the move."""
    t, batch_size = int(state.t) + 1, setup.pace.batch_size
    step_size = setup.compute_step_size(t)
    scale = setup.facts.n_documents / max(statistics.documents, 1) if batch_size else 1.0
    lam, totals = blend_lambda(state.lam, statistics.counts, setup.beta, step_size, scale, setup.pool)
    n_documents = setup.facts.n_documents if batch_size else statistics.documents
    elbo = statistics.bound / max(statistics.documents, 1) - float(state.divergence) / max(n_documents, 1)
    divergence = state.divergence
    if t % (DIVERGENCE_INTERVAL if batch_size else 1) == 0:
        divergence = np.array(compute_divergence(lam, totals, setup.beta, setup.pool))
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


def _has_converged(fresh_steps: int, state: State) -> bool:
    """Return True if the bound no longer rises, once gamma continues from step to step."""
    return int(state.t) > fresh_steps + 1 and float(state.change) < CONVERGED_CHANGE


def _present_topics(setup: _Setup, state: State) -> Topics:
    """Return E[phi], alpha, and the expected number of tokens of every topic."""
    weights = np.maximum(state.totals - setup.beta.sum(), 0.0)
    alpha = setup.config.expand_alpha(len(weights))
    return Topics((state.lam / state.totals,), alpha, units=(SHARE,), popularity=(weights,))


def _fit_gamma(setup: _Setup, state: State, docs: Batch, gamma: FloatArray) -> FloatArray:
    """Update gamma of the documents until it converges, topics fixed, and return it."""
    table, alpha = setup.compute_table(state, docs), setup.config.expand_alpha(state.lam.shape[1])
    return documents.place_documents(table, docs, alpha, gamma, setup.pool).gamma


def _infer_theta(setup: _Setup, _seed: int, state: State, docs: Batch, _sweeps: Sweeps | None) -> Local:
    """Return E[theta] of the documents, the share of each topic in them, and the expected tokens, gamma - alpha."""
    gamma = _fit_gamma(setup, state, docs, setup.init_gamma(state, docs))
    alpha = setup.config.expand_alpha(gamma.shape[1])
    return Local((normalise_shares(gamma),), tokens=np.maximum(gamma - alpha, 0.0))


def _start_chain(setup: _Setup, _seed: int, state: State, docs: Batch) -> GammaChain:
    return GammaChain(np.array(0, dtype=np.int64), setup.init_gamma(state, docs))


def _advance_chain(
    setup: _Setup, _seed: int, state: State, chain: GammaChain, observed: Batch, scored: Batch, _sweeps: Sweeps
) -> tuple[GammaChain, Rates]:
    """Fit gamma to the observed counts and return E[theta] E[phi] as rates; one sweep, as all would be equal."""
    gamma = _fit_gamma(setup, state, observed, chain.gamma.copy())
    phi = state.lam / state.totals
    rates = documents.compute_rates(phi, normalise_shares(gamma), scored, setup.pool)
    return GammaChain(chain.clock + 1, gamma), Rates(rates, np.ones(len(gamma)))


def _restore_state(setup: _Setup, _seed: int, arrays: dict[str, Array]) -> State:
    """Return the state that continues a snapshot; one of another model has no lambda, only the means of the topics."""
    phi = hierarchy.unpack_topics(arrays).phi[0]
    if "totals" not in arrays:
        share = np.full(phi.shape[1], 1.0 / phi.shape[1])
        return setup.make_state(0, np.maximum(_make_pseudo_counts(setup, phi, share), LEAST_LAMBDA))
    totals: Any = np.asarray(arrays["totals"], dtype=np.float64)
    return setup.make_state(int(arrays["t"]), np.maximum(phi * totals, LEAST_LAMBDA))
