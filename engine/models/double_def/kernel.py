"""Kernel of the double deep exponential family: a table of counts with one hierarchy of rows and one of columns.

The generative model is in :mod:`engine.models.double_def.settings`; rows are documents and columns are words.
Gradients are pathwise (Ranganath et al., AISTATS 2015, section 6.2).  A step moves all columns, and either all rows or,
in a large table, the next part of them.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from topiary.engine import streams
from topiary.engine.black_box import documents, families, kernel, pathwise, weights
from topiary.engine.black_box.documents import Params, Units
from topiary.engine.black_box.inference import Evidence, InferencePlan
from topiary.engine.black_box.weights import PARTS, Prior, WeightAddress, Weights
from topiary.engine.contract import Array, Batch, Facts, FloatArray, Info, Kernel, Topics
from topiary.engine.models.double_def.settings import Config
from topiary.engine.pool import cut_evenly
from topiary.engine.streams import Address

_COLUMN_LINKS = 1 << 10  # in random streams, the weights of the columns have link numbers from here on


class TableColumns(NamedTuple):
    """Variational parameters of the columns: the upper weights U_l, and the units above layer 1, (V, T - K_1)."""

    matrices: tuple[Weights, ...]
    units: Params


def init_columns(plan: InferencePlan, table: FloatArray, phi: tuple[FloatArray, ...]) -> TableColumns:
    """Return initial variational parameters of the columns.

    Parameters
    ----------
    table : (V, K_1) float64
        Mean ``W_0``, which is layer 1 of the columns.
    phi : tuple of (K_{l-1}, K_l) float64
        Initial topics of the rows; the initial upper weights of the columns are in proportion to them.
    """
    upper = []
    level = float(table.mean())  # mean of layer 1, which its prior given the layers above should have too
    for link, (prior, layer) in enumerate(zip(plan.priors[1:], phi[1:], strict=True)):
        shares = layer / layer.sum(axis=0) * (len(layer) / layer.shape[1])
        upper.append(weights.init_weights(prior, np.full(shares.shape, 1.0), shares * (level if link == 0 else 1.0)))
    return TableColumns(tuple(upper), _init_units(plan, table, tuple(upper)))


def _init_units(plan: InferencePlan, table: FloatArray, matrices: tuple[Weights, ...]) -> Params:
    """Return the initial units of the columns above layer 1, given the upper weights of the columns."""
    n_upper_units = int(plan.model.offsets[-1] - plan.model.offsets[1])
    first, second = np.zeros((len(table), n_upper_units), np.float32), np.zeros((len(table), n_upper_units), np.float32)
    upper = documents.pad_matrices(plan.model, weights.compute_all_means(plan.priors[1:], matrices, plan.pool))
    parts = cut_evenly(len(table), PARTS)
    plan.pool.run_parts(parts, documents.init_hierarchy, plan.model, upper, table, first, second)
    return Params(first, second, np.zeros_like(first), np.zeros_like(second))


def compute_column_activity(plan: InferencePlan, table: FloatArray, units: Params) -> tuple[FloatArray, ...]:
    """Return the means over columns of the units of every layer; ``table`` (V, K_1) is the mean ``W_0``."""
    model = drop_first_layer(plan.model)
    means = documents.compute_means(model, units, plan.pool).mean(axis=0)
    edges = (plan.model.offsets[2:-1] - plan.model.offsets[1]).tolist()
    above = np.split(means, edges) if len(plan.model.offsets) > 2 else []
    return (table.mean(axis=0), *above)


def drop_first_layer(model: Units) -> Units:
    """Return the layout of the units without layer 1."""
    return model._replace(offsets=model.offsets[1:] - model.offsets[1])


def step_columns(
    plan: InferencePlan, seed: int, t: int, table: FloatArray, columns: TableColumns
) -> tuple[TableColumns, Array, float]:
    """Take one step of the columns' variational parameters along pathwise gradients.

    Parameters
    ----------
    table : (V, K_1) float64
        Mean ``W_0``.

    Returns
    -------
    TableColumns
    rates : (V, K_1) float32
        Rates of the gamma priors of ``W_0``, given the layers above, averaged over draws.
    float
        The part of the evidence lower bound that belongs to the columns, except for the part of ``W_0``.
    """
    model, pool, step_size = plan.model, plan.pool, plan.find_step_size(t)
    gradient = np.zeros((*columns.units.first.shape, 2), dtype=np.float32)
    rates = np.zeros(table.shape, dtype=np.float32)
    total, value_gradient, slope_gradient = 0.0, 0.0, 0.0
    for draw in range(plan.draws):
        samples = [
            weights.draw_weights(prior, matrix, WeightAddress(seed, t, draw, _COLUMN_LINKS + link), pool, slopes=True)
            for link, (prior, matrix) in enumerate(zip(plan.priors[1:], columns.matrices, strict=True))
        ]
        upper = documents.pad_matrices(model, tuple(sample.values for sample in samples))
        upper_gradients: Any = np.zeros((PARTS, *upper.shape))
        address = Address(seed, streams.SHAPES, t * plan.draws + draw)
        arguments = (model, upper, address, table, columns.units, gradient, rates)
        parts = enumerate(cut_evenly(len(table), PARTS))
        total += sum(
            pool.run(
                pathwise.differentiate_columns, [(*arguments, upper_gradients[part], a, b) for part, (a, b) in parts]
            )
        )
        upper_gradient = upper_gradients.sum(axis=0) / plan.draws
        value_gradient = value_gradient + upper_gradient
        slope_gradient = slope_gradient + upper_gradient * documents.pad_matrices(
            model, tuple(sample.slopes for sample in samples)
        )
    moved, bound = _step_upper_weights(plan, columns.matrices, value_gradient, slope_gradient, step_size)
    units = Params(*(np.empty_like(part) for part in columns.units))
    gradient /= plan.draws
    rows = cut_evenly(len(table), PARTS)
    pool.run_parts(rows, pathwise.step_units, drop_first_layer(model), columns.units, gradient, step_size, units)
    rates /= plan.draws
    return TableColumns(moved, units), rates, total / plan.draws + bound


def _step_upper_weights(
    plan: InferencePlan, matrices: tuple[Weights, ...], value_gradient: Any, slope_gradient: Any, step_size: Any
) -> tuple[tuple[Weights, ...], float]:
    """Take one step of the upper weights of the columns; return them and their part of the bound."""
    moved, total = [], 0.0
    no_rates = np.zeros((0, 0), dtype=np.float32)
    for link, (prior, matrix) in enumerate(zip(plan.priors[1:], matrices, strict=True)):
        rows, width = matrix.first.shape
        gradient = weights.PathwiseGradient(
            value_gradient[link, :rows, :width], slope_gradient[link, :rows, :width], np.zeros(width), no_rates
        )
        new, bound = weights.step_weights_pathwise(prior, matrix, gradient, step_size, plan.pool)
        moved.append(new)
        total += bound
    return tuple(moved), total


# Fields of the state that a snapshot stores: those that are tuples of arrays, and those that are single arrays.
_FIELDS = (*Weights._fields, "activity", *(f"column_{name}" for name in Weights._fields))
_UNITS = ("item_first", "item_second", "item_root1", "item_root2")


class State(NamedTuple):
    """State of a double DEF.

    ``t``, ``first`` to ``root2``, ``activity`` and ``unit_first`` to ``unit_root2`` are the state of a DEF of the rows,
    as in :mod:`engine.models.deep_exp_family.kernel`; its ``W_0`` (``first[0]`` to ``root2[0]``) is also layer 1 of the
    columns.  ``column_first`` to ``column_root2`` are the upper weights ``U_l`` of the columns, and ``item_first`` to
    ``item_root2`` (V, T - K_1) float32 the units of the columns above layer 1.
    """

    t: Array
    first: tuple[Array, ...]
    second: tuple[Array, ...]
    root1: tuple[Array, ...]
    root2: tuple[Array, ...]
    activity: tuple[FloatArray, ...]
    column_first: tuple[Array, ...]
    column_second: tuple[Array, ...]
    column_root1: tuple[Array, ...]
    column_root2: tuple[Array, ...]
    item_first: Array
    item_second: Array
    item_root1: Array
    item_root2: Array
    unit_first: Array
    unit_second: Array
    unit_root1: Array
    unit_root2: Array


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of a double DEF for a table; results do not depend on ``n_threads``."""
    return DoubleDefKernel(_make_plan(config, facts, n_threads), facts)


