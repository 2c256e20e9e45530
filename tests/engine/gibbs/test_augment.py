"""Every draw has the law it claims, over the ranges met in training; false-alarm rate 1e-5 per test, seeds fixed."""

import math

import naive
import numba
import numpy as np
import pytest
from drawing import MANY, RARE, chi_square, ks, log_gamma_cdf, many, mean_is
from scipy import special, stats

from topiary.engine.gibbs import augment
from topiary.engine.streams import start_stream

SMALL_SHAPES = (1e-4, 1e-3, 0.01, 0.05, 0.0999)
SHAPES = (0.1, 0.3, 0.7, 0.999, 1.0, 1.5, 5.0, 100.0, 1e6)


# agreement with the plain twins


@pytest.mark.parametrize("name", ["normal", "exponential"])
def test_ziggurat_draws_are_those_of_the_plain_twin(name):
    compiled = many(getattr(augment, f"draw_{name}"), seed=3, n=5_000)
    plain = naive.Stream(*start_stream(3, 99, 0, 0))
    np.testing.assert_allclose(compiled, [getattr(naive, name)(plain) for _ in range(5_000)], rtol=1e-13)


@pytest.mark.parametrize("shape", [*SMALL_SHAPES, *SHAPES])
def test_gamma_draws_are_those_of_the_plain_twin(shape):
    compiled = many(augment.draw_gamma, shape, seed=4, n=500)
    plain = naive.Stream(*start_stream(4, 99, 0, 0))
    np.testing.assert_allclose(compiled, [naive.gamma(plain, shape) for _ in range(500)], rtol=1e-11)


@pytest.mark.parametrize("shape", [*SMALL_SHAPES, *SHAPES])
def test_the_logarithmic_gamma_is_the_logarithm_of_the_gamma_of_the_same_stream(shape):
    values = many(augment.draw_gamma, shape, seed=5, n=4_000)
    logs = many(augment.draw_log_gamma, shape, seed=5, n=4_000)
    seen = values > augment.TINY
    np.testing.assert_allclose(np.log(values[seen]), logs[seen], rtol=1e-9, atol=1e-9)
    assert (logs[~seen] <= math.log(augment.TINY) + 1e-9).all()


@pytest.mark.parametrize("root", [10, 20, 100, 10_000])
def test_gammas_of_whole_roots_are_those_of_the_plain_twin_and_have_its_logarithm(root):
    values = many(augment.draw_root_gamma, root, seed=4, n=2_000)
    logs = many(augment.draw_root_log_gamma, root, seed=4, n=2_000)
    plain = naive.Stream(*start_stream(4, 99, 0, 0))
    expected = [max(naive.gamma_of_root(plain, root), augment.TINY) for _ in range(2_000)]
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    seen = values > augment.TINY
    np.testing.assert_allclose(np.log(values[seen]), logs[seen], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [1.0, 1.05, 2.0, 7.5, 1e4])
def test_what_is_accepted_at_a_glance_is_accepted_by_the_exact_test_too(shape):
    d = shape - 1.0 / 3.0
    x = np.linspace(-0.999 * math.sqrt(9.0 * d), 12.0, 20_001)
    v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
    glance = 1.0 - augment.SQUEEZE / d * x**4
    assert (glance <= np.exp(0.5 * x**2 + d * (1.0 - v + np.log(v))) * (1.0 + 1e-9)).all()
    assert (glance > 0.5).any()


# continuous laws


def test_normal_follows_its_law_also_in_the_tail():
    values = many(augment.draw_normal)
    assert ks(values, "norm") > RARE
    beyond = int((np.abs(values) > naive.EDGE).sum())
    assert stats.binomtest(beyond, MANY, 2.0 * stats.norm.sf(naive.EDGE)).pvalue > RARE
    assert ks(np.abs(many(augment.draw_normal, n=5 * MANY)), lambda x: 2.0 * stats.norm.cdf(x) - 1.0) > RARE


