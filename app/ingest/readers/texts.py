"""Folders, and zip files, of texts: every file is a document, its sub-folder the label."""

import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from app.ingest import files, packing
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.readers import markup
from app.ingest.readers.documents import BINARY, KINDS, PICTURED, read_contents
from app.ingest.source import LEFT_OUT, Contents, Reader, TextDocument, TextSource, Unreadable
from app.ingest.tables.roles import PARTS
from app.ingest.tables.values import find_date
from app.ingest.text import encodings
from app.ingest.text.encodings import WIDE, SharedEncoding

TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".json", ".jsonl", ".ndjson", ".parquet", ".feather", ".arrow")
_TITLE_LENGTH = 100
_LARGEST = 1 << 28  # bytes of a document with pictures in it; more is a mistake, or a zip made to fill the memory
_NOTED = 3
_NAMED = 8  # columns
_LOOKED_AT = 40  # documents of which it is seen whether they begin alike,
_FEWEST_ALIKE = 5  # in so many at least,
_FIRST_LINES = 4  # in one of these lines
_MOST_STRANGE = 4_000  # files among which those are sought that are not UTF-8


def recognise_texts(path: Path) -> bool:
    """Recognise a folder or a zip file with texts at any depth."""
    if not path.is_dir() and (path.suffix.lower() != ".zip" or not path.is_file()):
        return False
    try:
        return bool(_find_texts(_list_names(path)))
    except IngestError:
        return True  # reading it will say what is wrong


class TextMembers(NamedTuple):
    """The files of a folder or a zip file: those that are read as texts, and the others."""

    texts: list[PurePosixPath]
    others: list[PurePosixPath]

    def list_names(self) -> list[str]:
        """Return the texts as the column ``file`` of their documents calls them: without folders that all share."""
        top = _count_shared_folders(self.texts) if self.texts else 0
        return [str(PurePosixPath(*name.parts[top:])) for name in self.texts]

    def leave_out(self, names: Collection[PurePosixPath]) -> "TextMembers":
        """Return the files but some."""
        texts, others = ([name for name in each if name not in names] for each in self)
        return TextMembers(texts, others)


def list_members(path: Path) -> TextMembers:
    """Return the files of a folder or a zip file; a file of a kind of texts is a text itself.

    Raises
    ------
    IngestError
        When it is none of these, or cannot be opened.
    """
    if path.is_file() and path.suffix.lower() != ".zip":
        if files.find_suffix(path) not in ("", *KINDS):
            cause = f"is neither a text ({', '.join(KINDS)}) nor a folder or zip file of texts"
            raise IngestError(path, f"{cause}; leave --format out, or name the format that it has")
        return TextMembers([PurePosixPath(packing.strip_packing(path.name))], [])
    names = _list_names(path)
    texts = _find_texts(names)
    return TextMembers(texts, sorted(set(names).difference(texts)))


def read_texts(path: Path, options: ImportOptions, inside: TextMembers | None = None) -> TextSource:
    """Read the files, shuffled by the seed; those that are not UTF-8 are decoded as their letters suggest.

    A note says as what, Latin-1 where a few letters are no evidence.  Files of other kinds are left out, with a note.

    Files sorted by name come class after class, and the first documents would all be of one class.
    """
    ordered, others = list_members(path) if inside is None else inside
    if not ordered:
        raise IngestError(path, f"has no texts in it ({', '.join(KINDS)})")
    notes: list[str] = []
    if others:
        notes.append(f"left out what is not read as text: {files.describe_kinds(others)}; save such documents as .txt")
    parts = _find_latex_parts(path, ordered, options.encoding)
    if parts:
        are = (
            "1 file of LaTeX is part of another one" if len(parts) == 1 else f"{len(parts):,} files of LaTeX are parts"
        )
        notes.append(f"{are} and read there")
        ordered = [name for name in ordered if name not in parts]
    top = _count_shared_folders(ordered)
    shuffled = [ordered[place] for place in np.random.default_rng(options.seed).permutation(len(ordered))]
    folder = _TextFolder(path, shuffled, parts, top, options.encoding)
    folder.notes.extend(notes)
    return TextSource(where=str(path), documents=folder.documents, notes=folder.notes, understood=folder.understood)


