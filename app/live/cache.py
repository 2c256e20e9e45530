"""Bounded caches that all sessions of a server share."""

from collections import OrderedDict
from collections.abc import Callable, Collection
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

from app.analysis.comparison import Comparison, compare
from app.analysis.hierarchy import Hierarchy
from app.analysis.inference import DocumentInference, Neighbourhood, find_snapshot, open_inference
from engine.hierarchy.align import Alignment, TopicPair
from store import runs
from store.database import Database

CacheKey = TypeVar("CacheKey")
CacheValue = TypeVar("CacheValue")


def _count_one(_: object) -> int:
    return 1


class _CountedLock:
    """A lock, and how many callers hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.callers = 0


class Cache(Generic[CacheKey, CacheValue]):
    """A bounded, thread-safe cache: when two callers request the same value, which is never None, it is made once.

    Parameters
    ----------
    most : int
        How large all values together may be; by default, how many there may be.
    size : (value) -> int
        How large one is.
    least : int
        How many are kept whatever their size.
    """

    def __init__(self, most: int, size: Callable[[CacheValue], int] = _count_one, least: int = 0) -> None:
        self._most = most
        self._size = size
        self._least = least
        self._lock = Lock()
        self._known: OrderedDict[CacheKey, CacheValue] = OrderedDict()
        self._turns: dict[CacheKey, _CountedLock] = {}

    def get(self, key: CacheKey) -> CacheValue | None:
        """Return the cached value, which counts as used; None if there is none."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def peek(self, key: CacheKey) -> CacheValue | None:
        """Return the cached value without counting it as used; None if there is none."""
        with self._lock:
            return self._known.get(key)

    def keys(self) -> set[CacheKey]:
        """Return the keys of all cached values."""
        with self._lock:
            return set(self._known)

    def put(self, key: CacheKey, value: CacheValue) -> CacheValue:
        """Cache a value and return it; the least used values are dropped when all together are too large."""
        with self._lock:
            self._known[key] = value
            self._known.move_to_end(key)
        self.trim()
        return value

    def drop(self, key: CacheKey) -> None:
        """Drop a value if it is cached."""
        with self._lock:
            self._known.pop(key, None)

    def trim(self) -> None:
        """Drop the least used values while all together are too large; values may have grown."""
        with self._lock:
            sizes = {key: self._size(value) for key, value in self._known.items()}
            total = sum(sizes.values())
            while total > self._most and len(self._known) > self._least:
                dropped, _ = self._known.popitem(last=False)
                total -= sizes[dropped]

    def fetch(self, key: CacheKey, make: Callable[[], CacheValue]) -> CacheValue:
        """Return the cached value, or make and cache it; where that fails, the next caller tries again."""
        turn = self._enter(key)
        try:
            with turn.lock:
                value = self.get(key)
                return self.put(key, make()) if value is None else value
        finally:
            self._leave(key, turn)

    def change(self, change: Callable[[CacheKey, CacheValue], CacheValue]) -> None:
        """Replace every value by what ``change`` returns; this does not count as using them."""
        with self._lock:
            for key, value in self._known.items():
                self._known[key] = change(key, value)

    def _enter(self, key: CacheKey) -> _CountedLock:
        with self._lock:
            turn = self._turns.setdefault(key, _CountedLock())
            turn.callers += 1
            return turn

    def _leave(self, key: CacheKey, turn: _CountedLock) -> None:
        """Drop the lock with its last caller: two callers must not work under two locks."""
        with self._lock:
            turn.callers -= 1
            if not turn.callers:
                del self._turns[key]


def count_bytes(hierarchy: Hierarchy) -> int:
    """Return the size of a hierarchy in memory."""
    arrays = {id(array): array for array in (*hierarchy.phi, *hierarchy.projections)}  # the lowest is in both
    return sum(int(array.nbytes) for array in arrays.values())


MOST_COMPARISONS = 24  # comparisons kept
ComparisonKey: TypeAlias = tuple[int, int, int, int, frozenset[TopicPair]]


class ComparisonCache:
    """A bounded cache of comparisons: when two sessions request the same one, it is computed once.

    Hierarchies are large and have a cache of their own, so only what was computed of a comparison is kept.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int = MOST_COMPARISONS) -> None:
        self._known: Cache[ComparisonKey, tuple[Alignment, int]] = Cache(most)

    def get(self, a: Hierarchy, b: Hierarchy, decisions: Collection[TopicPair] = ()) -> Comparison:
        """Return the comparison of two hierarchies, computed on the first call (seconds for large ones).

        Raises
        ------
        ValueError
            When the two have no word in common.
        """
        key = (a.run, a.snapshot, b.run, b.snapshot, frozenset(decisions))

        def work() -> tuple[Alignment, int]:
            comparison = compare(a, b, decisions)
            return comparison.alignment, comparison.shared_words

        return Comparison(a, b, *self._known.fetch(key, work))


MOST_INFERENCES = 4  # snapshots kept ready


class InferenceCache:
    """The last few snapshots that are ready to place documents, shared by all sessions of a server.

    Parameters
    ----------
    db : Database
        Read-only.

    Attributes
    ----------
    opened : bool
        True once a snapshot has been made ready in this process; the first one loads the compiler and the kernels.
    """

    def __init__(self, db: Database) -> None:
        self.opened = False
        self._db = db
        self._known: Cache[tuple[int, int], tuple[DocumentInference, Neighbourhood]] = Cache(MOST_INFERENCES)

    def inference(self, run: int, snapshot: int = 0) -> DocumentInference:
        """Return a snapshot (0 = the newest) ready to place documents; may wait for kernels to be compiled."""
        return self._open(run, snapshot)[0]

    def neighbourhood(self, run: int, snapshot: int) -> Neighbourhood:
        """Return the documents placed under a snapshot, so far."""
        return self._open(run, snapshot)[1]

    def _open(self, run: int, snapshot: int) -> tuple[DocumentInference, Neighbourhood]:
        row = find_snapshot(self._db, run, snapshot)

        def opened() -> tuple[DocumentInference, Neighbourhood]:
            inference = open_inference(self._db, runs.get_run(self._db, run), row)
            return inference, Neighbourhood(self._db, inference)

        pair = self._known.fetch((run, row.number), opened)
        self.opened = True
        return pair
