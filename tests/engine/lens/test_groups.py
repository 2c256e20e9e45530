"""Shares by group, effect tables and slopes."""

import numpy as np
import pytest
from drawing import RARE
from lens_samples import bootstrap, make_shares, tabulate
from scipy import stats

from topiary.engine.lens.groups import (
    DRAWS,
    _draw_counts,
    bin_numbers,
    compare_groups,
    draw_variances,
    measure_groups,
    measure_spread,
    tabulate_effects,
)
from topiary.engine.lens.moments import SampledShares, weigh_documents

SHARES = make_shares(400)
TABLE = tabulate(SHARES)[:, :-1]
CODES = np.random.default_rng(5).integers(-1, 3, 400)


@pytest.mark.parametrize("by", ["tokens", "documents"])
def test_shares_are_weighted_means_of_the_documents_of_a_group(by):
    got = measure_groups(SHARES, CODES, 3, by=by)
    weights = weigh_documents(SHARES, by)
    for group in range(3):
        rows = group == CODES
        np.testing.assert_allclose(got.mean[group], np.average(TABLE[rows], axis=0, weights=weights[rows]))
    assert got.missing == (CODES < 0).sum()


def test_a_selection_is_counted_as_if_it_were_the_corpus():
    selected = np.arange(400) % 3 == 0
    got = measure_groups(SHARES, CODES, 3, selected=selected)
    expected = measure_groups(SHARES, np.where(selected, CODES, -1), 3)
    assert got.mean.tobytes() == expected.mean.tobytes()
    assert got.documents.sum() == (selected & (CODES >= 0) & (SHARES.tokens > 0)).sum()
    assert got.missing == (selected & (CODES < 0)).sum()


def test_a_moving_mean_is_the_share_of_the_documents_around():
    codes = np.arange(400) % 8
    got = measure_groups(SHARES, codes, 8, moving=3)
    for group in range(8):
        around = np.where(abs(codes - group) <= 1, 0, -1)
        alone = measure_groups(SHARES, around, 1)
        np.testing.assert_allclose(got.mean[group], alone.mean[0])
        np.testing.assert_allclose(got.variance[group], alone.variance[0], rtol=1e-9)
        assert got.documents[group] == alone.documents[0]


@pytest.mark.parametrize("by", ["tokens", "documents"])
def test_the_spread_of_topics_is_the_variance_of_the_shares_of_a_group_between_samples(by):
    rng = np.random.default_rng(3)
    documents = np.sort(rng.choice(400, 120, replace=False))
    tables = rng.dirichlet(np.ones(SHARES.n_topics), (5, 120)).astype(np.float32)
    selected = rng.random(400) < 0.7
    codes = np.where(np.isin(np.arange(400), documents), CODES, 3)  # group 3 has no document that was sampled
    got = measure_spread(SampledShares(documents, tables), SHARES.tokens, codes, 4, by=by, selected=selected)
    weights = weigh_documents(SHARES, by)[documents]
    for group in range(3):
        rows = (codes[documents] == group) & selected[documents]
        means = [np.average(table[rows], axis=0, weights=weights[rows]) for table in tables]
        np.testing.assert_allclose(got[group], np.var(means, axis=0, ddof=1), rtol=1e-5)
    assert np.isnan(got[3]).all()
    moved = measure_spread(SampledShares(documents, tables), SHARES.tokens, codes, 4, by=by, moving=3)
    both = np.where(np.isin(codes, (0, 1)), 0, -1)
    alone = measure_spread(SampledShares(documents, tables), SHARES.tokens, both, 1, by=by)
    np.testing.assert_allclose(moved[0], alone[0], rtol=1e-5)


