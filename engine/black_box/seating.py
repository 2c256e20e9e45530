"""Where the parameters of documents and columns begin: near the end of coordinate updates, weights at their means."""

from math import exp, log, log1p

import numpy as np

from engine.black_box.documents import Given, Model, dot, weighted
from engine.black_box.families import (
    BERNOULLI,
    GAMMA,
    LEAST_MEAN,
    LEAST_RATE,
    gamma_from,
    gamma_functions,
    inverse_softplus,
)
from engine.contract import Array, Counts, FloatArray
from engine.jit import compiled, inlined

_SEATING = 20  # rounds of the updates that begin a document's parameters
_TURNS = 5  # how often they go through the layers


@compiled
def seat_documents(
    model: Model, given: Given, cells: Counts, first: Array, second: Array, begin: int, end: int
) -> None:
    """Write parameters to begin documents ``begin:end`` with, the weights at their means.

    Layer 1 by the coordinate updates of Poisson factorisation, its prior that of the layers above at their means; each
    upper layer by the ratio of the units below to their means; in turn, a few times.
    """
    layers, total, width = len(model.offsets) - 1, model.offsets[-1], model.offsets[1]
    z, got, rates = np.empty(total), np.empty(total), np.empty(width)
    units = np.empty(width, dtype=np.float32)
    gamma = model.family == GAMMA
    prior = model.shape if gamma else 0.1
    for j in range(begin, end):
        tokens = cells.values[cells.starts[j] : cells.starts[j + 1]].sum()
        all_sums = given.sums.sum() + 1e-30
        for k in range(width):
            rates[k] = prior / model.top if gamma else prior
            got[k] = tokens * given.sums[k] / all_sums
        for t in range(width, total):
            z[t], got[t] = (1.0, prior) if gamma or model.positive else (0.3, 0.3)
        for turn in range(_TURNS if gamma and layers > 1 else 1):
            _seat_words(given, cells, j, prior, rates, z, got, units, _SEATING if turn == 0 else _SEATING // 2)
            if model.positive:
                for link in range(layers - 1):
                    _seat_layer(model, given.upper, z, got, link)
            if gamma and layers > 1:
                for k in range(width):
                    rates[k] = prior / (weighted(model, given.upper, z, 0, k) + LEAST_MEAN)
        for t in range(total):
            _seat_unit(model, z[t], prior + got[t], first[j], second[j], t)


@inlined
def _seat_unit(model: Model, mean: float, shape: float, first: Array, second: Array, t: int) -> None:
    """Write the parameters of a unit of this mean, of a gamma unit with this shape."""
    if model.family == GAMMA:
        first[t], second[t] = gamma_from(model.kind, shape, mean)
    elif model.family == BERNOULLI:
        chance = min(max(mean / (1.0 + mean), 0.02), 0.98)
        first[t] = log(chance) - log1p(-chance)
    else:
        first[t] = inverse_softplus(min(max(mean, 0.02), 1e4))


@inlined
def _seat_words(
    given: Given,
    cells: Counts,
    j: int,
    prior: float,
    rates: FloatArray,
    z: FloatArray,
    got: FloatArray,
    units: Array,
    rounds: int,
) -> None:
    """Rounds of ``z ~ Gam(prior + got, rate + sums)``, ``got`` the counts split by the geometric means of z."""
    width = len(rates)
    for _ in range(rounds):
        for k in range(width):
            shape = prior + got[k]
            _, digamma, _ = gamma_functions(shape)
            units[k] = exp(digamma) / (rates[k] + given.sums[k])
            got[k] = 0.0
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            row = given.table[cells.words[cell]]
            ratio = cells.values[cell] / (dot(row, units) + LEAST_RATE)
            for k in range(width):
                got[k] += ratio * row[k]
        for k in range(width):
            got[k] *= units[k]
            z[k] = (prior + got[k]) / (rates[k] + given.sums[k])


@inlined
def _seat_layer(model: Model, upper: FloatArray, z: FloatArray, got: FloatArray, link: int) -> None:
    """The layer above ``link`` from the units of that, by multiplicative updates."""
    below, above, end = model.offsets[link], model.offsets[link + 1], model.offsets[link + 2]
    for _ in range(_SEATING):
        for t in range(above, end):
            got[t] = 0.0
        for i in range(above - below):
            ratio = z[below + i] / (weighted(model, upper, z, link, i) + LEAST_MEAN)
            for t in range(above, end):
                got[t] += ratio * upper[link, i, t - above]
        for t in range(above, end):
            weight = 0.0
            for i in range(above - below):
                weight += upper[link, i, t - above]
            got[t] *= z[t] * model.shape
            z[t] = (model.shape + got[t]) / (model.shape + model.shape * weight)


@compiled
def seat_hierarchy(
    model: Model, upper: FloatArray, means: FloatArray, first: Array, second: Array, begin: int, end: int
) -> None:
    """Write parameters to begin the layers above the first of rows ``begin:end`` with, layer 1 at ``means``."""
    layers, total, width = len(model.offsets) - 1, model.offsets[-1], model.offsets[1]
    z, got = np.empty(total), np.empty(total)
    for j in range(begin, end):
        for t in range(total):
            z[t], got[t] = (means[j, t] if t < width else 1.0), model.shape
        for link in range(layers - 1):
            _seat_layer(model, upper, z, got, link)
        for t in range(width, total):
            first[j, t - width], second[j, t - width] = gamma_from(model.kind, model.shape + got[t], z[t])
