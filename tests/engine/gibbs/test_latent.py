"""The counts behind observations have the laws they claim; false-alarm rate 1e-5 per test, seeds fixed."""

import math

import naive
import numpy as np
import pytest
from drawing import MANY, RARE, chi_square, ks, many, mean_is
from scipy import special, stats

from topiary.engine.gibbs import latent


@pytest.mark.parametrize("k", [0, 1, 5, 255, 256, 257, 10_000, 10**8])
def test_log_factorial_agrees_with_the_log_gamma_function(k):
    assert latent.log_factorial(k) == pytest.approx(math.lgamma(k + 1.0), rel=1e-13)


@pytest.mark.parametrize("rate", [1e-5, 0.3, 4.0, 9.99, 10.0, 12.0, 40.0, 1000.0])
def test_poisson_follows_its_law(rate):
    law = stats.poisson(rate).pmf(np.arange(int(rate + 12 * math.sqrt(rate) + 12)))
    assert chi_square(many(latent.draw_poisson, rate), law) > RARE


@pytest.mark.parametrize("rate", [1e6, 1e12, 1e15])
def test_poisson_of_a_large_rate_follows_its_law(rate):
    scaled = (many(latent.draw_poisson, rate) - rate) / math.sqrt(rate)
    assert ks(scaled, lambda z: special.gammaincc(np.floor(z * math.sqrt(rate) + rate + 0.5) + 1.0, rate)) > RARE


def test_poisson_of_rate_zero_is_zero():
    assert (many(latent.draw_poisson, 0.0, n=50) == 0).all()


@pytest.mark.parametrize("rate", [1e-8, 1e-3, 0.3, 1.0, 4.99, 5.0, 9.0, 30.0])
def test_truncated_poisson_follows_its_law(rate):
    law = stats.poisson(rate).pmf(np.arange(int(rate + 12 * math.sqrt(rate) + 12))) / -math.expm1(-rate)
    law[0] = 0.0
    assert chi_square(many(latent.draw_truncated_poisson, rate), law) > RARE


@pytest.mark.parametrize("rate", [0.0, 5e-324, 1e-300, 1e-20, 1e-17])
def test_truncated_poisson_of_a_vanishing_rate_is_one(rate):
    assert (many(latent.draw_truncated_poisson, rate, n=500) == 1).all()


def test_truncated_poisson_of_a_large_rate_is_a_poisson():
    scaled = (many(latent.draw_truncated_poisson, 1e8) - 1e8) / 1e4
    assert mean_is(scaled, 0.0, 1.0) > RARE
    assert mean_is(scaled**2, 1.0, math.sqrt(2.0)) > RARE


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1.0, 4.0, 7.99, 8.01, 12.0, 60.0, 1000.0, 30_000.0])
def test_truncated_bessel_follows_its_law(alpha):
    law = naive.bessel_law(alpha, int(0.5 * alpha + 8.0 * math.sqrt(alpha) + 20.0))
    assert law.sum() == pytest.approx(1.0, rel=1e-8)
    assert chi_square(many(latent.draw_truncated_bessel, alpha), law) > RARE


def test_truncated_bessel_of_a_huge_alpha_has_the_exact_mean_and_variance():
    alpha = 1e5
    ratio = special.ive(0, alpha) / special.ive(1, alpha)
    mean = 0.5 * alpha * ratio
    variance = 0.25 * alpha * alpha + mean - mean * mean  # as E[n (n - 1)] = alpha^2 / 4
    values = many(latent.draw_truncated_bessel, alpha)
    assert mean_is(values, mean, math.sqrt(variance)) > RARE
    assert mean_is((values - mean) ** 2, variance, math.sqrt(2.0) * variance) > RARE


@pytest.mark.parametrize("alpha", [0.0, 5e-324, 1e-300, 1e-150])
def test_truncated_bessel_of_a_vanishing_alpha_is_one(alpha):
    assert (many(latent.draw_truncated_bessel, alpha, n=200) == 1).all()


def test_truncated_bessel_is_the_count_behind_a_gamma():
    """Among (x, y) of the model, the x near one y have the law of that y: chi-square of probability transforms."""
    rng = np.random.default_rng(8)
    a, rate, y = 0.7, 3.0, 2.0
    x = rng.poisson(rate, 40 * MANY)
    x = x[x > 0]
    near = np.abs(rng.gamma(x) / a - y) < 0.01
    law = naive.bessel_law(2.0 * math.sqrt(a * y * rate), 60)
    assert chi_square(x[near], law) > RARE
    assert chi_square(many(latent.draw_truncated_bessel, 2.0 * math.sqrt(a * y * rate)), law) > RARE
