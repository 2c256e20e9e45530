"""Shares of topics by category, label or number: groups and effect tables.

The effect of a group is the difference of its share and that of the rest, or of a reference group:

    E_gk = R_gk - R_rk.

Intervals and comparisons are those of :mod:`engine.lens.intervals`.

The Poisson bootstrap of shares over documents, for groups with few documents.

In every draw b document j counts m_j^b ~ Poisson(1) times, and the share of topic k in a group G is

    R_k^b = sum_{j in G} m_j^b a_j w_jk / sum_{j in G} m_j^b a_j.

The numbers of document j come from a stream of its own, addressed by the number of the document in the corpus.  So they
depend neither on the other documents of the group nor on the number of threads.
"""

from typing import NamedTuple

import numpy as np
import scipy

from topiary.engine import streams
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.hierarchy.certainty import Interval
from topiary.engine.jit import compiled
from topiary.engine.lens.intervals import (
    MANY,
    EffectTable,
    GroupShares,
    estimate_shares,
    select_groups,
    subtract_shares,
)
from topiary.engine.lens.moments import (
    DocumentShares,
    SampledShares,
    ShareSums,
    Weighting,
    assign_groups,
    sum_moments,
    weigh_documents,
)
from topiary.engine.streams import draw_uniform, start_stream

DRAWS = 200
SEED = 1
_NO_EVENT = float(np.exp(-1.0))  # P(m = 0) of a Poisson variable with mean 1


def draw_variances(
    seed: int, shares: DocumentShares, weights: FloatArray, order: IntArray, ranges: IntArray
) -> FloatArray:
    """Return the variances of the shares of groups over ``DRAWS`` Poisson-bootstrap draws.

    Parameters
    ----------
    seed : int
    shares : DocumentShares
    weights : (N,) float64
        Weight a_j of every document.
    order : (n,) int array
        Numbers of documents; each group is a contiguous part of it, and groups may overlap.
    ranges : (G, 2) int array
        First position of each group in ``order``, and the position after its last.

    Returns
    -------
    (G, K + 1) float64
        The last column is for the rest of the documents.  Draws without any document are left out.
    """
    variances = np.zeros((len(ranges), shares.n_topics + 1))
    _draw_groups(seed, shares, weights, order, ranges, variances)
    return variances


@compiled
def _draw_groups(
    seed: int, shares: DocumentShares, weights: FloatArray, order: Array, ranges: Array, variances: FloatArray
) -> None:
    """Write the variances of all groups."""
    sums = np.empty((shares.n_topics + 1, DRAWS))
    totals, drawn = np.empty(DRAWS), np.empty(DRAWS)
    for group in range(len(ranges)):
        sums[:] = 0.0
        totals[:] = 0.0
        for place in range(ranges[group, 0], ranges[group, 1]):
            j = order[place]
            _draw_counts(seed, j, drawn)
            for b in range(DRAWS):
                drawn[b] *= weights[j]
                totals[b] += drawn[b]
            for entry in range(shares.starts[j], shares.starts[j + 1]):
                _add_multiple(sums[shares.topics[entry]], shares.units[entry] / 65535.0, drawn)
            _add_multiple(sums[shares.n_topics], shares.rest[j] / 65535.0, drawn)
        for topic in range(shares.n_topics + 1):
            variances[group, topic] = _measure_variance(sums[topic], totals)


@compiled
def _draw_counts(seed: int, document: int, drawn: FloatArray) -> None:
    """Fill ``drawn`` with the Poisson(1) counts of a document, by inversion."""
    rng = start_stream(seed, streams.BOOTSTRAP, 0, document)
    for b in range(len(drawn)):
        uniform, rng = draw_uniform(rng)
        count, probability = 0, _NO_EVENT
        while uniform >= probability and count < 20:
            uniform -= probability
            count += 1
            probability /= count
        drawn[b] = count


@compiled
def _add_multiple(total: FloatArray, share: float, drawn: FloatArray) -> None:
    """Add ``share * drawn`` to ``total``."""
    for b in range(len(drawn)):
        total[b] += share * drawn[b]


@compiled
def _measure_variance(sums: FloatArray, totals: FloatArray) -> float:
    """Return the variance of ``sums / totals`` over the draws with a total above 0; 0 with fewer than two."""
    n, mean, squares = 0, 0.0, 0.0
    for b in range(len(sums)):
        if totals[b] > 0.0:
            ratio = sums[b] / totals[b]
            n += 1
            change = ratio - mean
            mean += change / n
            squares += change * (ratio - mean)
    return squares / (n - 1) if n > 1 else 0.0


BINS = 5  # of a number with many values
FEW_VALUES = 12  # different values of a number up to which each is a group


class NumberBins(NamedTuple):
    """Groups of documents by a number.

    Attributes
    ----------
    codes : (N,) int32
        Bin of every document, -1 without a number.
    lows, highs : (bins,) float64
        Smallest and largest number in each bin, ascending; equal if every value is a group.
    """

    codes: IntArray
    lows: FloatArray
    highs: FloatArray


