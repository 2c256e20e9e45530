"""The document encoder of DATM: from counts to the posterior of every activation, and gradients back.

Upwards (DATM eq. 23 to 25) ``h^(0) = ln(1 + x)`` (see :func:`compute_inputs`), ``h^(l) = softplus(h^(l-1) W3 + b3)``,
``k^(l) = softplus(h^(l) W1 + b1)``, ``size^(l) = softplus(h^(l) W2 + b2)``; downwards (eq. 22) the posterior of
theta^(l) has shape ``k^(l) + Phi^(l+1) theta^(l+1)``; all topics of a layer may share one ``k^(l)``.  Counts stay
sparse: the first product and its gradient touch only words that occur.  Weights are laid out (in, out), so that a word
owns a row.
"""

import itertools
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.autoencoder import rsvi, weibull
from topiary.engine.contract import Array, Batch, FloatArray
from topiary.engine.corpus import list_owners
from topiary.engine.jit import compiled
from topiary.engine.shared_settings import EncoderShape

POSTERIORS: dict[str, ModuleType] = {"weibull": weibull, "gamma": rsvi}
PER_LAYER = 6  # W3, b3, W1, b1, W2, b2
TINY = 1e-300
LOW_SHAPE, HIGH_SHAPE = 0.1, 10.0  # of a shape that all topics of a document share
LENGTH = 8.0  # norm of a document's weighted inputs; 60 to 100 different words have it without weights


class TablePrior(NamedTuple):
    """Prior of a table of documents.

    ``phi`` are the topics of every layer, ``r`` (K_L,) the top shapes, ``c`` (documents, L) the rates c^(2) ...
    c^(L+1), and ``sizes`` (documents, L) the factors of the second head.
    """

    phi: tuple[FloatArray, ...]
    r: FloatArray
    c: FloatArray
    sizes: FloatArray


class Dropout(NamedTuple):
    """Units left out of a pass: ``factors`` (documents, K_l) are 0 for them, else 1 / ``kept``, the layer's share."""

    factors: list[FloatArray]
    kept: list[float]


class Tape(NamedTuple):
    """Values of a forward pass that the backward pass needs: one table (documents, K_l) per layer.

    ``kept`` is the share of a layer's units that took part.
    """

    hidden: list[FloatArray]
    shape_heads: list[FloatArray]
    size_heads: list[FloatArray]
    kept: list[float]
    priors: list[FloatArray]
    draws: list[Any]

    @property
    def theta(self) -> list[FloatArray]:
        """The drawn activations."""
        return [draw.theta for draw in self.draws]


class Gradient(NamedTuple):
    """Derivatives of the objective.

    ``weights``: one array per weight except the first, whose rows belong to words; ``words`` (documents, K_1) is the
    derivative at the input of the first layer's softplus, from which :func:`scatter_gradient` makes those rows;
    ``priors`` (documents, K_l) per layer, with respect to Phi^(l+1) theta^(l+1) (r at the top).
    """

    weights: list[FloatArray]
    words: FloatArray
    priors: list[FloatArray]


def draw_weights(
    rng: np.random.Generator, n_words: int, layers: tuple[int, ...], gain: float = 1.0, *, per_document: bool = False
) -> tuple[FloatArray, ...]:
    """Draw initial weights: Glorot normal; heads start at shape and size about 1 (softplus(0.54)).

    The shape head has one column if all topics of a document share one shape, else one per topic.

    With a ``gain`` other than 1, the size heads are that many times Glorot's and their columns sum to 0: what units
    have in common cancels, and documents differ from the start.
    """
    weights: list[FloatArray] = []
    for below, width in itertools.pairwise((n_words, *layers)):
        n_shapes = 1 if per_document else width
        for rows, columns, bias in ((below, width, 0.0), (width, n_shapes, 0.54), (width, width, 0.54)):
            weights.append(rng.normal(0.0, np.sqrt(2.0 / (rows + columns)), (rows, columns)))
            weights.append(np.full(columns, bias))
        if gain != 1.0:
            weights[-2] = gain * (weights[-2] - weights[-2].mean(axis=0))
    return tuple(weights)