class DoubleDefKernel(kernel.UnitKernel):
    """The kernel of a double DEF."""

    def init(self, seed: int) -> State:
        """Return a state with random weights, and columns that tell nothing apart."""
        layers = kernel.list_widths(self.plan.model)
        flat = tuple(np.full((low, high), 1.0 / low) for low, high in itertools.pairwise((1, *layers)))
        return _make_state(self.plan, kernel.draw_random_weights(self.plan, seed), flat)

    def init_from_documents(self, seed: int, docs: Batch) -> State:
        """Return a state whose topics are clusters of documents."""
        return _make_state(self.plan, *kernel.cluster_weights(self.plan, seed, docs))

    def move(self, seed: int, state: State, statistics: Evidence) -> tuple[State, Info]:
        """Move the columns, whose upper layers give the prior of ``W_0``; then move those of the rows as a DEF."""
        table = kernel.compute_mean_weights(self.plan, state)[0]
        columns, rates, bound = step_columns(self.plan, seed, int(state.t) + 1, table, _get_columns(state))
        state, info = kernel.move_state(self.plan, seed, state, statistics, rates, bound)
        return state._replace(
            **kernel.name_weights(columns.matrices, "column_"), **kernel.name_units(columns.units, "item_")
        ), info

    def topics(self, state: State) -> Topics:
        """Return the hierarchy of the rows, and in its field ``columns`` that of the columns."""
        plan, columns = self.plan, _get_columns(state)
        table, upper = kernel.compute_mean_weights(plan, state)[0], columns.matrices
        activity = compute_column_activity(plan, table, columns.units)
        means = (table, *weights.compute_all_means(plan.priors[1:], upper, plan.pool))
        return super().topics(state)._replace(columns=kernel.present_model(plan.model, means, activity))

    def keep(self, state: State) -> dict[str, Array]:
        """Return the number of steps, the parameters of all weights, and the units of the columns."""
        units = {name: getattr(state, name) for name in _UNITS}
        return {"t": state.t} | units | kernel.keep_fields(state, _FIELDS)

    def restore(self, seed: int, arrays: dict[str, Array]) -> State:
        """Return a state that continues a snapshot of this model, or the topics of another model's snapshot."""
        restored: State | None = kernel.restore_fields(self.init(seed), arrays, _FIELDS)
        if restored is not None and all(name in arrays for name in _UNITS):
            units: dict[str, Any] = {name: arrays[name].astype(np.float32) for name in _UNITS}
            return restored._replace(**units)
        matrices, phi, top = kernel.read_weights(self.plan, self.facts, arrays)
        state = _make_state(self.plan, matrices, phi)
        return state._replace(activity=(*state.activity[:-1], top))


