"""Means of topics over the last samples: what goes in, what is forgotten, and what a swap of labels does."""

import numpy as np
import pytest

from topiary.engine.pool import Pool
from topiary.engine.topic_moves import averages
from topiary.engine.topic_moves.averages import MEMORY

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
    mean = averages.init_mean(np.full((V, K), 1.0 / V))
    for sample in samples:
        mean, _ = averages.update_mean(mean, sample, eta, pool)
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
    assert averages.count_memory(10) == MEMORY
    assert averages.count_memory(2_000) == 500


def test_a_mean_is_nearer_to_the_truth_than_a_draw():
    rng = np.random.default_rng(3)
    phi = topics(rng)
    samples = [near(phi, rng, tokens=500) for _ in range(MEMORY)]
    draw = np.stack([rng.dirichlet(0.05 + samples[-1][:, k]) for k in range(K)], axis=1)
    assert np.abs(followed(samples).phi - phi).sum() < 0.5 * np.abs(draw - phi).sum()


@pytest.mark.parametrize("checked", [True, False])
def test_where_two_topics_swap_their_labels_their_means_begin_again(checked, monkeypatch):
    if not checked:  # then they would be of both topics for a long time
        monkeypatch.setattr(averages, "SAME", 0.0)
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
    after, weight = averages.update_mean(mean, empty, 0.0, POOL)
    np.testing.assert_array_equal(after.phi[:, 2], mean.phi[:, 2])
    assert weight[2] == 0.0


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(6)
    phi = rng.dirichlet(np.full(V, 0.1), size=200).T.copy()  # wide enough for threads
    samples = [np.ascontiguousarray(rng.poisson(300 * phi).astype(np.int32)) for _ in range(3)]
    means = []
    for threads in (1, 3):
        mean = averages.init_mean(phi)
        for sample in samples:
            mean, _ = averages.update_mean(mean, sample, 0.05, Pool(threads))
        means.append(mean)
    np.testing.assert_array_equal(means[0].phi, means[1].phi)
