"""Blocks of documents: the form in which a corpus goes into the store and lies there."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from store.arrays import Array, pack
from store.errors import StoreError

DOCUMENTS_PER_BLOCK = 1000
CHARACTERS_PER_BLOCK = 1_000_000
KINDS = ("counts", "binary", "real")


@dataclass(frozen=True)
class DocumentBlock:
    """Some documents that follow each other in a corpus.

    Attributes
    ----------
    first : int
        Number of the first document.
    starts : (documents + 1,) integers
        Document ``first + j`` owns the cells ``starts[j]:starts[j + 1]``; ``starts[0] == 0``.
    words : (cells,) integers
        Word numbers, each at most once in a document.
    values : (cells,) integers or floats
        Counts (or, for real data, weights), all > 0.
    part : (documents,) integers
        0 = training, 1 = test.
    labels : (documents,) integers
        Place in the corpus' label names, -1 = none.
    scored_starts, scored_words, scored_values : arrays or None
        The held-out part of the cells, in the same form, where the corpus brings its own.
    titles, texts : list of str
        One for each document.
    columns : list of dict
        Other columns of each document, by name.
    """

    first: int
    starts: Array
    words: Array
    values: Array
    part: Array
    labels: Array
    scored_starts: Array | None
    scored_words: Array | None
    scored_values: Array | None
    titles: list[str]
    texts: list[str]
    columns: list[dict[str, str]]

    @property
    def documents(self) -> int:
        """How many documents the block has."""
        return len(self.starts) - 1


def check(block: DocumentBlock, *, first: int, words: int, labels: int, kind: str, has_scored: bool) -> None:
    """Refuse a block that cannot be the next one of a corpus with ``words`` words and ``labels`` label names.

    Raises
    ------
    StoreError
        With the document and what is wrong with it.
    """
    _demand(block.first == first, block, f"the block begins at document {block.first} but {first} is the next one")
    lengths = {len(column) for column in (block.part, block.labels, block.titles, block.texts, block.columns)}
    _demand(lengths == {block.documents}, block, "the block's columns differ in length")
    _demand(np.isin(block.part, (0, 1)).all(), block, "a document's part is neither 0 (training) nor 1 (test)")
    known = (block.labels >= -1) & (block.labels < labels)
    _demand(known.all(), block, f"a label is outside the {labels} label names")
    _check_cells(block, block.starts, block.words, block.values, words, kind)
    given = [array is not None for array in (block.scored_starts, block.scored_words, block.scored_values)]
    _demand(given == [has_scored] * 3, block, "scored tokens must come with every block or with none")
    if block.scored_starts is not None and block.scored_words is not None and block.scored_values is not None:
        _demand(len(block.scored_starts) == len(block.starts), block, "scored tokens are of other documents")
        _check_cells(block, block.scored_starts, block.scored_words, block.scored_values, words, kind)


def cut(block: DocumentBlock) -> Iterator[DocumentBlock]:
    """Pieces of a size that is quick to read: documents and characters both bounded."""
    begin, characters = 0, 0
    for document, text in enumerate(block.texts):
        full = document - begin == DOCUMENTS_PER_BLOCK or characters + len(text) > CHARACTERS_PER_BLOCK
        if document > begin and full:
            yield _rows(block, begin, document)
            begin, characters = document, 0
        characters += len(text)
    if begin < block.documents:
        yield _rows(block, begin, block.documents)


def pack_counts(block: DocumentBlock) -> bytes:
    """The arrays of a block, each in the narrowest type that holds it."""
    arrays = {
        "starts": block.starts,
        "words": block.words,
        "values": block.values,
        "part": block.part,
        "labels": block.labels,
    }
    if block.scored_starts is not None and block.scored_words is not None and block.scored_values is not None:
        arrays["scored_starts"] = block.scored_starts
        arrays["scored_words"] = block.scored_words
        arrays["scored_values"] = block.scored_values
    return pack({name: narrow(array) for name, array in arrays.items()})


def pack_texts(block: DocumentBlock) -> bytes:
    """Titles, texts and columns as compressed JSON."""
    content = {"titles": block.titles, "texts": block.texts, "columns": block.columns}
    return zlib.compress(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass"), 3)


def unpack_texts(blob: bytes) -> dict[str, Any]:
    """What `pack_texts` wrote."""
    content: dict[str, Any] = json.loads(zlib.decompress(blob).decode("utf-8", "surrogatepass"))
    return content


def narrow(array: Array) -> Array:
    """Whole numbers in the narrowest type that holds them all, other numbers as float32."""
    array = np.asarray(array)
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        return array.astype(np.float32)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array.astype(np.int64)


def _check_cells(block: DocumentBlock, starts: Array, words: Array, values: Array, n_words: int, kind: str) -> None:
    lengths = np.diff(starts)
    whole = starts[0] == 0 and (lengths >= 0).all() and starts[-1] == len(words) == len(values)
    _demand(whole, block, "the starts do not fit the cells")
    if len(words) == 0:
        return
    _demand(int(words.min()) >= 0 and int(words.max()) < n_words, block, f"a word is outside the {n_words} words")
    if kind == "real":
        values = values.astype(np.float32)  # as it will be kept
    _demand((values > 0).all() and np.isfinite(values).all(), block, "a value is not a number above 0")
    if kind != "real":
        _demand((values == np.floor(values)).all(), block, "a count is not a whole number")
        _demand(int(values.max()) <= np.iinfo(np.int32).max, block, "a count is above 2147483647")
    if kind == "binary":
        _demand(int(values.max()) == 1, block, "a binary value is not 1")
    _demand(not _repeats(lengths, words), block, "a document has the same word twice")


def _repeats(lengths: Array, words: Array) -> bool:
    documents = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    keys = (documents << 32) | words.astype(np.int64)
    steps = np.diff(keys)
    if (steps > 0).all():
        return False
    return bool((np.diff(np.sort(keys)) == 0).any())


def _demand(holds: object, block: DocumentBlock, problem: str) -> None:
    if not holds:
        raise StoreError(f"documents from {block.first} on cannot be stored: {problem}")


def _rows(block: DocumentBlock, begin: int, end: int) -> DocumentBlock:
    starts, words, values = _cells(block.starts, block.words, block.values, begin, end)
    scored: tuple[Array | None, Array | None, Array | None] = (None, None, None)
    if block.scored_starts is not None and block.scored_words is not None and block.scored_values is not None:
        scored = _cells(block.scored_starts, block.scored_words, block.scored_values, begin, end)
    rows = slice(begin, end)
    return DocumentBlock(
        block.first + begin,
        starts,
        words,
        values,
        np.asarray(block.part)[rows],
        np.asarray(block.labels)[rows],
        *scored,
        block.titles[rows],
        block.texts[rows],
        block.columns[rows],
    )


def _cells(starts: Array, words: Array, values: Array, begin: int, end: int) -> tuple[Array, Array, Array]:
    cells = slice(int(starts[begin]), int(starts[end]))
    return np.asarray(starts[begin : end + 1]) - starts[begin], words[cells], values[cells]
