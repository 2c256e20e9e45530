"""Predictions of a run: made without the labels, once for a snapshot, and explained by paths."""

import json
from dataclasses import replace
from types import SimpleNamespace

import inference_samples
import numpy as np
import pytest
from class_samples import WRONG, label, plant
from databases import open_filled
from inference_samples import NAMES, plain_model, replace_methods

from topiary.app.analysis import predict as classes
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.predict import classify_run
from topiary.app.cli import main, quality
from topiary.app.export import class_facts as documents
from topiary.app.live.predictions import PredictionCache
from topiary.engine import models
from topiary.engine.hierarchy.class_scores import score_predictions
from topiary.engine.hierarchy.tree import Node

__all__ = ["plain_model"]


@pytest.fixture
def db(tmp_path, plain_model):
    database = open_filled(tmp_path / "store.db")
    yield database
    database.close()


@pytest.fixture
def found(db):
    return classify_run(db, plant(db))


def test_every_labelled_test_document_is_predicted_by_its_subject(found):
    assert found.documents.tolist() == [0, 5, 10, 15, 20]
    assert found.probabilities.argmax(axis=1).tolist() == [0, 1, 2, 3, 0]
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    assert (found.names, found.minibatch) == (NAMES, 9)


def test_the_wrong_labels_are_the_error(found):
    assert found.scores.error == pytest.approx(3 / 5)
    assert found.scores.confusion[2, 1] == 1
    assert found.test_counts.sum() == 5
    assert found.train_counts.sum() == 19


def test_wrong_predictions_are_listed_under_the_path_that_misled_them(found):
    assert sorted(each.document for each in found.misled) == sorted(WRONG)
    for each in found.misled:
        subject = each.document % 4
        assert (each.label, each.predicted) == (label(each.document), subject)
        assert each.path == (Node(2, subject // 2), Node(1, subject))
        assert each.share > 0.5


def test_the_path_that_misled_speaks_for_the_wrong_class_and_not_merely_loudest():
    phi = (np.eye(2), np.eye(2))
    theta = [np.array([3.0, 1.0]), np.array([3.0, 1.0])]
    weights = [np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]])]
    assert classes.find_misleading_path(phi, theta, weights, 0, 1).nodes == (Node(2, 1), Node(1, 1))
    assert classes.find_misleading_path(phi, theta, [], 0, 1).nodes == (Node(2, 0), Node(1, 0))


def test_the_layers_that_carry_the_predictions_are_parts_of_a_whole(found):
    assert len(found.carried) == 2
    assert sum(found.carried) == pytest.approx(1.0)
    assert found.carried[0] > found.carried[1]


def test_a_layer_of_which_the_classifier_reads_nothing_carries_nothing(db, monkeypatch):
    opened = classes.open_inference

    def deaf(*arguments):
        inference = opened(*arguments)
        reads = inference.kernel.read_features
        features = lambda *asked: [0.0 * reads(*asked)[0], *reads(*asked)[1:]]  # noqa: E731
        kernel = replace_methods(inference.kernel, read_features=features)
        object.__setattr__(inference, "kernel", kernel)
        return inference

    monkeypatch.setattr(classes, "open_inference", deaf)
    assert classify_run(db, plant(db)).carried == pytest.approx((0.0, 1.0))


def test_weights_that_are_not_linear_leave_the_layers_unsaid(db):
    found = classify_run(db, plant(db, linear=False))
    assert found.carried == ()
    assert found.misled[0].path


def test_the_kernel_does_not_see_the_labels(db, monkeypatch):
    run = plant(db)
    seen = []
    opened = classes.open_inference

    def spying(*arguments):
        inference = opened(*arguments)
        inner = inference.kernel.predict

        def predict(seed, state, batch):
            seen.append(batch.labels.tolist())
            return inner(seed, state, batch)

        object.__setattr__(inference, "kernel", replace_methods(inference.kernel, predict=predict))
        return inference

    monkeypatch.setattr(classes, "open_inference", spying)
    classify_run(db, run)
    assert seen == [[-1] * 5]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classes": False}, "learns topics without labels"),
        ({"test": False}, "no test document of leaflets has a label"),
        ({"labelled": False}, "no test document of leaflets has a label"),
        ({"names": ("garden",)}, "leaflets has the one class 'garden', so there is nothing to tell it from"),
    ],
)
def test_where_nothing_can_be_predicted_a_sentence_says_why(db, options, words):
    with pytest.raises(ReadError, match=words):
        classify_run(db, plant(db, **options))


def test_predictions_of_a_snapshot_are_computed_once(db):
    run = plant(db)
    worked = []

    def work(*arguments):
        worked.append(arguments[2])
        return classify_run(*arguments)

    cache = PredictionCache(db, work)
    first = cache.fetch(run.number, 0)
    assert cache.fetch(run.number, first.snapshot) is first
    assert cache.find_in_memory(run.number, first.snapshot) is first
    assert worked == [first.snapshot]


def test_whether_a_run_predicts_is_asked_once_and_then_known(db, monkeypatch):
    module = SimpleNamespace(Config=inference_samples.Config, build=inference_samples.build)
    monkeypatch.setattr(models, "load", lambda name: module)
    cache = PredictionCache(db)
    telling, silent = plant(db), plant(db, classes=False, name="leaves")
    assert cache.is_known_to_predict(telling.number) is None
    assert (cache.predicts(telling.number), cache.predicts(silent.number)) == (True, False)
    assert cache.is_known_to_predict(telling.number) is True


def test_the_command_prints_the_scores_and_its_json_has_all_of_them(db, tmp_path, capsys):
    plant(db)
    store = str(tmp_path / "store.db")
    assert main.main(["classify", "last", "--store", store, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["error"] == pytest.approx(0.6)
    assert [row["class"] for row in report["classes"]] == list(NAMES)
    assert sum(map(sum, report["confusion"])) == report["documents"] == 5
    assert report["misled"][0]["path"][0]["topic"].startswith("L2:")
    assert main.main(["classify", "1", "--store", store]) == 0
    said = capsys.readouterr().out
    assert "error              60.00%" in said
    assert "taken for" in said
    assert f"(always {report['commonest_class']}, commonest in training: " in said
    assert report["macro_f1_classes"] == len(NAMES)
    assert "no test documents" not in said


def test_the_command_says_nothing_of_a_class_without_test_documents(found, capsys):
    probabilities, labels = np.eye(len(NAMES))[[0, 1]], np.array([0, 1])
    counts = np.bincount(labels, minlength=len(NAMES))
    few = replace(found, labels=labels, scores=score_predictions(probabilities, labels), test_counts=counts, misled=())
    facts = documents.list_class_facts(few, None)
    assert [row["f1"] for row in facts["classes"]] == [1.0, 1.0, None, None]
    assert facts["macro_f1_classes"] == 2
    quality._print_predictions(facts, few)
    said = capsys.readouterr().out
    assert "(of 2 of 4 classes; the others have no test documents)" in said
    assert said.count("-       -       -  no test documents") == 2


def test_the_command_says_in_one_sentence_that_a_run_predicts_nothing(db, tmp_path, capsys):
    plant(db, classes=False)
    assert main.main(["classify", "1", "--store", str(tmp_path / "store.db")]) == 2
    assert "learns topics without labels" in capsys.readouterr().err
    assert main.main(["classify", "1", "--minibatch", "3", "--store", str(tmp_path / "store.db")]) == 2
    assert "no snapshot at or before mini-batch 3" in capsys.readouterr().err
