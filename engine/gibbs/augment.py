"""Exact random draws for augmented Gibbs sampling, compiled.

Every draw is a pure function ``value, rng = draw(rng, ...)`` over :class:`engine.streams.Stream`, in
float64 and int64 scalars, and none returns NaN or infinity for parameters in its range.
Gammas are ``Gam(shape, scale = 1)`` and never exactly 0 for a positive shape: at shape 1e-4 most of
the mass lies below the smallest normal float64, and draws there are returned as that number (``TINY``).
"""

from math import erfc, exp, fabs, floor, log, log1p, pi, sqrt
from typing import Any, TypeAlias

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Stream, draw_bits, draw_positive, draw_uniform, start_stream

Draw: TypeAlias = Any  # (value, Stream): numba infers the type, the type checker cannot

TINY = 2.2250738585072014e-308  # the smallest normal float64
BELOW_ONE = 1.0 - 1.1102230246251565e-16  # the largest float64 below 1
_LOG_TINY = -708.3964185322641  # ln TINY
_INV_E = exp(-1.0)
SQUEEZE = 0.0331 / 1.5  # see judge_large_gamma
_MIDDLE_SHAPE = 0.1  # from here to 1, drawing Gam(shape + 1) and scaling it down is the faster way
_ROOT_BITS = 14  # draw_root_gamma is used if the inverse of a shape is an integer of at most this many bits

_N_LAYERS = 256
LAYER_MASK = np.uint64(_N_LAYERS - 1)
_SHIFT_TO_53_BITS = np.int64(11)  # shift that leaves a signed 53-bit number
_UNIT = 1.0 / 4503599627370496.0  # 2^-52, maps signed 53-bit numbers to [-1, 1)
_NORMAL_EDGE = 3.6541528853610088  # where the tail of the normal ziggurat begins
_EXPONENTIAL_EDGE = 7.69711747013105  # where the tail of the exponential ziggurat begins


def _build_normal_layers() -> tuple[FloatArray, FloatArray]:
    """Return the edges and heights of 256 strips of equal area under exp(-x^2 / 2) (Marsaglia and Tsang, 2000)."""
    edge = _NORMAL_EDGE
    area = edge * exp(-0.5 * edge * edge) + sqrt(pi / 2.0) * erfc(edge / sqrt(2.0))
    x = np.zeros(_N_LAYERS + 1)
    x[0], x[1] = area * exp(0.5 * edge * edge), edge
    for i in range(2, _N_LAYERS):
        x[i] = sqrt(-2.0 * log(area / x[i - 1] + exp(-0.5 * x[i - 1] ** 2)))
    return x, np.exp(-0.5 * x * x)


def _build_exponential_layers() -> tuple[FloatArray, FloatArray]:
    """Return the edges and heights of 256 strips of equal area under exp(-x)."""
    edge = _EXPONENTIAL_EDGE
    area = (edge + 1.0) * exp(-edge)
    x = np.zeros(_N_LAYERS + 1)
    x[0], x[1] = area * exp(edge), edge
    for i in range(2, _N_LAYERS):
        x[i] = -log(area / x[i - 1] + exp(-x[i - 1]))
    return x, np.exp(-x)


NORMAL_X, _NORMAL_F = _build_normal_layers()
_EXPONENTIAL_X, _EXPONENTIAL_F = _build_exponential_layers()


@inlined
def draw_normal(rng: Stream) -> Draw:
    """Draw a standard normal by the ziggurat, exact in the tail."""
    while True:
        word, rng = draw_bits(rng)
        i = word & LAYER_MASK
        x = (np.float64(np.int64(word) >> _SHIFT_TO_53_BITS) + 0.5) * _UNIT * NORMAL_X[i]
        if fabs(x) < NORMAL_X[i + 1]:
            return x, rng
        x, accepted, rng = judge_normal_edge(rng, i, x)
        if accepted:
            return x, rng


