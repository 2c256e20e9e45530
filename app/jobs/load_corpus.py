"""From rows of the store to the engine's corpus."""

from engine.corpus import Corpus, Counts
from store import corpora
from store.corpora import CorpusRow
from store.database import Database


def load_corpus(db: Database, row: CorpusRow) -> Corpus:
    """The corpus of a row; the arrays of the store go straight in, nothing is copied."""
    arrays = corpora.load(db, row.number)
    scored = None
    if arrays.scored_starts is not None and arrays.scored_words is not None and arrays.scored_values is not None:
        scored = Counts(arrays.scored_starts, arrays.scored_words, arrays.scored_values)
    return Corpus(
        counts=Counts(arrays.starts, arrays.words, arrays.values),
        vocabulary=corpora.vocabulary(db, row.number),
        part=arrays.part,
        labels=arrays.labels,
        label_names=row.label_names,
        scored=scored,
        split_seed=row.split_seed,
        image_shape=row.image_shape,
    )
