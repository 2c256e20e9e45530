"""The tables of the store in either database; assets/guide/store.md describes them for users."""

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

from topiary.store.cells import read_json

VERSION = 13  # of the tables; `store.migrations` has a step from each version to the next


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
        """Convert a value of the database; to a `store.cells.UnreadableCell` if it is not JSON."""
        return None if value is None else read_json(value)


class ArrayBytes(LargeBinary):
    """Bytes; a value of another kind, which SQLite may hold, is read as bytes, which are then found to be damaged."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:  # noqa: ARG002
        """Convert a value of the database."""
        return lambda value: value if value is None or isinstance(value, bytes) else str(value).encode()


def _convert_number(value: Any) -> Any:
    """Convert numpy scalars and arrays to numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON: {value!r}")


def _make_number() -> Column[int]:
    """Return a column of numbers that are never reused, even if the newest row is deleted: cursors rely on it."""
    return Column("number", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True)


def _make_owner(table: str, *, primary: bool = False, ondelete: str = "CASCADE") -> Column[int]:
    """Return the foreign key of a row that belongs to a run or a corpus."""
    name = {"runs": "run", "corpora": "corpus"}[table]
    return Column(
        name, BigInteger, ForeignKey(f"{table}.number", ondelete=ondelete), primary_key=primary, nullable=False
    )


def _make_run_key(name: str) -> Column[int]:
    """Return one of the two foreign keys of a row that belongs to two runs."""
    return Column(name, BigInteger, ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True, nullable=False)


def _make_whole(name: str, default: int | None = 0) -> Column[int]:
    return Column(name, WholeNumber, nullable=default is None, default=default)


def _make_text(name: str) -> Column[str]:
    return Column(name, PlainText, nullable=False, default="")


metadata = MetaData()

schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True),
    Column("identity", PlainText),  # drawn when the store is made; a copy keeps it
)

corpora = Table(
    "corpora",
    metadata,
    _make_number(),
    Column("name", PlainText, unique=True),  # NULL while the corpus is being written or deleted
    Column("state", PlainText, nullable=False),  # ready | incomplete
    _make_whole("documents"),
    _make_whole("train_documents"),
    _make_whole("validation_documents"),
    _make_whole("words"),
    _make_whole("tokens"),
    _make_whole("cells"),
    _make_whole("scored_cells"),
    Column("kind", PlainText, nullable=False),
    Column("label_names", JsonText, nullable=False),
    _make_whole("image_height", None),
    _make_whole("image_width", None),
    _make_whole("split_seed"),
    _make_whole("has_scored"),
    _make_text("source"),
    _make_text("content_hash"),
    Column("meta", JsonText, nullable=False),
    Column("created", Double, nullable=False),
    Column("touched", Double, nullable=False),
    sqlite_autoincrement=True,
)

corpus_words = Table(
    "corpus_words",
    metadata,
    _make_owner("corpora", primary=True),
    Column("word", WholeNumber, primary_key=True, autoincrement=False),
    Column("text", PlainText, nullable=False),
)

corpus_blocks = Table(
    "corpus_blocks",
    metadata,
    _make_owner("corpora", primary=True),
    Column("first", WholeNumber, primary_key=True, autoincrement=False),
    _make_whole("documents"),
    Column("arrays", ArrayBytes, nullable=False),
)

corpus_texts = Table(
    "corpus_texts",
    metadata,
    _make_owner("corpora", primary=True),
    Column("first", WholeNumber, primary_key=True, autoincrement=False),
    _make_whole("documents"),
    Column("texts", ArrayBytes, nullable=False),
)

corpus_columns = Table(
    "corpus_columns",
    metadata,
    _make_owner("corpora", primary=True),
    Column("place", WholeNumber, primary_key=True, autoincrement=False),
    Column("name", PlainText, nullable=False),
    Column("kind", PlainText, nullable=False),  # one of `columns.KINDS`
    Column("notation", PlainText, nullable=False),  # one of `columns.NOTATIONS`
    Column("levels", JsonText, nullable=False),  # the categories, in the order of their numbers
    _make_whole("documents"),  # those whose values are stored, from the first of the corpus on
    _make_whole("filled"),  # documents with a value
    _make_whole("invalid"),  # documents with a text that is no value of the kind, which counts as missing
)

