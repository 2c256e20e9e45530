"""Named arrays as bytes and back, bit for bit, without pickle.

A message is a header and then the arrays in the header's order, cut into chunks:

``TOPIARY2``, length of the header (uint32), its checksum (uint32), the header (JSON: a list of ``[name, dtype,
shape]``), then frames: the bytes of every array (row-major, little-endian) are cut into chunks of 4 MiB, and the frame
of a chunk is coding (uint8, 0 = raw, 1 = zlib), length (uint32), checksum (uint32), payload.  Numbers are
little-endian.

A checksum is the CRC-32 of the rest of its header or frame, with the number of the frame as the start value (0 for the
header, 1 for the first frame), so that both altered and exchanged frames are noticed when they are read.
"""

import json
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topiary.store.errors import DamagedArrays, StoreError

Array = npt.NDArray[Any]
MAGIC = b"TOPIARY2"
CHUNK = 4 << 20  # bytes
_SAMPLE = 1 << 16  # bytes of a chunk that are compressed on trial
HEAD = 1 << 16  # bytes that hold the whole header of a snapshot, with the names and shapes of its arrays
_RAW, _ZLIB = 0, 1
_HEADER = struct.Struct("<8sI")
_FRAME = struct.Struct("<BI")
_CHECKSUM = struct.Struct("<I")


class ArrayLayout(NamedTuple):
    """Type and shape of an array."""

    dtype: str
    shape: tuple[int, ...]


class StreamedArray(NamedTuple):
    """An array that is never in memory as a whole: ``runs`` yields its rows, some at a time, in order."""

    layout: ArrayLayout
    runs: Iterable[Array]


def pack_arrays(arrays: Mapping[str, Array], *, single: bool = False) -> bytes:
    """Return named arrays as bytes.

    Parameters
    ----------
    arrays : mapping of str to array
        Whole numbers, floats and booleans of any shape, 0-d and empty ones included.
    single : bool
        Store 64-bit floats as 32-bit ones, as in snapshots.

    Raises
    ------
    StoreError
        If an array holds anything else (such as objects or text).
    """
    return b"".join(write_frames(arrays, single=single))


def unpack_arrays(blob: bytes, *, only: Iterable[str] | None = None) -> dict[str, Array]:
    """Return the arrays that `pack_arrays` wrote; they are writable and own their memory.

    Parameters
    ----------
    blob : bytes
        A message of `pack_arrays`.
    only : iterable of str, optional
        Names to read; the others are skipped without being decompressed.

    Raises
    ------
    DamagedArrays
        If the bytes are not such a message, or are cut short or altered.
    """
    return collect_arrays([blob], only=only)


def read_layouts(head: bytes) -> dict[str, ArrayLayout]:
    """Return the types and shapes of the arrays of a message from its first ``HEAD`` bytes.

    Raises
    ------
    DamagedArrays
        If the bytes do not begin such a message.
    """
    try:
        return {name: ArrayLayout(dtype, tuple(shape)) for name, dtype, shape in _MessageReader([head]).read_header()}
    except (struct.error, ValueError, TypeError) as error:
        raise _make_error(error) from error


def verify_arrays(parts: Iterable[bytes]) -> None:
    """Verify the checksums of a message.

    Raises
    ------
    DamagedArrays
        If its bytes were altered.
    """
    reader = _MessageReader(parts)
    try:
        for _, dtype, shape in reader.read_header():
            reader.verify(math.prod(shape) * np.dtype(dtype).itemsize)
    except (struct.error, ValueError, TypeError) as error:
        raise _make_error(error) from error


def write_frames(arrays: Mapping[str, Array | StreamedArray], *, single: bool = False) -> Iterator[bytes]:
    """Yield a message piece by piece, so that large arrays are never copied as a whole; some may be streamed."""
    prepared = {name: _prepare_array(name, array, single=single) for name, array in arrays.items()}
    header = json.dumps([[name, *array.layout] for name, array in prepared.items()]).encode()
    head = _HEADER.pack(MAGIC, len(header))
    yield head + _compute_checksum(0, head, header) + header
    place = 0
    for array in prepared.values():
        for chunk in _split_chunks(array.runs):
            place += 1
            yield _write_frame(chunk, place)


def collect_arrays(parts: Iterable[bytes], *, only: Iterable[str] | None = None) -> dict[str, Array]:
    """Return the arrays of a message given in parts of whole frames; only one part is in memory at a time."""
    names = None if only is None else set(only)
    return read_rows(parts, lambda name, _: slice(None) if names is None or name in names else None)


def read_rows(parts: Iterable[bytes], wanted: Callable[[str, ArrayLayout], slice | None]) -> dict[str, Array]:
    """Return some rows of some arrays of a message: consecutive rows (``slice(begin, end)``), or all.

    Parameters
    ----------
    parts : iterable of bytes
        The message in parts of whole frames.
    wanted : (name, ArrayLayout) -> slice or None
        The rows to read of an array; None for none.
    """
    reader = _MessageReader(parts)
    result = {}
    try:
        for name, dtype, shape in reader.read_header():
            layout = ArrayLayout(dtype, tuple(shape))
            part = wanted(name, layout)
            array, first = _allocate_rows(layout, part)
            reader.read_into(_view_bytes(array), first, math.prod(shape) * array.itemsize, keep=part is not None)
            if part is not None:
                result[name] = array
    except (struct.error, zlib.error, ValueError, TypeError) as error:
        raise _make_error(error) from error
    return result


