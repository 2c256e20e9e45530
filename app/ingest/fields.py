"""Which column or field of a table is the text, the title, the label and the split."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import LEFT_OUT, TEST, TRAIN, TextDocument

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
    """The roles of the columns, by the options, else by usual names, else by what the first records look like.

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
    free = [name for name in names if name != split]
    label = _given(options.label_column, names, path) or _first(LABELS, free)
    title = _given(options.title_column, names, path) or _first(TITLES, free)
    if options.text_column is not None:
        texts = tuple(_required(name.strip(), names, path) for name in options.text_column.split(","))
    else:
        texts = _text_by_look(sample, [name for name in free if name not in (label, title)], path)
    if not named:
        label = label or _label_by_look(sample, [name for name in free if name not in (*texts, title)])
        title = title or _title_by_look(sample, [name for name in free if name not in (*texts, label)])
    return Roles(texts, title, label, split, _first(IDS, [name for name in free if name not in (*texts, title, label)]))


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
    told = record.get(roles.label) if roles.label else None
    own = as_text(record.get(roles.title)) if roles.title else ""
    title = own or (as_text(record.get(roles.identity)) if roles.identity else "") or f"document {number}"
    dropped = {*roles.text, roles.title, roles.split, None if isinstance(told, list) else roles.label}
    columns = {name: as_text(value) for name, value in record.items() if name not in dropped}
    return TextDocument(text, " ".join(title.split()), _label(told), part, columns, bool(own))


def as_text(value: Any) -> str:
    """Any JSON value as people would write it; a list with commas."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    return json.dumps(value, ensure_ascii=False)


def _label(told: Any) -> str | None:
    if isinstance(told, list):
        told = told[0] if told else None
    if isinstance(told, float) and not math.isfinite(told):
        return None  # as tables of pandas write a missing one
    return as_text(told).strip() or None


def _first(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def _given(name: str | None, names: Sequence[str], path: Path) -> str | None:
    return None if name is None else _required(name, names, path)


def _required(name: str, names: Sequence[str], path: Path) -> str:
    if name not in names:
        raise IngestError(path, f"has no column {name!r}; its columns are {', '.join(names)}")
    return name


def _text_by_look(sample: Sequence[Record], names: Sequence[str], path: Path) -> tuple[str, ...]:
    usual = _first(TEXTS, names)
    if usual is not None:
        return (usual,)
    lengths = {name: sum(len(_string(record, name)) for record in sample) for name in names}
    if not lengths or max(lengths.values()) == 0:
        raise IngestError(path, "has no column of text; name it with --text-column")
    return (max(lengths, key=lambda name: lengths[name]),)


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
    """The first column of short values that repeat."""
    for name in names:
        values = [_string(record, name) for record in sample]
        if max(map(len, values)) <= 40 and 1 < len(set(values)) <= max(2, len(values) // 3):
            return name
    return None


def _title_by_look(sample: Sequence[Record], names: Sequence[str]) -> str | None:
    """The first column that reads like a line of words."""
    for name in names:
        values = [_string(record, name) for record in sample]
        if max(map(len, values)) <= 300 and sum(" " in value.strip() for value in values) > len(values) / 2:
            return name
    return None


def _string(record: Record, name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""