def test_the_effect_of_a_group_is_its_difference_from_all_others():
    groups = measure_groups(SHARES, CODES, 3)
    got = tabulate_effects(groups)
    assert got.comparisons == 3 * SHARES.n_topics
    for group in range(3):
        both = measure_groups(SHARES, np.where(CODES < 0, -1, group == CODES), 2)
        expected = compare_groups(both, 1, 0)
        np.testing.assert_allclose(got.value[group], expected.value, atol=1e-12)
        np.testing.assert_allclose(got.interval.low[group], expected.interval.low, atol=1e-9)
        assert (got.simultaneous.low[group] < expected.simultaneous.low).all()
    assert got.documents.tolist() == groups.documents.tolist()


def test_a_reference_group_is_compared_with_all_others_and_not_with_itself():
    groups = measure_groups(SHARES, CODES, 3)
    got = tabulate_effects(groups, reference=1)
    assert got.comparisons == 2 * SHARES.n_topics
    assert np.isnan(got.value[1]).all()
    assert not got.beyond[1].any()
    np.testing.assert_allclose(got.value[2], compare_groups(groups, 2, 1).value)
    np.testing.assert_allclose(got.interval.high[2], compare_groups(groups, 2, 1).interval.high)


def test_few_different_numbers_are_groups_of_their_own():
    got = bin_numbers(np.array([4.0, 1.0, np.nan, 4.0, 2.0]))
    assert got.codes.tolist() == [2, 0, -1, 2, 1]
    assert got.lows.tolist() == got.highs.tolist() == [1.0, 2.0, 4.0]


def test_many_numbers_are_cut_into_bins_of_about_equal_numbers_of_documents():
    values = np.random.default_rng(9).permutation(np.r_[np.zeros(300), np.arange(1.0, 701.0)])
    got = bin_numbers(values)
    assert np.bincount(got.codes).tolist() == [400, 200, 200, 200]
    for b, (low, high) in enumerate(zip(got.lows, got.highs, strict=True)):
        assert (values[got.codes == b].min(), values[got.codes == b].max()) == (low, high)
    assert (got.highs[:-1] < got.lows[1:]).all()


def test_no_numbers_make_no_bins():
    got = bin_numbers(np.full(3, np.nan))
    assert got.codes.tolist() == [-1, -1, -1]
    assert len(got.lows) == len(got.highs) == 0


DRAWN_SHARES = make_shares(40)
WEIGHTS = weigh_documents(DRAWN_SHARES, "tokens")


def draw(order, ranges, seed=1):
    return draw_variances(seed, DRAWN_SHARES, WEIGHTS, np.asarray(order), np.asarray(ranges))


def test_variances_are_those_of_the_plain_twin():
    got = draw(np.arange(40), [[0, 12], [8, 40]])
    np.testing.assert_allclose(got[0], bootstrap(1, DRAWN_SHARES, WEIGHTS, np.arange(12), DRAWS), rtol=1e-9)
    np.testing.assert_allclose(got[1], bootstrap(1, DRAWN_SHARES, WEIGHTS, np.arange(8, 40), DRAWS), rtol=1e-9)


def test_counts_are_poisson():
    drawn = np.empty((300, DRAWS))
    for document in range(300):
        _draw_counts(7, document, drawn[document])
    observed = np.bincount(np.minimum(drawn.ravel(), 6).astype(int), minlength=7)
    law = np.r_[stats.poisson.pmf(np.arange(6), 1.0), stats.poisson.sf(5, 1.0)]
    assert stats.chisquare(observed, law * drawn.size).pvalue > RARE
    assert abs(np.corrcoef(drawn)[np.triu_indices(300, 1)]).max() < 0.45  # of 200 draws, over 44,850 pairs


def test_the_draws_of_a_group_do_not_depend_on_other_documents():
    alone = draw([4, 9, 17, 30], [[0, 4]])
    among = draw([1, 2, 4, 9, 17, 30, 33], [[0, 2], [2, 6], [6, 7]])
    assert alone[0].tobytes() == among[1].tobytes()


def test_another_seed_gives_other_draws():
    assert draw(np.arange(20), [[0, 20]], seed=1).tolist() != draw(np.arange(20), [[0, 20]], seed=2).tolist()


def test_a_single_document_does_not_vary():
    assert np.abs(draw([5], [[0, 1]])).max() < 1e-30
