"""Functions of products and sums alone: a loop over them becomes vector code, one over those of ``math`` does not.

In single precision, eight numbers to a register of AVX2, where nothing but a chance to be accepted or the size of noise
depends on them: an error of 1e-7 there changes a law by as much, which 10^13 draws would not show.
"""

from math import factorial, log, pi

import numpy as np

from engine.jit import inlined

_LOG_2 = log(2.0)
_LEAST = -708.0  # below it e^x is no normal number
_BIAS = np.int64(1023)
_S52 = np.int64(52)
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)

_LOG_2_SINGLE = np.float32(_LOG_2)
_S23 = np.int32(23)
_ROOT_HALF_SINGLE = np.int32(0x3F3504F3)
_PI = np.float32(pi)
_ONE, _TWO, _QUARTER = np.float32(1.0), np.float32(2.0), np.float32(-0.25)
_THIRD, _FIFTH, _SEVENTH, _NINTH = (np.float32(1.0 / n) for n in (3, 5, 7, 9))
_E2, _E3, _E4, _E5, _E6 = (np.float32(1.0 / factorial(n)) for n in range(2, 7))
_S3, _S5, _S7, _S9, _S11 = (np.float32((-1) ** (n // 2) / factorial(n)) for n in range(3, 12, 2))


@inlined
def logarithm(x: float) -> float:
    """Return ``ln x`` of a positive normal float64, to 1e-10: its exponent, and a series for what is left near 1."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits - _ROOT_HALF) >> _S52
    m = np.int64(bits - (exponent << _S52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0))))
    return np.float64(exponent) * _LOG_2 + 2.0 * s * (1.0 + z * series)


@inlined
def power(x: float, exponent: float) -> float:
    """Return ``x^exponent`` of a normal number up to 1, to 1e-9 of the result; at least 1e-308."""
    y = max(logarithm(x) * exponent, _LEAST)
    n = np.floor(y * (1.0 / _LOG_2) + 0.5)
    r = y - n * _LOG_2
    tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * (1.0 / 40320.0))))
    series = 1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * tail)))
    return series * np.int64((np.int64(n) + _BIAS) << _S52).view(np.float64)


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
    """Return ``e^-x`` of a float32 from 0 to 1: a series for x / 4, and two squares.  At 3 it is right to 1e-5."""
    y = x * _QUARTER
    e = _ONE + y * (_ONE + y * (_E2 + y * (_E3 + y * (_E4 + y * (_E5 + y * _E6)))))
    e *= e
    return e * e


@inlined
def single_sine(y: np.float32) -> np.float32:
    """Return ``sin(pi y)`` of a float32 from -1/2 to 1/2."""
    x = y * _PI
    z = x * x
    return x * (_ONE + z * (_S3 + z * (_S5 + z * (_S7 + z * (_S9 + z * _S11)))))
