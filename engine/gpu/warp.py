"""Operations of the lanes of a warp, in the place of those of :mod:`engine.gpu.lanes`, where they are explained."""

from typing import Any

import numpy as np
from numba import cuda, int32
from numba.cuda import libdevice

LANES = 32  # of a group; copies of this module have fewer
WARP = 32
FULL = 0xFFFFFFFF  # all lanes of a warp
uint = np.uint64


def find_first_item() -> int:
    """Return the first item of a kernel that this thread works on."""
    return cuda.grid(1)


def count_workers() -> int:
    """Return the number of threads, the distance between the items of each."""
    return cuda.gridsize(1)


def locate(order: Any, n_words: int) -> Any:
    """Return the lane of this thread, its document, whether it has one, and where the memory of its group begins.

    ``order`` lists the documents, one for each group, and a group has ``n_words`` numbers of 4 bytes.  Groups without a
    document get the first one.
    """
    group = cuda.threadIdx.x // LANES
    item = cuda.blockIdx.x * (cuda.blockDim.x // LANES) + group
    is_document = item < len(order)
    document = order[item] if is_document else order[0]
    return cuda.threadIdx.x % LANES, document, is_document, group * n_words


def share(value: Any, source: int) -> Any:
    """Return the value that lane ``source`` of the group holds."""
    return cuda.shfl_sync(FULL, value, (cuda.laneid // LANES) * LANES + source)


def scan(value: Any, lane: int) -> Any:
    """Return the sum of the values of the lanes up to this one."""
    distance = 1
    while distance < LANES:
        other = cuda.shfl_up_sync(FULL, value, distance)
        if lane >= distance:
            value += other
        distance *= 2
    return value


def add_lanes(value: Any) -> Any:
    """Return the sum of the values of all lanes."""
    distance = LANES // 2
    while distance > 0:
        value += cuda.shfl_xor_sync(FULL, value, distance)
        distance //= 2
    return value


def vote(flag: bool) -> Any:
    """Return a mask of the lanes of the group whose flag is set."""
    mask = np.uint32(cuda.ballot_sync(FULL, flag))
    return np.uint32(np.uint32(mask >> np.uint32((cuda.laneid // LANES) * LANES)) & np.uint32(FULL >> (WARP - LANES)))


def is_any(flag: bool) -> Any:
    """Return whether the flag of any lane in the warp is set."""
    return cuda.any_sync(FULL, flag) != 0


def find_first(mask: Any) -> Any:
    """Return the first lane of a mask that is not empty."""
    return int32(cuda.ffs(mask)) - int32(1)


def count_bits(mask: Any) -> Any:
    """Return how many lanes are in a mask."""
    return int32(cuda.popc(mask))


def count_before(mask: Any, lane: int) -> Any:
    """Return how many lanes of a mask come before this one."""
    before = np.uint32(np.uint32(np.uint32(1) << np.uint32(lane)) - np.uint32(1))
    return int32(cuda.popc(np.uint32(mask & before)))


def wait() -> bool:
    """Wait for the other lanes of the warp."""
    cuda.syncwarp()
    return True


def add_count(table: Any, row: int, column: int, value: Any) -> None:
    """Add to an entry of a table that all documents share; integers, so that the order does not matter."""
    cuda.atomic.add(table, (uint(row), uint(column)), value)


def add_token(ints: Any, place: int) -> None:
    """Add one to a number in the memory of the group."""
    cuda.atomic.add(ints, uint(place), int32(1))


def load_row(matrix: Any, row: int, lane: int, out: Any) -> None:
    """Read the entries of a lane from one row of a padded matrix, of which a number of 64 bits holds two."""
    for i in range(len(out) // 2):
        pair = matrix[uint(row), uint(i * LANES + lane)]
        out[2 * i] = libdevice.int_as_float(int32(pair & uint(FULL)))
        out[2 * i + 1] = libdevice.int_as_float(int32(pair >> uint(WARP)))


def load_memory(memory: Any, base: int, lane: int, out: Any) -> None:
    """Read the entries of a lane from the memory of the group, from ``base``, which is even, on."""
    for i in range(len(out) // 2):
        pair = memory[uint(base // 2 + i * LANES + lane)]
        out[2 * i] = libdevice.int_as_float(int32(pair & uint(FULL)))
        out[2 * i + 1] = libdevice.int_as_float(int32(pair >> uint(WARP)))
