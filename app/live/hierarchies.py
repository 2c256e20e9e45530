"""Hierarchies of snapshots kept in memory, the least used forgotten first.

A snapshot never changes, so neither does its hierarchy, except for the names people give its topics.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from app.analysis.hierarchy import Hierarchy
from app.live.cache import Cache
from engine.hierarchy.tree import Node

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
        self._known: Cache[tuple[int, int], Hierarchy] = Cache(most_bytes, _size, LEAST_KEPT)

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


def _size(hierarchy: Hierarchy) -> int:
    arrays = {id(array): array for array in (*hierarchy.phi, *hierarchy.projections)}  # the lowest is in both
    return sum(int(array.nbytes) for array in arrays.values())
