"""Plain, slow twins of the compiled code: the obvious way to write each thing, in Python and NumPy.

A twin of a draw takes a :class:`Stream` and consumes it exactly as the compiled draw does, so that both
must give the same number; a twin of a distribution is its exact law; a twin of a move takes its noise.
"""

import math

import numpy as np
from scipy import special

MASK = (1 << 64) - 1
EDGE = 3.6541528853610088
EXPONENTIAL_EDGE = 7.69711747013105
TINY = 2.2250738585072014e-308


def mix(z):
    """SplitMix64's finaliser with whole numbers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Stream:
    """A stream that remembers where it stands; made of the two words of an ``engine.streams.Stream``."""

    def __init__(self, state, gamma):
        self.state, self.gamma = int(state), int(gamma)

    def bits(self):
        self.state = (self.state + self.gamma) & MASK
        return mix(self.state)

    def uniform(self):
        return (self.bits() >> 11) * 2.0**-53

    def positive(self):
        return ((self.bits() >> 11) + 1) * 2.0**-53


def layers(area, edge, density, inverse):
    """Edges of 256 strips of equal area under a decreasing density: [base width, edge, ..., 0]."""
    x = [area / density(edge), edge]
    while len(x) < 256:
        x.append(inverse(area / x[-1] + density(x[-1])))
    return [*x, 0.0]


def _half_normal(x):
    return math.exp(-0.5 * x * x)


NORMAL = layers(
    EDGE * _half_normal(EDGE) + math.sqrt(math.pi / 2.0) * math.erfc(EDGE / math.sqrt(2.0)),
    EDGE,
    _half_normal,
    lambda y: math.sqrt(-2.0 * math.log(y)),
)
EXPONENTIAL = layers(
    (EXPONENTIAL_EDGE + 1.0) * math.exp(-EXPONENTIAL_EDGE),
    EXPONENTIAL_EDGE,
    lambda x: math.exp(-x),
    lambda y: -math.log(y),
)


def normal(rng):
    """A normal by the ziggurat."""
    while True:
        word = rng.bits()
        i = word % 256
        signed = word - (1 << 64) if word >> 63 else word
        x = ((signed >> 11) + 0.5) * 2.0**-52 * NORMAL[i]
        if abs(x) < NORMAL[i + 1]:
            return x
        if i == 0:
            while True:
                step = -math.log(rng.positive()) / EDGE
                if -2.0 * math.log(rng.positive()) >= step * step:
                    return math.copysign(EDGE + step, x)
        low, high = _half_normal(NORMAL[i]), _half_normal(NORMAL[i + 1])
        if low + rng.uniform() * (high - low) < _half_normal(x):
            return x


def exponential(rng):
    """An exponential by the ziggurat."""
    start = 0.0
    while True:
        word = rng.bits()
        i = word % 256
        x = ((word >> 12) + 0.5) * 2.0**-52 * EXPONENTIAL[i]
        if x < EXPONENTIAL[i + 1]:
            return start + x
        if i == 0:
            start += EXPONENTIAL_EDGE
            continue
        low, high = math.exp(-EXPONENTIAL[i]), math.exp(-EXPONENTIAL[i + 1])
        if low + rng.uniform() * (high - low) < math.exp(-x):
            return start + x


def log_gamma(rng, shape):
    """The logarithm of a gamma variate: GS below 0.1, one shape higher and scaled below 1, else the cubed normal."""
    if shape == 0.0:
        return -math.inf
    if shape < 0.1:
        return _log_gamma_small(rng, shape)
    if shape < 1.0:
        x = log_gamma(rng, shape + 1.0)
        return x - exponential(rng) / shape
    d = shape - 1.0 / 3.0
    while True:
        x = normal(rng)
        v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
        if v > 0.0 and math.log(rng.positive()) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return math.log(d * v)


def gamma_of_root(rng, root):
    """Gam(1 / root, 1): GS with a whole power."""
    value = None
    while value is None:
        value = judge_root(rng.uniform(), rng.positive(), root)
    return value


def judge_root(u, v, root):
    """The proposal made of two uniforms where it is accepted, else None."""
    u *= 1.0 + 1.0 / (root * math.e)
    if u < 1.0:
        return v**root if u < math.exp(-(v**root)) else None
    x = 1.0 - math.log(v)
    return x if (u - 1.0) * math.e * root < x ** (1.0 / root - 1.0) else None


def _log_gamma_small(rng, shape):
    while True:
        u = rng.uniform() * (1.0 + shape / math.e)
        e = exponential(rng)
        if u < 1.0:
            if u < math.exp(-math.exp(-e / shape)):
                return -e / shape
        elif (u - 1.0) * math.e / shape < (1.0 + e) ** (shape - 1.0):
            return math.log(1.0 + e)


def gamma(rng, shape):
    """A gamma variate of scale 1, held at the smallest normal float64."""
    log_x = log_gamma(rng, shape)
    return 0.0 if shape == 0.0 else max(math.exp(log_x), TINY)


# Exact laws: probabilities of 0, 1, 2 ...


def crt_law(n, r):
    """P(CRT(n, r) = k), k = 0..n, seating one customer after another."""
    law = np.zeros(n + 1)
    law[0] = 1.0
    for seated in range(n):
        opens = r / (r + seated) if seated else 1.0
        law[1:] = law[1:] * (1.0 - opens) + law[:-1] * opens
        law[0] *= 1.0 - opens
    return law


def stirling_crt_law(n, r):
    """The same from unsigned Stirling numbers of the first kind: ``|s(n, k)| r^k / (r (r+1) ... (r+n-1))``."""
    numbers = [1]
    for i in range(n):  # multiply the polynomial by (x + i)
        numbers = [i * low + high for low, high in zip([*numbers, 0], [0, *numbers], strict=True)]
    rising = math.prod(r + i for i in range(n))
    return np.array([s * r**k / rising for k, s in enumerate(numbers)])


def crt(rng, n, r):
    """One Bernoulli for every customer, with NumPy's generator."""
    chances = [1.0] + [r / (r + i) for i in range(1, n)]
    return int(sum(rng.random() < chance for chance in chances[:n]))


