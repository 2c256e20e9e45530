"""Vector code of LLVM in numba: types held in vector registers, and operations on eight numbers at a time.

Eight numbers take one register of AVX-512, two of AVX2, four of NEON or SSE2.  Additions are done in a fixed order, the
same on every machine.  Nothing is checked: arrays must be C-contiguous and places in range.  With the compiler switched
off, every operation is replaced by its Python twin.  Documents of many topics are swept by these operations, which load
numbers from memory and store them; see ``registers.py`` for numbers that stay in registers.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from topiary.engine.contract import Array, FloatArray
from topiary.engine.jit import compiled

I32, I64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
NUMBER, PLACE, NOTHING = types.float64, types.uint64, types.void  # result types other than vectors


def make_vector_type(name: str, llvm_type: Any) -> Any:
    """Return a numba type of this name whose values are of ``llvm_type`` in LLVM."""

    class Vector(types.Type):
        def __init__(self) -> None:
            super().__init__(name=name)

    @register_model(Vector)
    class _Model(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, llvm_type)

    return Vector()


def make_operation(result: Any, twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that turns a function that writes LLVM code into a numba intrinsic.

    ``result`` is the type of its result, ``twin`` the Python function used when the compiler is off.  The decorated
    function receives arrays as numba's structures and integers as 64 bits.
    """

    def decorate(write: Callable[..., Any]) -> Any:
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return twin

        def generate(context: Any, code: Any, signature: Any, values: Any) -> Any:
            pairs = zip(signature.args, values, strict=True)
            written = write(code, *(_unwrap(context, code, kind, value) for kind, value in pairs))
            return context.get_dummy_value() if written is None else written

        @wraps(write)  # numba reads the number of arguments there
        def typed(_typing: Any, *kinds: Any) -> Any:
            return result(*kinds), generate

        return intrinsic(typed)

    return decorate


def _unwrap(context: Any, code: Any, kind: Any, value: Any) -> Any:
    """Return an argument as LLVM code reads it: an array as its structure, an integer as 64 bits."""
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, code, value)
    return context.cast(code, value, kind, types.int64) if isinstance(kind, types.Integer) else value


def make_shuffle(lanes: list[int]) -> Any:
    """Return the mask of a shuffle that takes these lanes."""
    return ir.Constant(ir.VectorType(I32, len(lanes)), lanes)


def broadcast(code: Any, value: Any, lanes: int) -> Any:
    """Return ``value`` in each of ``lanes`` lanes."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    return code.shuffle_vector(code.insert_element(undefined, value, I32(0)), undefined, make_shuffle([0] * lanes))


def point_to_row(code: Any, table: Any, number: Any) -> Any:
    """Return the address of row ``number`` of a two-dimensional array."""
    return code.gep(table.data, [code.mul(number, code.extract_value(table.shape, 1))])


def load_item(code: Any, begin: Any, place: Any) -> Any:
    """Return the number at index ``place`` from the pointer ``begin``."""
    return code.load(code.gep(begin, [place]))


def list_prefix_steps(lanes: int) -> list[list[int]]:
    """Return, for each step of a running sum over lanes, which lane is added to every lane; -1 means none."""
    halves = [1 << step for step in range(lanes.bit_length() - 1)]
    return [[lane // half * half - 1 if lane // half % 2 else -1 for lane in range(lanes)] for half in halves]


def count_marks(code: Any, mask: Any, lanes: int) -> Any:
    """Return the number of lanes of a mask that are set, as a 64-bit integer."""
    narrow = code.bitcast(mask, ir.IntType(lanes))
    return code.zext(code.ctpop(code.zext(narrow, I32)), I64)


Eight: TypeAlias = Any  # eight numbers in registers, or an array of eight if the compiler is off

LANES = 8
_LINE = 64  # bytes in a cache line, and in eight numbers
_VECTOR = ir.VectorType(DOUBLE, LANES)
_ZEROS, _ONES = ir.Constant(_VECTOR, [0.0] * LANES), ir.Constant(_VECTOR, [1.0] * LANES)
_LANE_NUMBERS = ir.Constant(ir.VectorType(I64, LANES), list(range(LANES)))
_EIGHT = make_vector_type("Eight", _VECTOR)
_STEPS = list_prefix_steps(LANES)


@compiled
def allocate_aligned(n: int) -> FloatArray:
    """Return ``n`` zeros that begin at a cache line, because loading a vector across two lines is slow."""
    padded = np.zeros(n + LANES)
    first = -np.int64(padded.ctypes.data) % _LINE // 8
    return padded[first : first + n]


def _point_at(code: Any, array: Any, place: Any) -> Any:
    """Return a pointer to the vector that begins at a place of an array."""
    return code.bitcast(code.gep(array.data, [place]), _VECTOR.as_pointer())


def _load(array: FloatArray, place: int) -> Eight:
    return array[int(place) : int(place) + LANES].copy()


@make_operation(_EIGHT, _load)
def load(code: Any, array: Any, place: Any) -> Any:
    """Return ``array[place : place + 8]``."""
    return code.load(_point_at(code, array, place), align=8)


def _store(array: FloatArray, place: int, eight: Eight) -> None:
    array[int(place) : int(place) + LANES] = eight


@make_operation(NOTHING, _store)
def store(code: Any, array: Any, place: Any, eight: Any) -> None:
    """Write ``array[place : place + 8] = eight``."""
    code.store(eight, _point_at(code, array, place), align=8)


def _gather(table: FloatArray, number: int, columns: Array, place: int) -> Eight:
    return table[int(number), columns[int(place) : int(place) + LANES].astype(np.int64)]


@make_operation(_EIGHT, _gather)
def gather(code: Any, table: Any, number: Any, columns: Any, place: Any) -> Any:
    """Return ``table[number, columns[place : place + 8]]``; ``columns`` holds 64-bit places."""
    begin, first = point_to_row(code, table, number), code.gep(columns.data, [place])
    eight = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        eight = code.insert_element(eight, load_item(code, begin, load_item(code, first, I64(lane))), I32(lane))
    return eight


@make_operation(NOTHING, lambda *_arguments: None)  # without the compiler nothing is fetched
def prefetch(code: Any, table: Any, number: Any, columns: Any, place: Any) -> None:
    """Fetch ``table[number, columns[place : place + 8]]`` into the cache, for a later :func:`gather`."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
    fetch = code.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    begin, first = point_to_row(code, table, number), code.gep(columns.data, [place])
    for lane in range(LANES):
        at = code.gep(begin, [load_item(code, first, I64(lane))])
        code.call(fetch, [code.bitcast(at, byte), I32(0), I32(3), I32(1)])  # to read, keep in all caches, data


