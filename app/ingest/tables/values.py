"""Values in tables: missing values, numbers, links, lists and dates; samples, profiles and kinds of columns."""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import cache, cached_property, lru_cache
from math import isfinite, nan
from typing import Any, ClassVar, NamedTuple

import numpy as np
from dateutil import parser as dateutil

from topiary.app.ingest.tables.names import IDS, names_a_date, names_an_id, plain_name, split_words
from topiary.store.corpus_rows import CATEGORY, DATE, DAY_FIRST, DECIMAL_COMMA, ID, NUMBER, TEXT

# What programs write for a missing value.  "none" is not here: it may be an answer in a survey, or a class.
MISSING = frozenset((
    "nan", "NaN", "NAN", "-nan", "None", "<NA>", "NULL", "Null", "null", "N/A", "n/a", "#N/A", "NA", "<na>", "NaT",
    "nil", "(null)", r"\N", "#NULL!", "-", "--", "---", "–", "—", "[deleted]", "[removed]",
))  # fmt: skip
_LONGEST_MISSING = max(map(len, MISSING))  # characters
_LINK = re.compile(r"<?(?:https?://|www\.|/r/|mailto:)\S*$|<a\s[^>]*>[^<]*</a>$|\S+@\S+\.\w+$")
# Fields of a part that may have its text, the best first.
_TEXT_FIELDS = ("text", "elements", "content", "children", "items", "paragraphs", "ops", "insert", "value", "body")

_JSON_TYPES = (bool, int, float, dict)


def is_missing(text: str) -> bool:
    """Return whether a text stands for a missing value.

    >>> [is_missing(text) for text in ("NaN", " <NA> ", "", "none", "nothing")]
    [True, True, False, False, False]
    """
    return len(text) <= _LONGEST_MISSING + 2 and text.strip() in MISSING


def is_number(cell: str) -> bool:
    """Return whether a cell is a number in some notation, as in ``4``, ``-1.5``, ``1,234.5``, ``3,5`` and ``12 %``."""
    return any(isfinite(parse_number(cell.strip(), notation)) for notation in ("", DECIMAL_COMMA))


def is_link(text: str) -> bool:
    """Return whether a text is only a link or an address."""
    return _LINK.match(text) is not None


def is_prose(text: str) -> bool:
    """Return whether a text seems to have several words, in scripts with or without spaces."""
    return len(text) >= 10 and (" " in text or not text.isascii()) and not is_link(text)


def is_list_of_texts(value: Any) -> bool:
    """Return whether a value is a list of texts: words, sentences, or parts of one text."""
    if not isinstance(value, list) or not value:
        return False
    return any(isinstance(each, str) for each in value) and all(isinstance(each, str | dict) for each in value)


def as_text(value: Any) -> str:
    """Return any JSON value as a text; the entries of a list are separated by commas."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    if isinstance(value, bytes):  # a picture or a sound
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, _JSON_TYPES) else str(value)


def as_prose(value: Any) -> str:
    r"""Return a value of a column of texts as one text; a list may have words, paragraphs or parts of the text.

    >>> as_prose(["spade", "lawn"]), as_prose(["see ", {"type": "link", "text": "this"}, "!"])
    ('spade lawn', 'see this!')
    >>> as_prose(["One line.", "Another one."])
    'One line.\nAnother one.'
    """
    if isinstance(value, str):
        return _join_written_list(value) if value[:2] in _LIST_STARTS and value[-2:] in _LIST_ENDS else value
    if isinstance(value, list):
        return _join_list(value)
    return join_parts(value) if isinstance(value, dict) else as_text(value)


def _join_written_list(text: str) -> str:
    """Return the text of a list that is written in a cell as Python code, as by pandas; or the cell if it is not."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return _join_list(value) if is_list_of_texts(value) else text


_LIST_STARTS, _LIST_ENDS = ("['", '["'), ("']", '"]')


def _join_list(value: Sequence[Any]) -> str:
    if any(isinstance(each, dict) for each in value):
        parts = [each if isinstance(each, str) else join_parts(each) for each in value]
        return ("" if any(isinstance(each, str) for each in value) else "\n").join(parts)
    texts = [as_text(each) for each in value]
    return ("\n" if any(" " in text for text in texts) else " ").join(texts)


