"""Outcomes of transactions: database errors as sentences for users, and receipts of committed transactions."""

import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Connection, Double, cast, delete, extract, func, insert, update
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError

from topiary.store.errors import DamagedStore, RefusedRow, StoreError, UnreachableStore
from topiary.store.tables import receipts

_LOCKED_SQLITE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_LOCKED_POSTGRESQL = {"40001", "40P01", "55P03"}  # serialisation failure, deadlock, lock not available
_AWAY = {"57P01", "57P02", "57P03", "53300"}  # server is stopping, crashed, is starting, or has no free connection
_DAMAGED_SQLITE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA}
# The states of PostgreSQL, or the classes of states that begin so, of which its tables are damaged.
_DAMAGED_POSTGRESQL = ("XX", "42P01", "42703", "3F", "58P0")
# What the states of PostgreSQL mean, by their beginnings; the message of the server follows in brackets.
_SERVER_SENTENCES = {
    "42501": "the database {} does not allow this user what is asked ({}); have its owner grant the right to read and "
    "write all tables of the store",
    "53100": "the disk of the database {} is full ({}); free some space there and try again",
    "53200": "the server of the database {} is out of memory ({}); try again when it has more",
    "53": "the server of the database {} has reached a limit ({}); try again later, or raise the limit",
    "54": "the server of the database {} has reached a limit ({}); raise it, or store less at a time",
    "25006": "the database {} may only be read ({}); give the address of the server that can be written",
    "28": "the database {} refuses this user ({}); check the user and the password in the address of the store",
    "3D": "the database {} is not there ({}); check its name in the address of the store, or have it made",
    "57014": "the database {} ended a statement that took longer than it allows ({}); raise the limit of the server",
    "58": "the disk of the database {} fails ({}); look at the log of its server",
}


def is_locked(error: DBAPIError) -> bool:
    """Return whether another program held a lock, so that another try may succeed."""
    origin = error.orig
    if isinstance(origin, sqlite3.Error):
        return is_lock_error(origin)
    return _read_state(error) in _LOCKED_POSTGRESQL


def is_lock_error(error: sqlite3.Error) -> bool:
    """Return whether an error of SQLite says that another program holds a lock."""
    return _read_code(error) in _LOCKED_SQLITE


def is_unreachable(error: DBAPIError) -> bool:
    """Return whether the PostgreSQL server is gone, stopping or starting."""
    if isinstance(error.orig, sqlite3.Error):
        return False
    state = _read_state(error)
    if state in _AWAY or state.startswith("08"):
        return True
    return not state and (error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError)))


def read_first_line(error: DBAPIError) -> str:
    """Return the first line of the database's message."""
    return (str(error.orig).strip().splitlines() or ["no further words"])[0]


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Raise every error of the database as StoreError with a sentence for users."""
    try:
        yield
    except DBAPIError as error:
        kind, sentence = _describe_error(error, place)
        raise kind(sentence) from error
    except UnicodeDecodeError as error:  # a message of SQLite with a name that is not text
        raise DamagedStore(describe_garbled_schema(place)) from error


def _read_code(error: sqlite3.Error) -> int:
    """Return the primary error code of SQLite; 0 if the error is one of Python's module."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _read_state(error: DBAPIError) -> str:
    """Return the state that PostgreSQL gives an error; empty if the error did not come from the server."""
    return getattr(error.orig, "sqlstate", None) or ""


def _describe_error(error: DBAPIError, place: str) -> tuple[type[StoreError], str]:
    """Return the class of the error to raise for a database error, and the sentence about it."""
    if isinstance(error.orig, sqlite3.Error):
        return describe_sqlite_error(error.orig, place)
    state, message = _read_state(error), read_first_line(error)
    if is_locked(error):
        return StoreError, f"the store {place} was kept locked by another program; try again when it is done"
    if is_unreachable(error):
        return UnreachableStore, f"the database {place} cannot be reached: {message}"
    if state.startswith(_DAMAGED_POSTGRESQL):
        return DamagedStore, f"the store {place} is damaged ({message}); restore it from a backup"
    if isinstance(error, IntegrityError):
        return RefusedRow, _describe_refused_row(place, message)
    found = next((text for begin, text in _SERVER_SENTENCES.items() if state.startswith(begin)), _UNKNOWN)
    return StoreError, found.format(place, message)


_UNKNOWN = "the store {} refused a statement of Topiary ({}); topiary check says whether it is damaged"


def _describe_refused_row(place: str, message: str) -> str:
    cause = "another program may have changed them at the same time, else topiary check says what is damaged"
    return f"the store {place} refused a row that contradicts others ({message}); {cause}"


def describe_sqlite_error(error: sqlite3.Error, place: str) -> tuple[type[StoreError], str]:
    """Return the class of the error to raise for an error of SQLite, and the sentence about it."""
    code, message = _read_code(error), (str(error).splitlines() or [""])[0]  # it may quote a definition of many lines
    if code in _LOCKED_SQLITE:
        return StoreError, f"the store {place} was kept locked by another program; try again when it is done"
    if code in _DAMAGED_SQLITE:
        return DamagedStore, f"the store {place} is damaged ({message}); restore it from a copy"
    if code == sqlite3.SQLITE_CONSTRAINT:
        return RefusedRow, _describe_refused_row(place, str(error))
    known = {
        sqlite3.SQLITE_FULL: f"the disk with the store {place} is full; free some space and try again",
        sqlite3.SQLITE_IOERR: f"the disk with the store {place} fails ({error}); look at its quota, or at the network "
        "it is reached by, and try again",
        sqlite3.SQLITE_READONLY: describe_fixed_store(place),
        sqlite3.SQLITE_CANTOPEN: f"the store {place} cannot be opened; check the path and your rights",
        sqlite3.SQLITE_PERM: f"the store {place} cannot be opened; check the path and your rights",
        sqlite3.SQLITE_NOTADB: f"the file {place} is not a store; give another file",
    }
    return StoreError, known.get(code, _UNKNOWN.format(place, error))


def describe_garbled_schema(place: str) -> str:
    """Return the sentence about a file in which the names of tables are not text."""
    return f"the store {place} is damaged (the definitions of its tables cannot be read); restore it from a copy"


def describe_fixed_store(place: str) -> str:
    """Return the sentence about a file that may not be written."""
    return f"the store {place} may not be written; check the rights of the file and its folder"


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
