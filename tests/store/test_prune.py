"""What a store can do without is found, told with its size, and removed; nothing else is."""

import numpy as np
from sqlalchemy import func, select, update
from store_samples import claimed_run, flip_snapshot, new_run, write_corpus

from store import checkpoints, prune, runs, snapshots, tables, thinning
from store.prune import Rule


def worked(db, state="finished", minibatches=range(10, 101, 10)):
    """A run that has ended, with snapshots and two checkpoints."""
    row = claimed_run(db)
    for m in minibatches:
        snapshots.append(db, row.number, 1, m, 1.0, {"r": np.random.default_rng(m).random(100)})
    for m in (10, 20):
        checkpoints.save_checkpoint(db, row.number, 1, m, 1.0, {"r": np.random.default_rng(m).random(100)}, {})
    if state != "running":
        runs.finish(db, row.number, 1, state)
    return row.number


def rows_of(db, table):
    with db.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def left(db, run):
    return [row.minibatch for row in snapshots.every(db, run)]


def test_a_store_without_waste_loses_nothing(db):
    write_corpus(db)
    worked(db, "paused")
    worked(db, "running")
    assert prune.wanted(db, Rule()) == []


def test_checkpoints_go_with_the_end_of_a_run_and_what_killed_programs_left_goes(db):
    finished, paused = worked(db), worked(db, "paused")
    row = claimed_run(db)
    runs.finish(db, row.number, 1, "stopped")
    with db.write() as connection:
        connection.execute(update(tables.runs).where(tables.runs.c.number == row.number).values(state="deleted"))
        part = {"run": paused, "generation": 9, "part": 0, "arrays": b"0" * 50}
        connection.execute(tables.checkpoint_parts.insert().values(**part))
    with db.write() as connection:
        gone = {"state": "incomplete", "kind": "counts", "label_names": [], "meta": {}, "created": 0, "touched": 0}
        connection.execute(tables.corpora.insert().values(**gone))
    items = prune.wanted(db, Rule())
    assert sorted(item.what.partition(",")[0].rstrip("0123456789 ") for item in items) == [
        "an unfinished checkpoint of run", "corpus", "run", "the checkpoints of run",
    ]  # fmt: skip
    for item in items:
        item.remove(db)
    prune.vacuum(db)
    assert prune.wanted(db, Rule()) == []
    assert checkpoints.load_checkpoint(db, finished) is None
    assert checkpoints.load_checkpoint(db, paused).minibatch == 20
    assert left(db, finished) == left(db, paused) == list(range(10, 101, 10))
    assert rows_of(db, tables.runs) == 2
    assert rows_of(db, tables.corpora) == 1


def test_as_many_snapshots_stay_as_are_wanted_the_first_and_the_last_among_them(db):
    finished, training = worked(db), worked(db, "running")
    (_, item) = prune.wanted(db, Rule(keep=4))
    assert item.what == f"6 snapshots of run {finished}, mini-batches 20 to 90"
    assert item.size == sum(row.size for row in snapshots.every(db, finished) if row.minibatch not in (10, 40, 70, 100))
    item.remove(db)
    assert left(db, finished) == [10, 40, 70, 100]
    assert left(db, training) == list(range(10, 101, 10))


def test_snapshots_stay_within_their_budget_and_the_last_one_stays_whatever_it_takes(db):
    one, other = worked(db), worked(db)
    each = snapshots.latest(db, one).size
    for item in prune.wanted(db, Rule(budget=3 * each + 5, runs={one})):
        item.remove(db)
    assert len(left(db, one)) == 3
    assert len(left(db, other)) == 10
    for item in prune.wanted(db, Rule(budget=1)):
        item.remove(db)
    assert left(db, one) == left(db, other) == [100]


def test_the_snapshot_that_a_fork_begins_with_stays(db):
    parent = worked(db)
    fork = new_run(db, fork=snapshots.latest(db, parent).number).number
    row = runs.claim(db, fork, {"pid": 1})
    for m in (10, 20, 30):
        snapshots.append(db, fork, row.attempt, m, 1.0, {"r": np.ones(3)})
    runs.finish(db, fork, row.attempt, "paused")
    for item in prune.wanted(db, Rule(keep=1)):
        item.remove(db)
    assert left(db, fork) == [0, 30]


def test_damaged_snapshots_go_when_that_is_wanted(db):
    run = worked(db, "stopped")
    rows = snapshots.every(db, run)
    flip_snapshot(db, rows[3].number)
    assert prune.wanted(db, Rule()) == []
    (item,) = prune.wanted(db, Rule(damaged=True))
    assert item.what == f"1 damaged snapshot of run {run}, mini-batch 40"
    item.remove(db)
    assert rows_of(db, tables.snapshots) == 9


def test_the_first_and_the_last_are_among_those_kept_evenly():
    assert thinning.evenly(range(100), 1) == {99}
    assert thinning.evenly(range(100), 2) == {0, 99}
    assert thinning.evenly(range(5), 9) == set(range(5))
    for most in range(2, 30):
        assert len(thinning.evenly(range(37), most)) == most


def test_a_file_is_smaller_afterwards(tmp_path):
    from store.database import open_database

    database = open_database(tmp_path / "store.db")
    worked(database, minibatches=range(1, 40))
    run = claimed_run(database)
    snapshots.append(database, run.number, 1, 1, 1.0, {"r": np.random.default_rng(1).random(200_000)})
    runs.finish(database, run.number, 1, "stopped")
    runs.delete(database, run.number)
    database.close()
    before = (tmp_path / "store.db").stat().st_size
    prune.vacuum(database)
    assert (tmp_path / "store.db").stat().st_size < before / 2
    database.close()
