"""What a store can do without, and taking it away: `topiary prune`."""

import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, create_engine, delete, func, select
from sqlalchemy.engine import make_url

from store import checkpoints, corpus_writer, removal, run_rows, snapshots, thinning
from store.database import Database, now
from store.errors import DamagedArrays, StoreError
from store.run_rows import RunRow
from store.runs import ENDED
from store.snapshots import SnapshotRow
from store.tables import (
    checkpoint_parts,
    corpora,
    corpus_blocks,
    corpus_texts,
    corpus_words,
    earlier_checkpoints,
    metadata,
    runs,
)
from store.tables import checkpoints as last_checkpoints
from store.tables import snapshots as snapshot_table


class Rule(NamedTuple):
    """Which snapshots of the runs that have ended are kept; None: all.

    Attributes
    ----------
    keep : int or None
        At most so many of each run.
    budget : int or None
        At most so many bytes of each run.
    damaged : bool
        Whether those that turn out damaged are removed; all are read for it.
    runs : collection of int or None
        Only these runs; None: all.
    """

    keep: int | None = None
    budget: int | None = None
    damaged: bool = False
    runs: Collection[int] | None = None


class Item(NamedTuple):
    """Something that can go: what it is, how many bytes it takes, and what takes it away."""

    what: str
    size: int
    remove: Callable[[Database], None]


def wanted(db: Database, rule: Rule) -> list[Item]:
    """What would be removed, in the order in which it would be.

    Besides what the rule names: what killed imports and deletions left behind, parts of checkpoints that were never
    finished, and the checkpoints of finished runs, which nothing reads any more.
    """
    with db.read() as connection:
        rows = [run_rows.read(row) for row in connection.execute(run_rows.visible().order_by(runs.c.number))]
    items = [*_left_corpora(db), *_left_runs(db)]
    for row in rows:
        items += _of_checkpoints(db, row)
        if row.state in ENDED and (rule.runs is None or row.number in rule.runs):
            items += _of_snapshots(db, row, rule)
    return items


