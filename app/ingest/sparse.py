"""Compressed rows as they come from files: made tidy, joined, cut into blocks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from app.ingest.errors import IngestError
from app.ingest.parsing import LARGEST
from app.ingest.source import BLOCK, Array, Rows, cut

TOO_MANY = f"the counts of a word in one document add up to more than {LARGEST:,}; correct the file"


def starts_of(lengths: Array) -> Array:
    """(rows + 1,) int64 offsets of rows with these lengths."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def tidy(
    starts: Array, words: Array, values: Array, n_words: int, where: str | Path, *, whole: bool = True
) -> tuple[Array, Array, Array]:
    """Rows with ascending words, each once (repeats are added up), zeros left out.

    Returns
    -------
    starts int64, words int32, values int32 (float32 unless ``whole``)

    Raises
    ------
    IngestError
        Naming ``where`` the rows are from, when repeats add up to more than a count can be.
    """
    kind = np.int32 if whole else np.float32
    if _is_tidy(starts, words, values):
        return starts, words.astype(np.int32, copy=False), values.astype(kind, copy=False)
    shape = (len(starts) - 1, n_words)
    matrix = sparse.csr_matrix((values.copy(), words.copy(), starts.copy()), shape=shape)
    return of_matrix(matrix, where, whole=whole)


def of_matrix(matrix: sparse.csr_matrix, where: str | Path, *, whole: bool = True) -> tuple[Array, Array, Array]:
    """The arrays of a scipy matrix (documents x words), tidied in place.

    Raises
    ------
    IngestError
        Naming ``where`` the matrix is from, when a count is larger than one can be.
    """
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if whole:
        check_counts(matrix.data, where)
    kind = np.int32 if whole else np.float32
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data.astype(kind)


def check_counts(values: Array, where: str | Path) -> None:
    """Refuse counts that 32 bits do not hold: repeats were added up, and large reals are rounded."""
    if len(values) and float(values.max()) > LARGEST:
        raise IngestError(where, TOO_MANY)


def _is_tidy(starts: Array, words: Array, values: Array) -> bool:
    if len(words) == 0:
        return True
    ascending = np.diff(words) > 0
    heads = starts[1:-1]
    ascending[heads[(heads > 0) & (heads < len(words))] - 1] = True  # a row may begin with any word
    return bool(ascending.all() and (values > 0).all())


def is_whole(values: Array) -> bool:
    """Whether all values are whole numbers, so that they can be counts."""
    return bool(np.issubdtype(values.dtype, np.integer) or np.all(values == np.floor(values)))


def blocks(
    arrays: tuple[Array, Array, Array],
    *,
    labels: Array,
    titles: Sequence[str],
    scored: tuple[Array, Array, Array] | None = None,
) -> Iterator[Rows]:
    """Counts that are in memory, in runs of documents."""
    n = len(arrays[0]) - 1
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        yield Rows(
            *cut(*arrays, begin, end),
            labels[begin:end],
            list(titles[begin:end]),
            [""] * (end - begin),
            [{} for _ in range(begin, end)],
            None if scored is None else cut(*scored, begin, end),
        )
