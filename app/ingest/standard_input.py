"""Standard input as a file: readers look at documents twice, and a stream can be read once."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.ingest import text_kinds
from app.ingest.errors import IngestError
from app.ingest.xml_parsing import find_root

NAME = "standard input"  # of the file, and of a corpus that nobody names
_PACKED = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"))
_ENDINGS = {"csv": ".csv", "jsonl": ".jsonl", "lines": ".txt", "text": ".zip", "svmlight": ".svmlight"}
_KINDS = {"bibtex": ".bib", "ris": ".ris", "endnote": ".enw", "wos": ".ciw", "medline": ".nbib"}
_START = 1 << 16


def called(names: Sequence[str]) -> str:
    """What documents are said to come from where names are not those of their files."""
    return NAME if list(names) == ["-"] else ""


@contextmanager
def spooled(names: Sequence[str], form: str | None = None, stream: BinaryIO | None = None) -> Iterator[list[Path]]:
    """The paths of some names, ``-`` being standard input, copied to a file as long as the block lasts.

    Parameters
    ----------
    names : sequence of str
    form : str or None
        Name of the format, where somebody named it.
    stream : binary file, optional
        In place of standard input.

    Raises
    ------
    IngestError
        When standard input is given beside other files, or what comes is of no format that is told by its content;
        what is wrong inside the block names standard input, and not the copy.
    """
    if "-" not in names:
        yield [Path(name) for name in names]
        return
    if len(names) > 1:
        raise IngestError(NAME, "cannot be read together with files; give either")
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        try:
            yield [_copied(stream or sys.stdin.buffer, Path(folder), form)]
        except IngestError as error:
            raise IngestError(NAME, error.cause.replace(f"{folder}/", ""), error.line) from None


def _copied(stream: BinaryIO, folder: Path, form: str | None) -> Path:
    start = stream.read(_START)
    if not start.strip():
        raise IngestError(NAME, "is empty")
    path = folder / f"{NAME}{_ending(start, form)}"
    with path.open("wb") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
    return path


def _ending(start: bytes, form: str | None) -> str:
    """The ending that a file with this beginning would have."""
    packed = next((ending for mark, ending in _PACKED if start.startswith(mark)), "")
    if form == "text" and not start.startswith(b"PK\x03\x04"):
        return ".txt" + packed
    if form is not None:
        return _ENDINGS.get(form, f".{form}") + packed
    if packed:
        raise IngestError(NAME, "is compressed; say what is in it with --format")
    if start.startswith(b"PK\x03\x04"):
        return ".zip"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"{"):
        return ".jsonl"
    if kind := text_kinds.find_kind_of_text(text.decode("latin-1")):
        return _KINDS.get(kind, ".txt")
    if find_root(start) not in ("", "html"):
        return ".xml"
    return ".csv" if _is_table(start) else ".txt"


def _is_table(start: bytes) -> bool:
    """Whether the first two lines have the same separators, and some."""
    first, _, rest = start.partition(b"\n")
    second = rest.partition(b"\n")[0]
    return any(first.count(mark) == second.count(mark) > 0 for mark in (b",", b";", b"\t", b"|"))
