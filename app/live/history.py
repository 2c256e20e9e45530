"""The points of one run, kept in memory once for all sessions and only ever appended to.

A session remembers how many points of a series it has shown and asks for the rest.  When the run is
rewound (a resume deletes what came after the checkpoint) a new history with another ``epoch`` takes
its place, and sessions draw again.
"""

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.points import Point

_EPOCHS = count(1)


class PointColumns(NamedTuple):
    """Part of a series: one entry per point."""

    minibatches: NDArray[np.float64]
    documents: NDArray[np.float64]
    seconds: NDArray[np.float64]
    value: NDArray[np.float64]

    def take(self, places: NDArray[np.intp]) -> "PointColumns":
        """The points at ``places``."""
        return PointColumns(*(column[places] for column in self))

    def curve(self) -> NDArray[np.float64]:
        """The points as rows (mini-batch, value), which :mod:`app.jobs.estimates` reads."""
        return np.column_stack([self.minibatches, self.value])


class History:
    """Every point of one run since its beginning, by (name, layer).

    Attributes
    ----------
    run, attempt : int
    epoch : int
        Another number for every history of this process; when it changes, draw again.
    cursor : int
        The newest row of the store that is in here.
    points : int
        How many points are in here.
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
        """Append points, in the order of the store; returns how many."""
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
        """Take over a whole series that is not in here yet."""
        kept = tuple(array("d", np.asarray(column, dtype=np.float64).tobytes()) for column in columns)
        with self._lock:
            self.points += len(kept[0])
            self._series[name, layer] = kept

    def length(self, name: str, layer: int = 0) -> int:
        """How many points a series has."""
        with self._lock:
            columns = self._series.get((name, layer))
            return 0 if columns is None else len(columns[0])

    def after(self, name: str, layer: int = 0, shown: int = 0) -> PointColumns:
        """The points of a series that come after the first ``shown``; empty where there is no such series."""
        with self._lock:
            columns = self._series.get((name, layer))
            parts = [array("d")] * 4 if columns is None else [column[shown:] for column in columns]
        return PointColumns(*(np.array(part, dtype=np.float64) for part in parts))

    def layers(self, name: str) -> list[int]:
        """The layers a series exists for, ascending."""
        with self._lock:
            return sorted(layer for known, layer in self._series if known == name)

    def last(self, name: str, layer: int = 0) -> float | None:
        """The newest value of a series, None where there is none."""
        with self._lock:
            columns = self._series.get((name, layer))
            return columns[3][-1] if columns else None


MOST_POINTS = 4_000_000  # together; a point takes 32 bytes
LEAST_HISTORIES = 24  # kept whatever their size


class HistoryCache:
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
