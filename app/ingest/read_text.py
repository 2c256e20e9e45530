"""Folders, and zip files, of texts: every file is a document, its sub-folder the label."""

import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from app.ingest import encodings, fields, files, office, packed
from app.ingest.document import KINDS, Unreadable, contents
from app.ingest.errors import IngestError
from app.ingest.marks import WIDE
from app.ingest.options import ImportOptions
from app.ingest.source import LEFT_OUT, TextDocument, TextSource

NAME = "text"
DESCRIPTION = "texts: a folder or zip of .txt, .pdf, .docx or other texts, each a document; the sub-folder is the label"
ACCEPTS = ("token_pattern", "metadata", "name_fields")

TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".json", ".jsonl", ".ndjson", ".parquet", ".feather", ".arrow")
_TITLE_LENGTH = 100
_LARGEST = 1 << 28  # bytes of a document with pictures in it; more is a mistake, or a zip made to fill the memory
_NOTED = 3


def recognises(path: Path) -> bool:
    """A folder or a zip file with texts at any depth."""
    if not path.is_dir() and (path.suffix.lower() != ".zip" or not path.is_file()):
        return False
    try:
        return bool(_texts_among(_names(path)))
    except IngestError:
        return True  # reading it will say what is wrong


class Members(NamedTuple):
    """The files of a folder or a zip file: those that are read as texts, and the others."""

    texts: list[PurePosixPath]
    others: list[PurePosixPath]

    def called(self) -> list[str]:
        """Return the texts as the column ``file`` of their documents calls them: without folders that all share."""
        top = _shared_folders(self.texts) if self.texts else 0
        return [str(PurePosixPath(*name.parts[top:])) for name in self.texts]

    def without(self, names: Collection[PurePosixPath]) -> "Members":
        """Return the files but some."""
        texts, others = ([name for name in each if name not in names] for each in self)
        return Members(texts, others)


def members(path: Path) -> Members:
    """Return the files of a folder or a zip file; a file of a kind of texts is a text itself.

    Raises
    ------
    IngestError
        When it is none of these, or cannot be opened.
    """
    if path.is_file() and path.suffix.lower() != ".zip":
        if files.suffix(path) not in ("", *KINDS):
            cause = f"is neither a text ({', '.join(KINDS)}) nor a folder or zip file of texts"
            raise IngestError(path, f"{cause}; leave --format out, or name the format that it has")
        return Members([PurePosixPath(packed.bare(path.name))], [])
    names = _names(path)
    texts = _texts_among(names)
    return Members(texts, sorted(set(names).difference(texts)))


def read(path: Path, options: ImportOptions, inside: Members | None = None) -> TextSource:
    """The files, shuffled by the seed; those without a byte-order mark that are not UTF-8 as their letters suggest.

    A note says as what, Latin-1 where a few letters are no evidence.  Files of other kinds are left out, with a note.

    Files sorted by name come class after class, and whoever looks at the first documents would see one class.
    """
    ordered, others = members(path) if inside is None else inside
    if not ordered:
        raise IngestError(path, f"has no texts in it ({', '.join(KINDS)})")
    notes: list[str] = []
    if others:
        notes.append(f"left out what is not read as text: {files.kinds(others)}; save such documents as .txt")
    top = _shared_folders(ordered)
    shuffled = [ordered[place] for place in np.random.default_rng(options.seed).permutation(len(ordered))]
    extracted = _Extracted()
    return TextSource(
        where=str(path),
        documents=lambda: _documents(path, shuffled, top, options.encoding, notes, extracted),
        notes=notes,
    )


def _documents(
    path: Path, names: list[PurePosixPath], top: int, encoding: str, notes: list[str], extracted: "_Extracted"
) -> Iterator[TextDocument]:
    strange: dict[str, list[str]] = {}
    unread: list[str] = []
    for name, raw in _contents(path, names):
        inside, marked = PurePosixPath(*name.parts[top:]), encodings.of_whole(raw, encoding)
        try:
            yield _document(*extracted(name, raw, marked), inside)
        except UnicodeDecodeError as error:
            if marked.startswith(WIDE):  # every other letter of it would be a zero
                unread.append(f"{inside} is damaged {marked.upper()}")
                continue
            line = raw.count(b"\n", 0, error.start) + 1
            taken = encodings.in_place_of(raw, encoding, "latin-1")
            said = f"{inside} is not {marked.upper()} (line {line}, byte {error.start + 1})"
            strange.setdefault(taken, []).append(said)
            yield _document(*contents(name, raw, taken), inside)
        except Unreadable as error:
            unread.append(f"{inside} {error}")
    for taken, those in strange.items():
        _note(those, f"read as {files.shown(taken) if taken != 'latin-1' else 'Latin-1'}", notes)
    _note(unread, "left out", notes)