def join_parts(value: Any) -> str:
    """Return the text in the nested parts that chat programs and editors write.

    >>> join_parts({"type": "section", "elements": [{"type": "text", "text": "late "}, {"type": "emoji", "name": "x"}]})
    'late '
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        blocks = [join_parts(each) for each in value]
        inline = all(not isinstance(each, dict) or _is_inline(each) for each in value)
        return ("" if inline else "\n").join(block for block in blocks if block)
    if isinstance(value, dict):
        return next((inner for name in _TEXT_FIELDS if name in value and (inner := join_parts(value[name]))), "")
    return ""


def _is_inline(part: Mapping[str, Any]) -> bool:
    """Return whether a part is inline: a text, or a part without one, such as an emoji or a link."""
    return isinstance(part.get("text"), str) or not any(name in part for name in _TEXT_FIELDS)


_LONGEST_DATE = 60  # characters of a date
_SAMPLED_DATES = 60  # values by which a column of dates is recognised
_DATE_SHARE = 0.9  # share of dates in a column of dates, at least
_MONTHS = (
    "jan january januar janvier janv enero ene gennaio gen januari janeiro leden ledna styczeń stycznia sty января"
    " январь янв jänner jän ocak oca tammikuu január",
    "feb february februar février fevrier févr fevr fév febrero febbraio februari fevereiro fev luty lutego lut únor"
    " února февраля февраль фев şubat şub helmikuu február",
    "mar march märz maerz mrz mär mars marzo maart mrt março marco marzec marca březen března марта март мар mart"
    " maaliskuu március",
    "apr april avril avr abril abr aprile kwiecień kwietnia kwi duben dubna апреля апрель апр nisan nis huhtikuu"
    " április ápr",
    "may mai mayo maggio mag mei maio maj maja květen května мая май mayıs toukokuu május máj",
    "jun june juni juin junio giugno giu junho czerwiec czerwca cze červen června июня июнь июн haziran haz kesäkuu"
    " június jún",
    "jul july juli juillet juil julio luglio lug julho lipiec lipca lip červenec července июля июль июл temmuz tem"
    " heinäkuu július júl",
    "aug august août aout agosto ago augustus augusti sierpień sierpnia sie srpen srpna августа август авг ağustos"
    " ağu elokuu augusztus",
    "sep sept september septembre septiembre settembre set setembro wrzesień września wrz září сентября сентябрь сен"
    " сент eylül eyl syyskuu szeptember szept",
    "oct october oktober okt octobre octubre ottobre ott outubro out październik października paź říjen října октября"
    " октябрь окт ekim eki lokakuu október",
    "nov november novembre noviembre novembro listopad listopada lis listopadu ноября ноябрь ноя kasım kas marraskuu",
    "dec december dezember dez décembre decembre déc diciembre dic dicembre dezembro grudzień grudnia gru prosinec"
    " декабря декабрь дек des desember aralık ara joulukuu",
)
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH_NAMES = frozenset(_MONTH_NUMBERS)
_WEEKDAYS = (
    "mon monday montag lundi lunes понедельник",
    "tue tues tuesday dienstag mardi martes вторник",
    "wed wednesday mittwoch mercredi среда",
    "thu thur thurs thursday donnerstag jeudi jueves четверг", "fri friday freitag vendredi viernes пятница",
    "sat saturday samstag sonnabend samedi sábado суббота", "sun sunday sonntag dimanche domingo воскресенье",
)  # fmt: skip
_SHORT_DAYS = "mo di mi do fr sa so lun mar mer mié jeu jue ven vie sam sáb dim dom".split()  # noqa: SIM905
_FILLERS = "at on of the de del den der le la el um uhr à a las los em kl t z st nd rd th er d г года".split()  # noqa: SIM905
_WEEKDAY_NAMES = frozenset((*_SHORT_DAYS, *(name for names in _WEEKDAYS for name in names.split())))
_DATE_WORDS = _MONTH_NAMES | _WEEKDAY_NAMES | frozenset((*_FILLERS, "am", "pm", "vorm", "nachm", "上午", "下午"))
_ZONES = {"UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
          "CET": 1, "CEST": 2, "BST": 1, "MEZ": 1, "MESZ": 2, "MSK": 3, "JST": 9}  # fmt: skip
_DATE_SIGNS = re.compile(r"[\s,./:+\-–'年月日]*")
_WORDS = re.compile(r"[^\W\d_]+")
_DATE_PREFIX = re.compile(
    r"(?:date|dated|(?:published|posted|updated)(?: on| at)?|datum|publié le|fecha|data)\s*:?\s+", re.IGNORECASE
)
_PLAIN_NUMBER = re.compile(r"\d{1,19}(?:[.,]\d{1,9})?")
_YEAR = re.compile(
    r"(?<!\d)(?:\d{4}(?!\d)|\d{1,2}[./-]\d{1,2}[./-]\d{2}(?![\d.])|\d{1,2}[- ][^\W\d_]+[- ]\d{2}(?!\d)|\d{8}T?)"
)
_FIRST_YEAR, _LAST_YEAR = 1000, 2200
_SECONDS = 1e8, 4.2e9  # Unix times in seconds, from 1973 to 2103
_DAYS = 10_000, 80_000  # dates of Excel, in days since 1900
_EXCEL = datetime(1899, 12, 30, tzinfo=UTC)  # the day that Excel counts as 0


class _ParserNames(dateutil.parserinfo):  # type: ignore[misc]
    """Names of months and weekdays in several languages, and filler words, for dateutil."""

    MONTHS: ClassVar = [tuple(names.split()) for names in _MONTHS]
    WEEKDAYS: ClassVar = [tuple(names.split()) for names in _WEEKDAYS]
    JUMP: ClassVar = [*dateutil.parserinfo.JUMP, *_FILLERS]
    HMS: ClassVar = [("h", "hour", "hours"), ("m", "minute", "minutes"), ("s", "second", "seconds")]


_make_parser = dateutil.parser(_ParserNames())


@lru_cache(maxsize=1 << 14)
def parse_date(text: str, *, bare: bool = False) -> datetime | None:
    """Return a date or time; None for any other text.

    Of a month, a quarter, a half year or a week it is the beginning.  A time without a zone is taken as UTC.

    Parameters
    ----------
    text : str
    bare : bool
        Whether a single number may be a date: a year, ``20200131``, seconds (or milliseconds and so on) since 1970, or
        days since 1900 as in Excel.

    >>> str(parse_date("Mon Apr 06 22:19:45 PDT 2009")), str(parse_date("3. März 2021"))
    ('2009-04-06 22:19:45-07:00', '2021-03-03 00:00:00+00:00')
    >>> parse_date("12.50"), parse_date("1.2.3"), parse_date("1999"), parse_date("1999", bare=True).year
    (None, None, None, 1999)
    >>> str(parse_date("févr.-19")), str(parse_date("Q3 2019"))
    ('2019-02-01 00:00:00+00:00', '2019-07-01 00:00:00+00:00')
    """
    text = re.sub(r"\s*\([^()]*\)$", "", text.strip())
    if not text or len(text) > _LONGEST_DATE or not any(map(str.isdigit, text)):
        return None
    if period := _parse_period(text, bare=bare):
        return period
    if _PLAIN_NUMBER.fullmatch(text):
        return _parse_number(text) if bare else None
    if _YEAR.search(text) is None or not _has_known_words(text):
        return None
    plain = _simplify_date(text)
    is_dotted = re.search(r"(?<!\d)\d{1,2}\.\s?\d{1,2}\.\s?\d\d", text) is not None
    try:
        date, other_date = (
            _make_parser.parse(plain, default=each, dayfirst=is_dotted, tzinfos=_find_zone)
            for each in (datetime(2000, 1, 1, tzinfo=None), datetime(2004, 2, 2, 1, tzinfo=None))  # noqa: DTZ001
        )
    except (ValueError, OverflowError):
        return None
    if date.year != other_date.year or date.month != other_date.month or not _FIRST_YEAR <= date.year <= _LAST_YEAR:
        return None
    if date.day != other_date.day:
        return datetime(date.year, date.month, 1, tzinfo=UTC)
    zone = date.tzinfo if date.hour == other_date.hour else None  # which only a time has
    return date.replace(microsecond=0, tzinfo=zone or UTC)


def find_date(line: str) -> str | None:
    """Return the date in a line, as it is written; None if the line is not just a date.

    >>> find_date("September 26, 1975"), find_date("Published: 3. Mai 2021"), find_date("In May 1968")
    ('September 26, 1975', '3. Mai 2021', None)
    """
    date_text = _DATE_PREFIX.sub("", line.strip(), count=1)
    return date_text if parse_date(date_text) else None


def _simplify_date(text: str) -> str:
    """Return a date without its weekday, and with English signs instead of those of other languages."""
    first, *others = _WORDS.findall(text.lower()) or [""]
    if first in _WEEKDAY_NAMES and (first not in _MONTH_NAMES or any(word in _MONTH_NAMES for word in others)):
        text = text.lstrip()[len(first) :].lstrip(" .,")
    for pattern, plain in _REPLACEMENTS:
        text = pattern.sub(plain, text)
    return text.rstrip("- ")


_REPLACEMENTS = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"(?<=\d)[年月]", "-"),
        ("日", " "),
        (r"\b(\d\d?)\.(\d\d)\s?[Uu]hr", r"\1:\2"),
        (r"(?<=\d)\.(?=\s)", " "),  # day of the month in German
        (r"(?i)\b([ap])\.\s?m\.?", r"\1m"),
        (r"\b(vorm\.|上午)", "am"),
        (r"\b(nachm\.|下午)", "pm"),
        (r"(am|pm) ?(\d\d?:\d\d(:\d\d)?)", r"\2 \1"),
        (r"\b24(?=:00)", "00"),
        (r"(?:GMT|UTC)\s?(?=[+-]\d)", ""),  # dateutil would reverse the sign
    )
)


def _has_known_words(text: str) -> bool:
    """Return whether all words and signs of a text may be part of a date."""
    if _DATE_SIGNS.fullmatch(re.sub(r"[^\W_]+", "", text)) is None:
        return False
    words = _WORDS.findall(re.sub(r"[年月日]|(?<=[aApP])\.\s?(?=[mM])", "", text))
    return all(word.lower() in _DATE_WORDS or (word.isupper() and len(word) <= 5) or word in "hms" for word in words)


def _find_zone(name: str | None, offset: int | None) -> timezone | None:
    """Return a time zone by its name or its offset in seconds; None if it is unknown or ambiguous."""
    if offset is not None:
        return timezone(timedelta(seconds=offset)) if abs(offset) < 86_400 else None
    return timezone(timedelta(hours=_ZONES[name])) if name in _ZONES else None


def is_date_column(name: str, values: Sequence[str]) -> bool:
    """Return whether nearly all values of a column are dates; numbers count only if its name suggests dates."""
    filled = values[:_SAMPLED_DATES]
    if not filled:
        return False
    named = names_a_date(name)
    if named and all(map(_PLAIN_NUMBER.fullmatch, filled)):
        return _are_date_numbers(name, filled)
    n_others, most_others = 0, (1 - _DATE_SHARE) * len(filled)
    for value in filled:
        n_others += parse_date(value, bare=named) is None
        if n_others > most_others:
            return False
    return True


def _are_date_numbers(name: str, values: Sequence[str]) -> bool:
    """Return whether numbers are dates; in a column of months, days or hours they must be small."""
    if any(word in ("month", "day", "hour", "monat", "mois", "mes", "jour") for word in split_words(name)):
        return all(float(value.replace(",", ".")) <= 31 for value in values)
    return sum(parse_date(value, bare=True) is not None for value in values) >= _DATE_SHARE * len(values)


def _parse_number(text: str) -> datetime | None:
    """Return the date that a number stands for; None if it is not plausible."""
    whole, _, fraction = text.replace(",", ".").partition(".")
    if len(whole) == 4 and not fraction.strip("0"):
        return datetime(int(whole), 1, 1, tzinfo=UTC) if _FIRST_YEAR <= int(whole) <= _LAST_YEAR else None
    if len(whole) == 8 and not fraction and (date := parse_date(f"{whole[:4]}-{whole[4:6]}-{whole[6:]}")):
        return date
    value = float(f"{whole}.{fraction or 0}")
    for unit in (1, 1e3, 1e6, 1e9):
        if _SECONDS[0] <= value / unit < _SECONDS[1]:
            return datetime.fromtimestamp(value / unit, UTC).replace(microsecond=0)
    return (_EXCEL + timedelta(days=value)).replace(microsecond=0) if _DAYS[0] <= value < _DAYS[1] else None


SAMPLES = 3  # sample values of a column
_SAMPLED_RECORDS = 200  # records from which samples are taken
_LONGEST_SAMPLE = 80  # characters of a sample value


class Column(NamedTuple):
    """A column (or field): its name, its role and some of its values.

    Attributes
    ----------
    name : str
    role : str
        "text", "title", "label", "split", "id", "date" or "other".
    samples : tuple of str
        The first different values, at most three.
    """

    name: str
    role: str
    samples: tuple[str, ...]


class Columns:
    """The columns of a table, collected while its records are read.

    Parameters
    ----------
    roles : mapping of str to str
        Roles by column name, of the columns that have one.
    """

    def __init__(self, roles: Mapping[str, str]) -> None:
        self._roles = dict(roles)
        self._samples: dict[str, list[str]] = {}
        self._n_records = 0
        self._rewrite: Callable[[str], str] = str

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Change names and samples when they are listed, as the columns of the documents are changed."""
        self._rewrite = change

    @property
    def roles(self) -> dict[str, str]:
        """The roles by column name, of the columns that have one."""
        return dict(self._roles)

    def see(self, record: Mapping[str, Any]) -> None:
        """Add the values of a record to the samples; only the first records are used."""
        if self._n_records >= _SAMPLED_RECORDS:
            return
        self._n_records += 1
        for name, value in record.items():
            samples = self._samples.setdefault(str(name), [])
            if len(samples) < SAMPLES:
                sample = _shorten(as_prose(value) if self._roles.get(str(name)) == "text" else as_text(value))
                if sample and sample not in samples:
                    samples.append(sample)

    def list_all(self) -> tuple[Column, ...]:
        """Return the columns in the order of the table."""
        names = dict.fromkeys((*self._samples, *self._roles))
        return tuple(self._make_column(name, self._samples.get(name, [])) for name in names)

    def _make_column(self, name: str, samples: list[str]) -> Column:
        role = self._roles.get(name) or ("date" if is_date_column(name, samples) else "other")
        return Column(self._rewrite(name), role, tuple(map(self._rewrite, samples)))


