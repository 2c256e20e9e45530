"""Open files: compressed or not, by line or by chunk, with errors that name file and line."""

import bz2
import gzip
import io
import lzma
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import TextIOWrapper
from pathlib import Path, PurePath, PurePosixPath
from types import ModuleType
from typing import BinaryIO, NamedTuple, TextIO, cast

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.source import Array
from app.ingest.text import encodings
from app.ingest.text.encodings import WIDE, Encoding, find_marked_encoding
from engine.contract import TEST, TRAIN, VALIDATION

FREE = 1 << 28  # bytes that any file may unpack to
RATIO = 250  # beyond them, at most so many times its own size: text packs to a tenth, sparse counts to a fiftieth
TOTAL = 1 << 37  # bytes altogether, whatever the ratio
LARGEST_TEXT = 1 << 25  # bytes of one document or line: more than any book, and counting words takes 25 times as much

_WINDOW = 1 << 27  # bytes of what came before that zstd may refer to: its default limit
_ZSTD_PIECE = 1 << 10  # bytes given to zstd at a time, which has no bound on what it makes of them but this
_MEMBER_PIECE = 1 << 12  # the same for members of zip files in bzip2 or lzma
_DEFLATED_PIECE = 1 << 18

# What zipfile raises for a damaged archive: also of each kind of compression, one it does not know, and a password.
UNPACKING = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, ValueError, EOFError, KeyError,
)  # fmt: skip


class TooLarge(Exception):  # noqa: N818 - said of a member
    """A member of an archive is larger than it may be."""


class _Zstd(io.RawIOBase):
    """The bytes of a zstd file, frame after frame; one that is cut short raises EOFError."""

    def __init__(self, packed: BinaryIO, library: ModuleType) -> None:
        self._packed, self._error = packed, library.ZstdError
        self._new = library.ZstdDecompressor(max_window_size=_WINDOW).decompressobj
        self._frame = self._new()
        self._begun = False
        self._given, self._made = b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        while not self._made:
            given = self._given or self._packed.read(_ZSTD_PIECE)
            if not given and self._begun:
                raise EOFError
            if not given:
                return 0
            self._begun, self._given = True, b""
            try:
                self._made = self._frame.decompress(given)
            except self._error as error:
                raise lzma.LZMAError(error) from None  # as the standard library would
            if self._frame.eof:
                self._given, self._begun, self._frame = self._frame.unused_data, False, self._new()
        n = min(len(buffer), len(self._made))
        buffer[:n], self._made = self._made[:n], self._made[n:]
        return n


class _Bounded(io.RawIOBase):
    """The content of a compressed file, refused where it is more than an honest file holds."""

    def __init__(self, inner: io.BufferedIOBase, path: Path, most: int) -> None:
        self._inner, self._path, self._left, self._most = inner, path, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        found = self._inner.read1(len(buffer))
        self._left -= len(found)
        if self._left < 0:
            cause = f"unpacks to more than {self._most >> 20:,} MB, far more than a file of its size should"
            raise IngestError(self._path, f"{cause}; unpack it yourself if you trust it")
        buffer[: len(found)] = found
        return len(found)


def _open_zstd(packed: BinaryIO) -> io.BufferedIOBase:
    import zstandard

    return io.BufferedReader(_Zstd(packed, zstandard))


