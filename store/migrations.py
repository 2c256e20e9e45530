"""The version of the tables, the migrations from each version to the next, and whether their definitions are whole.

Stores are kept from version 0.1.0 of Topiary on, whose tables have version 1.  Their version is in the table
`store_version`; stores from before have a table `schema_version` and are refused.
"""

import hashlib
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from sqlalchemy import Connection, insert, inspect, select, text, update

from topiary.store import tables
from topiary.store.errors import DamagedStore, FormerStore, NotFound, OutdatedStore, SchemaMismatch

MigrationStep = Callable[[Connection], None]
Result = TypeVar("Result")
_BEFORE = "schema_version"  # the table with the version of a store from before 0.1.0


def _create_table(connection: Connection, name: str, cells: Mapping[str, str], *constraints: str) -> None:
    """Create a table of cells, given with their kinds in SQL, and in SQLite the index that repeats its rows."""
    is_file = connection.dialect.name == "sqlite"
    kinds = {cell: kind if is_file else kind.replace("DOUBLE", "DOUBLE PRECISION") for cell, kind in cells.items()}
    columns = ", ".join([*(f"{cell} {kind}" for cell, kind in kinds.items()), *constraints])
    connection.execute(text(f"CREATE TABLE {name} ({columns})"))
    if is_file:
        connection.execute(text(f"CREATE INDEX {name}_copy ON {name} ({', '.join(cells)})"))


def _add_journal(connection: Connection) -> None:
    """Add the table with the edits of runs."""
    wholes = ("run", "edit", "layer", "step", "tokens", "documents")
    texts = ("state", "kind", "topics", "words", "strength", "name", "author", "message", "changed")
    cells = dict.fromkeys(wholes, "BIGINT NOT NULL") | dict.fromkeys(texts, "TEXT NOT NULL")
    cells |= {"topic": "BIGINT", "created": "DOUBLE NOT NULL"}
    cells |= dict.fromkeys(("perplexity_before", "perplexity_after"), "DOUBLE")
    owner = "FOREIGN KEY (run) REFERENCES runs (number) ON DELETE CASCADE"
    _create_table(connection, "edits", cells, "PRIMARY KEY (run, edit)", owner)


STEPS: Mapping[int, MigrationStep] = {1: _add_journal}
"""Migrations: ``STEPS[v]`` changes the tables of version ``v`` into those of version ``v + 1``.

No step may use ``tables``, which describes only the present version.  A step that changes a table also has to make the
index that repeats its rows again."""


class MigratedStore(Protocol):
    """Interface of a database that is migrated."""

    def read(self) -> AbstractContextManager[Connection]:
        """Open a transaction that reads."""

    def transact(self, work: Callable[[Connection], Result]) -> Result:
        """Run a transaction that writes."""


def check_version(database: MigratedStore, place: str, *, lock: MigrationStep, readonly: bool) -> bool:
    """Make the tables of a new store, migrate older ones, refuse all others.

    Parameters
    ----------
    database : MigratedStore
        The database just opened.
    place : str
        Name of the store for users.
    lock : callable
        Called with a connection to keep other programs from changing the tables until the transaction ends.
    readonly : bool
        Whether the store may not be changed.

    Returns
    -------
    changed : bool
        Whether tables were made or migrated.

    Raises
    ------
    NotFound
        If ``readonly`` and there are no tables yet.
    FormerStore
        If the store is from before version 0.1.0 of Topiary.
    OutdatedStore
        If it has to be migrated and ``readonly``.
    SchemaMismatch
        If the version is not supported.
    DamagedStore
        If the definitions of the tables are not those that were made.
    """
    with database.read() as connection:
        version = read_version(connection, place)
        if version == tables.VERSION:
            _check_definitions(connection, place)
            return False
    if readonly and version is None:
        raise NotFound(f"there is no store in {place} yet; import a corpus or run the demo to make one")
    _refuse_version(version, place, readonly=readonly)

    def bring_up(connection: Connection) -> None:
        lock(connection)
        _upgrade_tables(connection, place)

    database.transact(bring_up)
    return True


def read_version(connection: Connection, place: str) -> int | None:
    """Return the version of the tables; ``None`` if there are none."""
    present = set(inspect(connection).get_table_names())
    if tables.store_version.name not in present:
        if {_BEFORE, tables.runs.name} <= present:
            raise FormerStore(
                f"the store {place} was made by a Topiary before version 0.1.0, and this one leaves it as it is; save "
                "what you need with topiary export of the version that made it, or import the documents into a new "
                "store (--store FILE)"
            )
        # A file belongs to one program; a database on a server may have tables of other programs.
        foreign = sorted(present if connection.dialect.name == "sqlite" else present & set(tables.metadata.tables))
        if foreign:
            raise SchemaMismatch(
                f"{place} has a table {foreign[0]} that is not Topiary's; give the store another database"
            )
        return None
    versions = connection.execute(select(tables.store_version.c.version)).scalars().all()
    if len(versions) != 1 or type(versions[0]) is not int:
        raise SchemaMismatch(f"{place} does not say which version of Topiary made it; restore it from a copy")
    return int(versions[0])


def hash_definitions(connection: Connection) -> str:
    """Return a checksum of the definitions of the tables and indexes of SQLite, in which any letter may be damaged."""
    if connection.dialect.name != "sqlite":
        return ""
    ours = tuple(tables.metadata.tables)
    query = text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    rows = [tuple(row) for row in connection.execute(query) if row.name.startswith(ours)]
    return hashlib.sha256(repr(rows).encode("utf-8", "backslashreplace")).hexdigest()


def _check_definitions(connection: Connection, place: str) -> None:
    """Raise DamagedStore if the definitions of the tables are not those that were made."""
    if hash_definitions(connection) != connection.execute(select(tables.store_version.c.definitions)).scalar():
        raise DamagedStore(
            f"the store {place} is damaged (the definitions of its tables are not those that Topiary made); restore "
            "it from a copy"
        )


def _refuse_version(version: int | None, place: str, *, readonly: bool) -> None:
    """Raise SchemaMismatch if a store of this version cannot be used or migrated."""
    if version is None:
        return
    if version > tables.VERSION:
        raise SchemaMismatch(
            f"the store {place} was made by a newer Topiary (tables {version}, this one knows {tables.VERSION}); "
            "update Topiary"
        )
    missing = [step for step in range(version, tables.VERSION) if step not in STEPS]
    if missing:
        raise SchemaMismatch(
            f"the store {place} was made by an older Topiary (tables {version}, this one needs {tables.VERSION}) "
            "and cannot be brought up to date; open it with that version or make a new store"
        )
    if readonly:
        raise OutdatedStore(
            f"the store {place} was made by an older Topiary (tables {version}); run a command that writes to it"
        )


def _upgrade_tables(connection: Connection, place: str) -> None:
    """Make the tables of a new store, or run all migrations that are due."""
    version = read_version(connection, place)  # another program may have been faster
    if version is None:
        tables.metadata.create_all(connection)
        connection.execute(insert(tables.store_version).values(version=tables.VERSION, identity=uuid.uuid4().hex))
    else:
        _refuse_version(version, place, readonly=False)
        for step in range(version, tables.VERSION):
            STEPS[step](connection)
    made = {"version": tables.VERSION, "definitions": hash_definitions(connection)}
    connection.execute(update(tables.store_version).values(made))
