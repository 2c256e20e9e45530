"""Titles: of the words shown, apart from the parent's, kept while their words are shown; twins of a layer."""

import itertools

import numpy as np
import pytest

from topiary.engine.hierarchy import titles, topics
from topiary.engine.hierarchy.effects import Presentation


def present(*words: np.ndarray, weights: tuple[np.ndarray, ...] = (), shares: tuple = ()) -> Presentation:
    """Topics over words, layer 1 first, with flat weights and equal shares unless given."""
    flat = tuple(
        np.full((below.shape[1], above.shape[1]), 1 / below.shape[1]) for below, above in itertools.pairwise(words)
    )
    equal = tuple(np.full(table.shape[1], 1 / table.shape[1]) for table in words)
    return Presentation(tuple(words), (None,) * len(words), (words[0], *(weights or flat)), shares or equal)


def layer(width: int = 12, n_words: int = 80, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Topics over words, and their shares."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_words, 0.1), width).T, rng.dirichlet(np.full(width, 1.0))


def title(projection: np.ndarray, shares: np.ndarray | None = None, **more) -> np.ndarray:
    """The titles of a single layer."""
    return titles.choose_titles(present(projection, shares=() if shares is None else (shares,)), **more)[0]


def tree(seed: int = 5) -> Presentation:
    """A hierarchy of 24-12-6 topics over 300 words."""
    rng = np.random.default_rng(seed)
    phi = [rng.dirichlet(np.full(below, 0.1), above).T for below, above in ((300, 24), (24, 12), (12, 6))]
    popularity = topics.weigh_topics(phi, rng.gamma(1.0, 1.0, 6))
    return Presentation(tuple(topics.project_topics(phi)), (None,) * 3, tuple(phi), tuple(popularity))


def shown(presentation: Presentation, number: int) -> list[list[int]]:
    """The twelve words shown of every topic of a layer, from 0."""
    shares = topics.compute_shares(presentation.popularity[number])
    return topics.find_relevant_words(presentation.words[number], shares, titles.SHOWN)[0].tolist()


def test_a_title_has_only_words_shown_and_the_most_popular_topic_has_the_three_first():
    projection, shares = layer()
    words, _ = topics.find_relevant_words(projection, shares, titles.SHOWN)
    found, first = title(projection, shares), int(np.argmax(shares))
    assert found[first].tolist() == words[first, :3].tolist()
    assert all(set(each) <= set(row) for each, row in zip(found.tolist(), words.tolist(), strict=True))


def test_titles_have_only_words_shown_where_words_are_everywhere_and_topics_background():
    presentation = tree()
    everywhere = sorted({word for row in shown(presentation, 1) for word in row[:2]})
    wide = tuple(np.arange(width) % 4 == 0 for width in (24, 12, 6))
    found = titles.choose_titles(presentation, background=wide, everywhere=everywhere)
    for number, table in enumerate(found):
        for words, row in zip(table.tolist(), shown(presentation, number), strict=True):
            assert set(words) <= set(row)
        assert len({frozenset(words) for words in table.tolist()}) == len(table)


def test_after_its_first_word_the_title_of_a_child_says_what_that_of_its_parent_does_not():
    presentation = tree()
    found = titles.choose_titles(presentation)
    n_led = 0
    for number in (0, 1):
        for child, words in enumerate(found[number].tolist()):
            parent = int(np.argmax(presentation.weights[number + 1][child]))
            above = set(found[number + 1][parent].tolist())
            assert not set(words[1:]) & above
            n_led += words[0] in above
    assert n_led > 5


def test_the_words_of_a_parent_whose_words_are_few_return():
    projection = np.array([[0.5], [0.3], [0.2]])
    found = titles.choose_titles(present(projection, projection))
    assert [sorted(words) for table in found for words in table.tolist()] == [[0, 1, 2]] * 2


def test_light_topics_are_no_parents():
    words = np.array([0.3, 0.25, 0.2, 0.15, 0.1, 0.0])
    below = np.stack([words, words[::-1]], axis=1)
    above = np.stack([words[::-1], words], axis=1)
    weights = (np.array([[0.1, 0.9], [0.9, 0.1]]),)
    shares = (np.array([0.5, 0.5]), np.array([0.9999, 0.0001]))
    heavy = titles.choose_titles(present(below, above, weights=weights))
    light = titles.choose_titles(present(below, above, weights=weights, shares=shares))
    assert set(heavy[0][0, 1:].tolist()) & {3, 4}
    assert light[0][0].tolist() == titles.choose_titles(present(below))[0][0].tolist()


def test_an_earlier_title_stays_until_one_of_its_words_is_not_among_the_first_eight():
    projection, shares = layer()
    words, _ = topics.find_relevant_words(projection, shares, 9)
    earlier = words[:, 7:4:-1].copy()
    earlier[3] = words[3, 6:9]
    earlier[5] = -1
    found, fresh = title(projection, shares, earlier=[earlier]), title(projection, shares)
    changed = np.array([3, 5])
    kept = np.delete(np.arange(12), changed)
    np.testing.assert_array_equal(found[kept], earlier[kept])
    assert (found[changed] != earlier[changed]).any(axis=1).all()
    np.testing.assert_array_equal(found[changed, 0], fresh[changed, 0])


def test_an_earlier_title_does_not_stay_where_that_of_the_parent_says_all_of_it():
    words = np.array([[0.3], [0.25], [0.2], [0.1], [0.08], [0.07]])
    same, other = np.array([[2, 0, 1]]), np.array([[3, 0, 1]])
    below, above = titles.choose_titles(present(words, words), earlier=[same, same])
    assert (above[0].tolist(), below[0].tolist()) == ([2, 0, 1], [0, 3, 4])
    below, above = titles.choose_titles(present(words, words), earlier=[other, same])
    assert (above[0].tolist(), below[0].tolist()) == ([2, 0, 1], [3, 0, 1])
    few = words[:3] / words[:3].sum()
    below, above = titles.choose_titles(present(few, few), earlier=[same])
    assert (above[0].tolist(), below[0].tolist()) == ([0, 1, 2], [2, 0, 1])


def test_a_new_title_is_none_that_stays():
    projection = np.tile(layer(1)[0], (1, 3)) + np.arange(3) * 1e-9
    first = topics.find_relevant_words(projection, np.full(3, 1 / 3), 3)[0][0]
    found = title(projection, earlier=[np.array([[-1] * 3, [-1] * 3, first])])
    assert found[2].tolist() == first.tolist()
    assert len({frozenset(words) for words in found.tolist()}) == 3


def test_the_same_title_is_kept_by_one_topic_only():
    projection = np.tile(layer(1)[0], (1, 2))
    first = topics.find_relevant_words(projection, np.full(2, 0.5), 3)[0][0]
    found = title(projection, earlier=[np.array([first, first])])
    assert found[0].tolist() == first.tolist()
    assert set(found[1].tolist()) != set(first.tolist())


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("economy", "economic", True),
        ("car", "cars", True),
        ("russia", "russian", True),
        ("lord", "law", False),
        ("china", "chief", False),
        ("internet", "international", False),
        ("eu", "eus", False),
        ("iran", "iranian", True),
        ("party", "parties", True),
        ("oil", "oils", True),
        ("tax", "taxes", True),
        ("car", "carter", False),
        ("space", "spain", False),
        ("million", "military", False),
        ("play", "players", True),
        ("play", "playground", False),
        ("word12", "word123", False),
        ("word12", "word12", True),
        ("film", "film", True),
    ],
)
def test_forms_of_a_word_begin_alike(first: str, second: str, same: bool):
    assert titles.are_forms(first, second) is titles.are_forms(second, first) is same


