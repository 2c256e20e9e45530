"""Kernel of deep exponential families, by black-box variational inference.

The generative model is in :mod:`engine.models.deep_exp_family`.  The posterior is approximated by independent units and
weights of the same families (Ranganath et al., AISTATS 2015).  A step reads all training documents, or the next part
of a large corpus, and moves units and weights at once.
"""

from typing import Any, NamedTuple

import numpy as np

from engine.black_box import documents, families, kernel
from engine.black_box.inference import Scheme
from engine.black_box.weights import Prior, Weights
from engine.contract import Array, Batch, Facts, FloatArray, Kernel
from engine.models.deep_exp_family import Config

_FIELDS = (*Weights._fields, "activity")  # fields of the state that a snapshot stores
_FEWEST_DRAWS = 4  # fewest draws of the weights in a step, if units move by score functions


class State(NamedTuple):
    """State of a deep exponential family.

    ``t`` () int64 counts the steps; ``first[l]``, ``second[l]``, ``root1[l]``, ``root2[l]`` (rows, columns) float32 are
    the variational parameters of ``W_l`` and their RMSProp (:class:`engine.black_box.weights.Weights`); ``activity[l]``
    (K_{l+1},) the mean units over documents; ``unit_first`` ... ``unit_root2`` (N, T) float32 the parameters of the
    units of all training documents (:class:`engine.black_box.documents.Params`), with no rows until they are prepared.
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


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of a deep exponential family for a corpus; results do not depend on ``n_threads``."""
    plan = make_plan(config, facts, n_threads)

    def init(seed: int) -> State:
        return _begin_state(plan, kernel.draw_random_weights(plan, seed))

    def prepare(seed: int, state: State, docs: Batch) -> Any:
        if int(state.t):
            return shared.prepare(seed, state, docs)
        return kernel.put_units(state, kernel.draw_random_units(plan.model, seed, docs.documents))

    shared = kernel.build_kernel(
        plan,
        init=init,
        begin=lambda seed, docs: _begin_state(plan, kernel.cluster_weights(plan, seed, docs)[0]),
        move=lambda seed, state, statistics: kernel.move_state(plan, seed, state, statistics),
        topics=lambda state: kernel.present_model(plan.model, kernel.compute_mean_weights(plan, state), state.activity),
        keep=lambda state: {"t": state.t} | kernel.keep_fields(state, _FIELDS),
        restore=lambda seed, arrays: _restore_state(plan, facts, init(seed), arrays),
    )
    return (
        shared._replace(begin=lambda seed, _docs: init(seed), prepare=prepare) if config.start == "random" else shared
    )


def make_plan(config: Config, facts: Facts, n_threads: int = 1) -> Scheme:
    """Return the constants of the steps of a run."""
    kind = kernel.choose_parameters(config)
    family = {"gamma": families.GAMMA, "bernoulli": families.BERNOULLI, "poisson": families.POISSON}[config.family]
    link = families.IDENTITY
    if config.family == "bernoulli":
        link = families.SIGMOID
    elif config.link == "softplus":
        link = families.SOFT
    top = config.shape / config.rate if config.family == "gamma" else config.on
    model = documents.make_model(family, link, kind, config.shape, top, config.layers)
    positive = Prior(families.GAMMA, kind, config.weight_shape, config.weight_rate)
    upper = positive if model.positive else Prior(families.NORMAL, kind, 0.0, 1.0)
    return kernel.make_scheme(
        config,
        facts,
        n_threads,
        model=model,
        priors=(positive, *(upper for _ in config.layers[1:])),
        samples=config.samples,
        aside=config.aside,
        draws=config.draws if family == families.GAMMA else max(config.draws, min(_FEWEST_DRAWS, config.samples)),
        scores=config.gradient == "score",
        first_mean=config.shape / config.rate if config.family == "gamma" else max(config.on, 3.0 / config.layers[0]),
        on=config.on,
    )


def _begin_state(plan: Scheme, matrices: tuple[Weights, ...]) -> State:
    """Return the state at step 0 with these weights, before any document is read."""
    t, units = np.array(0, dtype=np.int64), kernel.name_units(kernel.make_no_units(plan.model))
    return State(t=t, **kernel.name_weights(matrices), activity=kernel.begin_activity(plan), **units)


def _restore_state(plan: Scheme, facts: Facts, fresh: State, arrays: dict[str, Array]) -> State:
    """Return the state that continues a snapshot of this model, or the topics of another model's snapshot."""
    restored: State | None = kernel.restore_fields(fresh, arrays, _FIELDS)
    if restored is not None:
        return restored
    matrices, _, top = kernel.read_weights(plan, facts, arrays)
    state = _begin_state(plan, matrices)
    return state._replace(activity=(*state.activity[:-1], top))
