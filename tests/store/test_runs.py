import pytest
from sqlalchemy import func, select, update
from store_samples import claimed_run, new_run, write_corpus

from store import checkpoints, corpora, events, labels, points, runs, snapshots, tables
from store.errors import Conflict, LostClaim, NotFound, StoreError
from store.points import Point

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
    row = runs.create(
        db,
        corpus=corpus.number,
        model="dlda",
        inference="gibbs",
        layers=[128, 64],
        settings={"eta": 0.05, "bound": float("inf"), "names": ("a", "b")},
        plan={"minibatches": 3500, "averaged": True},
        seed=2**63 - 1,
        name="try",
    )
    assert runs.get(db, row.number) == row
    assert runs.every(db) == [row]
    assert (row.state, row.wish, row.attempt, row.minibatch, row.planned) == ("queued", "run", 0, 0, 3500)
    assert (row.corpus, row.corpus_name, row.layers, row.seed) == (corpus.number, "food", (128, 64), 2**63 - 1)
    assert row.settings == {"eta": 0.05, "bound": float("inf"), "names": ["a", "b"]}
    assert row.plan == {"minibatches": 3500, "averaged": True}
    assert row.started is row.ended is row.heartbeat_age is row.point_perplexity is None
    assert not row.alive


def test_a_run_needs_a_corpus_and_a_seed_that_fits(db):
    with pytest.raises(NotFound, match="no corpus number 7"):
        new_run(db, 7)
    for seed in (-1, 2**63):
        with pytest.raises(StoreError, match="seed must be"):
            new_run(db, seed=seed)
    with pytest.raises(NotFound, match="no run number 1"):
        runs.get(db, 1)


def test_a_claimed_run_trains_and_ends(db):
    row = claimed_run(db)
    assert (row.state, row.attempt, row.process) == ("running", 1, {"pid": 1, "host": "here"})
    assert row.started is not None
    assert row.alive
    assert runs.beat(db, row.number, 1, minibatch=5, seconds=2.5, tokens_per_second=1e6, message="training") == "run"
    runs.beat(db, row.number, 1, minibatch=6, seconds=3.0, point_perplexity=800.0)
    now = runs.get(db, row.number)
    assert (now.minibatch, now.seconds, now.tokens_per_second, now.point_perplexity) == (6, 3.0, 1e6, 800.0)
    ended = runs.finish(db, row.number, 1, "finished", "done")
    assert (ended.state, ended.message, ended.minibatch) == ("finished", "done", 6)
    assert ended.ended is not None
    with pytest.raises(LostClaim, match="ended already, as finished"):
        runs.finish(db, row.number, 1, "failed")


def test_a_failed_run_keeps_message_and_traceback_until_it_is_claimed_again(db):
    row = claimed_run(db)
    failed = runs.finish(db, row.number, 1, "failed", "out of \x00 beans", "Traceback \ud800")
    assert (failed.message, failed.traceback) == ("out of \ufffd beans", "Traceback ?")
    again = runs.claim(db, row.number, {"pid": 2})
    assert (again.state, again.attempt, again.message, again.traceback, again.ended) == ("running", 2, "", "", None)
    assert again.started == failed.started


@pytest.mark.parametrize("state", ["paused", "stopped", "failed"])
def test_ended_runs_can_be_claimed_at_once_or_queued_again(db, state):
    row = claimed_run(db)
    runs.request(db, row.number, "stop")
    runs.finish(db, row.number, 1, state)
    queued = runs.requeue(db, row.number)
    assert (queued.state, queued.wish, queued.attempt, queued.ended) == ("queued", "run", 1, None)
    assert runs.claim(db, row.number, {}).attempt == 2
    runs.request(db, row.number, "pause")
    runs.finish(db, row.number, 2, state)
    assert runs.claim(db, row.number, {}).wish == "run"


