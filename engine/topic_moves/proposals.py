"""One 64-bit word for every entry of a table: what most entries need to be drawn, in loops without a branch.

Most entries have no count, keep nothing and are ``Gam(eta)``, accepted at a glance.  So much is decided here, for
a group of rows at a time; the other entries are listed, and ``listed.py`` draws them.

The upper half of a word is ``v`` on (0, 1] and the entry's proposal ``x = v^(1 / eta)`` (Ahrens and Dieter's GS, 1974,
for eta below 1), whose logarithm so ends at ``-22 / eta``: what lies below has probability 2^-32.  Its two lower
quarters begin two uniforms, compared with the chance to keep nothing and the chance to be accepted.  Where the 16 bits
do not tell, the entry is listed and further bits are drawn, so that both chances are exact.
"""

from typing import Any, NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.gibbs.augment import tail_share, whole_root
from engine.gibbs.upper import place
from engine.jit import compiled, inlined
from engine.streams import mix
from engine.topic_moves.arithmetic import power
from engine.topic_moves.rows import row_stream

REFUSED, COUNTED, KEEPS = np.uint8(1), np.uint8(2), np.uint8(4)  # flags of entries that are listed
ENTRIES = 4096  # of a group: lists long enough for vectors, arrays short enough for the first cache

_S16, _S32 = np.uint64(16), np.uint64(32)
_QUARTER = np.uint64(0xFFFF)
HALF_UNIT = 1.0 / 4294967296.0  # 2^-32
QUARTER_UNIT = 1.0 / 65536.0  # 2^-16


class Prior(NamedTuple):
    """The shape of an entry without a count, and the whole number whose inverse it is, 0 where there is none."""

    eta: float
    root: int


def prior_of(eta: float) -> Prior:
    """``eta`` and its root."""
    return Prior(float(eta), whole_root(eta))


class Group(NamedTuple):
    """Room for the entries of some rows, one after another: words, rates kept, flags, and places that are listed."""

    words: Array
    rates: FloatArray
    flags: Array
    left: Array


@compiled
def group_rows(n_topics: int) -> int:
    """How many rows are drawn together: a power of 2 up to a block, whatever the number of threads."""
    rows = 64
    while rows > 1 and rows * n_topics > ENTRIES:
        rows //= 2
    return rows


@compiled
def new_group(n: int) -> Group:
    """Room for ``n`` entries that keep nothing."""
    return Group(np.empty(n, np.uint64), np.zeros(n), np.empty(n, np.uint8), np.empty(n, np.int64))


@inlined
def refusal(word: np.uint64) -> float:
    """The begin of the uniform that accepts or refuses, a multiple of 2^-16."""
    return np.float64((word >> _S16) & _QUARTER) * QUARTER_UNIT


@inlined
def keeping(word: np.uint64) -> float:
    """The begin of the uniform that tells how much is kept, a multiple of 2^-16."""
    return np.float64(word & _QUARTER) * QUARTER_UNIT


@inlined
def upper_half(word: np.uint64) -> float:
    """The uniform ``v`` on (0, 1]."""
    return (np.float64(word >> _S32) + 1.0) * HALF_UNIT


@compiled
def fill_words(
    seed: int, step: int, layer: int, first: int, last: int, counts: Array, words: Array, flags: Array
) -> None:
    """Write the words of rows ``first:last`` and flag the entries that have a count."""
    n_topics = len(words) // (last - first)
    for row in range(last - first):
        rng = row_stream(seed, step, layer, first + row)
        begin = row * n_topics
        for k in range(n_topics):
            i = place(begin + k)
            words[i] = mix(rng.state + rng.gamma * np.uint64(k + 1))
            flags[i] = COUNTED if counts[i] > 0 else 0


@compiled
def flag_kept(phi: FloatArray, kept: FloatArray, words: Array, rates: FloatArray, flags: Array) -> None:
    """Write ``kept_k phi_vk``, what an entry keeps on average, and flag those that may: ``1 - e^-rate < rate``."""
    n_topics = len(kept)
    for row in range(len(rates) // n_topics):
        begin = row * n_topics
        for k in range(n_topics):
            i = place(begin + k)
            rate = kept[place(k)] * phi[i]
            rates[i] = rate
            flags[i] |= KEEPS if keeping(words[i]) < rate else 0


@compiled
def propose(words: Array, prior: Prior, x: FloatArray) -> None:
    """Write ``x = v^(1 / eta)`` of every word."""
    if prior.root > 0:
        _whole_powers(words, prior.root, x)
    else:
        for i in range(len(x)):
            x[i] = power(upper_half(words[i]), 1.0 / prior.eta)


@compiled
def _whole_powers(words: Array, root: int, x: FloatArray) -> None:
    """Write ``v^root``: five binary digits of the power at once, then one after another."""
    rest = 0
    while root >> rest > 31:
        rest += 1
    top = root >> rest
    d4, d3, d2, d1, d0 = (top & 16) > 0, (top & 8) > 0, (top & 4) > 0, (top & 2) > 0, (top & 1) > 0
    for i in range(len(x)):
        v = upper_half(words[i])
        y = v if d4 else 1.0
        y = y * y * (v if d3 else 1.0)
        y = y * y * (v if d2 else 1.0)
        y = y * y * (v if d1 else 1.0)
        x[i] = y * y * (v if d0 else 1.0)
    while rest > 0:
        rest -= 1
        digit = (root >> rest & 1) > 0
        for i in range(len(x)):
            x[i] = x[i] * x[i] * (upper_half(words[i]) if digit else 1.0)


@compiled
def flag_refused(words: Array, x: FloatArray, eta: float, flags: Array) -> None:
    """Flag proposals that are not accepted at a glance, below the first terms of ``e^-x``."""
    most = 1.0 + tail_share(eta)
    for i in range(len(x)):
        bound = 1.0 - x[i] * (1.0 - x[i] * (1.0 / 2.0 - x[i] * (1.0 / 6.0)))
        flags[i] |= REFUSED if (refusal(words[i]) + QUARTER_UNIT) * most >= bound else 0


@compiled
def list_flagged(flags: Array, left: Array) -> Any:
    """List the places of flagged entries; how many there are."""
    n = place(0)
    for i in range(place(len(flags))):
        left[n] = i
        n += place(flags[i] != 0)
    return n


@compiled
def list_of(flag: int, flags: Array, left: Array, mine: Array) -> Any:
    """List those of the places in ``left`` that have one flag; how many there are."""
    n = place(0)
    for i in range(place(len(left))):
        mine[n] = left[i]
        n += place((flags[place(left[i])] & flag) != 0)
    return n
