"""Predictions are judged as scikit-learn judges them, and what leaned where is what was planted."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from topiary.engine.hierarchy import class_scores, tree

CLASSES = 5


def made(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that know something, and labels; class 4 is rare."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(CLASSES, n, p=(0.4, 0.3, 0.15, 0.14, 0.01))
    raw = rng.gamma(0.6, size=(n, CLASSES)) + 1.2 * (np.arange(CLASSES) == labels[:, None])
    return raw / raw.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_error_f1_loss_and_confusion_are_those_of_scikit_learn(seed: int) -> None:
    probabilities, labels = made(seed)
    predicted = probabilities.argmax(axis=1)
    found = class_scores.score_predictions(probabilities, labels)
    every = list(range(CLASSES))
    assert found.error == pytest.approx(1 - metrics.accuracy_score(labels, predicted))
    assert found.macro_f1 == pytest.approx(metrics.f1_score(labels, predicted, average="macro", zero_division=0))
    assert found.log_loss == pytest.approx(metrics.log_loss(labels, probabilities, labels=every))
    np.testing.assert_array_equal(found.confusion, metrics.confusion_matrix(labels, predicted, labels=every))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(labels, predicted, labels=every, zero_division=0)
    for ours, theirs in ((found.precision, precision), (found.recall, recall), (found.f1, f1)):
        np.testing.assert_allclose(ours, theirs)


def test_the_reliability_curve_is_that_of_scikit_learn() -> None:
    probabilities, labels = made(4, n=3000)
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    accuracy, confidence = calibration_curve(right, sure, n_bins=class_scores.BINS, strategy="uniform")
    found = class_scores.measure_reliability(probabilities, labels)
    filled = found.counts > 0
    np.testing.assert_allclose(found.accuracy[filled], accuracy)
    np.testing.assert_allclose(found.confidence[filled], confidence)
    assert found.counts.sum() == 3000


def test_predictions_as_sure_as_they_are_right_have_no_calibration_error() -> None:
    rng = np.random.default_rng(5)
    sure = rng.uniform(0.5, 1.0, 200_000)
    probabilities = np.stack([sure, 1 - sure], axis=1)
    labels = (rng.random(len(sure)) > sure).astype(np.int64)
    assert class_scores.score_predictions(probabilities, labels).ece < 0.01
    too_sure = np.stack([np.full(1000, 0.9), np.full(1000, 0.1)], axis=1)
    assert class_scores.score_predictions(too_sure, np.arange(1000) % 2).ece == pytest.approx(0.4)


def test_a_certain_prediction_falls_into_the_last_bin() -> None:
    found = class_scores.measure_reliability(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 0]))
    assert found.counts.tolist() == [0] * 9 + [2]
    assert found.accuracy[9] == 0.5


def test_the_majority_error_is_that_of_always_saying_the_class_commonest_for_training() -> None:
    labels = np.array([0] * 7 + [1] * 3)
    assert class_scores.compute_majority_error(labels, np.array([40, 30])) == pytest.approx(0.3)
    assert class_scores.compute_majority_error(labels, np.array([30, 40])) == pytest.approx(0.7)


def test_a_class_that_occurs_nowhere_does_not_lower_the_macro_f1() -> None:
    probabilities = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    found = class_scores.score_predictions(probabilities, np.array([0, 1]))
    assert found.macro_f1 == 1.0
    assert found.judged.tolist() == [True, True, False]
    missed = class_scores.score_predictions(np.array([[0.1, 0.2, 0.7]]), np.array([0]))
    assert missed.judged.tolist() == [True, False, True], "a class wrongly predicted counts, as in scikit-learn"


@pytest.mark.parametrize(
    ("probabilities", "labels", "words"),
    [
        ([[0.5, 0.5]], [2], "labels must be from 0 to 1; got 2 to 2"),
        ([[0.5, 0.5]], [-1], "labels must be from 0 to 1"),
        ([[0.5, 0.5]], [0, 1], "of the same documents"),
        (np.empty((0, 2)), [], "at least one"),
        ([[np.nan, 0.5]], [0], "not numbers"),
    ],
)
def test_what_cannot_be_judged_is_said_in_a_sentence(probabilities: object, labels: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        class_scores.score_predictions(np.asarray(probabilities), np.asarray(labels))


def test_the_lean_is_the_difference_of_the_linear_scores() -> None:
    rng = np.random.default_rng(7)
    weights, theta = rng.normal(size=(3, 4)), rng.gamma(1.0, size=(6, 4))
    one, other = np.array([0, 1, 2, 0, 1, 2]), np.array([1, 2, 0, 2, 0, 1])
    linear = theta @ weights.T
    expected = [linear[j, one[j]] - linear[j, other[j]] for j in range(6)]
    np.testing.assert_allclose(class_scores.measure_lean(weights, theta, one, other), expected)


def test_the_layer_whose_topics_tell_the_classes_apart_carries_the_prediction() -> None:
    telling, silent = np.array([[2.0, -2.0], [-2.0, 2.0]]), np.zeros((2, 3))
    theta = [np.array([[3.0, 1.0], [1.0, 3.0]]), np.ones((2, 3))]
    probabilities = np.array([[0.9, 0.1], [0.1, 0.9]])
    np.testing.assert_allclose(class_scores.share_by_layer([telling, silent], theta, probabilities), [1.0, 0.0])
    np.testing.assert_allclose(class_scores.share_by_layer([silent, silent], [theta[1]] * 2, probabilities), [0.0, 0.0])
    against = -0.5 * telling  # leans to what is not predicted: carries nothing, not half as much
    np.testing.assert_allclose(
        class_scores.share_by_layer([telling, against], [theta[0]] * 2, probabilities), [1.0, 0.0]
    )


def test_centred_weights_speak_for_no_class_in_the_mean() -> None:
    weights = np.random.default_rng(8).normal(size=(3, 5))
    np.testing.assert_allclose(class_scores.centre_weights(weights).sum(axis=0), 0.0, atol=1e-12)


def paths_from(graph: list[tree.Edge], root: tree.Node) -> list[tuple[tree.Node, ...]]:
    onward = [path for edge in graph if edge.above == root for path in paths_from(graph, edge.below)]
    return [(root, *path) for path in onward] or [(root,)]


def test_the_most_telling_paths_are_those_of_trying_every_path() -> None:
    rng = np.random.default_rng(9)
    phi = [rng.dirichlet(np.ones(9), 8).T, rng.dirichlet(np.full(8, 0.3), 5).T, rng.dirichlet(np.full(5, 0.3), 3).T]
    weights = [rng.normal(size=width) for width in (8, 5, 3)]
    graph = tree.find_edges(phi, 0.5)
    every = [path for k in range(3) for path in paths_from(graph, tree.Node(3, k)) if path[-1].layer == 1]
    sums = sorted((sum(weights[node.layer - 1][node.column] for node in path) for path in every), reverse=True)
    found = class_scores.find_telling_paths(graph, weights, 7)
    assert len(every) > 7
    np.testing.assert_allclose([value for _, value in found], sums[:7])
    assert all(nodes in every for nodes, _ in found)