def test_a_finished_run_is_final(db):
    row = claimed_run(db)
    runs.finish(db, row.number, 1, "finished")
    for action in (lambda: runs.claim(db, row.number, {}, force=True), lambda: runs.requeue(db, row.number)):
        with pytest.raises(Conflict, match="is finished"):
            action()
    with pytest.raises(Conflict, match="is finished, so it cannot be asked to stop"):
        runs.request(db, row.number, "stop")


def test_a_living_run_is_not_claimed_a_silent_one_is(db):
    row = claimed_run(db)
    with pytest.raises(Conflict, match="already being trained by process 1 on here"):
        runs.claim(db, row.number, {"pid": 2})
    with pytest.raises(Conflict, match="is running"):
        runs.requeue(db, row.number)
    assert runs.claim(db, row.number, {"pid": 2}, force=True).attempt == 2
    age(db, row.number, runs.STALE_SECONDS + 1)
    assert runs.get(db, row.number).heartbeat_age > runs.STALE_SECONDS
    assert runs.claim(db, row.number, {"pid": 3}).attempt == 3


def test_a_run_is_given_up_only_when_nobody_trains_it_and_once(db):
    row = claimed_run(db)
    with pytest.raises(Conflict, match="being trained by process 1 on here"):
        runs.abandon(db, row.number, "stopped", "")
    with pytest.raises(StoreError, match="ends as"):
        runs.abandon(db, row.number, "running", "", force=True)
    age(db, row.number, runs.STALE_SECONDS + 1)
    given_up = runs.abandon(db, row.number, "paused", "lost")
    assert (given_up.state, given_up.attempt, given_up.message) == ("paused", 2, "lost")
    assert given_up.ended is not None
    with pytest.raises(Conflict, match="ended already, as paused"):
        runs.abandon(db, row.number, "stopped", "")


def test_a_silent_run_queued_again_refuses_its_old_worker(db):
    row = claimed_run(db)
    age(db, row.number, runs.STALE_SECONDS + 1)
    assert runs.requeue(db, row.number).state == "queued"
    with pytest.raises(LostClaim):
        runs.beat(db, row.number, 1, minibatch=1, seconds=1.0)


def test_the_heartbeat_is_the_databases_and_its_age_is_computed_on_reading(db):
    row = claimed_run(db)
    age(db, row.number, 7.0)
    assert 7.0 <= runs.get(db, row.number).heartbeat_age < 60
    runs.beat(db, row.number, 1, minibatch=1, seconds=1.0)
    assert runs.get(db, row.number).heartbeat_age < 7.0
    age(db, row.number, -100.0)
    assert runs.get(db, row.number).heartbeat_age == 0.0


def test_every_write_of_a_worker_is_a_sign_of_life(db):
    row = claimed_run(db)
    for write in (
        lambda: snapshots.append(db, row.number, 1, 1, 1.0, {}),
        lambda: checkpoints.save_checkpoint(db, row.number, 1, 1, 1.0, {}, {}),
        lambda: points.append(db, row.number, 1, []),
        lambda: events.append(db, row.number, 1, 1, "started"),
    ):
        age(db, row.number, 100.0)
        write()
        assert runs.get(db, row.number).alive


def test_a_wish_reaches_the_worker_at_its_next_beat(db):
    row = claimed_run(db)
    for wish in ("pause", "run", "stop"):
        assert runs.request(db, row.number, wish).wish == wish
        assert runs.beat(db, row.number, 1, minibatch=1, seconds=1.0) == wish
    with pytest.raises(StoreError, match="not to 'dance'"):
        runs.request(db, row.number, "dance")


def test_a_wish_to_stop_a_waiting_run_is_still_there_when_it_is_claimed(db):
    row = new_run(db)
    runs.request(db, row.number, "stop")
    assert runs.claim(db, row.number, {}).wish == "stop"


def test_a_paused_run_asked_to_stop_is_stopped_at_once(db):
    row = claimed_run(db)
    runs.finish(db, row.number, 1, "paused")
    assert runs.request(db, row.number, "stop").state == "stopped"


