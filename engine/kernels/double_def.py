"""Double deep exponential family: a table of counts whose rows and columns both have a hierarchy.

Ranganath, Tang, Charlin and Blei, "Deep exponential families" (AISTATS 2015), section 6.2, sparse gamma:

    x_ni ~ Pois(sum_k z_n1k y_i1k),   rows    z_l ~ Gam(a, rate a / (W_l z_{l+1})),
                                      columns y_l ~ Gam(a, rate a / (U_l y_{l+1})),   tops and weights Gam(a, rate 0.3)

with as many units a layer on both sides.  Rows are documents and columns are words: ``y_1`` takes the place of
``W_0``.  Gradients are pathwise; a step moves the rows, or those whose turn it is, and every column.
"""

from typing import Any, NamedTuple

import numpy as np

from engine import first_topics, streams
from engine.black_box import documents, families, inference, pathwise, rows, weights
from engine.black_box.documents import Address, Local, Model
from engine.black_box.inference import Plan, Statistics
from engine.black_box.weights import PARTS, Prior, Sample, Weights
from engine.contract import Array, Batch, Facts, FloatArray, Info, Kernel, Topics
from engine.hierarchy import topics as hierarchy
from engine.models.double_def import Config
from engine.pool import Pool, chunks
from engine.schedule import Schedule

_COLUMN_LINKS = 1 << 10  # streams of the columns' weights: behind those of the rows' links


class TableColumns(NamedTuple):
    """Variational laws of the columns: their upper weights, and their units above layer 1, (V, T - K_1)."""

    matrices: tuple[Weights, ...]
    units: Local


def begin_columns(plan: Plan, table: FloatArray, phi: tuple[FloatArray, ...]) -> TableColumns:
    """Columns that begin with the groups of the rows' topics, at the scale of ``table``, the mean ``W_0``."""
    made = []
    level = float(table.mean())
    for place, (prior, layer) in enumerate(zip(plan.priors[1:], phi[1:], strict=True)):
        shares = layer / layer.sum(axis=0) * (len(layer) / layer.shape[1])
        made.append(weights.begin(prior, np.full(shares.shape, 1.0), shares * (level if place == 0 else 1.0)))
    matrices = tuple(made)
    return TableColumns(matrices, _begin_units(plan, table, matrices))


def _begin_units(plan: Plan, table: FloatArray, matrices: tuple[Weights, ...]) -> Local:
    above = int(plan.model.offsets[-1] - plan.model.offsets[1])
    first, second = np.zeros((len(table), above), np.float32), np.zeros((len(table), above), np.float32)
    upper = documents.padded(plan.model, mean_weights(plan, matrices))
    pieces = chunks(len(table), PARTS)
    plan.pool.run(documents.begin_hierarchy, [(plan.model, upper, table, first, second, a, b) for a, b in pieces])
    return Local(first, second, np.zeros_like(first), np.zeros_like(second))


def mean_weights(plan: Plan, matrices: tuple[Weights, ...]) -> tuple[FloatArray, ...]:
    """Mean upper weights of the columns."""
    return tuple(weights.means(prior, each, plan.pool) for prior, each in zip(plan.priors[1:], matrices, strict=True))


def mean_activity(plan: Plan, table: FloatArray, units: Local) -> tuple[FloatArray, ...]:
    """Mean units of every layer over the columns."""
    model = upper_units(plan.model)
    found = documents.means_of(model, units, plan.pool).mean(axis=0)
    edges = (plan.model.offsets[2:-1] - plan.model.offsets[1]).tolist()
    above = np.split(found, edges) if len(plan.model.offsets) > 2 else []
    return (table.mean(axis=0), *above)


def upper_units(model: Model) -> Model:
    """The layers above the first alone."""
    return model._replace(offsets=model.offsets[1:] - model.offsets[1])


def climb_columns(
    plan: Plan, seed: int, t: int, table: FloatArray, columns: TableColumns
) -> tuple[TableColumns, Array, float]:
    """One step of the columns by pathwise gradients.

    Parameters
    ----------
    table : (V, K_1) float64
        Mean ``W_0``.

    Returns
    -------
    Columns
    rates : (V, K_1) float32
        Of the priors of ``W_0``, given the draw of the layers above.
    float
        Their part of the evidence lower bound, without that of ``W_0``.
    """
    model, pool, pace = plan.model, plan.pool, plan.at(t)
    gradient = np.zeros((*columns.units.first.shape, 2), dtype=np.float32)
    rates = np.zeros(table.shape, dtype=np.float32)
    total, pulls, along = 0.0, 0.0, 0.0
    for draw in range(plan.draws):
        drawn = [
            weights.draw(prior, each, Sample(seed, t, draw, _COLUMN_LINKS + link), pool, slopes=True)
            for link, (prior, each) in enumerate(zip(plan.priors[1:], columns.matrices, strict=True))
        ]
        upper = documents.padded(model, tuple(each.values for each in drawn))
        sheets: Any = np.zeros((PARTS, *upper.shape))
        address = Address(seed, streams.SHAPES, t * plan.draws + draw)
        head = (model, upper, address, table, columns.units, gradient, rates)
        parts = enumerate(chunks(len(table), PARTS))
        total += sum(pool.run(pathwise.path_hierarchy, [(*head, sheets[part], a, b) for part, (a, b) in parts]))
        sheet = sheets.sum(axis=0) / plan.draws
        pulls = pulls + sheet
        along = along + sheet * documents.padded(model, tuple(each.slopes for each in drawn))
    moved, bound = _climb_matrices(plan, columns.matrices, pulls, along, pace)
    units = Local(*(np.empty_like(part) for part in columns.units))
    gradient /= plan.draws
    step = (upper_units(model), columns.units, gradient, pace, units)
    pool.run(pathwise.step_path, [(*step, a, b) for a, b in chunks(len(table), PARTS)])
    rates /= plan.draws
    return TableColumns(moved, units), rates, total / plan.draws + bound


