"""Stores of every earlier version open, keep what they hold, and then have the tables of a new one."""

import json
import struct

import numpy as np
import pytest
from sqlalchemy import inspect, select, text, update
from store_samples import back_to_version, new_run

from topiary.store import checkpoints, corpora, events, runs, snapshots, tables
from topiary.store.check import check_store
from topiary.store.database import open_database
from topiary.store.events import StructureChange

ARRAYS = {"phi.0": np.full((6, 4), 1 / 6), "r": np.ones(4)}
SENTENCES = (
    ("layer added", "layer 2 begins with 7 topics", StructureChange(2, (), 0, 7)),
    ("pruned", "layer 2 keeps all its 7 topics", StructureChange(2, (), 7, 7)),
    (
        "pruned",
        "layer 12 from 128 to 125 topics, without L12:2 L12:9 L12:128",
        StructureChange(12, (2, 9, 128), 128, 125),
    ),
    ("pruned", "some went", None),
    ("note", "layer 1 from 9 to 8 topics, without L1:2", None),
)


def fork(db, parent):
    return new_run(db, parent.corpus, fork=snapshots.find_latest(db, parent.number).number)


def old_run(db, **options):
    """A finished run as early versions wrote it."""
    row = new_run(db, settings={"eta": 0.05, "bent": 0.0, "naive_bayes": 0.5}, **options)
    row = runs.claim_run(db, row.number, {})
    snapshots.append_snapshot(db, row.number, 1, 10, 1.0, ARRAYS)
    for minibatch, (kind, sentence, _) in enumerate(SENTENCES):
        events.append_event(db, row.number, 1, minibatch, kind, sentence)
    return runs.finish_run(
        db, row.number, 1, "finished", "finished: point perplexity 812.3 on 968 test documents, 60 sweeps"
    )


def described(db):
    """Every table: its columns, its foreign keys and its primary key."""
    with db.read() as connection:
        look = inspect(connection)
        return {
            name: (
                {(each["name"], each["nullable"], str(each["type"])) for each in look.get_columns(name)},
                {
                    (*key["constrained_columns"], key["referred_table"], key["options"].get("ondelete"))
                    for key in look.get_foreign_keys(name)
                },
                look.get_pk_constraint(name)["constrained_columns"],
            )
            for name in look.get_table_names()
        }


@pytest.mark.parametrize("version", range(1, 10))
def test_a_store_of_each_version_gets_the_tables_of_a_new_one_and_its_runs_are_listed_and_forked(db, version):
    number = old_run(db, options={"minibatches": 100, "burn_in": 0, "samples": 7}).number
    new = described(db)
    back_to_version(db, version)
    assert described(db) != new
    open_database(db.url).close()
    assert described(db) == new
    (row,) = runs.list_runs(db)
    assert (row.number, row.damage, row.request) == (number, "", "run")
    if version < 10:
        assert row.settings == {"eta": 0.05, "naive_bayes": 0.5}, "what was on cannot be left out"
        protocol = {"documents": 1, "burn_in": 60, "collect": 60, "thin": 2, "observed": 0.8}
        assert row.options == {"minibatches": 100, "burn_in": None, "samples": 7, "protocol": protocol}
        assert row.message == "finished: point perplexity 812.3 (968 test documents, 60 sweeps)"
    found = events.read_new_events(db, number)[0]
    assert found[-1].text == row.message
    assert [each.change for each in found[1:-1]] == [change if version <= 5 else None for _, _, change in SENTENCES]
    assert fork(db, row).parent == number
    about = corpora.get_corpus(db, row.corpus)
    assert (about.damage, about.validation_documents) == ("", 0)
    assert about.test_documents == about.documents - about.train_documents > 0


