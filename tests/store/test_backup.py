"""A backup is a store with the same contents, made while others write."""

import os
import sqlite3
import threading

import numpy as np
import pytest
from sqlalchemy import text
from store_samples import claimed_run, new_run, write_corpus

from store import checkpoints, corpora, events, full_text, labels, points, runs, snapshots
from store.backup import backup
from store.check import check
from store.database import open_database
from store.errors import StoreError
from store.points import Point


@pytest.fixture
def run(db):
    row = claimed_run(db)
    values = [Point(m, m, 1.0, "point_perplexity", 0, np.nan if m == 3 else 1000.0 - m) for m in range(1, 6)]
    runs.beat(db, row.number, 1, minibatch=5, seconds=1.0, points=values)
    snapshots.append(db, row.number, 1, 5, 1.0, {"r": np.arange(9.0)})
    checkpoints.save_checkpoint(db, row.number, 1, 5, 1.0, {"r": np.random.default_rng(1).random(9)}, {"m": 5})
    events.append(db, row.number, 1, 5, "pruned", "one", events.Change(1, (2,), 4, 3))
    events.append(db, row.number, 1, 5, "said", "no change")
    labels.set(db, row.number, 1, 1, "Äpfel")
    return row


def contents(db):
    """Every row of every table, as the databases hold them."""
    with db.read() as connection:
        names = ["corpora", "corpus_words", "corpus_blocks", "corpus_texts", "runs", "points", "events", "snapshots"]
        names += ["checkpoints", "earlier_checkpoints", "checkpoint_parts", "topic_labels", "schema_version"]
        return {name: sorted(map(_plain, connection.execute(text(f"SELECT * FROM {name}")))) for name in names}


def _plain(row):
    return repr([bytes(value) if isinstance(value, memoryview) else value for value in row])


def test_a_backup_is_a_store_with_the_same_contents_that_only_its_owner_may_read(db, run, tmp_path):
    target = tmp_path / "copy.db"
    told = []
    size = backup(db, target, lambda words, share: told.append(share))
    assert size == target.stat().st_size > 0
    assert told
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == ["copy.db"]
    if os.name != "nt":
        assert target.stat().st_mode & 0o777 == 0o600
    copy = open_database(target)
    assert contents(copy) == contents(db)
    assert check(copy).damages == ()
    assert [each.change for each in events.changes(copy, run.number)] == [events.Change(1, (2,), 4, 3)]
    copy.close()


def test_numbers_go_on_in_a_backup_where_they_were(db, run, tmp_path):
    last = new_run(db, run.corpus)
    runs.delete(db, last.number)
    backup(db, tmp_path / "copy.db")
    copy = open_database(tmp_path / "copy.db")
    assert new_run(copy, run.corpus).number == last.number + 1
    copy.close()


def test_a_backup_made_while_others_write_is_whole(db, run, tmp_path):
    stop = threading.Event()

    def write():
        for m in range(6, 5000):
            if stop.is_set():
                return
            runs.beat(db, run.number, 1, minibatch=m, seconds=1.0, points=[Point(m, m, 1.0, "elbo", 0, m)])

    writer = threading.Thread(target=write)
    writer.start()
    backup(db, tmp_path / "copy.db")
    stop.set()
    writer.join()
    copy = open_database(tmp_path / "copy.db")
    kept = [point.minibatch for point in points.table(copy, run.number) if point.name == "elbo"]
    assert kept == list(range(6, 6 + len(kept)))
    assert runs.get(copy, run.number).minibatch == (kept[-1] if kept else 5)
    copy.close()


def test_a_file_that_is_there_and_one_that_cannot_be_written_are_refused(db, run, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"mine\.txt is there already; give the backup another name"):
        backup(db, tmp_path / "mine.txt")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    with pytest.raises(StoreError, match=r"cannot be written \(No such file"):
        backup(db, tmp_path / "nowhere" / "copy.db")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_backup_that_fails_leaves_nothing(db, tmp_path, monkeypatch):
    write_corpus(db)

    def fail(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("store.backup._settle", fail)
    with pytest.raises(StoreError, match="disk is full"):
        backup(db, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == []
    assert len(corpora.every(db)) == 1


def test_documents_are_found_in_a_backup_as_in_the_store(db, run, tmp_path):
    full_text.build(db, run.corpus)
    backup(db, tmp_path / "copy.db")
    copy = open_database(tmp_path / "copy.db")
    assert corpora.search(copy, run.corpus, "document", 0, 9)[0] == 6
    for corpus in full_text.unfinished(copy):
        full_text.build(copy, corpus)
    assert corpora.search(copy, run.corpus, "document", 0, 9) == corpora.search(db, run.corpus, "document", 0, 9)
    copy.close()
