"""Exact transitions of topics and shapes: posteriors at any step size, the pace of Langevin steps, threads, floors.

False-alarm rate 1e-5 per test, seeds fixed.
"""

import naive
import numba
import numpy as np
import pytest
from drawing import RARE, chi_square, ks, log_gamma_cdf
from scipy import stats

from topiary.engine.gibbs.augment import TINY
from topiary.engine.pool import Pool
from topiary.engine.streams import SHAPES, TOPICS, start_stream
from topiary.engine.topic_moves import diffusion, dirichlet
from topiary.engine.topic_moves.diffusion import ShapePrior
from topiary.engine.topic_moves.rows import Blocks, LayerAddress

ONE_THREAD = Pool(1)
PLANTED = np.array([0.0, 3.0, 11.0, 1.0, 0.0])
ETA = 0.05
N = 2_000 if numba.config.DISABLE_JIT else 40_000


def posterior(n=N, seed=3):
    """Draws of Dir(eta + counts), one a column, and their table of counts."""
    table = np.repeat(PLANTED[:, None], n, axis=1)
    return dirichlet.draw_topics(table, ETA, LayerAddress(seed, 1, 0), ONE_THREAD), table


@pytest.mark.parametrize("eps", [0.003, 0.4, 30.0])
@pytest.mark.parametrize("scale", [2.0, 15.0, 400.0])
def test_the_posterior_stays_the_posterior_at_any_step_size_and_scale(eps, scale):
    phi, table = posterior()
    for step in range(3):
        phi = diffusion.diffuse_topics(phi, table, ETA, np.full(N, scale), eps, LayerAddress(7, step, 1), ONE_THREAD)
    np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-12)
    total = PLANTED.sum() + ETA * len(PLANTED)
    for row, n in zip(phi, PLANTED + ETA, strict=True):
        assert ks(row, stats.beta(n, total - n).cdf) > RARE / 50


def test_a_clamped_step_would_not_pass():
    phi, table = posterior()
    for step in range(40):
        phi = diffusion.step_langevin(
            phi, table, ETA, np.full(N, PLANTED.sum()), 0.03, LayerAddress(7, step, 1), ONE_THREAD
        )
    assert phi[0].mean() > 2.0 * ETA / (PLANTED.sum() + ETA * len(PLANTED))


def test_chains_come_to_the_posterior_from_elsewhere():
    table = posterior()[1]
    phi = np.full(table.shape, 1.0 / len(PLANTED))
    for step in range(30):
        phi = diffusion.diffuse_topics(
            phi, table, ETA, np.full(N, PLANTED.sum()), 0.5, LayerAddress(7, step, 1), ONE_THREAD
        )
    total = PLANTED.sum() + ETA * len(PLANTED)
    for row, n in zip(phi, PLANTED + ETA, strict=True):
        assert ks(row, stats.beta(n, total - n).cdf) > RARE / 5


def test_a_short_step_moves_as_a_langevin_step_does():
    """Drift (eps / M) (a - a_. phi) and covariance (2 eps / M) (diag(phi) - phi phi'), DLDA eq. 14 and 15."""
    phi = np.array([0.5, 0.3, 0.15, 0.05])
    counts, eta, m, eps = np.array([90.0, 10.0, 40.0, 60.0]), 0.5, 300.0, 0.01
    wide, table = np.repeat(phi[:, None], N, axis=1), np.repeat(counts[:, None], N, axis=1)
    moved = diffusion.diffuse_topics(wide, table, eta, np.full(N, m), eps, LayerAddress(4, 1, 0), ONE_THREAD) - wide
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
        r = diffusion.diffuse_shapes(r, counts, 9.0, ShapePrior(gamma0, 1.0), 25.0, eps, 2, step)
    for count in (0.0, 6.0):
        assert ks(r[counts == count], stats.gamma(count + 0.4, scale=1.0 / rate).cdf) > RARE / 6
    assert r.min() >= TINY


