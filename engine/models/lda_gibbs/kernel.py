"""Kernel of latent Dirichlet allocation by Gibbs sampling; the model is in :mod:`engine.models.lda_gibbs.settings`.

A sweep draws the topic of every token with theta integrated out, ``P(z = k | rest) ~ (alpha_k + n_dk) phi_kv``, and
then ``phi_k ~ Dir(beta + x_.k)``.  The first conditional is that of the one-layer gamma belief network with r = alpha,
so its sampler is used (:mod:`engine.gibbs`).  Predictions average the products theta phi over sweeps; label switching
does not affect them.  If concentrations are learnt, alpha is drawn with theta integrated out
and beta with phi integrated out, from the counts of the sweep (:mod:`engine.topic_moves.steps`).
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine import first_topics, streams, widths
from topiary.engine.contract import (
    SHARE,
    Array,
    AveragingKernel,
    Batch,
    Concentration,
    Facts,
    FloatArray,
    Info,
    Kernel,
    Local,
    Rates,
    Sweeps,
    Topics,
)
from topiary.engine.gibbs import collapsed
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import FINEST, LINKS, Sampler, SweepSums, TokenTopics, find_token_starts, plan_inference
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import Device, DeviceArray, read_arrays, read_fields
from topiary.engine.gpu.sweeps import choose_sweeper
from topiary.engine.hierarchy import topics as hierarchy
from topiary.engine.hierarchy.paths import normalise_shares
from topiary.engine.models.lda_gibbs.settings import Config
from topiary.engine.pool import Pool
from topiary.engine.steering.apply import apply_edit
from topiary.engine.steering.draft import copy_topics, pad_topics
from topiary.engine.steering.edit import KINDS, PLACE, Edit, EditResult
from topiary.engine.steering.guide import hide_banned, keep_steering, read_guide, restore_steering
from topiary.engine.streams import Address
from topiary.engine.topic_moves import steps
from topiary.engine.topic_moves.rows import LayerAddress
from topiary.engine.topic_moves.steps import TopicMoves

_TOPICS, _SHARES, _DOCUMENTS = range(3)  # layers of the random streams of beta, alpha, and what documents say about it
# Number of a sweep that is never reached.  From it on, the sampler would draw the gamma rates of documents, which LDA
# does not have.
_NEVER = 1 << 30
_TOPIC_FIELDS = ("phi", "mean", "averaged", "variance")  # what a device moves


class State(NamedTuple):
    """State of LDA by Gibbs sampling.

    ``t`` () int64 counts the steps.  ``phi`` (V, K) are the topics and ``weights`` (K,) their numbers of tokens;
    ``mean`` (V, K) and ``mean_weights`` (K,) are the means of both over the last samples.  ``averaged`` (K,) are the
    numbers of samples in ``mean``, and ``variance`` (V, K) is the variance of a draw of phi
    (:mod:`engine.topic_moves.steps`).  ``topics`` (tokens,) uint16 are the topics of all training tokens.
    ``alpha`` (K,) and ``beta`` (1,) are learnt; they are empty where the settings give them.  ``steering`` is that of
    :class:`engine.steering.edit.Steering`, () before the first edit.
    """

    t: Array
    phi: FloatArray
    weights: FloatArray
    mean: Array
    averaged: Array
    variance: Array
    mean_weights: FloatArray
    topics: Array
    alpha: FloatArray
    beta: FloatArray
    steering: tuple[Array, ...] = ()


class TopicCounts(NamedTuple):
    """Sums over documents: ``counts`` (V, K), the tokens of each word and topic, and the number of documents.

    ``top`` and ``seats``, from which alpha is learnt, are as in :class:`engine.gibbs.local.SweepSums`; ``q``, 0 where
    alpha is given, as in :func:`engine.topic_moves.steps.draw_lengths`.
    """

    counts: Array
    documents: int
    top: Array
    seats: Array
    q: np.int64


class TopicChain(NamedTuple):
    """Chains of documents under evaluation: ``clock`` () int64 counts the calls; ``topics`` (tokens,) uint16."""

    clock: Array
    topics: Array


def build(config: Config, facts: Facts, n_threads: int = 1, device: Device | None = None) -> Kernel:
    """Return the kernel of LDA by Gibbs sampling for a corpus; results do not depend on ``n_threads``.

    With a ``device``, documents are swept there.
    """
    return LdaGibbsKernel(config, facts, Pool(n_threads), device)


class LdaGibbsKernel(AveragingKernel):
    """The kernel of LDA by Gibbs sampling.

    Raises
    ------
    SettingError
        When the device cannot do this work.
    """

    sweeps_after = 0
    steers = frozenset(KINDS) - {PLACE}

    def __init__(self, config: Config, facts: Facts, pool: Pool, device: Device | None) -> None:
        hyper = Hyper(1.0, 1.0, 1.0, 1.0)  # has no effect, because the rates that it governs are never drawn
        self.config, self.facts, self.pool = config, facts, pool
        self.batch_size = facts.n_documents
        sampler = Sampler(hyper, LINKS["poisson"], collapsed=True, expected=False, pool=pool)
        self.sweeper, self.moves = choose_sweeper(
            sampler, device, config.explain_device_refusal, counts_top=config.learn_concentrations
        )
        self._beta = config.expand_beta(facts.n_words)

    def _get_alpha(self, state: State) -> FloatArray:
        """Return alpha of every topic, (K,): learnt or given, and next to nothing for topics that edits removed."""
        n_topics = state.phi.shape[1]
        if not state.steering:
            return state.alpha if len(state.alpha) else self.config.expand_alpha(n_topics)
        given = self.config.expand_alpha(min(n_topics, self.config.layers[0]))
        alpha = state.alpha if len(state.alpha) else pad_topics(given, n_topics)
        guide = read_guide(state.steering, (np.arange(n_topics),))
        return guide.cut_top(alpha) if guide else alpha

    def _get_beta(self, state: State) -> FloatArray:
        """Return beta of every word, (V,): learnt or given."""
        return np.full(len(self._beta), state.beta[0]) if len(state.beta) else self._beta

    def init(self, seed: int) -> State:
        """Return a state with nearly flat topics."""
        n_topics = self.config.layers[0]
        phi = widths.draw_flat_topics(streams.make_generator(seed, streams.INIT), self.facts.n_words, n_topics)
        return _make_state(0, phi, np.ones(n_topics))

    def init_from_documents(self, seed: int, docs: Batch) -> State:
        """Return an initial state whose topics are clusters of documents; nearly flat topics if ``start`` is random."""
        if self.config.start == "random":
            return self.init(seed)
        clusters = first_topics.cluster_topics(seed, docs, self.facts.n_words, self.config.layers, self.pool)
        return _make_state(0, clusters.phi[0], clusters.r * max(self.facts.n_tokens, 1))

    def prepare(self, seed: int, state: State, docs: Batch) -> State:
        """Return the state with initial topics of all training tokens."""
        return state._replace(topics=self._start_tokens(Address(seed, streams.INIT, 0), state, docs, kept=True))

    def _start_tokens(self, at: Address, state: State, docs: Batch, *, kept: bool = False) -> Array:
        """Draw the initial topics of the tokens of documents, in proportion to phi_kv."""
        return self.sweeper.start_locals((state.phi,), self._get_alpha(state), docs, at, kept=kept).topics

    def local(self, state: State) -> TokenTopics:
        """Return the topics of all training tokens."""
        return TokenTopics(state.topics)

    def with_local(self, state: State, local: TokenTopics) -> State:
        """Return the state with these topics of tokens."""
        return state._replace(topics=local.topics)

    def gather(self, seed: int, state: State, docs: Batch, local: TokenTopics) -> tuple[TopicCounts, TokenTopics]:
        """Sweep the tokens of the documents once; return their counts and new topics."""
        phi, alpha, t = (state.phi,), self._get_alpha(state), int(state.t) + 1
        if len(local.topics) != docs.counts.sum():  # the state has no topics for these documents yet
            local = TokenTopics(self._start_tokens(Address(seed, streams.INIT, 0), state, docs, kept=True))
        plan = SweepPlan(fresh=False, burn_in=0, collect=1, first_rates=_NEVER)
        at, most = Address(seed, streams.LOCAL, t), self.facts.n_tokens
        sums, swept = self.sweeper.gather(phi, alpha, docs, local, at, plan, kept=True, most=most)
        after = self.sweeper.redraw(phi, alpha, docs, swept, at)  # one layer: nothing is drawn
        return self._count_topics(seed, state, docs, sums), TokenTopics(after.topics)

    def _count_topics(self, seed: int, state: State, docs: Batch, sums: SweepSums) -> TopicCounts:
        """Return the counts of a sweep, with what their lengths say about alpha if it is learnt."""
        q = np.int64(0)
        if self.config.learn_concentrations:
            at = LayerAddress(seed, int(state.t) + 1, _DOCUMENTS)
            alpha_sum = float(self._get_alpha(state).sum())
            q = np.int64(steps.draw_lengths(docs.documents, find_token_starts(docs), alpha_sum, at))
        return TopicCounts(sums.words, len(docs.documents), sums.top, sums.seats, q)

    def move(self, seed: int, state: State, statistics: TopicCounts) -> tuple[State, Info]:
        """Return the state after drawing phi_k ~ Dir(beta + x_.k), with E[phi | x] added to the mean.

        A device draws the topics from counts that are there, if their prior is the same for all words.
        ``draw_topics`` takes one Dirichlet parameter for all words, so what a word has in excess is added to its
        counts.
        """
        counts: Any = statistics.counts
        is_flat = (self._beta == self._beta[0]).all() and not self.config.learn_concentrations and not state.steering
        if self.moves is not None and is_flat and isinstance(counts, DeviceArray):
            table = self.moves.make_table(counts.parts[0])
            return _draw_topics(self.moves, seed, state, table, float(self._beta[0]), self.moves.sum_columns(table))
        state, statistics = read_fields(state, *_TOPIC_FIELDS), read_arrays(statistics)
        guide = read_guide(state.steering, (np.arange(state.phi.shape[1]),))
        if guide:
            statistics = statistics._replace(counts=guide.drop_banned([statistics.counts])[0])
        if self.config.learn_concentrations:
            state = self._draw_concentrations(seed, state, statistics)
        beta, counts = self._get_beta(state), statistics.counts
        least_beta = float(beta.min())
        if (beta > least_beta).any():
            counts = counts + (beta - least_beta)[:, None]
        weights = statistics.counts.sum(axis=0, dtype=np.float64)
        if guide:
            counts = guide.add_prior([counts])[0]
        new, info = _draw_topics(TopicMoves(self.pool), seed, state, counts, least_beta, weights)
        if guide:
            guide.hold_topics([state.phi], [new.phi])
            guide.hold_mean(_get_mean(state), _get_mean(new))
        return new, info

    def _draw_concentrations(self, seed: int, state: State, statistics: TopicCounts) -> State:
        """Return the state after drawing alpha and beta given the counts of the sweep."""
        config, t, n_topics = self.config, int(state.t) + 1, state.phi.shape[1]
        old, given = self._get_alpha(state), float(config.expand_alpha(n_topics).mean())
        tables = statistics.top.copy()
        if statistics.seats.size:  # a device draws all tables itself
            collapsed.draw_seated_tables(Address(seed, streams.LOCAL, t), old, statistics.seats, tables)
        shares = steps.ShareTables(tables.astype(np.float64), float(statistics.q) * FINEST)
        prior = steps.choose_prior(given)
        shared = len(config.alpha) == 1
        alpha = steps.draw_alpha(shares, prior, LayerAddress(seed, t, _SHARES), shared=shared)
        beta = steps.draw_eta(
            statistics.counts,
            float(self._get_beta(state)[0]),
            steps.choose_prior(config.beta[0]),
            LayerAddress(seed, t, _TOPICS),
            self.pool,
        )
        return state._replace(alpha=alpha, beta=np.array([beta]))

    def topics(self, state: State) -> Topics:
        """Return the topics, with alpha as ``r``, and the tokens of every topic as popularity."""
        phi = hide_banned(read_arrays(state.phi), state.steering)
        return Topics((phi,), self._get_alpha(state), units=(SHARE,), popularity=(state.weights,))

    def average(self, state: State) -> State:
        """Return the state with the mean topics in place of the last sample, normalised in double precision."""
        state = read_fields(state, "mean")
        phi = np.ascontiguousarray(state.mean / state.mean.sum(axis=0, dtype=np.float64))
        return state._replace(phi=phi, weights=state.mean_weights)

    def variance(self, state: State) -> tuple[Array, ...]:
        """Return the variance of a draw of the topics."""
        return (read_arrays(state.variance),)

    def infer(self, seed: int, state: State, docs: Batch, sweeps: Sweeps | None = None) -> Local:
        """Return E[theta] of documents, the shares of topics in each."""
        plan, at = plan_inference(1, sweeps, _NEVER), Address(seed, streams.INFER, 0)
        local = self.sweeper.place_documents((state.phi,), self._get_alpha(state), docs, at, plan)
        return local._replace(theta=(normalise_shares(local.theta[0]),))

    def start_chain(self, seed: int, state: State, docs: Batch) -> TopicChain:
        """Return the initial chains of documents under evaluation."""
        topics = self._start_tokens(Address(seed, streams.CHAIN, 0), state, docs)
        return TopicChain(np.array(0, dtype=np.int64), topics)

    def advance_chain(
        self, seed: int, state: State, chain: TopicChain, observed: Batch, scored: Batch, sweeps: Sweeps
    ) -> tuple[TopicChain, Rates]:
        """Return the chains after more sweeps of the observed tokens, and E[theta | z] phi summed over the sweeps."""
        clock, plan = int(chain.clock) + 1, SweepPlan(fresh=False, **sweeps._asdict(), first_rates=_NEVER)
        phi, alpha, at = (state.phi,), self._get_alpha(state), Address(seed, streams.CHAIN, clock)
        local, rates = self.sweeper.rate_cells(phi, alpha, observed, scored, TokenTopics(chain.topics), at, plan)
        return TopicChain(np.array(clock, dtype=np.int64), local.topics), rates

    def keep(self, state: State) -> dict[str, Array]:
        """Return the number of steps, the tokens of every topic, and the concentrations that were learnt."""
        learnt = {"alpha": state.alpha, "beta": state.beta} if len(state.alpha) else {}
        return {"t": state.t, "weights": state.weights} | learnt | keep_steering(state.steering)

    def restore(self, seed: int, arrays: dict[str, Any]) -> State:
        """Return a state that continues from a snapshot of this model, or of another model with one layer."""
        phi = hierarchy.unpack_topics(arrays).phi[0]
        t = int(arrays["t"]) if "weights" in arrays else 0
        weights = np.asarray(arrays.get("weights", np.ones(phi.shape[1])), dtype=np.float64)
        steering, (phi,) = restore_steering(arrays, (phi,), (np.arange(phi.shape[1]),))
        state = _make_state(t, phi, weights)._replace(steering=steering)
        if not (self.config.learn_concentrations and "alpha" in arrays):
            return state
        alpha, beta = (np.asarray(arrays[name], dtype=np.float64) for name in ("alpha", "beta"))
        return state._replace(alpha=alpha, beta=beta)

    def edit(self, seed: int, state: State, docs: Batch, edit: Edit) -> tuple[State, EditResult]:
        """Return the state after an edit of its topics, and what it did."""
        state = read_fields(state, *_TOPIC_FIELDS)
        alpha, beta = self._get_alpha(state), float(self._get_beta(state).mean())
        draft = copy_topics(state, docs, [alpha], beta, self.config.layers[0], self.pool)
        result = apply_edit(draft, seed, edit)
        n_topics, mean = draft.phi[0].shape[1], draft.means[0]
        return state._replace(
            phi=np.ascontiguousarray(draft.phi[0]),
            weights=draft.count_topics(),
            mean=mean.phi,
            averaged=mean.samples,
            variance=mean.variance,
            mean_weights=pad_topics(state.mean_weights, n_topics),
            topics=draft.topics,
            alpha=pad_topics(state.alpha, n_topics) if len(state.alpha) else state.alpha,
            steering=tuple(draft.steering),
        ), result


def _make_state(t: int, phi: FloatArray, weights: FloatArray) -> State:
    """Return a state without local variables; the topics themselves are the initial means."""
    mean = steps.init_mean(phi)
    no_topics = np.zeros(0, dtype=np.uint16)
    return State(np.array(t, dtype=np.int64), phi, weights, *mean, weights, no_topics, np.zeros(0), np.zeros(0))


def _get_mean(state: State) -> steps.TopicMean:
    """Return the running mean of the topics."""
    return steps.TopicMean(state.mean, state.averaged, state.variance)


def _draw_topics(
    moves: TopicMoves, seed: int, state: State, counts: Any, beta: float, weights: FloatArray
) -> tuple[State, Info]:
    """Draw the topics given a table of counts, of which each topic has ``weights``, and add a sample to the means."""
    t = int(state.t) + 1
    phi = moves.draw_topics(counts, beta, LayerAddress(seed, t, 0))
    mean, weight = moves.update_mean(_get_mean(state), counts, beta, steps.MEMORY)
    tokens = int(weights.sum())
    moved = state._replace(
        t=np.array(t, dtype=np.int64),
        phi=phi,
        weights=weights,
        mean=mean.phi,
        averaged=mean.samples,
        variance=mean.variance,
        mean_weights=state.mean_weights + np.asarray(weight) * (weights - state.mean_weights),
    )
    return moved, Info((), float("nan"), tokens, tokens, concentrations=_list_concentrations(state))


def _list_concentrations(state: State) -> tuple[Concentration, ...]:
    """Return the concentrations that the step drew, the mean of alpha if topics have their own."""
    if not len(state.alpha):
        return ()
    return Concentration("alpha", 0, float(state.alpha.mean())), Concentration("beta", 0, float(state.beta[0]))
