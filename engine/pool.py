"""Work in pieces: over threads, and with sums whose last bit does not depend on which machine made which piece."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray


def cut_evenly(n_items: int, n_parts: int) -> list[tuple[int, int]]:
    """Cut ``range(n_items)`` into at most ``n_parts`` contiguous, non-empty pieces of nearly equal size."""
    n_parts = max(1, min(n_parts, n_items))
    edges = [n_items * part // n_parts for part in range(n_parts + 1)]
    return list(itertools.pairwise(edges))


def cut_rows(starts: NDArray[Any], n_parts: int) -> list[tuple[int, int]]:
    """Cut documents into contiguous runs with about equal numbers of cells, from where each one's cells begin."""
    shares = np.arange(1, n_parts) * int(starts[-1]) // n_parts
    edges = [0, *np.searchsorted(starts, shares).tolist(), len(starts) - 1]
    return [(a, b) for a, b in itertools.pairwise(edges) if a < b]


_Arrays = TypeVar("_Arrays", bound=tuple[NDArray[Any], ...])


class Pool:
    """A few threads for kernels that do not hold the GIL."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = max(1, n_threads)
        self._threads = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None

    def run(self, work: Callable[..., Any], pieces: list[tuple[Any, ...]]) -> list[Any]:
        """Return ``[work(*piece) for piece in pieces]``, run in parallel; an error in any piece is raised here."""
        if self._threads is None or len(pieces) == 1:
            return [work(*piece) for piece in pieces]
        return [future.result() for future in [self._threads.submit(work, *piece) for piece in pieces]]


PIECE = 8192  # documents whose real sums are made together


def cut_pieces(n_documents: int) -> list[slice]:
    """Cut documents into pieces of at most ``PIECE`` neighbours, whose real sums are always added by the same tree."""
    return [slice(first, min(first + PIECE, n_documents)) for first in range(0, max(n_documents, 1), PIECE)]


class BlockSum(NamedTuple):
    """Statistics of ``size`` neighbouring pieces, the first of which is number ``first``, added up."""

    first: int
    size: int
    statistics: Any


class BlockSums:
    """Statistics of pieces, added by a fixed binary tree over their numbers: 0 + 1, 2 + 3, then (0, 1) + (2, 3) ...

    So the last bit does not depend on where pieces were gathered, and a process that has some neighbours can add the
    part of the tree that lies within them.  Pieces, or sums of pieces made in the same way, must come in their order.
    """

    def __init__(self) -> None:
        self.parts: list[BlockSum] = []

    def add(self, part: BlockSum) -> None:
        """Append the next sum and add those that form a complete branch."""
        self.parts.append(part)
        while len(self.parts) > 1 and self._are_siblings(*self.parts[-2:]):
            other = self.parts.pop()
            first, size, statistics = self.parts.pop()
            self.parts.append(BlockSum(first, 2 * size, add_statistics(statistics, other.statistics)))

    def total(self) -> Any:
        """Return the statistics of all pieces."""
        total = self.parts[-1].statistics
        for part in self.parts[-2::-1]:
            total = add_statistics(part.statistics, total)
        return total

    @staticmethod
    def _are_siblings(one: BlockSum, other: BlockSum) -> bool:
        return one.size == other.size and one.first % (2 * one.size) == 0


def add_in_place(parts: list[_Arrays]) -> _Arrays:
    """Add the arrays of all parts, whole numbers from different threads, to those of the first, and return it."""
    for part in parts[1:]:
        for total, array in zip(parts[0], part, strict=True):
            np.add(total, array, out=total)
    return parts[0]


def add_statistics(one: Any, other: Any) -> Any:
    """Add the statistics of two blocks of documents: every array, or number, is a sum over documents.

    :class:`BlockSums` decides in which order.
    """
    if hasattr(one, "add"):  # sparse
        return one.add(other)
    if not isinstance(one, tuple):
        return one + other
    parts = (add_statistics(a, b) for a, b in zip(one, other, strict=True))
    return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
