"""Random proposals for the entries of a table, made from one 64-bit word each, in loops without a branch.

Most entries have no count, keep nothing of their topic, and are ``Gam(eta)`` draws that a quick test accepts.  These
are drawn here, a group of rows at a time; the other entries are listed, and ``dirichlet.py`` draws them.

The upper half of a word is ``v`` on (0, 1] and the entry's proposal ``x = v^(1 / eta)`` (Ahrens and Dieter's GS, 1974,
for eta below 1), whose logarithm is at least ``-22 / eta``: smaller values have probability 2^-32.  Its two lower
quarters are the first bits of two uniforms, compared with the chance to keep nothing and the chance to be accepted.
If the 16 bits do not decide, the entry is listed and further bits are drawn, so that both chances are exact.

The functions for logarithms, exponentials and sines use products and sums alone, as those of ``gammas.py`` do.  If only
the chance to be accepted or the size of noise depends on them, they use single precision, eight numbers to a register
of AVX2: an error of 1e-7 there changes a law by as much, which 10^13 draws would not show.
"""

from math import factorial, log, pi
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import compute_tail_share, find_root
from topiary.engine.gibbs.gammas import power
from topiary.engine.gibbs.upper import uint
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import mix_bits
from topiary.engine.topic_moves.rows import LayerAddress, start_row_stream