def test_two_forms_of_a_word_are_not_in_one_title_nor_in_that_of_parent_and_child():
    words = np.array([[0.3], [0.25], [0.2], [0.1], [0.08], [0.07]])
    vocabulary = ("economy", "economic", "growth", "rates", "bank", "dollar")
    assert title(words, vocabulary=vocabulary)[0].tolist() == [0, 2, 3]
    assert title(words)[0].tolist() == [0, 1, 2]
    below, above = titles.choose_titles(present(words, words), vocabulary=vocabulary)
    assert (above[0].tolist(), below[0].tolist()) == ([0, 2, 3], [0, 4, 5])
    assert sorted(title(words[:3], vocabulary=("car", "cars", "carb"))[0].tolist()) == [0, 1, 2]
    assert title(words, vocabulary=vocabulary, everywhere=[1])[0].tolist() == [2, 3, 4]


def test_the_word_that_only_one_topic_has_leads_its_title_before_a_heavier_one_of_all_topics() -> None:
    projection = np.array([[0.4, 0.4], [0.3, 0.0], [0.2, 0.2], [0.1, 0.1], [0.0, 0.3]])
    assert title(projection)[:, 0].tolist() == [1, 4]


def test_a_word_that_is_common_everywhere_counts_by_how_popular_those_topics_are() -> None:
    projection = np.array([[0.35, 0.0, 0.9], [0.3, 0.9, 0.0], [0.35, 0.1, 0.1]])
    first = [title(projection, shares)[0, 0] for shares in np.eye(3)[1:]]
    assert first == [0, 1]  # next to the second topic word 0 is rare, next to the third word 1 is


