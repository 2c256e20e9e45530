"""Eight float64 numbers at a time: the few vector operations of the hottest loop.

What numba is given here is LLVM's vector code, which LLVM turns into what the processor has: one register of
AVX-512, two of AVX2, four of NEON or SSE2.  Additions come in an order of their own, the same on every machine.
Arrays are C-contiguous and places are in range: nothing is checked.  With the compiler switched off every
operation is its Python twin.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from engine.contract import Array, FloatArray
from engine.jit import compiled

Eight: TypeAlias = Any  # eight numbers in a register, an array of them with the compiler off

LANES = 8
_LINE = 64  # bytes of a cache line, and of eight numbers
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_ZEROS, _ONES = ir.Constant(_VECTOR, [0.0] * LANES), ir.Constant(_VECTOR, [1.0] * LANES)
_COUNTING = ir.Constant(ir.VectorType(_I64, LANES), list(range(LANES)))


class _EightType(types.Type):
    """The numba type of eight numbers."""

    def __init__(self) -> None:
        super().__init__(name="Eight")


@register_model(_EightType)
class _EightModel(models.PrimitiveModel):
    """Held by LLVM as one vector."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


_EIGHT = _EightType()


@compiled
def aligned(n: int) -> FloatArray:
    """``n`` zeros that begin where a cache line begins: a vector across two lines is slow to come back."""
    room = np.zeros(n + LANES)
    first = -np.int64(room.ctypes.data) % _LINE // 8
    return room[first : first + n]


def _operation(result: Any, twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make numba's intrinsic of a function that writes the LLVM code of an operation; ``twin`` is its Python.

    What writes the code gets arrays as numba's structures and integers as 64 bits.
    """

    def decorate(write: Callable[..., Any]) -> Any:
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return twin

        def generate(context: Any, code: Any, signature: Any, values: Any) -> Any:
            pairs = zip(signature.args, values, strict=True)
            written = write(code, *(_plain(context, code, kind, value) for kind, value in pairs))
            return context.get_dummy_value() if written is None else written

        @wraps(write)  # numba reads the number of arguments there
        def typed(_typing: Any, *kinds: Any) -> Any:
            return result(*kinds), generate

        return intrinsic(typed)

    return decorate


def _plain(context: Any, code: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, code, value)
    return context.cast(code, value, kind, types.int64) if isinstance(kind, types.Integer) else value


def _at(code: Any, array: Any, place: Any) -> Any:
    return code.bitcast(code.gep(array.data, [place]), _VECTOR.as_pointer())


def _same(code: Any, value: Any) -> Any:
    """``value`` in every lane."""
    vector = ir.VectorType(value.type, LANES)
    first = code.insert_element(ir.Constant(vector, ir.Undefined), value, _I32(0))
    return code.shuffle_vector(first, ir.Constant(vector, ir.Undefined), _order([0] * LANES))


def _order(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(_I32, LANES), lanes)


def _load(array: FloatArray, place: int) -> Eight:
    return array[int(place) : int(place) + LANES].copy()


@_operation(_EIGHT, _load)
def load(code: Any, array: Any, place: Any) -> Any:
    """``array[place : place + 8]``."""
    return code.load(_at(code, array, place), align=8)


def _store(array: FloatArray, place: int, eight: Eight) -> None:
    array[int(place) : int(place) + LANES] = eight


@_operation(types.void, _store)
def store(code: Any, array: Any, place: Any, eight: Any) -> None:
    """``array[place : place + 8] = eight``."""
    code.store(eight, _at(code, array, place), align=8)


def _gather(table: FloatArray, row: int, columns: Array, place: int) -> Eight:
    return table[int(row), columns[int(place) : int(place) + LANES].astype(np.int64)]


@_operation(_EIGHT, _gather)
def gather(code: Any, table: Any, row: Any, columns: Any, place: Any) -> Any:
    """``table[row, columns[place : place + 8]]``; ``columns`` holds 64-bit places."""
    width = code.extract_value(table.shape, 1)
    begin = code.gep(table.data, [code.mul(row, width)])
    first = code.gep(columns.data, [place])
    eight = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        column = code.load(code.gep(first, [_I64(lane)]))
        eight = code.insert_element(eight, code.load(code.gep(begin, [column])), _I32(lane))
    return eight


def _transfer(eight: Eight, place: int, to: int, off: int) -> Eight:
    lanes = np.arange(int(place), int(place) + LANES)
    return eight + (lanes == int(to)) - (lanes == int(off))


@_operation(_EIGHT, _transfer)
def transfer(code: Any, eight: Any, place: Any, to: Any, off: Any) -> Any:
    """Of places ``place ... place + 7``: 1 more at ``to`` and 1 less at ``off``, where these are among them."""
    for chosen, change in ((to, code.fadd), (off, code.fsub)):
        here = code.icmp_unsigned("==", _COUNTING, _same(code, code.sub(chosen, place)))
        eight = change(eight, code.select(here, _ONES, _ZEROS))
    return eight


def _product(a: Eight, b: Eight) -> Eight:
    return a * b


@_operation(_EIGHT, _product)
def product(code: Any, a: Any, b: Any) -> Any:
    """Lane by lane."""
    return code.fmul(a, b)


def _running(eight: Eight, reached: float) -> Eight:
    sums = eight
    for sources in _SKLANSKY:
        sums = sums + np.array([sums[lane] if lane >= 0 else 0.0 for lane in sources])
    return sums + reached


# What is added to every lane in three steps that give running sums; -1 is nothing.
_SKLANSKY = [[lane // half * half - 1 if lane // half % 2 else -1 for lane in range(LANES)] for half in (1, 2, 4)]


@_operation(_EIGHT, _running)
def running(code: Any, eight: Any, reached: Any) -> Any:
    """Running sums of the lanes, from ``reached`` on."""
    for sources in _SKLANSKY:
        order = _order([LANES + lane if lane >= 0 else 0 for lane in sources])
        eight = code.fadd(eight, code.shuffle_vector(_ZEROS, eight, order))
    return code.fadd(eight, _same(code, reached))


def _last(eight: Eight) -> float:
    return float(eight[-1])


@_operation(types.float64, _last)
def last(code: Any, eight: Any) -> Any:
    """The eighth."""
    return code.extract_element(eight, _I32(LANES - 1))


def _not_above(eight: Eight, u: float) -> np.uint64:
    return np.uint64(np.count_nonzero(eight <= u))


@_operation(types.uint64, _not_above)
def not_above(code: Any, eight: Any, u: Any) -> Any:
    """How many lanes are at most ``u``, as an unsigned place."""
    lanes = code.bitcast(code.fcmp_ordered("<=", eight, _same(code, u)), ir.IntType(LANES))
    return code.zext(code.ctpop(lanes), _I64)
