"""How well two runs predict held-out words, beside how far two seeds of one model lie apart in that."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from app.jobs.estimates import Estimate, JudgedRun, list_estimates

Latest = Callable[[int], Mapping[str, float | None]]


class JudgedPair(NamedTuple):
    """The same estimate of two runs.

    Attributes
    ----------
    a, b : Estimate
    gap : float or None
        The largest difference of that estimate between two seeds of one model; None where there are none.
    """

    a: Estimate
    b: Estimate
    gap: float | None

    @property
    def difference(self) -> float:
        """That between the two runs."""
        return abs(self.a.value - self.b.value)

    @property
    def beyond(self) -> bool:
        """Whether it is more than two seeds differ."""
        return self.gap is not None and self.difference > self.gap


def judged_pair(
    a: JudgedRun, b: JudgedRun, seeds: Iterable[tuple[JudgedRun, JudgedRun]], latest: Latest
) -> JudgedPair | None:
    """The best estimate that both runs have, beside that of pairs of seeds; None where they have none in common.

    Parameters
    ----------
    a, b : rows of the store
    seeds : pairs of rows
        Runs that differ in their seed only.
    latest : (run number) -> mapping
        The newest values of the curves that `app.jobs.estimates` reads.
    """

    def of(run: JudgedRun) -> dict[str, Estimate]:
        return {each.kind: each for each in list_estimates(run, latest(run.number))}

    first, second = of(a), of(b)
    kind = next((each for each in first if each in second), None)
    if kind is None:
        return None
    found = ((of(one), of(two)) for one, two in seeds)
    gaps = [abs(one[kind].value - two[kind].value) for one, two in found if kind in one and kind in two]
    return JudgedPair(first[kind], second[kind], max(gaps, default=None))
