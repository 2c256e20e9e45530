"""Deep latent Dirichlet allocation: the Poisson gamma belief network, by SG-MCMC, batch Gibbs or one after the other.

Cong, Chen, Liu and Zhou, "Deep latent Dirichlet allocation with topic-layer-adaptive stochastic
gradient Riemannian MCMC" (ICML 2017); equation numbers are that paper's.  The generative model:

    theta^(L) ~ Gam(r, 1/c^(L+1)),  theta^(l) ~ Gam(Phi^(l+1) theta^(l+1), 1/c^(l+1)),  x ~ Pois(Phi^(1) theta^(1)),
    phi_k^(l) ~ Dir(eta^(l)),  r_k ~ Gam(gamma_0/K_L, 1/c_0),  c^(l) ~ Gam(e_0, 1/f_0),  p^(2) ~ Beta(a_0, b_0).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine import first_topics, phases, schedule, streams, widths
from engine.contract import Array, Batch, Event, Facts, FloatArray, Info, Kernel, Local, Rates, Sweeps, Topics
from engine.gibbs import augment
from engine.gibbs.gibbs import Address, Plan
from engine.gibbs.local import LINKS, Collected, Locals, Sampler, Sums, inferred
from engine.gibbs.tokens import Globals
from engine.gibbs.upper import Hyper
from engine.hierarchy import topics
from engine.jit import compiled
from engine.pool import Pool
from engine.settings import ALWAYS, PRIORS, SWEEPS, SettingError, check, setting
from engine.topic_moves import averages, diffusion, dirichlet, simplex

TITLE = "DLDA: deep latent Dirichlet allocation"
CHILD = "A parent is a mixture of the topics below it: the weight of a line is the child's part of its parent."
PRESETS = {
    "paper": {  # Table 1
        "inference": "tlasgr", "start": "flat", "simplex": "clamp", "burn_in": "20", "collect": "10", "settle": "10",
        "batch_size": "200", "step": "1", "tau": "20", "kappa": "0.7", "scale_step": "0.5", "eta": "0.05",
        "gamma0": "1", "minibatches": "3500",
    }
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of DLDA; those of Table 1 of the paper are the preset "paper"."""

    layers: tuple[int, ...] = widths.layers_setting()
    inference: str = setting(
        "auto",
        ALWAYS,
        "Inference",
        "auto: TLASGR on mini-batches, then Gibbs sweeps of every document where the corpus allows; tlasgr, tlfsgr and "
        "sgrld stay with mini-batches; gibbs begins with sweeps.",
        choices=("auto", "tlasgr", "tlfsgr", "sgrld", "gibbs"),
    )
    start: str = setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means), which gives far better topics; flat: nearly equal ones, "
        "as the paper.",
        choices=("clusters", "flat"),
    )
    link: str = setting(
        "poisson",
        ALWAYS,
        "Data",
        "poisson: counts; bernoulli: present or absent; gamma: non-negative real values such as pixels.",
        choices=tuple(LINKS),
    )
    batch_size: int = setting(
        200, SWEEPS, "Mini-batch size", "Documents per mini-batch (not used by Gibbs).", low=1, high=10**7
    )
    first_minibatches: int = setting(
        0,
        SWEEPS,
        "Mini-batches before the sweeps",
        "When inference is auto: so many mini-batches come before the sweeps of every document.",
        low=0,
        high=10**7,
    )
    eta: tuple[float, ...] = setting(
        (0.03,),
        PRIORS,
        "Topic smoothing eta",
        "Dirichlet parameter of the topics: one number, or one per layer separated by commas.",
        low=1e-6,
        high=100,
    )
    sampler: str = setting(
        "collapsed",
        SWEEPS,
        "Local sampler",
        "collapsed: activations of layer 1 integrated out (fast, Poisson only); plain: every variable drawn.",
        choices=("collapsed", "plain"),
    )
    statistics: str = setting(
        "sampled",
        SWEEPS,
        "Statistics",
        "sampled counts, or expected (Rao-Blackwellised) counts as the authors used on RCV1 and Wiki.",
        choices=("sampled", "expected"),
    )
    burn_in: int = setting(
        5, SWEEPS, "Burn-in sweeps per layer", "Local sweeps per layer before counts are kept.", low=0, high=10**4
    )
    collect: int = setting(
        3, SWEEPS, "Collected sweeps per layer", "Local sweeps per layer whose counts are kept.", low=1, high=10**4
    )
    settle: int = setting(
        10,
        SWEEPS,
        "First draw of rates",
        "Sweep from which the rates p and c are drawn; before it they stay at 1.",
        low=1,
        high=10**4,
    )
    step: float = schedule.first_setting()
    tau: float = schedule.delay_setting()
    kappa: float = schedule.decay_setting()
    scale_step: float = schedule.scale_setting()
    simplex: str = diffusion.step_setting("exact")
    grow: bool = widths.grow_setting()
    grow_every: int = widths.every_setting()
    prune_below: float = widths.below_setting()
    a0: float = setting(0.01, PRIORS, "a_0", "Beta prior of p^(2).", low=1e-9)
    b0: float = setting(0.01, PRIORS, "b_0", "Beta prior of p^(2).", low=1e-9)
    e0: float = setting(1.0, PRIORS, "e_0", "Gamma prior shape of the rates c.", low=1e-9)
    f0: float = setting(1.0, PRIORS, "f_0", "Gamma prior rate of the rates c.", low=1e-9)
    gamma0: float = setting(1.0, PRIORS, "gamma_0", "Total shape of the prior of r.", low=1e-9)
    c0: float = setting(1.0, PRIORS, "c_0", "Rate of the prior of r.", low=1e-9)
    sample_gamma0: bool = setting(
        False,
        PRIORS,
        "Sample gamma_0 and c_0",
        "Draw gamma_0 and c_0 too, as Zhou, Cong and Chen (2016) do; Gibbs only.",
    )

    def __post_init__(self) -> None:
        check(self)
        if len(self.eta) not in (1, len(self.layers)):
            raise SettingError(f"eta needs 1 value or {len(self.layers)}, one per layer; got {len(self.eta)}")
        if self.sample_gamma0 and self.inference != "gibbs":
            raise SettingError("sample_gamma0 needs inference gibbs; got " + self.inference)
        if self.statistics == "expected" and self.link != "poisson":
            raise SettingError("statistics expected needs link poisson; got " + self.link)
        if self.statistics == "expected" and self.inference == "gibbs":
            raise SettingError("statistics expected needs mini-batches: tlasgr, tlfsgr or sgrld; got gibbs")
        if self.first_minibatches and not self.may_sweep:
            raise SettingError(
                "first_minibatches needs inference auto, link poisson, the collapsed sampler with sampled statistics, "
                "and widths that are given; leave it out"
            )

    @property
    def collapsed(self) -> bool:
        """Whether the fast sampler applies: Poisson counts and sampled statistics."""
        return self.sampler == "collapsed" and self.link == "poisson" and self.statistics == "sampled"

    @property
    def may_sweep(self) -> bool:
        """Whether mini-batches may be followed by sweeps: the fast sampler makes these cheap; widths stay."""
        return self.inference == "auto" and self.collapsed and not self.grow

    @property
    def until_plateau(self) -> bool:
        """Whether a run whose length nobody gave ends where its curve no longer falls."""
        return self.inference == "auto"

    def sweeps_after(self, facts: Facts) -> int | None:
        """After how many steps sweeps of all documents begin (see ``Kernel.sweeps_after``)."""
        if self.inference == "gibbs":
            return 0
        if self.first_minibatches:
            return self.first_minibatches
        return phases.sweeps_after(facts) if self.may_sweep else None

    def etas(self, n_layers: int) -> tuple[float, ...]:
        """Dirichlet parameter of every layer there is (a run that learns its widths begins with one)."""
        return self.eta * n_layers if len(self.eta) == 1 else self.eta[:n_layers]


