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

from typing import NamedTuple

import numpy as np

from engine import first_topics
from engine.black_box import documents, families, inference, rows
from engine.black_box.documents import Local
from engine.black_box.inference import Plan, Statistics
from engine.black_box.weights import Prior, Weights
from engine.contract import Array, Batch, Facts, FloatArray, Info, Kernel, Topics
from engine.hierarchy import topics as hierarchy
from engine.models.deep_exp_family import Config
from engine.pool import Pool
from engine.schedule import Schedule

_KEPT = (*Weights._fields, "activity")  # of a state, by a snapshot
_DRAWS = 4  # of the weights in a step, at least, where units follow score functions


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
    return rows.present_topics(setup.plan.model, rows.means(setup.plan, matrices_of(state)), state.activity)


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
    top = top / scale if len(phi) == 1 and rows.is_linear(plan.model) else top
    activity = (*new.activity[:-1], top)
    first, second, root1, root2 = rows.spread(matrices)
    return new._replace(first=first, second=second, root1=root1, root2=root2, activity=activity)
