"""Kinds of columns: which kind fits the texts of a column, and how these are read as dates, numbers and categories."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import isfinite, nan
from typing import NamedTuple

import numpy as np

from topiary.app.ingest.tables.column_names import IDS, names_a_date, names_an_id, plain_name
from topiary.app.ingest.tables.values import is_link, is_missing, parse_date
from topiary.store.column_rows import CATEGORY, DATE, DAY_FIRST, DECIMAL_COMMA, ID, NUMBER, TEXT

MOST_COLUMNS = 200  # columns that are typed; records in JSON may have thousands of fields
MOST_LEVELS = 1000  # categories of a column
LONGEST_LEVEL = 100  # characters of a category or an id
MOST_SAMPLED = 2048  # values of a column with more different values by which its kind is chosen
FITTING_SHARE = 0.9  # share of the values that must be dates or numbers in a column of these
_FEWEST_FITTING = 0.5  # share among a few values below which the others are not tried
_FEW_VALUES = 50
NO_DATE = int(np.iinfo(np.int64).min)
_FIRST_YEAR, _LAST_YEAR = 1000, 2200
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
    """The kind of a column, how its texts are to be read (see `store.column_rows`), and its categories, in order."""

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
        day = _parse_day(f"{text[: clock.start()]}00:00:00{text[clock.end() :]}", bare=bare)
        if day != NO_DATE:
            return day + 1000 * (3600 * hours + 60 * minutes + seconds)
    return _parse_day(text, bare=bare)


def _parse_day(text: str, *, bare: bool) -> int:
    """Return a date in any form in milliseconds since 1970; `NO_DATE` for any other text."""
    iso = parse_date(text, bare=bare)
    if iso is None:
        return NO_DATE
    return _count_milliseconds(datetime.fromisoformat(iso + "-01-01"[len(iso) - 4 :] if len(iso) < 10 else iso))


def _count_milliseconds(moment: datetime) -> int:
    """Return a time in milliseconds since 1970; `NO_DATE` if its year is not plausible."""
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
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