class State(NamedTuple):
    """Everything the next step needs.

    ``t`` () int64 steps done; ``phi[l-1]`` (K_{l-1}, K_l); ``expanded`` the phi_hat of SGRLD (else none);
    ``r`` (K_L,); ``mean[l-1]``, of ``averaged[l-1]`` (K_l,) samples, and ``mean_r`` the means of both over the
    last ones (see :mod:`engine.topic_moves.averages`); ``scale[l-1]`` (K_l,) the M_k^(l) and ``top_scale`` () the
    M^(L+1), 0 before the first estimate; ``gamma0``, ``c0`` (); ``names`` and ``born`` as in
    :class:`engine.widths.Structure`; then the local variables of every training document where it is swept (empty
    otherwise): ``topics`` (tokens,), ``theta1`` (N, K_1), ``theta`` (N, K_2 + ...), ``c`` (N, L), ``link_scale`` (N,).
    """

    t: Array
    phi: tuple[FloatArray, ...]
    expanded: tuple[FloatArray, ...]
    r: FloatArray
    mean: tuple[Array, ...]
    averaged: tuple[Array, ...]
    mean_r: FloatArray
    scale: tuple[FloatArray, ...]
    top_scale: FloatArray
    gamma0: FloatArray
    c0: FloatArray
    names: tuple[Array, ...]
    born: Array
    topics: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    link_scale: FloatArray