@numba.njit
def tail_normal(rng):
    """A draw from the strip whose part beyond the edge is the tail."""
    value, _, rng = augment.judge_normal_edge(rng, 0, 1.0)
    return value, rng


def test_the_tail_beyond_the_edge_is_that_of_the_normal():
    beyond = stats.norm.sf(naive.EDGE)
    assert ks(many(tail_normal), lambda x: 1.0 - stats.norm.sf(x) / beyond) > RARE


def test_successive_normals_are_independent():
    values = many(augment.draw_normal, n=2 * (MANY // 2))
    cells = np.minimum(stats.norm.cdf(values) * 16, 15).astype(int).reshape(-1, 2)
    assert chi_square(cells[:, 0] * 16 + cells[:, 1], np.full(256, 1 / 256)) > RARE


def test_exponential_follows_its_law_also_in_the_tail():
    values = many(augment.draw_exponential)
    assert ks(values, "expon") > RARE
    assert values.min() > 0.0
    assert stats.binomtest(int((values > naive.EXPONENTIAL_EDGE).sum()), MANY, 4.53979e-4).pvalue > RARE


@pytest.mark.parametrize("shape", SMALL_SHAPES)
def test_gamma_of_small_shape_follows_its_law_on_the_log_scale(shape):
    assert ks(many(augment.draw_log_gamma, shape), log_gamma_cdf(shape)) > RARE


@pytest.mark.parametrize("root", [10, 20, 1_000])
def test_gamma_of_a_whole_root_follows_its_law_on_the_log_scale(root):
    assert ks(many(augment.draw_root_log_gamma, root), log_gamma_cdf(1.0 / root)) > RARE


def test_only_inverses_of_whole_numbers_have_a_whole_root():
    assert [augment.find_root(shape) for shape in (0.05, 0.1, 0.01, 1.0 / 3000.0)] == [20, 10, 100, 3000]
    assert [augment.find_root(shape) for shape in (0.03, 0.5, 1.0, 2.5, 1e-6, 0.05 + 1e-15)] == [0] * 6


@pytest.mark.parametrize("shape", SHAPES)
def test_gamma_follows_its_law(shape):
    values = many(augment.draw_gamma, shape)
    assert ks(values, stats.gamma(shape).cdf) > RARE
    assert mean_is(values, shape, math.sqrt(shape)) > RARE


@pytest.mark.parametrize("shape", [1e-300, 1e-12, 1e-4, 0.05, 0.5])
def test_gamma_of_positive_shape_is_never_zero(shape):
    values = many(augment.draw_gamma, shape, n=2_000)
    assert values.min() >= augment.TINY
    assert np.isfinite(values).all()


def test_gamma_of_shape_zero_is_zero():
    assert (many(augment.draw_gamma, 0.0, n=10) == 0.0).all()
    assert (many(augment.draw_log_gamma, 0.0, n=10) == -np.inf).all()


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.05, 2.0), (2.0, 0.3), (1.0, 1.0), (3.0, 4.0), (140.01, 25.3)])
def test_beta_follows_its_law(a, b):
    assert ks(many(augment.draw_beta, a, b), stats.beta(a, b).cdf) > RARE


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.01), (1e-3, 2e-3)])
def test_beta_of_tiny_parameters_follows_its_law_on_both_ends(a, b):
    values = many(augment.draw_beta, a, b)
    inside = (values > augment.TINY) & (values < augment.BELOW_ONE)
    low, high = stats.beta(a, b).cdf([augment.TINY, augment.BELOW_ONE])
    assert stats.binomtest(int((values <= augment.TINY).sum()), MANY, low).pvalue > RARE
    assert stats.binomtest(int((values < 0.5).sum()), MANY, stats.beta(a, b).cdf(0.5)).pvalue > RARE
    assert ks(values[inside & (values < 0.5)], lambda x: (stats.beta(a, b).cdf(x) - low) / (_half(a, b) - low)) > RARE
    assert low < high


def _half(a, b):
    return stats.beta(a, b).cdf(0.5)


