"""The roles of columns (text, title, label, split, date), found by name or by values, and records as documents."""

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError, plural
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import GUESS, LEFT_OUT, TextDocument, TextSource
from topiary.app.ingest.tables import joining
from topiary.app.ingest.tables import names as column_names
from topiary.app.ingest.tables.names import find_named, names_a_date, names_an_id, rank_date
from topiary.app.ingest.tables.values import (
    Columns,
    as_prose,
    as_text,
    is_date_column,
    is_link,
    is_list_of_texts,
    is_missing,
    is_number,
    is_prose,
)
from topiary.app.ingest.text.cleaning import clean_text
from topiary.engine.contract import TEST, TRAIN, VALIDATION

PARTS = {
    "train": TRAIN, "training": TRAIN,
    "dev": VALIDATION, "valid": VALIDATION, "validation": VALIDATION, "val": VALIDATION,
    "test": TEST, "testing": TEST, "heldout": TEST, "held-out": TEST, "eval": TEST, "evaluation": TEST,
    "unused": LEFT_OUT, "none": LEFT_OUT, "": LEFT_OUT,
}  # fmt: skip

MOST_OF_LABEL = 60  # letters of a label
MOST_OF_TITLE = 300  # letters of a title
MOST_NUMBERS = 20  # different numbers in a column of labels; more are measurements
_NEARLY_EMPTY = 0.1  # share of filled rows below which a column is not the text, despite its name
_LABEL_SHARE = 0.5  # share of filled rows that a label should have
_ENOUGH_ROWS = 20  # rows from which shares are meaningful
_NO_TEXT = (
    "has no column of text, only numbers and dates; name the column with --text-column, or, where these are counts of "
    "words, the format: --format dtm (a column for each word) or --format triples (document, word, count)"
)

Record = Mapping[str, Any]


