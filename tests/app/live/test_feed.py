"""What is new in the store reaches every session once, in order, and a rewound run is drawn anew."""

import threading

import feed_samples as samples
import numpy as np
import pytest
from store_samples import flip_snapshot

from topiary.app.analysis import topic_reader as readers
from topiary.app.live.actions import Actions
from topiary.app.live.cache import History
from topiary.app.live.feed import Feed, Tick
from topiary.store import events, notes, runs, snapshots
from topiary.store.database import open_database
from topiary.store.points import Point


class Session:
    """Keeps calls until the test runs them, as a busy session would."""

    def __init__(self):
        self.waiting = []

    def ring(self, call):
        self.waiting.append(call)

    def turn(self):
        waiting, self.waiting = self.waiting, []
        for callback in waiting:
            callback()


@pytest.fixture
def reader(db):
    database = open_database(db.url, readonly=True)
    yield database
    database.close()


@pytest.fixture
def feed(reader):
    made = Feed(reader)
    yield made
    made.stop()


def look(feed):
    """One look at the store, in this thread."""
    feed.look_now()


def test_the_first_look_finds_every_run_newest_first(db, feed):
    first, second = samples.run(db), samples.run(db)
    look(feed)
    assert [row.number for row in feed.runs()] == [second.number, first.number]
    assert feed.ready.is_set()


def test_points_come_once_and_in_order(db, feed):
    row = samples.run(db)
    samples.beat(db, row, 1, 3)
    look(feed)
    history = feed.history(row.number)
    samples.beat(db, row, 3, 6)
    look(feed)
    look(feed)
    assert history.after("point_perplexity").minibatches.tolist() == [1, 2, 3, 4, 5]
    assert history.after("point_perplexity", 0, 3).minibatches.tolist() == [4, 5]
    assert history.after("point_perplexity", 0, 5).value.tolist() == []


def test_a_resumed_run_gets_a_new_history_without_what_was_taken_back(db, feed):
    row = samples.run(db)
    samples.beat(db, row, 1, 6)
    look(feed)
    old = feed.history(row.number)
    runs.finish_run(db, row.number, row.attempt, "stopped")
    again = runs.claim_run(db, row.number, samples.ME)
    samples.beat(db, again, 1, 3)
    look(feed)
    new = feed.history(row.number)
    assert new.epoch != old.epoch
    assert new.after("point_perplexity").minibatches.tolist() == [1, 2]


def test_the_small_curve_of_a_run_that_ends_has_its_last_point(db, feed):
    """It is read now and then while the run trains, and nothing of the run changes after its end."""
    row = samples.run(db)
    samples.beat(db, row, 1, 3)
    look(feed)
    assert feed.spark(row.number) == (99.0, 98.0)
    samples.beat(db, row, 3, 4)
    look(feed)
    runs.finish_run(db, row.number, row.attempt, "finished")
    look(feed)
    assert feed.spark(row.number) == (99.0, 98.0, 97.0)


def test_a_session_hears_which_runs_changed_and_only_those(db, feed):
    quiet, busy = samples.run(db), samples.run(db)
    for row in (quiet, busy):
        runs.finish_run(db, row.number, row.attempt, "stopped")
    look(feed)
    session, on_message = Session(), []
    feed.subscribe(session.ring, on_message.append)
    runs.rename_run(db, busy.number, "renamed")
    look(feed)
    session.turn()
    assert on_message == [Tick(rows=frozenset({busy.number}))]


def test_nothing_new_wakes_nobody_when_nothing_trains(db, feed):
    row = samples.run(db)
    runs.finish_run(db, row.number, row.attempt, "stopped")
    look(feed)
    session = Session()
    feed.subscribe(session.ring, lambda tick: None)
    look(feed)
    look(feed)
    assert session.waiting == []


