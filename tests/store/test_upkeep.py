"""A backup is a store with the same contents, made while others write."""

import os
import sqlite3
import threading

import numpy as np
import pytest
from sqlalchemy import func, select, text, update
from store_samples import claimed_run, flip_snapshot, new_run, write_corpus

from topiary.store import checkpoints, corpora, events, full_text, notes, points, runs, snapshots, tables, upkeep
from topiary.store.check import check_store
from topiary.store.database import open_database
from topiary.store.errors import StoreError
from topiary.store.points import Point
from topiary.store.upkeep import PruneRule, copy_store


@pytest.fixture
def run(db):
    row = claimed_run(db)
    values = [Point(m, m, 1.0, "point_perplexity", 0, np.nan if m == 3 else 1000.0 - m) for m in range(1, 6)]
    runs.record_progress(db, row.number, 1, minibatch=5, seconds=1.0, points=values)
    snapshots.append_snapshot(db, row.number, 1, 5, 1.0, {"r": np.arange(9.0)})
    checkpoints.save_checkpoint(db, row.number, 1, 5, 1.0, {"r": np.random.default_rng(1).random(9)}, {"m": 5})
    events.append_event(db, row.number, 1, 5, "pruned", "one", events.StructureChange(1, (2,), 4, 3))
    events.append_event(db, row.number, 1, 5, "said", "no change")
    notes.set_label(db, row.number, 1, 1, "Äpfel")
    return row


def contents(db):
    """Every row of every table, as the databases hold them."""
    with db.read() as connection:
        names = ["corpora", "corpus_words", "corpus_blocks", "corpus_texts", "runs", "points", "events", "snapshots"]
        names += ["checkpoints", "earlier_checkpoints", "checkpoint_parts", "topic_labels"]
        return {name: sorted(map(_plain, connection.execute(text(f"SELECT * FROM {name}")))) for name in names}


def _plain(row):
    return repr([bytes(value) if isinstance(value, memoryview) else value for value in row])


def test_a_backup_is_a_store_with_the_same_contents_that_only_its_owner_may_read(db, run, tmp_path):
    target = tmp_path / "copy.db"
    told = []
    size = copy_store(db, target, lambda words, share: told.append(share))
    assert size == target.stat().st_size > 0
    assert told
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == ["copy.db"]
    if os.name != "nt":
        assert target.stat().st_mode & 0o777 == 0o600
    copy = open_database(target)
    assert contents(copy) == contents(db)
    assert check_store(copy).damages == ()
    change = events.StructureChange(1, (2,), 4, 3)
    assert [each.change for each in events.read_new_events(copy, run.number)[0] if each.change] == [change]
    copy.close()


def test_numbers_go_on_in_a_backup_where_they_were(db, run, tmp_path):
    last = new_run(db, run.corpus)
    runs.delete_run(db, last.number)
    copy_store(db, tmp_path / "copy.db")
    copy = open_database(tmp_path / "copy.db")
    assert new_run(copy, run.corpus).number == last.number + 1
    copy.close()


def test_a_backup_made_while_others_write_is_whole(db, run, tmp_path):
    stop = threading.Event()

    def write():
        for m in range(6, 5000):
            if stop.is_set():
                return
            runs.record_progress(db, run.number, 1, minibatch=m, seconds=1.0, points=[Point(m, m, 1.0, "elbo", 0, m)])

    writer = threading.Thread(target=write)
    writer.start()
    copy_store(db, tmp_path / "copy.db")
    stop.set()
    writer.join()
    copy = open_database(tmp_path / "copy.db")
    kept = [point.minibatch for point in points.read_points(copy, run.number) if point.name == "elbo"]
    assert kept == list(range(6, 6 + len(kept)))
    assert runs.get_run(copy, run.number).minibatch == (kept[-1] if kept else 5)
    copy.close()