@pytest.mark.parametrize(("a", "b"), [(1e-300, 1e-300), (0.0, 1.0), (1.0, 0.0), (1e-12, 5.0), (1e9, 1e-9)])
def test_beta_stays_strictly_between_zero_and_one(a, b):
    values = many(augment.draw_beta, a, b, n=2_000)
    assert values.min() >= augment.TINY
    assert values.max() <= augment.BELOW_ONE


# counts


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("r", [1e-3, 0.4, 2.0, 60.0])
def test_the_law_of_crt_is_that_of_stirling_numbers(n, r):
    np.testing.assert_allclose(naive.crt_law(n, r), naive.stirling_crt_law(n, r), rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30, 200, 1500])
@pytest.mark.parametrize("r", [1e-3, 0.1, 1.0, 7.5, 300.0])
def test_crt_follows_its_law(n, r):
    draws = min(MANY, 100 * MANY // n)
    assert chi_square(many(augment.draw_crt, n, r, n=draws), naive.crt_law(n, r)) > RARE


def test_crt_of_a_very_large_count_has_the_exact_mean_and_variance():
    n, r = 3_000_000, 1.7
    chances = r / (r + np.arange(n))
    values = many(augment.draw_crt, n, r, n=MANY // 4)
    variance = (chances * (1.0 - chances)).sum()
    assert mean_is(values, chances.sum(), math.sqrt(variance)) > RARE
    assert mean_is((values - chances.sum()) ** 2, variance, math.sqrt(2.1) * variance) > RARE


@pytest.mark.parametrize("r", [0.0, 5e-324, 1e-300, 1e-30])
@pytest.mark.parametrize("n", [1, 2, 9, 100, 10_000])
def test_crt_of_a_vanishing_rate_opens_one_table(n, r):
    assert (many(augment.draw_crt, n, r, n=200) == 1).all()


@pytest.mark.parametrize(("n", "chance"), [(1, 0.3), (12, 0.02), (12, 0.5), (12, 0.9), (400, 0.003), (400, 0.2)])
def test_binomial_follows_its_law(n, chance):
    law = stats.binom(n, chance).pmf(np.arange(n + 1))
    assert chi_square(many(augment.draw_binomial, n, chance), law) > RARE


def test_binomials_of_no_trials_or_of_certainty_are_certain():
    assert [many(augment.draw_binomial, n, chance, n=5).tolist() for n, chance in ((0, 0.5), (7, 0.0), (7, 1.0))] == [
        [0.0] * 5,
        [0.0] * 5,
        [7.0] * 5,
    ]


def test_crt_of_no_customers_opens_no_table():
    assert (many(augment.draw_crt, 0, 0.3, n=20) == 0).all()


def test_crt_of_a_huge_rate_opens_a_table_for_everybody():
    assert (many(augment.draw_crt, 50, 1e300, n=100) == 50).all()


@pytest.mark.parametrize("n", [0, 1, 2, 16, 17, 400, 2.5, 0.3])
@pytest.mark.parametrize("r", [1e-12, 0.3, 40.0, 1e6])
def test_the_mean_of_crt_is_a_difference_of_digammas(n, r):
    expected = r * (special.digamma(n + r) - special.digamma(r)) if n else 0.0
    if n and n == int(n):
        expected = (r / (r + np.arange(int(n)))).sum()
    assert augment.compute_expected_crt(n, r) == pytest.approx(expected, rel=1e-6 if n != int(n) else 1e-9)


def test_the_mean_of_crt_at_rate_zero_is_one():
    assert augment.compute_expected_crt(7, 0.0) == 1.0
    assert augment.compute_expected_crt(70, 0.0) == 1.0


def test_digamma_agrees_with_scipy():
    x = np.concatenate([np.geomspace(1e-8, 1e8, 400), np.linspace(0.01, 20.0, 400)])
    got = np.array([augment.digamma(value) for value in x])
    np.testing.assert_allclose(got, special.digamma(x), rtol=1e-12, atol=1e-12)