def _shorten(text: str) -> str:
    """Return the beginning of a text as one short line."""
    line = " ".join(text[: 10 * _LONGEST_SAMPLE].split())
    return line if len(line) <= _LONGEST_SAMPLE else line[: _LONGEST_SAMPLE - 1].rstrip() + "…"


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


def _parse_period(text: str, *, bare: bool) -> datetime | None:
    """Return the first day of a period; None for any other text.

    Parameters
    ----------
    text : str
    bare : bool
        Whether the column is one of dates, so that forms count that could be codes as well, such as ``JAN19``.
    """
    plain = _YEAR_WORD.sub("", " ".join(text.casefold().split()))
    if match := _MONTH_AND_YEAR.fullmatch(plain):
        month = _MONTH_NUMBERS.get(match[1])
        return _find_month(_complete_year(match[3]), month) if month and (match[2] or bare) else None
    if match := _ISO_WEEK.fullmatch(plain):
        return _find_monday(int(match[1]), int(match[2]))
    if match := _CHINESE.fullmatch(plain):
        return _write_part(match[1], 3, match[2])
    if match := _YEAR_FIRST.fullmatch(plain):
        return _read_parts(match[1], match[2] or match[5], match[3] or match[4], bare=bare)
    if match := _YEAR_LAST.fullmatch(plain):
        return _read_parts(match[5], match[1] or match[4], match[2] or match[3], bare=bare)
    return _read_numbers(plain) if bare else None


