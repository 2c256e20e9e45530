"""Intervals of shares and of differences; random tests have fixed seeds."""

import numba
import numpy as np
import pytest
from lens_samples import make_shares, tabulate
from scipy import stats

from tests.benchmarks import lens_coverage
from topiary.engine.hierarchy.certainty import Interval
from topiary.engine.lens.groups import compare_groups, draw_variances, measure_groups
from topiary.engine.lens.intervals import (
    MANY,
    EffectTable,
    GroupShares,
    add_spread,
    estimate_shares,
    find_difference_intervals,
    find_quantiles,
    find_share_intervals,
    select_groups,
    subtract_shares,
)
from topiary.engine.lens.moments import DocumentShares, ShareSums, sum_moments, weigh_documents


def test_shares_and_first_order_variances_are_those_of_the_formula():
    shares = make_shares(80)
    a = weigh_documents(shares, "tokens")
    got = estimate_shares(sum_moments(shares, np.zeros(80, np.int32), 1, a))
    w = tabulate(shares)
    mean = a @ w / a.sum()
    effective = a.sum() ** 2 / (a @ a)
    variance = (a**2) @ (w - mean) ** 2 / a.sum() ** 2 * effective / (effective - 1)
    np.testing.assert_allclose(got.mean[0], mean[:-1], rtol=1e-12)
    np.testing.assert_allclose(got.rest[0], mean[-1], rtol=1e-12)
    np.testing.assert_allclose(got.variance[0], variance[:-1], rtol=1e-9)
    np.testing.assert_allclose(got.effective, effective)
    assert got.mean[0].sum() + got.rest[0] == pytest.approx(1.0)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")
def test_at_many_documents_one_pass_agrees_with_the_bootstrap_within_its_noise():
    n_groups = 40
    shares = make_shares(n_groups * MANY)
    groups, a = np.repeat(np.arange(n_groups, dtype=np.int32), MANY), weigh_documents(shares, "tokens")
    one_pass = estimate_shares(sum_moments(shares, groups, n_groups, a))
    edges = np.arange(n_groups + 1) * MANY
    drawn = draw_variances(1, shares, a, np.arange(len(groups)), np.stack([edges[:-1], edges[1:]], axis=1))
    corrected = one_pass.effective / (one_pass.effective - 1.0)
    ratios = drawn[:, :-1] * corrected[:, None] / one_pass.variance
    noise = np.sqrt(2.0 / 199.0)  # of a variance of 200 normal draws
    assert abs(ratios.mean() - 1.0) < 0.03
    assert ratios.std() == pytest.approx(noise, rel=0.25)


def test_few_documents_have_the_variance_of_the_bootstrap():
    shares = make_shares(30)
    a = weigh_documents(shares, "tokens")
    got = measure_groups(shares, np.zeros(30, int), 1)
    drawn = draw_variances(1, shares, a, np.arange(30), np.array([[0, 30]]))[0, :-1]
    np.testing.assert_allclose(got.variance[0], drawn * got.effective / (got.effective - 1.0), rtol=1e-12)


def test_the_ends_of_an_interval_solve_the_equation_of_wilson():
    mean, variance = np.array([0.02, 0.3, 0.9]), np.array([1e-4, 1e-3, 2e-3])
    low, high = find_share_intervals(mean, variance, np.full(3, 9.0), np.full(3, 10.0), 0.05)
    t = stats.t.ppf(0.95, 9)
    for end in (low, high):
        np.testing.assert_allclose((mean - end) ** 2, t * t * end * (1 - end) * variance / (mean * (1 - mean)))
    assert (low < mean).all()
    assert (mean < high).all()


def test_a_topic_that_no_document_has_still_has_an_interval():
    low, high = find_share_intervals(np.zeros(1), np.zeros(1), np.ones(1), np.full(1, 30.0), 0.05)
    assert low[0] == 0.0
    t = stats.t.ppf(0.95, 29)
    assert high[0] == pytest.approx(t * t / (30 + t * t))


def make_whole_shares(topics):
    """Return documents that are all of one topic each."""
    n = len(topics)
    full, none = np.full(n, 65535, np.uint16), np.zeros(n, np.uint16)
    return DocumentShares(np.arange(n + 1), topics.astype(np.int32), full, none, np.ones(n, np.int64), 5)


def test_few_documents_with_a_topic_leave_an_upper_end_that_so_many_answers_would():
    topics = np.repeat([0, 1, 2, 3], [1, 2, 20, 177])  # topic 4 has no document
    high = measure_groups(make_whole_shares(topics), np.zeros(200, int), 1).find_intervals().high[0]
    exact = stats.beta.ppf(0.95, [2, 3, 21, 178, 1], [199, 198, 180, 23, 200])  # Clopper and Pearson
    assert (high < 1.3 * exact).all()
    assert (high > 0.85 * exact).all()


