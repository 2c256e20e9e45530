"""Words that a corpus puts everywhere: frequent ones, and ones that are more even than chance."""

import numpy as np

from engine.contract import Counts
from engine.quality.common_words import everywhere, words_everywhere

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
    assert everywhere(corpus(), 4 + CHANCE).tolist() == [HEADER, FREQUENT]


def test_of_words_that_are_only_present_or_absent_the_frequent_ones_are_everywhere():
    assert everywhere(corpus(binary=True), 4 + CHANCE).tolist() == [FREQUENT]


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
    assert not set(words_everywhere(documents, totals, lengths).tolist()) & set(range(20))


def test_an_empty_corpus_has_no_such_words():
    assert words_everywhere(np.zeros(3, int), np.zeros(3), np.zeros(0)).tolist() == []
