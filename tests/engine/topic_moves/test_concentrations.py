"""Concentrations follow their posterior on a grid; false-alarm rate 1e-5 per test, seeds fixed."""

import numba
import numpy as np
import pytest
from drawing import RARE, ks
from scipy.special import gammaln

from topiary.engine.gibbs.local import FINEST
from topiary.engine.pool import Pool
from topiary.engine.topic_moves import concentrations
from topiary.engine.topic_moves.concentrations import GammaPrior, ShareTables
from topiary.engine.topic_moves.diffusion import ShapePrior, draw_shapes
from topiary.engine.topic_moves.rows import LayerAddress

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
            eta = concentrations.draw_eta(counts, eta, prior, LayerAddress(seed, step, 0), Pool(1))
        ends[seed] = eta
    return ends


@pytest.mark.parametrize(("counts", "first"), [(TABLE, 5.0), (TABLE.astype(float), 1e-3), (TABLE[:, 2:], 3.0)])
def test_eta_follows_its_posterior(counts, first):
    assert ks(draw_etas(counts, PRIOR, first), eta_cdf(counts, PRIOR)) > RARE


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too few draws with the compiler off")
@pytest.mark.parametrize("other", [GammaPrior(2.0, 2.0), GammaPrior(1.5, 3.0)])
def test_the_comparison_sees_another_prior(other):
    assert ks(draw_etas(TABLE, PRIOR, 1.0), eta_cdf(TABLE, other)) < RARE


def test_eta_is_the_same_for_one_and_two_threads():
    counts = np.random.default_rng(1).poisson(0.4, (300, 70))
    one, two = (concentrations.draw_eta(counts, 0.2, PRIOR, LayerAddress(3, 1, 0), Pool(n)) for n in (1, 2))
    assert one == two


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many draws, too slow with the compiler off")
@pytest.mark.parametrize("truth", [0.03, 0.15, 1.0])
def test_the_eta_that_made_the_counts_is_found(truth):
    rng = np.random.default_rng(4)
    phi = rng.dirichlet(np.full(400, truth), 20)
    counts = np.stack([rng.multinomial(1_500, p) for p in phi], axis=1)
    eta, drawn = 0.3, []
    for step in range(300):
        eta = concentrations.draw_eta(counts, eta, concentrations.choose_prior(0.3), LayerAddress(1, step, 0), Pool(1))
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
            q = concentrations.draw_lengths(numbers, STARTS_OF, alpha.sum(), LayerAddress(seed, step, 2))
            shares = ShareTables(tables, q * FINEST)
            alpha = concentrations.draw_alpha(shares, PRIOR, LayerAddress(seed, step, 1), shared=shared)
        ends.append(alpha)
    return np.array(ends)


@pytest.mark.parametrize("first", [(4.0, 4.0), (0.2, 0.2)])
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
R_PRIORS = concentrations.RPriors(GammaPrior(2.5, 1.5), GammaPrior(3.0, 2.0))


def draw_r_priors(q_seen):
    """Ends of many chains of gamma_0 and c_0, with r drawn in turns; gamma_0 is told of ``q_seen``."""
    ends = np.empty((STARTS, 2))
    for seed in range(STARTS):
        gamma0, c0, r = 6.0, 0.2, np.full(3, 3.0)
        for step in range(2 * STEPS):
            gamma0, c0 = concentrations.draw_shrinkage(TOP, q_seen, gamma0, r, R_PRIORS, seed, step)
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
