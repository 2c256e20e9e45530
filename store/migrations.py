"""The version of the tables, and the migrations from each version to the next."""

import json
import re
import struct
import uuid
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
    update,
)

from topiary.store import tables
from topiary.store.cells import read_json
from topiary.store.errors import NotFound, OutdatedStore, SchemaMismatch

MigrationStep = Callable[[Connection], None]
Result = TypeVar("Result")
_REMOVED_SETTINGS = ("naive_bayes", "word_ratios", "bent")  # of sDATM in version 1, where 0 switched them off


def _add_matches(connection: Connection) -> None:
    """Migrate to version 2: add the decisions of users about the topics of two runs."""
    old_tables = MetaData()
    Table("runs", old_tables, Column("number", BigInteger, primary_key=True))
    table = Table("matches", old_tables)
    for run in ("run_a", "run_b"):
        owner = ForeignKey("runs.number", ondelete="CASCADE")
        table.append_column(Column(run, BigInteger, owner, primary_key=True, autoincrement=False))
    for number in ("layer", "topic_a", "topic_b"):
        table.append_column(Column(number, BigInteger, primary_key=True, autoincrement=False))
    table.append_column(Column("created", Double, nullable=False))
    table.create(connection)


def _add_lineage(connection: Connection) -> None:
    """Migrate to version 3: add the run and the snapshot that a run was forked from."""
    for column in ("parent", "parent_snapshot", "parent_minibatch"):
        connection.execute(text(f"ALTER TABLE runs ADD COLUMN {column} BIGINT"))


def _add_predictions(connection: Connection) -> None:
    """Migrate to version 4: add predictions of classes, stored with their snapshots."""
    old_tables = MetaData()
    Table("snapshots", old_tables, Column("number", BigInteger, primary_key=True))
    owner = ForeignKey("snapshots.number", ondelete="CASCADE")
    table = Table(
        "predictions",
        old_tables,
        Column("snapshot", BigInteger, owner, primary_key=True, autoincrement=False),
        Column("made_by", Text, nullable=False),
        Column("checksum", Text, nullable=False),
        Column("size", BigInteger, nullable=False),
        Column("created", Double, nullable=False),
        Column("arrays", LargeBinary, nullable=False),
    )
    table.create(connection)


def _add_family(connection: Connection) -> None:
    """Migrate to version 5: add the first run of a line of forks, as far back as the line is known."""
    connection.execute(text("ALTER TABLE runs ADD COLUMN family BIGINT"))
    rows = connection.execute(text("SELECT number, parent FROM runs WHERE parent IS NOT NULL"))
    parents = {int(number): int(parent) for number, parent in rows}
    change = text("UPDATE runs SET family = :first WHERE number = :number")
    for number, parent in parents.items():
        first = parent
        while first in parents:
            first = parents[first]
        connection.execute(change, {"first": first, "number": number})


def _add_changes(connection: Connection) -> None:
    """Migrate to version 6: add the changes of layers by events, which were only in their sentences."""
    connection.execute(text("ALTER TABLE events ADD COLUMN change TEXT"))
    query = text("SELECT number, text FROM events WHERE kind IN ('pruned', 'layer added')")
    write = text("UPDATE events SET change = :change WHERE number = :number")
    for number, sentence in connection.execute(query).all():
        change = _parse_change(str(sentence))
        if change is not None:
            connection.execute(write, {"change": json.dumps(change), "number": number})


def _add_search_indexes(connection: Connection) -> None:
    """Migrate to version 7: add the number of indexed documents of a corpus; the indexes are built later."""
    old_tables = MetaData()
    Table("corpora", old_tables, Column("number", BigInteger, primary_key=True))
    table = Table("search_indexes", old_tables)
    owner = ForeignKey("corpora.number", ondelete="CASCADE")
    table.append_column(Column("corpus", BigInteger, owner, primary_key=True, autoincrement=False))
    table.append_column(Column("documents", BigInteger, nullable=False))
    table.create(connection)


def _parse_change(sentence: str) -> dict[str, Any] | None:
    """Return the change in a sentence of version 5 or before; None if it is not about a change of a layer."""
    if match := re.fullmatch(r"layer (\d+) begins with (\d+) topics", sentence):
        layer, after = map(int, match.groups())
        return {"layer": layer, "topics": [], "before": 0, "after": after}
    if match := re.fullmatch(r"layer (\d+) keeps all its (\d+) topics", sentence):
        layer, after = map(int, match.groups())
        return {"layer": layer, "topics": [], "before": after, "after": after}
    if match := re.fullmatch(r"layer (\d+) from (\d+) to (\d+) topics, without ((?: ?L\d+:\d+)+)", sentence):
        layer, before, after = map(int, match.groups()[:3])
        topics = [int(name.partition(":")[2]) for name in match[4].split()]
        return {"layer": layer, "topics": topics, "before": before, "after": after}
    return None


