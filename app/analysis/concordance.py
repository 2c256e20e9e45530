"""Keyword in context: every place in the documents where a search finds something, with the text around it."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from app.analysis.document_table import make_title
from store import corpora
from store.corpora import Document
from store.database import Database
from store.text_query import TextQuery

WIDTH = 60  # characters on either side of a match
_AT_ONCE = 200  # documents in memory


class ContextLine(NamedTuple):
    """A match in a document.

    Attributes
    ----------
    document : int
    title, label : str
        Of the document; ``label`` is empty without one.
    place : int
        Number of the character of the text at which the match begins.
    before, match, after : str
        The match and the text around it as one line, at most ``WIDTH`` characters on either side.
    """

    document: int
    title: str
    label: str
    place: int
    before: str
    match: str
    after: str


def list_contexts(
    db: Database, corpus: int, query: TextQuery, numbers: Sequence[int], is_wanted: Callable[[], bool] = lambda: True
) -> Iterator[ContextLine]:
    """Yield the matches of a search in some documents, in the order of the documents and of their texts.

    Raises
    ------
    QueryError
        If a regular expression takes too long.
    """
    for first in range(0, len(numbers), _AT_ONCE):
        if not is_wanted():
            return
        for document in corpora.read_documents(db, corpus, numbers[first : first + _AT_ONCE]):
            yield from find_contexts(document, query)


def find_contexts(document: Document, query: TextQuery) -> Iterator[ContextLine]:
    """Yield the matches of a search in the text of a document."""
    text, title = document.text, make_title(document.title, document.text, document.columns)
    for match in query.find_matches(text):
        begin, end = match.span()
        before = " ".join(text[max(0, begin - 2 * WIDTH) : begin].split())[-WIDTH:]
        after = " ".join(text[end : end + 2 * WIDTH].split())[:WIDTH]
        spaces = (" " if text[begin - 1 : begin].isspace() else "", " " if text[end : end + 1].isspace() else "")
        yield ContextLine(
            document.number,
            title,
            document.label or "",
            begin,
            before + spaces[0],
            " ".join(match.group().split()),
            spaces[1] + after,
        )