def test_words_that_are_everywhere_are_in_no_title() -> None:
    projection, shares = layer()
    everywhere = np.unique(title(projection, shares)[:4]).tolist()
    found = title(projection, shares, everywhere=everywhere)
    assert not set(everywhere) & set(found.ravel().tolist())
    assert len({frozenset(words) for words in found.tolist()}) == 12


def test_a_topic_of_nothing_but_words_that_are_everywhere_is_called_by_them() -> None:
    projection = np.array([[0.6, 0.0], [0.4, 0.0], [0.0, 0.7], [0.0, 0.3]])
    found = title(projection, everywhere=[0, 1])
    assert set(found[0].tolist()) >= {0, 1}
    assert set(found[1].tolist()) >= {2, 3}


def test_a_word_counts_less_for_every_title_that_has_it_already() -> None:
    projection = np.tile(np.array([[0.13], [0.128], [0.126], [0.124], [0.122], [0.12], [0.1275], [0.1225]]), (1, 2))
    found = title(projection)
    assert not set(found[0].tolist()) & set(found[1].tolist())


def test_topics_that_are_nearly_the_same_have_titles_that_tell_them_apart() -> None:
    rng = np.random.default_rng(4)
    common = np.sort(rng.dirichlet(np.full(40, 0.5)))[::-1]
    projection = common[:, None] * (1 + 1e-6 * rng.random((40, 30)))
    projection /= projection.sum(axis=0)
    shares = rng.dirichlet(np.full(30, 1.0))
    found = title(projection, shares)
    assert len({frozenset(words) for words in found.tolist()}) == 30
    np.testing.assert_array_equal(found, title(projection, shares))


def test_with_no_other_word_to_choose_topics_have_one_title() -> None:
    found = title(np.tile(np.array([[0.5], [0.3], [0.2]]), (1, 4)))
    assert [sorted(words) for words in found.tolist()] == [[0, 1, 2]] * 4


def test_in_a_layer_of_one_topic_the_title_is_its_heaviest_words() -> None:
    assert title(np.array([[0.1], [0.2], [0.3], [0.25], [0.15]])).tolist() == [[2, 3, 1]]


def test_a_word_without_weight_comes_last() -> None:
    projection = np.array([[0.6, 0.0], [0.4, 0.0], [0.0, 1.0]], dtype=np.float32)
    found = title(projection, np.array([1.0, 0.0], dtype=np.float32))
    assert found.tolist() == [[0, 1, 2], [2, 0, 1]]


@pytest.mark.parametrize("n_words", [1, 2])
def test_a_title_has_all_words_of_a_corpus_that_has_fewer_than_three(n_words: int) -> None:
    found = title(np.full((n_words, 3), 1 / n_words))
    assert [sorted(words) for words in found.tolist()] == [list(range(n_words))] * 3


