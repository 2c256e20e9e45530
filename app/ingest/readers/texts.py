"""Reader of folders and zip files of texts, with labels, titles and columns from folders, names and tables."""

import json
import re
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError, list_some, plural
from topiary.app.ingest.options import NONE, ImportOptions
from topiary.app.ingest.readers import markup
from topiary.app.ingest.readers.documents import BINARY, PICTURED, read_contents
from topiary.app.ingest.readers.json import flatten
from topiary.app.ingest.readers.markup import find_included, inline_files
from topiary.app.ingest.source import LEFT_OUT, Contents, Reader, TextDocument, TextSource, Unreadable
from topiary.app.ingest.tables import joining, sniff
from topiary.app.ingest.tables import names as column_names
from topiary.app.ingest.tables.joining import Join
from topiary.app.ingest.tables.names import Pattern
from topiary.app.ingest.tables.roles import PARTS
from topiary.app.ingest.tables.sniff import advise_exports
from topiary.app.ingest.tables.values import Columns, find_date
from topiary.app.ingest.text import encodings
from topiary.app.ingest.text.encodings import WIDE, SharedEncoding

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
        if packing.find_suffix(path) not in ("", *packing.TEXTUAL):
            cause = f"is neither a text ({', '.join(packing.TEXTUAL)}) nor a folder or zip file of texts"
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
        raise IngestError(path, f"has no texts in it ({', '.join(packing.TEXTUAL)})")
    notes: list[str] = []
    if others:
        advice = advise_exports(others) or "save such documents as .txt"
        notes.append(f"left out what is not read as text: {packing.describe_kinds(others)}; {advice}")
    parts = _find_latex_parts(path, ordered, options.encoding)
    if parts:
        latex_files = plural(len(parts), "file of LaTeX is part of another one", "files of LaTeX are parts")
        notes.append(f"{latex_files} and read there")
        ordered = [name for name in ordered if name not in parts]
    top = _count_shared_folders(ordered)
    shuffled = [ordered[place] for place in np.random.default_rng(options.seed).permutation(len(ordered))]
    folder = _TextFolder(path, shuffled, parts, top, options.encoding)
    folder.notes.extend(notes)
    return TextSource(where=str(path), documents=folder.documents, notes=folder.notes, understood=folder.understood)


_MOST_KEPT = 100_000_000  # characters of documents that are kept in memory from one reading to the next


class _TextFolder:
    """The documents of a folder or zip file; few ones, and slow results, are cached, because they are read thrice."""

    def __init__(
        self, path: Path, names: list[PurePosixPath], parts: Collection[PurePosixPath], top: int, encoding: str
    ) -> None:
        self._path, self._names, self._parts, self._top, self._encoding = path, names, parts, top, encoding
        self.notes: list[str] = []
        self.understood: dict[str, str] = {}
        self._cache: dict[PurePosixPath, tuple[Contents, bytes]] = {}
        self._documents: list[TextDocument] = []  # all, once they have been read, if they are few

    def documents(self) -> Iterator[TextDocument]:
        """Yield every document that can be read; add notes about the others and about guessed encodings."""
        if self._documents:
            yield from self._documents
            return
        documents: list[TextDocument] = []
        size = 0
        for document in self._read_documents():
            size += len(document.text)
            if size <= _MOST_KEPT:
                documents.append(document)
            yield document
        self._documents = documents if size <= _MOST_KEPT else []

    def _read_documents(self) -> Iterator[TextDocument]:
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
            encoding = packing.show_encoding(guess) if guess != "latin-1" else "Latin-1"
            _note_examples(sentences, f"read as {encoding}", self.notes)
        for kind, count in left_out.items():
            if kind:
                _note_examples([f"{kind} were left out of {plural(count, 'document')}"], "", self.notes)
        _note_examples(unreadable, "left out", self.notes)
        self._report_findings(undecoded, columns)

    def _report_findings(self, undecoded: dict[str, list[str]], columns: Counter[str]) -> None:
        """Add the guessed encodings and the columns to the report."""
        if undecoded:
            guessed = (
                f"{len(sentences):,} as {packing.show_encoding(guess)}" for guess, sentences in undecoded.items()
            )
            explanation = "a guess from the letters of all; --encoding names another"
            default = packing.show_encoding(self._encoding)
            self.understood["encoding"] = f"{default}, files that are not: {', '.join(guessed)} ({explanation})"
        if columns:
            self.understood["columns"] = ", ".join(
                f"{name} ({times:,})" for name, times in columns.most_common(_COLUMNS)
            )

    def _decode_file(self, name: PurePosixPath, raw: bytes, encoding: str) -> Contents:
        """Return the contents of a file; those of binary formats, which take long to read, are cached compressed."""
        kind = name.suffix.lower()
        if kind == ".tex":
            source = inline_files(raw.decode(encoding), name, self._read_part, packing.LARGEST_TEXT)
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
        included |= find_included(text, name) - {name}
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
        names = list(map(PurePosixPath, packing.list_names(path)))
    else:
        with _open_archive(path) as archive:
            members = _list_archive(archive)
            if sum(info.file_size for info in members.values()) > packing.limit_unpacked(path.stat().st_size):
                cause = "unpacks to far more than an archive of its size should; unpack it yourself if you trust it"
                raise IngestError(path, cause)
            names = sorted(members)
    return [name for name in names if not any(part.startswith((".", "__MACOSX")) for part in name.parts)]


