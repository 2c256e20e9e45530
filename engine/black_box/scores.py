"""Gradients of the bound by score functions, for units of every family, and the steps of documents along them.

Ranganath, Tang, Charlin and Blei (2015); equation numbers are that paper's.  The derivative of ``ln q`` at a draw is
weighted by the log-joint at the draw, restricted to the Markov blanket of each unit.
"""

from math import exp, lgamma, log

import numpy as np

from topiary.engine.black_box import families
from topiary.engine.black_box.documents import Loadings, Params, Terms, Trace, Units, compute_dot_product, sum_above
from topiary.engine.black_box.weights import Scores, add_sample, estimate_gradient
from topiary.engine.contract import Array, Counts, FloatArray
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Address, Stream, start_stream


@inlined
def compute_unit_density(model: Units, z: float, log_z: float, m: float) -> float:
    """Return ``ln p(z)`` of a unit; ``m`` is the weighted sum of the units above (eq. 1), for gamma units the mean."""
    if model.family == families.GAMMA:
        return families.compute_log_density(log_z, z, model.shape, (m + families.LEAST_MEAN) / model.shape)
    if model.family == families.BERNOULLI:
        return z * m - families.softplus(m)
    mean = (m if model.link == families.IDENTITY else families.softplus(m)) + families.LEAST_MEAN
    return z * log(mean) - mean - lgamma(z + 1.0)


@inlined
def compute_unit_slope(model: Units, z: float, m: float) -> float:
    """Return the derivative of :func:`compute_unit_density` along ``m``."""
    if model.family == families.GAMMA:
        m += families.LEAST_MEAN
        return model.shape * (z / m - 1.0) / m
    if model.family == families.BERNOULLI:
        return z - families.sigmoid(m)
    if model.link == families.IDENTITY:
        return z / (m + families.LEAST_MEAN) - 1.0
    return (z / (families.softplus(m) + families.LEAST_MEAN) - 1.0) * families.sigmoid(m)


@inlined
def draw_unit(model: Units, rng: Stream, first: float, second: float) -> families.Numbers:
    """Draw from q; return the draw, its logarithm (for gamma units), minus its log density under q, and the stream."""
    if model.family == families.GAMMA:
        shape, scale, log_scale = families.read_gamma(model.kind, first, second)
        log_z, rng = families.draw_log_gamma(rng, shape)
        log_z = max(log_z + log_scale, families.LEAST_LOG)
        z = exp(log_z)
        return z, log_z, -families.compute_log_density(log_z, z, shape, scale), rng
    if model.family == families.BERNOULLI:
        z, rng = families.draw_bernoulli(rng, families.sigmoid(first))
        return z, 0.0, families.softplus(first) - z * first, rng
    rate = families.softplus(first)
    z, rng = families.draw_poisson(rng, rate)
    return z, 0.0, rate - z * log(rate) + lgamma(z + 1.0), rng


@inlined
def compute_unit_scores(model: Units, z: float, log_z: float, first: float, second: float) -> families.Numbers:
    """Return derivatives of ``ln q(z)`` along the unconstrained parameters (the paper's appendix)."""
    if model.family == families.GAMMA:
        shape, scale, log_scale = families.read_gamma(model.kind, first, second)
        _, digamma, _ = families.compute_gamma_functions(shape)
        along_shape, along_scale = log_z - log_scale - digamma, (z / scale - shape) / scale
        return families.chain_gamma(model.kind, first, second, shape, scale, along_shape, along_scale)
    if model.family == families.BERNOULLI:
        return z - families.sigmoid(first), 0.0
    return (z / families.softplus(first) - 1.0) * families.sigmoid(first), 0.0