def _make_plan(config: Config, facts: Facts, n_threads: int) -> InferencePlan:
    """Return the constants of the steps of a run."""
    parametrisation = kernel.choose_parametrisation(config)
    mean = config.shape / config.rate
    model = documents.make_model(families.GAMMA, families.IDENTITY, parametrisation, config.shape, mean, config.layers)
    word_prior = Prior(families.GAMMA, parametrisation, config.shape, config.rate)
    upper_prior = Prior(families.GAMMA, parametrisation, config.weight_shape, config.weight_rate)
    return kernel.make_plan(
        config,
        facts,
        n_threads,
        model=model,
        priors=(word_prior, *(upper_prior for _ in config.layers[1:])),
        samples=2,  # these two numbers have no effect on pathwise gradients
        control_samples=1,
        draws=config.draws,
        uses_scores=False,
        first_mean=mean,
    )


def _make_state(plan: InferencePlan, matrices: tuple[Weights, ...], phi: tuple[FloatArray, ...]) -> State:
    """Return a state at step 0 with these weights of the rows, and columns initialised from the topics ``phi``."""
    columns = init_columns(plan, weights.compute_means(plan.priors[0], matrices[0], plan.pool), phi)
    return State(
        t=np.array(0, dtype=np.int64),
        **kernel.name_weights(matrices),
        activity=kernel.init_activity(plan),
        **kernel.name_weights(columns.matrices, "column_"),
        **kernel.name_units(columns.units, "item_"),
        **kernel.name_units(kernel.make_no_units(plan.model)),
    )


def _get_columns(state: State) -> TableColumns:
    """Return the variational parameters of the columns in a state."""
    return TableColumns(kernel.get_weights(state, "column_"), kernel.get_units(state, "item_"))