def _add_second_checkpoints(connection: Connection) -> None:
    """Migrate to version 8: add earlier checkpoints, groups, the order of the queue, the identity of the store."""
    old_tables = MetaData()
    Table("runs", old_tables, Column("number", BigInteger, primary_key=True))
    owner = ForeignKey("runs.number", ondelete="CASCADE")
    table = Table(
        "earlier_checkpoints",
        old_tables,
        Column("run", BigInteger, owner, primary_key=True, autoincrement=False),
        Column("generation", BigInteger, nullable=False),
        Column("minibatch", BigInteger, nullable=False),
        Column("seconds", Double, nullable=False),
        Column("meta", Text, nullable=False),
        Column("created", Double, nullable=False),
    )
    table.create(connection)
    connection.execute(text("ALTER TABLE runs ADD COLUMN run_group BIGINT"))
    connection.execute(text(f"ALTER TABLE runs ADD COLUMN place {Double().compile(connection.dialect)}"))
    connection.execute(text("ALTER TABLE schema_version ADD COLUMN identity TEXT"))
    connection.execute(text("UPDATE schema_version SET identity = :identity"), {"identity": draw_identity()})


def _add_leases(connection: Connection) -> None:
    """Migrate to version 9: add leases on runs whose workers are being started, and receipts of transactions."""
    connection.execute(text(f"ALTER TABLE runs ADD COLUMN lease {Double().compile(connection.dialect)}"))
    connection.execute(text("ALTER TABLE runs ADD COLUMN starter TEXT"))
    table = Table(
        "receipts",
        MetaData(),
        Column("writer", Text, primary_key=True),
        Column("sequence", BigInteger, nullable=False),
        Column("written", Double, nullable=False),
    )
    table.create(connection)


def _rename_columns(connection: Connection) -> None:
    """Migrate to version 10: rename columns to *options* and *request*, and bring the contents of rows up to date."""
    connection.execute(text("ALTER TABLE runs RENAME COLUMN plan TO options"))
    connection.execute(text("ALTER TABLE runs RENAME COLUMN wish TO request"))
    query = text(
        "SELECT r.number, r.settings, r.options, r.message, c.documents, c.train_documents, c.tokens, c.has_scored, "
        "c.meta FROM runs r JOIN corpora c ON c.number = r.corpus"
    )
    for row in connection.execute(query).mappings().all():
        _rewrite_cell(connection, "runs", "settings", row, _rewrite_json(row["settings"], _remove_settings))
        _rewrite_cell(connection, "runs", "message", row, _rewrite_sentence(row["message"]))
        options = _rewrite_json(row["options"], partial(_complete_options, row=row))
        _rewrite_cell(connection, "runs", "options", row, options)
    for row in connection.execute(text("SELECT number, text FROM events WHERE kind = 'finished'")).mappings().all():
        _rewrite_cell(connection, "events", "text", row, _rewrite_sentence(row["text"]))


def _rewrite_cell(connection: Connection, table: str, column: str, row: RowMapping, value: Any) -> None:
    """Update a cell if its value has changed."""
    if value != row[column]:
        change = text(f"UPDATE {table} SET {column} = :value WHERE number = :number")  # noqa: S608 - our own names
        connection.execute(change, {"value": value, "number": row["number"]})


