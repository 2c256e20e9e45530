"""What takes long to make, made once and kept for all sessions, the least used forgotten first."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def _one(_: object) -> int:
    return 1


class _Lock:
    """A lock, and how many callers hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.callers = 0


class Cache(Generic[Key, Value]):
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

    def __init__(self, most: int, size: Callable[[Value], int] = _one, least: int = 0) -> None:
        self._most = most
        self._size = size
        self._least = least
        self._lock = Lock()
        self._known: OrderedDict[Key, Value] = OrderedDict()
        self._turns: dict[Key, _Lock] = {}

    def get(self, key: Key) -> Value | None:
        """The value if it is here; it counts as used."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def fetch(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value, made if it is not here; where that fails, the next caller tries again."""
        turn = self._enter(key)
        try:
            with turn.lock:
                known = self.get(key)
                return self._keep(key, make()) if known is None else known
        finally:
            self._leave(key, turn)

    def change(self, change: Callable[[Key, Value], Value]) -> None:
        """Put what ``change`` gives in the place of every value; it is no use of them."""
        with self._lock:
            for key, value in self._known.items():
                self._known[key] = change(key, value)

    def _enter(self, key: Key) -> _Lock:
        with self._lock:
            turn = self._turns.setdefault(key, _Lock())
            turn.callers += 1
            return turn

    def _leave(self, key: Key, turn: _Lock) -> None:
        """Forget the turn with its last caller: whoever waits for it must not meet one who takes another."""
        with self._lock:
            turn.callers -= 1
            if not turn.callers:
                del self._turns[key]

    def _keep(self, key: Key, value: Value) -> Value:
        with self._lock:
            self._known[key] = value
            sizes = {each: self._size(known) for each, known in self._known.items()}
            total = sum(sizes.values())
            while total > self._most and len(self._known) > self._least:
                gone, _ = self._known.popitem(last=False)
                total -= sizes[gone]
        return value
