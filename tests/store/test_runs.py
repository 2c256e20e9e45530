import threading

import numpy as np
import pytest
from sqlalchemy import func, select, update
from store_samples import append_points, claimed_run, new_run, write_corpus

from topiary.store import checkpoints, corpora, events, notes, run_rows, runs, snapshots, tables
from topiary.store.database import open_database
from topiary.store.errors import Conflict, LostClaim, NotFound, StoreError
from topiary.store.points import Point

OF_RUNS = (
    tables.points,
    tables.events,
    tables.snapshots,
    tables.checkpoints,
    tables.checkpoint_parts,
    tables.topic_labels,
    tables.runs,
)


def age(db, number, seconds):
    """Let the last heartbeat be so long ago."""
    with db.write() as connection:
        here = tables.runs.c.number == number
        connection.execute(update(tables.runs).where(here).values(heartbeat=tables.runs.c.heartbeat - seconds))


def rows_of_runs(db):
    with db.read() as connection:
        return {table.name: connection.execute(select(func.count()).select_from(table)).scalar() for table in OF_RUNS}


def test_a_new_run_waits_with_everything_it_was_asked_for(db):
    corpus = write_corpus(db)
    row = runs.create_run(
        db,
        corpus=corpus.number,
        model="dlda",
        inference="gibbs",
        layers=[128, 64],
        settings={"eta": 0.05, "bound": float("inf"), "names": ("a", "b")},
        options={"minibatches": 3500, "averaged": True},
        seed=2**63 - 1,
        name="try",
    )
    assert runs.get_run(db, row.number) == row
    assert runs.list_runs(db) == [row]
    assert (row.state, row.request, row.attempt, row.minibatch, row.planned) == ("queued", "run", 0, 0, 3500)
    assert (row.corpus, row.corpus_name, row.layers, row.seed) == (corpus.number, "food", (128, 64), 2**63 - 1)
    assert row.settings == {"eta": 0.05, "bound": float("inf"), "names": ["a", "b"]}
    assert row.options == {"minibatches": 3500, "averaged": True}
    assert row.started is row.ended is row.heartbeat_age is row.point_perplexity is None
    assert not row.alive


def test_a_run_needs_a_corpus_and_a_seed_that_fits(db):
    with pytest.raises(NotFound, match="no corpus number 7"):
        new_run(db, 7)
    for seed in (-1, 2**63):
        with pytest.raises(StoreError, match="seed must be"):
            new_run(db, seed=seed)
    with pytest.raises(NotFound, match="no run number 1"):
        runs.get_run(db, 1)


def test_a_claimed_run_trains_and_ends(db):
    row = claimed_run(db)
    assert (row.state, row.attempt, row.process) == ("running", 1, {"pid": 1, "host": "here"})
    assert row.started is not None
    assert row.alive
    assert (
        runs.record_progress(db, row.number, 1, minibatch=5, seconds=2.5, tokens_per_second=1e6, message="training")
        == "run"
    )
    runs.record_progress(db, row.number, 1, minibatch=6, seconds=3.0, point_perplexity=800.0)
    now = runs.get_run(db, row.number)
    assert (now.minibatch, now.seconds, now.tokens_per_second, now.point_perplexity) == (6, 3.0, 1e6, 800.0)
    ended = runs.finish_run(db, row.number, 1, "finished", "done")
    assert (ended.state, ended.message, ended.minibatch) == ("finished", "done", 6)
    assert ended.ended is not None
    with pytest.raises(LostClaim, match="ended already, as finished"):
        runs.finish_run(db, row.number, 1, "failed")


def test_a_failed_run_keeps_message_and_traceback_until_it_is_claimed_again(db):
    row = claimed_run(db)
    failed = runs.finish_run(db, row.number, 1, "failed", "out of \x00 beans", "Traceback \ud800")
    assert (failed.message, failed.traceback) == ("out of \ufffd beans", "Traceback ?")
    again = runs.claim_run(db, row.number, {"pid": 2})
    assert (again.state, again.attempt, again.message, again.traceback, again.ended) == ("running", 2, "", "", None)
    assert again.started == failed.started


