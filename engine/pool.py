"""Work in pieces: in threads, and with sums whose last bit does not depend on which machine computed which piece."""

import itertools
from collections.abc import Callable, Iterable
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
    """Cut documents, whose cells begin at ``starts``, into contiguous runs with about equal numbers of cells."""
    shares = np.arange(1, n_parts) * int(starts[-1]) // n_parts
    edges = [0, *np.searchsorted(starts, shares).tolist(), len(starts) - 1]
    return [(a, b) for a, b in itertools.pairwise(edges) if a < b]


_Arrays = TypeVar("_Arrays", bound=tuple[NDArray[Any], ...])


class Pool:
    """A pool of threads for kernels that release the GIL."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = max(1, n_threads)
        self._threads = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None

    def run(self, work: Callable[..., Any], pieces: list[tuple[Any, ...]]) -> list[Any]:
        """Return ``[work(*piece) for piece in pieces]``, run in parallel; an error in any piece is raised here."""
        if self._threads is None or len(pieces) == 1:
            return [work(*piece) for piece in pieces]
        return [future.result() for future in [self._threads.submit(work, *piece) for piece in pieces]]

    def run_parts(self, parts: Iterable[tuple[int, int]], work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return ``work(*arguments, begin, end)`` of every part, run in parallel."""
        return self.run(work, [(*arguments, begin, end) for begin, end in parts])


PIECE = 8192  # documents per piece; floating-point sums are computed by piece


def cut_pieces(n_documents: int) -> list[slice]:
    """Cut documents into pieces of at most ``PIECE`` neighbours, whose sums are always added by the same tree."""
    return [slice(first, min(first + PIECE, n_documents)) for first in range(0, max(n_documents, 1), PIECE)]


class BlockSum(NamedTuple):
    """The sum of the statistics of ``size`` neighbouring pieces; ``first`` is the number of the first of them."""

    first: int
    size: int
    statistics: Any


class BlockSums:
    """Statistics of pieces, added by a fixed binary tree over their numbers: 0 + 1, 2 + 3, then (0, 1) + (2, 3) ...

    So the last bit does not depend on where pieces were computed, and a process that has some neighbouring pieces can
    add the branches of the tree that lie within them.  Pieces, or sums of pieces by this class, must be added in order.
    """

    def __init__(self) -> None:
        self.parts: list[BlockSum] = []

    def add(self, part: BlockSum) -> None:
        """Append the next sum, and merge sums that form a complete branch."""
        self.parts.append(part)
        while len(self.parts) > 1 and self._are_siblings(*self.parts[-2:]):
            right = self.parts.pop()
            first, size, statistics = self.parts.pop()
            self.parts.append(BlockSum(first, 2 * size, add_statistics(statistics, right.statistics)))

    def total(self) -> Any:
        """Return the statistics of all pieces."""
        total = self.parts[-1].statistics
        for part in self.parts[-2::-1]:
            total = add_statistics(part.statistics, total)
        return total

    @staticmethod
    def _are_siblings(left: BlockSum, right: BlockSum) -> bool:
        """Return whether two neighbouring sums are the halves of a branch of the tree."""
        return left.size == right.size and left.first % (2 * left.size) == 0


def add_in_place(parts: list[_Arrays]) -> _Arrays:
    """Add the arrays of all parts to those of the first and return it; exact because the arrays hold integers."""
    for part in parts[1:]:
        for total, array in zip(parts[0], part, strict=True):
            np.add(total, array, out=total)
    return parts[0]


def add_statistics(one: Any, other: Any) -> Any:
    """Add the statistics of two blocks of documents, where every array or number is a sum over documents.

    :class:`BlockSums` decides the order of additions.
    """
    if hasattr(one, "add"):  # sparse
        return one.add(other)
    if not isinstance(one, tuple):
        return one + other
    parts = (add_statistics(a, b) for a, b in zip(one, other, strict=True))
    return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