def _allocate_rows(layout: ArrayLayout, part: slice | None) -> tuple[Array, int]:
    """Return an uninitialised array for the requested rows, and the offset of its first byte in the whole array."""
    dtype = np.dtype(layout.dtype)
    if part is None:
        return np.empty(0, dtype=dtype), 0
    if not layout.shape:
        return np.empty((), dtype=dtype), 0
    begin, end, _ = part.indices(layout.shape[0])
    array = np.empty((end - begin, *layout.shape[1:]), dtype=dtype)
    return array, begin * math.prod(layout.shape[1:]) * dtype.itemsize


def _make_error(error: Exception) -> DamagedArrays:
    """Return the error about a damaged message."""
    return DamagedArrays(f"stored arrays are damaged ({error}); topiary check says what else is")


def _compute_checksum(place: int, *parts: bytes | memoryview) -> bytes:
    """Return the checksum of a frame, or of the header, from its parts."""
    checksum = place
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return _CHECKSUM.pack(checksum)


def _prepare_array(name: str, array: Array | StreamedArray, *, single: bool) -> StreamedArray:
    """Return an array in the form in which it is written: row-major, little-endian, 32-bit floats if ``single``."""
    if isinstance(array, StreamedArray):
        return array
    array = np.asarray(array, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise StoreError(f"array {name!r} has type {array.dtype}; the store keeps whole numbers, floats and booleans")
    if single and array.dtype == np.float64:
        array = array.astype(np.float32)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return StreamedArray(ArrayLayout(array.dtype.str, array.shape), [array])


def _split_chunks(runs: Iterable[Array]) -> Iterator[memoryview]:
    """Yield the bytes of runs of rows in pieces of ``CHUNK`` bytes; the last may be shorter."""
    rest = bytearray()
    for run in runs:
        raw = _view_bytes(np.ascontiguousarray(run))
        begin = 0
        if rest:
            begin = min(CHUNK - len(rest), len(raw))
            rest += raw[:begin]
            if len(rest) < CHUNK:
                continue
            yield memoryview(rest)
        for start in range(begin, len(raw) - CHUNK + 1, CHUNK):
            yield raw[start : start + CHUNK]
        rest = bytearray(raw[begin + (len(raw) - begin) // CHUNK * CHUNK :])
    if rest:
        yield memoryview(rest)


def _view_bytes(array: Array) -> memoryview:
    """Return the memory of a row-major array as bytes."""
    return array.reshape(-1).view(np.uint8).data


def _write_frame(raw: memoryview, place: int) -> bytes:
    """Return the frame of a chunk, compressed if a sample of it shrinks; random draws often do not."""
    coding, payload = _RAW, raw
    if len(zlib.compress(raw[:_SAMPLE], 1)) <= 0.97 * min(len(raw), _SAMPLE):
        coding, payload = _ZLIB, memoryview(zlib.compress(raw, 1))
    head = _FRAME.pack(coding, len(payload))
    return head + _compute_checksum(place, head, payload) + payload


class _MessageReader:
    """A reader of a message, part by part; a frame never continues in the next part."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._part = memoryview(b"")
        self._place = 0
        self._frame = 0

    def read_header(self) -> list[list[Any]]:
        """Return the header: a list of name, type and shape for every array."""
        head = self._take(_HEADER.size)
        magic, length = _HEADER.unpack(head)
        if magic != MAGIC:
            raise ValueError("they do not begin with the mark of Topiary's arrays")
        header: list[list[Any]] = json.loads(bytes(self._take_payload(head, length, keep=True)))
        return header

    def read_into(self, target: memoryview, first: int, size: int, *, keep: bool) -> None:
        """Read the frames of an array of ``size`` bytes; copy bytes from ``first`` on into the target if ``keep``."""
        last = first + len(target)
        for start in range(0, size, CHUNK):
            touched = keep and start < last and start + CHUNK > first
            coding, payload = self._next_frame(keep=touched)
            if not touched:
                continue
            raw = memoryview(zlib.decompress(payload)) if coding == _ZLIB else payload
            if len(raw) != min(CHUNK, size - start):
                raise ValueError("a piece of an array has another length than it was written with")
            begin, end = max(first, start), min(last, start + len(raw))
            target[begin - first : end - first] = raw[begin - start : end - start]

    def verify(self, size: int) -> None:
        """Verify the checksums of the frames of an array of ``size`` bytes."""
        for _ in range(0, size, CHUNK):
            self._next_frame(keep=True)

    def _next_frame(self, *, keep: bool) -> tuple[int, memoryview]:
        """Return the coding and the payload of the next frame."""
        self._frame += 1
        head = self._take(_FRAME.size)
        coding, length = _FRAME.unpack(head)
        return coding, self._take_payload(head, length, keep=keep)

    def _take_payload(self, head: memoryview, length: int, *, keep: bool) -> memoryview:
        """Return the payload of a frame, after verifying its checksum if ``keep``."""
        stated, payload = self._take(_CHECKSUM.size), self._take(length)
        if keep and stated != _compute_checksum(self._frame, head, payload):
            raise ValueError("they are not what was written: a checksum does not fit")
        return payload

    def _take(self, size: int) -> memoryview:
        """Return the next bytes of the message."""
        if self._place == len(self._part):
            self._part = memoryview(next(self._parts, b""))
            self._place = 0
        if self._place + size > len(self._part):
            raise ValueError("they end too early")
        self._place += size
        return self._part[self._place - size : self._place]
