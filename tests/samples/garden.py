"""A small store made up for browser tests: a corpus of planted subjects, one finished run, and a writer."""

import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from topiary.app.jobs import process
from topiary.engine.hierarchy import effects, titles, topics
from topiary.store import corpus_rows, corpus_writer, runs, snapshots
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import Database, open_database
from topiary.store.points import Point
from topiary.store.run_rows import RunRow

SUBJECTS = (
    "garden rose hedge prune lawn tulip soil",
    "orbit rocket launch moon probe lunar shuttle",
    "goal league coach season score hockey team",
    "doctor patient clinic drug dose blood therapy",
)
NASTY = "<script>alert(1)</script>"  # a word of a corpus is text, whatever it looks like
WORDS = (*(word for subject in SUBJECTS for word in subject.split()), NASTY)
LAYERS = (8, 4, 2)
DOCUMENTS = 40


def corpus(db: Database, name: str = "allotment") -> corpus_rows.CorpusRow:
    """Forty documents of ten words about one of four subjects; every fourth is a test document."""
    rng = np.random.default_rng(3)
    each = [np.sort(rng.choice(7, 6, replace=False)) + 7 * (j % 4) for j in range(DOCUMENTS)]
    words = np.concatenate(each).astype(np.int32)
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(np.arange(0, 6 * DOCUMENTS + 1, 6), words, np.ones(len(words), dtype=np.int32)),
        part=np.array([j % 4 == 3 for j in range(DOCUMENTS)], dtype=np.int8),
        labels=np.full(DOCUMENTS, -1, dtype=np.int32),
        titles=[f"document {j}" for j in range(DOCUMENTS)],
        texts=[" ".join(WORDS[v] for v in row) + f" {NASTY}" for row in each],
        columns=[{} for _ in range(DOCUMENTS)],
    )
    with corpus_writer.write_corpus(db, name, WORDS) as writer:
        writer.add(block)
    return writer.row


def arrays(seed: int) -> dict[str, Any]:
    """A snapshot of topics about the planted subjects."""
    rng = np.random.default_rng(seed)
    first = rng.random((len(WORDS), LAYERS[0])) * 0.02
    for k in range(LAYERS[0]):
        first[7 * (k % 4) : 7 * (k % 4) + 7, k] += rng.random(7) + 0.2
    first[-1, :] += 0.9  # the nasty word is heavy everywhere
    phi = [first]
    for below, width in pairwise(LAYERS):
        level = rng.random((below, width)) * 0.1
        for k in range(width):
            level[k::width, k] += 1.0
        phi.append(level)
    named: dict[str, Any] = {f"phi.{place}": level / level.sum(axis=0) for place, level in enumerate(phi)}
    named["r"] = np.arange(LAYERS[-1], 0, -1.0) + rng.random(LAYERS[-1]) * 0.1
    for place, width in enumerate(LAYERS):
        named[f"step.{place}"] = np.full(width, 0.1 / (place + 1))
        named[f"top_documents.{place}"] = np.tile(np.arange(20), (width, 1))
        named[f"top_weights.{place}"] = np.tile(np.linspace(1, 0.1, 20), (width, 1))
    shown = effects.present_hierarchy(topics.unpack_topics(named, shown=True))
    chosen = titles.choose_titles(shown, vocabulary=WORDS)  # as workers do, so that no page chooses them
    return named | {f"title.{place}": words.astype(np.int32) for place, words in enumerate(chosen)}


def measured(minibatch: int) -> Iterator[Point]:
    """The points of one evaluation."""
    at = (minibatch, minibatch * 10, minibatch * 0.05)
    yield Point(*at, "point_perplexity", 0, 20 + 60 * float(np.exp(-minibatch / 100)))
    yield Point(*at, "tokens_per_second", 0, 1e5)
    yield Point(*at, "evaluation_documents", 0, 10)
    for layer in range(1, len(LAYERS) + 2):
        middle = 0.5 / (1 + minibatch / 20) / 3**layer
        for name, factor in (("mean", 1.0), ("low", 0.5), ("high", 2.0)):
            yield Point(*at, f"step_size_{name}", layer, middle * factor)


def begin(
    db: Database, corpus_number: int, name: str = "", planned: int = 400, layers: tuple[int, ...] = LAYERS, **more: Any
) -> RunRow:
    """A run claimed by this process; ``more`` goes to `store.runs.create_run`."""
    row = runs.create_run(
        db,
        corpus=corpus_number,
        model="dlda",
        inference="tlasgr",
        layers=layers,
        settings={"layers": list(layers), "inference": "tlasgr"},
        options={"minibatches": planned},
        seed=1,
        name=name,
        **more,
    )
    return runs.claim_run(db, row.number, process.identify_process())


def advance(db: Database, row: RunRow, minibatch: int, *, snapshot: bool = False) -> float:
    """Write what a worker would after ``minibatch``; returns the time at which a snapshot was written."""
    found = list(measured(minibatch))
    runs.record_progress(
        db,
        row.number,
        row.attempt,
        minibatch=minibatch,
        seconds=minibatch * 0.05,
        tokens_per_second=1e5,
        point_perplexity=found[0].value,
        message="training",
        points=found,
    )
    if snapshot:
        snapshots.append_snapshot(db, row.number, row.attempt, minibatch, minibatch * 0.05, arrays(minibatch))
    return time.time()


def plant(db: Database) -> RunRow:
    """A corpus and a finished run with forty evaluations and two snapshots."""
    row = begin(db, corpus(db).number, "first spring")
    for minibatch in range(10, 401, 10):
        advance(db, row, minibatch, snapshot=minibatch in (10, 400))
    return runs.finish_run(db, row.number, row.attempt, "finished")


if __name__ == "__main__":  # python -m tests.samples.garden garden.db
    plant(open_database(f"sqlite:///{sys.argv[1]}"))
