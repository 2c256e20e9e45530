"""Rows of corpora and of their typed columns, read as frozen copies, and blocks of the values of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, Select, delete, insert

from topiary.store.arrays import Array, pack_arrays
from topiary.store.errors import NotFound, StoreError
from topiary.store.run_rows import explain_absence
from topiary.store.tables import column_blocks, corpora, corpus_columns, select_sound


@dataclass(frozen=True)
class CorpusRow:
    """A frozen copy of the row of a corpus.

    Attributes
    ----------
    documents, train_documents, validation_documents : int
        Number of all documents, and of those in two of the three parts.
    tokens : int
        Sum of all counts; for real data, the number of cells.
    cells, scored_cells : int
        Number of entries above zero, and of those among the held-out tokens.
    """

    number: int
    name: str
    documents: int
    train_documents: int
    words: int
    tokens: int
    cells: int
    kind: str
    label_names: tuple[str, ...]
    image_shape: tuple[int, int] | None
    split_seed: int
    has_scored: bool
    source: str
    content_hash: str
    created: datetime
    meta: dict[str, Any]
    scored_cells: int = 0
    validation_documents: int = 0

    @property
    def test_documents(self) -> int:
        """Number of documents that are neither for training nor for validation."""
        return max(0, self.documents - self.train_documents - self.validation_documents)


def select_corpora() -> Select[Any]:
    """Return the query of all visible corpora."""
    return select_sound(corpora).where(corpora.c.state == "ready")


def read_corpora(connection: Connection) -> Sequence[CorpusRow]:
    """Return all corpora, oldest first."""
    return [_make_row(row) for row in connection.execute(select_corpora().order_by(corpora.c.number))]


def read_corpus(connection: Connection, number: int, *, lock: bool = False) -> CorpusRow:
    """Return the corpus with this number; ``lock`` keeps others from changing it until the transaction ends.

    Raises
    ------
    NotFound
        If there is none.
    DamagedRow
        If its row is damaged.
    """
    query = select_corpora().where(corpora.c.number == int(number))
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        missing = NotFound(f"there is no corpus number {number}; list the corpora to see those that exist")
        raise explain_absence(connection, corpora, int(number)) or missing
    return _make_row(row)


def _make_row(row: Row[Any]) -> CorpusRow:
    values = row._asdict()
    image_shape = values.pop("image_height"), values.pop("image_width")
    del values["state"], values["touched"]
    return CorpusRow(
        **values | {"has_scored": bool(row.has_scored)}, image_shape=None if None in image_shape else image_shape
    )


DATE, NUMBER, CATEGORY, TEXT, ID = KINDS = ("date", "number", "category", "text", "id")
LABEL = -1  # the place of the label among the columns
DAY_FIRST, DECIMAL_COMMA = "day first", "decimal comma"
NOTATIONS = ("", DAY_FIRST, DECIMAL_COMMA)
DOCUMENTS_PER_BLOCK = 1 << 16  # so that a column of 500,000 documents is read from eight blocks
TYPED = "typed"  # key of the number of documents with typed columns in the meta of a corpus
_TYPES: dict[str, np.dtype[Any]] = {
    DATE: np.dtype(np.int64),
    NUMBER: np.dtype(np.float64),
    CATEGORY: np.dtype(np.int32),
}
_MISSING: dict[str, Any] = {DATE: np.iinfo(np.int64).min, NUMBER: np.nan, CATEGORY: -1}
_VALUES = "values"


@dataclass(frozen=True)
class CorpusColumn:
    """A frozen copy of the row of a column.

    Attributes
    ----------
    place : int
        Its place among the columns of the corpus; `LABEL` for the label, whose values are stored with the counts.
    name : str
    kind : str
        One of `KINDS`.
    levels : tuple of str
        The categories, in the order of their numbers; empty for other kinds.
    documents : int
        Number of documents whose values are stored, from the first of the corpus on.
    filled, invalid : int
        Number of documents with a value, and of those with a text that is no value of the kind and counts as missing;
        both are 0 for the label, whose values are not counted.
    notation : str
        How its texts are to be read: `DAY_FIRST` (3/4/2021 is in April), `DECIMAL_COMMA` (3,5 is 3.5), or "".
    """

    place: int
    name: str
    kind: str
    levels: tuple[str, ...] = ()
    documents: int = 0
    filled: int = 0
    invalid: int = 0
    notation: str = ""

    @property
    def has_values(self) -> bool:
        """Whether values are stored in blocks; texts and ids are read from the texts of the documents."""
        return self.kind in _TYPES and self.place != LABEL


class ColumnBlock(NamedTuple):
    """Values of a column for consecutive documents.

    Attributes
    ----------
    place, first : int
        Place of the column, and number of the first document.
    values : (documents,) array
        Dates as milliseconds since 1970, UTC (int64), numbers as float64, categories by their numbers (int32); see
        `make_missing` for missing values.
    """

    place: int
    first: int
    values: Array


def make_missing(kind: str, n: int) -> Array:
    """Return ``n`` missing values of a kind: the smallest int64 (numpy's NaT) for dates, NaN for numbers, else -1."""
    return np.full(n, _MISSING[kind], _TYPES[kind])


def insert_block(connection: Connection, corpus: int, block: ColumnBlock) -> None:
    """Store a block of values."""
    key = {"corpus": corpus, "place": block.place, "first": block.first, "documents": len(block.values)}
    connection.execute(insert(column_blocks).values(**key, arrays=pack_arrays({_VALUES: block.values})))


def read_values(arrays: dict[str, Array], kind: str) -> Array:
    """Return the values of a block.

    Raises
    ------
    ValueError
        If they are not values of the kind.
    """
    values = arrays[_VALUES]
    if values.dtype != _TYPES[kind] or values.ndim != 1:
        raise ValueError(f"they are {values.dtype}, and not of a column of kind {kind}")
    return values


def replace_rows(
    connection: Connection, corpus: int, columns: Iterable[CorpusColumn], place: int | None = None
) -> None:
    """Store the rows of columns of a corpus in place of those that are there, or of the one at ``place``."""
    old = corpus_columns.c.corpus == corpus
    connection.execute(delete(corpus_columns).where(old if place is None else old & (corpus_columns.c.place == place)))
    rows = [{"corpus": corpus} | asdict(each) for each in columns]
    if rows:
        connection.execute(insert(corpus_columns), rows)


def read_columns(connection: Connection, corpus: int) -> tuple[CorpusColumn, ...]:
    """Return the rows of the columns of a corpus, in their order; a column with a damaged row is left out."""
    cells = (corpus_columns.c[each.name] for each in fields(CorpusColumn))
    query = select_sound(corpus_columns, *cells).where(corpus_columns.c.corpus == corpus)
    return tuple(CorpusColumn(**row._asdict()) for row in connection.execute(query.order_by(corpus_columns.c.place)))


def check_coverage(columns: Sequence[CorpusColumn], covered: dict[int, int], documents: int) -> None:
    """Refuse columns whose blocks do not hold one value for each document.

    Parameters
    ----------
    columns : sequence of CorpusColumn
    covered : dict of int to int
        Number of values in the blocks of each column, by place.
    documents : int
        Number of documents.

    Raises
    ------
    StoreError
        If a column has more or fewer values.
    """
    for each in columns:
        n_values = covered.get(each.place, 0) if each.has_values else documents
        if n_values != documents or each.documents != documents:
            raise StoreError(f"column {each.name!r} has {n_values:,} values for {documents:,} documents")
