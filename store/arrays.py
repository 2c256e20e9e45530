"""Named arrays as bytes and back, bit for bit, in numpy's own format and without pickle.

A message is an ``.npz`` file, which :func:`numpy.load` reads: a zip with an ``.npy`` file for each array.  Its last
four bytes, the comment of the zip, are the CRC-32 of all bytes before them.

Checkpoints are too large for one message and are several, their parts.  There the arrays are cut into pieces of
consecutive rows, ``NAME@FIRST.npy`` after the number of their first row; the first part begins with ``layouts.json``, a
list of ``[name, dtype, shape]``, and the last one ends with the empty file ``end``.
"""

import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topiary.store.errors import DamagedArrays, StoreError

Array = npt.NDArray[Any]
PIECE_BYTES = 4 << 20
PART_BYTES = 8 << 20
_SAMPLE = 1 << 16  # bytes of an array that are compressed on trial
_ENDING, _LAYOUTS, _END = ".npy", "layouts.json", "end"
_MEMBER = struct.Struct("<4s4xH8xLLHH")  # of the head of a file in a zip: mark, coding, packed size, size, lengths
_CHECKSUM = struct.Struct("<L")


class ArrayLayout(NamedTuple):
    """Type and shape of an array."""

    dtype: str
    shape: tuple[int, ...]


class StreamedArray(NamedTuple):
    """An array that is never in memory as a whole: ``runs`` yields its rows, some at a time, in order."""

    layout: ArrayLayout
    runs: Iterable[Array]


class _PackedFile(NamedTuple):
    """A file of a message: its name, how its bytes are coded, the bytes, and their size when decoded."""

    file: str
    coding: int
    packed: memoryview
    size: int


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
    return _pack_members((name + _ENDING, _prepare_array(name, each, single=single)) for name, each in arrays.items())


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
    names = None if only is None else set(only)
    named = ((member.file.removesuffix(_ENDING), member) for member in _list_members(blob))
    return {name: _read_array(member).copy() for name, member in named if names is None or name in names}


