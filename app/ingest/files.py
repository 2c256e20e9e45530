"""Open files: compressed or not, by line or by chunk, with errors that name file and line."""

import re
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from io import TextIOWrapper
from pathlib import Path, PurePath
from typing import BinaryIO, NamedTuple, TextIO

import numpy as np

from app.ingest.errors import IngestError
from app.ingest.packing import is_packed, open_unpacked, strip_packing
from app.ingest.source import Array
from app.ingest.text import encodings
from app.ingest.text.encodings import WIDE, Encoding, find_marked_encoding
from engine.contract import TEST, TRAIN, VALIDATION

LARGEST_TEXT = 1 << 25  # bytes of one document or line: more than any book, and counting words takes 25 times as much
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


@contextmanager
def refuse_damage(path: Path, what: str, advice: str) -> Iterator[None]:
    """Refuse a file while a library reads it inside the block, which may raise anything where it is damaged.

    Raises
    ------
    IngestError
        Naming ``what`` it is not a sound one of, and what to do.
    """
    try:
        yield
    except (IngestError, MemoryError, GeneratorExit):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
        message = " ".join(str(error).split())[:120] or type(error).__name__
        raise IngestError(path, f"is no sound {what} ({message}); {advice}") from None


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
            mac = _look_through(path, encoding).mac_ends
            texts = _decode_lines(_split_mac_lines(stream, path) if mac else _split_lines(stream), marked, path)
        for number, text in enumerate(texts, 1):
            whole = text.removeprefix("\ufeff") if number == 1 else text
            yield number, whole if keep_ends else whole.rstrip("\r\n")


def find_encoding(path: Path, option: str) -> Encoding:
    """Return the encoding of a file: by its byte-order mark, else ``option`` or, if it is not UTF-8, by its letters."""
    return _look_through(path, option).encoding


class _Characters(NamedTuple):
    """The encoding of a text, and whether lines of it end in a carriage return alone."""

    encoding: Encoding
    mac_ends: bool


def _look_through(path: Path, option: str) -> _Characters:
    about = path.stat()
    return _look_through_file(path, option, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=256)
def _look_through_file(path: Path, option: str, _size: int, _changed: int) -> _Characters:
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
        found = Encoding(marked, "by its byte-order mark") if marked else encodings.recognise_pieces(pieces, option)
        while not mac_ends and next(pieces, None) is not None:
            pass
    return _Characters(found, mac_ends)


def describe_encoding(path: Path, option: str) -> dict[str, str]:
    """Return the encoding of a file as a report says it."""
    found = find_encoding(path, option)
    return {"encoding": f"{show_encoding(found.name)} ({found.how})"}


def note_guesses(paths: Iterable[Path], option: str) -> list[str]:
    """Return a sentence for each file whose encoding is a guess."""
    found = [(path, find_encoding(path, option)) for path in paths]
    guesses = [(path.name, each.name, each.how.partition(",")[0]) for path, each in found if each.guessed]
    but = "--encoding names another"
    return [f"{name} is not UTF-8 and read as {show_encoding(taken)}, {how}; {but}" for name, taken, how in guesses]


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


def _split_lines(stream: BinaryIO) -> Iterator[bytes]:
    return iter(partial(stream.readline, LARGEST_TEXT + 1), b"")


def _split_mac_lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of a file some of whose lines end in a carriage return alone."""
    number, rest = 0, b""
    more = stream.read(_PIECE)
    while more or rest:
        pieces = (rest + more).splitlines(keepends=True)
        more = stream.read(_PIECE)
        rest = pieces.pop() if more else b""  # it may go on, if only by the second half of its end
        number += len(pieces)
        check_length(len(rest), path, number + 1)
        yield from pieces


def _decode_lines(lines: Iterator[bytes], encoding: str, path: Path) -> Iterator[str]:
    """Decode lines one by one, so that an error can say which one."""
    offset = 0
    for number, raw in enumerate(lines, 1):
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
            for number, text in enumerate(iter(partial(texts.readline, LARGEST_TEXT + 1), ""), 1):
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
        advice = "give the file's own encoding, for example --encoding latin-1"
        raise IngestError(path, f"{cause}; {advice}", line) from None


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


def make_recogniser(
    fits: Callable[[Path], bool], inside: Callable[[Path], bool] | None = None, *, single: bool = False
) -> Callable[[Path], bool]:
    """Make the function that recognises a file that fits, and a folder by the files in it.

    Parameters
    ----------
    fits : callable
    inside : callable, optional
        Whether a file of a folder belongs to the format; by default as ``fits``.
    single : bool
        Whether a folder has exactly one such file.
    """

    def recognise(path: Path) -> bool:
        if not path.is_dir():
            return fits(path)
        found = list_files(path, inside or fits)
        return len(found) == 1 if single else bool(found)

    return recognise


def match_endings(*endings: str) -> Callable[[Path], bool]:
    """Make the function that returns whether a file has one of some endings."""
    return lambda path: find_suffix(path) in endings


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
        cause = f"has {len(found)} {what} files ({names}); give one of them, or keep one train and test"
        raise IngestError(path, cause)
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
