"""Words that a corpus puts everywhere: frequent ones, and ones that are more even than chance."""

import numpy as np
import pytest

from topiary.engine.contract import Counts
from topiary.engine.quality.background import (
    BACKGROUND,
    FEWEST,
    find_background,
    find_common_words,
    list_common_words,
    measure_spread,
)

HEADER, BURSTY, FREQUENT, EVEN_BUT_RARE = range(4)
CHANCE = 400  # words that fall where they like


def corpus(*, binary: bool = False) -> Counts:
    """2,000 documents: a header in 20 % of them, a word in bursts in 20 %, one in 35 %, an even one in 5 %."""
    rng = np.random.default_rng(7)
    table = np.zeros((2000, 4 + CHANCE), dtype=np.int32)
    for document in range(2000):
        table[document, 4:] = rng.multinomial(rng.integers(20, 200), np.full(CHANCE, 1 / CHANCE))
    turn = np.arange(2000) % 20
    table[:, HEADER] = turn % 5 == 0
    table[:, BURSTY] = 4 * (turn % 5 == 1)
    table[:, FREQUENT] = 3 * (turn < 7)
    table[:, EVEN_BUT_RARE] = turn == 9
    documents, words = np.nonzero(table)
    values = np.ones(len(words), np.int32) if binary else table[documents, words]
    return Counts.of(np.bincount(documents, minlength=2000), words.astype(np.int32), values)


def test_words_of_nearly_every_document_and_lines_that_come_once_in_many_are_everywhere():
    assert list_common_words(corpus(), 4 + CHANCE).tolist() == [HEADER, FREQUENT]


def test_of_words_that_are_only_present_or_absent_the_frequent_ones_are_everywhere():
    assert list_common_words(corpus(binary=True), 4 + CHANCE).tolist() == [FREQUENT]


def test_a_word_that_falls_where_it_likes_is_not_everywhere():
    rng = np.random.default_rng(3)
    lengths = rng.integers(10, 300, 5000)
    totals = np.zeros(50, dtype=np.int64)
    documents = np.zeros(50, dtype=np.int64)
    for length in lengths.tolist():
        counts = rng.multinomial(length, np.r_[np.full(20, 0.002), np.full(30, 0.032)])
        totals += counts
        documents += counts > 0
    assert (documents[:20] > 500).all(), "too rare to say anything"
    assert not set(find_common_words(documents, totals, lengths).tolist()) & set(range(20))


def test_an_empty_corpus_has_no_such_words():
    assert find_common_words(np.zeros(3, int), np.zeros(3), np.zeros(0)).tolist() == []


def test_a_topic_of_all_documents_is_spread_over_all_and_one_of_a_few_over_these():
    shares = np.zeros((100, 4), dtype=np.float32)
    shares[:, 0] = 0.3
    shares[:10, 1] = 0.5
    shares[3, 2] = 0.9
    np.testing.assert_allclose(measure_spread(shares), [1.0, 0.1, 0.01, 0.0], atol=1e-6)


def test_the_spread_is_the_exponential_of_the_entropy():
    shares = np.random.default_rng(2).gamma(0.3, 1.0, (60, 3))
    for topic, found in enumerate(measure_spread(shares)):
        part = shares[:, topic] / shares[:, topic].sum()
        assert found == pytest.approx(np.exp(-(part * np.log(part)).sum()) / 60)


def test_documents_that_are_not_placed_yet_do_not_count():
    shares = np.full((2 * FEWEST, 2), -1.0, dtype=np.float32)
    shares[:FEWEST] = 0.5
    np.testing.assert_allclose(measure_spread(shares), [1.0, 1.0])
    shares[0] = -1.0
    assert measure_spread(shares) is None


@pytest.mark.parametrize(
    ("spreads", "expected"),
    [
        ([0.5, 0.05, 0.04, 0.06], [True, False, False, False]),
        ([BACKGROUND, 0.05, 0.04], [True, False, False]),
        ([BACKGROUND - 0.01, 0.01, 0.01], [False, False, False]),
        ([0.7, 0.65, 0.6, 0.62], [False, False, False, False]),
        ([0.9], [False]),
        ([], []),
    ],
)
def test_background_is_spread_wide_and_much_wider_than_its_neighbours(spreads, expected):
    assert find_background(np.array(spreads)).tolist() == expected


def test_what_many_documents_are_about_is_no_background_for_its_words_meet():
    spreads, npmi = np.array([0.5, 0.5, 0.05, 0.04, 0.03]), np.array([0.35, 0.1, 0.0, 0.3, 0.2])
    assert find_background(spreads, npmi).tolist() == [False, True, False, False, False]
