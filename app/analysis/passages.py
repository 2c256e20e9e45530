"""Passages of documents: those that say most about a topic, and those around a word or what a search finds.

A word *speaks for* a topic as far as its occurrences belong to it: ``share_k w_vk / sum_k' share_k' w_vk'``, between 0
and 1.  A passage says as much about a topic as its words together, so it is long enough to be read, and full of words
that few other topics have.  A word is used by the topics to which its occurrences belong.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.document_table import make_title
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.ingest.new_documents import Rules, Span
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.corpora import Document
from topiary.store.database import Database
from topiary.store.full_text import TextQuery

LONGEST = 320  # characters of a passage, give or take the rest of its first and its last sentence
_SLACK = 90  # characters by which a passage may be longer to begin or end with a sentence
SURE = 0.4  # what a word must speak for a topic to be marked
_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n|[。！？]")
_LEAST_PART = 0.01  # topics with a smaller part of the word's occurrences are not listed


class TopicPassage(NamedTuple):
    """A passage of a document.

    Attributes
    ----------
    title : str
        Title of the document.
    text : str
        The passage as one line, with "…" where the text goes on.
    marks : tuple of (int, int)
        Places in ``text`` of the words that speak for the topic.
    score : float
        What its words speak for the topic, all together.
    """

    document: int
    title: str
    text: str
    marks: tuple[tuple[int, int], ...]
    score: float


def weigh_words(hierarchy: Hierarchy, node: Node) -> FloatArray:
    """Return how much every word speaks for a topic, (V,), from 0 to 1."""
    layer, column = node.layer - 1, hierarchy.place(node)
    own = hierarchy.projections[layer][:, column] * hierarchy.shares[layer][column]
    everywhere = hierarchy.measure_everywhere(node.layer)
    return np.divide(own, everywhere, out=np.zeros(len(own)), where=everywhere > 0)


def choose_passages(documents: Iterable[Document], rules: Rules, weights: FloatArray, most: int) -> list[TopicPassage]:
    """Return the passages that say most about a topic, one of each document, best first.

    Parameters
    ----------
    rules : Rules
        How the corpus finds words.
    weights : (V,) array
        How much every word speaks for the topic (:func:`weigh_words`).
    """
    found = (find_passage(document, rules, weights) for document in documents)
    passages = [passage for passage in found if passage is not None]
    return sorted(passages, key=lambda passage: -passage.score)[:most]


def find_passage(document: Document, rules: Rules, weights: FloatArray) -> TopicPassage | None:
    """Return the passage of a document that says most about a topic; None if no word of it speaks for the topic."""
    text = rules.wording.prepare_text(document.text)
    spans = rules.count(text).spans
    if not spans:
        return None
    values = weights[[span.word for span in spans]]
    if not values.any():
        return None
    begin, end = _find_window(spans, values)
    begin, end = _complete_sentences(text, begin, end)
    pieces = [(span.begin, span.end) for span, value in zip(spans, values, strict=True) if value >= SURE]
    line, marks = _join_line(text, begin, end, [piece for piece in pieces if begin <= piece[0] and piece[1] <= end])
    score = float(sum(value for span, value in zip(spans, values, strict=True) if begin <= span.begin < end))
    title = make_title(document.title, document.text, document.columns)
    return TopicPassage(document.number, title, line, marks, score)


def _find_window(spans: Sequence[Span], values: FloatArray) -> tuple[int, int]:
    """Return the stretch of at most ``LONGEST`` characters whose words speak most for the topic."""
    begins, ends = (np.array([getattr(span, name) for span in spans]) for name in ("begin", "end"))
    last = np.maximum(np.searchsorted(ends, begins + LONGEST, side="right"), np.arange(1, len(spans) + 1))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    first = int((sums[last] - sums[:-1]).argmax())
    return int(begins[first]), int(ends[last[first] - 1])


def _complete_sentences(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a stretch that begins and ends with a sentence if that is near, else with a word."""
    earlier = [match.end() for match in _BREAK.finditer(text, max(0, begin - _SLACK), begin)]
    if begin <= _SLACK:
        begin = earlier[0] if earlier else 0
    elif earlier:
        begin = earlier[0]
    later = _BREAK.search(text, max(begin, end - 1), min(len(text), end + _SLACK))
    if len(text) - end <= _SLACK:
        end = len(text)
    elif later is not None:
        end = later.end()
    return begin, end