def _rewrite_json(cell: Any, rewrite: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a cell with its JSON rewritten; a damaged cell is returned unchanged."""
    value = read_json(cell)
    if not isinstance(value, dict):
        return cell
    rewritten = rewrite(value)
    return cell if rewritten == value else json.dumps(rewritten)


def _remove_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without those that models no longer have, if they were switched off."""
    return {name: value for name, value in settings.items() if name not in _REMOVED_SETTINGS or value}


def _complete_options(options: dict[str, Any], row: RowMapping) -> dict[str, Any]:
    """Return options with what versions 1 to 9 did not store: the protocol of the curve, and the default for 0."""
    completed = {name: value for name, value in options.items() if name != "rules"}
    if "rules" not in options:  # before there were rules, 0 meant the default
        completed |= {name: options[name] or None for name in ("burn_in", "samples") if name in options}
    protocol = options.get("protocol", {"documents": None})
    if isinstance(protocol, dict) and protocol.get("documents") is None:
        completed["protocol"] = _write_protocol(row)
    return completed


def _write_protocol(row: RowMapping) -> dict[str, Any] | None:
    """Return the protocol of the point perplexity of a run whose options lack it; None if its corpus is damaged."""
    try:
        additions = read_json(row["meta"]).get("additions", ())
        sizes = next((each for each in additions if row["number"] <= each["last_run"]), row)  # when the run began
        documents, train, tokens = (sizes[name] for name in ("documents", "train_documents", "tokens"))
        judged = min(documents - train, max(16, int(6_000 * documents / tokens)))
    except (AttributeError, KeyError, TypeError, ZeroDivisionError):
        return None
    observed = None if row["has_scored"] else 0.8
    return {"documents": judged, "burn_in": 60, "collect": 60, "thin": 2, "observed": observed}


def _rewrite_sentence(sentence: Any) -> Any:
    """Return a sentence with the protocol of a point perplexity in brackets, its present form."""
    match = type(sentence) is str and re.fullmatch(r"(.*\bpoint perplexity [\d,.]+) on ([^;()]+)", sentence)
    return f"{match[1]} ({match[2]})" if match else sentence


def _add_checksums(connection: Connection) -> None:
    """Migrate to version 11: add checksums to arrays of early versions, which had none."""
    old = {"mark": b"TOPIARY1"}
    connection.execute(text("DELETE FROM predictions WHERE substr(arrays, 1, 8) = :mark"), old)  # computed again
    keys = {"corpus_blocks": "corpus, first", "snapshots": "number", "checkpoint_parts": "run, generation, part"}
    for table, columns in keys.items():
        unsealed = text(f"SELECT {columns} FROM {table} WHERE substr(arrays, 1, 8) = :mark")  # noqa: S608 - our own names
        for key in connection.execute(unsealed, old).mappings().all():
            _seal_message(connection, table, dict(key))


def _seal_message(connection: Connection, table: str, key: dict[str, Any]) -> None:
    """Add checksums to the arrays that begin in a row; those of a checkpoint continue in the next parts."""
    where = " AND ".join(f"{name} = :{name}" for name in key)
    size = ", size = :size" if table == "snapshots" else ""
    read = text(f"SELECT arrays FROM {table} WHERE {where}")  # noqa: S608 - our own names
    write = text(f"UPDATE {table} SET arrays = :arrays{size} WHERE {where}")  # noqa: S608
    place = 0
    while isinstance(blob := connection.execute(read, key).scalar(), bytes):
        try:
            sealed, place = _seal_frames(blob, place)
        except struct.error:  # damaged arrays stay as they are, and are reported when they are read
            return
        connection.execute(write, key | {"arrays": sealed, "size": len(sealed)})
        if "part" not in key:
            return
        key["part"] += 1


def _seal_frames(blob: bytes, place: int) -> tuple[bytes, int]:
    """Return a blob with checksums in its header (place 0) and frames, and the place of the next frame."""
    sealed: list[bytes] = []
    rest = memoryview(blob)
    while rest:
        begin = struct.Struct("<8sI" if place == 0 else "<BI")
        first, length = begin.unpack_from(rest)
        head = begin.pack(b"TOPIARY2" if place == 0 else first, length)
        (payload,) = struct.unpack_from(f"{length}s", rest, begin.size)
        sealed += [head, struct.pack("<I", zlib.crc32(payload, zlib.crc32(head, place))), payload]
        rest, place = rest[begin.size + length :], place + 1
    return b"".join(sealed), place


def _add_validation(connection: Connection) -> None:
    """Migrate to version 12: add the number of validation documents of a corpus; earlier versions had none."""
    connection.execute(text("ALTER TABLE corpora ADD COLUMN validation_documents BIGINT NOT NULL DEFAULT 0"))


def _add_columns_and_shares(connection: Connection) -> None:
    """Migrate to version 13: add typed columns of corpora, topic shares and maps of documents, and notes."""
    old_tables = MetaData()
    for name in ("corpora", "snapshots"):
        Table(name, old_tables, Column("number", BigInteger, primary_key=True))

    def make_key(name: str, *owner: ForeignKey) -> Column[int]:
        return Column(name, BigInteger, *owner, primary_key=True, autoincrement=False)

    def make_owner(name: str, target: str) -> Column[int]:
        return make_key(name, ForeignKey(target, ondelete="CASCADE"))

    def make_block() -> tuple[Column[Any], ...]:
        return Column("documents", BigInteger, nullable=False), Column("arrays", LargeBinary, nullable=False)

    described = (Column(name, Text, nullable=False) for name in ("name", "kind", "notation", "levels"))
    sizes = (Column(name, BigInteger, nullable=False) for name in ("documents", "filled", "invalid"))
    owner = make_owner("corpus", "corpora.number")
    Table("corpus_columns", old_tables, owner, make_key("place"), *described, *sizes)
    owner = make_owner("corpus", "corpora.number")
    Table("column_blocks", old_tables, owner, make_key("place"), make_key("first"), *make_block())
    made_by, documents = Column("made_by", Text, nullable=False), Column("documents", BigInteger, nullable=False)
    created = Column("created", Double, nullable=False)
    Table("share_sets", old_tables, make_owner("snapshot", "snapshots.number"), made_by, documents, created)
    owner = make_owner("snapshot", "share_sets.snapshot")
    Table("share_blocks", old_tables, owner, make_key("first"), *make_block())
    facts = (Column("finished", BigInteger, nullable=False), Column("created", Double, nullable=False))
    owner, made_by = make_owner("snapshot", "snapshots.number"), Column("made_by", Text, nullable=False)
    documents, arrays = make_block()
    Table("document_maps", old_tables, owner, made_by, documents, *facts, arrays)
    for name in ("corpus_columns", "column_blocks", "share_sets", "share_blocks", "document_maps"):
        old_tables.tables[name].create(connection)
    _add_notes(connection)


def _add_notes(connection: Connection) -> None:
    """Add the table of notes and tags on topics and documents."""
    old_tables = MetaData()
    for name in ("corpora", "runs"):
        Table(name, old_tables, Column("number", BigInteger, primary_key=True))
    number = BigInteger().with_variant(Integer(), "sqlite")
    Table(
        "notes",
        old_tables,
        Column("number", number, primary_key=True, autoincrement=True),
        Column("corpus", BigInteger, ForeignKey("corpora.number", ondelete="CASCADE"), nullable=False),
        Column("run", BigInteger, ForeignKey("runs.number", ondelete="CASCADE")),
        Column("layer", BigInteger, nullable=False),
        *(Column(name, BigInteger) for name in ("topic", "document")),
        *(Column(name, Text, nullable=False) for name in ("kind", "text", "author")),
        Column("created", Double, nullable=False),
        Index("notes_by_run", "run", "number"),
        Index("notes_by_document", "corpus", "document", "number"),
        sqlite_autoincrement=True,
    ).create(connection)


def draw_identity() -> str:
    """Return a new identity, different from that of every other store."""
    return uuid.uuid4().hex


STEPS: Mapping[int, MigrationStep] = {
    1: _add_matches,
    2: _add_lineage,
    3: _add_predictions,
    4: _add_family,
    5: _add_changes,
    6: _add_search_indexes,
    7: _add_second_checkpoints,
    8: _add_leases,
    9: _rename_columns,
    10: _add_checksums,
    11: _add_validation,
    12: _add_columns_and_shares,
}
"""Migrations: ``STEPS[v]`` changes the tables of version ``v`` into those of version ``v + 1``.

No step may use ``tables``, which describes only the present version."""


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
    SchemaMismatch
        If the version is not supported.
    """
    with database.read() as connection:
        version = read_version(connection, place)
    if version == tables.VERSION:
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
    if tables.schema_version.name not in present:
        # A file belongs to one program; a database on a server may have tables of other programs.
        foreign = sorted(present if connection.dialect.name == "sqlite" else present & set(tables.metadata.tables))
        if foreign:
            raise SchemaMismatch(
                f"{place} has a table {foreign[0]} that is not Topiary's; give the store another database"
            )
        return None
    versions = connection.execute(select(tables.schema_version.c.version)).scalars().all()
    if len(versions) != 1:
        raise SchemaMismatch(f"{place} does not say which version of Topiary made it; restore it from a copy")
    return int(versions[0])


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
        connection.execute(insert(tables.schema_version).values(version=tables.VERSION, identity=draw_identity()))
        return
    _refuse_version(version, place, readonly=False)
    for step in range(version, tables.VERSION):
        STEPS[step](connection)
    connection.execute(update(tables.schema_version).values(version=tables.VERSION))
