"""Named arrays as bytes and back, bit for bit, without pickle.

A message is a header and then the arrays in the header's order, cut into chunks:

``TOPIARY2``, length of the header (uint32), its checksum (uint32), the header (JSON: a list of ``[name, dtype,
shape]``), then for every array and every started 4 MiB of its bytes (row-major, little-endian): coding (uint8, 0 = as
it is, 1 = zlib), length (uint32), checksum (uint32), payload.  All numbers are little-endian.

A checksum is the CRC-32 of everything else of its header or frame, begun with the place of the frame (the header is
0, the first frame 1), so that bytes that changed and frames that changed places are both noticed when they are read.
"""

import json
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from store.errors import DamagedArrays, StoreError

Array = npt.NDArray[Any]
MAGIC = b"TOPIARY2"
CHUNK = 4 << 20
_SAMPLE = 1 << 16
HEAD = 1 << 16  # bytes in which the names and shapes of the arrays of a snapshot have room
_RAW, _ZLIB = 0, 1
_HEADER = struct.Struct("<8sI")
_FRAME = struct.Struct("<BI")
_CHECKSUM = struct.Struct("<I")


class ArrayLayout(NamedTuple):
    """Type and shape of an array."""

    dtype: str
    shape: tuple[int, ...]


class StreamedArray(NamedTuple):
    """An array that is never held whole: its rows, in their order, in runs."""

    layout: ArrayLayout
    runs: Iterable[Array]


def pack_arrays(arrays: Mapping[str, Array], *, single: bool = False) -> bytes:
    """Write named arrays as bytes.

    Parameters
    ----------
    arrays : mapping of str to array
        Whole numbers, floats and booleans of any shape, 0-d and empty ones included.
    single : bool
        Store 64-bit floats as 32-bit ones, as in snapshots.

    Raises
    ------
    StoreError
        When an array holds anything else (objects, text).
    """
    return b"".join(write_frames(arrays, single=single))


def unpack_arrays(blob: bytes, *, only: Iterable[str] | None = None) -> dict[str, Array]:
    """Read back what `pack_arrays` wrote; the arrays are writable and own their memory.

    Parameters
    ----------
    blob : bytes
        A message of `pack_arrays`.
    only : iterable of str, optional
        Names to read; the others are skipped without being decompressed.

    Raises
    ------
    DamagedArrays
        When the bytes are not such a message, or are cut short or altered.
    """
    return collect_arrays([blob], only=only)


def read_layouts(head: bytes) -> dict[str, ArrayLayout]:
    """Return the types and shapes of the arrays of a message from its first ``HEAD`` bytes.

    Raises
    ------
    DamagedArrays
        When the bytes do not begin such a message.
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
        When its bytes are not those that were written.
    """
    reader = _MessageReader(parts)
    try:
        for _, dtype, shape in reader.read_header():
            reader.verify(math.prod(shape) * np.dtype(dtype).itemsize)
    except (struct.error, ValueError, TypeError) as error:
        raise _make_error(error) from error


def write_frames(arrays: Mapping[str, Array | StreamedArray], *, single: bool = False) -> Iterator[bytes]:
    """Write a message piece by piece, so that large arrays are never copied whole; some may be streamed."""
    ready = {name: _prepare_array(name, array, single=single) for name, array in arrays.items()}
    header = json.dumps([[name, *array.layout] for name, array in ready.items()]).encode()
    begin = _HEADER.pack(MAGIC, len(header))
    yield begin + _compute_checksum(0, begin, header) + header
    place = 0
    for array in ready.values():
        for chunk in _split_chunks(array.runs):
            place += 1
            yield _write_frame(chunk, place)


def collect_arrays(parts: Iterable[bytes], *, only: Iterable[str] | None = None) -> dict[str, Array]:
    """Put a message together from parts of whole frames, holding one part at a time."""
    names = None if only is None else set(only)
    return read_rows(parts, lambda name, _: slice(None) if names is None or name in names else None)


def read_rows(parts: Iterable[bytes], wanted: Callable[[str, ArrayLayout], slice | None]) -> dict[str, Array]:
    """Read some rows of some arrays of a message: neighbours (``slice(begin, end)``), or all of them.

    Parameters
    ----------
    parts : iterable of bytes
        Of whole frames.
    wanted : (name, ArrayLayout) -> slice or None
        None where nothing of an array is wanted.
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
    """Return an array for the requested rows, and the byte of the whole array at which it begins."""
    dtype = np.dtype(layout.dtype)
    if part is None:
        return np.empty(0, dtype=dtype), 0
    if not layout.shape:
        return np.empty((), dtype=dtype), 0
    begin, end, _ = part.indices(layout.shape[0])
    array = np.empty((end - begin, *layout.shape[1:]), dtype=dtype)
    return array, begin * math.prod(layout.shape[1:]) * dtype.itemsize


def _make_error(error: Exception) -> DamagedArrays:
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
    """Yield the bytes of runs of rows in pieces of ``CHUNK``, of which the last may be shorter."""
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
    """Return the frame of a chunk, compressed if a sample of it shrinks (noise of a sampler often does not)."""
    coding, payload = _RAW, raw
    if len(zlib.compress(raw[:_SAMPLE], 1)) <= 0.97 * min(len(raw), _SAMPLE):
        coding, payload = _ZLIB, memoryview(zlib.compress(raw, 1))
    begin = _FRAME.pack(coding, len(payload))
    return begin + _compute_checksum(place, begin, payload) + payload


class _MessageReader:
    """A reader of the parts of a message, one by one; a frame never crosses from one part to the next."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._part = memoryview(b"")
        self._place = 0
        self._frame = 0

    def read_header(self) -> list[list[Any]]:
        begin = self._take(_HEADER.size)
        magic, length = _HEADER.unpack(begin)
        if magic != MAGIC:
            raise ValueError("they do not begin with the mark of Topiary's arrays")
        header: list[list[Any]] = json.loads(bytes(self._take_payload(begin, length, keep=True)))
        return header

    def read_into(self, target: memoryview, first: int, size: int, *, keep: bool) -> None:
        """Read the frames of an array of ``size`` bytes, and copy the bytes from ``first`` on into the target."""
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
        """Verify the checksums of the frames of an array of so many bytes."""
        for _ in range(0, size, CHUNK):
            self._next_frame(keep=True)

    def _next_frame(self, *, keep: bool) -> tuple[int, memoryview]:
        self._frame += 1
        begin = self._take(_FRAME.size)
        coding, length = _FRAME.unpack(begin)
        return coding, self._take_payload(begin, length, keep=keep)

    def _take_payload(self, begin: memoryview, length: int, *, keep: bool) -> memoryview:
        """Return the payload of a frame; where it is to be kept, its checksum is verified."""
        stated, payload = self._take(_CHECKSUM.size), self._take(length)
        if keep and stated != _compute_checksum(self._frame, begin, payload):
            raise ValueError("they are not what was written: a checksum does not fit")
        return payload

    def _take(self, size: int) -> memoryview:
        if self._place == len(self._part):
            self._part = memoryview(next(self._parts, b""))
            self._place = 0
        if self._place + size > len(self._part):
            raise ValueError("they end too early")
        self._place += size
        return self._part[self._place - size : self._place]
