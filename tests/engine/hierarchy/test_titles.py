"""Titles: what a topic has and its neighbours have not, no two alike, and nothing that is everywhere."""

import numpy as np
import pytest

from engine.hierarchy import titles, topics


def layer(width: int = 12, n_words: int = 80, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Topics over words, and their shares."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_words, 0.1), width).T, rng.dirichlet(np.full(width, 1.0))


def test_a_title_is_of_the_most_relevant_words_and_the_first_to_choose_has_the_three_first() -> None:
    projection, parts = layer()
    relevant, _ = topics.relevant_words(projection, parts, titles.CANDIDATES)
    first = topics.order(parts)
    found = titles.title_words(projection, parts, first=first)
    assert found[first[0]].tolist() == relevant[first[0], :3].tolist()
    assert all(set(title) <= set(row) for title, row in zip(found.tolist(), relevant.tolist(), strict=True))


def test_the_word_that_only_one_topic_has_leads_its_title_before_a_heavier_one_of_all_topics() -> None:
    projection = np.array([[0.4, 0.4], [0.3, 0.0], [0.2, 0.2], [0.1, 0.1], [0.0, 0.3]])
    assert titles.title_words(projection, np.array([0.5, 0.5]))[:, 0].tolist() == [1, 4]


def test_a_word_that_is_common_everywhere_counts_by_how_popular_those_topics_are() -> None:
    projection = np.array([[0.35, 0.0, 0.9], [0.3, 0.9, 0.0], [0.35, 0.1, 0.1]])
    first = [titles.title_words(projection, shares)[0, 0] for shares in np.eye(3)[1:]]
    assert first == [0, 1]  # beside the second topic word 0 is rare, beside the third word 1 is


def test_words_that_are_everywhere_are_in_no_title() -> None:
    projection, parts = layer()
    usual = titles.title_words(projection, parts)
    without = np.unique(usual[:4]).tolist()
    found = titles.title_words(projection, parts, without=without)
    assert not set(without) & set(found.ravel().tolist())
    assert len({frozenset(title) for title in found.tolist()}) == 12


def test_a_topic_of_nothing_but_words_that_are_everywhere_is_called_by_them() -> None:
    projection = np.array([[0.6, 0.0], [0.4, 0.0], [0.0, 0.7], [0.0, 0.3]])
    found = titles.title_words(projection, np.array([0.5, 0.5]), 2, without=[0, 1])
    assert [sorted(title) for title in found.tolist()] == [[0, 1], [2, 3]]


def test_a_word_counts_less_for_every_title_that_has_it_already() -> None:
    projection = np.tile(np.array([[0.13], [0.128], [0.126], [0.124], [0.122], [0.12], [0.1275], [0.1225]]), (1, 2))
    found = titles.title_words(projection, np.array([0.5, 0.5]))
    assert not set(found[0].tolist()) & set(found[1].tolist())


def test_topics_that_are_nearly_the_same_have_titles_that_tell_them_apart() -> None:
    rng = np.random.default_rng(4)
    common = np.sort(rng.dirichlet(np.full(40, 0.5)))[::-1]
    projection = common[:, None] * (1 + 1e-6 * rng.random((40, 30)))
    projection /= projection.sum(axis=0)
    parts = rng.dirichlet(np.full(30, 1.0))
    found = titles.title_words(projection, parts, first=topics.order(parts))
    assert len({frozenset(title) for title in found.tolist()}) == 30
    np.testing.assert_array_equal(found, titles.title_words(projection, parts, first=topics.order(parts)))


def test_with_no_other_word_to_choose_topics_have_one_title() -> None:
    projection = np.tile(np.array([[0.5], [0.3], [0.2]]), (1, 4))
    found = titles.title_words(projection, np.full(4, 0.25))
    assert [sorted(title) for title in found.tolist()] == [[0, 1, 2]] * 4


def test_in_a_layer_of_one_topic_the_title_is_its_heaviest_words() -> None:
    projection = np.array([[0.1], [0.2], [0.3], [0.25], [0.15]])
    assert titles.title_words(projection, np.ones(1)).tolist() == [[2, 3, 1]]


def test_a_word_without_weight_comes_last() -> None:
    projection = np.array([[0.6, 0.5], [0.4, 0.2], [0.0, 0.3], [0.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    found = titles.title_words(projection, np.array([1.0, 0.0], dtype=np.float32))
    assert found.tolist() == [[0, 1, 2], [2, 0, 1]]


@pytest.mark.parametrize("n_words", [1, 2])
def test_a_title_has_all_words_of_a_corpus_that_has_fewer_than_three(n_words: int) -> None:
    found = titles.title_words(np.full((n_words, 3), 1 / n_words), np.full(3, 1 / 3))
    assert [sorted(title) for title in found.tolist()] == [list(range(n_words))] * 3


def test_a_background_child_brings_nothing_to_the_words_of_the_layers_above() -> None:
    words = np.array([[0.9, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 0.8]])
    middle = np.array([[0.8, 1.0], [0.2, 0.0], [0.0, 0.0]])
    top = np.array([[0.5], [0.5]])
    found = titles.foreground([words, middle, top], [np.array([True, False, False]), np.zeros(2, bool)])
    np.testing.assert_array_equal(found[0], words)
    np.testing.assert_allclose(found[1][:, 0], words[:, 1])
    np.testing.assert_allclose(found[1][:, 1], words[:, 0])  # it has nothing else
    np.testing.assert_allclose(found[2], found[1] @ top)


def test_without_background_topics_the_foreground_is_all() -> None:
    rng = np.random.default_rng(5)
    phi = [rng.dirichlet(np.full(below, 0.5), above).T for below, above in ((9, 5), (5, 4), (4, 3))]
    none = [np.zeros(table.shape[1], dtype=bool) for table in phi]
    for found, expected in zip(titles.foreground(phi, none), topics.projections(phi), strict=True):
        np.testing.assert_allclose(found, expected)
