"""Moves of the weights, biases and shapes of deep Poisson factor analysis: draws from their conditionals, or means.

DPFA sections 2.1 and 3.1.  ``gram`` and ``cross`` are the moments of :class:`engine.belief.documents.Tallies` as
numbers: a row ``[W_k, c_k]`` of a link has precision ``sum omega_k h h' + diag(prior)`` and linear part
``sum (h_k - 1/2) h``, where h are the units above and one that is always on; the bias has prior precision 1.
"""

from typing import NamedTuple

import numpy as np

from engine.belief.documents import LOG_HALF
from engine.belief.network import MOST_LOGIT
from engine.contract import FloatArray

SHAPE, RATE = 1.1, 0.01  # Gamma prior of the precision of a weight: Student's t
LEAST_SHAPE = 1e-9  # of r: no topic is ever quite impossible
_TOGETHER = 1 << 22  # numbers of the matrices that are factorised at a time


class Shrinkage(NamedTuple):
    """Prior of r: ``Gam(gamma0, 1 / c0)``."""

    gamma0: float
    c0: float


def rows(
    gram: FloatArray, cross: FloatArray, precision: FloatArray, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray]:
    """Weights and biases of one link from their Gaussian conditional (section 3.1, with the bias as one more column).

    Parameters
    ----------
    gram : ((K_2 + 1)(K_2 + 2) / 2, K_1) float64
        Lower triangles.
    cross : (K_2 + 1, K_1) float64
        Sums of ``(2 h_k - 1) h``.
    precision : (K_1, K_2) float64
        Prior precision of every weight.
    rng : Generator or None
        None: their means.

    Returns
    -------
    (K_1, K_2) and (K_1,) float64
    """
    size, width = cross.shape
    lower = np.tril_indices(size)
    noise = np.zeros((width, size)) if rng is None else rng.standard_normal((width, size))
    found = np.empty((width, size))
    step = max(1, _TOGETHER // (size * size))
    for begin in range(0, width, step):
        some = slice(begin, begin + step)
        matrices = np.zeros((len(range(width)[some]), size, size))
        matrices[:, lower[0], lower[1]] = gram[:, some].T
        matrices[:, lower[1], lower[0]] = gram[:, some].T
        matrices[:, range(size - 1), range(size - 1)] += precision[some]
        matrices[:, size - 1, size - 1] += 1.0
        factor = np.linalg.cholesky(matrices)
        half = np.linalg.solve(factor, 0.5 * cross[:, some].T[..., None]) + noise[some, :, None]
        found[some] = np.linalg.solve(factor.transpose(0, 2, 1), half)[..., 0]
    return np.ascontiguousarray(found[:, :-1]), np.ascontiguousarray(found[:, -1])


def precisions(weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Prior precision of every weight under Student's t: ``Gam(1.1 + 1/2, rate 0.01 + w^2 / 2)`` (authors' code)."""
    return np.asarray(rng.gamma(SHAPE + 0.5, size=weights.shape) / (RATE + 0.5 * weights**2))


def top_bias(on: FloatArray, documents: float, rng: np.random.Generator | None) -> FloatArray:
    """Log-odds of the units of the top layer, ``pi_k ~ Beta(1/K + on_k, 1 - 1/K + documents - on_k)``, or of the mean.

    With a single unit the prior would not be one: it is then ``Beta(1, 1)``.
    """
    share = 1.0 / len(on)
    a, b = share + on, max(1.0 - share, share) + documents - on
    if rng is None:
        odds = np.log(a / b)
    else:
        one, other = rng.gamma(a), rng.gamma(b)
        odds = np.log(np.maximum(one, 1e-300)) - np.log(np.maximum(other, 1e-300))
    return np.asarray(np.clip(odds, -MOST_LOGIT, MOST_LOGIT))


def shapes(tables: FloatArray, on: FloatArray, prior: Shrinkage, rng: np.random.Generator | None) -> FloatArray:
    """``r_k ~ Gam(gamma0 + tables_k, 1 / (c0 - on_k ln(1 - p)))`` with p = 1/2, or its mean."""
    shape = prior.gamma0 + tables
    draw = shape if rng is None else rng.gamma(shape)
    return np.asarray(np.maximum(draw / (prior.c0 - LOG_HALF * on), LEAST_SHAPE))


def shapes_step(
    r: FloatArray, tables: FloatArray, on: FloatArray, prior: Shrinkage, size: float, rng: np.random.Generator
) -> FloatArray:
    """One Langevin step of ln r, ``size`` divided by the counts that each r explains.

    The gradient is ``gamma0 + tables_k - (c0 - on_k ln(1 - p)) r_k``: at the mode its slope is the first part, by which
    the step is divided, so that the same size serves every corpus.
    """
    shape = prior.gamma0 + tables
    steps = size / shape
    drift = shape - (prior.c0 - LOG_HALF * on) * r
    moved = np.clip(steps * drift, -1.0, 1.0) + np.sqrt(2.0 * steps) * rng.standard_normal(len(r))
    return np.asarray(np.maximum(r * np.exp(moved), LEAST_SHAPE))