_OPENERS: dict[str, tuple[str, Callable[[BinaryIO], io.BufferedIOBase]]] = {
    ".gz": ("gzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    ".bz2": ("bzip2", bz2.BZ2File),
    ".xz": ("xz", lzma.LZMAFile),
    ".zst": ("zstd", _open_zstd),
}
ENDINGS = tuple(_OPENERS)


def strip_packing(name: str) -> str:
    """Return the name of a file without the ending of its compression.

    >>> strip_packing("a.csv.gz"), strip_packing("A.CSV.XZ"), strip_packing("a.csv")
    ('a.csv', 'A.CSV', 'a.csv')
    """
    return name[: -len(_find_packing(name))] if _find_packing(name) else name


def is_packed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return bool(_find_packing(path.name))


def _find_packing(name: str) -> str:
    return next((ending for ending in ENDINGS if name.lower().endswith(ending) and len(name) > len(ending)), "")


def limit_unpacked(size: int) -> int:
    """Return how much a compressed file of this size may unpack to."""
    return min(max(FREE, RATIO * size), TOTAL)


def member_path(info: zipfile.ZipInfo) -> PurePosixPath:
    r"""Return the path of a member of a zip file, whose folders programs of Windows divide by ``\``."""
    return PurePosixPath(info.filename.replace("\\", "/"))


def is_folder(info: zipfile.ZipInfo) -> bool:
    """Return whether a member of a zip file is a folder."""
    return info.is_dir() or info.filename.endswith("\\")


@contextmanager
def open_unpacked(path: Path, name: str | None = None) -> Iterator[BinaryIO]:
    """Open a file, unpacked when the ending of its name, or of ``name`` in its place, says so.

    Raises
    ------
    IngestError
        Also for what goes wrong while reading inside the block: a damaged or cut file, or one made to fill the disk.
    """
    ending = _find_packing(f"_{name}" if name else path.name)
    with path.open("rb") as raw:
        if not ending:
            yield raw
            return
        kind, opener = _OPENERS[ending]
        try:
            with opener(raw) as inner:
                yield cast("BinaryIO", io.BufferedReader(_Bounded(inner, path, limit_unpacked(path.stat().st_size))))
        except ModuleNotFoundError:
            cause = "is compressed by zstd, which needs one more package"
            raise IngestError(
                path, f"{cause}: pip install 'topiary-explorer[zst]', or unpack the file yourself"
            ) from None
        except EOFError:
            raise IngestError(path, f"the {kind} file is cut short; copy or download it again") from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # the disk is at fault
                raise
            raise IngestError(path, f"is not a sound {kind} file ({error}); copy or download it again") from None


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """Return one file of a zip archive.

    Raises
    ------
    TooLarge
        When it is of more than ``most`` bytes, whatever the archive says of its size.
    """
    return b"".join(read_pieces(archive, info, most))


def read_pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
    """Yield the bytes of one file of a zip archive in pieces, as `member`."""
    if info.file_size > most:
        raise TooLarge
    step = _DEFLATED_PIECE if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else _MEMBER_PIECE
    left = most
    with archive.open(info) as stream:
        while piece := stream.read(step):
            left -= len(piece)
            if left < 0:
                raise TooLarge
            yield piece


_KINDS = 4  # of files named in a sentence
CHUNK = 1 << 23  # bytes; a few million numbers at a time keep memory flat
_PIECE = 1 << 18  # bytes of lines that are split together

_TRAIN_NAME = re.compile(r"(?:^|[^a-z])(?:train|training)(?:[^a-z]|$)")
_VALIDATION_NAME = re.compile(r"(?:^|[^a-z])(?:val|valid|validation|dev)(?:[^a-z]|$)")
_TEST_NAME = re.compile(r"(?:^|[^a-z])(?:test|testing|t10k|heldout)(?:[^a-z]|$)")


class Part(NamedTuple):
    """A file of a corpus, and the part it is (None: the name does not say)."""

    path: Path
    part: int | None


@contextmanager
def open_file(path: Path, *, as_it_is: bool = False) -> Iterator[BinaryIO]:
    """Open a file, unpacked when its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``, unless ``as_it_is``.

    Raises
    ------
    IngestError
        Also for what goes wrong while reading inside the block: a damaged or cut file, or one made to fill the disk.
    """
    try:
        check_regular(path)
        with path.open("rb") if as_it_is else open_unpacked(path) as stream:
            yield stream
    except OSError as error:
        raise IngestError(path, f"cannot be read ({error.strerror or error})") from None


def check_regular(path: Path) -> None:
    """Refuse devices, pipes and the like: they have no end, or give what they hold only once.

    Raises
    ------
    IngestError, OSError
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"
        cause = "and a file is needed here" if kind == "folder" else "and is read more than once"
        raise IngestError(path, f"is a {kind}, {cause}; save its contents to a file first")


def read_lines(path: Path, encoding: str = "utf-8", *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    """Yield ``(line number from 1, text)`` of every line.

    A byte-order mark counts for more than ``encoding``, as it does where a text is one document, and is dropped.  Where
    lines end in a carriage return alone, as those of old Macs do, these end lines too.
    """
    marked = find_encoding(path, encoding).name
    with open_file(path) as stream:
        if marked.startswith(WIDE):
            texts = _split_wide_lines(stream, marked, path)
        else:
            texts = (_split_mac_lines if has_mac_ends(path, encoding) else _split_lines)(stream, marked, path)
        for number, text in enumerate(texts, 1):
            whole = text.removeprefix("\ufeff") if number == 1 else text
            yield number, whole if keep_ends else whole.rstrip("\r\n")


def find_encoding(path: Path, given: str) -> Encoding:
    """Return the encoding of a file: by its byte-order mark, as ``given``, or, if it is not UTF-8, by its letters."""
    return _look_through(path, given).encoding


def has_mac_ends(path: Path, given: str) -> bool:
    """Return whether lines of a file end in a carriage return alone, some at least."""
    return _look_through(path, given).mac_ends


class _Characters(NamedTuple):
    """The encoding of a text, and whether lines of it end in a carriage return alone."""

    encoding: Encoding
    mac_ends: bool


def _look_through(path: Path, given: str) -> _Characters:
    about = path.stat()
    return _look_through_file(path, given, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=256)
def _look_through_file(path: Path, given: str, _size: int, _changed: int) -> _Characters:
    """Look at all of a file once."""
    marked = find_marked_encoding(read_start(path), "")
    mac_ends = False

    def look(piece: bytes) -> bytes:
        nonlocal mac_ends
        returns = 0 if mac_ends else piece.count(b"\r")
        mac_ends = mac_ends or bool(returns and returns > piece.count(b"\r\n"))
        return piece

    if marked.startswith(WIDE):  # lines are split by characters there
        return _Characters(Encoding(marked, "by its byte-order mark"), mac_ends=False)
    with open_file(path) as stream:
        pieces = (look(whole) for _, whole in read_chunks(stream, path))
        found = Encoding(marked, "by its byte-order mark") if marked else encodings.recognise_pieces(pieces, given)
        while not mac_ends and next(pieces, None) is not None:
            pass
    return _Characters(found, mac_ends)


def describe_encoding(path: Path, given: str) -> dict[str, str]:
    """Return the encoding of a file as a report says it."""
    found = find_encoding(path, given)
    return {"encoding": f"{show_encoding(found.name)} ({found.how})"}


def note_guesses(paths: Iterable[Path], given: str) -> list[str]:
    """Return a sentence for each file whose encoding is a guess."""
    found = [(path, find_encoding(path, given)) for path in paths]
    return [
        f"{path.name} is not UTF-8 and read as {show_encoding(each.name)}, {each.how.partition(',')[0]}; "
        "--encoding names another"
        for path, each in found
        if each.guessed
    ]


def show_encoding(encoding: str) -> str:
    """Return the name of an encoding as people write it.

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
        Also for what is not of that encoding, while reading inside the block.
    """
    name = find_encoding(path, encoding).name
    try:
        with open_file(path) as stream, TextIOWrapper(stream, name, newline="\n") as found:
            yield found
    except UnicodeDecodeError as error:
        cause = f"is not {show_encoding(name)} all through ({error.reason})"
        raise IngestError(path, f"{cause}; give the file's own encoding, for example --encoding latin-1") from None


@contextmanager
def open_seekable(path: Path) -> Iterator[BinaryIO]:
    """Open a file for readers that seek in it; a compressed one is unpacked into a temporary file."""
    with open_file(path) as stream:
        if not is_packed(path):
            yield stream
            return
        with tempfile.TemporaryFile(prefix="topiary-") as copy:
            shutil.copyfileobj(stream, copy, CHUNK)
            copy.seek(0)
            yield copy


def _split_lines(stream: BinaryIO, encoding: str, path: Path) -> Iterator[str]:
    """Yield lines decoded one by one, so that an error can say which one."""
    offset = 0
    number = 0
    while raw := stream.readline(LARGEST_TEXT + 1):
        number += 1
        check_length(len(raw), path, number)
        yield decode_line(raw, encoding, path, number, offset)
        offset += len(raw)


def _split_mac_lines(stream: BinaryIO, encoding: str, path: Path) -> Iterator[str]:
    """Decode the lines of a file some of whose lines end in a carriage return alone."""
    offset, number, rest = 0, 0, b""
    more = stream.read(_PIECE)
    while more or rest:
        pieces = (rest + more).splitlines(keepends=True)
        more = stream.read(_PIECE)
        rest = pieces.pop() if more else b""  # it may go on, if only by the second half of its end
        check_length(len(rest), path, number + len(pieces) + 1)
        for raw in pieces:
            number += 1
            check_length(len(raw), path, number)
            yield decode_line(raw, encoding, path, number, offset)
            offset += len(raw)


def check_length(length: int, path: Path, line: int) -> None:
    """Refuse a line that is longer than a document can be meant to be."""
    if length > LARGEST_TEXT:
        cause = f"is longer than {LARGEST_TEXT >> 20} MB, the most of one line; is it text?"
        raise IngestError(path, cause, line)


def _split_wide_lines(stream: BinaryIO, encoding: str, path: Path) -> Iterator[str]:
    """Yield lines of an encoding in which they can be split only after decoding."""
    try:
        with TextIOWrapper(stream, encoding, newline="") as texts:
            number = 0
            while text := texts.readline(LARGEST_TEXT + 1):
                number += 1
                check_length(len(text), path, number)
                yield text
    except UnicodeDecodeError:
        cause = f"begins like {encoding.upper()}, but is damaged further on"
        raise IngestError(path, f"{cause}; save it again as UTF-8") from None


def decode_line(raw: bytes, encoding: str, path: Path, line: int, offset: int) -> str:
    """Return the text of one line; ``offset`` is where it begins in the file."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        place = offset + error.start + 1
        cause = f"byte {place:,} of the file (0x{raw[error.start]:02x}) is not {encoding.upper()}"
        raise IngestError(
            path, f"{cause}; give the file's own encoding, for example --encoding latin-1", line
        ) from None


def read_chunks(stream: BinaryIO, path: Path, line: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield ``(number of the first line, whole lines)`` from where the stream is; the last line is ended too."""
    rest = b""
    while more := stream.read(CHUNK):
        cut = more.rfind(b"\n") + 1
        if cut == 0:
            rest += more
            if len(rest) > LARGEST_TEXT and (cut := rest.rfind(b"\r") + 1):  # lines of an old Mac
                yield line, rest[:cut]
                line, rest = line + rest.count(b"\r", 0, cut), rest[cut:]
            check_length(len(rest), path, line)
            continue
        whole = rest + more[:cut]
        rest = more[cut:]
        yield line, whole
        line += whole.count(b"\n")
    if rest:
        yield line, rest + b"\n"


def read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Read ``size`` bytes, or as many as there are; room is made for those that come, not for those promised."""
    found = bytearray()
    while len(found) < size and (more := stream.read(min(CHUNK, size - len(found)))):
        found += more
    return bytes(found)


def count_lines(path: Path) -> int:
    """Return how many lines a file has, blank ones at its end not counted."""
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


def find_suffix(path: Path) -> str:
    """Return the ending of a file in lower case, that of its compression not counted."""
    return Path(strip_packing(path.name.lower())).suffix


def describe_kinds(names: Iterable[PurePath]) -> str:
    """Describe how many files there are of each kind, the most frequent first.

    >>> describe_kinds([Path("a.pdf"), Path("b.PDF"), Path("LICENSE")])
    '2 .pdf, 1 without ending'
    """
    counted = Counter(name.suffix.lower() or "without ending" for name in names).most_common()
    more = sum(count for _, count in counted[_KINDS:])
    listed = ", ".join(f"{count:,} {kind}" for kind, count in counted[:_KINDS])
    return f"{listed} and {more:,} others" if more else listed


def find_part(path: Path) -> int | None:
    """Return TRAIN, TEST or VALIDATION when the file's name says so, else None."""
    name = strip_endings(path).lower()
    named = ((TRAIN, _TRAIN_NAME), (VALIDATION, _VALIDATION_NAME), (TEST, _TEST_NAME))
    return next((part for part, pattern in named if pattern.search(name)), None)


def list_files(folder: Path, belongs: Callable[[Path], bool]) -> list[Path]:
    """Return the files straight inside a folder that belong to a format, by name; none where it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and belongs(path))
    except OSError:
        return []


def find_parts(path: Path, belongs: Callable[[Path], bool], what: str, *, several: bool = False) -> list[Part]:
    """Return the file itself; or of a folder its only file of the format, or a file for each part.

    Parameters
    ----------
    several : bool
        Whether any number of files may be read as one: all of them of no known part, or each of a part.

    Raises
    ------
    IngestError
        When a folder has several files that are not one for training, one for the test, and perhaps one for validation.
    """
    if not path.is_dir():
        return [Part(path, None)]
    found = list_files(path, belongs)
    if not found:
        raise IngestError(path, f"has no {what} file in it")
    if len(found) == 1:
        return [Part(found[0], None)]
    named = sorted((Part(file, find_part(file)) for file in found), key=lambda each: (each.part is None, each.part))
    known = {each.part for each in named}
    if several and (known == {None} or None not in known):
        return named
    if [each.part for each in named] not in ([TRAIN, TEST], [TRAIN, TEST, VALIDATION]):
        names = ", ".join(file.name for file in found[:4]) + (", ..." if len(found) > 4 else "")
        raise IngestError(
            path, f"has {len(found)} {what} files ({names}); give one of them, or keep one train and test"
        )
    return named


_TITLES: dict[int | None, str] = {TRAIN: "train", TEST: "test", VALIDATION: "validation"}


def number_documents(parts: list[Part], sizes: list[int]) -> tuple[Array | None, list[str]]:
    """Return part and title of each document of a file, or of one file for each part."""
    words = [_TITLES.get(each.part, "document") for each in parts]
    titles = [f"{word} {n}" for word, size in zip(words, sizes, strict=True) for n in range(1, size + 1)]
    if len(parts) == 1:
        return None, titles
    return np.repeat(np.array([each.part for each in parts], np.int8), sizes), titles


def read_start(path: Path, size: int = 4096) -> bytes:
    """Return the first bytes of a file, unpacked as far as they go; errors only end them earlier."""
    found = b""
    try:
        with open_file(path) as stream:
            while len(found) < size and (more := stream.read1(size - len(found))):  # type: ignore[attr-defined]
                found += more
    except IngestError:
        pass
    return found
