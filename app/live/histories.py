"""Histories of runs kept in memory, the least used forgotten first."""

from collections import OrderedDict
from threading import Lock

from app.live.history import History

MOST_POINTS = 4_000_000  # together; a point takes 32 bytes
LEAST_HISTORIES = 24  # kept whatever their size


class Histories:
    """A bounded cache by run.

    Parameters
    ----------
    most_points : int
        About how many points all histories together may have.
    least : int
        How many histories are kept whatever their size.
    """

    def __init__(self, most_points: int = MOST_POINTS, least: int = LEAST_HISTORIES) -> None:
        self._most = most_points
        self._least = least
        self._lock = Lock()
        self._known: OrderedDict[int, History] = OrderedDict()

    def get(self, run: int) -> History | None:
        """The history of a run if it is here; it counts as used."""
        with self._lock:
            if run in self._known:
                self._known.move_to_end(run)
            return self._known.get(run)

    def peek(self, run: int) -> History | None:
        """The same without counting as used, for whoever only brings it up to date."""
        with self._lock:
            return self._known.get(run)

    def known(self) -> set[int]:
        """The runs whose history is here."""
        with self._lock:
            return set(self._known)

    def add(self, run: int, fresh: History) -> History:
        """Keep a history and give it, or the one that somebody else brought meanwhile."""
        with self._lock:
            kept = self._known.setdefault(run, fresh)
            self._known.move_to_end(run)
            self._forget()
            return kept

    def replace(self, run: int, fresh: History) -> None:
        """Put another history in the place of one that is here; it is no use of it."""
        with self._lock:
            if run in self._known:
                self._known[run] = fresh

    def drop(self, run: int) -> None:
        """Forget a run."""
        with self._lock:
            self._known.pop(run, None)

    def tidy(self) -> None:
        """Forget the least used while there are too many points."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        sizes = {run: history.points for run, history in self._known.items()}
        total = sum(sizes.values())
        while total > self._most and len(self._known) > self._least:
            run, _ = self._known.popitem(last=False)
            total -= sizes[run]