@pytest.mark.parametrize("state", ["paused", "stopped", "failed"])
def test_ended_runs_can_be_claimed_at_once_or_queued_again(db, state):
    row = claimed_run(db)
    runs.send_request(db, row.number, "stop")
    runs.finish_run(db, row.number, 1, state)
    queued = runs.requeue_run(db, row.number)
    assert (queued.state, queued.request, queued.attempt, queued.ended) == ("queued", "run", 1, None)
    assert runs.claim_run(db, row.number, {}).attempt == 2
    runs.send_request(db, row.number, "pause")
    runs.finish_run(db, row.number, 2, state)
    assert runs.claim_run(db, row.number, {}).request == "run"


def test_a_finished_run_is_final(db):
    row = claimed_run(db)
    runs.finish_run(db, row.number, 1, "finished")
    for action in (lambda: runs.claim_run(db, row.number, {}, force=True), lambda: runs.requeue_run(db, row.number)):
        with pytest.raises(Conflict, match="is finished"):
            action()
    with pytest.raises(Conflict, match="is finished, so it cannot be asked to stop"):
        runs.send_request(db, row.number, "stop")


def test_a_living_run_is_not_claimed_a_silent_one_is(db):
    row = claimed_run(db)
    with pytest.raises(Conflict, match="already being trained by process 1 on here"):
        runs.claim_run(db, row.number, {"pid": 2})
    with pytest.raises(Conflict, match="is running"):
        runs.requeue_run(db, row.number)
    assert runs.claim_run(db, row.number, {"pid": 2}, force=True).attempt == 2
    age(db, row.number, run_rows.STALE_SECONDS + 1)
    assert runs.get_run(db, row.number).heartbeat_age > run_rows.STALE_SECONDS
    assert runs.claim_run(db, row.number, {"pid": 3}).attempt == 3


def test_a_run_is_given_up_only_when_nobody_trains_it_and_once(db):
    row = claimed_run(db)
    with pytest.raises(Conflict, match="being trained by process 1 on here"):
        runs.abandon_run(db, row.number, "stopped", "")
    with pytest.raises(StoreError, match="ends as"):
        runs.abandon_run(db, row.number, "running", "", force=True)
    age(db, row.number, run_rows.STALE_SECONDS + 1)
    given_up = runs.abandon_run(db, row.number, "paused", "lost")
    assert (given_up.state, given_up.attempt, given_up.message) == ("paused", 2, "lost")
    assert given_up.ended is not None
    with pytest.raises(Conflict, match="ended already, as paused"):
        runs.abandon_run(db, row.number, "stopped", "")


def test_a_silent_run_queued_again_refuses_its_old_worker(db):
    row = claimed_run(db)
    age(db, row.number, run_rows.STALE_SECONDS + 1)
    assert runs.requeue_run(db, row.number).state == "queued"
    with pytest.raises(LostClaim):
        runs.record_progress(db, row.number, 1, minibatch=1, seconds=1.0)


def test_the_heartbeat_is_the_databases_and_its_age_is_computed_on_reading(db):
    row = claimed_run(db)
    age(db, row.number, 7.0)
    assert 7.0 <= runs.get_run(db, row.number).heartbeat_age < 60
    runs.record_progress(db, row.number, 1, minibatch=1, seconds=1.0)
    assert runs.get_run(db, row.number).heartbeat_age < 7.0
    age(db, row.number, -100.0)
    assert runs.get_run(db, row.number).heartbeat_age == 0.0


def test_every_write_of_a_worker_is_a_sign_of_life(db):
    row = claimed_run(db)
    for write in (
        lambda: snapshots.append_snapshot(db, row.number, 1, 1, 1.0, {}),
        lambda: checkpoints.save_checkpoint(db, row.number, 1, 1, 1.0, {}, {}),
        lambda: append_points(db, row.number, 1, []),
        lambda: events.append_event(db, row.number, 1, 1, "started"),
    ):
        age(db, row.number, 100.0)
        write()
        assert runs.get_run(db, row.number).alive


