"""MALLET's one document a line: ``name label text``, by blanks or tabs, as its ``import-file`` reads it."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from app.ingest import beside, files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextDocument, TextSource

NAME = "mallet"
DESCRIPTION = "MALLET: NAME.mallet, one document a line, its name, label and text separated by blanks or tabs"
ACCEPTS = ("token_pattern",)

_LINE = re.compile(r"(\S*)[\s,]*(\S*)[\s,]*(.*)", re.DOTALL)  # the default of MALLET
_SERIALISED = b"\xac\xed\x00\x05"  # how Java begins what it saves
_SAMPLE = 200


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) == ".mallet"


def read(path: Path, options: ImportOptions) -> TextSource:
    """The lines as documents."""
    parts = files.parts(path, recognises, "MALLET", several=True)
    first = parts[0].path
    if files.start(first, 4) == _SERIALISED:
        cause = "holds instances that MALLET has saved, which only MALLET reads"
        raise IngestError(first, f"{cause}; give the file of lines that they were made of")
    sample = [text for _, text in islice(files.lines(first, options.encoding), _SAMPLE) if text.strip()]
    if not sample:
        raise IngestError(first, "has no documents; give a file with 'name label text' on each line")
    tabs = all(text.count("\t") >= 2 for text in sample)
    paths = [part.path for part in parts]
    return TextSource(
        where=str(path),
        documents=lambda: _documents(parts, options.encoding, tabs=tabs),
        classes=beside.class_names(first, options.encoding),
        notes=files.guesses(paths, options.encoding),
        understood=files.understood(first, options.encoding) | {"separator": "tab" if tabs else "blank"},
    )


def _documents(parts: list[files.Part], encoding: str, *, tabs: bool) -> Iterator[TextDocument]:
    for path, part in parts:
        for line, text in files.lines(path, encoding):
            if not text.strip():
                continue
            cells = text.split("\t", 2) if tabs else _cells(text)
            if len(cells) != 3:
                raise IngestError(path, "is not 'name <tab> label <tab> text' like the lines before it", line)
            name, label, body = (cell.strip() for cell in cells)
            if not label:
                raise IngestError(path, "has a name, but no label and no text after it", line)
            yield TextDocument(body, name or f"document {line}", label, part)


def _cells(text: str) -> list[str]:
    found = _LINE.fullmatch(text.strip())
    return list(found.groups()) if found else []