def _find_texts(path: Path, names: list[PurePosixPath]) -> list[PurePosixPath]:
    """Return the files of known kinds of texts, and those without an ending, which are texts by their beginning.

    A read-me file next to texts without an ending is no document.
    """
    known = [name for name in names if name.suffix.lower() in packing.TEXTUAL]
    bare = [name for name in names if not name.suffix]
    if all(name.suffix.lower() in {"", *_TABLE_ENDINGS} - {".txt"} for name in names):
        return bare
    bare = [name for name in bare if not sniff.ABOUT.fullmatch(name.stem)]
    if not known and 2 * len(bare) < len(names):  # such as the vocabulary of a matrix
        return []
    if sum(len(raw) > 0 and _is_text(raw) for _, raw in read_raw(path, bare[:_SAMPLED_FILES], _START)):
        bare = [name for name, raw in read_raw(path, bare, _START) if _is_text(raw)]
        known = [name for name in known if not sniff.ABOUT.fullmatch(name.stem)]
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
        with packing.open_file(file, as_it_is=in_folder) as stream:
            raw = packing.read_up_to(stream, start or _limit_size(name) + 1)
        if len(raw) > _limit_size(name):
            raise _refuse_size(file, name)
        yield name, raw


def _limit_size(name: PurePosixPath) -> int:
    """Return the largest size of a document in bytes, larger for formats with pictures."""
    return _LARGEST if name.suffix.lower() in PICTURED else packing.LARGEST_TEXT


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

TABLES = ("csv", "xlsx", "json", "jsonl", "parquet")  # readers of tables that may describe texts
_TABLE_ENDINGS = {  # the reader for each ending of a table
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".xlsx": "xlsx", ".xlsm": "xlsx", ".json": "json",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".feather": "parquet", ".arrow": "parquet",
}  # fmt: skip
_ABOUT_DATA = re.compile(
    r"(?:read_?me|licen[cs]e|copying|change(?:s|log)|notice|citation|authors|contents|about|classes|labels?(?:_names)?|"
    r"label\.|vocab(?:ulary)?|words|dictionary|stop.?words?)\b.*",
    re.IGNORECASE,
)  # names of texts about the data, which are not documents
_FEW_TEXTS = 2  # at most so many texts next to a table of texts are ignored
_MOST_TABLES = 20  # in a folder with more, none is joined
_EXAMPLES = 3  # file names in a sentence
_SAMPLED_NAMES = 2_000  # names from which fields are proposed


