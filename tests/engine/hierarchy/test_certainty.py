"""Intervals, inclusion and wandering from the mean and the variance of a draw."""

import numpy as np
import pytest
from scipy import stats

from topiary.engine.hierarchy import certainty, topics


def test_the_interval_of_a_dirichlet_entry_is_that_of_its_beta_distribution():
    alpha = np.array([0.3, 2.0, 40.0])
    law = stats.beta(alpha, alpha.sum() - alpha)
    low, high = certainty.find_interval(law.mean(), law.var())
    np.testing.assert_allclose(low[1:], law.ppf(0.05)[1:], rtol=1e-9)
    np.testing.assert_allclose(high[1:], law.ppf(0.95)[1:], rtol=1e-9)
    assert (low[0], high[0]) == (0.0, pytest.approx(law.ppf(0.9)[0])), "its density is highest at 0"


def test_the_inclusion_of_an_edge_is_the_tail_of_its_beta_distribution():
    alpha = np.array([0.3, 2.0, 40.0])
    law = stats.beta(alpha, alpha.sum() - alpha)
    np.testing.assert_allclose(certainty.measure_inclusion(law.mean(), law.var(), 0.1), law.sf(0.1), rtol=1e-9)


def test_an_entry_that_does_not_vary_is_its_own_interval_and_is_there_or_not():
    mean, none = np.array([0.0, 0.2, 1.0]), np.zeros(3)
    low, high = certainty.find_interval(mean, none)
    assert (low.tolist(), high.tolist()) == (mean.tolist(), mean.tolist())
    assert certainty.measure_inclusion(mean, none, 0.1).tolist() == [0.0, 1.0, 1.0]


def test_the_agreement_of_draws_is_their_mean_cosine():
    rng = np.random.default_rng(1)
    draws = rng.dirichlet(np.full(30, 2.0), 4_000)
    other = rng.dirichlet(np.full(30, 2.0), 4_000)
    expected = np.mean((draws * other).sum(axis=1)) / np.mean((draws**2).sum(axis=1))
    found = certainty.measure_agreement(draws.mean(axis=0)[:, None], draws.var(axis=0)[:, None])
    assert found[0] == pytest.approx(expected, abs=0.01)


def test_the_variances_of_projected_words_are_those_of_products_of_draws():
    rng = np.random.default_rng(2)
    alphas = rng.gamma(1.0, 3.0, (12, 5)) + 0.2, rng.gamma(1.0, 3.0, (5, 3)) + 0.2
    draws = [np.stack([rng.dirichlet(column, 20_000) for column in alpha.T], axis=2) for alpha in alphas]
    means, variances = ([np.asarray(f(each, axis=0)) for each in draws] for f in (np.mean, np.var))
    products = np.einsum("nvk,nkc->nvc", *draws)
    found = certainty.project_variances(means, variances)[1]
    np.testing.assert_allclose(found, products.var(axis=0), rtol=0.08)


def test_intervals_of_words_are_those_of_the_words_asked_for():
    phi = [np.array([[0.7, 0.1], [0.2, 0.1], [0.1, 0.8]]), np.array([[0.6, 0.3], [0.4, 0.7]])]
    variances = [np.full((3, 2), 1e-4), np.full((2, 2), 1e-4)]
    words = [np.array([[0, 2], [2, 1]]), np.array([[0, 1], [2, 0]])]
    bounds = certainty.bound_words(phi, variances, words)
    means = topics.project_topics(phi)
    for layer, (low, high) in enumerate(bounds):
        chosen = np.take_along_axis(means[layer].T, words[layer], axis=1)
        assert (low < chosen).all()
        assert (chosen < high).all()
