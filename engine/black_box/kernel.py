"""The kernel that all deep exponential families share: initial weights, documents, and the topics as users see them."""

from typing import Any, NamedTuple, cast

import numpy as np

from topiary.engine import contract, first_topics, streams
from topiary.engine.black_box import families, inference, weights
from topiary.engine.black_box.documents import Loadings, Params, Units
from topiary.engine.black_box.families import BERNOULLI, GAMMA, IDENTITY, SOFTPLUS_LINK
from topiary.engine.black_box.inference import Evidence, InferencePlan
from topiary.engine.black_box.weights import Prior, Weights
from topiary.engine.contract import Array, Batch, Facts, FloatArray, Info, Kernel, Link, Rates, Sweeps, Topics
from topiary.engine.gibbs.augment import draw_normals
from topiary.engine.hierarchy.topics import collect_arrays
from topiary.engine.pool import Pool
from topiary.engine.shared_settings import Schedule


def sum_columns(table: FloatArray) -> FloatArray:
    """Return column sums (K_1,) of the mean ``W_0``: tokens per unit of activation."""
    return np.asarray(np.maximum(table.sum(axis=0), 1e-300))


def is_linear(model: Units) -> bool:
    """Return True if the mean of a unit is linear in those above, so that the scale of ``W_0`` can move into them."""
    return model.link == IDENTITY


def present_model(model: Units, matrices: tuple[FloatArray, ...], activity: tuple[FloatArray, ...]) -> Topics:
    """Return the hierarchy of topics of a model of documents.

    Parameters
    ----------
    model : Units
    matrices : tuple of float64
        Mean weights ``E[W_0]`` (V, K_1), ``E[W_l]`` (K_l, K_{l+1} + intercept).
    activity : tuple of (K_l,) float64
        Mean ``E[z]`` over documents.

    Returns
    -------
    Topics
        ``phi[0]`` are the columns of ``W_0`` on the simplex; their scale moves into the activations of layer 1, which
        are then counted in tokens.  The weights of a linear link from layer 2 are tokens below per unit above; the
        weights of other links are those of the model, and ``means[0]`` are then the tokens that a unit adds when it
        is on.  ``r`` are the mean activations of the top layer.
    """
    table, *upper = matrices
    scale = sum_columns(table)
    phi, links, token_values = [table / scale], [], scale
    popularity = [scale * activity[0]]
    kind = contract.POSITIVE if model.positive else contract.SIGNED
    response = {IDENTITY: contract.LINEAR, SOFTPLUS_LINK: contract.SOFTPLUS}.get(model.link, contract.SIGMOID)
    for link, matrix in enumerate(upper):
        width = len(activity[link + 1])
        size = scale[:, None] if link == 0 and is_linear(model) else np.ones((1, 1))
        weights = np.ascontiguousarray(matrix[:, :width] * size)
        bias = (matrix[:, width:] * size)[:, 0] if model.bias else np.zeros(len(matrix))
        links.append(Link(kind, response, np.ascontiguousarray(bias)))
        phi.append(weights)
        token_values = token_values @ _measure_effects(model, matrix, activity[link + 1])
        popularity.append(token_values * activity[link + 1])
    first = activity[0] * scale if is_linear(model) else scale
    unit = {GAMMA: contract.GAMMA, BERNOULLI: contract.BINARY}.get(model.family, contract.COUNT)
    return Topics(
        phi=tuple(phi),
        r=activity[-1] * scale if len(activity) == 1 and is_linear(model) else activity[-1],
        links=tuple(links),
        units=(unit,) * len(activity),
        popularity=tuple(popularity),
        means=(first, *activity[1:]),
    )


def count_tokens(model: Units, scale: FloatArray, units: FloatArray) -> tuple[FloatArray, ...]:
    """Split mean units (documents, T) into the activations of every layer, with those of layer 1 in tokens."""
    layers = np.split(units, model.offsets[1:-1].tolist(), axis=1)
    return (layers[0] * scale, *layers[1:])


def _measure_effects(model: Units, matrix: FloatArray, activity: FloatArray) -> FloatArray:
    """Return the effect of one more unit on the mean of each unit below (K_l, K_{l+1}), the others at their means."""
    weights = matrix[:, : len(activity)]
    if is_linear(model):
        return np.abs(weights)
    base = weights @ activity + (matrix[:, len(activity)] if model.bias else 0.0)
    off = base[:, None] - weights * (activity if model.family == BERNOULLI else 0.0)
    return np.abs(_compute_mean(model, off + weights) - _compute_mean(model, off))