@compiled
def judge_normal_edge(rng: Stream, i: int, x: float) -> Any:
    """Accept or reject a point in the wedge of strip ``i``, or redraw it from the tail in the base strip (i = 0).

    Returns the point, whether it is accepted, and the stream.
    """
    if i == 0:
        while True:
            u, rng = draw_positive(rng)
            v, rng = draw_positive(rng)
            step = -log(u) / _NORMAL_EDGE
            if -2.0 * log(v) >= step * step:
                tail = _NORMAL_EDGE + step
                return (tail if x > 0.0 else -tail), True, rng
    u, rng = draw_uniform(rng)
    height = _NORMAL_F[i] + u * (_NORMAL_F[i + 1] - _NORMAL_F[i])
    return x, height < exp(-0.5 * x * x), rng


@inlined
def draw_exponential(rng: Stream) -> Draw:
    """Draw a standard exponential, never 0, by the ziggurat."""
    start = 0.0
    while True:
        word, rng = draw_bits(rng)
        i = word & LAYER_MASK
        x = (np.float64(word >> np.uint64(12)) + 0.5) * _UNIT * _EXPONENTIAL_X[i]
        if x < _EXPONENTIAL_X[i + 1]:
            return start + x, rng
        if i == 0:
            start += _EXPONENTIAL_EDGE  # the exponential has no memory: draw again, starting at the edge
            continue
        u, rng = draw_uniform(rng)
        if _EXPONENTIAL_F[i] + u * (_EXPONENTIAL_F[i + 1] - _EXPONENTIAL_F[i]) < exp(-x):
            return start + x, rng


@inlined
def draw_gamma(rng: Stream, shape: float) -> Draw:
    """Draw ``Gam(shape, 1)``, which is at least ``TINY`` for a positive shape and 0 for shape 0."""
    if shape < _MIDDLE_SHAPE:
        if shape <= 0.0:
            return 0.0, rng
        return _draw_small_gamma(rng, shape)
    boosted = shape < 1.0
    x, rng = _draw_large_gamma(rng, shape + 1.0 if boosted else shape)
    if boosted:
        e, rng = draw_exponential(rng)
        x = max(x * exp(-e / shape), TINY)
    return x, rng


@compiled
def draw_log_gamma(rng: Stream, shape: float) -> Draw:
    """Draw the logarithm of ``Gam(shape, 1)``, exact far below ``TINY``; -inf for shape 0.

    Given the same stream, it returns the logarithm of the draw of :func:`draw_gamma`.
    """
    if shape >= 1.0:
        x, rng = _draw_large_gamma(rng, shape)
        return log(x), rng
    if shape < _MIDDLE_SHAPE:
        if shape <= 0.0:
            return -np.inf, rng
        return _draw_small_log_gamma(rng, shape)
    x, rng = _draw_large_gamma(rng, shape + 1.0)
    e, rng = draw_exponential(rng)
    return log(x) - e / shape, rng


