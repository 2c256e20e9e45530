"""Dates and times as people and programs write them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import ClassVar

from dateutil import parser as dateutil

from app.ingest.column_names import names_a_date, split_words

_LONGEST = 60  # characters of a date
_LOOKED_AT = 60  # values of a column
_MOST = 0.9  # share of the values of a column that are dates
_MONTHS = (
    "jan january januar janvier janv enero ene gennaio gen januari janeiro leden ledna styczeń stycznia января jänner",
    "feb february februar février fevrier févr fevr febrero febbraio februari fevereiro fev luty lutego únor"
    " února февраля",
    "mar march märz maerz mrz mars marzo maart mrt março marco marzec marca březen března марта",
    "apr april avril avr abril abr aprile kwiecień kwietnia duben dubna апреля",
    "may mai mayo maggio mag mei maio maj maja květen května мая",
    "jun june juni juin junio giugno giu junho czerwiec czerwca červen června июня",
    "jul july juli juillet juil julio luglio lug julho lipiec lipca červenec července июля",
    "aug august août aout agosto ago augustus augusti sierpień sierpnia srpen srpna августа",
    "sep sept september septembre septiembre settembre set setembro wrzesień września září сентября",
    "oct october oktober okt octobre octubre ottobre ott outubro out październik października říjen října октября",
    "nov november novembre noviembre novembro listopad listopada listopadu ноября",
    "dec december dezember dez décembre decembre déc diciembre dic dicembre dezembro grudzień grudnia prosinec декабря",
)
_MONTH = frozenset(name for names in _MONTHS for name in names.split())
_WEEKDAYS = (
    "mon monday montag lundi lunes понедельник",
    "tue tues tuesday dienstag mardi martes вторник",
    "wed wednesday mittwoch mercredi среда",
    "thu thur thurs thursday donnerstag jeudi jueves четверг", "fri friday freitag vendredi viernes пятница",
    "sat saturday samstag sonnabend samedi sábado суббота", "sun sunday sonntag dimanche domingo воскресенье",
)  # fmt: skip
_SHORT_DAYS = "mo di mi do fr sa so lun mar mer mié jeu jue ven vie sam sáb dim dom".split()  # noqa: SIM905
_FILLERS = "at on of the de del den der le la el um uhr à a las los em kl t z st nd rd th er d г года".split()  # noqa: SIM905
_WEEKDAY = frozenset((*_SHORT_DAYS, *(name for names in _WEEKDAYS for name in names.split())))
_KNOWN = _MONTH | _WEEKDAY | frozenset((*_FILLERS, "am", "pm", "vorm", "nachm", "上午", "下午"))
_ZONES = {"UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
          "CET": 1, "CEST": 2, "BST": 1, "MEZ": 1, "MESZ": 2, "MSK": 3, "JST": 9}  # fmt: skip
_SIGNS = re.compile(r"[\s,./:+\-–'年月日]*")
_WORDS = re.compile(r"[^\W\d_]+")
_BEFORE_A_DATE = re.compile(
    r"(?:date|dated|(?:published|posted|updated)(?: on| at)?|datum|publié le|fecha|data)\s*:?\s+", re.IGNORECASE
)
_BARE = re.compile(r"\d{1,19}(?:[.,]\d{1,9})?")
_YEAR = re.compile(
    r"(?<!\d)(?:\d{4}(?!\d)|\d{1,2}[./-]\d{1,2}[./-]\d{2}(?![\d.])|\d{1,2}[- ][^\W\d_]+[- ]\d{2}(?!\d)|\d{8}T?)"
)
_FIRST_YEAR, _LAST_YEAR = 1000, 2200
_SECONDS = 1e8, 4.2e9  # of a time that counts from 1970: from 1973 to 2103
_DAYS = 10_000, 80_000  # of a date that Excel counts from 1900
_EXCEL = datetime(1899, 12, 30, tzinfo=UTC)


class _Names(dateutil.parserinfo):  # type: ignore[misc]
    """Months and weekdays of several languages, and words that stand between them."""

    MONTHS: ClassVar = [tuple(names.split()) for names in _MONTHS]
    WEEKDAYS: ClassVar = [tuple(names.split()) for names in _WEEKDAYS]
    JUMP: ClassVar = [*dateutil.parserinfo.JUMP, *_FILLERS]
    HMS: ClassVar = [("h", "hour", "hours"), ("m", "minute", "minutes"), ("s", "second", "seconds")]


_parser = dateutil.parser(_Names())


@lru_cache(maxsize=1 << 14)
def parse_date(text: str, *, day_first: bool = False, bare: bool = False) -> str | None:
    """Return a date or time in the form of ISO 8601, as exactly as it is given; None for any other text.

    Parameters
    ----------
    text : str
    day_first : bool
        Whether ``3/4/2020`` is the third of April; it is wherever the other way round is no date.
    bare : bool
        Whether a number alone may be one: a year, ``20200131``, seconds (or a thousandth, a millionth ... of them)
        since 1970, days since 1900 as Excel counts them.

    >>> parse_date("Mon Apr 06 22:19:45 PDT 2009"), parse_date("3. März 2021"), parse_date("31.12.99")
    ('2009-04-06T22:19:45-07:00', '2021-03-03', '1999-12-31')
    >>> parse_date("5/1/2021 3:07 PM"), parse_date("2021-05"), parse_date("12.50"), parse_date("1.2.3")
    ('2021-05-01T15:07:00', '2021-05', None, None)
    >>> parse_date("1514764800", bare=True), parse_date("1999", bare=True), parse_date("1999")
    ('2018-01-01T00:00:00+00:00', '1999', None)
    """
    text = re.sub(r"\s*\([^()]*\)$", "", text.strip())
    if not text or len(text) > _LONGEST or not any(map(str.isdigit, text)):
        return None
    if _BARE.fullmatch(text):
        return _parse_number(text) if bare else None
    if _YEAR.search(text) is None or not _has_known_words(text):
        return None
    plain = _simplify_date(text)
    dotted = re.search(r"(?<!\d)\d{1,2}\.\s?\d{1,2}\.\s?\d\d", text) is not None
    try:
        found, other = (
            _parser.parse(plain, default=each, dayfirst=day_first or dotted, tzinfos=_find_zone)
            for each in (datetime(2000, 1, 1, tzinfo=None), datetime(2004, 2, 2, 1, tzinfo=None))  # noqa: DTZ001
        )
    except (ValueError, OverflowError):
        return None
    return _write_exactly(found, other)


def find_date(line: str) -> str | None:
    """Return the date that a line is, as it is written there; None where it is anything more.

    >>> find_date("September 26, 1975"), find_date("Published: 3. Mai 2021"), find_date("In May 1968")
    ('September 26, 1975', '3. Mai 2021', None)
    """
    said = _BEFORE_A_DATE.sub("", line.strip(), count=1)
    return said if parse_date(said) else None


def _simplify_date(text: str) -> str:
    """Return a date without its weekday, and with the signs of other languages as those of English."""
    first, *others = _WORDS.findall(text.lower()) or [""]
    if first in _WEEKDAY and (first not in _MONTH or any(word in _MONTH for word in others)):
        text = text.lstrip()[len(first) :].lstrip(" .,")
    for pattern, plain in _PLAINER:
        text = pattern.sub(plain, text)
    return text.rstrip("- ")


_PLAINER = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"(?<=\d)[年月]", "-"),
        ("日", " "),
        (r"\b(\d\d?)\.(\d\d)\s?[Uu]hr", r"\1:\2"),
        (r"(?<=\d)\.(?=\s)", " "),  # the first of a month in German
        (r"(?i)\b([ap])\.\s?m\.?", r"\1m"),
        (r"\b(vorm\.|上午)", "am"),
        (r"\b(nachm\.|下午)", "pm"),
        (r"(am|pm) ?(\d\d?:\d\d(:\d\d)?)", r"\2 \1"),
        (r"\b24(?=:00)", "00"),
        (r"(?:GMT|UTC)\s?(?=[+-]\d)", ""),  # of which dateutil turns the sign round
    )
)


def _write_exactly(found: datetime, other: datetime) -> str | None:
    """Return a date without what it does not say, which is what differs where other values stand in its place."""
    if found.year != other.year or found.month != other.month or not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        return None
    if found.day != other.day:
        return found.date().isoformat()[:7]
    if found.hour != other.hour:
        return found.date().isoformat()
    return found.replace(microsecond=0).isoformat()


def _has_known_words(text: str) -> bool:
    """Return whether all words of a text go with dates."""
    if _SIGNS.fullmatch(re.sub(r"[^\W_]+", "", text)) is None:
        return False
    words = _WORDS.findall(re.sub(r"[年月日]|(?<=[aApP])\.\s?(?=[mM])", "", text))
    return all(word.lower() in _KNOWN or (word.isupper() and len(word) <= 5) or word in "hms" for word in words)


def _find_zone(name: str | None, offset: int | None) -> timezone | None:
    """Return the zone of a name or distance; None for a name that stands for several."""
    if offset is not None:
        return timezone(timedelta(seconds=offset)) if abs(offset) < 86_400 else None
    return timezone(timedelta(hours=_ZONES[name])) if name in _ZONES else None


def is_date_column(name: str, values: Sequence[str]) -> bool:
    """Return whether a column holds dates: nearly all its values are, numbers only where its name says so."""
    filled = values[:_LOOKED_AT]
    if not filled:
        return False
    named = names_a_date(name)
    if named and all(map(_BARE.fullmatch, filled)):
        return _are_bare(name, filled)
    others, most = 0, (1 - _MOST) * len(filled)
    for value in filled:
        others += parse_date(value, bare=named) is None
        if others > most:
            return False
    return True


def is_day_first(values: Sequence[str]) -> bool:
    """Return whether dates such as ``3/4/2020`` begin with the day: one of them could not begin with the month."""
    return any(re.match(r"\s*(1[3-9]|2\d|3[01])[/. -]\d", value) for value in values)


def _are_bare(name: str, values: Sequence[str]) -> bool:
    """Return whether numbers are dates; months, days and hours are small ones."""
    if any(word in ("month", "day", "hour", "monat", "mois", "mes", "jour") for word in split_words(name)):
        return all(float(value.replace(",", ".")) <= 31 for value in values)
    return sum(_parse_number(value) is not None for value in values) >= _MOST * len(values)


def _parse_number(text: str) -> str | None:
    whole, _, fraction = text.replace(",", ".").partition(".")
    if len(whole) == 4 and not fraction.strip("0"):
        return whole if _FIRST_YEAR <= int(whole) <= _LAST_YEAR else None
    if len(whole) == 8 and not fraction and (found := parse_date(f"{whole[:4]}-{whole[4:6]}-{whole[6:]}")):
        return found
    value = float(f"{whole}.{fraction or 0}")
    for unit in (1, 1e3, 1e6, 1e9):
        if _SECONDS[0] <= value / unit < _SECONDS[1]:
            return datetime.fromtimestamp(value / unit, UTC).isoformat(timespec="seconds")
    if _DAYS[0] <= value < _DAYS[1]:
        when = _EXCEL + timedelta(days=value)
        return when.date().isoformat() if not fraction.strip("0") else when.isoformat(timespec="seconds")[:-6]
    return None
