"""The columns of a double DEF: a hierarchy of gamma layers over the weights of every column (section 6.2 of the paper).

The row of ``W_0`` that belongs to a column is its layer 1; the layers above it are variables of the column, as a
document's are.  All columns move in every step.
"""

from typing import Any, NamedTuple

import numpy as np

from engine import streams
from engine.black_box import documents, pathwise, seating, weights
from engine.black_box.documents import Address, Local, Model
from engine.black_box.inference import Plan
from engine.black_box.weights import PARTS, Sample, Weights
from engine.contract import Array, FloatArray
from engine.pool import chunks

_LINKS = 1 << 10  # streams of the columns' weights: behind those of the rows' links


class Columns(NamedTuple):
    """Variational laws of the columns: their upper weights, and their units above layer 1, (V, T - K_1)."""

    matrices: tuple[Weights, ...]
    units: Local


def begin(plan: Plan, table: FloatArray, phi: tuple[FloatArray, ...]) -> Columns:
    """Columns that begin with the groups of the rows' topics, at the scale of ``table``, the mean ``W_0``."""
    made = []
    level = float(table.mean())
    for place, (prior, layer) in enumerate(zip(plan.priors[1:], phi[1:], strict=True)):
        shares = layer / layer.sum(axis=0) * (len(layer) / layer.shape[1])
        made.append(weights.begin(prior, np.full(shares.shape, 1.0), shares * (level if place == 0 else 1.0)))
    matrices = tuple(made)
    return Columns(matrices, _seat(plan, table, matrices))


def _seat(plan: Plan, table: FloatArray, matrices: tuple[Weights, ...]) -> Local:
    above = int(plan.model.offsets[-1] - plan.model.offsets[1])
    first, second = np.zeros((len(table), above), np.float32), np.zeros((len(table), above), np.float32)
    upper = documents.padded(plan.model, means(plan, matrices))
    pieces = chunks(len(table), PARTS)
    plan.pool.run(seating.seat_hierarchy, [(plan.model, upper, table, first, second, a, b) for a, b in pieces])
    return Local(first, second, np.zeros_like(first), np.zeros_like(second))


def means(plan: Plan, matrices: tuple[Weights, ...]) -> tuple[FloatArray, ...]:
    """Mean upper weights of the columns."""
    return tuple(weights.means(prior, each, plan.pool) for prior, each in zip(plan.priors[1:], matrices, strict=True))


def activity(plan: Plan, table: FloatArray, units: Local) -> tuple[FloatArray, ...]:
    """Mean units of every layer over the columns."""
    model = upper_units(plan.model)
    found = documents.means_of(model, units, plan.pool).mean(axis=0)
    edges = (plan.model.offsets[2:-1] - plan.model.offsets[1]).tolist()
    above = np.split(found, edges) if len(plan.model.offsets) > 2 else []
    return (table.mean(axis=0), *above)


def upper_units(model: Model) -> Model:
    """The layers above the first alone."""
    return model._replace(offsets=model.offsets[1:] - model.offsets[1])


def climb(plan: Plan, seed: int, t: int, table: FloatArray, columns: Columns) -> tuple[Columns, Array, float]:
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
            weights.draw(prior, each, Sample(seed, t, draw, _LINKS + link), pool, slopes=True)
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
    return Columns(moved, units), rates, total / plan.draws + bound


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
