"""What a session does with work done elsewhere, and shows for a run or a snapshot that is not there; no browser."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import feed_samples
import pytest

from topiary.app.live.feed import find_usual_run
from topiary.app.pages.session import ANOTHER_RUN, View
from topiary.app.server import visit
from topiary.app.server.visit import PAUSE, SessionShell
from topiary.app.views.top_bar import NAMES
from topiary.store import runs, snapshots


class Visit:
    """A session in which a piece of work has ended."""

    def __init__(self) -> None:
        self.report: list[str] = []
        self.planned: list[tuple[float, Any]] = []
        self.shell = SimpleNamespace(
            _loop=SimpleNamespace(call_later=lambda seconds, _, call: self.planned.append((seconds, call))),
            _next=None,
            _report=("", 0.0),
            notify=lambda sentence, _: self.report.append(sentence),
        )

    def end(self, result: Any, then: Any = None, failed: Any = None) -> None:
        future: Future[Any] = Future()
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
        SessionShell._finish(self.shell, then, failed, future)  # type: ignore[arg-type]


def test_the_result_goes_on_and_nothing_is_planned() -> None:
    visit, got = Visit(), []
    visit.end(3, got.append, lambda: None)
    assert (got, visit.report, visit.planned) == ([3], [], [])


def test_an_error_is_told_and_the_next_attempt_is_some_seconds_away() -> None:
    visit, again = Visit(), lambda: None
    visit.end(OSError("the disk was away"), failed=again)
    assert (visit.report, visit.planned) == (["the disk was away"], [(PAUSE, again)])


def test_attempts_that_go_on_do_not_say_the_same_again_and_clicks_do() -> None:
    visit = Visit()
    for _ in range(3):
        visit.end(OSError("away"), failed=lambda: None)
    visit.end(OSError("gone"), failed=lambda: None)
    for _ in range(2):
        visit.end(OSError("gone"))
    assert visit.report == ["away", "gone", "gone", "gone"]
    assert len(visit.planned) == 4


def test_what_nobody_wrote_a_sentence_for_goes_to_the_log_and_is_tried_again() -> None:
    visit = Visit()
    with pytest.raises(ZeroDivisionError):
        visit.end(ZeroDivisionError(), failed=lambda: None)
    assert (visit.report, len(visit.planned)) == ([], 1)


def test_work_that_was_given_up_is_no_error() -> None:
    visit, future = Visit(), Future()
    future.cancel()
    SessionShell._finish(visit.shell, None, lambda: None, future)  # type: ignore[arg-type]
    assert (visit.report, visit.planned) == ([], [])


@pytest.mark.parametrize(
    ("page", "tab", "then"),
    [
        ("explore", "layer", ""),
        ("explore", "layer-wide", "wide"),
        ("documents", "between", "between"),
        ("guide", "a-layer--by-hand", "a-layer--by-hand"),
    ],
)
def test_the_chooser_of_runs_forgets_the_layer_that_was_chosen_of_another_and_leaves_the_page_as_it_is(
    page: str, tab: str, then: str
) -> None:
    view = View(page=page, run=1, layer=2, tab=tab)
    SessionShell._on_bar(SimpleNamespace(view=view), {"do": "run", "value": "2"})  # type: ignore[arg-type]
    assert (view.page, view.run, view.layer, view.tab) == (page, 2, 1, then)


@pytest.fixture
def two(db, feed):
    """Numbers of two finished runs."""
    rows = [feed_samples.run(db) for _ in range(2)]
    for row in rows:
        runs.finish_run(db, row.number, row.attempt, "finished")
    feed.look_now()
    return [row.number for row in rows]


def test_a_run_that_is_there_stays(feed, two):
    assert visit.replace_run(feed, two[0], "watch") == visit.Fallback({})


def test_a_page_about_a_missing_run_stays_and_only_a_page_that_needs_none_goes_on_with_the_newest(feed, two):
    assert visit.is_missing(feed, 999)
    assert not any(visit.is_missing(feed, run) for run in (0, *two))
    assert visit.replace_run(feed, 999, "watch") == visit.Fallback({})
    assert visit.replace_run(feed, 999, "runs").fields == ANOTHER_RUN | {"run": two[1]}


def test_a_run_that_trains_is_the_usual_one(db, feed, two):
    runs.finish_run(db, (older := feed_samples.run(db)).number, older.attempt, "finished")
    training = feed_samples.run(db)
    runs.finish_run(db, (newest := feed_samples.run(db)).number, newest.attempt, "finished")
    feed.look_now()
    assert find_usual_run(feed) == training.number


def test_an_address_that_says_nothing_opens_explore_once_the_usual_run_has_ended_with_topics(db, feed):
    feed.look_now()
    assert visit.choose_first_view(feed) == {}
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 1.0, feed_samples.arrays(1))
    feed.look_now()
    assert visit.choose_first_view(feed) == {}  # it trains: Watch
    runs.finish_run(db, row.number, row.attempt, "finished")
    feed.look_now()
    assert visit.choose_first_view(feed) == {"page": "explore"}
    bare = feed_samples.run(db)
    runs.finish_run(db, bare.number, bare.attempt, "failed")
    feed.look_now()
    assert visit.choose_first_view(feed) == {}  # the newest run, which has no topics


def test_only_a_store_without_a_run_has_nothing_to_show_and_only_on_pages_of_a_run(db, feed):
    feed.look_now()
    lacking = [page for page in NAMES if visit.lacks_runs(feed, 0, page)]
    assert lacking == ["watch", "explore", "steer", "classes", "compare", "seeds", "trends", "word", "documents"]
    assert not visit.lacks_runs(feed, 1, "watch")  # started a moment ago: the feed has not looked again
    feed_samples.run(db)
    feed.look_now()
    assert not visit.lacks_runs(feed, 0, "watch")


def test_a_link_without_a_run_keeps_what_else_it_says(feed, two):
    assert visit.replace_run(feed, 0, "explore") == visit.Fallback({"run": two[1]})


@pytest.mark.parametrize(("page", "shown"), [("watch", "runs"), ("explore", "runs"), ("guide", "guide")])
def test_without_runs_the_runs_page_says_what_to_do(feed, page, shown):
    feed.look_now()
    fields = {"page": page} | visit.replace_run(feed, 7, page).fields
    assert (fields["page"], fields["run"]) == (shown, 0)


def test_a_run_that_the_feed_has_not_seen_yet_is_not_missing(db, feed, two):
    fresh = feed_samples.run(db)
    assert feed.run(fresh.number) is None
    assert visit.replace_run(feed, fresh.number, "watch") == visit.Fallback({})


def test_a_missing_snapshot_gives_way_to_the_newest(db, feed):
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 1.0, feed_samples.arrays(1))
    (kept,) = snapshots.list_snapshots(db, row.number)
    assert visit.replace_snapshot(feed, row.number, kept.number) == visit.Fallback({})
    instead = visit.replace_snapshot(feed, row.number, 77777)
    assert instead.fields == {"snapshot": 0}
    assert "no such snapshot" in instead.sentence
