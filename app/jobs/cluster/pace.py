"""How fast a worker sweeps documents, told from one time that it is asked to the next."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.contract import Batch


class About(NamedTuple):
    """What a worker says of itself.

    Attributes
    ----------
    documents : int
        That it holds.
    tokens : int
        Swept since it was last asked.
    seconds : float
        That these sweeps took.
    memory : int
        Bytes of its process.
    """

    documents: int
    tokens: int
    seconds: float
    memory: int


class Pace:
    """Tokens swept, and the seconds they took, since somebody last asked."""

    def __init__(self) -> None:
        self._tokens = 0
        self._seconds = 0.0

    @contextmanager
    def sweep(self, docs: Iterable["Batch"]) -> Iterator[None]:
        """Count what is done inside as one sweep of these documents."""
        began = time.perf_counter()
        yield
        self._seconds += time.perf_counter() - began
        self._tokens += sum(int(each.counts.sum()) for each in docs)

    def about(self, documents: int, memory: int) -> About:
        """What there is to say of a worker that holds so many documents in so many bytes; counting begins anew."""
        found = About(documents, self._tokens, self._seconds, memory)
        self._tokens, self._seconds = 0, 0.0
        return found
