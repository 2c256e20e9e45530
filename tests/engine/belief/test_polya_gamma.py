"""Polya-Gamma draws against their law: the density summed as a series, and the mean, variance and Laplace transform.

Fixed seeds; false-alarm rate 1e-5 per test.
"""

import numpy as np
import pytest
from drawing import RARE, ks, many, mean_is
from scipy import stats

from engine.belief.polya_gamma import mean, polya_gamma

PLACES = (0.0, 0.3, -1.0, 2.5, 3.2, 6.0, -15.0, 45.0)


def density(x, z):
    """PG(1, z) as an alternating series (Polson, Scott and Windle, 2013, section 2)."""
    n = np.arange(60)[:, None]
    odd = 2 * n + 1
    terms = (-1.0) ** n * odd / np.sqrt(2.0 * np.pi * x**3) * np.exp(-(odd**2) / (8.0 * x))
    return np.cosh(0.5 * z) * np.exp(-0.5 * z * z * x) * terms.sum(axis=0)


def cumulative(z):
    """The distribution function on a fine grid; beyond it an exponential tail of no weight."""
    edges = np.linspace(1e-5, 4.0, 400_001) if abs(z) < 5 else np.linspace(1e-5, 0.6, 400_001)
    heights = density(edges, z)
    sums = np.concatenate([[0.0], np.cumsum(0.5 * (heights[1:] + heights[:-1]) * np.diff(edges))])
    assert abs(sums[-1] - 1.0) < 1e-4
    return lambda x: np.interp(x, edges, sums / sums[-1])


@pytest.mark.parametrize("z", [z for z in PLACES if abs(z) < 20])
def test_draws_follow_the_density(z):
    assert ks(many(polya_gamma, z), cumulative(z)) > RARE


@pytest.mark.parametrize("z", PLACES)
def test_draws_have_the_mean_and_the_variance(z):
    values, y = many(polya_gamma, z), abs(z)
    variance = 1.0 / 24.0 if z == 0.0 else (np.sinh(y) - y) / (4.0 * y**3 * np.cosh(0.5 * y) ** 2)
    assert mean_is(values, mean(z), np.sqrt(variance)) > RARE
    spread = (values - mean(z)) ** 2
    assert mean_is(spread, variance, spread.std()) > RARE


@pytest.mark.parametrize("z", PLACES)
def test_draws_have_the_laplace_transform(z):
    values = many(polya_gamma, z, seed=2)
    for rate in (0.5, 4.0, 30.0):
        transformed = np.exp(-rate * values)
        expected = np.cosh(0.5 * z) / np.cosh(np.sqrt(0.25 * z * z + 0.5 * rate))
        assert mean_is(transformed, expected, transformed.std()) > RARE


def test_large_arguments_give_finite_draws_about_their_mean():
    for z in (80.0, 700.0, -1e4, 1e8):
        values = many(polya_gamma, z, n=2_000)
        assert (values > 0).all()
        np.testing.assert_allclose(values.mean(), 0.5 / abs(z), rtol=0.1)


def test_the_comparison_sees_another_argument():
    assert stats.kstest(many(polya_gamma, 1.1), cumulative(1.0)).pvalue < RARE
