"""Small corpora and runs to put into a store."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, select, update

from topiary.store import corpora, corpus_rows, corpus_writer, run_rows, runs, snapshots, tables
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import Database
from topiary.store.points import Point, insert_points

WORDS = ("apple", "bread", "cheese", "dates", "eggs", "figs")
LABELS = ("sweet", "salty")
REPOSITORY = Path(__file__).resolve().parents[2]


def block(first: int, documents: int = 3, *, seed: int = 0, scored: bool = False, real: bool = False) -> DocumentBlock:
    """Documents whose counts depend on the seed and their numbers only."""
    present = np.stack([_rng(seed, first + j).random(len(WORDS)) < 0.6 for j in range(documents)])
    counts = np.stack([_rng(seed, first + j, 1).integers(1, 9, len(WORDS)) for j in range(documents)])
    values = counts[present] + (0.25 if real else 0)
    starts = np.concatenate([[0], np.cumsum(present.sum(1))])
    words = np.nonzero(present)[1]
    numbers = range(first, first + documents)
    return DocumentBlock(
        first=first,
        counts=StoredCounts(starts, words.astype(np.int32), values.astype(np.float32 if real else np.int32)),
        part=np.array([n % 5 == 4 for n in numbers], dtype=np.int8),
        labels=np.array([n % 3 - 1 for n in numbers], dtype=np.int32),
        scored=StoredCounts(starts, words.astype(np.int32), np.ones(len(words), dtype=np.int32)) if scored else None,
        titles=[f"title {n}" for n in numbers],
        texts=[f"text of document {n}" for n in numbers],
        columns=[{"year": str(1900 + n)} for n in numbers],
    )


def write_corpus(db: Database, name: str = "food", blocks: int = 2, **options) -> corpus_rows.CorpusRow:
    """A corpus of ``blocks`` blocks of three documents."""
    with corpus_writer.write_corpus(db, name, WORDS, label_names=LABELS, **options) as writer:
        for i in range(blocks):
            writer.add(block(3 * i, scored=options.get("has_scored", False), real=options.get("kind") == "real"))
    return writer.row


def new_run(db: Database, corpus: int | None = None, **given) -> run_rows.RunRow:
    """A queued run, on a new corpus when none is given."""
    if corpus is None:
        rows = corpora.list_corpora(db)
        corpus = rows[0].number if rows else write_corpus(db).number
    values = {"model": "dlda", "inference": "tlasgr", "layers": (4, 2), "settings": {"eta": 0.05}, "seed": 1}
    return runs.create_run(db, corpus=corpus, **(values | {"options": {"minibatches": 100}} | given))


def claimed_run(db: Database) -> run_rows.RunRow:
    """A run at its first attempt."""
    return runs.claim_run(db, new_run(db).number, {"pid": 1, "host": "here"})


def append_points(db: Database, run: int, attempt: int, points: Sequence[Point]) -> None:
    """Write points of a run as its worker does."""

    def work(connection: Connection) -> None:
        run_rows.own_run(connection, run, attempt)
        insert_points(connection, run, points)

    db.transact(work)


def damage_rows(path: Path | str, table: str, statement: str) -> None:
    """Run a statement of SQL that changes rows of a table, and leave the copies of them in its index as they are."""

    def execute(*arguments: object) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            return connection.execute(*arguments).fetchall()

    (copy,) = execute("SELECT * FROM sqlite_schema WHERE name = ?", (f"{table}_copy",))
    execute("DELETE FROM sqlite_schema WHERE name = ?", (f"{table}_copy",))
    execute(statement)
    execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", copy)


def flip_snapshot(db: Database, number: int) -> None:
    """Alter one bit of the topics of a snapshot."""
    flip_part(db, number, snapshots.TOPICS)


def flip_part(db: Database, snapshot: int, kind: str, first: int = 0) -> None:
    """Alter one bit of the arrays of a part of a snapshot."""
    parts = tables.snapshot_parts
    _flip(db, parts, (parts.c.snapshot == snapshot) & (parts.c.kind == kind) & (parts.c.first == first))


def flip_checkpoint(db: Database, run: int, generation: int | None = None) -> None:
    """Alter one bit of the first part of a checkpoint of a run: its latest one, or that of a generation."""
    parts = tables.checkpoint_parts
    if generation is None:
        with db.read() as connection:
            latest = select(tables.checkpoints.c.generation).where(tables.checkpoints.c.run == run)
            generation = connection.execute(latest).scalar_one()
    _flip(db, parts, (parts.c.run == run) & (parts.c.generation == generation) & (parts.c.part == 0))


def _flip(db: Database, table: Table, mine: ColumnElement[bool]) -> None:
    with db.write() as connection:
        blob = bytearray(connection.execute(select(table.c.arrays).where(mine)).scalar_one())
        blob[-1] ^= 4
        connection.execute(update(table).where(mine).values(arrays=bytes(blob)))


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process running a script that finds the repository."""
    folders = os.pathsep.join([str(REPOSITORY), str(Path(__file__).parent)])
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | {"PYTHONPATH": folders},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)
