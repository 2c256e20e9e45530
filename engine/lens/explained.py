"""Documents that a model explains badly: those whose words it expects least, compared with documents as long.

The measure of a document is its mean log rate per token, ``sum_v x_jv log(rate_jv) / n_j``.  It depends on the length:
topics fit the few words of a short document more closely.  So documents are sorted by length and cut into strata of
about equal numbers, and the measure is standardised within each by

    z_j = (measure_j - median) / (interquartile range / 1.349),

which the outliers that are looked for do not disturb; 1.349 is the interquartile range of a standard normal variable.

With the shares w_jk of layer 1 that are kept, and the rest w_j0, which is spread over all topics as in the whole
corpus, the rate of word v in document j is, up to the length of the document,

    rate_jv = sum_k w_jk phi_vk + w_j0 p_v.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, Counts, FloatArray, IntArray
from topiary.engine.jit import compiled
from topiary.engine.lens.moments import DocumentShares
from topiary.engine.pool import cut_evenly

LISTED = 0.02  # share of the documents that is listed
STRATUM = 200  # least number of documents in a stratum, if there are as many
_MOST_STRATA = 20
_LEAST_RATE = 1e-12  # so that a word that no topic has does not count as infinitely unexpected
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


def measure_log_rates(phi: FloatArray, everywhere: FloatArray, shares: DocumentShares, counts: Counts) -> FloatArray:
    """Return the mean log rate per token of documents, (N,), in nats; nan for a document without tokens.

    Parameters
    ----------
    phi : (V, K) float64
        Topics of layer 1.
    everywhere : (V,) float64
        Share p_v of every word in the whole corpus.
    shares : DocumentShares
        Shares of these topics in the N documents.
    counts : Counts
        Words and counts of the same documents.
    """
    log_rates = np.full(len(shares.rest), np.nan)
    _average_log_rates(np.ascontiguousarray(phi), everywhere, shares, counts, log_rates)
    return log_rates


@compiled
def _average_log_rates(
    phi: FloatArray, everywhere: FloatArray, shares: DocumentShares, counts: Counts, log_rates: FloatArray
) -> None:
    """Write the mean log rate per token of every document with tokens to ``log_rates``."""
    for j in range(len(log_rates)):
        total, tokens = 0.0, 0.0
        for cell in range(counts.starts[j], counts.starts[j + 1]):
            word = counts.words[cell]
            rate = everywhere[word] * (shares.rest[j] / 65535.0)
            for entry in range(shares.starts[j], shares.starts[j + 1]):
                rate += phi[word, shares.topics[entry]] * (shares.units[entry] / 65535.0)
            total += counts.values[cell] * np.log(max(rate, _LEAST_RATE))
            tokens += counts.values[cell]
        if tokens > 0.0:
            log_rates[j] = total / tokens


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
