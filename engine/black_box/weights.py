"""Weights that all documents share: their variational distributions, draws, and steps.

``W_0`` (V, K_1) is gamma in every variant; the weights of the upper links are gamma or normal.  A matrix of weights
stores its unconstrained parameters and the running roots of RMSProp in single precision; draws are a pure function of
(seed, step, sample, link, row), so that every block of documents reads the same draws.
"""

from collections.abc import Sequence
from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np

from topiary.engine import streams
from topiary.engine.black_box import families
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import draw_normal
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool, cut_evenly
from topiary.engine.streams import start_stream

PARTS = 16  # pieces of work, whatever the number of threads: sums are added in their order
_MOST_DRAWS = 1 << 12  # most samples of a step, because step and sample share one word of a stream's address


class Weights(NamedTuple):
    """Variational parameters of one matrix of weights.

    ``first``, ``second`` (rows, columns) float32 are the unconstrained parameters (:mod:`engine.black_box.families`);
    ``root1``, ``root2`` are the running roots of RMSProp, 0 before the first step.
    """

    first: Array
    second: Array
    root1: Array
    root2: Array


class Prior(NamedTuple):
    """Prior of weights: ``family`` GAMMA with ``shape`` and ``rate``, or NORMAL with mean 0 and scale 1.

    ``kind`` is the parametrisation of the variational distribution by unconstrained numbers, SOFTPLUS or LOGARITHM.
    """

    family: int
    kind: int
    shape: float
    rate: float


class WeightDraw(NamedTuple):
    """One draw of a matrix: ``values``, and ``slopes`` float32: d ln w / d shape, or the standard normal number drawn.

    Values are single precision if there are slopes; score functions need double precision for the smallest values.
    ``sums`` (columns,) float64 are the column sums of the means of gamma weights.
    """

    values: Array
    slopes: Array
    sums: FloatArray


class WeightAddress(NamedTuple):
    """Address of a draw: ``seed`` of the run, ``step``, number of the ``draw`` in it, and ``link`` of the matrix."""

    seed: int
    step: int
    draw: int
    link: int


def init_weights(prior: Prior, shape: FloatArray, mean: FloatArray) -> Weights:
    """Return gamma weights with this shape and mean, or normal ones with this mean and standard deviation ``shape``."""
    if prior.family == families.NORMAL:
        first, second = np.asarray(mean), np.full(np.shape(mean), np.log(shape))
        if prior.kind == families.SOFTPLUS:
            second = np.log(np.expm1(np.exp(second)))
    else:
        parameters = np.broadcast_arrays(np.asarray(shape, float), np.asarray(mean, float))
        first, second = _unconstrain(prior.kind, *parameters)
    zeros = np.zeros(first.shape, dtype=np.float32)
    return Weights(first.astype(np.float32), second.astype(np.float32), zeros, zeros)