def test_the_foreground_of_a_word_is_its_weight_by_paths_through_no_background_topic():
    rng = np.random.default_rng(5)
    phi = [rng.dirichlet(np.full(below, 0.5), above).T for below, above in ((9, 5), (5, 4), (4, 3))]
    wide = [rng.random(width) < 0.4 for width in (5, 4, 3)]
    assert [mask.any() for mask in wide[:2]] == [True, True]
    parts = titles.share_foreground(phi, wide)
    np.testing.assert_array_equal(parts[0], 1.0)
    for word in range(9):
        for top in range(3):
            paths = {(a, b): phi[0][word, a] * phi[1][a, b] * phi[2][b, top] for a in range(5) for b in range(4)}
            kept = sum(weight for (a, b), weight in paths.items() if not wide[0][a] and not wide[1][b])
            assert parts[2][word, top] == pytest.approx(kept / sum(paths.values()))
    assert titles.share_foreground(phi, [np.zeros(width, bool) for width in (5, 4, 3)]) == []


def test_words_of_background_topics_are_behind_all_others_in_titles_above():
    words = np.eye(8)[:, :2] * 0.4 + np.array([[0, 0, 0.3, 0.2, 0.1, 0, 0, 0], [0, 0, 0, 0, 0, 0.3, 0.2, 0.1]]).T
    phi = (words, np.array([[0.8], [0.2]]))
    presentation = present(words, words @ phi[1], weights=(phi[1],))
    usual = titles.choose_titles(presentation)[1][0].tolist()
    found = titles.choose_titles(presentation, background=[np.array([True, False]), np.array([False])])[1][0].tolist()
    assert set(usual) <= {0, 2, 3, 4}
    assert set(found) <= {1, 5, 6, 7}
    wholly = [np.array([True, True]), np.array([False])]
    found = titles.choose_titles(presentation, background=wholly, everywhere=[0, 2, 3])[1][0].tolist()
    assert not set(found) & {0, 2, 3}, "of words that all come from background topics, the common ones come last"


def near(shift: float) -> np.ndarray:
    """Three topics over 40 words: two that differ by ``shift``, and another one."""
    rng = np.random.default_rng(8)
    first, other = rng.dirichlet(np.full(40, 0.3), 2)
    return np.stack([(1 - shift) * first + shift * rng.dirichlet(np.full(40, 0.3)), other, first], axis=1)


def test_of_two_topics_that_are_nearly_the_same_the_less_popular_one_names_the_other():
    shares = np.array([0.2, 0.3, 0.5])
    assert titles.find_twins(near(0.05), shares).tolist() == [2, -1, -1]
    assert titles.find_twins(near(0.05), shares[::-1]).tolist() == [-1, -1, 0]
    assert titles.find_twins(near(0.9), shares).tolist() == [-1, -1, -1]
    assert titles.find_twins(near(0.05), np.array([0.0001, 0.4, 0.5999])).tolist() == [-1, -1, -1]


def test_topics_of_one_heavy_word_but_other_words_shown_are_not_nearly_the_same():
    projection = np.zeros((60, 3))
    projection[0] = 0.9
    for topic in range(3):
        projection[1 + 20 * topic : 15 + 20 * topic, topic] = 0.1 / 14
    one, other = projection[:, 0], projection[:, 1]
    assert one @ other / (one @ one) > titles.TWIN
    assert titles.find_twins(projection, np.array([0.5, 0.3, 0.2])).tolist() == [-1, -1, -1]


def test_of_several_twins_the_most_popular_is_named():
    projection = np.tile(layer(1)[0], (1, 4))
    assert titles.find_twins(projection, np.array([0.1, 0.2, 0.4, 0.3])).tolist() == [2, 2, -1, 2]


def test_topics_of_the_same_words_with_other_weights_are_not_nearly_the_same():
    steep = 0.5 ** np.arange(1, 13)
    projection = np.stack([steep, steep[::-1]], axis=1) / steep.sum()
    words, _ = topics.find_relevant_words(projection, np.array([0.6, 0.4]), titles.SHOWN)
    assert {*words[0].tolist()} == {*words[1].tolist()}
    assert titles.find_twins(projection, np.array([0.6, 0.4])).tolist() == [-1, -1]
