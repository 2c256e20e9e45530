"""Topics and words that are typical of a selection."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from lens_samples import make_shares
from scipy import stats

from topiary.engine.contract import Counts
from topiary.engine.hierarchy.paths import cut_shares
from topiary.engine.lens.groups import compare_groups, measure_groups
from topiary.engine.lens.moments import DocumentShares
from topiary.engine.lens.typical import (
    compare_topics,
    compare_words,
    find_badly_explained,
    measure_log_rates,
    sum_words,
)


def make_counts(table):
    rows = sp.csr_array(table)
    return Counts(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.int32))


def draw_table(rng, n_documents=300, n_words=40, burst=0.0):
    """Counts of words; with ``burst`` each document has rates of its own."""
    rates = np.full((n_documents, n_words), 2.0) / np.arange(1, n_words + 1)
    return rng.poisson(rng.gamma(1 / burst, rates * burst) if burst else rates)


def test_topics_of_a_selection_are_compared_with_the_rest():
    shares, selected, within = make_shares(200), np.arange(200) < 50, np.arange(200) % 2 == 0
    codes = np.where(selected, 0, 1)
    expected = compare_groups(measure_groups(shares, np.where(within, codes, -1), 2), 0, 1)
    got = compare_topics(shares, selected, within=within)
    np.testing.assert_array_equal(got.value, expected.value)
    np.testing.assert_array_equal(got.simultaneous.low, expected.simultaneous.low)
    assert got.documents == (selected & within & (shares.tokens > 0)).sum()


def test_sums_of_words_are_those_of_the_table():
    table, selected = draw_table(np.random.default_rng(1)), np.arange(300) % 3 == 0
    got = sum_words(make_counts(table), 40, selected)
    part = table[selected]
    lengths = part.sum(axis=1)
    np.testing.assert_array_equal(got.counts, part.sum(axis=0))
    np.testing.assert_array_equal(got.squares, (part**2).sum(axis=0))
    np.testing.assert_array_equal(got.products, lengths @ part)
    np.testing.assert_array_equal(got.documents, (part > 0).sum(axis=0))
    assert (got.tokens, got.squared_tokens) == (lengths.sum(), (lengths**2).sum())


def test_log_odds_are_those_of_the_paper():
    table = np.zeros((40, 3), int)
    table[:20, 0], table[20:, 1], table[:, 2] = 1, 1, 1  # once in a document: no bursts
    counts, selected = make_counts(table), np.arange(40) < 20
    got = compare_words(sum_words(counts, 3, selected), sum_words(counts, 3), prior_tokens=8.0)
    y, other, prior = np.array([20.0, 0, 20]), np.array([0.0, 20, 20]), 8.0 * np.array([20, 20, 40]) / 80
    delta = np.log((y + prior) / (48 - y - prior)) - np.log((other + prior) / (48 - other - prior))
    deviation = np.sqrt(1 / (y + prior) + 1 / (other + prior))
    np.testing.assert_allclose(got.value, delta)
    np.testing.assert_allclose(got.interval.high - got.value, stats.norm.ppf(0.95) * deviation)
    np.testing.assert_allclose(got.simultaneous.high - got.value, stats.norm.ppf(1 - 0.05 / 3) * deviation)
    assert (got.comparisons, got.documents.tolist()) == (3, [20, 0, 20])


def test_typical_words_are_listed_and_others_are_not():
    table = draw_table(np.random.default_rng(2))
    table[:100, 7] += 2
    counts = make_counts(table)
    got = compare_words(sum_words(counts, 40, np.arange(300) < 100), sum_words(counts, 40))
    assert got.rank_increases().tolist() == [7]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")
def test_words_that_come_in_bursts_are_rarely_called_typical_by_chance():
    wrong, too_sure = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        counts = make_counts(draw_table(rng, burst=8.0))
        selection, everything = sum_words(counts, 40, rng.random(300) < 0.4), sum_words(counts, 40)
        got = compare_words(selection, everything)
        wrong += got.beyond.any()
        rest = everything.counts - selection.counts
        prior = 500.0 * everything.counts / everything.tokens
        independent = np.sqrt(1 / (selection.counts + prior) + 1 / (rest + prior))
        too_sure += (abs(got.value) > stats.norm.ppf(1 - 0.05 / 40) * independent).any()
    assert wrong <= 12  # 10 % are allowed; 13 or more of 60 would have a probability below 1 %
    assert too_sure > 30  # tokens taken to be independent, as in the paper


def test_unused_words_and_empty_selections_are_not_known():
    table = draw_table(np.random.default_rng(3))
    table[:, 5] = 0
    counts = make_counts(table)
    everything = sum_words(counts, 40)
    got = compare_words(sum_words(counts, 40, np.arange(300) < 9), everything)
    assert np.isnan(got.value[5])
    assert got.comparisons == 39
    for part in (everything, sum_words(counts, 40, np.zeros(300, bool))):
        nothing = compare_words(part, everything)
        assert np.isnan(nothing.value).all()
        assert not nothing.beyond.any()


def make_rates(n, seed=1):
    """Log rates that fall with the length, and vary less in long documents."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(5, 500, n)
    return -3.0 - np.log(tokens) + rng.normal(size=n) * 4.0 / np.sqrt(tokens), tokens


