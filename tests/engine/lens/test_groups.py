"""Shares by group, effect tables and slopes."""

import numba
import numpy as np
import pytest
from lens_samples import make_shares, tabulate

from tests.benchmarks import lens_coverage
from topiary.engine.lens.groups import (
    bin_numbers,
    compare_groups,
    measure_groups,
    measure_slopes,
    measure_spread,
    tabulate_effects,
)
from topiary.engine.lens.moments import SampledShares, weigh_documents
from topiary.engine.pool import Pool

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


@pytest.mark.parametrize("moving", [1, 3])
def test_one_and_two_threads_give_the_same_bits(moving):
    codes = np.arange(400) % 11  # fewer than 100 documents each, so that draws are used too
    one, two = (measure_groups(SHARES, codes, 11, moving=moving, pool=Pool(n)) for n in (1, 2))
    assert one.mean.tobytes() == two.mean.tobytes()
    assert one.variance.tobytes() == two.variance.tobytes()


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


def test_slopes_are_those_of_weighted_least_squares():
    numbers = np.random.default_rng(6).normal(1e6, 3.0, 400)
    numbers[:20] = np.nan
    got = measure_slopes(SHARES, numbers)
    rows = np.isfinite(numbers) & (SHARES.tokens > 0)
    a, x, w = SHARES.tokens[rows].astype(float), numbers[rows], TABLE[rows]
    x = x - np.average(x, weights=a)
    design = np.stack([np.ones_like(x), x], axis=1)
    inverse = np.linalg.inv(design.T * a @ design)
    line = inverse @ (design.T * a) @ w
    np.testing.assert_allclose(got.effects.value, line[1], rtol=1e-6)
    np.testing.assert_allclose(got.mean, line[0], rtol=1e-9)
    assert (got.missing, got.effects.documents, got.effects.comparisons) == (20, rows.sum(), SHARES.n_topics)
    residuals = w - design @ line
    effective = (a @ x**2) ** 2 / (a**2 @ x**4)
    for topic in range(SHARES.n_topics):
        middle = (design.T * (a * residuals[:, topic]) ** 2) @ design
        deviation = np.sqrt((inverse @ middle @ inverse)[1, 1] * effective / (effective - 1))
        width = got.effects.interval.high[topic] - got.effects.value[topic]
        assert width / deviation == pytest.approx(1.66, abs=0.02)  # Student's t with about 100 degrees of freedom


def test_a_number_without_variation_has_no_slope():
    got = measure_slopes(SHARES, np.ones(400))
    assert np.isnan(got.effects.value).all()
    assert not got.effects.beyond.any()


def test_slopes_by_two_threads_have_the_same_bits():
    numbers = np.arange(400.0)
    one, two = (measure_slopes(SHARES, numbers, pool=Pool(n)).effects for n in (1, 2))
    assert one.simultaneous.low.tobytes() == two.simultaneous.low.tobytes()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")
def test_intervals_of_slopes_hold_the_true_slope():
    coverage = lens_coverage.cover_slopes(np.random.default_rng(8), 600, 60)
    assert 0.85 < coverage.inside.mean() < 0.95
    assert lens_coverage.count_false(coverage.listed)[0] < 0.01


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
