"""The passages of documents that say most about a topic.

A word *speaks for* a topic as far as its occurrences belong to it: ``share_k w_vk / sum_k' share_k' w_vk'``, between 0
and 1.  A passage says as much about a topic as its words together, so it is long enough to be read, and full of words
that few other topics have.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.document_table import make_title
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.word_use import measure_everywhere
from topiary.app.ingest.new_documents import Rules, Span
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node
from topiary.store.corpora import Document

LONGEST = 320  # characters of a passage, give or take the rest of its first and its last sentence
_SLACK = 90  # characters by which a passage may be longer to begin or end with a sentence
SURE = 0.4  # what a word must speak for a topic to be marked
_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n|[。！？]")


class TopicPassage(NamedTuple):
    """A passage of a document.

    Attributes
    ----------
    document : int
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
    everywhere = measure_everywhere(hierarchy, node.layer)
    return np.divide(own, everywhere, out=np.zeros(len(own)), where=everywhere > 0)


def choose_passages(documents: Iterable[Document], rules: Rules, weights: FloatArray, most: int) -> list[TopicPassage]:
    """Return the passages that say most about a topic, one of each document, best first.

    Parameters
    ----------
    documents : iterable of Document
    rules : Rules
        How the corpus finds words.
    weights : (V,) array
        How much every word speaks for the topic (:func:`weigh_words`).
    most : int
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
