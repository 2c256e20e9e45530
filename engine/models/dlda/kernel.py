"""Kernel of deep latent Dirichlet allocation: SG-MCMC, batch Gibbs, or one after the other.

The generative model is in :mod:`engine.models.dlda.settings`; equation numbers are those of Cong, Chen, Liu and Zhou
(ICML 2017).
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topiary.engine import first_topics, streams, widths
from topiary.engine.contract import (
    Array,
    AveragingKernel,
    Batch,
    Concentration,
    Event,
    Facts,
    FloatArray,
    Info,
    Kernel,
    Local,
    Rates,
    Sweeps,
    Topics,
)
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import LINKS, Locals, Sampler, SweepSums, plan_inference
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import Device, DeviceArray, read_arrays, read_fields
from topiary.engine.gpu.sweeps import choose_sweeper
from topiary.engine.hierarchy import topics
from topiary.engine.models.dlda.settings import Config
from topiary.engine.pool import Pool
from topiary.engine.settings import SettingError
from topiary.engine.steering.apply import apply_edit
from topiary.engine.steering.draft import copy_layers, pad_topics, replace_layers
from topiary.engine.steering.edit import KINDS, PLACE, WITHOUT_TOKENS, Edit, EditResult
from topiary.engine.steering.guide import hide_banned, keep_steering, read_guide, restore_steering
from topiary.engine.streams import Address
from topiary.engine.topic_moves import steps

_TOPICS = ("phi", "mean", "averaged", "variance")  # what a device moves


class State(NamedTuple):
    """State of DLDA.

    ``t`` () int64 counts the steps; ``phi``, ``expanded``, ``r``, ``scale``, ``top_scale``, ``gamma0``, ``c0`` and
    ``eta`` are as in :class:`engine.topic_moves.steps.Variables`; ``mean``, ``averaged``, ``variance`` and ``mean_r``
    are the means over the last samples (:class:`engine.topic_moves.steps.LayerMeans`); ``names`` and ``born`` are as
    in :class:`engine.widths.Structure`.  The rest are the local variables of all training documents, empty unless steps
    sweep them: ``topics`` (tokens,), ``theta1`` (N, K_1), ``theta`` (N, K_2 + ...), ``c`` (N, L), ``link_scale`` (N,).
    ``steering`` is that of :class:`engine.steering.edit.Steering`, () before the first edit.
    """

    t: Array
    phi: tuple[FloatArray, ...]
    expanded: tuple[FloatArray, ...]
    r: FloatArray
    mean: tuple[Array, ...]
    averaged: tuple[Array, ...]
    variance: tuple[Array, ...]
    mean_r: FloatArray
    scale: tuple[FloatArray, ...]
    top_scale: FloatArray
    gamma0: FloatArray
    c0: FloatArray
    eta: FloatArray
    names: tuple[Array, ...]
    born: Array
    topics: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    link_scale: FloatArray
    steering: tuple[Array, ...] = ()


class DldaStatistics(NamedTuple):
    """Statistics for the topics: counts of the collected sweeps, and the numbers of documents and tokens swept.

    ``draws`` is the number of topic assignments drawn.
    """

    counted: SweepSums
    documents: int
    tokens: float
    draws: float


class DldaChain(NamedTuple):
    """Local chains of documents under evaluation: ``clock`` () int64 counts the calls; the rest is as in ``Locals``."""

    clock: Array
    topics: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    link_scale: FloatArray


def build(config: Config, facts: Facts, n_threads: int = 1, device: Device | None = None) -> Kernel:
    """Return the kernel of DLDA for a corpus; results do not depend on ``n_threads``.

    With a ``device``, documents are swept there.
    """
    return DldaKernel(config, facts, Pool(n_threads), device)


class DldaKernel(AveragingKernel):
    """The kernel of DLDA.

    Raises
    ------
    SettingError
        When a step cannot draw the concentrations, or the device cannot do this work.
    """

    settles = True

    def __init__(self, config: Config, facts: Facts, pool: Pool, device: Device | None) -> None:
        hyper = Hyper(config.a0, config.b0, config.e0, config.f0)
        self.config, self.facts = config, facts
        self.sampler = Sampler(hyper, LINKS[config.link], config.collapsed, config.statistics == "expected", pool)
        self.sweeper, self.moves = choose_sweeper(self.sampler, device, config.explain_device_refusal)
        self.batch_size, self.sweeps_after = config.batch_size, config.sweeps_after(facts)
        self.measure = "perplexity" if config.link == "poisson" else "log-likelihood"
        self.steers = frozenset(KINDS) if config.collapsed and self.sweeps_after is not None else WITHOUT_TOKENS
        self.steers -= {PLACE} if len(config.layers) == 1 else set()
        if config.learn_concentrations and self.sweeps_after is None:
            raise SettingError(
                f"learn_concentrations needs sweeps of all documents, which inference auto does not make of "
                f"{facts.n_tokens:,} tokens; set inference to gibbs"
            )

    def init(self, seed: int) -> State:
        """Return a state with nearly flat topics, 0.05 + 0.95 U(0, 1) normalised, and r = 1/K_L, as the authors do."""
        config = self.config
        layers = widths.choose_first_widths(config)
        rng = streams.make_generator(seed, streams.INIT)
        phi = tuple(widths.draw_flat_topics(rng, *shape) for shape in itertools.pairwise((self.facts.n_words, *layers)))
        r = np.full(layers[-1], 1.0 / layers[-1])
        empty = np.zeros(0)
        return State(
            t=np.array(0, dtype=np.int64),
            **steps.init_variables(config, phi, r)._asdict(),
            **steps.init_layer_means(phi, r)._asdict(),
            names=widths.name_topics(phi),
            born=np.array(0 if config.grow else widths.SETTLED, dtype=np.int64),
            topics=np.zeros(0, dtype=np.uint16),
            theta1=empty,
            theta=empty,
            c=empty,
            link_scale=empty,
        )

    def init_from_documents(self, seed: int, docs: Batch) -> State:
        """Return the state before the first step, with topics from clusters of documents if the settings ask for it."""
        state = self.init(seed)
        if self.config.start != "clusters":
            return state
        layers = widths.choose_first_widths(self.config)
        phi, r = first_topics.cluster_topics(seed, docs, self.facts.n_words, layers, self.sampler.pool)[:2]
        new, means = steps.init_variables(self.config, phi, r), steps.init_layer_means(phi, r)
        return state._replace(**new._asdict(), **means._asdict())

    def prepare(self, seed: int, state: State, docs: Batch) -> State:
        """Return the state with initial local variables of all training documents, for batch Gibbs.

        Documents begin with theta = 1/K instead of a burn-in, which would copy a first guess of r.  Topics that are
        learnt already, by mini-batches or in the snapshot of another run, are worth a burn-in.
        """
        if self.sweeps_after != 0 or int(state.t) != 0:
            return state
        at = Address(seed, streams.INIT, 0)
        return self.with_local(state, self.sweeper.start_locals(state.phi, state.r, docs, at, kept=True))

    def local(self, state: State) -> Locals | None:
        """Return the local variables of a state, or None if it has none."""
        if not len(state.c):
            return None
        return Locals(state.topics, state.theta1, state.theta, state.c, state.link_scale)

    def with_local(self, state: State, local: Locals | None) -> State:
        """Return the state with these local variables, or as it is if there are none."""
        if local is None:
            return state
        return state._replace(
            topics=local.topics, theta1=local.theta1, theta=local.theta, c=local.c, link_scale=local.scale
        )

    def gather(self, seed: int, state: State, docs: Batch, local: Locals | None) -> tuple[DldaStatistics, Any]:
        """Sweep documents and return their counts: a mini-batch from the start, or all documents from their last sweep.

        See sections 2 and 3.  Phi^(l+1) and r are drawn with theta^(l) integrated out, so the theta of the sweep are
        not a draw given the new topics: `settle` redraws them.
        """
        swept = self.is_sweeping(state)
        state, events = self._grow(seed, state)
        t, plan = int(state.t) + 1, self._plan_sweeps(state)
        start = local if swept and not events else None
        if start is not None:
            plan = SweepPlan(fresh=False, burn_in=0, collect=1, first_rates=1 if t >= self.config.settle else 2)
        elif swept:  # documents without local variables of these layers burn in first
            plan = plan._replace(collect=1)
        address, most = Address(seed, streams.LOCAL, t), self.facts.n_tokens if swept else 0
        counted, after = self.sweeper.gather(state.phi, state.r, docs, start, address, plan, kept=swept, most=most)
        tokens = float(docs.counts.sum(dtype=np.float64))
        statistics = DldaStatistics(counted, len(docs.documents), tokens, tokens * (plan.burn_in + plan.collect))
        return statistics, after if swept else None

    def _plan_sweeps(self, state: State) -> SweepPlan:
        """Return the sweeps of documents that start without local variables, such as those of a mini-batch."""
        n_layers = len(state.phi)
        burn_in = self.config.burn_in * n_layers
        settle = min(self.config.settle, max(burn_in // 2, 1))
        return SweepPlan(fresh=True, burn_in=burn_in, collect=self.config.collect * n_layers, first_rates=settle)

    def _grow(self, seed: int, state: State) -> tuple[State, tuple[Event, ...]]:
        """Return the state with the layers that the next step trains, if widths are learnt (DATM, Algorithm 2)."""
        structure = widths.Structure(state.phi, state.r, state.names, state.born)
        change = widths.grow_structure(seed, int(state.t), structure, widths.read_rule(self.config))
        if change is None:
            return state, ()
        new, structure = steps.change_structure(self.config, _get_variables(state), change), change.structure
        means = steps.init_layer_means(new.phi, new.r)
        state = state._replace(names=structure.names, born=structure.born, **new._asdict(), **means._asdict())
        return state, change.events

    def move(self, seed: int, state: State, statistics: DldaStatistics) -> tuple[State, Info]:
        """Move the topics of every layer and r: by a Gibbs draw if the step swept all documents, else by SG-MCMC."""
        config, counted = self.config, statistics.counted
        moves: steps.TopicMoves = steps.TopicMoves(self.sampler.pool)
        if (
            self.moves is not None
            and config.moves_on_device
            and isinstance(counted.words, DeviceArray)
            and not state.steering
        ):
            moves = self.moves
        else:
            state, counted = read_fields(state, *_TOPICS), read_arrays(counted)
        if not state.mean:  # a checkpoint written before means were kept
            state = state._replace(**steps.init_layer_means(state.phi, state.r)._asdict())
        t, swept = int(state.t) + 1, self.is_sweeping(state)
        state, events = self._grow(seed, state)
        old = _get_variables(state)
        sizes: steps.Sizes = ()  # a Gibbs draw has no step sizes
        samples: Sequence[Any]
        rho = self.facts.n_documents / statistics.documents
        factor = 1.0 if swept else rho / self._plan_sweeps(state).collect
        address = Address(seed, streams.LOCAL, t)
        counts = moves.scale_counts(self.sampler, state.phi, state.r, address, counted, factor)
        guide, observed = read_guide(state.steering, state.names), counts.tables
        if guide:
            observed = guide.drop_banned(counts.tables)
            counts = counts._replace(tables=guide.add_prior(observed))
        if swept:
            new = steps.draw_variables(config, seed, t, old, counts, moves, observed)
            samples, etas = counts.tables, tuple(new.eta)
        else:
            new, sizes = steps.diffuse_variables(config, seed, t, old, counts, moves)
            samples, etas = new.phi, (0.0,) * len(new.phi)
        if guide:
            guide.hold_topics(old.phi, new.phi)
            new = new._replace(r=guide.cut_top(new.r))
        shown = steps.LayerMeans(state.mean, state.averaged, state.variance, state.mean_r)
        means = steps.update_layer_means(shown, samples, etas, new.r, moves.update_mean, steps.count_memory(t))
        if guide:
            guide.hold_means(shown, means)
        state = state._replace(t=np.array(t), **new._asdict(), **means._asdict())
        learnt = self._list_concentrations(state) if swept else ()
        return state, Info(sizes, float("nan"), int(statistics.tokens), int(statistics.draws), events, learnt)

    def _list_concentrations(self, state: State) -> tuple[Concentration, ...]:
        """Return the concentrations that a sweep drew."""
        config = self.config
        learnt: list[Concentration] = []
        if config.learn_concentrations:
            learnt += [Concentration("eta", layer, float(eta)) for layer, eta in enumerate(state.eta, start=1)]
        if config.learn_concentrations or config.sample_gamma0:
            learnt += [Concentration("gamma0", 0, float(state.gamma0)), Concentration("c0", 0, float(state.c0))]
        return tuple(learnt)

    def settle(self, seed: int, state: State, docs: Batch, local: Any) -> Locals | None:
        """Redraw theta of the swept documents under the topics that were drawn from their counts."""
        if local is None:
            return None
        return self.sweeper.redraw(state.phi, state.r, docs, local, Address(seed, streams.REDRAW, int(state.t)))

    def infer(self, seed: int, state: State, docs: Batch, sweeps: Sweeps | None = None) -> Local:
        """Return posterior means of theta for new documents, with topics fixed."""
        plan = plan_inference(len(state.phi), sweeps, self._plan_sweeps(state).first_rates)
        return self.sweeper.place_documents(state.phi, state.r, docs, Address(seed, streams.INFER, 0), plan)

    def start_chain(self, seed: int, state: State, docs: Batch) -> DldaChain:
        """Return the initial chains of documents under evaluation."""
        local = self.sweeper.start_locals(state.phi, state.r, docs, Address(seed, streams.CHAIN, 0))
        return DldaChain(np.array(0, dtype=np.int64), *local)

    def advance_chain(
        self, seed: int, state: State, chain: DldaChain, observed: Batch, scored: Batch, sweeps: Sweeps
    ) -> tuple[DldaChain, Rates]:
        """Return the chains after more sweeps, as a copy, and the summed rates of the ``scored`` cells."""
        clock, plan = int(chain.clock) + 1, SweepPlan(fresh=False, **sweeps._asdict())
        at, start = Address(seed, streams.CHAIN, clock), Locals(*chain[1:])
        local, rates = self.sweeper.rate_cells(state.phi, state.r, observed, scored, start, at, plan)
        return DldaChain(np.array(clock), *local), rates

    def topics(self, state: State) -> Topics:
        """Return the topics of the last sample, without banned words."""
        phi = read_arrays(state.phi)
        return Topics((hide_banned(phi[0], state.steering), *phi[1:]), state.r)

    def average(self, state: State) -> State:
        """Return the state with the mean topics instead of the last ones, normalised in double precision."""
        state = read_fields(state, "mean")
        phi = tuple(np.ascontiguousarray(mean / mean.sum(axis=0, dtype=np.float64)) for mean in state.mean)
        return state._replace(phi=phi, r=state.mean_r) if phi else state

    def variance(self, state: State) -> tuple[Array, ...]:
        """Return the variance of a draw of the topics of every layer."""
        return tuple(read_arrays(state.variance))

    def keep(self, state: State) -> dict[str, Array]:
        """Return what another run needs to continue at this pace: steps, averages M, names, concentrations."""
        arrays: dict[str, Array] = {"t": state.t, "top_scale": state.top_scale}
        arrays |= widths.keep_names(state.names, state.born)
        if self.config.learn_concentrations:
            arrays |= {"eta": state.eta, "gamma0": state.gamma0, "c0": state.c0}
        arrays |= keep_steering(state.steering)
        return arrays | {f"scale.{layer}": values for layer, values in enumerate(state.scale)}

    def restore(self, seed: int, arrays: dict[str, Array]) -> State:
        """Return the state that continues a snapshot of this model, or of another model with the same layers."""
        config = self.config
        phi, r = topics.unpack_topics(arrays)[:2]
        scales = [f"scale.{layer}" for layer in range(len(phi))]
        is_own = all(name in arrays for name in scales)
        t = int(arrays["t"]) if is_own else int(self.sweeps_after == 0)  # 0 would begin as if nothing were learnt
        new = steps.init_variables(config, phi, r)
        if is_own:
            scale = tuple(np.asarray(arrays[name], dtype=np.float64) for name in scales)
            new = new._replace(scale=scale, top_scale=np.asarray(arrays["top_scale"], dtype=np.float64))
        if config.learn_concentrations and "eta" in arrays:
            eta, gamma0, c0 = (np.asarray(arrays[name], dtype=np.float64) for name in ("eta", "gamma0", "c0"))
            new = new._replace(eta=eta, gamma0=gamma0, c0=c0)
        names, born = widths.restore_names(arrays, phi, t, widths.read_rule(config))
        steering, phi = restore_steering(arrays, phi, names)
        return self.init(seed)._replace(
            t=np.array(t, dtype=np.int64),
            **new._replace(phi=phi)._asdict(),
            **steps.init_layer_means(phi, r)._asdict(),
            names=names,
            born=born,
            steering=steering,
        )

    def edit(self, seed: int, state: State, docs: Batch, edit: Edit) -> tuple[State, EditResult]:
        """Return the state after an edit of its topics, and what it did."""
        config, state = self.config, read_fields(state, *_TOPICS)
        draft = copy_layers(state, docs, tuple(state.eta.tolist()), config.layers[0], self.sampler.pool)
        result = apply_edit(draft, seed, edit)
        state = replace_layers(state, draft)
        scale = (pad_topics(state.scale[0], draft.phi[0].shape[1]), *state.scale[1:])
        return state._replace(expanded=steps.init_variables(config, state.phi, state.r).expanded, scale=scale), result


def _get_variables(state: State) -> steps.Variables:
    """Return the variables of a state that a step moves."""
    return steps.Variables(*(getattr(state, name) for name in steps.Variables._fields))
