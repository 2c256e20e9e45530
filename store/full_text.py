"""The full-text index of a corpus: SQLite's FTS5 or PostgreSQL's tsvector, with a table of its own for each corpus.

What only one of the databases understands of it is in this file.  The index knows which words a document has, not
where; `corpora.search` asks it, and looks through the documents that it does not know yet.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, delete, func, insert, inspect, select, text, update

from store.blocks import unpack_texts
from store.database import Database
from store.tables import corpora, corpus_texts, search_indexes
from store.words_of import asked_words, different_words

_AT_ONCE = 2000  # documents written in one transaction, so that no other writer waits long
COUNTED = 1000  # documents up to which the query for a page tells how many there are, without a query that counts
Report = Callable[[int, int], bool]


class Piece(NamedTuple):
    """Some blocks of stored texts.

    Attributes
    ----------
    first, begin : int
        Number of their first document, and of the first that the index does not know.
    blocks : tuple of bytes
    lite : bool
        Whether the index is one of SQLite.
    """

    first: int
    begin: int
    blocks: tuple[bytes, ...]
    lite: bool


class Rows(NamedTuple):
    """Documents as an index takes them: the number of the first, and the words of each in one text."""

    begin: int
    words: list[str]


class Map(Protocol):
    """What applies `rows_of` to one piece after the other, as :func:`map` does, perhaps in other processes."""

    def __call__(self, function: Callable[[Piece], Rows], pieces: Iterable[Piece], /) -> Iterator[Rows]:
        """The rows of every piece, in their order."""


class Found(NamedTuple):
    """How many documents of an index have the words, the numbers of some, and how many documents it knows."""

    total: int
    numbers: Sequence[int]
    known: int


def go_on(done: int, total: int) -> bool:  # noqa: ARG001 - as every report
    """The report of whoever waits for the whole index."""
    return True


def unfinished(db: Database) -> list[int]:
    """The corpora with documents that no index knows yet, oldest first."""
    known = func.coalesce(search_indexes.c.documents, 0)
    query = (
        select(corpora.c.number)
        .outerjoin(search_indexes, search_indexes.c.corpus == corpora.c.number)
        .where(corpora.c.state == "ready", known < corpora.c.documents)
        .order_by(corpora.c.number)
    )
    with db.read() as connection:
        return list(connection.execute(query).scalars()) if _can(connection) else []


def build(db: Database, corpus: int, report: Report = go_on, mapped: Map = map) -> bool:
    """Index the documents of a corpus that are not indexed yet.

    Can be interrupted at any moment and called again, also by two programs at once.

    Parameters
    ----------
    db : Database
        Open for writing.
    corpus : int
        Number of the corpus.
    report : (done, total) -> bool
        Called after every few thousand documents; the work ends where it gives False.
    mapped : Map
        Finds the words of stored texts.

    Returns
    -------
    whole : bool
        Whether the index knows all documents now; never where the database has no full-text index.
    """
    with db.read() as connection:
        if not _can(connection):
            return False
    while True:
        with db.read() as connection:
            total, known = _documents(connection, corpus), _known(connection, corpus)
        if total is None:
            return False
        found = False
        for rows in mapped(rows_of, _pieces(db, corpus, known, total)):
            found = True
            mine = db.transact(partial(_add, corpus=corpus, rows=rows))
            if not report(min(rows.begin + len(rows.words), total), total):
                return False
            if not mine:
                break
        if not found:
            _finish(db, corpus)
            return True


def find(connection: Connection, corpus: int, asked: str, offset: int, limit: int) -> Found | None:
    """Look for the documents that have words beginning with all words of ``asked``; None where no index can tell."""
    words = asked_words(asked)
    known = _known(connection, corpus)
    if not words or not known:
        return None
    table = _table(corpus)
    if connection.dialect.name == "sqlite":
        where, key = f"{table} MATCH :words", "rowid"
        query = " AND ".join(f'"{word}"*' for word in words)
    else:
        # After five queries PostgreSQL would plan for any words, and read all documents in their order.
        connection.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))
        where, key = "words @@ CAST(:words AS tsquery)", "document"
        query = " & ".join(f"'{word}':*" for word in words)
    most = offset + max(limit, COUNTED)
    every = f"FROM {table} WHERE {where}"  # the words are a parameter, and the table's name has a number only
    some = text(f"SELECT {key} {every} ORDER BY {key} LIMIT :most")
    numbers = list(connection.execute(some, {"words": query, "most": most}).scalars())
    total = len(numbers)
    if total == most:
        total = connection.execute(text(f"SELECT count(*) {every}"), {"words": query}).scalar_one()
    return Found(total, numbers[offset : offset + limit], known)


def drop(connection: Connection, corpus: int) -> None:
    """Take the index of a corpus away."""
    connection.execute(text(f"DROP TABLE IF EXISTS {_table(corpus)}"))
    connection.execute(delete(search_indexes).where(search_indexes.c.corpus == corpus))


def _table(corpus: int) -> str:
    return f"search_words_{int(corpus)}"


def _can(connection: Connection) -> bool:
    """Whether the database has a full-text index: some builds of SQLite have none."""
    if connection.dialect.name != "sqlite":
        return True
    return connection.execute(text("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")).first() is not None


def _documents(connection: Connection, corpus: int) -> int | None:
    query = select(corpora.c.documents).where(corpora.c.number == corpus, corpora.c.state == "ready")
    return connection.execute(query).scalar()


def _known(connection: Connection, corpus: int) -> int:
    query = select(search_indexes.c.documents).where(search_indexes.c.corpus == corpus)
    return connection.execute(query).scalar() or 0


def _pieces(db: Database, corpus: int, known: int, total: int) -> Iterator[Piece]:
    """The stored texts from document ``known`` on, some blocks at once."""
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
        yield Piece(first, begin, tuple(blobs), lite)


def rows_of(piece: Piece) -> Rows:
    """The words of the documents of a piece, each of them once in a document."""
    contents = map(unpack_texts, piece.blocks)
    every = [each for content in contents for each in zip(content["titles"], content["texts"], strict=True)]
    some = every[piece.begin - piece.first :]
    words = [_joined(different_words(title or "", body or ""), lite=piece.lite) for title, body in some]
    return Rows(piece.begin, words)


def _add(connection: Connection, corpus: int, rows: Rows) -> bool:
    """Write some documents into the index; False where the corpus is gone or somebody was faster."""
    held = select(corpora.c.number).where(corpora.c.number == corpus, corpora.c.state == "ready").with_for_update()
    if connection.execute(held).first() is None or _known(connection, corpus) != rows.begin:
        return False
    table, lite = _table(corpus), connection.dialect.name == "sqlite"
    if not rows.begin:
        connection.execute(text(_make(table, lite=lite)))
        connection.execute(insert(search_indexes).values(corpus=corpus, documents=0))
    column, value = ("rowid", ":words") if lite else ("document", "CAST(:words AS tsvector)")
    numbered = [{"document": number, "words": words} for number, words in enumerate(rows.words, rows.begin)]
    order = f"INTO {table} ({column}, words) VALUES (:document, {value})"
    connection.execute(text(f"INSERT {order}"), numbered)
    after = rows.begin + len(rows.words)
    connection.execute(update(search_indexes).where(search_indexes.c.corpus == corpus).values(documents=after))
    return True


def _make(table: str, *, lite: bool) -> str:
    """The statement that makes the table; the words are told apart before, so ``ascii`` has only blanks to see."""
    if lite:
        options = "content='', columnsize=0, detail=none, prefix='1 2 3 4', tokenize='ascii'"
        return f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(words, {options})"
    return f"CREATE TABLE IF NOT EXISTS {table} (document bigint PRIMARY KEY, words tsvector NOT NULL)"


def _joined(words: Sequence[str], *, lite: bool) -> str:
    plain = (word.encode("utf-8", "replace").decode() for word in words)
    return " ".join(plain if lite else (f"'{word}'" for word in plain))


def _finish(db: Database, corpus: int) -> None:
    """Bring the index into the form that is quick to read."""
    table = _table(corpus)

    def work(connection: Connection) -> None:
        if connection.dialect.name != "sqlite" and inspect(connection).has_table(table):
            connection.execute(text(f"CREATE INDEX IF NOT EXISTS {table}_gin ON {table} USING gin (words)"))
            connection.execute(text(f"ANALYZE {table}"))

    db.transact(work)
