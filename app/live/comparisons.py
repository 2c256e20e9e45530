"""Comparisons kept in memory by pair of snapshots, and which runs are worth comparing."""

from collections.abc import Collection
from typing import NamedTuple, TypeAlias

from app.analysis.comparison import Comparison, compare
from app.analysis.hierarchy import Hierarchy
from app.live.cache import Cache
from engine.hierarchy.align import Alignment, TopicPair

MOST = 24  # comparisons kept
Key: TypeAlias = tuple[int, int, int, int, frozenset[TopicPair]]


class _Known(NamedTuple):
    """What is kept of a comparison: all but its hierarchies, which are large and have a cache of their own."""

    alignment: Alignment
    shared_words: int


class Comparisons:
    """A bounded cache; two sessions that want the same comparison work it out once.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int = MOST) -> None:
        self._known: Cache[Key, _Known] = Cache(most)

    def get(self, a: Hierarchy, b: Hierarchy, decisions: Collection[TopicPair] = ()) -> Comparison:
        """Give the comparison of two hierarchies, worked out on the first call (seconds for large ones).

        Raises
        ------
        ValueError
            When the two have no word in common.
        """
        key = (a.run, a.snapshot, b.run, b.snapshot, frozenset(decisions))

        def work() -> _Known:
            found = compare(a, b, decisions)
            return _Known(found.alignment, found.shared_words)

        return Comparison(a, b, *self._known.fetch(key, work))
