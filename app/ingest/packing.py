"""Open and read files and archives, packed or not, by line or by chunk, with errors that name file and line."""

import bz2
import gzip
import io
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from io import TextIOWrapper
from pathlib import Path, PurePath, PurePosixPath
from types import ModuleType
from typing import BinaryIO, NamedTuple, TextIO, TypeVar, cast

import numpy as np

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.source import Array
from topiary.app.ingest.text import encodings
from topiary.app.ingest.text.encodings import WIDE, Encoding, find_marked_encoding
from topiary.engine.contract import TEST, TRAIN, VALIDATION

TEXTUAL = (  # suffixes of files that are one document
    *(".txt", ".text", ".md", ".markdown", ".rst", ".log", ".html", ".htm", ".xhtml", ".srt", ".vtt", ".sbv", ".tex"),
    *(".pdf", ".docx", ".odt", ".rtf", ".epub", ".ipynb", ".xml", ".tei", ".nxml"),
)
FREE = 1 << 28  # bytes that any file may unpack to
RATIO = 250  # a larger result may be this many times the size of the file; text packs to 1/10, sparse counts to 1/50
TOTAL = 1 << 37  # bytes that a file may unpack to at most

_WINDOW = 1 << 27  # bytes of earlier output that zstd may refer to; its default limit
_ZSTD_PIECE = 1 << 10  # bytes given to zstd at a time: the only limit on the size of its output for them
_MEMBER_PIECE = 1 << 12  # bytes at a time of members of zip files in bzip2 or lzma
_DEFLATED_PIECE = 1 << 18  # bytes at a time of other members

# Errors that zipfile raises for damaged archives, for each kind of compression, for unknown ones and for passwords.
UNPACKING = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, ValueError, EOFError, KeyError,
)  # fmt: skip


class TooLarge(Exception):  # noqa: N818 - it describes a member
    """Raised when a member of an archive is larger than allowed."""


class _ZstdStream(io.RawIOBase):
    """A stream that decompresses a zstd file of one or more frames; one that is cut short raises EOFError."""

    def __init__(self, packed: BinaryIO, library: ModuleType) -> None:
        self._packed, self._error = packed, library.ZstdError
        self._make_frame = library.ZstdDecompressor(max_window_size=_WINDOW).decompressobj
        self._frame = self._make_frame()
        self._in_frame = False
        self._input, self._output = b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        while not self._output:
            piece = self._input or self._packed.read(_ZSTD_PIECE)
            if not piece and self._in_frame:
                raise EOFError
            if not piece:
                return 0
            self._in_frame, self._input = True, b""
            try:
                self._output = self._frame.decompress(piece)
            except self._error as error:
                raise lzma.LZMAError(error) from None  # like the modules of the standard library
            if self._frame.eof:
                self._input, self._in_frame, self._frame = self._frame.unused_data, False, self._make_frame()
        n = min(len(buffer), len(self._output))
        buffer[:n], self._output = self._output[:n], self._output[n:]
        return n


class _LimitedStream(io.RawIOBase):
    """A stream of the content of a compressed file that raises an error after ``most`` bytes."""

    def __init__(self, inner: io.BufferedIOBase, path: Path, most: int) -> None:
        self._inner, self._path, self._remaining, self._most = inner, path, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        content = self._inner.read1(len(buffer))
        self._remaining -= len(content)
        if self._remaining < 0:
            cause = f"unpacks to more than {self._most >> 20:,} MB, far more than a file of its size should"
            raise IngestError(self._path, f"{cause}; unpack it yourself if you trust it")
        buffer[: len(content)] = content
        return len(content)


def _open_zstd(packed: BinaryIO) -> io.BufferedIOBase:
    import zstandard

    return io.BufferedReader(_ZstdStream(packed, zstandard))


