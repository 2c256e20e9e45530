"""Blocks of consecutive documents, the pieces in which a corpus is stored."""

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topiary.store.arrays import Array, pack_arrays
from topiary.store.errors import DamagedArrays, StoreError

DOCUMENTS_PER_BLOCK = 1000
CHARACTERS_PER_BLOCK = 1_000_000
KINDS = ("counts", "binary", "real")
TRAIN, TEST, VALIDATION = 0, 1, 2  # the parts of a corpus
SCORED = "scored_"  # prefix of the names of the arrays of held-out cells


class StoredCounts(NamedTuple):
    """Counts of documents x words as compressed rows, with the fields of the engine's class ``Counts``.

    Attributes
    ----------
    starts : (documents + 1,) integers
        Document ``j`` owns the cells ``starts[j]:starts[j + 1]``; ``starts[0] == 0``.
    words : (cells,) integers
        Word numbers, each at most once in a document.
    values : (cells,) integers or floats
        Counts (or, for real data, weights), all > 0.
    """

    starts: Array
    words: Array
    values: Array

    def rows(self, begin: int, end: int) -> "StoredCounts":
        """Return the documents ``begin:end``."""
        cells = slice(int(self.starts[begin]), int(self.starts[end]))
        return StoredCounts(self.starts[begin : end + 1] - self.starts[begin], self.words[cells], self.values[cells])

    def select_rows(self, places: Array) -> "StoredCounts":
        """Return copies of some documents, in the order requested."""
        starts = np.asarray(self.starts, dtype=np.int64)
        lengths = starts[places + 1] - starts[places]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        cells = np.arange(begins[-1]) + np.repeat(starts[places] - begins[:-1], lengths)
        return StoredCounts(begins, self.words[cells], self.values[cells])


