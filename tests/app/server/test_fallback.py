"""What is shown instead of a run or a snapshot that is not there."""

import feed_samples
import pytest

from topiary.app.live.feed import find_usual_run
from topiary.app.pages.session import ANOTHER_RUN
from topiary.app.server import fallback
from topiary.app.views.top_bar import NAMES
from topiary.store import runs, snapshots


@pytest.fixture
def two(db, feed):
    """Numbers of two finished runs."""
    rows = [feed_samples.run(db) for _ in range(2)]
    for row in rows:
        runs.finish_run(db, row.number, row.attempt, "finished")
    feed.look_now()
    return [row.number for row in rows]


def test_a_run_that_is_there_stays(feed, two):
    assert fallback.replace_run(feed, two[0], "watch") == fallback.Fallback({})


def test_a_page_about_a_missing_run_stays_and_only_a_page_that_needs_none_goes_on_with_the_newest(feed, two):
    assert fallback.is_missing(feed, 999)
    assert not any(fallback.is_missing(feed, run) for run in (0, *two))
    assert fallback.replace_run(feed, 999, "watch") == fallback.Fallback({})
    assert fallback.replace_run(feed, 999, "runs").fields == ANOTHER_RUN | {"run": two[1]}


def test_a_run_that_trains_is_the_usual_one(db, feed, two):
    runs.finish_run(db, (older := feed_samples.run(db)).number, older.attempt, "finished")
    training = feed_samples.run(db)
    runs.finish_run(db, (newest := feed_samples.run(db)).number, newest.attempt, "finished")
    feed.look_now()
    assert find_usual_run(feed) == training.number


def test_an_address_that_says_nothing_opens_explore_once_the_usual_run_has_ended_with_topics(db, feed):
    feed.look_now()
    assert fallback.choose_first_view(feed) == {}
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 1.0, feed_samples.arrays(1))
    feed.look_now()
    assert fallback.choose_first_view(feed) == {}  # it trains: Watch
    runs.finish_run(db, row.number, row.attempt, "finished")
    feed.look_now()
    assert fallback.choose_first_view(feed) == {"page": "explore"}
    bare = feed_samples.run(db)
    runs.finish_run(db, bare.number, bare.attempt, "failed")
    feed.look_now()
    assert fallback.choose_first_view(feed) == {}  # the newest run, which has no topics


def test_only_a_store_without_a_run_has_nothing_to_show_and_only_on_pages_of_a_run(db, feed):
    feed.look_now()
    lacking = [page for page in NAMES if fallback.lacks_runs(feed, 0, page)]
    assert lacking == ["watch", "explore", "steer", "classes", "compare", "seeds", "trends", "word", "documents"]
    assert not fallback.lacks_runs(feed, 1, "watch")  # started a moment ago: the feed has not looked again
    feed_samples.run(db)
    feed.look_now()
    assert not fallback.lacks_runs(feed, 0, "watch")


def test_a_link_without_a_run_keeps_what_else_it_says(feed, two):
    assert fallback.replace_run(feed, 0, "explore") == fallback.Fallback({"run": two[1]})


@pytest.mark.parametrize(("page", "shown"), [("watch", "runs"), ("explore", "runs"), ("guide", "guide")])
def test_without_runs_the_runs_page_says_what_to_do(feed, page, shown):
    feed.look_now()
    fields = {"page": page} | fallback.replace_run(feed, 7, page).fields
    assert (fields["page"], fields["run"]) == (shown, 0)


def test_a_run_that_the_feed_has_not_seen_yet_is_not_missing(db, feed, two):
    fresh = feed_samples.run(db)
    assert feed.run(fresh.number) is None
    assert fallback.replace_run(feed, fresh.number, "watch") == fallback.Fallback({})


def test_a_missing_snapshot_gives_way_to_the_newest(db, feed):
    row = feed_samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 1.0, feed_samples.arrays(1))
    (kept,) = snapshots.list_snapshots(db, row.number)
    assert fallback.replace_snapshot(feed, row.number, kept.number) == fallback.Fallback({})
    instead = fallback.replace_snapshot(feed, row.number, 77777)
    assert instead.fields == {"snapshot": 0}
    assert "no such snapshot" in instead.sentence
