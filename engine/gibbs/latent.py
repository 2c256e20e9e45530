"""Exact draws of latent counts: Poisson, zero-truncated Poisson, and truncated Bessel.

As in ``augment.py``, every draw is a pure function ``value, rng = draw(rng, ...)``, safe over its whole range.
"""

from math import exp, expm1, fabs, floor, log, log1p, pi, sqrt
from typing import Any

import numpy as np

from topiary.engine.gibbs.augment import Draw, draw_exponential
from topiary.engine.jit import compiled
from topiary.engine.streams import Stream, draw_positive, draw_uniform

_HALF_LOG_2PI = 0.5 * log(2.0 * pi)
MOST_RATE = 9007199254740992.0  # 2^53: above it float64 cannot count by ones
_N_FACTORIALS = 256
_LOG_FACTORIAL = np.concatenate([np.zeros(1), np.cumsum(np.log(np.arange(1.0, _N_FACTORIALS)))])


@compiled
def log_factorial(k: int) -> Any:
    """Return ``ln k!`` for k >= 0, from a table for small k and by Stirling's series above."""
    if k < _N_FACTORIALS:
        return _LOG_FACTORIAL[k]
    return (k + 0.5) * log(k) - k + _HALF_LOG_2PI + _compute_stirling_rest(float(k))


@compiled
def _compute_stirling_rest(k: float) -> Any:
    """Return the terms of Stirling's series for ``ln k!`` that vanish for large k."""
    y = 1.0 / (k * k)
    return (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / k


@compiled
def draw_poisson(rng: Stream, rate: float) -> Draw:
    """Draw ``Pois(rate)`` for rates from 0 to 2^53; larger ones are taken as 2^53."""
    if rate >= 10.0:
        return _draw_large_poisson(rng, min(rate, MOST_RATE))
    chance = exp(-rate)
    return _invert_poisson(rng, 0, chance, rate)


@compiled
def draw_truncated_poisson(rng: Stream, rate: float) -> Draw:
    """Draw ``Pois(rate)`` given that it is not 0, for any rate >= 0; 1 at rate 0."""
    if rate < 5.0:
        if rate < 1e-17:
            return 1, rng
        return _invert_poisson(rng, 1, rate / expm1(rate), rate)
    while True:
        x, rng = draw_poisson(rng, rate)
        if x > 0:
            return x, rng


@compiled
def _invert_poisson(rng: Stream, first: int, chance: float, rate: float) -> Draw:
    """Draw a Poisson by inversion, searching upwards from ``first``, whose probability is ``chance``."""
    u, rng = draw_uniform(rng)
    x = first
    while u >= chance and (x < rate or chance > 1e-30):
        u -= chance
        x += 1
        chance *= rate / x
    return x, rng


@compiled
def _draw_large_poisson(rng: Stream, rate: float) -> Draw:
    """Draw a Poisson with a rate of at least 10, by transformed rejection with squeeze (Hörmann's PTRS, 1993)."""
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, rng = draw_uniform(rng)
        u -= 0.5
        v, rng = draw_positive(rng)
        us = 0.5 - fabs(u)
        if us < 0.013 and v > us:
            continue
        k = floor((2.0 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= squeeze:
            return np.int64(k), rng
        if k >= 0.0 and log(v * inverse_alpha / (a / (us * us) + b)) <= _compute_log_poisson(k, rate):
            return np.int64(k), rng


@compiled
def _compute_log_poisson(k: float, rate: float) -> Any:
    """Return ``ln Pois(k; rate)`` without the cancellation of the textbook form at large rates."""
    if k < 16.0:
        return k * log(rate) - rate - _LOG_FACTORIAL[int(k)]
    d = (k - rate) / rate
    return -rate * ((1.0 + d) * log1p(d) - d) - 0.5 * log(k) - _HALF_LOG_2PI - _compute_stirling_rest(k)


@compiled
def draw_truncated_bessel(rng: Stream, alpha: float) -> Draw:
    """Draw n >= 1 with ``P(n) = (alpha/2)^(2n-1) / (n! (n-1)! I_1(alpha))``: the latent count of a gamma.

    For ``y ~ Gam(x, 1/a)`` and ``x ~ Pois(rate)``, x given y > 0 has this distribution with
    ``alpha = 2 sqrt(a y rate)``.
    """
    square = 0.25 * alpha * alpha
    if alpha > 8.0:
        return _draw_large_bessel(rng, alpha)
    total = weight = 1.0
    n = 1
    while weight > 1e-18 * total:
        weight *= square / (n * (n + 1.0))
        total += weight
        n += 1
    u, rng = draw_uniform(rng)
    u *= total
    weight, x = 1.0, 1
    while u >= weight and x < n:
        u -= weight
        weight *= square / (x * (x + 1.0))
        x += 1
    return x, rng


@compiled
def _draw_large_bessel(rng: Stream, alpha: float) -> Draw:
    """Draw by rejection under a flat top around the mode and two geometric tails; valid by log-concavity."""
    square = 0.25 * alpha * alpha
    mode = np.int64(0.5 * (sqrt(alpha * alpha + 1.0) + 1.0))
    half = np.int64(min(0.55 * sqrt(alpha) + 1.0, mode - 1.0))
    low, high = mode - half, mode + half
    right_ratio = square / (float(high) * (high + 1.0))  # P(high + 1) / P(high) < 1
    left_ratio = float(low) * (low - 1.0) / square  # P(low - 1) / P(low) < 1
    flat = 2.0 * half + 1.0
    mass_above = exp(_compute_log_bessel(high, mode, square)) * right_ratio / (1.0 - right_ratio)
    mass_below = exp(_compute_log_bessel(low, mode, square)) * left_ratio / (1.0 - left_ratio)
    while True:
        u, rng = draw_uniform(rng)
        e, rng = draw_exponential(rng)
        u *= flat + mass_above + mass_below
        if u < flat:
            x = low + np.int64(u)
            hat = 0.0
        elif u < flat + mass_above:
            steps = floor(e / -log(right_ratio))
            x = high + 1 + np.int64(steps)
            hat = _compute_log_bessel(high, mode, square) + (steps + 1.0) * log(right_ratio)
        else:
            steps = floor(e / -log(left_ratio))
            x = low - 1 - np.int64(steps)
            hat = _compute_log_bessel(low, mode, square) + (steps + 1.0) * log(left_ratio)
        e, rng = draw_exponential(rng)
        if x >= 1 and -e <= _compute_log_bessel(x, mode, square) - hat:
            return x, rng


@compiled
def _compute_log_bessel(n: int, mode: int, square: float) -> Any:
    """Return ``ln P(n) / P(mode)``."""
    power = (n - mode) * log(square)
    return power - log_factorial(n) - log_factorial(n - 1) + log_factorial(mode) + log_factorial(mode - 1)
