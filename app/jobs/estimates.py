"""How well a run predicts held-out words: the estimates there are of it, and the one that stands for the run.

Every page, command and export that shows one figure of a run takes it from :func:`headline` and names it as it is
named here, so that two places never show two figures under one name.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from app.jobs.plan import RunOptions, averaging
from app.jobs.protocol import protocol_words

AVERAGED, MEAN, POINT = "averaged_perplexity", "mean_perplexity", "point_perplexity"
NAMES = {  # the best estimate first
    AVERAGED: "averaged perplexity",
    MEAN: "perplexity of the mean topics",
    POINT: "point perplexity",
}
LOGLIK = {
    "averaged_loglik": "averaged log-likelihood",
    "mean_loglik": "log-likelihood of the mean topics",
    "heldout_loglik": "point log-likelihood",
}
CURVES = (MEAN, *LOGLIK)  # those that do not stand in the row of a run
_MEAN_OF = "Topics: the mean over the last 20 samples, which the pages show"
_POINT_OF = "Topics: those of the last step alone"


class Judged(Protocol):
    """What an estimate wants of a run (a row of the store fits)."""

    @property
    def number(self) -> int: ...  # noqa: D102
    @property
    def minibatch(self) -> int: ...  # noqa: D102
    @property
    def options(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def point_perplexity(self) -> float | None: ...  # noqa: D102
    @property
    def averaged_perplexity(self) -> float | None: ...  # noqa: D102


class Estimate(NamedTuple):
    """One estimate of how well a run predicts held-out words.

    Attributes
    ----------
    kind : str
        The name of its curve in the store.
    name : str
        What people call it.
    value : float
    protocol : str
        Topics, test documents and sweeps behind it, in one or two sentences.
    """

    kind: str
    name: str
    value: float
    protocol: str

    @property
    def lower_is_better(self) -> bool:
        """Whether it is a perplexity."""
        return self.kind in NAMES

    @property
    def figure(self) -> str:
        """The value as it is written everywhere: one decimal below ten thousand, three of a log-likelihood."""
        digits = 3 if not self.lower_is_better else 1 if self.value < 10_000 else 0
        return f"{self.value:,.{digits}f}"

    def __str__(self) -> str:
        """Say it: ``perplexity of the mean topics 812.3``."""
        return f"{self.name} {self.figure}"


def estimates(run: Judged, latest: Mapping[str, float | None]) -> list[Estimate]:
    """Every estimate there is of a run, the one that stands for it first.

    Parameters
    ----------
    run : Judged
        A row of the store.
    latest : mapping of str to float or None
        The newest values of its curves of :data:`CURVES`.
    """
    values: dict[str, float | None] = {name: latest.get(name) for name in (*NAMES, *LOGLIK)}
    values |= {AVERAGED: run.averaged_perplexity, POINT: run.point_perplexity}
    names = NAMES | LOGLIK
    return [
        Estimate(kind, name, value, protocol_of(run, kind))
        for kind, name in names.items()
        if (value := values[kind]) is not None and value == value  # noqa: PLR0124 - not a number
    ]


def headline(run: Judged, latest: Mapping[str, float | None]) -> Estimate | None:
    """The estimate that stands for a run: the averaged one, else that of the mean topics, else the point estimate."""
    return next(iter(estimates(run, latest)), None)


def in_short(run: Judged, best: Estimate, trend: str) -> str:
    """Say the estimate that stands for a run, what it is of, and how the live curve goes on, in a line.

    Parameters
    ----------
    run : Judged
    best : Estimate
        That of the run.
    trend : str
        Of the point estimate, whose curve it is: "still falling", or empty.
    """
    samples = f"{_collected(run)[1]:,} samples, all test documents"
    of = samples if best.kind.startswith("averaged") else protocol_words(run)
    if not trend:
        return f"{best} ({of})"
    return f"{best} ({of}), {trend}" if best.kind == POINT else f"{best} ({of}); {NAMES[POINT]} {trend}"


def protocol_of(run: Judged, kind: str) -> str:
    """What one estimate of a run is of."""
    better = "lower is better" if kind in NAMES else "higher is better"
    if kind.startswith("averaged"):
        first, samples = _collected(run)
        return (
            f"Held-out words, {better}. Rates averaged over {samples:,} samples, those of mini-batches "
            f"{first:,} to {first + max(0, samples - 1):,}; all test documents, one sweep for each "
            "sample: the protocol of published tables"
        )
    topics = _MEAN_OF if kind.startswith("mean") else _POINT_OF
    return f"Held-out words, {better}. {topics}. {protocol_words(run)}"


def _collected(run: Judged) -> tuple[int, int]:
    """The first mini-batch whose rates are averaged, and how many there are so far."""
    order = RunOptions.from_json({"minibatches": max(1, run.minibatch)} | run.options)
    window = averaging(order.minibatches, order.burn_in, order.samples)
    return window.first, max(0, min(run.minibatch, window.last) - window.first + 1)
