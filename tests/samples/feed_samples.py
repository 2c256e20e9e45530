"""A tiny corpus, runs claimed by this process, and snapshots, for tests of the feed."""

import numpy as np

from topiary.app.jobs import process
from topiary.store import corpora, corpus_writer, runs
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.points import Point

ME = process.identify_process()
WORDS = tuple(f"word{v}" for v in range(12))


def run(db):
    """A running run of a corpus of two documents."""
    known = corpora.list_corpora(db)
    number = known[0].number if known else _corpus(db).number
    row = runs.create_run(
        db,
        corpus=number,
        model="dlda",
        inference="tlasgr",
        layers=(4, 2),
        settings={},
        options={"minibatches": 50},
        seed=1,
    )
    return runs.claim_run(db, row.number, ME)


def beat(db, row, first, end):
    """Point perplexities of mini-batches ``first`` .. ``end - 1``."""
    points = [Point(t, 10 * t, 0.1 * t, "point_perplexity", 0, 100.0 - t) for t in range(first, end)]
    runs.record_progress(db, row.number, row.attempt, minibatch=end - 1, seconds=0.1 * end, points=points)


def arrays(seed):
    """A snapshot of two layers."""
    rng = np.random.default_rng(seed)
    return {"phi.0": rng.dirichlet(np.ones(12), 4).T, "phi.1": rng.dirichlet(np.ones(4), 2).T, "r": rng.random(2)}


def _corpus(db):
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(np.array([0, 2, 4]), np.array([0, 1, 2, 3], dtype=np.int32), np.ones(4, dtype=np.int32)),
        part=np.zeros(2, dtype=np.int8),
        labels=np.full(2, -1, dtype=np.int32),
        titles=["a", "b"],
        texts=["", ""],
        columns=[{}, {}],
    )
    with corpus_writer.write_corpus(db, "tiny", WORDS) as writer:
        writer.add(block)
    return writer.row
