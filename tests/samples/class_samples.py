"""A run that predicts labels, some of them wrongly on purpose; on the plain model of `inference_samples`."""

import numpy as np
from inference_samples import DOCUMENTS, LAYERS, NAMES, WORDS, arrays

from topiary.app.analysis.predictions import Classified, Misled, store_predictions
from topiary.app.jobs import process
from topiary.engine.hierarchy.class_scores import score_predictions
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpus_writer, runs, snapshots
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

WRONG = (5, 10, 20)  # test documents about one subject that bear the label of the next
WEIGHTS = {
    "model.class_weights.0": 3.0 * np.eye(4) - 0.5,
    "model.class_weights.1": np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
}


def label(document: int) -> int:
    """The label a document bears."""
    return (document + (document in WRONG)) % 4


def plant(
    db: Database,
    *,
    classes: bool = True,
    linear: bool = True,
    test: bool = True,
    labelled: bool = True,
    names: tuple[str, ...] = NAMES,
    name: str = "leaflets",
) -> RunRow:
    """Documents of five words about one of four subjects; every fifth is a test document."""
    rng = np.random.default_rng(3)
    each = [np.sort(rng.choice(6, 5, replace=False)) + 6 * (j % 4) for j in range(DOCUMENTS)]
    words = np.concatenate(each).astype(np.int32)
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(np.arange(0, 5 * DOCUMENTS + 1, 5), words, np.ones(len(words), dtype=np.int32)),
        part=np.array([test and j % 5 == 0 for j in range(DOCUMENTS)], dtype=np.int8),
        labels=np.array([label(j) % len(names) if labelled else -1 for j in range(DOCUMENTS)], dtype=np.int32),
        titles=[f"leaflet {j} <i>" for j in range(DOCUMENTS)],
        texts=["The " + " and ".join(WORDS[v] for v in row) for row in each],
        columns=[{} for _ in range(DOCUMENTS)],
    )
    facts = {"meta": {"format": "text", "options": {}}, "label_names": names if labelled else ()}
    with corpus_writer.write_corpus(db, name, WORDS, **facts) as writer:
        writer.add(block)
    row = runs.create_run(
        db,
        corpus=writer.row.number,
        model="dlda",
        inference="tlasgr",
        layers=LAYERS,
        settings={"layers": list(LAYERS), "classes": classes},
        options={"minibatches": 9},
        seed=1,
    )
    row = runs.claim_run(db, row.number, process.identify_process())
    runs.record_progress(db, row.number, row.attempt, minibatch=9, seconds=0.5)
    snapshots.append_snapshot(db, row.number, row.attempt, 9, 0.5, arrays() | (WEIGHTS if linear else {}))
    return runs.finish_run(db, row.number, row.attempt, "finished")


def predicted(db: Database) -> RunRow:
    """The same with predictions in the store, so that nobody has to make them: a label that is wrong is not found."""
    row = plant(db)
    latest = snapshots.find_latest(db, row.number)
    documents = np.arange(0, DOCUMENTS, 5)
    labels, subjects = np.array([label(int(j)) for j in documents]), documents % 4
    probabilities = np.full((len(documents), 4), 0.05)
    probabilities[np.arange(len(documents)), subjects] = 0.85
    train = [j for j in range(DOCUMENTS) if j % 5]
    path = tuple(Node(layer, 0) for layer in range(len(LAYERS), 0, -1))
    found = Classified(
        run=row.number,
        snapshot=latest.number,
        minibatch=latest.minibatch,
        names=NAMES,
        train_counts=np.bincount([label(j) for j in train], minlength=4),
        test_counts=np.bincount(labels, minlength=4),
        documents=documents,
        labels=labels,
        probabilities=probabilities,
        scores=score_predictions(probabilities, labels),
        carried=(0.7, 0.3),
        misled=tuple(
            Misled(int(j), int(label(int(j))), int(j % 4), 0.85, path, 0.6) for j in documents if label(int(j)) != j % 4
        ),
    )
    store_predictions(db, found)
    return row
