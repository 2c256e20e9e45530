"""Spread independent chunks of work over threads; results never depend on how many there are."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def chunks(n_items: int, n_parts: int) -> list[tuple[int, int]]:
    """Cut ``range(n_items)`` into at most ``n_parts`` contiguous, non-empty pieces of nearly equal size."""
    n_parts = max(1, min(n_parts, n_items))
    edges = [n_items * part // n_parts for part in range(n_parts + 1)]
    return list(itertools.pairwise(edges))


class Pool:
    """A few threads for kernels that hold no GIL."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = max(1, n_threads)
        self._threads = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None

    def run(self, work: Callable[..., Any], pieces: list[tuple[Any, ...]]) -> list[Any]:
        """``[work(*piece) for piece in pieces]``, side by side; an error in any is raised here."""
        if self._threads is None or len(pieces) == 1:
            return [work(*piece) for piece in pieces]
        return [future.result() for future in [self._threads.submit(work, *piece) for piece in pieces]]