class Roles(NamedTuple):
    """The columns with a role, by name; all other columns are kept unchanged.

    Attributes
    ----------
    text : tuple of str
    title, label, split, identity : str or None
    dates : tuple of str
        Columns of dates and times, the date of the document first.
    guessed : str
        Sentences about roles that were found by values and not by names, or empty.
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
        The values as texts, without missing ones.
    share : float
        Share of the records with a value.
    """

    def __init__(self, name: str, values: Sequence[Any], *, named: bool = True) -> None:
        self.name = name
        self._values, self._name_or_empty = values, name if named else ""
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
        """Return whether all values are numbers of four digits or more, such as years and postal codes."""
        return self.has_numbers and all(value.isdecimal() and len(value) >= 4 for value in self.filled)

    @cached_property
    def has_flags(self) -> bool:
        """Return whether all values mean yes or no."""
        values = {value.lower() for value in self.filled}
        return bool(values) and values <= {"true", "false", "yes", "no", "t", "f", "y", "n", "ja", "nein", "0", "1"}

    @cached_property
    def has_dates(self) -> bool:
        """Return whether the values are dates or times."""
        return not self.has_lists and is_date_column(self._name_or_empty, self.filled)

    @property
    def is_named_date(self) -> bool:
        """Return whether the values are dates by the name of the column, in any form, such as "3 hours ago"."""
        sure = column_names.plain_name(self._name_or_empty) in column_names.SURE_DATES
        return sure and bool(self.filled) and self.is_short and not (self.has_numbers or self.has_lists)

    @cached_property
    def has_links(self) -> bool:
        """Return whether most values are links or addresses."""
        return 2 * sum(map(is_link, self.filled)) > len(self.filled)

    @cached_property
    def letters(self) -> int:
        """Return the number of letters that may be text: in strings and lists of strings, but not links or data."""
        if self.has_numbers or self.has_dates or self.has_links:
            return 0
        parts = find_named(column_names.TEXTS, [self.name]) is not None
        return sum(_count_letters(value, parts=parts) for value in self._values)

    @property
    def is_short(self) -> bool:
        """Return whether no value is longer than a label, lists excepted."""
        values = [value for value in self._values if not isinstance(value, list)]
        return all(len(as_text(value)) <= MOST_OF_LABEL for value in values)

    @property
    def is_long(self) -> bool:
        """Return whether a value is longer than a title."""
        return max((len(text) for text in self.filled), default=0) > MOST_OF_TITLE

    @property
    def repeats(self) -> bool:
        """Return whether there are several values, each in three records or more on average, and not many numbers."""
        if self.has_lists or not 1 < self.different <= max(2, len(self._values) // 3):
            return False
        if self.different == len(self._values):
            return False
        return not self.has_numbers or self.different <= MOST_NUMBERS

    @property
    def is_line(self) -> bool:
        """Return whether the values are lines of several words, mostly unique, and not sentences."""
        n_several = sum(sum(map(str.isalpha, text)) > 3 and " " in text for text in self.filled)
        n_sentences = sum(text.endswith((".", "!", "?")) and text.count(" ") > 7 for text in self.filled)
        return (
            n_several > len(self._values) / 2
            and self.different > 0.8 * len(self._values)
            and 2 * n_sentences < len(self.filled)
            and not (self.is_long or self.has_dates or self.has_links or self.has_lists)
        )


def _count_letters(value: Any, *, parts: bool) -> int:
    """Count the letters of a value that may be a text; with ``parts``, it may consist of objects."""
    if isinstance(value, str):
        return 0 if value.startswith(("{", "[{")) or is_missing(value) else len(value)
    return len(as_prose(value)) if is_list_of_texts(value) or (parts and isinstance(value, list | dict)) else 0


def find_roles(
    sample: Sequence[Record], options: ImportOptions, path: Path, *, named: bool = True, no_text: str = _NO_TEXT
) -> Roles:
    """Return the roles of the columns, by the options, else by their names, else by the values in the first records.

    Parameters
    ----------
    sample : sequence of mappings
        The first records.
    named : bool
        Whether columns have names; in a table without a header they have not.
    no_text : str
        Message of the error if nothing looks like a text.

    Raises
    ------
    IngestError
        If a column of the options does not exist, or nothing looks like a text.
    """
    names = list(dict.fromkeys(name for record in sample for name in record))
    profiles = {name: Profile(name, [record.get(name) for record in sample], named=named) for name in names}
    split = _check_given(options.split_column, names, path) or _find_split(sample, names, named=named)
    label = _check_given(options.label_column, names, path)
    title = _check_given(options.title_column, names, path)
    columns = split_columns(options.text_column, names)
    texts = tuple(_check_column(name, names, path) for name in columns)
    free = [profiles[name] for name in names if name not in (split, label, title, *texts)]
    dates = [each.name for each in free if each.has_dates or each.is_named_date]
    dates.sort(key=rank_date)
    free = [each for each in free if each.name not in dates]
    guesses: list[str] = []
    if not texts:
        text_column = _find_text(free, guesses)
        if text_column is None:
            raise IngestError(path, no_text)
        texts = (text_column,)
    free = [each for each in free if each.name not in texts]
    parent = column_names.find_parent(texts[0])
    identity = _find_identity([each for each in free if column_names.find_parent(each.name) in ("", parent)])
    free = [each for each in free if each.name != identity]
    named_title = title or _find_named_title(free)
    if label is None:
        with_text = [record for record in sample if any(as_text(record.get(name)).strip() for name in texts)]
        candidates = [each.name for each in free if each.name != named_title]
        label = _find_label([Profile(name, [each.get(name) for each in with_text], named=named) for name in candidates],
                            guesses)  # fmt: skip
    if named_title is None:
        text_profiles = [profiles[name] for name in columns]  # the requested text may include the title
        others = [each for each in (*free, *(text_profiles if len(text_profiles) > 1 else ())) if each.name != label]
        longest = max((profiles[name] for name in texts), key=lambda each: each.letters)
        named_title = _find_named_title(text_profiles) or _find_title(others, longest, guesses)
    return Roles(texts, named_title, label, split, identity, tuple(dates), "; ".join(guesses))


def split_columns(request: str | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the requested columns of the text, which are separated by commas.

    A name may contain commas if it is a column, or if it is quoted like a cell of a table.

    >>> split_columns("a,b", ["a", "b"]), split_columns("a,b", ["a,b", "a"])
    (('a', 'b'), ('a,b',))
    >>> split_columns("why, then?,b", ["why, then?"])
    ('why, then?', 'b')
    >>> split_columns('"a,b", c', ["a,b", "c"])
    ('a,b', 'c')
    """
    if request is None:
        return ()
    pieces, columns = request.split(","), list[str]()
    if any(name in request for name in names if "," in name and f'"{name}"' not in request):
        while pieces:
            ends = (end for end in range(len(pieces), 0, -1) if ",".join(pieces[:end]).strip() in names)
            end = next(ends, 1)
            columns.append(",".join(pieces[:end]).strip())
            pieces = pieces[end:]
        return tuple(filter(None, columns))
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
    """Return a column whose values are all parts such as train or test, and which has a usual name if named."""
    for name in names:
        if named and column_names.plain_name(name) not in column_names.SPLITS:
            continue
        values = {as_text(record.get(name)).strip().lower() for record in sample}
        if values and values <= set(PARTS) and values & {"train", "training", "test", "testing"}:
            return name
    return None


def _find_text(free: Sequence[Profile], guesses: list[str]) -> str | None:
    """Return the column named text unless nearly empty, else one with a usual name or the most letters; or None."""
    candidates = [each for each in free if each.letters]
    if not candidates:
        return find_named(column_names.TEXTS, [each.name for each in free if not each.filled])
    by_plain = {column_names.plain_name(each.name): each for each in reversed(candidates)}
    for name in column_names.SURE_TEXTS:
        if name in by_plain and by_plain[name].share >= _NEARLY_EMPTY:
            return by_plain[name].name
    longest = max(candidates, key=lambda each: each.letters)
    usual = find_named(column_names.TEXTS, [each.name for each in candidates if 3 * each.letters >= longest.letters])
    if usual is None and len(free) > 1:
        letters = "has most letters" if len(candidates) > 1 else "alone has words"
        guesses.append(f"the text is {longest.name!r}, which {letters}, as no column has a usual name of texts")
    return usual or longest.name


def _find_identity(free: Sequence[Profile]) -> str | None:
    """Return a column with a usual name of identifiers, else one of unique identifiers; None if there is none."""
    usual = find_named(column_names.IDS, [each.name for each in free], whole=True)
    ids = (each.name for each in free if names_an_id(each.name) and each.different == len(each.filled) > 1)
    return usual or next(ids, None)


def _find_label(free: Sequence[Profile], guesses: list[str]) -> str | None:
    """Return a column with a usual name and short values, else one of few repeated values, words before numbers."""
    candidates = [
        each for each in free if (each.has_lists_of_labels if each.has_lists else each.is_short and each.filled)
    ]
    candidates = [each for each in candidates if not _is_measured(each)]
    for least_share in (_LABEL_SHARE, 0.0):
        repeating = [each.name for each in candidates if each.share > least_share and each.repeats]
        others = [each.name for each in candidates if each.share > least_share]
        if usual := find_named(column_names.LABELS, repeating) or find_named(column_names.LABELS, others, whole=True):
            return usual
    repeated = [each for each in candidates if each.share > _LABEL_SHARE and each.repeats and not _is_not_class(each)]
    repeated = [each for each in repeated if not _is_nearly_constant(each)]
    if not repeated:
        return None
    best = min(repeated, key=_rank_label)
    guesses.append(f"the label is {best.name!r}, whose values repeat")
    return best.name


def _is_nearly_constant(profile: Profile) -> bool:
    """Return whether nearly all records have the same value."""
    largest = max(map(profile.filled.count, set(profile.filled)))
    return len(profile.filled) >= _ENOUGH_ROWS and largest > 0.95 * len(profile.filled)


def _is_measured(profile: Profile) -> bool:
    """Return whether a column has measurements: too many different numbers for a class."""
    return profile.has_numbers and profile.different > MOST_NUMBERS and 3 * profile.different > len(profile.filled)


def _is_not_class(profile: Profile) -> bool:
    """Return whether a column has identifiers, dates or links, which are not classes."""
    return (
        names_an_id(profile.name)
        or profile.has_links
        or (names_a_date(profile.name) and rank_date(profile.name)[0] == 0)
    )


def _rank_label(profile: Profile) -> tuple[int, int]:
    """Return the rank of a column as the label, smaller is better: words, numbers, flags, years; usual names first."""
    kind = 3 if profile.has_large_numbers else 2 if profile.has_flags else 1 if profile.has_numbers else 0
    if find_named(column_names.LIKELY_LABELS, [profile.name]):
        return kind, 0
    return kind, 2 if find_named(column_names.UNLIKELY_LABELS, [profile.name]) else 1


def _find_named_title(free: Sequence[Profile]) -> str | None:
    """Return a column with the usual name of a title and short values that are not classes; None if there is none."""
    candidates = [each for each in free if each.share > _NEARLY_EMPTY and not (each.is_long or each.has_lists)]
    candidates = [each for each in candidates if not each.has_numbers]
    return find_named(column_names.TITLES, [each.name for each in candidates if not _is_class_of_subjects(each)])


def _is_class_of_subjects(profile: Profile) -> bool:
    """Return whether a column named subject has classes, that is few subjects, and not the subjects of messages."""
    if column_names.plain_name(profile.name) not in column_names.SUBJECTS:
        return False
    return len(profile.filled) >= _ENOUGH_ROWS and 5 * profile.different < len(profile.filled)


def _find_title(free: Sequence[Profile], text: Profile, guesses: list[str]) -> str | None:
    """Return a column of lines of words, mostly unique and much shorter than the text; None if there is none."""
    longest = 0.5 * median(map(len, text.filled)) if text.filled else MOST_OF_TITLE
    lines = [each for each in free if each.is_line and not _is_not_title(each)]
    title = next((each.name for each in lines if median(map(len, each.filled)) <= longest), None)
    if title is not None:
        guesses.append(f"the title is {title!r}, whose values read like titles")
    return title


def _is_not_title(profile: Profile) -> bool:
    """Return whether a column has a name that no title has: of a date, an identifier, a person or a place."""
    if names_a_date(profile.name) or names_an_id(profile.name):
        return True
    return (
        find_named((*column_names.UNLIKELY_LABELS, "authors", "affiliation", "address", "bio"), [profile.name])
        is not None
    )


_LONGEST_MISSING = 12  # letters of a text that may stand for a missing value
_MOST_WORDS = 6  # words for missing values in a note


class DocumentMaker:
    """A maker of documents from records, which counts missing values.

    Parameters
    ----------
    roles : Roles
    usual : iterable of str
        The fields of records that have a text; a record with only such fields may lack the text.
    """

    def __init__(self, roles: Roles, usual: Sequence[str] = ()) -> None:
        self._roles, self._usual = roles, frozenset(usual)
        self._dropped = frozenset((*roles.text, roles.title, roles.split, roles.label))
        self._dropped_of_list = self._dropped - {roles.label}
        self.missing: Counter[str] = Counter()  # missing texts, titles and labels
        self.words: Counter[str] = Counter()  # the words that stand for them
        self.without = 0  # records without the field of the text

    def make(self, record: Record, number: int, path: Path, line: int) -> TextDocument:
        """Return the document of a record.

        The first entry of a list of labels is the label; the whole list stays a column.

        Raises
        ------
        IngestError
            If the record has no text field, or a split that is neither train nor test.
        """
        roles = self._roles
        text = "\n\n".join(self._read_text(record, name, path, line) for name in roles.text)
        part = None
        if roles.split is not None:
            split = self._fill_text("split", as_text(record.get(roles.split)).strip())
            if split.lower() not in PARTS:
                raise IngestError(path, f"the split {split[:40]!r} is neither train nor test", line)
            part = PARTS[split.lower()]
        label_value = record.get(roles.label) if roles.label else None
        own = self._fill_text("title", as_text(record.get(roles.title))) if roles.title else ""
        title = own or (as_text(record.get(roles.identity)) if roles.identity else "") or f"document {number}"
        dropped = self._dropped_of_list if isinstance(label_value, list) else self._dropped
        columns = {name: as_text(value) for name, value in record.items() if name not in dropped}
        return TextDocument(text, " ".join(title.split()), self._find_label(label_value), part, columns, bool(own))

    def list_notes(self) -> list[str]:
        """Return sentences about missing values."""
        notes = []
        if self.missing:
            counts = " and ".join(plural(times, role) for role, times in self.missing.items())
            words = ", ".join(repr(word) for word, _ in self.words.most_common(_MOST_WORDS))
            verb = "says" if self.missing.total() == 1 else "say"
            notes.append(f"{counts} {verb} nothing but {words}, which counts as missing")
        if self.without:
            records = plural(self.without, "record has", "records have")
            notes.append(f"{records} no field {self._roles.text[0]!r} and no text")
        return notes

    def _read_text(self, record: Record, name: str, path: Path, line: int) -> str:
        """Return the text in a field of a record; empty if it is missing."""
        if name not in record:
            if not self._may_lack_text(record):
                raise IngestError(path, f"has no field {name!r}; name the field of the text with --text-column", line)
            self.without += 1
            return ""
        text = as_prose(record[name])
        return text if len(text) > _LONGEST_MISSING else self._fill_text("text", text)

    def _may_lack_text(self, record: Record) -> bool:
        """Return whether a record without a text resembles those that have one, and has no text in another field."""
        other_texts = [value for name, value in record.items() if name not in self._usual and isinstance(value, str)]
        n_usual = sum(name in self._usual for name in record)
        return bool(n_usual) and (not other_texts or (n_usual > 1 and not any(map(is_prose, other_texts))))

    def _fill_text(self, role: str, text: str) -> str:
        """Return the text, or an empty one, which is counted, if it stands for a missing value."""
        if not is_missing(text):
            return text
        self.missing[role] += 1
        self.words[text.strip()] += 1
        return ""

    def _find_label(self, value: Any) -> str | None:
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, float) and not math.isfinite(value):
            return None  # a missing value in tables of pandas
        return self._fill_text("label", as_text(value).strip()) or None


def make_text_source(
    path: Path,
    parts: Sequence[packing.Part],
    roles: Roles,
    records: Callable[[Path], Iterator[tuple[int, Record]]],
    options: ImportOptions,
    *,
    header: bool | None = None,
    encoded: bool = True,
    guesses: Sequence[str] = (),
    usual: Sequence[str] = (),
) -> TextSource:
    """Return a source of the records of all parts as documents.

    Parameters
    ----------
    records : callable
        Yields the line and the fields of each record in a file.
    header : bool or None
        As in `describe_roles`.
    encoded : bool
        Whether the files are plain text, whose encoding may be a guess.
    guesses : sequence of str
        Sentences about earlier guesses.
    usual : sequence of str
        As in `DocumentMaker`.
    """
    columns = Columns(_name_roles(roles))
    paths = [part.path for part in parts]
    notes = [describe_roles(roles, header=header), *(packing.note_guesses(paths, options.encoding) if encoded else ())]

    def documents() -> Iterator[TextDocument]:
        number, maker = 0, DocumentMaker(roles, usual)
        for part in parts:
            for line, record in records(part.path):
                number += 1
                columns.see(record)
                document = maker.make(record, number, part.path, line)
                yield document if part.part is None else document._replace(part=part.part)
        notes.extend(note for note in maker.list_notes() if note not in notes)  # documents are read several times

    all_guesses = [*guesses, *([roles.guessed] if roles.guessed else [])]
    return TextSource(
        where=str(path),
        notes=notes,
        understood=({GUESS: "; ".join(all_guesses)} if all_guesses else {})
        | (packing.describe_encoding(paths[0], options.encoding) if encoded else {}),
        documents=documents,
        counted=_make_counted(roles),
        classes=joining.read_class_names(parts[0].path, options.encoding),
        columns=columns,
    )


def _name_roles(roles: Roles) -> dict[str, str]:
    """Return the role of every column that has one."""
    single = {roles.title: "title", roles.label: "label", roles.split: "split", roles.identity: "id"}
    named = dict.fromkeys(roles.dates, "date") | {name: role for name, role in single.items() if name is not None}
    return named | dict.fromkeys(roles.text, "text")  # the requested text may include the title


def _make_counted(roles: Roles) -> Callable[[TextDocument], str]:
    """Return a function that returns the text of a document to count, with its title unless that is part of it."""
    is_separate = roles.title is not None and roles.title not in roles.text

    def counted(document: TextDocument) -> str:
        return clean_text(f"{document.title}\n{document.text}" if is_separate and document.titled else document.text)

    return counted


def describe_roles(roles: Roles, *, header: bool | None = None) -> str:
    """Return a sentence about the roles of the columns, and how to change them.

    Parameters
    ----------
    header : bool or None
        Whether the first line was read as column names; None for formats without such a line.
    """
    parts = [f"text is {' and '.join(map(repr, roles.text))}"]
    for role, name in (("title", roles.title), ("label", roles.label), ("split", roles.split)):
        parts.append(f"{role} is {name!r}" if name else f"no {role}")
    if roles.dates:
        parts.append(f"date is {roles.dates[0]!r}")
    beginnings = {None: "", True: "the first line has the column names; ", False: "there is no line of column names; "}
    options = "--text-column, --title-column, --label-column, --split-column"
    other = f"{options} or --header" if header is not None else options
    return f"{beginnings[header]}{', '.join(parts)} (change it with {other})"
