"""Deep Poisson factor analysis: a network of binary units decides which topics a document may use.

Gan, Chen, Henao, Carlson and Carin, "Scalable deep Poisson factor analysis for topic modeling" (ICML 2015); equation
numbers are that paper's.  The generative model, with p = 1/2:

    h^(L) ~ Bernoulli(sigmoid(c^(L))),  h^(l) ~ Bernoulli(sigmoid(W^(l) h^(l+1) + c^(l))),
    theta_k ~ Gam(r_k, p / (1 - p)),  x ~ Pois(Phi (theta o h^(1))),  phi_k ~ Dir(a_phi),  r_k ~ Gam(gamma_0, 1/c_0).

With one layer it is NB-FTM (Zhou and Carin, 2015).  Theta and h^(1) are integrated out of the draws of tokens
(:mod:`engine.belief.documents`), which leaves the law of the sampler of section 3.1 as it is.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine import first_topics, phases, schedule, streams, widths
from engine.belief import documents, influence, means, network, sampler, steps, thermostats
from engine.belief.documents import Plan
from engine.belief.sampler import Globals, Locals
from engine.contract import BINARY, GAMMA, SIGMOID, SIGNED, Array, Batch, Facts, FloatArray, Info, Kernel, Link, Topics
from engine.gibbs.gibbs import Address
from engine.hierarchy.topics import numbered
from engine.pool import Pool
from engine.settings import ALWAYS, PRIORS, STEP_SIZES, SWEEPS, SettingError, check, setting
from engine.topic_moves import averages

TITLE = "DPFA: deep Poisson factor analysis"
CHILD = "A child is a topic that documents use more often (or, with a dashed line, less often) when its parent is on."
PRESETS = {
    "paper": {
        "inference": "gibbs", "shrinkage": "student", "start": "flat", "everything_on": "50", "a_phi": "0.05",
        "gamma0": "1", "c0": "1", "minibatches": "3500",
    },
    "paper-sgnht": {
        "inference": "sgnht", "shrinkage": "gaussian", "start": "flat", "topic_step": "sgrld", "step": "0.1",
        "tau": "0", "kappa": "0.33", "batch_size": "100", "burn_in": "20", "collect": "3", "everything_on": "0",
        "minibatches": "3500",
    },
    "paper-bcdf": {
        "inference": "bcdf", "shrinkage": "gaussian", "start": "flat", "batch_size": "100",
        "filter_burn_in": "60", "filter_collect": "40", "everything_on": "0", "minibatches": "3500",
    },
}  # fmt: skip
MOST_MOMENTS = 100_000_000  # numbers in the Gram matrices of the links: 0.8 GB
FIRST_SHAPES = 50.0  # sum of the r_k where a run begins


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of DPFA; those of the paper are the presets."""

    layers: tuple[int, ...] = widths.layers_setting()
    hierarchy: str = setting(
        "sbn",
        ALWAYS,
        "Hierarchy",
        "sbn: a directed network, whose units above explain those below; rbm: an undirected one, in mini-batches only.",
        choices=("sbn", "rbm"),
    )
    inference: str = setting(
        "auto",
        ALWAYS,
        "Inference",
        "auto: sweeps of every document (gibbs) where the corpus allows, else sgnht; sgnht and bcdf read mini-batches.",
        choices=("auto", "gibbs", "bcdf", "sgnht"),
    )
    shrinkage: str = setting(
        "student",
        ALWAYS,
        "Shrinkage of the weights",
        "student: most weights near 0 and a few large ones, which is easier to read; gaussian: all weights alike.",
        choices=("student", "gaussian"),
    )
    start: str = setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means); flat: nearly equal ones, as the paper.",
        choices=("clusters", "flat"),
    )
    everything_on: int = setting(
        50,
        SWEEPS,
        "First steps with every topic on",
        "So many steps come before the network is drawn at all, so that topics find their words first.",
        low=0,
        high=10**6,
    )
    batch_size: int = setting(
        100, SWEEPS, "Mini-batch size", "Documents per mini-batch (not used by Gibbs).", low=1, high=10**7
    )
    burn_in: int = setting(
        20, SWEEPS, "Burn-in sweeps", "SGNHT: local sweeps of a mini-batch before any is kept.", low=0, high=10**4
    )
    collect: int = setting(
        3, SWEEPS, "Collected sweeps", "SGNHT: local sweeps of a mini-batch that are kept.", low=1, high=10**4
    )
    filter_burn_in: int = setting(
        60, SWEEPS, "Burn-in sweeps of BCDF", "BCDF: local sweeps before any is kept.", low=0, high=10**4
    )
    filter_collect: int = setting(
        40, SWEEPS, "Collected sweeps of BCDF", "BCDF: local sweeps whose counts are kept.", low=1, high=10**4
    )
    forget: float = setting(
        0.0,
        SWEEPS,
        "Forgetting of BCDF",
        "Part of what was counted that every mini-batch replaces; 0: all mini-batches count alike, as in the paper.",
        low=0,
        high=1,
    )
    topic_step: str = setting(
        "exact",
        STEP_SIZES,
        "Step of the topics",
        "SGNHT: exact transitions with a step for every topic; clamp: their Euler steps; sgrld: as the paper.",
        choices=("exact", "clamp", "sgrld"),
    )
    step: float = schedule.first_setting()
    tau: float = schedule.delay_setting()
    kappa: float = schedule.decay_setting()
    weight_step: float = setting(
        4.5e-4,
        STEP_SIZES,
        "Step of the weights",
        "SGNHT: square of the step size, times the number of documents.",
        low=1e-12,
        high=1,
    )
    noise: float = setting(
        8e-4, STEP_SIZES, "Noise of the thermostats", "SGNHT: noise C that is injected.", low=1e-12, high=1
    )
    a_phi: float = setting(
        0.05, PRIORS, "Topic smoothing a_phi", "Dirichlet parameter of the topics.", low=1e-6, high=100
    )
    gamma0: float = setting(1.0, PRIORS, "gamma_0", "Shape of the prior of r.", low=1e-9)
    c0: float = setting(1.0, PRIORS, "c_0", "Rate of the prior of r.", low=1e-9)

    def __post_init__(self) -> None:
        check(self)
        if self.hierarchy == "rbm" and self.inference in ("gibbs", "bcdf"):
            raise SettingError(f"hierarchy rbm needs inference sgnht (or auto); got {self.inference}")
        if self.inference in ("gibbs", "bcdf") and self.moments > MOST_MOMENTS:
            raise SettingError(f"layers as wide as these need inference sgnht; got {self.inference}")

    @property
    def moments(self) -> int:
        """Numbers in the Gram matrices that draws of the weights need."""
        links = itertools.pairwise(self.layers)
        return sum(below * (above + 1) * (above + 2) // 2 for below, above in links)

    @property
    def until_plateau(self) -> bool:
        """Whether a run whose length nobody gave ends where its curve no longer falls."""
        return self.inference == "auto"

    def sweeps_after(self, facts: Facts) -> int | None:
        """Every step reads all documents, or none does (see ``Kernel.sweeps_after``)."""
        return 0 if self.chosen(facts) == "gibbs" else None

    def chosen(self, facts: Facts) -> str:
        """The inference that ``auto`` comes to for a corpus, or the one that was asked for."""
        if self.inference != "auto":
            return self.inference
        swept = self.hierarchy == "sbn" and self.moments <= MOST_MOMENTS and phases.sweeps_after(facts) is not None
        return "gibbs" if swept else "sgnht"


class State(NamedTuple):
    """Everything the next step needs.

    ``t`` () int64 steps done; ``phi`` to ``filtered`` as in :class:`engine.belief.steps.Variables`; ``load`` (K_1,) the
    share of tokens and ``active`` (units,) mean activation, over the last sweeps; ``mean`` to ``mean_biases`` the means
    over the last samples, as in :class:`engine.belief.means.Means`; then, where every document is swept (empty
    otherwise), ``topics`` (tokens,) and ``h`` (N, units).
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
    mean_shapes: FloatArray
    mean_weights: tuple[FloatArray, ...]
    mean_biases: tuple[FloatArray, ...]
    topics: Array
    h: Array


class _Build(NamedTuple):
    """What the functions of the kernel share."""

    config: Config
    facts: Facts
    inference: str
    pool: Pool

    @property
    def sweeps(self) -> bool:
        return self.inference == "gibbs"

    @property
    def shared(self) -> steps.Setup:
        return steps.Setup(self.config, self.facts.n_documents, self.pool)

    def plan(self, t: int) -> Plan:
        """How documents are swept in step ``t``."""
        config, everything = self.config, t <= self.config.everything_on
        if self.inference == "gibbs":
            return Plan(fresh=False, burn_in=0, collect=1, thin=1, everything=everything, wants=documents.MOMENTS)
        if self.inference == "bcdf":
            lengths, wants = (config.filter_burn_in, config.filter_collect), documents.MOMENTS
        else:
            lengths, wants = (config.burn_in, config.collect), documents.GRADIENT
        burn_in, collect = lengths
        return Plan(fresh=True, burn_in=burn_in, collect=collect, thin=1, everything=everything, wants=wants)

    def globals_of(self, state: State) -> Globals:
        undirected = self.config.hierarchy == "rbm"
        return Globals(state.phi, state.shapes, network.pack(state.weights, state.biases, undirected=undirected))


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """The kernel of DPFA for a corpus; results do not depend on ``n_threads``."""
    setup = _Build(config, facts, config.chosen(facts), Pool(n_threads))
    move = {"gibbs": steps.gibbs, "bcdf": steps.bcdf, "sgnht": steps.sgnht}[setup.inference]
    kernel = Kernel(
        batch_size=config.batch_size,
        sweeps_after=config.sweeps_after(facts),
        measure="perplexity",
        init=lambda seed: _init(setup, seed),
        begin=lambda seed, docs: _begin(setup, seed, docs) if config.start == "clusters" else _init(setup, seed),
        prepare=lambda seed, state, docs: _prepare(setup, seed, state, docs) if setup.sweeps else state,
        gather=lambda seed, state, docs, local: _gather(setup, seed, state, docs, local),
        move=lambda seed, state, statistics: _move(setup, seed, state, statistics, move),
        infer=lambda seed, state, docs, sweeps=None: sampler.placed(
            setup.globals_of(state), Address(seed, streams.INFER, 0), docs, sweeps, setup.pool
        ),
        topics=lambda state: _topics(setup, state),
        averaged=_averaged,
        start_chain=lambda seed, state, docs: sampler.start_chain(setup.globals_of(state), seed, docs, setup.pool),
        advance_chain=lambda seed, state, chain, observed, scored, sweeps: sampler.advance_chain(
            setup.globals_of(state), seed, chain, observed, scored, sweeps, setup.pool
        ),
        keep=_keep,
        restore=lambda seed, arrays: _restore(setup, seed, arrays),
    )
    return kernel._replace(local=_local, with_local=_with_local) if setup.sweeps else kernel


def _init(setup: _Build, seed: int) -> State:
    """Nearly flat topics, weights 0.1 N(0, 1), biases 0 and r = 50/K (as the authors start)."""
    layers, rng = setup.config.layers, streams.generator(seed, streams.INIT)
    phi = widths.flat(rng, setup.facts.n_words, layers[0])
    weights = tuple(0.1 * rng.standard_normal(shape) for shape in itertools.pairwise(layers))
    biases = tuple(np.zeros(width) for width in layers)
    shapes = np.full(layers[0], FIRST_SHAPES / layers[0])
    return State(
        t=np.array(0, dtype=np.int64),
        phi=phi,
        expanded=_expanded(setup, phi),
        scale=np.zeros(layers[0]),
        shapes=shapes,
        weights=weights,
        precision=tuple(np.ones_like(table) for table in weights),
        biases=biases,
        thermostats=thermostats.begin(layers, setup.config.noise) if setup.inference == "sgnht" else (),
        filtered=(),
        load=np.full(layers[0], 1.0 / layers[0]),
        active=np.full(sum(layers), 0.5),
        **means.begin(phi, shapes, weights, biases)._asdict(),
        topics=np.zeros(0, dtype=np.uint16),
        h=np.zeros((0, sum(layers)), dtype=np.int8),
    )


def _expanded(setup: _Build, phi: FloatArray) -> FloatArray:
    """The phi_hat of SGRLD: its sum relaxes to a_phi V, so it starts there."""
    if setup.inference != "sgnht" or setup.config.topic_step != "sgrld":
        return np.zeros((0, phi.shape[1]))
    return phi * (setup.config.a_phi * len(phi))


def _begin(setup: _Build, seed: int, docs: Batch) -> State:
    """The state before the first step, its topics from clusters of documents (:mod:`engine.first_topics`).

    Units above begin as clusters of those below.
    """
    state = _init(setup, seed)
    first = first_topics.topics(seed, docs, setup.facts.n_words, setup.config.layers, setup.pool)
    phi = first.phi[0]
    weights, lower = network.from_clusters(state.weights, first.phi[1:])
    biases = (*lower, state.biases[-1])
    mean = means.begin(phi, state.shapes, weights, biases)
    return state._replace(phi=phi, expanded=_expanded(setup, phi), weights=weights, biases=biases, **mean._asdict())


def _averaged(state: State) -> State:
    """The state with the means in place of the last sample, in double precision again."""
    phi = np.ascontiguousarray(state.mean / state.mean.sum(axis=0, dtype=np.float64))
    return state._replace(phi=phi, shapes=state.mean_shapes, weights=state.mean_weights, biases=state.mean_biases)


def _topics(setup: _Build, state: State) -> Topics:
    """The hierarchy: topics over words, then signed weights; ``r`` the log-odds of the top units."""
    active = network.by_layer(state.active, setup.config.layers)
    theta = 0.5 * (setup.facts.n_tokens / max(setup.facts.n_documents, 1) * state.load / np.maximum(active[0], 1e-9))
    return Topics(
        phi=(state.phi, *state.weights),
        r=state.biases[-1],
        links=tuple(Link(SIGNED, SIGMOID, bias) for bias in state.biases[:-1]),
        units=(GAMMA, *(BINARY,) * len(state.weights)),
        popularity=influence.popularity(state.load, active, state.weights, state.biases),
        means=(theta + 0.5 * state.shapes, *active[1:]),
        directed=setup.config.hierarchy == "sbn",
    )


def _keep(state: State) -> dict[str, Array]:
    """What goes on beside topics, weights and top biases: the shapes r, the other biases, and how far the run is."""
    kept: dict[str, Array] = {"t": state.t, "shapes": state.shapes, "load": state.load, "active": state.active}
    kept |= {"scale": state.scale}
    kept |= {f"biases.{layer}": bias for layer, bias in enumerate(state.biases[:-1])}
    return kept | {f"precision.{layer}": table for layer, table in enumerate(state.precision)}


def _restore(setup: _Build, seed: int, arrays: dict[str, Array]) -> State:
    """The state that goes on from a snapshot of this model, or of another with the same layers."""
    begin = _init(setup, seed)
    first, *upper = (np.asarray(table, dtype=np.float64) for table in numbered(arrays, "phi"))
    phi, weights = np.ascontiguousarray(first / first.sum(axis=0)), tuple(upper)
    lower = tuple(np.asarray(bias, dtype=np.float64) for bias in numbered(arrays, "biases")) or begin.biases[:-1]
    biases = (*lower, np.asarray(arrays["r"], dtype=np.float64))
    names = ("shapes", "load", "active", "scale")
    found: dict[str, Any] = {name: np.asarray(arrays[name], dtype=np.float64) for name in names if name in arrays}
    state = begin._replace(**found)
    precision = tuple(np.asarray(table, dtype=np.float64) for table in numbered(arrays, "precision"))
    return state._replace(
        t=np.array(int(arrays["t"]) if "shapes" in arrays else 0, dtype=np.int64),
        phi=phi,
        expanded=_expanded(setup, phi),
        weights=weights,
        precision=precision or begin.precision,
        biases=biases,
        **means.begin(phi, state.shapes, weights, biases)._asdict(),
    )


def _local(state: State) -> Locals:
    return Locals(state.topics, state.h)


def _with_local(state: State, local: Locals) -> State:
    return state._replace(topics=local.topics, h=local.h)


def _prepare(setup: _Build, seed: int, state: State, docs: Batch) -> State:
    """Local variables of every training document, where sweeps begin."""
    address = Address(seed, streams.INIT, 0)
    return _with_local(state, sampler.started(setup.globals_of(state), address, docs, setup.pool))


def _gather(
    setup: _Build, seed: int, state: State, docs: Batch, local: Locals | None
) -> tuple[steps.Statistics, Locals | None]:
    """Sweep documents under fixed topics and weights: once with variables that stay, else a chain from its start."""
    glob, t = setup.globals_of(state), int(state.t) + 1
    plan = setup.plan(t)
    if local is None or len(local.h) < len(docs.documents):
        mine, plan = sampler.empty(glob, docs), plan._replace(fresh=True)
    else:
        mine = sampler.copied(local)
    most = setup.facts.n_tokens if setup.sweeps else 0
    sums = sampler.tallied(glob, Address(seed, streams.LOCAL, t), docs, mine, plan, setup.pool, most)
    statistics = steps.Statistics(*sums, np.array(len(docs.documents)), np.array(len(mine.topics)))
    return statistics, mine if setup.sweeps else None


def _move(
    setup: _Build, seed: int, state: State, got: steps.Statistics, move: Callable[..., steps.Moved]
) -> tuple[State, Info]:
    """Topics, weights and shapes after a step, and their running means."""
    t = int(state.t) + 1
    plan = setup.plan(t)
    old = steps.Variables(*(getattr(state, name) for name in steps.Variables._fields))
    new, sizes, sample, eta = move(setup.shared, seed, t, old, got)
    mean = means.Means(*(getattr(state, name) for name in means.Means._fields))
    mean = means.follow(mean, new, sample, eta, t, setup.pool)
    weight = 1.0 / min(t, averages.MEMORY)
    kept, n = plan.collect, max(int(got.documents), 1)
    load = got.words.sum(axis=0, dtype=np.float64)
    load = load / load.sum() if load.sum() > 0.0 else state.load
    state = state._replace(
        t=np.array(t, dtype=np.int64),
        load=state.load + weight * (load - state.load),
        active=state.active + weight * (got.on / (kept * n) - state.active),
        **new._asdict(),
        **mean._asdict(),
    )
    tokens = int(got.tokens)
    draws = tokens * (plan.burn_in + plan.collect)
    return state, Info(sizes, float("nan"), tokens, draws)
