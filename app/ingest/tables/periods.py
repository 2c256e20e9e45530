"""Periods in place of dates, as spreadsheets and statistical offices write them: months, quarters, weeks."""

import re
from datetime import date
from functools import cache

from dateutil import parser as dateutil

_FIRST_YEAR, _LAST_YEAR = 1000, 2200
_FIRST_PLAIN, _LAST_PLAIN = 1800, 2100  # years of six digits like 201901, which could be something else
# fmt: off
_QUARTERS = (
    "quarter", "quartal", "trimestre", "trimester", "kwartaal", "kvartal", "kwartał", "кв", "квартал", "çeyrek",
    "negyedév",
)
_HALVES = ("half", "halbjahr", "hälfte", "semestre", "semester", "semestr", "полугодие")
_WEEKS = ("week", "woche", "semaine", "semana", "settimana", "kw", "vecka", "uge")
# fmt: on
_LETTERS = {"q": 3, "t": 3, "k": 3, "h": 6, "s": 6, "m": 1}  # months of the period that a letter stands for
_MONTHS_OF = {**dict.fromkeys(_QUARTERS, 3), **dict.fromkeys(_HALVES, 6), **_LETTERS}
_SURE = frozenset(("q", "t", *_QUARTERS, *_HALVES))  # others are read as dates only where a column is one of dates
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}
_ORDINAL = r"(?:st|nd|rd|th|er|ère|re|e|ème|eme|º|ª|°|o|a)?"
_GAP = r"[ .,_/-]{0,2}(?:(?:of|de|del|du|des|d[ei]) )?"
_MONTH_AND_YEAR = re.compile(r"([^\W\d_]{3,12})(\.?[-/ ]?['’]|\.?[-/.]|)(\d\d)")
_NUMBER, _NAME = r"(\d{1,2}|iv|i{1,3})", r"([^\W\d_]{1,12})\.?"
_PART = rf"(?:{_NAME}[ -]?{_NUMBER}|{_NUMBER}{_ORDINAL}\.?[ -]?{_NAME})"  # Q1, or 1. Quartal
_YEAR_FIRST = re.compile(rf"(\d{{4}}){_GAP}(?:{_NAME}[ -]?{_NUMBER}|(\d){_ORDINAL}\.?[ -]?{_NAME})")
_YEAR_LAST = re.compile(rf"{_PART}{_GAP}['’]?(\d{{4}}|\d\d)")
_CHINESE = re.compile(r"(\d{4})年?第?([1-4一二三四])季度?")
_ISO_WEEK = re.compile(r"(\d{4})-?w(\d\d?)")
_YEAR_WORD = re.compile(r" (?:г\.?|года)$")
_CHINESE_NUMBERS = {"一": 1, "二": 2, "三": 3, "四": 4}
_NUMBERED_MONTH = re.compile(r"(\d{4})\.(\d\d)|(\d\d?)\.(\d{4})|(\d{4})(\d\d)")


def parse_period(text: str, months: dict[str, int], *, bare: bool) -> str | None:
    """Return the first day or month of a period in ISO 8601; None for any other text.

    Parameters
    ----------
    text : str
    months : dict of str to int
        Numbers of the months by their names.
    bare : bool
        Whether the column is one of dates, so that forms count that could be codes as well, such as ``JAN19``.

    >>> months = {"jan": 1, "dez": 12}
    >>> parse_period("Jan-19", months, bare=False), parse_period("Dez. '99", months, bare=False)
    ('2019-01', '1999-12')
    >>> parse_period("2019Q2", months, bare=False), parse_period("4. Quartal 2019", months, bare=False)
    ('2019-04', '2019-10')
    >>> parse_period("2019-W01", months, bare=False), parse_period("JAN19", months, bare=False)
    ('2018-12-31', None)
    """
    plain = _YEAR_WORD.sub("", " ".join(text.casefold().split()))
    if match := _MONTH_AND_YEAR.fullmatch(plain):
        month = months.get(match[1])
        return _write(_complete_year(match[3]), month) if month and (match[2] or bare) else None
    if match := _ISO_WEEK.fullmatch(plain):
        return _find_monday(int(match[1]), int(match[2]))
    if match := _CHINESE.fullmatch(plain):
        return _write_part(match[1], 3, match[2])
    if match := _YEAR_FIRST.fullmatch(plain):
        return _read_parts(match[1], match[2] or match[5], match[3] or match[4], bare=bare)
    if match := _YEAR_LAST.fullmatch(plain):
        return _read_parts(match[5], match[1] or match[4], match[2] or match[3], bare=bare)
    return _read_numbers(plain) if bare else None


def _read_parts(year: str, word: str, number: str, *, bare: bool) -> str | None:
    """Return the period of a year that has this name and number."""
    if not bare and (word not in _SURE or len(year) == 2):  # Q1-19 may be a question, and S1 a code
        return None
    if word in _WEEKS or word == "w":
        return _find_monday(int(_complete_year(year)), int(number)) if number.isdecimal() else None
    return _write_part(year, _MONTHS_OF[word], number) if word in _MONTHS_OF else None


def _read_numbers(plain: str) -> str | None:
    """Return the month that is written in digits alone, as in 2019.01 and 201901."""
    if match := _NUMBERED_MONTH.fullmatch(plain):
        year, month = match[1] or match[4] or match[5], match[2] or match[3] or match[6]
        return _write(year, int(month)) if _FIRST_PLAIN <= int(year) < _LAST_PLAIN else None
    return None


def _write_part(year: str, length: int, number: str) -> str | None:
    """Return the first month of a part of a year, given by its length in months and its number."""
    place = _ROMAN.get(number) or _CHINESE_NUMBERS.get(number) or int(number)
    return _write(_complete_year(year), length * (place - 1) + 1) if place > 0 else None


def _write(year: str, month: int) -> str | None:
    return f"{year}-{month:02d}" if 1 <= month <= 12 and _FIRST_YEAR <= int(year) <= _LAST_YEAR else None


def _find_monday(year: int, week: int) -> str | None:
    try:
        return date.fromisocalendar(year, week, 1).isoformat() if _FIRST_YEAR <= year <= _LAST_YEAR else None
    except ValueError:
        return None


def _complete_year(year: str) -> str:
    """Return a year of four digits, for two digits the nearest one, as other dates have it."""
    return year if len(year) == 4 else str(_find_century().convertyear(int(year)))


@cache
def _find_century() -> dateutil.parserinfo:
    return dateutil.parserinfo()
