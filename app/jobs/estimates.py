"""Estimates of how well a run predicts held-out words: the plateau of its curve, and its headline estimate.

Every page, command and export that shows one figure for a run takes it from :func:`choose_headline` and calls it by
the name defined here, so that two places never show different figures under one name.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.app.jobs.plan import VALIDATION, RunOptions, describe_protocol, find_part, plan_averaging
from topiary.app.names import COMING
from topiary.store import points
from topiary.store.database import Database
from topiary.store.run_rows import FINAL_MEASURES, RunRow

Array: TypeAlias = NDArray[Any]
Curve: TypeAlias = Sequence[tuple[int, float]] | Array  # an array has a row (step, value) for each point

WINDOW = 1 / 3  # share of the steps over which a curve must improve
GAIN = 0.003  # least improvement, relative to the lowest mean before the window
LEAST_POINTS = 3  # in the window and before it; fewer do not stand out from the noise
LEAST_SWEEPS = 150  # before a run ends at its plateau: topics still separate when perplexity hardly falls
SMOOTH = 3  # points in a mean
RISE = 0.02  # of a curve above its lowest mean, relative, from which a run overfits
STILL_FALLING = "still falling"
NEAR = 0.02  # relative distance to the lowest value of a curve at which the run has burnt in

CONCENTRATIONS = ("eta", "alpha", "beta", "gamma0", "c0")  # names of the curves of those that a run may learn
LEARNING = ("learn_concentrations", "sample_gamma0")  # settings of which one is on in such a run


def find_plateau(curve: Curve) -> int | None:
    """Return the step since which a curve has not improved; None while it falls, or if it has too few points.

    Parameters
    ----------
    curve : sequence of (step, value), or such an array
        Ascending steps; lower values are better, and values that are not finite are ignored.

    Returns
    -------
    int or None
        The last step before the first window with less improvement than ``GAIN`` that no window with more follows.
    """
    steps, values = _read_points(curve)
    if len(steps) < 2 * LEAST_POINTS:
        return None
    ends = np.arange(1, len(steps) + 1)
    window_starts = _find_windows(steps)
    long_enough = np.minimum(window_starts, ends - window_starts) >= LEAST_POINTS
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means = np.convolve(values, np.full(SMOOTH, 1 / SMOOTH), "valid")
    lowest = np.concatenate([np.full(SMOOTH, math.inf), np.minimum.accumulate(means)])
    is_flat = long_enough & (
        (sums[ends] - sums[window_starts]) / np.maximum(ends - window_starts, 1) > lowest[window_starts] * (1 - GAIN)
    )
    falling = np.flatnonzero(~is_flat)
    first = falling[-1] + 1 if len(falling) else 0
    return None if first == len(is_flat) else int(steps[window_starts[first] - 1])


def find_overfitting(curve: Curve, errors: Curve = ()) -> int | None:
    """Return the step at which a curve was lowest if it has risen since by more than ``RISE``, else None.

    Both are means of ``SMOOTH`` points, so that one point that is high or low by chance decides nothing.

    Parameters
    ----------
    curve : sequence of (step, value), or such an array
        As in :func:`find_plateau`.
    errors : sequence of (step, value), or such an array
        The label error of a run that learns labels.  Labels cost perplexity, so such a run overfits only if this curve
        does not improve either, and the step is that of its last lowest mean.
    """
    means = _average_neighbours(curve)
    if len(means) <= SMOOTH or means[-1, 1] <= means[:, 1].min() * (1 + RISE):
        return None
    if len(errors) and find_plateau(errors) is None:
        return None
    means = _average_neighbours(errors if len(errors) else curve)
    return int(means[means[:, 1] == means[:, 1].min(), 0][-1])


def _average_neighbours(curve: Curve) -> Array:
    """Return means of ``SMOOTH`` neighbouring points of a curve, each at the step of the middle one."""
    steps, values = _read_points(curve)
    if len(steps) < SMOOTH:
        return np.zeros((0, 2))
    means = np.convolve(values, np.full(SMOOTH, 1 / SMOOTH), "valid")
    return np.stack([steps[SMOOTH // 2 :][: len(means)], means], axis=1)


def has_settled(curve: Curve, swept: int) -> bool:
    """Return whether a run that sweeps all documents may end: it has made enough sweeps and its curve is flat."""
    return swept >= LEAST_SWEEPS and find_plateau(curve) is not None


def find_burn_in(curve: Curve) -> int | None:
    """Return the step at which a curve first comes within ``NEAR`` of its lowest value; None without points."""
    steps, values = _read_points(curve)
    near = np.flatnonzero(values <= values.min(initial=math.inf) * (1 + NEAR))
    return int(steps[near[0]]) if len(near) else None


def describe_trend(curve: Curve) -> str:
    """Describe a curve: ``still falling``, ``no longer improving since step 210``, or "" if it is too short."""
    since = find_plateau(curve)
    if since is not None:
        return f"no longer improving since step {since:,}"
    steps, _ = _read_points(curve)
    n_before = _find_windows(steps)[-1] if len(steps) else 0
    return STILL_FALLING if min(n_before, len(steps) - n_before) >= LEAST_POINTS else ""


def _read_points(curve: Curve) -> tuple[Array, Array]:
    """Return the steps and values of the points with a finite value."""
    points = np.asarray(curve, dtype=np.float64).reshape(-1, 2)
    steps, values = points[np.isfinite(points[:, 1])].T
    return steps.astype(np.int64), values


def _find_windows(steps: Array) -> Array:
    """Return the number of points before the window that ends at each point."""
    return np.searchsorted(steps, steps * (1 - WINDOW), side="right")


AVERAGED, MEAN, POINT = "averaged_perplexity", "mean_perplexity", "point_perplexity"
TEST_MEAN, TEST_POINT = "test_mean_perplexity", "test_point_perplexity"  # of a run with a validation curve
ESTIMATE_NAMES = {  # the best estimate first
    AVERAGED: "averaged perplexity",
    TEST_MEAN: "test perplexity of the mean topics",
    TEST_POINT: "test point perplexity",
    MEAN: "perplexity of the mean topics",
    POINT: "point perplexity",
}
LOGLIK_NAMES = {
    "averaged_loglik": "averaged log-likelihood",
    "test_mean_loglik": "test log-likelihood of the mean topics",
    "test_point_loglik": "test point log-likelihood",
    "mean_loglik": "log-likelihood of the mean topics",
    "heldout_loglik": "point log-likelihood",
}
_OF_CURVE = (MEAN, POINT, "mean_loglik", "heldout_loglik")  # estimates on the documents of the curve
CURVES = (TEST_MEAN, TEST_POINT, MEAN, *LOGLIK_NAMES)  # estimates that are not stored in the row of a run
KINDS = {  # kind of an estimate by each of its names
    **{name: kind for kind, name in (ESTIMATE_NAMES | LOGLIK_NAMES).items()},
    **{f"{VALIDATION} {(ESTIMATE_NAMES | LOGLIK_NAMES)[kind]}": kind for kind in _OF_CURVE},
}
_MEAN_TOPICS = "Topics: the mean over the last samples, which the pages show"
_LAST_TOPICS = "Topics: those of the last step alone"


class Estimate(NamedTuple):
    """One estimate of how well a run predicts held-out words.

    Attributes
    ----------
    kind : str
        Name of its curve in the store.
    name : str
        Name for users.
    protocol : str
        Its topics, documents and sweeps, in one or two sentences.
    """

    kind: str
    name: str
    value: float
    protocol: str

    @property
    def lower_is_better(self) -> bool:
        """Whether it is a perplexity."""
        return self.kind in ESTIMATE_NAMES

    @property
    def at_end(self) -> bool:
        """Whether it is made on test documents at the end of a run whose curve is of validation documents."""
        return self.kind in FINAL_MEASURES

    @property
    def figure(self) -> str:
        """The value as text: one decimal below ten thousand, else none; three for a log-likelihood."""
        digits = 3 if not self.lower_is_better else 1 if self.value < 10_000 else 0
        return f"{self.value:,.{digits}f}"

    def __str__(self) -> str:
        """Return name and figure: ``perplexity of the mean topics 812.3``."""
        return f"{self.name} {self.figure}"


def list_estimates(run: RunRow, latest: Mapping[str, float | None]) -> list[Estimate]:
    """Return all estimates of a run, its headline first.

    Estimates on test documents are left out while a run is queued or running, for instance after it was resumed.

    Parameters
    ----------
    run : RunRow
        A row of the store.
    latest : mapping of str to float or None
        Newest value of each curve of :data:`CURVES`.
    """
    values: dict[str, float | None] = {name: latest.get(name) for name in (*ESTIMATE_NAMES, *LOGLIK_NAMES)}
    values |= {AVERAGED: run.averaged_perplexity, POINT: run.point_perplexity}
    estimates = [
        Estimate(kind, find_estimate_name(run, kind), value, describe_estimate(run, kind))
        for kind in ESTIMATE_NAMES | LOGLIK_NAMES
        if (value := values[kind]) is not None and value == value  # noqa: PLR0124 - not a number
    ]
    return [estimate for estimate in estimates if not estimate.at_end or run.state not in COMING]


def find_estimate_name(run: Any, kind: str) -> str:
    """Return the name of an estimate of a run (a row of the store), marked as validation if its curve is."""
    name = (ESTIMATE_NAMES | LOGLIK_NAMES)[kind]
    return f"{VALIDATION} {name}" if kind in _OF_CURVE and find_part(run) == VALIDATION else name


def choose_headline(run: RunRow, latest: Mapping[str, float | None]) -> Estimate | None:
    """Return the best estimate of a run (averaged, on test documents, of the mean topics, or of the last step)."""
    return next(iter(list_estimates(run, latest)), None)


def choose_alike(each_run: Sequence[Sequence[Estimate]]) -> list[Estimate | None]:
    """Return an estimate for each run, from all it has, of one kind: the best that most of them have."""
    kinds = Counter(estimate.kind for estimates in each_run for estimate in estimates)
    order = list(ESTIMATE_NAMES | LOGLIK_NAMES)
    kind = max(kinds, key=lambda kind: (kinds[kind], -order.index(kind)), default="")
    return [next((each for each in estimates if each.kind == kind), None) for estimates in each_run]


def summarize_estimate(run: RunRow, best: Estimate, trend: str) -> str:
    """Describe the headline of a run, its protocol and the trend of its curve in one line.

    Parameters
    ----------
    best : Estimate
        The headline of the run.
    trend : str
        Trend of the curve of the point estimate, such as "still falling"; may be empty.
    """
    samples = f"{_count_samples(run)[1]:,} samples, all test documents"
    protocol = samples if best.kind.startswith("averaged") else describe_protocol(run, at_end=best.at_end)
    if not trend:
        return f"{best} ({protocol})"
    return (
        f"{best} ({protocol}), {trend}"
        if best.kind == POINT
        else f"{best} ({protocol}); {find_estimate_name(run, POINT)} {trend}"
    )


def describe_estimate(run: RunRow, kind: str) -> str:
    """Describe the protocol of one estimate of a run."""
    better = "lower is better" if kind in ESTIMATE_NAMES else "higher is better"
    if kind.startswith("averaged"):
        first, samples = _count_samples(run)
        return (
            f"Held-out words, {better}. Rates averaged over {samples:,} samples, those of mini-batches "
            f"{first:,} to {first + max(0, samples - 1):,}; all test documents, one sweep for each "
            "sample: the protocol of published tables"
        )
    topics = _MEAN_TOPICS if "mean" in kind else _LAST_TOPICS
    return f"Held-out words, {better}. {topics}. {describe_protocol(run, at_end=kind in FINAL_MEASURES)}"


def _count_samples(run: RunRow) -> tuple[int, int]:
    """Return the first mini-batch whose rates are averaged, and the number of averaged mini-batches so far."""
    options = RunOptions.from_json({"minibatches": max(1, run.minibatch)} | run.options)
    window = plan_averaging(options.minibatches, options.burn_in, options.samples)
    return window.first, max(0, min(run.minibatch, window.last) - window.first + 1)


def read_latest(db: Database, run: int) -> dict[str, float]:
    """Return the newest value of each of ``CURVES`` that a run has, by name."""
    return points.read_newest_values(db, run, CURVES)


def read_concentrations(db: Database, row: RunRow) -> dict[str, float]:
    """Return the newest concentrations that a run has learnt, such as ``{"eta_1": 0.04, "gamma0": 2.0}``."""
    learnt: dict[str, float] = {}
    for name in CONCENTRATIONS if any(row.settings.get(name) for name in LEARNING) else ():
        newest = points.read_newest(db, row.number, name)
        learnt |= {f"{name}_{layer}" if layer else name: value for layer, value in newest.items()}
    return learnt


def read_all_latest(db: Database) -> dict[int, dict[str, float]]:
    """Return the newest value of each of ``CURVES``, by run and name, with one query for each curve."""
    latest: dict[int, dict[str, float]] = {}
    for name in CURVES:
        for run, curve in points.read_curves(db, name).items():
            latest.setdefault(run, {})[name] = curve[-1][1]
    return latest