def layer_from_zero(n_rows, n_topics, sparse=0.2):
    rng = np.random.default_rng(0)
    phi = np.maximum(rng.dirichlet(np.full(n_rows, sparse), n_topics).T, 1e-14)
    phi = np.ascontiguousarray(phi / phi.sum(axis=0))
    return phi, rng.poisson(phi * 500.0).astype(float)


def test_what_a_topic_keeps_counts_as_further_words():
    phi, counts = layer_from_zero(130, 6)
    scale, eps = 0.5 * counts.sum(axis=0), 0.3
    pace = (counts.sum(axis=0) + ETA * 130) / scale
    kept = scale * np.exp(-pace * eps) * pace / (1.0 - np.exp(-pace * eps))
    expected = dirichlet.draw_topics(counts, ETA, LayerAddress(11, 5, 2), ONE_THREAD, dirichlet.KeptWords(phi, kept))
    np.testing.assert_allclose(
        diffusion.diffuse_topics(phi, counts, ETA, scale, eps, LayerAddress(11, 5, 2), ONE_THREAD), expected, rtol=1e-9
    )
    assert not np.allclose(dirichlet.draw_topics(counts, ETA, LayerAddress(11, 5, 2), ONE_THREAD), expected)


@pytest.mark.parametrize("eta", [0.02, 0.03, 0.7])
def test_the_posterior_stays_the_posterior_also_under_other_eta(eta):
    """0.02: five gammas are drawn as logarithms; the others are no inverse of a whole number."""
    table = np.repeat(PLANTED[:, None], N, axis=1)
    phi = dirichlet.draw_topics(table, eta, LayerAddress(3, 1, 0), ONE_THREAD)
    for step in range(3):
        phi = diffusion.diffuse_topics(phi, table, eta, np.full(N, 15.0), 0.4, LayerAddress(7, step, 1), ONE_THREAD)
    total = PLANTED.sum() + eta * len(PLANTED)
    for row, n in zip(phi[1:4], PLANTED[1:4] + eta, strict=True):
        assert ks(row, stats.beta(n, total - n).cdf) > RARE / 50


@pytest.mark.parametrize("eps", [1e-9, 1e-11, 1e-15])
def test_a_step_too_short_for_whole_numbers_leaves_topics_and_shapes_where_they_are(eps):
    """Poisson numbers end at 2^53, and topics all of whose words have so many would be flat."""
    phi = np.ascontiguousarray(np.array([[0.9, 0.09, 0.01], [0.2, 0.3, 0.5]]).T)
    new = diffusion.diffuse_topics(phi, 1e7 * phi, ETA, np.full(2, 1e7), eps, LayerAddress(7, 1, 0), ONE_THREAD)
    np.testing.assert_allclose(new, phi, rtol=1e-5)
    r = np.array([5.0, 0.5])
    np.testing.assert_allclose(
        diffusion.diffuse_shapes(r, 1e7 * r, 1e7, ShapePrior(1.0, 1.0), 1e7, eps, 7, 1), r, rtol=1e-5
    )


@pytest.mark.parametrize("n_threads", [2, 3])
def test_exact_moves_are_the_same_bits_for_any_number_of_threads(n_threads):
    phi, counts = layer_from_zero(701, 40)
    once = diffusion.diffuse_topics(phi, counts, ETA, counts.sum(axis=0), 0.5, LayerAddress(1, 2, 1), ONE_THREAD)
    assert np.array_equal(
        once,
        diffusion.diffuse_topics(phi, counts, ETA, counts.sum(axis=0), 0.5, LayerAddress(1, 2, 1), Pool(n_threads)),
    )


def test_moves_leave_their_arguments_alone_and_a_topic_without_a_scale_stands_still():
    phi, counts = layer_from_zero(30, 4)
    copies = phi.copy(), counts.copy()
    scale = counts.sum(axis=0)
    scale[1] = 0.0
    moved = diffusion.diffuse_topics(phi, counts, ETA, scale, 0.5, LayerAddress(1, 2, 1), ONE_THREAD)
    assert np.array_equal(phi, copies[0])
    assert np.array_equal(counts, copies[1])
    assert np.array_equal(moved[:, 1], phi[:, 1])
    assert not np.array_equal(moved[:, 0], phi[:, 0])
    r = np.array([0.2, 0.9])
    assert np.array_equal(diffusion.diffuse_shapes(r, r, 0.0, ShapePrior(1.0, 1.0), 0.0, 0.5, 1, 1), r)