def _read_parts(year: str, word: str, number: str, *, bare: bool) -> datetime | None:
    """Return the period of a year that has this name and number."""
    if not bare and (word not in _SURE or len(year) == 2):  # Q1-19 may be a question, and S1 a code
        return None
    if word in _WEEKS or word == "w":
        return _find_monday(int(_complete_year(year)), int(number)) if number.isdecimal() else None
    return _write_part(year, _MONTHS_OF[word], number) if word in _MONTHS_OF else None


def _read_numbers(plain: str) -> datetime | None:
    """Return the month that is written in digits alone, as in 2019.01 and 201901."""
    if match := _NUMBERED_MONTH.fullmatch(plain):
        year, month = match[1] or match[4] or match[5], match[2] or match[3] or match[6]
        return _find_month(year, int(month)) if _FIRST_PLAIN <= int(year) < _LAST_PLAIN else None
    return None


def _write_part(year: str, length: int, number: str) -> datetime | None:
    """Return the first month of a part of a year, given by its length in months and its number."""
    place = _ROMAN.get(number) or _CHINESE_NUMBERS.get(number) or int(number)
    return _find_month(_complete_year(year), length * (place - 1) + 1) if place > 0 else None


def _find_month(year: str, month: int) -> datetime | None:
    is_plausible = 1 <= month <= 12 and _FIRST_YEAR <= int(year) <= _LAST_YEAR
    return datetime(int(year), month, 1, tzinfo=UTC) if is_plausible else None


