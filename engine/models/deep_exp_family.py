"""Deep exponential families by black-box variational inference.

Ranganath, Tang, Charlin and Blei, "Deep exponential families" (AISTATS 2015); equation numbers are that paper's.  The
generative model, with units of one family in every layer:

    x ~ Pois(W_0 z_1),   w_0 ~ Gam(0.1, rate 0.3)
    gamma      z_l ~ Gam(a, rate a / (W_l z_{l+1})),        top Gam(0.3, rate 0.3),  w ~ Gam(0.1, rate 0.3)
    bernoulli  z_l ~ Ber(sigmoid(W_l z_{l+1} + b)),         top Ber(0.1),            w, b ~ N(0, 1)
    poisson    z_l ~ Pois(W_l z_{l+1} + b),                 top Pois(0.1),           w, b ~ Gam(0.1, rate 0.3)
               or Pois(softplus(W_l z_{l+1} + b)),                                   w, b ~ N(0, 1)

The posterior is approximated by independent units and weights of the same families.  A step reads the training
documents, or those whose turn it is, and moves everything at once.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine import first_topics, widths
from engine.black_box import documents, families, inference, rows, shown
from engine.black_box.documents import Local
from engine.black_box.inference import Plan, Statistics
from engine.black_box.weights import Prior, Weights
from engine.contract import Array, Batch, Facts, FloatArray, Info, Kernel, Topics
from engine.hierarchy import topics as hierarchy
from engine.pool import Pool
from engine.schedule import Schedule
from engine.settings import ALWAYS, PRIORS, STEP_SIZES, SWEEPS, SettingError, check, setting

TITLE = "DEF: deep exponential family"
CHILD = "A topic below another is one whose mean rises (or falls, if marked so) with the one above."
PRESETS = {
    "paper": {
        "layers": "100-30-15", "family": "gamma", "gradient": "score", "start": "random", "parameters": "softplus",
        "samples": "64", "aside": "16", "step": "0.2", "kappa": "0", "window": "10", "batch_size": "1000",
        "weight_shape": "0.1", "weight_rate": "0.3", "shape": "0.3", "rate": "0.3", "on": "0.1",
        "minibatches": "10000",
    }
}  # fmt: skip
_KEPT = (*Weights._fields, "activity")  # of a state, by a snapshot
_DRAWS = 4  # of the weights in a step, at least, where units follow score functions


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of the deep exponential family; those of the paper are the preset "paper"."""

    layers: tuple[int, ...] = widths.layers_setting()
    family: str = setting(
        "gamma",
        ALWAYS,
        "Hidden units",
        "gamma: how much of a topic, mostly close to none; bernoulli: on or off; poisson: how many times.",
        choices=("gamma", "bernoulli", "poisson"),
    )
    link: str = setting(
        "log",
        ALWAYS,
        "Link of Poisson units",
        "log: weights are positive, a topic can only raise those below; softplus: weights may be negative.",
        choices=("log", "softplus"),
    )
    gradient: str = setting(
        "implicit",
        ALWAYS,
        "Gradients",
        "implicit: through the draws of gamma variables, with far less noise; score: the score function of the paper "
        "for all (units that are on or off, or counts, always use it).",
        choices=("implicit", "score"),
    )
    start: str = setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means); random: as in the paper's released code.",
        choices=("clusters", "random"),
    )
    batch_size: int = setting(
        20_000,
        SWEEPS,
        "Documents per step",
        "About so many documents move in a step, each once in a pass; a larger corpus takes several steps a pass.",
        low=1,
        high=10**7,
    )
    samples: int = setting(
        64, SWEEPS, "Samples of the score function", "Draws of every variable in a step.", low=2, high=4096
    )
    aside: int = setting(
        16,
        SWEEPS,
        "Samples set aside",
        "So many of the samples only estimate the control variate, which lowers the noise of the others.",
        low=1,
        high=4096,
    )
    draws: int = setting(
        1,
        SWEEPS,
        "Draws of the weights",
        "With implicit gradients, how often a step draws the weights: more is slower and less noisy.",
        low=1,
        high=64,
    )
    step: float = setting(0.1, STEP_SIZES, "First step size", "Of RMSProp.", low=1e-6, high=10)
    tau: float = setting(50.0, STEP_SIZES, "Step delay tau", "Larger: steps stay large for longer.", low=0, high=1e6)
    kappa: float = setting(
        0.6, STEP_SIZES, "Step decay kappa", "How fast steps shrink; 0 keeps them, as the paper does.", low=0, high=1
    )
    window: float = setting(
        10.0, STEP_SIZES, "Window of RMSProp", "Steps over which the size of gradients is averaged.", low=1, high=1e6
    )
    parameters: str = setting(
        "logarithm",
        STEP_SIZES,
        "Parameters of gamma laws",
        "logarithm: of shape and mean, which converge faster; softplus: of shape and scale, as in the paper.",
        choices=("logarithm", "softplus"),
    )
    shape: float = setting(0.3, PRIORS, "Shape of gamma units", "Small: few topics a document.", low=1e-3, high=100)
    rate: float = setting(
        0.3, PRIORS, "Rate of the top's gamma units", "Their mean is shape / rate.", low=1e-3, high=1e3
    )
    on: float = setting(
        0.1, PRIORS, "Mean of the top's units", "Chance of Bernoulli, rate of Poisson units.", low=1e-4, high=0.99
    )
    weight_shape: float = setting(0.03, PRIORS, "Shape of gamma weights", "Small: sparse.", low=1e-3, high=100)
    weight_rate: float = setting(0.3, PRIORS, "Rate of gamma weights", "Of their prior.", low=1e-6, high=1e6)

    def __post_init__(self) -> None:
        check(self)
        if self.link == "softplus" and self.family != "poisson":
            raise SettingError("link softplus needs family poisson; got " + self.family)
        if self.aside >= self.samples:
            raise SettingError(f"aside must be less than samples = {self.samples}; got {self.aside}")
        if self.draws > self.samples:
            raise SettingError(f"draws must be at most samples = {self.samples}; got {self.draws}")

    @property
    def until_plateau(self) -> bool:
        """A run whose length nobody gave ends where its curve no longer falls."""
        return True

    def sweeps_after(self, _facts: Facts) -> int | None:
        """Steps are of all training documents from the first on (see ``Kernel.sweeps_after``)."""
        return 0


