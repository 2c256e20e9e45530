"""Charts over time: what is drawn where, gaps where nothing is known, and no text that becomes markup."""

import re

import numpy as np
import pytest

from topiary.app.views.trends.time_chart import (
    NARROW,
    SMALL,
    GroupBar,
    Scale,
    TimeAxis,
    TimeLine,
    choose_scale,
    choose_ticks,
    draw_group_bars,
    draw_lines,
    name_period,
)

STARTS = np.array([f"{year}-01-01" for year in range(2000, 2006)], "datetime64[ms]").astype(np.int64)
AXIS = TimeAxis("year", STARTS, np.array([10, 20, 0, 5, 40]))
MEAN = np.array([0.1, 0.2, np.nan, 0.05, 0.1])


def line(title="a topic", mean=MEAN):
    return TimeLine("L1:3", title, "#123456", mean, mean - 0.02, mean + 0.02)


def test_a_line_has_a_gap_where_there_are_no_documents():
    svg = draw_lines(AXIS, [line()], "shares")
    assert len(re.findall(r'<polyline class="tr-line"', svg)) == 2
    assert len(re.findall(r'<polygon class="tr-band"', svg)) == 2
    assert svg.count("tr-period") == svg.count('class="tr-bar"') == 5
    assert "2001: 20 documents\na topic 20% (18% – 22%)" in svg
    assert "2002: 0 documents</title>" in svg


def test_higher_shares_are_drawn_higher_and_later_periods_further_right():
    svg = draw_lines(AXIS, [line(mean=np.array([0.1, 0.2, 0.15, 0.05, 0.1]))], "shares")
    points = [
        tuple(map(float, each.split(","))) for each in re.search(r'polyline [^>]*points="([^"]+)"', svg)[1].split()
    ]
    x, y = zip(*points, strict=True)
    assert list(x) == sorted(x)
    assert np.argsort(y).tolist() == [1, 2, 0, 4, 3]


@pytest.mark.parametrize("highest", [0.0, 0.0004, 0.013, 0.17, 0.2, 0.99, 1.0])
def test_ticks_are_few_and_reach_the_highest_share(highest):
    ticks = choose_ticks(highest)
    assert ticks[0] == 0.0
    assert highest <= ticks[-1] <= max(0.01, 1.35 * highest)
    assert 2 <= len(ticks) <= 7


def test_an_empty_axis_is_a_picture_too():
    axis = TimeAxis("day", np.zeros(1, np.int64), np.zeros(0, np.int64))
    assert draw_lines(axis, [], "nothing").startswith("<svg")
    assert name_period(-1, "day") == "31 Dec 1969"


def test_titles_of_topics_are_no_markup():
    svg = draw_lines(AXIS, [line("<b>x</b>")], "<b>y</b>")
    assert "<b>" not in svg
    assert "&lt;b&gt;x" in svg


def test_periods_that_can_be_selected_know_their_first_and_last_day_and_a_selection_is_marked():
    svg = draw_lines(AXIS._replace(brush=True, picked=(1, 2)), [line()], "shares")
    assert re.findall(r'data-from="(\S+)" data-to="(\S+)"', svg)[3] == ("2003-01-01", "2003-12-31")
    x, width = map(float, re.search(r'class="tr-picked" x="([\d.]+)" y="12" width="([\d.]+)"', svg).groups())
    places = [float(each) for each in re.findall(r'class="tr-period" [^>]* x="([\d.]+)"', svg)]
    assert x == pytest.approx(places[1])
    assert x + width == pytest.approx(places[3], abs=0.2)
    assert "data-" not in re.sub("data-key", "", draw_lines(AXIS, [line()], "shares"))


def test_a_picture_for_phones_has_neither_names_nor_tips():
    svg = draw_lines(AXIS._replace(frame=NARROW), [line()], "shares")
    assert "tr-name" not in svg
    assert "<title>" not in svg
    assert svg.count("tr-period") == 5


def test_a_period_with_far_fewer_documents_is_drawn_by_itself():
    axis = AXIS._replace(documents=np.array([100, 100, 1, 100, 100]))
    svg = draw_lines(axis, [line(mean=np.array([0.1, 0.2, 0.9, 0.05, 0.1]))], "shares")
    assert svg.count("<polyline") == 2
    assert svg.count("<circle") == 1


def test_pictures_of_one_scale_are_cut_at_its_end_and_a_mark_says_so():
    svg = draw_lines(AXIS._replace(frame=SMALL), [line()], "shares", scale=Scale([0.0, 0.1], 0.15))
    top = re.findall(r'<path class="tr-cut" d="([^"]+)"', svg)
    assert [each.count("M") for each in top] == [1]  # 0.2 in the second year
    assert "tr-bar" not in svg
    assert "tr-period" not in svg
    assert "tr-cut" not in draw_lines(AXIS._replace(frame=SMALL), [line()], "shares", scale=Scale([0.0, 0.2], 0.25))


@pytest.mark.parametrize(("highest", "top"), [(0.42, 0.45), (0.05, 0.05), (0.013, 0.015), (0.0, 0.01)])
def test_the_scale_of_several_pictures_ends_at_round_points_and_has_few_lines(highest, top):
    scale = choose_scale([np.array([np.nan, highest])])
    assert scale.top == pytest.approx(top)
    assert 2 <= len(scale.ticks) <= 4
    assert scale.ticks[-1] <= scale.top


def test_weeks_over_months_are_named_where_a_month_begins():
    starts = np.arange(np.datetime64("2004-01-05"), np.datetime64("2004-05-10"), 7).astype("datetime64[ms]")
    axis = TimeAxis("week", starts.astype(np.int64), np.full(len(starts) - 1, 9))
    assert re.findall(r'<text class="tr-tick" [^>]*>([A-Z][^<]*)<', draw_lines(axis, [], "shares")) == [
        "Feb 2004", "Mar", "Apr",
    ]  # fmt: skip


def test_names_of_groups_are_no_markup():
    nasty = "<b>x</b>"
    markup = draw_group_bars([GroupBar(nasty, nasty, 0.2, 0.1, 0.3, 5)], 0.2)
    assert "<b>x" not in markup
    assert "&lt;b&gt;x" in markup


def test_bars_say_what_is_not_known():
    bars = draw_group_bars([GroupBar("a", "a", float("nan"), float("nan"), float("nan"), 0)], 0.1)
    assert "no documents" in bars
