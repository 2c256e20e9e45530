"""The curves of the watch page: where burn-in ends, and where sweeps follow mini-batches."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from topiary.app.live.cache import History
from topiary.app.pages.curves import WatchCurves
from topiary.app.pages.session import View
from topiary.store.events import RunEvent
from topiary.store.points import Point

BEGIN = 20  # the step where sweeps begin
PROTOCOL = {"documents": 312, "burn_in": 20, "collect": 20, "thin": 1, "observed": 0.8}


@pytest.fixture
def watched():
    """The curves of run 1, of which forty steps are known."""
    history = History(1, 1)
    row = SimpleNamespace(
        number=1, name="", corpus_name="news", model="dlda", layers=(4, 2), settings={"layers": [4, 2]},
        options={"protocol": PROTOCOL}, point_perplexity=1000.0,
    )  # fmt: skip
    feed = SimpleNamespace(
        run=lambda number: row if number == 1 else None,
        runs=lambda: [row],
        state=lambda _: "running",
        get_cached_history=lambda _: history,
    )
    context = SimpleNamespace(
        view=View(page="watch", run=1),
        feed=feed,
        dark=False,
        soon=lambda _: None,
        later=lambda *_: None,
        notify=lambda *_: None,
    )
    for t in range(1, 41):
        at = (t, 10 * t, 0.5 * t)
        history.add([Point(*at, "tokens_per_second", 0, 1e5), Point(*at, "point_perplexity", 0, 1000.0 + 4000 / t**2)])
        if t <= BEGIN:
            history.add([Point(*at, "step_size_mean", layer, 0.1 / t) for layer in (1, 2, 3)])
    return WatchCurves(context, lambda: None)


def event(kind, minibatch=BEGIN):
    return RunEvent(1, 1, minibatch, kind, "the rest of the run", None, datetime.now(UTC))


def test_where_sweeps_begin_both_figures_have_a_mark_that_says_why(watched):
    watched.report_changes([event("started", 0), event("sweeps begin")])
    for chart, words in (
        (watched._perplexity, "from here on sweeps\nover all documents"),
        (watched._steps, "from here on sweeps\nover all documents:\nno step sizes"),
    ):
        marks = chart.marks.data_source.data
        assert (marks["minibatches"], marks["documents"], marks["seconds"]) == ([20], [200.0], [10.0])
        assert marks["label"] == [words]
        assert marks["words"] == [words.replace("\n", " ")]
    assert len(watched._perplexity.sources[0].data["value"]) == 40
    assert len(watched._steps.sources[0].data["value"]) == BEGIN


def test_a_mark_at_the_right_edge_has_no_room_for_words_and_tells_them_when_pointed_at(watched):
    watched.report_changes([event("sweeps begin", 36)])
    marks = watched._steps.marks.data_source.data
    assert marks["label"] == [""]
    assert "no step sizes" in marks["words"][0]


def test_a_run_without_step_sizes_has_no_card_for_them(watched):
    card = watched._cards[1].page
    assert card.visible
    watched._context.feed.get_cached_history = lambda _: History(1, 1)
    watched.choose()
    assert card.visible, "they may still come"
    history = History(1, 1)
    history.add([Point(t, t, t, "active_topics", 1, 4.0) for t in (1.0, 2.0)])
    watched._context.feed.get_cached_history = lambda _: history
    watched.choose()
    assert not card.visible


def test_a_sweep_is_called_a_sweep_from_the_first_moment_and_has_no_card_of_step_sizes(watched):
    assert "Mini-batches" in watched._head.html
    row = watched._context.feed.run(1)
    row.options = {"protocol": PROTOCOL, "sweeps_after": 0}
    watched._context.feed.get_cached_history = lambda _: History(1, 1)
    watched.choose()
    assert not watched._cards[1].page.visible
    assert "Sweeps" in watched._head.html
    assert "ini-batch" not in watched._head.html
    for chart in (watched._perplexity, watched._rate):
        assert chart.figure.xaxis[0].axis_label == "sweeps"
        assert chart.hover.tooltips[1] == ("sweep", "@minibatches{0,0}")


def test_without_such_an_event_there_is_no_mark(watched):
    watched.report_changes([event("started", 0), event("finished", 40)])
    assert watched._steps.marks is None
    assert watched._perplexity.marks is None


def test_the_burn_in_ends_where_the_curve_is_first_near_its_lowest_value(watched):
    assert watched._perplexity.shaded.minibatches == 14  # 1000 + 4000 / 14^2 is the first below 1.02 times 1002.5
    assert watched._perplexity.shade.right == 14


def test_the_head_says_what_the_figure_is_of(watched):
    assert "20 + 20 sweeps, 312 test documents, 80% of each observed." in watched._head.html