@pytest.mark.parametrize("eps", [1e-12, 1.0, 1e6])
@pytest.mark.parametrize("least", [1e-9, 1.0])
def test_no_exact_step_leaves_the_simplex_or_gives_nan(eps, least):
    phi, counts = layer_from_zero(90, 8, sparse=0.01)
    counts *= 1e9
    counts[:, 2] = 0.0
    scale = np.geomspace(least, 1e12, 8)
    for step in range(20):
        phi = diffusion.diffuse_topics(phi, counts, ETA, scale, eps, LayerAddress(1, step, 1), ONE_THREAD)
        assert np.isfinite(phi).all()
        assert phi.min() >= 0.0
        np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-9)


ONE = Pool(1)
ROW = 1 << 40  # a stream's item: the layer in units of this, then the row
COUNTS = np.array([2.0, 7.0, 20.0, 61.0])  # asymmetric: a symmetric target cannot see a sign error
CHAINS, STEPS = (40, 300) if numba.config.DISABLE_JIT else (400, 3_000)


def layer_of(n_rows, n_topics, *, seed=0, sparse=0.2):
    """A layer of topics and a table of counts, some of them zero."""
    rng = np.random.default_rng(seed)
    phi = np.maximum(rng.dirichlet(np.full(n_rows, sparse), n_topics).T, 1e-14)
    phi = np.ascontiguousarray(phi / phi.sum(axis=0))
    return phi, rng.poisson(phi * 500.0).astype(float)


def normals(seed, step, layer, shape):
    """The normals a layer's move draws, from the plain twin."""
    noise = np.empty(shape)
    for v in range(shape[0]):
        rng = naive.Stream(*start_stream(seed, TOPICS, step, layer * ROW + v))
        noise[v] = [naive.normal(rng) for _ in range(shape[1])]
    return noise


# agreement with the plain twins


@pytest.mark.parametrize("reflect", [False, True])
def test_a_langevin_step_is_that_of_the_plain_twin(reflect):
    phi, counts = layer_of(150, 6)
    scale = counts.sum(axis=0)
    scale[2] = 0.0
    got = diffusion.step_langevin(phi, counts, 0.05, scale, 0.4, LayerAddress(11, 5, 2), ONE, reflect=reflect)
    noise = normals(11, 5, 2, phi.shape)
    expected = naive.langevin(phi, counts, 0.05, scale, 0.4, noise, reflect=reflect)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-15)
    assert not np.allclose(got, naive.langevin(phi, counts, 0.05, scale, 0.4, noise, reflect=not reflect))


def test_an_expanded_mean_step_is_that_of_the_plain_twin():
    phi, counts = layer_of(150, 6)
    phi_hat = phi * np.array([1.0, 0.3, 5.0, 7.5, 2.0, 1.0])
    got = diffusion.step_sgrld(phi_hat, counts, 0.05, 0.001, LayerAddress(11, 5, 2), ONE)
    np.testing.assert_allclose(got, naive.sgrld(phi_hat, counts, 0.05, 0.001, normals(11, 5, 2, phi.shape)), rtol=1e-9)


def test_a_step_of_the_shapes_is_that_of_the_plain_twin():
    r, counts = np.array([0.3, 1e-4, 2.0]), np.array([4.0, 0.0, 9.5])
    noise = np.array([naive.normal(naive.Stream(*start_stream(3, SHAPES, 8, k))) for k in range(3)])
    got = diffusion.step_shapes(r, counts, 5.0, ShapePrior(1.0, 1.0), 40.0, 0.5, 3, 8)
    np.testing.assert_allclose(got, naive.shapes_step(r, counts, 5.0, 1.0, 1.0, 40.0, 0.5, noise), rtol=1e-12)


