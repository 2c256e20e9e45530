"""Unpack compressed files and members of archives, within bounds that honest ones keep."""

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

from app.ingest.errors import IngestError

FREE = 1 << 28  # bytes that any file may unpack to
RATIO = 250  # beyond them, at most so many times its own size: text packs to a tenth, sparse counts to a fiftieth
TOTAL = 1 << 37  # bytes altogether, whatever the ratio

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
            piece = self._given or self._packed.read(_ZSTD_PIECE)
            if not piece and self._begun:
                raise EOFError
            if not piece:
                return 0
            self._begun, self._given = True, b""
            try:
                self._made = self._frame.decompress(piece)
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


def get_member_path(info: zipfile.ZipInfo) -> PurePosixPath:
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
            cause = "is compressed by zstd, which needs one more package: pip install 'topiary-explorer[zst]'"
            raise IngestError(path, f"{cause}, or unpack the file yourself") from None
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
