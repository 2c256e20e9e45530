"""Access to the database: its place and identity, short transactions that wait and retry, and its clock.

Code that is specific to SQLite or PostgreSQL is in this file, except for their errors and receipts
(`store.transactions`), full-text indexes (`store.full_text`) and upkeep (`store.check` and `store.upkeep`).
"""

import functools
import logging
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import (
    Connection,
    Double,
    Engine,
    ExceptionContext,
    NullPool,
    QueuePool,
    Transaction,
    create_engine,
    event,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from topiary.store import migrations
from topiary.store.errors import DamagedStore, NotFound, OutdatedStore, ReplacedStore, StoreError, UnreachableStore
from topiary.store.tables import store_version
from topiary.store.transactions import (
    Receipt,
    ReceiptBook,
    describe_fixed_store,
    describe_garbled_schema,
    describe_sqlite_error,
    has_arrived,
    is_lock_error,
    is_locked,
    is_unreachable,
    read_first_line,
    translate_errors,
)

NEXT_NAME = "store-2.db"


def find_default_path(*, new: bool = False) -> Path:
    """Return the default file of the store, in the user's data directory of the operating system.

    It is `NEXT_NAME` where that exists, or if ``new``: next to a store from before version 0.1.0, which stays as it is.
    """
    home = Path.home()
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Topiary"
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support" / "Topiary"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "topiary"
    following = folder / NEXT_NAME
    return following if new or following.exists() else folder / "store.db"


def is_file(address: str) -> bool:
    """Return whether an address is a file, not a server."""
    return "://" not in address or address.startswith("sqlite")


def find_path(address: str) -> Path:
    """Return the absolute path of the file that an address names."""
    if "://" not in address:
        return _resolve_path(address)
    name = parse_address(address).database
    if not name or name == ":memory:":
        raise StoreError(f"{address} is a store in memory, which no other process can see; give a file instead")
    return _resolve_path(name)


def _resolve_path(name: str) -> Path:
    """Return the absolute path of a file name."""
    try:
        return Path(name).expanduser().resolve()
    except RuntimeError as error:  # no such user, or links that form a loop
        raise StoreError(f"the store {name} cannot be found ({error}); write its whole path") from error


def parse_address(address: str) -> URL:
    """Return an address as a URL."""
    try:
        return make_url(address)
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"the address of the store cannot be read; write postgresql://user@host/name ({error})"
        ) from error


def make_folder(path: Path) -> None:
    """Make the folder of a new store, accessible to its owner only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"the folder {path.parent} for the store cannot be made: {error.strerror}") from error


def make_file(path: Path) -> None:
    """Make the file of a new store, accessible to its owner only; SQLite gives its other files the same rights.

    An existing file keeps its rights, because its owner may have shared it with a group.
    """
    with suppress(FileExistsError):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise
        except OSError as error:
            cause = f"({error.strerror or error}); check the path and your rights"
            raise StoreError(f"the store {path} cannot be opened {cause}") from error


LOOK_SECONDS = 2.0  # between two reads of the identity


class StoreIdentity:
    """The identity of a store when it was opened, compared with its present one.

    Parameters
    ----------
    place : str
        Name of the store for users.
    path : Path, optional
        File of an SQLite store.
    """

    def __init__(self, place: str, path: Path | None = None) -> None:
        self.drawn: str | None = None
        self._place = place
        self._path = path
        self._file: tuple[int, int] | None = None
        self._looked = 0.0

    def remember(self, connection: Connection) -> None:
        """Record the identity; any other is refused from now on."""
        self.drawn = connection.execute(select(store_version.c.identity)).scalar()
        self._looked = time.monotonic()
        if self._path is not None:
            self._file = _identify_file(self._path)

    def check_file(self) -> None:
        """Check that the file is still there and was not replaced.

        Raises
        ------
        ReplacedStore
            If it is not; the message says what happened and what to do.
        """
        if self._path is None or self._file is None:
            return
        present = _identify_file(self._path)
        if present is None:
            raise ReplacedStore(
                f"the store {self._place} was deleted or moved away while it was open; put it back, or end this program"
            )
        if present != self._file:
            raise self._make_error()

    def check_identity(self, connection: Connection) -> None:
        """Check, at most every few seconds, that the tables are still those of this store.

        Raises
        ------
        ReplacedStore
            If they are those of another store, or there are none.
        """
        if self.drawn is None or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            identities = connection.execute(select(store_version.c.identity)).scalars().all()
        except (OperationalError, ProgrammingError) as error:
            if "store_version" not in str(error.orig):
                raise
            self._looked = 0.0
            raise ReplacedStore(
                f"the tables of the store {self._place} were deleted while it was open; restore them, or end this "
                "program"
            ) from error
        if identities != [self.drawn]:
            self._looked = 0.0
            raise self._make_error()

    def _make_error(self) -> ReplacedStore:
        """Return the error about a store that was replaced."""
        return ReplacedStore(
            f"another store has taken the place of {self._place} since it was opened; end this program and start it "
            "again to use that one"
        )


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Return the device and inode numbers of a file; None if there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


log = logging.getLogger("topiary.store")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

BUSY_SECONDS = 10.0  # for which SQLite itself waits for a lock
PATIENCE_SECONDS = 120.0  # for which transactions are tried again
_ALIVE = {"connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""Options of PostgreSQL's client, to notice within half a minute that the server's machine is gone."""
_MIGRATION_LOCK = 5_074_697  # an arbitrary number that no other program locks


