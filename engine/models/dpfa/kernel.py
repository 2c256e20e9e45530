"""Kernel of deep Poisson factor analysis, in which a network of binary units selects the topics of a document.

The generative model is in :mod:`engine.models.dpfa.settings`.  The topics of tokens are drawn with theta and h^(1)
integrated out (:mod:`engine.models.dpfa.documents`); the stationary distribution is that of the sampler of Gan et al.
(ICML 2015, section 3.1).

Local variables of documents under fixed topics and weights: start, sweep, rate and place documents.

The compiled sweeps are called from this module only.  Work is cut into contiguous runs of documents, one per thread.
Each document has its own random stream and all sums are integers, so results are bit-identical for any number of
threads.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topiary.engine import first_topics, streams, widths
from topiary.engine.contract import (
    BINARY,
    GAMMA,
    SIGMOID,
    SIGNED,
    Array,
    AveragingKernel,
    Batch,
    Facts,
    FloatArray,
    Info,
    Kernel,
    Link,
    Local,
    Rates,
    Sweeps,
    Topics,
)
from topiary.engine.gibbs.local import MOST_COUNTED, find_token_starts
from topiary.engine.hierarchy.topics import collect_arrays
from topiary.engine.models.dpfa import documents, network, steps
from topiary.engine.models.dpfa.documents import NetDocs, NetGlobals, NetOutcome, NetPlan, Tallies
from topiary.engine.models.dpfa.network import MOST_LOGIT
from topiary.engine.models.dpfa.settings import Config
from topiary.engine.models.dpfa.steps import NetVariables
from topiary.engine.pool import Pool, add_in_place, cut_rows
from topiary.engine.steering.apply import apply_edit
from topiary.engine.steering.draft import copy_topics
from topiary.engine.steering.edit import KINDS, PLACE, Edit, EditResult
from topiary.engine.steering.guide import hide_banned, keep_steering, read_guide, restore_steering
from topiary.engine.streams import Address
from topiary.engine.topic_moves import steps as averages

PLACING = Sweeps(20, 20)  # per layer, by default, to place new documents


class NetLocals(NamedTuple):
    """Local variables: the topic of every token, (tokens,) uint16, and units h (documents, K_1 + ... + K_L) int8."""

    topics: Array
    h: Array


class NetChain(NamedTuple):
    """Local chains of documents under evaluation: ``clock`` () int64 counts the calls; the rest is as in NetLocals."""

    clock: Array
    topics: Array
    h: Array


def allocate_locals(glob: NetGlobals, batch: Batch) -> NetLocals:
    """Return local variables for a batch, all 0, still to be drawn."""
    n_tokens = int(find_token_starts(batch)[-1])
    shape = (len(batch.documents), len(glob.net.bias))
    return NetLocals(np.zeros(n_tokens, dtype=np.uint16), np.zeros(shape, dtype=np.int8))


def copy_locals(local: NetLocals) -> NetLocals:
    """Return a copy that a sweep may change in place."""
    return NetLocals(local.topics.copy(), local.h.copy())


def tally_documents(
    glob: NetGlobals, address: Address, batch: Batch, local: NetLocals, plan: NetPlan, pool: Pool, n_tokens: int = 0
) -> Tallies:
    """Sweep every document, changing ``local`` in place; return the sums of the kept sweeps.

    ``n_tokens`` is the number of tokens in all documents whose sums will be added up; it decides the integer type.
    """
    n_tokens = max(n_tokens, len(local.topics))
    tallies: list[Tallies] = []

    def make_outcome() -> NetOutcome:
        tallies.append(_allocate_tallies(glob, plan, n_tokens))
        return _NO_OUTCOME._replace(tallies=tallies[-1])

    _sweep_documents(glob, address, batch, local, plan, make_outcome, pool)
    return add_in_place(tallies or [_allocate_tallies(glob, plan, n_tokens)])


def start_locals(glob: NetGlobals, address: Address, batch: Batch, pool: Pool) -> NetLocals:
    """Draw the initial local variables of a chain: the layers above from their prior, then the topics of tokens."""
    local = allocate_locals(glob, batch)
    plan = NetPlan(True, 0, 0, 1, False, documents.NOTHING)
    _sweep_documents(glob, address, batch, local, plan, lambda: _NO_OUTCOME, pool)
    return local


def start_chain(glob: NetGlobals, seed: int, batch: Batch, pool: Pool) -> NetChain:
    """Return the initial chains of documents under evaluation."""
    return NetChain(np.array(0, dtype=np.int64), *start_locals(glob, Address(seed, streams.CHAIN, 0), batch, pool))


def advance_chain(
    glob: NetGlobals, seed: int, chain: NetChain, observed: Batch, scored: Batch, sweeps: Sweeps, pool: Pool
) -> tuple[NetChain, Rates]:
    """Return the chains after more sweeps, as a copy, and the rates of :func:`rate_documents`."""
    local, clock = copy_locals(NetLocals(chain.topics, chain.h)), int(chain.clock) + 1
    rates = rate_documents(glob, Address(seed, streams.CHAIN, clock), observed, scored, local, sweeps, pool)
    return NetChain(np.array(clock, dtype=np.int64), *local), rates


def rate_documents(
    glob: NetGlobals, address: Address, observed: Batch, scored: Batch, local: NetLocals, sweeps: Sweeps, pool: Pool
) -> Rates:
    """Sweep chains on ``observed``, changing ``local`` in place; return summed rates of the ``scored`` cells.

    Each kept sweep contributes ``E[theta o h]`` (elementwise product) given its tokens and the layers above.
    """
    theta = np.zeros((len(observed.documents), len(glob.shapes)))
    plan = NetPlan(False, sweeps.burn_in, sweeps.collect, sweeps.thin, False, documents.RATES)
    out = _NO_OUTCOME._replace(theta=theta, chance=np.zeros((len(theta), 0)))
    _sweep_documents(glob, address, observed, local, plan, lambda: out, pool)
    cells = np.zeros(len(scored.words))
    pieces = cut_rows(observed.starts, pool.n_threads)
    pool.run(documents.rate_cells, [(glob.phi, theta, scored.cells, a, b, cells) for a, b in pieces])
    return Rates(cells, theta.sum(axis=1))


def place_documents(glob: NetGlobals, address: Address, batch: Batch, sweeps: Sweeps | None, pool: Pool) -> Local:
    """Return posterior means for new documents: of theta o h (elementwise), the units above, and tokens by topic."""
    net = glob.net
    request = sweeps or Sweeps(PLACING.burn_in * len(net.widths), PLACING.collect * len(net.widths))
    plan = NetPlan(True, request.burn_in, request.collect, request.thin, False, documents.THETA)
    local = allocate_locals(glob, batch)
    shape = local.h.shape
    theta, tokens = (np.zeros((shape[0], len(glob.shapes))) for _ in range(2))
    out = _NO_OUTCOME._replace(theta=theta, chance=np.zeros(shape), tokens=tokens)
    _sweep_documents(glob, address, batch, local, plan, lambda: out, pool)
    n_kept = max(request.collect // request.thin, 1)
    upper = zip(net.first[1:].tolist(), net.widths[1:].tolist(), strict=True)
    above = (out.chance[:, first : first + width] / n_kept for first, width in upper)
    return Local((theta / n_kept, *above), tokens=tokens / n_kept)


def _sweep_documents(
    glob: NetGlobals,
    address: Address,
    batch: Batch,
    local: NetLocals,
    plan: NetPlan,
    make_outcome: Callable[[], NetOutcome],
    pool: Pool,
) -> None:
    """Run the compiled sweeps over a batch; every thread writes to its own ``make_outcome()``."""
    docs = NetDocs(batch.words, batch.counts, batch.starts, batch.documents, find_token_starts(batch), *local)
    pool.run(
        documents.sweep_documents,
        [(glob, address, docs, a, b, plan, make_outcome()) for a, b in cut_rows(batch.starts, pool.n_threads)],
    )


def _allocate_tallies(glob: NetGlobals, plan: NetPlan, n_tokens: int) -> Tallies:
    """Return sums of 0, with the parts that the plan asks for; other parts are empty."""
    widths = glob.net.widths.tolist()
    links = list(itertools.pairwise(widths))
    dtype = np.int32 if n_tokens * plan.collect <= MOST_COUNTED // 2 else np.int64
    pairs = sum(below * (above + 1) for below, above in links)
    squares = sum(below * (above + 1) * (above + 2) // 2 for below, above in links)
    moments, slope = plan.quantity == documents.MOMENTS, plan.quantity == documents.GRADIENT
    return Tallies(
        np.zeros(glob.phi.shape, dtype),
        np.zeros(widths[0], np.int64),
        np.zeros(sum(widths), np.int64),
        np.zeros(pairs if moments else 0, np.int64),
        np.zeros(squares if moments else 0, np.int64),
        np.zeros(pairs + widths[-1] if slope else 0, np.int64),
    )


_EMPTY = np.zeros(0, np.int64)
_NO_OUTCOME = NetOutcome(
    Tallies(np.zeros((0, 0), np.int32), _EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY), *(np.zeros((0, 0)) for _ in range(3))
)


INITIAL_SHAPE_SUM = 50.0  # sum of the initial r_k


class State(NamedTuple):
    """State of DPFA.

    ``t`` () int64 counts the steps.  The fields from ``phi`` to ``filtered`` are those of
    :class:`engine.models.dpfa.steps.NetVariables`, those from ``mean`` to ``mean_biases`` those of
    :class:`NetworkMeans`.
    ``load`` (K_1,) is the share of tokens of each topic and ``active`` (units,) the mean activation of each unit, both
    averaged over the last steps.  ``topics`` (tokens,) and ``h`` (N, units) are the local variables of all training
    documents; they are empty if every mini-batch starts new chains.  ``steering`` is that of
    :class:`engine.steering.edit.Steering`, () before the first edit.
    """

    t: Array
    phi: FloatArray
    expanded: FloatArray
    scale: FloatArray
    shapes: FloatArray
    weights: tuple[FloatArray, ...]
    precision: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    thermostats: tuple[FloatArray, ...]
    filtered: tuple[FloatArray, ...]
    load: FloatArray
    active: FloatArray
    mean: Array
    averaged: Array
    variance: Array
    mean_shapes: FloatArray
    mean_weights: tuple[FloatArray, ...]
    mean_biases: tuple[FloatArray, ...]
    topics: Array
    h: Array
    steering: tuple[Array, ...] = ()


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of DPFA for a corpus; results do not depend on ``n_threads``."""
    return DpfaKernel(config, facts, Pool(n_threads))


