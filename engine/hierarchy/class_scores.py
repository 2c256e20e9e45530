"""Scores of predicted classes: error, F1, confusion, calibration, and the topics that lean towards a class.

Everything here is a pure function of arrays.  ``C`` classes; labels are whole numbers from 0 to C - 1;
the predicted class is the most probable one, the first among equals.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.contract import Array, FloatArray, IntArray
from engine.hierarchy.tree import Edge, Node

BINS = 10
_TINY = float(np.finfo(np.float64).tiny)


TellingPath: TypeAlias = tuple[tuple[Node, ...], float]  # a path of topics from the top, and the sum of their values


class Reliability(NamedTuple):
    """Documents grouped by the confidence of the prediction, in bins of equal width from 0 to 1.

    Attributes
    ----------
    counts : (B,) int
        Documents whose largest probability falls into the bin.
    confidence, accuracy : (B,) float64
        Mean largest probability, and the share predicted correctly; 0 in empty bins.
    """

    counts: IntArray
    confidence: FloatArray
    accuracy: FloatArray


class ClassScores(NamedTuple):
    """Scores of predictions.

    Attributes
    ----------
    documents : int
    error : float
        Share of the documents predicted wrongly.
    macro_f1 : float
        Mean F1 over the judged classes.
    log_loss : float
        Mean of minus the logarithm of the probability of the true class.
    ece : float
        Expected calibration error: mean distance of confidence and accuracy over the bins, by documents.
    confusion : (C, C) int
        Row: true class, column: predicted class.
    precision, recall, f1 : (C,) float64
        0 where nothing was predicted, or there was nothing to find.
    reliability : Reliability
    """

    documents: int
    error: float
    macro_f1: float
    log_loss: float
    ece: float
    confusion: IntArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    reliability: Reliability

    @property
    def judged(self) -> NDArray[np.bool_]:
        """The classes that occur among labels or predictions, (C,); the others have no scores."""
        return _find_judged(self.confusion)


def score_predictions(probabilities: Array, labels: Array) -> ClassScores:
    """Score predictions.

    Parameters
    ----------
    probabilities : (n, C) array
        Rows sum to 1.
    labels : (n,) int array

    Raises
    ------
    ValueError
        When there is no document, a label is not a class, or a probability is not a number.
    """
    chances, truth = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    _check_predictions(chances, truth)
    predicted = chances.argmax(axis=1)
    table = count_confusion(truth, predicted, chances.shape[1])
    precision, recall, f1 = _score_classes(table)
    curve = measure_reliability(chances, truth)
    of_truth = chances[np.arange(len(truth)), truth]
    return ClassScores(
        documents=len(truth),
        error=float(np.mean(predicted != truth)),
        macro_f1=float(f1[_find_judged(table)].mean()),
        log_loss=float(-np.log(np.maximum(of_truth, _TINY)).mean()),
        ece=compute_calibration_error(curve),
        confusion=table,
        precision=precision,
        recall=recall,
        f1=f1,
        reliability=curve,
    )


def compute_majority_error(labels: Array, train_counts: Array) -> float:
    """Return the error of always predicting the most common class of the training documents, the first among equals.

    Parameters
    ----------
    labels : (n,) int array
        Of the scored documents.
    train_counts : (C,) int array
        Training documents of every class.
    """
    return float(np.mean(np.asarray(labels) != np.argmax(train_counts)))


def count_confusion(labels: Array, predicted: Array, n_classes: int) -> IntArray:
    """Count documents by true class (row) and predicted class (column)."""
    cells = np.asarray(labels, dtype=np.int64) * n_classes + np.asarray(predicted, dtype=np.int64)
    return np.bincount(cells, minlength=n_classes * n_classes).reshape(n_classes, n_classes)


def measure_reliability(probabilities: Array, labels: Array, bins: int = BINS) -> Reliability:
    """Group documents by their largest probability; a bin includes its lower edge, the last one both edges."""
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    filled = np.maximum(counts, 1)
    return Reliability(
        counts,
        np.bincount(place, weights=sure, minlength=bins) / filled,
        np.bincount(place, weights=right.astype(np.float64), minlength=bins) / filled,
    )


def compute_calibration_error(curve: Reliability) -> float:
    """Return the expected calibration error of a reliability curve."""
    total = max(1, int(curve.counts.sum()))
    return float((curve.counts * np.abs(curve.confidence - curve.accuracy)).sum() / total)


def measure_lean(weights: Array, theta: Array, one: IntArray, other: IntArray) -> FloatArray:
    """Return how far the topics of a layer lean from class ``other`` to class ``one``, (n,).

    Parameters
    ----------
    weights : (C, K) array
        Mean weight of every topic for every class.
    theta : (n, K) array
        Activations of documents.
    one, other : (n,) int arrays
    """
    differences = np.asarray(weights, dtype=np.float64)[one] - np.asarray(weights, dtype=np.float64)[other]
    return np.asarray((differences * theta).sum(axis=1))


def share_by_layer(weights: Sequence[Array], theta: Sequence[Array], probabilities: Array) -> FloatArray:
    """Return the share of each layer in the predictions, (L,), sum 1; all 0 where no layer leans to them.

    A layer contributes the lean of its topics, averaged over documents, from the second most probable class to the most
    probable one; a layer that leans the other way contributes nothing.
    """
    if not len(probabilities) or np.shape(probabilities)[1] < 2:
        return np.zeros(len(weights))
    ranked = np.argsort(-np.asarray(probabilities), axis=1, kind="stable")[:, :2]
    sums = np.array(
        [
            measure_lean(table, layer, ranked[:, 0], ranked[:, 1]).mean()
            for table, layer in zip(weights, theta, strict=True)
        ]
    )
    parts = np.maximum(sums, 0.0)
    return np.asarray(parts / parts.sum() if parts.sum() > 0 else parts)


def centre_weights(weights: Array) -> FloatArray:
    """Return the weights of topics for classes, (C, K), minus their mean over classes: 0 favours no class."""
    values = np.asarray(weights, dtype=np.float64)
    return np.asarray(values - values.mean(axis=0, keepdims=True))


def find_telling_paths(graph: Sequence[Edge], weights: Sequence[Array], n: int) -> list[TellingPath]:
    """Find the root-to-leaf paths of a graph whose topics together have the largest value, best first.

    Exact: on the way up the ``n`` best beginnings of every topic are kept, as in
    :func:`engine.hierarchy.paths.find_best_paths`.

    Parameters
    ----------
    graph : sequence of Edge
    weights : sequence of (K_l,) arrays
        Value of every topic, one array per layer.
    n : int

    Returns
    -------
    list of (nodes from the top layer to layer 1, sum of their values)
    """
    best: dict[Node, list[TellingPath]] = {
        Node(1, k): [((Node(1, k),), value)] for k, value in enumerate(weights[0].tolist())
    }
    for layer in range(2, len(weights) + 1):
        longer: dict[Node, list[TellingPath]] = {}
        for edge in (edge for edge in graph if edge.layer == layer):
            gain = float(weights[layer - 1][edge.parent])
            longer.setdefault(edge.above, []).extend(
                ((edge.above, *nodes), value + gain) for nodes, value in best.get(edge.below, ())
            )
        best = {node: _take_heaviest(paths, n) for node, paths in longer.items()}
    return _take_heaviest([each for paths in best.values() for each in paths], n)


def _take_heaviest(paths: list[TellingPath], n: int) -> list[TellingPath]:
    return sorted(paths, key=lambda each: (-each[1], each[0]))[:n]


def _check_predictions(probabilities: FloatArray, labels: NDArray[np.int64]) -> None:
    if not len(labels) or probabilities.shape[0] != len(labels):
        raise ValueError(
            f"predictions and labels must be of the same documents, at least one; got {probabilities.shape[0]} "
            f"and {len(labels)}"
        )
    if labels.min() < 0 or labels.max() >= probabilities.shape[1]:
        raise ValueError(f"labels must be from 0 to {probabilities.shape[1] - 1}; got {labels.min()} to {labels.max()}")
    if not np.isfinite(probabilities).all():
        raise ValueError("some predicted probabilities are not numbers; the run's weights are damaged")


def _find_judged(table: IntArray) -> NDArray[np.bool_]:
    return np.asarray(table.sum(axis=0) + table.sum(axis=1) > 0)


def _score_classes(table: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    right = table.diagonal().astype(np.float64)
    predicted, actual = table.sum(axis=0), table.sum(axis=1)
    precision = right / np.maximum(predicted, 1)
    recall = right / np.maximum(actual, 1)
    return precision, recall, 2 * right / np.maximum(predicted + actual, 1)
