"""Shares of topics in groups of documents, their intervals, and differences between groups.

The share of topic k in group G, with weights a_j (tokens n_j, or 1 for the plain mean), is

    R_k = sum_{j in G} a_j w_jk / A,    A = sum_{j in G} a_j.

**Variance.**  To first order, the Poisson bootstrap of R_k over documents has the variance

    V_k = sum_{j in G} a_j^2 (w_jk - R_k)^2 / A^2
        = (sum a_j^2 w_jk^2 - 2 R_k sum a_j^2 w_jk + R_k^2 sum a_j^2) / A^2,

which needs one pass over the shares.  With fewer than ``MANY`` documents the denominator varies too much for the first
order, and V_k is the variance of 200 bootstrap draws (:mod:`engine.lens.groups`).  At ``MANY`` documents both agree
within the noise of 200 draws.  Both are multiplied by n' / (n' - 1), where n' = A^2 / sum a_j^2 is the effective number
of documents.

**Interval.**  Percentiles of the draws hold the true share too rarely if few documents carry a topic: for 10 to 100
documents, 90 % intervals hold 65 to 83 % of shares above 3 % and 46 to 77 % of those of 1 to 3 %.  The intervals below
hold 88 to 99 % (both measured by ``tests.benchmarks.lens_coverage``).  As in surveys, the share counts as one of
n_e = R (1 - R) / V independent answers (Korn and Graubard, "Confidence intervals for proportions with small expected
number of positive counts estimated from survey data", Survey Methodology 24, 1998), and its interval is that of Wilson
(J. Am. Stat. Assoc. 22, 1927) with Student's t in place of the normal quantile,

    (R + t^2 / 2 n_e -+ t sqrt(R (1 - R) / n_e + t^2 / 4 n_e^2)) / (1 + t^2 / n_e).

The degrees of freedom are min(m_k, n' - 1), at least 1, where m_k = (sum a_j w_jk)^2 / sum (a_j w_jk)^2 is the
effective number of documents that carry the topic.  A topic without any share in the group has n_e = n'.

Where few documents carry a topic, t is large, and the upper end would be absurd: 67 % for a topic that none of 20
documents has.  Shares lie between 0 and 1, so n_e >= n' if long documents do not carry the topic more often than short
ones.  If R and V agree with that but for noise, the upper end is at most the one for n_e = n' with n' - 1 degrees of
freedom (13 %).

**Topics.**  All of this takes the topics as known.  Under S samples of the topics the share of a group is R_s, with the
variance B between them, and the *wider* interval is that for V + B', where B' = (1 + 1 / S) B (the method of
composition: Tanner, "Tools for Statistical Inference", 1996; combined as Rubin combines so few imputations, 1987).  Its
degrees of freedom are those of Satterthwaite, (V + B')^2 / (V^2 / f + B'^2 / (S - 1)).

**Differences.**  The interval of the difference of two independent shares R and S with intervals (l, u) and (l', u') is
(Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008)

    R - S - sqrt((R - l)^2 + (u' - S)^2)  to  R - S + sqrt((u - R)^2 + (S - l')^2).

**Several comparisons.**  Of m comparisons in a table, each also has a *simultaneous* interval, whose level is
1 - 0.1 / m (Bonferroni).  With 90 % probability all m hold at once, whatever the dependence between topics.  A value
is *beyond chance* if its simultaneous interval excludes 0, so the family-wise error rate is 10 %: the probability that
any topic without a difference is called different is at most 10 %.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.hierarchy.certainty import LEVEL, Interval
from topiary.engine.lens.moments import ShareSums

MANY = 100  # documents of a group from which the variance is computed in one pass, without bootstrap draws
_NOISE = 0.75  # n_e falls below n' - 1 by no more than this through the noise of 200 draws, whose variance has 10 %
_MOST_FREEDOM = 1000  # degrees of freedom from which Student's t is taken to be that of this many


class GroupShares(NamedTuple):
    """Shares of topics in G groups of documents; nan for a group without documents.

    Attributes
    ----------
    mean : (G, K) float64
        Share R_k of every topic.
    variance : (G, K) float64
        Variance V_k of the share.
    freedom : (G, K) float64
        Degrees of freedom of the variance.
    rest : (G,) float64
        Share of all topics together in documents where they have less than 1 %; with ``mean`` it sums to 1.
    documents : (G,) int64
        Number of documents n.
    effective : (G,) float64
        Effective number of documents n'.
    missing : int
        Documents of the selection that are in no group because their value is missing.
    sums : ShareSums
        What the shares were computed from.
    """

    mean: FloatArray
    variance: FloatArray
    freedom: FloatArray
    rest: FloatArray
    documents: IntArray
    effective: FloatArray
    missing: int
    sums: ShareSums

    def find_intervals(self, *, level: float = LEVEL, comparisons: int = 1) -> Interval:
        """Return the intervals of all shares, (G, K), for so many comparisons at once."""
        tail = (1.0 - level) / 2.0 / max(comparisons, 1)
        return find_share_intervals(self.mean, self.variance, self.freedom, self.effective[:, None], tail)


class EffectTable(NamedTuple):
    """Differences between groups, or slopes: a number for every topic, or for every group and topic.

    Attributes
    ----------
    value : (K,) or (G, K) float64
        The difference of two shares, or the slope; nan if it is not known.
    interval : Interval
        90 % intervals, each by itself.
    simultaneous : Interval
        Wider intervals, all of which hold at once with 90 % probability.
    documents : int64 array
        Number of documents n that each row is computed from: a number, or (G,).
    comparisons : int
        Number of comparisons m that the simultaneous intervals allow for.
    """

    value: FloatArray
    interval: Interval
    simultaneous: Interval
    documents: IntArray
    comparisons: int

    @property
    def beyond(self) -> Array:
        """Values whose simultaneous interval excludes 0, as a mask; the family-wise error rate is 10 %."""
        return np.asarray((self.simultaneous.low > 0.0) | (self.simultaneous.high < 0.0))

    @property
    def sure(self) -> FloatArray:
        """The end of the simultaneous interval nearer to 0, of the same shape as ``value``; 0 if 0 is inside."""
        low, high = self.simultaneous
        return np.asarray(np.where(low > 0.0, low, np.where(high < 0.0, high, 0.0)))

    def rank_increases(self) -> IntArray:
        """Return the flat positions of the positive values beyond chance, that with the largest sure value first."""
        return self._rank(self.sure.ravel())

    def rank_decreases(self) -> IntArray:
        """Return the flat positions of the negative values beyond chance, that with the largest sure value first."""
        return self._rank(-self.sure.ravel())

    @staticmethod
    def _rank(sure: FloatArray) -> IntArray:
        """Return the positions of positive numbers, the largest first; the lower position first among equal ones."""
        order = np.argsort(-sure, kind="stable")
        return np.asarray(order[sure[order] > 0.0])


def estimate_shares(sums: ShareSums, missing: int = 0, drawn: FloatArray | None = None) -> GroupShares:
    """Return the shares of topics in groups.

    Parameters
    ----------
    sums : ShareSums
        Of G groups.
    missing : int
        Documents without a value, which the result only reports.
    drawn : (G, K) float64, optional
        Variances of bootstrap draws to use for groups with fewer than ``MANY`` documents.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        filled = sums.documents[:, None] > 0
        total, squares = np.where(filled, sums.totals[:, :1], np.nan), sums.totals[:, 1:]
        linear, mixed, squared = np.moveaxis(sums.sums[:, :-1], 2, 0)
        mean = np.minimum(linear / total, 1.0)
        variance = np.maximum(squared - 2.0 * mean * mixed + mean * mean * squares, 0.0) / total**2
        if drawn is not None:
            variance = np.where(sums.documents[:, None] < MANY, drawn, variance)
        effective = total**2 / squares
        variance *= effective / np.maximum(effective - 1.0, 0.5)
        carriers = np.where(squared > 0.0, linear**2 / squared, 0.0)
        freedom = np.maximum(np.minimum(carriers, effective - 1.0), 1.0)
        rest = sums.sums[:, -1, 0] / total[:, 0]
    return GroupShares(mean, variance, freedom, rest, sums.documents, effective[:, 0], missing, sums)