@inlined
def _draw_large_gamma(rng: Stream, shape: float) -> Draw:
    """Draw a gamma with a shape of at least 1, as the cube of a normal (Marsaglia and Tsang, TOMS 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x, rng = draw_normal(rng)
        if 1.0 + c * x <= 0.0:
            continue
        u, rng = draw_positive(rng)
        value, accepted = judge_large_gamma(shape, x, u)
        if accepted:
            return value, rng


@inlined
def judge_large_gamma(shape: float, x: float, u: float) -> tuple[float, bool]:
    """Accept or reject one proposal for a shape of at least 1, from a normal and a uniform.

    Marsaglia and Tsang accept at once if u is below ``1 - 0.0331 x^4``, a bound that is valid for d = 2/3.  For larger
    d the bound ``1 - 0.0331 x^4 / 1.5 d`` is valid too: with ``t = c x`` the exact bound is ``exp(d g(t))`` and this
    one ``1 - d h(t)``; their difference is convex in d, 0 at d = 0 and not negative at d = 2/3.
    """
    d = shape - 1.0 / 3.0
    v = 1.0 + x * (1.0 / sqrt(9.0 * d))
    if v <= 0.0:
        return 0.0, False
    v = v * v * v
    square = x * x
    accepted = u * d < d - SQUEEZE * square * square or log(u) < 0.5 * square + d * (1.0 - v + log(v))
    return d * v, accepted


@inlined
def _draw_small_gamma(rng: Stream, shape: float) -> Draw:
    """Draw a gamma with a shape far below 1 (algorithm GS of Ahrens and Dieter, 1974).

    Proposals below 1 are ``U^(1 / shape)``; minus the logarithm of U is drawn as an exponential, so that nothing
    underflows.  Given the branch, the number that chose it is uniform again, and decides acceptance.
    """
    limit = 1.0 + shape * _INV_E
    while True:
        u, rng = draw_uniform(rng)
        u *= limit
        e, rng = draw_exponential(rng)
        if u < 1.0:
            power = e / shape
            if power > -_LOG_TINY:
                return TINY, rng
            x = exp(-power)
            if u <= 1.0 - x or u < exp(-x):
                return x, rng
        else:
            x = 1.0 + e
            if (u - 1.0) < shape * _INV_E * exp((shape - 1.0) * log(x)):
                return x, rng


@compiled
def _draw_small_log_gamma(rng: Stream, shape: float) -> Draw:
    """Draw the logarithm of the draw of :func:`_draw_small_gamma`; one function for both would be half as fast."""
    limit = 1.0 + shape * _INV_E
    while True:
        u, rng = draw_uniform(rng)
        u *= limit
        e, rng = draw_exponential(rng)
        if u < 1.0:
            power = e / shape
            if power > -_LOG_TINY or u < exp(-exp(-power)):
                return -power, rng
        else:
            log_x = log(1.0 + e)
            if (u - 1.0) < shape * _INV_E * exp((shape - 1.0) * log_x):
                return log_x, rng


@compiled
def draw_root_gamma(rng: Stream, root: int) -> Draw:
    """Draw ``Gam(1 / root, 1)`` for an integer ``root`` above 1, at least ``TINY``.

    The method is that of :func:`_draw_small_gamma`, but the power of the uniform is an integer: computing it takes a
    few products and no logarithm.
    """
    while True:
        u, rng = draw_uniform(rng)
        v, rng = draw_positive(rng)
        x = 1.0
        square = v
        power = root
        while power > 0:
            if power & 1:
                x *= square
            square *= square
            power >>= 1
        x, accepted = judge_root_gamma(root, u, v, x)
        if accepted:
            return x, rng


@inlined
def compute_tail_share(shape: float) -> float:
    """Return the weight of proposals above 1 relative to those below, in the envelope of ``Gam(shape, 1)``."""
    return _INV_E * shape


@inlined
def judge_root_gamma(root: int, u: float, v: float, x: float) -> tuple[float, bool]:
    """Accept or reject one proposal for ``Gam(1 / root, 1)`` from two uniforms, where ``x = v^root``."""
    share = compute_tail_share(1.0 / root)
    u *= 1.0 + share
    if u < 1.0:
        return max(x, TINY), u <= 1.0 - x or u < exp(-x)
    x = 1.0 - log(v)
    return x, (u - 1.0) < share * exp((1.0 / root - 1.0) * log(x))


@compiled
def draw_root_log_gamma(rng: Stream, root: int) -> Draw:
    """Draw the logarithm of the draw of :func:`draw_root_gamma`, exact far below ``TINY``."""
    while True:
        u, rng = draw_uniform(rng)
        v, rng = draw_positive(rng)
        x, accepted = judge_root_log_gamma(root, u, v)
        if accepted:
            return x, rng


@compiled
def judge_root_log_gamma(root: int, u: float, v: float) -> tuple[float, bool]:
    """Return the logarithm of the value that :func:`judge_root_gamma` judges, and the same judgement."""
    share = compute_tail_share(1.0 / root)
    u *= 1.0 + share
    if u < 1.0:
        power = root * log(v)
        return power, power < _LOG_TINY or u < exp(-exp(power))
    log_x = log(1.0 - log(v))
    return log_x, (u - 1.0) < share * exp((1.0 / root - 1.0) * log_x)


def find_root(shape: float) -> int:
    """Return the integer whose inverse is ``shape``, for :func:`draw_root_gamma`; 0 if there is none."""
    root = round(1.0 / shape)
    return root if 1.0 / _MIDDLE_SHAPE <= root < 1 << _ROOT_BITS and 1.0 / root == shape else 0


@compiled
def draw_beta(rng: Stream, a: float, b: float) -> Draw:
    """Draw ``Beta(a, b)`` within ``[TINY, BELOW_ONE]``, safe for tiny a and b."""
    if a <= 0.0:
        return TINY, rng
    if b <= 0.0:
        return BELOW_ONE, rng
    if a >= 1.0 and b >= 1.0:
        x, rng = _draw_large_gamma(rng, a)
        y, rng = _draw_large_gamma(rng, b)
        value = x / (x + y)
    else:
        x, rng = draw_log_gamma(rng, a)
        y, rng = draw_log_gamma(rng, b)
        value = 1.0 / (1.0 + exp(min(y - x, 709.0)))
    return min(max(value, TINY), BELOW_ONE), rng


@inlined
def draw_crt(rng: Stream, n: int, r: float) -> Draw:
    """Draw the number of tables of a Chinese restaurant, ``CRT(n, r) = sum_{i=1..n} Bernoulli(r / (r + i - 1))``.

    ``CRT(0, r) = 0`` and ``CRT(n, 0) = 1`` for n > 0.  The first customers are drawn one by one.  Once new tables are
    rare, whole runs of customers are skipped: the gap to the next candidate is geometric with the current chance, and
    the candidate, whose own chance is smaller, is accepted with the ratio of the two.
    """
    if n <= 0:
        return 0, rng
    tables = 1
    limit = min(float(n), 8.0 + 9.0 * r)
    i = 1.0  # customers seated so far
    while i < limit:
        u, rng = draw_uniform(rng)
        if u * (r + i) < r:
            tables += 1
        i += 1.0
    while i < n:
        e, rng = draw_exponential(rng)
        gap = e / log1p(r / i)
        if not gap < n - i:  # also catches r / i = 0
            break
        seat = i + floor(gap)
        u, rng = draw_uniform(rng)
        if u * (r + seat) < r + i:
            tables += 1
        i = seat + 1.0
    return tables, rng


@compiled
def draw_binomial(rng: Stream, n: int, chance: float) -> Draw:
    """Draw ``Bin(n, chance)`` from the geometric gaps between successes."""
    if chance > 0.5:
        failures, rng = _draw_rare_successes(rng, n, 1.0 - chance)
        return n - failures, rng
    return _draw_rare_successes(rng, n, chance)


@compiled
def _draw_rare_successes(rng: Stream, n: int, chance: float) -> Draw:
    """Draw ``Bin(n, chance)`` for a chance of at most 1/2."""
    if n <= 0 or chance <= 0.0:
        return 0, rng
    rate = -log1p(-chance)
    successes, trials = 0, 0.0
    while True:
        e, rng = draw_exponential(rng)
        gap = e / rate
        if not gap < n - trials:
            return successes, rng
        trials += floor(gap) + 1.0
        successes += 1


@compiled
def compute_expected_crt(n: float, r: float) -> Any:
    """Return ``E[CRT(n, r)] = r (psi(n + r) - psi(r))``, 1 at r = 0 for n > 0; n may be an average of counts."""
    if n <= 0.0:
        return 0.0
    if n <= 16.0 and n == floor(n):
        total = 1.0
        for i in range(1, int(n)):
            total += r / (r + i)
        return total
    return 1.0 + r * (digamma(n + r) - digamma(r + 1.0))


@compiled
def digamma(x: float) -> Any:
    """Return the logarithmic derivative of the gamma function for x > 0, to 1e-12."""
    shift = 0.0
    while x < 10.0:
        shift += 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    tail = 1.0 / 240.0 - y * (1.0 / 132.0 - y * (691.0 / 32760.0 - y / 12.0))
    tail = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * tail)))
    return log(x) - 0.5 / x - tail - shift


@compiled
def draw_normals(seed: int, purpose: int, step: int, documents: Array, width: int) -> FloatArray:
    """Draw standard normal numbers, (documents, width), with a separate stream for every document."""
    values = np.empty((len(documents), width))
    for j in range(len(documents)):
        rng = start_stream(seed, purpose, step, documents[j])
        for k in range(width):
            values[j, k], rng = draw_normal(rng)
    return values


@compiled
def draw_uniforms(seed: int, purpose: int, step: int, documents: Array, width: int) -> FloatArray:
    """Draw uniform numbers on [0, 1), (documents, width), with a separate stream for every document."""
    values = np.empty((len(documents), width))
    for j in range(len(documents)):
        rng = start_stream(seed, purpose, step, documents[j])
        for k in range(width):
            values[j, k], rng = draw_uniform(rng)
    return values