def test_a_wish_reaches_the_worker_at_its_next_beat(db):
    row = claimed_run(db)
    for request in ("pause", "run", "stop"):
        assert runs.send_request(db, row.number, request).request == request
        assert runs.record_progress(db, row.number, 1, minibatch=1, seconds=1.0) == request
    with pytest.raises(StoreError, match="not to 'dance'"):
        runs.send_request(db, row.number, "dance")


def test_a_wish_to_stop_a_waiting_run_is_still_there_when_it_is_claimed(db):
    row = new_run(db)
    runs.send_request(db, row.number, "stop")
    assert runs.claim_run(db, row.number, {}).request == "stop"


def test_a_paused_run_asked_to_stop_is_stopped_at_once(db):
    row = claimed_run(db)
    runs.finish_run(db, row.number, 1, "paused")
    assert runs.send_request(db, row.number, "stop").state == "stopped"


def test_a_zombie_writes_nothing(db):
    row = claimed_run(db)
    runs.record_progress(db, row.number, 1, minibatch=4, seconds=1.0, points=[Point(4, 40, 1.0, "elbo", 0, -1.0)])
    checkpoints.save_checkpoint(db, row.number, 1, 4, 1.0, {}, {})
    runs.claim_run(db, row.number, {"pid": 2}, force=True)
    before = rows_of_runs(db), runs.get_run(db, row.number).minibatch
    point = Point(9, 90, 2.0, "elbo", 0, -1.0)
    for write in (
        lambda: runs.record_progress(db, row.number, 1, minibatch=9, seconds=9.0, points=[point]),
        lambda: runs.finish_run(db, row.number, 1, "finished"),
        lambda: append_points(db, row.number, 1, [point]),
        lambda: events.append_event(db, row.number, 1, 9, "finished"),
        lambda: snapshots.append_snapshot(db, row.number, 1, 9, 9.0, {}),
        lambda: checkpoints.save_checkpoint(db, row.number, 1, 9, 9.0, {}, {}),
    ):
        with pytest.raises(LostClaim, match=f"attempt 1 of run {row.number} was replaced"):
            write()
    assert (rows_of_runs(db), runs.get_run(db, row.number).minibatch) == before
    assert runs.get_run(db, row.number).state == "running"


def test_a_run_is_renamed(db):
    row = new_run(db)
    assert runs.rename_run(db, row.number, "  a better name ").name == "a better name"
    with pytest.raises(NotFound):
        runs.rename_run(db, 99, "x")


