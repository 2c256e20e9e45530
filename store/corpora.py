"""Functions to find, load and delete corpora, and to read and search their documents."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import NoResultFound

from topiary.store import corpus_rows, full_text, run_rows
from topiary.store.arrays import Array, unpack_arrays
from topiary.store.blocks import SCORED, TRAIN, CountsBuilder, StoredCounts, unpack_texts
from topiary.store.corpus_rows import CorpusRow
from topiary.store.corpus_writer import discard_corpus, limit_corpus, sweep_corpora
from topiary.store.database import Database, now, reads, retry_reads
from topiary.store.errors import Conflict, DamagedArrays, NotFound
from topiary.store.full_text import TextQuery
from topiary.store.run_rows import RunRow
from topiary.store.tables import corpora, corpus_blocks, corpus_texts, corpus_words, runs


@dataclass(frozen=True)
class Document:
    """A document for reading; ``part`` is TRAIN, TEST or VALIDATION."""

    number: int
    title: str
    text: str
    label: str | None
    columns: dict[str, str]
    part: int


class CorpusArrays(NamedTuple):
    """All counts of a corpus; shapes as in `DocumentBlock`, over the whole corpus.

    ``starts`` int64, ``words`` and ``labels`` int32, ``values`` int32 (float32 for real data), ``part`` int8;
    ``scored`` is None if the corpus has no held-out cells of its own.
    """

    counts: StoredCounts
    part: Array
    labels: Array
    scored: StoredCounts | None


class DocumentMarks(NamedTuple):
    """Part (int8), label (int32) and number of tokens of every document of a corpus.

    Tokens are int64; for real data they are the sum of the values, float64.
    """

    part: Array
    labels: Array
    tokens: Array


@reads
def list_corpora(connection: Connection) -> list[CorpusRow]:
    """Return all corpora, oldest first."""
    return list(corpus_rows.read_corpora(connection))


@reads
def get_corpus(connection: Connection, number: int) -> CorpusRow:
    """Return the corpus with this number.

    Raises
    ------
    NotFound
        If there is none.
    """
    return corpus_rows.read_corpus(connection, number)


def get_run_corpus(db: Database, run: RunRow) -> CorpusRow:
    """Return the corpus of a run with the sizes that it had when the run was created, without later documents.

    Raises
    ------
    NotFound
        If there is none.
    DamagedRow
        If its row is damaged.
    """
    return limit_corpus(get_corpus(db, run.corpus), run.number)


def find_corpus(db: Database, name_or_number: str | int) -> CorpusRow:
    """Return the corpus with this name or, if there is none, with this number.

    Raises
    ------
    NotFound
        If there is none; the message lists those that exist.
    """
    rows = list_corpora(db)
    for row in rows:
        if row.name == name_or_number:
            return row
    for row in rows:
        if str(row.number) == str(name_or_number):
            return row
    names = ", ".join(f"{row.name} ({row.number})" for row in rows)
    raise NotFound(
        f"there is no corpus {name_or_number!r}; "
        + (f"the store has {names}" if names else "the store has none yet: import one first")
    )


def find_exact_corpus(db: Database, name_or_number: str) -> CorpusRow:
    """Return the corpus for an action that cannot be undone; refuse a name that is the number of another corpus.

    Raises
    ------
    Conflict
        If it names two corpora; the message says how to name either.
    NotFound
        If there is none.
    """
    corpus = find_corpus(db, name_or_number)
    for row in list_corpora(db):
        if str(row.number) == name_or_number and row.number != corpus.number:
            raise Conflict(
                f"{name_or_number!r} is the name of corpus {corpus.number} and the number of corpus {row.name!r}; "
                f"say {corpus.number} for the one, {row.name} for the other"
            )
    return corpus


@reads
def read_vocabulary(connection: Connection, number: int) -> tuple[str, ...]:
    """Return the words of a corpus, in the order of their numbers."""
    corpus_rows.read_corpus(connection, number)
    query = select(corpus_words.c.text).where(corpus_words.c.corpus == number).order_by(corpus_words.c.word)
    return tuple(connection.execute(query).scalars())


def load_corpus(db: Database, number: int) -> CorpusArrays:
    """Return all counts of a corpus; no text is read, and only one block is in memory in addition to the result."""
    return load_counts(db, get_corpus(db, number))


@reads
def load_counts(connection: Connection, row: CorpusRow) -> CorpusArrays:
    """Return the counts of the documents of a row, which may be fewer than there are today (`get_run_corpus`)."""
    with _report_damage(row.number):
        result = _allocate_arrays(row)
        for first, blob in _read_blobs(connection, row):
            block = unpack_arrays(blob)
            n = len(block["part"])
            result.part[first : first + n] = block["part"]
            result.labels[first : first + n] = block["labels"]
            _copy_cells(result.counts, block, "", first)
            if result.scored is not None:
                _copy_cells(result.scored, block, SCORED, first)
        if int(result.counts.starts[-1]) != row.cells:
            raise ValueError(f"they have {int(result.counts.starts[-1]):,} cells, and not {row.cells:,}")
    return result


@reads
def count_labels(connection: Connection, number: int) -> Array:
    """Return the number of training documents with each label, (labels,) int64."""
    with _report_damage(number):
        row = corpus_rows.read_corpus(connection, number)
        totals = np.zeros(len(row.label_names), dtype=np.int64)
        for _, blob in _read_blobs(connection, row):
            marks = unpack_arrays(blob, only=("part", "labels"))
            labels = marks["labels"][(marks["part"] == TRAIN) & (marks["labels"] >= 0)]
            totals += np.bincount(labels, minlength=len(totals))
    return totals


@reads
def read_labels(connection: Connection, row: CorpusRow) -> Array:
    """Return the label of every document, -1 = none, (documents,) int32; only one block is in memory at a time."""
    labels = np.empty(row.documents, np.int32)
    with _report_damage(row.number):
        for first, blob in _read_blobs(connection, row):
            block = unpack_arrays(blob, only=("labels",))["labels"]
            labels[first : first + len(block)] = block
    return labels


@reads
def read_marks(connection: Connection, row: CorpusRow) -> DocumentMarks:
    """Return part, label and tokens of all documents of a corpus; only one block is in memory at a time."""
    n, kind = row.documents, np.float64 if row.kind == "real" else np.int64
    marks = DocumentMarks(np.empty(n, np.int8), np.empty(n, np.int32), np.zeros(n, kind))
    with _report_damage(row.number):
        for first, blob in _read_blobs(connection, row):
            block = unpack_arrays(blob, only=("part", "labels", "starts", "values"))
            rows, starts = slice(first, first + len(block["part"])), block["starts"]
            marks.part[rows], marks.labels[rows] = block["part"], block["labels"]
            filled = starts[1:] > starts[:-1]
            if filled.any():
                marks.tokens[rows][filled] = np.add.reduceat(block["values"], starts[:-1][filled], dtype=kind)
    return marks


@reads
def read_counts(connection: Connection, number: int, numbers: Sequence[int], *, scored: bool = False) -> StoredCounts:
    """Return the counts of some documents, in the order requested; only their blocks are read, one at a time.

    Parameters
    ----------
    db : Database
    number : int
        Number of the corpus.
    numbers : sequence of int
        Numbers of the documents.
    scored : bool, optional
        Return the held-out cells, of a corpus that has its own.

    Raises
    ------
    NotFound
        If the corpus or one of the documents does not exist.
    """
    names = {(SCORED if scored else "") + name: name for name in StoredCounts._fields}
    with _report_damage(number):
        row = corpus_rows.read_corpus(connection, number)
        documents, block_of = _find_blocks(connection, row, numbers)
        order = np.argsort(block_of, kind="stable")
        builder = CountsBuilder(_choose_value_type(row))
        for first, places in _split_runs(block_of[order]):
            blob = _read_blob(connection, corpus_blocks, "arrays", number, first)
            block = StoredCounts(**{names[name]: array for name, array in unpack_arrays(blob, only=names).items()})
            builder.add(block.select_rows(documents[order[places]] - first))
    counts = builder.build()
    if np.array_equal(order, np.arange(len(order))):
        return counts
    return counts.select_rows(np.argsort(order, kind="stable"))


@reads
def read_documents(connection: Connection, number: int, numbers: Sequence[int]) -> list[Document]:
    """Return some documents, in the order requested; only their blocks are read.

    Raises
    ------
    NotFound
        If the corpus or one of the documents does not exist.
    """
    with _report_damage(number):
        row = corpus_rows.read_corpus(connection, number)
        documents, block_of = _find_blocks(connection, row, numbers)
        by_number: dict[int, Document] = {}
        for first in np.unique(block_of).tolist():
            inside = np.unique(documents[block_of == first] - first).tolist()
            by_number |= {each.number: each for each in _read_block_documents(connection, row, first, inside)}
    return [by_number[int(n)] for n in documents]


def search_documents(
    db: Database, number: int, text: str, offset: int = 0, limit: int = 20, is_wanted: Callable[[], bool] = lambda: True
) -> tuple[int, list[Document]]:
    """Return one page of the documents whose title or text has all that ``text`` asks for, in the order of the corpus.

    ``text`` is a query in the language of `store.full_text`; an empty one finds every document.  Words are looked up
    in the index; documents that are not indexed yet are read, one block at a time, and match if they contain the words.
    Phrases and regular expressions are sought in the texts of documents.  As soon as ``is_wanted()`` is false, the
    documents found so far are returned.

    Raises
    ------
    QueryError
        If a regular expression is wrong or takes too long.

    Returns
    -------
    total : int
        Number of documents found.
    page : list of Document
        The documents found from number ``offset`` on, at most ``limit``.
    """
    if (query := TextQuery(text)).must_read:
        numbers = _find_by_reading(db, number, query, is_wanted)
        return len(numbers), read_documents(db, number, numbers[offset : offset + limit].tolist())
    terms = text.casefold().split()
    if not terms:
        row = get_corpus(db, number)
        return row.documents, read_documents(db, number, range(row.documents)[offset : offset + limit])
    with db.read() as connection:
        row = corpus_rows.read_corpus(connection, number)
        matches = full_text.query_index(connection, number, text, offset, limit) or full_text.IndexMatches(0, (), 0)
    total, page = matches.total, read_documents(db, number, matches.numbers)
    with db.read() as connection:
        for first, hits in _scan_unindexed(connection, row, terms, matches.known, is_wanted):
            inside = [hit for i, hit in enumerate(hits, total) if offset <= i < offset + limit]
            if inside:
                page += _read_block_documents(connection, row, first, inside)
            total += len(hits)
    return total, page


@retry_reads
def find_documents(db: Database, number: int, text: str, is_wanted: Callable[[], bool] = lambda: True) -> Array:
    """Return the numbers of all documents that `search_documents` finds, ascending, (found,) int64.

    No text of an indexed document is read, unless a phrase or a regular expression has to be sought in it.

    Raises
    ------
    QueryError
        If a regular expression is wrong or takes too long.
    """
    if (query := TextQuery(text)).must_read:
        return _find_by_reading(db, number, query, is_wanted)
    terms = text.casefold().split()
    with db.read() as connection:
        row = corpus_rows.read_corpus(connection, number)
        if not terms:
            return np.arange(row.documents, dtype=np.int64)
        found, known = full_text.list_matches(connection, number, text)
        scanned = _scan_unindexed(connection, row, terms, known, is_wanted)
        return np.concatenate([found, *(np.asarray(hits, dtype=np.int64) + first for first, hits in scanned)])


def _find_by_reading(db: Database, number: int, query: TextQuery, is_wanted: Callable[[], bool]) -> Array:
    """Return the numbers of the documents that match a query, read block by block; as far as ``is_wanted()``."""
    candidates = find_documents(db, number, query.indexed_words, is_wanted)
    found: list[int] = []
    with db.read() as connection, _report_damage(number):
        row = corpus_rows.read_corpus(connection, number)
        documents, block_of = _find_blocks(connection, row, candidates.tolist())
        for first, places in _split_runs(block_of):
            if not is_wanted():
                break
            content = unpack_texts(_read_blob(connection, corpus_texts, "texts", number, first))
            for document in documents[places].tolist():
                title, text = (content[name][document - first] for name in ("titles", "texts"))
                if query.has_match(title, text):
                    found.append(document)
    return np.asarray(found, dtype=np.int64)


def delete_corpus(db: Database, number: int) -> None:
    """Delete a corpus.

    Raises
    ------
    Conflict
        If runs were trained on it; the message names them.
    NotFound
        If there is none.
    """
    sweep_corpora(db)
    run_rows.sweep_runs(db)

    def hide(connection: Connection) -> None:
        row = corpus_rows.read_corpus(connection, number, lock=True)
        users = (
            connection.execute(
                select(runs.c.number).where(runs.c.corpus == number, runs.c.state != "deleted").order_by(runs.c.number)
            )
            .scalars()
            .all()
        )
        if users:
            numbers = ", ".join(map(str, users))
            raise Conflict(f"corpus {row.name!r} is used by run{'s' * (len(users) > 1)} {numbers}; delete them first")
        deleted = {"name": None, "state": "incomplete", "touched": now()}
        connection.execute(update(corpora).where(corpora.c.number == number).values(deleted))

    db.transact(hide)
    discard_corpus(db, number)


@contextmanager
def _report_damage(number: int) -> Iterator[None]:
    """Raise DamagedArrays if the blocks of a corpus contradict its row or each other."""
    try:
        yield
    except (KeyError, ValueError, IndexError, OverflowError, NoResultFound) as error:
        what = f"the documents of corpus {number} do not fit what is known of it ({error})"
        raise DamagedArrays(f"{what}; topiary check says what is damaged") from error


def _choose_value_type(row: CorpusRow) -> type[np.float32] | type[np.int32]:
    """Return the type of the values of a corpus."""
    return np.float32 if row.kind == "real" else np.int32


def _allocate_arrays(row: CorpusRow) -> CorpusArrays:
    """Return uninitialised arrays of the sizes stated by the row."""

    def counts(cells: int) -> StoredCounts:
        starts = np.zeros(row.documents + 1, np.int64)
        return StoredCounts(starts, np.empty(cells, np.int32), np.empty(cells, _choose_value_type(row)))

    part, labels = np.empty(row.documents, np.int8), np.empty(row.documents, np.int32)
    return CorpusArrays(counts(row.cells), part, labels, counts(row.scored_cells) if row.has_scored else None)


def _copy_cells(result: StoredCounts, block: dict[str, Array], prefix: str, first: int) -> None:
    """Append the cells of the block that begins with document ``first`` to those of the blocks before it."""
    starts, words, values = (block[prefix + name] for name in StoredCounts._fields)
    cells = slice(begin := int(result.starts[first]), begin + len(words))
    result.starts[first + 1 : first + len(starts)] = starts[1:].astype(np.int64) + begin
    result.words[cells], result.values[cells] = words, values


def _find_blocks(connection: Connection, row: CorpusRow, numbers: Sequence[int]) -> tuple[Array, Array]:
    """Return the numbers of documents as an array, and the first document of the block of each."""
    outside = next((n for n in numbers if not 0 <= n < row.documents), None)  # before numpy, which has only 64 bits
    if outside is not None:
        raise NotFound(f"corpus {row.name!r} has documents 0 to {row.documents - 1}, and no {outside}")
    documents = np.asarray(numbers, dtype=np.int64)
    firsts = np.array(_read_firsts(connection, row.number), dtype=np.int64)
    return documents, firsts[np.searchsorted(firsts, documents, side="right") - 1]


def _split_runs(firsts: Array) -> Iterator[tuple[int, slice]]:
    """Yield each distinct one of ascending numbers, and the slice in which it occurs."""
    edges = [*np.flatnonzero(np.diff(firsts, prepend=-1)).tolist(), len(firsts)]
    for begin, end in itertools.pairwise(edges):
        yield int(firsts[begin]), slice(begin, end)


def _read_firsts(connection: Connection, number: int) -> list[int]:
    """Return the numbers of the first documents of all blocks, ascending."""
    query = select(corpus_texts.c.first).where(corpus_texts.c.corpus == number).order_by(corpus_texts.c.first)
    return list(connection.execute(query).scalars())


def _read_blobs(connection: Connection, row: CorpusRow) -> Iterator[tuple[int, bytes]]:
    """Yield the blobs of the blocks of a row's documents by one query each, as some drivers fetch whole results."""
    for first in _read_firsts(connection, row.number):
        if first >= row.documents:
            return
        yield first, _read_blob(connection, corpus_blocks, "arrays", row.number, first)