class DpfaKernel(AveragingKernel):
    """The kernel of DPFA."""

    def __init__(self, config: Config, facts: Facts, pool: Pool) -> None:
        self.config, self.facts, self.pool = config, facts, pool
        self.inference = config.choose_inference(facts)
        self.batch_size, self.sweeps_after = config.batch_size, config.sweeps_after(facts)
        self.steers = frozenset(KINDS) - {PLACE} if self._keeps_locals else frozenset()

    @property
    def _keeps_locals(self) -> bool:
        """True if every step sweeps all training documents once and keeps their local variables for the next step."""
        return self.inference == "gibbs"

    def _plan_sweeps(self, t: int) -> NetPlan:
        """Return the plan of the local sweeps in step ``t``."""
        config, all_topics_on = self.config, t <= self.config.everything_on
        if self._keeps_locals:
            return NetPlan(
                fresh=False, burn_in=0, collect=1, thin=1, all_topics_on=all_topics_on, quantity=documents.MOMENTS
            )
        if self.inference == "bcdf":
            burn_in, collect, quantity = config.filter_burn_in, config.filter_collect, documents.MOMENTS
        else:
            burn_in, collect, quantity = config.burn_in, config.collect, documents.GRADIENT
        return NetPlan(
            fresh=True, burn_in=burn_in, collect=collect, thin=1, all_topics_on=all_topics_on, quantity=quantity
        )

    def _pack_globals(self, state: State) -> NetGlobals:
        """Return topics, shapes and network packed for the kernels."""
        undirected = self.config.hierarchy == "rbm"
        return NetGlobals(
            state.phi, state.shapes, network.pack_network(state.weights, state.biases, undirected=undirected)
        )

    def init(self, seed: int) -> State:
        """Return a state with nearly flat topics, weights 0.1 N(0, 1), biases 0 and r = 50/K, as the authors."""
        layers, rng = self.config.layers, streams.make_generator(seed, streams.INIT)
        phi = widths.draw_flat_topics(rng, self.facts.n_words, layers[0])
        weights = tuple(0.1 * rng.standard_normal(shape) for shape in itertools.pairwise(layers))
        biases = tuple(np.zeros(width) for width in layers)
        shapes = np.full(layers[0], INITIAL_SHAPE_SUM / layers[0])
        return State(
            t=np.array(0, dtype=np.int64),
            phi=phi,
            expanded=self._init_expanded(phi),
            scale=np.zeros(layers[0]),
            shapes=shapes,
            weights=weights,
            precision=tuple(np.ones_like(table) for table in weights),
            biases=biases,
            thermostats=steps.init_thermostats(layers, self.config.noise) if self.inference == "sgnht" else (),
            filtered=(),
            load=np.full(layers[0], 1.0 / layers[0]),
            active=np.full(sum(layers), 0.5),
            **init_means(phi, shapes, weights, biases)._asdict(),
            topics=np.zeros(0, dtype=np.uint16),
            h=np.zeros((0, sum(layers)), dtype=np.int8),
        )

    def _init_expanded(self, phi: FloatArray) -> FloatArray:
        """Return the initial phi_hat of SGRLD; an array without rows for other steps.

        Its column sums are a_phi V, around which the steps keep them.
        """
        if self.inference != "sgnht" or self.config.topic_step != "sgrld":
            return np.zeros((0, phi.shape[1]))
        return phi * (self.config.a_phi * len(phi))

    def init_from_documents(self, seed: int, docs: Batch) -> State:
        """Return an initial state whose topics are clusters of documents, if ``start`` says so.

        The units of upper layers are clusters of the units below (:mod:`engine.first_topics`).
        """
        state = self.init(seed)
        if self.config.start != "clusters":
            return state
        clusters = first_topics.cluster_topics(seed, docs, self.facts.n_words, self.config.layers, self.pool)
        phi = clusters.phi[0]
        weights, lower = network.make_cluster_weights(state.weights, clusters.phi[1:])
        biases = (*lower, state.biases[-1])
        mean = init_means(phi, state.shapes, weights, biases)
        return state._replace(
            phi=phi, expanded=self._init_expanded(phi), weights=weights, biases=biases, **mean._asdict()
        )

    def prepare(self, seed: int, state: State, docs: Batch) -> State:
        """Return the state with initial local variables of all training documents, if it keeps them."""
        if not self._keeps_locals:
            return state
        address = Address(seed, streams.INIT, 0)
        return self.with_local(state, start_locals(self._pack_globals(state), address, docs, self.pool))

    def local(self, state: State) -> NetLocals | None:
        """Return the local variables of a state, if it keeps them."""
        return NetLocals(state.topics, state.h) if self._keeps_locals else None

    def with_local(self, state: State, local: NetLocals | None) -> State:
        """Return the state with these local variables."""
        return state if local is None else state._replace(topics=local.topics, h=local.h)

    def gather(
        self, seed: int, state: State, docs: Batch, local: NetLocals | None
    ) -> tuple[steps.NetStatistics, NetLocals | None]:
        """Sweep documents with topics and weights fixed; return sums, and the local variables if the state keeps them.

        Documents whose local variables are kept are swept once; those of a mini-batch start a new chain.
        """
        glob, t = self._pack_globals(state), int(state.t) + 1
        plan = self._plan_sweeps(t)
        if local is None or len(local.h) < len(docs.documents):  # none are kept, or not of these documents
            swept, plan = allocate_locals(glob, docs), plan._replace(fresh=True)
        else:
            swept = copy_locals(local)
        n_tokens = self.facts.n_tokens if self._keeps_locals else 0
        sums = tally_documents(glob, Address(seed, streams.LOCAL, t), docs, swept, plan, self.pool, n_tokens)
        statistics = steps.NetStatistics(*sums, np.array(len(docs.documents)), np.array(len(swept.topics)))
        return statistics, swept if self._keeps_locals else None

    def move(self, seed: int, state: State, statistics: steps.NetStatistics) -> tuple[State, Info]:
        """Move topics, weights and shapes by one step, and update their running means."""
        t = int(state.t) + 1
        plan = self._plan_sweeps(t)
        old = steps.NetVariables(*(getattr(state, name) for name in steps.NetVariables._fields))
        shared = steps.NetSetup(self.config, self.facts.n_documents, self.pool)
        take = {"gibbs": steps.step_gibbs, "bcdf": steps.step_bcdf, "sgnht": steps.step_sgnht}[self.inference]
        guide, counted = read_guide(state.steering, (np.arange(len(state.load)),)), statistics
        if guide:
            counted = statistics._replace(words=guide.add_prior(guide.drop_banned([statistics.words]))[0])
        new, sizes, sample, eta = take(shared, seed, t, old, counted)
        shown = NetworkMeans(*(getattr(state, name) for name in NetworkMeans._fields))
        if guide:
            guide.hold_topics([state.phi], [new.phi])
            new = new._replace(shapes=guide.cut_top(new.shapes))
        mean = update_means(shown, new, sample, eta, t, self.pool)
        if guide:
            guide.hold_mean(averages.TopicMean(*shown[:3]), averages.TopicMean(*mean[:3]))
        weight = 1.0 / min(t, averages.MEMORY)
        n_sweeps, n = plan.collect, max(int(statistics.documents), 1)
        load = statistics.words.sum(axis=0, dtype=np.float64)
        load = load / load.sum() if load.sum() > 0.0 else state.load
        state = state._replace(
            t=np.array(t, dtype=np.int64),
            load=state.load + weight * (load - state.load),
            active=state.active + weight * (statistics.on / (n_sweeps * n) - state.active),
            **new._asdict(),
            **mean._asdict(),
        )
        tokens = int(statistics.tokens)
        draws = tokens * (plan.burn_in + plan.collect)
        return state, Info(sizes, float("nan"), tokens, draws)

    def topics(self, state: State) -> Topics:
        """Return the hierarchy: topics over words, then signed weights; ``r`` holds the log-odds of the top units.

        The mean of theta_k, if topic k is on, is ``(1 - p)(n_k + r_k)`` with p = 1/2 and n_k its tokens in a document.
        """
        active = network.split_layers(state.active, self.config.layers)
        theta = 0.5 * (self.facts.n_tokens / max(self.facts.n_documents, 1) * state.load / np.maximum(active[0], 1e-9))
        return Topics(
            phi=(hide_banned(state.phi, state.steering), *state.weights),
            r=state.biases[-1],
            links=tuple(Link(SIGNED, SIGMOID, bias) for bias in state.biases[:-1]),
            units=(GAMMA, *(BINARY,) * len(state.weights)),
            popularity=compute_unit_popularity(state.load, active, state.weights, state.biases),
            means=(theta + 0.5 * state.shapes, *active[1:]),
            directed=self.config.hierarchy == "sbn",
        )

    def average(self, state: State) -> State:
        """Return the state with the running means in place of the last sample, topics normalised."""
        phi = np.ascontiguousarray(state.mean / state.mean.sum(axis=0, dtype=np.float64))
        return state._replace(phi=phi, shapes=state.mean_shapes, weights=state.mean_weights, biases=state.mean_biases)

    def keep(self, state: State) -> dict[str, Array]:
        """Return the arrays that a snapshot stores in addition to topics, weights and top biases."""
        arrays = {name: getattr(state, name) for name in ("t", "shapes", "load", "active", "scale")}
        arrays |= {f"biases.{layer}": bias for layer, bias in enumerate(state.biases[:-1])}
        arrays |= keep_steering(state.steering)
        return arrays | {f"precision.{layer}": table for layer, table in enumerate(state.precision)}

    def restore(self, seed: int, arrays: dict[str, Array]) -> State:
        """Return a state that continues from a snapshot of this model, or of another model with the same layers."""
        fresh = self.init(seed)
        first, *upper = (np.asarray(table, dtype=np.float64) for table in collect_arrays(arrays, "phi"))
        phi, weights = np.ascontiguousarray(first / first.sum(axis=0)), tuple(upper)
        steering, (phi,) = restore_steering(arrays, (phi,), (np.arange(phi.shape[1]),))
        lower = tuple(np.asarray(bias, dtype=np.float64) for bias in collect_arrays(arrays, "biases"))
        biases = (*(lower or fresh.biases[:-1]), np.asarray(arrays["r"], dtype=np.float64))
        names = ("shapes", "load", "active", "scale")
        fields: dict[str, Any] = {name: np.asarray(arrays[name], dtype=np.float64) for name in names if name in arrays}
        state = fresh._replace(**fields)
        precision = tuple(np.asarray(table, dtype=np.float64) for table in collect_arrays(arrays, "precision"))
        return state._replace(
            t=np.array(int(arrays["t"]) if "shapes" in arrays else 0, dtype=np.int64),
            phi=phi,
            expanded=self._init_expanded(phi),
            weights=weights,
            precision=precision or fresh.precision,
            biases=biases,
            steering=steering,
            **init_means(phi, state.shapes, weights, biases)._asdict(),
        )

    def edit(self, seed: int, state: State, docs: Batch, edit: Edit) -> tuple[State, EditResult]:
        """Return the state after an edit of its topics of layer 1, and what it did; units with tokens are on."""
        tops = [state.shapes, state.mean_shapes]
        draft = copy_topics(state, docs, tops, self.config.a_phi, self.config.layers[0], self.pool)
        draft.widens = False
        result = apply_edit(draft, seed, edit)
        owners, h = np.repeat(np.arange(len(state.h)), np.diff(draft.table.starts)), state.h.copy()
        h[owners, draft.topics] = 1
        mean, averaged, variance = draft.means[0]
        return state._replace(
            phi=draft.phi[0],
            shapes=draft.tops[0],
            mean_shapes=draft.tops[1],
            mean=mean,
            averaged=averaged,
            variance=variance,
            topics=draft.topics,
            h=h,
            steering=tuple(draft.steering),
        ), result

    def variance(self, state: State) -> tuple[Array, ...]:
        """Return the variance of a draw of the topics."""
        return (state.variance,)

    def infer(self, seed: int, state: State, docs: Batch, sweeps: Sweeps | None = None) -> Local:
        """Return posterior means of the activations of documents, topics and network fixed."""
        return place_documents(self._pack_globals(state), Address(seed, streams.INFER, 0), docs, sweeps, self.pool)

    def start_chain(self, seed: int, state: State, docs: Batch) -> NetChain:
        """Return the initial chains of documents under evaluation."""
        return start_chain(self._pack_globals(state), seed, docs, self.pool)

    def advance_chain(
        self, seed: int, state: State, chain: NetChain, observed: Batch, scored: Batch, sweeps: Sweeps
    ) -> tuple[NetChain, Rates]:
        """Return the chains after more sweeps, and the summed rates of the scored cells."""
        return advance_chain(self._pack_globals(state), seed, chain, observed, scored, sweeps, self.pool)


