"""The topics a document uses, packed into slots, so that a sweep looks at a few topics and not at all of them."""

from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.gibbs import simd_rows
from engine.gibbs.upper import NONE, place
from engine.jit import compiled, inlined

NOWHERE = place(0xFFFFFFFF)  # the slot of a topic that the document does not use


class Slots(NamedTuple):
    """The topics a document uses, packed: slot ``s`` has ``tokens[s]`` of topic ``topic[s]``; ``where`` finds slots.

    Behind the slots in use ``tokens`` is 0 and ``topic`` any topic, so that slots can be read many at a time.
    """

    topic: Array
    tokens: FloatArray
    where: Array
    sums: FloatArray


@compiled
def make_slots(n_topics: int) -> Slots:
    """Empty slots for a model of ``n_topics`` topics in layer 1."""
    room = n_topics + 3 * simd_rows.LANES
    return Slots(
        np.zeros(room, place), simd_rows.aligned(room), np.full(n_topics, NOWHERE, place), simd_rows.aligned(room)
    )


@inlined
def fill_slots(topics: Array, slots: Slots) -> int:
    """Count the topics of a document's tokens; returns how many slots are in use.

    Whether a token's topic is the first of its kind is a guess the processor would lose: nothing branches on it.
    """
    n = NONE
    for token in range(place(len(topics))):
        k = place(topics[token])
        slot = min(slots.where[k], n)
        slots.where[k] = slot
        slots.topic[slot] = k
        slots.tokens[slot] += 1.0
        n += place(slot == n)
    return np.int64(n)  # type: ignore[return-value]


@inlined
def open_slot(slots: Slots, n: int, k: int) -> int:
    """Make room for topic ``k`` behind the ``n`` slots in use."""
    slots.where[k] = n
    slots.topic[n] = k
    return n + 1


@inlined
def drop_empty(slots: Slots, n: int) -> int:
    """Close the gaps left by topics that lost their last token; returns how many slots remain."""
    kept = 0
    for slot in range(n):
        k = slots.topic[slot]
        if slots.tokens[slot] > 0.0:
            slots.topic[kept] = k
            slots.tokens[kept] = slots.tokens[slot]
            slots.where[k] = kept
            kept += 1
        else:
            slots.where[k] = NOWHERE
    for slot in range(kept, n):
        slots.tokens[slot] = 0.0
    return kept


@inlined
def empty_slots(slots: Slots, n: int) -> None:
    """Leave the slots as a new document wants to find them."""
    for slot in range(n):
        slots.where[slots.topic[slot]] = NOWHERE
        slots.tokens[slot] = 0.0
