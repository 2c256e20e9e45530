"""How often a word is used: exact shares by period and group, intervals that hold, and counts read from the store."""

import numpy as np
import pytest
from trend_samples import DOCUMENTS, plant_corpus

from topiary.app.analysis.trends import DocumentGroups
from topiary.app.analysis.word_trends import (
    WordOccurrences,
    measure_word_by_group,
    measure_word_over_time,
    read_occurrences,
)
from topiary.engine.lens.periods import NO_DATE

DAY = 86_400_000


def make_occurrences(rng, n):
    tokens = rng.integers(0, 300, n)
    counts = rng.binomial(tokens, 0.01)
    documents = np.flatnonzero(counts)
    return WordOccurrences(documents, counts[documents].astype(float), tokens.astype(float))


@pytest.mark.parametrize("by", ["tokens", "documents"])
def test_the_share_in_a_month_is_that_of_its_selected_documents(by):
    rng = np.random.default_rng(1)
    word = make_occurrences(rng, 900)
    months = rng.integers(0, 6, 900)
    dates = (np.datetime64("2004-01") + months).astype("datetime64[ms]").astype(np.int64)
    dates[::50] = NO_DATE
    selected = rng.random(900) < 0.7
    figure = measure_word_over_time(word, dates, unit="month", by=by, selected=selected)

    counts = dict(zip(word.documents.tolist(), word.counts.tolist(), strict=True))
    for month in range(6):
        inside = [
            j for j in range(900) if months[j] == month and dates[j] != NO_DATE and selected[j] and word.tokens[j]
        ]
        weights = [word.tokens[j] if by == "tokens" else 1.0 for j in inside]
        parts = [weight * counts.get(j, 0.0) / word.tokens[j] for weight, j in zip(weights, inside, strict=True)]
        assert figure.mean[month] == pytest.approx(sum(parts) / sum(weights), rel=1e-12)
        assert figure.documents[month] == len(inside)
    assert figure.missing == sum(selected[j] and dates[j] == NO_DATE for j in range(900))


def test_nine_of_ten_intervals_hold_the_share_that_the_documents_were_drawn_with():
    rng, n_groups, size = np.random.default_rng(2), 400, 120
    n = n_groups * size
    tokens = rng.integers(20, 300, n)
    rates = rng.gamma(0.5, 0.004, n)  # 0.2 % in the mean, and most documents without the word
    counts = rng.poisson(rates * tokens)
    documents = np.flatnonzero(counts)
    word = WordOccurrences(documents, counts[documents].astype(float), np.maximum(tokens, counts).astype(float))
    codes = np.repeat(np.arange(n_groups), size).astype(np.int32)
    names = [str(number) for number in range(n_groups)]
    figure = measure_word_by_group(word, DocumentGroups(codes, names, names))
    covered = np.mean((figure.low <= 0.002) & (figure.high >= 0.002))
    assert 0.85 < covered < 0.95  # the standard error is 0.015
    assert figure.everywhere == pytest.approx(0.002, rel=0.05)


def test_a_group_without_the_word_has_an_interval_as_narrow_as_its_words_allow():
    rng, n_groups, size = np.random.default_rng(3), 300, 20
    tokens = np.full(n_groups * size, 100)
    counts = rng.poisson(0.0005 * tokens)  # one occurrence in a group on average
    documents = np.flatnonzero(counts)
    word = WordOccurrences(documents, counts[documents].astype(float), tokens.astype(float))
    codes = np.repeat(np.arange(n_groups), size).astype(np.int32)
    names = [str(number) for number in range(n_groups)]
    figure = measure_word_by_group(word, DocumentGroups(codes, names, names))
    never = figure.mean == 0.0
    assert 60 < np.count_nonzero(never) < 160
    assert figure.high[never] == pytest.approx(-np.log(0.05) / 2000, rel=0.15)  # the rule of three
    assert np.mean((figure.low <= 0.0005) & (figure.high >= 0.0005)) > 0.9


def test_a_word_that_becomes_more_frequent_is_said_to_do_so():
    n = 600
    counts = np.where(np.arange(n) < 300, 1.0, 5.0)
    word = WordOccurrences(np.arange(n), counts, np.full(n, 100.0))
    figure = measure_word_over_time(word, np.arange(n) * DAY)
    assert (figure.before, figure.after) == (pytest.approx(0.01), pytest.approx(0.05))
    assert 0 < figure.change[0] <= 0.04 <= figure.change[1]


def test_occurrences_are_those_in_the_store(db):
    corpus = plant_corpus(db)
    word = read_occurrences(db, corpus, 0)
    assert word.documents.tolist() == list(range(DOCUMENTS))
    assert word.count_uses() == (DOCUMENTS, DOCUMENTS, DOCUMENTS)
    assert word.count_uses(np.arange(DOCUMENTS) < 7) == (7, 7, 7)
    assert len(read_occurrences(db, corpus, 1).documents) == 0
    assert read_occurrences(db, corpus, 0, lambda: False) is None
