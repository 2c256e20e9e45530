"""Writers of corpora: their rows are invisible until the last block is stored, and removed after an exception."""

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from topiary.store import blocks, corpus_rows, events, full_text
from topiary.store.arrays import unpack_arrays
from topiary.store.blocks import ContentHash, DocumentBlock, StoredCounts
from topiary.store.corpus_rows import TYPED, ColumnBlock, CorpusColumn, CorpusRow
from topiary.store.database import Database, now, reads, writes
from topiary.store.errors import Conflict, LostClaim, RefusedRow, StoreError
from topiary.store.run_rows import delete_piecewise
from topiary.store.tables import column_blocks, corpora, corpus_blocks, corpus_texts, corpus_words, runs

ABANDONED_SECONDS = 3600.0  # without a change, after which an unfinished corpus is removed
_WORDS_AT_ONCE = 20_000  # in one transaction
_BLOCKS_AT_ONCE = 20  # in one transaction
_BREAKING = {"Cc", "Zl", "Zp"}  # categories of control characters and line ends, which break lists of names


class CorpusWriter:
    """Writer of the blocks of one corpus, in order; made by `write_corpus`.

    Attributes
    ----------
    number : int
        Number of the corpus.
    row : CorpusRow
        The corpus, once it is visible (after the ``with`` block).
    meta : dict
        Facts that are stored with the corpus; may be changed until the end of the ``with`` block.
    """

    row: CorpusRow

    def __init__(self, db: Database, number: int, vocabulary: Sequence[str], header: dict[str, Any]) -> None:
        self._db = db
        self.number = number
        self._header = header
        self.meta: dict[str, Any] = dict(header["meta"])
        self._totals: dict[str, Any] = dict.fromkeys(
            ("documents", "train_documents", "validation_documents", "tokens", "cells", "scored_cells"), 0
        )
        self._totals["words"] = len(vocabulary)
        self._hash = ContentHash(vocabulary, header["kind"])
        self._columns: tuple[CorpusColumn, ...] | None = None
        self._covered: dict[int, int] = {}  # number of values in the blocks of each column

    def add(self, block: DocumentBlock) -> None:
        """Store the next block.

        Raises
        ------
        StoreError
            If it does not follow the blocks before it, or is inconsistent.
        """
        labels, kind, scored = len(self._header["label_names"]), self._header["kind"], bool(self._header["has_scored"])
        blocks.check_block(
            block,
            first=self._totals["documents"],
            words=self._totals["words"],
            labels=labels,
            kind=kind,
            has_scored=scored,
        )
        for piece in blocks.cut_block(block):
            self._store(piece)
        self._count(block)
        self._hash.update_counts(block.counts)

    def add_values(self, block: ColumnBlock) -> None:
        """Store values of a column."""

        def work(connection: Connection) -> None:
            self._touch(connection, {})
            corpus_rows.insert_block(connection, self.number, block)

        self._db.transact(work)
        self._covered[block.place] = self._covered.get(block.place, 0) + len(block.values)

    def set_columns(self, columns: Sequence[CorpusColumn]) -> None:
        """Set the columns of the corpus, after all documents and values were added.

        Raises
        ------
        StoreError
            If a column does not have one value for each document.
        """
        corpus_rows.check_coverage(columns, self._covered, self._totals["documents"])
        self._columns = tuple(columns)

    def finish(self, name: str) -> None:
        """Make the corpus visible under its name."""
        values = self._totals | {"content_hash": self._hash.hexdigest(), "name": name, "state": "ready"}
        values |= {"meta": self.meta | self._note_columns()}

        def work(connection: Connection) -> None:
            self._touch(connection, values)
            corpus_rows.replace_rows(connection, self.number, self._columns or ())

        try:
            self._db.transact(work)
        except RefusedRow as error:
            raise Conflict(describe_taken_name(name)) from error
        with self._db.read() as connection:
            self.row = corpus_rows.read_corpus(connection, self.number)

    def _note_columns(self) -> dict[str, int]:
        """Return the entry of the meta that says that the columns of all documents are typed, if they are."""
        return {} if self._columns is None else {TYPED: self._totals["documents"]}

    def _store(self, piece: DocumentBlock) -> None:
        """Store a piece of a block in one transaction."""
        key = {"corpus": self.number, "first": piece.first, "documents": piece.documents}
        counts, texts = blocks.pack_counts(piece), blocks.pack_texts(piece)

        def work(connection: Connection) -> None:
            self._touch(connection, {})
            connection.execute(insert(corpus_blocks).values(**key, arrays=counts))
            connection.execute(insert(corpus_texts).values(**key, texts=texts))

        self._db.transact(work)

    def store_vocabulary(self, vocabulary: Sequence[str]) -> None:
        """Store the words, some thousands at a time."""
        for start in range(0, len(vocabulary), _WORDS_AT_ONCE):
            words = vocabulary[start : start + _WORDS_AT_ONCE]
            rows = [{"corpus": self.number, "word": start + i, "text": word} for i, word in enumerate(words)]

            def work(connection: Connection, rows: list[dict[str, Any]] = rows) -> None:
                self._touch(connection, {})
                connection.execute(insert(corpus_words), rows)

            self._db.transact(work)

    def _touch(self, connection: Connection, values: dict[str, Any]) -> None:
        """Record that the corpus is still being written; fail if its rows were removed as abandoned."""
        is_staged = (corpora.c.number == self.number) & (corpora.c.state == "incomplete")
        if connection.execute(update(corpora).where(is_staged).values(touched=now(), **values)).rowcount != 1:
            raise LostClaim(
                "the unfinished corpus was removed because nothing was added to it for an hour; import it again"
            )

    def _count(self, block: DocumentBlock) -> None:
        """Add the sizes of a block to the totals."""
        real = self._header["kind"] == "real"
        self._totals["documents"] += block.documents
        part = np.asarray(block.part)
        self._totals["train_documents"] += int(np.count_nonzero(part == blocks.TRAIN))
        self._totals["validation_documents"] += int(np.count_nonzero(part == blocks.VALIDATION))
        _, words, values = block.counts
        self._totals["cells"] += len(words)
        self._totals["tokens"] += len(words) if real else int(np.sum(values, dtype=np.int64))
        self._totals["scored_cells"] += 0 if block.scored is None else len(block.scored.words)


