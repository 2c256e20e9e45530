"""Scores of predicted classes: error, F1, confusion, calibration, and the topics that lean towards a class.

All functions are pure functions of arrays.  There are ``C`` classes; labels are integers from 0 to C - 1;
the predicted class is the most probable one, or the first of several equally probable ones.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.hierarchy.tree import Edge, Node

BINS = 10  # of predicted probability
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
        Expected calibration error: mean distance between confidence and accuracy of the bins, weighted by documents.
    confusion : (C, C) int
        Row: true class, column: predicted class.
    precision, recall, f1 : (C,) float64
        0 for a class that was never predicted, or that no document has.
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
        """Mask of the classes that occur among labels or predictions, (C,); the others have no scores."""
        return _find_judged(self.confusion)


def score_predictions(probabilities: Array, labels: Array) -> ClassScores:
    """Return the scores of predicted probabilities.

    Parameters
    ----------
    probabilities : (n, C) array
        Probabilities of the classes; rows sum to 1.
    labels : (n,) int array
        True classes.

    Raises
    ------
    ValueError
        If there is no document, a label is not a class, or a probability is not a number.
    """
    chances, truth = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    _check_predictions(chances, truth)
    predicted = chances.argmax(axis=1)
    confusion = count_confusion(truth, predicted, chances.shape[1])
    precision, recall, f1 = _score_classes(confusion)
    curve = measure_reliability(chances, truth)
    true_chances = chances[np.arange(len(truth)), truth]
    return ClassScores(
        documents=len(truth),
        error=float(np.mean(predicted != truth)),
        macro_f1=float(f1[_find_judged(confusion)].mean()),
        log_loss=float(-np.log(np.maximum(true_chances, _TINY)).mean()),
        ece=compute_calibration_error(curve),
        confusion=confusion,
        precision=precision,
        recall=recall,
        f1=f1,
        reliability=curve,
    )


def compute_majority_error(labels: Array, train_counts: Array) -> float:
    """Return the error of always predicting the most common class of the training documents.

    Parameters
    ----------
    labels : (n,) int array
        Classes of the scored documents.
    train_counts : (C,) int array
        Number of training documents of every class.
    """
    return float(np.mean(np.asarray(labels) != np.argmax(train_counts)))


def count_confusion(labels: Array, predicted: Array, n_classes: int) -> IntArray:
    """Return the number of documents by true class (row) and predicted class (column), (C, C)."""
    cells = np.asarray(labels, dtype=np.int64) * n_classes + np.asarray(predicted, dtype=np.int64)
    return np.bincount(cells, minlength=n_classes * n_classes).reshape(n_classes, n_classes)


def measure_reliability(probabilities: Array, labels: Array, bins: int = BINS) -> Reliability:
    """Group documents by their largest probability; a bin includes its lower edge, and the last one also the upper."""
    confidence = probabilities.max(axis=1)
    is_correct = probabilities.argmax(axis=1) == labels
    bin_numbers = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(bin_numbers, minlength=bins)
    filled = np.maximum(counts, 1)
    return Reliability(
        counts,
        np.bincount(bin_numbers, weights=confidence, minlength=bins) / filled,
        np.bincount(bin_numbers, weights=is_correct.astype(np.float64), minlength=bins) / filled,
    )


def compute_calibration_error(curve: Reliability) -> float:
    """Return the expected calibration error of a reliability curve."""
    total = max(1, int(curve.counts.sum()))
    return float((curve.counts * np.abs(curve.confidence - curve.accuracy)).sum() / total)


def measure_lean(weights: Array, theta: Array, one: IntArray, other: IntArray) -> FloatArray:
    """Return how much the topics of a layer favour class ``one`` over class ``other`` in each document, (n,).

    Parameters
    ----------
    weights : (C, K) array
        Mean weight of every topic for every class.
    theta : (n, K) array
        Activations of documents.
    one, other : (n,) int arrays
        Two classes for each document.
    """
    differences = np.asarray(weights, dtype=np.float64)[one] - np.asarray(weights, dtype=np.float64)[other]
    return np.asarray((differences * theta).sum(axis=1))


def share_by_layer(weights: Sequence[Array], theta: Sequence[Array], probabilities: Array) -> FloatArray:
    """Return the share of each layer in the predictions, (L,), with sum 1; all 0 if no layer supports them.

    A layer contributes the mean over documents of :func:`measure_lean` from the second most probable class to the most
    probable one; a layer with a negative mean contributes nothing.
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
    positive_sums = np.maximum(sums, 0.0)
    return np.asarray(positive_sums / positive_sums.sum() if positive_sums.sum() > 0 else positive_sums)


def centre_weights(weights: Array) -> FloatArray:
    """Return the weights of topics for classes, (C, K), minus their mean over classes, so that 0 favours no class."""
    values = np.asarray(weights, dtype=np.float64)
    return np.asarray(values - values.mean(axis=0, keepdims=True))


def find_telling_paths(graph: Sequence[Edge], weights: Sequence[Array], n: int) -> list[TellingPath]:
    """Return the ``n`` root-to-leaf paths of a graph with the largest sum of values, best first.

    The result is exact: layer by layer from the bottom, the ``n`` best partial paths that end in each topic are kept,
    as in :func:`engine.hierarchy.paths.find_best_paths`.

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
    return _take_heaviest([path for paths in best.values() for path in paths], n)


def _take_heaviest(paths: list[TellingPath], n: int) -> list[TellingPath]:
    """Return the ``n`` paths with the largest sums, best first; equal ones in the order of their nodes."""
    return sorted(paths, key=lambda each: (-each[1], each[0]))[:n]


def _check_predictions(probabilities: FloatArray, labels: NDArray[np.int64]) -> None:
    """Raise ValueError if predictions and labels cannot be scored."""
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
    """Return a mask of the classes that occur in a confusion table, as true or predicted class."""
    return np.asarray(table.sum(axis=0) + table.sum(axis=1) > 0)


def _score_classes(table: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return precision, recall and F1 of every class, (C,) each, from a confusion table."""
    n_correct = table.diagonal().astype(np.float64)
    predicted, actual = table.sum(axis=0), table.sum(axis=1)
    precision = n_correct / np.maximum(predicted, 1)
    recall = n_correct / np.maximum(actual, 1)
    return precision, recall, 2 * n_correct / np.maximum(predicted + actual, 1)
