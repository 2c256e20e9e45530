"""How numba is given LLVM's vector code: types held in vector registers, and operations on them.

LLVM turns such code into what the processor has: one register of AVX-512, two of AVX2, four of NEON or SSE2.
Additions come in an order of their own, the same on every machine.  Nothing is checked: arrays are
C-contiguous and places are in range.  With the compiler switched off every operation is its Python twin.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

I32, I64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
NUMBER, PLACE, NOTHING = types.float64, types.uint64, types.void  # what operations give back, beside vectors


def vector_type(name: str, held: Any) -> Any:
    """A numba type of this name that LLVM holds as ``held``."""

    class Vector(types.Type):
        def __init__(self) -> None:
            super().__init__(name=name)

    @register_model(Vector)
    class _Model(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, held)

    return Vector()


def operation(result: Any, twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
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


def order(lanes: list[int]) -> Any:
    """Which lanes a shuffle takes."""
    return ir.Constant(ir.VectorType(I32, len(lanes)), lanes)


def same(code: Any, value: Any, lanes: int) -> Any:
    """``value`` in every one of ``lanes`` lanes."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    return code.shuffle_vector(code.insert_element(undefined, value, I32(0)), undefined, order([0] * lanes))


def row(code: Any, table: Any, number: Any) -> Any:
    """Where row ``number`` of a two-dimensional array begins."""
    return code.gep(table.data, [code.mul(number, code.extract_value(table.shape, 1))])


def item(code: Any, begin: Any, place: Any) -> Any:
    """The number ``place`` behind ``begin``."""
    return code.load(code.gep(begin, [place]))


def sklansky(lanes: int) -> list[list[int]]:
    """What is added to every lane, step after step, to give running sums; -1 is nothing."""
    halves = [1 << step for step in range(lanes.bit_length() - 1)]
    return [[lane // half * half - 1 if lane // half % 2 else -1 for lane in range(lanes)] for half in halves]


def count_true(code: Any, mask: Any, lanes: int) -> Any:
    """How many lanes of a mask are set, as 64 bits."""
    narrow = code.bitcast(mask, ir.IntType(lanes))
    return code.zext(code.ctpop(code.zext(narrow, I32)), I64)