@contextmanager
def write_corpus(
    db: Database,
    name: str,
    vocabulary: Sequence[str],
    *,
    label_names: Sequence[str] = (),
    kind: str = "counts",
    image_shape: tuple[int, int] | None = None,
    split_seed: int = 0,
    source: str = "",
    meta: dict[str, Any] | None = None,
    has_scored: bool = False,
) -> Iterator[CorpusWriter]:
    """Write a corpus block by block; it becomes visible as a whole at the end, and is removed after an exception.

    Parameters
    ----------
    db : Database
        Open for writing.
    name : str
        Its name; must be new.
    vocabulary : sequence of str
        The words, in the order of their numbers.
    label_names : sequence of str
        The classes, in the order of their numbers.
    kind : {"counts", "binary", "real"}
        The kind of the values.
    image_shape : (height, width), optional
        Size of the images, if words are pixels.
    split_seed : int
        Seed of the split of tokens.
    source : str
        Where the corpus came from, for users.
    meta : dict, optional
        Further facts to store, as JSON.
    has_scored : bool
        Whether blocks have their own held-out tokens.

    Raises
    ------
    Conflict
        If the name is taken.
    StoreError
        If the description is wrong.
    """
    check_name(db, name)
    _check_description(name, vocabulary, kind, image_shape)
    sweep_corpora(db)
    height, width = image_shape or (None, None)
    header = {
        "kind": kind,
        "label_names": list(label_names),
        "image_height": height,
        "image_width": width,
        "split_seed": split_seed,
        "source": source,
        "meta": meta or {},
        "has_scored": int(has_scored),
    }
    staged = CorpusWriter(db, _stage_corpus(db, name, header), vocabulary, header)
    try:
        staged.store_vocabulary(vocabulary)
        yield staged
        staged.finish(name)
    except BaseException:
        discard_corpus(db, staged.number)
        raise


def sweep_corpora(db: Database) -> None:
    """Remove the rows left by imports and deletions that were killed."""
    for number in list_abandoned(db):
        discard_corpus(db, number)


@reads
def list_abandoned(connection: Connection) -> Sequence[int]:
    """Return the numbers of the corpora whose import or deletion was killed."""
    is_abandoned = (corpora.c.state == "incomplete") & (corpora.c.touched < now() - ABANDONED_SECONDS)
    return connection.execute(select(corpora.c.number).where(is_abandoned)).scalars().all()


