"""Few numbers in registers, dealt like cards: number ``s`` lies in hand ``s % n``, and is its ``s // n``-th card.

A document of at most eight, sixteen or twenty-four topics is swept without its counts touching memory.
Running sums over numbers so dealt need steps between lanes in one of the vectors only: first each
round of cards is summed, hand after hand; then the rounds, within the vector of the last hand.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from engine.contract import Array, FloatArray
from engine.gibbs import simd

CARDS = 4  # of a hand: float64 numbers in a register of AVX2
_VECTOR, _BITS = ir.VectorType(simd.DOUBLE, CARDS), ir.VectorType(ir.IntType(1), CARDS)
_ZEROS, _ONES = ir.Constant(_VECTOR, [0.0] * CARDS), ir.Constant(_VECTOR, [1.0] * CARDS)
_STEPS = simd.sklansky(CARDS)
_BEFORE = [0, *(CARDS + card for card in range(CARDS - 1))]  # nothing, then the card before


class Deal(NamedTuple):
    """Operations on ``room`` numbers at once; a mask has a bit for every number."""

    room: int
    load: Any
    store: Any
    gather: Any
    transfer: Any
    product: Any
    running: Any
    last: Any
    raised: Any
    not_above: Any
    ahead_of: Any
    count: Any


def deal(n: int) -> Deal:
    """Operations on numbers dealt to ``n`` hands; :class:`_Twins` says what each of them does."""
    code, twins = _Code(n), _Twins(n)
    numbers, mask = simd.vector_type(f"Dealt{n}", code.held), simd.vector_type(f"DealtMask{n}", code.bits)
    results = {"store": simd.NOTHING, "last": simd.NUMBER, "count": simd.PLACE, "not_above": mask, "ahead_of": mask}
    names = Deal._fields[1:]
    made = [simd.operation(results.get(name, numbers), getattr(twins, name))(getattr(code, name)) for name in names]
    return Deal(twins.room, *made)


class _Code:
    """What writes the LLVM code of the operations: one vector a hand, in an array of LLVM's, never in memory."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.held, self.bits = ir.ArrayType(_VECTOR, n), ir.ArrayType(_BITS, n)
        self.places = [(hand, card, simd.I64(card * n + hand)) for hand in range(n) for card in range(CARDS)]
        kind = ir.VectorType(simd.I64, CARDS)
        self.numbered = [ir.Constant(kind, [card * n + hand for card in range(CARDS)]) for hand in range(n)]

    def _hands(self, code: Any, together: Any) -> list[Any]:
        return [code.extract_value(together, hand) for hand in range(self.n)]

    def _together(self, code: Any, hands: list[Any], kind: Any = None) -> Any:
        together = ir.Constant(kind or self.held, ir.Undefined)
        for hand, part in enumerate(hands):
            together = code.insert_value(together, part, hand)
        return together

    def _dealt(self, code: Any, find: Callable[[Any], Any]) -> Any:
        hands = [ir.Constant(_VECTOR, ir.Undefined)] * self.n
        for hand, card, place in self.places:
            hands[hand] = code.insert_element(hands[hand], find(place), simd.I32(card))
        return self._together(code, hands)

    def load(self, code: Any, array: Any) -> Any:
        return self._dealt(code, lambda place: simd.item(code, array.data, place))

    def store(self, code: Any, array: Any, dealt: Any) -> None:
        hands = self._hands(code, dealt)
        for hand, card, place in self.places:
            code.store(code.extract_element(hands[hand], simd.I32(card)), code.gep(array.data, [place]))

    def gather(self, code: Any, table: Any, number: Any, columns: Any) -> Any:
        begin = simd.row(code, table, number)
        return self._dealt(code, lambda place: simd.item(code, begin, simd.item(code, columns.data, place)))

    def transfer(self, code: Any, dealt: Any, to: Any, off: Any) -> Any:
        hands = self._hands(code, dealt)
        for chosen, change in ((to, code.fadd), (off, code.fsub)):
            request = simd.same(code, chosen, CARDS)
            for hand, part in enumerate(hands):
                here = code.icmp_unsigned("==", self.numbered[hand], request)
                hands[hand] = code.select(here, change(part, _ONES), part)
        return self._together(code, hands)

    def product(self, code: Any, a: Any, b: Any) -> Any:
        pairs = zip(self._hands(code, a), self._hands(code, b), strict=True)
        return self._together(code, [code.fmul(x, y) for x, y in pairs])

    def running(self, code: Any, dealt: Any) -> Any:
        rounds = self._hands(code, dealt)
        for hand in range(1, self.n):
            rounds[hand] = code.fadd(rounds[hand - 1], rounds[hand])
        ends = rounds[-1]
        for sources in _STEPS:
            lanes = simd.order([CARDS + lane if lane >= 0 else 0 for lane in sources])
            ends = code.fadd(ends, code.shuffle_vector(_ZEROS, ends, lanes))
        reached = code.shuffle_vector(_ZEROS, ends, simd.order(_BEFORE))
        return self._together(code, [*(code.fadd(reached, part) for part in rounds[:-1]), ends])

    def last(self, code: Any, dealt: Any) -> Any:
        return code.extract_element(self._hands(code, dealt)[-1], simd.I32(CARDS - 1))

    def raised(self, code: Any, dealt: Any, extra: Any, spared: Any) -> Any:
        more, pairs = (
            simd.same(code, extra, CARDS),
            zip(self._hands(code, dealt), self._hands(code, spared), strict=True),
        )
        return self._together(code, [code.select(bit, part, code.fadd(part, more)) for part, bit in pairs])

    def not_above(self, code: Any, dealt: Any, u: Any) -> Any:
        limit = simd.same(code, u, CARDS)
        found = [code.fcmp_ordered("<=", part, limit) for part in self._hands(code, dealt)]
        return self._together(code, found, self.bits)

    def ahead_of(self, code: Any, place: Any) -> Any:
        limit = simd.same(code, place, CARDS)
        found = [code.icmp_unsigned("<", numbers, limit) for numbers in self.numbered]
        return self._together(code, found, self.bits)

    def count(self, code: Any, mask: Any) -> Any:
        total = simd.I64(0)
        for hand in self._hands(code, mask):
            total = code.add(total, simd.count_true(code, hand, CARDS))
        return total


