"""Bounded caches that all sessions of a server share, and the points of a run that are kept in memory."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import count
from operator import attrgetter
from sys import getsizeof
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import DocumentInference, Neighbourhood, open_inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.store import runs
from topiary.store.arrays import Array
from topiary.store.database import Database
from topiary.store.points import Point

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
    own = hierarchy.projections[1:] if hierarchy.projections[0] is hierarchy.phi[0] else hierarchy.projections
    return sum(map(attrgetter("nbytes"), (*hierarchy.phi, *own)))


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
            "maps": Cache(64 << 20, attrgetter("positions.nbytes"), least=1),
            "word sums": Cache(8),
            "topic documents": Cache(400),
            "topic names": Cache(24),
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


_EPOCHS = count(1)


class PointColumns(NamedTuple):
    """Consecutive points of a series, as columns with one entry per point."""

    minibatches: NDArray[np.float64]
    documents: NDArray[np.float64]
    seconds: NDArray[np.float64]
    value: NDArray[np.float64]

    def take(self, places: NDArray[np.intp]) -> "PointColumns":
        """Return the points at the indices ``places``."""
        return PointColumns(*(column[places] for column in self))

    def curve(self) -> NDArray[np.float64]:
        """Return the points as rows (mini-batch, value), which :mod:`app.jobs.estimates` reads."""
        return np.column_stack([self.minibatches, self.value])


class History:
    """All points of one run since its beginning, by (name of the series, layer).

    Attributes
    ----------
    epoch : int
        A number unique to this history within the process; when it changes, sessions draw everything again.
    cursor : int
        Number of the newest row of the store that has been read.
    points : int
        The number of points.
    """

    def __init__(self, run: int, attempt: int) -> None:
        self.run = run
        self.attempt = attempt
        self.epoch = next(_EPOCHS)
        self.cursor = 0
        self._lock = Lock()
        self.points = 0
        self._series: dict[tuple[str, int], tuple[array[float], ...]] = {}

    def add(self, points: Iterable[Point]) -> int:
        """Append points in the order of the store; return how many were added."""
        added = 0
        with self._lock:
            for point in points:
                key = (point.name, point.layer)
                columns = self._series.get(key)
                if columns is None:
                    columns = self._series[key] = tuple(array("d") for _ in range(4))
                value = float("nan") if point.value is None else point.value
                for column, item in zip(columns, (point.minibatch, point.documents, point.seconds, value), strict=True):
                    column.append(item)
                added += 1
            self.points += added
        return added

    def put(self, name: str, layer: int, columns: Iterable[NDArray[Any]]) -> None:
        """Add a whole series that the history does not have yet."""
        values = tuple(array("d", np.asarray(column, dtype=np.float64).tobytes()) for column in columns)
        with self._lock:
            self.points += len(values[0])
            self._series[name, layer] = values

    def length(self, name: str, layer: int = 0) -> int:
        """Return the number of points of a series."""
        with self._lock:
            columns = self._series.get((name, layer))
            return 0 if columns is None else len(columns[0])

    def after(self, name: str, layer: int = 0, shown: int = 0) -> PointColumns:
        """Return the points of a series after the first ``shown``; empty if there is no such series."""
        with self._lock:
            columns = self._series.get((name, layer))
            parts = [array("d")] * 4 if columns is None else [column[shown:] for column in columns]
        return PointColumns(*(np.array(part, dtype=np.float64) for part in parts))

    def layers(self, name: str) -> list[int]:
        """Return the layers that have a series of this name, ascending."""
        with self._lock:
            return sorted(layer for series_name, layer in self._series if series_name == name)

    def last(self, name: str, layer: int = 0) -> float | None:
        """Return the newest value of a series; None if there is none."""
        with self._lock:
            columns = self._series.get((name, layer))
            return columns[3][-1] if columns else None
