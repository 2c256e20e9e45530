"""The tables, written once for both databases; assets/guide/store.md describes them for people."""

import json
import math
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect

from store.cells import read_json

VERSION = 9


class Plain(TypeDecorator[str]):
    """Text that both databases take: NUL becomes the replacement character, a lone surrogate a question mark."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Give the database this."""
        if value is None:
            return None
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


class Real(TypeDecorator[float]):
    """A double; NaN is stored as NULL on both databases, because SQLite knows no other way."""

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        """Give the database this."""
        if value is None or math.isnan(value):
            return None
        return float(value)


class Whole(TypeDecorator[int]):
    """A 64-bit whole number; numpy's are taken too (SQLite would store their bytes)."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Give the database this."""
        return None if value is None else int(value)


class Json(TypeDecorator[Any]):
    """A JSON document as text: readable everywhere, and NaN survives where PostgreSQL's own type refuses it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:  # noqa: ARG002
        """Give the database this."""
        return json.dumps(value, default=_plain_number)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        """Give the program this; `store.cells.Unreadable` where it is no JSON."""
        return None if value is None else read_json(value)


class Bytes(LargeBinary):
    """Bytes; what SQLite keeps of another kind comes as bytes that hold no arrays, and is noticed as those are."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:  # noqa: ARG002
        """Give the program this."""
        return lambda value: value if value is None or isinstance(value, bytes) else str(value).encode()


