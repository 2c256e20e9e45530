"""Searching documents: the full-text indexes of corpora, and the language of queries.

An index is SQLite's FTS5 or PostgreSQL's tsvector, one table for each corpus, and holds the words of each document
without their positions.  `corpora.search_documents` queries it, and reads the documents that are not indexed yet.

A query has words, "phrases in quotation marks", and /regular expressions/.  Words match the beginnings of words and
need no order; a phrase matches words that follow each other, with blanks, line ends or hyphens between them; a regular
expression matches anywhere in the title or the text.  Case does not matter to any of them.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
import regex
from sqlalchemy import Connection, delete, func, insert, inspect, select, text, update

from topiary.store.arrays import Array
from topiary.store.blocks import unpack_texts
from topiary.store.database import Database, now, reads, writes
from topiary.store.errors import StoreError
from topiary.store.tables import corpora, corpus_texts, search_indexes

_AT_ONCE = 2000  # documents written in one transaction, so that no other writer waits long
COUNTED = 1000  # up to this many matches are counted by the query for a page; more need a second query
IndexReport = Callable[[int, int], bool]  # (documents done, total) -> whether to go on


class TextPiece(NamedTuple):
    """Consecutive blocks of stored texts.

    Attributes
    ----------
    first, begin : int
        Number of the first document, and of the first document that is not indexed.
    blocks : tuple of bytes
        Blocks as stored (`unpack_texts`).
    lite : bool
        Whether the database is SQLite.
    """

    first: int
    begin: int
    blocks: tuple[bytes, ...]
    lite: bool


class IndexRows(NamedTuple):
    """Rows of an index: the number of the first document, and a text with the words of each document."""

    begin: int
    words: list[str]


class PieceMap(Protocol):
    """A function that applies `make_rows` to every piece, as :func:`map` does, perhaps in other processes."""

    def __call__(
        self, function: Callable[[TextPiece], IndexRows], pieces: Iterable[TextPiece], /
    ) -> Iterator[IndexRows]:
        """Yield the rows of every piece, in their order."""


class IndexMatches(NamedTuple):
    """Matches: how many there are, the document numbers of one page, and how many documents are indexed."""

    total: int
    numbers: Sequence[int]
    known: int


def continue_always(done: int, total: int) -> bool:  # noqa: ARG001 - an IndexReport
    """Return True, so that indexing goes on."""
    return True


@reads
def list_unindexed(connection: Connection, idle: float = 0.0) -> list[int]:
    """Return the numbers of the corpora with documents that are not indexed yet, oldest first.

    Those that got documents less than ``idle`` seconds ago are left to the process that added them.
    """
    n_indexed = func.coalesce(search_indexes.c.documents, 0)
    query = (
        select(corpora.c.number)
        .outerjoin(search_indexes, search_indexes.c.corpus == corpora.c.number)
        .where(corpora.c.state == "ready", n_indexed < corpora.c.documents, corpora.c.touched <= now() - idle)
        .order_by(corpora.c.number)
    )
    return list(connection.execute(query).scalars()) if _can_index(connection) else []


def build_index(db: Database, corpus: int, report: IndexReport = continue_always, map_batches: PieceMap = map) -> bool:
    """Index the documents of a corpus that are not indexed yet.

    It can be interrupted at any moment and called again, also by two programs at once.

    Parameters
    ----------
    db : Database
        Open for writing.
    corpus : int
        Number of the corpus.
    report : (done, total) -> bool
        Called after every few thousand documents; indexing stops if it returns False.
    map_batches : PieceMap
        Applies `make_rows` to pieces, perhaps in other processes.

    Returns
    -------
    whole : bool
        Whether all documents are indexed now; False if the database has no full-text index.
    """
    with db.read() as connection:
        if not _can_index(connection):
            return False
    while True:
        with db.read() as connection:
            total, n_indexed = _count_documents(connection, corpus), _count_indexed(connection, corpus)
        if total is None:
            return False
        has_pieces = False
        for rows in map_batches(make_rows, _read_pieces(db, corpus, n_indexed, total)):
            has_pieces = True
            is_added = db.transact(partial(_add_rows, corpus=corpus, rows=rows))
            if not report(min(rows.begin + len(rows.words), total), total):
                return False
            if not is_added:
                break
        if not has_pieces:
            _finish_index(db, corpus)
            return True


def query_index(connection: Connection, corpus: int, query: str, offset: int, limit: int) -> IndexMatches | None:
    """Return the documents with words that begin with all words of ``query``; None if there is no index."""
    condition = _write_condition(connection, corpus, query)
    if condition is None:
        return None
    most = offset + max(limit, COUNTED)
    page = text(f"SELECT {condition.key} {condition.matching} ORDER BY {condition.key} LIMIT :most")
    numbers = list(connection.execute(page, {"words": condition.words, "most": most}).scalars())
    total = len(numbers)
    if total == most:
        count = text(f"SELECT count(*) {condition.matching}")
        total = connection.execute(count, {"words": condition.words}).scalar_one()
    return IndexMatches(total, numbers[offset : offset + limit], condition.known)


def list_matches(connection: Connection, corpus: int, query: str) -> tuple[Array, int]:
    """Return all documents with words that begin with all words of ``query``, and how many documents are indexed.

    The numbers are ascending, (found,) int64.  They come as one text, which is four times as quick as one row for each
    of 500,000 documents.  Without an index there are none, and 0 documents are indexed.
    """
    condition = _write_condition(connection, corpus, query)
    if condition is None:
        return np.zeros(0, dtype=np.int64), 0
    is_lite = connection.dialect.name == "sqlite"
    joined = "group_concat(number)" if is_lite else "string_agg(CAST(number AS text), ',')"
    inner = f"SELECT {condition.key} AS number {condition.matching}"
    every = text(f"SELECT {joined} FROM ({inner}) AS matches")  # noqa: S608 - as in `_write_condition`
    found = connection.execute(every, {"words": condition.words}).scalar()
    numbers = np.sort(np.fromstring(found, dtype=np.int64, sep=",")) if found else np.zeros(0, dtype=np.int64)
    return numbers, condition.known


class IndexCondition(NamedTuple):
    """The condition that documents match a query.

    Attributes
    ----------
    key : str
        The column with the numbers of documents.
    matching, words : str
        ``FROM ... WHERE ...``, and the value of its parameter.
    known : int
        How many documents were indexed before the condition was written; others may be added meanwhile.
    """

    key: str
    matching: str
    words: str
    known: int


def _write_condition(connection: Connection, corpus: int, query: str) -> IndexCondition | None:
    """Return the condition that documents match a query; None without words or an index."""
    words, n_indexed = split_query(query), _count_indexed(connection, corpus)
    if not words or not n_indexed:
        return None
    table = _name_table(corpus)
    if connection.dialect.name == "sqlite":
        where, key = f"{table} MATCH :words", "rowid"
        pattern = " AND ".join(f'"{word}"*' for word in words)
    else:
        # After five queries PostgreSQL would use a generic plan, which reads all documents in order.
        connection.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))
        where, key = "words @@ CAST(:words AS tsquery)", "document"
        pattern = " & ".join(f"'{word}':*" for word in words)
    # This is safe: words are a parameter, and the table's name is made from a number.
    return IndexCondition(key, f"FROM {table} WHERE {where}", pattern, n_indexed)


def drop_index(connection: Connection, corpus: int) -> None:
    """Remove the index of a corpus."""
    connection.execute(text(f"DROP TABLE IF EXISTS {_name_table(corpus)}"))
    connection.execute(delete(search_indexes).where(search_indexes.c.corpus == corpus))


def _name_table(corpus: int) -> str:
    return f"search_words_{int(corpus)}"


def _can_index(connection: Connection) -> bool:
    """Return whether the database supports full-text indexes; some builds of SQLite do not."""
    if connection.dialect.name != "sqlite":
        return True
    return connection.execute(text("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")).first() is not None


def _count_documents(connection: Connection, corpus: int) -> int | None:
    """Return the number of documents of a corpus; None if it is gone."""
    query = select(corpora.c.documents).where(corpora.c.number == corpus, corpora.c.state == "ready")
    return connection.execute(query).scalar()


def _count_indexed(connection: Connection, corpus: int) -> int:
    """Return the number of indexed documents of a corpus."""
    query = select(search_indexes.c.documents).where(search_indexes.c.corpus == corpus)
    return connection.execute(query).scalar() or 0


def _read_pieces(db: Database, corpus: int, n_indexed: int, total: int) -> Iterator[TextPiece]:
    """Yield the stored texts from document ``n_indexed`` on, some blocks at a time."""
    query = select(corpus_texts).where(corpus_texts.c.corpus == corpus)
    while n_indexed < total:
        begin = first = n_indexed
        blobs: list[bytes] = []
        with db.read() as connection:
            lite = connection.dialect.name == "sqlite"
            while n_indexed < min(begin + _AT_ONCE, total):
                containing = (
                    query.where(corpus_texts.c.first <= n_indexed).order_by(corpus_texts.c.first.desc()).limit(1)
                )
                block = connection.execute(containing).first()
                if block is None or n_indexed >= block.first + block.documents:
                    break
                first = first if blobs else block.first
                blobs.append(block.texts)
                n_indexed = block.first + block.documents
        if not blobs:
            return
        yield TextPiece(first, begin, tuple(blobs), lite)


def make_rows(piece: TextPiece) -> IndexRows:
    """Return the words of the documents of a piece; each word once per document."""
    contents = map(unpack_texts, piece.blocks)
    documents = [each for content in contents for each in zip(content["titles"], content["texts"], strict=True)]
    unindexed = documents[piece.begin - piece.first :]
    words = [_join_words(list_words(title or "", body or ""), lite=piece.lite) for title, body in unindexed]
    return IndexRows(piece.begin, words)


def _add_rows(connection: Connection, corpus: int, rows: IndexRows) -> bool:
    """Add documents to the index; return False if the corpus is gone or another program was faster."""
    locked = select(corpora.c.number).where(corpora.c.number == corpus, corpora.c.state == "ready").with_for_update()
    if connection.execute(locked).first() is None or _count_indexed(connection, corpus) != rows.begin:
        return False
    table, lite = _name_table(corpus), connection.dialect.name == "sqlite"
    if not rows.begin:
        connection.execute(text(_write_create_statement(table, lite=lite)))
        connection.execute(insert(search_indexes).values(corpus=corpus, documents=0))
    column, value = ("rowid", ":words") if lite else ("document", "CAST(:words AS tsvector)")
    numbered = [{"document": number, "words": words} for number, words in enumerate(rows.words, rows.begin)]
    target = f"INTO {table} ({column}, words) VALUES (:document, {value})"
    connection.execute(text(f"INSERT {target}"), numbered)
    after = rows.begin + len(rows.words)
    connection.execute(update(search_indexes).where(search_indexes.c.corpus == corpus).values(documents=after))
    return True


def _write_create_statement(table: str, *, lite: bool) -> str:
    """Return the statement that makes the table; words are split already, so ``ascii`` only splits at spaces."""
    if lite:
        options = "content='', columnsize=0, detail=none, prefix='1 2 3 4', tokenize='ascii'"
        return f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(words, {options})"
    return f"CREATE TABLE IF NOT EXISTS {table} (document bigint PRIMARY KEY, words tsvector NOT NULL)"


def _join_words(words: Sequence[str], *, lite: bool) -> str:
    """Return words as the text that the index of the database takes."""
    return " ".join(words if lite else (f"'{word}'" for word in words)).encode("utf-8", "replace").decode()


@writes
def _finish_index(connection: Connection, corpus: int) -> None:
    """Make the table of PostgreSQL quick to search."""
    table = _name_table(corpus)
    if connection.dialect.name != "sqlite" and inspect(connection).has_table(table):
        connection.execute(text(f"CREATE INDEX IF NOT EXISTS {table}_gin ON {table} USING gin (words)"))
        connection.execute(text(f"ANALYZE {table}"))


_ASCII = re.compile(r"[a-z0-9]+")
LONGEST = 100  # letters of a word; the rest is not indexed
MOST_BYTES = 900_000  # of the words of one document; PostgreSQL allows a megabyte
# Scripts that are written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def split_words(text: str) -> Iterator[str]:
    """Return the words of a text in lower case, in order, with repetitions.

    In scripts without spaces, the words of a run of letters are every pair of neighbouring letters and the last letter,
    so that the words of any part of the run are among them, or begin one of them.
    """
    return itertools.chain.from_iterable(map(_split_run, _find_runs(text)))


def _split_run(run: str) -> Iterable[str]:
    """Return the words of a run of letters."""
    if run.isascii():
        return (run[:LONGEST],)
    unspaced = _compile_patterns()[1]
    words: list[str] = []
    for part in unspaced.split(run):
        if part and unspaced.fullmatch(part):
            words += (part[place : place + 2] for place in range(len(part)))
        elif part:
            words.append(part[:LONGEST])
    return words


def split_query(text: str) -> list[str]:
    """Return the beginnings of words that a document must have to match a query, each once."""
    unspaced = _compile_patterns()[1]
    beginnings: dict[str, None] = {}
    for run in _find_runs(text):
        for part in unspaced.split(run):
            if len(part) > 1 and unspaced.fullmatch(part):
                beginnings |= dict.fromkeys(part[place : place + 2] for place in range(len(part) - 1))
            elif part:
                beginnings[part[:LONGEST]] = None
    return list(beginnings)


def list_words(title: str, text: str) -> list[str]:
    """Return the distinct words of a document, as many as fit into `MOST_BYTES`."""
    words = dict.fromkeys(_find_runs(f"{title}\n{text}"))
    if not all(map(str.isascii, words)) or max(map(len, words), default=0) > LONGEST:
        words = dict.fromkeys(itertools.chain.from_iterable(map(_split_run, words)))
    if sum(map(len, words)) * 4 <= MOST_BYTES:
        return list(words)
    fitting, size = [], 0
    for word in words:
        size += len(word.encode("utf-8", "replace")) + 4
        if size > MOST_BYTES:
            break
        fitting.append(word)
    return fitting


def _find_runs(text: str) -> list[str]:
    """Return the runs of letters, digits and marks of a text, in lower case."""
    plain = text.casefold().replace("_", " ")
    return (_ASCII if plain.isascii() else _compile_patterns()[0]).findall(plain)


@cache
def _compile_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a word with its combining marks, and of a run of letters in a script without spaces."""
    marks = "".join(chr(code) for code in range(0x300, 0x20000) if _is_mark(chr(code)))
    late, mark = r"(?=[^\x00-\u02ff])", f"[{re.escape(marks)}]"  # one comparison tells most letters from marks
    tail = rf"{late}{mark}[\w{mark[1:]}*"
    return re.compile(rf"\w+(?:{tail})?|{tail}"), re.compile(rf"([{UNSPACED}]+)")