def _climb_matrices(
    plan: Plan, matrices: tuple[Weights, ...], pulls: Any, along: Any, pace: Any
) -> tuple[tuple[Weights, ...], float]:
    moved, total = [], 0.0
    none = np.zeros((0, 0), dtype=np.float32)
    for link, (prior, each) in enumerate(zip(plan.priors[1:], matrices, strict=True)):
        rows, width = each.first.shape
        linear = np.zeros(width)
        new, bound = weights.climb_path(
            prior, each, pulls[link, :rows, :width], along[link, :rows, :width], linear, none, pace, plan.pool
        )
        moved.append(new)
        total += bound
    return tuple(moved), total


_ROWS = (*Weights._fields, "activity")
_COLUMNS = ("column_first", "column_second", "column_root1", "column_root2")
_UNITS = ("item_first", "item_second", "item_root1", "item_root2")


class State(NamedTuple):
    """Everything the next step needs.

    ``t``, ``first`` ... ``root2``, ``activity`` and ``unit_first`` ... ``unit_root2`` as of a DEF of the rows, where
    ``first[0]`` ... are layer 1 of the columns; ``column_first`` ... the columns' upper weights ``U_l``, and
    ``item_first`` ... (V, T - K_1) float32 the columns' units above layer 1.
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


class _Build(NamedTuple):
    """What the functions of the kernel share."""

    config: Config
    facts: Facts
    plan: Plan

    @property
    def usual(self) -> float:
        """Mean of a unit of the top."""
        return self.config.shape / self.config.rate


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """The kernel of a double DEF for a table; results do not depend on ``n_threads``."""
    setup = _Build(config, facts, _plan(config, facts, n_threads))
    plan = setup.plan
    return Kernel(
        batch_size=config.batch_size,
        sweeps_after=config.sweeps_after(facts),
        real=True,
        measure="perplexity",
        init=lambda seed: _init(setup, seed),
        begin=lambda seed, docs: _begin(setup, seed, docs),
        prepare=lambda _seed, state, docs: _with_local(state, inference.seat(plan, _given(setup, state), docs)),
        gather=lambda seed, state, docs, local: inference.gather(
            plan, seed, int(state.t) + 1, _matrices(state), docs, local
        ),
        move=lambda seed, state, statistics: _move(setup, seed, state, statistics),
        local=_local,
        with_local=_with_local,
        infer=lambda seed, state, docs, sweeps=None: rows.infer(plan, seed, _given(setup, state), docs, sweeps),
        topics=lambda state: _topics(setup, state),
        start_chain=lambda _seed, state, docs: rows.start_chain(plan, _given(setup, state), docs),
        advance_chain=lambda seed, state, *rest: rows.advance_chain(plan, seed, _given(setup, state), *rest),
        keep=_keep,
        restore=lambda seed, arrays: _restore(setup, seed, arrays),
    )


def _plan(config: Config, facts: Facts, n_threads: int) -> Plan:
    kind = families.LOGARITHM if config.parameters == "logarithm" else families.SOFTPLUS
    usual = config.shape / config.rate
    model = documents.model_of(families.GAMMA, families.IDENTITY, kind, config.shape, usual, config.layers)
    words = Prior(families.GAMMA, kind, config.shape, config.rate)
    links = Prior(families.GAMMA, kind, config.weight_shape, config.weight_rate)
    return Plan(
        model=model,
        priors=(words, *(links for _ in config.layers[1:])),
        n_words=facts.n_words,
        n_documents=facts.n_documents,
        samples=2,
        aside=1,
        draws=config.draws,
        scores=False,
        pace=Schedule(config.step, config.tau, config.kappa),
        window=config.window,
        batch=config.batch_size,
        pool=Pool(n_threads),
        kept={},
    )


def _init(setup: _Build, seed: int) -> State:
    """Before anything is known: random weights on both sides."""
    plan, layers = setup.plan, setup.config.layers
    flat = tuple(np.full((low, high), 1.0 / low) for low, high in zip((1, *layers[:-1]), layers, strict=True))
    return _state(setup, rows.random_weights(plan, seed), flat)


def _begin(setup: _Build, seed: int, docs: Batch) -> State:
    """The state before the first step, topics from clusters of rows (:mod:`engine.first_topics`)."""
    plan = setup.plan
    found = first_topics.topics(seed, docs, setup.facts.n_words, setup.config.layers, plan.pool)
    tokens = max(1.0, float(docs.counts.sum(dtype=np.float64)) / max(1, len(docs.documents)))
    words = rows.words_of(plan, found.phi[0], tokens, setup.usual)
    return _state(setup, (words, *rows.links_of(plan, found.phi, 0.0)), found.phi)


def _state(setup: _Build, matrices: tuple[Weights, ...], phi: tuple[FloatArray, ...]) -> State:
    plan = setup.plan
    found = begin_columns(plan, rows.means(plan, matrices)[0], phi)
    activity = tuple(np.full(width, setup.usual) for width in setup.config.layers)
    upper = rows.spread_of(plan, found.matrices)
    none = rows.no_units(plan.model)
    return State(np.array(0, dtype=np.int64), *rows.spread(matrices), activity, *upper, *found.units, *none)


def _matrices(state: State) -> tuple[Weights, ...]:
    return rows.gathered(state.first, state.second, state.root1, state.root2)


def _columns(state: State) -> TableColumns:
    matrices = rows.gathered(state.column_first, state.column_second, state.column_root1, state.column_root2)
    return TableColumns(matrices, Local(state.item_first, state.item_second, state.item_root1, state.item_root2))


def _local(state: State) -> Local:
    return Local(state.unit_first, state.unit_second, state.unit_root1, state.unit_root2)


def _with_local(state: State, local: Local) -> State:
    return state._replace(
        unit_first=local.first, unit_second=local.second, unit_root1=local.root1, unit_root2=local.root2
    )


def _given(setup: _Build, state: State) -> documents.Given:
    return inference.given_means(setup.plan, _matrices(state))


def _move(setup: _Build, seed: int, state: State, statistics: Statistics) -> tuple[State, Info]:
    """The columns' layers, whose draw gives the prior of ``W_0``, then all that a DEF moves."""
    plan, t = setup.plan, int(state.t) + 1
    table = rows.means(plan, _matrices(state))[0]
    items, rates, bound = climb_columns(plan, seed, t, table, _columns(state))
    moved, elbo = inference.move(plan, seed, t, _matrices(state), statistics, rates)
    elbo += bound / max(1, plan.n_documents)
    upper, activity = rows.spread_of(plan, items.matrices), plan.activity(statistics)
    state = State(np.array(t, dtype=np.int64), *rows.spread(moved), activity, *upper, *items.units, *_local(state))
    tokens = int(statistics.tokens)
    return state, Info(step_sizes=(), elbo=elbo, tokens=tokens, token_draws=tokens * plan.token_draws)