def bin_numbers(values: Array, n_bins: int = BINS) -> NumberBins:
    """Cut numbers into bins with about equal numbers of documents; equal numbers are in the same bin.

    Parameters
    ----------
    values : (N,) float64
        Number of every document; nan or infinite if it is missing.
    n_bins : int
        Number of bins; numbers with at most ``FEW_VALUES`` different values have a bin for each.
    """
    numbers = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(numbers)
    known = np.sort(numbers[finite])
    different = known[np.r_[True, known[1:] != known[:-1]]] if len(known) else known
    quantiles = known[len(known) * np.arange(n_bins) // n_bins] if len(known) else known
    firsts = different if len(different) <= FEW_VALUES else np.unique(quantiles)
    codes = np.full(len(numbers), -1, dtype=np.int32)
    codes[finite] = np.searchsorted(firsts, numbers[finite], side="right") - 1
    lasts = np.r_[np.searchsorted(known, firsts[1:]), len(known)][: len(firsts)] - 1
    return NumberBins(codes, firsts, known[lasts])


def measure_groups(
    shares: DocumentShares,
    codes: Array,
    n_groups: int,
    *,
    by: Weighting = "tokens",
    selected: Array | None = None,
    moving: int = 1,
) -> GroupShares:
    """Return the share of every topic in every group of documents.

    Parameters
    ----------
    shares : DocumentShares
        Of one layer.
    codes : (N,) int array
        Group of every document, ``0 <= code < n_groups``; negative if its value is missing.
    n_groups : int
        Number of groups, G.
    by : "tokens" or "documents"
        Weight of a document: its tokens, or 1.
    selected : (N,) bool array, optional
        Documents to count; by default all.
    moving : int
        Odd number of neighbouring groups to pool around each, for groups in an order: a moving mean.

    Returns
    -------
    GroupShares
        Of G groups.
    """
    weights = weigh_documents(shares, by)
    groups = assign_groups(codes, selected)
    sums = _pool_neighbours(sum_moments(shares, groups, n_groups, weights), moving // 2)
    drawn = _draw_few(shares, weights, groups, sums, moving // 2)
    n_selected = len(groups) if selected is None else int(np.count_nonzero(selected))
    return estimate_shares(sums, n_selected - int(np.count_nonzero(groups >= 0)), drawn)


def measure_spread(
    samples: SampledShares,
    tokens: Array,
    codes: Array,
    n_groups: int,
    *,
    by: Weighting = "tokens",
    selected: Array | None = None,
    moving: int = 1,
) -> FloatArray:
    """Return the variance (G, K) of the shares of groups between samples of the topics.

    It is nan for a group of which no document was sampled; parameters are those of :func:`measure_groups`.
    """
    chosen = samples.documents[samples.documents < len(codes)]
    weights = tokens[chosen].astype(np.float64) if by == "tokens" else (tokens[chosen] > 0).astype(np.float64)
    groups = assign_groups(codes, selected)[chosen]
    known = np.flatnonzero(groups >= 0)
    table = scipy.sparse.csr_array((weights[known], (groups[known], known)), shape=(n_groups, len(chosen)))
    totals = _add_neighbours(table.sum(axis=1), moving // 2)[:, None]
    with np.errstate(invalid="ignore"):
        means = [_add_neighbours(table @ each[: len(chosen)], moving // 2) / totals for each in samples.tables]
    return np.asarray(np.var(means, axis=0, ddof=1))


def _pool_neighbours(sums: ShareSums, half: int) -> ShareSums:
    """Add the sums of up to ``half`` groups on each side to those of every group."""
    if half == 0:
        return sums
    return ShareSums(*(_add_neighbours(each, half) for each in sums))


def _add_neighbours(values: Array, half: int) -> Array:
    """Return the sums of up to ``2 half + 1`` neighbouring rows around every row."""
    total, n = np.zeros_like(values), len(values)
    for offset in range(-half, half + 1):
        total[max(0, -offset) : n - max(0, offset)] += values[max(0, offset) : n - max(0, -offset)]
    return total


def _draw_few(
    shares: DocumentShares, weights: FloatArray, groups: IntArray, sums: ShareSums, half: int
) -> FloatArray | None:
    """Return bootstrap variances (G, K) of the groups with fewer than ``MANY`` documents; None if there are none."""
    few = np.flatnonzero((sums.documents > 0) & (sums.documents < MANY))
    if not len(few):
        return None
    window = few[:, None] + np.arange(-half, half + 1)
    needed = np.zeros(len(sums.documents) + 1, dtype=bool)  # the last is that of documents in no group
    needed[window[(window >= 0) & (window < len(sums.documents))]] = True
    members = np.flatnonzero(needed[groups])
    order = members[np.argsort(groups[members], kind="stable")]
    ranges = np.stack([np.searchsorted(groups[order], few + side) for side in (-half, half + 1)], axis=1)
    variances = np.zeros((len(sums.documents), shares.n_topics))
    variances[few] = draw_variances(SEED, shares, weights, order, ranges)[:, :-1]
    return variances


def compare_groups(groups: GroupShares, one: int, other: int) -> EffectTable:
    """Return the differences (K,) of the shares of two groups, ``one - other``; as many comparisons as topics."""
    ours, theirs = (select_groups(groups, slice(each, each + 1)) for each in (one, other))
    table = subtract_shares(ours, theirs)
    interval, simultaneous = (Interval(each.low[0], each.high[0]) for each in (table.interval, table.simultaneous))
    return EffectTable(table.value[0], interval, simultaneous, table.documents[0], table.comparisons)


def tabulate_effects(groups: GroupShares, reference: int | None = None) -> EffectTable:
    """Return the differences (G, K) of every group against the rest, or against a reference group.

    The rest of a group are the documents of all other groups; those without a value are in none.  There are as many
    comparisons as groups (without the reference) times topics.
    """
    if reference is None:
        sums = groups.sums
        rest = ShareSums(*(each.sum(axis=0) - each for each in sums))
        return subtract_shares(groups, estimate_shares(rest))
    compared = np.arange(len(groups.documents))[:, None] != reference
    against = select_groups(groups, slice(reference, reference + 1))
    return subtract_shares(groups._replace(mean=np.where(compared, groups.mean, np.nan)), against)