class State(NamedTuple):
    """Everything the next step needs.

    ``t`` () int64 steps done; ``first[l]``, ``second[l]``, ``root1[l]``, ``root2[l]`` (rows, columns) float32 the
    variational parameters of ``W_l`` and their RMSProp (:class:`engine.black_box.weights.Weights`); ``activity[l]``
    (K_{l+1},) mean units over documents; ``unit_first`` ... ``unit_root2`` (N, T) float32 the same of the units of
    every training document (:class:`engine.black_box.documents.Local`), without rows before they are prepared.
    """

    t: Array
    first: tuple[Array, ...]
    second: tuple[Array, ...]
    root1: tuple[Array, ...]
    root2: tuple[Array, ...]
    activity: tuple[FloatArray, ...]
    unit_first: Array
    unit_second: Array
    unit_root1: Array
    unit_root2: Array


class _Build(NamedTuple):
    """What the functions of the kernel share."""

    config: Config
    facts: Facts
    plan: Plan

    @property
    def usual(self) -> float:
        """Mean of a unit of layer 1, as a run begins."""
        config = self.config
        return config.shape / config.rate if config.family == "gamma" else max(config.on, 3.0 / config.layers[0])


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """The kernel of a deep exponential family for a corpus; results do not depend on ``n_threads``."""
    setup = _Build(config, facts, plan_of(config, facts, n_threads))
    plan = setup.plan
    return Kernel(
        batch_size=config.batch_size,
        sweeps_after=config.sweeps_after(facts),
        real=True,
        measure="perplexity",
        init=lambda seed: _state(setup, rows.random_weights(plan, seed)),
        begin=lambda seed, docs: _begin(setup, seed, docs),
        prepare=lambda seed, state, docs: _prepare(setup, seed, state, docs),
        gather=lambda seed, state, docs, local: _gather(setup, seed, state, docs, local),
        move=lambda seed, state, statistics: _move(setup, seed, state, statistics),
        local=local_of,
        with_local=_with_local,
        infer=lambda seed, state, docs, sweeps=None: rows.infer(plan, seed, _given(setup, state), docs, sweeps),
        topics=lambda state: _topics(setup, state),
        start_chain=lambda _seed, state, docs: rows.start_chain(plan, _given(setup, state), docs),
        advance_chain=lambda seed, state, *rest: rows.advance_chain(plan, seed, _given(setup, state), *rest),
        keep=lambda state: {"t": state.t} | rows.kept(state, _KEPT),
        restore=lambda seed, arrays: _restore(setup, seed, arrays),
    )