def apply_sigmoid(x: FloatArray) -> FloatArray:
    """Return the logistic function of log-odds, clipped to +-``MOST_LOGIT``."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -MOST_LOGIT, MOST_LOGIT))))


def measure_influence(weights: FloatArray, bias: FloatArray, above: FloatArray) -> FloatArray:
    """Return the change of the mean of every unit, (K_l, K_{l+1}), when one unit above is switched from off to on.

    The other units above stay at their mean activations, ``above`` (K_{l+1},).
    """
    others = (weights @ above + bias)[:, None] - weights * above
    return apply_sigmoid(others + weights) - apply_sigmoid(others)


def compute_unit_popularity(
    load: FloatArray, active: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...]
) -> tuple[FloatArray, ...]:
    """Return the popularity of every unit, (K_l,) per layer.

    In layer 1, it is the share of tokens, ``load`` (K_1,).  In the layers above, it is the frequency of a unit times
    its effect: the absolute changes of the means of the units below when it is switched on, relative to these means and
    weighted by the popularity of the units below.
    """
    popularity = [load]
    for below, above, table, bias in zip(active[:-1], active[1:], weights, biases[:-1], strict=True):
        relative_popularity = popularity[-1] / np.maximum(below, 1e-9)
        popularity.append(above * (np.abs(measure_influence(table, bias, above)).T @ relative_popularity))
    return tuple(popularity)


class NetworkMeans(NamedTuple):
    """Running means: those of phi as in :class:`engine.topic_moves.steps.TopicMean`, then of r, W^(l) and c^(l)."""

    mean: Array
    averaged: Array
    variance: Array
    mean_shapes: FloatArray
    mean_weights: tuple[FloatArray, ...]
    mean_biases: tuple[FloatArray, ...]


def init_means(
    phi: FloatArray, shapes: FloatArray, weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...]
) -> NetworkMeans:
    """Return the means before the first sample."""
    return NetworkMeans(*averages.init_mean(phi), shapes, weights, biases)


def update_means(old: NetworkMeans, new: NetVariables, sample: Array, eta: float, t: int, pool: Pool) -> NetworkMeans:
    """Return the means with the sample of step ``t`` added.

    If a topic has little in common with its mean, the means of that topic and of its unit start again.
    """
    memory = averages.count_memory(t)
    topic_mean = averages.TopicMean(old.mean, old.averaged, old.variance)
    mean, weight = averages.update_mean(topic_mean, sample, eta, pool, memory)
    upper_rate = 1.0 / min(t, memory)
    rates = [weight, *(np.full(len(bias), upper_rate) for bias in new.biases[1:])]
    return NetworkMeans(
        mean=mean.phi,
        averaged=mean.samples,
        variance=mean.variance,
        mean_shapes=old.mean_shapes + weight * (new.shapes - old.mean_shapes),
        mean_weights=tuple(
            old_mean + rate[:, None] * (new_value - old_mean)
            for old_mean, new_value, rate in zip(old.mean_weights, new.weights, rates[:-1], strict=True)
        ),
        mean_biases=tuple(
            old_mean + rate * (new_value - old_mean)
            for old_mean, new_value, rate in zip(old.mean_biases, new.biases, rates, strict=True)
        ),
    )
