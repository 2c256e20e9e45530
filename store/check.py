"""Check that the contents of a store are what was written: `topiary check`.

Arrays, texts and the words of corpora are verified by checksums.  Rows have none, so it is only checked that every
cell holds a value of its kind (:data:`UNVERIFIED`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Column, Select, Table, func, select, text
from sqlalchemy.types import Float, Integer, LargeBinary, TypeDecorator

from topiary.store import corpora, document_maps, events, run_rows, shares, snapshots, tables
from topiary.store.arrays import unpack_arrays, verify_arrays
from topiary.store.blocks import ContentHash, StoredCounts, unpack_texts
from topiary.store.cells import GarbledText, convert_whole
from topiary.store.checkpoints import check_checkpoint_row, read_parts
from topiary.store.column_rows import read_columns, read_values
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database, retry_reads
from topiary.store.errors import DamagedArrays, DamagedStore, StoreError
from topiary.store.run_rows import RunRow
from topiary.store.tables import checkpoints, column_blocks, corpus_blocks, corpus_texts, earlier_checkpoints
from topiary.store.tables import predictions as kept_predictions
from topiary.store.tables import snapshots as snapshot_table
from topiary.store.upkeep import Progress

UNVERIFIED = (
    "all rows (of runs, corpora, events, points and notes, names and matches of topics, and what a snapshot or a "
    "checkpoint is of), where a value that was changed into another one of its kind is not noticed; and the indexes "
    "for searching, which are not read"
)
"""The parts of a store without a checksum, as a phrase for reports."""
_ROWS_BY_CELLS = (tables.runs, tables.corpora, tables.events)  # read row by row; other tables are checked by queries
_MOST_LINES = 20  # of SQLite's report about its own pages


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
    unproved : int
        Number of corpora of an earlier version, which have no hash of their words and counts.
    """

    read: dict[str, int]
    damages: tuple[Damage, ...]
    unproved: int


class _Findings:
    """Counts and damages collected while the store is read."""

    def __init__(self) -> None:
        self.read: dict[str, int] = {}
        self.damages: list[Damage] = []
        self.unproved = 0

    def count(self, kind: str, n: int = 1) -> None:
        """Count things of a kind that were read."""
        self.read[kind] = self.read.get(kind, 0) + n


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
    with db.read() as connection:
        rows = run_rows.read_runs(connection)
    for row in corpora.list_corpora(db):
        _check_corpus(db, row, findings, tell)
    tell("rows", None)
    try:
        _check_rows(db, rows, findings)
    except DamagedStore as error:  # for example an index; SQLite's own report comes first
        findings.damages.append(Damage(str(error), "the rows were not all read; restore the store from a backup"))
    for number, run in enumerate(rows):
        tell("snapshots and checkpoints", number / len(rows))
        _check_snapshots(db, run, findings)
        _check_checkpoints(db, run, findings)
    _check_predictions(db, findings)
    _check_shares(db, findings)
    _check_maps(db, findings)
    return CheckReport(findings.read, tuple(findings.damages), findings.unproved)


def _check_database(db: Database) -> Iterator[Damage]:
    """Yield the damages that SQLite finds in its own pages; a PostgreSQL server checks its own files."""
    if not db.url.startswith("sqlite"):
        return
    means = "restore the store from a backup; what can still be read can be saved with topiary backup"
    try:
        with db.read() as connection:
            lines = connection.execute(text(f"PRAGMA integrity_check({_MOST_LINES})")).scalars().all()
            orphans = connection.execute(text("PRAGMA foreign_key_check")).all()
    except StoreError as error:
        yield Damage(str(error), means)
        return
    yield from (Damage(f"the file of the store: {line}", means) for line in lines if line != "ok")
    if orphans:
        tables = ", ".join(sorted({str(row[0]) for row in orphans}))
        yield Damage(f"{len(orphans)} rows of {tables} belong to nothing", "something else wrote to the store")


def _check_rows(db: Database, rows: list[RunRow], findings: _Findings) -> None:
    """Check that every cell without a checksum can be read."""
    for run in rows:
        _check_run(db, run, findings)
    for table in tables.metadata.sorted_tables:
        if table not in _ROWS_BY_CELLS:
            findings.damages += _find_foreign_cells(db, table)
    with db.read() as connection:
        for table in (tables.points, tables.topic_labels, tables.notes, tables.matches):
            n = connection.execute(select(func.count()).select_from(table)).scalar_one()
            if n:
                findings.count({"topic_labels": "names of topics"}.get(table.name, table.name), n)


def _check_run(db: Database, row: RunRow, findings: _Findings) -> None:
    """Check the row of a run, and its events."""
    findings.count("runs")
    if row.damage:
        means = "it is listed as damaged until a worker or a person writes these cells again"
        if row.unusable:
            means = "it is listed as damaged and cannot be trained; restore the store from a backup, or delete the run"
        findings.damages.append(Damage(f"run {row.number}, its row: {row.damage}", means))
    with db.read() as connection:
        rows = connection.execute(select(tables.events).where(tables.events.c.run == row.number)).all()
    for each in rows:
        findings.count("events")
        if damage := events.read_event(each)[1]:
            means = "the list of what happened to the run says so in its place"
            findings.damages.append(Damage(f"run {row.number}, event {each.number}: {damage}", means))