def vacuum(db: Database) -> None:
    """Give the space of what was deleted back to the disk.

    Raises
    ------
    StoreError
        When others use the store, or a file's copy has no room; what was deleted is deleted all the same, and its
        space is used again for what comes next.
    """
    again = "its space is used again for what comes next; prune again when nothing trains"
    if db.path is None:
        tables = ", ".join(metadata.tables)
        engine = create_engine(make_url(db.url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"VACUUM {tables}")
        engine.dispose()
        return
    size, free = db.path.stat().st_size, shutil.disk_usage(db.path.parent).free
    if free < size:
        raise StoreError(
            f"to shrink the store, {size >> 20:,} MB must be free beside it, and {free >> 20:,} MB are; {again}"
        )
    try:
        with closing(sqlite3.connect(db.path, timeout=5.0, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        raise StoreError(f"the store cannot shrink while it is in use ({error}); {again}") from error


def _left_corpora(db: Database) -> Iterator[Item]:
    old = (corpora.c.state == "incomplete") & (corpora.c.touched < now() - corpus_writer.ABANDONED_SECONDS)
    with db.read() as connection:
        numbers = connection.execute(select(corpora.c.number).where(old)).scalars().all()
        sizes = {number: _corpus_bytes(connection, number) for number in numbers}
    for number, size in sizes.items():
        yield Item(
            f"corpus {number}, of which an import or a deletion was killed",
            size,
            lambda database, number=number: corpus_writer.discard(database, number),  # type: ignore[misc]
        )


def _left_runs(db: Database) -> Iterator[Item]:
    with db.read() as connection:
        numbers = connection.execute(select(runs.c.number).where(runs.c.state == "deleted")).scalars().all()
        sizes = {number: _run_bytes(connection, number) for number in numbers}
    for number, size in sizes.items():
        yield Item(
            f"run {number}, of which a deletion was killed",
            size,
            lambda database, number=number: removal.remove_run(database, number),  # type: ignore[misc]
        )


def _of_checkpoints(db: Database, row: RunRow) -> Iterator[Item]:
    with db.read() as connection:
        try:
            whole = checkpoints.generations(connection, row.number)
        except DamagedArrays:  # nobody knows which parts are whose; the worker that goes on sees to it
            return
        parts = checkpoint_parts.c.run == row.number
        size = _bytes(connection, checkpoint_parts, "arrays", parts)
        left = _bytes(connection, checkpoint_parts, "arrays", parts & checkpoint_parts.c.generation.not_in(whole))
    if row.state == "finished" and (whole or size):
        yield Item(
            f"the checkpoints of run {row.number}, which is finished",
            size,
            lambda database: _remove_checkpoints(database, row.number),
        )
    elif left and row.state in ENDED:
        yield Item(
            f"an unfinished checkpoint of run {row.number}",
            left,
            lambda database: _remove_unfinished(database, row.number),
        )


def _of_snapshots(db: Database, row: RunRow, rule: Rule) -> Iterator[Item]:
    kept = snapshots.every(db, row.number)
    if rule.damaged:
        broken = [each for each in kept if not snapshots.sound(db, each)]
        kept = [each for each in kept if each not in broken]
        if broken:
            yield _snapshot_item(row, broken, "damaged ")
    begins = row.parent is not None and row.state != "finished"  # with its first one, when it is resumed from nothing
    movable = [each for each in kept if not (begins and each.minibatch == 0)]
    chosen = _chosen(movable, rule)
    gone = [each for each in movable if each.minibatch not in chosen]
    if gone:
        yield _snapshot_item(row, gone, "")


def _chosen(rows: list[SnapshotRow], rule: Rule) -> set[int]:
    """The mini-batches of the snapshots that stay."""
    sizes = {row.minibatch: row.size for row in rows}
    most = len(rows) if rule.keep is None else rule.keep
    chosen = thinning.evenly(sizes, most)
    while rule.budget is not None and len(chosen) > 1 and sum(sizes[each] for each in chosen) > rule.budget:
        most = len(chosen) - 1
        chosen = thinning.evenly(sizes, most)
    return chosen


def _snapshot_item(row: RunRow, gone: list[SnapshotRow], kind: str) -> Item:
    numbers = [each.number for each in gone]
    which = f"{len(gone)} {kind}snapshots" if len(gone) > 1 else f"1 {kind}snapshot"
    at = f"mini-batches {gone[0].minibatch:,} to {gone[-1].minibatch:,}"
    where = at if len(gone) > 1 else f"mini-batch {gone[0].minibatch:,}"
    size = sum(each.size for each in gone)
    return Item(
        f"{which} of run {row.number}, {where}", size, lambda database: _remove_snapshots(database, row.number, numbers)
    )


def _remove_snapshots(db: Database, run: int, numbers: list[int]) -> None:
    mine = (snapshot_table.c.run == run) & snapshot_table.c.number.in_(numbers)
    removal.delete_piecewise(db, snapshot_table, mine, snapshot_table.c.number, 20)


def _remove_checkpoints(db: Database, run: int) -> None:
    def work(connection: Connection) -> None:
        row = run_rows.held(connection, run)
        if row.state != "finished":
            raise StoreError(f"run {run} is {row.state} by now; its checkpoints stay")
        for table in (last_checkpoints, earlier_checkpoints):
            connection.execute(delete(table).where(table.c.run == run))

    db.transact(work)
    mine = checkpoint_parts.c.run == run
    removal.delete_piecewise(db, checkpoint_parts, mine, checkpoint_parts.c.part, 20)


def _remove_unfinished(db: Database, run: int) -> None:
    def work(connection: Connection) -> None:
        if run_rows.held(connection, run).state in ENDED:
            checkpoints.remove_parts(connection, run, checkpoints.generations(connection, run))

    db.transact(work)


def _corpus_bytes(connection: Connection, number: int) -> int:
    columns = ((corpus_blocks, "arrays"), (corpus_texts, "texts"), (corpus_words, "text"))
    return sum(_bytes(connection, table, column, table.c.corpus == number) for table, column in columns)


def _run_bytes(connection: Connection, number: int) -> int:
    tables = (snapshot_table, checkpoint_parts)
    return sum(_bytes(connection, table, "arrays", table.c.run == number) for table in tables)


def _bytes(connection: Connection, table: Table, column: str, mine: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.sum(func.length(table.c[column]))).where(mine)).scalar() or 0)