_OPENERS: dict[str, tuple[str, Callable[[BinaryIO], io.BufferedIOBase]]] = {
    ".gz": ("gzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    ".bz2": ("bzip2", bz2.BZ2File),
    ".xz": ("xz", lzma.LZMAFile),
    ".zst": ("zstd", _open_zstd),
}
ENDINGS = tuple(_OPENERS)


def strip_packing(name: str) -> str:
    """Return the name of a file without the suffix of its compression.

    >>> strip_packing("a.csv.gz"), strip_packing("A.CSV.XZ"), strip_packing("a.csv")
    ('a.csv', 'A.CSV', 'a.csv')
    """
    return name[: -len(_find_packing(name))] if _find_packing(name) else name


def is_packed(path: Path) -> bool:
    """Return whether the name of a file says that it is compressed."""
    return bool(_find_packing(path.name))


def _find_packing(name: str) -> str:
    """Return the suffix of a name that stands for a compression, empty if there is none."""
    return next((ending for ending in ENDINGS if name.lower().endswith(ending) and len(name) > len(ending)), "")


def limit_unpacked(size: int) -> int:
    """Return the number of bytes that a compressed file of this size may unpack to."""
    return min(max(FREE, RATIO * size), TOTAL)


def get_member_path(info: zipfile.ZipInfo) -> PurePosixPath:
    r"""Return the path of a member of a zip file; programs on Windows may separate its folders by ``\``."""
    return PurePosixPath(info.filename.replace("\\", "/"))


def is_folder(info: zipfile.ZipInfo) -> bool:
    """Return whether a member of a zip file is a folder."""
    return info.is_dir() or info.filename.endswith("\\")


@contextmanager
def open_unpacked(path: Path, name: str | None = None) -> Iterator[BinaryIO]:
    """Open a file, decompressing it if the suffix of its name (or of ``name``, if given) stands for a compression.

    Raises
    ------
    IngestError
        Also for errors while reading inside the block, from a file that is damaged, cut short or made to fill the disk.
    """
    ending = _find_packing(f"_{name}" if name else path.name)
    with path.open("rb") as raw:
        if not ending:
            yield raw
            return
        kind, opener = _OPENERS[ending]
        try:
            with opener(raw) as inner:
                yield cast(
                    "BinaryIO", io.BufferedReader(_LimitedStream(inner, path, limit_unpacked(path.stat().st_size)))
                )
        except ModuleNotFoundError:
            cause = "is compressed by zstd, which needs one more package: pip install 'topiary-explorer[zst]'"
            raise IngestError(path, f"{cause}, or unpack the file yourself") from None
        except EOFError:
            raise IngestError(path, f"the {kind} file is cut short; copy or download it again") from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # an error of the disk
                raise
            raise IngestError(path, f"is not a sound {kind} file ({error}); copy or download it again") from None


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """Return the content of one file of a zip archive.

    Raises
    ------
    TooLarge
        When it has more than ``most`` bytes, whatever size the archive declares.
    """
    return b"".join(read_pieces(archive, info, most))


def read_pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
    """Yield the content of one file of a zip archive in pieces; see `read_member`."""
    if info.file_size > most:
        raise TooLarge
    step = _DEFLATED_PIECE if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else _MEMBER_PIECE
    remaining = most
    with archive.open(info) as stream:
        while piece := stream.read(step):
            remaining -= len(piece)
            if remaining < 0:
                raise TooLarge
            yield piece


T = TypeVar("T")
# Bytes of a document or line: more than any book has.  Counting words takes 25 times as much memory.
LARGEST_TEXT = 1 << 25
_MOST_KINDS = 4  # kinds of files that a sentence lists
CHUNK = 1 << 23  # bytes read at a time; a few million numbers, so that memory stays small
_PIECE = 1 << 18  # bytes of lines that are split together

_TRAIN_NAME = re.compile(r"(?:^|[^a-z])(?:train|training)(?:[^a-z]|$)")
_VALIDATION_NAME = re.compile(r"(?:^|[^a-z])(?:val|valid|validation|dev)(?:[^a-z]|$)")
_TEST_NAME = re.compile(r"(?:^|[^a-z])(?:test|testing|t10k|heldout)(?:[^a-z]|$)")


def cache_until_changed(read: Callable[..., T]) -> Callable[..., T]:
    """Return a function of a file that remembers its results as long as the size and time of change stay the same."""

    @lru_cache(maxsize=256)
    def read_once(path: Path, _size: int, _changed: int, *options: str) -> T:
        return read(path, *options)

    def read_cached(path: Path, *options: str) -> T:
        status = path.stat()
        return read_once(path, status.st_size, status.st_mtime_ns, *options)

    return read_cached


class Part(NamedTuple):
    """A file of a corpus, and the part that it contains; None if its name does not say."""

    path: Path
    part: int | None


@contextmanager
def open_file(path: Path, *, as_it_is: bool = False) -> Iterator[BinaryIO]:
    """Open a file, decompressing it if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``, unless ``as_it_is``.

    Raises
    ------
    IngestError
        When the file cannot be opened; also for errors while reading inside the block, from a file that is damaged, cut
        short, or made to fill the disk.
    """
    try:
        check_regular(path)
        with path.open("rb") if as_it_is else open_unpacked(path) as stream:
            yield stream
    except OSError as error:
        raise IngestError(path, f"cannot be read ({error.strerror or error})") from None


@contextmanager
def refuse_damage(path: Path, what: str, advice: str) -> Iterator[None]:
    """Turn any exception inside the block, where a library reads a file, into an error about a damaged file.

    Raises
    ------
    IngestError
        With the kind of file (``what``) and what to do (``advice``).
    """
    try:
        yield
    except (IngestError, MemoryError, GeneratorExit):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
        message = " ".join(str(error).split())[:120] or type(error).__name__
        raise IngestError(path, f"is no sound {what} ({message}); {advice}") from None


def check_regular(path: Path) -> None:
    """Raise an error for folders, devices and pipes; the latter are endless, or can be read only once.

    Raises
    ------
    IngestError
        When it is not a regular file.
    OSError
        When it does not exist.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"
        cause = "and a file is needed here" if kind == "folder" else "and is read more than once"
        raise IngestError(path, f"is a {kind}, {cause}; save its contents to a file first")


def read_lines(path: Path, encoding: str = "utf-8", *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    """Yield ``(line number from 1, text)`` of every line.

    A byte-order mark takes precedence over ``encoding`` and is removed.  In a file of an old Mac, where lines end in a
    carriage return alone, these end lines too.
    """
    marked = find_encoding(path, encoding).name
    with open_file(path) as stream:
        if marked.startswith(WIDE):
            texts = _split_wide_lines(stream, marked, path)
        else:
            mac = _read_characters(path, encoding).mac_ends
            texts = _decode_lines(_split_mac_lines(stream, path) if mac else _split_lines(stream), marked, path)
        for number, text in enumerate(texts, 1):
            line = text.removeprefix("\ufeff") if number == 1 else text
            yield number, line if keep_ends else line.rstrip("\r\n")


def find_encoding(path: Path, option: str) -> Encoding:
    """Return the encoding of a file: that of its byte-order mark, else ``option``, or a guess if it is not UTF-8."""
    return _read_characters(path, option).encoding


class _Characters(NamedTuple):
    """The encoding of a text, and whether some of its lines end in a carriage return alone."""

    encoding: Encoding
    mac_ends: bool


@cache_until_changed
def _read_characters(path: Path, option: str) -> _Characters:
    """Read a whole file to find its encoding and line ends."""
    marked = find_marked_encoding(read_start(path), "")
    mac_ends = False

    def find_mac_ends(piece: bytes) -> bytes:
        nonlocal mac_ends
        n_returns = 0 if mac_ends else piece.count(b"\r")
        mac_ends = mac_ends or bool(n_returns and n_returns > piece.count(b"\r\n"))
        return piece

    if marked.startswith(WIDE):  # its lines are split after decoding
        return _Characters(Encoding(marked, "by its byte-order mark"), mac_ends=False)
    with open_file(path) as stream:
        pieces = (find_mac_ends(chunk) for _, chunk in read_chunks(stream, path))
        encoding = Encoding(marked, "by its byte-order mark") if marked else encodings.recognise_pieces(pieces, option)
        while not mac_ends and next(pieces, None) is not None:
            pass
    return _Characters(encoding, mac_ends)


def describe_encoding(path: Path, option: str) -> dict[str, str]:
    """Return the encoding of a file for the report of an import."""
    encoding = find_encoding(path, option)
    return {"encoding": f"{show_encoding(encoding.name)} ({encoding.how})"}


def note_guesses(paths: Iterable[Path], option: str) -> list[str]:
    """Return a sentence for each file whose encoding is a guess."""
    pairs = [(path, find_encoding(path, option)) for path in paths]
    guesses = [(path.name, each.name, each.how.partition(",")[0]) for path, each in pairs if each.guessed]
    advice = "--encoding names another"
    return [
        f"{name} is not UTF-8 and read as {show_encoding(encoding)}, {how}; {advice}" for name, encoding, how in guesses
    ]


def show_encoding(encoding: str) -> str:
    """Return the name of an encoding in its usual spelling.

    >>> show_encoding("utf-8"), show_encoding("iso8859_2"), show_encoding("koi8_r")
    ('UTF-8', 'ISO8859-2', 'KOI8-R')
    """
    return encoding.upper().replace("_", "-")


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open a file as text, in the encoding of `find_encoding`.

    Raises
    ------
    IngestError
        When the file cannot be opened; also inside the block, for bytes that are not valid in that encoding.
    """
    name = find_encoding(path, encoding).name
    try:
        with open_file(path) as stream, TextIOWrapper(stream, name, newline="\n") as text:
            yield text
    except UnicodeDecodeError as error:
        cause = f"is not {show_encoding(name)} all through ({error.reason})"
        raise IngestError(path, f"{cause}; give the file's own encoding, for example --encoding latin-1") from None


@contextmanager
def open_seekable(path: Path) -> Iterator[BinaryIO]:
    """Open a file for random access, unpacking a compressed one into a temporary file."""
    with open_file(path) as stream:
        if not is_packed(path):
            yield stream
            return
        with tempfile.TemporaryFile(prefix="topiary-") as copy:
            shutil.copyfileobj(stream, copy, CHUNK)
            copy.seek(0)
            yield copy


def _split_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines, those that are too long in pieces."""
    return iter(partial(stream.readline, LARGEST_TEXT + 1), b"")


def _split_mac_lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of a file in which a carriage return alone ends a line."""
    number, rest = 0, b""
    block = stream.read(_PIECE)
    while block or rest:
        pieces = (rest + block).splitlines(keepends=True)
        block = stream.read(_PIECE)
        rest = pieces.pop() if block else b""  # the last line may continue, or its line end be split between two reads
        number += len(pieces)
        check_length(len(rest), path, number + 1)
        yield from pieces


def _decode_lines(lines: Iterator[bytes], encoding: str, path: Path) -> Iterator[str]:
    """Decode lines one by one, so that an error can name the line."""
    offset = 0
    for number, raw in enumerate(lines, 1):
        check_length(len(raw), path, number)
        yield decode_line(raw, encoding, path, number, offset)
        offset += len(raw)


def check_length(length: int, path: Path, line: int) -> None:
    """Raise an error for a line that is longer than any document should be."""
    if length > LARGEST_TEXT:
        cause = f"is longer than {LARGEST_TEXT >> 20} MB, the most of one line; is it text?"
        raise IngestError(path, cause, line)


def _split_wide_lines(stream: BinaryIO, encoding: str, path: Path) -> Iterator[str]:
    """Yield the lines of a text in a wide encoding such as UTF-16, which can be split only after decoding."""
    try:
        with TextIOWrapper(stream, encoding, newline="") as texts:
            for number, text in enumerate(iter(partial(texts.readline, LARGEST_TEXT + 1), ""), 1):
                check_length(len(text), path, number)
                yield text
    except UnicodeDecodeError:
        cause = f"begins like {encoding.upper()}, but is damaged further on"
        raise IngestError(path, f"{cause}; save it again as UTF-8") from None


def decode_line(raw: bytes, encoding: str, path: Path, line: int, offset: int) -> str:
    """Return the text of one line, which begins at byte ``offset`` of the file."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        position = offset + error.start + 1
        cause = f"byte {position:,} of the file (0x{raw[error.start]:02x}) is not {encoding.upper()}"
        advice = "give the file's own encoding, for example --encoding latin-1"
        raise IngestError(path, f"{cause}; {advice}", line) from None


def read_chunks(stream: BinaryIO, path: Path, line: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield ``(number of the first line, whole lines)`` from the position of the stream; the last line gets an end."""
    rest = b""
    while block := stream.read(CHUNK):
        stop = block.rfind(b"\n") + 1
        if stop == 0:
            rest += block
            # In a file of an old Mac, lines end in a carriage return.
            if len(rest) > LARGEST_TEXT and (stop := rest.rfind(b"\r") + 1):
                yield line, rest[:stop]
                line, rest = line + rest.count(b"\r", 0, stop), rest[stop:]
            check_length(len(rest), path, line)
            continue
        lines = rest + block[:stop]
        rest = block[stop:]
        yield line, lines
        line += lines.count(b"\n")
    if rest:
        yield line, rest + b"\n"


def read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Return the next ``size`` bytes, or as many as there are; memory is allocated only for bytes that were read."""
    content = bytearray()
    while len(content) < size and (piece := stream.read(min(CHUNK, size - len(content)))):
        content += piece
    return bytes(content)


def count_lines(path: Path) -> int:
    """Return the number of lines in a file, not counting blank ones at its end."""
    total = 0
    with open_file(path) as stream:
        for line, chunk in read_chunks(stream, path):
            if filled := chunk.rstrip():
                total = line + filled.count(b"\n")
    return total


def strip_endings(path: PurePath) -> str:
    """Return the name of a file without its endings: ``docword.kos.txt.gz`` -> ``docword.kos``.

    >>> strip_endings(Path("a/train.mtx.gz")), strip_endings(Path("b/20.news"))
    ('train', '20')
    """
    name = strip_packing(path.name)
    return name.rsplit(".", 1)[0] if "." in name else name


def find_suffix(path: PurePath) -> str:
    """Return the suffix of a file in lower case, ignoring that of its compression."""
    return PurePath(strip_packing(path.name.lower())).suffix


def describe_kinds(names: Iterable[PurePath]) -> str:
    """Return a phrase on how many files there are of each kind, the most frequent first.

    >>> describe_kinds([Path("a.pdf"), Path("b.PDF"), Path("LICENSE")])
    '2 .pdf, 1 without ending'
    """
    counted = Counter(name.suffix.lower() or "without ending" for name in names).most_common()
    others = sum(count for _, count in counted[_MOST_KINDS:])
    listed = ", ".join(f"{count:,} {kind}" for kind, count in counted[:_MOST_KINDS])
    return f"{listed} and {others:,} others" if others else listed


def find_part(path: Path) -> int | None:
    """Return TRAIN, TEST or VALIDATION if the file's name contains such a word, else None."""
    name = strip_endings(path).lower()
    patterns = ((TRAIN, _TRAIN_NAME), (VALIDATION, _VALIDATION_NAME), (TEST, _TEST_NAME))
    return next((part for part, pattern in patterns if pattern.search(name)), None)


def list_files(folder: Path, belongs: Callable[[Path], bool]) -> list[Path]:
    """Return the files directly inside a folder that belong to a format, sorted; none if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and belongs(path))
    except OSError:
        return []


def make_recogniser(
    fits: Callable[[Path], bool], inside: Callable[[Path], bool] | None = None, *, single: bool = False
) -> Callable[[Path], bool]:
    """Return a function that tells whether a file, or a folder by the files in it, has a format.

    Parameters
    ----------
    fits : callable
        Returns whether a single file has the format.
    inside : callable, optional
        Returns whether a file in a folder belongs to the format; ``fits`` by default.
    single : bool
        Whether a folder must have exactly one such file, instead of at least one.
    """

    def recognise(path: Path) -> bool:
        if not path.is_dir():
            return fits(path)
        matches = list_files(path, inside or fits)
        return len(matches) == 1 if single else bool(matches)

    return recognise


def match_endings(*endings: str) -> Callable[[Path], bool]:
    """Return a function that tells whether a file has one of these suffixes."""
    return lambda path: find_suffix(path) in endings


def find_parts(path: Path, belongs: Callable[[Path], bool], what: str, *, several: bool = False) -> list[Part]:
    """Return the files to read: the path itself, or in a folder its only file of the format or one for each part.

    Parameters
    ----------
    several : bool
        Whether a folder may have any number of files, if the names of all of them, or of none, tell their part.

    Raises
    ------
    IngestError
        When a folder has no file of the format, or several that are not one for training, one for the test, and perhaps
        one for validation.
    """
    if not path.is_dir():
        return [Part(path, None)]
    matches = list_files(path, belongs)
    if not matches:
        raise IngestError(path, f"has no {what} file in it")
    if len(matches) == 1:
        return [Part(matches[0], None)]
    parts = sorted((Part(file, find_part(file)) for file in matches), key=lambda each: (each.part is None, each.part))
    known_parts = {each.part for each in parts}
    if several and (known_parts == {None} or None not in known_parts):
        return parts
    if [each.part for each in parts] not in ([TRAIN, TEST], [TRAIN, TEST, VALIDATION]):
        names = ", ".join(file.name for file in matches[:4]) + (", ..." if len(matches) > 4 else "")
        cause = f"has {len(matches)} {what} files ({names}); give one of them, or keep one train and test"
        raise IngestError(path, cause)
    return parts


_TITLES: dict[int | None, str] = {TRAIN: "train", TEST: "test", VALIDATION: "validation"}


def number_documents(parts: list[Part], sizes: list[int]) -> tuple[Array | None, list[str]]:
    """Return the part (None for a single file) and the title of each document of some files.

    ``sizes`` are the numbers of documents of the files.
    """
    words = [_TITLES.get(each.part, "document") for each in parts]
    titles = [f"{word} {n}" for word, size in zip(words, sizes, strict=True) for n in range(1, size + 1)]
    if len(parts) == 1:
        return None, titles
    return np.repeat(np.array([each.part for each in parts], np.int8), sizes), titles


def read_start(path: Path, size: int = 4096) -> bytes:
    """Return the first bytes of a file, decompressed; where reading fails, only those before the error."""
    start = b""
    try:
        with open_file(path) as stream:
            while len(start) < size and (piece := stream.read1(size - len(start))):  # type: ignore[attr-defined]
                start += piece
    except IngestError:
        pass
    return start


MOST_MEMBERS = 1_000_000
_TARS = (".tar", ".tgz", ".tbz2", ".txz", ".tzst")
_LONG_TARS = {".tgz": ".tar.gz", ".tbz2": ".tar.bz2", ".txz": ".tar.xz", ".tzst": ".tar.zst"}
_LONGEST_NAME = 255  # bytes
_BLOCK = tarfile.BLOCKSIZE


class _Member(NamedTuple):
    """A file of an archive: its name in the archive, its declared size in bytes, and its content in pieces."""

    name: str
    size: int
    pieces: Iterable[bytes]


class Unpacked:
    """The content of an archive in a temporary folder, which is deleted together with this object.

    Attributes
    ----------
    path : Path
        The folder, or the only file in it.
    names : tuple of str
        The names of the files in the archive.
    """

    def __init__(self, archive: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="topiary-archive-"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._archive, self._folder = archive, folder
        with ExitStack() as undo:
            undo.callback(self._remove)
            self.names = tuple(_extract_files(archive, folder))
            if not self.names:
                raise IngestError(archive, "has no files in it; give an archive with tables, counts or texts")
            undo.pop_all()
        self.path = folder
        while self.path.is_dir() and len(inside := list(self.path.iterdir())) == 1:
            self.path = inside[0]  # skip a folder that contains everything else

    def name_members(self, text: str) -> str:
        """Replace the folder's path by the archive's in a sentence that names files."""
        return text.replace(str(self._folder), str(self._archive))


class _CheckedTarStream:
    """A stream of a tar archive that remembers its last block, which is zero unless the archive was cut short."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._end = stream, b""

    def read(self, size: int) -> bytes:
        piece = self._stream.read(size)
        self._end = (self._end + piece)[-_BLOCK:]
        return piece

    def finish(self, path: Path) -> None:
        while self.read(1 << 20):
            pass
        if self._end != bytes(_BLOCK):
            raise IngestError(path, "is a tar archive that is cut short; copy or download it again")


def is_tar(path: Path) -> bool:
    """Return whether the name of a file is that of a tar archive, compressed or not."""
    name = path.name.lower()
    return name.endswith(_TARS) or strip_packing(name).endswith(".tar")


def _is_hidden(name: PurePosixPath) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.parts)