def test_what_versions_up_to_9_wrote_as_it_is_meant_today_stays_and_so_do_damaged_cells(db):
    protocol = {"documents": 12, "burn_in": 20, "collect": 20, "thin": 1, "observed": None}
    kept = old_run(db, options={"minibatches": 9, "samples": 3, "rules": 2, "protocol": protocol}).number
    damaged = old_run(db).number
    left = old_run(db).number
    back_to_version(db, 9)
    with db.write() as connection:
        connection.execute(text(f"UPDATE runs SET plan = '[1', settings = 'null' WHERE number = {damaged}"))
        unknown = json.dumps({"minibatches": 9, "protocol": {"documents": None}})
        connection.execute(
            text("UPDATE runs SET plan = :plan WHERE number = :number"), {"plan": unknown, "number": left}
        )
        connection.execute(text("UPDATE corpora SET meta = '{'"))
    open_database(db.url).close()
    assert runs.get_run(db, kept).options == {"minibatches": 9, "samples": 3, "protocol": protocol}
    assert "options (not JSON)" in runs.get_run(db, damaged).damage
    assert "settings (" in runs.get_run(db, damaged).damage
    assert runs.get_run(db, left).options["protocol"] is None, "the sizes of its corpus are not known"


def without_checksums(blob, place):
    """Header (place 0) and frames as the first versions wrote them, and the place of the next frame."""
    bare, rest = b"", blob
    while rest:
        begin = struct.Struct("<8sI" if place == 0 else "<BI")
        first, length = begin.unpack_from(rest)
        end = begin.size + 4 + length
        bare += begin.pack(b"TOPIARY1" if place == 0 else first, length) + rest[begin.size + 4 : end]
        rest, place = rest[end:], place + 1
    return bare, place


def stored_arrays(db, table):
    with db.read() as connection:
        keys = [column for column in table.columns if column.primary_key]
        return connection.execute(select(*keys, table.c.arrays).order_by(*keys)).all()


def test_arrays_of_versions_up_to_10_get_checksums(db, monkeypatch):
    monkeypatch.setattr(checkpoints, "_PART_BYTES", 300)
    row = new_run(db)
    runs.claim_run(db, row.number, {})
    kept = snapshots.append_snapshot(db, row.number, 1, 10, 1.0, ARRAYS)
    cut = snapshots.append_snapshot(db, row.number, 1, 20, 1.0, ARRAYS)
    noise = {str(n): np.random.default_rng(n).random(20) for n in range(9)}
    checkpoints.save_checkpoint(db, row.number, 1, 20, 1.0, noise, {})
    snapshots.save_predictions(db, kept.number, "me", ARRAYS)
    holding = (tables.corpus_blocks, tables.snapshots, tables.checkpoint_parts)
    before = [stored_arrays(db, table) for table in holding]
    assert len(before[2]) > 3
    back_to_version(db, 10)
    with db.write() as connection:
        for table in (*holding, tables.predictions):
            place = 0
            for *key, blob in stored_arrays(db, table):
                bare, place = without_checksums(blob, place if table is tables.checkpoint_parts else 0)
                mine = [column == value for column, value in zip(table.primary_key.columns, key, strict=True)]
                connection.execute(update(table).where(*mine).values(arrays=bare))
        short = text("UPDATE snapshots SET arrays = substr(arrays, 1, 40), size = 9 WHERE number = :number")
        connection.execute(short, {"number": cut.number})
    assert all(blob != old for (*_, blob), (*_, old) in zip(stored_arrays(db, holding[2]), before[2], strict=True))
    open_database(db.url).close()
    assert stored_arrays(db, tables.corpus_blocks) == before[0]
    assert stored_arrays(db, tables.checkpoint_parts) == before[2]
    assert stored_arrays(db, tables.snapshots)[0] == before[1][0]
    assert snapshots.list_snapshots(db, row.number)[0] == kept
    assert snapshots.load_predictions(db, row.number, kept.number, "me") is None, "they are computed again"
    (damage,) = check_store(db).damages
    assert "mini-batch 20" in damage.what, "what was cut short stays so"


def test_a_store_of_version_4_gets_the_families_of_its_forks(db):
    parent = old_run(db)
    child = fork(db, parent)
    grandchild = fork(db, child)
    orphan = fork(db, fork(db, child))
    middle = runs.get_run(db, orphan.parent)
    runs.delete_run(db, middle.number)
    sibling = new_run(db, parent.corpus)
    back_to_version(db, 4)
    open_database(db.url).close()
    found = {row.number: row.family for row in runs.list_runs(db)}
    assert [found[row.number] for row in (parent, child, grandchild)] == [parent.number] * 3
    assert found[orphan.number] == middle.number, "a line can be followed no further than to the run that is gone"
    assert found[sibling.number] == sibling.number
