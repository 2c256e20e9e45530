"""The Bayesian classifier on top of an encoder's activations: sDATM-L and sDATM-N.

Zhang et al. (2020), section III.  Features are the activations of every layer (eq. 28), each as ``ln(1 + theta /
size)`` so that long documents do not dominate short ones; sDATM-N sends them through a softplus network (eq. 30, 35),
and may also pass them to the last layer directly (a shortcut, which the paper does not have).  The weights of the last
layer have a Gaussian posterior (eq. 33); a document's logits are drawn from the Gaussian that it implies for them
(local reparametrisation), one draw per document and step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine.autoencoder.encoder import Dropout, softplus, softplus_slope
from topiary.engine.contract import Array, Batch, FloatArray
from topiary.engine.gibbs.augment import draw_normals, draw_uniforms
from topiary.engine.streams import DROPPED, LABELS, LOGITS, make_generator

LAST = 3  # arrays of the last layer (mean, spread, bias), which come last among the weights
START_SPREAD = -5.0  # its softplus is the initial standard deviation of a weight
FASTER = 10.0  # step size of the last layer relative to the encoder's
STEADY, EACH = 100, 5  # predictions average the weights of at most the last 100 mini-batches, every fifth of them
NARROW = 8  # a layer with fewer units keeps them all
LEAST_EFFECT = 10.0  # effect that a unit's inputs can have under any decay; with 1 and 4 planted classes are not found
GAIN = 2.0  # makes up for the slope 1/2 of softplus at 0


class Lesson(NamedTuple):
    """The log-probability of the labels of a table, and its derivatives.

    ``value`` (documents,) is ``ln p(y | theta)`` times the weight of labels, 0 without a label; ``outer`` its
    derivative in theta^(l), one (documents, K_l) per layer; ``gradient`` that in the classifier's own weights.
    """

    value: FloatArray
    outer: list[FloatArray]
    gradient: list[FloatArray]


class Classifier(NamedTuple):
    """The settings of a classifier.

    Attributes
    ----------
    n_classes : int
    hidden : tuple of int
        Widths a_1, a_2 of the network of sDATM-N; empty for the linear sDATM-L.
    weight : float
        Weight of ``ln p(y)`` relative to ``ln p(x)``.
    first, ramp : int
        Mini-batch from which labels count, and number of mini-batches over which their weight rises to ``weight``.
    rate : float
        Step size of the network's weights; the Gaussian layer moves faster than the encoder.
    n_documents : int
        Number of documents among which the divergence of the weights is divided.
    read : float
        Share of the words of a document that is read while labels count.
    seed : int
    shortcut : bool
        True if the last layer of sDATM-N also reads the features: the network then adds to sDATM-L.
    dropout : float
        Share of the encoder's units that is left out for a document while labels are learned; they differ each time.
    decay : float
        Share of the encoder's weights, times its step size, that decays at each step while labels are learned, if a
        single document has a label; with N labelled documents it is 1/N of that.
    """

    n_classes: int
    hidden: tuple[int, ...]
    weight: float
    first: int
    ramp: int
    rate: float
    n_documents: int
    read: float = 1.0
    seed: int = 0
    shortcut: bool = False
    dropout: float = 0.0
    decay: float = 0.0

    def make_weights(self, seed: int, widths: tuple[int, ...]) -> tuple[FloatArray, ...]:
        """Return initial weights: g_1 passes topics on, h and g_2 are random, the last layer is 0.

        A softplus is never negative and has slope 1/2 at 0, so differences between documents would fade from layer to
        layer.  Hence random weights are ``GAIN`` times Glorot's, and those of a unit sum to 0.
        """
        rng = make_generator(seed, LABELS)
        weights: list[FloatArray] = []
        n_inputs = sum(widths)
        for k in widths if self.hidden else ():
            weights += [GAIN * np.eye(k), np.zeros(k)]
        for width in self.hidden:
            table = rng.normal(0.0, GAIN * np.sqrt(2.0 / (n_inputs + width)), (n_inputs, width))
            weights += [table - table.mean(axis=0), np.zeros(width)]
            n_inputs = width
        last_shape = (n_inputs + sum(widths) * bool(self.hidden and self.shortcut), self.n_classes)
        return (*weights, np.zeros(last_shape), np.full(last_shape, START_SPREAD), np.zeros(self.n_classes))

    def weigh_labels(self, t: int) -> float:
        """Return the weight of labels at mini-batch ``t``: 0 before ``first``, then rising over ``ramp``."""
        return self.weight * min(1.0, max(0.0, (t - self.first) / max(1, self.ramp)))

    def weigh_newest(self, t: int) -> float | None:
        """Return the share of the newest weights in the running mean used for predictions; None before labels count.

        The mean covers about the last tenth of the steps with labels (Shamir and Zhang, 2013), at most ``STEADY``
        steps: it follows the weights while much is learned, and is stable later.  Only every ``EACH``-th step counts,
        as successive weights are alike and tables of words are large; the share of the other steps is 0.
        """
        if self.weigh_labels(t) == 0.0:
            return None
        n_steps, remainder = divmod(t - self.first, EACH)
        return 0.0 if remainder else max(EACH / STEADY, 10.0 / (10.0 + n_steps))

    def choose_share(self, t: int) -> float:
        """Return the share of a document that step ``t`` reads: all of it before labels count."""
        return 1.0 if self.weigh_labels(t) == 0.0 else self.read

    def list_rates(self, n_weights: int, last: float, slower: float) -> list[float]:
        """Return the step sizes of all weights: of the network, which fails at large ones, then of the last layer.

        Features are logarithms, mostly near 0, so that the weights of the last layer become large: their steps are
        ``FASTER`` times the encoder's.
        """
        return [self.rate * slower] * (n_weights - LAST) + [FASTER * last * slower] * LAST

    def list_decays(
        self, weights: tuple[FloatArray, ...], n_encoder: int, rate: float, read: int, labelled: int, t: int
    ) -> list[float]:
        """Return the share of each array that decays at step ``t``; only the encoder's arrays do, without biases.

        The encoder's arrays are the first ``n_encoder``; ``labelled`` of the ``read`` documents of the mini-batch have
        a label.

        The decay is a prior that all labelled documents share (their number is estimated from the mini-batch): the
        fewer they are, the sooner they are memorised.  A step of Adam is as long as its step size, so no weight
        outgrows 1 / strength, and what a unit reads from n values can move it by at least ``LEAST_EFFECT``.
        """
        if self.weigh_labels(t) == 0.0 or not labelled:
            return [0.0] * len(weights)
        strength = self.decay * read / (labelled * max(1, self.n_documents))
        return [
            min(1.0, rate * min(strength, len(weight) / LEAST_EFFECT)) * (index < n_encoder and weight.ndim > 1)
            for index, weight in enumerate(weights)
        ]

    def learn_labels(
        self, weights: tuple[FloatArray, ...], theta: list[FloatArray], sizes: FloatArray, docs: Batch, t: int
    ) -> Lesson:
        """Return the log-probability of the labels of a table of documents, and its derivatives."""
        label_weight = self.weigh_labels(t)
        stages = _run_forward(weights, compute_features(theta, sizes))
        noise = draw_normals(self.seed, LABELS, t, docs.documents, self.n_classes)
        logits, spread = _draw_logits(weights, stages.read, noise)
        probabilities = softmax(logits)
        labelled = docs.labels >= 0
        rows = np.flatnonzero(labelled)
        value = np.zeros(len(labelled))
        value[rows] = label_weight * np.log(np.maximum(probabilities[rows, docs.labels[rows]], 1e-300))
        d_logits = -label_weight * probabilities * labelled[:, None]
        d_logits[rows, docs.labels[rows]] += label_weight
        slopes = [1.0 / (sizes[:, layer : layer + 1] + values) for layer, values in enumerate(theta)]
        return Lesson(value, *_run_backward(weights, stages, slopes, d_logits, noise, spread))

    def drop_units(self, documents: Array, widths: list[int], t: int) -> Dropout | None:
        """Return the encoder's units to drop at step ``t`` (Srivastava et al., 2014); None before labels count.

        The remaining units are scaled up to compensate.  A layer of fewer than ``NARROW`` units keeps them all, as
        still fewer could not tell the classes apart.
        """
        if self.dropout == 0.0 or self.weigh_labels(t) == 0.0:
            return None
        ends = np.cumsum(widths)
        uniforms = draw_uniforms(self.seed, DROPPED, t, documents, int(ends[-1]))
        shares = [1.0 - self.dropout * (width >= NARROW) for width in widths]
        parts = np.split(uniforms, ends[:-1], axis=1)
        return Dropout([(part >= 1.0 - portion) / portion for part, portion in zip(parts, shares, strict=True)], shares)

    def differentiate_divergence(self, weights: tuple[FloatArray, ...], t: int) -> list[FloatArray]:
        """Return the derivative of ``-KL(q(w) || N(0, I)) / N`` (eq. 34, element by element); 0 before labels count.

        It does not depend on the weight of labels: labels counted ``weight`` times are that much more evidence.
        """
        share = float(self.weigh_labels(t) > 0.0) / max(1, self.n_documents)
        mean, raw = weights[-LAST], weights[-LAST + 1]
        deviation = softplus(raw)
        gradient = [np.zeros_like(weight) for weight in weights]
        gradient[-LAST] = -share * mean
        gradient[-LAST + 1] = -share * (deviation - 1.0 / deviation) * softplus_slope(deviation)
        return gradient

    def predict_classes(
        self, weights: tuple[FloatArray, ...], theta: list[FloatArray], sizes: FloatArray, documents: Array, draw: int
    ) -> FloatArray:
        """Return the probability of every class under one draw of the weights, (documents, C)."""
        noise = draw_normals(self.seed, LOGITS, draw, documents, self.n_classes)
        return softmax(_draw_logits(weights, _run_forward(weights, compute_features(theta, sizes)).read, noise)[0])

    def compute_class_weights(self, weights: tuple[FloatArray, ...], widths: tuple[int, ...]) -> list[FloatArray]:
        """Return the weights of topics for classes, (C, K_l) per layer: slopes of the mean logits in the features.

        They are exact for sDATM-L; for sDATM-N they are the slopes at a document that uses all topics equally.
        """
        theta = [np.ones((1, k)) for k in widths]
        stages = _run_forward(weights, compute_features(theta, np.ones((1, len(widths)))))
        zeros = np.zeros((1, self.n_classes))
        rows = []
        for c in range(self.n_classes):
            d_logits = np.zeros((1, self.n_classes))
            d_logits[0, c] = 1.0
            outer, _ = _run_backward(
                weights, stages, theta, d_logits, zeros, zeros + 1.0
            )  # slopes of 1: derivatives in the features
            rows.append([slopes[0] for slopes in outer])
        return [np.array([row[layer] for row in rows]) for layer in range(len(widths))]


def compute_features(theta: Sequence[FloatArray], sizes: FloatArray) -> list[FloatArray]:
    """Return the classifier's input ``ln(1 + theta^(l) / size^(l))``, (documents, K_l) per layer."""
    return [np.log1p(values / sizes[:, layer : layer + 1]) for layer, values in enumerate(theta)]


