"""Gammas of any shapes, many at a time: loops without a branch, and a few draws that these cannot decide.

``Gam(a)`` is the cube of a normal (Marsaglia and Tsang, 2000); for a below 1 it is ``Gam(a + 1) u^(1 / a)``.  The
functions for logarithms and powers use products and sums alone, so that loops over them are compiled to vector code,
which loops over the functions of ``math`` are not.
"""

from math import log
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import augment
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Stream, mix_bits

_LOG_2 = log(2.0)
_LEAST = -708.0  # for smaller x, e^x is not a normal number
_BIAS, _S52 = np.int64(1023), np.int64(52)
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
_ONE, _TWO = np.uint64(1), np.uint64(2)
_S8, _S11, _S32 = np.uint64(8), np.uint64(11), np.int64(32)
_MASK24 = np.uint64(0xFFFFFF)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53
_UNIT24 = 1.0 / 16777216.0  # 2^-24
_UNIT31 = 1.0 / 2147483648.0  # 2^-31


@inlined
def logarithm(x: float) -> float:
    """Return ``ln x`` of a positive normal float64, to 1e-10, from its exponent and a series for its mantissa."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits - _ROOT_HALF) >> _S52
    m = np.int64(bits - (exponent << _S52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0))))
    return np.float64(exponent) * _LOG_2 + 2.0 * s * (1.0 + z * series)


@inlined
def power(x: float, exponent: float) -> float:
    """Return ``x^exponent`` of a normal number up to 1, at least 1e-308, with a relative error of 1e-9."""
    y = max(logarithm(x) * exponent, _LEAST)
    n = np.floor(y * (1.0 / _LOG_2) + 0.5)
    r = y - n * _LOG_2
    tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * (1.0 / 40320.0))))
    series = 1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * tail)))
    return series * np.int64((np.int64(n) + _BIAS) << _S52).view(np.float64)


class GammaSpace(NamedTuple):
    """Space for gammas that are drawn together: their ``shapes`` and values, ``out``; the rest is scratch."""

    shapes: FloatArray
    out: FloatArray
    boosts: FloatArray
    normals: FloatArray
    u: FloatArray
    words: Array
    flags: Array
    places: Array


@compiled
def make_gamma_space(n: int) -> GammaSpace:
    """Return space for ``n`` gammas."""
    return GammaSpace(
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.uint64),
        np.empty(n, np.uint8),
        np.empty(n, np.int64),
    )


@inlined
def draw_gammas(rng: Stream, n: int, space: GammaSpace) -> Stream:
    """Draw ``Gam(shapes[i], 1)`` for the first ``n`` shapes into ``out``; return the stream to continue with.

    About 9 in 100 fail the quick test and are tested exactly.  The law is that of ``augment.draw_gamma`` up to 2^-24
    (see :func:`propose_gamma`) and the relative error of :func:`power`; values below 1e-308 are inexact and
    may be 0.
    """
    _propose_gammas(rng, n, space)
    rng = Stream(rng.state + rng.gamma * _TWO * np.uint64(n), rng.gamma)
    for j in range(list_flagged(space.flags[:n], space.places)):
        i = space.places[j]
        value, rng = settle_gamma(rng, space.words[i], lift_shape(space.shapes[i]), space.normals[i], space.u[i])
        space.out[i] = value * space.boosts[i]
    return rng


@compiled
def _propose_gammas(rng: Stream, n: int, space: GammaSpace) -> None:
    """Propose the first ``n`` gammas and flag those that the quick test does not accept; each takes two words."""
    shapes, out, boosts, normals, u, words, flags = space[:7]
    for i in range(n):
        word = mix_bits(rng.state + rng.gamma * (_TWO * np.uint64(i) + _ONE))
        other = mix_bits(rng.state + rng.gamma * (_TWO * np.uint64(i) + _TWO))
        shape = max(shapes[i], augment.TINY)
        boost = power((np.float64(other >> _S11) + 1.0) * _UNIT, 1.0 / shape) if shape < 1.0 else 1.0
        value, normals[i], u[i], flags[i] = propose_gamma(word, lift_shape(shape))
        out[i] = value * boost
        words[i], boosts[i] = word, boost


@inlined
def lift_shape(shape: float) -> float:
    """Return a shape below 1 raised by 1, other shapes as they are."""
    return shape + (1.0 if shape < 1.0 else 0.0)


@inlined
def propose_gamma(word: np.uint64, shape: float) -> tuple[float, float, float, Any]:
    """Propose the cube of a normal for a shape of at least 1; return it, normal, uniform, and if the quick test fails.

    The word gives 8 bits for the strip of the normal, 32 for the normal and 24 for the uniform of the acceptance test.
    So coarse a uniform changes the law by less than 2^-24, which 10^14 draws would not show.
    """
    strip = word & augment.LAYER_MASK
    x = (np.float64(np.int64(word) >> _S32) + 0.5) * _UNIT31 * augment.NORMAL_X[strip]
    y = (np.float64((word >> _S8) & _MASK24) + 0.5) * _UNIT24
    d = shape - 1.0 / 3.0
    v = 1.0 + x / np.sqrt(9.0 * d)
    square = x * x
    failed = (abs(x) >= augment.NORMAL_X[strip + _ONE]) | (v <= 0.0) | (y * d >= d - augment.SQUEEZE * square * square)
    return d * (v * v * v), x, y, failed


@compiled
def settle_gamma(rng: Stream, word: np.uint64, shape: float, z: float, u: float) -> tuple[float, Stream]:
    """Return the proposal of :func:`propose_gamma` if the exact test accepts it, else another draw."""
    strip = word & augment.LAYER_MASK
    if abs(z) >= augment.NORMAL_X[strip + _ONE]:
        z, accepted, rng = augment.judge_normal_edge(rng, strip, z)
        if not accepted:
            z, rng = augment.draw_normal(rng)
    value, accepted = augment.judge_large_gamma(shape, z, u)
    if accepted:
        return value, rng
    return augment.draw_gamma(rng, shape)


@compiled
def list_flagged(flags: Array, places: Array) -> Any:
    """Write the places of flagged entries to ``places`` and return how many there are."""
    n = np.uint64(0)
    for i in range(np.uint64(len(flags))):
        places[n] = i
        n += np.uint64(flags[i] != 0)
    return n