def _topics(setup: _Build, state: State) -> Topics:
    plan = setup.plan
    found = rows.means(plan, _matrices(state))
    items = _columns(state)
    above = mean_weights(plan, items.matrices)
    other = rows.present_topics(plan.model, (found[0], *above), mean_activity(plan, found[0], items.units))
    return rows.present_topics(plan.model, found, state.activity)._replace(columns=other)


def _keep(state: State) -> dict[str, Array]:
    """Laws of all weights and of the columns, and how far their steps are, so that another run can go on."""
    kept = {"t": state.t} | {name: getattr(state, name) for name in _UNITS}
    return kept | rows.kept(state, (*_ROWS, *_COLUMNS))


def _restore(setup: _Build, seed: int, arrays: dict[str, Array]) -> State:
    """The state that goes on from a snapshot of this model, or from topics on the simplex of another."""
    plan, facts = setup.plan, setup.facts
    new = _init(setup, seed)
    ours = rows.read_back(new, arrays, (*_ROWS, *_COLUMNS))
    if ours is not None and all(name in arrays for name in _UNITS):
        units = {name: arrays[name].astype(np.float32) for name in _UNITS}
        return ours._replace(t=np.asarray(arrays["t"], dtype=np.int64), **units)
    phi = tuple(np.asarray(each, dtype=np.float64) for each in hierarchy.numbered(arrays, "phi"))
    tokens = max(1.0, facts.n_tokens / max(1, facts.n_documents))
    matrices, scale = rows.from_topics(plan, phi, tokens, setup.usual, 0.0)
    state = _state(setup, matrices, phi)
    top = np.asarray(arrays["r"], dtype=np.float64) / (scale if len(phi) == 1 else 1.0)
    return state._replace(activity=(*state.activity[:-1], top))