def _extract_files(archive: Path, folder: Path) -> Iterator[str]:
    """Write the files of an archive into a folder, and yield their names."""
    remaining = limit_unpacked(archive.stat().st_size)
    members = _read_tar(archive) if is_tar(archive) else _read_zip(archive)
    n_files = 0
    for member in members:
        name = _find_target(member.name, archive)
        if name is None:
            continue
        n_files += 1
        remaining -= member.size
        if remaining < 0 or n_files > MOST_MEMBERS:
            raise _make_size_error(archive)
        target = folder / name
        if target.exists():
            raise IngestError(archive, f"has {str(name)[:80]!r} twice; pack the files again")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            out.writelines(member.pieces)
        yield str(name)


def _find_target(name: str, archive: Path) -> PurePosixPath | None:
    """Return the path that a member is written to; None for a hidden one.

    Raises
    ------
    IngestError
        When the path leads out of the folder, or is not a valid name.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or any(":" in part for part in path.parts[:1]):
        raise IngestError(archive, f"has a member {name[:80]!r} that leads out of it; it is not to be trusted")
    if "\0" in name or any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.parts):
        raise IngestError(archive, f"has a member {name[:80]!r} that no file can be called; pack the files again")
    return None if not path.parts or _is_hidden(path) else path


def _make_size_error(archive: Path) -> IngestError:
    """Return the error for an archive that unpacks to too much."""
    cause = "unpacks to far more than an archive of its size should; unpack it yourself if you trust it"
    return IngestError(archive, cause)


def _read_zip(path: Path) -> Iterator[_Member]:
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not is_folder(info):
                    yield _Member(info.filename, info.file_size, read_pieces(archive, info, info.file_size))
    except TooLarge:
        raise _make_size_error(path) from None
    except (*UNPACKING, NotImplementedError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise IngestError(path, f"is not a sound zip file ({error}); copy or download it again") from None


def _read_tar(path: Path) -> Iterator[_Member]:
    suffix = _LONG_TARS.get(path.suffix.lower())
    try:
        with open_unpacked(path, suffix) as raw:
            stream = _CheckedTarStream(raw)
            with tarfile.open(fileobj=cast("BinaryIO", stream), mode="r|") as archive:
                yield from _read_tar_members(archive, path)
            stream.finish(path)
    except (tarfile.TarError, ValueError) as error:
        raise IngestError(path, f"is not a sound tar archive ({error}); copy or download it again") from None


def _read_tar_members(archive: tarfile.TarFile, path: Path) -> Iterator[_Member]:
    for info in archive:
        if info.issym() or info.islnk():
            cause = f"has a link in it, {info.name[:80]!r}, in place of a file; pack the files themselves"
            raise IngestError(path, cause)
        if info.isfile() and (stream := archive.extractfile(info)) is not None:
            yield _Member(info.name, info.size, iter(partial(stream.read, 1 << 20), b""))


def list_names(folder: Path) -> list[str]:
    """Return the files of a folder at any depth, sorted, as paths within it with "/"."""
    start = len(os.path.join(folder, ""))  # noqa: PTH118 - a folder may have a million files, and Path is slow
    walked = (os.path.join(inside, name) for inside, _, names in os.walk(folder) for name in names)  # noqa: PTH118
    inner = (path[start:].replace(os.sep, "/") for path in walked if os.path.isfile(path))  # noqa: PTH113
    return sorted(inner, key=lambda path: path.split("/"))


def list_visible(path: Path) -> list[Path]:
    """Return the files of a folder at any depth, sorted, without hidden ones; of a file only itself."""
    if not path.is_dir():
        return [path]
    return [path / name for name in list_names(path) if not name.rpartition("/")[2].startswith(".")]


def note_others(path: Path, paths: Iterable[Path], what: str) -> list[str]:
    """Return a note about the files of a folder that are left out because they are ``what``; none if there are none."""
    others = sorted(set(list_visible(path)).difference(paths)) if path.is_dir() else []
    return [f"left out {what}: {describe_kinds(others)}"] if others else []
