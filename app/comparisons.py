"""Comparisons kept in memory by pair of snapshots, and which runs are worth comparing."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, TypeAlias

from app.comparison import Comparison, compare
from app.frame import Frame
from app.once import Once
from engine.align import Alignment, Fixed
from store.runs import RunRow

MOST = 24  # comparisons kept
NEAR = 1.5  # times the mini-batches of the other that a run may have to be like it but for the seed
Key: TypeAlias = tuple[int, int, int, int, frozenset[Fixed]]


class _Known(NamedTuple):
    """What is kept of a comparison: all but its frames, which are large and have a cache of their own."""

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
        self._known: Once[Key, _Known] = Once(most)

    def get(self, a: Frame, b: Frame, decisions: Collection[Fixed] = ()) -> Comparison:
        """Give the comparison of two frames, worked out on the first call (seconds for large ones).

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


def usual_partner(run: RunRow, everyone: Iterable[RunRow]) -> RunRow | None:
    """Choose what to compare with: the run it was forked from, else the latest other one, its corpus first."""
    others = sorted((row for row in everyone if row.number != run.number), key=lambda row: -row.number)
    return next(
        (row for row in others if row.number == run.parent),
        next((row for row in others if row.corpus == run.corpus), others[0] if others else None),
    )


def same_but_seed(one: RunRow, two: RunRow) -> bool:
    """Whether two runs differ in nothing but their seed, and are not of one line of forks.

    Their widths may differ where they are learnt; how long they have trained does not count, see `as_far`.
    """
    return (
        one.seed != two.seed
        and one.family != two.family
        and (one.corpus, one.model, one.inference) == (two.corpus, two.model, two.inference)
        and one.settings == two.settings
    )


def as_far(minibatch: int, other: int) -> bool:
    """Whether topics after so many mini-batches of either run may be held against each other as a baseline."""
    return max(minibatch, other) <= NEAR * max(1, min(minibatch, other))


def other_seeds(run: RunRow, everyone: Iterable[RunRow]) -> list[RunRow]:
    """Runs that differ from this one in nothing but the seed, latest first."""
    found = [row for row in everyone if row.number != run.number and same_but_seed(run, row)]
    return sorted(found, key=lambda row: -row.number)