class CountsBuilder:
    """A builder of counts from runs of documents; its arrays grow in place, so that no counts are in memory twice."""

    def __init__(self, value_type: type[np.generic]) -> None:
        self._lengths: list[Array] = []
        self._words, self._values = np.empty(0, np.int32), np.empty(0, value_type)
        self._cells = 0

    def add(self, run: StoredCounts) -> None:
        """Append documents."""
        self._lengths.append(np.diff(run.starts))
        end = self._cells + len(run.words)
        for target, source in ((self._words, run.words), (self._values, run.values)):
            if end > len(target):
                target.resize(end + end // 4, refcheck=False)  # memory that is not written to is not allocated yet
            target[self._cells : end] = source
        self._cells = end

    def build(self) -> StoredCounts:
        """Return the counts of all documents; nothing can be added afterwards."""
        for array in (self._words, self._values):
            array.resize(self._cells, refcheck=False)
        starts = np.zeros(1 + sum(map(len, self._lengths)), np.int64)
        if self._lengths:
            np.cumsum(np.concatenate(self._lengths), out=starts[1:])
        return StoredCounts(starts, self._words, self._values)


@dataclass(frozen=True)
class DocumentBlock:
    """Consecutive documents of a corpus.

    Attributes
    ----------
    first : int
        Number of the first document.
    counts : StoredCounts
    part : (documents,) integers
        TRAIN, TEST or VALIDATION.
    labels : (documents,) integers
        Index in the label names of the corpus, -1 = none.
    titles, texts : list of str
        One for each document.
    columns : list of dict
        Other columns of each document, by name.
    scored : StoredCounts or None
        The held-out cells, if the corpus has its own.
    """

    first: int
    counts: StoredCounts
    part: Array
    labels: Array
    titles: list[str]
    texts: list[str]
    columns: list[dict[str, str]]
    scored: StoredCounts | None = None

    @property
    def documents(self) -> int:
        """Number of documents of the block."""
        return len(self.counts.starts) - 1


def check_block(block: DocumentBlock, *, first: int, words: int, labels: int, kind: str, has_scored: bool) -> None:
    """Refuse a block that cannot be the next one of a corpus with ``words`` words and ``labels`` label names.

    Raises
    ------
    StoreError
        If it cannot; the message says why.
    """
    _require(block.first == first, block, f"the block begins at document {block.first} but {first} is the next one")
    lengths = {len(column) for column in (block.part, block.labels, block.titles, block.texts, block.columns)}
    _require(lengths == {block.documents}, block, "the block's columns differ in length")
    valid_parts = np.isin(block.part, (TRAIN, TEST, VALIDATION)).all()
    _require(valid_parts, block, "a document's part is neither training nor validation nor test")
    valid_labels = (block.labels >= -1) & (block.labels < labels)
    _require(valid_labels.all(), block, f"a label is outside the {labels} label names")
    _check_cells(block, block.counts, words, kind)
    _require((block.scored is not None) == has_scored, block, "scored tokens must come with every block or with none")
    if block.scored is not None:
        _require(len(block.scored.starts) == block.documents + 1, block, "scored tokens are of other documents")
        _check_cells(block, block.scored, words, kind)


def cut_block(block: DocumentBlock) -> Iterator[DocumentBlock]:
    """Yield pieces of a block that are quick to read, with bounded numbers of documents and characters."""
    begin, characters = 0, 0
    for document, text in enumerate(block.texts):
        full = document - begin == DOCUMENTS_PER_BLOCK or characters + len(text) > CHARACTERS_PER_BLOCK
        if document > begin and full:
            yield _slice_block(block, begin, document)
            begin, characters = document, 0
        characters += len(text)
    if begin < block.documents:
        yield _slice_block(block, begin, block.documents)


def pack_counts(block: DocumentBlock) -> bytes:
    """Return the arrays of a block as bytes, each in the narrowest type that holds it."""
    arrays = block.counts._asdict() | {"part": block.part, "labels": block.labels}
    if block.scored is not None:
        arrays |= {SCORED + name: array for name, array in block.scored._asdict().items()}
    return pack_arrays({name: narrow_array(array) for name, array in arrays.items()})


def pack_texts(block: DocumentBlock) -> bytes:
    """Return the titles, texts and columns of a block as compressed JSON."""
    content = {"titles": block.titles, "texts": block.texts, "columns": block.columns}
    return zlib.compress(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass"), 3)


def unpack_texts(blob: bytes) -> dict[str, Any]:
    """Return the titles, texts and columns that `pack_texts` wrote; zlib verifies its checksum.

    Raises
    ------
    DamagedArrays
        If the bytes were altered or cut.
    """
    try:
        content: dict[str, Any] = json.loads(zlib.decompress(blob).decode("utf-8", "surrogatepass"))
    except (zlib.error, ValueError) as error:
        raise DamagedArrays(f"stored texts are damaged ({error}); topiary check says what else is") from error
    return content


def narrow_array(array: Array) -> Array:
    """Return whole numbers in the narrowest type that holds them all, other numbers as float32."""
    array = np.asarray(array)
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        return array.astype(np.float32)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array.astype(np.int64)


def _check_cells(block: DocumentBlock, counts: StoredCounts, n_words: int, kind: str) -> None:
    """Raise StoreError if the counts of a block are inconsistent or not of their kind."""
    starts, words, values = counts
    lengths = np.diff(starts)
    is_consistent = starts[0] == 0 and (lengths >= 0).all() and starts[-1] == len(words) == len(values)
    _require(is_consistent, block, "the starts do not fit the cells")
    if len(words) == 0:
        return
    _require(int(words.min()) >= 0 and int(words.max()) < n_words, block, f"a word is outside the {n_words} words")
    if kind == "real":
        values = values.astype(np.float32)  # the type in which they are stored
    _require((values > 0).all() and np.isfinite(values).all(), block, "a value is not a number above 0")
    if kind != "real":
        _require((values == np.floor(values)).all(), block, "a count is not a whole number")
        _require(int(values.max()) <= np.iinfo(np.int32).max, block, "a count is above 2147483647")
    if kind == "binary":
        _require(int(values.max()) == 1, block, "a binary value is not 1")
    _require(not _has_repeats(lengths, words), block, "a document has the same word twice")


def _has_repeats(lengths: Array, words: Array) -> bool:
    """Return whether a document has the same word twice."""
    documents = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    keys = (documents << 32) | words.astype(np.int64)
    steps = np.diff(keys)
    if (steps > 0).all():
        return False
    return bool((np.diff(np.sort(keys)) == 0).any())


def _require(holds: object, block: DocumentBlock, problem: str) -> None:
    """Raise StoreError about a block unless a condition holds."""
    if not holds:
        raise StoreError(f"documents from {block.first} on cannot be stored: {problem}")


def _slice_block(block: DocumentBlock, begin: int, end: int) -> DocumentBlock:
    """Return the documents ``begin:end`` of a block as a block."""
    rows = slice(begin, end)
    return DocumentBlock(
        block.first + begin,
        block.counts.rows(begin, end),
        np.asarray(block.part)[rows],
        np.asarray(block.labels)[rows],
        block.titles[rows],
        block.texts[rows],
        block.columns[rows],
        None if block.scored is None else block.scored.rows(begin, end),
    )


class ContentHash:
    """SHA-256 of counts and vocabulary; it does not depend on how the documents are divided into blocks."""

    def __init__(self, vocabulary: Sequence[str], kind: str) -> None:
        words = json.dumps([kind, list(vocabulary)]).encode()
        self._value_type = np.dtype("<f4" if kind == "real" else "<i4")
        self._streams = [hashlib.sha256(words), hashlib.sha256(), hashlib.sha256(), hashlib.sha256()]

    def update_counts(self, counts: StoredCounts) -> None:
        """Add the counts of the next documents."""
        _, lengths, words, values = self._streams
        lengths.update(_pack_values(np.diff(np.asarray(counts.starts, np.int64)), np.dtype("<i8")))
        words.update(_pack_values(counts.words, np.dtype("<i4")))
        values.update(_pack_values(counts.values, self._value_type))

    def hexdigest(self) -> str:
        """Return the digest of all counts so far."""
        return hashlib.sha256(b"".join(stream.digest() for stream in self._streams)).hexdigest()


def _pack_values(array: Array, dtype: np.dtype[Any]) -> bytes:
    """Return an array as bytes of a type."""
    return np.asarray(array).astype(dtype).tobytes()
