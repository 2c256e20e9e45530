"""From rows of the store to the engine's corpus."""

import numpy as np

from engine.contract import Array, Batch, Counts
from engine.corpus import Corpus
from store import corpora
from store.corpus_rows import CorpusRow
from store.database import Database


def load_corpus(db: Database, row: CorpusRow) -> Corpus:
    """The corpus as its row says; the arrays of the store go straight in, nothing is copied."""
    arrays = corpora.load_counts(db, row)
    return Corpus(
        counts=Counts(*arrays.counts),
        vocabulary=corpora.read_vocabulary(db, row.number),
        part=arrays.part,
        labels=arrays.labels,
        label_names=row.label_names,
        scored=None if arrays.scored is None else Counts(*arrays.scored),
        split_seed=row.split_seed,
        image_shape=row.image_shape,
    )


def load_batch(db: Database, number: int, documents: Array) -> Batch:
    """Some documents of a corpus, without labels: only the blocks of the store that they are in are read."""
    counts = Counts(*corpora.read_counts(db, number, documents.tolist()))
    return counts.batch(np.asarray(documents, dtype=np.int64))