def _unconstrain(kind: int, shape: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two unconstrained parameters of gamma distributions with these shapes and means."""
    out = np.empty((2, shape.size))
    _write_unconstrained(kind, np.ascontiguousarray(shape).ravel(), np.ascontiguousarray(mean).ravel(), out)
    return out[0].reshape(shape.shape), out[1].reshape(shape.shape)


@compiled
def _write_unconstrained(kind: int, shape: FloatArray, mean: FloatArray, out: FloatArray) -> None:
    """Write the unconstrained parameters of gamma distributions to ``out`` (2, n)."""
    for i in range(len(shape)):
        out[0, i], out[1, i] = families.write_gamma(kind, shape[i], mean[i])


def compute_means(prior: Prior, weights: Weights, pool: Pool) -> FloatArray:
    """Return ``E[w]`` (rows, columns) float64."""
    out = np.empty(weights.first.shape)
    pool.run_parts(cut_evenly(len(out), PARTS), _write_means, prior, weights, out)
    return out


def compute_all_means(priors: Sequence[Prior], matrices: Sequence[Weights], pool: Pool) -> tuple[FloatArray, ...]:
    """Return ``E[w]`` of several matrices."""
    return tuple(compute_means(prior, weights, pool) for prior, weights in zip(priors, matrices, strict=True))


@compiled
def _write_means(prior: Prior, weights: Weights, out: FloatArray, begin: int, end: int) -> None:
    """Write ``E[w]`` of rows ``begin:end``."""
    first, second = weights.first, weights.second
    for i in range(begin, end):
        for k in range(out.shape[1]):
            if prior.family == families.GAMMA:
                shape, scale, _ = families.read_gamma(prior.kind, first[i, k], second[i, k])
                out[i, k] = shape * scale
            else:
                out[i, k] = first[i, k]


def draw_weights(prior: Prior, weights: Weights, sample: WeightAddress, pool: Pool, *, slopes: bool) -> WeightDraw:
    """Draw a matrix of weights, with the slopes of a pathwise gradient if ``slopes``."""
    values = np.empty(weights.first.shape, dtype=np.float32 if slopes else np.float64)
    derivatives = np.empty(weights.first.shape if slopes else (0, 0), dtype=np.float32)
    sums = np.zeros((PARTS, weights.first.shape[1]))
    arguments = (prior, weights, sample, WeightDraw(values, derivatives, sums))
    pool.run(_write_draws, [(*arguments, part, a, b) for part, (a, b) in enumerate(cut_evenly(len(values), PARTS))])
    return WeightDraw(values, derivatives, sums.sum(axis=0))


@compiled
def _write_draws(
    prior: Prior, weights: Weights, sample: WeightAddress, out: WeightDraw, part: int, begin: int, end: int
) -> None:
    """Draw rows ``begin:end``, and add their means to row ``part`` of ``out.sums``."""
    first, second = weights.first, weights.second
    values, slopes, sums = out
    want_slopes = slopes.shape[0] > 0
    step = sample.step * _MOST_DRAWS + sample.draw
    for i in range(begin, end):
        rng = start_stream(sample.seed, streams.TOPICS, step, (sample.link << 40) + i)
        for k in range(values.shape[1]):
            if prior.family == families.GAMMA:
                shape, scale, _ = families.read_gamma(prior.kind, first[i, k], second[i, k])
                log_x, rng = families.draw_log_gamma(rng, shape)
                value = scale * exp(log_x)
                values[i, k] = value
                sums[part, k] += shape * scale
                if want_slopes:
                    if value < 1e-35:
                        values[i, k] = 0.0  # single precision is slow below
                    _, digamma, _ = families.compute_gamma_functions(shape)
                    slopes[i, k] = families.differentiate_gamma(shape, log_x, digamma)
            else:
                x, rng = draw_normal(rng)
                values[i, k] = first[i, k] + families.read_scale(prior.kind, second[i, k]) * x
                if want_slopes:
                    slopes[i, k] = x


class PathwiseGradient(NamedTuple):
    """Gradients of the log-joint of the data along a matrix of weights.

    Attributes
    ----------
    value_gradient : (rows, columns)
        Mean over draws of d / d ln w (gamma) or d / d w (normal) of the log-joint of the data.
    slope_gradient : (rows, columns)
        Mean over draws of that derivative times the draw's slope (:class:`WeightDraw`).
    linear : (columns,) float64
        Factor of -w in the log-joint of the data, without the prior (gamma).
    rates : (rows, columns) or (0, 0)
        Rates of the prior of each weight, if they come from a hierarchy of columns.
    """

    value_gradient: Array
    slope_gradient: Array
    linear: FloatArray
    rates: Array


def step_weights_pathwise(
    prior: Prior, weights: Weights, gradient: PathwiseGradient, step_size: families.StepSize, pool: Pool
) -> tuple[Weights, float]:
    """Take one step uphill by pathwise gradients.

    Returns
    -------
    Weights
    float
        ``E[ln p(w)] - E[ln q(w)]`` before the step, without the prior of the columns' own hierarchy.
    """
    new = Weights(*(np.empty_like(values) for values in weights))
    parts = cut_evenly(len(weights.first), PARTS)
    bounds = pool.run_parts(parts, _step_weights_pathwise, prior, weights, gradient, step_size, new)
    return new, float(sum(bounds))


@compiled
def _step_weights_pathwise(
    prior: Prior,
    old: Weights,
    gradient: PathwiseGradient,
    step_size: families.StepSize,
    new: Weights,
    begin: int,
    end: int,
) -> float:
    """Step rows ``begin:end`` by pathwise gradients; return their part of the bound before the step."""
    value_gradient, slope_gradient, linear, rates = gradient
    bound = 0.0
    has_rates = rates.shape[0] > 0
    log_rate = log(prior.rate)
    normaliser = lgamma(prior.shape) if prior.family == families.GAMMA else 0.0
    for i in range(begin, end):
        for k in range(value_gradient.shape[1]):
            first, second = old.first[i, k], old.second[i, k]
            if prior.family == families.GAMMA:
                shape, scale, log_scale = families.read_gamma(prior.kind, first, second)
                log_gamma, digamma, trigamma = families.compute_gamma_functions(shape)
                rate = rates[i, k] if has_rates else prior.rate
                # slope_gradient contains the slopes already, since it is a mean over draws of products
                along_shape, along_scale = families.differentiate_bound(
                    shape, scale, trigamma, 0.0, prior.shape, rate + linear[k], value_gradient[i, k]
                )
                g1, g2 = families.chain_gamma(
                    prior.kind, first, second, shape, scale, along_shape + slope_gradient[i, k], along_scale
                )
                bound += families.bound_gamma(prior.shape, shape, log_scale, log_gamma, digamma) - rate * shape * scale
                bound += prior.shape * (log(rate) if has_rates else log_rate) - normaliser
            else:
                scale = families.read_scale(prior.kind, second)
                g1 = value_gradient[i, k] - first
                g2 = slope_gradient[i, k] * scale + 1.0 - scale * scale  # along ln scale
                if prior.kind == families.SOFTPLUS:
                    g2 *= families.sigmoid(second) / scale
                bound += log(scale) + 0.5 * (1.0 - scale * scale - first * first)
            d1, new.root1[i, k] = families.scale_step(step_size, g1, old.root1[i, k])
            d2, new.root2[i, k] = families.scale_step(step_size, g2, old.root2[i, k])
            new.first[i, k], new.second[i, k] = families.bound_parameters(
                prior.kind, prior.family, first + d1, second + d2
            )
    return bound


class Scores(NamedTuple):
    """Running sums of the score-function estimate of a matrix, (rows, columns, 2) float64; the last axis is parameters.

    With s the score of a sample and g = s f: over the samples set aside for the control variate, ``products`` sums g s,
    ``squares`` s^2 and ``values`` g^2; over the others, ``gradient`` sums g and ``scores`` s.
    """

    products: FloatArray
    squares: FloatArray
    values: FloatArray
    gradient: FloatArray
    scores: FloatArray


def make_scores(rows: int, columns: int, places: int = 2) -> Scores:
    """Return sums of 0 for distributions with ``places`` parameters."""
    return Scores(*(np.zeros((rows, columns, places)) for _ in range(5)))


@inlined
def add_sample(into: Scores, i: int, k: int, place: int, s: float, g: float, aside: bool) -> None:
    """Add one sample of parameter ``place`` of entry (i, k): its score s and g = s f."""
    if aside:
        into.products[i, k, place] += g * s
        into.squares[i, k, place] += s * s
        into.values[i, k, place] += g * g
    else:
        into.gradient[i, k, place] += g
        into.scores[i, k, place] += s


def add_scores(
    prior: Prior, weights: Weights, sample: WeightDraw, terms: FloatArray, units: FloatArray, into: Scores, pool: Pool,
    *, aside: bool,
) -> None:  # fmt: skip
    """Add one sample of all weights to ``into``; ``terms - units @ w`` (rows,) is the log-joint of the data by rows.

    All weights of a row have the same Markov blanket, except for their own prior and q.
    """
    parts = cut_evenly(len(weights.first), PARTS)
    pool.run_parts(parts, _add_scores, prior, weights, sample.values, terms, units, into, aside)


@compiled
def _add_scores(
    prior: Prior, weights: Weights, values: Array, terms: FloatArray, units: FloatArray, into: Scores, aside: bool,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Add one sample of the weights of rows ``begin:end``."""
    for i in range(begin, end):
        common = terms[i]
        for k in range(len(units)):
            common -= units[k] * values[i, k]
        for k in range(values.shape[1]):
            p, q = weights.first[i, k], weights.second[i, k]
            if prior.family == families.GAMMA:
                shape, scale, log_scale = families.read_gamma(prior.kind, p, q)
                _, digamma, _ = families.compute_gamma_functions(shape)
                z = max(float(values[i, k]), 1e-300)
                log_z = log(z)
                f = common + families.compute_log_density(log_z, z, prior.shape, 1.0 / prior.rate)
                f -= families.compute_log_density(log_z, z, shape, scale)
                along_shape, along_scale = log_z - log_scale - digamma, (z / scale - shape) / scale
                s1, s2 = families.chain_gamma(prior.kind, p, q, shape, scale, along_shape, along_scale)
            else:
                scale = families.read_scale(prior.kind, q)
                x = (values[i, k] - p) / scale
                f = common - 0.5 * values[i, k] * values[i, k] + 0.5 * x * x + log(scale)
                s1, s2 = x / scale, x * x - 1.0
                if prior.kind == families.SOFTPLUS:
                    s2 *= families.sigmoid(q) / scale
            add_sample(into, i, k, 0, s1, s1 * f, aside)
            add_sample(into, i, k, 1, s2, s2 * f, aside)


def step_weights_by_scores(
    prior: Prior, weights: Weights, sums: Scores, samples: int, step_size: families.StepSize, pool: Pool
) -> Weights:
    """Take one step uphill along the score-function estimate; ``samples`` were not set aside."""
    new = Weights(*(np.empty_like(values) for values in weights))
    parts = cut_evenly(len(weights.first), PARTS)
    pool.run_parts(parts, _step_weights_by_scores, prior, weights, sums, samples, step_size, new)
    return new


@compiled
def _step_weights_by_scores(
    prior: Prior,
    old: Weights,
    sums: Scores,
    samples: int,
    step_size: families.StepSize,
    new: Weights,
    begin: int,
    end: int,
) -> None:
    """Step rows ``begin:end`` along the score-function estimate."""
    for i in range(begin, end):
        for k in range(old.first.shape[1]):
            g1 = estimate_gradient(sums, i, k, 0, samples)
            g2 = estimate_gradient(sums, i, k, 1, samples)
            d1, new.root1[i, k] = families.scale_step(step_size, g1, old.root1[i, k])
            d2, new.root2[i, k] = families.scale_step(step_size, g2, old.root2[i, k])
            first, second = old.first[i, k] + d1, old.second[i, k] + d2
            new.first[i, k], new.second[i, k] = families.bound_parameters(prior.kind, prior.family, first, second)


@compiled
def estimate_gradient(sums: Scores, i: int, k: int, place: int, samples: int) -> float:
    """Return the gradient of one parameter: the mean of ``s (f - a)``, with ``a`` from the samples set aside."""
    a = families.estimate_control_coefficient(
        sums.products[i, k, place], sums.squares[i, k, place], sums.values[i, k, place]
    )
    return (sums.gradient[i, k, place] - a * sums.scores[i, k, place]) / samples


@compiled
def compute_bound(prior: Prior, weights: Weights) -> float:
    """Return ``E[ln p(w)] - E[ln q(w)]``."""
    first, second = weights.first, weights.second
    total = 0.0
    for i in range(first.shape[0]):
        for k in range(first.shape[1]):
            if prior.family == families.GAMMA:
                shape, scale, log_scale = families.read_gamma(prior.kind, first[i, k], second[i, k])
                log_gamma, digamma, _ = families.compute_gamma_functions(shape)
                total += (
                    families.bound_gamma(prior.shape, shape, log_scale, log_gamma, digamma) - prior.rate * shape * scale
                )
                total += prior.shape * log(prior.rate) - lgamma(prior.shape)
            else:
                scale = families.read_scale(prior.kind, second[i, k])
                total += log(scale) + 0.5 * (1.0 - scale * scale - first[i, k] ** 2)
    return total
