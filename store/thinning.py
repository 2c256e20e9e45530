"""Which snapshots of a run are kept as it grows: a rule of mini-batch numbers alone, never of the clock.

Kept are

1. the first snapshot in each cell of an even grid over the whole run: cells of ``2^k`` mini-batches, with the
   smallest ``k`` that needs at most 64 of them (so old ones are given up as the run gets longer);
2. the first snapshot in each quarter of an octave, ``[2^(q/4), 2^((q+1)/4))`` (topics change fastest early);
3. the 16 latest.

A cell of the larger grid is made of whole cells of the smaller one, so what is given up once would never be
wanted again, and a run that was stopped and resumed ends with the same snapshots as one never stopped.  At most
about 170 remain after two million mini-batches.

A run that is to keep at most so many has half of them as its latest, and the rest on an even grid of as many cells.
"""

import math
from collections.abc import Iterable

CELLS = 64
PER_OCTAVE = 4
LATEST = 16


def kept(minibatches: Iterable[int], most: int | None = None) -> set[int]:
    """The mini-batch numbers of the snapshots to keep, out of those there are; at most ``most``, at least 2."""
    present = sorted(set(minibatches))
    if not present:
        return set()
    latest = LATEST if most is None else most // 2
    even = _firsts(present, CELLS if most is None else most - latest)
    early: dict[int, int] = {}
    for minibatch in present if most is None else ():
        early.setdefault(_quarter(minibatch), minibatch)
    return even | set(early.values()) | set(present[-latest:])


def _firsts(present: list[int], cells: int) -> set[int]:
    """The first in each of at most so many cells, the smallest of a power of two that are no more."""
    width = 1
    while present[-1] // width >= cells:
        width *= 2
    found: dict[int, int] = {}
    for minibatch in present:
        found.setdefault(minibatch // width, minibatch)
    return set(found.values())


def evenly(minibatches: Iterable[int], most: int) -> set[int]:
    """At most so many of them: the last, then the first, then those evenly between."""
    present = sorted(set(minibatches))
    if len(present) <= most:
        return set(present)
    if most <= 1:
        return set(present[-1:])
    return {present[round(place * (len(present) - 1) / (most - 1))] for place in range(most)}


def _quarter(minibatch: int) -> int:
    """The quarter of an octave that a number is in; -1 for 0."""
    if minibatch == 0:
        return -1
    octave = minibatch.bit_length() - 1
    return PER_OCTAVE * octave + int(PER_OCTAVE * math.log2(minibatch / 2**octave))