def prune_weights(weights: tuple[FloatArray, ...], columns: Array) -> tuple[FloatArray, ...]:
    """Return weights (or their moments) restricted to the units ``columns`` of the top layer (DATM Algorithm 2)."""
    w3, b3, w1, b1, w2, b2 = weights[-PER_LAYER:]
    square = np.ix_(columns, columns)
    w3 = np.ascontiguousarray(w3[:, columns])  # choosing columns changes the memory order
    w1, b1 = (w1[columns], b1) if w1.shape[1] < w1.shape[0] else (w1[square], b1[columns])
    return (*weights[:-PER_LAYER], w3, b3[columns], w1, b1, w2[square], b2[columns])


def compute_inputs(docs: Batch, spread: Array, met: int) -> FloatArray:
    """Return h^(0) of every cell, (cells,): ``ln(1 + x)``, times the rarity of the word if ``spread`` (V,) is known.

    ``spread`` holds how many of ``met`` documents have each word.  Weighted inputs of a document are scaled to the norm
    ``LENGTH``, so that its subject matters and its length does not.
    """
    values = np.log1p(docs.counts.astype(np.float64))
    if not len(spread):
        return values
    values *= 1.0 + np.log((1.0 + met) / (1.0 + spread[docs.words]))
    return LENGTH * normalise_lengths(values, docs.starts)


def normalise_lengths(values: FloatArray, starts: Array) -> FloatArray:
    """Return the ``values`` of cells, scaled so that those of each document have the Euclidean norm 1."""
    owners = list_owners(starts)
    squares = np.bincount(owners, values * values, len(starts) - 1)
    return np.asarray(values / np.sqrt(np.maximum(squares, TINY))[owners])


def read_documents(
    weights: tuple[FloatArray, ...],
    n_layers: int,
    batch: Batch,
    values: FloatArray,
    first: int,
    last: int,
    left_out: Dropout | None = None,
) -> list[FloatArray]:
    """Return h^(1) ... h^(L) of documents ``first:last``, one row each, from the values of :func:`compute_inputs`."""
    pre = np.zeros((last - first, weights[0].shape[1]))
    _gather_rows(weights[0], batch.words, values, batch.starts, first, last, pre)
    pre += weights[1]
    hidden: list[FloatArray] = []
    for layer in range(n_layers):
        if layer:
            w, b = weights[PER_LAYER * layer : PER_LAYER * layer + 2]
            pre = hidden[-1] @ w + b
        hidden.append(softplus(pre) * left_out.factors[layer] if left_out else softplus(pre))
    return hidden


class Heads(NamedTuple):
    """Values of an upward pass that do not depend on draws: the first fields of a :class:`Tape`."""

    hidden: list[FloatArray]
    shapes: list[FloatArray]
    sizes: list[FloatArray]
    kept: list[float]


def compute_heads(weights: tuple[FloatArray, ...], hidden: list[FloatArray], left_out: Dropout | None = None) -> Heads:
    """Return the shape head and the size head of every layer (eq. 23, 24)."""
    shapes, sizes = [], []
    for layer, h in enumerate(hidden):
        w1, b1, w2, b2 = weights[PER_LAYER * layer + 2 : PER_LAYER * (layer + 1)]
        shapes.append(softplus(h @ w1 + b1))
        sizes.append(softplus(h @ w2 + b2))
    return Heads(hidden, shapes, sizes, left_out.kept if left_out else [1.0] * len(hidden))


def spread_shapes(kind: EncoderShape, heads: FloatArray, width: int) -> FloatArray:
    """Return the shape of every topic, (documents, width), from the values of the shape head."""
    return np.repeat(np.clip(heads, LOW_SHAPE, HIGH_SHAPE), width, axis=1) if kind.per_document else heads


def _gather_shapes(kind: EncoderShape, heads: FloatArray, d_shapes: FloatArray) -> FloatArray:
    """Return the derivatives in the shape head, given those in the shape of every topic: back from `spread_shapes`."""
    if not kind.per_document:
        return d_shapes
    inside = (heads > LOW_SHAPE) & (heads < HIGH_SHAPE)
    return np.where(inside, d_shapes.sum(axis=1, keepdims=True), 0.0)


