"""Values in tables: missing values, numbers, links, lists and dates; and samples of columns."""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from dateutil import parser as dateutil

from topiary.app.ingest.tables.column_names import names_a_date, split_words
from topiary.app.ingest.tables.periods import parse_period

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
    """Return whether a cell is a number, as in ``4``, ``-1.5``, ``1,234.5`` and ``12 %``."""
    try:
        float(cell.strip().replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True


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
def parse_date(text: str, *, bare: bool = False) -> str | None:
    """Return a date or time in ISO 8601, with the given precision; None for any other text.

    Of a quarter, a half year or a week it is the beginning.

    Parameters
    ----------
    text : str
    bare : bool
        Whether a single number may be a date: a year, ``20200131``, seconds (or milliseconds and so on) since 1970, or
        days since 1900 as in Excel.

    >>> parse_date("Mon Apr 06 22:19:45 PDT 2009"), parse_date("3. März 2021"), parse_date("31.12.99")
    ('2009-04-06T22:19:45-07:00', '2021-03-03', '1999-12-31')
    >>> parse_date("5/1/2021 3:07 PM"), parse_date("2021-05"), parse_date("12.50"), parse_date("1.2.3")
    ('2021-05-01T15:07:00', '2021-05', None, None)
    >>> parse_date("1514764800", bare=True), parse_date("1999", bare=True), parse_date("1999")
    ('2018-01-01T00:00:00+00:00', '1999', None)
    >>> parse_date("févr.-19"), parse_date("Q3 2019"), parse_date("201907", bare=True)
    ('2019-02', '2019-07', '2019-07')
    """
    text = re.sub(r"\s*\([^()]*\)$", "", text.strip())
    if not text or len(text) > _LONGEST_DATE or not any(map(str.isdigit, text)):
        return None
    if period := parse_period(text, _MONTH_NUMBERS, bare=bare):
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
    return _write_exactly(date, other_date)


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


def _write_exactly(date: datetime, other_date: datetime) -> str | None:
    """Return a date without the parts missing in the text, which differ between parses with two default dates."""
    if date.year != other_date.year or date.month != other_date.month or not _FIRST_YEAR <= date.year <= _LAST_YEAR:
        return None
    if date.day != other_date.day:
        return date.date().isoformat()[:7]
    if date.hour != other_date.hour:
        return date.date().isoformat()
    return date.replace(microsecond=0).isoformat()


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


def _parse_number(text: str) -> str | None:
    """Return the date that a number stands for, in ISO 8601; None if it is not plausible."""
    whole, _, fraction = text.replace(",", ".").partition(".")
    if len(whole) == 4 and not fraction.strip("0"):
        return whole if _FIRST_YEAR <= int(whole) <= _LAST_YEAR else None
    if len(whole) == 8 and not fraction and (date := parse_date(f"{whole[:4]}-{whole[4:6]}-{whole[6:]}")):
        return date
    value = float(f"{whole}.{fraction or 0}")
    for unit in (1, 1e3, 1e6, 1e9):
        if _SECONDS[0] <= value / unit < _SECONDS[1]:
            return datetime.fromtimestamp(value / unit, UTC).isoformat(timespec="seconds")
    if _DAYS[0] <= value < _DAYS[1]:
        when = _EXCEL + timedelta(days=value)
        return when.date().isoformat() if not fraction.strip("0") else when.isoformat(timespec="seconds")[:-6]
    return None


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
