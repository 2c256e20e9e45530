"""Check that the contents of a store are what was written: `topiary check`.

Arrays, texts and the words of corpora have checksums.  A row is compared with the copy of it in an index of SQLite; a
PostgreSQL server checks its own pages.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Select, Table, func, select, text

from topiary.store import checkpoints, corpora, run_rows, tables
from topiary.store.arrays import unpack_arrays, verify_arrays, verify_parts
from topiary.store.blocks import ContentHash, StoredCounts, unpack_texts
from topiary.store.corpus_rows import CorpusRow, read_columns, read_values
from topiary.store.database import Database, retry_reads
from topiary.store.errors import DamagedArrays, StoreError
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import DRAFT_MAP, MAP, NEW_SHARES, PREDICTIONS, SHARES, TOPICS, read_part
from topiary.store.tables import column_blocks, corpus_blocks, corpus_texts, snapshot_parts
from topiary.store.tables import snapshots as snapshot_table
from topiary.store.upkeep import Progress

UNVERIFIED = (
    "the indexes for searching, which are not read; and, on a PostgreSQL server, all rows, which it checks itself"
)
"""The parts of a store that the check does not verify, as a phrase for reports."""
_MOST_LINES = 20  # of SQLite's report about its own pages, and of damaged rows of a table
_NAMES = {"corpus_blocks": "blocks of documents", "corpus_columns": "columns", "topic_labels": "names of topics"}
_COUNTED = (
    *("corpora", "corpus_blocks", "corpus_columns", "runs", "points", "events", "snapshots"),
    *("checkpoints", "earlier_checkpoints", "topic_labels", "notes", "edits", "matches"),
)
_PARTS = {  # the kinds of parts of snapshots that are computed again if they are damaged
    PREDICTIONS: "predictions",
    SHARES: "blocks of shares",
    NEW_SHARES: "blocks of shares",
    MAP: "maps of documents",
    DRAFT_MAP: "maps of documents",
}
_RESTORE = "restore the store from a backup"


class Damage(NamedTuple):
    """A damaged thing, and the consequence for users of the store."""

    what: str
    means: str


class CheckReport(NamedTuple):
    """Result of a check.

    Attributes
    ----------
    read : dict of str to int
        Number of things read, by kind.
    damages : tuple of Damage
    """

    read: dict[str, int]
    damages: tuple[Damage, ...]


class _Findings:
    """Counts and damages collected while the store is read."""

    def __init__(self) -> None:
        self.read: dict[str, int] = {}
        self.damages: list[Damage] = []

    def count(self, kind: str, n: int = 1) -> None:
        """Count things of a kind that were read."""
        if n:
            self.read[kind] = self.read.get(kind, 0) + n

    def add(self, what: str, means: str) -> None:
        """Add a damage."""
        self.damages.append(Damage(what, means))


@retry_reads
def check_store(db: Database, tell: Progress = lambda *_: None) -> CheckReport:
    """Read everything and verify every checksum; nothing is changed.

    Parameters
    ----------
    db : Database
    tell : (words, share) -> None
        Called with what is being read, and the share of it that is done.

    Raises
    ------
    StoreError
        If the database cannot be reached.
    """
    findings = _Findings()
    tell("the database itself", None)
    findings.damages += _check_database(db)
    try:
        _check_contents(db, findings, tell)
    except StoreError as error:  # such as a page that cannot be read; SQLite's own report comes first
        findings.add(str(error), f"what comes after it was not read; {_RESTORE}")
    return CheckReport(findings.read, tuple(findings.damages))


def _check_contents(db: Database, findings: _Findings, tell: Progress) -> None:
    """Check all rows, and what has a checksum."""
    for number, table in enumerate(tables.metadata.sorted_tables):
        tell("rows", number / len(tables.metadata.tables))
        _check_rows(db, table, findings)
    for corpus in corpora.list_corpora(db):
        _check_corpus(db, corpus, findings, tell)
    with db.read() as connection:
        rows = run_rows.read_runs(connection)
    for number, run in enumerate(rows):
        tell("snapshots and checkpoints", number / len(rows))
        _check_snapshots(db, run, findings)
        _check_checkpoints(db, run, findings)


def _check_database(db: Database) -> Iterator[Damage]:
    """Yield the damages that SQLite finds in its own pages; a PostgreSQL server checks its own files."""
    if db.path is None:
        return
    means = f"{_RESTORE}; what can still be read can be saved with topiary backup"
    try:
        with db.read() as connection:
            lines = connection.execute(text(f"PRAGMA integrity_check({_MOST_LINES})")).scalars().all()
            orphans = connection.execute(text("PRAGMA foreign_key_check")).all()
    except StoreError as error:
        yield Damage(str(error), means)
        return
    yield from (Damage(f"the file of the store: {line}", means) for line in lines if line != "ok")
    if orphans:
        names = ", ".join(sorted({str(row[0]) for row in orphans}))
        yield Damage(f"{len(orphans)} rows of {names} belong to nothing", "something else wrote to the store")


def _check_rows(db: Database, table: Table, findings: _Findings) -> None:
    """Find the rows of a table that are not the same as their copies."""
    with db.read() as connection:
        keys = connection.execute(tables.select_damaged(table).limit(_MOST_LINES)).all()
        n_rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
    if table.name in _COUNTED:
        findings.count(_NAMES.get(table.name, table.name.removeprefix("earlier_")), n_rows)
    for key in keys:
        which = ", ".join(f"{name} {value}" for name, value in key._asdict().items())
        findings.add(f"the row of {table.name} with {which} is not what was written", f"it is left out; {_RESTORE}")


def _check_corpus(db: Database, row: CorpusRow, findings: _Findings, tell: Progress) -> None:
    """Check the blocks, texts and content hash of a corpus."""
    lost = f"runs on it cannot go on, and its documents cannot be read; {_RESTORE}"
    words = corpora.read_vocabulary(db, row.number)
    content = ContentHash(words, row.kind)
    sizes = {"words": len(words), "documents": 0, "cells": 0}
    firsts = _read_numbers(db, select(corpus_blocks.c.first).where(corpus_blocks.c.corpus == row.number))
    is_intact = True
    for place, first in enumerate(firsts):
        tell(f"corpus {row.name}", place / len(firsts))
        try:
            arrays = unpack_arrays(_read_blob(db, _select_block(corpus_blocks, "arrays", row.number, first)))
            sizes["documents"] += len(arrays["part"])
            sizes["cells"] += len(arrays["words"])
            content.update_counts(StoredCounts(*(arrays[name] for name in StoredCounts._fields)))
            unpack_texts(_read_blob(db, _select_block(corpus_texts, "texts", row.number, first)))
        except (StoreError, KeyError) as error:
            is_intact = False
            findings.add(f"corpus {row.name!r}, documents from {first:,} on: {error}", lost)
    _check_columns(db, row, findings)
    differences = [
        f"its row says {getattr(row, name):,} {name}, and it has {n:,}"
        for name, n in sizes.items()
        if getattr(row, name) != n
    ]
    if content.hexdigest() != row.content_hash:
        differences.append("its words or counts are not those that were imported")
    for each in differences if is_intact else ():
        findings.add(f"corpus {row.name!r}: {each}", "import it again, or restore a backup")


def _check_columns(db: Database, row: CorpusRow, findings: _Findings) -> None:
    """Check the checksums of the values of the columns of a corpus."""
    with db.read() as connection:
        columns = read_columns(connection, row.number)
    for column in columns:
        is_of_column = (column_blocks.c.corpus == row.number) & (column_blocks.c.place == column.place)
        blobs = select(column_blocks.c.arrays).where(is_of_column)
        n_values = 0
        try:
            for first in _read_numbers(db, select(column_blocks.c.first).where(is_of_column)):
                blob = _read_blob(db, blobs.where(column_blocks.c.first == first))
                n_values += len(read_values(unpack_arrays(blob), column.kind))
            if column.has_values and n_values != column.documents:
                raise DamagedArrays(f"its row says {column.documents:,} documents, and it has {n_values:,} values")
        except (StoreError, KeyError, ValueError) as error:
            means = f"topiary columns {row.number} --kind '{column.name}={column.kind}' reads its values again"
            findings.add(f"corpus {row.name!r}, column {column.name!r}: {error}", means)


def _check_snapshots(db: Database, run: RunRow, findings: _Findings) -> None:
    """Check the checksums of the parts of all snapshots of a run."""
    part = snapshot_parts.c
    keys = (part.snapshot, part.kind, part.first, snapshot_table.c.minibatch)
    with db.read() as connection:
        query = select(snapshot_table.c.minibatch, snapshot_table.c.number).where(snapshot_table.c.run == run.number)
        minibatches = {number: minibatch for minibatch, number in connection.execute(query)}
        rows = connection.execute(select(*keys).join(snapshot_table).where(snapshot_table.c.run == run.number)).all()
    broken = {(number, TOPICS, 0): minibatch for number, minibatch in minibatches.items()}  # until they are found
    for snapshot, kind, first, minibatch in rows:
        with db.read() as connection:
            blob = read_part(connection, snapshot, kind, first=first)
        findings.count(_PARTS.get(kind, "snapshots"), kind != TOPICS)
        try:
            verify_arrays(blob or b"")
            broken.pop((snapshot, kind, first), None)
        except DamagedArrays:
            broken[snapshot, kind, first] = minibatch
    intact = [each for number, each in minibatches.items() if (number, TOPICS, 0) not in broken]
    for (snapshot, kind, first), minibatch in sorted(broken.items(), key=lambda item: item[1]):
        if kind == TOPICS:
            what = f"run {run.number}, snapshot at mini-batch {minibatch:,}: its arrays are not what was written"
            findings.add(what, _say_consequence(run, minibatch, intact))
        else:
            where = f"{_PARTS.get(kind, kind)} under snapshot {snapshot}, from document {first:,} on"
            findings.add(f"{where}, are damaged", "they are computed again when they are wanted again")


def _say_consequence(run: RunRow, minibatch: int, intact: list[int]) -> str:
    """Return what it means that a snapshot of a run is damaged."""
    if run.parent is not None and minibatch == 0 and run.state != "finished":
        return "the run begins with it and cannot; delete the run and fork its parent again"
    if not intact:
        return f"the run has no other snapshot that is whole; {_RESTORE}"
    if minibatch < min(intact):
        return "it cannot be shown, and a later one can; topiary prune --damaged removes it"
    return "the one before it is shown instead; topiary prune --damaged removes it"


def _check_checkpoints(db: Database, run: RunRow, findings: _Findings) -> None:
    """Check the checksums of both checkpoints of a run."""
    intact: list[int] = []
    broken: list[tuple[int, str]] = []
    for table in (tables.earlier_checkpoints, tables.checkpoints):
        with db.read() as connection:
            row = connection.execute(tables.select_sound(table).where(table.c.run == run.number)).first()
            if row is None:
                continue
            try:
                verify_parts(checkpoints.read_parts(connection, run.number, row.generation))
                intact.append(row.minibatch)
            except DamagedArrays as error:
                broken.append((row.minibatch, str(error)))
    onwards = f"goes on from that of mini-batch {intact[-1]:,}" if intact else "begins from the start"
    means = "the run is finished and needs none" if run.state == "finished" else f"the run {onwards} when it is resumed"
    for minibatch, cause in broken:
        findings.add(f"run {run.number}, checkpoint at mini-batch {minibatch:,}: {cause}", means)


def _select_block(table: Table, column: str, corpus: int, first: int) -> Select[Any]:
    return select(table.c[column]).where(table.c.corpus == corpus, table.c.first == first)


def _read_blob(db: Database, query: Select[Any]) -> bytes:
    """Return the bytes that a query finds; raise DamagedArrays if there are none."""
    with db.read() as connection:
        blob: bytes | None = connection.execute(query).scalar()
    if blob is None:
        raise DamagedArrays("its bytes are missing")
    return blob


def _read_numbers(db: Database, query: Select[Any]) -> list[int]:
    """Return the values of a column in ascending order."""
    with db.read() as connection:
        return sorted(connection.execute(query).scalars())