def gammas_of(counts, eta, seed=9, step=2, layer=1):
    """The gammas that a Dirichlet draw divides."""
    new, blocks = np.empty(counts.shape), -(-len(counts) // 64)
    none = np.zeros(0)
    rest = (LayerAddress(seed, step, layer), new, Blocks(0, blocks, np.zeros((blocks, counts.shape[1]))))
    dirichlet._draw_gammas(counts.ravel(), dirichlet.KeptWords(none, none), dirichlet.make_prior(eta), *rest)
    return new


@pytest.mark.parametrize("eta", [0.05, 0.1, 0.03, 0.7])
def test_a_dirichlet_draw_is_gammas_divided_by_their_sum(eta):
    counts = np.random.default_rng(2).poisson(0.7, (60, 9))
    gammas = gammas_of(counts, eta)
    expected = np.maximum(gammas / gammas.sum(axis=0), TINY)
    np.testing.assert_allclose(dirichlet.draw_topics(counts, eta, LayerAddress(9, 2, 1), ONE), expected, rtol=1e-12)
    np.testing.assert_array_equal(gammas_of(counts.astype(np.int32), eta), gammas)
    np.testing.assert_array_equal(gammas_of(counts.astype(float), eta), gammas)


@pytest.mark.parametrize("eta", [0.05, 0.1])
def test_most_gammas_without_counts_are_a_power_of_half_a_word_of_the_row(eta):
    counts = np.random.default_rng(2).poisson(0.1, (60, 40))
    gammas, root, seen = gammas_of(counts, eta), round(1.0 / eta), 0
    for v in range(len(counts)):
        rng = naive.Stream(*start_stream(9, TOPICS, 2, ROW + v))
        proposed = np.array([((rng.bits() >> 32) + 1) * 2.0**-32 for _ in range(40)]) ** root
        seen += np.isclose(gammas[v], proposed, rtol=1e-10, atol=0.0)[counts[v] == 0].sum()
    assert 0.88 < seen / (counts == 0).sum() < 0.97  # accepted


@pytest.mark.parametrize("eta", [0.05, 0.1, 0.03])
def test_entries_without_counts_follow_their_gamma_on_the_log_scale(eta):
    """Against a sum made large by counts, phi_v / phi_1 is a ratio of gammas: its logarithm reaches far down."""
    n = 4_000 if numba.config.DISABLE_JIT else 100_000
    counts = np.vstack([np.zeros(n), np.full(n, 1e12)])
    phi = dirichlet.draw_topics(counts, eta, LayerAddress(21, 1, 0), ONE)
    assert ks(np.log(phi[0]) + np.log(1e12), log_gamma_cdf(eta)) > RARE


@pytest.mark.parametrize("eta", [0.02, 0.03, 1e-3])
def test_draws_of_few_words_and_tiny_eta_have_beta_marginals(eta):
    """Their gammas would all be 0 now and then: they are drawn as logarithms."""
    n = 2_000 if numba.config.DISABLE_JIT else 20_000
    counts = np.repeat(np.array([[0], [3], [1]]), n, axis=1)
    phi = dirichlet.draw_topics(counts, eta, LayerAddress(3, 1, 0), ONE)
    np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-12)
    for row, count in zip(phi[1:], (3, 1), strict=True):
        assert ks(row, stats.beta(count + eta, 4 - count + 2 * eta).cdf) > RARE / 3
    bare = phi[0] > 0.01
    assert stats.binomtest(int(bare.sum()), n, stats.beta(eta, 4 + 2 * eta).sf(0.01)).pvalue > RARE / 3


def test_no_sum_of_gammas_is_lost_where_they_are_not_drawn_as_logarithms():
    eta = 1.0 / 5_000.0
    counts = np.zeros((1_000, 20 if numba.config.DISABLE_JIT else 500), np.int64)  # eta V = 0.2
    gammas = gammas_of(counts, eta)
    assert gammas.sum(axis=0).min() > 1e-100
    phi = dirichlet.draw_topics(counts, eta, LayerAddress(9, 2, 1), ONE)
    np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-12)