_LOG_2_SINGLE = np.float32(log(2.0))
_S23 = np.int32(23)
_ROOT_HALF_SINGLE = np.int32(0x3F3504F3)
_PI = np.float32(pi)
_ONE, _TWO, _MINUS_QUARTER = np.float32(1.0), np.float32(2.0), np.float32(-0.25)
_THIRD, _FIFTH, _SEVENTH, _NINTH = (np.float32(1.0 / n) for n in (3, 5, 7, 9))
_E2, _E3, _E4, _E5, _E6 = (np.float32(1.0 / factorial(n)) for n in range(2, 7))
_S3, _S5, _S7, _S9, _S11 = (np.float32((-1) ** (n // 2) / factorial(n)) for n in range(3, 12, 2))


@inlined
def single_logarithm(x: np.float32) -> np.float32:
    """Return ``ln x`` of a positive normal float32."""
    bits = np.float32(x).view(np.int32)
    exponent = np.int32((bits - _ROOT_HALF_SINGLE) >> _S23)
    m = np.int32(bits - (exponent << _S23)).view(np.float32)
    s = (m - _ONE) / (m + _ONE)
    z = s * s
    return np.float32(exponent) * _LOG_2_SINGLE + _TWO * s * (
        _ONE + z * (_THIRD + z * (_FIFTH + z * (_SEVENTH + z * _NINTH)))
    )


@inlined
def single_exp_minus(x: np.float32) -> np.float32:
    """Return ``e^-x`` of a float32 from 0 to 1: a series for x / 4, squared twice.  At 3 it is accurate to 1e-5."""
    y = x * _MINUS_QUARTER
    e = _ONE + y * (_ONE + y * (_E2 + y * (_E3 + y * (_E4 + y * (_E5 + y * _E6)))))
    e *= e
    return e * e


@inlined
def single_sine(y: np.float32) -> np.float32:
    """Return ``sin(pi y)`` of a float32 from -1/2 to 1/2."""
    x = y * _PI
    z = x * x
    return x * (_ONE + z * (_S3 + z * (_S5 + z * (_S7 + z * (_S9 + z * _S11)))))


REFUSED, COUNTED, KEEPS = np.uint8(1), np.uint8(2), np.uint8(4)  # flags of entries that are listed
ENTRIES = 4096  # entries of a group: long enough for vector code, short enough for the first-level cache

_S16, _S32 = np.uint64(16), np.uint64(32)
_QUARTER = np.uint64(0xFFFF)
HALF_UNIT = 1.0 / 4294967296.0  # 2^-32
QUARTER_UNIT = 1.0 / 65536.0  # 2^-16


class EntryPrior(NamedTuple):
    """The shape ``eta`` of an entry without a count, and ``root = 1 / eta`` if that is a whole number, else 0."""

    eta: float
    root: int


def make_prior(eta: float) -> EntryPrior:
    """Return the prior of shape ``eta``."""
    return EntryPrior(float(eta), find_root(eta))


class Group(NamedTuple):
    """Scratch space for the entries of some rows, one after another: words, kept rates, flags, and listed places."""

    words: Array
    rates: FloatArray
    flags: Array
    places: Array


@compiled
def count_group_rows(n_topics: int) -> int:
    """Return the number of rows drawn together: a power of 2 up to 64, whatever the number of threads."""
    rows = 64
    while rows > 1 and rows * n_topics > ENTRIES:
        rows //= 2
    return rows


@compiled
def make_group(n: int) -> Group:
    """Return scratch space for ``n`` entries that keep nothing."""
    return Group(np.empty(n, np.uint64), np.zeros(n), np.empty(n, np.uint8), np.empty(n, np.int64))


@inlined
def take_refusal(word: np.uint64) -> float:
    """Return the first bits of the uniform of the acceptance test, a multiple of 2^-16."""
    return np.float64((word >> _S16) & _QUARTER) * QUARTER_UNIT


@inlined
def take_keeping(word: np.uint64) -> float:
    """Return the first bits of the uniform that decides how much is kept, a multiple of 2^-16."""
    return np.float64(word & _QUARTER) * QUARTER_UNIT


@inlined
def take_upper_half(word: np.uint64) -> float:
    """Return the uniform ``v`` on (0, 1]."""
    return (np.float64(word >> _S32) + 1.0) * HALF_UNIT


@compiled
def fill_words(at: LayerAddress, first: int, last: int, counts: Array, words: Array, flags: Array) -> None:
    """Write the words of rows ``first:last`` and flag the entries that have a count."""
    n_topics = len(words) // (last - first)
    for row in range(last - first):
        rng = start_row_stream(at, first + row)
        offset = row * n_topics
        for k in range(n_topics):
            i = uint(offset + k)
            words[i] = mix_bits(rng.state + rng.gamma * np.uint64(k + 1))
            flags[i] = COUNTED if counts[i] > 0 else 0


@compiled
def flag_kept(phi: FloatArray, kept: FloatArray, words: Array, rates: FloatArray, flags: Array) -> None:
    """Write ``rate = kept_k phi_vk``, and flag entries that may keep words: their chance is ``1 - e^-rate < rate``."""
    n_topics = len(kept)
    for row in range(len(rates) // n_topics):
        offset = row * n_topics
        for k in range(n_topics):
            i = uint(offset + k)
            rate = kept[uint(k)] * phi[i]
            rates[i] = rate
            flags[i] |= KEEPS if take_keeping(words[i]) < rate else 0


@compiled
def propose_gammas(words: Array, prior: EntryPrior, x: FloatArray) -> None:
    """Write the proposal ``x = v^(1 / eta)`` of every word."""
    if prior.root > 0:
        _raise_to_root(words, prior.root, x)
    else:
        for i in range(len(x)):
            x[i] = power(take_upper_half(words[i]), 1.0 / prior.eta)


@compiled
def _raise_to_root(words: Array, root: int, x: FloatArray) -> None:
    """Write ``v^root`` of every word: the first five binary digits of the power at once, then one at a time."""
    n_later = 0
    while root >> n_later > 31:
        n_later += 1
    top = root >> n_later
    d4, d3, d2, d1, d0 = (top & 16) > 0, (top & 8) > 0, (top & 4) > 0, (top & 2) > 0, (top & 1) > 0
    for i in range(len(x)):
        v = take_upper_half(words[i])
        y = v if d4 else 1.0
        y = y * y * (v if d3 else 1.0)
        y = y * y * (v if d2 else 1.0)
        y = y * y * (v if d1 else 1.0)
        x[i] = y * y * (v if d0 else 1.0)
    while n_later > 0:
        n_later -= 1
        digit = (root >> n_later & 1) > 0
        for i in range(len(x)):
            x[i] = x[i] * x[i] * (take_upper_half(words[i]) if digit else 1.0)


@compiled
def flag_refused(words: Array, x: FloatArray, eta: float, flags: Array) -> None:
    """Flag proposals that the quick test does not accept; it compares the uniform with the first terms of ``e^-x``."""
    most = 1.0 + compute_tail_share(eta)
    for i in range(len(x)):
        bound = 1.0 - x[i] * (1.0 - x[i] * (1.0 / 2.0 - x[i] * (1.0 / 6.0)))
        flags[i] |= REFUSED if (take_refusal(words[i]) + QUARTER_UNIT) * most >= bound else 0


@compiled
def list_marked(flag: int, flags: Array, places: Array, mine: Array) -> Any:
    """Write those of ``places`` whose entries have one flag to ``mine``, and return how many there are."""
    n = uint(0)
    for i in range(uint(len(places))):
        mine[n] = places[i]
        n += uint((flags[uint(places[i])] & flag) != 0)
    return n