def test_a_slow_session_gets_what_it_missed_in_one_piece(db, feed):
    rows = [samples.run(db) for _ in range(3)]
    for row in rows:
        runs.finish_run(db, row.number, row.attempt, "stopped")
    look(feed)
    session, on_message = Session(), []
    feed.subscribe(session.ring, on_message.append)
    for row in rows:
        runs.rename_run(db, row.number, "other")
        look(feed)
    assert len(session.waiting) == 1
    session.turn()
    assert on_message == [Tick(rows=frozenset(row.number for row in rows))]


def test_a_session_that_ended_hears_nothing(db, feed):
    session = Session()
    end = feed.subscribe(session.ring, lambda tick: None)
    end()
    samples.run(db)
    look(feed)
    assert session.waiting == []


def test_a_run_that_was_deleted_is_forgotten(db, feed):
    row = samples.run(db)
    samples.beat(db, row, 1, 3)
    look(feed)
    feed.history(row.number)
    runs.finish_run(db, row.number, row.attempt, "stopped")
    runs.delete_run(db, row.number)
    session, on_message = Session(), []
    feed.subscribe(session.ring, on_message.append)
    look(feed)
    session.turn()
    assert on_message[0].rows == {row.number}
    assert feed.run(row.number) is None
    assert feed.get_cached_history(row.number) is None


def test_the_newest_frame_is_ready_before_a_live_session_hears_of_it(db, feed):
    row = samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 1, 1.0, samples.arrays(1))
    look(feed)
    assert feed.hierarchy(row.number).minibatch == 1
    report = threading.Event()
    seen = []

    def on_message(tick):
        if row.number in tick.snapshots:
            seen.append(feed.get_cached_hierarchy(row.number))
            report.set()

    feed.subscribe(lambda call: call(), on_message)
    snapshots.append_snapshot(db, row.number, row.attempt, 2, 2.0, samples.arrays(2))
    look(feed)
    assert report.wait(timeout=60)
    assert seen[0].minibatch == 2


def test_the_newest_frame_is_not_built_for_a_run_that_nobody_looks_at_any_more(db, feed, monkeypatch):
    row = samples.run(db)
    built, read = [], readers.read_hierarchy
    monkeypatch.setattr(
        readers, "read_hierarchy", lambda db, run, row, words: built.append(row.minibatch) or read(db, run, row, words)
    )
    report = [threading.Event() for _ in range(3)]

    def on_message(tick):
        if row.number in tick.snapshots:
            report[feed.latest(row.number).minibatch].set()

    feed.subscribe(lambda call: call(), on_message)
    feed.hierarchy(row.number)  # looked at before there is anything to see
    for minibatch in (1, 2):
        snapshots.append_snapshot(db, row.number, row.attempt, minibatch, 1.0, samples.arrays(minibatch))
        look(feed)
        assert report[minibatch].wait(timeout=60)
    assert built == [1]


def test_the_words_of_a_corpus_are_read_once_for_all_its_snapshots(db, feed, monkeypatch):
    row = samples.run(db)
    read = []
    monkeypatch.setattr(
        "topiary.app.live.feed.corpora.read_vocabulary", lambda db, number: read.append(number) or samples.WORDS
    )
    for snapshot in range(1, 4):
        snapshots.append_snapshot(db, row.number, row.attempt, snapshot, 1.0, samples.arrays(snapshot))
        feed.hierarchy(row.number)
    assert read == [row.corpus]


def test_a_look_reads_whole_rows_only_of_runs_that_changed(db, feed, monkeypatch):
    rows = [samples.run(db) for _ in range(3)]
    for row in rows[1:]:
        runs.finish_run(db, row.number, row.attempt, "stopped")
    look(feed)
    before = {row.number: row for row in feed.runs()}
    runs.rename_run(db, rows[1].number, "renamed")
    look(feed)
    same = [row.number for row in feed.runs() if row is before[row.number]]
    assert same == [rows[2].number]  # the first one trains: its heartbeat is told anew


def test_one_frame_of_a_snapshot_is_shared_by_all(db, feed):
    row = samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 1, 1.0, samples.arrays(1))
    look(feed)
    assert feed.hierarchy(row.number) is feed.hierarchy(row.number, feed.latest(row.number).number)
    assert feed.hierarchy(row.number, 12345) is None