def test_a_zombie_writes_nothing(db):
    row = claimed_run(db)
    runs.beat(db, row.number, 1, minibatch=4, seconds=1.0, points=[Point(4, 40, 1.0, "elbo", 0, -1.0)])
    checkpoints.save_checkpoint(db, row.number, 1, 4, 1.0, {}, {})
    runs.claim(db, row.number, {"pid": 2}, force=True)
    before = rows_of_runs(db), runs.get(db, row.number).minibatch
    point = Point(9, 90, 2.0, "elbo", 0, -1.0)
    for write in (
        lambda: runs.beat(db, row.number, 1, minibatch=9, seconds=9.0, points=[point]),
        lambda: runs.finish(db, row.number, 1, "finished"),
        lambda: points.append(db, row.number, 1, [point]),
        lambda: events.append(db, row.number, 1, 9, "finished"),
        lambda: snapshots.append(db, row.number, 1, 9, 9.0, {}),
        lambda: checkpoints.save_checkpoint(db, row.number, 1, 9, 9.0, {}, {}),
    ):
        with pytest.raises(LostClaim, match=f"attempt 1 of run {row.number} was replaced"):
            write()
    assert (rows_of_runs(db), runs.get(db, row.number).minibatch) == before
    assert runs.get(db, row.number).state == "running"


def test_a_run_is_renamed(db):
    row = new_run(db)
    assert runs.rename(db, row.number, "  a better name ").name == "a better name"
    with pytest.raises(NotFound):
        runs.rename(db, 99, "x")


def test_a_deleted_run_leaves_nothing(db, monkeypatch):
    keep = claimed_run(db)
    gone = claimed_run(db)
    for row in (keep, gone):
        snapshots.append(db, row.number, 1, 1, 1.0, {})
        checkpoints.save_checkpoint(db, row.number, 1, 1, 1.0, {}, {})
        points.append(db, row.number, 1, [Point(i, i, 1.0, "elbo", 0, 1.0) for i in range(7)])
        events.append(db, row.number, 1, 1, "started")
        labels.set(db, row.number, 1, 1, "name")
    whole = rows_of_runs(db)
    with pytest.raises(Conflict, match="is training"):
        runs.delete(db, gone.number)
    runs.finish(db, gone.number, 1, "stopped")
    monkeypatch.setattr("store.removal._PARTS", ((tables.points, "number", 2), (tables.snapshots, "number", 1)))
    runs.delete(db, gone.number)
    assert rows_of_runs(db) == {name: count // 2 for name, count in whole.items()}
    assert [row.number for row in runs.every(db)] == [keep.number]
    with pytest.raises(NotFound):
        runs.delete(db, gone.number)
    with pytest.raises(LostClaim):
        runs.beat(db, gone.number, 1, minibatch=1, seconds=1.0)


def test_a_deletion_killed_half_way_is_finished_by_the_next(db):
    first, second = new_run(db), new_run(db)
    with db.write() as connection:
        connection.execute(update(tables.runs).where(tables.runs.c.number == first.number).values(state="deleted"))
    assert [row.number for row in runs.every(db)] == [second.number]
    runs.delete(db, second.number)
    assert rows_of_runs(db)["runs"] == 0
    corpora.delete(db, first.corpus)


def test_numbers_of_deleted_runs_are_not_given_again(db):
    first = new_run(db)
    runs.delete(db, first.number)
    assert new_run(db).number > first.number


def test_labels_are_given_changed_and_taken_away(db):
    run = new_run(db).number
    labels.set(db, run, 1, 17, "space")
    labels.set(db, run, 1, 17, "spacecraft ")
    labels.set(db, run, 2, 1, "science")
    assert labels.every(db, run) == {(1, 17): "spacecraft", (2, 1): "science"}
    labels.set(db, run, 1, 17, "")
    assert labels.every(db, run) == {(2, 1): "science"}
    with pytest.raises(NotFound):
        labels.set(db, 99, 1, 1, "x")
