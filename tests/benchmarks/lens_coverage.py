"""How often the intervals of groups and of time are right, on documents drawn with known shares.

Documents of a group are drawn from a Dirichlet distribution with the mean of the group, lengths from a log-normal one.
As in a run, shares below 1 % go into the rest, so the true share of a topic is the expectation of its stored share.
Printed are, by size of the group and of the share: how many 90 % intervals hold the true share, next to percentiles of
200 bootstrap draws; then the same of differences and of shares in months, with the part of the unchanged
topics that is listed as different or as grown or shrunk, and the part of the worlds in which any is.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from tests.benchmarks.report import parser, say
from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy.certainty import Interval
from topiary.engine.lens.groups import compare_groups, measure_groups
from topiary.engine.lens.intervals import EffectTable
from topiary.engine.lens.moments import DocumentShares
from topiary.engine.lens.periods import cut_periods, find_growth, measure_periods

N_TOPICS = 40
CONCENTRATION = 2.0  # of the shares of a document around the mean of its group; about five topics a document
LEAST = 0.01
SIZES = (10, 30, 100, 300, 1000)  # documents of a group
CLASSES = (("3% and more", 0.03, 1.0), ("1 to 3%", 0.01, 0.03), ("below 1%", 0.0, 0.01))
CHANGED = (0, 1, 6, 7, 15, 16)  # topics with a difference or a trend; of neighbours, one gains what the other loses
GAIN = 0.6  # of a topic's share, from one group to the other or from the first month to the last
MONTHS = 24
_DAY = 86_400_000


class Coverage(NamedTuple):
    """Whether each interval holds the truth, and what was listed: one row for each world.

    Attributes
    ----------
    inside : (worlds, ...) bool array
    truth : (...) float64
        True shares, by which topics are classed.
    listed : (worlds, K) bool array
        Topics listed as different.
    """

    inside: Array
    truth: FloatArray
    listed: Array


def make_means() -> FloatArray:
    """Return the mean shares of two groups, (2, K), which differ in the changed topics alone."""
    first = 1.0 / (np.arange(N_TOPICS) + 4.0)
    first /= first.sum()
    second = first.copy()
    for up, down in zip(CHANGED[::2], CHANGED[1::2], strict=True):
        second[up], second[down] = first[up] + GAIN * first[down], (1.0 - GAIN) * first[down]
    return np.stack([first, second])


def find_true_shares(means: FloatArray) -> FloatArray:
    """Return the expectations of stored shares, ``E[w 1(w >= LEAST)]``, given the means of the Dirichlet draws."""
    a, b = CONCENTRATION * means, CONCENTRATION * (1.0 - means)
    return np.asarray(means * special.betaincc(a + 1.0, b, LEAST))


def draw_shares(rng: np.random.Generator, means: FloatArray) -> DocumentShares:
    """Draw documents, given the mean shares of each (N, K)."""
    gammas = rng.gamma(CONCENTRATION * means)
    units = np.floor(gammas / gammas.sum(axis=1, keepdims=True) * 65535.0)
    units[units < LEAST * 65535.0] = 0.0
    rows, topics = np.nonzero(units)
    starts = np.searchsorted(rows, np.arange(len(means) + 1))
    tokens = np.maximum(rng.lognormal(4.0, 0.7, len(means)), 1.0).astype(np.int64)
    rest = (65535.0 - units.sum(axis=1)).astype(np.uint16)
    stored = units[rows, topics].astype(np.uint16)
    return DocumentShares(starts, topics.astype(np.int32), stored, rest, tokens, means.shape[1])


def cover_shares(rng: np.random.Generator, size: int, worlds: int) -> tuple[Coverage, Coverage]:
    """Measure the intervals of shares in one group, and those of the percentiles of bootstrap draws."""
    means = make_means()[0]
    truth = find_true_shares(means)
    inside, by_percentiles = [], []
    for _ in range(worlds):
        shares = draw_shares(rng, np.tile(means, (size, 1)))
        inside.append(_holds(measure_groups(shares, np.zeros(size, int), 1).find_intervals(), truth)[0])
        by_percentiles.append(_holds(_find_percentiles(rng, shares), truth))
    nothing = np.zeros((worlds, 0), bool)
    return Coverage(np.array(inside), truth, nothing), Coverage(np.array(by_percentiles), truth, nothing)


def _find_percentiles(rng: np.random.Generator, shares: DocumentShares) -> Interval:
    """Return the 5 % and 95 % percentiles of 200 Poisson-bootstrap draws."""
    table = np.zeros((len(shares.tokens), shares.n_topics))
    table[np.repeat(np.arange(len(table)), np.diff(shares.starts)), shares.topics] = shares.units / 65535.0
    drawn = rng.poisson(1.0, (200, len(table))) * shares.tokens
    drawn = drawn[drawn.any(axis=1)]
    return Interval(*np.quantile(drawn @ table / drawn.sum(axis=1, keepdims=True), [0.05, 0.95], axis=0))


def cover_differences(rng: np.random.Generator, sizes: tuple[int, int], worlds: int) -> Coverage:
    """Measure the differences of two groups."""
    means = make_means()
    codes = np.repeat([0, 1], sizes)
    truth = find_true_shares(means)
    tables = []
    for _ in range(worlds):
        groups = measure_groups(draw_shares(rng, means[codes]), codes, 2)
        tables.append(compare_groups(groups, 1, 0))
    return _gather_tables(tables, truth[1] - truth[0], truth[0])


def cover_time(rng: np.random.Generator, size: int, worlds: int) -> tuple[Coverage, Coverage]:
    """Measure shares in months under a linear trend, and what grew or shrank."""
    ends = make_means()
    steps = np.arange(MONTHS)[:, None] / (MONTHS - 1)
    means = (1.0 - steps) * ends[0] + steps * ends[1]
    truth = find_true_shares(means)
    starts = (np.arange(MONTHS) + 30 * 12).astype("datetime64[M]").astype("datetime64[ms]").astype(np.int64)
    third = MONTHS // 3
    difference = truth[-third:].mean(axis=0) - truth[:third].mean(axis=0)
    inside, tables = [], []
    for _ in range(worlds):
        months = rng.permutation(np.arange(size) % MONTHS)
        dates = starts[months] + rng.integers(0, 28, size) * _DAY
        shares = draw_shares(rng, means[months])
        inside.append(_holds(measure_periods(shares, cut_periods(dates, "month")).find_intervals(), truth))
        tables.append(find_growth(shares, dates).effects)
    nothing = np.zeros((worlds, 0), bool)
    return Coverage(np.array(inside), truth, nothing), _gather_tables(tables, difference, truth[0])


def _gather_tables(tables: Sequence[EffectTable], difference: FloatArray, truth: FloatArray) -> Coverage:
    inside = [_holds(table.interval, difference) for table in tables]
    return Coverage(np.array(inside), truth, np.array([table.beyond for table in tables]))


def _holds(interval: Interval, truth: FloatArray) -> Array:
    """Return whether each interval holds the true value."""
    return np.asarray((interval.low <= truth) & (truth <= interval.high))


def count_false(listed: Array) -> tuple[float, float, float]:
    """Return the parts of unchanged topics listed, of worlds with any of these, and of changed topics listed."""
    changed = np.isin(np.arange(listed.shape[1]), CHANGED)
    return (
        float(listed[:, ~changed].mean()),
        float(listed[:, ~changed].any(axis=1).mean()),
        float(listed[:, changed].mean()),
    )


def _describe(coverage: Coverage) -> str:
    """Return the coverage by classes of shares, and of what is listed."""
    parts = [
        f"{coverage.inside[:, (coverage.truth >= low) & (coverage.truth < high)].mean():10.1%}"
        for _, low, high in CLASSES
    ]
    if coverage.listed.shape[1]:
        unchanged, worlds, changed = count_false(coverage.listed)
        parts.append(f"   false: {unchanged:.2%} of unchanged topics, in {worlds:.1%} of worlds; found: {changed:.0%}")
    return "  ".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the reliability table."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--worlds", type=int, default=200)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="documents of a group")
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args(argv)
    rng = np.random.default_rng(arguments.seed)
    say(f"{arguments.worlds} worlds of {N_TOPICS} topics; 90% intervals that hold the true value, by the true share")
    say(f"{'':34s}" + "  ".join(f"{name:>10s}" for name, _, _ in CLASSES))
    for size in arguments.sizes:
        ours, percentiles = cover_shares(rng, size, arguments.worlds)
        say(f"{f'share, {size:,} documents':34s}{_describe(ours)}")
        say(f"{'  percentiles of 200 draws':34s}{_describe(percentiles)}")
    for size in arguments.sizes:
        coverage = cover_differences(rng, (size, 3 * size), arguments.worlds)
        say(f"{f'difference, {size:,} and {3 * size:,}':34s}{_describe(coverage)}")
    for size in arguments.sizes:
        months, growth = cover_time(rng, size * MONTHS, arguments.worlds)
        say(f"{f'{MONTHS} months, {size:,} documents in each':34s}{_describe(months)}")
        say(f"{'  last third minus first':34s}{_describe(growth)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