def test_a_topic_that_one_of_two_groups_lacks_is_beyond_chance():
    topics = np.repeat([0, 1, 1, 2], [30, 170, 120, 80])  # 200 documents in each group
    got = compare_groups(measure_groups(make_whole_shares(topics), np.repeat([0, 1], 200), 2), 0, 1)
    assert got.beyond.tolist() == [True, True, True, False, False]


def test_quantiles_are_those_of_student():
    np.testing.assert_allclose(find_quantiles(np.array([1.0, 7.0, 1000.0]), 0.001), stats.t.isf(0.001, [1, 7, 1000]))


def test_intervals_of_more_comparisons_are_wider():
    groups = measure_groups(make_shares(300), np.zeros(300, int), 1)
    plain, wide = groups.find_intervals(), groups.find_intervals(comparisons=50)
    assert (wide.low < plain.low).all()
    assert (wide.high > plain.high).all()


def test_a_group_without_documents_is_not_known():
    groups = measure_groups(make_shares(50), np.zeros(50, int), 2)
    assert np.isnan(groups.mean[1]).all()
    assert np.isnan(groups.find_intervals().high[1]).all()
    table = subtract_shares(*(select_groups(groups, slice(g, g + 1)) for g in (0, 1)))
    assert table.comparisons == 0
    assert not table.beyond.any()


def test_the_interval_of_a_difference_joins_those_of_both_shares():
    groups = measure_groups(make_shares(400), np.arange(400) % 2, 2)
    one, other = (select_groups(groups, slice(g, g + 1)) for g in (0, 1))
    got = find_difference_intervals(one, other)
    a, b = one.find_intervals(), other.find_intervals()
    R, S = one.mean, other.mean
    np.testing.assert_allclose(got.low, R - S - np.sqrt((R - a.low) ** 2 + (b.high - S) ** 2))
    np.testing.assert_allclose(got.high, R - S + np.sqrt((a.high - R) ** 2 + (S - b.low) ** 2))


def test_ranks_begin_with_what_is_surely_most():
    low, high = np.array([0.1, -0.2, 0.3, -0.9, -0.4]), np.array([0.9, 0.2, 0.5, -0.5, -0.1])
    table = EffectTable((low + high) / 2, Interval(low, high), Interval(low, high), np.array(9), 5)
    assert table.beyond.tolist() == [True, False, True, True, True]
    assert table.sure.tolist() == [0.1, 0.0, 0.3, -0.5, -0.1]
    assert table.rank_increases().tolist() == [2, 0]
    assert table.rank_decreases().tolist() == [3, 4]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")
@pytest.mark.parametrize("size", [30, 300])
def test_ninety_percent_intervals_hold_the_true_share(size):
    ours, percentiles = lens_coverage.cover_shares(np.random.default_rng(3), size, 60)
    large = ours.truth >= 0.01
    assert 0.85 < ours.inside[:, large].mean() < 0.95
    assert percentiles.inside[:, large].mean() < ours.inside[:, large].mean()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")
def test_differences_are_covered_and_unchanged_topics_are_not_listed():
    coverage = lens_coverage.cover_differences(np.random.default_rng(4), (300, 900), 60)
    assert 0.85 < coverage.inside.mean() < 0.95
    unchanged, worlds, changed = lens_coverage.count_false(coverage.listed)
    assert unchanged < 0.01
    assert worlds <= 0.2  # 10 % are allowed; 13 or more of 60 worlds would have a probability below 1 %
    assert changed > 0.15


def test_intervals_with_the_spread_of_topics_hold_a_share_that_both_documents_and_topics_move():
    """Documents move the estimate by V and the topics by B, whose estimate comes from eight samples."""
    n, truth, variance, between, samples = 4_000, 0.3, 1e-4, 4e-4, 8
    rng = np.random.default_rng(4)
    mean = truth + rng.normal(0.0, np.sqrt(variance + between), (1, n))
    spread = between * rng.chisquare(samples - 1, (1, n)) / (samples - 1)
    sums = ShareSums(np.array([2_000]), np.zeros((1, 2)), np.zeros((1, n + 1, 3)))
    filled = np.ones((1, n))
    shares = GroupShares(
        mean, variance * filled, 1_000.0 * filled, np.zeros(1), sums.documents, np.array([2e3]), 0, sums
    )

    def hold(given):
        low, high = given.find_intervals()
        return ((low <= truth) & (truth <= high)).mean()

    assert hold(shares) < 0.6
    assert 0.88 < hold(add_spread(shares, spread, samples)) < 0.95  # (1 + 1 / S) B is meant for a new sample of topics
    same = add_spread(shares, np.zeros((1, n)), samples).find_intervals()
    np.testing.assert_allclose(same.high, shares.find_intervals().high)
    unknown = np.concatenate([spread, np.full((1, n), np.nan)])
    two = select_groups(shares, np.array([0, 0]))
    low, high = add_spread(two, unknown, samples).find_intervals()
    np.testing.assert_allclose([low[1], high[1]], [low[0], high[0]])  # the largest spread of the other groups
