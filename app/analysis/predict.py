"""The classes that a run predicts for its test documents, the quality of the predictions, and causes of wrong ones.

Predictions are made by the run's own kernel under the topics of a stored snapshot
(:mod:`app.analysis.inference`), which does not see the labels.  They are computed once for a snapshot, shared
between sessions (:mod:`app.live.predictions`) and saved in the store.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.inference import DocumentInference, open_inference
from topiary.app.analysis.predictions import Classified, Misled, Report, find_wrong
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.jobs.records import load_model
from topiary.engine import settings
from topiary.engine.contract import TEST, TRAIN, Array, Batch, Counts, Facts, FloatArray, PredictingKernel
from topiary.engine.corpus import take_documents
from topiary.engine.hierarchy import class_scores, paths
from topiary.engine.hierarchy.topics import collect_arrays
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, snapshots
from topiary.store.corpora import CorpusArrays
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

BLOCK = 512  # documents predicted between two reports of progress; fills whole tables of the encoder
PATHS = 12  # number of a document's heaviest paths among which the most misleading one is chosen


def predicts(run: RunRow, corpus: CorpusRow) -> bool:
    """Return True if the model of a run predicts the classes of a corpus."""
    if len(corpus.label_names) < 2:
        return False
    facts = Facts(corpus.words, corpus.train_documents, len(corpus.label_names), corpus.image_shape)
    try:
        module, config = load_model(run)
    except settings.SettingError:
        return True  # then `classify_run` fails with an error that names the removed setting
    return isinstance(module.build(config, facts, n_threads=1), PredictingKernel)


def classify_run(
    db: Database, run: RunRow, snapshot: int = 0, report: Report = lambda _done, _total: None
) -> Classified:
    """Predict the class of every labelled test document; the first call on a machine waits for the compiler.

    Parameters
    ----------
    snapshot : int
        0 = the newest.
    report : (done, total) -> None, optional
        Called repeatedly with the number of documents predicted so far and the number of all.

    Raises
    ------
    ReadError
        When the model predicts no labels, all documents have one label, or no test document has one.
    store.errors.NotFound
        When there is no such snapshot.
    """
    snapshot_row = find_snapshot(db, run.number, snapshot)
    inference = open_inference(db, run, snapshot_row)
    names = inference.corpus.label_names
    kernel = inference.kernel
    if not isinstance(kernel, PredictingKernel):
        raise ReadError(f"run {run.number} learns topics without labels; its model ({run.model}) predicts no classes")
    counts = corpora.load_counts(db, inference.corpus)
    documents = np.flatnonzero((counts.part == TEST) & (counts.labels >= 0))
    if len(names) == 1:
        raise ReadError(f"{inference.corpus.name} has the one class {names[0]!r}, so there is nothing to tell it from")
    if not len(documents):
        raise ReadError(f"no test document of {inference.corpus.name} has a label, so predictions cannot be compared")
    probabilities, features = _predict(inference, kernel, counts, documents, report)
    labels = counts.labels[documents].astype(np.int64)
    try:
        scores = class_scores.score_predictions(probabilities, labels)
    except ValueError as error:
        raise ReadError(f"run {run.number} at mini-batch {snapshot_row.minibatch:,}: {error}") from error
    arrays = snapshots.load_snapshot(db, snapshot_row.number)
    weights, topics = collect_arrays(arrays, "model.class_weights"), collect_arrays(arrays, "names")
    return Classified(
        run=run.number,
        snapshot=snapshot_row.number,
        minibatch=snapshot_row.minibatch,
        names=names,
        train_counts=_count_classes(counts, TRAIN, len(names)),
        test_counts=_count_classes(counts, TEST, len(names)),
        documents=documents,
        labels=labels,
        probabilities=probabilities,
        scores=scores,
        carried=tuple(class_scores.share_by_layer(weights, features, probabilities).tolist())
        if weights and features
        else (),
        misled=tuple(
            each._replace(path=_name_path(each.path, topics))
            for each in _explain_errors(inference, weights, counts, documents, labels, probabilities)
        ),
    )


def _name_path(path: tuple[Node, ...], topics: Sequence[Array]) -> tuple[Node, ...]:
    """Return a path with the lasting numbers of its topics (``topics``, by layer) instead of their columns."""
    return tuple(Node(node.layer, int(topics[node.layer - 1][node.column])) if topics else node for node in path)


def _predict(
    inference: DocumentInference, kernel: PredictingKernel, counts: CorpusArrays, documents: Array, report: Report
) -> tuple[FloatArray, list[FloatArray]]:
    """Return the class probabilities of documents, (n, C), and the classifier's features of each layer, (n, K_l).

    The kernel does not see the labels of the documents.
    """
    seed, state = inference.run.seed, inference.state
    rows: list[FloatArray] = []
    features: list[list[FloatArray]] = []
    for start in range(0, len(documents), BLOCK):
        report(start, len(documents))
        batch = _hide_labels(counts, documents[start : start + BLOCK])
        with inference.lock:
            rows.append(kernel.predict(seed, state, batch))
            features.append(kernel.read_features(state, batch))
    report(len(documents), len(documents))
    return np.concatenate(rows), [np.concatenate(layer) for layer in zip(*features, strict=True)]


def _hide_labels(counts: CorpusArrays, documents: Array) -> Batch:
    return take_documents(Counts(*counts.counts), documents, np.full_like(counts.labels, -1))


def _count_classes(counts: CorpusArrays, part: int, n_classes: int) -> Array:
    """Return the number of documents of each class in a part of the corpus."""
    labels = counts.labels[(counts.part == part) & (counts.labels >= 0)]
    return np.bincount(labels, minlength=n_classes)


def _explain_errors(
    inference: DocumentInference,
    weights: Sequence[Array],
    counts: CorpusArrays,
    documents: Array,
    labels: Array,
    probabilities: FloatArray,
) -> tuple[Misled, ...]:
    """Return the wrongly predicted documents, each with the path that misled the classifier most."""
    rows, guesses = find_wrong(probabilities, labels)
    with inference.lock:
        theta = inference.kernel.infer(
            inference.run.seed, inference.state, _hide_labels(counts, documents[rows]), None
        ).theta
    misled = []
    for index, (row, guess) in enumerate(zip(rows.tolist(), guesses.tolist(), strict=True)):
        classes = int(labels[row]), guess
        path = find_misleading_path(inference.topics.phi, [layer[index] for layer in theta], weights, *classes)
        probability = float(probabilities[row, classes[1]])
        misled.append(Misled(int(documents[row]), *classes, probability, path.nodes, path.share))
    return tuple(misled)


def find_misleading_path(
    phi: Any, theta: list[Array], weights: Sequence[Array], label: int, predicted: int
) -> paths.Path:
    """Return the path of a document that is the strongest evidence for the predicted class against the true one.

    The evidence of a path is its share of the document times the sum over its topics of their weight for the
    predicted class minus that for the true one.  Without weights, return the path with the largest share.
    """
    candidates = paths.find_best_paths(phi, theta, PATHS) or [paths.Path((), 0.0)]
    if not weights:
        return candidates[0]

    def weigh_evidence(path: paths.Path) -> float:
        class_weights = (weights[node.layer - 1][:, node.column] for node in path.nodes)
        return path.share * sum(float(by_class[predicted] - by_class[label]) for by_class in class_weights)

    return max(candidates, key=weigh_evidence)
