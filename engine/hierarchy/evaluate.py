"""Prediction of held-out tokens: point and averaged perplexity (models.md 1.4, DLDA section 4)."""

from typing import Any

import numpy as np

from topiary.engine.contract import Batch, FloatArray, Kernel, Rates, Sweeps

POINT = Sweeps(burn_in=200, collect=400, thin=2)  # point perplexity as in the papers: 200 samples from 600 sweeps
SHORT = Sweeps(burn_in=20, collect=20)  # for curves, which are evaluated many times during a run


def compute_perplexity(rates: Rates, scored: Batch) -> float:
    """Return the perplexity per held-out word, ``exp(-(1/y_..) sum y_vj ln(R_vj / R_.j))``; nan without tokens."""
    return float(np.exp(-_average_log(rates, scored, scored.counts)))


def compute_log_likelihood(rates: Rates, scored: Batch) -> float:
    """Return the mean log-probability (density) of a held-out cell, for the binary and real-valued links."""
    return _average_log(rates, scored, np.ones(len(scored.words)))


def score_held_out(kernel: Kernel, rates: Rates, scored: Batch) -> float:
    """Return the score of held-out tokens by the model's own measure, ``kernel.measure``."""
    return (
        compute_perplexity(rates, scored) if kernel.measure == "perplexity" else compute_log_likelihood(rates, scored)
    )


def evaluate_point(
    kernel: Kernel, seed: int, state: Any, observed: Batch, scored: Batch, sweeps: Sweeps = POINT
) -> float:
    """Return the score of the current topics, with new local chains on ``observed`` and topics fixed.

    The chains use the same random numbers whenever the same documents are evaluated, so that a curve shows changes of
    the topics and not of the random numbers.
    """
    chain = kernel.start_chain(seed, state, observed)
    _, rates = kernel.advance_chain(seed, state, chain, observed, scored, sweeps)
    return score_held_out(kernel, rates, scored)


def _average_log(rates: Rates, scored: Batch, weights: FloatArray) -> float:
    """Return the weighted mean of ``ln(cell / total)`` over the scored cells; nan without cells."""
    if len(scored.words) == 0:
        return float("nan")
    totals = np.repeat(rates.totals, np.diff(scored.starts))
    shares = np.maximum(rates.cells, np.finfo(np.float64).tiny) / totals
    return float(np.sum(weights * np.log(shares)) / np.sum(weights))
