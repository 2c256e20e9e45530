"""Compressed rows as they come from files: made tidy, joined, cut into blocks."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy import sparse

from app.ingest.errors import IngestError
from app.ingest.files import Part, split_and_titles
from app.ingest.parsing import LARGEST
from app.ingest.source import BLOCK, Array, CountSource, Rows, untitled
from engine.contract import Counts

Encoded: TypeAlias = tuple[Array, tuple[str, ...]]  # class numbers of documents, names of the classes
TOO_MANY = f"the counts of a word in one document add up to more than {LARGEST:,}; correct the file"


def tidy(counts: Counts, n_words: int, where: str | Path, *, whole: bool = True) -> Counts:
    """Rows with ascending words, each once (repeats are added up), zeros left out; real values unless ``whole``.

    Raises
    ------
    IngestError
        Naming ``where`` the rows are from, when repeats add up to more than a count can be.
    """
    kind = np.int32 if whole else np.float32
    starts, words, values = counts
    if _is_tidy(counts):
        return Counts(starts, words.astype(np.int32, copy=False), values.astype(kind, copy=False))
    shape = (counts.n_documents, n_words)
    matrix = sparse.csr_matrix((values.copy(), words.copy(), starts.copy()), shape=shape)
    return of_matrix(matrix, where, whole=whole)


def of_matrix(matrix: sparse.csr_matrix, where: str | Path, *, whole: bool = True) -> Counts:
    """The rows of a scipy matrix (documents x words), tidied in place.

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
    return Counts(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data.astype(kind))


def check_counts(values: Array, where: str | Path) -> None:
    """Refuse counts that 32 bits do not hold: repeats were added up, and large reals are rounded."""
    if len(values) and float(values.max()) > LARGEST:
        raise IngestError(where, TOO_MANY)


def _is_tidy(counts: Counts) -> bool:
    starts, words, values = counts
    if len(words) == 0:
        return True
    ascending = np.diff(words) > 0
    heads = starts[1:-1]
    ascending[heads[(heads > 0) & (heads < len(words))] - 1] = True  # a row may begin with any word
    return bool(ascending.all() and (values > 0).all())


def is_whole(values: Array) -> bool:
    """Whether all values are whole numbers, so that they can be counts."""
    return bool(np.issubdtype(values.dtype, np.integer) or np.all(values == np.floor(values)))


def blocks(counts: Counts, *, labels: Array, titles: Sequence[str], scored: Counts | None = None) -> Iterator[Rows]:
    """Counts that are in memory, in runs of documents."""
    for begin in range(0, counts.n_documents, BLOCK):
        end = min(begin + BLOCK, counts.n_documents)
        yield untitled(counts.rows(begin, end), begin)._replace(
            labels=labels[begin:end],
            titles=list(titles[begin:end]),
            scored=None if scored is None else scored.rows(begin, end),
        )


def joined(parts: Sequence[Counts]) -> Counts:
    """Counts one below the other."""
    starts = [np.diff(each.starts) for each in parts]
    return Counts.of(
        np.concatenate(starts),
        np.concatenate([each.words for each in parts]),
        np.concatenate([each.values for each in parts]),
    )


def numbered(runs: Iterable[Rows]) -> Iterator[tuple[Rows, int]]:
    """Runs of documents, each with the number of its first, from 0."""
    begin = 0
    for rows in runs:
        yield rows, begin
        begin += len(rows.labels)


def source_of(
    path: Path,
    parts: list[Part],
    sizes: list[int],
    words: tuple[str, ...],
    counts: Counts,
    encoded: tuple[Array, tuple[str, ...]],
) -> CountSource:
    """The documents of a file, or of a train and test pair, of so many each, whose counts are in memory."""
    part, titles = split_and_titles(parts, sizes)
    labels, label_names = encoded
    return CountSource(
        where=str(path),
        vocabulary=words,
        blocks=lambda: blocks(counts, labels=labels, titles=titles),
        n_documents=sum(sizes),
        label_names=label_names,
        kind="counts" if np.issubdtype(counts.values.dtype, np.integer) else "real",
        part=part,
    )
