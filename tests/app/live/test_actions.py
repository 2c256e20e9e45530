"""What a visitor may do to queued and failed runs, and that no store is made in place of one that was deleted."""

import pytest
from process_samples import order, small_corpus

from app.jobs import launcher, process
from app.live.actions import Actions
from app.live.feed import Feed
from store import queue, runs
from store.errors import NotFound


@pytest.fixture
def actions(db, feed, monkeypatch, tmp_path):
    """Actions on a store with a corpus, where no worker starts and logs go to the test's own folder."""
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setattr(launcher, "start", lambda url, run: None)
    small_corpus(db)
    made = Actions(db.url, feed)
    yield made
    made.close()


def test_queued_runs_are_moved(db, actions):
    first, second, third = (order(db).number for _ in range(3))
    actions.move(third)
    actions.move(first, last=True)
    assert [row.number for row in queue.waiting(db)] == [third, second, first]
    actions.move(first, before=second)
    assert [row.number for row in queue.waiting(db)] == [third, first, second]


def test_a_failed_run_is_ordered_again_with_half_of_its_mini_batches(db, actions):
    row = runs.claim(db, order(db).number, process.identity())
    runs.finish(db, row.number, row.attempt, "failed", "out of memory: use fewer topics")
    new = actions.retry(row.number)
    assert (new.state, new.settings["batch_size"]) == ("queued", row.settings["batch_size"] // 2)


def test_the_log_of_a_run_is_shown_with_its_path(db, actions):
    path = launcher.log_path(db.url, 1)
    assert actions.log(1) == (str(path), [])
    path.parent.mkdir(parents=True)
    path.write_text("one\ntwo\nthree\n")
    assert actions.log(1, 2) == (str(path), ["two", "three"])


def test_no_store_is_made_in_place_of_one_that_was_deleted(db, tmp_path):
    feed = Feed(db)
    actions = Actions(db.url, feed)
    db.close()
    (tmp_path / "store.db").unlink()
    with pytest.raises(NotFound, match="there is no store at"):
        actions.stop(1)
    assert not (tmp_path / "store.db").exists()
    feed.stop()
