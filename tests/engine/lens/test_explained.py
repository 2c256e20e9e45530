"""Documents that a model explains badly."""

import numpy as np

from engine.lens.explained import find_badly_explained


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
