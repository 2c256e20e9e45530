"""Exact transitions of topics and shapes: posteriors at any step size, the pace of Langevin steps, threads, floors.

False-alarm rate 1e-5 per test, seeds fixed.
"""

import numba
import numpy as np
import pytest
from drawing import RARE, ks
from scipy import stats

from engine.gibbs.augment import TINY
from engine.pool import Pool
from engine.topic_moves import diffusion, dirichlet, simplex

ONE = Pool(1)
COUNTS = np.array([0.0, 3.0, 11.0, 1.0, 0.0])
ETA = 0.05
N = 2_000 if numba.config.DISABLE_JIT else 40_000


def posterior(n=N, seed=3):
    """Draws of Dir(eta + counts), one a column, and their table of counts."""
    table = np.repeat(COUNTS[:, None], n, axis=1)
    return dirichlet.draw(table, ETA, seed, 1, 0, ONE), table


@pytest.mark.parametrize("eps", [0.003, 0.4, 30.0])
@pytest.mark.parametrize("scale", [2.0, 15.0, 400.0])
def test_the_posterior_stays_the_posterior_at_any_step_size_and_scale(eps, scale):
    phi, table = posterior()
    for step in range(3):
        phi = diffusion.topics(phi, table, ETA, np.full(N, scale), eps, 7, step, 1, ONE)
    np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-12)
    total = COUNTS.sum() + ETA * len(COUNTS)
    for row, n in zip(phi, COUNTS + ETA, strict=True):
        assert ks(row, stats.beta(n, total - n).cdf) > RARE / 50


def test_a_clamped_step_would_not_pass():
    phi, table = posterior()
    for step in range(40):
        phi = simplex.langevin(phi, table, ETA, np.full(N, COUNTS.sum()), 0.03, 7, step, 1, ONE)
    assert phi[0].mean() > 2.0 * ETA / (COUNTS.sum() + ETA * len(COUNTS))


def test_chains_come_to_the_posterior_from_elsewhere():
    table = posterior()[1]
    phi = np.full(table.shape, 1.0 / len(COUNTS))
    for step in range(30):
        phi = diffusion.topics(phi, table, ETA, np.full(N, COUNTS.sum()), 0.5, 7, step, 1, ONE)
    total = COUNTS.sum() + ETA * len(COUNTS)
    for row, n in zip(phi, COUNTS + ETA, strict=True):
        assert ks(row, stats.beta(n, total - n).cdf) > RARE / 5


def test_a_short_step_moves_as_a_langevin_step_does():
    """Drift (eps / M) (a - a_. phi) and covariance (2 eps / M) (diag(phi) - phi phi'), DLDA eq. 14 and 15."""
    phi = np.array([0.5, 0.3, 0.15, 0.05])
    counts, eta, m, eps = np.array([90.0, 10.0, 40.0, 60.0]), 0.5, 300.0, 0.01
    wide, table = np.repeat(phi[:, None], N, axis=1), np.repeat(counts[:, None], N, axis=1)
    moved = diffusion.topics(wide, table, eta, np.full(N, m), eps, 4, 1, 0, ONE) - wide
    a = counts + eta
    drift, noise = eps / m * (a - a.sum() * phi), 2.0 * eps / m * (np.diag(phi) - np.outer(phi, phi))
    deviation = np.sqrt(np.diag(noise))
    limit = stats.norm.isf(RARE / 50) / np.sqrt(N)
    curved = eps  # the step is not infinitely short
    assert (np.abs(moved.mean(axis=1) - drift) / deviation).max() < limit + curved * (np.abs(drift) / deviation).max()
    error = np.abs(np.cov(moved) - noise) / np.outer(deviation, deviation)
    assert error.max() < 1.5 * limit + 2.0 * curved
    assert (np.abs(drift) / deviation).max() > 3.0 * limit  # it can fail


