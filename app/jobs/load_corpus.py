"""From rows of the store to the engine's corpus."""

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from engine.contract import Array, Batch, Counts
from engine.corpus import Corpus
from store import corpora
from store.corpus_rows import CorpusRow
from store.database import Database


def load_corpus(db: Database, row: CorpusRow) -> Corpus:
    """Return the corpus as its row says; the arrays of the store go straight in, nothing is copied."""
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
    """Return some documents of a corpus, without labels: only the blocks of the store that they are in are read."""
    counts = Counts(*corpora.read_counts(db, number, documents.tolist()))
    return counts.batch(np.asarray(documents, dtype=np.int64))


ROOM = 256 << 20  # bytes of documents that are kept; those of the curve and the examples are asked for time and again


@dataclass(frozen=True, kw_only=True)
class StoredCorpus(Corpus):
    """As :class:`engine.corpus.Corpus`, of which ``counts`` is empty.

    Attributes
    ----------
    db : Database
    number : int
        Of the corpus in the store.
    tokens_of : (documents,) int64 or float64
        Tokens of every document.
    has_scored : bool
        Whether the corpus brings its own scored tokens.
    """

    db: Database
    number: int
    tokens_of: Array
    has_scored: bool = False
    _kept: "OrderedDict[bytes, Batch]" = field(default_factory=OrderedDict, repr=False)

    def list_lengths(self) -> Array:
        """Tokens of every document."""
        return self.tokens_of

    def batch(self, documents: Array) -> Batch:
        """Return the named documents with all their tokens."""
        return self._read(documents, scored=False)

    def take_scored(self, documents: Array) -> Batch | None:
        """Return the scored tokens that the corpus brings of the named documents; None where it brings none."""
        return self._read(documents, scored=True) if self.has_scored else None

    def _read(self, documents: Array, *, scored: bool) -> Batch:
        documents = np.ascontiguousarray(documents, dtype=np.int64)
        key = documents.tobytes() + bytes([scored])
        batch = self._kept.pop(key, None)
        if batch is None:
            found = corpora.read_counts(self.db, self.number, documents.tolist(), scored=scored)
            batch = Counts(*found).batch(documents, self.labels[documents])
        self._kept[key] = batch
        while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > ROOM:
            self._kept.popitem(last=False)
        return batch


def stored_corpus(db: Database, row: CorpusRow) -> StoredCorpus:
    """Return the corpus as its row says, of which only marks and words are read now."""
    marks = corpora.read_marks(db, row)
    kind = np.float32 if row.kind == "real" else np.int32
    return StoredCorpus(
        counts=Counts(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, kind)),
        vocabulary=corpora.read_vocabulary(db, row.number),
        part=marks.part,
        labels=marks.labels,
        label_names=row.label_names,
        split_seed=row.split_seed,
        image_shape=row.image_shape,
        db=db,
        number=row.number,
        tokens_of=marks.tokens,
        has_scored=row.has_scored,
    )


def _size(batch: Batch) -> int:
    return sum(array.nbytes for array in batch)
