"""What a whole or a broken file of a format is to the tests of readers."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Sample(NamedTuple):
    """A whole file and what must come out of it."""

    make: Callable[[Path], Path]
    documents: int
    words: int
    tokens: int


class Broken(NamedTuple):
    """A file that must be refused: by which format, in which line, and what the sentence must say."""

    format: str
    make: Callable[[Path], Path]
    line: int | None
    says: str


def write(path: Path, text: str | bytes) -> Path:
    raw = text.encode() if isinstance(text, str) else text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def file_of(name: str, text: str | bytes, **beside: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for other, content in beside.items():
            write(folder / other.replace("_", "."), content)
        return write(folder / name, text)

    return make


def cut_short(make: Callable[[Path], Path], keep: int = -12) -> Callable[[Path], Path]:
    """The file that ``make`` makes, compressed and with its end missing."""

    def cut(folder: Path) -> Path:
        path = make(folder)
        raw = path.read_bytes()
        path.write_bytes(raw[:keep])
        return path

    return cut
