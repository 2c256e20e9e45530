"""Gradients of the bound through the draws of gamma units, and the steps of documents along them.

A draw is a smooth function of the parameters of its distribution, so the bound can be differentiated through it
(:func:`engine.black_box.families.differentiate_bound`).  *Log gradients* are derivatives of the log-joint along the
logarithm of a unit or weight; those of the weights come from the same draws.
"""

from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np

from topiary.engine.black_box import families
from topiary.engine.black_box.documents import Loadings, Params, Trace, Units, compute_dot_product, sum_above
from topiary.engine.contract import Array, Counts, FloatArray
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Address, Stream, start_stream


@inlined
def differentiate_hierarchy(
    model: Units,
    upper: FloatArray,
    z: FloatArray,
    means: FloatArray,
    rates: FloatArray,
    log_gradients: FloatArray,
    upper_gradient: FloatArray,
) -> None:
    """Write the rates of gamma units given the layers above, and add the gradients of their densities.

    Parameters
    ----------
    model, upper
    z : (T,) float64
        The draw.
    means : (T,) float64
        ``E[z]`` under q, used instead of the draw of the lower unit: its log density is linear in z, up to terms that
        do not depend on the units above.
    rates : (T,) float64
        Written: rate of every unit given the draw of those above.
    log_gradients : (T,) float64
        Added to: derivative along ln z.
    upper_gradient : (L - 1, K, K + 1) float64
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
                log_gradient = g * upper[link, i, k] * z[above + k]
                log_gradients[above + k] += log_gradient
                upper_gradient[link, i, k] += log_gradient
    for t in range(model.offsets[layers - 1], model.offsets[layers]):
        rates[t] = model.shape / model.top


class UnitDesk(NamedTuple):
    """Working memory for the units of one document, (T,) each: their draw ``z`` and the values their gradients need."""

    z: FloatArray
    means: FloatArray
    rates: FloatArray
    log_gradients: FloatArray
    slopes: FloatArray
    shapes: FloatArray
    scales: FloatArray
    trigammas: FloatArray


@compiled
def _make_desk(n_units: int) -> UnitDesk:
    """Return working memory for documents of ``n_units`` units."""
    desk = np.empty((8, n_units))
    return UnitDesk(desk[0], desk[1], desk[2], desk[3], desk[4], desk[5], desk[6], desk[7])


@inlined
def _draw_units(
    rng: Stream, model: Units, first: Array, second: Array, lowest: int, desk: UnitDesk, bound: float
) -> tuple[Stream, float]:
    """Draw the units from number ``lowest`` on, given their parameters; return the stream, and bound + E[-ln q]."""
    normaliser = lgamma(model.shape)
    for t in range(lowest, len(desk.z)):
        shape, scale, log_scale = families.read_gamma(model.kind, first[t - lowest], second[t - lowest])
        log_gamma, digamma, trigamma = families.compute_gamma_functions(shape)
        log_x, rng = families.draw_log_gamma(rng, shape)
        desk.slopes[t] = families.differentiate_gamma(shape, log_x, digamma)
        desk.z[t] = scale * exp(log_x)
        desk.shapes[t], desk.scales[t], desk.trigammas[t], desk.means[t] = shape, scale, trigamma, shape * scale
        bound += families.bound_gamma(model.shape, shape, log_scale, log_gamma, digamma) - normaliser
        desk.log_gradients[t] = 0.0
    return rng, bound


@inlined
def _add_gradients(
    model: Units,
    first: Array,
    second: Array,
    lowest: int,
    desk: UnitDesk,
    sums: FloatArray,
    gradient: Array,
    bound: float,
) -> float:
    """Add the gradients of the units from number ``lowest`` on; return the bound with the expectation of their prior.

    ``sums`` are the factors of the units of layer 1 in the linear part of the likelihood; empty for columns.
    """
    for t in range(lowest, len(desk.z)):
        place, rate = t - lowest, desk.rates[t]
        linear = sums[t] if t < len(sums) else 0.0
        bound += model.shape * log(rate) - rate * desk.means[t]
        along_shape, along_scale = families.differentiate_bound(
            desk.shapes[t],
            desk.scales[t],
            desk.trigammas[t],
            desk.slopes[t],
            model.shape,
            rate + linear,
            desk.log_gradients[t],
        )
        g1, g2 = families.chain_gamma(
            model.kind, first[place], second[place], desk.shapes[t], desk.scales[t], along_shape, along_scale
        )
        gradient[place, 0] += g1
        gradient[place, 1] += g2
    return bound


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

    All units must be gamma.
    """
    desk, width, bound = _make_desk(model.offsets[-1]), model.offsets[1], 0.0
    word_gradients = np.empty(width, dtype=np.float32)
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, numbers[j])
        first, second, units = local.first[j], local.second[j], trace.units[j]
        rng, bound = _draw_units(rng, model, first, second, 0, desk, bound)
        for k in range(width):
            units[k] = desk.z[k] if desk.z[k] > 1e-35 else 0.0
            word_gradients[k] = 0.0
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            row = loadings.table[cells.words[cell]]
            rate = compute_dot_product(row, units) + np.float32(families.LEAST_RATE)
            ratio = np.float32(cells.values[cell]) / rate
            trace.ratios[cell] = ratio
            for k in range(width):
                word_gradients[k] += ratio * row[k]
            bound += cells.values[cell] * log(rate) - lgamma(cells.values[cell] + 1.0)
        for k in range(width):
            desk.log_gradients[k] = word_gradients[k] * units[k]
            bound -= desk.means[k] * loadings.sums[k]
        differentiate_hierarchy(
            model, loadings.upper, desk.z, desk.means, desk.rates, desk.log_gradients, trace.upper_gradients[part]
        )
        bound = _add_gradients(model, first, second, 0, desk, loadings.sums, gradient[j], bound)
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
    upper_gradient: FloatArray,
    begin: int,
    end: int,
) -> float:
    """Add one draw's gradients of all layers but the first for the columns of a double DEF; return the bound.

    Parameters
    ----------
    means : (rows, K_1) float64
        Means of layer 1 under q.
    local : Params
        Parameters of the layers above, (rows, T - K_1).
    gradient : (rows, T - K_1, 2) float32
        Added to.
    rates : (rows, K_1) float32
        Added to: rates of layer 1 given the draw of the layers above.
    """
    desk, width, bound, no_sums = _make_desk(model.offsets[-1]), model.offsets[1], 0.0, np.empty(0)
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, j)
        first, second = local.first[j], local.second[j]
        for k in range(width):
            desk.z[k], desk.means[k], desk.log_gradients[k] = means[j, k], means[j, k], 0.0
        rng, bound = _draw_units(rng, model, first, second, width, desk, bound)
        differentiate_hierarchy(model, upper, desk.z, desk.means, desk.rates, desk.log_gradients, upper_gradient)
        for k in range(width):
            rates[j, k] += desk.rates[k]
        bound = _add_gradients(model, first, second, width, desk, no_sums, gradient[j], bound)
    return bound


