"""Topics over time: periods of the calendar, shares in each, and topics that grew or shrank.

**Periods.**  The unit is chosen by density: it is the finest one that has at most ``MOST_SHOWN`` periods, in at least
``FEWEST`` of which there are documents, and in which at least ``DENSE`` of the dated documents lie in a period with
``ENOUGH`` documents or more.  If there is none, it is the coarsest unit with documents in ``FEWEST`` periods, and days
if there is none of these either.  All periods from the first to the last date are kept, with or without documents.
Dates are in UTC, and weeks begin on Monday.

**Smoothing.**  A moving mean of m periods: the share in a period is that of all documents of the m periods around it
(fewer at both ends), with the interval of that share.

**Growth.**  The statistic is the share in the last third of the dated documents minus that in the first third; the
documents of one date stay together.  A topic grew, or shrank, if the simultaneous interval of its difference excludes 0
(:mod:`engine.lens.intervals`), so that with 90 % probability no unchanged topic of the layer is listed.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, IntArray
from topiary.engine.lens.groups import compare_groups, measure_groups
from topiary.engine.lens.intervals import EffectTable, GroupShares
from topiary.engine.lens.moments import DocumentShares, Weighting

NO_DATE = np.iinfo(np.int64).min
ENOUGH = 30  # documents of a dense period
DENSE = 0.9  # share of the documents that lie in dense periods
FEWEST = 3  # periods with documents that make a picture
MOST_SHOWN = 200  # periods that are chosen without being asked for
MOST = 2000  # periods that can be asked for
_DAY = 86_400_000  # milliseconds
_SPARSE = 20  # days from the first to the last date for each document, above which days are sorted and not counted
_TO_MONDAY = 3  # days from Monday to the first of January 1970, a Thursday
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
UNITS = ("day", "week", *_MONTHS)
_MONTHS_BEFORE_EPOCH = 1970 * 12


class Periods(NamedTuple):
    """Periods of the calendar, one after the other.

    Attributes
    ----------
    unit : str
        One of ``UNITS``.
    starts : (T + 1,) int64
        First millisecond of every period since 1970, and the first one after the last period.
    codes : (N,) int32
        Period of every document, -1 without a date.
    """

    unit: str
    starts: IntArray
    codes: IntArray


class Growth(NamedTuple):
    """Shares of topics in the first and the last third of the dated documents.

    Attributes
    ----------
    thirds : GroupShares
        Group 0 is the first third, group 1 the last.
    effects : EffectTable
        Last third minus first, (K,): topics that grew are ``effects.rank_increases()``.
    spans : (2, 2) int64
        First and last date of both thirds, in milliseconds since 1970; ``NO_DATE`` if a third has no documents.
    missing : int
        Documents of the selection without a date.
    """

    thirds: GroupShares
    effects: EffectTable
    spans: IntArray
    missing: int


def cut_periods(dates: Array, unit: str | None = None) -> Periods:
    """Cut dates into periods of the calendar.

    Parameters
    ----------
    dates : (N,) int64
        Milliseconds since 1970 (UTC); ``NO_DATE`` if the date is missing.
    unit : str, optional
        One of ``UNITS``; by default chosen by density as described above.

    Raises
    ------
    ValueError
        If there are more than ``MOST`` periods.
    """
    known = dates != NO_DATE
    days, places, documents = _list_days(dates[known])
    unit = unit or _choose_unit(days, documents)
    codes = np.full(len(dates), -1, dtype=np.int32)
    if not len(days):
        return Periods(unit, np.zeros(1, dtype=np.int64), codes)
    numbers = _number_periods(days, unit)
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first >= MOST:
        raise ValueError(f"the dates span {last - first + 1:,} periods of a {unit}, above {MOST:,}; take a longer unit")
    codes[known] = (numbers - first).astype(np.int32)[places]
    return Periods(unit, _find_starts(np.arange(first, last + 2), unit), codes)


def _list_days(dates: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the days with documents, ascending, the place of each document's day among them, and their documents."""
    days = dates // _DAY
    first, span = (int(days.min()), int(days.max() - days.min()) + 1) if len(days) else (0, 0)
    if span > _SPARSE * len(days):
        distinct, places, documents = np.unique(days, return_inverse=True, return_counts=True)
        return distinct, places, documents
    documents = np.bincount(days - first, minlength=span)  # much quicker than sorting the days
    filled = documents > 0
    return np.flatnonzero(filled) + first, (np.cumsum(filled) - 1)[days - first], documents[filled]


