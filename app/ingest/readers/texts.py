"""Reader of folders and zip files of texts: each file is a document, its subfolder the label."""

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from topiary.app.ingest import files, packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.exporting import advise_exports
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import markup, text_kinds
from topiary.app.ingest.readers.documents import BINARY, KINDS, PICTURED, read_contents
from topiary.app.ingest.source import LEFT_OUT, Contents, Reader, TextDocument, TextSource, Unreadable
from topiary.app.ingest.tables.roles import PARTS
from topiary.app.ingest.tables.values import find_date
from topiary.app.ingest.text import encodings
from topiary.app.ingest.text.encodings import WIDE, SharedEncoding

TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".json", ".jsonl", ".ndjson", ".parquet", ".feather", ".arrow")
_TITLE_LENGTH = 100  # characters
_LARGEST = 1 << 28  # bytes of a document with pictures; a larger one is a mistake, or made to fill the memory
_MOST_EXAMPLES = 3  # files in a note
_COLUMNS = 8  # columns in the report
_SAMPLED_FILES = 40  # documents whose first lines are compared
_FEWEST_ALIKE = 5  # documents with the same line, at least, for it to be no title
_FIRST_LINES = 4  # first lines of a document that are compared
_MOST_UNDECODED = 4_000  # files from which the encoding of those that are not UTF-8 is found


def recognise_texts(path: Path) -> bool:
    """Recognise a folder or a zip file with texts at any depth."""
    if not path.is_dir() and (path.suffix.lower() != ".zip" or not path.is_file()):
        return False
    try:
        return bool(_find_texts(path, _list_names(path)))
    except IngestError:
        return True  # reading it will explain what is wrong


class TextMembers(NamedTuple):
    """The files of a folder or a zip file: those to read as texts, and the others."""

    texts: list[PurePosixPath]
    others: list[PurePosixPath]

    def list_names(self) -> list[str]:
        """Return the names of the texts as in the column ``file``, without the folders that all share."""
        top = _count_shared_folders(self.texts) if self.texts else 0
        return [str(PurePosixPath(*name.parts[top:])) for name in self.texts]

    def leave_out(self, names: Collection[PurePosixPath]) -> "TextMembers":
        """Return the files without some of them."""
        texts, others = ([name for name in each if name not in names] for each in self)
        return TextMembers(texts, others)


def list_members(path: Path) -> TextMembers:
    """Return the files of a folder or a zip file, or a single text.

    Raises
    ------
    IngestError
        If the path is none of these, or cannot be opened.
    """
    if path.is_file() and path.suffix.lower() != ".zip":
        if files.find_suffix(path) not in ("", *KINDS):
            cause = f"is neither a text ({', '.join(KINDS)}) nor a folder or zip file of texts"
            raise IngestError(path, f"{cause}; leave --format out, or name the format that it has")
        return TextMembers([PurePosixPath(packing.strip_packing(path.name))], [])
    names = _list_names(path)
    texts = _find_texts(path, names)
    return TextMembers(texts, sorted(set(names).difference(texts)))


def read_texts(path: Path, options: ImportOptions, inside: TextMembers | None = None) -> TextSource:
    """Read the files as documents, shuffled by the seed because files sorted by name come class by class.

    Files that are not UTF-8 are decoded in the encoding that their letters suggest, else as Latin-1; a note names it.
    Files of other kinds are left out, with a note.
    """
    ordered, others = list_members(path) if inside is None else inside
    if not ordered:
        raise IngestError(path, f"has no texts in it ({', '.join(KINDS)})")
    notes: list[str] = []
    if others:
        advice = advise_exports(others) or "save such documents as .txt"
        notes.append(f"left out what is not read as text: {files.describe_kinds(others)}; {advice}")
    parts = _find_latex_parts(path, ordered, options.encoding)
    if parts:
        latex_files = (
            "1 file of LaTeX is part of another one" if len(parts) == 1 else f"{len(parts):,} files of LaTeX are parts"
        )
        notes.append(f"{latex_files} and read there")
        ordered = [name for name in ordered if name not in parts]
    top = _count_shared_folders(ordered)
    shuffled = [ordered[place] for place in np.random.default_rng(options.seed).permutation(len(ordered))]
    folder = _TextFolder(path, shuffled, parts, top, options.encoding)
    folder.notes.extend(notes)
    return TextSource(where=str(path), documents=folder.documents, notes=folder.notes, understood=folder.understood)


