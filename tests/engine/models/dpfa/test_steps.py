"""Moves of weights, biases and shapes against their conditionals, and thermostats against posteriors by integration.

Fixed seeds; false-alarm rate 1e-5 per test.
"""

import numpy as np
import pytest
from drawing import RARE, ks, mean_is
from scipy import special, stats

from topiary.engine.models.dpfa import steps
from topiary.engine.models.dpfa.settings import Config
from topiary.engine.pool import Pool
from topiary.engine.topic_moves.rows import LayerAddress

LOWER = np.tril_indices(3)


def moments(seed=3, n=50):
    """Lower triangles of sums of omega h h', and of (2 h_k - 1) h, of two units under two and a constant one."""
    rng = np.random.default_rng(seed)
    above = np.column_stack([rng.random((n, 2)) < 0.4, np.ones(n)]).astype(float)
    omega, below = rng.uniform(0.1, 0.3, (n, 2)), (rng.random((n, 2)) < 0.3).astype(float)
    whole = np.einsum("nk,na,nb->kab", omega, above, above)
    return np.stack([table[LOWER] for table in whole]).T, above.T @ (2.0 * below - 1.0), whole


def test_rows_have_the_mean_and_covariance_of_their_gaussian():
    gram, cross, whole = moments()
    precision = np.array([[1.0, 4.0], [0.5, 2.0]])
    table, bias = steps.draw_rows(gram, cross, precision, None)
    rng, draws = np.random.default_rng(1), []
    for _ in range(20_000):
        drawn = steps.draw_rows(gram, cross, precision, rng)
        draws.append(np.column_stack([drawn[0], drawn[1]]))
    draws = np.array(draws)
    for k in range(2):
        covariance = np.linalg.inv(whole[k] + np.diag([*precision[k], 1.0]))
        mean = covariance @ (0.5 * cross[:, k])
        np.testing.assert_allclose([*table[k], bias[k]], mean, atol=1e-12)
        white = np.linalg.solve(np.linalg.cholesky(covariance), (draws[:, k] - mean).T)
        for line in (*white, (white[0] + white[2]) / np.sqrt(2.0)):
            assert ks(line, stats.norm.cdf) > RARE


def test_many_rows_are_the_same_as_few_at_a_time(monkeypatch):
    gram, cross, _ = moments()
    whole = steps.draw_rows(gram, cross, np.ones((2, 2)), np.random.default_rng(1))
    monkeypatch.setattr(steps, "_MOST_ENTRIES", 9)
    parts = steps.draw_rows(gram, cross, np.ones((2, 2)), np.random.default_rng(1))
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_top_biases_are_log_odds_of_betas():
    rng, on = np.random.default_rng(2), np.array([3.0, 0.0])
    values = special.expit([steps.draw_top_bias(on, 9.0, rng) for _ in range(20_000)])
    assert ks(values[:, 0], stats.beta(3.5, 6.5).cdf) > RARE
    inside = values[:, 1] > 1e-10
    assert mean_is(values[:, 1], 0.5 / 10.0, stats.beta(0.5, 9.5).std()) > RARE
    assert inside.mean() > 0.999
    assert np.isfinite(steps.draw_top_bias(np.zeros(1), 0.0, None)).all()