def _make_reader(
    members: TextMembers | None = None,
    joins: Sequence[Join] = (),
    accepts: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Reader:
    """Return a reader of texts that joins the tables and fields of file names describing them.

    Parameters
    ----------
    members : TextMembers or None
        The files of texts; None for all in the path.
    joins : sequence of Join
        Tables whose rows describe the texts.
    accepts : sequence of str
        Options accepted by the readers of these tables.
    notes : sequence of str
        Sentences about tables that are not joined.
    """

    def read_described(path: Path, options: ImportOptions) -> TextSource:
        text_members, copies = (members, []) if members else _list_members(path, options)
        source = read_texts(path, options, text_members)
        source.notes.extend([*copies, *notes])
        files_in = text_members.list_names()
        pattern = None if options.name_fields in (None, NONE) else Pattern(str(options.name_fields))
        if pattern is None and not joins:
            if options.name_fields is None:
                _propose_fields(source, files_in)
            return source
        described = _Described(joins, pattern, options, files_in)
        described.note_joins(source, path)
        joined = replace(source, columns=described.columns)
        return replace(joined, documents=lambda: map(described.make_document, source.documents()))

    (plain,) = READERS
    return replace(plain, accepts=(*plain.accepts, *accepts), read=read_described, joins=bool(joins))


def open_texts(
    path: Path, options: ImportOptions, readers: Mapping[str, Reader], rivals: Sequence[str] = ()
) -> Reader | None:
    """Return a reader of a path's texts and the tables that describe them; None if a table alone is to be read.

    Parameters
    ----------
    path : Path
    options : ImportOptions
    readers : mapping
        The readers of tables, by name.
    rivals : sequence of str
        Names of the readers of tables that could read the path instead.

    Raises
    ------
    IngestError
        If either the texts or a table could be meant, or the table given in the options does not describe the texts.
    """
    if options.metadata in (None, NONE) and not path.is_dir():
        return _make_reader()
    members, copies = _list_members(path, options)
    if options.metadata is not None:
        return _join_given(path, members, options, readers, copies)
    sidecars = find_sidecars(members)
    members_left = members.leave_out(frozenset(sidecars.values()))
    tables = _list_tables(path, members_left, readers)
    joined, notes = [], copies
    for table in tables if len(tables) <= _MOST_TABLES else []:
        try:
            join = _join_rows(table, readers, members.list_names(), options)
        except IngestError as error:
            if table.reader.name in rivals:
                raise
            notes.append(f"{table.path.name} is left out: it {error.cause}")
            continue
        if join is None:
            notes.append(f"{table.path.name} names no file of a text and is left out")
        else:
            joined.append((table, join))
    if rivals and not _are_texts_meant(path, members, options, tables, rivals, dict(joined)):
        return None
    described = [join_sidecars(path, sidecars, readers["jsonl"], options)] if sidecars else []
    return _make_described(path, members_left, joined, notes, described)


def _list_members(path: Path, options: ImportOptions) -> tuple[TextMembers, list[str]]:
    """Return the files of texts, each text once, and notes about texts that are there in several formats."""
    return leave_out_copies(path, list_members(path), options.encoding)


class _Table(NamedTuple):
    """A table among texts, and its reader."""

    path: Path
    reader: Reader


def _join_rows(
    table: _Table, readers: Mapping[str, Reader], names: Sequence[str], options: ImportOptions
) -> Join | None:
    """Join the rows of a table with the texts they describe; return None if it describes none."""
    with joining.copy_rows(table.path, names) as path:
        if path == table.path:
            return joining.join_table(path, table.reader, names, options)
        try:
            join = joining.join_table(path, readers["jsonl"], names, options)
        except IngestError as error:
            raise IngestError(table.path, error.cause) from None
    return None if join is None else replace(join, table=table.path.name)


def _make_described(
    path: Path,
    members: TextMembers,
    joined: Sequence[tuple[_Table, Join]],
    notes: Sequence[str] = (),
    described: Sequence[Join] = (),
) -> Reader:
    paths = [table.path for table, _ in joined if path.is_dir() and table.path.is_relative_to(path)]
    joined_tables = [PurePosixPath(each.relative_to(path).as_posix()) for each in paths]
    accepts = [option for table, _ in joined for option in table.reader.accepts if option != "text_column"]
    if described:
        accepts += ["title_column", "label_column", "split_column"]
    return _make_reader(members.leave_out(joined_tables), [*described, *(join for _, join in joined)], accepts, notes)


def _list_tables(path: Path, members: TextMembers, readers: Mapping[str, Reader]) -> list[_Table]:
    """Return the tables in a folder."""
    kinds = [(name, _TABLE_ENDINGS.get(packing.find_suffix(Path(name.name)), "")) for name in members.others]
    # Names that begin with ~$ are lock files of Excel.
    tables = [(name, kind) for name, kind in kinds if kind in readers and not name.name.startswith("~$")]
    return [_Table(path / name, readers[kind]) for name, kind in tables]


def _join_given(
    path: Path, members: TextMembers, options: ImportOptions, readers: Mapping[str, Reader], notes: Sequence[str]
) -> Reader:
    """Return a reader of the texts and of the table given in the options."""
    if options.metadata == NONE:
        return _make_reader(members, notes=notes)
    table = Path(str(options.metadata))
    kind = _TABLE_ENDINGS.get(packing.find_suffix(table), "")
    if kind not in readers:
        raise IngestError(table, f"is no table that texts can be joined with; give one of {', '.join(_TABLE_ENDINGS)}")
    names = [name for name in members.list_names() if path / name != table]
    join = _join_rows(_Table(table, readers[kind]), readers, names, options)
    if join is None:
        cause = f"has no column with the names of the files in {path.name}, such as {names[0] if names else 'a.txt'!r}"
        raise IngestError(table, f"{cause}; add one, or leave --metadata out")
    return _make_described(path, members, [(_Table(table, readers[kind]), join)], notes)


def _are_texts_meant(
    path: Path,
    members: TextMembers,
    options: ImportOptions,
    tables: Sequence[_Table],
    rivals: Sequence[str],
    joined: Mapping[_Table, Join],
) -> bool:
    """Return whether a folder of texts and tables is to be read as texts.

    Raises
    ------
    IngestError
        If the tables could be meant as well.
    """
    rival_tables = [table for table in tables if table.reader.name in rivals]
    if not rival_tables:  # they are hidden files
        return True
    contents = f"has {len(members.texts):,} texts and the table {rival_tables[0].path.name}"
    alone = f"--format {rival_tables[0].reader.name} reads the rows of the table as documents"
    for table in rival_tables:
        column = joining.find_text_column(table.path, table.reader, options) if table in joined else ""
        if column:
            cause = f"has {len(members.texts):,} texts and the table {table.path.name}, which has texts of its own"
            both = f"--format text reads the files and joins the table by {joined[table].key!r}"
            raise IngestError(path, f"{cause} in {column!r}: {both}, {alone}")
    if joined:
        return True
    if sum(_ABOUT_DATA.fullmatch(name.name) is None for name in members.texts) <= _FEW_TEXTS:
        return False
    raise IngestError(path, f"{contents}, whose rows name none of these files: --format text reads the files, {alone}")


class _Described:
    """The documents completed with the fields of their file names and the table rows about them."""

    def __init__(
        self, joins: Sequence[Join], pattern: Pattern | None, options: ImportOptions, names: Sequence[str]
    ) -> None:
        self._joins, self._pattern, self._names = joins, pattern, names
        # Whether the folders are the labels.
        self._in_folders = options.label_column is None and any(map(_find_folder_label, names))
        self._split_wins = options.split_column is not None
        used_roles = ("title", "split") if self._in_folders else ("title", "label", "split")
        roles = {join.roles[role]: role for join in joins for role in used_roles if role in join.roles}
        roles |= {join.key: "id" for join in joins}
        named = () if pattern is None else pattern.fields
        name_roles = {name: name for name in named if name in column_names.NAME_ROLES}
        self.columns = Columns(roles | name_roles)

    def make_document(self, document: TextDocument) -> TextDocument:
        """Return a document completed with the fields of its file name and the table rows about it."""
        file = document.columns["file"]
        label, title, part, columns = document.label, "", document.part, dict[str, str]()
        values: dict[str, str] = {}
        for join in self._joins:
            facts = join.facts.get(file)
            if facts is None:
                continue
            values[join.key] = file
            columns = {**facts.columns, **columns}
            if facts.title:
                values[join.roles["title"]] = facts.title
                title = title or facts.title
            part = facts.part if facts.part is not None and (part is None or self._split_wins) else part
            if facts.label is not None and "label" in join.roles:
                values[join.roles["label"]] = facts.label
                if self._in_folders:
                    columns[join.roles["label"]] = facts.label
                else:
                    label = facts.label
        named = self._read_name_fields(file)
        label, title = named.get(column_names.LABEL_FIELD, label), named.get(column_names.TITLE_FIELD, title)
        part = PARTS[named[column_names.SPLIT_FIELD].lower()] if column_names.SPLIT_FIELD in named else part
        columns |= {name: value for name, value in named.items() if name not in column_names.NAME_ROLES}
        self.columns.see(values | columns | named)
        columns = {**document.columns, **columns}
        return document._replace(label=label, title=title or document.title, part=part, columns=columns)

    def _read_name_fields(self, file: str) -> dict[str, str]:
        """Return the fields in the name of a file; none if it does not fit the pattern."""
        if self._pattern is None:
            return {}
        fields = self._pattern.match_name(column_names.strip_kind(file, packing.TEXTUAL)) or {}
        return fields if fields.get(column_names.SPLIT_FIELD, "train").lower() in PARTS else {}

    def note_joins(self, source: TextSource, path: Path) -> None:
        """Add sentences to a source about the tables and name fields that describe its documents.

        Raises
        ------
        IngestError
            If no file name fits the pattern.
        """
        names = self._names
        descriptions = [join.describe(names, without=("label",) if self._in_folders else ()) for join in self._joins]
        if descriptions:
            source.understood["metadata"] = "; ".join(descriptions)
        for join in self._joins:
            source.notes.extend(join.list_notes(names))
            if self._in_folders and "label" in join.roles:
                change = f"--label-column '{join.roles['label']}' takes those of {join.table}"
                source.notes.append(f"the labels are the folders of the texts; {change}")
        if self._pattern is None:
            return
        unmatched = [file for file in names if not self._read_name_fields(file)]
        if len(unmatched) == len(names):
            cause = f"has no file whose name fits --name-fields '{self._pattern.text}'"
            raise IngestError(path, f"{cause}; the first is {names[0]!r}, so give another pattern, or none")
        n_matched = f"{len(names) - len(unmatched):,} of {len(names):,} names fit"
        source.understood["file names"] = f"{self._pattern.text}: {n_matched}"
        if unmatched:
            examples = list_some(list(map(repr, unmatched)), _EXAMPLES)
            subject = plural(len(unmatched), "name does", "names do")
            verb = "gives" if len(unmatched) == 1 else "give"
            source.notes.append(
                f"{subject} not fit --name-fields '{self._pattern.text}' and {verb} no fields: {examples}"
            )


def _find_folder_label(file: str) -> str:
    """Return the folders of a file without a leading train or test, as its label."""
    folders = file.split("/")[:-1]
    return "/".join(folders[1:] if folders and folders[0].lower() in PARTS else folders)


def _propose_fields(source: TextSource, names: Sequence[str]) -> None:
    """Propose fields that could be taken from the names of files, if these are alike."""
    sample = names[:: max(1, len(names) // _SAMPLED_NAMES)]
    names = [column_names.strip_kind(PurePosixPath(file).name, packing.TEXTUAL) for file in sample]
    pattern = column_names.propose_pattern(names)
    if pattern:
        source.proposed["name_fields"] = pattern
        first = column_names.show_example(pattern, names, 1)[0]
        example = ", ".join(f"{name} {value}" for name, value in first.items())
        explanation = f"makes columns of the names of the files (of the first: {example})"
        source.notes.append(f"--name-fields '{pattern}' {explanation}")


_SIDECARS = (".json", ".yaml", ".yml", ".meta")
# The formats of a text, from the one that is read, where a text lies in several; TEI has metadata, a PDF loses most.
_PREFERRED = (
    ".xml", ".tei", ".nxml", ".txt", ".text", ".md", ".markdown", ".rst", ".docx", ".odt", ".rtf", ".epub", ".tex",
    ".ipynb", ".html", ".htm", ".xhtml", ".vtt", ".srt", ".sbv", ".log", ".pdf",
)  # fmt: skip
_TRIED = 3  # pairs of files that are compared
_COMPARED = 20_000  # characters of each
_SAME_WORDS = 0.6  # share of the words of the one that the other has, at least, in copies
_FEWEST_APART, _SHARE_APART = 3, 0.8  # copies in folders of their own, and their share of the files
_WORD = re.compile(r"[^\W\d_]{3,}")
_META = re.compile(r"[._ -](?:meta(?:data)?|info)$", re.IGNORECASE)
_LONGEST = 2_000  # characters of a field; a longer one is a text
_LARGEST_FACTS = 1 << 22  # bytes of a file of metadata
_FEWEST = 2  # texts with such a file
_FILE = "file"


def leave_out_copies(path: Path, members: TextMembers, encoding: str) -> tuple[TextMembers, list[str]]:
    """Return the files without those that are copies of others in another format, and notes about them."""
    notes = []
    by_kind: dict[str, dict[str, list[PurePosixPath]]] = {}
    for name in members.texts:
        by_kind.setdefault(name.suffix.lower(), {}).setdefault(packing.strip_endings(name).casefold(), []).append(name)
    kinds = [kind for kind in _PREFERRED if kind in by_kind]
    for kind, other in combinations(kinds, 2):
        pairs = _pair_names(by_kind[kind], by_kind[other])
        if not pairs or not _are_copies(path, pairs[:: max(1, len(pairs) // _TRIED)][:_TRIED], encoding):
            continue
        copies = frozenset(copy for _, copy in pairs)
        notes.append(
            f"{len(pairs):,} texts are there as {kind} and as {other}; each is read once, from its {kind} "
            f"(to read the {other}, move the {kind} elsewhere)"
        )
        members = TextMembers([name for name in members.texts if name not in copies], members.others)
        by_kind[other] = {stem: names for stem, names in by_kind[other].items() if not copies.intersection(names)}
    return members, notes


def _pair_names(
    ones: Mapping[str, Sequence[PurePosixPath]], others: Mapping[str, Sequence[PurePosixPath]]
) -> list[tuple[PurePosixPath, PurePosixPath]]:
    """Return the files of two formats that may be copies, because they have the same names.

    They lie next to each other, or nearly all files of the formats do so in folders of their own.
    """
    pairs = [(one, other) for stem in ones if stem in others for one in ones[stem] for other in others[stem]]
    adjacent = [(one, other) for one, other in pairs if one.parent == other.parent]
    if adjacent:
        return adjacent
    fewest = min(sum(map(len, ones.values())), sum(map(len, others.values())))
    enough = len(pairs) >= max(_FEWEST_APART, _SHARE_APART * fewest) and len({one for one, _ in pairs}) == len(pairs)
    return pairs if enough else []


def _are_copies(path: Path, pairs: Sequence[tuple[PurePosixPath, PurePosixPath]], encoding: str) -> bool:
    """Return whether the texts in pairs of files have nearly the same words."""
    for pair in pairs:
        words = [_list_words(name, raw, encoding) for name, raw in read_raw(path, list(pair))]
        if len(words[0] & words[1]) < _SAME_WORDS * max(1, min(map(len, words))):
            return False
    return True


def _list_words(name: PurePosixPath, raw: bytes, encoding: str) -> set[str]:
    try:
        text = read_contents(name, raw, encodings.recognise_text(raw, encoding)).text
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    except Unreadable:
        text = ""
    return set(_WORD.findall(text[:_COMPARED].lower()))


def find_sidecars(members: TextMembers) -> dict[str, PurePosixPath]:
    """Return the file of metadata of each text, by the text's name in the column ``file``; none if most have none."""
    candidates = [name for name in members.others if name.suffix.lower() in _SIDECARS]
    if len(candidates) < _FEWEST:
        return {}
    texts: dict[tuple[PurePosixPath | None, str], str] = {}
    for name, shown in zip(members.texts, members.list_names(), strict=True):
        for stem in (name.name, packing.strip_endings(name)):
            texts[name.parent, stem] = shown
            texts[None, stem] = "" if (None, stem) in texts and texts[None, stem] != shown else shown
    folders = {name.parent for name in members.texts}
    found: dict[str, PurePosixPath] = {}
    for name in candidates:
        folder = name.parent if name.parent in folders else None
        for stem in (name.stem, _META.sub("", name.stem)):
            if text := texts.get((folder, stem)):
                found.setdefault(text, name)
    enough = len(found) >= _FEWEST and 2 * len(found) >= max(len(members.texts), len(candidates))
    return found if enough else {}


def join_sidecars(path: Path, sidecars: Mapping[str, PurePosixPath], reader: Reader, options: ImportOptions) -> Join:
    """Join the fields of the metadata with the texts; ``reader`` is that of JSON lines.

    Raises
    ------
    IngestError
        If a file is damaged, or none has a field.
    """
    rows = [{**_read_fields(path / name), _FILE: shown} for shown, name in sidecars.items()]
    endings = " and ".join(sorted({name.suffix for name in sidecars.values()}))
    with _write_rows(rows) as table:
        join = joining.join_table(table, reader, list(sidecars), options)
    if join is None:
        first = next(iter(sidecars.values()))
        raise IngestError(path / first, "has no fields that describe its text; correct it, or move it elsewhere")
    return replace(join, table=f"the {endings} files next to them", separate=True)


@contextmanager
def _write_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        table = Path(folder, "rows.jsonl")
        table.write_text("\n".join(json.dumps(row, default=str) for row in rows), encoding="utf-8")
        yield table


def _read_fields(path: Path) -> dict[str, Any]:
    """Return the fields of a file of metadata, without whole texts."""
    with packing.open_file(path) as stream:
        raw = packing.read_up_to(stream, _LARGEST_FACTS)
    if path.suffix.lower() != ".json":
        block = raw.decode("utf-8", "replace").strip("-\ufeff\r\n ")
        return dict(markup.split_front_matter(f"---\n{block}\n---\n").fields)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise IngestError(path, "is no sound JSON; correct it, or move it out of the folder") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    fields = flatten(value) if isinstance(value, dict) else {}
    last = Counter(name.rpartition(".")[2] for name in fields)
    short = {name: end if last[end := name.rpartition(".")[2]] == 1 else name for name in fields}
    return {short[name]: field for name, field in fields.items() if _is_fact(field)}


def _is_fact(value: Any) -> bool:
    """Return whether a field describes a text, and is neither a text itself nor a list of records."""
    if isinstance(value, list):
        return all(isinstance(each, str | int | float) for each in value) and len(str(value)) <= _LONGEST
    return not isinstance(value, dict) and len(str(value)) <= _LONGEST


READERS = (Reader("text", _TEXT_FILES, ("token_pattern", "metadata", "name_fields"), recognise_texts, read_texts),)
