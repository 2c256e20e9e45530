"""Variational families against scipy, and their gradients against numerical integration."""

import numba
import numpy as np
import pytest
from scipy import integrate, special, stats

from topiary.engine import streams
from topiary.engine.black_box import families, weights
from topiary.engine.black_box.families import GAMMA, LOGARITHM, NORMAL, SOFTPLUS, StepSize, scale_step
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool

FEW = numba.config.DISABLE_JIT
N = 2_000 if FEW else 40_000
SHAPES = (0.005, 0.02, 0.1, 0.3, 0.7, 1.0, 2.5, 6.0, 9.9)
QUANTILES = (1e-3, 0.05, 0.3, 0.5, 0.9, 0.999, 1 - 1e-7)


def slope_by_quantiles(shape, quantile):
    """d ln x / d shape of the quantile, by central differences."""
    step = 1e-5 * shape
    low, high = (float(special.gammaincinv(shape + sign * step, quantile)) for sign in (-1, 1))
    return (np.log(high) - np.log(low)) / (2 * step)


@compiled
def gammas(seed, shape, out):
    for i in range(len(out)):
        out[i], _ = families.draw_log_gamma(streams.start_stream(seed, 1, 0, i), shape)


@compiled
def poissons(seed, rate, out):
    for i in range(len(out)):
        out[i], _ = families.draw_poisson(streams.start_stream(seed, 1, 0, i), rate)


@compiled
def slopes_of(shape, logs, digamma, out):
    for i in range(len(out)):
        out[i] = families.differentiate_gamma(shape, logs[i], digamma)


@compiled
def functions_of(x):
    return families.compute_gamma_functions(x)


@compiled
def pathwise(shape, scale, trigamma, slope, prior, rate, pull):
    return families.differentiate_bound(shape, scale, trigamma, slope, prior, rate, pull)


@compiled
def paired(kind, shape, mean):
    first, second = families.write_gamma(kind, shape, mean)
    return families.read_gamma(kind, first, second)


@compiled
def step_of(step_size, gradient, root):
    return scale_step(step_size, gradient, root)


@pytest.mark.parametrize(
    ("shape", "quantile"), [(a, q) for a in SHAPES for q in QUANTILES if special.gammaincinv(a, q) > 1e-280]
)
def test_the_slope_of_a_gamma_draw_is_that_of_its_quantile(shape, quantile):
    x = float(special.gammaincinv(shape, quantile))
    slope = families.differentiate_gamma(shape, np.log(x), special.digamma(shape))
    assert slope == pytest.approx(slope_by_quantiles(shape, quantile), rel=1e-4)


@pytest.mark.parametrize("shape", [8.0, 8.001, 9.0, 9.999, 10.001, 10.5, 12.0, 40.0, 3000.0, 1e6])
@pytest.mark.parametrize("quantile", [1e-6, *QUANTILES[:-1], 1 - 1e-6])
def test_the_slope_of_a_large_gamma_is_that_of_its_quantile_to_a_millionth(shape, quantile):
    x = float(special.gammaincinv(shape, quantile))
    slope = families.differentiate_gamma(shape, np.log(x), special.digamma(shape))
    assert slope == pytest.approx(slope_by_quantiles(shape, quantile), rel=1e-6)


@pytest.mark.parametrize("side", [-1, 1])
def test_the_slope_of_a_draw_that_never_happens_joins_on(side):
    """Beyond the range of the polynomials, where series take over; the chance of such draws is below 1e-12."""
    shape, edge = 9.0, (families._LOWEST, families._HIGHEST)[side > 0]
    at = [np.log(shape) + edge + step for step in (-1e-9, 1e-9)]
    one, other = (families.differentiate_gamma(shape, log_x, special.digamma(shape)) for log_x in at)
    assert one == pytest.approx(other, rel=1e-3)


