"""Random draws of a lane in single precision: uniforms, gammas of any shape, tables, and a topic from running sums."""

from math import cos, exp, log, pi, sqrt
from typing import Any, TypeAlias

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import FloatArray
from topiary.engine.gpu import lanes
from topiary.engine.gpu.memory import MOST_LANES
from topiary.engine.jit import inlined

LaneDraw: TypeAlias = tuple[Any, streams.Stream]  # a value in single precision, and the stream to continue with

TRIES = 64  # of a rejection sampler that accepts 95 of 100 proposals; without a bound, a shape of NaN would never end
LEAST = 1e-30  # least activation, weight of a topic, or rate: single precision ends at 1e-38
NEGLIGIBLE = -60.0  # logarithm of a factor that makes an activation as good as zero

_SHIFT = np.uint64(41)
_TWO_PI = np.float32(2.0 * pi)


@inlined
def start_lane(seed: int, purpose: int, step: int, document: int, lane: int) -> streams.Stream:
    """Return the stream of one lane of a document."""
    return streams.start_stream(seed, purpose, step, document * MOST_LANES + lane)


@inlined
def draw_single(rng: streams.Stream) -> LaneDraw:
    """Return a float32 uniform on (0, 1) and the stream to continue with.

    It has 23 bits and half a step, as 24 bits and half a step would round to 1.
    """
    bits, rng = streams.draw_bits(rng)
    return np.float32(bits >> _SHIFT) * np.float32(1.1920929e-07) + np.float32(5.9604645e-08), rng


@inlined
def draw_large_gamma(rng: streams.Stream, shape: float) -> LaneDraw:
    """Draw ``Gam(shape)`` for a shape of at least 1 (Marsaglia and Tsang, 2000)."""
    d = np.float32(shape - np.float32(1.0 / 3.0))
    c = np.float32(1.0) / sqrt(np.float32(9.0) * d)
    for _ in range(TRIES):
        radius, rng = draw_single(rng)
        angle, rng = draw_single(rng)
        u, rng = draw_single(rng)
        x = sqrt(np.float32(-2.0) * log(radius)) * cos(_TWO_PI * angle)
        v = np.float32(1.0) + c * x
        if v > np.float32(0.0):
            v = v * v * v
            if log(u) < np.float32(0.5) * x * x + d - d * v + d * log(v):
                return d * v, rng
    return d, rng


@inlined
def draw_boost(rng: streams.Stream, shape: float) -> LaneDraw:
    """Draw the logarithm of the factor ``U^(1 / shape)`` between ``Gam(shape + 1)`` and ``Gam(shape)``."""
    u, rng = draw_single(rng)
    return log(u) / np.float32(shape), rng


@inlined
def draw_log_gamma(rng: streams.Stream, shape: Any) -> LaneDraw:
    """Draw the logarithm of ``Gam(shape)``, which single precision could not hold for small shapes."""
    boost = np.float32(0.0)
    if shape < np.float32(1.0):
        boost, rng = draw_boost(rng, shape)
        shape += np.float32(1.0)
    value, rng = draw_large_gamma(rng, shape)
    return log(value) + boost, rng


@inlined
def draw_gamma(rng: streams.Stream, shape: float) -> LaneDraw:
    """Draw ``Gam(shape)``, at least ``LEAST``."""
    value, rng = draw_log_gamma(rng, shape)
    return max(exp(value), np.float32(LEAST)), rng


@inlined
def draw_tables(rng: streams.Stream, customers: int, rate: float, lane: int) -> LaneDraw:
    """Draw ``CRT(customers, rate)``; the lanes seat one customer each at a time.

    A chance below 2^-24 counts as 0, so that fewer than ``rate ln(customers / 2^24 rate)`` tables are missed.
    """
    tables = 1 if customers > 0 else 0
    first = 1
    while lanes.is_any(first < customers):
        opens = False
        if first < customers:
            u, rng = draw_single(rng)
            customer = first + lane
            opens = customer < customers and u * (rate + np.float32(customer)) < rate
        tables += lanes.count_bits(lanes.vote(opens))
        first += lanes.LANES
    return tables, rng


@inlined
def sum_products(weights: FloatArray, factors: FloatArray, sums: FloatArray) -> Any:
    """Write the running sums of products over the entries of a lane; return the last."""
    total = np.float32(0.0)
    for i in range(len(sums)):
        total += weights[i] * factors[i]
        sums[i] = total
    return total


@inlined
def pick_entry(sums: FloatArray, total: float, reached: float, point: float) -> tuple[int, int]:
    """Return the entry at a point of the mass of all lanes, and its lane, on which alone the entry is right.

    Parameters
    ----------
    sums : (entries,) float32
        Running sums over the entries of this lane.
    total, reached : float32
        Sum of this lane, and of all lanes up to it.
    point : float32
        Less than the sum of all lanes.  Rounding never leads to an entry without mass, unless nothing has any.
    """
    has_mass = total > np.float32(0.0)
    mask, any_mass = lanes.vote(reached > point and has_mass), lanes.vote(has_mass)  # all lanes vote, or none
    if mask == np.uint32(0):
        mask = any_mass
    source = lanes.find_first(mask) if mask != np.uint32(0) else 0
    rest = point - (reached - total)
    entry = 0
    for i in range(len(sums) - 1):
        if sums[i] <= rest and sums[i] < total:
            entry += 1
    return entry, source