def softmax(logits: FloatArray) -> FloatArray:
    """Return probabilities from logits, (documents, C)."""
    raw = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


class _Stages(NamedTuple):
    """Intermediate values of a forward pass.

    ``features`` has one array per layer; ``own`` is g_1 of each, empty for sDATM-L; ``dense`` is all of them joined,
    then h and g_2 of sDATM-N; ``read`` is the input of the last layer: the last of ``dense``, with a shortcut joined
    with the features.
    """

    features: list[FloatArray]
    own: list[FloatArray]
    dense: list[FloatArray]
    read: FloatArray


def _run_forward(weights: tuple[FloatArray, ...], inputs: list[FloatArray]) -> _Stages:
    """Run features through the network, with a shortcut if the last layer has rows for it."""
    n, own = len(inputs), []
    if len(weights) > LAST:
        own = [softplus(x @ weights[2 * i] + weights[2 * i + 1]) for i, x in enumerate(inputs)]
    dense = [np.concatenate(own or inputs, axis=1)]
    for i in range(2 * n, len(weights) - LAST, 2):
        dense.append(softplus(dense[-1] @ weights[i] + weights[i + 1]))
    read = dense[-1]
    if len(weights[-LAST]) > read.shape[1]:
        read = np.concatenate([read, *inputs], axis=1)
    return _Stages(inputs, own, dense, read)