column_blocks = Table(
    "column_blocks",
    metadata,
    _make_owner("corpora", primary=True),
    Column("place", WholeNumber, primary_key=True, autoincrement=False),
    Column("first", WholeNumber, primary_key=True, autoincrement=False),
    _make_whole("documents"),
    Column("arrays", ArrayBytes, nullable=False),
)

search_indexes = Table(  # full_text.py also makes a table search_words_N for each corpus
    "search_indexes", metadata, _make_owner("corpora", primary=True), _make_whole("documents")
)

runs = Table(
    "runs",
    metadata,
    _make_number(),
    _make_text("name"),
    _make_owner("corpora", ondelete="RESTRICT"),
    Column("model", PlainText, nullable=False),
    Column("inference", PlainText, nullable=False),
    Column("layers", JsonText, nullable=False),
    Column("settings", JsonText, nullable=False),
    Column("options", JsonText, nullable=False),
    _make_whole("seed"),
    Column("state", PlainText, nullable=False),  # one of `run_rows.STATES`, or deleted: its rows are being removed
    Column("request", PlainText, nullable=False),
    _make_whole("attempt"),
    _make_whole("minibatch"),
    _make_whole("planned"),
    Column("seconds", RealNumber, nullable=False, default=0.0),
    Column("tokens_per_second", RealNumber),
    Column("point_perplexity", RealNumber),
    Column("averaged_perplexity", RealNumber),
    _make_text("message"),
    _make_text("traceback"),
    Column("process", JsonText, nullable=False),
    Column("created", Double, nullable=False),
    Column("started", Double),
    Column("ended", Double),
    Column("heartbeat", Double),
    _make_whole("parent", None),  # no foreign key: a child outlives the run it was forked from
    _make_whole("parent_snapshot", None),
    _make_whole("parent_minibatch", None),
    _make_whole("family", None),  # the first run of a line of forks, even if it was deleted
    _make_whole("run_group", None),  # the number of the first of the runs created together
    Column("place", RealNumber),  # in the queue, if a user moved the run; NULL: its number
    Column("lease", Double),  # time until which no other worker is started for a queued run
    Column("starter", JsonText),  # process of the worker that is being started
    sqlite_autoincrement=True,
)

points = Table(
    "points",
    metadata,
    _make_number(),
    _make_owner("runs"),
    _make_whole("minibatch"),
    _make_whole("documents"),
    Column("seconds", RealNumber),
    Column("name", PlainText, nullable=False),
    _make_whole("layer"),
    Column("value", RealNumber),
    Index("points_by_number", "run", "number"),
    Index("points_by_name", "run", "name", "layer", "minibatch", "number"),
    sqlite_autoincrement=True,
)

events = Table(
    "events",
    metadata,
    _make_number(),
    _make_owner("runs"),
    _make_whole("attempt"),
    _make_whole("minibatch"),
    Column("kind", PlainText, nullable=False),
    _make_text("text"),
    Column("change", JsonText),  # of the layers: layer, topics, before, after; NULL for other events
    Column("created", Double, nullable=False),
    Index("events_by_number", "run", "number"),
    sqlite_autoincrement=True,
)

snapshots = Table(
    "snapshots",
    metadata,
    _make_number(),
    _make_owner("runs"),
    _make_whole("minibatch"),
    Column("seconds", RealNumber, nullable=False),
    _make_whole("size"),
    Column("created", Double, nullable=False),
    Column("arrays", ArrayBytes, nullable=False),
    UniqueConstraint("run", "minibatch", name="snapshots_by_minibatch"),
    sqlite_autoincrement=True,
)

