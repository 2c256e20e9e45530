"""Gradients of the bound through the draws of gamma units, and the steps of documents along them.

A draw is a smooth function of the parameters of its law, which are moved along the derivative of the bound through it
(:func:`engine.black_box.families.differentiate_bound`).  The pulls on the weights come from the same draws.
"""

from math import exp, lgamma, log

import numpy as np

from engine.black_box import families
from engine.black_box.documents import Loadings, Params, Trace, Units, compute_dot_product, sum_above
from engine.contract import Array, Counts, FloatArray
from engine.jit import compiled, inlined
from engine.streams import Address, start_stream


@inlined
def differentiate_hierarchy(
    model: Units,
    upper: FloatArray,
    z: FloatArray,
    means: FloatArray,
    rates: FloatArray,
    pulls: FloatArray,
    sheet: FloatArray,
) -> None:
    """Write gradients of the gamma layers among themselves, at one draw of the units.

    Parameters
    ----------
    model, upper
    z : (T,) float64
        The draw.
    means : (T,) float64
        ``E[z]`` under q: the density of a unit given those above is linear in it, up to terms independent of them.
    rates : (T,) float64
        Written: rate of every unit given the draw of those above.
    pulls : (T,) float64
        Added to: derivative along ln z.
    sheet : (L - 1, K, K + 1) float64
        Added to: derivative along ln w.
    """
    layers = len(model.offsets) - 1
    for link in range(layers - 1):
        below, above = model.offsets[link], model.offsets[link + 1]
        width = model.offsets[link + 2] - above
        for i in range(above - below):
            m = sum_above(model, upper, z, link, i) + families.LEAST_MEAN
            rates[below + i] = model.shape / m
            g = model.shape * (means[below + i] / m - 1.0) / m
            for k in range(width):
                pull = g * upper[link, i, k] * z[above + k]
                pulls[above + k] += pull
                sheet[link, i, k] += pull
    for t in range(model.offsets[layers - 1], model.offsets[layers]):
        rates[t] = model.shape / model.top


@compiled
def differentiate_documents(
    model: Units,
    loadings: Loadings,
    address: Address,
    cells: Counts,
    numbers: Array,
    local: Params,
    gradient: Array,
    trace: Trace,
    part: int,
    begin: int,
    end: int,
) -> float:
    """Add one draw's pathwise gradients of documents ``begin:end`` to ``gradient`` (documents, T, 2); return the bound.

    All units are gamma.
    """
    total, first_width = model.offsets[-1], model.offsets[1]
    desk = np.empty((8, total))
    z, means, rates, pulls = desk[0], desk[1], desk[2], desk[3]
    slopes, shapes, scales, trigammas = desk[4], desk[5], desk[6], desk[7]
    pull1 = np.empty(first_width, dtype=np.float32)
    prior, bound = model.shape, 0.0
    normaliser = lgamma(prior)
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, numbers[j])
        units = trace.units[j]
        for t in range(total):
            shape, scale, log_scale = families.read_gamma(model.kind, local.first[j, t], local.second[j, t])
            log_gamma, digamma, trigamma = families.compute_gamma_functions(shape)
            log_x, rng = families.draw_log_gamma(rng, shape)
            slopes[t] = families.differentiate_gamma(shape, log_x, digamma)
            z[t] = scale * exp(log_x)
            shapes[t], scales[t], trigammas[t], means[t] = shape, scale, trigamma, shape * scale
            bound += families.bound_gamma(prior, shape, log_scale, log_gamma, digamma) - normaliser
            pulls[t] = 0.0
        for k in range(first_width):
            units[k] = z[k] if z[k] > 1e-35 else 0.0
            pull1[k] = 0.0
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            row = loadings.table[cells.words[cell]]
            rate = compute_dot_product(row, units) + np.float32(families.LEAST_RATE)
            ratio = np.float32(cells.values[cell]) / rate
            trace.ratios[cell] = ratio
            for k in range(first_width):
                pull1[k] += ratio * row[k]
            bound += cells.values[cell] * log(rate) - lgamma(cells.values[cell] + 1.0)
        for k in range(first_width):
            pulls[k] = pull1[k] * units[k]
            bound -= means[k] * loadings.sums[k]
        differentiate_hierarchy(model, loadings.upper, z, means, rates, pulls, trace.sheets[part])
        for t in range(total):
            linear = loadings.sums[t] if t < first_width else 0.0
            bound += prior * log(rates[t]) - rates[t] * means[t]
            one, two = families.differentiate_bound(
                shapes[t], scales[t], trigammas[t], slopes[t], prior, rates[t] + linear, pulls[t]
            )
            first, second = local.first[j, t], local.second[j, t]
            g1, g2 = families.chain_gamma(model.kind, first, second, shapes[t], scales[t], one, two)
            gradient[j, t, 0] += g1
            gradient[j, t, 1] += g2
    return bound