def test_two_layers_of_one_step_do_not_share_noise():
    phi, counts = layer_of(20, 5)
    first = diffusion.step_langevin(phi, counts, 0.05, counts.sum(axis=0), 0.4, LayerAddress(11, 5, 1), ONE)
    second = diffusion.step_langevin(phi, counts, 0.05, counts.sum(axis=0), 0.4, LayerAddress(11, 5, 2), ONE)
    assert not np.allclose(first, second)


# exact posteriors


def chain(move, state, n_steps=STEPS, burn_in=STEPS // 10):
    """Mean and covariance of phi over many chains side by side, one per column, all of one target."""
    total, square, kept = np.zeros(len(state)), np.zeros((len(state), len(state))), 0
    for step in range(n_steps):
        state = move(state, step)
        if step >= burn_in:
            phi = state / state.sum(axis=0)
            total += phi.sum(axis=1)
            square += phi @ phi.T
            kept += phi.shape[1]
    mean = total / kept
    return mean, square / kept - np.outer(mean, mean)


def exact(counts, eta):
    """Mean and covariance of Dir(eta + counts)."""
    a = counts + eta
    mean = a / a.sum()
    return mean, (np.diag(mean) - np.outer(mean, mean)) / (a.sum() + 1.0)


def wrong_by(result, target):
    """Largest error of the mean in posterior deviations, and of the covariance in relative terms."""
    deviation = np.sqrt(np.diag(target[1]))
    return (
        np.abs((result[0] - target[0]) / deviation).max(),
        np.abs((result[1] - target[1]) / np.outer(deviation, deviation)).max(),
    )


def langevin_chain(eps, scale, eta=0.7):
    table = np.repeat(COUNTS[:, None], CHAINS, axis=1)
    start = np.repeat(exact(COUNTS, eta)[0][:, None], CHAINS, axis=1)
    return chain(lambda phi, t: diffusion.step_langevin(phi, table, eta, scale, eps, LayerAddress(1, t, 0), ONE), start)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a long chain, too slow with the compiler off")
def test_tlasgr_reaches_the_exact_dirichlet_posterior_as_its_step_shrinks():
    target = exact(COUNTS, 0.7)
    scale = np.full(CHAINS, COUNTS.sum())
    fine = wrong_by(langevin_chain(0.02, scale), target)
    coarse = wrong_by(langevin_chain(0.4, scale), target)
    assert fine[0] < 0.05  # five standard errors of the chains are 0.035
    assert fine[1] < 0.05
    assert coarse[1] > 3.0 * fine[1]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a long chain, too slow with the compiler off")
def test_tlfsgr_one_step_for_all_topics_reaches_the_same_posterior():
    scale = np.full(CHAINS, 2.5 * COUNTS.sum())
    error = wrong_by(langevin_chain(0.05, scale), exact(COUNTS, 0.7))
    assert error[0] < 0.05
    assert error[1] < 0.06


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a long chain, too slow with the compiler off")
def test_sgrld_reaches_the_exact_dirichlet_posterior():
    eta = 3.0
    table = np.repeat(COUNTS[:, None], CHAINS, axis=1)
    start = np.random.default_rng(1).gamma(eta, size=table.shape)
    result = chain(lambda hat, t: diffusion.step_sgrld(hat, table, eta, 0.002, LayerAddress(1, t, 0), ONE), start)
    error = wrong_by(result, exact(COUNTS, eta))
    assert error[0] < 0.06
    assert error[1] < 0.08


def test_the_noise_of_a_step_lies_in_the_hyperplane_with_covariance_diag_phi_minus_phi_phi():
    phi = np.array([0.5, 0.3, 0.15, 0.05])
    n, eps, m = (2_000 if numba.config.DISABLE_JIT else 60_000), 1e-4, 1.0
    wide = np.repeat(phi[:, None], n, axis=1)
    counts = np.repeat((100.0 * phi)[:, None], n, axis=1)  # with eta = 0 the drift vanishes
    moved = diffusion.step_langevin(wide, counts, 0.0, np.full(n, m), eps, LayerAddress(4, 1, 0), ONE) - wide
    np.testing.assert_allclose(moved.sum(axis=0), 0.0, atol=1e-12)
    expected = 2.0 * eps / m * (np.diag(phi) - np.outer(phi, phi))
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / n)
    assert (np.abs(np.cov(moved) - expected) / error).max() < stats.norm.isf(RARE / 20)