def _join_line(
    text: str, begin: int, end: int, pieces: Sequence[tuple[int, int]]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a stretch of a text as one line, and the places of pieces of the text in it."""
    line, marks, place = "… " if text[:begin].strip() else "", [], begin
    for first, last in pieces:
        line = _add_text(line, text[place:first])
        start = len(line)
        line = _add_text(line, text[first:last])
        marks.append((start, len(line)))
        place = last
    line = _add_text(line, text[place:end]).rstrip()
    return (f"{line} …" if text[end:].strip() else line), tuple(marks)


def _add_text(line: str, text: str) -> str:
    """Return a line with a text added, every run of white space as one blank."""
    joined = re.sub(r"\s+", " ", text)
    return line + (joined.lstrip() if not line or line.endswith(" ") else joined)


WIDTH = 60  # characters on either side of a match
_AT_ONCE = 200  # documents in memory


class ContextLine(NamedTuple):
    """A match in a document.

    Attributes
    ----------
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
    title : str
        Of the document.
    match : str
        The word as it is written there.
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


class WordUse(NamedTuple):
    """A topic that uses a word.

    Attributes
    ----------
    weight : float
        Share of the word in the topic, 0 to 1.
    part : float
        Share of the word's occurrences that belong to the topic, 0 to 1; these sum to 1 in every layer.
    """

    node: Node
    weight: float
    part: float


def find_word(hierarchy: Hierarchy, text: str) -> int | None:
    """Return the number of a word of the vocabulary; None if it has no such word."""
    try:
        return hierarchy.vocabulary.index(text)
    except ValueError:
        return None


def find_word_uses(hierarchy: Hierarchy, word: int, layer: int, most: int) -> list[WordUse]:
    """Return the topics of a layer to which a word's occurrences belong, the largest part first.

    Parameters
    ----------
    word : int
        Number of the word in the vocabulary.
    most : int
        Number of topics returned at most.  Topics with less than 1 % of the occurrences are left out.
    """
    weights: NDArray[Any] = np.asarray(hierarchy.projections[layer - 1][word], dtype=np.float64)
    counts = weights * hierarchy.shares[layer - 1]
    total = float(counts.sum())
    if total <= 0:
        return []
    parts = counts / total
    order = np.argsort(-parts, kind="stable")[:most].tolist()
    return [
        WordUse(hierarchy.node(layer, column), float(weights[column]), float(parts[column]))
        for column in order
        if parts[column] >= _LEAST_PART
    ]


class WordContext(NamedTuple):
    """A piece of a text around a word: what precedes it, the word as written (empty if absent), and what follows."""

    before: str
    word: str
    after: str


def cut_passage(text: str, word: str, most: int = 200) -> WordContext:
    """Return about ``most`` characters of a text around the first place where a word begins; case is ignored.

    A phrase is found with blanks, hyphens or line ends between its words.  If the word is not in the text as written,
    as is frequent for dictionary forms, the passage is the beginning of the text.
    """
    parts = [re.escape(part) for part in re.split(r"[\s_]+", word) if part]
    pattern = r"[\s_-]+".join(parts)
    found = re.search(rf"\b{pattern}\w*", text, re.IGNORECASE) if parts else None
    if found is None:
        return WordContext(_join_lines(text[: most + 1], most), "", "")
    start, end = max(0, found.start() - most // 2), found.end() + most // 2
    before = " ".join(text[start : found.start()].split())
    after = " ".join(text[found.end() : end].split())
    spaces = _has_space(text, found.start() - 1), _has_space(text, found.end())
    return WordContext(
        f"{'…' if start else ''}{before}{' ' if spaces[0] else ''}",
        " ".join(found[0].split()),
        f"{' ' if spaces[1] else ''}{after}{'…' if end < len(text) else ''}",
    )


def _has_space(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isspace()


def _join_lines(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(text) <= most else f"{line}…"
