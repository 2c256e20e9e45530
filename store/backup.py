"""A copy of a whole store in a file, made while it is in use: `topiary backup`."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, text

from store.database import Database, open_database
from store.errors import StoreError
from store.tables import metadata, receipts, schema_version, search_indexes

Tell = Callable[[str, float | None], None]
PAGES = 4096  # copied at a time
ROWS, BLOBS = 2000, 1  # read at a time, of tables without and with arrays


def backup(db: Database, target: Path, tell: Tell = lambda *_: None) -> int:
    """Copy a store into a new SQLite file, as it is at one moment; whoever works with it goes on meanwhile.

    Parameters
    ----------
    db : Database
        SQLite, or PostgreSQL, whose tables are copied row by row.
    target : Path
        There is nothing yet; only its owner may read it.
    tell : (words, share) -> None
        Hears how much is done.

    Returns
    -------
    int
        Bytes of the copy.

    Raises
    ------
    StoreError
        When the file is there already, or cannot be written; then there is none.
    """
    if target.exists():
        raise StoreError(f"{target} is there already; give the backup another name")
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        (_copy_file if db.path is not None else _copy_tables)(db, part, tell)
        _settle(part)
        size = part.stat().st_size
        part.rename(target)
    except (OSError, sqlite3.Error) as error:
        said = getattr(error, "strerror", None) or error
        raise StoreError(f"the backup {target} cannot be written ({said}); make room, or give another file") from error
    finally:
        for path in (part, *(part.with_name(part.name + end) for end in ("-wal", "-shm", "-journal"))):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    return size


def _copy_file(db: Database, part: Path, tell: Tell) -> None:
    """Page by page, inside one reading transaction: writers do not wait for it, and it sees none of what they do."""
    with db.read():  # says in a sentence what is wrong with the store
        pass
    uri = f"{Path(str(db.path)).as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as source,
        closing(sqlite3.connect(part)) as copy,
    ):
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=PAGES, progress=lambda _, left, total: tell("copying", 1 - left / max(1, total)))


def _settle(part: Path) -> None:
    """The copy as one file that needs no other beside it, on the disk."""
    with closing(sqlite3.connect(part)) as copy:
        copy.execute("PRAGMA journal_mode = DELETE")
    with part.open("rb") as stream:
        os.fsync(stream.fileno())


def _copy_tables(db: Database, part: Path, tell: Tell) -> None:
    copy = open_database(part)
    copy.identity.drawn = None  # that of the source takes its place
    try:
        with db.read() as source:
            for table in metadata.sorted_tables:
                if table not in (search_indexes, receipts):  # of one database only, and made again when needed
                    _copy_table(source, copy, table, tell)
            if source.dialect.name == "postgresql":
                _keep_numbers(source, copy)
    finally:
        copy.close()


def _copy_table(source: Connection, copy: Database, table: Table, tell: Tell) -> None:
    """Values as the databases hold them, past all types of ours, so that NULL stays NULL."""
    names = [column.name for column in table.columns]
    at_once = BLOBS if {"arrays", "texts"} & {*names} else ROWS
    read = text(f"SELECT {', '.join(names)} FROM {table.name}")  # noqa: S608 - names of ours
    write = text(f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})")  # noqa: S608
    total = source.execute(text(f"SELECT count(*) FROM {table.name}")).scalar_one()  # noqa: S608
    done = 0
    if table is schema_version:
        with copy.write() as target:
            target.execute(table.delete())
    for some in source.execution_options(yield_per=at_once).execute(read).mappings().partitions():
        with copy.write() as target:
            target.execute(write, [dict(row) for row in some])
        done += len(some)
        tell(f"copying {table.name.replace('_', ' ')}", done / max(1, total))


def _keep_numbers(source: Connection, copy: Database) -> None:
    """Numbers go on where they were, so that none is ever given twice."""
    for table in metadata.tables.values():
        if "number" not in table.columns:
            continue
        name = source.execute(text("SELECT pg_get_serial_sequence(:table, 'number')"), {"table": table.name}).scalar()
        last: Any = source.execute(text(f"SELECT last_value FROM {name}")).scalar()  # noqa: S608 - as the server says
        with copy.write() as target:
            target.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
            values = {"name": table.name, "last": int(last)}
            target.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), values)