@compiled
def score_documents(  # noqa: C901, PLR0912  # one pass over a document's words and units
    model: Units,
    loadings: Loadings,
    address: Address,
    cells: Counts,
    numbers: Array,
    local: Params,
    sums: Scores,
    aside: bool,
    terms: Terms,
    trace: Trace,
    part: int,
    begin: int,
    end: int,
) -> float:
    """Add one sample of documents ``begin:end`` to the score-function gradient; return the bound.

    The score of a unit is weighted by its Markov blanket: its own density and that of the layer below, or of the words
    (eqs. 3-5).  ``terms`` is written if it has columns, and ``trace`` if the gradients of the weights are pathwise.
    """
    layers, total, first_width = len(model.offsets) - 1, model.offsets[-1], model.offsets[1]
    z, logs, unit_terms = np.empty(total), np.empty(total), np.empty(total)
    density_below = np.empty(layers + 1)
    has_second = local.second.shape[1] > 0
    writes_trace, writes_terms = trace.ratios.shape[0] == cells.words.shape[0], terms.logs.shape[1] > 0
    bound = 0.0
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, numbers[j])
        units = trace.units[j]
        for t in range(total):
            second = local.second[j, t] if has_second else 0.0
            z[t], logs[t], unit_terms[t], rng = draw_unit(model, rng, local.first[j, t], second)
            bound += unit_terms[t]
        word_term = 0.0
        for k in range(first_width):
            units[k] = z[k]
            word_term -= z[k] * loadings.sums[k]
        for cell in range(cells.starts[j], cells.starts[j + 1]):
            word, count = cells.words[cell], cells.values[cell]
            rate = compute_dot_product(loadings.table[word], units) + families.LEAST_RATE
            term = count * log(rate)
            word_term += term - lgamma(count + 1.0)
            if writes_terms:
                terms.words[part, word] += term
            if writes_trace:
                trace.ratios[cell] = count / rate
        density_below[0] = word_term
        bound += word_term
        for link in range(layers):
            low, high = model.offsets[link], model.offsets[link + 1]
            density_below[link + 1] = 0.0
            for t in range(low, high):
                m = sum_above(model, loadings.upper, z, link, t - low) if link + 1 < layers else model.top
                density = compute_unit_density(model, z[t], logs[t], m)
                unit_terms[t] += density
                density_below[link + 1] += density
                if writes_terms:
                    terms.logs[part, t] += density
                    terms.units[part, t] += z[t]
                if writes_trace and link + 1 < layers:
                    _add_upper_gradient(
                        model,
                        loadings.upper,
                        z,
                        link,
                        t - low,
                        compute_unit_slope(model, z[t], m),
                        trace.upper_gradients[part],
                    )
            bound += density_below[link + 1]
        for link in range(layers):
            for t in range(model.offsets[link], model.offsets[link + 1]):
                f = unit_terms[t] + density_below[link]
                second = local.second[j, t] if has_second else 0.0
                s1, s2 = compute_unit_scores(model, z[t], logs[t], local.first[j, t], second)
                add_sample(sums, j, t, 0, s1, s1 * f, aside)
                if has_second:
                    add_sample(sums, j, t, 1, s2, s2 * f, aside)
    return bound


@inlined
def _add_upper_gradient(
    model: Units, upper: FloatArray, z: FloatArray, link: int, i: int, slope: float, upper_gradient: FloatArray
) -> None:
    """Add the gradient of one unit's density along the weights above it: along ln w if they are gamma, w if normal."""
    above = model.offsets[link + 1]
    width = model.offsets[link + 2] - above
    for k in range(width + model.bias):
        unit = z[above + k] if k < width else 1.0
        upper_gradient[link, i, k] += slope * unit * (upper[link, i, k] if model.positive else 1.0)


@compiled
def step_by_scores(
    model: Units,
    old: Params,
    sums: Scores,
    samples: int,
    step_size: families.StepSize,
    new: Params,
    begin: int,
    end: int,
) -> None:
    """Step the parameters of documents ``begin:end`` along the score-function estimate over ``samples``."""
    has_second = old.second.shape[1] > 0
    for j in range(begin, end):
        for t in range(old.first.shape[1]):
            d1, new.root1[j, t] = families.scale_step(
                step_size, estimate_gradient(sums, j, t, 0, samples), old.root1[j, t]
            )
            first, second = old.first[j, t] + d1, 0.0
            if has_second:
                d2, new.root2[j, t] = families.scale_step(
                    step_size, estimate_gradient(sums, j, t, 1, samples), old.root2[j, t]
                )
                second = old.second[j, t] + d2
            first, second = families.bound_parameters(model.kind, model.family, first, second)
            new.first[j, t] = first
            if has_second:
                new.second[j, t] = second
