"""Gamma posteriors by rejection-sampling variational inference, which GHAI uses in place of the Weibull.

Naesseth et al. (2017) as DATM describes it under eq. 26: a gamma draw of shape k + B is a smooth function of an
accepted normal number, which passes a gradient nearly exactly; B uniform numbers bring the shape down to k; and a
correction term, the score of the acceptance, makes the gradient unbiased.  The functions and the shapes of their
arguments are those of ``weibull.py``.
"""

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, polygamma, psi

from topiary.engine.autoencoder import weibull
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import draw_normal
from topiary.engine.jit import compiled
from topiary.engine.streams import draw_positive, start_stream

STEPS = 5  # B: uniform numbers that bring a draw of shape k + B down to shape k


class Noise(NamedTuple):
    """The address of the random streams of a table, one per document and layer, and the width of the table."""

    seed: int
    purpose: int
    step: int
    layer: int
    documents: Array
    width: int


class GammaDraw(NamedTuple):
    """Gamma activations of one layer; all (documents, K).

    ``shape`` is k as used (clamped), ``scale`` the inverse rate, and ``theta`` the draw; ``slope`` is d ln theta / d k
    for fixed random numbers; ``score`` is the derivative of the acceptance, for the correction; ``moved`` is as in
    ``weibull.WeibullDraw``.
    """

    shape: FloatArray
    scale: FloatArray
    theta: FloatArray
    slope: FloatArray
    score: FloatArray
    moved: Array


def make_noise(seed: int, purpose: int, step: int, documents: Array, layer: int, width: int) -> Noise:
    """Return the address of the random numbers of a layer; how many of them a draw takes depends on its shape."""
    return Noise(seed, purpose, step, layer, documents, width)


def draw_theta(shape: FloatArray, size: FloatArray, at: Noise, by_mean: bool) -> GammaDraw:
    """Draw theta ~ Gam(k, scale); ``size`` is the mean if ``by_mean``, else the scale."""
    k = np.clip(shape, weibull.LOW_SHAPE, weibull.HIGH_SHAPE)
    scale = np.maximum(size, weibull.LEAST_MEAN) / (k if by_mean else 1.0)
    normals, uniforms = _draw_accepted(at.seed, at.purpose, at.step, at.layer, at.documents, k)
    log_z, slope = transform_standard(k, normals, uniforms)
    theta = np.clip(scale * np.exp(log_z), weibull.LEAST_THETA, weibull.MOST_THETA)
    return GammaDraw(
        k, scale, theta, slope, compute_score(k, normals), (shape > weibull.LOW_SHAPE) & (shape < weibull.HIGH_SHAPE)
    )


def transform_standard(k: FloatArray, normals: FloatArray, uniforms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ln of a Gam(k, 1) draw and its derivative in k, given an accepted normal number and B uniform numbers.

    ``normals`` is (documents, K), ``uniforms`` (documents, K, B).
    """
    d = k + STEPS - 1.0 / 3.0
    bend = 1.0 + normals / np.sqrt(9.0 * d)
    log_z = np.log(d) + 3.0 * np.log(bend)
    slope = 1.0 / d - 1.5 * normals / (3.0 * d**1.5 * bend)
    for i in range(STEPS):
        logs = np.log(uniforms[..., i])
        log_z += logs / (k + i)
        slope -= logs / (k + i) ** 2
    return log_z, slope


def compute_score(k: FloatArray, normals: FloatArray) -> FloatArray:
    """Return d/dk of ln q(z) + ln |dz / d normal| at a draw of shape k + B, for the correction (RSVI eq. 8)."""
    a = k + STEPS
    d = a - 1.0 / 3.0
    bend = 1.0 + normals / np.sqrt(9.0 * d)
    log_z = np.log(d) + 3.0 * np.log(bend)
    turn = normals / (3.0 * d**1.5 * bend)  # -2 d ln bend / d a
    d_log_z = 1.0 / d - 1.5 * turn
    d_log_q = log_z - psi(a) + (a - 1.0 - np.exp(log_z)) * d_log_z
    d_log_jacobian = 0.5 / d - turn
    weights: FloatArray = d_log_q + d_log_jacobian
    return weights


def compute_mean(shape: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the mean of the gamma posterior, (documents, K)."""
    return shape * scale


def compute_divergence(shape: FloatArray, scale: FloatArray, prior: FloatArray, rate: FloatArray) -> FloatArray:
    """Return KL(Gam(k, scale) || Gam(a, 1/b)) summed over topics, (documents,)."""
    a, b = np.maximum(prior, weibull.LEAST_PRIOR), rate[:, None]
    terms = (shape - a) * psi(shape) - gammaln(shape) + gammaln(a) - a * np.log(b * scale) + shape * (b * scale - 1.0)
    total: FloatArray = terms.sum(axis=1)
    return total


def pull_back(
    at: GammaDraw,
    prior: FloatArray,
    rate: FloatArray,
    outer: FloatArray,
    weight: float,
    by_mean: bool,
    reward: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the derivatives described in ``weibull.pull_back``, with a correction.

    ``reward`` (documents,), the rest of the objective, is the weight of the correction.
    """
    k, s, a, b = at.shape, at.scale, np.maximum(prior, weibull.LEAST_PRIOR), rate[:, None]
    inside = (at.theta > weibull.LEAST_THETA) & (at.theta < weibull.MOST_THETA)
    d_log_theta = np.where(inside, outer * at.theta, 0.0)
    d_k = d_log_theta * at.slope + reward[:, None] * at.score
    d_k = d_k - weight * ((k - a) * polygamma(1, k) + b * s - 1.0)
    d_log_s = d_log_theta - weight * (k * b * s - a)
    size = s * k if by_mean else s
    d_size = np.where(size > weibull.HELD_MEAN, d_log_s / size, 0.0)
    if by_mean:
        d_k = d_k - d_log_s / k
    d_prior = -weight * (psi(a) - psi(k) - np.log(b * s))
    return np.where(at.moved, d_k, 0.0), d_size, np.where(prior > weibull.LEAST_PRIOR, d_prior, 0.0)


@compiled
def _draw_accepted(seed: int, purpose: int, step: int, layer: int, documents: Array, shape: FloatArray) -> Any:
    """Draw normal numbers that Marsaglia and Tsang's sampler accepts at shape k + B, each with B uniform numbers."""
    normals, uniforms = np.empty(shape.shape), np.empty((*shape.shape, STEPS))
    for j in range(shape.shape[0]):
        rng = start_stream(seed, purpose, step, (layer << 48) ^ documents[j])
        for i in range(shape.shape[1]):
            d = shape[j, i] + STEPS - 1.0 / 3.0
            while True:
                x, rng = draw_normal(rng)
                bend = 1.0 + x / sqrt(9.0 * d)
                u, rng = draw_positive(rng)
                if bend > 0.0 and log(u) < 0.5 * x * x + d - d * bend**3 + 3.0 * d * log(bend):
                    break
            normals[j, i] = x
            for b in range(STEPS):
                uniforms[j, i, b], rng = draw_positive(rng)
    return normals, uniforms