def _draw_logits(
    weights: tuple[FloatArray, ...], inputs: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return drawn logits and their standard deviations, each (documents, C)."""
    mean, raw, bias = weights[-LAST:]
    spread = np.sqrt((inputs * inputs) @ (softplus(raw) ** 2) + 1e-12)
    return inputs @ mean + bias + spread * noise, spread


def _run_backward(
    weights: tuple[FloatArray, ...],
    stages: _Stages,
    slopes: list[FloatArray],
    d_logits: FloatArray,
    noise: FloatArray,
    spread: FloatArray,
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return derivatives in theta of every layer, where features have ``slopes``, and in the classifier's weights."""
    gradient, d_read = _run_last_backward(weights, stages.read, d_logits, noise, spread)
    n, dense, ends = len(slopes), stages.dense, np.cumsum([layer.shape[1] for layer in stages.features])
    d_dense, d_shortcut = np.split(d_read, [dense[-1].shape[1]], axis=1)
    for i in range(len(dense) - 1, 0, -1):
        place = 2 * (n + i - 1)
        d_in = d_dense * softplus_slope(dense[i])
        gradient = [dense[i - 1].T @ d_in, d_in.sum(axis=0), *gradient]
        d_dense = d_in @ weights[place].T
    d_features = np.split(d_dense, ends[:-1], axis=1)
    own_gradient: list[FloatArray] = []
    for i, (x, g) in enumerate(zip(stages.features, stages.own, strict=False)):  # sDATM-L has none
        d_in = d_features[i] * softplus_slope(g)
        own_gradient += [x.T @ d_in, d_in.sum(axis=0)]
        d_features[i] = d_in @ weights[2 * i].T
    if d_shortcut.shape[1]:
        d_features = [a + b for a, b in zip(d_features, np.split(d_shortcut, ends[:-1], axis=1), strict=True)]
    return [d * layer_slopes for d, layer_slopes in zip(d_features, slopes, strict=True)], [*own_gradient, *gradient]


def _run_last_backward(
    weights: tuple[FloatArray, ...], read: FloatArray, d_logits: FloatArray, noise: FloatArray, spread: FloatArray
) -> tuple[list[FloatArray], FloatArray]:
    """Return derivatives in the Gaussian layer's mean, spread and bias, and in its input."""
    mean, raw, _ = weights[-LAST:]
    deviation = softplus(raw)
    d_variance = d_logits * noise / (2.0 * spread)
    d_raw = ((read * read).T @ d_variance) * 2.0 * deviation * softplus_slope(deviation)
    d_read = d_logits @ mean.T + 2.0 * read * (d_variance @ (deviation**2).T)
    return [read.T @ d_logits, d_raw, d_logits.sum(axis=0)], d_read