def _compute_mean(model: Units, sums: FloatArray) -> FloatArray:
    """Return the means of Poisson or Bernoulli units, given the weighted sums of the units above."""
    if model.link == SOFTPLUS_LINK:
        return np.logaddexp(0.0, sums)
    return 1.0 / (1.0 + np.exp(-sums))


_PLACING = Sweeps(40, 60)  # steps to place a new document


class UnitChain(NamedTuple):
    """Units of documents under evaluation: ``clock`` () int64 counts the steps; the rest is as in ``Params``."""

    clock: Array
    first: Array
    second: Array
    root1: Array
    root2: Array


class UnitKernel(Kernel):
    """The kernel of a deep exponential family; results do not depend on the number of threads.

    Parameters
    ----------
    plan : InferencePlan
    facts : Facts
    """

    sweeps_after = 0
    real = True

    def __init__(self, plan: InferencePlan, facts: Facts) -> None:
        self.plan, self.facts, self.batch_size = plan, facts, plan.batch

    def _fix_weights(self, state: Any) -> Loadings:
        """Return the mean weights, under which documents are placed."""
        return inference.fix_means(self.plan, get_weights(state))

    def prepare(self, seed: int, state: Any, docs: Batch) -> Any:
        """Return the state with the units of all training documents."""
        return put_units(state, inference.init_units(self.plan, self._fix_weights(state), docs))

    def gather(self, seed: int, state: Any, docs: Batch, local: Params) -> tuple[Evidence, Params]:
        """Move the units of documents; return the evidence for the weights, and the units."""
        return inference.gather_statistics(self.plan, seed, int(state.t) + 1, get_weights(state), docs, local)

    def move(self, seed: int, state: Any, statistics: Evidence) -> tuple[Any, Info]:
        """Move the weights."""
        return move_state(self.plan, seed, state, statistics)

    def local(self, state: Any) -> Params:
        """Return the units of every training document."""
        return get_units(state)

    def with_local(self, state: Any, local: Params) -> Any:
        """Return the state with these units."""
        return put_units(state, local)

    def topics(self, state: Any) -> Topics:
        """Return the hierarchy of the mean weights."""
        return present_model(self.plan.model, compute_mean_weights(self.plan, state), state.activity)

    def infer(self, seed: int, state: Any, docs: Batch, sweeps: Sweeps | None = None) -> contract.Local:
        """Fit documents with fixed weights; return their units, averaged over the last steps, layer 1 in tokens."""
        plan, loadings = self.plan, self._fix_weights(state)
        local = inference.init_units(plan, loadings, docs)
        _, units, _ = inference.sweep_documents(
            plan, seed, streams.INFER, 0, loadings, docs, local, sweeps or _PLACING, scored=None
        )
        return contract.Local(count_tokens(plan.model, loadings.sums, units))

    def start_chain(self, seed: int, state: Any, docs: Batch) -> UnitChain:
        """Return the first units of documents under evaluation."""
        units = inference.init_units(self.plan, self._fix_weights(state), docs)
        return UnitChain(np.array(0, dtype=np.int64), *units)

    def advance_chain(
        self, seed: int, state: Any, chain: UnitChain, observed: Batch, scored: Batch, sweeps: Sweeps
    ) -> tuple[UnitChain, Rates]:
        """Fit the units further to the observed tokens, and sum the rates of the scored cells."""
        clock, local = int(chain.clock), Params(*chain[1:])
        local, _, rates = inference.sweep_documents(
            self.plan, seed, streams.CHAIN, clock, self._fix_weights(state), observed, local, sweeps, scored.cells
        )
        clock += sweeps.burn_in + sweeps.collect
        return UnitChain(np.array(clock, dtype=np.int64), *local), cast(Rates, rates)


def name_weights(matrices: tuple[Weights, ...], prefix: str = "") -> dict[str, Any]:
    """Return matrices as the fields of a State: the ``first`` parameters of all matrices, then the ``second`` ..."""
    fields = list(zip(*matrices, strict=True)) or [()] * len(Weights._fields)
    return {f"{prefix}{name}": values for name, values in zip(Weights._fields, fields, strict=True)}


def get_weights(state: Any, prefix: str = "") -> tuple[Weights, ...]:
    """Return the matrices that a State holds in the fields of :func:`name_weights`."""
    fields = (getattr(state, f"{prefix}{name}") for name in Weights._fields)
    return tuple(Weights(*parameters) for parameters in zip(*fields, strict=True))


