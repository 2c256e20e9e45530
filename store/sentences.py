"""What the databases say of themselves, as sentences: locks, lost servers, full disks and damaged files."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, OperationalError

from store.errors import DamagedStore, StoreError, Unreachable

LOCKED_SQLITE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_LOCKED_POSTGRESQL = {"40001", "40P01", "55P03"}  # serialisation failure, deadlock, lock not available
_AWAY = {"57P01", "57P02", "57P03", "53300"}  # it stops, has crashed, starts, or takes no more connections yet


def met_a_lock(error: DBAPIError) -> bool:
    """Whether another program had what was asked for, so that another try may do."""
    origin = error.orig
    if isinstance(origin, sqlite3.Error):
        return getattr(origin, "sqlite_errorcode", 0) & 0xFF in LOCKED_SQLITE
    return getattr(origin, "sqlstate", None) in _LOCKED_POSTGRESQL


def lost_the_server(error: DBAPIError) -> bool:
    """Whether PostgreSQL went away, is about to, or is not quite there again."""
    if isinstance(error.orig, sqlite3.Error):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    return isinstance(error, OperationalError) and (state is None or state.startswith("08") or state in _AWAY)


def first_line(error: DBAPIError) -> str:
    """Return what the database said, without what it added."""
    return (str(error.orig).strip().splitlines() or ["no further words"])[0]


@contextmanager
def sentences(place: str) -> Iterator[None]:
    """Turn what the database says about its circumstances into a sentence."""
    try:
        yield
    except DBAPIError as error:
        sentence = _sentence(error, place)
        if sentence is None:
            raise
        raise _kind(error)(sentence) from error


def _kind(error: DBAPIError) -> type[StoreError]:
    if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
        return DamagedStore
    return Unreachable if lost_the_server(error) else StoreError


def _sentence(error: DBAPIError, place: str) -> str | None:
    origin = error.orig
    if isinstance(origin, sqlite3.Error):
        return sentence_sqlite(getattr(origin, "sqlite_errorcode", 0) & 0xFF, place, origin)
    if met_a_lock(error):
        return f"the store {place} was kept locked by another program; try again when it is done"
    if lost_the_server(error) or isinstance(error, OperationalError):
        return f"the database {place} cannot be reached: {first_line(error)}"
    return None


def sentence_sqlite(code: int, place: str, origin: sqlite3.Error) -> str | None:
    """What a code of SQLite means for the store at ``place``; None where it says nothing of the circumstances."""
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
