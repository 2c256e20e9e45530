"""Bounded caches that all sessions of a server share."""

from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from sys import getsizeof
from threading import Lock
from typing import Any, Generic, TypeVar

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import DocumentInference, Neighbourhood, open_inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.store import runs
from topiary.store.arrays import Array
from topiary.store.database import Database
from topiary.store.document_maps import StoredMap

CacheKey = TypeVar("CacheKey")
CacheValue = TypeVar("CacheValue")


def _count_one(_: object) -> int:
    return 1


class _CountedLock:
    """A lock with the number of callers that hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.callers = 0


class Cache(Generic[CacheKey, CacheValue]):
    """A bounded, thread-safe cache that makes each value once, even if two callers request it at the same time.

    Values are never None.

    Parameters
    ----------
    most : int
        Largest total size of the values; by default, the largest number of values.
    size : (value) -> int
        Size of a value; 1 by default.
    least : int
        Number of values that are cached regardless of their size.
    """

    def __init__(self, most: int, size: Callable[[CacheValue], int] = _count_one, least: int = 0) -> None:
        self._most = most
        self._size = size
        self._least = least
        self._lock = Lock()
        self._values: OrderedDict[CacheKey, CacheValue] = OrderedDict()
        self._turns: dict[CacheKey, _CountedLock] = {}

    def get(self, key: CacheKey) -> CacheValue | None:
        """Return the cached value and mark it as used; None if there is none."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def peek(self, key: CacheKey) -> CacheValue | None:
        """Return the cached value without marking it as used; None if there is none."""
        with self._lock:
            return self._values.get(key)

    def keys(self) -> set[CacheKey]:
        """Return the keys of all cached values."""
        with self._lock:
            return set(self._values)

    def put(self, key: CacheKey, value: CacheValue) -> CacheValue:
        """Cache a value and return it; drop the least recently used values if the total is too large."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
        self.trim()
        return value

    def drop(self, key: CacheKey) -> None:
        """Drop a value if it is cached."""
        with self._lock:
            self._values.pop(key, None)

    def trim(self) -> None:
        """Drop the least recently used values until the total size fits; cached values may have grown."""
        with self._lock:
            sizes = {key: self._size(value) for key, value in self._values.items()}
            total = sum(sizes.values())
            while total > self._most and len(self._values) > self._least:
                dropped, _ = self._values.popitem(last=False)
                total -= sizes[dropped]

    def fetch(self, key: CacheKey, make: Callable[[], CacheValue]) -> CacheValue:
        """Return the cached value, or make and cache it; if making it fails, the next caller tries again."""
        key_lock = self._enter(key)
        try:
            with key_lock.lock:
                value = self.get(key)
                return self.put(key, make()) if value is None else value
        finally:
            self._leave(key, key_lock)

    def change(self, change: Callable[[CacheKey, CacheValue], CacheValue]) -> None:
        """Replace every value by ``change(key, value)`` without marking it as used."""
        with self._lock:
            for key, value in self._values.items():
                self._values[key] = change(key, value)

    def _enter(self, key: CacheKey) -> _CountedLock:
        with self._lock:
            key_lock = self._turns.setdefault(key, _CountedLock())
            key_lock.callers += 1
            return key_lock

    def _leave(self, key: CacheKey, key_lock: _CountedLock) -> None:
        """Leave the turn of a key; drop its lock with the last caller, because all callers must share one lock."""
        with self._lock:
            key_lock.callers -= 1
            if not key_lock.callers:
                del self._turns[key]


def count_bytes(hierarchy: Hierarchy) -> int:
    """Return the size of a hierarchy's arrays in bytes, counting shared arrays once."""
    arrays = {id(array): array for array in (*hierarchy.phi, *hierarchy.projections)}  # the lowest layer is in both
    return sum(int(array.nbytes) for array in arrays.values())


def count_map_bytes(stored: StoredMap) -> int:
    """Return the size of a map's arrays in bytes."""
    return int(stored.positions.nbytes + stored.topics.nbytes)


def count_value_bytes(values: Array) -> int:
    """Return the size of the values of a column in bytes, with that of texts, which an array does not count."""
    return int(values.nbytes) + (sum(map(getsizeof, values.tolist())) if values.dtype == object else 0)


MOST_POINT_BYTES = 64 << 20  # of the points of maps together


class SharedMemory:
    """What all sessions of a server remember of the store, by the kinds of answers of the readers.

    Matches and recurrences are remembered without their hierarchies, which are large and have a limit of their own.

    Attributes
    ----------
    hierarchies : Cache
        By run and snapshot.
    """

    def __init__(self) -> None:
        self.hierarchies: Cache[tuple[int, int], Hierarchy] = Cache(400_000_000, count_bytes, least=3)
        self._caches: dict[str, Cache[Any, Any]] = {
            "hierarchies": self.hierarchies,
            "words": Cache(8),
            "matches": Cache(24),
            "recurrences": Cache(24),
            "uses": Cache(256 << 20, attrgetter("size"), least=1),
            "explained": Cache(4),
            "samples": Cache(200_000_000, attrgetter("size"), least=1),
            "columns": Cache(200_000_000, count_value_bytes, least=1),
            "maps": Cache(64 << 20, count_map_bytes, least=1),
            "word sums": Cache(8),
            "topic documents": Cache(400),
        }

    def fetch(self, kind: str, key: Any, make: Callable[[], Any]) -> Any:
        """Return the answer of a kind that is known under a key, or make it, once for all who ask."""
        return self._caches[kind].fetch(key, make)


MOST_INFERENCES = 4  # snapshots in memory, ready for placing documents


class InferenceCache:
    """The last few snapshots that are ready for placing documents, shared by all sessions of a server.

    Parameters
    ----------
    db : Database
        Read-only.

    Attributes
    ----------
    opened : bool
        True once a snapshot has been opened in this process; the first one loads the compiler and the kernels.
    """

    def __init__(self, db: Database) -> None:
        self.opened = False
        self._db = db
        self._values: Cache[tuple[int, int], tuple[DocumentInference, Neighbourhood]] = Cache(MOST_INFERENCES)

    def inference(self, run: int, snapshot: int = 0) -> DocumentInference:
        """Return a snapshot (0 = the newest) that can place documents; may wait until kernels are compiled."""
        return self._open(run, snapshot)[0]

    def neighbourhood(self, run: int, snapshot: int) -> Neighbourhood:
        """Return the documents placed under a snapshot so far."""
        return self._open(run, snapshot)[1]

    def _open(self, run: int, snapshot: int) -> tuple[DocumentInference, Neighbourhood]:
        row = find_snapshot(self._db, run, snapshot)

        def open_pair() -> tuple[DocumentInference, Neighbourhood]:
            inference = open_inference(self._db, runs.get_run(self._db, run), row)
            return inference, Neighbourhood(self._db, inference)

        pair = self._values.fetch((run, row.number), open_pair)
        self.opened = True
        return pair