def test_dirichlet_draws_have_beta_marginals():
    counts = np.repeat(np.array([[0], [3], [11], [1]]), 20_000, axis=1)
    phi = dirichlet.draw_topics(counts, 0.05, LayerAddress(3, 1, 0), ONE)
    np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-12)
    for row, n in zip(phi, counts[:, 0], strict=True):
        assert ks(row, stats.beta(n + 0.05, 15.2 - n - 0.05).cdf) > RARE / 4


def test_dirichlet_draws_have_the_exact_covariance():
    counts = np.repeat(np.array([[0], [3], [11], [1]]), 40_000, axis=1)
    phi = dirichlet.draw_topics(counts, 0.3, LayerAddress(5, 1, 0), ONE)
    mean, covariance = exact(counts[:, 0], 0.3)
    error = np.sqrt(np.diag(covariance) / phi.shape[1])
    assert (np.abs(phi.mean(axis=1) - mean) / error).max() < stats.norm.isf(RARE / 8)
    np.testing.assert_allclose(np.cov(phi), covariance, atol=0.03 * covariance.max())


def test_a_dirichlet_of_vanishing_eta_is_a_fair_choice_of_one_corner():
    eta = 1e-6
    phi = dirichlet.draw_topics(np.zeros((5, 10_000), np.int64), eta, LayerAddress(3, 1, 0), ONE)
    assert (phi.max(axis=0) > 0.99).mean() > 0.999
    assert chi_square(phi.argmax(axis=0), np.full(5, 0.2)) > RARE


def test_gibbs_shapes_follow_their_gamma():
    counts = np.repeat([0.0, 2.0, 30.0], 5_000)
    values = diffusion.draw_shapes(counts, 7.0, ShapePrior(1.0, 1.0), 6, 1)
    for n in (2.0, 30.0):
        assert ks(values[counts == n], stats.gamma(n + 1.0 / 15_000, scale=1 / 8).cdf) > RARE
    assert values.min() >= TINY


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a long chain, too slow with the compiler off")
def test_langevin_shapes_reach_their_gamma_posterior():
    counts = np.repeat([6.0, 40.0], 1_000)
    r, kept = np.ones(2_000), []
    for t in range(1_500):
        r = diffusion.step_shapes(r, counts, 9.0, ShapePrior(2_000 * 0.5, 1.0), 10.0, 0.05, 2, t)
        if t >= 200 and t % 50 == 0:
            kept.append(r)
    for column in (slice(0, 1_000), slice(1_000, 2_000)):
        shape = counts[column][0] + 0.5
        values = np.concatenate([r[column] for r in kept])
        assert values.mean() == pytest.approx(shape / 10.0, rel=0.02)
        assert values.var() == pytest.approx(shape / 100.0, rel=0.08)


# threads, floors, no change of arguments


@pytest.mark.parametrize("n_threads", [2, 3])
def test_moves_are_the_same_bits_for_any_number_of_threads(n_threads):
    phi, counts = layer_of(701, 40)
    pool = Pool(n_threads)
    scale = counts.sum(axis=0)
    for reflect in (False, True):
        one = diffusion.step_langevin(phi, counts, 0.05, scale, 0.5, LayerAddress(1, 2, 1), ONE, reflect=reflect)
        assert np.array_equal(
            one, diffusion.step_langevin(phi, counts, 0.05, scale, 0.5, LayerAddress(1, 2, 1), pool, reflect=reflect)
        )
    assert np.array_equal(
        diffusion.step_sgrld(phi, counts, 0.05, 0.01, LayerAddress(1, 2, 1), ONE),
        diffusion.step_sgrld(phi, counts, 0.05, 0.01, LayerAddress(1, 2, 1), pool),
    )
    for eta in (0.05, 0.03, 1e-4):
        assert np.array_equal(
            dirichlet.draw_topics(counts, eta, LayerAddress(1, 2, 1), ONE),
            dirichlet.draw_topics(counts, eta, LayerAddress(1, 2, 1), pool),
        )
    assert np.array_equal(diffusion.normalise_columns(counts, ONE), diffusion.normalise_columns(counts, pool))