def add_spread(shares: GroupShares, spread: FloatArray, n_samples: int) -> GroupShares:
    """Return shares whose variance has that of the topics in it, ``spread`` (G, K) between so many samples.

    Where no document of a group was sampled, the spread is nan, and the largest one of other groups is taken.
    """
    largest = np.fmax.reduce(spread, axis=0)
    between = (1.0 + 1.0 / n_samples) * np.where(np.isnan(spread), largest, spread)
    variance = shares.variance + between
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = shares.variance**2 / shares.freedom + between**2 / max(n_samples - 1, 1)
        freedom = np.where(parts > 0.0, variance**2 / parts, shares.freedom)
    return shares._replace(variance=variance, freedom=np.maximum(freedom, 1.0))


def find_share_intervals(
    mean: FloatArray, variance: FloatArray, freedom: FloatArray, effective: FloatArray, tail: float
) -> Interval:
    """Return Wilson's intervals of shares, each of whose ends is missed with probability ``tail``.

    Parameters
    ----------
    mean, variance, freedom : arrays of one shape
        As in :class:`GroupShares`.
    effective : array that broadcasts to that shape
        Effective numbers of documents.
    tail : float
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = mean * (1.0 - mean)
        known = (variance > 0.0) & (spread > 0.0)
        size = np.where(known, spread / variance, effective)
        low, high = _solve_wilson(mean, find_quantiles(freedom, tail) ** 2 / size)
        most = _solve_wilson(mean, find_quantiles(np.maximum(effective - 1.0, 1.0), tail) ** 2 / effective).high
        high = np.where(size >= _NOISE * (effective - 1.0), np.fmin(high, most), high)
    return Interval(np.clip(low, 0.0, mean), np.clip(high, mean, 1.0))


def _solve_wilson(mean: FloatArray, squared: FloatArray) -> Interval:
    """Return the ends of Wilson's interval, given the square of the quantile over the number of answers."""
    half = np.sqrt(squared * (mean * (1.0 - mean) + squared / 4.0))
    centre = mean + squared / 2.0
    return Interval((centre - half) / (1.0 + squared), (centre + half) / (1.0 + squared))


