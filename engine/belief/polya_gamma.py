"""Exact Polya-Gamma draws, compiled.

``PG(1, z)`` makes the logistic likelihood Gaussian: ``(e^psi)^h / (1 + e^psi)`` is half the mean of
``exp((h - 1/2) psi - omega psi^2 / 2)`` over ``omega ~ PG(1, 0)``, and given psi omega is ``PG(1, psi)``.  The sampler
is Devroye's, as in Polson, Scott and Windle, "Bayesian inference for logistic models using Polya-Gamma latent
variables" (JASA 2013), section 4: rejection under an inverse Gaussian to the left of 0.64 and an exponential to the
right, decided by the partial sums of an alternating series.
"""

from math import erfc, exp, fabs, pi, sqrt

import numpy as np

from engine.gibbs.augment import Draw, exponential, normal
from engine.jit import compiled
from engine.streams import Stream, uniform

_CUT = 0.64  # where the two proposals meet
_FAR = 20.0  # from this |z| / 2 on nothing that float64 could notice lies right of the cut
_ROOT = sqrt(1.0 / _CUT)
_HALF_SQUARE = pi * pi / 8.0


@compiled
def polya_gamma(rng: Stream, z: float) -> Draw:
    """Draw ``PG(1, z)`` for any finite z: mean ``tanh(z / 2) / (2 z)``, 1/4 at 0."""
    half = 0.5 * fabs(z)
    rate = _HALF_SQUARE + 0.5 * half * half
    right = 0.0 if half > _FAR else _right_share(half, rate)
    while True:
        u, rng = uniform(rng)
        if u < right:
            e, rng = exponential(rng)
            x = _CUT + e / rate
        else:
            x, rng = _left(rng, half)
        accepted, rng = _judge(rng, x)
        if accepted:
            return 0.25 * x, rng


@compiled
def _right_share(half: float, rate: float) -> float:
    """Share of the proposals to the right of the cut."""
    right = 0.5 * pi / rate * exp(-rate * _CUT)
    below = 0.5 * erfc(-_ROOT * (_CUT * half - 1.0) / sqrt(2.0))
    above = 0.5 * erfc(_ROOT * (_CUT * half + 1.0) / sqrt(2.0))
    left = 2.0 * (exp(-half) * below + exp(half) * above)
    return right / (right + left)


@compiled
def _left(rng: Stream, half: float) -> Draw:
    """Draw an inverse Gaussian of mean ``1 / half`` and shape 1, given that it is at most the cut."""
    if half < 1.0 / _CUT:
        while True:
            x, rng = _inverse_square(rng)
            u, rng = uniform(rng)
            if u <= exp(-0.5 * half * half * x):
                return x, rng
    mean = 1.0 / half
    while True:
        z, rng = normal(rng)
        y = mean * z * z
        x = mean / (1.0 + 0.5 * (y + sqrt(y * (4.0 + y))))  # the smaller root, without cancellation
        u, rng = uniform(rng)
        if u * (mean + x) > mean:
            x = mean * mean / x
        if x <= _CUT:
            return x, rng


@compiled
def _inverse_square(rng: Stream) -> Draw:
    """Draw ``1 / N^2`` given that it is at most the cut, by two exponentials."""
    while True:
        one, rng = exponential(rng)
        other, rng = exponential(rng)
        if one * one <= 2.0 * other / _CUT:
            scale = 1.0 + _CUT * one
            return _CUT / (scale * scale), rng


@compiled
def _term(x: float, n: int) -> float:
    """Term n of the series, in the form that converges at once on its side of the cut."""
    step = n + 0.5
    if x > _CUT:
        return pi * step * exp(-0.5 * step * step * pi * pi * x)
    root = sqrt(2.0 / (pi * x))
    return root * root * root * pi * step * exp(-2.0 * step * step / x)


@compiled
def _judge(rng: Stream, x: float) -> tuple[bool, Stream]:
    """Accept or reject a proposal by partial sums, which lie above and below the density in turns."""
    total = _term(x, 0)
    u, rng = uniform(rng)
    height = u * total
    n = 0
    while True:
        n += 1
        total -= _term(x, n)
        if height <= total:
            return True, rng
        n += 1
        total += _term(x, n)
        if height > total:
            return False, rng


@compiled
def mean(z: float) -> float:
    """Return the mean of ``PG(1, z)``, ``tanh(z / 2) / (2 z)``."""
    if fabs(z) < 1e-4:
        return 0.25 - z * z / 48.0
    return np.tanh(0.5 * z) / (2.0 * z)
