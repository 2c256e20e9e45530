"""Records of tables as documents, with notes about missing values and the roles of columns."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import GUESS, TextDocument, TextSource
from topiary.app.ingest.tables import joining
from topiary.app.ingest.tables.roles import PARTS, Record, Roles
from topiary.app.ingest.tables.values import Columns, as_prose, as_text, is_missing, is_prose
from topiary.app.ingest.text.cleaning import clean_text

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
            counts = " and ".join(
                f"{times:,} {role}{'' if times == 1 else 's'}" for role, times in self.missing.items()
            )
            words = ", ".join(repr(word) for word, _ in self.words.most_common(_MOST_WORDS))
            verb = "says" if self.missing.total() == 1 else "say"
            notes.append(f"{counts} {verb} nothing but {words}, which counts as missing")
        if self.without:
            records = "1 record has" if self.without == 1 else f"{self.without:,} records have"
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
    parts: Sequence[files.Part],
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
    notes = [describe_roles(roles, header=header), *(files.note_guesses(paths, options.encoding) if encoded else ())]

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
        | (files.describe_encoding(paths[0], options.encoding) if encoded else {}),
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
