"""A store whose documents have dates and sources, stored shares, and a map: what pages about them read."""

from typing import Any

import garden
import numpy as np

from topiary.app.analysis.document_map import hash_map_origin
from topiary.app.ingest.column_kinds import ensure_columns
from topiary.app.ingest.refining import ORIGIN
from topiary.app.jobs.plan import hash_share_origin
from topiary.store import corpus_writer, runs, shares, snapshots
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.run_rows import RunRow
from topiary.store.shares import UNITS, LayerShares
from topiary.store.snapshots import StoredMap

DOCUMENTS = 400
SOURCES = ("herald", "tribune")


def plant_corpus(db: Database, name: str = "dated", meta: dict[str, Any] | None = None) -> CorpusRow:
    """Write documents of one word: one a day from 2004 on, from two sources in turn; the last has no date."""
    dates = [str(np.datetime64("2004-01-01") + day) for day in range(DOCUMENTS - 1)] + [""]
    ones = np.ones(DOCUMENTS, np.int32)
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(np.arange(DOCUMENTS + 1), np.zeros(DOCUMENTS, np.int32), ones),
        part=np.zeros(DOCUMENTS, np.int8),
        labels=np.full(DOCUMENTS, -1, np.int32),
        titles=[f"document {number}" for number in range(DOCUMENTS)],
        texts=["A garden with a rose."] * DOCUMENTS,
        columns=[
            {"source": SOURCES[number % 2], "day": day, "rating": str(number % 5)} for number, day in enumerate(dates)
        ],
    )
    with corpus_writer.write_corpus(db, name, garden.WORDS, meta=meta) as writer:
        writer.add(block)
    ensure_columns(db, writer.row)
    return writer.row


def plant_trends(db: Database, *, placed: bool = True, trains: bool = False) -> RunRow:
    """Write a finished run: topic 1 of the top layer grows from 20 to 80 %, and has 10 % more in the herald.

    One that still ``trains`` has another snapshot, without shares.
    """
    corpus = plant_corpus(db)
    row = garden.begin(db, corpus.number, "dated run")
    garden.advance(db, row, 400, snapshot=True)
    latest = snapshots.find_latest(db, row.number)
    if placed and latest is not None:
        origin = hash_share_origin(row)
        shares.begin_set(db, latest.number, origin)
        first = 0.2 + 0.5 * np.arange(DOCUMENTS) / DOCUMENTS + 0.1 * (np.arange(DOCUMENTS) % 2 == 0)
        layers = [make_layer(first, width) for width in garden.LAYERS]
        shares.append_block(db, latest.number, origin, 0, layers, np.full(DOCUMENTS, 50))
        shares.publish_set(db, latest.number, origin)
    if trains:
        garden.advance(db, row, 500, snapshot=True)
        return row
    return runs.finish_run(db, row.number, row.attempt, "finished")


def plant_refinement(db: Database, run: int = 1) -> RunRow:
    """Write a finished run on a corpus that was made of the documents of topic L3:1 of a run."""
    origin = {"run": run, "name": "dated", "topic": "L3:1", "title": "rose garden", "where": ["L3:1=50%.."]}
    corpus = plant_corpus(db, "dated · rose garden", {ORIGIN: origin})
    row = garden.begin(db, corpus.number, "finer run")
    garden.advance(db, row, 400, snapshot=True)
    return runs.finish_run(db, row.number, row.attempt, "finished")


def make_layer(first: np.ndarray, width: int) -> LayerShares:
    """Return shares of the first topic, and the rest of every document for the second."""
    units = np.rint(first * UNITS).astype(np.uint16)
    pairs = np.stack([units, UNITS - units], axis=1).astype(np.uint16)
    n = len(first)
    return LayerShares(
        2 * np.arange(n + 1), np.tile([0, 1], n).astype(np.int32) % width, pairs.ravel(), np.zeros(n, np.uint16)
    )


def plant_map(db: Database, *, finished: bool = True) -> RunRow:
    """Write the run of `plant_trends`, and its map: a square grid for each topic, that of topic 1 on the left."""
    row = plant_trends(db)
    latest = snapshots.find_latest(db, row.number)
    assert latest is not None
    first = 0.2 + 0.5 * np.arange(DOCUMENTS) / DOCUMENTS + 0.1 * (np.arange(DOCUMENTS) % 2 == 0)
    topics = np.where(first > 0.5, 0, 1).astype(np.int32)
    grid = np.stack(np.divmod(np.arange(DOCUMENTS), 20), axis=1) / 5 - 2
    positions = (grid + np.where(topics[:, None] == 0, (-6, 0), (6, 0))).astype(np.float32)
    snapshots.save_map(db, hash_map_origin(row), StoredMap(latest.number, positions, topics, finished))
    return row
