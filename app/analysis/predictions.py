"""Predictions of classes under one snapshot: their types, and their form in the store.

Results that follow from probabilities and labels alone (scores, misled documents) are not stored but computed by the
same functions after loading, so that loaded predictions are equal to the saved ones to the last bit.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.app.machine import ROOT
from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy.class_scores import ClassScores, compute_majority_error, score_predictions
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, runs, snapshots
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

Report = Callable[[int, int], None]  # arguments: number of documents done, number of all


class Misled(NamedTuple):
    """A document predicted wrongly.

    Attributes
    ----------
    label, predicted : int
        Classes, from 0.
    probability : float
        Probability of the predicted class.
    path : tuple of Node
        The path of the document, from the top layer to layer 1, that is the strongest evidence for the predicted class
        against the true one; its heaviest path where the model has no weights of topics for classes.
    share : float
        Share of the document's rate that takes this path.
    """

    document: int
    label: int
    predicted: int
    probability: float
    path: tuple[Node, ...]
    share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Classified:
    """The predicted classes of the test documents of a corpus under one snapshot.

    Attributes
    ----------
    names : tuple of str
        The C classes.
    train_counts, test_counts : (C,) int
        Number of documents of every class.
    documents, labels : (n,) int
        Numbers and true classes of the test documents that have a label.
    probabilities : (n, C) float64
    carried : tuple of float
        Part of the predictions that comes from each layer; empty when topics have no weights for classes.
    misled : tuple of Misled
        The wrong predictions with the highest probabilities, highest first.
    """

    run: int
    snapshot: int
    minibatch: int
    names: tuple[str, ...]
    train_counts: Array
    test_counts: Array
    documents: Array
    labels: Array
    probabilities: FloatArray
    scores: ClassScores
    carried: tuple[float, ...]
    misled: tuple[Misled, ...]

    @property
    def moment(self) -> str:
        """The step after which the snapshot was taken, in words; models that learn labels train by mini-batches."""
        return f"mini-batch {self.minibatch:,}"

    @property
    def commonest(self) -> int | None:
        """The class (from 0) with the most training documents, the first of equals; None where none has a label."""
        return int(self.train_counts.argmax()) if self.train_counts.any() else None

    @property
    def majority_error(self) -> float | None:
        """The error of always predicting the commonest class."""
        return compute_majority_error(self.labels, self.train_counts) if self.commonest is not None else None


class Doing(NamedTuple):
    """The prediction that is being computed, and its progress; ``total`` is 0 until the documents are counted."""

    run: int
    snapshot: int
    done: int = 0
    total: int = 0


MOST_MISLED = 200  # wrong predictions that are explained, those with the highest probabilities
# Modules of the app whose sources decide predictions, in addition to all files of the engine.
MAKERS = (
    "analysis/inference.py", "analysis/predict.py", "analysis/predictions.py", "jobs/records.py", "jobs/shares.py",
)  # fmt: skip


def load_predictions(db: Database, run: RunRow, snapshot: int) -> Classified | None:
    """Return the stored predictions under a snapshot; None where there are none that are still valid."""
    corpus = corpora.get_run_corpus(db, run)
    arrays = snapshots.load_predictions(db, run.number, snapshot, hash_origin(run, corpus))
    return None if arrays is None else _unpack(arrays, run, snapshot, corpus)


def store_predictions(db: Database, result: Classified) -> None:
    """Save predictions in the store.

    Raises
    ------
    StoreError
        When the store cannot be written, or the snapshot no longer exists.
    """
    run = runs.get_run(db, result.run)
    snapshots.save_predictions(db, result.snapshot, hash_origin(run, corpora.get_run_corpus(db, run)), _pack(result))


def hash_origin(run: RunRow, corpus: CorpusRow) -> str:
    """Return a hash of everything except the snapshot that predictions depend on: the run, its corpus, the program.

    It covers the model, settings (with the number of samples) and seed of the run, and all sources that compute
    predictions, so that no release has to declare that predictions have changed.
    """
    facts = [run.model, run.settings, run.seed, corpus.number, corpus.content_hash, corpus.label_names, _hash_program()]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def find_wrong(probabilities: FloatArray, labels: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of at most `MOST_MISLED` wrongly predicted documents, and their predicted classes.

    Those with the highest probability of the predicted class come first.
    """
    predicted = probabilities.argmax(axis=1)
    wrong = np.flatnonzero(predicted != labels)
    rows = wrong[np.argsort(-probabilities[wrong, predicted[wrong]], kind="stable")][:MOST_MISLED]
    return rows, predicted[rows]


@cache
def _hash_program() -> str:
    """Return the SHA-256 of the sources that compute predictions, and of the versions of their libraries."""
    digest = hashlib.sha256(f"numpy {np.__version__} numba {metadata.version('numba')}".encode())
    for source in (*sorted((ROOT / "engine").rglob("*.py")), *(ROOT / "app" / name for name in MAKERS)):
        digest.update(source.relative_to(ROOT).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _pack(result: Classified) -> dict[str, Array]:
    """Return predictions as arrays for the store; a path is a row of columns by layer, padded with -1."""
    paths = np.full((len(result.misled), max((len(each.path) for each in result.misled), default=0)), -1, np.int64)
    for row, each in enumerate(result.misled):
        for node in each.path:
            paths[row, node.layer - 1] = node.column
    return {
        "minibatch": np.array(result.minibatch),
        "train_counts": result.train_counts,
        "test_counts": result.test_counts,
        "documents": result.documents,
        "labels": result.labels,
        "probabilities": result.probabilities,
        "carried": np.array(result.carried, dtype=np.float64),
        "paths": paths,
        "shares": np.array([each.share for each in result.misled], dtype=np.float64),
    }


def _unpack(arrays: dict[str, Array], run: RunRow, snapshot: int, corpus: CorpusRow) -> Classified:
    """Return predictions from the arrays of `_pack`."""
    probabilities, labels = arrays["probabilities"], arrays["labels"]
    return Classified(
        run=run.number,
        snapshot=snapshot,
        minibatch=int(arrays["minibatch"]),
        names=corpus.label_names,
        train_counts=arrays["train_counts"],
        test_counts=arrays["test_counts"],
        documents=arrays["documents"],
        labels=labels,
        probabilities=probabilities,
        scores=score_predictions(probabilities, labels),
        carried=tuple(arrays["carried"].tolist()),
        misled=_unpack_misled(arrays),
    )


def _unpack_misled(arrays: dict[str, Array]) -> tuple[Misled, ...]:
    """Return the explained wrong predictions; the stored paths and shares are in the order of `find_wrong`."""
    probabilities, documents, labels = (arrays[name] for name in ("probabilities", "documents", "labels"))
    rows, predicted = find_wrong(probabilities, labels)
    fields = zip(rows.tolist(), predicted.tolist(), arrays["paths"].tolist(), arrays["shares"].tolist(), strict=True)
    return tuple(
        Misled(
            int(documents[row]), int(labels[row]), guess, float(probabilities[row, guess]), _unpack_path(columns), share
        )
        for row, guess, columns, share in fields
    )


def _unpack_path(columns: list[int]) -> tuple[Node, ...]:
    """Return the topics of a path, from the top layer down to layer 1, given its columns by layer (-1 = none)."""
    return tuple(Node(layer, columns[layer - 1]) for layer in range(len(columns), 0, -1) if columns[layer - 1] >= 0)