def _choose_unit(days: IntArray, repeats: IntArray) -> str:
    """Return the unit for days with documents, ascending, and the number of documents of each."""
    filled: dict[str, int] = {}
    for unit in UNITS if len(days) else ():
        numbers = _number_periods(days, unit)
        _, places = np.unique(numbers, return_inverse=True)
        documents = np.bincount(places, repeats)
        filled[unit] = len(documents)
        dense = documents[documents >= ENOUGH].sum() >= DENSE * documents.sum()
        if dense and len(documents) >= FEWEST and numbers[-1] - numbers[0] < MOST_SHOWN:
            return unit
    return next((unit for unit in reversed(filled) if filled[unit] >= FEWEST), "day")


def measure_periods(
    shares: DocumentShares,
    periods: Periods,
    *,
    moving: int = 1,
    by: Weighting = "tokens",
    selected: Array | None = None,
) -> GroupShares:
    """Return the share of every topic in every period, (T, K), as a moving mean of ``moving`` periods.

    Parameters
    ----------
    shares : DocumentShares
        Of one layer.
    periods : Periods
        Those of all documents, so that a selection changes the shares and not the axis.
    moving : int
        Odd number of periods; 1 does not smooth.
    by, selected
        As in :func:`engine.lens.groups.measure_groups`.
    """
    n_periods = len(periods.starts) - 1
    return measure_groups(shares, periods.codes, n_periods, by=by, selected=selected, moving=moving)


def find_growth(
    shares: DocumentShares, dates: Array, *, by: Weighting = "tokens", selected: Array | None = None
) -> Growth:
    """Return what grew and what shrank: shares in the last third of the dated documents against the first third.

    Parameters
    ----------
    shares : DocumentShares
        Of one layer.
    dates : (N,) int64
        Milliseconds since 1970; ``NO_DATE`` if the date is missing.
    by, selected
        As in :func:`engine.lens.groups.measure_groups`.
    """
    known = dates != NO_DATE if selected is None else (dates != NO_DATE) & selected
    early, late = _split_thirds(np.sort(dates[known & (shares.tokens > 0)]))
    codes = np.full(len(dates), -1, dtype=np.int32)
    if early < late:
        codes[known & (dates <= early)] = 0
        codes[known & (dates >= late)] = 1
    thirds = measure_groups(shares, codes, 2, by=by, selected=selected)
    spans = [
        [each.min(), each.max()] if len(each) else [NO_DATE] * 2 for each in (dates[codes == 0], dates[codes == 1])
    ]
    n_selected = len(dates) if selected is None else int(np.count_nonzero(selected))
    missing = n_selected - int(np.count_nonzero(known))
    return Growth(thirds, compare_groups(thirds, 1, 0), np.array(spans, dtype=np.int64), missing)


def _split_thirds(dates: IntArray) -> tuple[int, int]:
    """Return the last date of the first third and the first date of the last third, given sorted dates.

    The documents of one date belong together.  If a date holds the whole middle third it is in neither of the others,
    unless one of these would be empty.  The first date returned is the later one if all dates are equal.
    """
    if not len(dates) or dates[0] == dates[-1]:
        return 0, 0
    size = -(-len(dates) // 3)
    early, late = int(dates[size - 1]), int(dates[-size])
    if early == late:
        before, after = dates[dates < early], dates[dates > late]
        early, late = (int(before[-1]) if len(before) else early), (int(after[0]) if len(after) else late)
    return early, late


def _number_periods(days: IntArray, unit: str) -> IntArray:
    """Return the number of the period of each day, counted from one around 1970."""
    if unit == "day":
        return days
    if unit == "week":
        return (days + _TO_MONDAY) // 7
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return (months + _MONTHS_BEFORE_EPOCH) // _MONTHS[unit]


def _find_starts(numbers: IntArray, unit: str) -> IntArray:
    """Return the first millisecond of periods, given their numbers."""
    if unit in ("day", "week"):
        return (numbers if unit == "day" else numbers * 7 - _TO_MONDAY) * _DAY
    months = (numbers * _MONTHS[unit] - _MONTHS_BEFORE_EPOCH).astype("datetime64[M]")
    return np.asarray(months.astype("datetime64[ms]").astype(np.int64))
