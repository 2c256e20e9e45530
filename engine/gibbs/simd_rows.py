"""Eight float64 numbers at a time, in memory before and after: documents of many topics are swept so.

See ``simd.py`` for what the compiler makes of it, and ``registers.py`` for numbers that stay in registers.
"""

from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from engine.contract import Array, FloatArray
from engine.gibbs import simd
from engine.jit import compiled

Eight: TypeAlias = Any  # eight numbers in a register, an array of them with the compiler off

LANES = 8
_LINE = 64  # bytes of a cache line, and of eight numbers
_VECTOR = ir.VectorType(simd.DOUBLE, LANES)
_ZEROS, _ONES = ir.Constant(_VECTOR, [0.0] * LANES), ir.Constant(_VECTOR, [1.0] * LANES)
_COUNTING = ir.Constant(ir.VectorType(simd.I64, LANES), list(range(LANES)))
_EIGHT = simd.vector_type("Eight", _VECTOR)
_STEPS = simd.sklansky(LANES)


@compiled
def aligned(n: int) -> FloatArray:
    """``n`` zeros that begin where a cache line begins: a vector across two lines is slow to come back."""
    room = np.zeros(n + LANES)
    first = -np.int64(room.ctypes.data) % _LINE // 8
    return room[first : first + n]


def _at(code: Any, array: Any, place: Any) -> Any:
    return code.bitcast(code.gep(array.data, [place]), _VECTOR.as_pointer())


def _load(array: FloatArray, place: int) -> Eight:
    return array[int(place) : int(place) + LANES].copy()


@simd.operation(_EIGHT, _load)
def load(code: Any, array: Any, place: Any) -> Any:
    """``array[place : place + 8]``."""
    return code.load(_at(code, array, place), align=8)


def _store(array: FloatArray, place: int, eight: Eight) -> None:
    array[int(place) : int(place) + LANES] = eight


@simd.operation(simd.NOTHING, _store)
def store(code: Any, array: Any, place: Any, eight: Any) -> None:
    """``array[place : place + 8] = eight``."""
    code.store(eight, _at(code, array, place), align=8)


def _gather(table: FloatArray, number: int, columns: Array, place: int) -> Eight:
    return table[int(number), columns[int(place) : int(place) + LANES].astype(np.int64)]


@simd.operation(_EIGHT, _gather)
def gather(code: Any, table: Any, number: Any, columns: Any, place: Any) -> Any:
    """``table[number, columns[place : place + 8]]``; ``columns`` holds 64-bit places."""
    begin, first = simd.row(code, table, number), code.gep(columns.data, [place])
    eight = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        eight = code.insert_element(
            eight, simd.item(code, begin, simd.item(code, first, simd.I64(lane))), simd.I32(lane)
        )
    return eight


def _transfer(eight: Eight, place: int, to: int, off: int) -> Eight:
    lanes = np.arange(int(place), int(place) + LANES)
    return eight + (lanes == int(to)) - (lanes == int(off))


@simd.operation(_EIGHT, _transfer)
def transfer(code: Any, eight: Any, place: Any, to: Any, off: Any) -> Any:
    """Of places ``place ... place + 7``: 1 more at ``to`` and 1 less at ``off``, where these are among them."""
    for chosen, change in ((to, code.fadd), (off, code.fsub)):
        here = code.icmp_unsigned("==", _COUNTING, simd.same(code, code.sub(chosen, place), LANES))
        eight = code.select(here, change(eight, _ONES), eight)
    return eight


def _product(a: Eight, b: Eight) -> Eight:
    return a * b


@simd.operation(_EIGHT, _product)
def product(code: Any, a: Any, b: Any) -> Any:
    """Lane by lane."""
    return code.fmul(a, b)


def _running(eight: Eight, reached: float) -> Eight:
    sums = eight
    for sources in _STEPS:
        sums = sums + np.array([sums[lane] if lane >= 0 else 0.0 for lane in sources])
    return sums + reached


@simd.operation(_EIGHT, _running)
def running(code: Any, eight: Any, reached: Any) -> Any:
    """Running sums of the lanes, from ``reached`` on."""
    for sources in _STEPS:
        taken = simd.order([LANES + lane if lane >= 0 else 0 for lane in sources])
        eight = code.fadd(eight, code.shuffle_vector(_ZEROS, eight, taken))
    return code.fadd(eight, simd.same(code, reached, LANES))


def _last(eight: Eight) -> float:
    return float(eight[-1])


@simd.operation(simd.NUMBER, _last)
def last(code: Any, eight: Any) -> Any:
    """The eighth."""
    return code.extract_element(eight, simd.I32(LANES - 1))


def _not_above(eight: Eight, u: float) -> np.uint64:
    return np.uint64(np.count_nonzero(eight <= u))


@simd.operation(simd.PLACE, _not_above)
def not_above(code: Any, eight: Any, u: Any) -> Any:
    """How many lanes are at most ``u``, as an unsigned place."""
    return simd.count_true(code, code.fcmp_ordered("<=", eight, simd.same(code, u, LANES)), LANES)
