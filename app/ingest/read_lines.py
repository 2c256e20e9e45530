"""One document a line: ``name <tab> label <tab> text``, or nothing but text."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from app.ingest import beside, files, separated
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextDocument, TextSource

NAME = "lines"
DESCRIPTION = "one document a line: NAME.txt, the whole line or 'name <tab> label <tab> text'"
ACCEPTS = ("token_pattern",)

_SAMPLE = 50


def recognises(path: Path) -> bool:
    """Return whether it is a single ``.txt`` that is neither a bag of words nor a table."""
    if path.is_dir() or files.suffix(path) != ".txt" or separated.is_separated(path):
        return False
    first = files.start(path).splitlines()[:4]
    return not (len(first) == 4 and all(line.replace(b" ", b"").isdigit() for line in first))


def read(path: Path, options: ImportOptions) -> TextSource:
    """Lines of three fields in the whole beginning of the file are name, label and text."""
    sample = [text for _, text in islice(files.lines(path, options.encoding), _SAMPLE) if text.strip()]
    if not sample:
        raise IngestError(path, "has no documents; give a file with a text on each line")
    tabs = all(text.count("\t") >= 2 for text in sample)
    return TextSource(
        where=str(path),
        documents=lambda: _documents(path, options.encoding, tabs=tabs),
        classes=beside.class_names(path, options.encoding) if tabs else {},
        notes=files.guesses([path], options.encoding),
        understood=files.understood(path, options.encoding),
    )


def _documents(path: Path, encoding: str, *, tabs: bool) -> Iterator[TextDocument]:
    for line, text in files.lines(path, encoding):
        if not text.strip():
            continue
        if not tabs:
            yield TextDocument(text, f"document {line}")
            continue
        cells = text.split("\t", 2)
        if len(cells) != 3:
            raise IngestError(path, "is not 'name <tab> label <tab> text' like the lines before it", line)
        yield TextDocument(cells[2], cells[0].strip() or f"document {line}", cells[1].strip() or None)
