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
from topiary.engine.gibbs.local import LINKS, LayerCounts, Locals, Sampler, SweepSums, plan_inference
from topiary.engine.gibbs.tokens import Globals
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.blocks import make_sweeper
from topiary.engine.gpu.devices import Device, DeviceArray, read_arrays
from topiary.engine.gpu.launches import DeviceSwept
from topiary.engine.gpu.moves import DeviceMoves
from topiary.engine.gpu.sweeps import DeviceSweeper
from topiary.engine.hierarchy import topics
from topiary.engine.models.dlda.settings import Config
from topiary.engine.pool import Pool
from topiary.engine.settings import SettingError
from topiary.engine.streams import Address
from topiary.engine.topic_moves import averages, steps


class State(NamedTuple):
    """State of DLDA.

    ``t`` () int64 counts the steps; ``phi``, ``expanded``, ``r``, ``scale``, ``top_scale``, ``gamma0``, ``c0`` and
    ``eta`` are as in :class:`engine.topic_moves.steps.Variables`; ``mean``, ``averaged``, ``variance`` and ``mean_r``
    are the means over the last samples (:class:`engine.topic_moves.averages.LayerMeans`); ``names`` and ``born`` are as
    in :class:`engine.widths.Structure`.  The rest are the local variables of all training documents, empty unless steps
    sweep them: ``topics`` (tokens,), ``theta1`` (N, K_1), ``theta`` (N, K_2 + ...), ``c`` (N, L), ``link_scale`` (N,).
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


class SweptDocuments(NamedTuple):
    """Documents after a sweep, before the topics move: local variables, and the counts m for `Sampler.redraw_theta`."""

    locals: Locals
    counts: Array


class DldaStatistics(NamedTuple):
    """Statistics for the topics: counts of the collected sweeps, and the numbers of documents and tokens swept.

    ``draws`` is the number of topic assignments drawn.
    """

    counted: SweepSums
    documents: int
    tokens: float
    draws: float


class _DldaSetup(NamedTuple):
    """Constants of the kernel's functions."""

    config: Config
    facts: Facts
    sampler: Sampler
    sweeps_after: int | None
    cache: dict[str, object]  # the latest topics packed for the kernels; packing costs a matrix product

    def pack_globals(self, state: State, words: Array | None = None) -> Globals:
        """Return the topics packed for the kernels, for documents with only these ``words``, or for any if None."""
        if self.cache.get("phi") is not state.phi or self.cache.get("r") is not state.r:
            glob = self.sampler.pack_globals(state.phi, state.r, words)
            if words is not None:
                return glob
            self.cache.update(phi=state.phi, r=state.r, glob=glob)
        return self.cache["glob"]  # type: ignore[return-value]

    def is_sweeping(self, state: State) -> bool:
        """Return True if the next step of this state reads every training document."""
        return self.sweeps_after is not None and int(state.t) >= self.sweeps_after

    def starts_plain(self, state: State) -> bool:
        """Return True if documents begin with theta = 1/K instead of a burn-in, which would copy a first guess of r.

        Topics that are learnt already, by mini-batches or in the snapshot of another run, are worth a burn-in.
        """
        return self.sweeps_after == 0 and int(state.t) == 0

    def plan_sweeps(self, state: State) -> SweepPlan:
        """Return the sweeps of documents that start without local variables, such as those of a mini-batch."""
        n_layers = len(state.phi)
        burn_in = self.config.burn_in * n_layers
        settle = min(self.config.settle, max(burn_in // 2, 1))
        return SweepPlan(fresh=True, burn_in=burn_in, collect=self.config.collect * n_layers, first_rates=settle)


def build(config: Config, facts: Facts, n_threads: int = 1, device: Device | None = None) -> Kernel:
    """Return the kernel of DLDA for a corpus; results do not depend on ``n_threads``.

    With a ``device``, documents are swept there.
    """
    hyper = Hyper(config.a0, config.b0, config.e0, config.f0)
    sampler = Sampler(hyper, LINKS[config.link], config.collapsed, config.statistics == "expected", Pool(n_threads))
    setup = _DldaSetup(config, facts, sampler, config.sweeps_after(facts), {})
    if config.learn_concentrations and setup.sweeps_after is None:
        raise SettingError(
            f"learn_concentrations needs sweeps of all documents, which inference auto does not make of "
            f"{facts.n_tokens:,} tokens; set inference to gibbs"
        )
    kernel = Kernel(
        batch_size=config.batch_size,
        sweeps_after=setup.sweeps_after,
        measure="perplexity" if config.link == "poisson" else "log-likelihood",
        init=lambda seed: _init_state(setup, seed),
        prepare=lambda seed, state, docs: (
            _prepare_state(setup, seed, state, docs) if setup.starts_plain(state) else state
        ),
        gather=lambda seed, state, docs, local: _gather_statistics(setup, seed, state, docs, local),
        move=lambda seed, state, statistics: _move_state(setup, seed, state, statistics),
        settle=lambda seed, state, docs, local: _settle_documents(setup, seed, state, docs, local),
        local=_get_local,
        with_local=_put_local,
        infer=lambda seed, state, docs, sweeps=None: _infer_theta(setup, seed, state, docs, sweeps),
        topics=lambda state: Topics(state.phi, state.r),
        init_from_documents=lambda seed, docs: (
            _init_from_documents(setup, seed, docs) if config.start == "clusters" else _init_state(setup, seed)
        ),
        average=_average_state,
        variance=lambda state: state.variance,
        start_chain=lambda seed, state, docs: start_chain(sampler, setup.pack_globals(state), seed, docs),
        advance_chain=lambda seed, state, *rest: advance_chain(sampler, setup.pack_globals(state), seed, *rest),
        keep=lambda state: _keep_state(config, state),
        restore=lambda seed, arrays: _restore_state(setup, seed, arrays),
    )
    return kernel if device is None else _place_on_device(setup, kernel, make_sweeper(device, hyper))


def _place_on_device(setup: _DldaSetup, kernel: Kernel, sweeper: DeviceSweeper) -> Kernel:
    """Return the kernel with the work on documents done by a device.

    Raises
    ------
    SettingError
        When it cannot do this work.
    """
    if refusal := setup.config.explain_device_refusal():
        raise SettingError(refusal)
    kernel = _move_on_device(setup, kernel, sweeper) if setup.config.moves_on_device else kernel
    return kernel._replace(
        prepare=lambda seed, state, docs: (
            _prepare_on_device(sweeper, seed, state, docs) if setup.starts_plain(state) else state
        ),
        gather=lambda seed, state, docs, local: _gather_on_device(setup, sweeper, seed, state, docs, local),
        settle=lambda seed, state, docs, local: _settle_on_device(sweeper, seed, state, docs, local),
        infer=lambda seed, state, docs, sweeps=None: _infer_on_device(setup, sweeper, seed, state, docs, sweeps),
        start_chain=lambda seed, state, docs: _start_on_device(sweeper, seed, state, docs),
        advance_chain=lambda *arguments: _advance_on_device(sweeper, *arguments),
    )


def _move_on_device(setup: _DldaSetup, kernel: Kernel, sweeper: DeviceSweeper) -> Kernel:
    """Return the kernel with the topics of all layers, and their running means, moved and kept by a device."""
    moves = DeviceMoves(sweeper.device, setup.sampler.pool)

    def move(seed: int, state: State, statistics: DldaStatistics) -> tuple[State, Info]:
        if isinstance(statistics.counted.words, DeviceArray):
            return _move_state(setup, seed, state, statistics, moves)
        return _move_state(setup, seed, _read_topics(state), statistics)  # added up from several processes

    return kernel._replace(
        move=move,
        topics=lambda state: kernel.topics(_read_topics(state, "phi")),
        average=lambda state: _average_state(_read_topics(state, "mean")),
        variance=lambda state: _read_topics(state, "variance").variance,
    )


def _read_topics(state: State, *names: str) -> State:
    """Return the state with the named arrays of topics, or all, read from a device if they are there."""
    names = names or ("phi", "mean", "averaged", "variance")
    return state._replace(**{name: read_arrays(getattr(state, name)) for name in names})


def _init_state(setup: _DldaSetup, seed: int) -> State:
    """Return a state with nearly flat topics, 0.05 + 0.95 U(0, 1) normalised, and r = 1/K_L, as the authors do."""
    config = setup.config
    layers = widths.choose_first_widths(config)
    rng = streams.make_generator(seed, streams.INIT)
    phi = tuple(widths.draw_flat_topics(rng, *shape) for shape in itertools.pairwise((setup.facts.n_words, *layers)))
    r = np.full(layers[-1], 1.0 / layers[-1])
    empty = np.zeros(0)
    return State(
        t=np.array(0, dtype=np.int64),
        **steps.init_variables(config, phi, r)._asdict(),
        **averages.init_layer_means(phi, r)._asdict(),
        names=widths.name_topics(phi),
        born=np.array(0 if config.grow else widths.SETTLED, dtype=np.int64),
        topics=np.zeros(0, dtype=np.uint16),
        theta1=empty,
        theta=empty,
        c=empty,
        link_scale=empty,
    )


def _init_from_documents(setup: _DldaSetup, seed: int, docs: Batch) -> State:
    """Return the state before the first step, with topics from clusters of documents (:mod:`engine.first_topics`)."""
    state = _init_state(setup, seed)
    layers = widths.choose_first_widths(setup.config)
    phi, r = first_topics.cluster_topics(seed, docs, setup.facts.n_words, layers, setup.sampler.pool)[:2]
    new, means = steps.init_variables(setup.config, phi, r), averages.init_layer_means(phi, r)
    return state._replace(**new._asdict(), **means._asdict())


def _average_state(state: State) -> State:
    """Return the state with the mean topics instead of the last ones, normalised in double precision."""
    phi = tuple(np.ascontiguousarray(mean / mean.sum(axis=0, dtype=np.float64)) for mean in state.mean)
    return state._replace(phi=phi, r=state.mean_r) if phi else state


def _keep_state(config: Config, state: State) -> dict[str, Array]:
    """Return what another run needs to continue at this pace: steps, averages M, names of topics, concentrations."""
    arrays: dict[str, Array] = {"t": state.t, "top_scale": state.top_scale} | widths.keep_names(state.names, state.born)
    if config.learn_concentrations:
        arrays |= {"eta": state.eta, "gamma0": state.gamma0, "c0": state.c0}
    return arrays | {f"scale.{layer}": values for layer, values in enumerate(state.scale)}


def _restore_state(setup: _DldaSetup, seed: int, arrays: dict[str, Array]) -> State:
    """Return the state that continues a snapshot of this model, or of another model with the same layers."""
    config = setup.config
    phi, r = topics.unpack_topics(arrays)[:2]
    scales = [f"scale.{layer}" for layer in range(len(phi))]
    is_own = all(name in arrays for name in scales)
    t = int(arrays["t"]) if is_own else int(setup.sweeps_after == 0)  # 0 would begin as if nothing were learnt
    new = steps.init_variables(config, phi, r)
    if is_own:
        scale = tuple(np.asarray(arrays[name], dtype=np.float64) for name in scales)
        new = new._replace(scale=scale, top_scale=np.asarray(arrays["top_scale"], dtype=np.float64))
    if config.learn_concentrations and "eta" in arrays:
        eta, gamma0, c0 = (np.asarray(arrays[name], dtype=np.float64) for name in ("eta", "gamma0", "c0"))
        new = new._replace(eta=eta, gamma0=gamma0, c0=c0)
    names, born = widths.restore_names(arrays, phi, t, widths.read_rule(config))
    return _init_state(setup, seed)._replace(
        t=np.array(t, dtype=np.int64),
        **new._asdict(),
        **averages.init_layer_means(phi, r)._asdict(),
        names=names,
        born=born,
    )


def _grow_state(setup: _DldaSetup, seed: int, state: State) -> tuple[State, tuple[Event, ...]]:
    """Return the state with the layers that the next step trains, if widths are learnt (DATM, Algorithm 2)."""
    structure = widths.Structure(state.phi, state.r, state.names, state.born)
    change = widths.grow_structure(seed, int(state.t), structure, widths.read_rule(setup.config))
    if change is None:
        return state, ()
    new, structure = steps.change_structure(setup.config, _get_variables(state), change), change.structure
    means = averages.init_layer_means(new.phi, new.r)
    state = state._replace(names=structure.names, born=structure.born, **new._asdict(), **means._asdict())
    return state, change.events


def _get_variables(state: State) -> steps.Variables:
    """Return the variables of a state that a step moves."""
    return steps.Variables(*(getattr(state, name) for name in steps.Variables._fields))


def _prepare_state(setup: _DldaSetup, seed: int, state: State, docs: Batch) -> State:
    """Return the state with initial local variables of all training documents, for batch Gibbs."""
    return _put_local(
        state, setup.sampler.start_locals(setup.pack_globals(state), docs, Address(seed, streams.INIT, 0))
    )


def _get_local(state: State) -> Locals | None:
    """Return the local variables of a state, or None if it has none."""
    if not len(state.c):
        return None
    return Locals(state.topics, state.theta1, state.theta, state.c, state.link_scale)


def _put_local(state: State, local: Locals | None) -> State:
    """Return the state with these local variables, or as it is if there are none."""
    if local is None:
        return state
    return state._replace(
        topics=local.topics, theta1=local.theta1, theta=local.theta, c=local.c, link_scale=local.scale
    )


def _gather_statistics(
    setup: _DldaSetup, seed: int, state: State, docs: Batch, local: Locals | None
) -> tuple[DldaStatistics, SweptDocuments | None]:
    """Sweep documents and return their counts: a mini-batch from the start, or all documents from their last sweep.

    See sections 2 and 3.  Phi^(l+1) and r are drawn with theta^(l) integrated out, so the theta of the sweep are not a
    draw given the new topics: `_settle_documents` redraws them.
    """
    swept = setup.is_sweeping(state)
    state, events = _grow_state(setup, seed, state)
    t = int(state.t) + 1
    plan = setup.plan_sweeps(state)
    if swept and local is not None and not events:
        plan = SweepPlan(fresh=False, burn_in=0, collect=1, first_rates=1 if t >= setup.config.settle else 2)
        swept_locals = Locals(*(values.copy() for values in local))
        glob = setup.pack_globals(state)
    else:  # a mini-batch, or documents without local variables of these layers: burn in first
        plan = plan._replace(collect=1) if swept else plan
        glob = setup.pack_globals(state, None if swept else np.unique(docs.words))
        swept_locals = setup.sampler.allocate_locals(glob, docs)
    counted, counts = setup.sampler.gather(
        glob, Address(seed, streams.LOCAL, t), docs, swept_locals, plan, setup.facts.n_tokens if swept else 0
    )
    tokens = float(len(swept_locals.topics) or docs.counts.sum(dtype=np.float64))
    statistics = DldaStatistics(counted, len(docs.documents), tokens, tokens * (plan.burn_in + plan.collect))
    return statistics, SweptDocuments(swept_locals, counts) if swept else None


def _gather_on_device(
    setup: _DldaSetup, sweeper: DeviceSweeper, seed: int, state: State, docs: Batch, local: Locals | None
) -> tuple[DldaStatistics, DeviceSwept | None]:
    """Sweep documents on a device, as `_gather_statistics` does on the CPU."""
    swept = setup.is_sweeping(state)
    state, events = _grow_state(setup, seed, state)
    t = int(state.t) + 1
    at, plan, start = Address(seed, streams.LOCAL, t), setup.plan_sweeps(state), None
    tokens = float(docs.counts.sum(dtype=np.float64))
    if swept and local is not None and not events:
        plan = SweepPlan(fresh=False, burn_in=0, collect=1, first_rates=1 if t >= setup.config.settle else 2)
        start = sweeper.load_locals(local, tuple(layer.shape[1] for layer in state.phi))
    elif swept:
        plan = plan._replace(collect=1)
    after: DeviceSwept | None = None
    if swept:
        counted, after = sweeper.gather(state.phi, state.r, docs, start, at, plan)
    else:
        counted = sweeper.gather_batch(state.phi, state.r, docs, at, plan)
    return DldaStatistics(counted, len(docs.documents), tokens, tokens * (plan.burn_in + plan.collect)), after


def _prepare_on_device(sweeper: DeviceSweeper, seed: int, state: State, docs: Batch) -> State:
    """Return the state with initial local variables of all training documents, as `_prepare_state` does on the CPU."""
    return _put_local(state, sweeper.start_locals(state.phi, state.r, docs, Address(seed, streams.INIT, 0)))


def _settle_on_device(
    sweeper: DeviceSweeper, seed: int, state: State, docs: Batch, swept: DeviceSwept | None
) -> Locals | None:
    """Redraw theta on a device, as `_settle_documents` does on the CPU; the results stay there until read."""
    if swept is None:
        return None
    address = Address(seed, streams.REDRAW, int(state.t))
    return sweeper.redraw(state.phi, state.r, docs, swept, address)


def _move_state(
    setup: _DldaSetup, seed: int, state: State, statistics: DldaStatistics, device: DeviceMoves | None = None
) -> tuple[State, Info]:
    """Move the topics of every layer and r: by a Gibbs draw if the step swept all documents, else by SG-MCMC.

    With a ``device``, the topics and the counts of ``statistics`` are there.
    """
    moves = device or steps.TopicMoves(setup.sampler.pool)

    def scale_counts(factor: float) -> LayerCounts:
        if device is not None:
            return device.scale_counts(statistics.counted, factor)
        return _scale_counts(setup, seed, state, statistics, factor)

    if not state.mean:  # a checkpoint written before means were kept
        state = state._replace(**averages.init_layer_means(state.phi, state.r)._asdict())
    config, t, swept = setup.config, int(state.t) + 1, setup.is_sweeping(state)
    state, events = _grow_state(setup, seed, state)
    old = _get_variables(state)
    sizes: steps.Sizes = ()  # a Gibbs draw has no step sizes
    samples: Sequence[Any]
    if swept:
        counts = scale_counts(1.0)
        new = steps.draw_variables(config, seed, t, old, counts, moves)
        samples, etas = counts.tables, tuple(new.eta)
    else:
        rho = setup.facts.n_documents / statistics.documents
        counts = scale_counts(rho / setup.plan_sweeps(state).collect)
        new, sizes = steps.diffuse_variables(config, seed, t, old, counts, moves)
        samples, etas = new.phi, (0.0,) * len(new.phi)
    means = averages.LayerMeans(state.mean, state.averaged, state.variance, state.mean_r)
    means = averages.update_layer_means(means, samples, etas, new.r, moves.update_mean, averages.count_memory(t))
    state = state._replace(t=np.array(t), **new._asdict(), **means._asdict())
    learnt = _list_concentrations(config, state) if swept else ()
    return state, Info(sizes, float("nan"), int(statistics.tokens), int(statistics.draws), events, learnt)


def _list_concentrations(config: Config, state: State) -> tuple[Concentration, ...]:
    """Return the concentrations that a sweep drew."""
    learnt: list[Concentration] = []
    if config.learn_concentrations:
        learnt += [Concentration("eta", layer, float(eta)) for layer, eta in enumerate(state.eta, start=1)]
    if config.learn_concentrations or config.sample_gamma0:
        learnt += [Concentration("gamma0", 0, float(state.gamma0)), Concentration("c0", 0, float(state.c0))]
    return tuple(learnt)


def _settle_documents(
    setup: _DldaSetup, seed: int, state: State, docs: Batch, local: SweptDocuments | None
) -> Locals | None:
    """Redraw theta of the swept documents under the topics that were drawn from their counts."""
    if local is None:
        return None
    address = Address(seed, streams.REDRAW, int(state.t))
    setup.sampler.redraw_theta(setup.pack_globals(state), address, docs, local.locals, local.counts)
    return local.locals


def _scale_counts(setup: _DldaSetup, seed: int, state: State, statistics: DldaStatistics, factor: float) -> LayerCounts:
    """Return the counts of documents, times a factor, as tables of the current layers."""
    glob = setup.pack_globals(state, np.zeros(0, dtype=np.int64))
    address = Address(seed, streams.LOCAL, int(state.t) + 1)
    return setup.sampler.scale_counts(glob, address, read_arrays(statistics.counted), factor)


def _infer_theta(setup: _DldaSetup, seed: int, state: State, docs: Batch, sweeps: Sweeps | None) -> Local:
    """Return posterior means of theta for new documents, with topics fixed."""
    plan = plan_inference(len(state.phi), sweeps, setup.plan_sweeps(state).first_rates)
    return setup.sampler.place_documents(setup.pack_globals(state), Address(seed, streams.INFER, 0), docs, plan)


class DldaChain(NamedTuple):
    """Local chains of documents under evaluation: ``clock`` () int64 counts the calls; the rest is as in ``Locals``."""

    clock: Array
    topics: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    link_scale: FloatArray


def start_chain(sampler: Sampler, glob: Globals, seed: int, docs: Batch) -> DldaChain:
    """Return the initial chains of documents under evaluation."""
    local = sampler.start_locals(glob, docs, Address(seed, streams.CHAIN, 0))
    return DldaChain(np.array(0, dtype=np.int64), *local)


def advance_chain(
    sampler: Sampler, glob: Globals, seed: int, chain: DldaChain, observed: Batch, scored: Batch, sweeps: Sweeps
) -> tuple[DldaChain, Rates]:
    """Return the chains after more sweeps, as a copy, and the summed rates of the ``scored`` cells."""
    local = Locals(*(values.copy() for values in chain[1:]))
    clock = int(chain.clock) + 1
    rates = sampler.rate_cells(glob, Address(seed, streams.CHAIN, clock), observed, scored, local, sweeps)
    return DldaChain(np.array(clock), *local), rates


def _infer_on_device(
    setup: _DldaSetup, sweeper: DeviceSweeper, seed: int, state: State, docs: Batch, sweeps: Sweeps | None
) -> Local:
    """Place new documents on a device, as `_infer_theta` does on the CPU."""
    plan = plan_inference(len(state.phi), sweeps, setup.plan_sweeps(state).first_rates)
    return sweeper.place_documents(state.phi, state.r, docs, Address(seed, streams.INFER, 0), plan)


def _start_on_device(sweeper: DeviceSweeper, seed: int, state: State, docs: Batch) -> DldaChain:
    """Return the initial chains of documents under evaluation, as `start_chain` does on the CPU."""
    local = sweeper.start_chain(state.phi, state.r, docs, Address(seed, streams.CHAIN, 0))
    return DldaChain(np.array(0, dtype=np.int64), *local)


def _advance_on_device(
    sweeper: DeviceSweeper, seed: int, state: State, chain: DldaChain, observed: Batch, scored: Batch, sweeps: Sweeps
) -> tuple[DldaChain, Rates]:
    """Return the chains after more sweeps on a device, as `advance_chain` does on the CPU."""
    widths, clock = tuple(layer.shape[1] for layer in state.phi), int(chain.clock) + 1
    local, rates = sweeper.rate_cells(
        state.phi, state.r, observed, scored, sweeper.load_locals(Locals(*chain[1:]), widths),
        Address(seed, streams.CHAIN, clock), SweepPlan(fresh=False, **sweeps._asdict()),
    )  # fmt: skip
    return DldaChain(np.array(clock), *sweeper.wrap_locals(local, widths)), rates