def test_a_deleted_run_leaves_nothing(db, monkeypatch):
    keep = claimed_run(db)
    gone = claimed_run(db)
    for row in (keep, gone):
        snapshots.append_snapshot(db, row.number, 1, 1, 1.0, {})
        checkpoints.save_checkpoint(db, row.number, 1, 1, 1.0, {}, {})
        append_points(db, row.number, 1, [Point(i, i, 1.0, "elbo", 0, 1.0) for i in range(7)])
        events.append_event(db, row.number, 1, 1, "started")
        notes.set_label(db, row.number, 1, 1, "name")
    whole = rows_of_runs(db)
    with pytest.raises(Conflict, match="is training"):
        runs.delete_run(db, gone.number)
    runs.finish_run(db, gone.number, 1, "stopped")
    monkeypatch.setattr(
        "topiary.store.run_rows._PARTS", ((tables.points, "number", 2), (tables.snapshots, "number", 1))
    )
    runs.delete_run(db, gone.number)
    assert rows_of_runs(db) == {name: count // 2 for name, count in whole.items()}
    assert [row.number for row in runs.list_runs(db)] == [keep.number]
    with pytest.raises(NotFound):
        runs.delete_run(db, gone.number)
    with pytest.raises(LostClaim):
        runs.record_progress(db, gone.number, 1, minibatch=1, seconds=1.0)


def test_a_deletion_killed_half_way_is_finished_by_the_next(db):
    first, second = new_run(db), new_run(db)
    with db.write() as connection:
        connection.execute(update(tables.runs).where(tables.runs.c.number == first.number).values(state="deleted"))
    assert [row.number for row in runs.list_runs(db)] == [second.number]
    runs.delete_run(db, second.number)
    assert rows_of_runs(db)["runs"] == 0
    corpora.delete_corpus(db, first.corpus)


def test_numbers_of_deleted_runs_are_not_given_again(db):
    first = new_run(db)
    runs.delete_run(db, first.number)
    assert new_run(db).number > first.number


def test_labels_are_given_changed_and_taken_away(db):
    run = new_run(db).number
    notes.set_label(db, run, 1, 17, "space")
    notes.set_label(db, run, 1, 17, "spacecraft ")
    notes.set_label(db, run, 2, 1, "science")
    assert notes.read_remarks(db, run).names == {(1, 17): "spacecraft", (2, 1): "science"}
    notes.set_label(db, run, 1, 17, "")
    assert notes.read_remarks(db, run).names == {(2, 1): "science"}
    with pytest.raises(NotFound):
        notes.set_label(db, 99, 1, 1, "x")


ARRAYS = {"phi.0": np.full((6, 4), 1 / 6), "r": np.ones(4), "model.t": np.array(20)}


@pytest.fixture
def parent(db):
    """A run with snapshots at mini-batches 10, 20 and 30, and a named topic."""
    row = claimed_run(db)
    for minibatch in (10, 20, 30):
        snapshots.append_snapshot(db, row.number, 1, minibatch, 1.0, ARRAYS | {"r": np.full(4, float(minibatch))})
    notes.set_label(db, row.number, 1, 3, "cheese")
    return row


def fork(db, parent, minibatch=20):
    return new_run(db, parent.corpus, fork=snapshots.find_snapshot(db, parent.number, minibatch).number)


def test_the_snapshot_at_or_before_a_minibatch_is_found(db, parent):
    found = [snapshots.find_snapshot(db, parent.number, minibatch) for minibatch in (9, 10, 29, 99)]
    assert [row and row.minibatch for row in found] == [None, 10, 20, 30]


def test_a_run_that_is_no_fork_has_no_parent(db, parent):
    assert (parent.parent, parent.parent_snapshot, parent.parent_minibatch) == (None, None, None)


def test_a_fork_begins_with_a_copy_of_the_snapshot_and_the_names_of_its_topics(db, parent):
    child = fork(db, parent)
    number = snapshots.find_snapshot(db, parent.number, 20).number
    assert (child.parent, child.parent_snapshot, child.parent_minibatch) == (parent.number, number, 20)
    (first,) = snapshots.list_snapshots(db, child.number)
    assert (first.minibatch, first.seconds) == (0, 0.0)
    arrays = snapshots.load_snapshot(db, first.number)
    assert arrays["r"].tolist() == [20] * 4
    assert list(arrays) == list(ARRAYS)
    assert notes.read_remarks(db, child.number).names == {(1, 3): "cheese"}


def test_a_fork_outlives_the_thinning_and_the_deletion_of_its_parent(db, parent):
    child = fork(db, parent)
    runs.finish_run(db, parent.number, 1, "stopped")
    runs.delete_run(db, parent.number)
    left = runs.get_run(db, child.number)
    assert (left.parent, left.parent_minibatch) == (parent.number, 20)
    assert snapshots.load_snapshot(db, snapshots.find_latest(db, child.number).number)["r"].tolist() == [20] * 4
    assert new_run(db, parent.corpus).number > child.number, "the number of a parent that is gone is not given again"


def test_being_claimed_again_and_again_a_fork_keeps_its_first_snapshot_until_and_after_its_checkpoint(db, parent):
    child = fork(db, parent).number
    for attempt in (1, 2):
        runs.claim_run(db, child, {"pid": attempt}, force=True)
        snapshots.append_snapshot(db, child, attempt, 5, 1.0, ARRAYS)
    runs.claim_run(db, child, {"pid": 3}, force=True)
    assert [row.minibatch for row in snapshots.list_snapshots(db, child)] == [0]
    snapshots.append_snapshot(db, child, 3, 5, 1.0, ARRAYS)
    checkpoints.save_checkpoint(db, child, 3, 5, 1.0, {}, {})
    snapshots.append_snapshot(db, child, 3, 6, 1.0, ARRAYS)
    runs.claim_run(db, child, {"pid": 4}, force=True)
    assert [row.minibatch for row in snapshots.list_snapshots(db, child)] == [0, 5]


def test_a_long_run_keeps_the_snapshot_it_was_forked_from(db, parent):
    child = fork(db, parent).number
    runs.claim_run(db, child, {"pid": 1})
    for minibatch in range(1, 2000, 7):
        snapshots.append_snapshot(db, child, 1, minibatch, 1.0, {})
    kept = [row.minibatch for row in snapshots.list_snapshots(db, child)]
    assert kept[0] == 0
    assert len(kept) < 200


def test_a_snapshot_that_is_gone_or_of_another_corpus_is_refused_and_leaves_no_run(db, parent):
    with pytest.raises(NotFound, match="fork from the run's latest one"):
        new_run(db, parent.corpus, fork=99)
    with pytest.raises(Conflict, match="another corpus"):
        new_run(db, write_corpus(db, "other").number, fork=snapshots.find_latest(db, parent.number).number)
    assert [row.number for row in runs.list_runs(db)] == [parent.number]


def test_a_line_of_forks_is_one_family_though_some_of_it_are_gone(db, parent):
    child = fork(db, parent)
    grandchild, stranger = fork(db, child), new_run(db, parent.corpus)
    runs.claim_run(db, child.number, {"pid": 1})
    runs.finish_run(db, child.number, 1, "stopped")
    runs.delete_run(db, child.number)
    found = {row.number: row.family for row in runs.list_runs(db)}
    assert found == dict.fromkeys((parent.number, grandchild.number), parent.number) | {
        stranger.number: stranger.number
    }


def test_deleting_a_fork_leaves_its_parent_as_it_was(db, parent):
    runs.delete_run(db, fork(db, parent).number)
    assert [row.minibatch for row in snapshots.list_snapshots(db, parent.number)] == [10, 20, 30]
    assert notes.read_remarks(db, parent.number).names == {(1, 3): "cheese"}


def numbers(rows):
    return [row.number for row in rows]


@pytest.fixture
def five(db):
    return [new_run(db).number for _ in range(5)]


def test_runs_wait_in_the_order_of_their_numbers(db, five):
    claimed_run(db)
    assert numbers(runs.list_waiting(db)) == five


def test_a_run_is_moved_first_last_and_before_another(db, five):
    a, b, c, d, e = five
    assert numbers(runs.move_run(db, d)) == [d, a, b, c, e]
    assert numbers(runs.move_run(db, a, last=True)) == [d, b, c, e, a]
    assert numbers(runs.move_run(db, e, before=b)) == [d, e, b, c, a]
    assert numbers(runs.move_run(db, d, before=e)) == [d, e, b, c, a]
    assert numbers(runs.list_waiting(db)) == [d, e, b, c, a]


def test_later_runs_wait_behind_all_that_were_moved(db, five):
    runs.move_run(db, five[0], last=True)
    later = new_run(db).number
    assert numbers(runs.list_waiting(db)) == [*five[1:], five[0], later]


def test_places_that_became_the_same_are_told_apart_again(db, five):
    a, b, c, d, e = five
    runs.move_run(db, e)  # e has the place of a, and so on
    row = runs.claim_run(db, a, {"pid": 1})
    runs.finish_run(db, a, row.attempt, "paused")
    runs.requeue_run(db, a)  # back at its own number, where e is now
    assert numbers(runs.list_waiting(db)) == [a, e, b, c, d]
    assert numbers(runs.move_run(db, d, before=e)) == [a, d, e, b, c]
    assert numbers(runs.move_run(db, c, before=d)) == [a, c, d, e, b]


def test_only_queued_runs_are_put_in_an_order(db, five):
    training = claimed_run(db).number
    with pytest.raises(Conflict, match=f"run {training} is running; only queued runs"):
        runs.move_run(db, training)
    with pytest.raises(Conflict, match=f"run {training} is running"):
        runs.move_run(db, five[0], before=training)
    with pytest.raises(Conflict, match="before itself"):
        runs.move_run(db, five[0], before=five[0])
    with pytest.raises(NotFound):
        runs.move_run(db, 99)
    assert numbers(runs.list_waiting(db)) == five


def test_a_group_has_the_number_of_its_first_run(db):
    first = new_run(db, group=0)
    second = new_run(db, first.corpus, group=first.number)
    assert first.run_group == second.run_group == first.number
    assert new_run(db, first.corpus).run_group is None


def advance_run(db, run):
    row = runs.claim_run(db, run, {})
    runs.record_progress(db, run, row.attempt, minibatch=5, seconds=1.0, message="training")
    return row


def test_a_run_gives_way_to_runs_of_its_group_that_have_not_begun(db):
    first = new_run(db, group=0)
    others = [new_run(db, first.corpus, group=first.number).number for _ in range(2)]
    later = new_run(db, first.corpus).number
    row = advance_run(db, first.number)
    assert runs.give_way(db, first.number, row.attempt, "readable")
    assert numbers(runs.list_waiting(db)) == [*others, first.number, later]
    row = advance_run(db, others[0])
    assert runs.give_way(db, others[0], row.attempt, "readable")
    assert numbers(runs.list_waiting(db)) == [others[1], first.number, others[0], later]
    row = advance_run(db, others[1])
    assert not runs.give_way(db, others[1], row.attempt, "readable"), "no other waits for its first step"
    assert runs.get_run(db, others[1]).state == "running"


def test_a_run_that_is_asked_to_pause_does_not_give_way(db):
    first = new_run(db, group=0)
    new_run(db, first.corpus, group=first.number)
    row = advance_run(db, first.number)
    runs.send_request(db, first.number, "pause")
    assert not runs.give_way(db, first.number, row.attempt, "readable")


def unleased(rows):
    return [row.number for row in rows if row.state == "queued" and row.lease_left is None]


def test_a_lease_is_taken_once_by_many_and_ends_with_the_claim(db, five):
    taken, others = [], [open_database(db.url) for _ in range(3)]

    def take(other):
        taken.extend(runs.lease_runs(other, unleased, 60.0))

    threads = [threading.Thread(target=take, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert sorted(taken) == five
    runs.record_starter(db, five[0], {"pid": 7, "host": "here"})
    row = runs.get_run(db, five[0])
    assert row.starter == {"pid": 7, "host": "here"}
    assert 0 < row.lease_left <= 60
    row = runs.claim_run(db, five[0], {"pid": 7})
    assert (row.lease_left, row.starter) == (None, {})
    runs.record_starter(db, five[0], {"pid": 7})  # it was quicker than the program that started it
    assert runs.get_run(db, five[0]).starter == {}
    runs.release_lease(db, five[1])
    assert runs.lease_runs(db, unleased, 60.0) == [five[1]]
    with db.write() as connection:
        connection.execute(update(tables.runs).values(lease=tables.runs.c.lease - 90))
    assert -91 < runs.get_run(db, five[1]).lease_left < -29


def test_a_run_that_is_queued_again_has_no_lease(db, five):
    runs.lease_runs(db, unleased, 60.0)
    runs.abandon_run(db, five[0], "paused", "")
    assert runs.requeue_run(db, five[0]).lease_left is None