@pytest.mark.parametrize("eps", [0.01, 0.5, 20.0])
def test_shapes_stay_in_their_posterior_at_any_step_size(eps):
    """r_k ~ Gam(gamma_0 / K + x_k, 1 / (c_0 + q)) (DLDA eq. 17)."""
    counts = np.repeat([0.0, 6.0], N // 2)
    gamma0, rate = 0.4 * N, 10.0
    r = np.random.default_rng(5).gamma(counts + 0.4, 1.0 / rate)
    for step in range(3):
        r = diffusion.shapes(r, counts, 9.0, gamma0, 1.0, 25.0, eps, 2, step)
    for count in (0.0, 6.0):
        assert ks(r[counts == count], stats.gamma(count + 0.4, scale=1.0 / rate).cdf) > RARE / 6
    assert r.min() >= TINY


def layer_of(n_rows, n_topics, sparse=0.2):
    rng = np.random.default_rng(0)
    phi = np.maximum(rng.dirichlet(np.full(n_rows, sparse), n_topics).T, 1e-14)
    phi = np.ascontiguousarray(phi / phi.sum(axis=0))
    return phi, rng.poisson(phi * 500.0).astype(float)


def test_what_a_topic_keeps_counts_as_further_words():
    phi, counts = layer_of(130, 6)
    scale, eps = 0.5 * counts.sum(axis=0), 0.3
    pace = (counts.sum(axis=0) + ETA * 130) / scale
    kept = scale * np.exp(-pace * eps) * pace / (1.0 - np.exp(-pace * eps))
    expected = dirichlet.draw(counts, ETA, 11, 5, 2, ONE, dirichlet.Kept(phi, kept))
    np.testing.assert_allclose(diffusion.topics(phi, counts, ETA, scale, eps, 11, 5, 2, ONE), expected, rtol=1e-9)
    assert not np.allclose(dirichlet.draw(counts, ETA, 11, 5, 2, ONE), expected)


@pytest.mark.parametrize("eta", [0.02, 0.03, 0.7])
def test_the_posterior_stays_the_posterior_also_under_other_eta(eta):
    """0.02: five gammas are drawn as logarithms; the others are no inverse of a whole number."""
    table = np.repeat(COUNTS[:, None], N, axis=1)
    phi = dirichlet.draw(table, eta, 3, 1, 0, ONE)
    for step in range(3):
        phi = diffusion.topics(phi, table, eta, np.full(N, 15.0), 0.4, 7, step, 1, ONE)
    total = COUNTS.sum() + eta * len(COUNTS)
    for row, n in zip(phi[1:4], COUNTS[1:4] + eta, strict=True):
        assert ks(row, stats.beta(n, total - n).cdf) > RARE / 50


@pytest.mark.parametrize("eps", [1e-9, 1e-11, 1e-15])
def test_a_step_too_short_for_whole_numbers_leaves_topics_and_shapes_where_they_are(eps):
    """Poisson numbers end at 2^53, and topics all of whose words have so many would be flat."""
    phi = np.ascontiguousarray(np.array([[0.9, 0.09, 0.01], [0.2, 0.3, 0.5]]).T)
    new = diffusion.topics(phi, 1e7 * phi, ETA, np.full(2, 1e7), eps, 7, 1, 0, ONE)
    np.testing.assert_allclose(new, phi, rtol=1e-5)
    r = np.array([5.0, 0.5])
    np.testing.assert_allclose(diffusion.shapes(r, 1e7 * r, 1e7, 1.0, 1.0, 1e7, eps, 7, 1), r, rtol=1e-5)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_moves_are_the_same_bits_for_any_number_of_threads(n_threads):
    phi, counts = layer_of(701, 40)
    once = diffusion.topics(phi, counts, ETA, counts.sum(axis=0), 0.5, 1, 2, 1, ONE)
    assert np.array_equal(once, diffusion.topics(phi, counts, ETA, counts.sum(axis=0), 0.5, 1, 2, 1, Pool(n_threads)))


def test_moves_leave_their_arguments_alone_and_a_topic_without_a_scale_stands_still():
    phi, counts = layer_of(30, 4)
    copies = phi.copy(), counts.copy()
    scale = counts.sum(axis=0)
    scale[1] = 0.0
    moved = diffusion.topics(phi, counts, ETA, scale, 0.5, 1, 2, 1, ONE)
    assert np.array_equal(phi, copies[0])
    assert np.array_equal(counts, copies[1])
    assert np.array_equal(moved[:, 1], phi[:, 1])
    assert not np.array_equal(moved[:, 0], phi[:, 0])
    r = np.array([0.2, 0.9])
    assert np.array_equal(diffusion.shapes(r, r, 0.0, 1.0, 1.0, 0.0, 0.5, 1, 1), r)


@pytest.mark.parametrize("eps", [1e-12, 1.0, 1e6])
@pytest.mark.parametrize("least", [1e-9, 1.0])
def test_no_step_leaves_the_simplex_or_gives_nan(eps, least):
    phi, counts = layer_of(90, 8, sparse=0.01)
    counts *= 1e9
    counts[:, 2] = 0.0
    scale = np.geomspace(least, 1e12, 8)
    for step in range(20):
        phi = diffusion.topics(phi, counts, ETA, scale, eps, 1, step, 1, ONE)
        assert np.isfinite(phi).all()
        assert phi.min() >= 0.0
        np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-9)
