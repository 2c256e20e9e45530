"""Records of tables as documents: what is missing in them is counted, and how they were read is noted."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import GUESS, TextDocument, TextSource
from app.ingest.tables import joining
from app.ingest.tables.roles import PARTS, Record, Roles
from app.ingest.tables.values import Columns, as_prose, as_text, is_missing, is_prose
from app.ingest.text.cleaning import clean_text

_LONGEST_MISSING = 12  # letters of a text that may stand for none
_NAMED = 6  # words for missing values in a note


class DocumentMaker:
    """Makes documents of records, and counts what is missing.

    Parameters
    ----------
    roles : Roles
    usual : iterable of str
        The fields of records that have a text; one of no others may lack it.
    """

    def __init__(self, roles: Roles, usual: Sequence[str] = ()) -> None:
        self._roles, self._usual = roles, frozenset(usual)
        self._dropped = frozenset((*roles.text, roles.title, roles.split, roles.label))
        self._dropped_of_list = self._dropped - {roles.label}
        self.missing: Counter[str] = Counter()  # texts, titles and labels that stand for none
        self.words: Counter[str] = Counter()  # by which they do
        self.without = 0  # records without the field of the text

    def make(self, record: Record, number: int, path: Path, line: int) -> TextDocument:
        """Return the document of a record.

        A label that is a list gives its first entry; the whole list stays a column.

        Raises
        ------
        IngestError
            When the record has no text field, or a split that is neither train nor test.
        """
        roles = self._roles
        text = "\n\n".join(self._read_text(record, name, path, line) for name in roles.text)
        part = None
        if roles.split is not None:
            split = self._fill_text("split", as_text(record.get(roles.split)).strip())
            if split.lower() not in PARTS:
                raise IngestError(path, f"the split {split[:40]!r} is neither train nor test", line)
            part = PARTS[split.lower()]
        report = record.get(roles.label) if roles.label else None
        own = self._fill_text("title", as_text(record.get(roles.title))) if roles.title else ""
        title = own or (as_text(record.get(roles.identity)) if roles.identity else "") or f"document {number}"
        dropped = self._dropped_of_list if isinstance(report, list) else self._dropped
        columns = {name: as_text(value) for name, value in record.items() if name not in dropped}
        return TextDocument(text, " ".join(title.split()), self._find_label(report), part, columns, bool(own))

    def list_notes(self) -> list[str]:
        """Return what was missing, in sentences."""
        found = []
        if self.missing:
            counts = " and ".join(
                f"{times:,} {what}{'' if times == 1 else 's'}" for what, times in self.missing.items()
            )
            words = ", ".join(repr(word) for word, _ in self.words.most_common(_NAMED))
            verb = "says" if self.missing.total() == 1 else "say"
            found.append(f"{counts} {verb} nothing but {words}, which counts as missing")
        if self.without:
            records = "1 record has" if self.without == 1 else f"{self.without:,} records have"
            found.append(f"{records} no field {self._roles.text[0]!r} and no text")
        return found

    def _read_text(self, record: Record, name: str, path: Path, line: int) -> str:
        if name not in record:
            if not self._may_lack_text(record):
                raise IngestError(path, f"has no field {name!r}; name the field of the text with --text-column", line)
            self.without += 1
            return ""
        text = as_prose(record[name])
        return text if len(text) > _LONGEST_MISSING else self._fill_text("text", text)

    def _may_lack_text(self, record: Record) -> bool:
        """Return whether a record is like others that have a text, and has none under another name."""
        strange = [value for name, value in record.items() if name not in self._usual and isinstance(value, str)]
        known = sum(name in self._usual for name in record)
        return bool(known) and (not strange or (known > 1 and not any(map(is_prose, strange))))

    def _fill_text(self, what: str, text: str) -> str:
        """Return the text, empty where it stands for none."""
        if not is_missing(text):
            return text
        self.missing[what] += 1
        self.words[text.strip()] += 1
        return ""

    def _find_label(self, report: Any) -> str | None:
        if isinstance(report, list):
            report = report[0] if report else None
        if isinstance(report, float) and not math.isfinite(report):
            return None  # as tables of pandas write a missing one
        return self._fill_text("label", as_text(report).strip()) or None


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
    """Yield the records of all parts as documents.

    Parameters
    ----------
    records : callable
        Gives the line and the fields of each record in a file.
    header : bool or None
        As in `describe_roles`.
    encoded : bool
        Whether the files are text, in an encoding that may be a guess.
    guesses : sequence of str
        What was guessed before the roles.
    usual : sequence of str
        As of `Documents`.
    """
    columns = Columns(_name_roles(roles))
    paths = [part.path for part in parts]
    notes = [describe_roles(roles, header=header), *(files.note_guesses(paths, options.encoding) if encoded else ())]

    def documents() -> Iterator[TextDocument]:
        number, made = 0, DocumentMaker(roles, usual)
        for part in parts:
            for line, record in records(part.path):
                number += 1
                columns.see(record)
                found = made.make(record, number, part.path, line)
                yield found if part.part is None else found._replace(part=part.part)
        notes.extend(note for note in made.list_notes() if note not in notes)  # documents are read several times

    guessed = [*guesses, *([roles.guessed] if roles.guessed else [])]
    return TextSource(
        where=str(path),
        notes=notes,
        understood=({GUESS: "; ".join(guessed)} if guessed else {})
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
    return named | dict.fromkeys(roles.text, "text")  # a title may be part of the text that was asked for


def _make_counted(roles: Roles) -> Callable[[TextDocument], str]:
    """Make the function that returns what of a document is counted: its title too, unless the text has it."""
    apart = roles.title is not None and roles.title not in roles.text

    def counted(document: TextDocument) -> str:
        return clean_text(f"{document.title}\n{document.text}" if apart and document.titled else document.text)

    return counted


def describe_roles(roles: Roles, *, header: bool | None = None) -> str:
    """Return one sentence about what each column was taken for, and how to say otherwise.

    Parameters
    ----------
    header : bool or None
        Whether the first line was taken for the names of the columns; None where there is no such line.
    """
    parts = [f"text is {' and '.join(map(repr, roles.text))}"]
    for what, name in (("title", roles.title), ("label", roles.label), ("split", roles.split)):
        parts.append(f"{what} is {name!r}" if name else f"no {what}")
    if roles.dates:
        parts.append(f"date is {roles.dates[0]!r}")
    first = {None: "", True: "the first line has the column names; ", False: "there is no line of column names; "}
    options = "--text-column, --title-column, --label-column, --split-column"
    other = f"{options} or --header" if header is not None else options
    return f"{first[header]}{', '.join(parts)} (change it with {other})"