def name_units(units: Params, prefix: str = "unit_") -> dict[str, Any]:
    """Return variational parameters of units as the fields of a State."""
    return {f"{prefix}{name}": values for name, values in zip(Params._fields, units, strict=True)}


def get_units(state: Any, prefix: str = "unit_") -> Params:
    """Return the variational parameters of the units of every training document."""
    return Params(*(getattr(state, f"{prefix}{name}") for name in Params._fields))


def put_units(state: Any, units: Params) -> Any:
    """Return the state with new parameters of the units of every training document."""
    return state._replace(**name_units(units))


def move_state(
    plan: InferencePlan, seed: int, state: Any, statistics: Evidence, rates: Array | None = None, bound: float = 0.0
) -> tuple[Any, Info]:
    """Return the state and the report after a step of the weights that all documents share.

    Parameters
    ----------
    rates : (V, K_1) array, optional
        Rates of the prior of ``W_0``, if that is a hierarchy of columns.
    bound : float
        That hierarchy's part of the evidence lower bound.
    """
    t = int(state.t) + 1
    moved, elbo = inference.move_weights(plan, seed, t, get_weights(state), statistics, rates)
    tokens = int(statistics.tokens)
    state = state._replace(
        t=np.array(t, dtype=np.int64), **name_weights(moved), activity=plan.average_activity(statistics)
    )
    return state, Info((), elbo + bound / max(1, plan.n_documents), tokens, tokens * plan.token_draws)


def make_plan(config: Any, facts: Facts, n_threads: int, **own: Any) -> InferencePlan:
    """Return the constants of the steps of a run; ``own`` are those that differ between models."""
    return InferencePlan(
        n_words=facts.n_words,
        n_documents=facts.n_documents,
        schedule=Schedule(config.step, config.tau, config.kappa),
        window=config.window,
        batch=config.batch_size,
        pool=Pool(n_threads),
        cache={},
        **own,
    )


def choose_parametrisation(config: Any) -> int:
    """Return the parametrisation of gamma distributions that the settings ask for: LOGARITHM or SOFTPLUS."""
    return families.LOGARITHM if config.parameters == "logarithm" else families.SOFTPLUS


def compute_mean_weights(plan: InferencePlan, state: Any) -> tuple[FloatArray, ...]:
    """Return ``E[W_0]``, ``E[W_1]`` ... of a state."""
    return weights.compute_all_means(plan.priors, get_weights(state), plan.pool)


def list_widths(model: Units) -> list[int]:
    """Return the number of units of every layer."""
    return [int(width) for width in np.diff(model.offsets)]


def make_no_units(model: Units) -> Params:
    """Return the units of a corpus of no documents."""
    empty = np.zeros((0, int(model.offsets[-1])), dtype=np.float32)
    second = empty if model.family == families.GAMMA else empty[:, :0]
    return Params(empty, second, empty, second)


def draw_random_weights(plan: InferencePlan, seed: int) -> tuple[Weights, ...]:
    """Draw unconstrained parameters of all weights as the released code does: 0.01 e^x, x ~ N(0, 1)."""
    rng = streams.make_generator(seed, streams.INIT)
    layers, matrices = list_widths(plan.model), []
    for link, prior in enumerate(plan.priors):
        shape = (plan.n_words, layers[0]) if link == 0 else (layers[link - 1], layers[link] + plan.model.bias)
        noise = 0.01 * np.exp(rng.standard_normal((2, *shape)))
        if prior.family == families.NORMAL:
            matrices.append(weights.init_weights(prior, np.full(shape, 0.1), 10.0 * noise[0]))
        else:
            level = np.log1p(np.exp(noise))
            matrices.append(weights.init_weights(prior, level[0], level[0] * level[1]))
    return tuple(matrices)


def draw_random_units(model: Units, seed: int, numbers: Array) -> Params:
    """Draw unconstrained parameters 0.01 e^x for the units of documents, each document from its own random stream."""
    shape = (len(numbers), int(model.offsets[-1]))
    normals = draw_normals(seed, streams.LOCAL, 0, numbers, 2 * shape[1]).reshape(len(numbers), 2, shape[1])
    noise = (0.01 * np.exp(normals.transpose(1, 0, 2))).astype(np.float32)
    zeros = np.zeros(shape, dtype=np.float32)
    if model.family != families.GAMMA:
        return Params(noise[0], zeros[:, :0], zeros, zeros[:, :0])
    if model.kind == families.LOGARITHM:
        level = np.log(np.log1p(np.exp(noise)))
        noise = np.stack([level[0], level[0] + level[1]])
    return Params(noise[0], noise[1], zeros, zeros)


