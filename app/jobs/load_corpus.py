"""From rows of the store to the engine's corpus."""

from engine.contract import Counts
from engine.corpus import Corpus
from store import corpora
from store.corpora import CorpusRow
from store.database import Database


def load_corpus(db: Database, row: CorpusRow) -> Corpus:
    """The corpus as its row says; the arrays of the store go straight in, nothing is copied."""
    arrays = corpora.load_as(db, row)
    return Corpus(
        counts=Counts(*arrays.counts),
        vocabulary=corpora.vocabulary(db, row.number),
        part=arrays.part,
        labels=arrays.labels,
        label_names=row.label_names,
        scored=None if arrays.scored is None else Counts(*arrays.scored),
        split_seed=row.split_seed,
        image_shape=row.image_shape,
    )