class _Extracted:
    """Documents are read twice, and the texts of some take long to find: those are remembered, packed."""

    def __init__(self) -> None:
        self._known: dict[PurePosixPath, tuple[str, bytes]] = {}

    def __call__(self, name: PurePosixPath, raw: bytes, encoding: str) -> tuple[str, str]:
        """As :func:`app.ingest.document.contents`."""
        if name.suffix.lower() not in office.READERS:
            return contents(name, raw, encoding)
        if name not in self._known:
            title, text = contents(name, raw, encoding)
            self._known[name] = title, zlib.compress(text.encode("utf-8", "replace"), 1)
        title, packed = self._known[name]
        return title, zlib.decompress(packed).decode()


def _note(strange: list[str], therefore: str, notes: list[str]) -> None:
    if not strange:
        return
    more = f" and {len(strange) - _NOTED:,} more files" if len(strange) > _NOTED else ""
    note = f"{'; '.join(strange[:_NOTED])}{more}: {therefore}"
    if note not in notes:  # documents are read twice
        notes.append(note)


def _document(title: str, text: str, inside: PurePosixPath) -> TextDocument:
    """Its title or first line; folders are the label, ``train`` and ``test`` above them the split."""
    folders = list(inside.parts[:-1])
    part = fields.PARTS.get(folders[0].lower()) if folders else None
    if part == LEFT_OUT:
        part = None
    if part is not None:
        folders = folders[1:]
    first = title or next((line.strip() for line in text.splitlines() if line.strip()), "")
    title = first if len(first) <= _TITLE_LENGTH else first[: _TITLE_LENGTH - 1] + "…"
    return TextDocument(text, title or str(inside), "/".join(folders) or None, part, {"file": str(inside)})


def _shared_folders(names: list[PurePosixPath]) -> int:
    """How many folders all files share: they say nothing."""
    shortest = min(len(name.parts) for name in names) - 1
    return next((depth for depth in range(shortest) if len({name.parts[depth] for name in names}) > 1), shortest)


def _names(path: Path) -> list[PurePosixPath]:
    """Every file of a folder or zip file, sorted, but hidden ones."""
    if path.is_dir():
        names = [PurePosixPath(file.relative_to(path).as_posix()) for file in path.rglob("*") if file.is_file()]
    else:
        with _archive(path) as archive:
            members = _members(archive)
            if sum(info.file_size for info in members.values()) > packed.most_bytes(path.stat().st_size):
                cause = "unpacks to far more than an archive of its size should; unpack it yourself if you trust it"
                raise IngestError(path, cause)
            names = list(members)
    return sorted(name for name in names if not any(part.startswith((".", "__MACOSX")) for part in name.parts))


def _texts_among(names: list[PurePosixPath]) -> list[PurePosixPath]:
    """Files of the kinds that are read; where only tables have an ending, those without, as of the 20 Newsgroups."""
    if all(name.suffix.lower() in ("", *TABLES) for name in names):
        return [name for name in names if not name.suffix]
    return [name for name in names if name.suffix.lower() in KINDS]


def _contents(path: Path, names: list[PurePosixPath]) -> Iterator[tuple[PurePosixPath, bytes]]:
    if path.suffix.lower() == ".zip" and not path.is_dir():
        yield from _zip_contents(path, names)
        return
    in_folder = path.is_dir()
    for name in names:
        file = path / name if in_folder else path
        with files.opened(file, as_it_is=in_folder) as stream:
            raw = files.upto(stream, _most(name) + 1)
        if len(raw) > _most(name):
            raise _too_large(file, name)
        yield name, raw


def _most(name: PurePosixPath) -> int:
    """The most bytes of a document; those of other programs hold pictures, too."""
    return _LARGEST if name.suffix.lower() in office.READERS else packed.LARGEST_TEXT


def _too_large(where: str | Path, name: PurePosixPath) -> IngestError:
    return IngestError(
        where, f"is larger than {_most(name) >> 20} MB, the most of one document; split it, or leave it out"
    )


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except UnicodeDecodeError:
        cause = "is a zip file with a name in it that says it is UTF-8 and is not; pack the files again"
        raise IngestError(path, cause) from None
    except (OSError, NotImplementedError, zipfile.BadZipFile) as error:
        raise IngestError(path, f"is not a sound zip file ({error}); copy or download it again") from None


def _members(archive: zipfile.ZipFile) -> dict[PurePosixPath, zipfile.ZipInfo]:
    r"""Every file by its path, which the archive may write otherwise: ``./a.txt``, ``b//c.txt``, ``d\e.txt``."""
    return {packed.member_path(info): info for info in archive.infolist() if not packed.is_folder(info)}


def _zip_contents(path: Path, names: list[PurePosixPath]) -> Iterator[tuple[PurePosixPath, bytes]]:
    with _archive(path) as archive:
        members = _members(archive)
        for name in names:
            if name not in members:
                raise IngestError(path, "changed while it was being read; import it again")
            try:
                raw = packed.member(archive, members[name], _most(name))
            except packed.TooLarge:
                raise _too_large(f"{path}/{name}", name) from None
            except packed.UNPACKING as error:
                raise IngestError(f"{path}/{name}", f"cannot be unpacked ({error}); pack the files again") from None
            yield name, raw
