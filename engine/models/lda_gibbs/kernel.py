"""Kernel of latent Dirichlet allocation by Gibbs sampling; the model is in :mod:`engine.models.lda_gibbs.settings`.

A sweep draws the topic of every token with theta integrated out, ``P(z = k | rest) ~ (alpha_k + n_dk) phi_kv``, and
then ``phi_k ~ Dir(beta + x_.k)``.  The first conditional is that of the one-layer gamma belief network with r = alpha,
so its sampler is used (:mod:`engine.gibbs`).  Predictions average the products theta phi over sweeps; label switching
does not affect them.  If concentrations are learnt, alpha is drawn with theta integrated out
and beta with phi integrated out, from the counts of the sweep (:mod:`engine.topic_moves.concentrations`).
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine import first_topics, streams, widths
from topiary.engine.contract import (
    SHARE,
    Array,
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
from topiary.engine.gibbs.local import FINEST, LINKS, Locals, Sampler, SweepSums, find_token_starts, plan_inference
from topiary.engine.gibbs.tokens import Globals
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.blocks import make_sweeper
from topiary.engine.gpu.devices import Device, DeviceArray, read_arrays
from topiary.engine.gpu.moves import DeviceMoves
from topiary.engine.gpu.sweeps import DeviceSweeper
from topiary.engine.hierarchy import topics as hierarchy
from topiary.engine.hierarchy.paths import normalise_shares
from topiary.engine.models.lda_gibbs.settings import Config
from topiary.engine.pool import Pool
from topiary.engine.settings import SettingError
from topiary.engine.streams import Address
from topiary.engine.topic_moves import averages, concentrations
from topiary.engine.topic_moves.rows import LayerAddress
from topiary.engine.topic_moves.steps import TopicMoves

_TOPICS, _SHARES, _DOCUMENTS = range(3)  # layers of the random streams of beta, alpha, and what documents say about it
# Number of a sweep that is never reached.  From it on, the sampler would draw the gamma rates of documents, which LDA
# does not have.
_NEVER = 1 << 30


class State(NamedTuple):
    """State of LDA by Gibbs sampling.

    ``t`` () int64 counts the steps.  ``phi`` (V, K) are the topics and ``weights`` (K,) their numbers of tokens;
    ``mean`` (V, K) and ``mean_weights`` (K,) are the means of both over the last samples.  ``averaged`` (K,) are the
    numbers of samples in ``mean``, and ``variance`` (V, K) is the variance of a draw of phi
    (:mod:`engine.topic_moves.averages`).  ``topics`` (tokens,) uint16 are the topics of all training tokens.
    ``alpha`` (K,) and ``beta`` (1,) are learnt; they are empty where the settings give them.
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


class TokenTopics(NamedTuple):
    """Local variables of documents: ``topics`` (tokens,) uint16."""

    topics: Array


