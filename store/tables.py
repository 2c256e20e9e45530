"""The tables of the store in either database; assets/guide/store.md describes them for users.

SQLite accepts any value in any cell and has no checksums.  So every row is there twice, in its table and in an index of
all its cells but arrays, which have a checksum of their own.  A row is read (:func:`select_sound`) only if both are the
same; `topiary check` lists the others.  A PostgreSQL server checks its own pages.
"""

import json
import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    not_,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from topiary.store.errors import DamagedStore

VERSION = 2  # of the tables; `store.migrations` has a step from each version to the next


class PlainText(TypeDecorator[str]):
    """Text that both databases accept: NUL becomes the replacement character, a lone surrogate a question mark."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Convert a value for the database."""
        if value is None:
            return None
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


class RealNumber(TypeDecorator[float]):
    """A double; NaN is stored as NULL in both databases, because SQLite cannot store it."""

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        """Convert a value for the database."""
        if value is None or math.isnan(value):
            return None
        return float(value)


class Moment(TypeDecorator[datetime]):
    """A time, stored as seconds since 1970, UTC."""

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> float | None:  # noqa: ARG002
        """Convert a value for the database; seconds may be added to a time."""
        return value.timestamp() if isinstance(value, datetime) else value

    def process_result_value(self, value: float | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Convert a value of the database."""
        return None if value is None else datetime.fromtimestamp(value, UTC)


class WholeNumber(TypeDecorator[int]):
    """A 64-bit whole number; also accepts numpy's, of which SQLite would store the bytes."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Convert a value for the database."""
        return None if value is None else int(value)


class JsonText(TypeDecorator[Any]):
    """A JSON document as text, readable by any program; PostgreSQL's own type would refuse NaN."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:  # noqa: ARG002
        """Convert a value for the database."""
        return json.dumps(value, default=_convert_number)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        """Convert a value of the database; raise DamagedStore if it is not JSON."""
        try:
            return None if value is None else json.loads(value)
        except (ValueError, RecursionError) as error:
            raise DamagedStore(
                f"a row of the store is damaged (JSON was expected: {error}); restore it from a backup"
            ) from error


class JsonList(JsonText):
    """A JSON list, read as a tuple."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Convert a value of the database."""
        return tuple(super().process_result_value(value, dialect) or ())


class ArrayBytes(LargeBinary):
    """Bytes; a value of another kind, which SQLite may hold, is read as bytes, which are then found to be damaged."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:  # noqa: ARG002
        """Convert a value of the database."""
        return lambda value: value if value is None or isinstance(value, bytes) else repr(value).encode()


def _convert_number(value: Any) -> Any:
    """Convert numpy scalars and arrays to numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON: {value!r}")


class IsSound(FunctionElement[bool]):
    """SQL condition that a row is the same in its table and in the index that repeats it; made of all its columns."""

    type = Boolean()
    inherit_cache = True


@compiles(IsSound, "sqlite")
def _compare_copies(element: IsSound, *_: Any, **__: Any) -> str:
    columns: list[Any] = [column for column in element.clauses if not isinstance(column.type, LargeBinary)]
    table, names = columns[0].table.name, [column.name for column in columns]
    same = " AND ".join(f"original.{name} IS {table}.{name} AND copy.{name} IS {table}.{name}" for name in names)
    both = f"{table} AS original NOT INDEXED, {table} AS copy INDEXED BY {table}_copy"
    return f"EXISTS (SELECT 1 FROM {both} WHERE original.rowid = {table}.rowid AND {same})"  # noqa: S608 - our own names


@compiles(IsSound, "postgresql")
def _trust_server(*_: Any, **__: Any) -> str:
    return "true"


@lru_cache(maxsize=128)
def select_sound(table: Table, *columns: Any) -> Select[Any]:
    """Return the query of the sound rows of a table, of all its columns if none are given.

    Making it takes longer than many a reading, so queries are kept.
    """
    return select(*(columns or (table,))).where(IsSound(*table.columns))


def select_damaged(table: Table) -> Select[Any]:
    """Return the query of the keys of the rows of a table that are not sound."""
    return select(*table.primary_key.columns).where(not_(IsSound(*table.columns)))


metadata = MetaData()


def _make_number() -> Column[int]:
    """Return a column of numbers that are never reused, even if the newest row is deleted: cursors rely on it."""
    return Column("number", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True)


def _make_owner(name: str, target: str, *, primary: bool = False, nullable: bool = False) -> Column[int]:
    """Return the foreign key of a row that is deleted with another one."""
    owner = ForeignKey(f"{target}.number", ondelete="CASCADE")
    return Column(name, BigInteger, owner, primary_key=primary, nullable=nullable, autoincrement=False)


def _make_keys(*names: str) -> list[Column[int]]:
    return [Column(name, WholeNumber, primary_key=True, autoincrement=False) for name in names]


def _make_wholes(*names: str) -> list[Column[int]]:
    return [Column(name, WholeNumber, nullable=False, default=0) for name in names]


def _make_optional(kind: Any, *names: str) -> list[Column[Any]]:
    return [Column(name, kind) for name in names]


def _make_cells(kind: Any, *names: str) -> list[Column[Any]]:
    """Return columns of cells that every row must have."""
    return [Column(name, kind, nullable=False) for name in names]


def _make_texts(*names: str) -> list[Column[str]]:
    return [Column(name, PlainText, nullable=False, default="") for name in names]


store_version = Table(
    "store_version",
    metadata,
    Column("version", Integer, primary_key=True),
    *_make_optional(PlainText, "identity", "definitions"),  # drawn when the store is made; see `store.migrations`
)

corpora = Table(
    "corpora",
    metadata,
    _make_number(),
    Column("name", PlainText, unique=True),  # NULL while the corpus is being written or deleted
    *_make_cells(PlainText, "state", "kind"),  # state: ready | incomplete
    *_make_wholes("documents", "train_documents", "validation_documents", "words", "tokens", "cells", "scored_cells"),
    *_make_wholes("split_seed", "has_scored"),
    *_make_optional(WholeNumber, "image_height", "image_width"),
    *_make_texts("source", "content_hash"),
    Column("label_names", JsonList, nullable=False),
    Column("meta", JsonText, nullable=False),
    *_make_cells(Moment, "created", "touched"),
    sqlite_autoincrement=True,
)

corpus_words = Table(
    "corpus_words",
    metadata,
    _make_owner("corpus", "corpora", primary=True),
    *_make_keys("word"),
    *_make_cells(PlainText, "text"),
)

corpus_blocks = Table(
    "corpus_blocks",
    metadata,
    _make_owner("corpus", "corpora", primary=True),
    *_make_keys("first"),
    *_make_wholes("documents"),
    *_make_cells(ArrayBytes, "arrays"),
)

corpus_texts = Table(
    "corpus_texts",
    metadata,
    _make_owner("corpus", "corpora", primary=True),
    *_make_keys("first"),
    *_make_wholes("documents"),
    *_make_cells(ArrayBytes, "texts"),
)

corpus_columns = Table(
    "corpus_columns",
    metadata,
    _make_owner("corpus", "corpora", primary=True),
    *_make_keys("place"),
    *_make_cells(PlainText, "name", "kind", "notation"),  # kind: one of `KINDS` of columns; notation: of `NOTATIONS`
    Column("levels", JsonList, nullable=False),  # the categories, in the order of their numbers
    *_make_wholes("documents"),  # those whose values are stored, from the first of the corpus on
    *_make_wholes("filled", "invalid"),  # documents with a value; those with a text that is no value of the kind
)

column_blocks = Table(
    "column_blocks",
    metadata,
    _make_owner("corpus", "corpora", primary=True),
    *_make_keys("place", "first"),
    *_make_wholes("documents"),
    *_make_cells(ArrayBytes, "arrays"),
)

search_indexes = Table(  # full_text.py also makes a table search_words_N for each corpus
    "search_indexes", metadata, _make_owner("corpus", "corpora", primary=True), *_make_wholes("documents")
)

runs = Table(
    "runs",
    metadata,
    _make_number(),
    *_make_texts("name"),
    Column("corpus", BigInteger, ForeignKey("corpora.number", ondelete="RESTRICT"), nullable=False),
    *_make_cells(PlainText, "model", "inference"),
    Column("layers", JsonList, nullable=False),
    *_make_cells(JsonText, "settings", "options"),
    *_make_wholes("seed"),
    *_make_cells(PlainText, "state", "request"),  # state: one of `STATES` of runs, or deleted: being removed
    *_make_wholes("attempt", "minibatch", "planned"),
    Column("seconds", RealNumber, nullable=False, default=0.0),
    *_make_optional(RealNumber, "tokens_per_second", "point_perplexity", "averaged_perplexity"),
    *_make_texts("message", "traceback"),
    Column("process", JsonText, nullable=False),
    Column("created", Moment, nullable=False),
    *_make_optional(Moment, "started", "ended"),
    Column("heartbeat", Double),
    # No foreign keys: a child outlives the run it was forked from.  The family is the first run of a line of forks,
    # the group the number of the first of the runs created together.
    *_make_optional(WholeNumber, "parent", "parent_snapshot", "parent_minibatch", "family", "run_group"),
    Column("place", RealNumber),  # in the queue, if a user moved the run; NULL: its number
    Column("lease", Double),  # time until which no other worker is started for a queued run
    Column("starter", JsonText, nullable=False, default=dict),  # process of the worker that is being started
    sqlite_autoincrement=True,
)

points = Table(
    "points",
    metadata,
    _make_number(),
    _make_owner("run", "runs"),
    *_make_wholes("minibatch", "documents"),
    *_make_optional(RealNumber, "seconds"),
    *_make_cells(PlainText, "name"),
    *_make_wholes("layer"),
    *_make_optional(RealNumber, "value"),
    Index("points_by_number", "run", "number"),
    sqlite_autoincrement=True,
)

events = Table(
    "events",
    metadata,
    _make_number(),
    _make_owner("run", "runs"),
    *_make_wholes("attempt", "minibatch"),
    *_make_cells(PlainText, "kind"),
    *_make_texts("text"),
    Column("change", JsonText),  # of the layers: layer, topics, before, after
    *_make_cells(Moment, "created"),
    Index("events_by_number", "run", "number"),
    sqlite_autoincrement=True,
)

snapshots = Table(
    "snapshots",
    metadata,
    _make_number(),
    _make_owner("run", "runs"),
    *_make_wholes("minibatch"),
    *_make_cells(RealNumber, "seconds"),
    *_make_wholes("size"),
    *_make_cells(Moment, "created"),
    UniqueConstraint("run", "minibatch", name="snapshots_by_minibatch"),
    sqlite_autoincrement=True,
)

snapshot_parts = Table(  # the arrays of a snapshot and what was computed with it
    "snapshot_parts",
    metadata,
    _make_owner("snapshot", "snapshots", primary=True),
    Column("kind", PlainText, primary_key=True),  # one of the kinds in `store.snapshots`
    *_make_keys("first"),  # number of the first document; 0 for what is no block of documents
    *_make_wholes("documents"),
    *_make_texts("made_by"),
    *_make_cells(Moment, "created"),
    *_make_cells(ArrayBytes, "arrays"),
)

checkpoints, earlier_checkpoints = (  # the earlier one is used if the last one is damaged
    Table(
        name,
        metadata,
        _make_owner("run", "runs", primary=True),
        *_make_wholes("generation", "minibatch"),
        *_make_cells(RealNumber, "seconds"),
        *_make_cells(JsonText, "meta"),
        *_make_cells(Moment, "created"),
    )
    for name in ("checkpoints", "earlier_checkpoints")
)

checkpoint_parts = Table(
    "checkpoint_parts",
    metadata,
    _make_owner("run", "runs", primary=True),
    *_make_keys("generation", "part"),
    *_make_cells(ArrayBytes, "arrays"),
)

topic_labels = Table(
    "topic_labels",
    metadata,
    _make_owner("run", "runs", primary=True),
    *_make_keys("layer", "topic"),
    *_make_cells(PlainText, "text"),
)

notes = Table(  # on a topic of a run, or on a document of the corpus: then run and topic are NULL, and the layer is 0
    "notes",
    metadata,
    _make_number(),
    _make_owner("corpus", "corpora"),
    _make_owner("run", "runs", nullable=True),
    *_make_wholes("layer"),
    *_make_optional(WholeNumber, "topic", "document"),
    *_make_cells(PlainText, "kind", "text"),  # kind: one of `KINDS` of notes
    *_make_texts("author"),
    *_make_cells(Moment, "created"),
    Index("notes_by_run", "run", "number"),
    Index("notes_by_document", "corpus", "document", "number"),
    sqlite_autoincrement=True,
)

edits = Table(  # the journal of a run; a negative step: before the snapshot from which a fork begins
    "edits",
    metadata,
    _make_owner("run", "runs", primary=True),
    *_make_keys("edit"),
    *_make_cells(PlainText, "state", "kind"),  # state: one of `EDIT_STATES`; kind: of `engine.steering.edit.KINDS`
    *_make_wholes("layer"),
    *_make_cells(JsonList, "topics", "words"),
    *_make_texts("strength", "name", "author"),
    *_make_cells(Moment, "created"),
    *_make_wholes("step"),
    *_make_texts("message"),
    *_make_optional(WholeNumber, "topic"),
    *_make_cells(JsonList, "changed"),
    *_make_wholes("tokens", "documents"),
    *_make_optional(RealNumber, "perplexity_before", "perplexity_after"),
)

matches = Table(
    "matches",
    metadata,
    _make_owner("run_a", "runs", primary=True),
    _make_owner("run_b", "runs", primary=True),
    *_make_keys("layer", "topic_a", "topic_b"),  # a topic 0: the other one has no partner
    *_make_cells(Moment, "created"),
)

receipts = Table(
    "receipts",
    metadata,
    Column("writer", PlainText, primary_key=True),
    *_make_wholes("sequence"),
    *_make_cells(Double, "written"),
)

_CURVE = ("run", "name", "layer", "minibatch", "number")  # the order in which curves are read


def _repeat_rows(table: Table) -> None:
    """Add the index that repeats the rows of a table; that of points also serves to read curves."""
    cells = [column.name for column in table.columns if not isinstance(column.type, LargeBinary)]
    if table is points:
        Index("points_copy", *(table.c[name] for name in dict.fromkeys((*_CURVE, *cells))))
    else:
        Index(f"{table.name}_copy", *(table.c[name] for name in cells)).ddl_if(dialect="sqlite")


for _table in metadata.sorted_tables:
    _repeat_rows(_table)
