"""Named arrays as bytes and back, bit for bit, without pickle.

A message is a header and then the arrays in the header's order, cut into chunks:

``TOPIARY1``, length of the header (uint32), the header (JSON: a list of ``[name, dtype, shape]``), then for
every array and every started 4 MiB of its bytes (row-major, little-endian): coding (uint8, 0 = as it is,
1 = zlib), length (uint32), payload.  All numbers are little-endian.
"""

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from store.errors import DamagedArrays, StoreError

Array = npt.NDArray[Any]
MAGIC = b"TOPIARY1"
CHUNK = 4 << 20
_SAMPLE = 1 << 16
HEAD = 1 << 16  # bytes in which the names and shapes of the arrays of a snapshot have room
_RAW, _ZLIB = 0, 1
_HEADER = struct.Struct("<8sI")
_FRAME = struct.Struct("<BI")


def pack(arrays: Mapping[str, Array], *, single: bool = False, level: int = 1) -> bytes:
    """Write named arrays as bytes.

    Parameters
    ----------
    arrays : mapping of str to array
        Whole numbers, floats and booleans of any shape, 0-d and empty ones included.
    single : bool
        Store 64-bit floats as 32-bit ones (snapshots, for eyes).
    level : int
        Effort of zlib, 1 to 9.

    Raises
    ------
    StoreError
        When an array holds anything else (objects, text).
    """
    return b"".join(hierarchies(arrays, single=single, level=level))


def unpack(blob: bytes, *, only: Iterable[str] | None = None) -> dict[str, Array]:
    """Read back what `pack` wrote; the arrays are writable and own their memory.

    Parameters
    ----------
    blob : bytes
        A message of `pack`.
    only : iterable of str, optional
        Names to read; the others are skipped without being decompressed.

    Raises
    ------
    DamagedArrays
        When the bytes are not such a message, or are cut short or altered.
    """
    return collect([blob], only=only)


def shapes(head: bytes) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays in a message of `pack`, from its first ``HEAD`` bytes.

    Raises
    ------
    DamagedArrays
        When the bytes do not begin such a message.
    """
    try:
        return {name: tuple(shape) for name, _, shape in _Reader([head]).header()}
    except (struct.error, ValueError, TypeError) as error:
        raise DamagedArrays(f"stored arrays are damaged ({error}); restore the store from a copy") from error


def hierarchies(arrays: Mapping[str, Array], *, single: bool = False, level: int = 1) -> Iterator[bytes]:
    """The message of `pack` piece by piece, so that large arrays are never copied whole."""
    ready = {name: _plain(name, array, single=single) for name, array in arrays.items()}
    header = json.dumps([[name, array.dtype.str, array.shape] for name, array in ready.items()]).encode()
    yield _HEADER.pack(MAGIC, len(header)) + header
    for array in ready.values():
        raw = _bytes(array)
        for start in range(0, len(raw), CHUNK):
            yield _hierarchy(raw[start : start + CHUNK], level)


def collect(parts: Iterable[bytes], *, only: Iterable[str] | None = None) -> dict[str, Array]:
    """Put a message together from parts of whole hierarchies, holding one part at a time."""
    request = None if only is None else set(only)
    reader = _Reader(parts)
    result = {}
    try:
        for name, dtype, shape in reader.header():
            array = np.empty(shape, dtype=np.dtype(dtype))
            keep = request is None or name in request
            reader.fill(_bytes(array), keep=keep)
            if keep:
                result[name] = array
    except (struct.error, zlib.error, ValueError, TypeError) as error:
        raise DamagedArrays(f"stored arrays are damaged ({error}); restore the store from a copy") from error
    return result


def _plain(name: str, array: Array, *, single: bool) -> Array:
    """Row-major, little-endian, and 32-bit floats when asked for."""
    array = np.asarray(array, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise StoreError(f"array {name!r} has type {array.dtype}; the store keeps whole numbers, floats and booleans")
    if single and array.dtype == np.float64:
        return array.astype(np.float32)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _bytes(array: Array) -> memoryview:
    """The memory of a row-major array as bytes."""
    return array.reshape(-1).view(np.uint8).data


def _hierarchy(raw: memoryview, level: int) -> bytes:
    """One chunk, compressed when a sample of it shows that it pays (noise of a sampler often does not)."""
    if len(zlib.compress(raw[:_SAMPLE], 1)) > 0.97 * min(len(raw), _SAMPLE):
        return _FRAME.pack(_RAW, len(raw)) + raw
    payload = zlib.compress(raw, level)
    return _FRAME.pack(_ZLIB, len(payload)) + payload


class _Reader:
    """Goes through parts one by one; a frame never crosses from one part to the next."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._part = memoryview(b"")
        self._place = 0

    def header(self) -> list[list[Any]]:
        magic, length = _HEADER.unpack(self._take(_HEADER.size))
        if magic != MAGIC:
            raise ValueError("they do not begin with the mark of Topiary's arrays")
        header: list[list[Any]] = json.loads(bytes(self._take(length)))
        return header

    def fill(self, target: memoryview, *, keep: bool) -> None:
        for start in range(0, len(target), CHUNK):
            coding, length = _FRAME.unpack(self._take(_FRAME.size))
            payload = self._take(length)
            if keep:
                target[start : start + CHUNK] = zlib.decompress(payload) if coding == _ZLIB else payload

    def _take(self, size: int) -> memoryview:
        if self._place == len(self._part):
            self._part = memoryview(next(self._parts, b""))
            self._place = 0
        if self._place + size > len(self._part):
            raise ValueError("they end too early")
        self._place += size
        return self._part[self._place - size : self._place]
