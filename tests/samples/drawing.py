"""Many draws at once, and the tests of distribution the engine's tests share.

Every random test has a fixed seed and a false-alarm rate of at most 1e-5 (``RARE``).
"""

import numba
import numpy as np
from scipy import special, stats
from scipy.optimize import linear_sum_assignment

from topiary.engine.streams import start_stream

RARE = 1e-5
MANY = 4_000 if numba.config.DISABLE_JIT else 200_000
_LOOPS = {}


def many(draw, *parameters, seed=1, n=MANY):
    """``n`` values of ``draw(rng, *parameters)`` from one stream."""
    if draw not in _LOOPS:
        _LOOPS[draw] = numba.njit(nogil=True, error_model="numpy")(_loop(draw))
    return _LOOPS[draw](seed, n, *parameters)


def _loop(draw):
    def loop(seed, n, *parameters):
        values = np.empty(n)
        rng = start_stream(seed, 99, 0, 0)
        for i in range(n):
            values[i], rng = draw(rng, *parameters)
        return values

    return loop


def log_gamma_cdf(shape):
    """P(ln G <= y) of a gamma of tiny shape, where e^y may underflow."""

    def cdf(y):
        near_zero = np.exp(np.minimum(shape * y - special.gammaln(shape + 1.0), 0.0))
        return np.where(y < -40.0, near_zero, special.gammainc(shape, np.exp(np.maximum(y, -40.0))))

    return cdf


def ks(values, cdf):
    """p-value of Kolmogorov and Smirnov's test."""
    return stats.kstest(values, cdf).pvalue


def chi_square(values, law, least=10.0):
    """p-value of whole numbers against ``law`` (probabilities of 0, 1, ...), rare values pooled with their neighbours.

    A value of probability 0 gives 0.
    """
    law = np.append(law, max(1.0 - law.sum(), 0.0))
    seen = np.bincount(np.minimum(values.astype(np.int64), len(law) - 1), minlength=len(law)).astype(float)
    if seen[law <= 0.0].sum() > 0:
        return 0.0
    seen, expected = _pool(seen[law > 0.0], len(values) * law[law > 0.0], least)
    if len(expected) == 1:
        return 1.0
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1)


def _pool(seen, expected, least):
    pooled = [[0.0, 0.0]]
    for s, e in zip(seen, expected, strict=True):
        if pooled[-1][1] >= least:
            pooled.append([0.0, 0.0])
        pooled[-1][0] += s
        pooled[-1][1] += e
    if len(pooled) > 1 and pooled[-1][1] < least:
        last = pooled.pop()
        pooled[-1][0] += last[0]
        pooled[-1][1] += last[1]
    table = np.array(pooled)
    return table[:, 0], table[:, 1]


def mean_is(values, expected, deviation):
    """p-value of the mean of independent values with the given standard deviation."""
    return 2.0 * stats.norm.sf(abs(np.mean(values) - expected) / (deviation / np.sqrt(len(values))))


def bars(n_documents=400, seed=0):
    """Ten bars on a 5 x 5 grid, uneven along each so that no symmetry hides an error, and documents of a few bars."""
    rng = np.random.default_rng(seed)
    grid = np.zeros((10, 5, 5))
    for i in range(5):
        grid[i, i, :] = grid[5 + i, :, i] = (0.3, 0.25, 0.2, 0.15, 0.1)
    truth = grid.reshape(10, 25).T
    theta = rng.gamma(0.25, 60.0, (n_documents, 10))
    return truth, rng.poisson(theta @ truth.T)


def mismatch(found, truth):
    """Mean total variation between the true topics and the topics found, best permutation."""
    distance = 0.5 * np.abs(found[:, :, None] - truth[:, None, :]).sum(axis=0)
    return distance[linear_sum_assignment(distance)].mean()