def _find_foreign_cells(db: Database, table: Table) -> Iterator[Damage]:
    """Yield cells of a wrong kind, which only SQLite accepts, and texts that are not UTF-8."""
    means = "what they say is left out; restore the store from a backup"
    with db.read() as connection:
        if connection.dialect.name == "sqlite":
            for column in table.columns:
                foreign = func.typeof(column).not_in(_list_kinds(column))
                n = connection.execute(select(func.count()).select_from(table).where(foreign)).scalar_one()
                if n:
                    yield Damage(f"{n:,} cells {table.name}.{column.name} are not of their kind", means)
        for column in table.columns:
            if not _has_type(column, Integer, Float, LargeBinary):
                values = connection.execute(select(column).distinct()).scalars()
                if n := sum(isinstance(each, GarbledText) for each in values):
                    yield Damage(f"{n:,} texts {table.name}.{column.name} are not UTF-8", means)


def _has_type(column: Column[Any], *kinds: type[Any]) -> bool:
    """Return whether a column is of one of some types."""
    kind = column.type
    return isinstance(kind.impl_instance if isinstance(kind, TypeDecorator) else kind, kinds)


def _list_kinds(column: Column[Any]) -> list[str]:
    """Return SQLite's names of the types that values of a column may have."""
    whole, real, blob = (_has_type(column, kind) for kind in (Integer, Float, LargeBinary))
    kinds = ["integer"] if whole else ["real", "integer"] if real else ["blob"] if blob else ["text"]
    return [*kinds, "null"] if column.nullable else kinds


def _check_corpus(db: Database, row: CorpusRow, findings: _Findings, tell: Progress) -> None:
    """Check the row, blocks, texts and content hash of a corpus."""
    findings.count("corpora")
    lost = "runs on it cannot go on, and its documents cannot be read; restore the store from a backup"
    again = "import it again, or restore a backup"
    if row.damage:
        means = f"it is listed as damaged{', and nothing is trained on it' if row.unusable else ''}; {again}"
        findings.damages.append(Damage(f"corpus {row.name!r}, its row: {row.damage}", means))
    words = corpora.read_vocabulary(db, row.number)
    content = ContentHash(words, row.kind)
    sizes = {"words": len(words), "documents": 0, "cells": 0}
    firsts = _read_numbers(db, select(corpus_blocks.c.first).where(corpus_blocks.c.corpus == row.number))
    is_intact = True
    highest = -1
    for place, first in enumerate(firsts):
        tell(f"corpus {row.name}", place / len(firsts))
        block_name = f"corpus {row.name!r}, documents from {_format_number(first)} on"
        findings.count("blocks of documents")
        try:
            if not isinstance(first, int):
                raise DamagedArrays("its row does not say which documents it holds")
            counts = _read_blob(db, _select_block(corpus_blocks, "arrays", row.number, first))
            texts = _read_blob(db, _select_block(corpus_texts, "texts", row.number, first))
            arrays = unpack_arrays(counts)
            highest = max(highest, *arrays["labels"].tolist())
            sizes["documents"] += len(arrays["part"])
            sizes["cells"] += len(arrays["words"])
            content.update_counts(StoredCounts(*(arrays[name] for name in StoredCounts._fields)))
            unpack_texts(texts)
        except (StoreError, KeyError) as error:
            is_intact = False
            findings.damages.append(Damage(f"{block_name}: {error}", lost))
    _check_columns(db, row, findings)
    if not is_intact or row.unusable:
        return
    findings.unproved += not row.content_hash
    if row.content_hash and content.hexdigest() != row.content_hash:
        differs = "its words or counts are not those that were imported"
        findings.damages.append(Damage(f"corpus {row.name!r}: {differs}", again))
    if highest >= len(row.label_names):
        differs = f"its row names {len(row.label_names):,} labels, and its documents have {highest + 1:,}"
        findings.damages.append(Damage(f"corpus {row.name!r}: {differs}", again))
    for name, n in sizes.items():
        if getattr(row, name) != n:
            differs = f"its row says {getattr(row, name):,} {name}, and it has {n:,}"
            findings.damages.append(Damage(f"corpus {row.name!r}: {differs}", again))