class _Twins:
    """What the operations do, in NumPy: numbers and masks are plain arrays in their own order."""

    def __init__(self, n: int) -> None:
        self.n, self.room = n, n * CARDS

    def load(self, array: FloatArray) -> FloatArray:
        """The first numbers of an array."""
        return array[: self.room].copy()

    def store(self, array: FloatArray, dealt: FloatArray) -> None:
        """Put the numbers where an array begins."""
        array[: self.room] = dealt

    def gather(self, table: FloatArray, number: int, columns: Array) -> FloatArray:
        """``table[number, columns[:room]]``; ``columns`` holds 64-bit places."""
        picked: FloatArray = table[int(number), columns[: self.room].astype(np.int64)]
        return picked

    def transfer(self, dealt: FloatArray, to: int, off: int) -> FloatArray:
        """1 more at place ``to`` and 1 less at ``off``, where there are such places."""
        return dealt + (np.arange(self.room) == int(to)) - (np.arange(self.room) == int(off))

    def product(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Number by number."""
        return a * b

    def running(self, dealt: FloatArray) -> FloatArray:
        """Running sums."""
        rounds = np.cumsum(dealt.reshape(CARDS, self.n), axis=1)
        ends = rounds[:, -1]
        for sources in _STEPS:
            ends = ends + np.array([ends[lane] if lane >= 0 else 0.0 for lane in sources])
        reached = np.concatenate([[0.0], ends[:-1]])
        return np.column_stack([reached[:, None] + rounds[:, :-1], ends]).ravel()

    def last(self, dealt: FloatArray) -> float:
        """The last number."""
        return float(dealt[-1])

    def raised(self, dealt: FloatArray, extra: float, spared: Array) -> FloatArray:
        """``extra`` more everywhere but where the mask is set."""
        return np.where(spared, dealt, dealt + extra)

    def not_above(self, dealt: FloatArray, u: float) -> Array:
        """The mask of numbers at most ``u``."""
        return dealt <= u

    def ahead_of(self, place: int) -> Array:
        """The mask of the places ahead of ``place``."""
        return np.arange(self.room) < int(place)

    def count(self, mask: Array) -> np.uint64:
        """How many bits are set, as an unsigned place."""
        return np.uint64(np.count_nonzero(mask))