def bessel_law(alpha, most):
    """P(n) = (alpha/2)^(2n-1) / (n! (n-1)! I_1(alpha)), n = 0..most."""
    n = np.arange(1, most + 1)
    log_law = (2 * n - 1) * np.log(alpha / 2) - special.gammaln(n + 1) - special.gammaln(n)
    log_law -= np.log(special.ive(1, alpha)) + alpha
    return np.concatenate([[0.0], np.exp(log_law)])


# Moves of topics: phi (V, K), noise (V, K) standard normals.


def langevin(phi, counts, eta, scale, eps, noise, *, reflect=False):
    """TLASGR and TLFSGR (DLDA eq. 15), one topic after another."""
    new = phi.copy()
    for k in range(phi.shape[1]):
        if scale[k] <= 1e-10:
            continue
        p, x, step = phi[:, k], counts[:, k], eps / scale[k]
        drawn = p + step * ((x + eta) - (x.sum() + eta * len(p)) * p) + np.sqrt(2.0 * step * p) * noise[:, k]
        on_plane = drawn - (drawn.sum() - 1.0) * p
        positive = np.maximum(np.abs(on_plane) if reflect else on_plane, 2.2e-16)
        new[:, k] = positive / positive.sum()
    return new


def sgrld(phi_hat, counts, eta, eps, noise):
    """The expanded mean (DLDA eq. 5)."""
    phi = phi_hat / phi_hat.sum(axis=0)
    drift = (counts + eta) - (counts.sum(axis=0) + phi_hat.sum(axis=0)) * phi
    return np.abs(phi_hat + eps * drift + np.sqrt(2.0 * eps * phi_hat) * noise)


def shapes_step(r, counts, q_total, gamma0, c0, scale, eps, noise):
    """The step of r (DLDA eq. 17)."""
    size = eps / scale
    drift = counts + gamma0 / len(r) - r * (c0 + q_total)
    return np.abs(r + size * drift + np.sqrt(2.0 * size * r) * noise)


# The model, forward.


def link_rates(c):
    """q^(1) ... q^(L+1) of documents with rates ``c`` (documents, L): q = 1, q' = ln(1 + q / c')."""
    q = [np.ones(len(c))]
    for layer in range(c.shape[1]):
        q.append(np.log1p(q[-1] / c[:, layer]))
    return np.stack(q, axis=1)


def pgbn_counts(rng, phi, r, c):
    """Counts (documents, V) of the Poisson gamma belief network (DLDA eq. 1), with the theta of every layer."""
    theta = [rng.gamma(np.tile(r, (len(c), 1))) / c[:, -1:]]
    for layer in range(len(phi) - 1, 0, -1):
        theta.append(rng.gamma(theta[-1] @ phi[layer].T) / c[:, layer - 1 : layer])
    return rng.poisson(theta[-1] @ phi[0].T), theta[::-1]


def dlda_counts(rng, phi, r, c):
    """The same counts in DLDA form (Lemma 3.1): Poisson at the top, then enlarge, partition and aggregate."""
    q = link_rates(c)
    counts = rng.poisson(r * q[:, -1:])
    for layer in range(len(phi), 0, -1):
        counts = _partition(rng, _sum_log(rng, counts, 1.0 - np.exp(-q[:, layer])), phi[layer - 1])
    return counts


def _sum_log(rng, counts, p):
    """Sum of ``counts`` (documents, K) logarithmic variates with parameters ``p`` (documents,)."""
    owners = np.repeat(np.arange(counts.size), counts.ravel())
    draws = rng.logseries(p[owners // counts.shape[1]])
    return np.bincount(owners, draws, counts.size).astype(np.int64).reshape(counts.shape)


def _partition(rng, counts, phi):
    total = np.zeros((len(counts), len(phi)), np.int64)
    for k in range(phi.shape[1]):
        total += rng.multinomial(counts[:, k], phi[:, k])
    return total


def sweep(before, links, moving, rate, streams):
    """Positions after a sweep of the map: documents pulled by those they are linked to, and pushed by random ones.

    ``links`` lists the documents that each is linked to, ``streams`` is the random stream of each.
    """
    after = before.copy()
    for document in moving:
        x, y = before[document].tolist()
        for other in links[document]:
            dx, dy = x - float(before[other, 0]), y - float(before[other, 1])
            pull = 0.5 * rate / (1.0 + dx * dx + dy * dy)
            x, y = x - pull * dx, y - pull * dy
        for _ in range(2 * len(links[document])):
            other = ((streams[document].bits() >> 32) * len(before)) >> 32
            if other != document:
                dx, dy = x - float(before[other, 0]), y - float(before[other, 1])
                squared = dx * dx + dy * dy
                push = 2.0 * rate / ((0.01 + squared) * (1.0 + squared))
                x, y = (z + min(4.0, max(-4.0, push * step)) for z, step in ((x, dx), (y, dy)))
        after[document] = x, y
    return after
