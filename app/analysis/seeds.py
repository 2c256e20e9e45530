"""The differences between two seeds of one model, which a difference between models has to exceed."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from app.analysis.comparison import Comparison, find_edge_changes, measure_agreement
from app.analysis.hierarchy import measure_coherence
from app.jobs.estimates import Estimate, JudgedRun, list_estimates
from engine.quality.measures import Coherence

ROUNDED = 0.005  # figures are written with two decimals, so smaller differences are not visible
RARE = 0.05  # share of the pairs of two seeds that are less alike than the floor of their layer
MEASURES: tuple[Callable[[Coherence], float], ...] = (
    lambda each: each.mean_npmi,
    lambda each: each.worst_tenth,
    lambda each: each.diversity,
)


Figure = TypeVar("Figure")


class Range(NamedTuple):
    """The lowest and the highest of a figure over pairs of seeds."""

    low: float
    high: float


class SeedSpread(NamedTuple):
    """The agreement that two seeds of one model reach, over some pairs of seeds.

    Attributes
    ----------
    pairs : int
        The number of pairs of runs.
    scores, matched : tuples of Range or None
        Of each layer, as in `app.analysis.comparison.Agreement`.
    edges, correlation : Range or None
    floors : tuple of float
        Of each layer, the score that 5 % of the pairs of topics of two seeds stay below; nan without pairs.
    gaps : tuple of (float, float, float)
        Of each layer, the largest differences of NPMI, its worst tenth and diversity; nan where not known.
    """

    pairs: int
    scores: tuple[Range | None, ...]
    matched: tuple[Range | None, ...]
    edges: Range | None
    correlation: Range | None
    floors: tuple[float, ...]
    gaps: tuple[tuple[float, float, float], ...]


UNKNOWN = SeedSpread(0, (), (), None, None, (), ())


def measure_seeds(comparisons: Sequence[Comparison], threshold: float) -> SeedSpread | None:
    """Sum up comparisons of runs that differ only in their seed; None without comparisons.

    Parameters
    ----------
    comparisons : sequence of Comparison
    threshold : float
        Edges are above ``threshold / K``.
    """
    if not comparisons:
        return None
    agreements = [measure_agreement(each, find_edge_changes(each, threshold)) for each in comparisons]
    depth = range(max(len(each.scores) for each in agreements))
    return SeedSpread(
        len(comparisons),
        tuple(_range(each.scores[place] for each in agreements if place < len(each.scores)) for place in depth),
        tuple(_range(each.matched[place] for each in agreements if place < len(each.matched)) for place in depth),
        _range(each.edges for each in agreements),
        _range(each.correlation for each in agreements),
        tuple(_floor(comparisons, place + 1) for place in depth),
        tuple(_gaps(comparisons, place) for place in depth),
    )


def is_below(value: float, usual: Range | None) -> bool:
    """Return True if a figure is lower than any that two seeds reach; False where either is unknown."""
    return usual is not None and math.isfinite(value) and value < usual.low - ROUNDED


def pick_layer(figures: Sequence[Figure], place: int) -> Figure | None:
    """Return the figure of a layer, None where there is none."""
    return figures[place] if place < len(figures) else None


def _range(values: Iterable[float]) -> Range | None:
    finite = [value for value in values if math.isfinite(value)]
    return Range(min(finite), max(finite)) if finite else None


def _floor(comparisons: Sequence[Comparison], layer: int) -> float:
    scores = [pair.score for each in comparisons for pair in each.pairs if pair.layer == layer and pair.paired]
    return float(np.quantile(scores, RARE)) if scores else float("nan")


def _gaps(comparisons: Sequence[Comparison], place: int) -> tuple[float, float, float]:
    gaps = np.full((len(comparisons), len(MEASURES)), np.nan)
    for row, each in enumerate(comparisons):
        a, b = measure_coherence(each.a), measure_coherence(each.b)
        if place < min(len(a), len(b)):
            gaps[row] = [abs(measure(a[place]) - measure(b[place])) for measure in MEASURES]
    finite = [column[np.isfinite(column)] for column in gaps.T]
    npmi, worst, diversity = (float(column.max()) if len(column) else float("nan") for column in finite)
    return npmi, worst, diversity


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
        """The difference between the two runs."""
        return abs(self.a.value - self.b.value)

    @property
    def beyond(self) -> bool:
        """Return True if the runs differ by more than two seeds do."""
        return self.gap is not None and self.difference > self.gap


def judge_pair(
    a: JudgedRun, b: JudgedRun, seeds: Iterable[tuple[JudgedRun, JudgedRun]], latest: Latest
) -> JudgedPair | None:
    """Return the best estimate that both runs have, with that of pairs of seeds; None where they have none in common.

    Parameters
    ----------
    a, b : rows of the store
    seeds : pairs of rows
        Runs that differ only in their seed.
    latest : (run number) -> mapping
        The newest values of the curves that `app.jobs.estimates` reads.
    """

    def of(run: JudgedRun) -> dict[str, Estimate]:
        return {each.name: each for each in list_estimates(run, latest(run.number))}

    first, second = of(a), of(b)
    name = next((each for each in first if each in second), None)  # its name says which documents it is of
    if name is None:
        return None
    estimates = ((of(one), of(two)) for one, two in seeds)
    gaps = [abs(one[name].value - two[name].value) for one, two in estimates if name in one and name in two]
    return JudgedPair(first[name], second[name], max(gaps, default=None))
