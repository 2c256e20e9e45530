"""Frames of snapshots kept in memory, the least used forgotten first.

A snapshot never changes, so neither does its frame, except for the names people give its topics.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock

from app.frame import Frame
from engine.tree import Node

MOST_BYTES = 400_000_000
LEAST_FRAMES = 3  # kept whatever their size


class Frames:
    """A bounded cache by (run, snapshot).  Two sessions that want the same frame build it once.

    Parameters
    ----------
    most_bytes : int
        About how much memory the frames may take.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = Lock()
        self._frames: OrderedDict[tuple[int, int], Frame] = OrderedDict()
        self._building: dict[tuple[int, int], Lock] = {}

    def get(self, run: int, snapshot: int) -> Frame | None:
        """The frame if it is here."""
        with self._lock:
            frame = self._frames.get((run, snapshot))
            if frame is not None:
                self._frames.move_to_end((run, snapshot))
            return frame

    def fetch(self, run: int, snapshot: int, build: Callable[[], Frame]) -> Frame:
        """The frame, built if it is not here."""
        key = (run, snapshot)
        with self._lock:
            turn = self._building.setdefault(key, Lock())
        with turn:
            known = self.get(run, snapshot)
            if known is not None:
                return known
            frame = build()
            with self._lock:
                self._frames[key] = frame
                self._building.pop(key, None)
                self._forget()
        return frame

    def relabel(self, run: int, labels: Mapping[tuple[int, int], str]) -> None:
        """Put other names of topics, by (layer, identity number from 1), into the frames of a run."""
        names = {Node(layer, topic - 1): text for (layer, topic), text in labels.items() if text}
        with self._lock:
            for key, frame in self._frames.items():
                if key[0] == run:
                    self._frames[key] = replace(frame, labels=names)

    def _forget(self) -> None:
        sizes = {key: _size(frame) for key, frame in self._frames.items()}
        total = sum(sizes.values())
        while total > self._most and len(self._frames) > LEAST_FRAMES:
            key, _ = self._frames.popitem(last=False)
            total -= sizes[key]


def _size(frame: Frame) -> int:
    arrays = {id(array): array for array in (*frame.phi, *frame.projections)}  # the lowest is in both
    return sum(int(array.nbytes) for array in arrays.values())
