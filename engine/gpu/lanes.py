"""Operations of the lanes that work on one document together; here there is one lane, on the CPU.

Kernels are written for a group of ``LANES`` lanes that run in step.  With one lane every exchange is the identity, and
numba compiles the kernels for the CPU.  For a graphics processor, ``cuda.py`` copies the modules of the kernels and
puts its own operations in the place of these (:func:`engine.gpu.relink.copy_module`).

Topics are spread over the lanes in pairs, so that a lane reads two neighbouring numbers at once: entry ``i`` of lane
``l`` is topic ``place(i, l)``, and rows are padded with zeros to a multiple of ``2 LANES``.
"""

from typing import Any

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.jit import compiled, inlined

LANES = 1
uint = np.uint64  # indices are unsigned in the kernels, so that numba need not check whether they count from the end


@compiled
def find_first_item() -> int:
    """Return the first item of a kernel that this thread works on."""
    return 0


@compiled
def count_workers() -> int:
    """Return the distance between the items of a thread."""
    return 1


@inlined
def share(value: Any, source: int) -> Any:  # noqa: ARG001 - of lane ``source``, which is this one
    """Return the value that lane ``source`` holds."""
    return value


@inlined
def scan(value: float, lane: int) -> float:  # noqa: ARG001
    """Return the sum of the values of the lanes up to this one."""
    return value


@inlined
def add_lanes(value: float) -> float:
    """Return the sum of the values of all lanes."""
    return value


@inlined
def vote(flag: bool) -> int:
    """Return a mask of the lanes whose flag is set."""
    return np.uint32(1) if flag else np.uint32(0)  # type: ignore[return-value]


@inlined
def is_any(flag: bool) -> bool:
    """Return whether the flag of any lane in the warp is set, so that all its groups make the same turns of a loop."""
    return flag


@inlined
def find_first(mask: int) -> int:  # noqa: ARG001
    """Return the first lane of a mask that is not empty."""
    return 0


@inlined
def count_bits(mask: int) -> int:
    """Return how many lanes are in a mask."""
    return np.int64(mask)  # type: ignore[return-value]


@inlined
def count_before(mask: int, lane: int) -> int:  # noqa: ARG001
    """Return how many lanes of a mask come before this one."""
    return 0


@inlined
def wait() -> bool:
    """Wait until the other lanes are here, and what they wrote to the memory of the group can be read."""
    return True


@inlined
def add_count(table: Array, row: int, column: int, value: int) -> None:
    """Add to an entry of a table that all documents share."""
    table[uint(row), uint(column)] += value


@inlined
def add_token(ints: Array, place: int) -> None:
    """Add one to a number in the memory of the group."""
    ints[uint(place)] += np.int32(1)


@inlined
def find_place(i: int, lane: int) -> int:
    """Return the topic that is entry ``i`` of a lane."""
    return (i // 2) * (2 * LANES) + 2 * lane + i % 2


@inlined
def find_owner(k: int) -> int:
    """Return the lane that holds topic ``k``."""
    return (k // 2) % LANES


@inlined
def load_row(matrix: FloatArray, row: int, lane: int, out: FloatArray) -> None:
    """Read the entries of a lane from one row of a padded matrix."""
    for i in range(len(out)):
        out[i] = matrix[uint(row), uint(find_place(i, lane))]


@inlined
def load_memory(memory: FloatArray, base: int, lane: int, out: FloatArray) -> None:
    """Read the entries of a lane from the memory of the group, from ``base``, which is even, on."""
    for i in range(len(out)):
        out[i] = memory[uint(base + find_place(i, lane))]