def _transfer(eight: Eight, place: int, to: int, off: int) -> Eight:
    lanes = np.arange(int(place), int(place) + LANES)
    return eight + (lanes == int(to)) - (lanes == int(off))


@make_operation(_EIGHT, _transfer)
def transfer(code: Any, eight: Any, place: Any, to: Any, off: Any) -> Any:
    """Add 1 at ``to`` and subtract 1 at ``off``, if these are among the places ``place ... place + 7``."""
    for target, change in ((to, code.fadd), (off, code.fsub)):
        matches = code.icmp_unsigned("==", _LANE_NUMBERS, broadcast(code, code.sub(target, place), LANES))
        eight = code.select(matches, change(eight, _ONES), eight)
    return eight


@make_operation(_EIGHT, lambda: np.zeros(LANES))
def make_zeros(_code: Any) -> Any:
    """Return eight zeros."""
    return _ZEROS


@make_operation(_EIGHT, np.add)
def add(code: Any, a: Any, b: Any) -> Any:
    """Add lane by lane."""
    return code.fadd(a, b)


@make_operation(_EIGHT, np.multiply)
def multiply(code: Any, a: Any, b: Any) -> Any:
    """Multiply lane by lane."""
    return code.fmul(a, b)


def _sum_up(eight: Eight, reached: float) -> Eight:
    sums = eight
    for sources in _STEPS:
        sums = sums + np.array([sums[lane] if lane >= 0 else 0.0 for lane in sources])
    return sums + reached


@make_operation(_EIGHT, _sum_up)
def sum_up(code: Any, eight: Any, reached: Any) -> Any:
    """Return running sums of the lanes, starting from ``reached``."""
    for sources in _STEPS:
        lanes = make_shuffle([LANES + lane if lane >= 0 else 0 for lane in sources])
        eight = code.fadd(eight, code.shuffle_vector(_ZEROS, eight, lanes))
    return code.fadd(eight, broadcast(code, reached, LANES))


@make_operation(_EIGHT, lambda eight: np.concatenate([[0.0], eight[:-1]]))
def move_up(code: Any, eight: Any) -> Any:
    """Move every number up by one lane; the first becomes 0."""
    lanes = make_shuffle([0, *(LANES + lane for lane in range(LANES - 1))])
    return code.shuffle_vector(_ZEROS, eight, lanes)


@make_operation(NUMBER, lambda eight: float(eight[-1]))
def take_last(code: Any, eight: Any) -> Any:
    """Return the last of the eight numbers."""
    return code.extract_element(eight, I32(LANES - 1))


def _add_up(eight: Eight) -> float:
    while len(eight) > 1:
        half = len(eight) // 2
        eight = eight[:half] + eight[half:]
    return float(eight[0])


@make_operation(NUMBER, _add_up)
def add_up(code: Any, eight: Any) -> Any:
    """Return the sum of the eight numbers."""
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        halves = (make_shuffle(list(range(begin, begin + lanes))) for begin in (0, lanes))
        eight = code.fadd(*(code.shuffle_vector(eight, eight, half) for half in halves))
    return code.extract_element(eight, I32(0))


@make_operation(PLACE, lambda eight, u: np.uint64(np.count_nonzero(eight <= u)))
def count_at_most(code: Any, eight: Any, u: Any) -> Any:
    """Return the number of lanes that are at most ``u``, as an unsigned integer."""
    return count_marks(code, code.fcmp_ordered("<=", eight, broadcast(code, u, LANES)), LANES)
