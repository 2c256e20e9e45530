"""Curves lose no spike when thinned, and are figures made once with columns for every x-axis."""

import numpy as np
import pytest
from bokeh.models import Glyph
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from topiary.app.views.runs import curves

VALUES = arrays(np.float64, st.integers(0, 400), elements=st.floats(-1e6, 1e6) | st.just(float("nan")))


@given(VALUES, st.integers(4, 60))
def test_thinning_keeps_first_last_lowest_and_highest_in_order(values, most):
    places = curves.thin_points(values, most)
    finite = np.flatnonzero(np.isfinite(values))
    assert len(places) <= most + 2
    assert np.all(np.diff(places) > 0)
    assert set(places.tolist()) <= set(finite.tolist())
    if len(finite):
        assert (places[0], places[-1]) == (finite[0], finite[-1])
        assert values[places].min() == values[finite].min()
        assert values[places].max() == values[finite].max()


def test_a_short_curve_is_kept_whole():
    assert curves.thin_points(np.arange(100.0), 100).tolist() == list(range(100))


def test_a_single_spike_among_ten_thousand_points_survives():
    values = np.ones(10_000)
    values[7777] = 50.0
    assert 7777 in curves.thin_points(values)


@pytest.mark.parametrize("axis", ["minibatches", "documents", "seconds"])
def test_another_axis_is_another_column_of_the_same_source(axis):
    chart = curves.make_perplexity_chart("minibatches")
    chart.grow(3)
    sources = list(chart.sources)
    chart.use_axis(axis)
    assert chart.sources == sources
    assert {line.glyph.x for line in chart.lines} == {axis}
    assert chart.figure.xaxis.axis_label == curves.AXES[axis]


def test_slots_are_added_when_needed_and_never_made_anew():
    chart = curves.make_perplexity_chart("seconds")
    first = chart.sources[0]
    chart.grow(3)
    chart.grow(2)
    assert len(chart.sources) == 3
    assert chart.sources[0] is first
    assert [line.data_source for line in chart.lines] == chart.sources
    assert chart.hover.renderers == chart.lines
    assert {line.glyph.x for line in chart.lines} == {"seconds"}


def test_a_chart_is_made_of_nothing_that_nobody_sees():
    chart = curves.make_perplexity_chart("minibatches")
    chart.grow(3)
    steps = curves.make_step_chart("minibatches")
    curves.dress_layers(steps, 3)
    glyphs = [*chart.figure.select({"type": Glyph}), *steps.figure.select({"type": Glyph})]
    assert len(glyphs) == 3 + 2 * 4


def test_a_curve_of_one_point_is_a_dot():
    chart = curves.make_perplexity_chart("minibatches")
    chart.grow(3)
    for n, source in enumerate(chart.sources):
        source.data = {column: [1.0] * n for column in source.data}
    chart.show_single_points()
    chart.use_axis("seconds")
    assert [dot.visible for dot in chart.dots] == [False, True, False]
    assert [dot.data_source for dot in chart.dots] == chart.sources
    assert {dot.glyph.x for dot in chart.dots} == {"seconds"}


def test_the_own_run_lies_above_the_others():
    chart = curves.make_perplexity_chart("minibatches")
    chart.grow(2)
    assert [line.level for line in chart.lines] == ["overlay", "glyph"]


def test_no_two_runs_share_colour_and_dash():
    chart = curves.make_perplexity_chart("minibatches")
    chart.grow(curves.SLOTS)
    looks = [(line.glyph.line_color, str(line.glyph.line_dash)) for line in chart.lines]
    assert len(set(looks)) == curves.SLOTS


def test_step_sizes_have_a_log_axis_a_band_per_layer_and_r_as_the_last_line():
    chart = curves.make_step_chart("minibatches")
    legend = curves.dress_layers(chart, 3)
    assert type(chart.figure.y_scale).__name__ == "LogScale"
    assert [name for name, _, _ in legend] == ["layer 1", "layer 2", "layer 3", "r"]
    assert len({(colour, str(dash)) for _, colour, dash in legend}) == 4
    assert len(chart.bands) == 4
    assert all(band.glyph.y1 == "low" and band.glyph.y2 == "high" for band in chart.bands)


def test_the_two_perplexities_never_share_an_axis():
    point = curves.make_perplexity_chart("minibatches")
    averaged = curves.make_rare_chart("averaged_perplexity", "minibatches", point.figure.x_range)
    assert averaged.figure is not point.figure
    assert averaged.figure.y_range is not point.figure.y_range
    assert "averaged" in averaged.figure.yaxis.axis_label


def moment(minibatch, words="layer 2 begins with 7 topics"):
    return curves.RunMark(minibatch, 20.0 * minibatch, 0.5 * minibatch, words)


def test_moments_are_vertical_lines_that_follow_the_axis_and_say_what_happened():
    chart = curves.make_step_chart("minibatches")
    curves.mark_changes(chart, [])
    assert chart.marks is None, "a run without such moments pays nothing"
    curves.mark_changes(chart, [moment(16), moment(31)])
    assert chart.marks.data_source.data["minibatches"] == [16, 31]
    assert chart.marks.glyph.x == "minibatches"
    chart.use_axis("seconds")
    assert chart.marks.glyph.x == "seconds"
    assert chart.marks.data_source.data["seconds"] == [8.0, 15.5]
    hovers = [tool for tool in chart.figure.tools if getattr(tool, "renderers", None) == [chart.marks]]
    assert len(hovers) == 1
    assert "@words" in hovers[0].tooltips
    assert chart.marks not in chart.hover.renderers
    curves.mark_changes(chart, [])
    assert chart.marks.data_source.data["words"] == []


def test_words_stand_beside_the_line_of_a_moment_that_has_some():
    chart = curves.make_step_chart("minibatches")
    curves.mark_changes(chart, [moment(16)])
    assert chart.labels is None, "a run without such words pays nothing"
    curves.mark_changes(chart, [moment(16), moment(31)._replace(label="no step sizes")])
    assert chart.labels.source is chart.marks.data_source
    assert chart.labels.source.data["label"] == ["", "no step sizes"]
    chart.use_axis("seconds")
    assert chart.labels.x == "seconds"


def test_the_burn_in_is_shaded_up_to_its_moment_on_every_axis_and_has_its_word():
    chart = curves.make_perplexity_chart("documents")
    curves.shade_burn_in(chart, None)
    assert chart.shade is None
    curves.shade_burn_in(chart, moment(16))
    assert (chart.shade.right, chart.shade.visible) == (320.0, True)
    chart.use_axis("seconds")
    assert chart.shade.right == 8.0
    assert [label.text for label in chart.figure.center if hasattr(label, "text")] == ["burn-in"]
    curves.shade_burn_in(chart, moment(32))
    assert chart.shade.right == 16.0
    curves.shade_burn_in(chart, None)
    assert not chart.shade.visible


def test_a_moment_lies_where_its_minibatch_lies_on_every_axis_and_waits_for_its_point():
    known = np.array([1.0, 16.0]), np.array([20.0, 320.0]), np.array([0.1, 1.6])
    assert curves.locate_changes([(16, "pruned"), (31, "later")], *known) == [curves.RunMark(16, 320.0, 1.6, "pruned")]
    assert curves.locate_changes([(6, "between two points")], *known) == [
        curves.RunMark(6, 120.0, 0.6, "between two points")
    ]
    assert curves.locate_changes([(6, "before the first")], *(column[:0] for column in known)) == []
