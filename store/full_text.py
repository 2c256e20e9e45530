"""The full-text index of a corpus: SQLite's FTS5 or PostgreSQL's tsvector, with a table of its own for each corpus.

The statements that only one of the databases understands are in this file.  An index holds the words of each document
without their places; `corpora.search_documents` queries it, and reads the documents that are not indexed yet.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, delete, func, insert, inspect, select, text, update

from store.blocks import unpack_texts
from store.database import Database
from store.tables import corpora, corpus_texts, search_indexes

_AT_ONCE = 2000  # documents written in one transaction, so that no other writer waits long
COUNTED = 1000  # documents up to which the query for a page also counts them, without a second query
IndexReport = Callable[[int, int], bool]


class TextPiece(NamedTuple):
    """Some blocks of stored texts.

    Attributes
    ----------
    first, begin : int
        Number of their first document, and of the first one that is not indexed.
    blocks : tuple of bytes
    lite : bool
        Whether the index is one of SQLite.
    """

    first: int
    begin: int
    blocks: tuple[bytes, ...]
    lite: bool


class IndexRows(NamedTuple):
    """Documents for an index: the number of the first, and the words of each in one text."""

    begin: int
    words: list[str]


class PieceMap(Protocol):
    """A function that applies `make_rows` to every piece, as :func:`map` does, perhaps in other processes."""

    def __call__(
        self, function: Callable[[TextPiece], IndexRows], pieces: Iterable[TextPiece], /
    ) -> Iterator[IndexRows]:
        """Yield the rows of every piece, in their order."""


class IndexMatches(NamedTuple):
    """The number of indexed documents with the words, the numbers of some, and the number of indexed documents."""

    total: int
    numbers: Sequence[int]
    known: int


def continue_always(done: int, total: int) -> bool:  # noqa: ARG001 - as every report
    """Return True, so that the work goes on."""
    return True


def list_unindexed(db: Database) -> list[int]:
    """Return the corpora with documents that are not indexed yet, oldest first."""
    known = func.coalesce(search_indexes.c.documents, 0)
    query = (
        select(corpora.c.number)
        .outerjoin(search_indexes, search_indexes.c.corpus == corpora.c.number)
        .where(corpora.c.state == "ready", known < corpora.c.documents)
        .order_by(corpora.c.number)
    )
    with db.read() as connection:
        return list(connection.execute(query).scalars()) if _can_index(connection) else []


def build_index(db: Database, corpus: int, report: IndexReport = continue_always, mapped: PieceMap = map) -> bool:
    """Index the documents of a corpus that are not indexed yet.

    Can be interrupted at any moment and called again, also by two programs at once.

    Parameters
    ----------
    db : Database
        Open for writing.
    corpus : int
        Number of the corpus.
    report : (done, total) -> bool
        Called after every few thousand documents; the work ends when it returns False.
    mapped : PieceMap
        Finds the words of stored texts.

    Returns
    -------
    whole : bool
        Whether all documents are indexed now; never where the database has no full-text index.
    """
    with db.read() as connection:
        if not _can_index(connection):
            return False
    while True:
        with db.read() as connection:
            total, known = _count_documents(connection, corpus), _count_indexed(connection, corpus)
        if total is None:
            return False
        found = False
        for rows in mapped(make_rows, _read_pieces(db, corpus, known, total)):
            found = True
            mine = db.transact(partial(_add_rows, corpus=corpus, rows=rows))
            if not report(min(rows.begin + len(rows.words), total), total):
                return False
            if not mine:
                break
        if not found:
            _finish_index(db, corpus)
            return True


def query_index(connection: Connection, corpus: int, query: str, offset: int, limit: int) -> IndexMatches | None:
    """Find the documents with words that begin with all words of ``query``; None where there is no index."""
    words = split_query(query)
    known = _count_indexed(connection, corpus)
    if not words or not known:
        return None
    table = _name_table(corpus)
    if connection.dialect.name == "sqlite":
        where, key = f"{table} MATCH :words", "rowid"
        pattern = " AND ".join(f'"{word}"*' for word in words)
    else:
        # After five queries PostgreSQL would plan for any words, and read all documents in their order.
        connection.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))
        where, key = "words @@ CAST(:words AS tsquery)", "document"
        pattern = " & ".join(f"'{word}':*" for word in words)
    most = offset + max(limit, COUNTED)
    every = f"FROM {table} WHERE {where}"  # the words are a parameter, and the table's name has a number only
    some = text(f"SELECT {key} {every} ORDER BY {key} LIMIT :most")
    numbers = list(connection.execute(some, {"words": pattern, "most": most}).scalars())
    total = len(numbers)
    if total == most:
        total = connection.execute(text(f"SELECT count(*) {every}"), {"words": pattern}).scalar_one()
    return IndexMatches(total, numbers[offset : offset + limit], known)


def drop_index(connection: Connection, corpus: int) -> None:
    """Remove the index of a corpus."""
    connection.execute(text(f"DROP TABLE IF EXISTS {_name_table(corpus)}"))
    connection.execute(delete(search_indexes).where(search_indexes.c.corpus == corpus))


def _name_table(corpus: int) -> str:
    return f"search_words_{int(corpus)}"


def _can_index(connection: Connection) -> bool:
    """Return whether the database has a full-text index: some builds of SQLite have none."""
    if connection.dialect.name != "sqlite":
        return True
    return connection.execute(text("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")).first() is not None


def _count_documents(connection: Connection, corpus: int) -> int | None:
    query = select(corpora.c.documents).where(corpora.c.number == corpus, corpora.c.state == "ready")
    return connection.execute(query).scalar()


def _count_indexed(connection: Connection, corpus: int) -> int:
    query = select(search_indexes.c.documents).where(search_indexes.c.corpus == corpus)
    return connection.execute(query).scalar() or 0


def _read_pieces(db: Database, corpus: int, known: int, total: int) -> Iterator[TextPiece]:
    """Yield the stored texts from document ``known`` on, some blocks at once."""
    query = select(corpus_texts).where(corpus_texts.c.corpus == corpus)
    while known < total:
        begin = first = known
        blobs: list[bytes] = []
        with db.read() as connection:
            lite = connection.dialect.name == "sqlite"
            while known < min(begin + _AT_ONCE, total):
                here = query.where(corpus_texts.c.first <= known).order_by(corpus_texts.c.first.desc()).limit(1)
                block = connection.execute(here).first()
                if block is None or known >= block.first + block.documents:
                    break
                first = first if blobs else block.first
                blobs.append(block.texts)
                known = block.first + block.documents
        if not blobs:
            return
        yield TextPiece(first, begin, tuple(blobs), lite)


def make_rows(piece: TextPiece) -> IndexRows:
    """Return the words of the documents of a piece, each of them once in a document."""
    contents = map(unpack_texts, piece.blocks)
    every = [each for content in contents for each in zip(content["titles"], content["texts"], strict=True)]
    some = every[piece.begin - piece.first :]
    words = [_join_words(list_words(title or "", body or ""), lite=piece.lite) for title, body in some]
    return IndexRows(piece.begin, words)


def _add_rows(connection: Connection, corpus: int, rows: IndexRows) -> bool:
    """Write some documents into the index; False where the corpus is gone or another program was faster."""
    held = select(corpora.c.number).where(corpora.c.number == corpus, corpora.c.state == "ready").with_for_update()
    if connection.execute(held).first() is None or _count_indexed(connection, corpus) != rows.begin:
        return False
    table, lite = _name_table(corpus), connection.dialect.name == "sqlite"
    if not rows.begin:
        connection.execute(text(_write_create_statement(table, lite=lite)))
        connection.execute(insert(search_indexes).values(corpus=corpus, documents=0))
    column, value = ("rowid", ":words") if lite else ("document", "CAST(:words AS tsvector)")
    numbered = [{"document": number, "words": words} for number, words in enumerate(rows.words, rows.begin)]
    order = f"INTO {table} ({column}, words) VALUES (:document, {value})"
    connection.execute(text(f"INSERT {order}"), numbered)
    after = rows.begin + len(rows.words)
    connection.execute(update(search_indexes).where(search_indexes.c.corpus == corpus).values(documents=after))
    return True


def _write_create_statement(table: str, *, lite: bool) -> str:
    """Return the statement that makes the table; words are split before, so ``ascii`` only splits at blanks."""
    if lite:
        options = "content='', columnsize=0, detail=none, prefix='1 2 3 4', tokenize='ascii'"
        return f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(words, {options})"
    return f"CREATE TABLE IF NOT EXISTS {table} (document bigint PRIMARY KEY, words tsvector NOT NULL)"


def _join_words(words: Sequence[str], *, lite: bool) -> str:
    plain = (word.encode("utf-8", "replace").decode() for word in words)
    return " ".join(plain if lite else (f"'{word}'" for word in plain))


def _finish_index(db: Database, corpus: int) -> None:
    """Make the index of PostgreSQL quick to read."""
    table = _name_table(corpus)

    def work(connection: Connection) -> None:
        if connection.dialect.name != "sqlite" and inspect(connection).has_table(table):
            connection.execute(text(f"CREATE INDEX IF NOT EXISTS {table}_gin ON {table} USING gin (words)"))
            connection.execute(text(f"ANALYZE {table}"))

    db.transact(work)


_ASCII = re.compile(r"[a-z0-9]+")
LONGEST = 100  # letters of a word that are indexed
MOST_BYTES = 900_000  # of the words of one document, which a database bounds at a megabyte
# Scripts that are written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def split_words(text: str) -> Iterator[str]:
    """Yield the words of a text in small letters, in its order, repetitions too.

    A run of a script without spaces gives every pair of neighbouring letters and its last letter alone, so that the
    pairs of any part of the run are among its own.
    """
    unspaced = _compile_patterns()[1]
    for found in _find_runs(text):
        if found.isascii():
            yield found[:LONGEST]
            continue
        for part in unspaced.split(found):
            if part and unspaced.fullmatch(part):
                yield from (part[place : place + 2] for place in range(len(part)))
            elif part:
                yield part[:LONGEST]


def split_query(text: str) -> list[str]:
    """Return the beginnings of words that a document must have to match a text, each once."""
    unspaced = _compile_patterns()[1]
    beginnings: dict[str, None] = {}
    for found in _find_runs(text):
        for part in unspaced.split(found):
            if len(part) > 1 and unspaced.fullmatch(part):
                beginnings |= dict.fromkeys(part[place : place + 2] for place in range(len(part) - 1))
            elif part:
                beginnings[part[:LONGEST]] = None
    return list(beginnings)


def list_words(title: str, text: str) -> list[str]:
    """Return the words of a document, each once, as many as an index takes."""
    every = dict.fromkeys(split_words(f"{title}\n{text}"))
    if sum(map(len, every)) * 4 <= MOST_BYTES:
        return list(every)
    kept, size = [], 0
    for word in every:
        size += len(word.encode("utf-8", "replace")) + 4
        if size > MOST_BYTES:
            break
        kept.append(word)
    return kept


def _find_runs(text: str) -> list[str]:
    """Return the runs of letters, digits and marks, in small letters."""
    plain = text.casefold().replace("_", " ")
    return (_ASCII if plain.isascii() else _compile_patterns()[0]).findall(plain)


@cache
def _compile_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a word, with the marks of its letters, and of a run of a script without spaces."""
    marks = "".join(chr(code) for code in range(0x300, sys.maxunicode) if code < 0x20000 and _is_mark(chr(code)))
    return re.compile(rf"[\w{re.escape(marks)}]+"), re.compile(rf"([{_UNSPACED}]+)")


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter) in ("Mn", "Mc")