def plan_of(config: Config, facts: Facts, n_threads: int = 1) -> Plan:
    """What every step of a run shares."""
    kind = families.LOGARITHM if config.parameters == "logarithm" else families.SOFTPLUS
    family = {"gamma": families.GAMMA, "bernoulli": families.BERNOULLI, "poisson": families.POISSON}[config.family]
    link = families.IDENTITY
    if config.family == "bernoulli":
        link = families.SIGMOID
    elif config.link == "softplus":
        link = families.SOFT
    top = config.shape / config.rate if config.family == "gamma" else config.on
    model = documents.model_of(family, link, kind, config.shape, top, config.layers)
    positive = Prior(families.GAMMA, kind, config.weight_shape, config.weight_rate)
    upper = positive if model.positive else Prior(families.NORMAL, kind, 0.0, 1.0)
    return Plan(
        model=model,
        priors=(positive, *(upper for _ in config.layers[1:])),
        n_words=facts.n_words,
        n_documents=facts.n_documents,
        samples=config.samples,
        aside=config.aside,
        draws=config.draws if family == families.GAMMA else max(config.draws, min(_DRAWS, config.samples)),
        scores=config.gradient == "score",
        pace=Schedule(config.step, config.tau, config.kappa),
        window=config.window,
        batch=config.batch_size,
        pool=Pool(n_threads),
        kept={},
    )


def _state(setup: _Build, matrices: tuple[Weights, ...]) -> State:
    """The state with these weights, before anything is known of documents: units have the mean of the top."""
    config = setup.config
    mean = config.shape / config.rate if config.family == "gamma" else config.on
    activity = tuple(np.full(width, mean) for width in config.layers)
    return State(np.array(0, dtype=np.int64), *rows.spread(matrices), activity, *rows.no_units(setup.plan.model))


def matrices_of(state: State) -> tuple[Weights, ...]:
    """The laws of ``W_0``, ``W_1`` ..."""
    return rows.gathered(state.first, state.second, state.root1, state.root2)


def _begin(setup: _Build, seed: int, docs: Batch) -> State:
    """The state before the first step, its topics from clusters of documents (:mod:`engine.first_topics`)."""
    plan, config = setup.plan, setup.config
    if config.start == "random":
        return _state(setup, rows.random_weights(plan, seed))
    found = first_topics.topics(seed, docs, setup.facts.n_words, config.layers, plan.pool)
    tokens = max(1.0, float(docs.counts.sum(dtype=np.float64)) / max(1, len(docs.documents)))
    words = rows.words_of(plan, found.phi[0], tokens, setup.usual)
    return _state(setup, (words, *rows.links_of(plan, found.phi, config.on)))


def local_of(state: State) -> Local:
    """The laws of the units of every training document."""
    return Local(state.unit_first, state.unit_second, state.unit_root1, state.unit_root2)


def _with_local(state: State, local: Local) -> State:
    return state._replace(
        unit_first=local.first, unit_second=local.second, unit_root1=local.root1, unit_root2=local.root2
    )


def _prepare(setup: _Build, seed: int, state: State, docs: Batch) -> State:
    """Units of every training document to begin with."""
    if setup.config.start == "random" and not int(state.t):
        return _with_local(state, rows.random_units(setup.plan.model, seed, docs.documents))
    return _with_local(state, inference.seat(setup.plan, _given(setup, state), docs))


def _given(setup: _Build, state: State) -> documents.Given:
    return inference.given_means(setup.plan, matrices_of(state))


def _gather(setup: _Build, seed: int, state: State, docs: Batch, local: Local) -> tuple[Statistics, Local]:
    return inference.gather(setup.plan, seed, int(state.t) + 1, matrices_of(state), docs, local)


def _move(setup: _Build, seed: int, state: State, statistics: Statistics) -> tuple[State, Info]:
    plan, t = setup.plan, int(state.t) + 1
    moved, elbo = inference.move(plan, seed, t, matrices_of(state), statistics)
    state = State(np.array(t, dtype=np.int64), *rows.spread(moved), plan.activity(statistics), *local_of(state))
    tokens = int(statistics.tokens)
    return state, Info(step_sizes=(), elbo=elbo, tokens=tokens, token_draws=tokens * plan.token_draws)


def _topics(setup: _Build, state: State) -> Topics:
    return shown.presented(setup.plan.model, rows.means(setup.plan, matrices_of(state)), state.activity)


def _restore(setup: _Build, seed: int, arrays: dict[str, Array]) -> State:
    """The state that goes on from a snapshot of this model, or from topics on the simplex of another."""
    plan, facts = setup.plan, setup.facts
    new = _state(setup, rows.random_weights(plan, seed))
    ours = rows.read_back(new, arrays, _KEPT)
    if ours is not None:
        return ours._replace(t=np.asarray(arrays["t"], dtype=np.int64))
    tokens = max(1.0, facts.n_tokens / max(1, facts.n_documents))
    phi = hierarchy.numbered(arrays, "phi")
    matrices, scale = rows.from_topics(plan, phi, tokens, setup.usual, setup.config.on)
    top = np.asarray(arrays["r"], dtype=np.float64)
    top = top / scale if len(phi) == 1 and shown.linear(plan.model) else top
    activity = (*new.activity[:-1], top)
    first, second, root1, root2 = rows.spread(matrices)
    return new._replace(first=first, second=second, root1=root1, root2=root2, activity=activity)
