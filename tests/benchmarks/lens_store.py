"""A store as large as wanted for `tests.benchmarks.lens_speed`: documents with columns, a run, and stored shares.

Nothing is trained: every document has a topic of layer 3, uses the topics below it most and some others at random, and
the shares of layers 2 and 3 are sums of those of layer 1.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import synthetic
from tests.benchmarks.large import names
from tests.benchmarks.screen import LAYERS, WORDS, topics
from topiary.app.jobs import process
from topiary.app.jobs.plan import hash_share_origin
from topiary.engine.contract import Array
from topiary.engine.hierarchy.paths import cut_shares
from topiary.store import corpus_writer, full_text, runs, shares, snapshots
from topiary.store.blocks import DocumentBlock
from topiary.store.corpus_rows import CATEGORY, DATE, DOCUMENTS_PER_BLOCK, NUMBER, ColumnBlock, CorpusColumn, CorpusRow
from topiary.store.database import Database, open_database
from topiary.store.run_rows import RunRow
from topiary.store.shares import LayerShares

TOKENS = 40  # of a document, on average
SOURCES = tuple(f"source {letter}" for letter in "ABCDEFGHIJKL")
FIRST, DAYS = np.datetime64("2000-01-01", "D"), 25 * 365  # of the dates
USED = 10  # topics of layer 1 that a document uses, some of them by less than 1 %
_BLOCK = 4096  # documents of a block of shares, as in a run


def open_store(folder: Path, documents: int) -> Database:
    """Open the store of a folder for writing; make it if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    db = open_database(folder / f"lens-{documents}.db")
    if not runs.list_runs(db):
        plant_run(db, plant_corpus(db, documents))
    return db


def plant_corpus(db: Database, documents: int) -> CorpusRow:
    """Write a corpus with texts, a date, a category and a number for each document, and index its words."""
    vocabulary = np.array(names(WORDS), dtype=object)
    values = draw_columns(documents)
    with corpus_writer.write_corpus(db, "large", vocabulary.tolist(), source="synthetic") as writer:
        for block in synthetic.stored_blocks(documents, WORDS, TOKENS):
            writer.add(write_texts(block, vocabulary, values))
        for place, column in enumerate(values.values()):
            for first in range(0, documents, DOCUMENTS_PER_BLOCK):
                writer.add_values(ColumnBlock(place, first, column[first : first + DOCUMENTS_PER_BLOCK]))
        described = [("date", DATE, ()), ("source", CATEGORY, SOURCES), ("rating", NUMBER, ())]
        writer.set_columns(
            [
                CorpusColumn(place, name, kind, levels, documents, documents)
                for place, (name, kind, levels) in enumerate(described)
            ]
        )
    full_text.build_index(db, writer.row.number)
    return writer.row


def draw_columns(documents: int) -> dict[str, Array]:
    """Return the values of the columns; later dates are more frequent, and so are earlier categories."""
    rng = np.random.default_rng(13)
    days = FIRST + (DAYS * np.sqrt(rng.random(documents))).astype(np.int64)
    return {
        "date": days.astype("datetime64[ms]").astype(np.int64),
        "source": np.minimum(rng.geometric(0.2, documents) - 1, len(SOURCES) - 1).astype(np.int32),
        "rating": np.round(rng.gamma(4.0, 10.0, documents), 1),
    }


def write_texts(block: DocumentBlock, vocabulary: Array, values: dict[str, Array]) -> DocumentBlock:
    """Return a block with texts of its words, titles, and columns as they were imported."""
    words, starts = np.repeat(vocabulary[block.counts.words], block.counts.values), block.counts.starts
    edges = np.concatenate([[0], np.cumsum(block.counts.values)])[starts]
    texts = [" ".join(words[begin:end]) for begin, end in itertools.pairwise(edges)]
    own = slice(block.first, block.first + len(texts))
    dates = values["date"][own].astype("datetime64[ms]").astype("datetime64[D]").astype(str).tolist()
    cells = zip(dates, values["source"][own].tolist(), values["rating"][own].tolist(), strict=True)
    columns = [{"date": date, "source": SOURCES[source], "rating": str(rating)} for date, source, rating in cells]
    titles = [f"report {block.first + place} of the day" for place in range(len(texts))]
    return replace(block, texts=texts, titles=titles, columns=columns)


def plant_run(db: Database, corpus: CorpusRow) -> RunRow:
    """Write a finished run with one snapshot of 224 topics, and the shares of all documents."""
    settings = {"layers": list(LAYERS), "inference": "gibbs"}
    about: dict[str, Any] = {"model": "dlda", "inference": "gibbs", "layers": LAYERS, "settings": settings}
    number = runs.create_run(db, corpus=corpus.number, seed=1, options={"minibatches": 100}, **about).number
    row = runs.claim_run(db, number, process.identify_process())
    snapshots.append_snapshot(db, row.number, row.attempt, 100, 60.0, topics(1))
    runs.finish_run(db, row.number, row.attempt, "finished")
    snapshot, made_by = snapshots.find_latest(db, row.number), hash_share_origin(row)
    shares.begin_set(db, snapshot.number, made_by)
    for first, layers in draw_shares(corpus.documents):
        tokens = np.random.default_rng((17, first)).poisson(TOKENS, len(layers[0].rest))
        shares.append_block(db, snapshot.number, made_by, first, layers, tokens)
    shares.publish_set(db, snapshot.number, made_by)
    return row


def draw_shares(documents: int) -> Iterator[tuple[int, list[LayerShares]]]:
    """Yield the shares of consecutive documents: the number of the first, and the shares in all layers."""
    width, roots = LAYERS[0], LAYERS[-1]
    popularity = 1.0 / (3.0 + np.arange(roots))
    for first in range(0, documents, _BLOCK):
        rng, n = np.random.default_rng((19, first)), min(_BLOCK, documents - first)
        root = rng.choice(roots, n, p=popularity / popularity.sum())
        below = width // roots
        used = rng.integers(0, width, (n, USED))
        used[:, : USED // 2] = root[:, None] * below + rng.integers(0, below, (n, USED // 2))
        dense = np.zeros((n, width))
        np.add.at(dense, (np.arange(n)[:, None], used), rng.gamma(0.7, size=(n, USED)))
        dense /= dense.sum(axis=1, keepdims=True)
        dense[rng.random(n) < 0.002] = 0.0  # documents without words
        tables = [dense.reshape(n, layer, -1).sum(axis=2) for layer in LAYERS]
        yield first, [LayerShares(*cut_shares(table)) for table in tables]
