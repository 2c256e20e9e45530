"""Documents that a model explains badly."""

import numpy as np
import pytest

from topiary.engine.contract import Counts
from topiary.engine.hierarchy.shares import cut_shares
from topiary.engine.lens.explained import find_badly_explained, measure_log_rates
from topiary.engine.lens.moments import DocumentShares


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
