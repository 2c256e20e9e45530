"""Periods of the calendar, shares in them, and topics that grew or shrank."""

import numba
import numpy as np
import pytest
from lens_samples import make_shares

from tests.benchmarks import lens_coverage
from topiary.engine.lens import periods
from topiary.engine.lens.groups import measure_groups
from topiary.engine.lens.periods import NO_DATE, cut_periods, find_growth, measure_periods

DAY = 86_400_000


def ms(*dates):
    return np.array(dates, "datetime64[ms]").astype(np.int64)


def day_of(milliseconds):
    return np.asarray(milliseconds).astype("datetime64[ms]").astype("datetime64[D]").astype(str).tolist()


@pytest.mark.parametrize(
    ("unit", "starts"),
    [
        ("day", ["1969-12-31", "1970-01-01", "1970-01-02"]),
        ("week", ["1969-12-29", "1970-01-05"]),
        ("month", ["1969-12-01", "1970-01-01", "1970-02-01"]),
        ("quarter", ["1969-10-01", "1970-01-01", "1970-04-01"]),
        ("year", ["1969-01-01", "1970-01-01", "1971-01-01"]),
        ("decade", ["1960-01-01", "1970-01-01", "1980-01-01"]),
    ],
)
def test_periods_begin_where_the_calendar_says(unit, starts):
    got = cut_periods(ms("1969-12-31T23:59:59.999", "1970-01-01"), unit)
    assert day_of(got.starts) == starts
    assert (got.starts % DAY == 0).all()
    assert got.codes.tolist() == [0, len(starts) - 2]


@pytest.mark.parametrize("n", [300, 3000])  # fewer and more documents than days
@pytest.mark.parametrize("unit", periods.UNITS)
def test_every_date_lies_in_its_period(unit, n):
    dates = ms("1968-02-29") + np.random.default_rng(1).integers(0, 1500 * DAY, n)
    got = cut_periods(dates, unit)
    assert (got.starts[got.codes] <= dates).all()
    assert (dates < got.starts[got.codes + 1]).all()


def test_documents_without_a_date_are_in_no_period_and_counted():
    dates = np.r_[ms("2001-05-01", "2001-06-01"), NO_DATE, NO_DATE]
    got = cut_periods(dates, "month")
    assert got.codes.tolist() == [0, 1, -1, -1]
    assert measure_periods(make_shares(4), got).missing == 2


def test_without_dates_there_are_no_periods():
    got = cut_periods(np.full(3, NO_DATE))
    assert (got.codes.tolist(), len(got.starts)) == ([-1] * 3, 1)
    assert measure_periods(make_shares(3), got).mean.shape == (0, 6)


def test_too_many_periods_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="the dates span 36,524 periods of a day, above 2,000; take a longer unit"):
        cut_periods(ms("1900-01-01", "1999-12-31"), "day")


@pytest.mark.parametrize(
    ("days", "documents", "unit"),
    [
        (100, 100 * 40, "day"),
        (100, 100 * 10, "week"),
        (1000, 1000 * 100, "week"),  # above 200 days
        (1000, 1000 * 2, "month"),
        (1000, 500, "quarter"),
        (3650, 600, "year"),
        (36500, 900, "decade"),
        (3, 30, "day"),  # there are documents in three periods of this unit alone
        (2, 900, "day"),  # and here of none
    ],
)
def test_the_unit_is_the_finest_one_with_enough_documents(days, documents, unit):
    dates = ms("1990-01-01") + np.arange(documents) * days // documents * DAY
    assert cut_periods(np.r_[dates, NO_DATE]).unit == unit


def test_a_few_early_documents_do_not_make_periods_longer_than_needed():
    dates = np.r_[ms("2015-02-01"), ms("2020-01-01") + np.arange(6000) * 400 // 6000 * DAY]
    assert cut_periods(dates[1:]).unit == "week"
    assert cut_periods(dates).unit == "month"  # above 200 weeks


def test_a_selection_changes_the_shares_and_not_the_periods():
    shares, dates = make_shares(300), ms("2000-01-01") + np.arange(300) * DAY
    cut = cut_periods(dates, "month")
    got = measure_periods(shares, cut, selected=dates < ms("2000-03-01"))
    assert got.documents.tolist() == [30, 29] + [0] * (len(cut.starts) - 3)
    assert np.isnan(got.mean[2:]).all()


@pytest.mark.parametrize(
    ("years", "thirds"),
    [
        ([1, 2, 3, 4, 5, 6, 7], [0, 0, 0, -1, 1, 1, 1]),
        ([3, 1, 2], [1, 0, -1]),
        ([1, 2], [0, 1]),
        ([1, 1, 1, 1, 2], [0, 0, 0, 0, 1]),
        ([1, 2, 2, 2, 2], [0, 1, 1, 1, 1]),
        ([1, 2, 2, 2, 2, 3], [0, -1, -1, -1, -1, 1]),
        ([5, 5, 5], [-1, -1, -1]),
        ([], []),
    ],
)
def test_thirds_never_part_documents_of_one_date(monkeypatch, years, thirds):
    codes = []
    monkeypatch.setattr(
        periods, "measure_groups", lambda shares, each, n, **rest: codes.extend(each) or measure_groups(shares, each, n)
    )
    shares = make_shares(len(years))._replace(tokens=np.ones(len(years)))
    find_growth(shares, np.array(years, np.int64))
    assert codes == thirds


def test_growth_tells_both_spans_and_missing_dates():
    dates = np.r_[np.arange(1, 10, dtype=np.int64), NO_DATE]
    got = find_growth(make_shares(10)._replace(tokens=np.ones(10)), dates, selected=np.arange(10) != 8)
    assert got.spans.tolist() == [[1, 3], [6, 8]]
    assert got.missing == 1
    assert got.thirds.documents.tolist() == [3, 3]
    assert find_growth(make_shares(2), np.full(2, NO_DATE)).spans.tolist() == [[NO_DATE] * 2] * 2


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")
def test_bands_of_months_hold_the_trend_and_no_unchanged_topic_is_said_to_have_grown():
    months, growth = lens_coverage.cover_time(np.random.default_rng(11), 50 * lens_coverage.MONTHS, 40)
    assert 0.85 < months.inside.mean() < 0.95
    assert 0.85 < growth.inside.mean() < 0.95
    unchanged, worlds, _ = lens_coverage.count_false(growth.listed)
    assert unchanged < 0.01
    assert worlds <= 0.25  # 10 % are allowed; more than 10 of 40 worlds would have a probability below 1 %


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many documents, too slow with the compiler off")
def test_topics_that_grew_and_shrank_are_found_in_the_right_list():
    means = lens_coverage.make_means()
    order = np.sort(np.random.default_rng(12).integers(0, 2, 6000))
    shares = lens_coverage.draw_shares(np.random.default_rng(13), means[order])
    got = find_growth(shares, np.arange(6000, dtype=np.int64)).effects
    assert {0, 6} <= set(got.rank_increases()) <= {0, 6, 15}
    assert {1, 7} <= set(got.rank_decreases()) <= {1, 7, 16}