def run_forward(kind: EncoderShape, heads: Heads, prior: TablePrior, noise: Any) -> Tape:
    """Draw the activations of a table from the top down (eq. 22); ``noise(layer)`` gives its random numbers.

    With ``noise`` None every activation is its posterior mean given the means above.
    """
    family = POSTERIORS[kind.posterior]
    n = len(heads.hidden)
    tape = Tape(*heads, [], [])
    for layer in reversed(range(n)):
        size = heads.sizes[layer]
        k = spread_shapes(kind, heads.shapes[layer], size.shape[1])
        if layer == n - 1:
            above = np.tile(prior.r, (len(k), 1))
        else:
            above = tape.draws[0].theta @ prior.phi[layer + 1].T
            k = k + above if kind.downward else k
        tape.priors.insert(0, above)
        size = size * prior.sizes[:, layer : layer + 1]
        draw = family.draw_theta(k, size, noise(layer) if noise else _make_unused_noise(family, k.shape), kind.by_mean)
        tape.draws.insert(0, draw if noise else draw._replace(theta=family.compute_mean(draw.shape, draw.scale)))
    return tape


def _make_unused_noise(family: ModuleType, shape: tuple[int, int]) -> Any:
    """Return placeholder noise for a draw whose value is not used."""
    return np.zeros(shape) if family is weibull else rsvi.make_noise(0, 0, 0, np.arange(shape[0]), 0, shape[1])


def compute_divergences(kind: EncoderShape, tape: Tape, prior: TablePrior) -> list[FloatArray]:
    """Return KL(posterior || prior), one (documents,) array per layer, given the draws in the layer above."""
    family = POSTERIORS[kind.posterior]
    return [
        family.compute_divergence(draw.shape, draw.scale, tape.priors[layer], np.ascontiguousarray(prior.c[:, layer]))
        for layer, draw in enumerate(tape.draws)
    ]


def run_backward(
    kind: EncoderShape,
    weights: tuple[FloatArray, ...],
    tape: Tape,
    prior: TablePrior,
    outer: list[FloatArray],
    weight: float,
    rewards: list[FloatArray],
) -> Gradient:
    """Return the derivatives of ``sum f(theta) - weight * KL`` with respect to every weight of the encoder.

    Parameters
    ----------
    outer : list of (documents, K_l)
        df/dtheta^(l), without the path through the layers below.
    rewards : list of (documents,)
        f minus the divergences below layer l, which weights the gamma posterior's correction.
    """
    family = POSTERIORS[kind.posterior]
    n = len(tape.hidden)
    d_heads: list[tuple[FloatArray, FloatArray]] = []
    d_priors: list[FloatArray] = []
    d_theta = outer[0]
    for layer in range(n):
        rate = np.ascontiguousarray(prior.c[:, layer])
        args = (tape.draws[layer], tape.priors[layer], rate, d_theta, weight, kind.by_mean, rewards[layer])
        d_k, d_size, d_prior = family.pull_back(*args)
        if kind.downward and layer < n - 1:
            d_prior = d_prior + d_k
        d_priors.append(d_prior)
        if layer < n - 1:
            d_theta = outer[layer + 1] + d_prior @ prior.phi[layer + 1]
        d_size = d_size * prior.sizes[:, layer : layer + 1] * softplus_slope(tape.size_heads[layer])
        shape_heads = tape.shape_heads[layer]
        d_heads.append((_gather_shapes(kind, shape_heads, d_k) * softplus_slope(shape_heads), d_size))
    return _run_network_backward(weights, tape, d_heads, d_priors)


def _run_network_backward(
    weights: tuple[FloatArray, ...],
    tape: Tape,
    d_heads: list[tuple[FloatArray, FloatArray]],
    d_priors: list[FloatArray],
) -> Gradient:
    """Return the gradient of the dense layers, from the derivatives at the inputs of the heads' softplus.

    A unit that was left out passes nothing: its value is 0, and so is the slope of a softplus whose value is 0.
    """
    hidden = tape.hidden
    grads = [np.zeros(0)] * (PER_LAYER * len(hidden))
    from_above: FloatArray | float = 0.0
    words = np.zeros(0)
    for layer in reversed(range(len(hidden))):
        place = PER_LAYER * layer
        d_k, d_size = d_heads[layer]
        h, share = hidden[layer], tape.kept[layer]
        grads[place + 2], grads[place + 3] = h.T @ d_k, d_k.sum(axis=0)
        grads[place + 4], grads[place + 5] = h.T @ d_size, d_size.sum(axis=0)
        d_in = (
            (d_k @ weights[place + 2].T + d_size @ weights[place + 4].T + from_above)
            * softplus_slope(h * share)
            / share
        )
        grads[place + 1] = d_in.sum(axis=0)
        if layer > 0:
            grads[place] = hidden[layer - 1].T @ d_in
            from_above = d_in @ weights[place].T
        else:
            words = d_in
    return Gradient(grads[1:], words, d_priors)


