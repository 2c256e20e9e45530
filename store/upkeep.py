"""Functions to copy a store and to remove what it does not need: `topiary backup` and `topiary prune`."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, delete, func, select, text, update

from topiary.store import checkpoints, corpus_writer, run_rows, snapshots
from topiary.store.database import Database, make_uri, open_database, reads, retry_reads, writes
from topiary.store.errors import DamagedArrays, DamagedStore, StoreError
from topiary.store.run_rows import RunRow
from topiary.store.runs import ENDED
from topiary.store.snapshots import SnapshotRow
from topiary.store.tables import (
    checkpoint_parts,
    column_blocks,
    corpus_blocks,
    corpus_texts,
    corpus_words,
    earlier_checkpoints,
    metadata,
    receipts,
    search_indexes,
    select_damaged,
    store_version,
)
from topiary.store.tables import checkpoints as last_checkpoints
from topiary.store.tables import snapshots as snapshot_table
from topiary.store.transactions import describe_fixed_store, describe_sqlite_error, is_lock_error

Progress = Callable[[str, float | None], None]  # called with what is being done, and the share that is done
PAGES = 4096  # pages of SQLite copied at a time
ROWS, BLOBS = 2000, 1  # rows read at a time, from tables without and with large cells


def copy_store(db: Database, target: Path, tell: Progress = lambda *_: None) -> int:
    """Copy the state of a store at one moment into a new SQLite file; other programs can use it meanwhile.

    Parameters
    ----------
    db : Database
        The store.  The file of SQLite is copied page by page, the tables of PostgreSQL row by row.
    target : Path
        A file that does not exist yet; the copy is readable by its owner only.
    tell : (words, share) -> None
        Called with what is being copied, and the share of it that is done.

    Returns
    -------
    int
        Size of the copy in bytes.

    Raises
    ------
    StoreError
        If the file exists already or cannot be written; no part of it is left then.
    """
    if target.exists():
        raise StoreError(f"{target} is there already; give the backup another name")
    part = find_part(target)
    try:
        db.repeat(lambda: _write_part(db, part, tell))
        size = part.stat().st_size
        part.rename(target)
    except sqlite3.Error as error:
        kind, sentence = describe_sqlite_error(error, db.place)
        raise (kind(sentence) if kind is DamagedStore else _make_copy_error(target, error)) from error
    except OSError as error:
        raise _make_copy_error(target, error) from error
    finally:
        remove_part(part)
    return size


def _make_copy_error(target: Path, error: OSError | sqlite3.Error) -> StoreError:
    """Return the error about a copy that cannot be written."""
    cause = getattr(error, "strerror", None) or error
    return StoreError(f"the backup {target} cannot be written ({cause}); make room, or give another file")


def find_part(target: Path) -> Path:
    """Return the file in which a copy grows until it is complete."""
    return target.with_name(f"{target.name}.part")


def remove_part(part: Path) -> None:
    """Remove what is there of an incomplete copy."""
    for path in (part, *(part.with_name(part.name + end) for end in ("-wal", "-shm", "-journal"))):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _write_part(db: Database, part: Path, tell: Progress) -> None:
    """Copy a store into a new file, in place of an incomplete copy."""
    remove_part(part)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    (_copy_file if db.path is not None else _copy_tables)(db, part, tell)
    _settle_copy(part)


def _copy_file(db: Database, part: Path, tell: Progress) -> None:
    """Copy the pages of SQLite inside one reading transaction, which neither blocks writers nor sees their changes."""
    with db.read():  # raises a sentence if the store is damaged
        pass
    with (
        closing(sqlite3.connect(make_uri(Path(str(db.path)), readonly=True), uri=True, isolation_level=None)) as source,
        closing(sqlite3.connect(part)) as copy,
    ):
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=PAGES, progress=lambda _, left, total: tell("copying", 1 - left / max(1, total)))


def _settle_copy(part: Path) -> None:
    """Make the copy a single file without a log, and flush it to the disk."""
    with closing(sqlite3.connect(part)) as copy:
        copy.execute("PRAGMA journal_mode = DELETE")
    with part.open("rb") as stream:
        os.fsync(stream.fileno())


def _copy_tables(db: Database, part: Path, tell: Progress) -> None:
    """Copy the rows of all tables into a new store."""
    copy = open_database(part)
    copy.identity.drawn = None  # the identity of the source replaces it
    try:
        with db.read() as source:
            for table in metadata.sorted_tables:
                if table not in (store_version, search_indexes, receipts):  # specific to one database
                    _copy_table(source, copy, table, tell)
            with copy.write() as target:
                target.execute(update(store_version).values(identity=db.identity.drawn))
            if source.dialect.name == "postgresql":
                _copy_counters(source, copy)
    finally:
        copy.close()


def _copy_table(source: Connection, copy: Database, table: Table, tell: Progress) -> None:
    """Copy the raw values of a table, without conversion by our types, so that NULL stays NULL."""
    names = [column.name for column in table.columns]
    at_once = BLOBS if {"arrays", "texts"} & {*names} else ROWS
    read = text(f"SELECT {', '.join(names)} FROM {table.name}")  # noqa: S608 - our own names
    write = text(f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})")  # noqa: S608
    total = source.execute(text(f"SELECT count(*) FROM {table.name}")).scalar_one()  # noqa: S608
    done = 0
    for chunk in source.execution_options(yield_per=at_once).execute(read).mappings().partitions():
        with copy.write() as target:
            target.execute(write, [dict(row) for row in chunk])
        done += len(chunk)
        tell(f"copying {table.name.replace('_', ' ')}", done / max(1, total))


def _copy_counters(source: Connection, copy: Database) -> None:
    """Copy the counters of row numbers, so that no number is ever used twice."""
    for table in metadata.tables.values():
        if "number" not in table.columns:
            continue
        name = source.execute(text("SELECT pg_get_serial_sequence(:table, 'number')"), {"table": table.name}).scalar()
        last: Any = source.execute(text(f"SELECT last_value FROM {name}")).scalar()  # noqa: S608 - a name from the server
        with copy.write() as target:
            target.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
            values = {"name": table.name, "last": int(last)}
            target.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), values)


class PruneRule(NamedTuple):
    """The rule for which snapshots of ended runs are kept; None stands for no limit.

    Attributes
    ----------
    keep : int or None
        Largest number of snapshots of a run.
    budget : int or None
        Largest total size of the snapshots of a run, in bytes.
    damaged : bool
        Whether to remove damaged snapshots; all snapshots are read to find them.
    runs : collection of int or None
        The runs to which the rule applies; None: all.
    """

    keep: int | None = None
    budget: int | None = None
    damaged: bool = False
    runs: Collection[int] | None = None


class PruneItem(NamedTuple):
    """A removable thing: a description, its size in bytes, and the function that removes it."""

    what: str
    size: int
    remove: Callable[[Database], None]


@retry_reads
def find_removable(db: Database, rule: PruneRule) -> list[PruneItem]:
    """Return what can be removed, in the order of removal.

    These are the snapshots that the rule does not keep, rows left by killed imports and deletions, parts of unfinished
    checkpoints, and the checkpoints of finished runs, which nothing reads any more.
    """
    with db.read() as connection:
        rows = run_rows.read_runs(connection)
    items = [*_find_killed(db)]
    for row in rows:
        items += _find_checkpoints(db, row)
        if row.state in ENDED and (rule.runs is None or row.number in rule.runs):
            items += _find_snapshots(db, row, rule)
    return items


def vacuum_store(db: Database) -> None:
    """Return the space of deleted rows to the disk.

    Raises
    ------
    DamagedStore
        If rows are damaged: SQLite would make their copies again, and nothing would show the damage any more.
    StoreError
        If other programs use the store, or there is no room for a copy of the file; the rows are still deleted, and
        their space is used again.
    """
    again = "its space is used again for what comes next; prune again when nothing trains"
    if db.path is None:
        tables = ", ".join(metadata.tables)
        db.run_alone(f"VACUUM {tables}")
        return
    if db.readonly:
        raise StoreError(describe_fixed_store(db.place))
    with db.read() as connection:
        for table in metadata.sorted_tables:
            if connection.execute(select_damaged(table).limit(1)).first() is not None:
                raise DamagedStore(
                    f"rows of {table.name} are damaged, so the store is not made smaller; restore a backup"
                )
    size, free = db.path.stat().st_size, shutil.disk_usage(db.path.parent).free
    if free < size:
        raise StoreError(
            f"to shrink the store, {size >> 20:,} MB must be free on its disk, and {free >> 20:,} MB are; {again}"
        )
    try:
        with closing(sqlite3.connect(db.path, timeout=5.0, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        kind, sentence = describe_sqlite_error(error, db.place)
        in_use = f"the store cannot shrink while it is in use ({error}); {again}"
        raise (StoreError(in_use) if is_lock_error(error) else kind(sentence)) from error


def _find_killed(db: Database) -> Iterator[PruneItem]:
    """Yield the corpora and the runs whose import or deletion was killed."""
    for number in corpus_writer.list_abandoned(db):
        what = f"corpus {number}, of which an import or a deletion was killed"
        yield PruneItem(what, _measure_corpus(db, number), partial(corpus_writer.discard_corpus, number=number))
    for number in run_rows.list_deleted(db):
        what = f"run {number}, of which a deletion was killed"
        yield PruneItem(what, _measure_run(db, number), partial(run_rows.remove_run, run=number))


def _find_checkpoints(db: Database, row: RunRow) -> Iterator[PruneItem]:
    """Yield the checkpoints of a run that nothing reads any more."""
    with db.read() as connection:
        try:
            generations = checkpoints.list_generations(connection, row.number)
        except DamagedArrays:  # it is unknown which parts are needed; the next worker removes the others
            return
        is_of_run = checkpoint_parts.c.run == row.number
        size = _sum_bytes(connection, checkpoint_parts, "arrays", is_of_run)
        unused_size = _sum_bytes(
            connection, checkpoint_parts, "arrays", is_of_run & checkpoint_parts.c.generation.not_in(generations)
        )
    if row.state == "finished" and (generations or size):
        yield PruneItem(
            f"the checkpoints of run {row.number}, which is finished",
            size,
            lambda database: _remove_checkpoints(database, row.number),
        )
    elif unused_size and row.state in ENDED:
        yield PruneItem(
            f"an unfinished checkpoint of run {row.number}",
            unused_size,
            lambda database: _remove_unfinished(database, row.number),
        )


def _find_snapshots(db: Database, row: RunRow, rule: PruneRule) -> Iterator[PruneItem]:
    """Yield the snapshots of a run that the rule does not keep."""
    intact = snapshots.list_snapshots(db, row.number)
    if rule.damaged:
        broken = [each for each in intact if not snapshots.check_snapshot(db, each)]
        intact = [each for each in intact if each not in broken]
        if broken:
            yield _make_snapshot_item(db, row, broken, "damaged ")
    is_unfinished_fork = row.parent is not None and row.state != "finished"  # a fork starts from its first snapshot
    candidates = [each for each in intact if not (is_unfinished_fork and each.minibatch == 0)]
    chosen = _choose_snapshots(candidates, rule)
    removable = [each for each in candidates if each.minibatch not in chosen]
    if removable:
        yield _make_snapshot_item(db, row, removable, "")


def _choose_snapshots(rows: list[SnapshotRow], rule: PruneRule) -> set[int]:
    """Return the mini-batches of the snapshots to keep."""
    sizes = {row.minibatch: row.size for row in rows}
    most = len(rows) if rule.keep is None else rule.keep
    chosen = snapshots.choose_evenly(sizes, most)
    while rule.budget is not None and len(chosen) > 1 and sum(sizes[each] for each in chosen) > rule.budget:
        most = len(chosen) - 1
        chosen = snapshots.choose_evenly(sizes, most)
    return chosen


def _make_snapshot_item(db: Database, row: RunRow, removable: list[SnapshotRow], kind: str) -> PruneItem:
    """Return the item for some snapshots of a run, with the shares of documents under them."""
    numbers = [each.number for each in removable]
    which = f"{len(removable)} {kind}snapshots" if len(removable) > 1 else f"1 {kind}snapshot"
    span = f"mini-batches {removable[0].minibatch:,} to {removable[-1].minibatch:,}"
    where = span if len(removable) > 1 else f"mini-batch {removable[0].minibatch:,}"
    with db.read() as connection:
        size = snapshots.measure_parts(connection, snapshot_table.c.number.in_(numbers))
    return PruneItem(
        f"{which} of run {row.number}, {where}", size, lambda database: _remove_snapshots(database, row.number, numbers)
    )


def _remove_snapshots(db: Database, run: int, numbers: list[int]) -> None:
    """Delete snapshots of a run, some at a time."""
    is_removable = (snapshot_table.c.run == run) & snapshot_table.c.number.in_(numbers)
    run_rows.delete_piecewise(db, snapshot_table, is_removable, snapshot_table.c.number, 20)


def _remove_checkpoints(db: Database, run: int) -> None:
    """Delete the checkpoints of a run, if it is still finished."""

    def work(connection: Connection) -> None:
        row = run_rows.lock_run(connection, run)
        if row.state != "finished":
            raise StoreError(f"run {run} is {row.state} by now; its checkpoints stay")
        for table in (last_checkpoints, earlier_checkpoints):
            connection.execute(delete(table).where(table.c.run == run))

    db.transact(work)
    is_of_run = checkpoint_parts.c.run == run
    run_rows.delete_piecewise(db, checkpoint_parts, is_of_run, checkpoint_parts.c.part, 20)


@writes
def _remove_unfinished(connection: Connection, run: int) -> None:
    """Delete the parts of unfinished checkpoints of a run, if it has ended."""
    if run_rows.lock_run(connection, run).state in ENDED:
        checkpoints.remove_parts(connection, run, checkpoints.list_generations(connection, run))


@reads
def _measure_corpus(connection: Connection, number: int) -> int:
    """Return the size of a corpus in bytes."""
    columns = ((corpus_blocks, "arrays"), (column_blocks, "arrays"), (corpus_texts, "texts"), (corpus_words, "text"))
    return sum(_sum_bytes(connection, table, column, table.c.corpus == number) for table, column in columns)


@reads
def _measure_run(connection: Connection, number: int) -> int:
    """Return the size of a run in bytes."""
    size = _sum_bytes(connection, checkpoint_parts, "arrays", checkpoint_parts.c.run == number)
    return size + snapshots.measure_parts(connection, snapshot_table.c.run == number)


def _sum_bytes(connection: Connection, table: Table, column: str, mine: ColumnElement[bool]) -> int:
    """Return the total size of some cells in bytes."""
    return int(connection.execute(select(func.sum(func.length(table.c[column]))).where(mine)).scalar() or 0)