def discard_corpus(db: Database, number: int) -> None:
    """Remove an invisible corpus in short transactions, so that no writer waits long."""
    places = (column_blocks, "first"), (corpus_blocks, "first"), (corpus_texts, "first"), (corpus_words, "word")
    for table, place in places:
        at_once = _WORDS_AT_ONCE if table is corpus_words else _BLOCKS_AT_ONCE
        delete_piecewise(db, table, table.c.corpus == number, table.c[place], at_once)
    statement = delete(corpora).where(corpora.c.number == number, corpora.c.state == "incomplete")

    def delete_row(connection: Connection) -> None:
        full_text.drop_index(connection, number)
        connection.execute(statement)

    db.transact(delete_row)


def check_name(db: Database, name: str) -> None:
    """Refuse a name that no new corpus can have; long imports call this first.

    Raises
    ------
    Conflict
        If it is taken.
    StoreError
        If it is empty, or would break a list of names.
    """
    if sentence := describe_bad_name(name):
        raise StoreError(sentence)
    with db.read() as connection:
        _refuse_taken_name(connection, name)


def describe_bad_name(name: str) -> str:
    """Return a sentence about a name that no corpus may have; an empty text if the name is allowed."""
    if not name.strip():
        return "a corpus needs a name that is not empty"
    if any(unicodedata.category(letter) in _BREAKING for letter in name):
        return f"the name of a corpus is one line without control characters, not {name!r}; choose another"
    return ""


def describe_taken_name(name: str) -> str:
    """Return a sentence about a name that is taken."""
    return f"there is already a corpus called {name!r}; choose another name or delete that one first"


@writes
def _stage_corpus(connection: Connection, name: str, header: dict[str, Any]) -> int:
    """Insert the row of an invisible corpus, if its name is free, and return its number."""
    _refuse_taken_name(connection, name)
    return _insert_staged(connection, header)


def _insert_staged(connection: Connection, header: dict[str, Any]) -> int:
    """Insert the row of an invisible corpus and return its number."""
    values = header | {"name": None, "state": "incomplete", "created": now(), "touched": now()}
    return int(connection.execute(insert(corpora).values(values).returning(corpora.c.number)).scalar_one())


def _refuse_taken_name(connection: Connection, name: str) -> None:
    """Raise Conflict if a corpus has this name."""
    if connection.execute(select(corpora.c.number).where(corpora.c.name == name)).first() is not None:
        raise Conflict(describe_taken_name(name))


def _check_description(name: str, vocabulary: Sequence[str], kind: str, image_shape: tuple[int, int] | None) -> None:
    """Raise StoreError if the kind, vocabulary or image size of a corpus is wrong."""
    if kind not in blocks.KINDS:
        raise StoreError(f"a corpus holds {', '.join(blocks.KINDS)}, not {kind!r}")
    if len(vocabulary) == 0:
        raise StoreError(f"the corpus {name!r} has no words; there is nothing to learn from")
    if image_shape is not None and image_shape[0] * image_shape[1] != len(vocabulary):
        raise StoreError(f"images of {image_shape[0]} x {image_shape[1]} pixels do not have {len(vocabulary)} words")


SIZES = (*("documents", "train_documents", "validation_documents", "tokens", "cells", "scored_cells", "content_hash"),)
ADDITIONS = "additions"  # key of the list of additions in the meta of a corpus


def limit_corpus(row: CorpusRow, run: int) -> CorpusRow:
    """Return the corpus with the sizes that it had when a run was created, without later documents.

    Parameters
    ----------
    row : CorpusRow
        The corpus with all its documents.
    run : int
        Number of the run.
    """
    for addition in row.meta.get(ADDITIONS, ()):
        if run <= addition["last_run"]:
            return replace(row, **{name: addition.get(name, 0) for name in SIZES})
    return row


