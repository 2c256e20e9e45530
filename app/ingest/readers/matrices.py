"""Parsing of numbers from text, millions at a time, and checks of the counts that they make up.

Every parser takes a chunk of whole lines.  The fast path converts all numbers in one call and verifies the shape of
the lines by counting separators.  If that fails, the chunk is parsed line by line, which either names the line that is
wrong or accepts what is merely unusual (tabs, double spaces).
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.source import BLOCK, Array, CountSource, Rows, make_untitled
from topiary.engine.contract import Counts

LARGEST = 2**31 - 1
_LARGEST_WHOLE = 2.0**62  # well within the range of int64
MOST_TOKENS = 10_000_000  # in a document; a longer one is a mistake, and every token takes memory in training
_COLON_TO_SPACE = bytes.maketrans(b":", b" ")
_NEWLINE, _SPACE, _TAB, _COLON = b"\n \t:"
_SIZE = re.compile(r"[0-9]{1,18}")
# A line that lacks its head; the count of numbers in a chunk does not reveal it if another line has one too many.
_HEADLESS = re.compile(rb"^[ \t]*[^\s:]+:", re.MULTILINE)
MOST_WORDLESS = 1_000_000  # documents without words; more are a mistake, or an attempt to fill the memory


class PairCells(NamedTuple):
    """Lines ``head index:value index:value ...``: head and length of each line, indices and values of all pairs."""

    heads: Array
    lengths: Array
    indices: Array
    values: Array


def parse_numbers(chunk: bytes, *, whole: bool) -> Array | None:
    """Parse all numbers of a chunk, int64 or float64; None if it contains anything else."""
    try:
        return np.fromstring(chunk, dtype=np.int64 if whole else np.float64, sep=" ")
    except (ValueError, DeprecationWarning):  # numpy < 2.3 warned where newer versions raise
        return None


def parse_size(text: str) -> int | None:
    """Parse a size in the header of a file, from 0 to 2,147,483,647; None for anything else.

    >>> parse_size("3430"), parse_size("\N{SUPERSCRIPT TWO}"), parse_size("1e3"), parse_size("4000000000")
    (3430, None, None, None)
    """
    found = int(text) if _SIZE.fullmatch(text) else None
    return found if found is not None and found <= LARGEST else None


def check_declared_sizes(documents: int, cells: int, path: Path, line: int | None) -> None:
    """Refuse a header that declares far more documents than entries, before memory is allocated for them."""
    if documents > cells + MOST_WORDLESS:
        cause = f"promises {documents:,} documents, but only {cells:,} entries, so that most would have no words"
        raise IngestError(path, f"{cause}; correct the sizes", line)


def parse_table(chunk: bytes, columns: int, path: Path, line: int, *, whole: bool = True) -> Array:
    """Parse a chunk of lines, each with the same number of numbers, into an array (lines, columns).

    Raises
    ------
    IngestError
        Naming the first line that is something else.
    """
    found = parse_numbers(chunk, whole=whole)
    if found is not None and len(found) == columns * chunk.count(b"\n") and _has_blanks(chunk, columns - 1):
        return found.reshape(-1, columns)
    rows = []
    for number, text in enumerate(chunk.decode("latin-1").split("\n"), line):
        fields = text.split()
        if not fields:
            continue
        if len(fields) != columns:
            raise IngestError(path, f"has {len(fields)} numbers where {columns} should be", number)
        rows.append([_parse_number(each, path, number, whole=whole) for each in fields])
    return np.array(rows, np.int64 if whole else np.float64).reshape(-1, columns)


def check_table(rows: Array, limits: tuple[int, int], path: Path, line: int) -> None:
    """Refuse (document, word, value) rows, numbered from 1, that are out of range or negative."""
    for place, (limit, what) in enumerate(zip(limits, ("document", "word"), strict=True)):
        wrong = (rows[:, place] < 1) | (rows[:, place] > limit) | _find_fractions(rows[:, place])
        if wrong.any():
            bad = int(np.argmax(wrong))
            raise IngestError(path, f"{what} {rows[bad, place]:g} is not a number from 1 to {limit:,}", line + bad)
    if rows.shape[1] > 2:
        check_values(rows[:, 2], path, lambda bad: line + bad)


def _find_fractions(values: Array) -> Array:
    """Return a mask of the values that are not whole numbers, infinities included."""
    whole: Array = np.isfinite(values) & (np.floor(values) == values)
    return ~whole


def check_values(values: Array, path: Path, line_of: Callable[[int], int | None]) -> None:
    """Refuse values that are negative, too large or not finite; whole numbers are counts and have a lower limit."""
    whole = values.dtype.kind in "iu"
    most = MOST_TOKENS if whole else LARGEST
    wrong = ~((values >= 0) & (values <= most))
    if wrong.any():
        bad = int(np.argmax(wrong))
        above = f"is more than {most:,}, the most words of a document" if whole else f"is not a number up to {most:,}"
        number = f"{values[bad]:,}" if whole else f"{values[bad]:g}"
        raise IngestError(path, f"the value {number} {'is negative' if values[bad] < 0 else above}", line_of(bad))


def parse_pairs(chunk: bytes, path: Path, line: int, *, whole: bool = True, headless: bool = False) -> PairCells:
    """Parse a chunk of lines ``head index:value index:value ...`` (LDA-C, svmlight).

    Parameters
    ----------
    headless : bool
        Whether lines may lack their head, which is nan then.

    Raises
    ------
    IngestError
        Naming the first line that is something else.
    """
    if b"#" not in chunk:
        flat = parse_numbers(chunk.translate(_COLON_TO_SPACE), whole=whole)
        if flat is not None:
            lengths = _count_colons(chunk)
            if len(flat) == len(lengths) + 2 * lengths.sum() and not _HEADLESS.search(chunk):
                return _unravel_pairs(flat, lengths)
    return _parse_pairs_slowly(chunk, path, line, whole=whole, headless=headless)


def _unravel_pairs(flat: Array, lengths: Array) -> PairCells:
    head_places = np.zeros(len(lengths), np.int64)
    np.cumsum(1 + 2 * lengths[:-1], out=head_places[1:])
    cells = np.ones(len(flat), bool)
    cells[head_places] = False
    body = flat[cells].reshape(-1, 2)
    return PairCells(flat[head_places], lengths, body[:, 0], body[:, 1])


def _parse_pairs_slowly(chunk: bytes, path: Path, line: int, *, whole: bool, headless: bool) -> PairCells:
    heads, lengths, indices, values = [], [], [], []
    for number, text in enumerate(chunk.rstrip().decode("latin-1").split("\n"), line):
        fields = text.partition("#")[0].split()
        if not fields and text.strip():
            continue  # a comment
        if not fields:
            raise IngestError(path, "the line is empty; a document without words is written 0", number)
        lacks_head = headless and ":" in fields[0]
        body = [field for field in fields[not lacks_head :] if not field.startswith("qid:")]
        heads.append(math.nan if lacks_head else _parse_number(fields[0], path, number, whole=whole))
        lengths.append(len(body))
        for field in body:
            index, colon, value = field.partition(":")
            if not colon:
                raise IngestError(path, f"{field!r} is not of the form word:count", number)
            indices.append(_parse_number(index, path, number, whole=True))
            values.append(_parse_number(value, path, number, whole=whole))
    kind = np.int64 if whole else np.float64
    return PairCells(
        np.array(heads, np.float64 if headless else kind),
        np.array(lengths, np.int64),
        np.array(indices, np.int64),
        np.array(values, kind),
    )


def _parse_number(text: str, path: Path, line: int, *, whole: bool) -> float:
    if whole and re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    try:
        value = float(text)
    except ValueError:
        raise IngestError(path, f"{text[:40]!r} is not a number", line) from None
    if whole and not value.is_integer():
        raise IngestError(path, f"{text[:40]!r} is not a whole number", line)
    if whole and abs(value) > _LARGEST_WHOLE:
        raise IngestError(path, f"{text[:40]!r} is larger than any count or number of a word", line)
    return value


def _has_blanks(chunk: bytes, expected: int) -> bool:
    """Return whether every line has exactly the expected number of blanks, so that numbers cannot shift lines."""
    raw = np.frombuffer(chunk, np.uint8)
    blanks = np.cumsum((raw == _SPACE) | (raw == _TAB), dtype=np.int32)[raw == _NEWLINE]
    return bool(np.all(np.diff(blanks, prepend=0) == expected))


def _count_colons(chunk: bytes) -> Array:
    """Count the colons in each line, (lines,) int64."""
    raw = np.frombuffer(chunk, np.uint8)
    total = np.cumsum(raw == _COLON, dtype=np.int64)[raw == _NEWLINE]
    return np.diff(total, prepend=0)


def check_cells(cells: PairCells, limits: tuple[int, int], path: Path, line: int) -> None:
    """Refuse word numbers outside ``limits`` (both included) and invalid values, naming the line."""

    def line_of(cell: int) -> int:
        return line + int(np.searchsorted(np.cumsum(cells.lengths), cell, side="right"))

    low, high = limits
    wrong = (cells.indices < low) | (cells.indices > high) | _find_fractions(cells.indices)
    if wrong.any():
        bad = int(np.argmax(wrong))
        cause = f"word {cells.indices[bad]:g} is not a number from {low} to {high:,}, the range of the vocabulary"
        raise IngestError(path, cause, line_of(bad))
    check_values(cells.values, path, line_of)


EncodedLabels: TypeAlias = tuple[Array, tuple[str, ...]]  # class numbers of documents, names of the classes
COUNT_TOO_LARGE = f"the counts of a word in one document add up to more than {LARGEST:,}; correct the file"


def tidy_counts(counts: Counts, n_words: int, where: str | Path, *, whole: bool = True) -> Counts:
    """Sort the words of every row, add up repeats and leave out zeros; values are real unless ``whole``.

    Raises
    ------
    IngestError
        Naming ``where`` the rows are from, if repeats add up to more than `LARGEST`.
    """
    kind = np.int32 if whole else np.float32
    starts, words, values = counts
    if _is_tidy(counts):
        return Counts(starts, words.astype(np.int32, copy=False), values.astype(kind, copy=False))
    shape = (counts.n_documents, n_words)
    matrix = sparse.csr_matrix((values.copy(), words.copy(), starts.copy()), shape=shape)
    return tidy_matrix(matrix, where, whole=whole)


def tidy_matrix(matrix: sparse.csr_matrix, where: str | Path, *, whole: bool = True) -> Counts:
    """Return the rows of a scipy matrix (documents x words), tidied in place.

    Raises
    ------
    IngestError
        Naming ``where`` the matrix is from, if a count is above `LARGEST`.
    """
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if whole:
        check_counts(matrix.data, where)
    kind = np.int32 if whole else np.float32
    return Counts(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data.astype(kind))


def is_valid_compressed(indptr: Array, indices: Array, data: Array, shape: tuple[int, int]) -> bool:
    """Return whether a compressed matrix is valid; SciPy checks less, and may write out of bounds for an invalid one.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns; columns and rows for a matrix that is compressed by columns.
    """
    rows, columns = shape
    if indptr.ndim != 1 or indices.ndim != 1 or data.shape != indices.shape or len(indptr) != rows + 1:
        return False
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        return False
    if indptr[0] != 0 or indptr[-1] > len(indices) or (indptr[1:] < indptr[:-1]).any():
        return False
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < columns)


def check_counts(values: Array, where: str | Path) -> None:
    """Refuse counts above `LARGEST`, which 32 bits do not hold."""
    if len(values) and float(values.max()) > LARGEST:
        raise IngestError(where, COUNT_TOO_LARGE)


def _is_tidy(counts: Counts) -> bool:
    starts, words, values = counts
    if len(words) == 0:
        return True
    ascending = np.diff(words) > 0
    heads = starts[1:-1]
    ascending[heads[(heads > 0) & (heads < len(words))] - 1] = True  # a row may begin with any word
    return bool(ascending.all() and (values > 0).all())


def is_whole(values: Array) -> bool:
    """Return whether all values are whole numbers, so that they can be counts."""
    return bool(np.issubdtype(values.dtype, np.integer) or np.all(values == np.floor(values)))


def join_counts(parts: Sequence[Counts]) -> Counts:
    """Concatenate counts: the documents of each part follow those of the one before."""
    starts = [np.diff(each.starts) for each in parts]
    return Counts.of(
        np.concatenate(starts),
        np.concatenate([each.words for each in parts]),
        np.concatenate([each.values for each in parts]),
    )


def sort_words(counts: Counts) -> Counts:
    """Return counts whose words ascend in every document."""
    documents = np.repeat(np.arange(counts.n_documents), np.diff(counts.starts))
    order = np.lexsort((counts.words, documents))
    return counts._replace(words=counts.words[order], values=counts.values[order])


def make_count_source(
    path: Path,
    words: Iterable[str],
    counts: Counts,
    titles: Sequence[str],
    encoded: EncodedLabels | None = None,
    *,
    texts: Sequence[str] | None = None,
    columns: Sequence[dict[str, str]] | None = None,
    scored: Counts | None = None,
    **more: Any,
) -> CountSource:
    """Return a source of documents whose counts are in memory.

    Parameters
    ----------
    path : Path
        The file or folder.
    words : iterable of str
        The vocabulary.
    encoded : (array, tuple of str), optional
        The class of each document, and the names of the classes.
    scored : Counts, optional
        The part of the tokens that the file holds out for scoring.
    more
        Other attributes of the source: its part, notes and the like.
    """
    labels, names = encoded or (np.full(counts.n_documents, -1, np.int32), ())

    def blocks() -> Iterator[Rows]:
        for begin in range(0, counts.n_documents, BLOCK):
            here = slice(begin, min(begin + BLOCK, counts.n_documents))
            rows = make_untitled(counts.rows(here.start, here.stop), begin)
            yield Rows(
                rows.counts,
                labels[here],
                list(titles[here]),
                rows.texts if texts is None else list(texts[here]),
                rows.columns if columns is None else list(columns[here]),
                None if scored is None else scored.rows(here.start, here.stop),
            )

    defaults: dict[str, Any] = {"kind": "counts" if np.issubdtype(counts.values.dtype, np.integer) else "real"}
    return CountSource(
        where=str(path),
        vocabulary=tuple(words),
        blocks=blocks,
        n_documents=counts.n_documents,
        label_names=names,
        has_scored=scored is not None,
        **defaults | more,
    )
