"""Layers of binary units above the topics of a document: a sigmoid belief network, or a Boltzmann machine.

Gan, Chen, Henao, Carlson and Carin, "Scalable deep Poisson factor analysis for topic modeling" (ICML 2015).  Unit k of
layer l is on with probability ``sigmoid(W_k^(l) h^(l+1) + c_k^(l))`` (eq. 3, 4, with ``h^(2)`` on the right of eq. 4);
in a Boltzmann machine (eq. 5) the layer below adds ``W^(l-1)' h^(l-1)``.  Layer ``l`` of the paper is index ``l - 1``.

The units of all layers of a document form one vector, layer 1 first, so that one kernel serves any number of layers.
"""

from math import erfc, exp, fabs, pi, sqrt
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import Draw, draw_exponential, draw_normal
from topiary.engine.jit import compiled
from topiary.engine.streams import Stream, draw_uniform

MOST_LOGIT = 30.0  # bound of log-odds, so that no state of a unit is impossible
FIRST_WEIGHT = 3.0  # initial weight between a unit and the units below that form its cluster


class Network(NamedTuple):
    """Weights and biases packed for the kernels.

    Attributes
    ----------
    widths : (L,) int64
        K_1 ... K_L.
    first : (L,) int64
        Index of the first unit of each layer.
    table : (L,) int64
        Start of ``W^(l)``, column after column, in ``columns``; column j holds the weights of unit j of layer l + 1.
    columns : (sum K_l K_{l+1},) float64
    bias : (units,) float64
        c^(1) ... c^(L).
    undirected : bool
        True for a Boltzmann machine, False for a sigmoid belief network.
    """

    widths: Array
    first: Array
    table: Array
    columns: FloatArray
    bias: FloatArray
    undirected: bool


class NetScratch(NamedTuple):
    """Working memory for the units of one document.

    ``inputs`` (units,) are log-odds from the layer above, ``omega`` the Polya-Gamma draws, ``rest`` the residuals,
    ``chance`` the probability with which each unit was last drawn, ``fixed`` fixed-point numbers, and ``on`` a list of
    units.
    """

    inputs: FloatArray
    omega: FloatArray
    rest: FloatArray
    chance: FloatArray
    fixed: Array
    on: Array


def pack_network(weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...], *, undirected: bool) -> Network:
    """Return a packed network from ``weights[l-1]`` (K_l, K_{l+1}) and ``biases[l-1]`` (K_l,)."""
    widths = np.array([len(bias) for bias in biases], dtype=np.int64)
    sizes = np.array([table.size for table in weights], dtype=np.int64)
    columns = np.concatenate([np.zeros(0), *(table.T.ravel() for table in weights)])
    first = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int64)
    table = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Network(widths, first, table, columns, np.concatenate(biases).astype(np.float64), undirected)