class CorpusAppender(CorpusWriter):
    """Writer of blocks that are appended to a corpus; made by `append_documents`.

    Attributes
    ----------
    before : CorpusRow
        The corpus without the new documents.
    columns_before : tuple of CorpusColumn
        Its columns.
    """

    def __init__(self, db: Database, staged: int, before: CorpusRow, header: dict[str, Any]) -> None:
        super().__init__(db, staged, _read_words(db, before), header)
        self.before = before
        with db.read() as connection:
            self.columns_before = corpus_rows.read_columns(connection, before.number)
        self._covered = {each.place: before.documents for each in self.columns_before}
        self._totals |= {name: getattr(before, name) for name in SIZES if name != "content_hash"}
        for counts in _read_counts(db, before):
            self._hash.update_counts(counts)

    def finish(self, name: str) -> None:
        """Make the documents visible; ``name`` is the name of the corpus.

        Raises
        ------
        Conflict
            If the corpus was changed or deleted meanwhile.
        """
        sizes = self._totals | {"content_hash": self._hash.hexdigest()}
        self._db.transact(lambda connection: self._publish_documents(connection, name, sizes))
        with self._db.read() as connection:
            self.row = corpus_rows.read_corpus(connection, self.before.number)

    def _publish_documents(self, connection: Connection, name: str, sizes: dict[str, Any]) -> None:
        """Move the new blocks to the corpus, and update its row and the events of its runs."""
        self._touch(connection, {})
        row = corpus_rows.read_corpus(connection, self.before.number, lock=True)
        if (row.documents, row.content_hash) != (self.before.documents, self.before.content_hash):
            raise Conflict(f"corpus {name!r} got other documents meanwhile; append these again")
        newest = connection.execute(select(func.max(runs.c.number))).scalar() or 0
        sizes_before = {each: getattr(row, each) for each in SIZES} | {"last_run": newest}
        meta = row.meta | {ADDITIONS: [*row.meta.get(ADDITIONS, ()), sizes_before | self.meta]}
        if self._columns is not None and corpus_rows.read_columns(connection, row.number) == self.columns_before:
            meta |= self._note_columns()
            corpus_rows.replace_rows(connection, row.number, self._columns)
        else:  # a kind was changed meanwhile; all columns are typed again when they are needed
            connection.execute(delete(column_blocks).where(column_blocks.c.corpus == self.number))
        _notify_runs(connection, row, sizes["documents"])
        for table in (column_blocks, corpus_blocks, corpus_texts):
            connection.execute(update(table).where(table.c.corpus == self.number).values(corpus=row.number))
        connection.execute(delete(corpora).where(corpora.c.number == self.number))
        changed = sizes | {"meta": meta, "touched": now()}
        connection.execute(update(corpora).where(corpora.c.number == row.number).values(changed))


@contextmanager
def append_documents(db: Database, number: int) -> Iterator[CorpusAppender]:
    """Append documents to a corpus; they become visible together at the end, and are removed after an exception.

    The ``meta`` of the appender is stored with the addition.

    Raises
    ------
    NotFound
        If there is no such corpus.
    Conflict
        If another program changed it meanwhile.
    DamagedRow
        If its row is damaged.
    """
    sweep_corpora(db)
    with db.read() as connection:
        before = corpus_rows.read_corpus(connection, number)
    header = {
        "kind": before.kind,
        "label_names": list(before.label_names),
        "has_scored": int(before.has_scored),
        "meta": {},
    }
    staged = db.transact(lambda connection: _insert_staged(connection, header))
    try:
        appending = CorpusAppender(db, staged, before, header)
        yield appending
        appending.finish(before.name)
    except BaseException:
        discard_corpus(db, staged)
        raise


def _notify_runs(connection: Connection, row: CorpusRow, documents: int) -> None:
    """Record an event for every run of the corpus: it stays with the documents that it began with."""
    columns = (runs.c.number, runs.c.attempt, runs.c.minibatch)
    query = select(*columns).where(runs.c.corpus == row.number, runs.c.state != "deleted")
    for number, attempt, minibatch in connection.execute(query).all():
        n_before = limit_corpus(row, number).documents
        text = f"the corpus has {documents:,} documents now; this run stays with its {n_before:,}, and a fork reads all"
        events.insert_event(connection, number, attempt, minibatch, "more documents", text)


def _read_words(db: Database, row: CorpusRow) -> list[str]:
    """Return the words of a corpus, in the order of their numbers."""
    with db.read() as connection:
        query = select(corpus_words.c.text).where(corpus_words.c.corpus == row.number).order_by(corpus_words.c.word)
        return list(connection.execute(query).scalars())


def _read_counts(db: Database, row: CorpusRow) -> Iterator[StoredCounts]:
    """Yield the counts of all blocks of a corpus, one block at a time."""
    is_of_corpus = corpus_blocks.c.corpus == row.number
    with db.read() as connection:
        firsts = connection.execute(
            select(corpus_blocks.c.first).where(is_of_corpus).order_by(corpus_blocks.c.first)
        ).scalars()
        for first in list(firsts):
            query = select(corpus_blocks.c.arrays).where(is_of_corpus, corpus_blocks.c.first == first)
            yield StoredCounts(**unpack_arrays(connection.execute(query).scalar_one(), only=StoredCounts._fields))