@pytest.mark.parametrize("width", [1, 2, 5])
def test_the_slope_of_the_top_prior_is_that_of_the_prior_which_is_drawn_from(width):
    """The law of the log-odds that are drawn without documents, and the derivative of its logarithm."""
    rng, grid = np.random.default_rng(6), np.linspace(-6.0, 6.0, 241)
    draws = np.array([steps.draw_top_bias(np.zeros(width), 0.0, rng) for _ in range(20_000 // width)]).ravel()
    slopes = np.array([steps.differentiate_top_prior(np.full(width, c))[0] for c in grid])
    a, b = steps.choose_top_prior(width)
    logs = a * special.log_expit(grid) + b * special.log_expit(-grid)
    np.testing.assert_allclose(slopes[1:-1], (logs[2:] - logs[:-2]) / (grid[2] - grid[0]), atol=2e-4)
    inside = draws[np.abs(draws) < 25.0]  # those beyond 30 are clamped there
    low, high = special.betainc(a, b, special.expit([-25.0, 25.0]))
    assert ks(inside, lambda c: (special.betainc(a, b, special.expit(c)) - low) / (high - low)) > RARE


def test_shapes_are_gammas_and_langevin_steps_of_their_logarithm_keep_to_them():
    tables, on, prior = np.array([12.0, 40.0]), np.array([20.0, 9.0]), steps.Shrinkage(2.0, 1.5)
    laws = [stats.gamma(2.0 + t, scale=1.0 / (1.5 + np.log(2.0) * n)) for t, n in zip(tables, on, strict=True)]
    rng = np.random.default_rng(4)
    draws = np.array([steps.draw_shapes(tables, on, prior, rng) for _ in range(20_000)])
    r, walk = np.array([law.mean() for law in laws]), []
    for _ in range(60_000):
        r = steps.step_shapes(r, tables, on, prior, 0.05, rng)
        walk.append(r)
    for k, law in enumerate(laws):
        assert ks(draws[:, k], law.cdf) > RARE
        np.testing.assert_allclose(np.mean(walk, axis=0)[k], law.mean(), rtol=0.03)
        np.testing.assert_allclose(np.std(walk, axis=0)[k], law.std(), rtol=0.1)


def walk(gradient, n, *, eta, chains=400, noise=0.01):
    """Positions of many chains at once over so many mini-batches, a gradient each."""
    x, xi, seen = np.zeros(chains), np.full(chains, noise), []
    for step in range(n):
        x, xi = steps.step_thermostats(x, xi, gradient(x), eta, noise, LayerAddress(5, step, 0))
        if step >= n // 3:
            seen.append(x)
    return np.array(seen)


@pytest.mark.parametrize("precision", [1.0, 25.0])
def test_thermostats_follow_a_gaussian(precision):
    reach = 0.2 / np.sqrt(precision)  # of the steps of a mini-batch together
    seen = walk(lambda x: -precision * (x - 0.7), 600, eta=(reach / steps.N_STEPS) ** 2)
    np.testing.assert_allclose(seen.mean(), 0.7, atol=0.05 / np.sqrt(precision))
    np.testing.assert_allclose(seen.std() * np.sqrt(precision), 1.0, atol=0.05)


def test_thermostats_follow_a_logistic_posterior_that_is_not_symmetric():
    """One weight with prior N(0, 1), on in 9 of 10 documents: mean and deviation by numerical integration."""
    grid = np.linspace(-6.0, 10.0, 20_001)
    log_law = 9.0 * special.log_expit(grid) + special.log_expit(-grid) - 0.5 * grid**2
    law = np.exp(log_law - log_law.max())
    law /= law.sum()
    mean = (law * grid).sum()
    spread = np.sqrt((law * (grid - mean) ** 2).sum())
    seen = walk(lambda x: 9.0 - 10.0 * special.expit(x) - x, 600, eta=(0.12 / steps.N_STEPS) ** 2)
    np.testing.assert_allclose(seen.mean(), mean, atol=0.05)
    np.testing.assert_allclose(seen.std(), spread, rtol=0.06)
    wrong = walk(lambda x: 9.0 - 10.0 * special.expit(x), 600, eta=(0.12 / steps.N_STEPS) ** 2)
    assert abs(wrong.mean() - mean) > 0.3, "without its prior it must be seen"


def test_thermostats_and_gibbs_have_one_law_of_the_top_units():
    """Two top units, on in 1 of 4 documents: log-odds of Beta(1.5, 3.5), whose moments are polygammas."""
    on, documents, a, b = 1.0, 4.0, 1.5, 3.5
    mean, spread = special.digamma(a) - special.digamma(b), np.sqrt(special.polygamma(1, [a, b]).sum())
    rng = np.random.default_rng(8)
    drawn = np.array([steps.draw_top_bias(np.full(2, on), documents, rng) for _ in range(10_000)])
    assert mean_is(drawn.ravel(), mean, spread) > RARE

    def gradient(x, slope):
        return on - documents * special.expit(x) + slope(x)

    def prior(x):
        return steps.differentiate_top_prior(x.reshape(2, -1)).ravel()

    seen = walk(lambda x: gradient(x, prior), 600, eta=(0.3 / steps.N_STEPS) ** 2)
    np.testing.assert_allclose(seen.mean(), mean, atol=0.08)
    np.testing.assert_allclose(seen.std(), spread, rtol=0.06)
    normal = walk(lambda x: gradient(x, lambda c: -c), 600, eta=(0.3 / steps.N_STEPS) ** 2)
    assert abs(normal.mean() - mean) > 0.3, "a normal prior of the log-odds must be seen"


@pytest.mark.parametrize("hierarchy", ["sbn", "rbm"])
def test_only_the_top_of_a_belief_network_has_the_beta_prior(monkeypatch, hierarchy):
    """The gradient that thermostats follow without documents is that of the priors."""
    rng, layers, seen = np.random.default_rng(2), (3, 2), []
    setup = steps.NetSetup(Config(layers=layers, hierarchy=hierarchy, inference="sgnht"), 9, Pool(1))
    weights, biases = (rng.normal(size=layers),), (rng.normal(size=3), rng.normal(size=2))
    none, precision = np.zeros((0, 3)), (rng.gamma(2.0, size=layers),)
    thermostats = steps.init_thermostats(layers, 0.1)
    old = steps.NetVariables(none, none, none, none, weights, precision, biases, thermostats, ())
    monkeypatch.setattr(steps, "step_thermostats", lambda x, xi, gradient, *_: seen.append(gradient) or (x, xi))
    steps._step_weights(setup, 1, 1, old, np.zeros(3 * 3 + 2), 1e-4)
    np.testing.assert_allclose(seen[0], np.vstack([-(precision[0] * weights[0]).T, -biases[0]]))
    top = 0.5 - special.expit(biases[1]) if hierarchy == "sbn" else -biases[1]
    np.testing.assert_allclose(seen[1], top[None])
