"""What is typical of a selection of documents compared with the rest: topics and words.

**Topics**: the difference of the shares of the selection and of the rest, as between two groups.

**Words**: the log odds ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn, "Fightin' words",
Political Analysis 16, 2008, eqs. 15-20).  With y_v occurrences of word v among the n tokens of the selection, y'_v and
n' in the rest, and the prior alpha_v = alpha_0 (y_v + y'_v) / (n + n'), it is

    delta_v = log (y_v + alpha_v) / (n + alpha_0 - y_v - alpha_v)
              - log (y'_v + alpha_v) / (n' + alpha_0 - y'_v - alpha_v).

The paper takes tokens to be independent, so that the variance of y_v is y_v.  Words come in bursts, which makes far too
many words significant.  So the variance of y_v is that of a sum over documents j,

    s_v = max(y_v, sum_j (y_jv - n_j y_v / n)^2),
    V(delta_v) = (s_v + alpha_v) / (y_v + alpha_v)^2 + (s'_v + alpha_v) / (y'_v + alpha_v)^2,

which is the paper's 1 / (y_v + alpha_v) + 1 / (y'_v + alpha_v) if tokens are independent.

Documents that a model explains badly: those whose words it expects least, compared with documents as long.

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
import scipy

from topiary.engine.contract import Array, Counts, FloatArray, IntArray
from topiary.engine.hierarchy.certainty import LEVEL, Interval
from topiary.engine.jit import compiled
from topiary.engine.lens.groups import compare_groups, measure_groups
from topiary.engine.lens.intervals import EffectTable
from topiary.engine.lens.moments import DocumentShares, Weighting
from topiary.engine.pool import cut_evenly, cut_rows

PRIOR_TOKENS = 500.0  # alpha_0
_N_PIECES = 8  # in which sums are computed, so that their last bits stay as they are


class WordSums(NamedTuple):
    """Sums over documents; those of a selection may be subtracted from those of all documents.

    Attributes
    ----------
    counts : (V,) float64
        Occurrences y_v of every word.
    squares : (V,) float64
        ``sum_j y_jv^2``.
    products : (V,) float64
        ``sum_j y_jv n_j``.
    documents : (V,) float64
        Number of documents with the word.
    tokens : float
        n, the sum of n_j.
    squared_tokens : float
        ``sum_j n_j^2``.
    """

    counts: FloatArray
    squares: FloatArray
    products: FloatArray
    documents: FloatArray
    tokens: float
    squared_tokens: float


def compare_topics(
    shares: DocumentShares, selected: Array, *, within: Array | None = None, by: Weighting = "tokens"
) -> EffectTable:
    """Return the differences (K,) of the shares of topics in a selection and in the rest.

    Parameters
    ----------
    shares : DocumentShares
        Of one layer.
    selected : (N,) bool array
        The selection.
    within : (N,) bool array, optional
        The rest are the other documents of this mask; by default of all.
    by
        As in :func:`engine.lens.groups.measure_groups`.
    """
    codes = np.where(selected, 0, 1)
    return compare_groups(measure_groups(shares, codes, 2, by=by, selected=within), 0, 1)


def sum_words(counts: Counts, n_words: int, selected: Array | None = None) -> WordSums:
    """Return the sums of the words of the selected documents.

    Parameters
    ----------
    counts : Counts
        Documents x words.
    n_words : int
        Size of the vocabulary, V.
    selected : (N,) bool array, optional
        By default all documents.
    """
    chosen = np.ones(counts.n_documents, dtype=bool) if selected is None else np.asarray(selected, dtype=bool)
    pieces = cut_rows(counts.starts, _N_PIECES)
    tables, lengths = np.zeros((max(len(pieces), 1), n_words, 4)), np.zeros(counts.n_documents)
    for piece, table in zip(pieces, tables, strict=False):
        _add_words(counts, chosen, *piece, lengths, table)
    total = tables[0]
    for table in tables[1:]:
        total += table
    words, squares, products, documents = np.ascontiguousarray(total.T)
    return WordSums(words, squares, products, documents, float(lengths.sum()), float(lengths @ lengths))


@compiled
def _add_words(counts: Counts, chosen: Array, first: int, last: int, lengths: FloatArray, table: FloatArray) -> None:
    """Write the lengths of the chosen documents of ``first:last`` and add their words to ``table`` (V, 4)."""
    for j in range(first, last):
        if not chosen[j]:
            continue
        length = 0.0
        for cell in range(counts.starts[j], counts.starts[j + 1]):
            length += counts.values[cell]
        lengths[j] = length
        for cell in range(counts.starts[j], counts.starts[j + 1]):
            row, count = table[counts.words[cell]], np.float64(counts.values[cell])
            row[0] += count
            row[1] += count * count
            row[2] += count * length
            row[3] += 1.0


def compare_words(selection: WordSums, everything: WordSums, prior_tokens: float = PRIOR_TOKENS) -> EffectTable:
    """Return the log odds ratios (V,) of words in a selection against the rest, in nats.

    Parameters
    ----------
    selection : WordSums
        Of the selection.
    everything : WordSums
        Of the selection and the rest together; computed once for a corpus.
    prior_tokens : float
        Weight alpha_0 of the prior, in tokens.

    Returns
    -------
    EffectTable
        ``documents`` (V,) are those of the selection with the word; there are as many comparisons as words in use, and
        words not in use, or all of them if the selection or the rest is empty, are nan.
    """
    rest = _subtract_words(everything, selection)
    documents = selection.documents.astype(np.int64)
    used = (everything.counts > 0) & (selection.tokens > 0) & (rest.tokens > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = np.where(used, prior_tokens * everything.counts / everything.tokens, np.nan)
        odds, other_odds = (_compute_log_odds(each, prior, prior_tokens) for each in (selection, rest))
        deviation = np.sqrt(_measure_variance(selection, prior) + _measure_variance(rest, prior))
        value = odds - other_odds
    comparisons = int(used.sum())
    interval, simultaneous = (_find_intervals(value, deviation, each) for each in (1, max(comparisons, 1)))
    return EffectTable(value, interval, simultaneous, documents, comparisons)


def _subtract_words(one: WordSums, other: WordSums) -> WordSums:
    """Return the sums of the documents that are in ``one`` and not in ``other``, a part of it."""
    return WordSums(
        one.counts - other.counts,
        one.squares - other.squares,
        one.products - other.products,
        one.documents - other.documents,
        one.tokens - other.tokens,
        one.squared_tokens - other.squared_tokens,
    )


def _compute_log_odds(sums: WordSums, prior: FloatArray, prior_tokens: float) -> FloatArray:
    """Return the posterior log odds of words; those of the only word in use are infinite."""
    counts = sums.counts + prior
    return np.log(counts) - np.log(sums.tokens + prior_tokens - counts)


def _measure_variance(sums: WordSums, prior: FloatArray) -> FloatArray:
    """Return the variance of the log odds of words."""
    rates = sums.counts / sums.tokens
    bursts = sums.squares - 2.0 * rates * sums.products + rates * rates * sums.squared_tokens
    return (np.maximum(sums.counts, bursts) + prior) / (sums.counts + prior) ** 2


def _find_intervals(value: FloatArray, deviation: FloatArray, comparisons: int) -> Interval:
    """Return the normal intervals of log odds ratios for so many comparisons at once."""
    half = -scipy.special.ndtri((1.0 - LEVEL) / 2.0 / comparisons) * deviation
    return Interval(value - half, value + half)


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
