"""Notifications of sessions about changes: at most one call per session is under way, later ones are joined."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TypeAlias

RING_AGAIN = 10.0  # seconds after which a session that has not answered is called again
Ring: TypeAlias = Callable[[Callable[[], None]], None]


@dataclass(frozen=True)
class Tick:
    """The changes since the last tick, as numbers of runs.

    Attributes
    ----------
    rows : runs whose row changed, or that came or went
    points : runs whose history has more points, or a new epoch
    snapshots : runs with a newer snapshot (its hierarchy is in the cache if a session shows the newest one)
    labels : runs some topic of which was renamed
    """

    rows: frozenset[int] = frozenset()
    points: frozenset[int] = frozenset()
    snapshots: frozenset[int] = frozenset()
    labels: frozenset[int] = frozenset()

    def __or__(self, other: "Tick") -> "Tick":
        """Return both ticks as one."""
        return Tick(
            self.rows | other.rows,
            self.points | other.points,
            self.snapshots | other.snapshots,
            self.labels | other.labels,
        )


class _SessionListener:
    """One session: at most one call is under way, ticks in between are joined."""

    def __init__(self, ring: Ring, callback: Callable[[Tick], None]) -> None:
        self._ring = ring
        self._callback = callback
        self._lock = Lock()
        self._waiting: Tick | None = None
        self._rung = 0.0

    def wake(self, tick: Tick) -> None:
        with self._lock:
            is_called = self._waiting is not None and monotonic() - self._rung < RING_AGAIN
            self._waiting = tick if self._waiting is None else self._waiting | tick
            if is_called:
                return
            self._rung = monotonic()
        self._ring(self._run)

    def _run(self) -> None:
        with self._lock:
            tick, self._waiting = self._waiting, None
        if tick is not None:
            self._callback(tick)


class SessionListeners:
    """The sessions that are notified.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._all: dict[int, _SessionListener] = {}

    def add(self, ring: Ring, callback: Callable[[Tick], None]) -> Callable[[], None]:
        """Call ``ring(call)`` at every tick, where ``call()`` passes it to the callback; return what ends that."""
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