class Now(FunctionElement[float]):
    """SQL expression of the database's time in seconds since 1970, UTC; made by `now`."""

    type = Double()
    inherit_cache = True


@compiles(Now, "sqlite")
def _now_sqlite(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(Now, "postgresql")
def _now_postgresql(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def now() -> Now:
    """Return an SQL expression of the database's time when a statement runs, in seconds since 1970, UTC."""
    return Now()


class Database:
    """An open store.  Safe to share between threads; each process opens its own.

    Attributes
    ----------
    url : str
        The address with which another process can open the same store (`open_database`).
    place : str
        The address for users, without a password.
    readonly : bool
        Whether `write` is refused, because it was asked for or because the file lies where nothing may be written.
    patience : float
        Seconds to wait for a lock, or for a server that restarts; may be changed at any time.
    identity : StoreIdentity
        Notices if the store was deleted or replaced; `read` and `write` then raise ReplacedStore.
    path : Path or None
        The file of an SQLite store.
    damaged : set of int
        Numbers of the snapshots found to be damaged; `store.snapshots` skips them.
    """

    def __init__(
        self, engine: Engine, url: str, place: str, *, readonly: bool = False, path: Path | None = None
    ) -> None:
        self._engine = engine
        self.url = url
        self.place = place
        self.readonly = readonly
        self.patience = PATIENCE_SECONDS
        self.identity = StoreIdentity(place, path)
        self.path = path
        self.damaged: set[int] = set()
        self._reached = False
        self._lost = False
        self._receipts = ReceiptBook() if engine.dialect.name == "postgresql" else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a connection that sees one unchanging state of the store; close it soon."""
        with translate_errors(self.place), self._transaction(writes=False) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a connection whose changes are committed together at the end, or undone after an exception.

        Waits and tries again while another program holds the lock.

        Raises
        ------
        StoreError
            If the store is open for reading only, stays locked for `patience` seconds, or its disk is full.
        """
        self._refuse_if_readonly()
        with translate_errors(self.place), self._transaction(writes=True) as connection:
            yield connection

    def transact(self, work: Callable[[Connection], Result]) -> Result:
        """Run ``work(connection)`` as one `write`; run it again if the database undid it.

        A lock, a deadlock or a lost connection undoes a transaction.  If the connection was lost during the commit, a
        receipt in the store shows whether the transaction was committed.
        """
        self._refuse_if_readonly()

        def attempt() -> Result:
            receipt = None
            try:
                with self._transaction(writes=True) as connection:
                    result = work(connection)
                    receipt = self._receipts.sign(connection) if self._receipts is not None else None
            except DBAPIError as error:
                if receipt is None or not self._may_retry(error) or not self._was_committed(receipt, error):
                    raise
            return result

        with translate_errors(self.place):
            return self._retry(attempt, self._may_retry)

    def repeat(self, reading: Callable[[], Result]) -> Result:
        """Call a function that only reads, and call it again if it lost the server; see :func:`retry_reads`."""
        return self._retry(reading, lambda error: isinstance(error, UnreachableStore) and self._reached)

    def run_alone(self, statement: str) -> None:
        """Run a statement of the server outside of any transaction, as VACUUM has to."""

        def attempt() -> None:
            with self._engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(statement)

        self._refuse_if_readonly()
        with translate_errors(self.place):
            self._retry(attempt, self._may_retry)

    def close(self) -> None:
        """Close the connections; the object can still be used and then opens new ones."""
        self._engine.dispose()

    def _refuse_if_readonly(self) -> None:
        if self.path is not None and not may_write(self.path):
            raise StoreError(describe_fixed_store(self.place))
        if self.readonly:
            raise StoreError(f"the store {self.place} is open for reading only here; open it for writing to change it")

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Connection]:
        """Open a connection inside a transaction, which is committed at the end."""
        connection, transaction = self._begin(writes=writes)
        with connection, transaction:
            yield connection

    def _begin(self, *, writes: bool) -> tuple[Connection, Transaction]:
        """Open a connection and a transaction, which holds all the locks it needs from the start."""
        return self._retry(lambda: self._begin_once(writes=writes), self._may_retry)

    def _retry(
        self, work: Callable[[], Result], may_retry: Callable[[Exception], bool], first: Exception | None = None
    ) -> Result:
        """Call a function until it succeeds; after `patience` seconds raise the first error."""
        began = time.monotonic()
        for pause in _grow_pauses():
            try:
                return work()
            except (DBAPIError, UnreachableStore) as error:
                if not may_retry(error):
                    raise
                first = first or error
            if time.monotonic() - began > self.patience:
                raise first
            time.sleep(pause)
        raise AssertionError  # the pauses never end

    def _begin_once(self, *, writes: bool) -> tuple[Connection, Transaction]:
        """Open a connection and begin a transaction, without retrying."""
        options: dict[str, Any] = {"writes": writes}
        if self._engine.dialect.name == "postgresql":
            options["isolation_level"] = "READ COMMITTED" if writes else "REPEATABLE READ"
            options["postgresql_readonly"] = not writes
        self.identity.check_file()
        connection = self._engine.connect()
        try:
            connection = connection.execution_options(**options)
            transaction = connection.begin()
            self.identity.check_identity(connection)
        except BaseException:
            connection.close()
            raise
        self._reached, self._lost = True, False
        return connection, transaction

    def _may_retry(self, error: Exception) -> bool:
        """Return whether to try again: after a lock, or while a server that was reached before restarts."""
        if not isinstance(error, DBAPIError):
            return False
        if is_locked(error):
            return True
        if not (self._reached and is_unreachable(error)):
            return False
        if not self._lost:
            self._lost = True
            log.warning("the database %s was lost (%s); it is waited for", self.place, read_first_line(error))
        return True

    def _was_committed(self, receipt: Receipt, lost: DBAPIError) -> bool:
        """Return whether a transaction was committed, although the connection was lost during its commit."""

        def check() -> bool:
            try:
                with self._transaction(writes=True) as connection:
                    return has_arrived(connection, receipt)
            except ProgrammingError:  # no such table: this transaction was to create it
                return False

        return self._retry(check, self._may_retry, lost)


def reads(
    function: Callable[Concatenate[Connection, Arguments], Result],
) -> Callable[Concatenate[Database, Arguments], Result]:
    """Decorate a function of a connection that only reads, so that it takes a database; see :func:`retry_reads`."""

    @retry_reads
    @functools.wraps(function)
    def reading(db: Database, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with db.read() as connection:
            return function(connection, *arguments, **named)

    return reading


def writes(
    function: Callable[Concatenate[Connection, Arguments], Result],
) -> Callable[Concatenate[Database, Arguments], Result]:
    """Decorate a function of a connection that is one `Database.transact`, so that it takes a database."""

    @functools.wraps(function)
    def writing(db: Database, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        return db.transact(lambda connection: function(connection, *arguments, **named))

    return writing


def retry_reads(
    function: Callable[Concatenate[Database, Arguments], Result],
) -> Callable[Concatenate[Database, Arguments], Result]:
    """Decorate a function that only reads, so that it starts again if it loses the database server."""

    @functools.wraps(function)
    def reading(db: Database, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        return db.repeat(lambda: function(db, *arguments, **named))

    return reading


def open_database(url_or_path: str | os.PathLike[str] | None = None, *, readonly: bool = False) -> Database:
    """Open a store; make it if it does not exist.

    Parameters
    ----------
    url_or_path : str, optional
        A path of an SQLite file, ``sqlite:///path`` or ``postgresql://user:password@host/database``.
        ``None``: the environment variable TOPIARY_STORE, else `find_default_path`.
    readonly : bool
        Whether to open for reading only: nothing is made or changed.  A file that lies where nothing may be written is
        always opened so.

    Raises
    ------
    NotFound
        If ``readonly`` and there is no store.
    SchemaMismatch
        If the database has another version of the tables, or those of another program.
    StoreError
        If the address cannot be understood or reached.
    """
    address = os.fspath(url_or_path) if url_or_path is not None else os.environ.get("TOPIARY_STORE") or None
    if address is None:
        address = str(find_default_path())
    database = (
        _open_sqlite(address, readonly=readonly) if is_file(address) else _open_postgresql(address, readonly=readonly)
    )
    try:
        migrations.check_version(database, database.place, lock=lock_schema, readonly=database.readonly)
        with database.read() as connection:
            database.identity.remember(connection)
    except BaseException:
        database.close()
        raise
    return database


def open_existing(url_or_path: str | os.PathLike[str] | None = None) -> Database:
    """Open an existing store; one of an older Topiary is migrated.

    Raises
    ------
    NotFound
        If there is none.
    SchemaMismatch, StoreError
        As :func:`open_database`.
    """
    with suppress(OutdatedStore):
        open_database(url_or_path, readonly=True).close()
    return open_database(url_or_path)


def lock_schema(connection: Connection) -> None:
    """Wait until no other program makes or changes tables (SQLite's write lock does so anyway)."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})


def _open_sqlite(address: str, *, readonly: bool) -> Database:
    """Open or make the file of a store."""
    path = find_path(address)
    try:
        is_folder, exists = path.is_dir(), path.is_file()
    except OSError as error:  # a name longer than the system allows, or a folder without the right to read it
        cause = f"({error.strerror or error}); check the path and your rights"
        raise StoreError(f"the store {path} cannot be opened {cause}") from error
    if is_folder:
        raise StoreError(f"the store {path} is a folder; give the path of a file")
    if readonly and not exists:
        raise NotFound(f"there is no store at {path} yet; import a corpus or run the demo to make one")
    readonly = readonly or (exists and not may_write(path))
    if not readonly and exists and path.stat().st_size:
        _refuse_former(address)
    if not readonly:
        make_folder(path)
        make_file(path)

    def connect() -> sqlite3.Connection:
        return _connect_sqlite(path, readonly=readonly)

    # Where nothing may be written, each connection looks again whether another program has begun to write.
    pool: dict[str, Any] = {"poolclass": QueuePool, "pool_size": 4, "max_overflow": 60}
    if readonly and not may_write(path):
        pool = {"poolclass": NullPool}
    engine = create_engine("sqlite://", creator=connect, **pool)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", partial(_report_garbled_schema, str(path)))
    url = URL.create("sqlite", database=str(path)).render_as_string()
    database = Database(engine, url, str(path), readonly=readonly, path=path)
    if not readonly:
        _use_wal(connect, path, database.patience)
    return database


def _refuse_former(address: str) -> None:
    """Raise an error about a file that is not a store of this Topiary, before anything is written to it."""
    with closing(_open_sqlite(address, readonly=True)) as database, database.read() as connection:
        migrations.read_version(connection, database.place)


def may_write(path: Path) -> bool:
    """Return whether the rights of a file and its folder allow to write a store there, as far as it exists."""
    return not path.exists() or (os.access(path, os.W_OK) and (os.access(path.parent, os.W_OK) or _has_log(path)))


def _has_log(path: Path) -> bool:
    """Return whether a store has a log of changes next to it: a program has it open, or was killed."""
    return path.with_name(f"{path.name}-wal").exists()


def make_uri(path: Path, *, readonly: bool) -> str:
    """Return the address with which SQLite opens the file of a store."""
    if not readonly:
        return f"{path.as_uri()}?mode=rwc"
    is_fixed = not _has_log(path) and not os.access(path.parent, os.W_OK)  # SQLite cannot make its files of locks there
    return f"{path.as_uri()}?mode=ro{'&immutable=1' if is_fixed else ''}"


def _report_garbled_schema(place: str, context: ExceptionContext) -> None:
    """Raise DamagedStore for names of tables or messages that are not text, on which Python's module fails."""
    if isinstance(context.original_exception, UnicodeDecodeError):
        raise DamagedStore(describe_garbled_schema(place)) from context.original_exception


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction and take its lock, so that no later statement has to wait for one."""
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")  # SQLite takes its snapshot at the first read


def _connect_sqlite(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """Return a new connection to an SQLite file, with the settings of a store."""
    uri = make_uri(path, readonly=readonly)
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.text_factory = _decode_text
    try:
        for setting in ("foreign_keys = ON", "synchronous = NORMAL", "journal_size_limit = 67108864"):
            connection.execute(f"PRAGMA {setting}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _decode_text(raw: bytes) -> str:
    """Decode a text of SQLite; damaged bytes are replaced, so that other rows of the result can be read."""
    return raw.decode("utf-8", "replace")


def _use_wal(connect: Callable[[], sqlite3.Connection], path: Path, patience: float) -> None:
    """Switch the file to write-ahead logging, so that readers never wait for the writer; the file keeps this mode."""
    deadline = time.monotonic() + patience
    for pause in _grow_pauses():
        try:
            with closing(connect()) as connection:
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except UnicodeDecodeError as error:
            raise DamagedStore(describe_garbled_schema(str(path))) from error
        except sqlite3.Error as error:
            if not is_lock_error(error) or time.monotonic() > deadline:
                kind, sentence = describe_sqlite_error(error, str(path))
                raise kind(sentence) from error
        time.sleep(pause)
    if mode != "wal":
        raise StoreError(f"SQLite cannot share the file {path} between programs; put the store on a local disk")


def _open_postgresql(address: str, *, readonly: bool) -> Database:
    """Return a store on a PostgreSQL server, without connecting to it yet."""
    url = parse_address(address)
    if url.get_backend_name() not in {"postgresql", "postgres"}:
        raise StoreError(f"the store can be SQLite or PostgreSQL, not {url.get_backend_name()}")
    url = url.set(drivername="postgresql+psycopg")
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # its warnings about lost connections come as errors, too
    engine = create_engine(url, pool_pre_ping=True, pool_size=4, max_overflow=60, connect_args=_ALIVE)
    plain = url.set(drivername="postgresql")
    return Database(engine, plain.render_as_string(hide_password=False), str(plain), readonly=readonly)


def _grow_pauses() -> Iterator[float]:
    """Yield growing pauses between tries, in seconds."""
    pause = 0.01
    while True:
        yield pause
        pause = min(2 * pause, 1.0)
