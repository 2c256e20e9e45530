"""Hidden units of documents: their layout, means and first parameters, and the results of a draw.

Ranganath, Tang, Charlin and Blei (2015); equation numbers are that paper's.  The units of all layers of a document are
stored in one row: layer 1 first, ``T`` in all.  The variational parameters of a document change only in steps that
read it; :mod:`engine.black_box.pathwise` and :mod:`engine.black_box.scores` compute their gradients.
"""

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from topiary.engine.black_box import families
from topiary.engine.black_box.weights import PARTS
from topiary.engine.contract import Array, Counts, FloatArray
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool, cut_evenly


class Units(NamedTuple):
    """Hidden units of a model.

    Attributes
    ----------
    family : int
        GAMMA, BERNOULLI or POISSON.
    link : int
        IDENTITY, SIGMOID or SOFTPLUS_LINK: mean of a unit, given the weighted sum of those above (eq. 1).
    kind : int
        Parametrisation of a gamma by unconstrained numbers: SOFTPLUS or LOGARITHM.
    bias : int
        1 if the last column of every upper matrix is an intercept, else 0.
    shape : float
        Shape of gamma units in the prior, the same in every layer.
    top : float
        Stand-in for the weighted sum of units above the top layer: its mean, before the link.
    offsets : (L + 1,) int64
        First unit of every layer, then T.
    positive : int
        1 if upper weights are gamma, 0 if they are normal.
    """

    family: int
    link: int
    kind: int
    bias: int
    shape: float
    top: float
    offsets: Array
    positive: int


class Params(NamedTuple):
    """Variational parameters of documents, (documents, T) float32, as in :class:`engine.black_box.weights.Weights`.

    For families with one parameter ``second`` and ``root2`` have no columns.
    """

    first: Array
    second: Array
    root1: Array
    root2: Array


class Loadings(NamedTuple):
    """Weights of one draw, as documents read them.

    Attributes
    ----------
    table : (V, K_1)
        ``W_0``.
    sums : (K_1,) float64
        Column sums of the mean of ``W_0``: the linear part of the likelihood needs no draw.
    upper : (L - 1, K, K + 1) float64
        ``W_1`` ... padded with zeros to the widest layer (K); intercepts follow the last weight of their layer.
    """

    table: Array
    sums: FloatArray
    upper: FloatArray


class Trace(NamedTuple):
    """Results of one draw from which the gradients of the weights are computed.

    ``units`` (documents, K_1) float32 are the draws of layer 1, ``ratios`` (cells,) float32 the counts divided by
    their rates; ``upper_gradients`` (parts, L - 1, K, K + 1) are the summed gradients of the upper weights.
    """

    units: Array
    ratios: Array
    upper_gradients: FloatArray


class Terms(NamedTuple):
    """Sums over documents for the score functions of the weights, one row per part (piece of work) of the documents.

    ``words`` (parts, V): log-likelihood of each word's tokens without the linear part; ``logs`` (parts, T): log density
    of each unit given the units above; ``units`` (parts, T): the units themselves.
    """

    words: FloatArray
    logs: FloatArray
    units: FloatArray


def make_model(family: int, link: int, kind: int, shape: float, top: float, widths: tuple[int, ...]) -> Units:
    """Return the hidden units of a model with layers of these widths; ``top`` is the mean of the top's units.

    Bernoulli and Poisson units have an intercept, because all units above may be 0.
    """
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    if family == families.BERNOULLI:
        top = float(np.log(top) - np.log1p(-top))
    elif link == families.SOFTPLUS_LINK:
        top = float(np.log(np.expm1(top)))
    return Units(family, link, kind, int(family != families.GAMMA), shape, top, offsets, int(link == families.IDENTITY))


def pad_matrices(model: Units, matrices: tuple[FloatArray, ...]) -> FloatArray:
    """Pad the upper matrices (K_l, K_{l+1} + bias) with zeros to the layout of :attr:`Loadings.upper`."""
    widest = int(np.diff(model.offsets).max())
    out = np.zeros((len(matrices), widest, widest + 1))
    for link, matrix in enumerate(matrices):
        out[link, : matrix.shape[0], : matrix.shape[1]] = matrix
    return out


