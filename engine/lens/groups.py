"""Shares of topics by category, label or number: groups, effect tables and slopes.

The effect of a group is the difference of its share and that of the rest, or of a reference group:

    E_gk = R_gk - R_rk.

The slope of topic k by a number x is that of the weighted least-squares line of w_jk on x_j, with x' = x - sum a x / A:

    b_k = sum_j a_j x'_j w_jk / sum_j a_j x'_j^2,
    V(b_k) = sum_j (a_j x'_j (w_jk - R_k - b_k x'_j))^2 / (sum_j a_j x'_j^2)^2,

where V is the first order of the Poisson bootstrap of b_k, and White's estimate for unequal variances (Econometrica 48,
1980).  Intervals and comparisons are those of :mod:`engine.lens.intervals`.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.hierarchy.certainty import LEVEL, Interval
from topiary.engine.lens.bootstrap import SEED, draw_variances
from topiary.engine.lens.intervals import (
    MANY,
    EffectTable,
    GroupShares,
    estimate_shares,
    find_quantiles,
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
    sum_products,
    weigh_documents,
)
from topiary.engine.pool import Pool

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


class Slopes(NamedTuple):
    """Change of the share of every topic per unit of a number.

    Attributes
    ----------
    effects : EffectTable
        The slopes b_k.
    centre : float
        Weighted mean of the number.
    mean : (K,) float64
        Share at that mean: the line is ``mean + slope * (x - centre)``.
    missing : int
        Documents of the selection without a number.
    """

    effects: EffectTable
    centre: float
    mean: FloatArray
    missing: int


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
    pool: Pool | None = None,
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
    pool : Pool, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    GroupShares
        Of G groups.
    """
    weights = weigh_documents(shares, by)
    groups = assign_groups(codes, selected)
    sums = _pool_neighbours(sum_moments(shares, groups, n_groups, weights, pool), moving // 2)
    drawn = _draw_few(shares, weights, groups, sums, moving // 2, pool)
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
    table = sp.csr_array((weights[known], (groups[known], known)), shape=(n_groups, len(chosen)))
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
    shares: DocumentShares, weights: FloatArray, groups: IntArray, sums: ShareSums, half: int, pool: Pool | None
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
    variances[few] = draw_variances(SEED, shares, weights, order, ranges, pool)[:, :-1]
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


def measure_slopes(
    shares: DocumentShares,
    numbers: Array,
    *,
    by: Weighting = "tokens",
    selected: Array | None = None,
    pool: Pool | None = None,
) -> Slopes:
    """Return the change of the share of every topic per unit of a number.

    Parameters
    ----------
    shares : DocumentShares
        Of one layer.
    numbers : (N,) float64
        Number of every document; nan or infinite if it is missing.
    by, selected, pool
        As in :func:`measure_groups`.

    Returns
    -------
    Slopes
        nan if all numbers are equal.
    """
    values = np.asarray(numbers, dtype=np.float64)
    groups = assign_groups(np.where(np.isfinite(values), 0, -1), selected)
    n_selected = len(groups) if selected is None else int(np.count_nonzero(selected))
    missing = n_selected - int(np.count_nonzero(groups == 0))
    a = np.where(groups == 0, weigh_documents(shares, by), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = float(a @ np.where(groups == 0, values, 0.0) / a.sum())
        x = np.where(groups == 0, values - centre, 0.0)
        u = a * x
        linear = np.stack([a, u, np.abs(u), u * u, u * u * x], axis=1)
        sums = sum_products(shares, groups, 1, linear, u * u, pool)[0, :-1]
        total, scale = a.sum(), u @ x
        mean, slope = sums[:, 0] / total, sums[:, 1] / scale
        variance = sums[:, 5] - 2.0 * mean * sums[:, 3] - 2.0 * slope * sums[:, 4]
        variance += mean**2 * (u @ u) + 2.0 * mean * slope * (u @ (u * x)) + slope**2 * ((u * x) @ (u * x))
        effective = scale**2 / ((u * x) @ (u * x))  # documents that decide on the slope
        variance = np.maximum(variance, 0.0) / scale**2 * (effective / max(effective - 1.0, 0.5))
        carriers = np.where(sums[:, 5] > 0.0, sums[:, 2] ** 2 / sums[:, 5], 0.0)
    freedom = np.maximum(np.minimum(carriers, effective - 1.0), 1.0)
    comparisons = int(np.isfinite(slope).sum())
    interval, simultaneous = (_find_slope_intervals(slope, variance, freedom, m) for m in (1, max(comparisons, 1)))
    documents = np.asarray(np.count_nonzero(a > 0))
    return Slopes(EffectTable(slope, interval, simultaneous, documents, comparisons), centre, mean, missing)


def _find_slope_intervals(slope: FloatArray, variance: FloatArray, freedom: FloatArray, comparisons: int) -> Interval:
    """Return Student's intervals of slopes for so many comparisons at once."""
    half = find_quantiles(freedom, (1.0 - LEVEL) / 2.0 / comparisons) * np.sqrt(variance)
    return Interval(slope - half, slope + half)