@compiled
def step_units(
    model: Units, old: Params, gradient: Array, step_size: families.StepSize, new: Params, begin: int, end: int
) -> None:
    """Step the parameters of documents ``begin:end`` along ``gradient``."""
    for j in range(begin, end):
        for t in range(old.first.shape[1]):
            d1, new.root1[j, t] = families.scale_step(step_size, gradient[j, t, 0], old.root1[j, t])
            d2, new.root2[j, t] = families.scale_step(step_size, gradient[j, t, 1], old.root2[j, t])
            first, second = old.first[j, t] + d1, old.second[j, t] + d2
            new.first[j, t], new.second[j, t] = families.bound_parameters(model.kind, families.GAMMA, first, second)


@compiled
def add_word_gradients(
    starts: Array, rows: Array, places: Array, trace: Trace, table: Array, slopes: Array,
    value_gradient: Array, slope_gradient: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """Add the gradients of words ``begin:end`` along ``ln W_0``, and these times the slopes of the draw.

    The gradient is ``w_vk sum_n z_nk x_nv / rate_nv``.  ``starts``, ``rows`` and ``places`` are the cells sorted by
    word: their beginnings, documents and places (:func:`engine.corpus.sort_by_word`).
    """
    width = table.shape[1]
    total = np.empty(width)
    for v in range(begin, end):
        total[:] = 0.0
        for i in range(starts[v], starts[v + 1]):
            ratio, units = trace.ratios[places[i]], trace.units[rows[i]]
            for k in range(width):
                total[k] += ratio * units[k]
        for k in range(width):
            log_gradient = total[k] * table[v, k]
            value_gradient[v, k] += log_gradient
            slope_gradient[v, k] += log_gradient * slopes[v, k]
