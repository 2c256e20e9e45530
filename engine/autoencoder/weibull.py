"""Weibull posteriors with gamma priors: draws, divergences and their derivatives, element by element.

The encoder of DATM describes an activation by Weibull(k, lambda); its prior is Gam(a, 1/b) (DATM eq. 18
to 20, models.md 2).  All functions work on (documents, K) tables in place of the paper's vectors.
"""

from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import digamma
from topiary.engine.jit import compiled
from topiary.engine.streams import draw_positive, start_stream

EULER = 0.57721566490153286061
LOW_SHAPE, HIGH_SHAPE = 0.02, 1e4  # 1/k <= 50: Gamma(1 + 1/k) and the smallest scales stay within float64
LEAST_MEAN = 1e-30
HELD_MEAN = LEAST_MEAN * (1.0 + 1e-9)  # a mean up to this is clamped at LEAST_MEAN, apart from rounding
LEAST_THETA, MOST_THETA = 1e-30, 1e30
# Smallest prior shape, for ln Gamma and psi only.  The bound of a model with larger shapes is no bound of this one.
# Gradients stay finite although psi(a) falls like -1/a: a is a sum of phi theta, so that of ln theta is at most 1.
LEAST_PRIOR = 1e-300


class WeibullDraw(NamedTuple):
    """Weibull activations of one layer; all (documents, K).

    ``shape`` is k as used (clamped), ``scale`` is lambda, ``theta`` is the draw, ``logs`` is ln of the standard
    exponential variable from which it is made, and ``moved`` is True where k is inside its bounds, so that gradients
    pass.
    """

    shape: FloatArray
    scale: FloatArray
    theta: FloatArray
    logs: FloatArray
    moved: Array


@compiled
def make_noise(seed: int, purpose: int, step: int, documents: Array, layer: int, width: int) -> FloatArray:
    """Draw ln E with E standard exponential, (documents, width): ln(-ln(1 - u)), one stream per document and layer."""
    logs = np.empty((len(documents), width))
    for j in range(len(documents)):
        rng = start_stream(seed, purpose, step, (layer << 48) ^ documents[j])
        for k in range(width):
            u, rng = draw_positive(rng)
            while u == 1.0:
                u, rng = draw_positive(rng)
            logs[j, k] = log(-log(u))
    return logs


@compiled
def draw_theta(shape: FloatArray, size: FloatArray, logs: FloatArray, by_mean: bool) -> WeibullDraw:
    """Draw theta = lambda E^(1/k) (eq. 19); ``size`` is the mean lambda Gamma(1 + 1/k) if ``by_mean``, else lambda."""
    new = WeibullDraw(
        np.empty_like(shape), np.empty_like(shape), np.empty_like(shape), logs, np.empty(shape.shape, np.bool_)
    )
    for j in range(shape.shape[0]):
        for i in range(shape.shape[1]):
            k = min(max(shape[j, i], LOW_SHAPE), HIGH_SHAPE)
            scale = max(size[j, i], LEAST_MEAN)
            if by_mean:
                scale *= exp(-lgamma(1.0 + 1.0 / k))
            new.moved[j, i] = LOW_SHAPE < shape[j, i] < HIGH_SHAPE
            new.shape[j, i] = k
            new.scale[j, i] = scale
            new.theta[j, i] = min(max(scale * exp(logs[j, i] / k), LEAST_THETA), MOST_THETA)
    return new


@compiled
def compute_mean(shape: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the mean of the posterior, lambda Gamma(1 + 1/k), (documents, K)."""
    new = np.empty_like(shape)
    for j in range(shape.shape[0]):
        for i in range(shape.shape[1]):
            new[j, i] = scale[j, i] * exp(lgamma(1.0 + 1.0 / shape[j, i]))
    return new


@compiled
def compute_divergence(shape: FloatArray, scale: FloatArray, prior: FloatArray, rate: FloatArray) -> FloatArray:
    """Return KL(Weibull(k, lambda) || Gam(a, 1/b)) summed over topics, (documents,) (eq. 20).

    ``prior`` (documents, K) is a, taken as ``LEAST_PRIOR`` if it is smaller; ``rate`` (documents,) is b.
    """
    total = np.zeros(shape.shape[0])
    for j in range(shape.shape[0]):
        b = rate[j]
        for i in range(shape.shape[1]):
            k, s, a = shape[j, i], scale[j, i], max(prior[j, i], LEAST_PRIOR)
            total[j] += EULER * a / k - a * (log(s) + log(b)) + log(k) - EULER - 1.0 + lgamma(a)
            total[j] += b * s * exp(lgamma(1.0 + 1.0 / k))
    return total


@compiled
def pull_back(
    at: WeibullDraw,
    prior: FloatArray,
    rate: FloatArray,
    outer: FloatArray,
    weight: float,
    by_mean: bool,
    _reward: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return derivatives of ``sum outer * theta - weight * KL`` with respect to k, the size and the prior shape a.

    ``outer`` (documents, K) is the derivative of the rest of the objective with respect to theta.  Clamped values pass
    no gradient.  The last argument is not used: a Weibull draw has no rejections to correct for.
    """
    d_shape, d_size, d_prior = np.empty_like(outer), np.empty_like(outer), np.empty_like(outer)
    for j in range(outer.shape[0]):
        b = rate[j]
        for i in range(outer.shape[1]):
            k, s, theta, a = at.shape[j, i], at.scale[j, i], at.theta[j, i], max(prior[j, i], LEAST_PRIOR)
            inside = LEAST_THETA < theta < MOST_THETA
            d_log_theta = outer[j, i] * theta if inside else 0.0  # d / d ln theta
            inverse = 1.0 / k
            psi = digamma(1.0 + inverse)
            scaled_mean = b * s * exp(lgamma(1.0 + inverse))  # b times the mean
            d_k = -d_log_theta * at.logs[j, i] * inverse * inverse
            d_k -= weight * (inverse - (EULER * a + scaled_mean * psi) * inverse * inverse)
            d_log_s = d_log_theta - weight * (scaled_mean - a)
            if by_mean:
                d_k += d_log_s * psi * inverse * inverse
                mean = s * exp(lgamma(1.0 + inverse))
                d_size[j, i] = d_log_s / mean if mean > HELD_MEAN else 0.0
            else:
                d_size[j, i] = d_log_s / s if s > HELD_MEAN else 0.0
            d_shape[j, i] = d_k if at.moved[j, i] else 0.0
            d_prior[j, i] = 0.0
            if prior[j, i] > LEAST_PRIOR:
                d_prior[j, i] = -weight * (EULER * inverse - log(s) - log(b) + digamma(a))
    return d_shape, d_size, d_prior
