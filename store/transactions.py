"""Outcomes of transactions: database errors as sentences for users, and receipts of committed transactions."""

import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Connection, Double, cast, delete, extract, func, insert, update
from sqlalchemy.exc import DBAPIError, OperationalError

from store.errors import DamagedStore, StoreError, UnreachableStore
from store.tables import receipts

LOCKED_SQLITE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_LOCKED_POSTGRESQL = {"40001", "40P01", "55P03"}  # serialisation failure, deadlock, lock not available
_AWAY = {"57P01", "57P02", "57P03", "53300"}  # server is stopping, crashed, is starting, or has no free connection


def is_locked(error: DBAPIError) -> bool:
    """Return whether another program held a lock, so that another try may succeed."""
    origin = error.orig
    if isinstance(origin, sqlite3.Error):
        return getattr(origin, "sqlite_errorcode", 0) & 0xFF in LOCKED_SQLITE
    return getattr(origin, "sqlstate", None) in _LOCKED_POSTGRESQL


def is_unreachable(error: DBAPIError) -> bool:
    """Return whether the PostgreSQL server is gone, stopping or starting."""
    if isinstance(error.orig, sqlite3.Error):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    return isinstance(error, OperationalError) and (state is None or state.startswith("08") or state in _AWAY)


def read_first_line(error: DBAPIError) -> str:
    """Return the first line of the database's message."""
    return (str(error.orig).strip().splitlines() or ["no further words"])[0]


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Raise database errors about locks, disks, rights and connections as StoreError with a sentence for users."""
    try:
        yield
    except DBAPIError as error:
        sentence = _describe_error(error, place)
        if sentence is None:
            raise
        raise _choose_error(error)(sentence) from error


def _choose_error(error: DBAPIError) -> type[StoreError]:
    """Return the class of the error to raise for a database error."""
    if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
        return DamagedStore
    return UnreachableStore if is_unreachable(error) else StoreError


def _describe_error(error: DBAPIError, place: str) -> str | None:
    """Return a sentence about a database error; None if it is an error of the program."""
    origin = error.orig
    if isinstance(origin, sqlite3.Error):
        return describe_sqlite_error(getattr(origin, "sqlite_errorcode", 0) & 0xFF, place, origin)
    if is_locked(error):
        return f"the store {place} was kept locked by another program; try again when it is done"
    if is_unreachable(error) or isinstance(error, OperationalError):
        return f"the database {place} cannot be reached: {read_first_line(error)}"
    return None


def describe_sqlite_error(code: int, place: str, origin: sqlite3.Error) -> str | None:
    """Describe an error code of SQLite for the store at ``place``; None for other codes."""
    if code in LOCKED_SQLITE:
        return f"the store {place} was kept locked by another program; try again when it is done"
    return {
        sqlite3.SQLITE_FULL: f"the disk with the store {place} is full; free some space and try again",
        sqlite3.SQLITE_IOERR: f"the disk with the store {place} fails ({origin}); look at its quota, or at the network "
        "it is reached by, and try again",
        sqlite3.SQLITE_READONLY: f"the store {place} may not be written; check the rights of the file and its folder",
        sqlite3.SQLITE_CANTOPEN: f"the store {place} cannot be opened; check the path and your rights",
        sqlite3.SQLITE_NOTADB: f"the file {place} is not a store; give another file",
        sqlite3.SQLITE_CORRUPT: f"the store {place} is damaged ({origin}); restore it from a copy",
    }.get(code)


_KEPT_SECONDS = 7 * 86_400.0  # until the row of a writer that was killed is removed
_NOW = cast(extract("epoch", func.clock_timestamp()), Double)


class Receipt(NamedTuple):
    """A receipt for a transaction: its writer, and its number among the writer's transactions."""

    writer: str
    sequence: int


class _ThreadWriter(threading.local):
    """The name of a thread and the number of its transactions; every thread has its own row of receipts."""

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        self.sequence = 0


class ReceiptBook:
    """The receipts of the transactions of an open database."""

    def __init__(self) -> None:
        self._writer = _ThreadWriter()

    def sign(self, connection: Connection) -> Receipt:
        """Add a receipt to a transaction as its last statement, and return it."""
        writer = self._writer
        writer.sequence += 1
        values = {"sequence": writer.sequence, "written": _NOW}
        if not connection.execute(update(receipts).where(receipts.c.writer == writer.name).values(values)).rowcount:
            connection.execute(delete(receipts).where(receipts.c.written < _NOW - _KEPT_SECONDS))
            connection.execute(insert(receipts).values(writer=writer.name, **values))
        return Receipt(writer.name, writer.sequence)


def has_arrived(connection: Connection, receipt: Receipt) -> bool:
    """Return whether the transaction with this receipt was committed.

    Writing to the same row makes it wait until the server has ended the transaction.
    """
    from sqlalchemy.dialects.postgresql import insert as insert_or_update  # slow to load, and rarely needed

    statement = insert_or_update(receipts).values(writer=receipt.writer, sequence=0, written=_NOW)
    upsert = statement.on_conflict_do_update(index_elements=[receipts.c.writer], set_={"written": _NOW})
    return bool(connection.execute(upsert.returning(receipts.c.sequence)).scalar_one() == receipt.sequence)