@compiled
def differentiate_columns(
    model: Units,
    upper: FloatArray,
    address: Address,
    means: FloatArray,
    local: Params,
    gradient: Array,
    rates: Array,
    sheet: FloatArray,
    begin: int,
    end: int,
) -> float:
    """Add gradients of rows as :func:`differentiate_documents`, layer 1 excepted: the columns of a double DEF.

    Parameters
    ----------
    means : (rows, K_1) float64
        Of layer 1 under q.
    local : Params
        Of the layers above, (rows, T - K_1).
    gradient : (rows, T - K_1, 2) float32
        Added to.
    rates : (rows, K_1) float32
        Added to: rates of layer 1 given the draw of the layers above.
    """
    total, first_width = model.offsets[-1], model.offsets[1]
    desk = np.empty((8, total))
    z, mean, rate, pulls = desk[0], desk[1], desk[2], desk[3]
    slopes, shapes, scales, trigammas = desk[4], desk[5], desk[6], desk[7]
    prior, bound = model.shape, 0.0
    normaliser = lgamma(prior)
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, j)
        for k in range(first_width):
            z[k], mean[k], pulls[k] = means[j, k], means[j, k], 0.0
        for t in range(first_width, total):
            at = t - first_width
            shape, scale, log_scale = families.read_gamma(model.kind, local.first[j, at], local.second[j, at])
            log_gamma, digamma, trigamma = families.compute_gamma_functions(shape)
            log_x, rng = families.draw_log_gamma(rng, shape)
            slopes[t] = families.differentiate_gamma(shape, log_x, digamma)
            z[t] = scale * exp(log_x)
            shapes[t], scales[t], trigammas[t], mean[t] = shape, scale, trigamma, shape * scale
            bound += families.bound_gamma(prior, shape, log_scale, log_gamma, digamma) - normaliser
            pulls[t] = 0.0
        differentiate_hierarchy(model, upper, z, mean, rate, pulls, sheet)
        for k in range(first_width):
            rates[j, k] += rate[k]
        for t in range(first_width, total):
            at = t - first_width
            bound += prior * log(rate[t]) - rate[t] * mean[t]
            one, two = families.differentiate_bound(
                shapes[t], scales[t], trigammas[t], slopes[t], prior, rate[t], pulls[t]
            )
            first, second = local.first[j, at], local.second[j, at]
            g1, g2 = families.chain_gamma(model.kind, first, second, shapes[t], scales[t], one, two)
            gradient[j, at, 0] += g1
            gradient[j, at, 1] += g2
    return bound


@compiled
def step_units(
    model: Units, old: Params, gradient: Array, pace: families.Stride, new: Params, begin: int, end: int
) -> None:
    """Step the parameters of documents ``begin:end`` along ``gradient``."""
    for j in range(begin, end):
        for t in range(old.first.shape[1]):
            d1, new.root1[j, t] = families.scale_step(pace, gradient[j, t, 0], old.root1[j, t])
            d2, new.root2[j, t] = families.scale_step(pace, gradient[j, t, 1], old.root2[j, t])
            first, second = old.first[j, t] + d1, old.second[j, t] + d2
            new.first[j, t], new.second[j, t] = families.bound_parameters(model.kind, families.GAMMA, first, second)


@compiled
def pull_words(
    starts: Array, rows: Array, places: Array, trace: Trace, table: Array, slopes: Array, pulls: Array, along: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Add the pulls on ``W_0``, words ``begin:end``: ``w_vk sum_n z_nk x_nv / rate_nv``, and these times the slopes.

    ``starts``, ``rows`` and ``places`` are the cells word by word (:func:`engine.corpus.sort_by_word`).
    """
    width = table.shape[1]
    total = np.empty(width)
    for v in range(begin, end):
        total[:] = 0.0
        for at in range(starts[v], starts[v + 1]):
            ratio, units = trace.ratios[places[at]], trace.units[rows[at]]
            for k in range(width):
                total[k] += ratio * units[k]
        for k in range(width):
            pull = total[k] * table[v, k]
            pulls[v, k] += pull
            along[v, k] += pull * slopes[v, k]
