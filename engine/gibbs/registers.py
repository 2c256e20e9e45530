"""Operations on numbers in processor registers: number ``s`` is lane ``s // n`` of vector ``s % n``.

A document of at most eight, sixteen or twenty-four topics is swept with all its counts in registers.  In this order,
running sums move numbers between the lanes of one vector only: first each lane is summed over the vectors; then the
sums of the lanes are added up within the last vector.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import simd

LANES = 4  # float64 numbers in a register of AVX2
_VECTOR = ir.VectorType(simd.DOUBLE, LANES)
_ZEROS, _ONES = ir.Constant(_VECTOR, [0.0] * LANES), ir.Constant(_VECTOR, [1.0] * LANES)
_STEPS = simd.list_prefix_steps(LANES)
# Shuffle that takes 0 for the first lane, and else the previous lane.
_PREVIOUS_LANE = [0, *(LANES + lane for lane in range(LANES - 1))]


class Registers(NamedTuple):
    """Operations on ``size`` numbers at once, described in :class:`_Twins`."""

    size: int
    load: Any
    store: Any
    gather: Any
    transfer: Any
    multiply: Any
    sum_up: Any
    take_last: Any
    count_at_most: Any


def make_registers(n: int) -> Registers:
    """Return operations on numbers in ``n`` vectors; :class:`_Twins` defines each of them."""
    code, twins = _Writer(n), _Twins(n)
    numbers = simd.make_vector_type(f"Registers{n}", code.kind)
    results = {"store": simd.NOTHING, "take_last": simd.NUMBER, "count_at_most": simd.PLACE}
    names = Registers._fields[1:]
    operations = [
        simd.make_operation(results.get(name, numbers), getattr(twins, name))(getattr(code, name)) for name in names
    ]
    return Registers(twins.size, *operations)


class _Writer:
    """Writer of the LLVM code of the operations; the vectors are held in an LLVM array value, never in memory."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.kind = ir.ArrayType(_VECTOR, n)
        self.places = [(vector, lane, simd.I64(lane * n + vector)) for vector in range(n) for lane in range(LANES)]
        kind = ir.VectorType(simd.I64, LANES)
        self.positions = [ir.Constant(kind, [lane * n + vector for lane in range(LANES)]) for vector in range(n)]

    def _split(self, code: Any, joined: Any) -> list[Any]:
        """Return the vectors of an LLVM array value."""
        return [code.extract_value(joined, vector) for vector in range(self.n)]

    def _join(self, code: Any, vectors: list[Any]) -> Any:
        """Return vectors as one LLVM array value."""
        joined = ir.Constant(self.kind, ir.Undefined)
        for vector, part in enumerate(vectors):
            joined = code.insert_value(joined, part, vector)
        return joined

    def _build(self, code: Any, find: Callable[[Any], Any]) -> Any:
        """Return the numbers that ``find`` gives for every place, as one LLVM array value."""
        vectors = [ir.Constant(_VECTOR, ir.Undefined)] * self.n
        for vector, lane, place in self.places:
            vectors[vector] = code.insert_element(vectors[vector], find(place), simd.I32(lane))
        return self._join(code, vectors)

    def load(self, code: Any, array: Any) -> Any:
        return self._build(code, lambda place: simd.load_item(code, array.data, place))

    def store(self, code: Any, array: Any, numbers: Any) -> None:
        vectors = self._split(code, numbers)
        for vector, lane, place in self.places:
            code.store(code.extract_element(vectors[vector], simd.I32(lane)), code.gep(array.data, [place]))

    def gather(self, code: Any, table: Any, number: Any, columns: Any) -> Any:
        begin = simd.point_to_row(code, table, number)
        return self._build(code, lambda place: simd.load_item(code, begin, simd.load_item(code, columns.data, place)))

    def transfer(self, code: Any, numbers: Any, to: Any, off: Any) -> Any:
        vectors = self._split(code, numbers)
        for place, change in ((to, code.fadd), (off, code.fsub)):
            places = simd.broadcast(code, place, LANES)
            for vector, part in enumerate(vectors):
                matches = code.icmp_unsigned("==", self.positions[vector], places)
                vectors[vector] = code.select(matches, change(part, _ONES), part)
        return self._join(code, vectors)

    def multiply(self, code: Any, a: Any, b: Any) -> Any:
        pairs = zip(self._split(code, a), self._split(code, b), strict=True)
        return self._join(code, [code.fmul(x, y) for x, y in pairs])

    def sum_up(self, code: Any, numbers: Any) -> Any:
        rounds = self._split(code, numbers)
        for vector in range(1, self.n):
            rounds[vector] = code.fadd(rounds[vector - 1], rounds[vector])
        ends = rounds[-1]
        for sources in _STEPS:
            lanes = simd.make_shuffle([LANES + lane if lane >= 0 else 0 for lane in sources])
            ends = code.fadd(ends, code.shuffle_vector(_ZEROS, ends, lanes))
        reached = code.shuffle_vector(_ZEROS, ends, simd.make_shuffle(_PREVIOUS_LANE))
        return self._join(code, [*(code.fadd(reached, part) for part in rounds[:-1]), ends])

    def take_last(self, code: Any, numbers: Any) -> Any:
        return code.extract_element(self._split(code, numbers)[-1], simd.I32(LANES - 1))

    def count_at_most(self, code: Any, numbers: Any, u: Any) -> Any:
        limit, total = simd.broadcast(code, u, LANES), simd.I64(0)
        for part in self._split(code, numbers):
            total = code.add(total, simd.count_marks(code, code.fcmp_ordered("<=", part, limit), LANES))
        return total


class _Twins:
    """The operations in NumPy, for use without the compiler: numbers and masks are plain arrays in natural order."""

    def __init__(self, n: int) -> None:
        self.n, self.size = n, n * LANES

    def load(self, array: FloatArray) -> FloatArray:
        """Return the first ``size`` numbers of an array."""
        return array[: self.size].copy()

    def store(self, array: FloatArray, numbers: FloatArray) -> None:
        """Write the numbers to the first ``size`` places of an array."""
        array[: self.size] = numbers

    def gather(self, table: FloatArray, number: int, columns: Array) -> FloatArray:
        """Return ``table[number, columns[:size]]``; ``columns`` holds 64-bit places."""
        picked: FloatArray = table[int(number), columns[: self.size].astype(np.int64)]
        return picked

    def transfer(self, numbers: FloatArray, to: int, off: int) -> FloatArray:
        """Add 1 at place ``to`` and subtract 1 at place ``off``; places out of range are ignored."""
        return numbers + (np.arange(self.size) == int(to)) - (np.arange(self.size) == int(off))

    def multiply(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Multiply number by number."""
        return a * b

    def sum_up(self, numbers: FloatArray) -> FloatArray:
        """Return running sums."""
        rounds = np.cumsum(numbers.reshape(LANES, self.n), axis=1)
        ends = rounds[:, -1]
        for sources in _STEPS:
            ends = ends + np.array([ends[lane] if lane >= 0 else 0.0 for lane in sources])
        reached = np.concatenate([[0.0], ends[:-1]])
        return np.column_stack([reached[:, None] + rounds[:, :-1], ends]).ravel()

    def take_last(self, numbers: FloatArray) -> float:
        """Return the last number."""
        return float(numbers[-1])

    def count_at_most(self, numbers: FloatArray, u: float) -> np.uint64:
        """Return how many numbers are at most ``u``, as an unsigned place."""
        return np.uint64(np.count_nonzero(numbers <= u))