class _TextFolder:
    """The documents of a folder or zip file; what takes long to find is kept, for they are read twice."""

    def __init__(
        self, path: Path, names: list[PurePosixPath], parts: Collection[PurePosixPath], top: int, encoding: str
    ) -> None:
        self._path, self._names, self._parts, self._top, self._encoding = path, names, parts, top, encoding
        self.notes: list[str] = []
        self.understood: dict[str, str] = {}
        self._known: dict[PurePosixPath, tuple[Contents, bytes]] = {}

    def documents(self) -> Iterator[TextDocument]:
        """Give every document that can be read; notes say what could not, and what was guessed."""
        strange: dict[str, list[str]] = {}
        unread: list[str] = []
        left_out: Counter[str] = Counter()
        columns: Counter[str] = Counter()
        for name, raw in _read_contents(self._path, self._names):
            inside, marked = PurePosixPath(*name.parts[self._top :]), encodings.recognise_text(raw, self._encoding)
            try:
                found = self._decode_file(name, raw, marked)
            except UnicodeDecodeError as error:
                if marked.startswith(WIDE):  # every other letter of it would be a zero
                    unread.append(f"{inside} is damaged {marked.upper()}")
                    continue
                line = raw.count(b"\n", 0, error.start) + 1
                taken = self._shared.find(raw, self._encoding, "latin-1")
                sentence = f"{inside} is not {marked.upper()} (line {line}, byte {error.start + 1})"
                strange.setdefault(taken, []).append(sentence)
                found = self._decode_file(name, raw, taken)
            except Unreadable as error:
                unread.append(f"{inside} {error}")
                continue
            left_out[found.left_out] += 1
            document = self._make_document(found, inside)
            columns.update(name for name in document.columns if name != "file")
            yield document
        for taken, those in strange.items():
            shown = files.show_encoding(taken) if taken != "latin-1" else "Latin-1"
            _note_strange(those, f"read as {shown}", self.notes)
        for what, times in left_out.items():
            if what:
                documents = f"{times:,} document{'s' if times > 1 else ''}"
                _note_strange([f"{what} were left out of {documents}"], "", self.notes)
        _note_strange(unread, "left out", self.notes)
        self._keep_findings(strange, columns)

    def _keep_findings(self, strange: dict[str, list[str]], columns: Counter[str]) -> None:
        """Keep for a report what was guessed and found."""
        if strange:
            guessed = (f"{len(those):,} as {files.show_encoding(taken)}" for taken, those in strange.items())
            how = "a guess from the letters of all; --encoding names another"
            usual = files.show_encoding(self._encoding)
            self.understood["encoding"] = f"{usual}, files that are not: {', '.join(guessed)} ({how})"
        if columns:
            self.understood["columns"] = ", ".join(f"{name} ({times:,})" for name, times in columns.most_common(_NAMED))

    def _decode_file(self, name: PurePosixPath, raw: bytes, encoding: str) -> Contents:
        """Return what a file holds; of other programs' files it is kept, packed."""
        kind = name.suffix.lower()
        if kind == ".tex":
            source = markup.inline_files(raw.decode(encoding), name, self._read_part, files.LARGEST_TEXT)
            return read_contents(name, source.encode("utf-8", "replace"), "utf-8")
        if kind not in BINARY:
            return read_contents(name, raw, encoding)
        if name not in self._known:
            found = read_contents(name, raw, encoding)
            self._known[name] = found._replace(text=""), zlib.compress(found.text.encode("utf-8", "replace"), 1)
        found, text = self._known[name]
        return found._replace(text=zlib.decompress(text).decode())

    def _read_part(self, name: PurePosixPath) -> str | None:
        """Return the source of a file of LaTeX that another one takes in; None where there is none."""
        if name not in self._parts:
            return None
        ((_, raw),) = _read_contents(self._path, [name])
        usual = encodings.recognise_text(raw, self._encoding)
        return raw.decode(self._shared.find(raw, usual, "latin-1") if _is_strange(raw) else usual, "replace")

    @cached_property
    def _shared(self) -> SharedEncoding:
        """Return the encoding of the files that are not UTF-8, decided for all of them together."""
        some = _read_contents(self._path, self._names[:_MOST_STRANGE])
        return SharedEncoding(raw for name, raw in some if name.suffix.lower() not in BINARY and _is_strange(raw))

    @cached_property
    def _shared_lines(self) -> frozenset[str]:
        """Return the lines with which most documents begin: they are no titles."""
        lines: Counter[str] = Counter()
        plain = [name for name in self._names if name.suffix.lower() not in BINARY]
        looked_at = plain[:_LOOKED_AT]
        for _, raw in _read_contents(self._path, looked_at):
            lines.update(set(_list_first_lines(raw.decode(encodings.recognise_text(raw, self._encoding), "replace"))))
        least = max(_FEWEST_ALIKE, len(looked_at) // 2)
        return frozenset(line for line, times in lines.items() if times >= least)

    def _make_document(self, found: Contents, inside: PurePosixPath) -> TextDocument:
        """Return a document; its folders are the label, ``train`` and ``test`` above them the split."""
        folders = list(inside.parts[:-1])
        part = PARTS.get(folders[0].lower()) if folders else None
        if part == LEFT_OUT:
            part = None
        if part is not None:
            folders = folders[1:]
        title, columns = found.title, {"file": str(inside), **found.columns}
        if not title:
            title, date = _find_title(_list_first_lines(found.text), self._shared_lines)
            if date:
                columns.setdefault("date", date)
        title = title if len(title) <= _TITLE_LENGTH else title[: _TITLE_LENGTH - 1] + "…"
        return TextDocument(found.text, title or str(inside), "/".join(folders) or None, part, columns)


def _list_first_lines(text: str) -> list[str]:
    """Return the first lines of a text that are not blank."""
    found: list[str] = []
    for line in text[:_BEGINNING].replace("\r", "\n").split("\n", _MOST_BLANK):
        if filled := line.strip():
            found.append(filled)
            if len(found) == _FIRST_LINES:
                break
    return found


_BEGINNING, _MOST_BLANK = 1 << 12, 100  # characters and lines of a text among which its title stands


def _find_title(lines: list[str], alike: frozenset[str]) -> tuple[str, str]:
    """Return the first line that says what a text is, and a date that stands above it."""
    date = ""
    for line in lines:
        found = None if date else find_date(line)
        if found:
            date = found
        elif line not in alike:
            return line, date
    return (lines[0] if lines else ""), date


def _is_strange(raw: bytes) -> bool:
    """Return whether bytes are neither UTF-8 nor of an encoding that they name."""
    if encodings.recognise_text(raw, ""):
        return False
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _find_latex_parts(path: Path, names: list[PurePosixPath], encoding: str) -> frozenset[PurePosixPath]:
    r"""Return the files of LaTeX that others take in by ``\input`` and are no documents; none where all are."""
    sources = [name for name in names if name.suffix.lower() == ".tex"]
    taken_in: set[PurePosixPath] = set()
    for name, raw in _read_contents(path, sources):
        text = raw.decode(encodings.recognise_text(raw, encoding), "replace")
        taken_in |= markup.find_included(text, name) - {name}
    parts = taken_in.intersection(sources)
    return frozenset(parts) if len(parts) < len(sources) else frozenset()


def _note_strange(strange: list[str], therefore: str, notes: list[str]) -> None:
    if not strange:
        return
    more = f" and {len(strange) - _NOTED:,} more files" if len(strange) > _NOTED else ""
    note = f"{'; '.join(strange[:_NOTED])}{more}" + (f": {therefore}" if therefore else "")
    if note not in notes:  # documents are read twice
        notes.append(note)


def _count_shared_folders(names: list[PurePosixPath]) -> int:
    """Count the folders that all files share: they say nothing."""
    shortest = min(len(name.parts) for name in names) - 1
    return next((depth for depth in range(shortest) if len({name.parts[depth] for name in names}) > 1), shortest)


def _list_names(path: Path) -> list[PurePosixPath]:
    """List every file of a folder or zip file but hidden ones, sorted."""
    if path.is_dir():
        names = [PurePosixPath(file.relative_to(path).as_posix()) for file in path.rglob("*") if file.is_file()]
    else:
        with _open_archive(path) as archive:
            members = _list_archive(archive)
            if sum(info.file_size for info in members.values()) > packing.limit_unpacked(path.stat().st_size):
                cause = "unpacks to far more than an archive of its size should; unpack it yourself if you trust it"
                raise IngestError(path, cause)
            names = list(members)
    return sorted(name for name in names if not any(part.startswith((".", "__MACOSX")) for part in name.parts))


def _find_texts(names: list[PurePosixPath]) -> list[PurePosixPath]:
    """Return the files of the kinds that are read; where only tables have an ending, those without one."""
    if all(name.suffix.lower() in ("", *TABLES) for name in names):
        return [name for name in names if not name.suffix]
    return [name for name in names if name.suffix.lower() in KINDS]


def _read_contents(path: Path, names: list[PurePosixPath]) -> Iterator[tuple[PurePosixPath, bytes]]:
    if path.suffix.lower() == ".zip" and not path.is_dir():
        yield from _read_zip_contents(path, names)
        return
    in_folder = path.is_dir()
    for name in names:
        file = path / name if in_folder else path
        with files.open_file(file, as_it_is=in_folder) as stream:
            raw = files.read_up_to(stream, _limit_size(name) + 1)
        if len(raw) > _limit_size(name):
            raise _refuse_size(file, name)
        yield name, raw


def _limit_size(name: PurePosixPath) -> int:
    """Return the most bytes of a document; those of other programs hold pictures, too."""
    return _LARGEST if name.suffix.lower() in PICTURED else files.LARGEST_TEXT


def _refuse_size(where: str | Path, name: PurePosixPath) -> IngestError:
    cause = f"is larger than {_limit_size(name) >> 20} MB, the most of one document"
    return IngestError(where, f"{cause}; split it, or leave it out")


def _open_archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except UnicodeDecodeError:
        cause = "is a zip file with a name in it that says it is UTF-8 and is not; pack the files again"
        raise IngestError(path, cause) from None
    except (OSError, NotImplementedError, zipfile.BadZipFile) as error:
        raise IngestError(path, f"is not a sound zip file ({error}); copy or download it again") from None


def _list_archive(archive: zipfile.ZipFile) -> dict[PurePosixPath, zipfile.ZipInfo]:
    r"""Return every file by its path, which the archive may write as ``./a.txt``, ``b//c.txt`` or ``d\e.txt``."""
    return {packing.get_member_path(info): info for info in archive.infolist() if not packing.is_folder(info)}


def _read_zip_contents(path: Path, names: list[PurePosixPath]) -> Iterator[tuple[PurePosixPath, bytes]]:
    with _open_archive(path) as archive:
        members = _list_archive(archive)
        for name in names:
            if name not in members:
                raise IngestError(path, "changed while it was being read; import it again")
            try:
                raw = packing.read_member(archive, members[name], _limit_size(name))
            except packing.TooLarge:
                raise _refuse_size(f"{path}/{name}", name) from None
            except packing.UNPACKING as error:
                raise IngestError(f"{path}/{name}", f"cannot be unpacked ({error}); pack the files again") from None
            yield name, raw


_TEXT_FILES = "texts: a folder or zip of .txt, .pdf, .epub or other texts, each a document; the sub-folder is the label"
READERS = (Reader("text", _TEXT_FILES, ("token_pattern", "metadata", "name_fields"), recognise_texts, read_texts),)
