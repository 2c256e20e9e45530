"""Unpack compressed files and members of archives, with limits on the size against malicious ones."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import BinaryIO, cast

from topiary.app.ingest.errors import IngestError

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
