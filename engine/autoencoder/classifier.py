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

from engine.autoencoder.encoder import Dropout, softplus, softplus_slope
from engine.contract import Array, Batch, FloatArray
from engine.corpus import thin_tokens
from engine.gibbs.augment import draw_normals, draw_uniforms
from engine.streams import DROPPED, LABELS, LOGITS, make_generator

LAST = 3  # mean, spread and bias: the weights of the last layer come last
START_SPREAD = -5.0  # softplus of it is the first standard deviation of a weight
FASTER = 10.0  # step of the last layer relative to the encoder's
STEADY, EACH = 100, 5  # mini-batches, at most, whose weights are averaged for predictions; every fifth of them
NARROW = 8  # a layer with fewer units keeps them all
LEAST_EFFECT = 10.0  # effect that a unit's inputs can have under any decay: planted classes are lost with 1 and 4
GAIN = 2.0  # softplus is half as steep as its input at 0


class Lesson(NamedTuple):
    """The log-probability of one table's labels and its derivatives.

    ``value`` (documents,) is ``ln p(y | theta)`` times the weight of labels, 0 without a label; ``outer`` its
    derivative in theta^(l), one (documents, K_l) per layer; ``gradient`` that in the classifier's own weights.
    """

    value: FloatArray
    outer: list[FloatArray]
    gradient: list[FloatArray]


class Classifier(NamedTuple):
    """The kind of a classifier.

    Attributes
    ----------
    n_classes : int
    hidden : tuple of int
        Widths a_1, a_2 of the network of sDATM-N; empty for the linear sDATM-L.
    weight : float
        Weight of ``ln p(y)`` relative to ``ln p(x)``.
    first, ramp : int
        Mini-batch from which labels count, and number of mini-batches over which their weight rises.
    rate : float
        Step size of the network's weights; the Gaussian layer moves faster than the encoder.
    n_documents : int
        Documents that share the divergence of the weights.
    read : float
        Share of the words of a document that are read while labels count.
    seed : int
    shortcut : bool
        True if the last layer of sDATM-N also reads the features: the network then adds to sDATM-L.
    dropout : float
        Share of the encoder's units that are left out for a document while labels are learned, different ones each
        time.
    decay : float
        Share of the encoder's weights, times its step size, that decays at each step while labels are learned, for a
        single document with a label; for N of them a share of 1/N of it.
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

        A softplus is never negative and half as steep as its input at 0: signals would fade into what all documents
        have in common.  So random weights are ``GAIN`` times Glorot's, and those of a unit sum to 0.
        """
        rng = make_generator(seed, LABELS)
        weights: list[FloatArray] = []
        wide = sum(widths)
        for k in widths if self.hidden else ():
            weights += [GAIN * np.eye(k), np.zeros(k)]
        for width in self.hidden:
            table = rng.normal(0.0, GAIN * np.sqrt(2.0 / (wide + width)), (wide, width))
            weights += [table - table.mean(axis=0), np.zeros(width)]
            wide = width
        last = (wide + sum(widths) * bool(self.hidden and self.shortcut), self.n_classes)
        return (*weights, np.zeros(last), np.full(last, START_SPREAD), np.zeros(self.n_classes))

    def weigh_labels(self, t: int) -> float:
        """Return the weight of labels at mini-batch ``t``: 0 before ``first``, then rising over ``ramp``."""
        return self.weight * min(1.0, max(0.0, (t - self.first) / max(1, self.ramp)))

    def weigh_newest(self, t: int) -> float | None:
        """Return the share of the newest weights in the running mean that predicts; None before labels count.

        The mean is about that of the last tenth of the steps with labels (Shamir and Zhang, 2013), and of no more than
        ``STEADY``: it follows while much is learned and is stable when little is.  It takes every ``EACH``-th step, as
        neighbours are alike and tables of words are large; the share of the others is 0.
        """
        if self.weigh_labels(t) == 0.0:
            return None
        n_steps, rest = divmod(t - self.first, EACH)
        return 0.0 if rest else max(EACH / STEADY, 10.0 / (10.0 + n_steps))

    def thin_documents(self, docs: Batch, t: int) -> Batch:
        """Return the part of its documents that step ``t`` reads, another each time, so that none is memorised."""
        if self.read >= 1.0 or self.weigh_labels(t) == 0.0:
            return docs
        return thin_tokens(docs, self.read, self.seed, t)

    def list_rates(self, n_weights: int, last: float, slower: float) -> list[float]:
        """Return step sizes of the weights: of the network, which fails at large ones, then of the last layer.

        Features are logarithms, mostly near 0: the last layer has far to go, so its steps are ``FASTER`` than the
        encoder's.
        """
        return [self.rate * slower] * (n_weights - LAST) + [FASTER * last * slower] * LAST

    def list_decays(
        self, weights: tuple[FloatArray, ...], n_encoder: int, rate: float, read: int, labelled: int, t: int
    ) -> list[float]:
        """Return the share of each array that decays at step ``t``: of the first ``n_encoder``, without biases.

        ``labelled`` of the ``read`` documents of the mini-batch have a label.

        The decay is a prior that all documents with labels share (the share with labels is that of the mini-batch): the
        fewer they are, the sooner they are memorised.  A step of Adam is as long as its step size, so no weight
        outgrows 1 / strength, and what a unit reads from n values can move it by at least ``LEAST_EFFECT``.
        """
        if self.weigh_labels(t) == 0.0 or not labelled:
            return [0.0] * len(weights)
        strength = self.decay * read / (labelled * max(1, self.n_documents))
        return [
            min(1.0, rate * min(strength, len(weight) / LEAST_EFFECT)) * (place < n_encoder and weight.ndim > 1)
            for place, weight in enumerate(weights)
        ]

    def learn_labels(
        self, weights: tuple[FloatArray, ...], theta: list[FloatArray], sizes: FloatArray, docs: Batch, t: int
    ) -> Lesson:
        """Return the log-probability of the labels of a table, and its derivatives."""
        share = self.weigh_labels(t)
        stages = _run_forward(weights, compute_features(theta, sizes))
        noise = draw_normals(self.seed, LABELS, t, docs.documents, self.n_classes)
        logits, spread = _draw_logits(weights, stages.read, noise)
        chances = softmax(logits)
        labelled = docs.labels >= 0
        rows = np.flatnonzero(labelled)
        value = np.zeros(len(labelled))
        value[rows] = share * np.log(np.maximum(chances[rows, docs.labels[rows]], 1e-300))
        d_logits = -share * chances * labelled[:, None]
        d_logits[rows, docs.labels[rows]] += share
        steep = [1.0 / (sizes[:, layer : layer + 1] + values) for layer, values in enumerate(theta)]
        return Lesson(value, *_run_backward(weights, stages, steep, d_logits, noise, spread))

    def drop_units(self, documents: Array, widths: list[int], t: int) -> Dropout | None:
        """Return the encoder's units dropped at step ``t`` (Srivastava et al., 2014), or None before labels.

        The remaining units are scaled up to compensate.  A layer of fewer than ``NARROW`` units keeps them all: so few
        could not tell the classes apart.
        """
        if self.dropout == 0.0 or self.weigh_labels(t) == 0.0:
            return None
        edges = np.cumsum(widths)
        chances = draw_uniforms(self.seed, DROPPED, t, documents, int(edges[-1]))
        shares = [1.0 - self.dropout * (width >= NARROW) for width in widths]
        parts = np.split(chances, edges[:-1], axis=1)
        return Dropout([(part >= 1.0 - portion) / portion for part, portion in zip(parts, shares, strict=True)], shares)

    def differentiate_divergence(self, weights: tuple[FloatArray, ...], t: int) -> list[FloatArray]:
        """Return the derivative of ``-KL(q(w) || N(0, I)) / N`` (eq. 34, element by element), from the first label on.

        It counts once for any weight of the labels: ``weight`` labels per document are ``weight`` times the evidence.
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
        """Return weights of topics for classes, (C, K_l) per layer: slopes of the mean logit in the features.

        Exact for sDATM-L; for sDATM-N the slope at a document that uses every topic equally.
        """
        theta = [np.ones((1, k)) for k in widths]
        stages = _run_forward(weights, compute_features(theta, np.ones((1, len(widths)))))
        quiet = np.zeros((1, self.n_classes))
        rows = []
        for c in range(self.n_classes):
            d_logits = np.zeros((1, self.n_classes))
            d_logits[0, c] = 1.0
            outer, _ = _run_backward(weights, stages, theta, d_logits, quiet, quiet + 1.0)  # in features: a slope of 1
            rows.append([each[0] for each in outer])
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

    ``features`` one per layer; ``own`` g_1 of each, none in sDATM-L; ``dense`` all of them joined, then h and g_2 of
    sDATM-N; ``read`` the input of the last layer: the last of ``dense``, and with a shortcut the features too.
    """

    features: list[FloatArray]
    own: list[FloatArray]
    dense: list[FloatArray]
    read: FloatArray


