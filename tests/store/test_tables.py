"""The guide's page about the store says what is true."""

import re
import types

import numpy as np
from sqlalchemy import text
from store_samples import REPOSITORY, claimed_run, new_run, write_corpus

from topiary.store import blocks, events, notes, runs, shares, snapshots, tables
from topiary.store.points import Point

GUIDE = (REPOSITORY / "assets" / "guide" / "store.md").read_text(encoding="utf-8")


def written(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def documented_columns():
    found, table = {}, ""
    for line in GUIDE.splitlines():
        if begins := re.match(r"`(\w+)`: ", line):
            table = begins[1]
            found[table] = set()
        elif (row := re.match(r"\| ([\w, ]+) \|", line)) and row[1] != "column":
            found[table] |= set(row[1].split(", "))
    return found


def test_every_table_and_column_is_documented_and_nothing_else():
    assert documented_columns() == {
        name: {column.name for column in table.columns} for name, table in tables.metadata.tables.items()
    }


def test_the_numbers_of_the_guide_are_those_of_the_code():
    for sentence in (
        f"of the tables described here: {tables.VERSION} ",
        f"at most {snapshots.CELLS} cells",
        f"the {snapshots.LATEST} latest",
        f"at most {blocks.DOCUMENTS_PER_BLOCK} documents",
        f"more than {snapshots.LARGEST >> 20} MiB",
    ):
        assert sentence in GUIDE, sentence
    assert snapshots.PER_OCTAVE == 4


def test_every_query_of_the_guide_runs_on_its_database(db):
    run = claimed_run(db)
    write_corpus(db, "another")
    kinds = [("point_perplexity", 0), ("step_size_mean", 1), ("step_size_mean", 2)]
    new = [Point(m, m, m, name, layer, 2.0) for m in range(1, 4) for name, layer in kinds]
    runs.record_progress(db, run.number, 1, minibatch=3, seconds=1.0, point_perplexity=700.0, points=new)
    snapshot = snapshots.append_snapshot(db, run.number, 1, 3, 1.0, {"r": np.ones(3)})
    snapshots.save_predictions(db, snapshot.number, "this program", {"labels": np.arange(3)})
    shares.begin_set(db, snapshot.number, "this program")
    layer = shares.LayerShares(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.uint16), np.ones(1, np.uint16))
    shares.append_block(db, snapshot.number, "this program", 0, [layer], np.ones(1))
    notes.set_label(db, run.number, 1, 1, "food")
    notes.add_topic_note(db, run.number, 1, 1, notes.NewNote("check", notes.TAG))
    events.append_event(db, run.number, 1, 3, "started")
    notes.save_match(db, run.number, new_run(db).number, notes.MatchDecision(1, 1, 2))
    dialect = "sqlite" if db.url.startswith("sqlite") else "postgresql"
    statements = [part for block in written("sql") + written(dialect) for part in block.split(";") if part.strip()]
    assert len(statements) == 12
    with db.read() as connection:
        for statement in statements:
            assert connection.execute(text(statement.replace("::", "\\:\\:"))).all(), statement


def test_the_reader_printed_in_the_guide_reads_arrays(db, tmp_path, monkeypatch):
    run = claimed_run(db)
    given = {"phi.0": np.random.default_rng(1).random((9, 2)).astype(np.float32), "t": np.array(3)}
    snapshots.append_snapshot(db, run.number, 1, 3, 1.0, given)
    if db.path is None:
        return
    monkeypatch.chdir(tmp_path)
    printed = types.ModuleType("printed")
    exec(written("python")[0], printed.__dict__)
    assert all(np.array_equal(printed.arrays[name], given[name]) for name in given)
