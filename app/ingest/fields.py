"""Which column or field of a table is the text, the title, the label and the split."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.ingest import beside, files
from app.ingest.column_samples import Columns
from app.ingest.errors import IngestError
from app.ingest.headers import is_number
from app.ingest.options import ImportOptions
from app.ingest.source import LEFT_OUT, TextDocument, TextSource
from app.ingest.words import clean
from engine.contract import TEST, TRAIN

TEXTS = ("text", "body", "content", "contents", "document", "abstract", "description", "review", "message", "comment",
         "article", "post", "tweet", "sentence")  # fmt: skip
TITLES = ("title", "headline", "subject")
LABELS = ("label", "labels", "class", "category", "topic", "topics", "group", "target", "section", "sentiment")
SPLITS = ("split", "part", "partition", "subset")
IDS = ("id", "name", "filename", "file", "path", "url", "key")
PARTS = {
    "train": TRAIN, "training": TRAIN, "dev": TRAIN, "valid": TRAIN, "validation": TRAIN, "val": TRAIN,
    "test": TEST, "testing": TEST, "heldout": TEST, "held-out": TEST, "eval": TEST, "evaluation": TEST,
    "unused": LEFT_OUT, "none": LEFT_OUT, "": LEFT_OUT,
}  # fmt: skip

MOST_OF_LABEL = 60  # letters
MOST_OF_TITLE = 300
MOST_NUMBERS = 20  # different numbers of a column of labels; more are measurements

_OF_JSON = (bool, int, float, dict)

Record = Mapping[str, Any]


class Roles(NamedTuple):
    """Names of the columns that mean something; every other column is kept as it is."""

    text: tuple[str, ...]
    title: str | None
    label: str | None
    split: str | None
    identity: str | None


def is_known(name: str) -> bool:
    """Whether a cell looks like the name of a column."""
    return name.strip().lower() in {*TEXTS, *TITLES, *LABELS, *SPLITS, *IDS}


def find_roles(sample: Sequence[Record], options: ImportOptions, path: Path, *, named: bool = True) -> Roles:
    """The roles of the columns, by the options, else by what the first records look like.

    Where several columns look alike, one with a usual name is taken before the others.

    Parameters
    ----------
    sample : sequence of mappings
        The first records.
    named : bool
        Whether column names mean something (they do not in a table without a header).

    Raises
    ------
    IngestError
        When a column of the options does not exist, or nothing looks like a text.
    """
    names = list(dict.fromkeys(name for record in sample for name in record))
    split = _given(options.split_column, names, path) or _split_by_look(sample, names, named=named)
    label = _given(options.label_column, names, path)
    title = _given(options.title_column, names, path)
    free = [name for name in names if name not in (split, label, title)]
    if options.text_column is not None:
        texts = tuple(_required(name.strip(), names, path) for name in options.text_column.split(","))
    else:
        texts = _text_by_look(sample, free, path)
    again = texts if options.text_column is not None else ()  # a title may be part of the text that was asked for
    free = [name for name in free if name not in texts]
    identity = _first(IDS, free)
    free = [name for name in free if name != identity]
    label = label or _label_by_look(sample, [name for name in free if name != _first(TITLES, free)])
    title = title or _title_by_look(sample, [name for name in (*free, *again) if name != label])
    return Roles(texts, title, label, split, identity)


def source(
    path: Path,
    parts: Sequence[files.Part],
    roles: Roles,
    records: Callable[[Path], Iterator[tuple[int, Mapping[str, Any]]]],
    options: ImportOptions,
    *,
    header: bool | None = None,
    encoded: bool = True,
) -> TextSource:
    """The records of all parts as documents.

    Parameters
    ----------
    records : callable
        Gives the line and the fields of each record in a file.
    header : bool or None
        As in `described`.
    encoded : bool
        Whether the files are text, in an encoding that may be a guess.
    """
    columns = Columns(_by_name(roles))

    def documents() -> Iterator[TextDocument]:
        number = 0
        for part in parts:
            for line, record in records(part.path):
                number += 1
                columns.see(record)
                found = document(record, roles, number, part.path, line)
                yield found if part.part is None else found._replace(part=part.part)

    paths = [part.path for part in parts]
    return TextSource(
        where=str(path),
        notes=[described(roles, header=header), *(files.guesses(paths, options.encoding) if encoded else ())],
        understood=files.understood(paths[0], options.encoding) if encoded else {},
        documents=documents,
        counted=_counted_as(roles),
        classes=beside.class_names(parts[0].path, options.encoding),
        columns=columns,
    )


def _by_name(roles: Roles) -> dict[str, str]:
    """The role of every column that has one."""
    single = {roles.title: "title", roles.label: "label", roles.split: "split", roles.identity: "id"}
    named = {name: role for name, role in single.items() if name is not None}
    return named | dict.fromkeys(roles.text, "text")  # a title may be part of the text that was asked for


def _counted_as(roles: Roles) -> Callable[[TextDocument], str]:
    """What of a document is counted, cleaned: its title too, unless the text has it already."""
    apart = roles.title is not None and roles.title not in roles.text

    def counted(document: TextDocument) -> str:
        return clean(f"{document.title}\n{document.text}" if apart and document.titled else document.text)

    return counted


def described(roles: Roles, *, header: bool | None = None) -> str:
    """One sentence about what each column was taken for, and how to say otherwise.

    Parameters
    ----------
    header : bool or None
        Whether the first line was taken for the names of the columns; None where there is no such line.
    """
    parts = [f"text is {_listed(roles.text)}"]
    for what, name in (("title", roles.title), ("label", roles.label), ("split", roles.split)):
        parts.append(f"{what} is {name!r}" if name else f"no {what}")
    first = {None: "", True: "the first line has the column names; ", False: "there is no line of column names; "}
    options = "--text-column, --title-column, --label-column, --split-column"
    other = f"{options} or --header" if header is not None else options
    return f"{first[header]}{', '.join(parts)} (change it with {other})"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(repr(name) for name in names)


def document(record: Record, roles: Roles, number: int, path: Path, line: int) -> TextDocument:
    """A document out of one record of a table.

    A label that is a list gives its first entry; the whole list stays a column.

    Raises
    ------
    IngestError
        When the record has no text field, or a split that is neither train nor test.
    """
    missing = [name for name in roles.text if name not in record]
    if missing:
        raise IngestError(path, f"has no field {missing[0]!r}; name the field of the text with --text-column", line)
    text = "\n\n".join(as_text(record[name]) for name in roles.text)
    part = None
    if roles.split is not None:
        said = as_text(record.get(roles.split)).strip()
        if said.lower() not in PARTS:
            raise IngestError(path, f"the split {said[:40]!r} is neither train nor test", line)
        part = PARTS[said.lower()]
    report = record.get(roles.label) if roles.label else None
    own = as_text(record.get(roles.title)) if roles.title else ""
    title = own or (as_text(record.get(roles.identity)) if roles.identity else "") or f"document {number}"
    dropped = {*roles.text, roles.title, roles.split, None if isinstance(report, list) else roles.label}
    columns = {name: as_text(value) for name, value in record.items() if name not in dropped}
    return TextDocument(text, " ".join(title.split()), _label(report), part, columns, bool(own))


def as_text(value: Any) -> str:
    """Any JSON value as people would write it; a list with commas."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    if isinstance(value, bytes):  # a picture, or a sound
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, _OF_JSON) else str(value)