def init_activity(plan: InferencePlan) -> tuple[FloatArray, ...]:
    """Return the mean activations of a run before its first step, the same for all units."""
    mean = plan.first_mean if plan.model.family == GAMMA else plan.top_mean
    return tuple(np.full(width, mean) for width in list_widths(plan.model))


def cluster_weights(plan: InferencePlan, seed: int, docs: Batch) -> tuple[tuple[Weights, ...], tuple[FloatArray, ...]]:
    """Return initial weights whose topics are clusters of documents (:mod:`engine.first_topics`), and these topics."""
    phi = first_topics.cluster_topics(seed, docs, plan.n_words, tuple(list_widths(plan.model)), plan.pool).phi
    tokens = max(1.0, float(docs.counts.sum(dtype=np.float64)) / max(1, len(docs.documents)))
    matrices = [_make_word_weights(plan, phi[0], tokens)]
    for prior, layer in zip(plan.priors[1:], phi[1:], strict=True):
        if plan.model.positive:
            level = layer / layer.sum(axis=0) * (len(layer) / layer.shape[1])
        else:
            level = 2.0 * layer / layer.max(axis=0) - 0.5
        matrices.append(_make_link_weights(plan, prior, level, 0.5 * plan.top_mean if plan.model.positive else -2.0))
    return tuple(matrices), phi


def read_weights(
    plan: InferencePlan, facts: Facts, arrays: dict[str, Array]
) -> tuple[tuple[Weights, ...], tuple[FloatArray, ...], FloatArray]:
    """Return weights with the topics of another model's snapshot, these topics, and the activations of the top."""
    tokens = max(1.0, facts.n_tokens / max(1, facts.n_documents))
    phi = tuple(np.asarray(values, dtype=np.float64) for values in collect_arrays(arrays, "phi"))
    matrices = [_make_word_weights(plan, phi[0] / phi[0].sum(axis=0), tokens)]
    scale = weights.compute_means(plan.priors[0], matrices[0], plan.pool).sum(axis=0)
    for link, table in enumerate(phi[1:], start=1):
        level = table / scale[:, None] if link == 1 and is_linear(plan.model) else table
        matrices.append(
            _make_link_weights(plan, plan.priors[link], level, 0.5 * plan.top_mean if plan.model.positive else 0.0)
        )
    top = np.asarray(arrays["r"], dtype=np.float64)
    return tuple(matrices), phi, top / scale if len(phi) == 1 and is_linear(plan.model) else top


def _make_word_weights(plan: InferencePlan, phi: FloatArray, tokens: float) -> Weights:
    """Return a ``W_0`` with topics ``phi`` (V, K_1) on the simplex; ``tokens`` is the mean length of a document."""
    table = phi * (tokens / (plan.first_mean * phi.shape[1]))
    shape = plan.priors[0].shape + tokens * plan.n_documents / phi.shape[1] * phi
    return weights.init_weights(plan.priors[0], shape, table)


def _make_link_weights(plan: InferencePlan, prior: Prior, level: FloatArray, bias: float) -> Weights:
    """Return upper weights with means ``level``, and intercepts (if the model has them) with mean ``bias``."""
    if plan.model.bias:
        level = np.hstack([level, np.full((len(level), 1), bias)])
    return weights.init_weights(prior, np.full(level.shape, 1.0 if plan.model.positive else 0.3), level)


def keep_fields(state: Any, names: tuple[str, ...]) -> dict[str, Array]:
    """Return fields of a state (tuples of arrays) by their names in a snapshot: ``name.0``, ``name.1`` ..."""
    return {f"{name}.{link}": array for name in names for link, array in enumerate(getattr(state, name))}


def restore_fields(state: Any, arrays: dict[str, Array], names: tuple[str, ...]) -> Any:
    """Return the state with these fields and the step of a snapshot; None if one is missing or has another shape."""
    fields = {}
    for name in names:
        old_arrays = getattr(state, name)
        keys = [f"{name}.{link}" for link in range(len(old_arrays))]
        if any(
            key not in arrays or arrays[key].shape != array.shape for key, array in zip(keys, old_arrays, strict=True)
        ):
            return None
        fields[name] = tuple(arrays[key].astype(array.dtype) for key, array in zip(keys, old_arrays, strict=True))
    return state._replace(t=np.asarray(arrays["t"], dtype=np.int64), **fields)