def test_moves_leave_their_arguments_alone():
    phi, counts = layer_of(30, 4)
    copies = phi.copy(), counts.copy()
    diffusion.step_langevin(phi, counts, 0.05, counts.sum(axis=0), 0.5, LayerAddress(1, 2, 1), ONE)
    diffusion.step_sgrld(phi, counts, 0.05, 0.5, LayerAddress(1, 2, 1), ONE)
    dirichlet.draw_topics(counts, 0.05, LayerAddress(1, 2, 1), ONE)
    diffusion.normalise_columns(phi, ONE)
    assert np.array_equal(phi, copies[0])
    assert np.array_equal(counts, copies[1])


def test_a_topic_without_counts_keeps_its_phi():
    phi, counts = layer_of(30, 4)
    counts[:, 1] = 0.0
    scale = counts.sum(axis=0)
    moved = diffusion.step_langevin(phi, counts, 0.05, scale, 0.5, LayerAddress(1, 2, 1), ONE)
    assert np.array_equal(moved[:, 1], phi[:, 1])
    assert not np.array_equal(moved[:, 0], phi[:, 0])


def test_shapes_do_not_run_away_from_a_prior_that_pulls_hard():
    r = np.array([0.2, 0.9])
    for t in range(1, 60):
        r = diffusion.step_shapes(r, np.array([3.0, 8.0]), 4.0, ShapePrior(1.0, 1e6), 5.0, 0.5, 1, t)
    assert r.max() < 1e-4  # the posterior has 8e-6


def test_shapes_without_a_scale_stand_still():
    r = np.array([0.2, 0.9])
    assert np.array_equal(diffusion.step_shapes(r, r, 0.0, ShapePrior(1.0, 1.0), 0.0, 0.5, 1, 1), r)


@pytest.mark.parametrize("reflect", [False, True])
@pytest.mark.parametrize("eps", [1e-12, 1.0, 1e6])
@pytest.mark.parametrize("least", [1e-9, 1.0])
def test_no_step_leaves_the_simplex_or_gives_nan(eps, least, reflect):
    phi, counts = layer_of(90, 8, sparse=0.01)
    phi[:, 3] = TINY
    phi[7, 3] = 1.0
    counts *= 1e9
    scale = np.geomspace(least, 1e12, 8)
    for step in range(20):
        phi = diffusion.step_langevin(phi, counts, 0.05, scale, eps, LayerAddress(1, step, 1), ONE, reflect=reflect)
        assert np.isfinite(phi).all()
        assert phi.min() > 0.0
        np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-9)


def test_a_step_that_cannot_be_divided_leaves_the_topic_where_it_was():
    phi, counts = layer_of(10, 3)
    counts[4, 1] = np.inf
    moved = diffusion.step_langevin(phi, counts, 0.05, np.ones(3), 0.5, LayerAddress(1, 1, 1), ONE)
    assert np.array_equal(moved[:, 1], phi[:, 1])
    assert np.isfinite(moved).all()


def test_expanded_means_stay_positive_and_finite():
    phi, counts = layer_of(40, 5, sparse=0.01)
    phi[:, 0] = TINY
    for step in range(50):
        phi = diffusion.step_sgrld(phi, counts, 0.05, 0.1, LayerAddress(1, step, 1), ONE)
        assert np.isfinite(phi).all()
        assert phi.min() > 0.0


def test_entries_are_held_at_the_smallest_value_before_the_division():
    phi, counts = layer_of(300, 20, sparse=0.02)
    moved = diffusion.step_langevin(phi, counts, 0.05, counts.sum(axis=0), 1.0, LayerAddress(1, 1, 1), ONE)
    assert moved.min() == pytest.approx(diffusion.SMALLEST, rel=0.9)
    assert (moved < 3e-16).mean() > 0.05


def test_a_table_of_zeros_becomes_flat():
    assert np.array_equal(diffusion.normalise_columns(np.zeros((4, 2)), ONE), np.full((4, 2), 0.25))