class _TextFolder:
    """The documents of a folder or zip file; slow results are cached, because the files are read twice."""

    def __init__(
        self, path: Path, names: list[PurePosixPath], parts: Collection[PurePosixPath], top: int, encoding: str
    ) -> None:
        self._path, self._names, self._parts, self._top, self._encoding = path, names, parts, top, encoding
        self.notes: list[str] = []
        self.understood: dict[str, str] = {}
        self._cache: dict[PurePosixPath, tuple[Contents, bytes]] = {}

    def documents(self) -> Iterator[TextDocument]:
        """Yield every document that can be read; add notes about the others and about guessed encodings."""
        undecoded: dict[str, list[str]] = {}
        unreadable: list[str] = []
        n_read = 0
        left_out: Counter[str] = Counter()
        columns: Counter[str] = Counter()
        for name, raw in read_raw(self._path, self._names):
            relative, declared = PurePosixPath(*name.parts[self._top :]), encodings.recognise_text(raw, self._encoding)
            try:
                contents = self._decode_file(name, raw, declared)
            except UnicodeDecodeError as error:
                if declared.startswith(WIDE):  # decoded as Latin-1, every other letter would be a zero byte
                    unreadable.append(f"{relative} is damaged {declared.upper()}")
                    continue
                line = raw.count(b"\n", 0, error.start) + 1
                guess = self._shared.find(raw, self._encoding, "latin-1")
                sentence = f"{relative} is not {declared.upper()} (line {line}, byte {error.start + 1})"
                undecoded.setdefault(guess, []).append(sentence)
                contents = self._decode_file(name, raw, guess)
            except Unreadable as error:
                unreadable.append(f"{relative} {error}")
                continue
            n_read += 1
            left_out[contents.left_out] += 1
            document = self._make_document(contents, relative)
            columns.update(name for name in document.columns if name != "file")
            yield document
        if unreadable and not n_read:
            others = f" (and {len(unreadable) - 1:,} more files)" if len(unreadable) > 1 else ""
            raise IngestError(self._path, f"has no text that can be read: {unreadable[0]}{others}")
        for guess, sentences in undecoded.items():
            encoding = files.show_encoding(guess) if guess != "latin-1" else "Latin-1"
            _note_examples(sentences, f"read as {encoding}", self.notes)
        for kind, count in left_out.items():
            if kind:
                n_documents = f"{count:,} document{'s' if count > 1 else ''}"
                _note_examples([f"{kind} were left out of {n_documents}"], "", self.notes)
        _note_examples(unreadable, "left out", self.notes)
        self._report_findings(undecoded, columns)

    def _report_findings(self, undecoded: dict[str, list[str]], columns: Counter[str]) -> None:
        """Add the guessed encodings and the columns to the report."""
        if undecoded:
            guessed = (f"{len(sentences):,} as {files.show_encoding(guess)}" for guess, sentences in undecoded.items())
            explanation = "a guess from the letters of all; --encoding names another"
            default = files.show_encoding(self._encoding)
            self.understood["encoding"] = f"{default}, files that are not: {', '.join(guessed)} ({explanation})"
        if columns:
            self.understood["columns"] = ", ".join(
                f"{name} ({times:,})" for name, times in columns.most_common(_COLUMNS)
            )

    def _decode_file(self, name: PurePosixPath, raw: bytes, encoding: str) -> Contents:
        """Return the contents of a file; those of binary formats, which take long to read, are cached compressed."""
        kind = name.suffix.lower()
        if kind == ".tex":
            source = markup.inline_files(raw.decode(encoding), name, self._read_part, files.LARGEST_TEXT)
            return read_contents(name, source.encode("utf-8", "replace"), "utf-8")
        if kind not in BINARY:
            return read_contents(name, raw, encoding)
        if name not in self._cache:
            contents = read_contents(name, raw, encoding)
            self._cache[name] = contents._replace(text=""), zlib.compress(contents.text.encode("utf-8", "replace"), 1)
        contents, text = self._cache[name]
        return contents._replace(text=zlib.decompress(text).decode())

    def _read_part(self, name: PurePosixPath) -> str | None:
        """Return the source of a LaTeX file that another one includes; None if it is not among the files."""
        if name not in self._parts:
            return None
        ((_, raw),) = read_raw(self._path, [name])
        declared = encodings.recognise_text(raw, self._encoding)
        return raw.decode(self._shared.find(raw, declared, "latin-1") if _is_undecoded(raw) else declared, "replace")

    @cached_property
    def _shared(self) -> SharedEncoding:
        """Return the encoding of the files that are not UTF-8, decided for all of them together."""
        sample = read_raw(self._path, self._names[:_MOST_UNDECODED])
        return SharedEncoding(raw for name, raw in sample if name.suffix.lower() not in BINARY and _is_undecoded(raw))

    @cached_property
    def _shared_lines(self) -> frozenset[str]:
        """Return the lines with which many documents begin, and which are therefore not titles."""
        lines: Counter[str] = Counter()
        plain = [name for name in self._names if name.suffix.lower() not in BINARY]
        sample = plain[:_SAMPLED_FILES]
        for _, raw in read_raw(self._path, sample):
            lines.update(set(_list_first_lines(raw.decode(encodings.recognise_text(raw, self._encoding), "replace"))))
        fewest = max(_FEWEST_ALIKE, len(sample) // 2)
        return frozenset(line for line, times in lines.items() if times >= fewest)

    def _make_document(self, contents: Contents, relative: PurePosixPath) -> TextDocument:
        """Return a document whose folders are the label; an outermost ``train`` or ``test`` is the split."""
        folders = list(relative.parts[:-1])
        part = PARTS.get(folders[0].lower()) if folders else None
        if part == LEFT_OUT:
            part = None
        if part is not None:
            folders = folders[1:]
        title, columns = contents.title, {"file": str(relative), **contents.columns}
        if not title:
            title, date = _find_title(_list_first_lines(contents.text), self._shared_lines)
            if date:
                columns.setdefault("date", date)
        title = title if len(title) <= _TITLE_LENGTH else title[: _TITLE_LENGTH - 1] + "…"
        return TextDocument(contents.text, title or str(relative), "/".join(folders) or None, part, columns)


def _list_first_lines(text: str) -> list[str]:
    """Return the first lines of a text that are not blank."""
    lines: list[str] = []
    for line in text[:_BEGINNING].replace("\r", "\n").split("\n", _MOST_BLANK):
        if stripped := line.strip():
            lines.append(stripped)
            if len(lines) == _FIRST_LINES:
                break
    return lines


_BEGINNING, _MOST_BLANK = 1 << 12, 100  # characters and lines of a text in which its title is searched


def _find_title(lines: list[str], shared: frozenset[str]) -> tuple[str, str]:
    """Return the first line that is neither a date nor shared with other texts, and a date above it."""
    date = ""
    for line in lines:
        line_date = None if date else find_date(line)
        if line_date:
            date = line_date
        elif line not in shared:
            return line, date
    return (lines[0] if lines else ""), date


def _is_undecoded(raw: bytes) -> bool:
    """Return whether bytes are neither UTF-8 nor in an encoding that they declare."""
    if encodings.recognise_text(raw, ""):
        return False
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _find_latex_parts(path: Path, names: list[PurePosixPath], encoding: str) -> frozenset[PurePosixPath]:
    r"""Return the LaTeX files included by others with ``\input``, which are no documents; none if all files are."""
    sources = [name for name in names if name.suffix.lower() == ".tex"]
    included: set[PurePosixPath] = set()
    for name, raw in read_raw(path, sources):
        text = raw.decode(encodings.recognise_text(raw, encoding), "replace")
        included |= markup.find_included(text, name) - {name}
    parts = included.intersection(sources)
    return frozenset(parts) if len(parts) < len(sources) else frozenset()


def _note_examples(examples: list[str], consequence: str, notes: list[str]) -> None:
    """Add a note about some files, with the first of them as examples."""
    if not examples:
        return
    rest = f" and {len(examples) - _MOST_EXAMPLES:,} more files" if len(examples) > _MOST_EXAMPLES else ""
    note = f"{'; '.join(examples[:_MOST_EXAMPLES])}{rest}" + (f": {consequence}" if consequence else "")
    if note not in notes:  # documents are read twice
        notes.append(note)


def _count_shared_folders(names: list[PurePosixPath]) -> int:
    """Count the outermost folders that all files share, which carry no information."""
    shortest = min(len(name.parts) for name in names) - 1
    return next((depth for depth in range(shortest) if len({name.parts[depth] for name in names}) > 1), shortest)


def _list_names(path: Path) -> list[PurePosixPath]:
    """List the files of a folder or zip file, sorted, without hidden ones."""
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


def _find_texts(path: Path, names: list[PurePosixPath]) -> list[PurePosixPath]:
    """Return the files of known kinds of texts, and those without an ending, which are texts by their beginning.

    A read-me file next to texts without an ending is no document.
    """
    known = [name for name in names if name.suffix.lower() in KINDS]
    bare = [name for name in names if not name.suffix]
    if all(name.suffix.lower() in ("", *TABLES) for name in names):
        return bare
    bare = [name for name in bare if not text_kinds.ABOUT.fullmatch(name.stem)]
    if not known and 2 * len(bare) < len(names):  # such as the vocabulary of a matrix
        return []
    if sum(len(raw) > 0 and _is_text(raw) for _, raw in read_raw(path, bare[:_SAMPLED_FILES], _START)):
        bare = [name for name, raw in read_raw(path, bare, _START) if _is_text(raw)]
        known = [name for name in known if not text_kinds.ABOUT.fullmatch(name.stem)]
        return sorted([*known, *bare])
    return known


def _is_text(raw: bytes) -> bool:
    """Return whether the beginning of a file may be text: it has no control characters."""
    return bool(encodings.find_marked_encoding(raw, "")) or _CONTROL.search(raw) is None


_START = 512  # bytes by which a file without an ending is recognised as text
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


def read_raw(path: Path, names: list[PurePosixPath], start: int | None = None) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the bytes of files in a folder or zip file, or of a single file; of each only the ``start``, if given."""
    if path.suffix.lower() == ".zip" and not path.is_dir():
        yield from _read_zip_contents(path, names)
        return
    in_folder = path.is_dir()
    for name in names:
        file = path / name if in_folder else path
        with files.open_file(file, as_it_is=in_folder) as stream:
            raw = files.read_up_to(stream, start or _limit_size(name) + 1)
        if len(raw) > _limit_size(name):
            raise _refuse_size(file, name)
        yield name, raw


def _limit_size(name: PurePosixPath) -> int:
    """Return the largest size of a document in bytes, larger for formats with pictures."""
    return _LARGEST if name.suffix.lower() in PICTURED else files.LARGEST_TEXT


def _refuse_size(file: str | Path, name: PurePosixPath) -> IngestError:
    cause = f"is larger than {_limit_size(name) >> 20} MB, the most of one document"
    return IngestError(file, f"{cause}; split it, or leave it out")


def _open_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip file; refuse a damaged one."""
    try:
        return zipfile.ZipFile(path)
    except UnicodeDecodeError:
        cause = "is a zip file with a name in it that says it is UTF-8 and is not; pack the files again"
        raise IngestError(path, cause) from None
    except (OSError, NotImplementedError, zipfile.BadZipFile) as error:
        raise IngestError(path, f"is not a sound zip file ({error}); copy or download it again") from None


def _list_archive(archive: zipfile.ZipFile) -> dict[PurePosixPath, zipfile.ZipInfo]:
    r"""Return the files by their normalised paths; an archive may write ``./a.txt``, ``b//c.txt`` or ``d\e.txt``."""
    return {packing.get_member_path(info): info for info in archive.infolist() if not packing.is_folder(info)}


def _read_zip_contents(path: Path, names: list[PurePosixPath]) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the bytes of files in a zip file."""
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