predictions = Table(
    "predictions",
    metadata,
    Column("snapshot", BigInteger, ForeignKey("snapshots.number", ondelete="CASCADE"), primary_key=True),
    Column("made_by", PlainText, nullable=False),
    Column("checksum", PlainText, nullable=False),
    _make_whole("size"),
    Column("created", Double, nullable=False),
    Column("arrays", ArrayBytes, nullable=False),
)

share_sets = Table(
    "share_sets",
    metadata,
    Column("snapshot", BigInteger, ForeignKey("snapshots.number", ondelete="CASCADE"), primary_key=True),
    Column("made_by", PlainText, nullable=False),
    _make_whole("documents"),  # those whose shares are stored, from the first document of the corpus on
    Column("created", Double, nullable=False),
)

share_blocks = Table(
    "share_blocks",
    metadata,
    Column("snapshot", BigInteger, ForeignKey("share_sets.snapshot", ondelete="CASCADE"), primary_key=True),
    Column("first", WholeNumber, primary_key=True, autoincrement=False),
    _make_whole("documents"),
    Column("arrays", ArrayBytes, nullable=False),
)


document_maps = Table(
    "document_maps",
    metadata,
    Column("snapshot", BigInteger, ForeignKey("snapshots.number", ondelete="CASCADE"), primary_key=True),
    Column("made_by", PlainText, nullable=False),
    _make_whole("documents"),
    Column("finished", WholeNumber, nullable=False),  # 0: a draft
    Column("created", Double, nullable=False),
    Column("arrays", ArrayBytes, nullable=False),
)


def _make_checkpoints(name: str) -> Table:
    return Table(
        name,
        metadata,
        _make_owner("runs", primary=True),
        _make_whole("generation"),
        _make_whole("minibatch"),
        Column("seconds", RealNumber, nullable=False),
        Column("meta", JsonText, nullable=False),
        Column("created", Double, nullable=False),
    )


checkpoints = _make_checkpoints("checkpoints")
earlier_checkpoints = _make_checkpoints("earlier_checkpoints")  # used if the last one is damaged

checkpoint_parts = Table(
    "checkpoint_parts",
    metadata,
    _make_owner("runs", primary=True),
    Column("generation", WholeNumber, primary_key=True, autoincrement=False),
    Column("part", WholeNumber, primary_key=True, autoincrement=False),
    Column("arrays", ArrayBytes, nullable=False),
)

topic_labels = Table(
    "topic_labels",
    metadata,
    _make_owner("runs", primary=True),
    Column("layer", WholeNumber, primary_key=True, autoincrement=False),
    Column("topic", WholeNumber, primary_key=True, autoincrement=False),
    Column("text", PlainText, nullable=False),
)

notes = Table(  # on a topic of a run, or on a document of the corpus: then run and topic are NULL, and the layer is 0
    "notes",
    metadata,
    _make_number(),
    _make_owner("corpora"),
    Column("run", BigInteger, ForeignKey("runs.number", ondelete="CASCADE")),
    _make_whole("layer"),
    _make_whole("topic", None),
    _make_whole("document", None),
    Column("kind", PlainText, nullable=False),  # one of `notes.KINDS`
    Column("text", PlainText, nullable=False),
    _make_text("author"),
    Column("created", Double, nullable=False),
    Index("notes_by_run", "run", "number"),
    Index("notes_by_document", "corpus", "document", "number"),
    sqlite_autoincrement=True,
)

receipts = Table(
    "receipts",
    metadata,
    Column("writer", PlainText, primary_key=True),
    _make_whole("sequence"),
    Column("written", Double, nullable=False),
)

matches = Table(
    "matches",
    metadata,
    _make_run_key("run_a"),
    _make_run_key("run_b"),
    Column("layer", WholeNumber, primary_key=True, autoincrement=False),
    Column("topic_a", WholeNumber, primary_key=True, autoincrement=False),  # 0 = topic_b has no partner
    Column("topic_b", WholeNumber, primary_key=True, autoincrement=False),  # 0 = topic_a has no partner
    Column("created", Double, nullable=False),
)