def _run_forward(weights: tuple[FloatArray, ...], inputs: list[FloatArray]) -> _Stages:
    """Send features forward, with a shortcut if the last layer has rows for it."""
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
    """Return drawn logits and their standard deviations, (documents, C)."""
    mean, raw, bias = weights[-LAST:]
    spread = np.sqrt((inputs * inputs) @ (softplus(raw) ** 2) + 1e-12)
    return inputs @ mean + bias + spread * noise, spread


def _run_backward(
    weights: tuple[FloatArray, ...],
    stages: _Stages,
    steep: list[FloatArray],
    d_logits: FloatArray,
    noise: FloatArray,
    spread: FloatArray,
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return derivatives in theta of every layer (``steep``: of its features) and in the classifier's weights."""
    gradient, d_read = _run_last_backward(weights, stages.read, d_logits, noise, spread)
    n, dense, edges = len(steep), stages.dense, np.cumsum([layer.shape[1] for layer in stages.features])
    d_dense, straight = np.split(d_read, [dense[-1].shape[1]], axis=1)
    for i in range(len(dense) - 1, 0, -1):
        at = 2 * (n + i - 1)
        d_in = d_dense * softplus_slope(dense[i])
        gradient = [dense[i - 1].T @ d_in, d_in.sum(axis=0), *gradient]
        d_dense = d_in @ weights[at].T
    d_features = np.split(d_dense, edges[:-1], axis=1)
    own: list[FloatArray] = []
    for i, (x, g) in enumerate(zip(stages.features, stages.own, strict=False)):  # sDATM-L has none
        d_in = d_features[i] * softplus_slope(g)
        own += [x.T @ d_in, d_in.sum(axis=0)]
        d_features[i] = d_in @ weights[2 * i].T
    if straight.shape[1]:
        d_features = [a + b for a, b in zip(d_features, np.split(straight, edges[:-1], axis=1), strict=True)]
    return [d * slopes for d, slopes in zip(d_features, steep, strict=True)], [*own, *gradient]


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
