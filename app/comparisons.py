"""Comparisons kept in memory by pair of snapshots, and which runs are worth comparing."""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import replace
from threading import Lock
from typing import TypeAlias

from app.comparison import Comparison, compare
from app.frame import Frame
from engine.align import Fixed
from store.runs import RunRow

MOST = 24  # comparisons kept
Key: TypeAlias = tuple[int, int, int, int, frozenset[Fixed]]


class Comparisons:
    """A bounded cache; two sessions that want the same comparison work it out once.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = Lock()
        self._known: OrderedDict[Key, Comparison] = OrderedDict()
        self._working: dict[Key, Lock] = {}

    def get(self, a: Frame, b: Frame, decisions: Collection[Fixed] = ()) -> Comparison:
        """Give the comparison of two frames, worked out on the first call (seconds for large ones).

        Raises
        ------
        ValueError
            When the two have no word in common.
        """
        key = (a.run, a.snapshot, b.run, b.snapshot, frozenset(decisions))
        with self._lock:
            turn = self._working.setdefault(key, Lock())
        with turn:
            known = self._find(key)
            if known is None:
                known = compare(a, b, decisions)
            elif known.a is not a or known.b is not b:  # topics were renamed meanwhile
                known = replace(known, a=a, b=b)
            with self._lock:
                self._known[key] = known
                self._known.move_to_end(key)
                self._working.pop(key, None)
                while len(self._known) > self._most:
                    self._known.popitem(last=False)
        return known

    def _find(self, key: Key) -> Comparison | None:
        with self._lock:
            return self._known.get(key)


def usual_partner(run: RunRow, everyone: Iterable[RunRow]) -> RunRow | None:
    """Choose what to compare with: the run it was forked from, else the latest other one, its corpus first."""
    others = sorted((row for row in everyone if row.number != run.number), key=lambda row: -row.number)
    return next(
        (row for row in others if row.number == run.parent),
        next((row for row in others if row.corpus == run.corpus), others[0] if others else None),
    )


def same_but_seed(one: RunRow, two: RunRow) -> bool:
    """Whether two runs differ in nothing but their seed, and neither was forked from the other or with it."""
    kin = {one.number, one.parent} & {two.number, two.parent} - {None}
    return (
        one.seed != two.seed
        and not kin
        and (one.corpus, one.model, one.inference, one.layers) == (two.corpus, two.model, two.inference, two.layers)
        and one.settings == two.settings
    )


def other_seeds(run: RunRow, everyone: Iterable[RunRow]) -> list[RunRow]:
    """Runs that differ from this one in nothing but the seed, latest first."""
    found = [row for row in everyone if row.number != run.number and same_but_seed(run, row)]
    return sorted(found, key=lambda row: -row.number)
