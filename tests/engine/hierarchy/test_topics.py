"""Projections, popularity, ranks and top words against the obvious loops."""

import math

import numpy as np
import pytest

from topiary.engine.hierarchy import topics


@pytest.fixture
def phi() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.dirichlet(np.full(below, 0.3), above).T for below, above in ((9, 5), (5, 4), (4, 3))]


def test_a_projection_is_the_product_of_all_layers_down_to_the_words(phi: list[np.ndarray]) -> None:
    projected = topics.project_topics(phi)
    for word in range(9):
        for topic in range(3):
            by_hand = sum(phi[0][word, a] * phi[1][a, b] * phi[2][b, topic] for a in range(5) for b in range(4))
            assert projected[2][word, topic] == pytest.approx(by_hand)
    for layer in projected:
        np.testing.assert_allclose(layer.sum(axis=0), 1.0)


def test_popularity_pulls_r_through_the_layers_above_only(phi: list[np.ndarray]) -> None:
    r = np.array([2.0, 0.5, 1.0])
    low, middle, top = topics.weigh_topics(phi, r)
    np.testing.assert_array_equal(top, r)
    np.testing.assert_allclose(middle, [sum(phi[2][k, j] * r[j] for j in range(3)) for k in range(4)])
    np.testing.assert_allclose(low, [sum(phi[1][k, j] * middle[j] for j in range(4)) for k in range(5)])
    assert low.sum() == pytest.approx(r.sum())


def test_shares_sum_to_one_even_when_nothing_is_popular() -> None:
    np.testing.assert_allclose(topics.compute_shares(np.array([3.0, 1.0])), [0.75, 0.25])
    np.testing.assert_allclose(topics.compute_shares(np.zeros(4)), 0.25)


def test_equally_popular_topics_keep_the_order_of_their_columns() -> None:
    weights = np.array([0.2, 0.5, 0.2, 0.9, 0.5])
    assert topics.order_topics(weights).tolist() == [3, 1, 4, 0, 2]
    assert topics.rank_topics(weights).tolist() == [4, 2, 5, 1, 3]


def test_top_words_are_sorted_and_ties_go_by_word_number() -> None:
    projection = np.array([[0.1, 0.0], [0.3, 0.25], [0.3, 0.25], [0.2, 0.25], [0.1, 0.25]])
    words, weights = topics.find_top_words(projection, 4)
    assert words[0].tolist()[:3] == [1, 2, 3]
    assert words[1].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(weights[0], [0.3, 0.3, 0.2, 0.1])


def test_top_words_of_a_small_vocabulary_are_all_its_words() -> None:
    words, _ = topics.find_top_words(np.array([[0.4], [0.6]]), 12)
    assert words.tolist() == [[1, 0]]


def test_top_words_agree_with_a_full_sort(phi: list[np.ndarray]) -> None:
    projection = topics.project_topics(phi)[1]
    words, weights = topics.find_top_words(projection, 6)
    for topic in range(projection.shape[1]):
        expected = np.argsort(-projection[:, topic], kind="stable")[:6]
        assert words[topic].tolist() == expected.tolist()
        np.testing.assert_array_equal(weights[topic], projection[expected, topic])


def test_relevance_is_the_weighted_mean_of_log_weight_and_log_lift() -> None:
    found = topics.compute_relevance(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.0625, 0.5]), 0.3)
    expected = [0.3 * math.log(0.5), 0.3 * math.log(0.25) + 0.7 * math.log(4), 0.3 * math.log(0.25) - 0.7 * math.log(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(topics.compute_relevance(np.array([0.25]), np.array([0.1]), 1.0), math.log(0.25))
    np.testing.assert_allclose(topics.compute_relevance(np.array([0.25]), np.array([0.1]), 0.0), math.log(2.5))
    np.testing.assert_allclose(topics.compute_relevance(np.array([0.25]), np.array([0.1]), 0.0, 0.4), math.log(0.5))
    assert topics.compute_relevance(np.zeros(2), np.array([0.5, 0.0])).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("trade", [0.0, 0.1, 0.6])
def test_relevant_words_are_those_of_a_full_sort_by_the_smoothed_relevance(trade: float) -> None:
    projection = np.random.default_rng(8).dirichlet(np.full(60, 0.2), 7).T
    parts = np.random.default_rng(9).dirichlet(np.full(7, 2.0))
    words, weights = topics.find_relevant_words(projection, parts, 9, trade)
    for topic in range(7):
        report = {}
        for word in range(60):
            weight, everywhere = projection[word, topic], sum(projection[word, k] * parts[k] for k in range(7))
            lift = weight / (everywhere + topics.FLOOR * 7 / 60)
            report[word] = trade * math.log(weight) + (1 - trade) * math.log(lift)
        assert words[topic].tolist() == sorted(report, key=lambda word: -report[word])[:9]
        np.testing.assert_array_equal(weights[topic], projection[words[topic], topic])


def test_the_most_relevant_words_with_lambda_1_are_the_heaviest(phi: list[np.ndarray]) -> None:
    projection = topics.project_topics(phi)[1]
    found, expected = (
        topics.find_relevant_words(projection, np.full(4, 0.25), 5, 1.0),
        topics.find_top_words(projection, 5),
    )
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_a_word_of_one_topic_comes_before_a_heavier_one_of_all_but_a_rare_one_does_not() -> None:
    projection = np.full((1000, 10), 0.5 / 1000)
    projection[0] += 0.3
    projection[1, 0] += 0.2
    projection[2, 0] *= 1.05
    projection[2, 1:] *= 0.1  # of the largest lift, but hardly ever there
    projection /= projection.sum(axis=0)
    words, _ = topics.find_relevant_words(projection, np.full(10, 0.1), 3)
    assert words[0].tolist() == [1, 0, 2]
    assert topics.compute_relevance(projection[2, 0], projection[2].mean(), 0.0) > topics.compute_relevance(
        projection[0, 0], projection[0].mean(), 0.0
    )


def test_relevant_words_of_a_small_vocabulary_are_all_its_words() -> None:
    words, _ = topics.find_relevant_words(np.array([[0.4], [0.6]]), np.ones(1), 12)
    assert words.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("parts", "light"),
    [
        ([0.5, 0.4985, 0.001, 0.0005], [False, False, False, True]),
        ([1.0], [False]),
        ([0.9, 0.1, 0.0], [False, False, True]),
    ],
)
def test_a_topic_of_under_a_thousandth_of_the_tokens_is_light(parts, light):
    assert topics.find_light(np.array(parts)).tolist() == light


def test_in_a_very_wide_layer_a_topic_is_light_below_half_an_equal_share():
    parts = np.full(2000, 1 / 2000)
    assert not topics.find_light(parts).any()
    parts[:10] = 0.2 / 2000
    assert np.flatnonzero(topics.find_light(parts)).tolist() == list(range(10))
