"""Concentrations follow their posterior on a grid; false-alarm rate 1e-5 per test, seeds fixed."""

import numba
import numpy as np
import pytest
from drawing import RARE, ks
from scipy.special import gammaln

from topiary.engine.gibbs.local import FINEST
from topiary.engine.pool import Pool
from topiary.engine.topic_moves import steps
from topiary.engine.topic_moves.diffusion import ShapePrior, draw_shapes
from topiary.engine.topic_moves.rows import LayerAddress
from topiary.engine.topic_moves.steps import MEMORY, GammaPrior, ShareTables

STARTS, STEPS = (60 if numba.config.DISABLE_JIT else 2_000), 15
TABLE = np.array([[3, 0, 0], [0, 1, 0], [9, 2, 0], [1, 0, 0], [0, 6, 0]])  # uneven, with a topic without counts
PRIOR = GammaPrior(1.5, 2.0)
GRID = np.exp(np.linspace(np.log(1e-5), np.log(60.0), 40_001))


def log_likelihood(prior, counts):
    """ln of the chance of counts (n, many) under ``Dir(prior)``, prior (grid, n), every column on its own."""
    sums = prior.sum(axis=1)
    total = np.zeros(len(prior))
    for column in counts.T:
        total += gammaln(sums) - gammaln(sums + column.sum())
        total += (gammaln(prior + column) - gammaln(prior)).sum(axis=1)
    return total


def posterior_cdf(log_density, grid=GRID):
    """The distribution function of a density that is known but for a constant, on a grid of logarithms."""
    mass = np.exp(log_density - log_density.max()) * grid
    return lambda x: np.interp(x, grid, np.cumsum(mass) / mass.sum())


def log_prior(prior, grid=GRID):
    return (prior.shape - 1.0) * np.log(grid) - prior.rate * grid


def eta_cdf(counts, prior):
    every = np.repeat(GRID[:, None], len(counts), axis=1)
    return posterior_cdf(log_prior(prior) + log_likelihood(every, counts))


def draw_etas(counts, prior, first):
    """Ends of many chains of eta from ``first``, too short for one that stays where it begins."""
    ends = np.empty(STARTS)
    for seed in range(STARTS):
        eta = first
        for step in range(STEPS):
            eta = steps.draw_eta(counts, eta, prior, LayerAddress(seed, step, 0), Pool(1))
        ends[seed] = eta
    return ends


@pytest.mark.parametrize(("counts", "first"), [(TABLE, 5.0), (TABLE.astype(float), 1e-3), (TABLE[:, 2:], 3.0)])
def test_eta_follows_its_posterior(counts, first):
    assert ks(draw_etas(counts, PRIOR, first), eta_cdf(counts, PRIOR)) > RARE


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too few draws with the compiler off")
@pytest.mark.parametrize("other", [pytest.param(GammaPrior(2.0, 2.0), marks=pytest.mark.nightly), GammaPrior(1.5, 3.0)])
def test_the_comparison_sees_another_prior(other):
    assert ks(draw_etas(TABLE, PRIOR, 1.0), eta_cdf(TABLE, other)) < RARE


def test_eta_is_the_same_for_one_and_two_threads():
    counts = np.random.default_rng(1).poisson(0.4, (300, 70))
    one, two = (steps.draw_eta(counts, 0.2, PRIOR, LayerAddress(3, 1, 0), Pool(n)) for n in (1, 2))
    assert one == two


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many draws, too slow with the compiler off")
@pytest.mark.parametrize("truth", [0.03, 0.15, 1.0])
def test_the_eta_that_made_the_counts_is_found(truth):
    rng = np.random.default_rng(4)
    phi = rng.dirichlet(np.full(400, truth), 20)
    counts = np.stack([rng.multinomial(1_500, p) for p in phi], axis=1)
    eta, drawn = 0.3, []
    for step in range(300):
        eta = steps.draw_eta(counts, eta, steps.choose_prior(0.3), LayerAddress(1, step, 0), Pool(1))
        drawn.append(eta)
    low, high = np.quantile(drawn[50:], (0.005, 0.995))
    assert low < truth < high
    assert high - low < 0.2 * truth


# alpha: documents are columns

SHARES = np.array([[2, 0, 5, 0, 1, 0], [0, 0, 1, 7, 0, 0]])  # (K, documents), one of them empty
STARTS_OF = np.concatenate([[0], np.cumsum(SHARES.sum(axis=0))])


