"""The roles of columns (text, title, label, split, date), found by name or values, and records as documents."""

import csv
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import LEFT_OUT
from app.ingest.tables import column_names
from app.ingest.tables.column_names import find_named, names_a_date, names_an_id, rank_date
from app.ingest.tables.values import as_prose, as_text, is_date_column, is_link, is_list_of_texts, is_missing, is_number
from engine.contract import TEST, TRAIN, VALIDATION

PARTS = {
    "train": TRAIN, "training": TRAIN,
    "dev": VALIDATION, "valid": VALIDATION, "validation": VALIDATION, "val": VALIDATION,
    "test": TEST, "testing": TEST, "heldout": TEST, "held-out": TEST, "eval": TEST, "evaluation": TEST,
    "unused": LEFT_OUT, "none": LEFT_OUT, "": LEFT_OUT,
}  # fmt: skip

MOST_OF_LABEL = 60  # letters
MOST_OF_TITLE = 300
MOST_NUMBERS = 20  # different numbers of a column of labels; more are measurements
_NEARLY_EMPTY = 0.1  # share of the rows in which a column called text is filled, below which it is not the text
_MOST_ROWS = 0.5  # share of the rows in which a label is filled
_ENOUGH = 20  # rows from which shares say something
_NO_TEXT = (
    "has no column of text, only numbers and dates; name the column with --text-column, or, where these are counts of "
    "words, the format: --format dtm (a column for each word) or --format triples (document, word, count)"
)

Record = Mapping[str, Any]


class Roles(NamedTuple):
    """Names of the columns that mean something; every other column is kept as it is.

    Attributes
    ----------
    text : tuple of str
    title, label, split, identity : str or None
    dates : tuple of str
        Columns of dates and times, that of the document first.
    guessed : str
        What was decided by the values of the columns and not by their names, in a sentence; or empty.
    """

    text: tuple[str, ...]
    title: str | None
    label: str | None
    split: str | None
    identity: str | None
    dates: tuple[str, ...] = ()
    guessed: str = ""


