"""Functions of Dirichlet expectations, as sums and products alone: loops over them become vector code.

Every argument is raised by 6 first, where short asymptotic series hold:
``psi(x) = psi(x + 6) - sum_{i < 6} 1 / (x + i)`` and ``ln Gamma(x) = ln Gamma(x + 6) - ln(x (x + 1) ... (x + 5))``.
"""

from math import factorial, log, pi

import numpy as np

from engine.jit import inlined

LEAST_LOG = -320.0  # exponentials end here: products of two are still normal numbers, and weigh nothing

_LOG_2 = log(2.0)
_HALF_LOG_2_PI = 0.5 * log(2.0 * pi)
_BIAS, _S52 = np.int64(1023), np.int64(52)
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12 = (1.0 / factorial(n) for n in range(2, 13))


@inlined
def logarithm(x: float) -> float:
    """Return ``ln x`` of a positive normal float64, to 1e-14."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits - _ROOT_HALF) >> _S52
    m = np.int64(bits - (exponent << _S52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    tail = 1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * (1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0)))))
    series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * tail))
    return np.float64(exponent) * _LOG_2 + 2.0 * s * (1.0 + z * series)


@inlined
def exponential(x: float) -> float:
    """Return ``e^x`` of a number up to 700, to 1e-13 of the result; at least ``e^LEAST_LOG``."""
    x = max(x, LEAST_LOG)
    n = np.floor(x * (1.0 / _LOG_2) + 0.5)
    r = x - n * _LOG_2
    tail = _E8 + r * (_E9 + r * (_E10 + r * (_E11 + r * _E12)))
    tail = _E4 + r * (_E5 + r * (_E6 + r * (_E7 + r * tail)))
    series = 1.0 + r * (1.0 + r * (_E2 + r * (_E3 + r * tail)))
    return series * np.int64((np.int64(n) + _BIAS) << _S52).view(np.float64)


@inlined
def _fallen(x: float) -> float:
    """Return ``sum_{i < 6} 1 / (x + i)``, with one division: ``x (x + 5) = a``, ``(x + 1)(x + 4) = a + 4`` ..."""
    a = x * (x + 5.0)
    b, c = a + 4.0, a + 6.0
    return (2.0 * x + 5.0) * (b * c + a * (b + c)) / (a * b * c)


@inlined
def _asymptotic(y: float) -> float:
    """Return ``psi(y) - ln y`` for y >= 6, to 1e-12."""
    inverse = 1.0 / y
    z = inverse * inverse
    tail = 1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z * (1.0 / 12.0)))
    return -0.5 * inverse - z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * tail)))


@inlined
def digamma(x: float) -> float:
    """Return ``psi(x)`` for x > 0."""
    y = x + 6.0
    return logarithm(y) + _asymptotic(y) - _fallen(x)


@inlined
def exp_digamma(x: float) -> float:
    """Return ``exp(psi(x))`` for x > 0 without a logarithm; at least ``e^LEAST_LOG``."""
    y = x + 6.0
    return y * exponential(_asymptotic(y) - _fallen(x))


@inlined
def log_gamma(x: float) -> float:
    """Return ``ln Gamma(x)`` for x > 0."""
    y = x + 6.0
    inverse = 1.0 / y
    z = inverse * inverse
    tail = 1.0 / 1680.0 - z * (1.0 / 1188.0 - z * (691.0 / 360360.0 - z * (1.0 / 156.0)))
    series = inverse * (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * tail)))
    a = x * (x + 5.0)
    return (y - 0.5) * logarithm(y) - y + _HALF_LOG_2_PI + series - logarithm(a * (a + 4.0) * (a + 6.0))
