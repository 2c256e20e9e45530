"""The types of readers and of the sources that they return: documents as texts or as counts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.tables.values import Columns
from topiary.app.ingest.text import cleaning as words_of
from topiary.engine.contract import Counts

Array: TypeAlias = NDArray[Any]
Progress: TypeAlias = Callable[[str, float | None], None]
A = TypeVar("A")
B = TypeVar("B")

LEFT_OUT = -1  # the part of documents that are never stored, such as "unused"
GUESS = "guess"  # key of `understood` for uncertain decisions, which a report names first
BLOCK = 2_000  # documents passed to the store at a time
COLUMNS = ("text_column", "title_column", "label_column", "split_column")  # options of all readers of columns


def ignore_progress(message: str, share: float | None) -> None:
    """Ignore a report of progress."""


class Map(Protocol):
    """A function like :func:`map` that may work in other processes.

    Results and errors come in the order of the items.
    """

    def __call__(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """Apply the function to every item."""


class Unreadable(Exception):  # noqa: N818 - an adjective, for a document
    """An error for a document that cannot be read; the message continues its name, as in "is encrypted"."""


class Contents(NamedTuple):
    """The contents of a file that is one document.

    Attributes
    ----------
    title : str
        Empty if the file has no title.
    text : str
    columns : mapping of str to str
        Other fields in the file, such as author and date.
    left_out : str
        Parts that are not read as text, for a note; empty if none is worth a note.
    """

    title: str
    text: str
    columns: Mapping[str, str] = {}
    left_out: str = ""


class TextDocument(NamedTuple):
    """A document as it is in the file.

    Attributes
    ----------
    text, title : str
        The original text and title, for reading.
    label : str or None
        Its class.
    part : int or None
        TRAIN, TEST, VALIDATION or LEFT_OUT; None if the file names none.
    columns : mapping of str to str
        All other fields of the document.
    titled : bool
        Whether the title is from the file; a generated one is not part of the document's words.
    """

    text: str
    title: str
    label: str | None = None
    part: int | None = None
    columns: Mapping[str, str] = {}
    titled: bool = True


class Rows(NamedTuple):
    """Some consecutive documents, as counts.

    Attributes
    ----------
    counts : Counts
        Counts of the documents; words ascend within each.
    labels : (documents,) int32
        Numbers of the classes; -1 for none.
    titles, texts : list of str
    columns : list of dict
    scored : Counts or None
        Tokens that the file holds out for scoring.
    """

    counts: Counts
    labels: Array
    titles: list[str]
    texts: list[str]
    columns: list[dict[str, str]]
    scored: Counts | None = None

    def with_counts(self, change: Callable[[Counts], Counts]) -> "Rows":
        """Return the rows with their counts changed, including those for scoring."""
        return self._replace(counts=change(self.counts), scored=None if self.scored is None else change(self.scored))


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """A source of documents as texts, to be counted.

    Attributes
    ----------
    documents : callable
        Returns a new iterator over the documents; called twice, so that texts need not stay in memory.
    counted : callable
        Returns the text of a document to count (by default in lower case, without tags and addresses).
    classes : mapping
        Names of the labels, if the file has only numbers ("3" -> "Business").
    stop_words : frozenset of str
        Words left out in addition to those of the options.
    notes : list of str
        Sentences for the user; some are added while documents are read.
    understood : dict of str to str
        How the file was read, for a report: "encoding" -> "utf-8 (its byte-order mark)", "separator" -> "semicolon".
    columns : Columns or None
        The columns of a table, collected while documents are read.
    proposed : dict of str to str
        Import options that may improve the result, each with a value.
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
    """A source of documents as counts over a vocabulary.

    Attributes
    ----------
    blocks : callable
        Returns a new iterator over the documents in blocks of any length.
    n_documents : int
        Number of documents in all blocks.
    kind : str
        ``"counts"``, ``"binary"`` or ``"real"``.
    part : (documents,) int8 or None
        TRAIN, TEST or VALIDATION for each document; None if they are to be drawn by the seed.
    lengths : (documents,) or None
        Number of cells in each document, if known without reading the blocks.
    contents : (documents,) uint64 or None
        Hashes, equal for duplicates (:func:`engine.parts.hash_contents`), if known without reading the blocks.
    has_scored : bool
        Whether the blocks have ``scored``.
    wording : mapping or None
        How words were found in texts that were counted, in the form of :mod:`app.ingest.text.words`.
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
        Name of the format in options, and a sentence about it.
    accepts : tuple of str
        Options that this reader accepts, among those that not every reader does.
    recognise : callable
        Returns quickly whether a file or folder looks like the format; never raises.
    read : callable
        Returns the source of its documents.
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
    """Return rows with only counts, titled by number; ``first`` is the number of the first document, from 1."""
    n = counts.n_documents
    return Rows(
        counts,
        np.full(n, -1, np.int32),
        [f"document {number}" for number in range(first, first + n)],
        [""] * n,
        [{} for _ in range(n)],
    )


def cut_rows(rows: Rows, begin: int, end: int) -> Rows:
    """Return the documents ``begin:end`` of some rows, as views."""
    cut = rows.with_counts(lambda counts: counts.rows(begin, end))
    selected = slice(begin, end)
    return cut._replace(
        labels=rows.labels[selected],
        titles=rows.titles[selected],
        texts=rows.texts[selected],
        columns=rows.columns[selected],
    )
