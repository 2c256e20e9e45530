"""Load corpora of the store as corpora of the engine: whole, or document by document."""

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from topiary.engine.contract import Array, Batch, Counts
from topiary.engine.corpus import Corpus
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database


def load_corpus(db: Database, row: CorpusRow) -> Corpus:
    """Return the corpus of a row with all its counts, using the arrays of the store without a copy."""
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


ROOM = 256 << 20  # bytes of cached documents; those of the curve and the examples are read repeatedly


@dataclass(frozen=True, kw_only=True)
class StoredCorpus(Corpus):
    """An :class:`engine.corpus.Corpus` with empty ``counts``, which reads documents from the store.

    Attributes
    ----------
    number : int
        Number of the corpus in the store.
    tokens_of : (documents,) int64 or float64
        Number of tokens of each document.
    has_scored : bool
        Whether the corpus defines its own scored tokens.
    """

    db: Database
    number: int
    tokens_of: Array
    has_scored: bool = False
    _cache: "OrderedDict[bytes, Batch]" = field(default_factory=OrderedDict, repr=False)

    def list_lengths(self) -> Array:
        """Return the number of tokens of each document, (documents,)."""
        return self.tokens_of

    def batch(self, documents: Array) -> Batch:
        """Return the documents with these numbers, with all their tokens."""
        return self._read(documents, scored=False)

    def take_scored(self, documents: Array) -> Batch | None:
        """Return the scored tokens of the documents with these numbers; None if the corpus defines none."""
        return self._read(documents, scored=True) if self.has_scored else None

    def _read(self, documents: Array, *, scored: bool) -> Batch:
        """Return documents from the cache, or read them from the store; the oldest entries are dropped."""
        documents = np.ascontiguousarray(documents, dtype=np.int64)
        key = documents.tobytes() + bytes([scored])
        batch = self._cache.pop(key, None)
        if batch is None:
            counts = corpora.read_counts(self.db, self.number, documents.tolist(), scored=scored)
            batch = Counts(*counts).batch(documents, self.labels[documents])
        self._cache[key] = batch
        while len(self._cache) > 1 and sum(map(_count_bytes, self._cache.values())) > ROOM:
            self._cache.popitem(last=False)
        return batch


def open_corpus(db: Database, row: CorpusRow) -> StoredCorpus:
    """Return the corpus of a row, reading only its marks (parts, labels, lengths) and vocabulary now."""
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


def _count_bytes(batch: Batch) -> int:
    return sum(array.nbytes for array in batch)
