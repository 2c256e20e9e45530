"""Bounded caches that all sessions of a server share."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from threading import Lock
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from app.analysis.comparison import Comparison, compare
from app.analysis.hierarchy import Hierarchy
from app.analysis.inference import DocumentInference, find_snapshot, open_inference
from app.analysis.neighbours import Neighbourhood
from engine.hierarchy.align import Alignment, TopicPair
from engine.hierarchy.tree import Node
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
    """A bounded cache: two callers that want the same value, which is never None, make it once.  Thread-safe.

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
        """The value if it is here; it counts as used."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def fetch(self, key: CacheKey, make: Callable[[], CacheValue]) -> CacheValue:
        """The value, made if it is not here; where that fails, the next caller tries again."""
        turn = self._enter(key)
        try:
            with turn.lock:
                known = self.get(key)
                return self._keep(key, make()) if known is None else known
        finally:
            self._leave(key, turn)

    def change(self, change: Callable[[CacheKey, CacheValue], CacheValue]) -> None:
        """Put what ``change`` gives in the place of every value; it is no use of them."""
        with self._lock:
            for key, value in self._known.items():
                self._known[key] = change(key, value)

    def _enter(self, key: CacheKey) -> _CountedLock:
        with self._lock:
            turn = self._turns.setdefault(key, _CountedLock())
            turn.callers += 1
            return turn

    def _leave(self, key: CacheKey, turn: _CountedLock) -> None:
        """Forget the turn with its last caller: whoever waits for it must not meet one who takes another."""
        with self._lock:
            turn.callers -= 1
            if not turn.callers:
                del self._turns[key]

    def _keep(self, key: CacheKey, value: CacheValue) -> CacheValue:
        with self._lock:
            self._known[key] = value
            sizes = {each: self._size(known) for each, known in self._known.items()}
            total = sum(sizes.values())
            while total > self._most and len(self._known) > self._least:
                gone, _ = self._known.popitem(last=False)
                total -= sizes[gone]
        return value


MOST_BYTES = 400_000_000
LEAST_KEPT = 3  # kept whatever their size


class HierarchyCache:
    """A bounded cache by (run, snapshot).  Two sessions that want the same hierarchy build it once.

    Parameters
    ----------
    most_bytes : int
        About how much memory the hierarchies may take.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._known: Cache[tuple[int, int], Hierarchy] = Cache(most_bytes, _count_bytes, LEAST_KEPT)

    def get(self, run: int, snapshot: int) -> Hierarchy | None:
        """The hierarchy if it is here."""
        return self._known.get((run, snapshot))

    def fetch(self, run: int, snapshot: int, build: Callable[[], Hierarchy]) -> Hierarchy:
        """The hierarchy, built if it is not here."""
        return self._known.fetch((run, snapshot), build)

    def relabel(self, run: int, labels: Mapping[tuple[int, int], str]) -> None:
        """Put other names of topics, by (layer, identity number from 1), into the hierarchies of a run."""
        names = {Node(layer, topic - 1): text for (layer, topic), text in labels.items() if text}
        self._known.change(lambda key, hierarchy: replace(hierarchy, labels=names) if key[0] == run else hierarchy)


def _count_bytes(hierarchy: Hierarchy) -> int:
    arrays = {id(array): array for array in (*hierarchy.phi, *hierarchy.projections)}  # the lowest is in both
    return sum(int(array.nbytes) for array in arrays.values())


MOST_COMPARISONS = 24  # comparisons kept
ComparisonKey: TypeAlias = tuple[int, int, int, int, frozenset[TopicPair]]


class _KnownComparison(NamedTuple):
    """What is kept of a comparison: all but its hierarchies, which are large and have a cache of their own."""

    alignment: Alignment
    shared_words: int


class ComparisonCache:
    """A bounded cache; two sessions that want the same comparison work it out once.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int = MOST_COMPARISONS) -> None:
        self._known: Cache[ComparisonKey, _KnownComparison] = Cache(most)

    def get(self, a: Hierarchy, b: Hierarchy, decisions: Collection[TopicPair] = ()) -> Comparison:
        """Give the comparison of two hierarchies, worked out on the first call (seconds for large ones).

        Raises
        ------
        ValueError
            When the two have no word in common.
        """
        key = (a.run, a.snapshot, b.run, b.snapshot, frozenset(decisions))

        def work() -> _KnownComparison:
            found = compare(a, b, decisions)
            return _KnownComparison(found.alignment, found.shared_words)

        return Comparison(a, b, *self._known.fetch(key, work))


MOST_INFERENCES = 4  # snapshots kept ready


class InferenceCache:
    """What placing needs of the last few snapshots, shared by all sessions of a server.

    Parameters
    ----------
    db : Database
        Read-only.

    Attributes
    ----------
    opened : bool
        Whether a snapshot has been made ready in this process; the first one loads the compiler's library and kernels.
    """

    def __init__(self, db: Database) -> None:
        self.opened = False
        self._db = db
        self._known: Cache[tuple[int, int], tuple[DocumentInference, Neighbourhood]] = Cache(MOST_INFERENCES)

    def inference(self, run: int, snapshot: int = 0) -> DocumentInference:
        """A snapshot (0 = the newest) ready to place documents; may wait for kernels to be compiled."""
        return self._open(run, snapshot)[0]

    def neighbourhood(self, run: int, snapshot: int) -> Neighbourhood:
        """The documents placed under a snapshot, so far."""
        return self._open(run, snapshot)[1]

    def _open(self, run: int, snapshot: int) -> tuple[DocumentInference, Neighbourhood]:
        request = find_snapshot(self._db, run, snapshot)

        def opened() -> tuple[DocumentInference, Neighbourhood]:
            inference = open_inference(self._db, runs.get_run(self._db, run), request)
            return inference, Neighbourhood(self._db, inference)

        found = self._known.fetch((run, request.number), opened)
        self.opened = True
        return found
