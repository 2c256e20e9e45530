"""Kernel of deep exponential families, by black-box variational inference.

The generative model is in :mod:`engine.models.deep_exp_family.settings`.  The posterior is approximated by independent
units and weights of the same families (Ranganath et al., AISTATS 2015).  A step reads all training documents or, if the
corpus is large, the next part of them; it moves their units and all weights.
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine.black_box import documents, families, kernel
from topiary.engine.black_box.inference import InferencePlan
from topiary.engine.black_box.weights import Prior, Weights
from topiary.engine.contract import Array, Batch, Facts, FloatArray, Kernel
from topiary.engine.models.deep_exp_family.settings import Config

_FIELDS = (*Weights._fields, "activity")  # fields of the state that a snapshot stores
_FEWEST_DRAWS = 4  # fewest draws of the weights in a step, if the gradients of units are score functions


class State(NamedTuple):
    """State of a deep exponential family.

    ``t`` () int64 counts the steps.  ``first[l]`` and ``second[l]`` (rows, columns) float32 are the variational
    parameters of ``W_l``, and ``root1[l]`` and ``root2[l]`` the running roots of RMSProp
    (:class:`engine.black_box.weights.Weights`).  ``activity[l]`` (K_{l+1},) are the mean units over documents.
    ``unit_first`` to ``unit_root2`` (N, T) float32 are the parameters of the units of all training documents
    (:class:`engine.black_box.documents.Params`); they have no rows until ``Kernel.prepare`` adds them.
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
    return DefKernel(make_plan(config, facts, n_threads), facts, is_random=config.start == "random")


class DefKernel(kernel.UnitKernel):
    """The kernel of a deep exponential family; weights and units begin at random if ``is_random``."""

    def __init__(self, plan: InferencePlan, facts: Facts, *, is_random: bool) -> None:
        super().__init__(plan, facts)
        self._is_random = is_random

    def init(self, seed: int) -> State:
        """Return a state with random weights."""
        return _make_state(self.plan, kernel.draw_random_weights(self.plan, seed))

    def init_from_documents(self, seed: int, docs: Batch) -> State:
        """Return a state whose topics are clusters of documents, unless they begin at random."""
        if self._is_random:
            return self.init(seed)
        return _make_state(self.plan, kernel.cluster_weights(self.plan, seed, docs)[0])

    def prepare(self, seed: int, state: State, docs: Batch) -> Any:
        """Return the state with the units of all training documents."""
        if int(state.t) or not self._is_random:
            return super().prepare(seed, state, docs)
        return kernel.put_units(state, kernel.draw_random_units(self.plan.model, seed, docs.documents))

    def keep(self, state: State) -> dict[str, Array]:
        """Return the number of steps and the parameters of the weights."""
        return {"t": state.t} | kernel.keep_fields(state, _FIELDS)

    def restore(self, seed: int, arrays: dict[str, Array]) -> State:
        """Return a state that continues a snapshot of this model, or the topics of another model's snapshot."""
        restored: State | None = kernel.restore_fields(self.init(seed), arrays, _FIELDS)
        if restored is not None:
            return restored
        matrices, _, top = kernel.read_weights(self.plan, self.facts, arrays)
        state = _make_state(self.plan, matrices)
        return state._replace(activity=(*state.activity[:-1], top))


def make_plan(config: Config, facts: Facts, n_threads: int = 1) -> InferencePlan:
    """Return the constants of the steps of a run."""
    parametrisation = kernel.choose_parametrisation(config)
    family = {"gamma": families.GAMMA, "bernoulli": families.BERNOULLI, "poisson": families.POISSON}[config.family]
    link = families.IDENTITY
    if config.family == "bernoulli":
        link = families.SIGMOID
    elif config.link == "softplus":
        link = families.SOFTPLUS_LINK
    top_mean = config.shape / config.rate if config.family == "gamma" else config.on
    model = documents.make_model(family, link, parametrisation, config.shape, top_mean, config.layers)
    gamma_prior = Prior(families.GAMMA, parametrisation, config.weight_shape, config.weight_rate)
    upper_prior = gamma_prior if model.positive else Prior(families.NORMAL, parametrisation, 0.0, 1.0)
    return kernel.make_plan(
        config,
        facts,
        n_threads,
        model=model,
        priors=(gamma_prior, *(upper_prior for _ in config.layers[1:])),
        samples=config.samples,
        control_samples=config.aside,
        draws=config.draws if family == families.GAMMA else max(config.draws, min(_FEWEST_DRAWS, config.samples)),
        uses_scores=config.gradient == "score",
        # Other units than gamma begin with at least three per document in layer 1.
        first_mean=config.shape / config.rate if config.family == "gamma" else max(config.on, 3.0 / config.layers[0]),
        top_mean=config.on,
    )


def _make_state(plan: InferencePlan, matrices: tuple[Weights, ...]) -> State:
    """Return a state at step 0 with these weights, before any document is read."""
    t, units = np.array(0, dtype=np.int64), kernel.name_units(kernel.make_no_units(plan.model))
    return State(t=t, **kernel.name_weights(matrices), activity=kernel.init_activity(plan), **units)