@pytest.mark.parametrize("x", [0.005, 0.1, 0.999, 1.0, 3.99, 4.0, 17.0, 1e4])
def test_the_functions_of_the_gamma_function_agree_with_scipy(x):
    log_gamma, digamma, trigamma = functions_of(x)
    np.testing.assert_allclose(log_gamma, special.gammaln(x), atol=1e-8, rtol=1e-9)
    np.testing.assert_allclose(digamma, special.digamma(x), atol=1e-8, rtol=1e-9)
    np.testing.assert_allclose(trigamma, special.polygamma(1, x), atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("shape", [0.02, 0.3, 1.0, 7.0])
def test_draws_have_the_law_of_their_gamma(shape):
    """False alarm 1e-5; seed 5."""
    logs = np.empty(N)
    gammas(5, shape, logs)
    logs = logs[logs > -600]  # those below are cut at 1e-300
    cut = stats.gamma.cdf(np.exp(-600.0), shape)
    law = lambda log_x: (special.gammainc(shape, np.exp(log_x)) - cut) / (1 - cut)  # noqa: E731
    assert stats.kstest(logs, law).pvalue > 1e-5


@pytest.mark.parametrize("rate", [0.05, 3.0, 45.0])
def test_poisson_draws_have_their_law(rate):
    """False alarm 1e-5 each; seed 6."""
    out = np.empty(N)
    poissons(6, rate, out)
    mean, variance = out.mean(), out.var()
    assert abs(mean - rate) < 4.5 * np.sqrt(rate / len(out))
    assert abs(variance - rate) < 4.5 * np.sqrt((2 * rate**2 + rate) / len(out))


@pytest.mark.parametrize("kind", [SOFTPLUS, LOGARITHM])
@pytest.mark.parametrize("shape", [0.006, 0.5, 200.0])
def test_a_gamma_comes_back_from_its_parameters(kind, shape):
    found, scale, log_scale = paired(kind, shape, 0.7)
    assert found == pytest.approx(shape, rel=1e-6)
    assert found * scale == pytest.approx(0.7, rel=1e-6)
    assert log_scale == pytest.approx(np.log(scale), rel=1e-9)


def bound(shape, scale, prior, rate):
    """The evidence lower bound of one gamma variable whose log-likelihood is 3 ln(1 + z), by integration."""
    law = stats.gamma(shape, scale=scale)
    likelihood, _ = integrate.quad(lambda u: 3.0 * np.log1p(law.ppf(u)), 0, 1, epsabs=1e-10, limit=400)
    log_z, mean = special.digamma(shape) + np.log(scale), shape * scale
    return likelihood + (prior - 1) * log_z - rate * mean + float(law.entropy())


@pytest.mark.parametrize(("shape", "scale"), [(0.2, 1.5), (1.7, 0.4), (14.0, 0.3)])
def test_pathwise_gradients_are_those_of_the_bound(shape, scale):
    """One variable against numerical integration; 4.5 standard errors, seed 7."""
    prior, rate, n = 0.3, 0.8, 2 * N
    logs, slopes = np.empty(n), np.empty(n)
    gammas(7, shape, logs)
    slopes_of(shape, logs, special.digamma(shape), slopes)
    z = scale * np.exp(logs)
    trigamma = float(special.polygamma(1, shape))
    got = np.array(
        [pathwise(shape, scale, trigamma, s, prior, rate, 3.0 * v / (1 + v)) for s, v in zip(slopes, z, strict=True)]
    )
    h = 1e-4
    wanted = (
        (bound(shape * (1 + h), scale, prior, rate) - bound(shape * (1 - h), scale, prior, rate)) / (2 * h * shape),
        (bound(shape, scale * (1 + h), prior, rate) - bound(shape, scale * (1 - h), prior, rate)) / (2 * h * scale),
    )
    for column, value in zip(got.T, wanted, strict=True):
        assert abs(column.mean() - value) < 4.5 * column.std() / np.sqrt(n) + 2e-4 * abs(value) + 1e-5


@pytest.mark.parametrize("kind", [SOFTPLUS, LOGARITHM])
def test_score_gradients_of_a_gamma_weight_are_those_of_the_bound(kind):
    """One weight against numerical integration; 4.5 standard errors, seed 8.

    Two hundred rows have the same law, so that their estimates tell their own error.
    """
    prior = weights.Prior(GAMMA, kind, 0.3, 0.8)
    shape, mean, rows, samples, aside = 1.3, 0.9, 20 if FEW else 200, 400, 100
    got = estimates(prior, np.full((rows, 1), shape), np.full((rows, 1), mean), samples, aside)
    at = lambda a, m: bound(a, m / a, 0.3, 0.8)  # noqa: E731
    h = 1e-4
    if kind == LOGARITHM:
        wanted = (at(shape * (1 + h), mean) - at(shape * (1 - h), mean)) / (2 * h)
    else:  # along the shape through its softplus, the scale held
        scale = mean / shape
        slope = 1 - np.exp(-shape)
        both = (bound(shape * (1 + s * h), scale, 0.3, 0.8) for s in (1, -1))
        wanted = slope * (next(both) - next(both)) / (2 * h * shape)
    assert abs(got[:, 0].mean() - wanted) < 4.5 * got[:, 0].std() / np.sqrt(rows) + 1e-4


def test_score_gradients_of_a_normal_weight_are_those_of_the_bound():
    """E[3 ln(1 + e^w)] - KL against integration; 4.5 standard errors, seed 8."""
    prior = weights.Prior(NORMAL, LOGARITHM, 0.0, 1.0)
    rows, samples, aside = 20 if FEW else 200, 400, 100
    mean, deviation = 0.4, 0.6
    got = estimates(prior, np.full((rows, 1), deviation), np.full((rows, 1), mean), samples, aside, np.exp)
    points, chances = np.polynomial.hermite_e.hermegauss(60)
    at = lambda m: 3 * np.log1p(np.exp(m + deviation * points)) @ chances / chances.sum() - 0.5 * m * m  # noqa: E731
    wanted = (at(mean + 1e-4) - at(mean - 1e-4)) / 2e-4
    assert abs(got[:, 0].mean() - wanted) < 4.5 * got[:, 0].std() / np.sqrt(rows) + 1e-4


def estimates(prior, shape, mean, samples, aside, unit=lambda w: w):
    """The score-function estimate of every row, whose log-likelihood is 3 ln(1 + unit(w))."""
    matrix, pool = weights.init_weights(prior, shape, mean), Pool(1)
    sums = weights.make_scores(*shape.shape)
    for draw in range(samples):
        drawn = weights.draw_weights(prior, matrix, weights.WeightAddress(8, 0, draw, 0), pool, slopes=False)
        terms = 3.0 * np.log1p(unit(drawn.values[:, 0]))
        weights.add_scores(prior, matrix, drawn, terms, np.zeros(0), sums, pool, aside=draw < aside)
    return np.array(
        [[weights.estimate_gradient(sums, i, 0, p, samples - aside) for p in range(2)] for i in range(len(shape))]
    )


def test_the_control_variate_is_used_where_it_explains_half_of_the_variance():
    assert families.estimate_control_coefficient(3.0, 4.0, 4.0) == 0.75
    assert families.estimate_control_coefficient(1.0, 4.0, 4.0) == 0.0
    assert families.estimate_control_coefficient(0.0, 0.0, 0.0) == 0.0


def test_rmsprop_begins_with_the_first_gradient_and_forgets_over_its_window():
    step_size = StepSize(0.2, 10.0)
    step, root = step_of(step_size, -3.0, 0.0)
    assert (step, root) == (pytest.approx(-0.2), 3.0)
    step, root = step_of(step_size, 1.0, 3.0)
    assert root == pytest.approx(np.sqrt(0.9 * 9 + 0.1))
    assert step == pytest.approx(0.2 / root)
    assert step_of(step_size, float("nan"), 2.0) == (0.0, 2.0)
    assert step_of(step_size, 0.0, 0.0) == (0.0, 0.0)