def test_the_lowest_two_percent_are_listed_the_worst_first():
    log_rates, tokens = make_rates(5000)
    got = find_badly_explained(log_rates, tokens)
    assert len(got.documents) == 100
    assert (np.diff(got.scores[got.documents]) >= 0).all()
    assert got.scores[got.documents[-1]] <= np.delete(got.scores, got.documents).min()


def test_a_badly_explained_document_of_any_length_comes_first():
    for length in (10, 400):
        log_rates, tokens = make_rates(5000)
        planted = int(np.flatnonzero(tokens == length)[0])
        log_rates[planted] -= 40.0 / np.sqrt(length)  # ten standard deviations
        assert find_badly_explained(log_rates, tokens).documents[0] == planted


def test_length_alone_makes_no_document_badly_explained():
    log_rates, tokens = make_rates(20_000)
    listed = find_badly_explained(log_rates, tokens).documents
    assert abs(np.median(tokens[listed]) - np.median(tokens)) < 60
    assert abs(np.corrcoef(find_badly_explained(log_rates, tokens).scores, tokens)[0, 1]) < 0.02


def test_one_outlier_does_not_hide_another():
    log_rates, tokens = make_rates(300)
    log_rates[7] -= 1e6
    log_rates[11] -= 30.0
    assert find_badly_explained(log_rates, tokens).documents[:2].tolist() == [7, 11]


def test_documents_without_tokens_or_rate_have_no_score():
    got = find_badly_explained(np.array([-1.0, np.nan, -2.0, -np.inf]), np.array([3, 3, 0, 3]))
    assert np.isnan(got.scores).tolist() == [False, True, True, True]
    assert got.documents.tolist() == [0]
    nothing = find_badly_explained(np.array([]), np.array([]))
    assert (len(nothing.documents), len(nothing.scores)) == (0, 0)


def test_the_log_rate_of_a_document_is_that_of_its_words_one_by_one():
    rng = np.random.default_rng(6)
    phi = rng.dirichlet(np.full(40, 0.2), 5).T
    everywhere = phi.mean(axis=1)
    table = rng.poisson(0.3, (30, 40))
    table[7] = 0
    part = cut_shares(rng.dirichlet(np.full(5, 0.2), 30))
    rows, words = np.nonzero(table)
    counts = Counts.of(np.bincount(rows, minlength=30), words.astype(np.int32), table[rows, words].astype(np.int32))
    got = measure_log_rates(phi, everywhere, DocumentShares(*part, table.sum(axis=1), 5), counts)

    for j in range(30):
        entries = range(part.starts[j], part.starts[j + 1])
        rates = everywhere * (part.rest[j] / 65535)
        for entry in entries:
            rates = rates + phi[:, part.topics[entry]] * (part.units[entry] / 65535)
        tokens = [word for word in range(40) for _ in range(table[j, word])]
        expected = np.mean(np.log(np.maximum(rates[tokens], 1e-12))) if tokens else np.nan
        assert got[j] == pytest.approx(expected, nan_ok=True)
