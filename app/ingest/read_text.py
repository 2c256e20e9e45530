"""Folders, and zip files, of plain texts: every .txt file is a document, its sub-folder the label."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from app.ingest import fields
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import LEFT_OUT, TextDocument, TextSource

NAME = "text"
DESCRIPTION = "texts: a folder or zip of .txt files, one document each; the sub-folder is the label"

_TITLE_LENGTH = 100
_LARGEST = 1 << 28  # bytes of one document; more is a mistake, or a zip made to fill the memory
_NOTED = 3


def recognises(path: Path) -> bool:
    """A folder with .txt files at any depth, or a zip file with some."""
    if path.is_dir():
        return next(path.rglob("*.txt"), None) is not None
    if path.suffix.lower() != ".zip" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(_of_zip(archive))
    except (OSError, zipfile.BadZipFile):
        return True  # reading it will say what is wrong


def read(path: Path, options: ImportOptions) -> TextSource:
    """The files, shuffled by the seed; those that are not UTF-8 are read as Latin-1, with a note.

    Files sorted by name come class after class, and whoever looks at the first documents would see one class.
    """
    ordered = _names(path)
    if not ordered:
        raise IngestError(path, "has no .txt files in it")
    top = _shared_folders(ordered)
    names = [ordered[place] for place in np.random.default_rng(options.seed).permutation(len(ordered))]
    notes: list[str] = []
    return TextSource(
        where=str(path),
        documents=lambda: _documents(path, names, top, options.encoding, notes),
        notes=notes,
    )


def _documents(
    path: Path, names: list[PurePosixPath], top: int, encoding: str, notes: list[str]
) -> Iterator[TextDocument]:
    strange: list[str] = []
    for name, raw in _contents(path, names):
        inside = PurePosixPath(*name.parts[top:])
        try:
            text = raw.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            strange.append(f"{inside} is not {encoding.upper()} (line {line}, byte {error.start + 1})")
            text = raw.decode("latin-1")
        yield _document(text, inside)
    _note(strange, notes)


def _note(strange: list[str], notes: list[str]) -> None:
    if not strange:
        return
    more = f" and {len(strange) - _NOTED:,} more files" if len(strange) > _NOTED else ""
    note = f"{'; '.join(strange[:_NOTED])}{more}: read as Latin-1"
    if note not in notes:  # documents are read twice
        notes.append(note)


def _document(text: str, inside: PurePosixPath) -> TextDocument:
    """Title = first line; folders before the file are the label, ``train`` and ``test`` above it the split."""
    folders = list(inside.parts[:-1])
    part = fields.PARTS.get(folders[0].lower()) if folders else None
    if part == LEFT_OUT:
        part = None
    if part is not None:
        folders = folders[1:]
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    title = first if len(first) <= _TITLE_LENGTH else first[: _TITLE_LENGTH - 1] + "…"
    return TextDocument(text, title or str(inside), "/".join(folders) or None, part, {"file": str(inside)})


def _shared_folders(names: list[PurePosixPath]) -> int:
    """How many folders all files share: they say nothing."""
    shortest = min(len(name.parts) for name in names) - 1
    return next((depth for depth in range(shortest) if len({name.parts[depth] for name in names}) > 1), shortest)


def _names(path: Path) -> list[PurePosixPath]:
    if path.is_dir():
        return sorted(PurePosixPath(file.relative_to(path).as_posix()) for file in path.rglob("*.txt") if _counts(file))
    try:
        with zipfile.ZipFile(path) as archive:
            return _of_zip(archive)
    except (OSError, zipfile.BadZipFile) as error:
        raise IngestError(path, f"is not a sound zip file ({error}); copy or download it again") from None


def _of_zip(archive: zipfile.ZipFile) -> list[PurePosixPath]:
    names = [PurePosixPath(info.filename) for info in archive.infolist() if not info.is_dir()]
    return sorted(name for name in names if name.suffix.lower() == ".txt" and name.parts[0] != "__MACOSX")


def _counts(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".")


def _contents(path: Path, names: list[PurePosixPath]) -> Iterator[tuple[PurePosixPath, bytes]]:
    if not path.is_dir():
        yield from _zip_contents(path, names)
        return
    for name in names:
        file = path / name
        try:
            raw = file.read_bytes()
        except OSError as error:
            raise IngestError(file, f"cannot be read ({error.strerror or error})") from None
        yield name, raw


def _zip_contents(path: Path, names: list[PurePosixPath]) -> Iterator[tuple[PurePosixPath, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for name in names:
            if archive.getinfo(str(name)).file_size > _LARGEST:
                raise IngestError(f"{path}/{name}", f"is larger than {_LARGEST >> 20} MB; is it one document?")
            try:  # zipfile says NotImplementedError of a compression that it does not know
                raw = archive.read(str(name))
            except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
                raise IngestError(f"{path}/{name}", f"cannot be unpacked ({error})") from None
            yield name, raw
