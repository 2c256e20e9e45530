"""Counts of many documents in a temporary file, so that they need not be in memory before the vocabulary is known."""

import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from app.ingest import sparse
from app.ingest.errors import IngestError
from app.ingest.source import Array
from engine.contract import Counts

IN_MEMORY = 1 << 25  # bytes; counts of a small corpus never reach the disk


class _Block(NamedTuple):
    """Where some documents are in the file."""

    begin: int
    documents: int
    cells: int


class CountFile:
    """Counts of documents, written and read in their order; gone with the last reference to it.

    Parameters
    ----------
    where : str
        What is being imported, for the refusal where the disk is full.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, prefix="topiary-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._blocks: list[_Block] = []
        self._end = 0

    def add(self, counts: Counts) -> None:
        """Write the next documents.

        Raises
        ------
        IngestError
            When there is no room.
        """
        lengths = np.diff(counts.starts)
        raw = b"".join(np.asarray(each).astype(np.int32).tobytes() for each in (lengths, counts.words, counts.values))
        try:
            self._file.seek(self._end)
            self._file.write(raw)
        except OSError as error:
            folder = tempfile.gettempdir()
            cause = f"has counts that do not fit into {folder}, the folder of temporary files ({error.strerror})"
            raise IngestError(self._where, f"{cause}; make room there, or set TMPDIR to another one") from None
        self._blocks.append(_Block(self._end, len(lengths), len(counts.words)))
        self._end += len(raw)

    def __iter__(self) -> Iterator[Counts]:
        for begin, documents, cells in self._blocks:
            self._file.seek(begin)
            whole = np.frombuffer(self._file.read(4 * (documents + 2 * cells)), np.int32)
            lengths, words, values = np.split(whole, [documents, documents + cells])
            yield Counts.of(lengths, words, values)

    def reader(self) -> Callable[[int, int], Counts]:
        """What gives the documents ``begin:end``, asked for one run after the other from the first document on."""
        blocks = iter(self)
        held = Counts.of(*(np.empty(0, np.int32) for _ in range(3)))

        def rows(begin: int, end: int) -> Counts:
            nonlocal held
            parts, n = [held], held.n_documents
            while n < end - begin:
                parts.append(next(blocks))
                n += parts[-1].n_documents
            whole = sparse.joined(parts)
            held = whole.rows(end - begin, n)
            return whole.rows(0, end - begin)

        return rows


def lengths_of(counts: CountFile) -> Array:
    """Cells of each document, (documents,) int64."""
    return np.concatenate([np.empty(0, np.int64), *(np.diff(each.starts) for each in counts)])