def read_shapes(blob: bytes) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of a message; raise DamagedArrays as `unpack_arrays` does."""
    return {name: array.shape for name, array in unpack_arrays(blob).items()}


def verify_arrays(blob: bytes) -> None:
    """Verify the checksum of a message.

    Raises
    ------
    DamagedArrays
        If its bytes were altered.
    """
    if len(blob) < _CHECKSUM.size or _CHECKSUM.pack(zlib.crc32(memoryview(blob)[:-4])) != blob[-4:]:
        raise DamagedArrays(
            "stored arrays are damaged (they are not what was written: a checksum does not fit); topiary check says "
            "what else is"
        )


def verify_parts(parts: Iterable[bytes]) -> None:
    """Verify the checksums of all parts of a message, and that none is missing at its end; raise DamagedArrays."""
    last = ""
    for blob in parts:
        last = [member.file for member in _list_members(blob)][-1]
    if last != _END:
        raise _report_missing()


def write_parts(arrays: Mapping[str, Array | StreamedArray]) -> Iterator[bytes]:
    """Yield a message in parts, so that large arrays are never copied as a whole; some may be streamed."""
    prepared = {name: _prepare_stream(name, array) for name, array in arrays.items()}
    layouts = json.dumps([[name, *array.layout] for name, array in prepared.items()]).encode()
    waiting: list[tuple[str, Array | bytes]] = [(_LAYOUTS, layouts)]
    size = 0
    for name, array in prepared.items():
        for file, piece in _cut_pieces(name, array.runs):
            if size and size + piece.nbytes > PART_BYTES:
                yield _pack_members(waiting)
                waiting, size = [], 0
            waiting.append((file, piece))
            size += piece.nbytes
    yield _pack_members([*waiting, (_END, b"")])


def read_layouts(part: bytes) -> dict[str, ArrayLayout]:
    """Return the types and shapes of all arrays of a message from its first part; raise DamagedArrays if it is not."""
    for member in _list_members(part):
        if member.file == _LAYOUTS:
            listed = json.loads(bytes(_read_bytes(member)))
            return {name: ArrayLayout(dtype, tuple(shape)) for name, dtype, shape in listed}
    raise _report_missing()


def read_parts(parts: Iterable[bytes], wanted: Callable[[str, ArrayLayout], slice | None]) -> dict[str, Array]:
    """Return some rows of some arrays of a message of `write_parts`; only one part is in memory at a time.

    Parameters
    ----------
    parts : iterable of bytes
    wanted : (name, ArrayLayout) -> slice or None
        The consecutive rows to read of an array (``slice(begin, end)``); None for none.

    Raises
    ------
    DamagedArrays
        If the bytes were altered, or parts are missing.
    """
    result: dict[str, Array] = {}
    begins: dict[str, int] = {}
    missing: dict[str, int] = {}
    for place, blob in enumerate(parts):
        if place == 0:
            for name, layout in read_layouts(blob).items():
                if (rows := wanted(name, layout)) is not None:
                    n_rows = layout.shape[0] if layout.shape else 1
                    begins[name], end, _ = rows.indices(n_rows)
                    missing[name] = max(0, end - begins[name])
                    result[name] = np.empty((missing[name], *layout.shape[1:]) if layout.shape else (), layout.dtype)
        for member in _list_members(blob):
            name, _, first = member.file.removesuffix(_ENDING).rpartition("@")
            if missing.get(name):
                missing[name] -= _copy_rows(np.atleast_1d(result[name]), begins[name], int(first), member)
    if any(missing.values()) or not result.keys() >= missing.keys():
        raise _report_missing()
    return result


def _copy_rows(target: Array, begin: int, first: int, member: _PackedFile) -> int:
    """Copy those rows of a piece, which begins with row ``first``, that belong to a target; return how many."""
    if first >= begin + len(target):
        return 0
    piece = _read_array(member)
    start, stop = max(first, begin), min(first + len(piece), begin + len(target))
    if start >= stop:
        return 0
    target[start - begin : stop - begin] = piece[start - first : stop - first]
    return stop - start


def _report_missing() -> DamagedArrays:
    return DamagedArrays("stored arrays are damaged (parts of them are missing); topiary check says what else is")


def _prepare_array(name: str, array: Array, *, single: bool) -> Array:
    """Return an array in the form in which it is written: row-major, little-endian, 32-bit floats if ``single``."""
    array = np.asarray(array, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise StoreError(f"array {name!r} has type {array.dtype}; the store keeps whole numbers, floats and booleans")
    if single and array.dtype == np.float64:
        array = array.astype(np.float32)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _prepare_stream(name: str, array: Array | StreamedArray) -> StreamedArray:
    """Return an array as a stream of its rows."""
    if isinstance(array, StreamedArray):
        return array
    array = _prepare_array(name, array, single=False)
    return StreamedArray(ArrayLayout(array.dtype.str, array.shape), [array])


def _cut_pieces(name: str, runs: Iterable[Array]) -> Iterator[tuple[str, Array]]:
    """Yield pieces of consecutive rows of an array, and the names of their files."""
    first = 0
    for run in runs:
        rows = np.ascontiguousarray(np.atleast_1d(run))
        step = max(1, PIECE_BYTES // max(1, rows.itemsize * math.prod(rows.shape[1:])))
        for begin in range(0, len(rows), step):
            yield f"{name}@{first + begin}{_ENDING}", rows[begin : begin + step]
        first += len(rows)


def _pack_members(members: Iterable[tuple[str, Array | bytes]]) -> bytes:
    """Return a zip of arrays, or of bytes, with a checksum at its end; what hardly shrinks stays as it is."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compresslevel=1) as archive:
        for file, content in members:
            head, raw = (b"", memoryview(content)) if isinstance(content, bytes) else _write_array(content)
            sample = zlib.compress(raw[:_SAMPLE], 1)
            # Random draws of topics shrink to .96, which takes 35 ms a megabyte.
            shrinks = len(sample) <= 0.95 * min(len(raw), _SAMPLE)
            archive.compression = zipfile.ZIP_DEFLATED if shrinks else zipfile.ZIP_STORED
            with archive.open(file, "w") as target:
                target.write(head)
                target.write(raw)
        archive.comment = bytes(_CHECKSUM.size)
    blob = stream.getbuffer()
    _CHECKSUM.pack_into(blob, len(blob) - _CHECKSUM.size, zlib.crc32(blob[: -_CHECKSUM.size]))
    return bytes(blob)


def _write_array(array: Array) -> tuple[bytes, memoryview]:
    """Return the head of an ``.npy`` file and its bytes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    return head.getvalue(), array.reshape(-1).view(np.uint8).data


def _list_members(blob: bytes) -> Iterator[_PackedFile]:
    """Yield the files of a message, after verifying its checksum.

    This is twice as quick as Python's module, which matters for thousands of small messages.
    """
    verify_arrays(blob)
    view, place = memoryview(blob), 0
    while bytes(view[place : place + 4]) == b"PK\3\4":
        _, coding, packed, size, name_length, extra = _MEMBER.unpack_from(view, place)
        begin = place + _MEMBER.size + name_length
        place = begin + extra + packed
        name = bytes(view[begin - name_length : begin]).decode()
        yield _PackedFile(name, coding, view[begin + extra : place], size)


def _read_bytes(member: _PackedFile) -> memoryview:
    decoded = zlib.decompress(member.packed, -zlib.MAX_WBITS, member.size) if member.coding else member.packed
    return memoryview(decoded)


def _read_array(member: _PackedFile) -> Array:
    """Return the array of an ``.npy`` file; its memory is that of the bytes."""
    raw = _read_bytes(member)
    end = 10 + int.from_bytes(raw[8:10], "little")
    shape, dtype = _parse_head(bytes(raw[:end]))
    return np.frombuffer(raw, dtype, offset=end).reshape(shape)


@lru_cache(maxsize=4096)
def _parse_head(head: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type in the head of an ``.npy`` file."""
    stream = io.BytesIO(head)
    np.lib.format.read_magic(stream)
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    return shape, dtype