class Swept(NamedTuple):
    """Documents between a sweep and the move of the topics: with each one's m of that sweep (see `Sampler.redraw`)."""

    locals: Locals
    counts: Array


class Statistics(NamedTuple):
    """What documents say of the topics: ``counted`` in the collected sweeps of so many ``documents`` and ``tokens``.

    ``draws`` are the topic assignments drawn for it.
    """

    counted: Sums
    documents: int
    tokens: float
    draws: float


class Chain(NamedTuple):
    """Local chains of documents under evaluation: ``clock`` () int64 calls so far, then as in Locals."""

    clock: Array
    topics: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    link_scale: FloatArray


class _Build(NamedTuple):
    """What the functions of the kernel share."""

    config: Config
    facts: Facts
    sampler: Sampler
    sweeps_after: int | None
    packed: dict[str, object]  # the last topics packed for the kernels: packing them costs a product

    def globals_of(self, state: State, words: Array | None = None) -> Globals:
        """The topics packed, for documents that have only these ``words``, or for any."""
        if self.packed.get("phi") is not state.phi or self.packed.get("r") is not state.r:
            glob = self.sampler.globals_of(state.phi, state.r, words)
            if words is not None:
                return glob
            self.packed.update(phi=state.phi, r=state.r, glob=glob)
        return self.packed["glob"]  # type: ignore[return-value]

    def sweeping(self, state: State) -> bool:
        """Whether the next step of this state reads every training document."""
        return self.sweeps_after is not None and int(state.t) >= self.sweeps_after

    def plan(self, state: State) -> Plan:
        n_layers = len(state.phi)
        burn_in = self.config.burn_in * n_layers
        settle = min(self.config.settle, max(burn_in // 2, 1))
        return Plan(fresh=True, burn_in=burn_in, collect=self.config.collect * n_layers, first_rates=settle)


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """The kernel of DLDA for a corpus; results do not depend on ``n_threads``."""
    hyper = Hyper(config.a0, config.b0, config.e0, config.f0)
    sampler = Sampler(hyper, LINKS[config.link], config.collapsed, config.statistics == "expected", Pool(n_threads))
    setup = _Build(config, facts, sampler, config.sweeps_after(facts), {})
    return Kernel(
        batch_size=config.batch_size,
        sweeps_after=setup.sweeps_after,
        measure="perplexity" if config.link == "poisson" else "log-likelihood",
        init=lambda seed: _init(setup, seed),
        prepare=lambda seed, state, docs: _prepare(setup, seed, state, docs) if config.inference == "gibbs" else state,
        gather=lambda seed, state, docs, local: _gather(setup, seed, state, docs, local),
        move=lambda seed, state, statistics: _move(setup, seed, state, statistics),
        settle=lambda seed, state, docs, local: _settle(setup, seed, state, docs, local),
        local=_local,
        with_local=_with_local,
        infer=lambda seed, state, docs, sweeps=None: _infer(setup, seed, state, docs, sweeps),
        topics=lambda state: Topics(state.phi, state.r),
        begin=lambda seed, docs: _begin(setup, seed, docs) if config.start == "clusters" else _init(setup, seed),
        averaged=_averaged,
        start_chain=lambda seed, state, docs: _start_chain(setup, seed, state, docs),
        advance_chain=lambda *arguments: _advance_chain(setup, *arguments),
        keep=_keep,
        restore=lambda seed, arrays: _restore(setup, seed, arrays),
    )


def _init(setup: _Build, seed: int) -> State:
    """Nearly flat topics, 0.05 + 0.95 U(0, 1) normalised, and r = 1/K_L (as the authors start)."""
    config = setup.config
    layers = widths.first_widths(config)
    rng = streams.generator(seed, streams.INIT)
    phi = tuple(widths.flat(rng, *shape) for shape in itertools.pairwise((setup.facts.n_words, *layers)))
    none = np.zeros(0)
    return State(
        t=np.array(0, dtype=np.int64),
        phi=phi,
        expanded=_expanded(config, phi),
        r=np.full(layers[-1], 1.0 / layers[-1]),
        **_unaveraged(phi, np.full(layers[-1], 1.0 / layers[-1])),
        scale=tuple(np.zeros(width) for width in layers),
        top_scale=np.array(0.0),
        gamma0=np.array(config.gamma0),
        c0=np.array(config.c0),
        names=widths.named(phi),
        born=np.array(0 if config.grow else widths.SETTLED, dtype=np.int64),
        topics=np.zeros(0, dtype=np.uint16),
        theta1=none,
        theta=none,
        c=none,
        link_scale=none,
    )


def _unaveraged(phi: tuple[FloatArray, ...], r: FloatArray) -> dict[str, Any]:
    """The means before the first sample."""
    means = [averages.begin(layer) for layer in phi]
    return {"mean": tuple(mean.phi for mean in means), "averaged": tuple(mean.samples for mean in means), "mean_r": r}


def _average(setup: _Build, state: State, samples: Sequence[Array], etas: Sequence[float]) -> State:
    """The state whose means have taken in one sample of every layer, and its r."""
    pool = setup.sampler.pool
    means, weight = [], np.zeros(0)
    for mean, averaged, sample, eta in zip(state.mean, state.averaged, samples, etas, strict=True):
        new, weight = averages.follow(averages.Mean(mean, averaged), sample, eta, pool)
        means.append(new)
    mean_r = state.mean_r + weight * (state.r - state.mean_r)
    return state._replace(
        mean=tuple(mean.phi for mean in means), averaged=tuple(mean.samples for mean in means), mean_r=mean_r
    )


def _begin(setup: _Build, seed: int, docs: Batch) -> State:
    """The state before the first step, its topics from clusters of documents (:mod:`engine.first_topics`)."""
    state = _init(setup, seed)
    layers = widths.first_widths(setup.config)
    phi, r = first_topics.topics(seed, docs, setup.facts.n_words, layers, setup.sampler.pool)[:2]
    return state._replace(phi=phi, r=r, expanded=_expanded(setup.config, phi), **_unaveraged(phi, r))


def _averaged(state: State) -> State:
    """The state with the means in place of the last topics, in double precision again."""
    phi = tuple(np.ascontiguousarray(mean / mean.sum(axis=0, dtype=np.float64)) for mean in state.mean)
    return state._replace(phi=phi, r=state.mean_r) if phi else state


def _expanded(config: Config, phi: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """The phi_hat of SGRLD: its sum relaxes to eta V whatever the data, so it starts there."""
    if config.inference != "sgrld":
        return ()
    return tuple(layer * eta * len(layer) for layer, eta in zip(phi, config.etas(len(phi)), strict=True))


def _keep(state: State) -> dict[str, Array]:
    """How far the schedule is, and the running averages M, so that another run can go on at the same pace."""
    kept: dict[str, Array] = {"t": state.t, "top_scale": state.top_scale} | widths.kept(state.names, state.born)
    return kept | {f"scale.{layer}": values for layer, values in enumerate(state.scale)}


def _restore(setup: _Build, seed: int, arrays: dict[str, Array]) -> State:
    """The state that goes on from a snapshot of this model, or of another with the same layers."""
    config = setup.config
    phi, r = topics.restored(arrays)[:2]
    scales = [f"scale.{layer}" for layer in range(len(phi))]
    ours = all(name in arrays for name in scales)
    t = int(arrays["t"]) if ours else 0
    scale = tuple(np.asarray(arrays[name], dtype=np.float64) for name in scales) if ours else ()
    names, born = widths.restored(arrays, phi, t, widths.rule_of(config))
    return _init(setup, seed)._replace(
        t=np.array(t, dtype=np.int64),
        phi=phi,
        expanded=_expanded(config, phi),
        r=r,
        **_unaveraged(phi, r),
        scale=scale or tuple(np.zeros(layer.shape[1]) for layer in phi),
        top_scale=np.asarray(arrays["top_scale"] if ours else 0.0, dtype=np.float64),
        names=names,
        born=born,
    )


def _grown(setup: _Build, seed: int, state: State) -> tuple[State, tuple[Event, ...]]:
    """The structure that the next step trains, where widths are learnt (DATM, Algorithm 2).

    The averages M of the topics that stay go on; those of a new layer, and of the r that is now another one,
    begin with their first estimate.
    """
    structure = widths.Structure(state.phi, state.r, state.names, state.born)
    change = widths.grow(seed, int(state.t), structure, widths.rule_of(setup.config))
    if change is None:
        return state, ()
    phi = change.structure.phi
    scale = (*state.scale[:-1], state.scale[-1][change.columns])
    expanded = (*state.expanded[:-1], state.expanded[-1][:, change.columns]) if state.expanded else ()
    top_scale = state.top_scale
    if change.added:
        scale = (*scale, np.zeros(phi[-1].shape[1]))
        expanded = (*expanded, _expanded(setup.config, phi)[-1]) if expanded else ()
        top_scale = np.array(0.0)
    means = _unaveraged(phi, change.structure.r)
    state = state._replace(scale=scale, expanded=expanded, top_scale=top_scale, **means, **change.structure._asdict())
    return state, change.events


def _prepare(setup: _Build, seed: int, state: State, docs: Batch) -> State:
    """Local variables of every training document, where batch Gibbs starts."""
    return _with_local(state, setup.sampler.fresh(setup.globals_of(state), docs, Address(seed, streams.INIT, 0)))


def _local(state: State) -> Locals | None:
    """The local variables that a state holds; None of a state that holds none."""
    if not len(state.c):
        return None
    return Locals(state.topics, state.theta1, state.theta, state.c, state.link_scale)


def _with_local(state: State, local: Locals | None) -> State:
    if local is None:
        return state
    return state._replace(
        topics=local.topics, theta1=local.theta1, theta=local.theta, c=local.c, link_scale=local.scale
    )


def _copied(local: Locals) -> Locals:
    """Local variables for a sweep to change."""
    return Locals(*(values.copy() for values in local))


def _gather(
    setup: _Build, seed: int, state: State, docs: Batch, local: Locals | None
) -> tuple[Statistics, Swept | None]:
    """Sweep documents: a mini-batch from rest, or all of them from where they are (sections 2 and 3).

    Phi^(l+1) and r are drawn with theta^(l) integrated out, so that of the sweep of all documents its theta do not
    belong to them: `_settle` draws these.
    """
    swept = setup.sweeping(state)
    state, events = _grown(setup, seed, state)
    t = int(state.t) + 1
    plan = setup.plan(state)
    if swept and local is not None and not events:
        plan = Plan(fresh=False, burn_in=0, collect=1, first_rates=1 if t >= setup.config.settle else 2)
        own = _copied(local)
        glob = setup.globals_of(state)
    else:  # a mini-batch, or documents that were never swept or in other layers: they come to rest first
        plan = plan._replace(collect=1) if swept else plan
        glob = setup.globals_of(state, None if swept else np.unique(docs.words))
        own = setup.sampler.empty(glob, docs)
    counted, counts = setup.sampler.gather(
        glob, Address(seed, streams.LOCAL, t), docs, own, plan, setup.facts.n_tokens if swept else 0
    )
    tokens = float(len(own.topics) or docs.counts.sum(dtype=np.float64))
    statistics = Statistics(counted, len(docs.documents), tokens, tokens * (plan.burn_in + plan.collect))
    return statistics, Swept(own, counts) if swept else None


def _move(setup: _Build, seed: int, state: State, statistics: Statistics) -> tuple[State, Info]:
    """The topics of every layer and r, in the phase that the state is in."""
    if not state.mean:  # of a checkpoint that was written before there were means
        state = state._replace(**_unaveraged(state.phi, state.r))
    move = _draw if setup.sweeping(state) else _diffuse
    state, events = _grown(setup, seed, state)
    state, sizes = move(setup, seed, state, statistics)
    return state, Info(sizes, float("nan"), int(statistics.tokens), int(statistics.draws), events)


def _settle(setup: _Build, seed: int, state: State, docs: Batch, local: Swept | None) -> Locals | None:
    """Theta of the documents under the topics that were drawn from their sweep."""
    if local is None:
        return None
    address = Address(seed, streams.REDRAW, int(state.t))
    setup.sampler.redraw(setup.globals_of(state), address, docs, local.locals, local.counts)
    return local.locals


def _draw(setup: _Build, seed: int, state: State, statistics: Statistics) -> tuple[State, tuple[FloatArray, ...]]:
    """Phi and r from their conditionals, after one sweep of every document (section 2); no step sizes."""
    config, pool = setup.config, setup.sampler.pool
    t = int(state.t) + 1
    got = _collected(setup, seed, state, statistics, 1.0)
    phi = tuple(
        dirichlet.draw(table, eta, seed, t, layer, pool)
        for layer, (table, eta) in enumerate(zip(got.tables, config.etas(len(state.phi)), strict=True))
    )
    gamma0, c0 = float(state.gamma0), float(state.c0)
    if config.sample_gamma0:
        gamma0, c0 = _draw_gamma0(seed, t, got.top, got.q, gamma0, state.r)
    r = simplex.shapes_gibbs(got.top, got.q, gamma0, c0, seed, t)
    state = state._replace(t=np.array(t), phi=phi, r=r, gamma0=np.array(gamma0), c0=np.array(c0))
    return _average(setup, state, got.tables, config.etas(len(phi))), ()


def _collected(setup: _Build, seed: int, state: State, statistics: Statistics, factor: float) -> Collected:
    """The counts of documents, as tables of the layers of now."""
    glob = setup.globals_of(state, np.zeros(0, dtype=np.int64))
    address = Address(seed, streams.LOCAL, int(state.t) + 1)
    return setup.sampler.collected(glob, address, statistics.counted, factor)


@compiled
def _draw_gamma0(seed: int, t: int, top: FloatArray, q: float, gamma0: float, r: FloatArray) -> tuple[float, float]:
    """c_0 ~ Gam(1 + gamma_0, 1/(1 + r_.)), gamma_0 ~ Gam(0.01 + tables, 1/(0.01 - ln(1 - p'))) (GBN, section 3)."""
    rng = streams.stream(seed, streams.SHAPES, t, len(r) + 1)
    draw, rng = augment.gamma(rng, 1.0 + gamma0)
    c0 = draw / (1.0 + r.sum())
    tables = 0
    for k in range(len(top)):
        n, rng = augment.crt(rng, np.int64(top[k]), gamma0 / len(top))
        tables += n
    draw, rng = augment.gamma(rng, 0.01 + tables)
    return draw / (0.01 + np.log1p(q / c0)), c0


def _diffuse(setup: _Build, seed: int, state: State, statistics: Statistics) -> tuple[State, tuple[FloatArray, ...]]:
    """One step of SG-MCMC after a mini-batch: the running averages M, then Phi and r (section 3); its step sizes."""
    config = setup.config
    t = int(state.t) + 1
    eps = schedule.step_size(schedule.Schedule(config.step, config.tau, config.kappa), t)
    rho = setup.facts.n_documents / statistics.documents
    got = _collected(setup, seed, state, statistics, rho / setup.plan(state).collect)
    rate = config.scale_step * _scale_rate(config, t)
    scale = tuple(
        schedule.averaged(old, table.sum(axis=0), rate) for old, table in zip(state.scale, got.tables, strict=True)
    )
    top_scale = schedule.averaged(state.top_scale, np.array(got.q), rate)
    used = _used_scales(config, scale)
    phi, expanded = _walk(setup, seed, state, got, used, eps, t)
    walk = diffusion.STEPS[config.simplex].shapes
    r = walk(state.r, got.top, got.q, config.gamma0, config.c0, float(top_scale), eps, seed, t)
    sizes = (
        *(eps / np.maximum(m, simplex.LEAST_SCALE) for m in used),
        eps / np.maximum(top_scale, simplex.LEAST_SCALE)[None],
    )
    state = state._replace(t=np.array(t), phi=phi, expanded=expanded, r=r, scale=scale, top_scale=top_scale)
    return _average(setup, state, phi, (0.0,) * len(phi)), sizes


def _scale_rate(config: Config, t: int) -> float:
    """eps'_t / scale_step; SGRLD has its own schedule for Phi, but M always follows that of TLASGR."""
    if config.inference == "sgrld":
        return schedule.step_size(schedule.Schedule(), t)
    return schedule.step_size(schedule.Schedule(config.step, config.tau, config.kappa), t)


def _used_scales(config: Config, scale: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """The M that divides eps_t: per topic (TLASGR), one for all (TLFSGR), none (SGRLD)."""
    if config.inference == "tlasgr":
        return scale
    common = float(scale[0].mean()) if config.inference == "tlfsgr" else 1.0
    return tuple(np.full_like(m, common) for m in scale)


def _walk(
    setup: _Build, seed: int, state: State, got: Collected, used: tuple[FloatArray, ...], eps: float, t: int
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Topics of every layer after the mini-batch, and the phi_hat of SGRLD."""
    config, pool = setup.config, setup.sampler.pool
    layers = enumerate(zip(got.tables, config.etas(len(state.phi)), strict=True))
    if config.inference == "sgrld":
        expanded = tuple(
            simplex.sgrld(state.expanded[layer], table, eta, eps, seed, t, layer, pool)
            for layer, (table, eta) in layers
        )
        return tuple(simplex.normalised(table, pool) for table in expanded), expanded
    move = diffusion.STEPS[config.simplex].topics
    phi = tuple(
        move(state.phi[layer], table, eta, used[layer], eps, seed, t, layer, pool) for layer, (table, eta) in layers
    )
    return phi, ()


def _infer(setup: _Build, seed: int, state: State, docs: Batch, sweeps: Sweeps | None) -> Local:
    plan = inferred(len(state.phi), sweeps, setup.plan(state).first_rates)
    return setup.sampler.place(setup.globals_of(state), Address(seed, streams.INFER, 0), docs, plan)


def _start_chain(setup: _Build, seed: int, state: State, docs: Batch) -> Chain:
    local = setup.sampler.fresh(setup.globals_of(state), docs, Address(seed, streams.CHAIN, 0))
    return Chain(np.array(0, dtype=np.int64), *local)


def _advance_chain(
    setup: _Build, seed: int, state: State, chain: Chain, observed: Batch, scored: Batch, sweeps: Sweeps
) -> tuple[Chain, Rates]:
    local = Locals(*(values.copy() for values in chain[1:]))
    clock = int(chain.clock) + 1
    rates = setup.sampler.rate(
        setup.globals_of(state), Address(seed, streams.CHAIN, clock), observed, scored, local, sweeps
    )
    return Chain(np.array(clock), *local), rates