def test_a_name_given_to_a_topic_reaches_the_frames_in_memory(db, feed):
    row = samples.run(db)
    snapshots.append_snapshot(db, row.number, row.attempt, 1, 1.0, samples.arrays(1))
    look(feed)
    node = feed.hierarchy(row.number).nodes(1)[0]
    notes.set_label(db, row.number, 1, node.column + 1, "roses")
    feed.relabel(row.number)
    assert feed.hierarchy(row.number).name(node) == "roses"


def test_a_store_that_cannot_be_read_is_said_and_survived(db, feed, monkeypatch):
    samples.run(db)
    monkeypatch.setattr("topiary.app.live.feed.RunWatch.look", _refuse)
    look(feed)
    assert feed.trouble.startswith("The store cannot be read at the moment")
    monkeypatch.undo()
    look(feed)
    assert feed.trouble == ""
    assert len(feed.runs()) == 1


def _refuse(_):
    raise OSError("disk gone")


def test_a_history_keeps_series_apart_by_name_and_layer():
    history = History(1, 1)
    history.add([Point(1, 10, 0.5, "step_size_mean", 1, 0.3), Point(1, 10, 0.5, "step_size_mean", 2, 0.1)])
    history.add([Point(2, 20, 1.0, "step_size_mean", 1, float("nan"))])
    assert history.layers("step_size_mean") == [1, 2]
    assert history.length("step_size_mean", 1) == 2
    assert history.after("step_size_mean", 2).value.tolist() == [0.1]
    assert np.isnan(history.last("step_size_mean", 1))
    assert history.last("elbo") is None
    assert history.after("elbo").minibatches.shape == (0,)


def test_a_call_that_got_lost_is_made_again(db, feed, monkeypatch):
    row = samples.run(db)
    runs.finish_run(db, row.number, row.attempt, "stopped")
    look(feed)
    session, on_message = Session(), []
    feed.subscribe(session.ring, on_message.append)
    runs.rename_run(db, row.number, "one")
    look(feed)
    session.waiting.clear()
    monkeypatch.setattr("topiary.app.live.feed.RING_AGAIN", 0.0)
    runs.rename_run(db, row.number, "two")
    look(feed)
    session.turn()
    assert on_message == [Tick(rows=frozenset({row.number}))]


def test_a_damaged_snapshot_is_replaced_by_the_one_before_and_that_is_said_everywhere(db, feed, caplog):
    row = samples.run(db)
    good, bad = (snapshots.append_snapshot(db, row.number, 1, t, 1.0, samples.arrays(t)) for t in (10, 20))
    flip_snapshot(db, bad.number)
    look(feed)
    actions = Actions(db.url, feed)
    assert feed.damage(row.number) == ""
    assert feed.hierarchy(row.number).minibatch == 10
    assert feed.get_cached_hierarchy(row.number).snapshot == good.number
    assert "mini-batch 20 is damaged, so the one before it is used" in feed.damage(row.number)
    feed._aside.shutdown(wait=True)
    told = [each.text for each in events.read_new_events(db, row.number)[0] if each.kind == "damaged"]
    actions.note_damage(row.number, 20, told[0])
    actions.close()
    assert told == [each.text for each in events.read_new_events(db, row.number)[0] if each.kind == "damaged"]
    assert "damaged" in caplog.text


def test_a_store_that_is_deleted_or_replaced_is_noticed_at_the_next_look(db, feed, tmp_path):
    samples.run(db)
    look(feed)
    assert feed.trouble == ""
    (tmp_path / "store.db").rename(tmp_path / "away.db")
    look(feed)
    assert "was deleted or moved away while it was open" in feed.trouble
    (tmp_path / "away.db").rename(tmp_path / "store.db")
    look(feed)
    assert feed.trouble == ""
    (tmp_path / "store.db").unlink()
    open_database(tmp_path / "store.db").close()
    look(feed)
    assert "another store has taken the place of" in feed.trouble