def split_layers(units: FloatArray, layers: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Return an array over the units of all layers, split into layers of these widths."""
    return tuple(np.split(units, np.cumsum(layers)[:-1]))


def make_cluster_weights(
    noise: tuple[FloatArray, ...], shares: tuple[FloatArray, ...]
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Return initial weights, and biases of all layers but the top, that make each unit a cluster of units below.

    A unit that is on makes the units of its cluster likely to be on; if no unit is on, few units below are.

    Parameters
    ----------
    noise : tuple of (K_l, K_{l+1})
        Weights without clusters, to which those of the clusters are added.
    shares : tuple of (K_l, K_{l+1})
        Share of each cluster in a unit below; the unit belongs to the cluster with the largest.
    """
    weights, biases = [], []
    for table, share in zip(noise, shares, strict=True):
        members = np.arange(share.shape[1]) == share.argmax(axis=1)[:, None]
        size = FIRST_WEIGHT if share.shape[1] > 1 else 0.0  # a single cluster carries no information
        weights.append(table + size * members)
        biases.append(np.full(len(share), -0.5 * size))
    return tuple(weights), tuple(biases)


@compiled
def make_scratch(net: Network) -> NetScratch:
    """Return working memory for a network."""
    n = len(net.bias)
    return NetScratch(
        np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    )


@compiled
def sigmoid(x: float) -> float:
    """Return ``1 / (1 + e^-x)`` of log-odds x, clamped to at most ``MOST_LOGIT`` in size."""
    return 1.0 / (1.0 + np.exp(-min(max(x, -MOST_LOGIT), MOST_LOGIT)))


@compiled
def compute_inputs(net: Network, h: Array, layer: int, inputs: FloatArray) -> None:
    """Write ``W^(l) h^(l+1) + c^(l)`` to the part of ``inputs`` that belongs to a layer."""
    first_unit, width = net.first[layer], net.widths[layer]
    for k in range(first_unit, first_unit + width):
        inputs[k] = net.bias[k]
    if layer + 1 == len(net.widths):
        return
    above = net.first[layer + 1]
    for j in range(net.widths[layer + 1]):
        if h[above + j]:
            column = net.columns[net.table[layer] + j * width : net.table[layer] + (j + 1) * width]
            layer_inputs = inputs[first_unit : first_unit + width]
            for k in range(width):
                layer_inputs[k] += column[k]


@compiled
def draw_bit(rng: Stream, chance: float) -> tuple[int, Stream]:
    """Draw 1 with probability ``chance``, else 0."""
    u, rng = draw_uniform(rng)
    return (1 if u < chance else 0), rng


@compiled
def draw_downwards(rng: Stream, net: Network, h: Array, s: NetScratch, lowest: int) -> Stream:
    """Draw the layers from the top down to index ``lowest``, each given the layer above it, without the words."""
    for layer in range(len(net.widths) - 1, lowest - 1, -1):
        compute_inputs(net, h, layer, s.inputs)
        for k in range(net.first[layer], net.first[layer] + net.widths[layer]):
            s.chance[k] = sigmoid(s.inputs[k])
            h[k], rng = draw_bit(rng, s.chance[k])
    return rng


@compiled
def draw_upwards(rng: Stream, net: Network, h: Array, s: NetScratch) -> Stream:
    """Draw layers 2 ... L one after another, each given the layers below and above it."""
    for layer in range(len(net.widths) - 1):
        if net.undirected:
            rng = _draw_boltzmann_layer(rng, net, h, layer, s)
        else:
            compute_inputs(net, h, layer, s.inputs)
            rng = _draw_omega(rng, net, h, layer, s)
            rng = _draw_belief_layer(rng, net, h, layer, s)
    return rng


@compiled
def _draw_omega(rng: Stream, net: Network, h: Array, layer: int, s: NetScratch) -> Stream:
    """Draw ``omega_k ~ PG(1, psi_k)`` for a layer whose inputs psi have been computed."""
    for k in range(net.first[layer], net.first[layer] + net.widths[layer]):
        s.omega[k], rng = draw_polya_gamma(rng, s.inputs[k])
        s.rest[k] = h[k] - 0.5 - s.omega[k] * s.inputs[k]
    return rng


@compiled
def _draw_belief_layer(rng: Stream, net: Network, h: Array, layer: int, s: NetScratch) -> Stream:
    """Draw the units of the layer above, one by one, given the Polya-Gamma draws of this one (eq. 8).

    ``rest_k = h_k - 1/2 - omega_k psi_k`` is updated with every unit that is switched, so that the sum over k of
    eq. 8 is ``sum_k w_kj rest_k`` plus or minus ``sum_k omega_k w_kj^2 / 2``.
    """
    width, first_unit, above = net.widths[layer], net.first[layer], net.first[layer + 1]
    compute_inputs(net, h, layer + 1, s.inputs)
    rest, omega = s.rest[first_unit : first_unit + width], s.omega[first_unit : first_unit + width]
    for j in range(net.widths[layer + 1]):
        column = net.columns[net.table[layer] + j * width : net.table[layer] + (j + 1) * width]
        linear, square = _sum_products(column, rest, omega)
        old = h[above + j]
        log_odds = s.inputs[above + j] + linear + (0.5 if old else -0.5) * square
        s.chance[above + j] = sigmoid(log_odds)
        new, rng = draw_bit(rng, s.chance[above + j])
        if new != old:
            h[above + j] = new
            sign = 1.0 if new else -1.0
            for k in range(width):
                rest[k] -= sign * omega[k] * column[k]
    return rng


@compiled
def _sum_products(column: FloatArray, rest: FloatArray, omega: FloatArray) -> tuple[float, float]:
    """Return ``sum w rest`` and ``sum omega w^2``, computed four terms at a time."""
    a0 = a1 = a2 = a3 = 0.0
    b0 = b1 = b2 = b3 = 0.0
    whole = len(column) // 4 * 4
    for k in range(0, whole, 4):
        w0, w1, w2, w3 = column[k], column[k + 1], column[k + 2], column[k + 3]
        a0 += w0 * rest[k]
        a1 += w1 * rest[k + 1]
        a2 += w2 * rest[k + 2]
        a3 += w3 * rest[k + 3]
        b0 += w0 * w0 * omega[k]
        b1 += w1 * w1 * omega[k + 1]
        b2 += w2 * w2 * omega[k + 2]
        b3 += w3 * w3 * omega[k + 3]
    for k in range(whole, len(column)):
        a0 += column[k] * rest[k]
        b0 += column[k] * column[k] * omega[k]
    return (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)


@compiled
def _draw_boltzmann_layer(rng: Stream, net: Network, h: Array, layer: int, s: NetScratch) -> Stream:
    """Draw the units of the layer above, given both its neighbours (eq. 5)."""
    width, first_unit, above = net.widths[layer], net.first[layer], net.first[layer + 1]
    compute_inputs(net, h, layer + 1, s.inputs)
    for j in range(net.widths[layer + 1]):
        column = net.table[layer] + j * width
        log_odds = s.inputs[above + j]
        for k in range(width):
            if h[first_unit + k]:
                log_odds += net.columns[column + k]
        s.chance[above + j] = sigmoid(log_odds)
        h[above + j], rng = draw_bit(rng, s.chance[above + j])
    return rng


@compiled
def draw_reconstruction(rng: Stream, net: Network, h: Array, s: NetScratch) -> Stream:
    """Sweep a Boltzmann machine once without words, layer 1 first: the reconstruction of CD-1 (Hinton, 2002)."""
    compute_inputs(net, h, 0, s.inputs)
    for k in range(net.widths[0]):
        h[k], rng = draw_bit(rng, sigmoid(s.inputs[k]))
    for layer in range(len(net.widths) - 1):
        rng = _draw_boltzmann_layer(rng, net, h, layer, s)
    return rng


_CUT = 0.64  # point where the two proposals meet
_FAR = 20.0  # from this |z| / 2 on, the mass to the right of the cut is below float64 precision
_ROOT = sqrt(1.0 / _CUT)
_HALF_SQUARE = pi * pi / 8.0


@compiled
def draw_polya_gamma(rng: Stream, z: float) -> Draw:
    """Draw ``PG(1, z)`` for any finite z: mean ``tanh(z / 2) / (2 z)``, 1/4 at 0."""
    half = 0.5 * fabs(z)
    rate = _HALF_SQUARE + 0.5 * half * half
    right_share = 0.0 if half > _FAR else _compute_right_share(half, rate)
    while True:
        u, rng = draw_uniform(rng)
        if u < right_share:
            e, rng = draw_exponential(rng)
            x = _CUT + e / rate
        else:
            x, rng = _draw_left(rng, half)
        accepted, rng = _judge_series(rng, x)
        if accepted:
            return 0.25 * x, rng


@compiled
def _compute_right_share(half: float, rate: float) -> float:
    """Return the share of the proposals to the right of the cut."""
    right = 0.5 * pi / rate * exp(-rate * _CUT)
    below = 0.5 * erfc(-_ROOT * (_CUT * half - 1.0) / sqrt(2.0))
    above = 0.5 * erfc(_ROOT * (_CUT * half + 1.0) / sqrt(2.0))
    left = 2.0 * (exp(-half) * below + exp(half) * above)
    return right / (right + left)


@compiled
def _draw_left(rng: Stream, half: float) -> Draw:
    """Draw an inverse Gaussian of mean ``1 / half`` and shape 1, given that it is at most the cut."""
    if half < 1.0 / _CUT:
        while True:
            x, rng = _draw_inverse_square(rng)
            u, rng = draw_uniform(rng)
            if u <= exp(-0.5 * half * half * x):
                return x, rng
    mean = 1.0 / half
    while True:
        z, rng = draw_normal(rng)
        y = mean * z * z
        x = mean / (1.0 + 0.5 * (y + sqrt(y * (4.0 + y))))  # the smaller root, without cancellation
        u, rng = draw_uniform(rng)
        if u * (mean + x) > mean:
            x = mean * mean / x
        if x <= _CUT:
            return x, rng


@compiled
def _draw_inverse_square(rng: Stream) -> Draw:
    """Draw ``1 / N^2``, N standard normal, given that it is at most the cut, from two exponential variables."""
    while True:
        first, rng = draw_exponential(rng)
        second, rng = draw_exponential(rng)
        if first * first <= 2.0 * second / _CUT:
            scale = 1.0 + _CUT * first
            return _CUT / (scale * scale), rng


@compiled
def _compute_term(x: float, n: int) -> float:
    """Return term n of the series for the density at ``x``, in the form that converges fast on that side of the cut."""
    step = n + 0.5
    if x > _CUT:
        return pi * step * exp(-0.5 * step * step * pi * pi * x)
    root = sqrt(2.0 / (pi * x))
    return root * root * root * pi * step * exp(-2.0 * step * step / x)


@compiled
def _judge_series(rng: Stream, x: float) -> tuple[bool, Stream]:
    """Accept or reject a proposal by partial sums, which are alternately above and below the density."""
    total = _compute_term(x, 0)
    u, rng = draw_uniform(rng)
    height = u * total
    n = 0
    while True:
        n += 1
        total -= _compute_term(x, n)
        if height <= total:
            return True, rng
        n += 1
        total += _compute_term(x, n)
        if height > total:
            return False, rng