def _plain_number(value: Any) -> Any:
    """Numpy scalars and arrays as numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON: {value!r}")


def _number() -> Column[int]:
    """A number never given twice, not even after the newest row was deleted: cursors and caches rely on it."""
    return Column("number", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True)


def _of(table: str, *, primary: bool = False, ondelete: str = "CASCADE") -> Column[int]:
    """The foreign key of a row that belongs to a run or a corpus."""
    name = {"runs": "run", "corpora": "corpus"}[table]
    return Column(
        name, BigInteger, ForeignKey(f"{table}.number", ondelete=ondelete), primary_key=primary, nullable=False
    )


def _of_run(name: str) -> Column[int]:
    """The foreign key of a row that belongs to two runs."""
    return Column(name, BigInteger, ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True, nullable=False)


def _whole(name: str, default: int | None = 0) -> Column[int]:
    return Column(name, Whole, nullable=default is None, default=default)


def _text(name: str) -> Column[str]:
    return Column(name, Plain, nullable=False, default="")


metadata = MetaData()

schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True),
    Column("identity", Plain),  # of this store among all others, drawn when it is made; a copy keeps it
)

corpora = Table(
    "corpora",
    metadata,
    _number(),
    Column("name", Plain, unique=True),  # NULL while the corpus is being written or taken away
    Column("state", Plain, nullable=False),  # ready | incomplete
    _whole("documents"),
    _whole("train_documents"),
    _whole("words"),
    _whole("tokens"),
    _whole("cells"),
    _whole("scored_cells"),
    Column("kind", Plain, nullable=False),
    Column("label_names", Json, nullable=False),
    _whole("image_height", None),
    _whole("image_width", None),
    _whole("split_seed"),
    _whole("has_scored"),
    _text("source"),
    _text("content_hash"),
    Column("meta", Json, nullable=False),
    Column("created", Double, nullable=False),
    Column("touched", Double, nullable=False),
    sqlite_autoincrement=True,
)

corpus_words = Table(
    "corpus_words",
    metadata,
    _of("corpora", primary=True),
    Column("word", Whole, primary_key=True, autoincrement=False),
    Column("text", Plain, nullable=False),
)

corpus_blocks = Table(
    "corpus_blocks",
    metadata,
    _of("corpora", primary=True),
    Column("first", Whole, primary_key=True, autoincrement=False),
    _whole("documents"),
    Column("arrays", Bytes, nullable=False),
)

corpus_texts = Table(
    "corpus_texts",
    metadata,
    _of("corpora", primary=True),
    Column("first", Whole, primary_key=True, autoincrement=False),
    _whole("documents"),
    Column("texts", Bytes, nullable=False),
)

search_indexes = Table(  # beside the tables search_words_N, one for each corpus, which full_text.py makes
    "search_indexes", metadata, _of("corpora", primary=True), _whole("documents")
)

runs = Table(
    "runs",
    metadata,
    _number(),
    _text("name"),
    _of("corpora", ondelete="RESTRICT"),
    Column("model", Plain, nullable=False),
    Column("inference", Plain, nullable=False),
    Column("layers", Json, nullable=False),
    Column("settings", Json, nullable=False),
    Column("plan", Json, nullable=False),
    _whole("seed"),
    Column(
        "state", Plain, nullable=False
    ),  # queued | running | paused | stopped | finished | failed, or deleted: going
    Column("wish", Plain, nullable=False),
    _whole("attempt"),
    _whole("minibatch"),
    _whole("planned"),
    Column("seconds", Real, nullable=False, default=0.0),
    Column("tokens_per_second", Real),
    Column("point_perplexity", Real),
    Column("averaged_perplexity", Real),
    _text("message"),
    _text("traceback"),
    Column("process", Json, nullable=False),
    Column("created", Double, nullable=False),
    Column("started", Double),
    Column("ended", Double),
    Column("heartbeat", Double),
    _whole("parent", None),  # no foreign key: a child outlives the run it was forked from
    _whole("parent_snapshot", None),
    _whole("parent_minibatch", None),
    _whole("family", None),  # of a fork: the run that its line began with, however many of the line are gone
    _whole("run_group", None),  # of runs ordered together: the number of the first of them
    Column("place", Real),  # in the queue, where a person moved it; the number stands where it is NULL
    Column("lease", Double),  # of a queued run whose worker is being started: until when no other one is
    Column("starter", Json),  # that worker's process
    sqlite_autoincrement=True,
)

points = Table(
    "points",
    metadata,
    _number(),
    _of("runs"),
    _whole("minibatch"),
    _whole("documents"),
    Column("seconds", Real),
    Column("name", Plain, nullable=False),
    _whole("layer"),
    Column("value", Real),
    Index("points_by_number", "run", "number"),
    Index("points_by_name", "run", "name", "layer", "minibatch", "number"),
    sqlite_autoincrement=True,
)

events = Table(
    "events",
    metadata,
    _number(),
    _of("runs"),
    _whole("attempt"),
    _whole("minibatch"),
    Column("kind", Plain, nullable=False),
    _text("text"),
    Column("change", Json),  # of the structure: layer, topics, before, after; NULL of all other events
    Column("created", Double, nullable=False),
    Index("events_by_number", "run", "number"),
    sqlite_autoincrement=True,
)

snapshots = Table(
    "snapshots",
    metadata,
    _number(),
    _of("runs"),
    _whole("minibatch"),
    Column("seconds", Real, nullable=False),
    _whole("size"),
    Column("created", Double, nullable=False),
    Column("arrays", Bytes, nullable=False),
    UniqueConstraint("run", "minibatch", name="snapshots_by_minibatch"),
    sqlite_autoincrement=True,
)

predictions = Table(
    "predictions",
    metadata,
    Column("snapshot", BigInteger, ForeignKey("snapshots.number", ondelete="CASCADE"), primary_key=True),
    Column("made_by", Plain, nullable=False),
    Column("checksum", Plain, nullable=False),
    _whole("size"),
    Column("created", Double, nullable=False),
    Column("arrays", Bytes, nullable=False),
)


def _checkpoints(name: str) -> Table:
    return Table(
        name,
        metadata,
        _of("runs", primary=True),
        _whole("generation"),
        _whole("minibatch"),
        Column("seconds", Real, nullable=False),
        Column("meta", Json, nullable=False),
        Column("created", Double, nullable=False),
    )


checkpoints = _checkpoints("checkpoints")
earlier_checkpoints = _checkpoints("earlier_checkpoints")  # the one before, should the last one turn out damaged

checkpoint_parts = Table(
    "checkpoint_parts",
    metadata,
    _of("runs", primary=True),
    Column("generation", Whole, primary_key=True, autoincrement=False),
    Column("part", Whole, primary_key=True, autoincrement=False),
    Column("arrays", Bytes, nullable=False),
)

topic_labels = Table(
    "topic_labels",
    metadata,
    _of("runs", primary=True),
    Column("layer", Whole, primary_key=True, autoincrement=False),
    Column("topic", Whole, primary_key=True, autoincrement=False),
    Column("text", Plain, nullable=False),
)

receipts = Table(
    "receipts",
    metadata,
    Column("writer", Plain, primary_key=True),
    _whole("sequence"),
    Column("written", Double, nullable=False),
)

matches = Table(
    "matches",
    metadata,
    _of_run("run_a"),
    _of_run("run_b"),
    Column("layer", Whole, primary_key=True, autoincrement=False),
    Column("topic_a", Whole, primary_key=True, autoincrement=False),  # 0 = topic_b has no partner
    Column("topic_b", Whole, primary_key=True, autoincrement=False),  # 0 = topic_a has no partner
    Column("created", Double, nullable=False),
)
