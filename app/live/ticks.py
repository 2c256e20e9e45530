"""Notifications of sessions about changes: at most one pending call per session; later changes are merged."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TypeAlias

RING_AGAIN = 10.0  # seconds after which a session that has not answered is called again
Ring: TypeAlias = Callable[[Callable[[], None]], None]  # schedules a call in a session


@dataclass(frozen=True)
class Tick:
    """The changes since the last tick, as numbers of runs.

    Attributes
    ----------
    rows : runs whose row changed, or that were added or deleted
    points : runs whose history has more points or a new epoch
    snapshots : runs with a newer snapshot (its hierarchy is in the cache if a session shows the newest one)
    labels : runs with a renamed topic, or with new or changed notes on their topics or on documents of their corpus
    """

    rows: frozenset[int] = frozenset()
    points: frozenset[int] = frozenset()
    snapshots: frozenset[int] = frozenset()
    labels: frozenset[int] = frozenset()

    def __or__(self, other: "Tick") -> "Tick":
        """Return the changes of both ticks."""
        return Tick(
            self.rows | other.rows,
            self.points | other.points,
            self.snapshots | other.snapshots,
            self.labels | other.labels,
        )


class _SessionListener:
    """A session with at most one pending call; ticks that arrive meanwhile are merged."""

    def __init__(self, ring: Ring, callback: Callable[[Tick], None]) -> None:
        self._ring = ring
        self._callback = callback
        self._lock = Lock()
        self._pending: Tick | None = None
        self._called_at = 0.0

    def wake(self, tick: Tick) -> None:
        with self._lock:
            is_called = self._pending is not None and monotonic() - self._called_at < RING_AGAIN
            self._pending = tick if self._pending is None else self._pending | tick
            if is_called:
                return
            self._called_at = monotonic()
        self._ring(self._run)

    def _run(self) -> None:
        with self._lock:
            tick, self._pending = self._pending, None
        if tick is not None:
            self._callback(tick)


class SessionListeners:
    """The sessions to notify.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._all: dict[int, _SessionListener] = {}

    def add(self, ring: Ring, callback: Callable[[Tick], None]) -> Callable[[], None]:
        """Add a session: each tick calls ``ring(call)``, and ``call()`` passes it to ``callback``; return a remover."""
        listener = _SessionListener(ring, callback)
        with self._lock:
            self._all[id(listener)] = listener

        def end() -> None:
            with self._lock:
                self._all.pop(id(listener), None)

        return end

    def wake(self, tick: Tick) -> None:
        """Notify every session."""
        with self._lock:
            listeners = tuple(self._all.values())
        for listener in listeners:
            listener.wake(tick)