def _check_columns(db: Database, row: CorpusRow, findings: _Findings) -> None:
    """Check the rows of the columns of a corpus, and the checksums of their values."""
    with db.read() as connection:
        columns = read_columns(connection, row.number)
        n_rows = connection.execute(
            select(func.count()).select_from(tables.corpus_columns).where(tables.corpus_columns.c.corpus == row.number)
        ).scalar_one()
    if n_rows != len(columns):
        means = "they are left out; restore the store from a backup"
        findings.damages.append(Damage(f"corpus {row.name!r}, rows of {n_rows - len(columns)} columns", means))
    for column in columns:
        findings.count("columns")
        is_of_column = (column_blocks.c.corpus == row.number) & (column_blocks.c.place == column.place)
        n_values = 0
        try:
            for first in _read_numbers(db, select(column_blocks.c.first).where(is_of_column)):
                blob = _read_blob(
                    db, select(column_blocks.c.arrays).where(is_of_column, column_blocks.c.first == first)
                )
                n_values += len(read_values(unpack_arrays(blob), column.kind))
            if column.has_values and n_values != column.documents:
                raise DamagedArrays(f"its row says {column.documents:,} documents, and it has {n_values:,} values")
        except (StoreError, KeyError, ValueError) as error:
            means = f"topiary columns {row.number} --kind '{column.name}={column.kind}' reads its values again"
            findings.damages.append(Damage(f"corpus {row.name!r}, column {column.name!r}: {error}", means))


def _check_snapshots(db: Database, run: RunRow, findings: _Findings) -> None:
    """Check the checksums of all snapshots of a run."""
    query = select(snapshot_table.c.number, snapshot_table.c.minibatch).where(snapshot_table.c.run == run.number)
    with db.read() as connection:
        rows = connection.execute(query.order_by(snapshot_table.c.minibatch)).all()
    intact: list[int] = []
    broken: list[tuple[int, str]] = []
    for number, minibatch in rows:
        findings.count("snapshots")
        try:
            blob = _read_blob(db, select(snapshot_table.c.arrays).where(snapshot_table.c.number == number))
            verify_arrays([blob])
            intact.append(convert_whole(minibatch))
        except StoreError as error:
            broken.append((minibatch, str(error)))
    for minibatch, cause in broken:
        means = "the one before it is shown instead; topiary prune --damaged removes it"
        if not intact:
            means = "the run has no other snapshot that is whole; restore the store from a backup"
        elif convert_whole(minibatch) < min(intact):
            means = "it cannot be shown, and a later one can; topiary prune --damaged removes it"
        if run.parent is not None and minibatch == 0 and run.state != "finished":
            means = "the run begins with it and cannot; delete the run and fork its parent again"
        findings.damages.append(
            Damage(f"run {run.number}, snapshot at mini-batch {_format_number(minibatch)}: {cause}", means)
        )


def _check_checkpoints(db: Database, run: RunRow, findings: _Findings) -> None:
    """Check the rows and checksums of both checkpoints of a run."""
    intact: list[int] = []
    broken: list[tuple[int, str]] = []
    for table in (earlier_checkpoints, checkpoints):
        with db.read() as connection:
            row = connection.execute(select(table).where(table.c.run == run.number)).first()
        if row is None:
            continue
        findings.count("checkpoints")
        try:
            check_checkpoint_row(row)
            with db.read() as connection:
                verify_arrays(read_parts(connection, run.number, row.generation))
            intact.append(row.minibatch)
        except StoreError as error:
            broken.append((row.minibatch, str(error)))
    onwards = f"goes on from that of mini-batch {_format_number(intact[-1])}" if intact else "begins from the start"
    means = "the run is finished and needs none" if run.state == "finished" else f"the run {onwards} when it is resumed"
    for minibatch, cause in broken:
        where = f"run {run.number}, checkpoint at mini-batch {_format_number(minibatch)}"
        findings.damages.append(Damage(f"{where}: {cause}", means))


def _check_predictions(db: Database, findings: _Findings) -> None:
    """Check the checksums of all predictions."""
    for snapshot in _read_numbers(db, select(kept_predictions.c.snapshot)):
        findings.count("predictions")
        if not snapshots.check_predictions(db, snapshot):
            means = "they are computed again when they are wanted again"
            findings.damages.append(Damage(f"predictions under snapshot {snapshot} are damaged", means))


def _check_shares(db: Database, findings: _Findings) -> None:
    """Check the checksums of all shares of documents."""
    for snapshot, first, is_intact in shares.check_blocks(db):
        findings.count("blocks of shares")
        if not is_intact:
            what = f"shares under snapshot {snapshot}, documents from {_format_number(first)} on, are damaged"
            findings.damages.append(Damage(what, "they are computed again when they are wanted again"))


def _check_maps(db: Database, findings: _Findings) -> None:
    """Check the checksums of all maps of documents."""
    for snapshot, is_intact in document_maps.check_maps(db):
        findings.count("maps of documents")
        if not is_intact:
            means = "it is computed again when it is wanted again"
            findings.damages.append(Damage(f"the map of documents under snapshot {snapshot} is damaged", means))


def _format_number(number: Any) -> str:
    """Return a number of a row as text; it may be damaged."""
    return f"{number:,}" if isinstance(number, int) else repr(number)


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
    """Return the values of a column in ascending order; values that are not numbers come last."""
    with db.read() as connection:
        return sorted(connection.execute(query).scalars(), key=lambda each: (not isinstance(each, int), each))