@compiled
def _gather_rows(
    table: FloatArray, words: Array, values: Array, starts: Array, first: int, last: int, out: Any
) -> None:
    """Add sum_v h_jv table[v] to out[j]."""
    for j in range(first, last):
        row = out[j - first]
        for cell in range(starts[j], starts[j + 1]):
            weight = values[cell]
            source = table[words[cell]]
            for k in range(len(row)):
                row[k] += weight * source[k]


@compiled
def scatter_gradient(
    d_words: FloatArray, words: Array, values: Array, starts: Array, rows: Array, out: FloatArray
) -> None:
    """Add h_jv d_words[j] to out[rows[v]] for every word v present: the gradient of the first layer's rows."""
    for j in range(len(starts) - 1):
        source = d_words[j]
        for cell in range(starts[j], starts[j + 1]):
            weight = values[cell]
            row = out[rows[words[cell]]]
            for k in range(len(row)):
                row[k] += weight * source[k]


def softplus(x: FloatArray) -> FloatArray:
    """Return ln(1 + e^x): never infinite for finite x, and 0 only where e^x is."""
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))


def softplus_slope(value: FloatArray) -> FloatArray:
    """Return the derivative of softplus, from its value: 1 - e^-softplus."""
    return np.asarray(-np.expm1(-value))


class Likelihood(NamedTuple):
    """Poisson log-likelihood of a table of documents (DATM eq. 15) and its slopes.

    ``value`` (documents,) is ``sum_v x_v ln(Phi theta)_v - sum_k theta_k``, without ``ln x!``; ``slope``
    (documents, K_1) its derivative in theta^(1); ``shares`` (cells,) are ``x_v / (Phi theta)_v``.
    """

    value: FloatArray
    slope: FloatArray
    shares: FloatArray


@compiled
def compute_likelihood(phi: FloatArray, theta: FloatArray, words: Array, counts: Array, starts: Array) -> Likelihood:
    """Return the log-likelihood of counts under rates Phi^(1) theta^(1), touching only words that occur."""
    n, width = theta.shape
    value, d_theta, shares = np.zeros(n), np.empty((n, width)), np.empty(len(words))
    for j in range(n):
        d_theta[j] = -1.0
        for k in range(width):
            value[j] -= theta[j, k]
        for cell in range(starts[j], starts[j + 1]):
            topics = phi[words[cell]]
            rate = 0.0
            for k in range(width):
                rate += topics[k] * theta[j, k]
            share = counts[cell] / rate if rate > TINY else 0.0
            value[j] += counts[cell] * np.log(max(rate, TINY))
            shares[cell] = share
            for k in range(width):
                d_theta[j, k] += share * topics[k]
    return Likelihood(value, d_theta, shares)


@compiled
def compute_topic_slope(phi: FloatArray, theta: FloatArray, shares: Array, words: Array, starts: Array) -> FloatArray:
    """Return d / d Phi^(1) of the first sum of the log-likelihood, (V, K_1): ``sum_j x_jv / rate_jv theta_jk``."""
    table = np.zeros_like(phi)
    for j in range(theta.shape[0]):
        for cell in range(starts[j], starts[j + 1]):
            row = table[words[cell]]
            for k in range(theta.shape[1]):
                row[k] += shares[cell] * theta[j, k]
    return table


@compiled
def add_rates(phi: FloatArray, theta: FloatArray, words: Array, starts: Array, out: FloatArray) -> None:
    """Add (Phi^(1) theta_j^(1))_v to ``out`` at every cell."""
    for j in range(theta.shape[0]):
        for cell in range(starts[j], starts[j + 1]):
            topics = phi[words[cell]]
            rate = 0.0
            for k in range(theta.shape[1]):
                rate += topics[k] * theta[j, k]
            out[cell] += rate
