"""Projections, popularity, ranks and top words against the obvious loops."""

import numpy as np
import pytest

from engine import topics


@pytest.fixture
def phi() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.dirichlet(np.full(below, 0.3), above).T for below, above in ((9, 5), (5, 4), (4, 3))]


def test_a_projection_is_the_product_of_all_layers_down_to_the_words(phi: list[np.ndarray]) -> None:
    projected = topics.projections(phi)
    for word in range(9):
        for topic in range(3):
            by_hand = sum(phi[0][word, a] * phi[1][a, b] * phi[2][b, topic] for a in range(5) for b in range(4))
            assert projected[2][word, topic] == pytest.approx(by_hand)
    for layer in projected:
        np.testing.assert_allclose(layer.sum(axis=0), 1.0)


def test_popularity_pulls_r_through_the_layers_above_only(phi: list[np.ndarray]) -> None:
    r = np.array([2.0, 0.5, 1.0])
    low, middle, top = topics.popularity(phi, r)
    np.testing.assert_array_equal(top, r)
    np.testing.assert_allclose(middle, [sum(phi[2][k, j] * r[j] for j in range(3)) for k in range(4)])
    np.testing.assert_allclose(low, [sum(phi[1][k, j] * middle[j] for j in range(4)) for k in range(5)])
    assert low.sum() == pytest.approx(r.sum())


def test_shares_sum_to_one_even_when_nothing_is_popular() -> None:
    np.testing.assert_allclose(topics.shares(np.array([3.0, 1.0])), [0.75, 0.25])
    np.testing.assert_allclose(topics.shares(np.zeros(4)), 0.25)


def test_equally_popular_topics_keep_the_order_of_their_columns() -> None:
    weights = np.array([0.2, 0.5, 0.2, 0.9, 0.5])
    assert topics.order(weights).tolist() == [3, 1, 4, 0, 2]
    assert topics.ranks(weights).tolist() == [4, 2, 5, 1, 3]


def test_top_words_are_sorted_and_ties_go_by_word_number() -> None:
    projection = np.array([[0.1, 0.0], [0.3, 0.25], [0.3, 0.25], [0.2, 0.25], [0.1, 0.25]])
    words, weights = topics.top_words(projection, 4)
    assert words[0].tolist()[:3] == [1, 2, 3]
    assert words[1].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(weights[0], [0.3, 0.3, 0.2, 0.1])


def test_top_words_of_a_small_vocabulary_are_all_its_words() -> None:
    words, _ = topics.top_words(np.array([[0.4], [0.6]]), 12)
    assert words.tolist() == [[1, 0]]


def test_top_words_agree_with_a_full_sort(phi: list[np.ndarray]) -> None:
    projection = topics.projections(phi)[1]
    words, weights = topics.top_words(projection, 6)
    for topic in range(projection.shape[1]):
        expected = np.argsort(-projection[:, topic], kind="stable")[:6]
        assert words[topic].tolist() == expected.tolist()
        np.testing.assert_array_equal(weights[topic], projection[expected, topic])