def _read_blob(connection: Connection, table: Any, column: str, number: int, first: int) -> bytes:
    query = select(table.c[column]).where(table.c.corpus == number, table.c.first == first)
    blob: bytes = connection.execute(query).scalar_one()
    return blob


def _scan_unindexed(
    connection: Connection, row: CorpusRow, terms: list[str], n_indexed: int, is_wanted: Callable[[], bool]
) -> Iterator[tuple[int, list[int]]]:
    """Yield the first document of each block, and the places in it of documents not indexed that have all terms."""
    for first in _read_firsts(connection, row.number) if n_indexed < row.documents else ():
        if not is_wanted():
            return
        yield first, [hit for hit in _find_hits(connection, row.number, first, terms) if first + hit >= n_indexed]


def _find_hits(connection: Connection, number: int, first: int, terms: list[str]) -> list[int]:
    """Return the places in a block of the documents that contain all terms."""
    content = unpack_texts(_read_blob(connection, corpus_texts, "texts", number, first))
    contents = (f"{title}\n{text}".casefold() for title, text in zip(content["titles"], content["texts"], strict=True))
    return [place for place, text in enumerate(contents) if all(term in text for term in terms)]


def _read_block_documents(connection: Connection, row: CorpusRow, first: int, places: Iterable[int]) -> list[Document]:
    """Return the documents at some places of a block."""
    content = unpack_texts(_read_blob(connection, corpus_texts, "texts", row.number, first))
    marks = unpack_arrays(_read_blob(connection, corpus_blocks, "arrays", row.number, first), only=("part", "labels"))
    documents = []
    for place in places:
        title, text, columns = (content[name][place] for name in ("titles", "texts", "columns"))
        label = int(marks["labels"][place])
        name = row.label_names[label] if label >= 0 else None
        documents.append(Document(first + place, title, text, name, columns, int(marks["part"][place])))
    return documents