def test_a_file_that_is_there_and_one_that_cannot_be_written_are_refused(db, run, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"mine\.txt is there already; give the backup another name"):
        copy_store(db, tmp_path / "mine.txt")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    with pytest.raises(StoreError, match=r"cannot be written \(No such file"):
        copy_store(db, tmp_path / "nowhere" / "copy.db")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_backup_that_fails_leaves_nothing(db, tmp_path, monkeypatch):
    write_corpus(db)

    def fail(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("topiary.store.upkeep._settle_copy", fail)
    with pytest.raises(StoreError, match="disk is full"):
        copy_store(db, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == []
    assert len(corpora.list_corpora(db)) == 1


def test_documents_are_found_in_a_backup_as_in_the_store(db, run, tmp_path):
    full_text.build_index(db, run.corpus)
    copy_store(db, tmp_path / "copy.db")
    copy = open_database(tmp_path / "copy.db")
    assert corpora.search_documents(copy, run.corpus, "document", 0, 9)[0] == 6
    for corpus in full_text.list_unindexed(copy):
        full_text.build_index(copy, corpus)
    assert corpora.search_documents(copy, run.corpus, "document", 0, 9) == corpora.search_documents(
        db, run.corpus, "document", 0, 9
    )
    copy.close()


def worked(db, state="finished", minibatches=range(10, 101, 10)):
    """A run that has ended, with snapshots and two checkpoints."""
    row = claimed_run(db)
    for m in minibatches:
        snapshots.append_snapshot(db, row.number, 1, m, 1.0, {"r": np.random.default_rng(m).random(100)})
    for m in (10, 20):
        checkpoints.save_checkpoint(db, row.number, 1, m, 1.0, {"r": np.random.default_rng(m).random(100)}, {})
    if state != "running":
        runs.finish_run(db, row.number, 1, state)
    return row.number


def rows_of(db, table):
    with db.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def left(db, run):
    return [row.minibatch for row in snapshots.list_snapshots(db, run)]


def test_a_store_without_waste_loses_nothing(db):
    write_corpus(db)
    worked(db, "paused")
    worked(db, "running")
    assert upkeep.find_removable(db, PruneRule()) == []


def test_checkpoints_go_with_the_end_of_a_run_and_what_killed_programs_left_goes(db):
    finished, paused = worked(db), worked(db, "paused")
    row = claimed_run(db)
    runs.finish_run(db, row.number, 1, "stopped")
    with db.write() as connection:
        connection.execute(update(tables.runs).where(tables.runs.c.number == row.number).values(state="deleted"))
        part = {"run": paused, "generation": 9, "part": 0, "arrays": b"0" * 50}
        connection.execute(tables.checkpoint_parts.insert().values(**part))
    with db.write() as connection:
        gone = {"state": "incomplete", "kind": "counts", "label_names": [], "meta": {}, "created": 0, "touched": 0}
        connection.execute(tables.corpora.insert().values(**gone))
    items = upkeep.find_removable(db, PruneRule())
    assert sorted(item.what.partition(",")[0].rstrip("0123456789 ") for item in items) == [
        "an unfinished checkpoint of run", "corpus", "run", "the checkpoints of run",
    ]  # fmt: skip
    for item in items:
        item.remove(db)
    upkeep.vacuum_store(db)
    assert upkeep.find_removable(db, PruneRule()) == []
    assert checkpoints.load_checkpoint(db, finished) is None
    assert checkpoints.load_checkpoint(db, paused).minibatch == 20
    assert left(db, finished) == left(db, paused) == list(range(10, 101, 10))
    assert rows_of(db, tables.runs) == 2
    assert rows_of(db, tables.corpora) == 1


def test_as_many_snapshots_stay_as_are_wanted_the_first_and_the_last_among_them(db):
    finished, training = worked(db), worked(db, "running")
    (_, item) = upkeep.find_removable(db, PruneRule(keep=4))
    assert item.what == f"6 snapshots of run {finished}, mini-batches 20 to 90"
    assert item.size == sum(
        row.size for row in snapshots.list_snapshots(db, finished) if row.minibatch not in (10, 40, 70, 100)
    )
    item.remove(db)
    assert left(db, finished) == [10, 40, 70, 100]
    assert left(db, training) == list(range(10, 101, 10))


def test_snapshots_stay_within_their_budget_and_the_last_one_stays_whatever_it_takes(db):
    one, other = worked(db), worked(db)
    each = snapshots.find_latest(db, one).size
    for item in upkeep.find_removable(db, PruneRule(budget=3 * each + 5, runs={one})):
        item.remove(db)
    assert len(left(db, one)) == 3
    assert len(left(db, other)) == 10
    for item in upkeep.find_removable(db, PruneRule(budget=1)):
        item.remove(db)
    assert left(db, one) == left(db, other) == [100]


def test_the_snapshot_that_a_fork_begins_with_stays(db):
    parent = worked(db)
    fork = new_run(db, fork=snapshots.find_latest(db, parent).number).number
    row = runs.claim_run(db, fork, {"pid": 1})
    for m in (10, 20, 30):
        snapshots.append_snapshot(db, fork, row.attempt, m, 1.0, {"r": np.ones(3)})
    runs.finish_run(db, fork, row.attempt, "paused")
    for item in upkeep.find_removable(db, PruneRule(keep=1)):
        item.remove(db)
    assert left(db, fork) == [0, 30]


def test_damaged_snapshots_go_when_that_is_wanted(db):
    run = worked(db, "stopped")
    rows = snapshots.list_snapshots(db, run)
    flip_snapshot(db, rows[3].number)
    assert upkeep.find_removable(db, PruneRule()) == []
    (item,) = upkeep.find_removable(db, PruneRule(damaged=True))
    assert item.what == f"1 damaged snapshot of run {run}, mini-batch 40"
    item.remove(db)
    assert rows_of(db, tables.snapshots) == 9


def test_the_first_and_the_last_are_among_those_kept_evenly():
    assert snapshots.choose_evenly(range(100), 1) == {99}
    assert snapshots.choose_evenly(range(100), 2) == {0, 99}
    assert snapshots.choose_evenly(range(5), 9) == set(range(5))
    for most in range(2, 30):
        assert len(snapshots.choose_evenly(range(37), most)) == most


def test_a_file_is_smaller_afterwards(tmp_path):
    from topiary.store.database import open_database

    database = open_database(tmp_path / "store.db")
    worked(database, minibatches=range(1, 40))
    run = claimed_run(database)
    snapshots.append_snapshot(database, run.number, 1, 1, 1.0, {"r": np.random.default_rng(1).random(200_000)})
    runs.finish_run(database, run.number, 1, "stopped")
    runs.delete_run(database, run.number)
    database.close()
    before = (tmp_path / "store.db").stat().st_size
    upkeep.vacuum_store(database)
    assert (tmp_path / "store.db").stat().st_size < before / 2
    database.close()