class TopicCounts(NamedTuple):
    """Sums over documents: ``counts`` (V, K), the tokens of each word and topic, and the number of documents.

    ``top`` and ``seats``, from which alpha is learnt, are as in :class:`engine.gibbs.local.SweepSums`; ``q``, 0 where
    alpha is given, as in :func:`engine.topic_moves.concentrations.draw_lengths`.
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


class _LdaSetup(NamedTuple):
    """Settings, facts and sampler that the functions of the kernel share."""

    config: Config
    facts: Facts
    beta: FloatArray
    sampler: Sampler

    def pack_globals(self, state: State, words: Array | None = None) -> Globals:
        """Return the topics packed for the kernels, for documents with only these ``words``, or for any if None."""
        return self.sampler.pack_globals((state.phi,), self.get_alpha(state), words)

    def get_alpha(self, state: State) -> FloatArray:
        """Return alpha of every topic, (K,): learnt or given."""
        return state.alpha if len(state.alpha) else self.config.expand_alpha(state.phi.shape[1])

    def get_beta(self, state: State) -> FloatArray:
        """Return beta of every word, (V,): learnt or given."""
        return np.full(len(self.beta), state.beta[0]) if len(state.beta) else self.beta

    def copy_locals(self, glob: Globals, docs: Batch, topics: Array) -> Locals:
        """Return local variables with a copy of the topics of tokens, so that a sweep may change them in place."""
        return self.sampler.allocate_locals(glob, docs)._replace(topics=topics.copy())


def build(config: Config, facts: Facts, n_threads: int = 1, device: Device | None = None) -> Kernel:
    """Return the kernel of LDA by Gibbs sampling for a corpus; results do not depend on ``n_threads``.

    With a ``device``, documents are swept there.
    """
    hyper = Hyper(1.0, 1.0, 1.0, 1.0)  # has no effect, because the rates that it governs are never drawn
    sampler = Sampler(hyper, LINKS["poisson"], collapsed=True, expected=False, pool=Pool(n_threads))
    setup = _LdaSetup(config, facts, config.expand_beta(facts.n_words), sampler)
    kernel = Kernel(
        batch_size=facts.n_documents,
        sweeps_after=0,
        measure="perplexity",
        init=lambda seed: _init_state(setup, seed),
        init_from_documents=lambda seed, docs: _init_from_documents(setup, seed, docs),
        prepare=lambda seed, state, docs: _prepare_state(setup, seed, state, docs),
        gather=lambda seed, state, docs, local: _gather_statistics(setup, seed, state, docs, local),
        move=lambda seed, state, statistics: _move_state(setup, seed, state, statistics),
        local=lambda state: TokenTopics(state.topics),
        with_local=lambda state, local: state._replace(topics=local.topics),
        infer=lambda seed, state, docs, sweeps=None: _infer_theta(setup, seed, state, docs, sweeps),
        topics=lambda state: _present_topics(setup, state),
        average=_average_state,
        variance=lambda state: (state.variance,),
        start_chain=lambda seed, state, docs: _start_chain(setup, seed, state, docs),
        advance_chain=lambda *arguments: _advance_chain(setup, *arguments),
        keep=_keep_state,
        restore=lambda _seed, arrays: _restore_state(setup, arrays),
    )
    return kernel if device is None else _place_on_device(setup, kernel, make_sweeper(device, hyper))


def _place_on_device(setup: _LdaSetup, kernel: Kernel, sweeper: DeviceSweeper) -> Kernel:
    """Return the kernel with the work on documents done by a device.

    Raises
    ------
    SettingError
        When it cannot do this work.
    """
    if refusal := setup.config.explain_device_refusal():
        raise SettingError(refusal)
    moves = DeviceMoves(sweeper.device, setup.sampler.pool)
    return kernel._replace(
        move=lambda seed, state, statistics: _move_on_device(setup, moves, seed, state, statistics),
        topics=lambda state: _present_topics(setup, _read_topics(state, "phi")),
        average=lambda state: _average_state(_read_topics(state, "mean")),
        variance=lambda state: (_read_topics(state, "variance").variance,),
        prepare=lambda seed, state, docs: _prepare_on_device(setup, sweeper, seed, state, docs),
        gather=lambda seed, state, docs, local: _gather_on_device(setup, sweeper, seed, state, docs, local),
        infer=lambda seed, state, docs, sweeps=None: _infer_on_device(setup, sweeper, seed, state, docs, sweeps),
        start_chain=lambda seed, state, docs: _start_on_device(setup, sweeper, seed, state, docs),
        advance_chain=lambda *arguments: _advance_on_device(setup, sweeper, *arguments),
    )


def _init_state(setup: _LdaSetup, seed: int) -> State:
    """Return a state with nearly flat topics."""
    n_topics = setup.config.layers[0]
    return _make_state(
        0,
        widths.draw_flat_topics(streams.make_generator(seed, streams.INIT), setup.facts.n_words, n_topics),
        np.ones(n_topics),
    )


def _init_from_documents(setup: _LdaSetup, seed: int, docs: Batch) -> State:
    """Return an initial state whose topics are clusters of documents; nearly flat topics if ``start`` is random."""
    if setup.config.start == "random":
        return _init_state(setup, seed)
    clusters = first_topics.cluster_topics(seed, docs, setup.facts.n_words, setup.config.layers, setup.sampler.pool)
    return _make_state(0, clusters.phi[0], clusters.r * max(setup.facts.n_tokens, 1))


def _make_state(t: int, phi: FloatArray, weights: FloatArray) -> State:
    """Return a state without local variables; the topics themselves are the initial means."""
    mean = averages.init_mean(phi)
    no_topics = np.zeros(0, dtype=np.uint16)
    return State(np.array(t, dtype=np.int64), phi, weights, *mean, weights, no_topics, np.zeros(0), np.zeros(0))


def _prepare_state(setup: _LdaSetup, seed: int, state: State, docs: Batch) -> State:
    """Return the state with initial topics of all training tokens."""
    return state._replace(topics=_start_tokens(setup, Address(seed, streams.INIT, 0), state, docs))


def _start_tokens(setup: _LdaSetup, address: Address, state: State, docs: Batch) -> Array:
    """Draw the initial topics of the tokens of documents, in proportion to phi_kv."""
    return setup.sampler.start_locals(setup.pack_globals(state, np.unique(docs.words)), docs, address).topics


def _gather_statistics(
    setup: _LdaSetup, seed: int, state: State, docs: Batch, local: TokenTopics
) -> tuple[TopicCounts, TokenTopics]:
    """Sweep the tokens of the documents once; return their counts and new topics."""
    glob = setup.pack_globals(state)
    topics = local.topics
    if len(topics) != docs.counts.sum():  # the state has no topics for these documents yet
        topics = _start_tokens(setup, Address(seed, streams.INIT, 0), state, docs)
    variables = setup.copy_locals(glob, docs, topics)
    plan = SweepPlan(fresh=False, burn_in=0, collect=1, first_rates=_NEVER)
    address = Address(seed, streams.LOCAL, int(state.t) + 1)
    sums, _ = setup.sampler.gather(glob, address, docs, variables, plan, setup.facts.n_tokens)
    return _count_topics(setup, seed, state, docs, sums), TokenTopics(variables.topics)


def _count_topics(setup: _LdaSetup, seed: int, state: State, docs: Batch, sums: SweepSums) -> TopicCounts:
    """Return the counts of a sweep, with what their lengths say about alpha if it is learnt."""
    q = np.int64(0)
    if setup.config.learn_concentrations:
        at = LayerAddress(seed, int(state.t) + 1, _DOCUMENTS)
        alpha_sum = float(setup.get_alpha(state).sum())
        q = np.int64(concentrations.draw_lengths(docs.documents, find_token_starts(docs), alpha_sum, at))
    return TopicCounts(sums.words, len(docs.documents), sums.top, sums.seats, q)


def _prepare_on_device(setup: _LdaSetup, sweeper: DeviceSweeper, seed: int, state: State, docs: Batch) -> State:
    """Return the state with initial topics of all training tokens, as `_prepare_state` does on the CPU."""
    at = Address(seed, streams.INIT, 0)
    return state._replace(topics=sweeper.start_locals((state.phi,), setup.get_alpha(state), docs, at).topics)


def _gather_on_device(
    setup: _LdaSetup, sweeper: DeviceSweeper, seed: int, state: State, docs: Batch, local: TokenTopics
) -> tuple[TopicCounts, TokenTopics]:
    """Sweep the tokens of the documents once on a device, as `_gather_statistics` does on the CPU."""
    plan = SweepPlan(fresh=False, burn_in=0, collect=1, first_rates=_NEVER)
    start = sweeper.load_tokens(local.topics) if len(local.topics) else None
    sums, swept = sweeper.gather(
        (state.phi,), setup.get_alpha(state), docs, start, Address(seed, streams.LOCAL, int(state.t) + 1), plan,
        counts_top=setup.config.learn_concentrations,
    )  # fmt: skip
    return _count_topics(setup, seed, state, docs, sums), TokenTopics(sweeper.wrap_tokens(swept.locals))


def _move_state(setup: _LdaSetup, seed: int, state: State, statistics: TopicCounts) -> tuple[State, Info]:
    """Return the state after drawing phi_k ~ Dir(beta + x_.k), with E[phi | x] added to the mean.

    ``draw_topics`` takes one Dirichlet parameter for all words, so what a word has in excess is added to its counts.
    """
    if setup.config.learn_concentrations:
        state = _draw_concentrations(setup, seed, state, statistics)
    beta = setup.get_beta(state)
    least_beta = float(beta.min())
    counts: Array = statistics.counts
    if (beta > least_beta).any():
        counts = counts + (beta - least_beta)[:, None]
    weights = statistics.counts.sum(axis=0, dtype=np.float64)
    return _draw_topics(TopicMoves(setup.sampler.pool), seed, state, counts, least_beta, weights)


def _move_on_device(
    setup: _LdaSetup, moves: DeviceMoves, seed: int, state: State, statistics: TopicCounts
) -> tuple[State, Info]:
    """Draw the topics on a device, as `_move_state` does on the CPU, if their prior is the same for all words."""
    counts, beta = statistics.counts, setup.beta
    if not isinstance(counts, DeviceArray) or setup.config.learn_concentrations or (beta != beta[0]).any():
        statistics = read_arrays(statistics)
        return _move_state(setup, seed, _read_topics(state), statistics)
    table = moves.make_table(counts.parts[0])
    return _draw_topics(moves, seed, state, table, float(beta[0]), moves.sum_columns(table))


def _draw_topics(
    moves: TopicMoves, seed: int, state: State, counts: Any, beta: float, weights: FloatArray
) -> tuple[State, Info]:
    """Draw the topics given a table of counts, of which each topic has ``weights``, and add a sample to the means."""
    t = int(state.t) + 1
    phi = moves.draw_topics(counts, beta, LayerAddress(seed, t, 0))
    old = averages.TopicMean(state.mean, state.averaged, state.variance)
    mean, weight = moves.update_mean(old, counts, beta, averages.MEMORY)
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


def _draw_concentrations(setup: _LdaSetup, seed: int, state: State, statistics: TopicCounts) -> State:
    """Return the state after drawing alpha and beta given the counts of the sweep."""
    config, t, n_topics = setup.config, int(state.t) + 1, state.phi.shape[1]
    old, given = setup.get_alpha(state), float(config.expand_alpha(n_topics).mean())
    tables = statistics.top.copy()
    if statistics.seats.size:  # a device draws all tables itself
        collapsed.draw_seated_tables(Address(seed, streams.LOCAL, t), old, statistics.seats, tables)
    shares = concentrations.ShareTables(tables.astype(np.float64), float(statistics.q) * FINEST)
    prior = concentrations.choose_prior(given)
    shared = len(config.alpha) == 1
    alpha = concentrations.draw_alpha(shares, prior, LayerAddress(seed, t, _SHARES), shared=shared)
    beta = concentrations.draw_eta(
        statistics.counts,
        float(setup.get_beta(state)[0]),
        concentrations.choose_prior(config.beta[0]),
        LayerAddress(seed, t, _TOPICS),
        setup.sampler.pool,
    )
    return state._replace(alpha=alpha, beta=np.array([beta]))


def _list_concentrations(state: State) -> tuple[Concentration, ...]:
    """Return the concentrations that the step drew, the mean of alpha if topics have their own."""
    if not len(state.alpha):
        return ()
    return Concentration("alpha", 0, float(state.alpha.mean())), Concentration("beta", 0, float(state.beta[0]))


def _read_topics(state: State, *names: str) -> State:
    """Return the state with the named arrays of topics, or all, read from a device if they are there."""
    names = names or ("phi", "mean", "averaged", "variance")
    return state._replace(**{name: read_arrays(getattr(state, name)) for name in names})


def _average_state(state: State) -> State:
    """Return the state with the mean topics in place of the last sample, normalised in double precision."""
    phi = np.ascontiguousarray(state.mean / state.mean.sum(axis=0, dtype=np.float64))
    return state._replace(phi=phi, weights=state.mean_weights)


def _present_topics(setup: _LdaSetup, state: State) -> Topics:
    """Return the topics, with alpha as ``r``, and the tokens of every topic as popularity."""
    return Topics((state.phi,), setup.get_alpha(state), units=(SHARE,), popularity=(state.weights,))


def _infer_theta(setup: _LdaSetup, seed: int, state: State, docs: Batch, sweeps: Sweeps | None) -> Local:
    """Return E[theta] of documents, the shares of topics in each."""
    glob = setup.pack_globals(state, np.unique(docs.words))
    local = setup.sampler.place_documents(
        glob, Address(seed, streams.INFER, 0), docs, plan_inference(1, sweeps, _NEVER)
    )
    return local._replace(theta=(normalise_shares(local.theta[0]),))


def _start_chain(setup: _LdaSetup, seed: int, state: State, docs: Batch) -> TopicChain:
    """Return the initial chains of documents under evaluation."""
    return TopicChain(np.array(0, dtype=np.int64), _start_tokens(setup, Address(seed, streams.CHAIN, 0), state, docs))


def _advance_chain(
    setup: _LdaSetup, seed: int, state: State, chain: TopicChain, observed: Batch, scored: Batch, sweeps: Sweeps
) -> tuple[TopicChain, Rates]:
    """Return the chains after more sweeps of the observed tokens, and E[theta | z] phi summed over the sweeps."""
    glob = setup.pack_globals(state)
    variables = setup.copy_locals(glob, observed, chain.topics)
    clock = int(chain.clock) + 1
    rates = setup.sampler.rate_cells(
        glob, Address(seed, streams.CHAIN, clock), observed, scored, variables, sweeps, first_rates=_NEVER
    )
    return TopicChain(np.array(clock, dtype=np.int64), variables.topics), rates


def _infer_on_device(
    setup: _LdaSetup, sweeper: DeviceSweeper, seed: int, state: State, docs: Batch, sweeps: Sweeps | None
) -> Local:
    """Return E[theta] of documents, as `_infer_theta` does on the CPU."""
    plan, at = plan_inference(1, sweeps, _NEVER), Address(seed, streams.INFER, 0)
    local = sweeper.place_documents((state.phi,), setup.get_alpha(state), docs, at, plan)
    return local._replace(theta=(normalise_shares(local.theta[0]),))


def _start_on_device(setup: _LdaSetup, sweeper: DeviceSweeper, seed: int, state: State, docs: Batch) -> TopicChain:
    """Return the initial chains of documents under evaluation, as `_start_chain` does on the CPU."""
    local = sweeper.start_chain((state.phi,), setup.get_alpha(state), docs, Address(seed, streams.CHAIN, 0))
    return TopicChain(np.array(0, dtype=np.int64), local.topics)


def _advance_on_device(
    setup: _LdaSetup,
    sweeper: DeviceSweeper,
    seed: int,
    state: State,
    chain: TopicChain,
    observed: Batch,
    scored: Batch,
    sweeps: Sweeps,
) -> tuple[TopicChain, Rates]:
    """Return the chains after more sweeps on a device, as `_advance_chain` does on the CPU."""
    clock = int(chain.clock) + 1
    local, rates = sweeper.rate_cells(
        (state.phi,), setup.get_alpha(state), observed, scored, sweeper.load_tokens(chain.topics),
        Address(seed, streams.CHAIN, clock), SweepPlan(fresh=False, **sweeps._asdict(), first_rates=_NEVER),
    )  # fmt: skip
    return TopicChain(np.array(clock, dtype=np.int64), sweeper.wrap_tokens(local)), rates


def _keep_state(state: State) -> dict[str, Array]:
    """Return the number of steps, the tokens of every topic, and the concentrations that were learnt."""
    learnt = {"alpha": state.alpha, "beta": state.beta} if len(state.alpha) else {}
    return {"t": state.t, "weights": state.weights} | learnt


def _restore_state(setup: _LdaSetup, arrays: dict[str, Any]) -> State:
    """Return a state that continues from a snapshot of this model, or of another model with one layer."""
    phi = hierarchy.unpack_topics(arrays).phi[0]
    t = int(arrays["t"]) if "weights" in arrays else 0
    weights = np.asarray(arrays.get("weights", np.ones(phi.shape[1])), dtype=np.float64)
    state = _make_state(t, phi, weights)
    if not (setup.config.learn_concentrations and "alpha" in arrays):
        return state
    return state._replace(**{name: np.asarray(arrays[name], dtype=np.float64) for name in ("alpha", "beta")})