def _is_mark(letter: str) -> bool:
    """Return whether a character is a combining mark."""
    return unicodedata.category(letter) in ("Mn", "Mc")


LONGEST_SEARCH = 1.0  # seconds for which a regular expression may be sought in one document
_QUOTED = regex.compile(r'["“”„«»]([^"“”„«»]+)["“”„«»]')
_WORD = regex.compile(r"[^\W_]+")
_GAP = regex.compile(r"[\s_\p{Pd}]+")
_UNSPACED_LETTER = regex.compile(rf"[{UNSPACED}]")
_EXPRESSION = regex.compile(r"\s*/(.+)/\s*", regex.DOTALL)


class QueryError(StoreError):
    """An error in a search: a regular expression that is wrong, or that takes too long."""


class TextQuery:
    r"""A search for documents, as users write it.

    >>> query = TextQuery('"prime minister" brown')
    >>> query.words, query.phrases, query.expression
    ('brown', ('prime minister',), None)
    >>> [match.group() for match in query.find_matches("The Prime-Minister, Gordon Brown")]
    ['Prime-Minister', 'Brown']
    >>> TextQuery(r"/colou?rs?\b/").has_match("Colours of autumn")
    True

    Parameters
    ----------
    text : str
        What the user wrote.

    Attributes
    ----------
    words : str
        The words outside quotation marks, separated by blanks.
    phrases : tuple of str
        What stands in quotation marks.
    expression : str or None
        The regular expression between slashes, which is then all there is.

    Raises
    ------
    QueryError
        If the regular expression is wrong.
    """

    def __init__(self, text: str) -> None:
        whole = _EXPRESSION.fullmatch(text)
        self.expression: str | None = whole[1] if whole else None
        self.phrases: tuple[str, ...] = ()
        self.words = ""
        if whole is None:
            self.phrases = tuple(part for part in _QUOTED.findall(text) if _WORD.search(part))
            self.words = " ".join(_QUOTED.sub(" ", text).split())
        self._patterns = tuple(self._compile_parts())

    @property
    def indexed_words(self) -> str:
        """The words that the index can look up: a document without one of them does not match."""
        return " ".join((self.words, *(word for phrase in self.phrases for word in split_query(phrase)))).strip()

    @property
    def is_empty(self) -> bool:
        """Whether every document matches."""
        return not self._patterns

    @property
    def must_read(self) -> bool:
        """Whether the index does not suffice, so that texts have to be read."""
        return bool(self.phrases) or self.expression is not None

    def has_match(self, *texts: str) -> bool:
        """Return whether each part of what is sought is in one of several texts, such as a title and a text.

        Raises
        ------
        QueryError
            If the regular expression takes longer than ``LONGEST_SEARCH``.
        """
        with self._report_time():
            return all(
                any(pattern.search(text, timeout=LONGEST_SEARCH) for text in texts) for pattern in self._patterns
            )

    def find_matches(self, text: str) -> "Iterator[regex.Match[str]]":
        """Yield the places in a text of any part of what is sought, without overlaps, in order.

        Raises
        ------
        QueryError
            If the regular expression takes longer than ``LONGEST_SEARCH``.
        """
        if self.is_empty:
            return
        with self._report_time():
            for match in self._any_part.finditer(text, timeout=LONGEST_SEARCH):
                if match.end() > match.start():
                    yield match

    @cached_property
    def _any_part(self) -> "regex.Pattern[str]":
        """The pattern of any of the parts."""
        parts = (f"(?:{pattern.pattern})" for pattern in self._patterns)
        return regex.compile("|".join(parts), regex.IGNORECASE)

    def _compile_parts(self) -> "Iterator[regex.Pattern[str]]":
        if self.expression is not None:
            try:
                yield regex.compile(self.expression, regex.IGNORECASE)
            except regex.error as error:
                raise QueryError(f"the regular expression /{self.expression}/ is wrong: {error}") from error
            return
        for phrase in self.phrases:
            yield regex.compile(_write_phrase(phrase), regex.IGNORECASE)
        for word in split_query(self.words):
            yield regex.compile(rf"{_bound(word[0])}{regex.escape(word)}\w*", regex.IGNORECASE)

    @contextmanager
    def _report_time(self) -> Iterator[None]:
        """Raise QueryError if the regular expression takes too long."""
        try:
            yield
        except TimeoutError as error:
            raise QueryError(
                f"the regular expression /{self.expression}/ takes longer than {LONGEST_SEARCH:g} s in one document; "
                "write it without a repetition inside a repetition"
            ) from error


def _write_phrase(phrase: str) -> str:
    """Return the pattern of a phrase: its words, with blanks or dashes where it has either, and its other signs."""
    words = list(_WORD.finditer(phrase))
    pattern = _bound(words[0][0][0])
    for before, word in itertools.pairwise(words):
        signs = phrase[before.end() : word.start()]
        gap = r"[\s_\p{Pd}]+" if _GAP.fullmatch(signs) else rf"\s*{regex.escape(signs.strip())}\s*"
        pattern += regex.escape(before[0]) + gap
    return pattern + regex.escape(words[-1][0]) + _bound(words[-1][0][-1])


def _bound(letter: str) -> str:
    """Return the pattern of the edge of a word at this letter; scripts without spaces have none."""
    return "" if _UNSPACED_LETTER.match(letter) else r"\b"
