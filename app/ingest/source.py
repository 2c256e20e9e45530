"""The types of readers and of what they return: documents as texts, or as counts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.ingest.options import ImportOptions
from app.ingest.tables.values import Columns
from app.ingest.text import cleaning as words_of
from engine.contract import Counts

Array: TypeAlias = NDArray[Any]
Progress: TypeAlias = Callable[[str, float | None], None]
A = TypeVar("A")
B = TypeVar("B")

LEFT_OUT = -1  # a part of the file that is neither, such as "unused"; never stored
GUESS = "guess"  # in what is understood: what was decided without certainty, which a report says first
BLOCK = 2_000  # documents handed to the store at a time
COLUMNS = ("text_column", "title_column", "label_column", "split_column")  # options of all readers of columns


class Map(Protocol):
    """A function like :func:`map`, which may work in other processes.

    Results, and what is raised, come in the order of the things.
    """

    def __call__(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function to every item."""


class Unreadable(Exception):  # noqa: N818 - said of a document
    """A document cannot be read; the message goes on after its name: "is encrypted"."""


class Contents(NamedTuple):
    """The contents of a file that is one document.

    Attributes
    ----------
    title : str
        Empty where it has none of its own.
    text : str
    columns : mapping of str to str
        What else it says of itself: author, date and the like.
    left_out : str
        What of it is not read as text, for a note; empty where nothing is worth one.
    """

    title: str
    text: str
    columns: Mapping[str, str] = {}
    left_out: str = ""


class TextDocument(NamedTuple):
    """A document as the file has it.

    Attributes
    ----------
    text, title : str
        For reading.
    label : str or None
        Its class.
    part : int or None
        TRAIN, TEST, VALIDATION, LEFT_OUT, or None where the file does not say.
    columns : mapping of str to str
        Everything else the file knows of it.
    titled : bool
        Whether the title is its own; what stands in its place is no words of the document.
    """

    text: str
    title: str
    label: str | None = None
    part: int | None = None
    columns: Mapping[str, str] = {}
    titled: bool = True


class Rows(NamedTuple):
    """Some documents in a row, as counts.

    Attributes
    ----------
    counts : Counts
        Words ascend within a document.
    labels : (documents,) int32
        -1 where there is none.
    titles, texts : list of str
    columns : list of dict
    scored : Counts or None
        The part of the tokens that the file itself holds out for scoring.
    """

    counts: Counts
    labels: Array
    titles: list[str]
    texts: list[str]
    columns: list[dict[str, str]]
    scored: Counts | None = None

    def with_counts(self, change: Callable[[Counts], Counts]) -> "Rows":
        """Return the rows with their counts changed, those for scoring as well."""
        return self._replace(counts=change(self.counts), scored=None if self.scored is None else change(self.scored))


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """Documents as text, still to be counted.

    Attributes
    ----------
    documents : callable
        A fresh iterator over the documents; called twice, so that texts need not be kept in memory.
    counted : callable
        What of a document is counted (by default its text, tags and addresses removed, in lower case).
    classes : mapping
        Names of the labels, where the file has only numbers ("3" -> "Business").
    stop_words : frozenset of str
        Words left out in addition to those of the options.
    notes : list of str
        Sentences for the user, growing while documents are read.
    understood : dict of str to str
        How the file was read, for a report: "encoding" -> "utf-8 (its byte-order mark)", "separator" -> "semicolon".
    columns : Columns or None
        The columns of a table, collected while documents are read.
    proposed : dict of str to str
        Options of an import that could make more of the documents, each with a value.
    """

    where: str
    documents: Callable[[], Iterator[TextDocument]]
    counted: Callable[[TextDocument], str] = lambda document: words_of.clean_text(document.text)
    classes: Mapping[str, str] = field(default_factory=dict)
    stop_words: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    understood: dict[str, str] = field(default_factory=dict)
    columns: Columns | None = None
    proposed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CountSource:
    """Documents as counts over a vocabulary.

    Attributes
    ----------
    blocks : callable
        A fresh iterator over the documents in runs of any length.
    n_documents : int
        How many documents ``blocks`` gives altogether.
    kind : str
        ``"counts"``, ``"binary"`` or ``"real"``.
    part : (documents,) int8 or None
        TRAIN, TEST or VALIDATION for each document; None: to be drawn by seed.
    lengths : (documents,) or None
        How many cells each document has, where that is known without going through the blocks.
    contents : (documents,) uint64 or None
        The same of what tells duplicates from other documents (:func:`engine.parts.number_contents`).
    has_scored : bool
        Whether the blocks bring ``scored``.
    wording : mapping or None
        How the words were found where texts were counted, as :mod:`app.ingest.text.wording` keeps it.
    understood : dict of str to str
        How the file was read, for a report, as in `TextSource`.
    """

    where: str
    vocabulary: tuple[str, ...]
    blocks: Callable[[], Iterator[Rows]]
    n_documents: int
    label_names: tuple[str, ...] = ()
    kind: str = "counts"
    image_shape: tuple[int, int] | None = None
    part: Array | None = None
    lengths: Array | None = None
    contents: Array | None = None
    has_scored: bool = False
    wording: Mapping[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    understood: dict[str, str] = field(default_factory=dict)


Source: TypeAlias = TextSource | CountSource


@dataclass(frozen=True)
class Reader:
    """The reader of a format.

    Attributes
    ----------
    name, description : str
        As it is chosen, and a sentence for people.
    accepts : tuple of str
        The options that not every reader accepts, but it does.
    recognise : callable
        Return whether a file or folder looks like the format: a quick look, never an exception.
    read : callable
        Return the documents in it.
    joins : bool
        Whether it joins texts with tables that describe them.
    """

    name: str
    description: str
    accepts: tuple[str, ...]
    recognise: Callable[[Path], bool]
    read: Callable[[Path, ImportOptions], Source]
    joins: bool = False


def make_untitled(counts: Counts, first: int) -> Rows:
    """Make rows of a file that has only counts; ``first`` is the number of the first document, from 1."""
    n = counts.n_documents
    return Rows(
        counts,
        np.full(n, -1, np.int32),
        [f"document {number}" for number in range(first, first + n)],
        [""] * n,
        [{} for _ in range(n)],
    )


def cut_rows(rows: Rows, begin: int, end: int) -> Rows:
    """Return the documents ``begin:end`` of some rows (views, not copies)."""
    cut = rows.with_counts(lambda counts: counts.rows(begin, end))
    here = slice(begin, end)
    return cut._replace(
        labels=rows.labels[here], titles=rows.titles[here], texts=rows.texts[here], columns=rows.columns[here]
    )
