"""Decreasing step sizes of stochastic-gradient MCMC."""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Facts, FloatArray
from topiary.engine.settings import STEP_SIZES, setting

MOST_SWEPT = 30_000_000  # tokens: then a sweep takes about two seconds on two cores, and its state about 100 MB


class Schedule(NamedTuple):
    """``eps_t = first ((tau + t) / (tau + 1))^-kappa`` for mini-batches t = 1, 2, ...; ``eps_1 = first``.

    This is the form of the DLDA authors; the paper's ``a (1 + t / b)^-c`` has ``first = a ((b + 1) / b)^-c``.
    """

    first: float = 1.0
    tau: float = 20.0
    kappa: float = 0.7


def step_size(schedule: Schedule, t: int) -> float:
    """Return ``eps_t`` of mini-batch ``t``, counted from 1."""
    return float(schedule.first * ((schedule.tau + t) / (schedule.tau + 1.0)) ** -schedule.kappa)


def update_average(old: FloatArray, new: FloatArray, rate: float) -> FloatArray:
    """Return a running average M after one more estimate; an average that is all zero becomes the first estimate."""
    return np.asarray((1.0 - rate) * old + rate * new) if old.any() else new


def find_sweeps_start(facts: Facts) -> int | None:
    """Return the number of mini-batches after which an ``auto`` run continues with sweeps; None if it never does.

    Topics start as clusters of documents (:mod:`engine.first_topics`), so sweeps begin at once: mini-batches before
    them made topics worse on both corpora measured (see the measurements in the guide).  Corpora too large for sweeps
    of a few seconds stay with mini-batches.

    Parameters
    ----------
    facts : Facts
        Sizes of the corpus.
    """
    return None if facts.n_tokens > MOST_SWEPT else 0


def first_setting() -> Any:
    """Return the field ``step`` of a Config."""
    return setting(
        1.0, STEP_SIZES, "First step size", "eps_1 of eps_t = eps_1 ((tau + t)/(tau + 1))^-kappa.", low=1e-9, high=100
    )


def delay_setting() -> Any:
    """Return the field ``tau`` of a Config."""
    return setting(20.0, STEP_SIZES, "Step delay tau", "Larger: steps stay large for longer.", low=0, high=1e6)


def decay_setting() -> Any:
    """Return the field ``kappa`` of a Config."""
    return setting(0.7, STEP_SIZES, "Step decay kappa", "How fast steps shrink.", low=0, high=1)


def scale_setting() -> Any:
    """Return the field ``scale_step`` of a Config."""
    return setting(
        0.5,
        STEP_SIZES,
        "Preconditioner step",
        "eps'_t / eps_t of the running averages M (the authors' code halves it).",
        low=1e-6,
        high=1,
    )
