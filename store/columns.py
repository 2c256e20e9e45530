"""Functions to list, read and change the typed columns of corpora."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, delete, select, update

from topiary.store import corpora, corpus_rows
from topiary.store.arrays import Array, unpack_arrays
from topiary.store.blocks import unpack_texts
from topiary.store.corpus_rows import CATEGORY, LABEL, TYPED, ColumnBlock, CorpusColumn, CorpusRow
from topiary.store.database import Database, reads, retry_reads, writes
from topiary.store.errors import Conflict, DamagedArrays, NotFound
from topiary.store.tables import column_blocks, corpus_texts
from topiary.store.tables import corpora as corpus_table


def is_typed(corpus: CorpusRow) -> bool:
    """Return whether the columns of all documents of a corpus are typed; those of a refined one are not at first."""
    typed = corpus.meta.get(TYPED)
    return isinstance(typed, int) and typed >= corpus.documents


@reads
def list_columns(connection: Connection, corpus: CorpusRow, label_name: str = "label") -> tuple[CorpusColumn, ...]:
    """Return the columns of a corpus in their order, after its label, which is a category.

    Parameters
    ----------
    db : Database
    corpus : CorpusRow
    label_name : str, optional
        Name of the label; if another column has it, " (label)" is added.
    """
    columns = corpus_rows.read_columns(connection, corpus.number)
    if not corpus.label_names:
        return columns
    if any(each.name == label_name for each in columns):
        label_name += " (label)"
    return CorpusColumn(LABEL, label_name, CATEGORY, corpus.label_names, corpus.documents), *columns


def find_column(columns: Sequence[CorpusColumn], name: str) -> CorpusColumn:
    """Return the column with this name; upper and lower case may differ if only one column is meant.

    Raises
    ------
    NotFound
        If there is none; the message lists those that exist.
    """
    same = [each for each in columns if each.name == name]
    alike = [each for each in columns if each.name.casefold() == name.casefold()]
    for found in (same, alike):
        if len(found) == 1:
            return found[0]
    listed = ", ".join(each.name for each in columns)
    raise NotFound(f"there is no column {name!r}; " + (f"the columns are {listed}" if listed else "there are none"))


@retry_reads
def read_column(db: Database, corpus: CorpusRow, column: CorpusColumn) -> Array:
    """Return the values of a column for all documents of a corpus, (documents,).

    Dates are int64, in milliseconds since 1970, UTC, and can be viewed as ``datetime64[ms]``: a missing one is the
    smallest int64, which is NaT.  Numbers are float64, NaN = missing.  Categories and the label are int32, indices in
    ``column.levels``, -1 = missing.  Texts and ids are objects of class str, "" = missing.

    Raises
    ------
    DamagedArrays
        If its blocks are damaged.
    """
    if column.place == LABEL:
        return corpora.read_labels(db, corpus)
    if not column.has_values:
        return np.array(read_texts(db, corpus, column.name), dtype=object)
    values = corpus_rows.make_missing(column.kind, corpus.documents)
    is_of_column = (column_blocks.c.corpus == corpus.number) & (column_blocks.c.place == column.place)
    query = select(column_blocks.c.first, column_blocks.c.arrays).where(is_of_column).order_by(column_blocks.c.first)
    try:
        with db.read() as connection:
            for first, blob in connection.execute(query):
                block = corpus_rows.read_values(unpack_arrays(blob), column.kind)
                n = min(len(block), corpus.documents - first)
                if n > 0:
                    values[first : first + n] = block[:n]
    except (DamagedArrays, ValueError, KeyError, TypeError) as error:
        repair = f"topiary columns {corpus.number} --kind '{column.name}={column.kind}' reads them again"
        raise DamagedArrays(f"values of column {column.name!r} are damaged ({error}); {repair}") from error
    return values


def read_texts(db: Database, corpus: CorpusRow, name: str) -> list[str]:
    """Return a column of all documents as it was imported; a document without it has an empty text."""
    texts = [row.get(name, "") for rows in iterate_rows(db, corpus) for row in rows]
    return [text if isinstance(text, str) else str(text) for text in texts]


def iterate_rows(db: Database, corpus: CorpusRow) -> Iterator[list[dict[str, str]]]:
    """Yield the columns of the documents of a corpus as they were imported, by name, one block at a time."""
    is_of_corpus = (corpus_texts.c.corpus == corpus.number) & (corpus_texts.c.first < corpus.documents)
    firsts = select(corpus_texts.c.first).where(is_of_corpus).order_by(corpus_texts.c.first)
    for first in db.repeat(lambda: _read_all(db, firsts)):
        query = select(corpus_texts.c.texts).where(is_of_corpus, corpus_texts.c.first == first)
        (blob,) = db.repeat(lambda query=query: _read_all(db, query))  # type: ignore[misc]
        rows: list[dict[str, str]] = unpack_texts(blob)["columns"]
        yield rows[: corpus.documents - first]


@writes
def replace_columns(
    connection: Connection, corpus: CorpusRow, columns: Sequence[CorpusColumn], blocks: Sequence[ColumnBlock]
) -> None:
    """Store all columns of a corpus in place of those that are there, in one transaction.

    Raises
    ------
    Conflict
        If the corpus got other documents meanwhile.
    StoreError
        If a column does not have one value for each document.
    """
    _check_blocks(columns, blocks, corpus.documents)
    row = _lock_corpus(connection, corpus)
    connection.execute(delete(column_blocks).where(column_blocks.c.corpus == corpus.number))
    corpus_rows.replace_rows(connection, corpus.number, columns)
    for block in blocks:
        corpus_rows.insert_block(connection, corpus.number, block)
    meta = row.meta | {TYPED: corpus.documents}
    connection.execute(update(corpus_table).where(corpus_table.c.number == corpus.number).values(meta=meta))


@writes
def change_column(
    connection: Connection, corpus: CorpusRow, column: CorpusColumn, blocks: Sequence[ColumnBlock]
) -> None:
    """Store a column of another kind in place of the one at its place, in one transaction.

    Raises
    ------
    Conflict
        If the corpus got other documents meanwhile.
    StoreError
        If the column does not have one value for each document.
    """
    _check_blocks([column], blocks, corpus.documents)
    _lock_corpus(connection, corpus)
    is_of_column = (column_blocks.c.corpus == corpus.number) & (column_blocks.c.place == column.place)
    connection.execute(delete(column_blocks).where(is_of_column))
    corpus_rows.replace_rows(connection, corpus.number, [column], column.place)
    for block in blocks:
        corpus_rows.insert_block(connection, corpus.number, block)


def _check_blocks(columns: Sequence[CorpusColumn], blocks: Sequence[ColumnBlock], documents: int) -> None:
    """Raise StoreError if the columns and their blocks are not of all documents."""
    covered: dict[int, int] = {}
    for block in blocks:
        covered[block.place] = covered.get(block.place, 0) + len(block.values)
    corpus_rows.check_coverage(columns, covered, documents)


def _lock_corpus(connection: Connection, corpus: CorpusRow) -> CorpusRow:
    """Lock the row of a corpus; raise Conflict if it has other documents than expected."""
    row = corpus_rows.read_corpus(connection, corpus.number, lock=True)
    if row.documents != corpus.documents:
        raise Conflict(f"corpus {corpus.name!r} got other documents meanwhile; try again")
    return row


def _read_all(db: Database, query: Select[Any]) -> list[Any]:
    """Return the first cell of every row that a query finds."""
    with db.read() as connection:
        return list(connection.execute(query).scalars())
