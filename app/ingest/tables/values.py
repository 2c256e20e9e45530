"""Values of tables: missing ones, numbers, links, lists and dates, and samples of columns."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from dateutil import parser as dateutil

from app.ingest.tables.column_names import names_a_date, split_words

# What programs write where there is no value. A survey may mean "none", and a class may be called so.
MISSING = frozenset((
    "nan", "NaN", "NAN", "-nan", "None", "<NA>", "NULL", "Null", "null", "N/A", "n/a", "#N/A", "NA", "<na>", "NaT",
    "nil", "(null)", r"\N", "#NULL!", "-", "--", "---", "–", "—", "[deleted]", "[removed]",
))  # fmt: skip
_LONGEST_MISSING = max(map(len, MISSING))
_LINK = re.compile(r"<?(?:https?://|www\.|/r/|mailto:)\S*$|<a\s[^>]*>[^<]*</a>$|\S+@\S+\.\w+$")
_INSIDE = ("text", "elements", "content", "children", "items", "paragraphs", "ops", "insert", "value", "body")

_OF_JSON = (bool, int, float, dict)


def is_missing(text: str) -> bool:
    """Return whether a text stands for a value that is not there.

    >>> [is_missing(text) for text in ("NaN", " <NA> ", "", "none", "nothing")]
    [True, True, False, False, False]
    """
    return len(text) <= _LONGEST_MISSING + 2 and text.strip() in MISSING


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, as in ``4``, ``-1.5``, ``1,234.5`` and ``12 %``."""
    try:
        float(cell.strip().replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True


def is_link(text: str) -> bool:
    """Return whether a text is nothing but a link or an address."""
    return _LINK.match(text) is not None


def is_prose(text: str) -> bool:
    """Return whether a text is of several words, in scripts with and without spaces."""
    return len(text) >= 10 and (" " in text or not text.isascii()) and not is_link(text)


def is_list_of_texts(value: Any) -> bool:
    """Return whether a value is a list with texts in it: words, sentences, or parts of one text."""
    if not isinstance(value, list) or not value:
        return False
    return any(isinstance(each, str) for each in value) and all(isinstance(each, str | dict) for each in value)


def as_text(value: Any) -> str:
    """Return any JSON value as people would write it; a list with commas."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    if isinstance(value, bytes):  # a picture, or a sound
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, _OF_JSON) else str(value)


def as_prose(value: Any) -> str:
    r"""Return the value of a column of texts: of a list its words, its paragraphs, or its parts one after the other.

    >>> as_prose(["spade", "lawn"]), as_prose(["see ", {"type": "link", "text": "this"}, "!"])
    ('spade lawn', 'see this!')
    >>> as_prose(["One line.", "Another one."])
    'One line.\nAnother one.'
    """
    if isinstance(value, str):
        return _join_written_list(value) if value[:2] in _LISTS and value[-2:] in _LIST_ENDS else value
    if isinstance(value, list):
        return _join_list(value)
    return join_parts(value) if isinstance(value, dict) else as_text(value)


def _join_written_list(text: str) -> str:
    """Return the words of a list that Python wrote into a cell, as pandas does with lists of words."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return _join_list(found) if is_list_of_texts(found) else text


_LISTS, _LIST_ENDS = ("['", '["'), ("']", '"]')


def _join_list(value: Sequence[Any]) -> str:
    if any(isinstance(each, dict) for each in value):
        parts = [each if isinstance(each, str) else join_parts(each) for each in value]
        return ("" if any(isinstance(each, str) for each in value) else "\n").join(parts)
    texts = [as_text(each) for each in value]
    return ("\n" if any(" " in text for text in texts) else " ").join(texts)


def join_parts(value: Any) -> str:
    """Return the text of what programs of messages and editors make of one: parts within parts, some of them texts.

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
        return next((found for name in _INSIDE if name in value and (found := join_parts(value[name]))), "")
    return ""


def _is_inline(part: Mapping[str, Any]) -> bool:
    """Return whether a part stands within a line: a text, or what has none, such as a smiley or a link."""
    return isinstance(part.get("text"), str) or not any(name in part for name in _INSIDE)


_LONGEST_DATE = 60  # characters of a date
_DATES_LOOKED_AT = 60  # values of a column
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


_make_parser = dateutil.parser(_Names())


@lru_cache(maxsize=1 << 14)
def parse_date(text: str, *, bare: bool = False) -> str | None:
    """Return a date or time in the form of ISO 8601, as exactly as it is given; None for any other text.

    Parameters
    ----------
    text : str
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
    if not text or len(text) > _LONGEST_DATE or not any(map(str.isdigit, text)):
        return None
    if _BARE.fullmatch(text):
        return _parse_number(text) if bare else None
    if _YEAR.search(text) is None or not _has_known_words(text):
        return None
    plain = _simplify_date(text)
    dotted = re.search(r"(?<!\d)\d{1,2}\.\s?\d{1,2}\.\s?\d\d", text) is not None
    try:
        found, other = (
            _make_parser.parse(plain, default=each, dayfirst=dotted, tzinfos=_find_zone)
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
    date_text = _BEFORE_A_DATE.sub("", line.strip(), count=1)
    return date_text if parse_date(date_text) else None


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
    filled = values[:_DATES_LOOKED_AT]
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


SAMPLES = 3  # values shown of a column
_VALUES_LOOKED_AT = 200  # records from which they are taken
_LONGEST_SAMPLE = 80  # characters of a value that is shown


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
    """Collects the columns of a table while its records are read.

    Parameters
    ----------
    roles : mapping of str to str
        Role by name, of the columns that have one.
    """

    def __init__(self, roles: Mapping[str, str]) -> None:
        self._roles = dict(roles)
        self._samples: dict[str, list[str]] = {}
        self._seen = 0

    @property
    def roles(self) -> dict[str, str]:
        """Return the roles by name of the columns that have one."""
        return dict(self._roles)

    def see(self, record: Mapping[str, Any]) -> None:
        """Look at a record; of a long table only at the first ones."""
        if self._seen >= _VALUES_LOOKED_AT:
            return
        self._seen += 1
        for name, value in record.items():
            known = self._samples.setdefault(str(name), [])
            if len(known) < SAMPLES:
                sample = _shorten(as_prose(value) if self._roles.get(str(name)) == "text" else as_text(value))
                if sample and sample not in known:
                    known.append(sample)

    def list_all(self) -> tuple[Column, ...]:
        """Return the columns in the order of the table."""
        names = dict.fromkeys((*self._samples, *self._roles))
        return tuple(self._make_column(name, self._samples.get(name, [])) for name in names)

    def _make_column(self, name: str, samples: list[str]) -> Column:
        role = self._roles.get(name) or ("date" if is_date_column(name, samples) else "other")
        return Column(name, role, tuple(samples))


def _shorten(text: str) -> str:
    """Return the beginning of a text as one short line."""
    line = " ".join(text[: 10 * _LONGEST_SAMPLE].split())
    return line if len(line) <= _LONGEST_SAMPLE else line[: _LONGEST_SAMPLE - 1].rstrip() + "…"
