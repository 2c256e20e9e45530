"""Keyword in context: every place in the documents where a search finds something, with the text around it.

The contexts of a word of the vocabulary are found by the rules that counted it, so that every form of it is there, and
can be ranked by how much the words around it say of a topic (:mod:`app.analysis.passages`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from topiary.app.analysis.document_table import make_title
from topiary.app.analysis.passages import SURE
from topiary.app.ingest.new_documents import Rules, Span
from topiary.engine.contract import FloatArray
from topiary.store import corpora
from topiary.store.corpora import Document
from topiary.store.database import Database
from topiary.store.full_text import TextQuery

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


class MarkedText(NamedTuple):
    """A piece of a text as one line, and the places (begin, end) of the words marked in it."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


class WordContextLine(NamedTuple):
    """An occurrence of a word in a document.

    Attributes
    ----------
    document : int
    title : str
        Of the document.
    before : MarkedText
    match : str
        The word as it is written there.
    after : MarkedText
    score : float
        How much the words around it speak for a topic, all together.
    """

    document: int
    title: str
    before: MarkedText
    match: str
    after: MarkedText
    score: float


def choose_word_contexts(
    documents: Iterable[Document], rules: Rules, word: int, weights: FloatArray, most: int, of_one: int = 2
) -> list[WordContextLine]:
    """Return the occurrences of a word whose surroundings say most of a topic, best first, each text once.

    Parameters
    ----------
    documents : iterable of Document
    rules : Rules
        How the corpus finds words.
    word : int
        Number of the word in the vocabulary.
    weights : (V,) array
        How much every word speaks for the topic (:func:`app.analysis.passages.weigh_words`); with zeros, the
        occurrences are in the order of the documents.
    most, of_one : int
        Number of occurrences in all, and of one document.
    """
    chosen: dict[tuple[str, str, str], WordContextLine] = {}
    for document in documents:
        for line in _rank_lines(find_word_contexts(document, rules, word, weights))[:of_one]:
            chosen.setdefault((line.before.text, line.match, line.after.text), line)
    return _rank_lines(chosen.values())[:most]


def _rank_lines(lines: Iterable[WordContextLine]) -> list[WordContextLine]:
    return sorted(lines, key=lambda line: -line.score)


def find_word_contexts(document: Document, rules: Rules, word: int, weights: FloatArray) -> Iterator[WordContextLine]:
    """Yield the occurrences of a word in a document, with the words marked that speak for a topic."""
    text = rules.wording.prepare_text(document.text)
    spans = rules.count(text).spans
    title = make_title(document.title, document.text, document.columns)
    for place, span in enumerate(spans):
        if span.word == word:
            begin, end = max(0, span.begin - WIDTH), min(len(text), span.end + WIDTH)
            earlier = [each for each in spans[:place] if each.begin >= begin]
            later = [each for each in spans[place + 1 :] if each.end <= end]
            score = sum(float(weights[each.word]) for each in (*earlier, *later) if each.word != word)
            yield WordContextLine(
                document.number,
                title,
                _mark_line(text, begin, span.begin, [each for each in earlier if weights[each.word] >= SURE]),
                " ".join(text[span.begin : span.end].split()),
                _mark_line(text, span.end, end, [each for each in later if weights[each.word] >= SURE]),
                score,
            )


def _mark_line(text: str, begin: int, end: int, spans: Sequence[Span]) -> MarkedText:
    """Return a stretch of a text as one line with words marked; every run of white space is one blank."""
    line, marks, place = "", [], begin
    for span in spans:
        line += _join_blanks(text[place : span.begin])
        marks.append((len(line), len(line) + len(_join_blanks(text[span.begin : span.end]))))
        line += _join_blanks(text[span.begin : span.end])
        place = span.end
    return MarkedText(line + _join_blanks(text[place:end]), tuple(marks))


def _join_blanks(text: str) -> str:
    return re.sub(r"\s+", " ", text)