@inlined
def compute_dot_product(row: Array, units: Array) -> float:
    """Return the inner product, summed in eight interleaved parts for speed."""
    a = b = c = d = e = f = g = h = row[0] * units[0] * 0
    n = len(units)
    k = 0
    while k + 8 <= n:
        a += row[k] * units[k]
        b += row[k + 1] * units[k + 1]
        c += row[k + 2] * units[k + 2]
        d += row[k + 3] * units[k + 3]
        e += row[k + 4] * units[k + 4]
        f += row[k + 5] * units[k + 5]
        g += row[k + 6] * units[k + 6]
        h += row[k + 7] * units[k + 7]
        k += 8
    while k < n:
        a += row[k] * units[k]
        k += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@inlined
def sum_above(model: Units, upper: FloatArray, z: FloatArray, link: int, i: int) -> float:
    """Return the weighted sum of the units above unit ``i`` of layer ``link`` (from 0), with its intercept."""
    above, width = model.offsets[link + 1], model.offsets[link + 2] - model.offsets[link + 1]
    total = upper[link, i, width] if model.bias else 0.0
    for k in range(width):
        total += upper[link, i, k] * z[above + k]
    return total


@compiled
def write_means(model: Units, first: Array, second: Array, out: FloatArray, begin: int, end: int) -> None:
    """Write ``E[z]`` of documents ``begin:end`` to ``out`` (documents, T)."""
    for j in range(begin, end):
        for t in range(out.shape[1]):
            if model.family == families.GAMMA:
                shape, scale, _ = families.read_gamma(model.kind, first[j, t], second[j, t])
                out[j, t] = shape * scale
            elif model.family == families.BERNOULLI:
                out[j, t] = families.sigmoid(first[j, t])
            else:
                out[j, t] = families.softplus(first[j, t])


@compiled
def add_rates(
    loadings: Loadings, scored: Counts, units: FloatArray, cells: FloatArray, totals: FloatArray, begin: int, end: int
) -> None:
    """Add the rates under mean units (documents, T) to ``cells`` of the scored cells and to ``totals``."""
    width = loadings.table.shape[1]
    for j in range(begin, end):
        for k in range(width):
            totals[j] += units[j, k] * loadings.sums[k]
        for cell in range(scored.starts[j], scored.starts[j + 1]):
            rate = families.LEAST_RATE
            for k in range(width):
                rate += loadings.table[scored.words[cell], k] * units[j, k]
            cells[cell] += rate


def compute_means(model: Units, local: Params, pool: Pool) -> FloatArray:
    """Return ``E[z]`` (documents, T) of all documents."""
    out = np.empty(local.first.shape)
    pool.run_parts(cut_evenly(len(out), PARTS), write_means, model, local.first, local.second, out)
    return out


_ROUNDS = 20  # coordinate updates of a layer, when a document's parameters are initialised
_TURNS = 5  # passes through all layers


