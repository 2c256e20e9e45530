"""A check reads everything, finds each kind of damage, and says what it means."""

import zlib

import numpy as np
import pytest
from sqlalchemy import select, text, update
from store_samples import claimed_run, flip_checkpoint, flip_part, flip_snapshot, new_run, write_corpus

from topiary.store import checkpoints, runs, snapshots, tables
from topiary.store.check import check_store


def noise(seed):
    return {"r": np.random.default_rng(seed).random(50)}


@pytest.fixture
def run(db):
    """A run with three snapshots, two checkpoints, and predictions."""
    row = claimed_run(db)
    for m in (10, 20, 30):
        made = snapshots.append_snapshot(db, row.number, 1, m, 1.0, noise(m))
    for m in (10, 20):
        checkpoints.save_checkpoint(db, row.number, 1, m, 1.0, noise(m), {})
    snapshots.save_predictions(db, made.number, "this program", noise(1))
    return row


def test_a_whole_store_is_whole_and_everything_in_it_is_read(db, run):
    told = []
    report = check_store(db, lambda words, share: told.append(words))
    assert report.damages == ()
    assert report.read == {
        "corpora": 1, "blocks of documents": 2, "runs": 1, "events": 1, "snapshots": 3, "checkpoints": 2,
        "predictions": 1,
    }  # fmt: skip
    assert told


def test_every_kind_of_damage_is_found_with_what_it_means(db, run):
    rows = snapshots.list_snapshots(db, run.number)
    flip_snapshot(db, rows[1].number)
    flip_checkpoint(db, run.number)
    flip_part(db, rows[2].number, snapshots.PREDICTIONS)
    with db.write() as connection:
        first = tables.corpus_texts.c.first == 3
        connection.execute(update(tables.corpus_texts).where(first).values(texts=zlib.compress(b"{")[:-2]))
    found = {damage.what.partition(":")[0]: damage.means for damage in check_store(db).damages}
    assert found == {
        "corpus 'food', documents from 3 on": "runs on it cannot go on, and its documents cannot be read; restore the "
        "store from a backup",
        f"run {run.number}, snapshot at mini-batch 20": "the one before it is shown instead; topiary prune --damaged "
        "removes it",
        f"run {run.number}, checkpoint at mini-batch 20": "the run goes on from that of mini-batch 10 when it is "
        "resumed",
        f"predictions under snapshot {rows[2].number}, from document 0 on, are damaged": (
            "they are computed again when they are wanted again"
        ),
    }
    flip_checkpoint(db, run.number, 1)
    assert [damage.means for damage in check_store(db).damages if "checkpoint" in damage.what] == [
        "the run begins from the start when it is resumed"
    ] * 2
    runs.finish_run(db, run.number, 1, "finished")
    assert "the run is finished and needs none" in {damage.means for damage in check_store(db).damages}


def test_where_all_snapshots_are_damaged_none_is_said_to_be_shown_instead(db, run):
    rows = snapshots.list_snapshots(db, run.number)
    flip_snapshot(db, rows[0].number)
    assert [damage.means for damage in check_store(db).damages] == [
        "it cannot be shown, and a later one can; topiary prune --damaged removes it"
    ]
    for row in rows[1:]:
        flip_snapshot(db, row.number)
    means = "the run has no other snapshot that is whole; restore the store from a backup"
    assert [damage.means for damage in check_store(db).damages] == [means] * 3


def test_the_snapshot_that_a_fork_begins_with_is_said_to_be_that(db, run):
    fork = new_run(db, run.corpus, fork=snapshots.find_latest(db, run.number).number)
    flip_snapshot(db, snapshots.find_latest(db, fork.number).number)
    (damage,) = check_store(db).damages
    assert damage.means.startswith("the run begins with it and cannot")


@pytest.mark.parametrize("kind", ["counts", "real"])
def test_words_that_are_not_those_imported_are_noticed_by_the_hash_of_the_corpus(db, kind):
    write_corpus(db, kind=kind)
    assert check_store(db).damages == ()
    with db.write() as connection:
        connection.execute(update(tables.corpus_words).where(tables.corpus_words.c.word == 2).values(text="cheesy"))
    (damage,) = check_store(db).damages
    assert damage.what == "corpus 'food': its words or counts are not those that were imported"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_sqlite_finds_in_its_own_file_is_said(db, run, tmp_path):
    with db.write() as connection:
        page = connection.execute(text("SELECT rootpage FROM sqlite_master WHERE name = 'points_copy'")).scalar_one()
        size = connection.execute(text("PRAGMA page_size")).scalar_one()
    db.close()
    path = tmp_path / "store.db"
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : (page - 1) * size + 8] = b"\xff" * 8
    path.write_bytes(content)
    damages = check_store(db).damages
    assert damages
    assert "restore the store from a backup" in damages[0].means


def test_nothing_is_left_of_a_whole_check(db, run):
    before = [(row.number, row.size) for row in snapshots.list_snapshots(db, run.number)]
    check_store(db)
    assert [(row.number, row.size) for row in snapshots.list_snapshots(db, run.number)] == before
    with db.read() as connection:
        assert connection.execute(select(tables.runs.c.attempt)).scalar() == 1