def _find_monday(year: int, week: int) -> datetime | None:
    try:
        monday = datetime.fromisocalendar(year, week, 1).replace(tzinfo=UTC)
    except ValueError:
        return None
    return monday if _FIRST_YEAR <= year <= _LAST_YEAR else None


def _complete_year(year: str) -> str:
    """Return a year of four digits, for two digits the nearest one, as other dates have it."""
    return year if len(year) == 4 else str(_find_century().convertyear(int(year)))


@cache
def _find_century() -> dateutil.parserinfo:
    return dateutil.parserinfo()


MOST_COLUMNS = 200  # columns that are typed; records in JSON may have thousands of fields
MOST_LEVELS = 1000  # categories of a column
LONGEST_LEVEL = 100  # characters of a category or an id
MOST_SAMPLED = 2048  # values of a column with more different values by which its kind is chosen
FITTING_SHARE = 0.9  # share of the values that must be dates or numbers in a column of these
_FEWEST_FITTING = 0.5  # share among a few values below which the others are not tried
_FEW_VALUES = 50
NO_DATE = int(np.iinfo(np.int64).min)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(r"(?<![\d:+-])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
_HALF_DAY = re.compile(r"(?i)\d\s*[ap]\.?\s?m\b|\b[ap]m\b|vorm|nachm|上午|下午|uhr")
_DAY_AND_MONTH = re.compile(r"\s*(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?!\d)")
_BLANKS = " \u00a0\u202f"  # that may divide thousands, too
_AROUND = _BLANKS + "%€$£¥"  # around a number
_GROUPED = re.compile(rf"[+-]?\d{{1,3}}(?:[,'{_BLANKS}]\d{{3}})+(?:\.\d+)?")
_WITH_COMMA = re.compile(rf"[+-]?(?:\d{{1,3}}(?:[.'{_BLANKS}]\d{{3}})+|\d+)(?:,\d+)?")
_DECIMALS_AFTER_COMMA = re.compile(r"[+-]?[\d.]*\d,(?:\d{1,2}|\d{4,})")
_CODE = re.compile(r"0\d+")  # of a place or a product; a number does not begin with a zero
_NOT_DIGITS = re.compile(rf"[,'{_BLANKS}]")


class ChosenKind(NamedTuple):
    """The kind of a column, how its texts are to be read (see `store.corpus_rows`), and its categories, in order."""

    kind: str
    notation: str = ""
    levels: tuple[str, ...] = ()


def parse_number(text: str, notation: str = "") -> float:
    """Return the number that a text is; NaN for any other text.

    >>> parse_number("1,234.5"), parse_number("12 %"), parse_number("3,5", DECIMAL_COMMA), parse_number("3,5")
    (1234.5, 12.0, 3.5, nan)
    """
    text = text.strip(_AROUND).replace("\u2212", "-")
    if notation == DECIMAL_COMMA:
        if not _WITH_COMMA.fullmatch(text):
            return nan
        text = _NOT_DIGITS.sub(lambda match: "," if match[0] == "," else "", text.replace(".", "")).replace(",", ".")
    elif _GROUPED.fullmatch(text):
        text = _NOT_DIGITS.sub("", text)
    try:
        number = float(text)
    except ValueError:
        return nan
    return number if isfinite(number) and "_" not in text else nan


def parse_moment(text: str, notation: str = "", *, bare: bool = True) -> int:
    """Return a date or time in milliseconds since 1970, UTC; `NO_DATE` for any other text.

    A time without a zone is taken as UTC, and a date without a day or a month as the first one.

    Parameters
    ----------
    text : str
    notation : str
        ``DAY_FIRST`` if 3/4/2021 is in April.
    bare : bool
        Whether a single number may be a date, as in `app.ingest.tables.values.parse_date`.

    >>> parse_moment("1970-01-02"), parse_moment("2 Jan 1970 00:00:01"), parse_moment("1970-01-01T01:00:00+01:00")
    (86400000, 86401000, 0)
    >>> parse_moment("3/4/1970") // 86_400_000, parse_moment("3/4/1970", DAY_FIRST) // 86_400_000
    (62, 92)
    """
    text = text.strip()
    if _ISO.match(text):
        try:
            return _count_milliseconds(datetime.fromisoformat(text))
        except ValueError:  # in another form, such as with a zone in words
            pass
    written = _DAY_AND_MONTH.match(text) if notation == DAY_FIRST else None
    if written is not None and int(written[3]) <= 12:
        text = f"{written[1]}.{written[3]}.{written[4]}{text[written.end() :]}"  # with dots, days are first
    clock = None if _HALF_DAY.search(text) else _CLOCK.search(text)
    if clock is not None:  # without the time there are few different dates, which are parsed once each
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        day = _count_milliseconds(parse_date(f"{text[: clock.start()]}00:00:00{text[clock.end() :]}", bare=bare))
        if day != NO_DATE:
            return day + 1000 * (3600 * hours + 60 * minutes + seconds)
    return _count_milliseconds(parse_date(text, bare=bare))


def _count_milliseconds(moment: datetime | None) -> int:
    """Return a time in milliseconds since 1970; `NO_DATE` if there is none, or its year is not plausible."""
    if moment is None or not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return NO_DATE
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


class ColumnProfile:
    """A profile of the texts of a column: how often each occurs if they are few, else an evenly spread sample.

    Attributes
    ----------
    name : str
    filled : int
        Number of texts that are not missing.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.filled = 0
        self._counts: dict[str, int] | None = {}
        self._sample: list[str] = []
        self._step = 1

    def add(self, text: str) -> None:
        """Add the text of a document."""
        text = text.strip()
        if not text or is_missing(text):
            return
        self.filled += 1
        if self._counts is not None:
            if text in self._counts:
                self._counts[text] += 1
            elif len(self._counts) < MOST_LEVELS and len(text) <= LONGEST_LEVEL:
                self._counts[text] = 1
            else:
                self._counts = None
        if self.filled % self._step == 0:
            self._sample.append(text[: 2 * LONGEST_LEVEL])
            if len(self._sample) == MOST_SAMPLED:
                self._sample, self._step = self._sample[1::2], 2 * self._step

    @cached_property
    def _weights(self) -> dict[str, int]:
        """The different texts, or those of the sample, and how often each occurs."""
        return Counter(self._sample) if self._counts is None else self._counts

    def choose(self) -> ChosenKind:
        """Return the kind that fits best.

        Dates and numbers fit if `FITTING_SHARE` of the texts are; single numbers are dates only if the name of the
        column says so.  Categories repeat: each is in two documents or more on average.
        """
        is_id = names_an_id(self.name)
        chosen = self._try_dates(bare=names_a_date(self.name))
        is_code = is_id or plain_name(self.name) in IDS or any(map(_CODE.fullmatch, self._weights))
        if chosen is None and not is_code:
            chosen = self._try_numbers()
            if chosen is not None and self._counts is not None and len(self._counts) == 2:
                chosen = None  # yes and no
        if chosen is not None:
            return chosen
        if self._counts and (3 if is_id else 2) * len(self._counts) <= self.filled:
            return ChosenKind(CATEGORY, levels=self._sort_levels())
        return ChosenKind(ID if is_id or self._has_ids() else TEXT)

    def read_as(self, kind: str) -> ChosenKind | None:
        """Return how the column is to be read as a kind; None if no text fits, or too many categories do."""
        if kind == DATE:
            return self._try_dates(bare=True, least=0.0)
        if kind == NUMBER:
            return self._try_numbers(least=0.0)
        if kind == CATEGORY:
            return None if self._counts is None else ChosenKind(CATEGORY, levels=self._sort_levels())
        return ChosenKind(kind)

    def _try_dates(self, *, bare: bool, least: float = FITTING_SHARE) -> ChosenKind | None:
        """Return the notation if at least a share of the texts are dates, and one is."""
        written = [(match, times) for text, times in self._weights.items() if (match := _DAY_AND_MONTH.match(text))]
        days = sum(times for match, times in written if int(match[1]) > 12)
        months = sum(times for match, times in written if int(match[3]) > 12)
        notation = DAY_FIRST if days > months else ""
        fitting = self._measure_fit(lambda text: parse_moment(text, notation, bare=bare) != NO_DATE, least)
        return ChosenKind(DATE, notation) if fitting and fitting >= least else None

    def _try_numbers(self, *, least: float = FITTING_SHARE) -> ChosenKind | None:
        """Return the notation if at least a share of the texts are numbers, and one is."""
        shares = {
            notation: self._measure_fit(lambda text, notation=notation: isfinite(parse_number(text, notation)), least)  # type: ignore[misc]
            for notation in ("", DECIMAL_COMMA)
        }
        has_decimals = any(map(_DECIMALS_AFTER_COMMA.fullmatch, self._weights))
        notation = DECIMAL_COMMA if has_decimals and shares[DECIMAL_COMMA] >= shares[""] else ""
        return ChosenKind(NUMBER, notation) if shares[notation] and shares[notation] >= least else None

    def _measure_fit(self, fits: Callable[[str], bool], least: float) -> float:
        """Return the share of the texts that fit; 0 without trying all if few of some evenly spread ones do."""
        pairs = list(self._weights.items())
        few = pairs[:: len(pairs) // _FEW_VALUES + 1]
        for chosen in (few, pairs):
            fitting = sum(times for text, times in chosen if fits(text))
            share = fitting / max(sum(times for _, times in chosen), 1)
            if least and share < _FEWEST_FITTING:
                return 0.0
        return share

    def _sort_levels(self) -> tuple[str, ...]:
        """Return the categories, numbers by their size, and others by the alphabet."""
        numbers = {level: parse_number(level) for level in self._counts or ()}
        if all(map(isfinite, numbers.values())):
            return tuple(sorted(numbers, key=lambda level: (numbers[level], level)))
        return tuple(sorted(numbers, key=lambda level: (level.casefold(), level)))

    def _has_ids(self) -> bool:
        """Return whether the texts are links, or different ones without blanks, or the name is usual for ids."""
        if not self._weights:
            return False
        if plain_name(self.name) in IDS and max(map(len, self._weights)) <= LONGEST_LEVEL:
            return True
        if 2 * sum(map(is_link, self._weights)) > len(self._weights):
            return True
        is_unique = max(self._weights.values()) == 1 and len(self._weights) > 1
        return is_unique and not any(" " in text or len(text) > LONGEST_LEVEL for text in self._weights)


class ColumnProfiles:
    """Profiles of all columns of documents, filled while these are read."""

    def __init__(self) -> None:
        self._profiles: dict[str, ColumnProfile] = {}
        self._is_cut = False  # whether there are more than MOST_COLUMNS columns

    def add(self, columns: Mapping[str, str]) -> None:
        """Add the columns of a document."""
        profiles = self._profiles
        for name, text in columns.items():
            profile = profiles.get(name)
            if profile is None:
                if len(profiles) == MOST_COLUMNS:
                    self._is_cut = True
                    continue
                profile = profiles[name] = ColumnProfile(name)
            profile.add(text)

    def choose_kinds(self) -> dict[str, ChosenKind]:
        """Return the kind of every column by name, in the order of their first occurrence, after the last document."""
        return {name: profile.choose() for name, profile in self._profiles.items()}

    def list_notes(self) -> list[str]:
        """Return a sentence about columns that are not typed, or none."""
        if not self._is_cut:
            return []
        return [f"there are more than {MOST_COLUMNS} columns; only the first {MOST_COLUMNS} can be used in filters"]


def profile_texts(name: str, texts: Sequence[str]) -> ColumnProfile:
    """Return the profile of a column whose texts are in memory."""
    profile = ColumnProfile(name)
    for text in texts:
        profile.add(text)
    return profile