@compiled
def init_documents(
    model: Units, loadings: Loadings, cells: Counts, first: Array, second: Array, begin: int, end: int
) -> None:
    """Write the initial parameters of documents ``begin:end``, with the weights at their means.

    Layer 1 is found by the coordinate updates of Poisson factorisation under the prior given by the layers above; each
    upper layer by multiplicative updates that fit the units below.  Both alternate a few times.
    """
    layers, total, width = len(model.offsets) - 1, model.offsets[-1], model.offsets[1]
    z, counts, rates = np.empty(total), np.empty(total), np.empty(width)
    units = np.empty(width, dtype=np.float32)
    gamma = model.family == families.GAMMA
    prior = model.shape if gamma else 0.1
    for j in range(begin, end):
        n_tokens = cells.values[cells.starts[j] : cells.starts[j + 1]].sum()
        all_sums = loadings.sums.sum() + 1e-30
        for k in range(width):
            rates[k] = prior / model.top if gamma else prior
            counts[k] = n_tokens * loadings.sums[k] / all_sums
        for t in range(width, total):
            z[t], counts[t] = (1.0, prior) if gamma or model.positive else (0.3, 0.3)
        for turn in range(_TURNS if gamma and layers > 1 else 1):
            _init_words(loadings, cells, j, prior, rates, z, counts, units, _ROUNDS if turn == 0 else _ROUNDS // 2)
            if model.positive:
                for link in range(layers - 1):
                    _init_layer(model, loadings.upper, z, counts, link)
            if gamma and layers > 1:
                for k in range(width):
                    rates[k] = prior / (sum_above(model, loadings.upper, z, 0, k) + families.LEAST_MEAN)
        for t in range(total):
            _init_unit(model, z[t], prior + counts[t], first[j], second[j], t)


@inlined
def _init_unit(model: Units, mean: float, shape: float, first: Array, second: Array, t: int) -> None:
    """Write the parameters of unit ``t`` with this mean, and for a gamma unit with this shape."""
    if model.family == families.GAMMA:
        first[t], second[t] = families.write_gamma(model.kind, shape, mean)
    elif model.family == families.BERNOULLI:
        chance = min(max(mean / (1.0 + mean), 0.02), 0.98)
        first[t] = log(chance) - log1p(-chance)
    else:
        first[t] = families.inverse_softplus(min(max(mean, 0.02), 1e4))


@inlined
def _init_words(
    loadings: Loadings,
    cells: Counts,
    j: int,
    prior: float,
    rates: FloatArray,
    z: FloatArray,
    counts: FloatArray,
    units: Array,
    rounds: int,
) -> None:
    """Repeat the update ``z ~ Gam(prior + counts, rate + sums)`` of layer 1 of document ``j``; ``z`` are its means.

    ``counts`` are the document's counts, split over topics in proportion to the geometric means of z (``units``).
    """
    width = len(rates)
    for _ in range(rounds):
        for k in range(width):
            shape = prior + counts[k]
            _, digamma, _ = families.compute_gamma_functions(shape)
            units[k] = exp(digamma) / (rates[k] + loadings.sums[k])
            counts[k] = 0.0
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            row = loadings.table[cells.words[cell]]
            ratio = cells.values[cell] / (compute_dot_product(row, units) + families.LEAST_RATE)
            for k in range(width):
                counts[k] += ratio * row[k]
        for k in range(width):
            counts[k] *= units[k]
            z[k] = (prior + counts[k]) / (rates[k] + loadings.sums[k])


@inlined
def _init_layer(model: Units, upper: FloatArray, z: FloatArray, counts: FloatArray, link: int) -> None:
    """Fit the units above ``link`` to the units below it, by multiplicative updates."""
    below, above, end = model.offsets[link], model.offsets[link + 1], model.offsets[link + 2]
    for _ in range(_ROUNDS):
        for t in range(above, end):
            counts[t] = 0.0
        for i in range(above - below):
            ratio = z[below + i] / (sum_above(model, upper, z, link, i) + families.LEAST_MEAN)
            for t in range(above, end):
                counts[t] += ratio * upper[link, i, t - above]
        for t in range(above, end):
            weight = 0.0
            for i in range(above - below):
                weight += upper[link, i, t - above]
            counts[t] *= z[t] * model.shape
            z[t] = (model.shape + counts[t]) / (model.shape + model.shape * weight)


@compiled
def init_hierarchy(
    model: Units, upper: FloatArray, means: FloatArray, first: Array, second: Array, begin: int, end: int
) -> None:
    """Write the initial parameters of the layers above layer 1 in rows ``begin:end``, given ``means`` of layer 1."""
    layers, total, width = len(model.offsets) - 1, model.offsets[-1], model.offsets[1]
    z, counts = np.empty(total), np.empty(total)
    for j in range(begin, end):
        for t in range(total):
            z[t], counts[t] = (means[j, t] if t < width else 1.0), model.shape
        for link in range(layers - 1):
            _init_layer(model, upper, z, counts, link)
        for t in range(width, total):
            first[j, t - width], second[j, t - width] = families.write_gamma(model.kind, model.shape + counts[t], z[t])
