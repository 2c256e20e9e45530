"""Projections, popularity, ranks and top words against the obvious loops."""

import math

import numpy as np
import pytest

from engine.hierarchy import topics


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


def test_relevance_is_the_weighted_mean_of_log_weight_and_log_lift() -> None:
    found = topics.relevance(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.0625, 0.5]))
    expected = [0.3 * math.log(0.5), 0.3 * math.log(0.25) + 0.7 * math.log(4), 0.3 * math.log(0.25) - 0.7 * math.log(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(topics.relevance(np.array([0.25]), np.array([0.1]), 1.0), math.log(0.25))
    np.testing.assert_allclose(topics.relevance(np.array([0.25]), np.array([0.1]), 0.0), math.log(2.5))


def test_the_word_that_only_one_topic_has_leads_its_title_before_a_heavier_one_of_all_topics() -> None:
    projection = np.array([[0.4, 0.4], [0.3, 0.0], [0.2, 0.2], [0.1, 0.1], [0.0, 0.3]])
    words, weights = topics.top_words(projection, 5)
    assert words[:, :3].tolist() == [[0, 1, 2], [0, 4, 2]]
    # p = 0.4, 0.15, 0.2, 0.1, 0.15: the first topic has relevance -0.550, -0.445, -0.966, -1.382
    titles = topics.title_words(words, weights, projection @ np.array([0.5, 0.5]))
    assert titles.tolist() == [[1, 0, 2], [4, 0, 2]]


def test_a_word_that_is_common_everywhere_counts_by_how_popular_those_topics_are() -> None:
    projection = np.array([[0.35, 0.02, 0.4], [0.25, 0.5, 0.1], [0.2, 0.28, 0.3], [0.2, 0.2, 0.2]])
    words, weights = topics.top_words(projection, 4)
    first = [topics.title_words(words, weights, projection @ shares)[0, 0] for shares in np.eye(3)[1:]]
    assert first == [0, 1]  # beside the second topic word 0 is rare, beside the third word 1 is


def test_titles_are_the_most_relevant_of_the_heavy_words_and_never_a_rare_one(phi: list[np.ndarray]) -> None:
    popular = topics.popularity(phi, np.array([2.0, 0.5, 1.0]))
    for projection, weight in zip(topics.projections(phi), popular, strict=True):
        parts = topics.shares(weight)
        words, heavy = topics.top_words(projection, 5)
        titles = topics.title_words(words, heavy, projection @ parts)
        taken: set[frozenset[int]] = set()
        for topic, title in enumerate(titles.tolist()):
            report = {}
            for word in np.argsort(-projection[:, topic], kind="stable")[:5].tolist():
                lift = projection[word, topic] / sum(projection[word, k] * parts[k] for k in range(len(parts)))
                report[word] = 0.3 * math.log(projection[word, topic]) + 0.7 * math.log(lift)
            best = sorted(report, key=lambda word: -report[word])
            assert title == best[:3] or frozenset(best[:3]) in taken
            assert title == sorted(title, key=best.index)
            taken.add(frozenset(title))
        assert len(taken) == len(titles)


def test_topics_that_are_nearly_the_same_have_titles_that_tell_them_apart() -> None:
    rng = np.random.default_rng(4)
    common = np.sort(rng.dirichlet(np.full(40, 0.5)))[::-1]
    projection = common[:, None] * (1 + 1e-6 * rng.random((40, 30)))
    projection /= projection.sum(axis=0)
    parts = rng.dirichlet(np.full(30, 1.0))
    words, weights = topics.top_words(projection, 12)
    everywhere = projection @ parts
    titles = topics.title_words(words, weights, everywhere, first=topics.order(parts))
    assert len({frozenset(title) for title in titles.tolist()}) == 30
    assert all(set(title) <= set(row) for title, row in zip(titles.tolist(), words.tolist(), strict=True))
    places = np.argsort(-topics.relevance(weights, everywhere[words]), axis=1, kind="stable")
    ranked = np.take_along_axis(words, places, axis=1)
    popular = topics.order(parts)[0]
    assert titles[popular].tolist() == ranked[popular, :3].tolist()  # who comes first chooses first
    again = topics.title_words(words, weights, everywhere, first=topics.order(parts))
    np.testing.assert_array_equal(titles, again)


def test_who_finds_a_title_taken_exchanges_its_last_word_for_the_next_most_relevant() -> None:
    projection = np.tile(np.array([[0.4], [0.3], [0.15], [0.1], [0.05]]), (1, 4))
    words, weights = topics.top_words(projection, 5)
    titles = topics.title_words(words, weights, projection @ np.full(4, 0.25), first=np.array([2, 0, 3, 1]))
    assert titles.tolist() == [[0, 1, 3], [0, 2, 3], [0, 1, 2], [0, 1, 4]]
    alike = topics.title_words(words[:, :3], weights[:, :3], projection @ np.full(4, 0.25))
    assert alike.tolist() == [[0, 1, 2]] * 4  # there is no other word to choose


def test_in_a_layer_of_one_topic_the_title_is_its_heaviest_words() -> None:
    projection = np.array([[0.1], [0.2], [0.3], [0.2], [0.2]])
    words, weights = topics.top_words(projection, 5)
    titles = topics.title_words(words, weights, projection @ np.ones(1))
    assert titles.tolist() == [[2, 1, 3]]


def test_words_of_equal_relevance_keep_their_order() -> None:
    words = np.array([[4, 0, 3, 1]])
    titles = topics.title_words(words, np.full((1, 4), 0.25), np.full(5, 0.2))
    assert titles.tolist() == [[4, 0, 3]]


def test_a_word_without_weight_comes_last_and_one_that_only_an_unused_topic_has_comes_first() -> None:
    projection = np.array([[0.6, 0.7], [0.4, 0.2], [0.0, 0.1], [0.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    words, weights = topics.top_words(projection, 5)
    titles = topics.title_words(words, weights, projection @ np.array([1.0, 0.0], dtype=np.float32))
    assert titles.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert topics.relevance(np.zeros(2), np.array([0.5, 0.0])).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("n_words", [1, 2])
def test_a_title_has_all_words_of_a_corpus_that_has_fewer_than_three(n_words: int) -> None:
    projection = np.full((n_words, 3), 1 / n_words)
    words, weights = topics.top_words(projection, 30)
    titles = topics.title_words(words, weights, projection @ np.full(3, 1 / 3))
    assert titles.tolist() == [list(range(n_words))] * 3


@pytest.mark.parametrize(
    ("parts", "light"),
    [
        ([0.5, 0.4985, 0.001, 0.0005], [False, False, False, True]),
        ([1.0], [False]),
        ([0.9, 0.1, 0.0], [False, False, True]),
    ],
)
def test_a_topic_of_under_a_thousandth_of_the_tokens_is_light(parts, light):
    assert topics.light(np.array(parts)).tolist() == light


def test_in_a_very_wide_layer_a_topic_is_light_below_half_an_equal_share():
    parts = np.full(2000, 1 / 2000)
    assert not topics.light(parts).any()
    parts[:10] = 0.2 / 2000
    assert np.flatnonzero(topics.light(parts)).tolist() == list(range(10))