def draw_alphas(first, shared, seeds):
    """Ends of many chains of alpha, with tables drawn plainly."""
    rng, ends = np.random.default_rng(7), []
    numbers = np.arange(SHARES.shape[1])
    for seed in range(seeds):
        alpha = np.array(first)
        for step in range(STEPS):
            tables = np.zeros(2)
            for (k, _), n in np.ndenumerate(SHARES):
                tables[k] += (rng.random(n) * (alpha[k] + np.arange(n)) < alpha[k]).sum()
            q = steps.draw_lengths(numbers, STARTS_OF, alpha.sum(), LayerAddress(seed, step, 2))
            shares = ShareTables(tables, q * FINEST)
            alpha = steps.draw_alpha(shares, PRIOR, LayerAddress(seed, step, 1), shared=shared)
        ends.append(alpha)
    return np.array(ends)


@pytest.mark.parametrize("first", [(4.0, 4.0), pytest.param((0.2, 0.2), marks=pytest.mark.nightly)])
def test_a_shared_alpha_follows_its_posterior(first):
    found = draw_alphas(first, True, STARTS // 2)
    assert np.array_equal(found[:, 0], found[:, 1])
    every = np.repeat(GRID[:, None], 2, axis=1)
    assert ks(found[:, 0], posterior_cdf(log_prior(PRIOR) + log_likelihood(every, SHARES))) > RARE


def test_alphas_of_their_own_follow_their_posterior():
    found = draw_alphas((0.05, 6.0), False, STARTS // 2)
    grid = np.exp(np.linspace(np.log(1e-4), np.log(30.0), 301))
    pairs = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=2).reshape(-1, 2)
    logs = log_likelihood(pairs, SHARES) + log_prior(PRIOR, pairs).sum(axis=1)
    joint = np.exp(logs - logs.max()).reshape(301, 301)
    for k in range(2):
        marginal = (joint * grid[None, :] if k == 0 else joint * grid[:, None]).sum(axis=1 - k)
        assert ks(found[:, k], posterior_cdf(np.log(marginal + 1e-300), grid)) > RARE / 2


# the prior of r

TOP, Q = np.array([7.0, 0.0, 2.0]), 1.7
R_PRIORS = steps.RPriors(GammaPrior(2.5, 1.5), GammaPrior(3.0, 2.0))


def draw_r_priors(q_seen):
    """Ends of many chains of gamma_0 and c_0, with r drawn in turns; gamma_0 is told of ``q_seen``."""
    ends = np.empty((STARTS, 2))
    for seed in range(STARTS):
        gamma0, c0, r = 6.0, 0.2, np.full(3, 3.0)
        for step in range(2 * STEPS):
            gamma0, c0 = steps.draw_shrinkage(TOP, q_seen, gamma0, r, R_PRIORS, seed, step)
            r = draw_shapes(TOP, Q, ShapePrior(gamma0, c0), seed, step)
        ends[seed] = gamma0, c0
    return ends


def r_prior_cdfs():
    """The marginal posteriors of gamma_0 and c_0, r integrated out: TOP is negative binomial."""
    grid = np.exp(np.linspace(np.log(1e-3), np.log(40.0), 401))
    gamma0, c0 = grid[:, None], grid[None, :]
    logs = log_prior(R_PRIORS.gamma0, gamma0) + log_prior(R_PRIORS.c0, c0)
    for n in TOP:
        shape = gamma0 / len(TOP)
        logs = logs + gammaln(shape + n) - gammaln(shape) + shape * np.log(c0) - (shape + n) * np.log(c0 + Q)
    joint = np.exp(logs - logs.max())
    marginals = (joint * c0).sum(axis=1), (joint * gamma0).sum(axis=0)
    return [posterior_cdf(np.log(marginal + 1e-300), grid) for marginal in marginals]


def test_gamma_0_and_c_0_follow_their_posterior():
    found = draw_r_priors(Q)
    assert all(ks(found[:, i], cdf) > RARE / 2 for i, cdf in enumerate(r_prior_cdfs()))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too few draws with the compiler off")
def test_the_comparison_sees_a_wrong_q():
    assert ks(draw_r_priors(0.7 * Q)[:, 0], r_prior_cdfs()[0]) < RARE


V, K = 150, 4  # three blocks of rows
POOL = Pool(1)


def topics(rng, sharp=0.1):
    """Columns that have little in common."""
    drawn = rng.dirichlet(np.full(V, sharp), size=K).T
    return np.ascontiguousarray(drawn)


def near(phi, rng, tokens=4000):
    """Counts of a sweep under topics."""
    return np.stack([rng.multinomial(tokens, phi[:, k]) for k in range(K)], axis=1).astype(np.int32)


def followed(samples, eta=0.05, pool=POOL):
    mean = steps.init_mean(np.full((V, K), 1.0 / V))
    for sample in samples:
        mean, _ = steps.update_mean(mean, sample, eta, pool)
    return mean


def test_up_to_the_memory_the_mean_is_that_of_all_expectations():
    rng = np.random.default_rng(1)
    phi = topics(rng)
    samples = [near(phi, rng) for _ in range(7)]
    expected = np.mean([(each + 0.05) / (each + 0.05).sum(axis=0) for each in samples], axis=0)
    mean = followed(samples)
    np.testing.assert_allclose(mean.phi, expected, rtol=1e-5)
    assert mean.samples.tolist() == [7] * K
    np.testing.assert_allclose(mean.phi.sum(axis=0), 1.0, rtol=1e-5)


def test_older_samples_are_forgotten():
    rng = np.random.default_rng(2)
    phi = topics(rng, sharp=1.0)
    other = 0.7 * phi + 0.3 * topics(rng, sharp=1.0)
    mean = followed([phi] * 50 + [other] * (3 * MEMORY), eta=0.0)
    assert mean.samples.tolist() == [MEMORY] * K
    kept = (1 - 1 / MEMORY) ** (3 * MEMORY)
    np.testing.assert_allclose(mean.phi, other + kept * (phi - other), atol=1e-6)
    assert kept < 0.05


def test_the_variance_is_that_of_draws_under_changing_counts():
    rng = np.random.default_rng(7)
    phi = topics(rng)
    samples = [near(phi, rng, tokens=300) for _ in range(15)]
    draws = np.stack(
        [np.stack([rng.dirichlet(0.05 + each[:, k], 400) for k in range(K)], axis=2) for each in samples]
    ).reshape(-1, V, K)
    found = followed(samples).variance
    np.testing.assert_allclose(found.sum(axis=0), draws.var(axis=0).sum(axis=0), rtol=0.05)
    heavy = draws.mean(axis=0) > 0.02
    np.testing.assert_allclose(found[heavy], draws.var(axis=0)[heavy], rtol=0.3)


def test_topics_that_move_by_steps_vary_as_their_samples_do():
    rng = np.random.default_rng(8)
    samples = [rng.dirichlet(np.full(V, 20.0), K).T.copy() for _ in range(18)]
    np.testing.assert_allclose(followed(samples, eta=0.0).variance, np.var(samples, axis=0), rtol=1e-3, atol=1e-9)


def test_a_longer_chain_remembers_more_samples():
    assert steps.count_memory(10) == MEMORY
    assert steps.count_memory(2_000) == 500


def test_a_mean_is_nearer_to_the_truth_than_a_draw():
    rng = np.random.default_rng(3)
    phi = topics(rng)
    samples = [near(phi, rng, tokens=500) for _ in range(MEMORY)]
    draw = np.stack([rng.dirichlet(0.05 + samples[-1][:, k]) for k in range(K)], axis=1)
    assert np.abs(followed(samples).phi - phi).sum() < 0.5 * np.abs(draw - phi).sum()


@pytest.mark.parametrize("checked", [True, False])
def test_where_two_topics_swap_their_labels_their_means_begin_again(checked, monkeypatch):
    if not checked:  # then they would be of both topics for a long time
        monkeypatch.setattr(steps, "SAME", 0.0)
    rng = np.random.default_rng(4)
    phi = topics(rng)
    swapped = phi[:, [1, 0, 2, 3]]
    mean = followed([near(phi, rng) for _ in range(MEMORY)] + [near(swapped, rng) for _ in range(2)])
    far = np.abs(mean.phi - swapped).sum(axis=0)
    assert (far[2:] < 0.1).all()
    if checked:
        assert mean.samples.tolist() == [2, 2, MEMORY, MEMORY]
        assert (far[:2] < 0.2).all()
    else:
        assert (far[:2] > 1.0).all()


def test_a_topic_without_counts_keeps_its_mean():
    rng = np.random.default_rng(5)
    phi = topics(rng)
    empty = phi.copy()
    empty[:, 2] = 0.0
    mean = followed([phi, phi], eta=0.0)
    after, weight = steps.update_mean(mean, empty, 0.0, POOL)
    np.testing.assert_array_equal(after.phi[:, 2], mean.phi[:, 2])
    assert weight[2] == 0.0


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(6)
    phi = rng.dirichlet(np.full(V, 0.1), size=200).T.copy()  # wide enough for threads
    samples = [np.ascontiguousarray(rng.poisson(300 * phi).astype(np.int32)) for _ in range(3)]
    means = []
    for threads in (1, 3):
        mean = steps.init_mean(phi)
        for sample in samples:
            mean, _ = steps.update_mean(mean, sample, 0.05, Pool(threads))
        means.append(mean)
    np.testing.assert_array_equal(means[0].phi, means[1].phi)
