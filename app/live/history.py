"""The points of one run, held in memory once for all sessions and only ever appended to.

A session remembers how many points of a series it has drawn, and requests the rest.  When resuming a run deletes the
points after its checkpoint, a new history with another ``epoch`` replaces the old one, and sessions draw everything
again.
"""

from array import array
from collections.abc import Iterable
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.store.points import Point

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
