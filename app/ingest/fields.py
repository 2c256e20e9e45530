"""The records of a table or of JSON as documents."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from app.ingest import beside, files
from app.ingest.column_samples import Columns
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.roles import PARTS, Record, Roles, describe_roles
from app.ingest.source import GUESS, TextDocument, TextSource
from app.ingest.values import as_prose, as_text, is_missing, is_prose
from app.ingest.words import clean

_LONGEST_MISSING = 12  # letters of a text that may stand for none
_NAMED = 6  # words for missing values in a note


class Documents:
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
        text = "\n\n".join(self._text(record, name, path, line) for name in roles.text)
        part = None
        if roles.split is not None:
            said = self._filled("split", as_text(record.get(roles.split)).strip())
            if said.lower() not in PARTS:
                raise IngestError(path, f"the split {said[:40]!r} is neither train nor test", line)
            part = PARTS[said.lower()]
        report = record.get(roles.label) if roles.label else None
        own = self._filled("title", as_text(record.get(roles.title))) if roles.title else ""
        title = own or (as_text(record.get(roles.identity)) if roles.identity else "") or f"document {number}"
        dropped = self._dropped_of_list if isinstance(report, list) else self._dropped
        columns = {name: as_text(value) for name, value in record.items() if name not in dropped}
        return TextDocument(text, " ".join(title.split()), self._label(report), part, columns, bool(own))

    def notes(self) -> list[str]:
        """Return what was missing, in sentences."""
        found = []
        if self.missing:
            said = " and ".join(f"{times:,} {what}{'' if times == 1 else 's'}" for what, times in self.missing.items())
            words = ", ".join(repr(word) for word, _ in self.words.most_common(_NAMED))
            verb = "says" if self.missing.total() == 1 else "say"
            found.append(f"{said} {verb} nothing but {words}, which counts as missing")
        if self.without:
            records = "1 record has" if self.without == 1 else f"{self.without:,} records have"
            found.append(f"{records} no field {self._roles.text[0]!r} and no text")
        return found

    def _text(self, record: Record, name: str, path: Path, line: int) -> str:
        if name not in record:
            if not self._may_lack_text(record):
                raise IngestError(path, f"has no field {name!r}; name the field of the text with --text-column", line)
            self.without += 1
            return ""
        text = as_prose(record[name])
        return text if len(text) > _LONGEST_MISSING else self._filled("text", text)

    def _may_lack_text(self, record: Record) -> bool:
        """Return whether a record is like others that have a text, and has none under another name."""
        strange = [value for name, value in record.items() if name not in self._usual and isinstance(value, str)]
        known = sum(name in self._usual for name in record)
        return bool(known) and (not strange or (known > 1 and not any(map(is_prose, strange))))

    def _filled(self, what: str, text: str) -> str:
        """Return the text, empty where it stands for none."""
        if not is_missing(text):
            return text
        self.missing[what] += 1
        self.words[text.strip()] += 1
        return ""

    def _label(self, report: Any) -> str | None:
        if isinstance(report, list):
            report = report[0] if report else None
        if isinstance(report, float) and not math.isfinite(report):
            return None  # as tables of pandas write a missing one
        return self._filled("label", as_text(report).strip()) or None


def source(
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
    """The records of all parts as documents.

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
    columns = Columns(_by_name(roles))
    paths = [part.path for part in parts]
    notes = [describe_roles(roles, header=header), *(files.guesses(paths, options.encoding) if encoded else ())]

    def documents() -> Iterator[TextDocument]:
        number, made = 0, Documents(roles, usual)
        for part in parts:
            for line, record in records(part.path):
                number += 1
                columns.see(record)
                found = made.make(record, number, part.path, line)
                yield found if part.part is None else found._replace(part=part.part)
        notes.extend(note for note in made.notes() if note not in notes)  # documents are read several times

    guessed = [*guesses, *([roles.guessed] if roles.guessed else [])]
    return TextSource(
        where=str(path),
        notes=notes,
        understood=({GUESS: "; ".join(guessed)} if guessed else {})
        | (files.understood(paths[0], options.encoding) if encoded else {}),
        documents=documents,
        counted=_counted_as(roles),
        classes=beside.class_names(parts[0].path, options.encoding),
        columns=columns,
    )


def _by_name(roles: Roles) -> dict[str, str]:
    """The role of every column that has one."""
    single = {roles.title: "title", roles.label: "label", roles.split: "split", roles.identity: "id"}
    named = dict.fromkeys(roles.dates, "date") | {name: role for name, role in single.items() if name is not None}
    return named | dict.fromkeys(roles.text, "text")  # a title may be part of the text that was asked for


def _counted_as(roles: Roles) -> Callable[[TextDocument], str]:
    """What of a document is counted, cleaned: its title too, unless the text has it already."""
    apart = roles.title is not None and roles.title not in roles.text

    def counted(document: TextDocument) -> str:
        return clean(f"{document.title}\n{document.text}" if apart and document.titled else document.text)

    return counted