class Profile:
    """A profile of the first values of a column.

    Attributes
    ----------
    name : str
    filled : list of str
        The values, but for those that are missing.
    share : float
        Share of the records that have one.
    """

    def __init__(self, name: str, values: Sequence[Any], *, named: bool = True) -> None:
        self.name = name
        self._values, self._called = values, name if named else ""
        texts = [as_text(value).strip() for value in values]
        self.filled = [text for text in texts if text and not is_missing(text)]
        self.share = len(self.filled) / max(len(values), 1)

    @cached_property
    def different(self) -> int:
        """Return the number of different values."""
        return len(set(self.filled))

    @cached_property
    def has_lists(self) -> bool:
        """Return whether values are lists."""
        return any(isinstance(value, list) for value in self._values)

    @cached_property
    def has_lists_of_labels(self) -> bool:
        """Return whether values are lists of short texts or numbers."""
        lists = [value for value in self._values if isinstance(value, list)]
        entries = [entry for value in lists for entry in value]
        return bool(lists) and all(isinstance(each, str | int) and len(str(each)) <= MOST_OF_LABEL for each in entries)

    @cached_property
    def has_numbers(self) -> bool:
        """Return whether all values are numbers."""
        return bool(self.filled) and all(map(is_number, self.filled))

    @property
    def has_large_numbers(self) -> bool:
        """Return whether all values are numbers of four digits or more: years, numbers of places and the like."""
        return self.has_numbers and all(value.isdecimal() and len(value) >= 4 for value in self.filled)

    @cached_property
    def has_flags(self) -> bool:
        """Return whether all values say yes or no."""
        values = {value.lower() for value in self.filled}
        return bool(values) and values <= {"true", "false", "yes", "no", "t", "f", "y", "n", "ja", "nein", "0", "1"}

    @cached_property
    def has_dates(self) -> bool:
        """Return whether the values are dates or times."""
        return not self.has_lists and is_date_column(self._called, self.filled)

    @property
    def is_named_date(self) -> bool:
        """Return whether the name says that values are dates, whatever their form, such as "3 hours ago"."""
        sure = column_names.plain_name(self._called) in column_names.SURE_DATES
        return sure and bool(self.filled) and self.is_short and not (self.has_numbers or self.has_lists)

    @cached_property
    def has_links(self) -> bool:
        """Return whether most values are links or addresses."""
        return 2 * sum(map(is_link, self.filled)) > len(self.filled)

    @cached_property
    def letters(self) -> int:
        """Letters that may be those of texts: of strings and lists of them, but no links, data or numbers."""
        if self.has_numbers or self.has_dates or self.has_links:
            return 0
        parts = find_named(column_names.TEXTS, [self.name]) is not None
        return sum(_count_letters(value, parts=parts) for value in self._values)

    @property
    def is_short(self) -> bool:
        """Return whether no value is longer than a label, but in a list."""
        values = [value for value in self._values if not isinstance(value, list)]
        return all(len(as_text(value)) <= MOST_OF_LABEL for value in values)

    @property
    def is_long(self) -> bool:
        """Return whether a value is longer than a title."""
        return max((len(text) for text in self.filled), default=0) > MOST_OF_TITLE

    @property
    def repeats(self) -> bool:
        """Return whether there are two values or more, each for three records or more on average, or few numbers."""
        if self.has_lists or not 1 < self.different <= max(2, len(self._values) // 3):
            return False
        if self.different == len(self._values):
            return False
        return not self.has_numbers or self.different <= MOST_NUMBERS

    @property
    def is_line(self) -> bool:
        """Return whether the values are lines of words, another one in nearly every record, and no sentences."""
        several = sum(sum(map(str.isalpha, text)) > 3 and " " in text for text in self.filled)
        sentences = sum(text.endswith((".", "!", "?")) and text.count(" ") > 7 for text in self.filled)
        return (
            several > len(self._values) / 2
            and self.different > 0.8 * len(self._values)
            and 2 * sentences < len(self.filled)
            and not (self.is_long or self.has_dates or self.has_links or self.has_lists)
        )


def _count_letters(value: Any, *, parts: bool) -> int:
    """Count the letters of a value that may be a text; ``parts`` says whether it may be made of objects."""
    if isinstance(value, str):
        return 0 if value.startswith(("{", "[{")) or is_missing(value) else len(value)
    return len(as_prose(value)) if is_list_of_texts(value) or (parts and isinstance(value, list | dict)) else 0


def find_roles(
    sample: Sequence[Record], options: ImportOptions, path: Path, *, named: bool = True, no_text: str = _NO_TEXT
) -> Roles:
    """Return the roles of the columns, by the options, else by their names, else by what the first records look like.

    Parameters
    ----------
    sample : sequence of mappings
        The first records.
    named : bool
        Whether column names mean something (they do not in a table without a header).
    no_text : str
        What to say where nothing looks like a text.

    Raises
    ------
    IngestError
        When a column of the options does not exist, or nothing looks like a text.
    """
    names = list(dict.fromkeys(name for record in sample for name in record))
    about = {name: Profile(name, [record.get(name) for record in sample], named=named) for name in names}
    split = _check_given(options.split_column, names, path) or _find_split(sample, names, named=named)
    label = _check_given(options.label_column, names, path)
    title = _check_given(options.title_column, names, path)
    columns = split_columns(options.text_column, names)
    texts = tuple(_check_column(name, names, path) for name in columns)
    free = [about[name] for name in names if name not in (split, label, title, *texts)]
    dates = [each.name for each in free if each.has_dates or each.is_named_date]
    dates.sort(key=rank_date)
    free = [each for each in free if each.name not in dates]
    guesses: list[str] = []
    if not texts:
        found = _find_text(free, guesses)
        if found is None:
            raise IngestError(path, no_text)
        texts = (found,)
    free = [each for each in free if each.name not in texts]
    within = column_names.find_parent(texts[0])
    identity = _find_identity([each for each in free if column_names.find_parent(each.name) in ("", within)])
    free = [each for each in free if each.name != identity]
    named_title = title or _find_named_title(free)
    if label is None:
        label = _find_label([each for each in free if each.name != named_title], guesses)
    if named_title is None:
        again = [about[name] for name in columns]  # a title may be part of the text that was asked for
        others = [each for each in (*free, *(again if len(again) > 1 else ())) if each.name != label]
        longest = max((about[name] for name in texts), key=lambda each: each.letters)
        named_title = _find_named_title(again) or _find_title(others, longest, guesses)
    return Roles(texts, named_title, label, split, identity, tuple(dates), "; ".join(guesses))


def split_columns(request: str | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of the text that were asked for, with commas between them.

    A name may have commas itself; where it is no column, it is read as a cell of a table, which may be quoted.

    >>> split_columns("a,b", ["a", "b"]), split_columns("a,b", ["a,b", "a"])
    (('a', 'b'), ('a,b',))
    >>> split_columns("why, then?,b", ["why, then?"])
    ('why, then?', 'b')
    >>> split_columns('"a,b", c', ["a,b", "c"])
    ('a,b', 'c')
    """
    if request is None:
        return ()
    pieces, found = request.split(","), list[str]()
    if any(name in request for name in names if "," in name and f'"{name}"' not in request):
        while pieces:
            ends = (end for end in range(len(pieces), 0, -1) if ",".join(pieces[:end]).strip() in names)
            end = next(ends, 1)
            found.append(",".join(pieces[:end]).strip())
            pieces = pieces[end:]
        return tuple(filter(None, found))
    if request in names:
        return (request,)
    return tuple(name.strip() for name in next(csv.reader([request], skipinitialspace=True), []) if name.strip())


def _check_given(name: str | None, names: Sequence[str], path: Path) -> str | None:
    return None if name is None else _check_column(name, names, path)


def _check_column(name: str, names: Sequence[str], path: Path) -> str:
    if name not in names:
        listed = ", ".join(repr(each) if "," in each else each for each in names)
        raise IngestError(path, f"has no column {name!r}; its columns are {listed}")
    return name


def _find_split(sample: Sequence[Record], names: Sequence[str], *, named: bool) -> str | None:
    """Return a column of the right name, or of a table without names, whose every value says train or test."""
    for name in names:
        if named and column_names.plain_name(name) not in column_names.SPLITS:
            continue
        values = {as_text(record.get(name)).strip().lower() for record in sample}
        if values and values <= set(PARTS) and values & {"train", "training", "test", "testing"}:
            return name
    return None


def _find_text(free: Sequence[Profile], guesses: list[str]) -> str | None:
    """Return the column called text unless nearly empty, else one of a usual name and enough letters, else of most."""
    able = [each for each in free if each.letters]
    if not able:
        return find_named(column_names.TEXTS, [each.name for each in free if not each.filled])
    by_plain = {column_names.plain_name(each.name): each for each in reversed(able)}
    for name in column_names.SURE_TEXTS:
        if name in by_plain and by_plain[name].share >= _NEARLY_EMPTY:
            return by_plain[name].name
    most = max(able, key=lambda each: each.letters)
    usual = find_named(column_names.TEXTS, [each.name for each in able if 3 * each.letters >= most.letters])
    if usual is None and len(free) > 1:
        letters = "has most letters" if len(able) > 1 else "alone has words"
        guesses.append(f"the text is {most.name!r}, which {letters}, as no column has a usual name of texts")
    return usual or most.name


def _find_identity(free: Sequence[Profile]) -> str | None:
    """Return a column of a usual name of what records are called, else one of identifiers that are all different."""
    usual = find_named(column_names.IDS, [each.name for each in free], whole=True)
    ids = (each.name for each in free if names_an_id(each.name) and each.different == len(each.filled) > 1)
    return usual or next(ids, None)


def _find_label(free: Sequence[Profile], guesses: list[str]) -> str | None:
    """Return a column of a usual name with short values, else one of few values that repeat: words before numbers."""
    able = [each for each in free if (each.has_lists_of_labels if each.has_lists else each.is_short and each.filled)]
    able = [each for each in able if not _is_measured(each)]
    for least in (_MOST_ROWS, 0.0):
        repeating = [each.name for each in able if each.share > least and each.repeats]
        others = [each.name for each in able if each.share > least]
        if usual := find_named(column_names.LABELS, repeating) or find_named(column_names.LABELS, others, whole=True):
            return usual
    found = [each for each in able if each.share > _MOST_ROWS and each.repeats and not _is_no_class(each)]
    found = [each for each in found if not _is_nearly_one(each)]
    if not found:
        return None
    best = min(found, key=_rank_label)
    guesses.append(f"the label is {best.name!r}, whose values repeat")
    return best.name


def _is_nearly_one(each: Profile) -> bool:
    """Return whether nearly all records have the same value."""
    most = max(map(each.filled.count, set(each.filled)))
    return len(each.filled) >= _ENOUGH and most > 0.95 * len(each.filled)


def _is_measured(each: Profile) -> bool:
    """Return whether a column has too many different numbers for a class, or nothing but its own number in each row."""
    return each.has_numbers and each.different > MOST_NUMBERS and 3 * each.different > len(each.filled)


def _is_no_class(each: Profile) -> bool:
    """Return whether a column is of identifiers, dates or links."""
    return names_an_id(each.name) or each.has_links or (names_a_date(each.name) and rank_date(each.name)[0] == 0)


def _rank_label(each: Profile) -> tuple[int, int]:
    """Return how early a column is taken for the label: words, numbers, yes and no, years; usual names first."""
    kind = 3 if each.has_large_numbers else 2 if each.has_flags else 1 if each.has_numbers else 0
    if find_named(column_names.LIKELY_LABELS, [each.name]):
        return kind, 0
    return kind, 2 if find_named(column_names.UNLIKELY_LABELS, [each.name]) else 1


def _find_named_title(free: Sequence[Profile]) -> str | None:
    """Return a column of a usual name that is not long; not one of classes, whose few values repeat in many rows."""
    able = [each for each in free if each.share > _NEARLY_EMPTY and not (each.is_long or each.has_lists)]
    able = [each for each in able if not each.has_numbers]
    return find_named(column_names.TITLES, [each.name for each in able if not _is_of_classes(each)])


def _is_of_classes(each: Profile) -> bool:
    """Return whether a column called subject has few subjects, where others have the line above a message."""
    if column_names.plain_name(each.name) not in column_names.SUBJECTS:
        return False
    return len(each.filled) >= _ENOUGH and 5 * each.different < len(each.filled)


def _find_title(free: Sequence[Profile], text: Profile, guesses: list[str]) -> str | None:
    """Return a column of lines of words, much shorter than the text, with another one in nearly every record."""
    usual = 0.5 * median(map(len, text.filled)) if text.filled else MOST_OF_TITLE
    lines = [each for each in free if each.is_line and not _is_no_title(each)]
    found = next((each.name for each in lines if median(map(len, each.filled)) <= usual), None)
    if found is not None:
        guesses.append(f"the title is {found!r}, whose values read like titles")
    return found


def _is_no_title(each: Profile) -> bool:
    """Return whether a column is called by what no title is: a date, a number, a person, a place."""
    if names_a_date(each.name) or names_an_id(each.name):
        return True
    return (
        find_named((*column_names.UNLIKELY_LABELS, "authors", "affiliation", "address", "bio"), [each.name]) is not None
    )