def _label(report: Any) -> str | None:
    if isinstance(report, list):
        report = report[0] if report else None
    if isinstance(report, float) and not math.isfinite(report):
        return None  # as tables of pandas write a missing one
    return as_text(report).strip() or None


def _first(request: Sequence[str], names: Sequence[str]) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in request if name in by_lower), None)


def _given(name: str | None, names: Sequence[str], path: Path) -> str | None:
    return None if name is None else _required(name, names, path)


def _required(name: str, names: Sequence[str], path: Path) -> str:
    if name not in names:
        raise IngestError(path, f"has no column {name!r}; its columns are {', '.join(names)}")
    return name


def _text_by_look(sample: Sequence[Record], names: Sequence[str], path: Path) -> tuple[str, ...]:
    """The column with most letters; one with a usual name where it has a third as many."""
    lengths = {name: sum(len(_string(record, name)) for record in sample) for name in names}
    most = max(lengths.values(), default=0)
    if most == 0:
        usual = _first(TEXTS, names)
        if usual is None:
            raise IngestError(path, "has no column of text; name it with --text-column")
        return (usual,)
    usual = _first(TEXTS, [name for name in names if 3 * lengths[name] >= most])
    return (usual or max(lengths, key=lambda name: lengths[name]),)


def _split_by_look(sample: Sequence[Record], names: Sequence[str], *, named: bool) -> str | None:
    """A column of the right name, or of a table without names, whose every value says train or test."""
    for name in names:
        if named and name.strip().lower() not in SPLITS:
            continue
        values = {as_text(record.get(name)).strip().lower() for record in sample}
        if values and values <= set(PARTS) and values & {"train", "training", "test", "testing"}:
            return name
    return None


def _label_by_look(sample: Sequence[Record], names: Sequence[str]) -> str | None:
    """A column of few short values that repeat; with a usual name, one of few records too."""
    able = [name for name in names if _short_or_list(sample, name)]
    repeating = [name for name in able if _repeats(sample, name)]
    return _first(LABELS, repeating) or _first(LABELS, able) or next(iter(repeating), None)


def _short_or_list(sample: Sequence[Record], name: str) -> bool:
    values = [record.get(name) for record in sample]
    return all(isinstance(value, list) or len(as_text(value)) <= MOST_OF_LABEL for value in values)


def _repeats(sample: Sequence[Record], name: str) -> bool:
    """Whether a column has two values or more, each for three records or more on average; numbers are few at most."""
    values = [as_text(record.get(name)).strip() for record in sample]
    different = set(values) - {""}
    if any(isinstance(record.get(name), list) for record in sample):
        return False
    if not 1 < len(different) <= max(2, len(values) // 3) or len(different) == len(values):
        return False
    return len(different) <= MOST_NUMBERS or not all(map(is_number, different))


def _title_by_look(sample: Sequence[Record], names: Sequence[str]) -> str | None:
    """A column that reads like a line of words, another one in nearly every record."""
    lines = [name for name in names if _is_line(sample, name)]
    usual = _first(TITLES, [name for name in names if not _is_long(sample, name)])
    return usual or next(iter(lines), None)


def _is_long(sample: Sequence[Record], name: str) -> bool:
    return max(len(_string(record, name)) for record in sample) > MOST_OF_TITLE


def _is_line(sample: Sequence[Record], name: str) -> bool:
    values = [_string(record, name).strip() for record in sample]
    several_words = sum(" " in value for value in values) > len(values) / 2
    return several_words and len(set(values)) > 0.8 * len(values) and not _is_long(sample, name)


def _string(record: Record, name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""