def find_quantiles(freedom: Array, tail: float) -> FloatArray:
    """Return the quantiles of Student's t (any shape) that are exceeded with probability ``tail``."""
    values = np.arange(1.0, _MOST_FREEDOM + 1.0)
    return np.interp(freedom, values, _tabulate_quantiles(tail))


@lru_cache(maxsize=64)
def _tabulate_quantiles(tail: float) -> FloatArray:
    """Return the quantiles for 1, 2, ... degrees of freedom."""
    return np.asarray(-scipy.special.stdtrit(np.arange(1.0, _MOST_FREEDOM + 1.0), tail))


def find_difference_intervals(
    one: GroupShares, other: GroupShares, *, level: float = LEVEL, comparisons: int = 1
) -> Interval:
    """Return the intervals of the differences ``one - other`` of independent groups, whose shapes broadcast."""
    difference = one.mean - other.mean
    ours, theirs = (each.find_intervals(level=level, comparisons=comparisons) for each in (one, other))
    below = np.hypot(one.mean - ours.low, theirs.high - other.mean)
    above = np.hypot(ours.high - one.mean, other.mean - theirs.low)
    return Interval(difference - below, difference + above)


def subtract_shares(one: GroupShares, other: GroupShares) -> EffectTable:
    """Return the differences ``one - other`` of groups with no document in common, whose shapes broadcast to (G, K).

    The documents counted are those of ``one``.  A comparison counts if both groups have documents.
    """
    difference = one.mean - other.mean
    comparisons = int(np.isfinite(difference).sum())
    plain = find_difference_intervals(one, other)
    wide = find_difference_intervals(one, other, comparisons=comparisons)
    return EffectTable(difference, plain, wide, one.documents, comparisons)


def select_groups(shares: GroupShares, groups: slice) -> GroupShares:
    """Return the shares of some of the groups."""
    sums = shares.sums
    return GroupShares(
        mean=shares.mean[groups],
        variance=shares.variance[groups],
        freedom=shares.freedom[groups],
        rest=shares.rest[groups],
        documents=shares.documents[groups],
        effective=shares.effective[groups],
        missing=shares.missing,
        sums=ShareSums(sums.documents[groups], sums.totals[groups], sums.sums[groups]),
    )
