"""Documents that a model explains badly: those whose words it expects least, compared with documents as long.

The measure of a document is its mean log rate per token, ``sum_v x_jv log(rate_jv) / n_j``.  It depends on the length:
topics fit the few words of a short document more closely.  So documents are sorted by length and cut into strata of
about equal numbers, and the measure is standardised within each by

    z_j = (measure_j - median) / (interquartile range / 1.349),

which the outliers that are looked for do not disturb; 1.349 is the interquartile range of a standard normal variable.
"""

from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray, IntArray
from engine.pool import cut_evenly

LISTED = 0.02  # share of the documents that is listed
STRATUM = 200  # least number of documents in a stratum, if there are as many
_MOST_STRATA = 20
_NORMAL_RANGE = 1.349  # interquartile range of a standard normal variable


class BadlyExplained(NamedTuple):
    """Documents that a model explains badly.

    Attributes
    ----------
    documents : (m,) int64
        Numbers of the documents with the lowest scores, the lowest first.
    scores : (N,) float64
        Standardised measure z_j of every document; nan for documents without tokens or measure.
    """

    documents: IntArray
    scores: FloatArray


def find_badly_explained(log_rates: Array, tokens: Array, listed: float = LISTED) -> BadlyExplained:
    """Return the documents with the lowest mean log rate per token among documents of similar length.

    Parameters
    ----------
    log_rates : (N,) float64
        Mean log rate per token of every document, in nats; nan if it is not known.
    tokens : (N,) array
        Number of tokens of every document.
    listed : float
        Share of the documents to list, rounded up to whole documents.
    """
    measure = np.asarray(log_rates, dtype=np.float64)
    scores = np.full(len(measure), np.nan)
    known = np.flatnonzero(np.isfinite(measure) & (np.asarray(tokens) > 0))
    order = known[np.argsort(np.asarray(tokens)[known], kind="stable")]
    for first, last in cut_evenly(len(order), min(_MOST_STRATA, len(order) // STRATUM)) if len(order) else ():
        stratum = order[first:last]
        low, middle, high = np.quantile(measure[stratum], [0.25, 0.5, 0.75])
        scale = (high - low) / _NORMAL_RANGE
        scores[stratum] = (measure[stratum] - middle) / scale if scale > 0 else 0.0
    worst = known[np.argsort(scores[known], kind="stable")]
    return BadlyExplained(worst[: int(np.ceil(listed * len(known)))], scores)
