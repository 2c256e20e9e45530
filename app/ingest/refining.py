"""Make a corpus of some documents of another one, which knows where it comes from."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from topiary.app.ingest.column_kinds import ensure_columns
from topiary.app.ingest.source import Progress, ignore_progress
from topiary.engine.contract import Array
from topiary.store import corpora, corpus_writer
from topiary.store.blocks import TRAIN, DocumentBlock, StoredCounts
from topiary.store.corpus_rows import TYPED, CorpusRow
from topiary.store.corpus_writer import ADDITIONS
from topiary.store.database import Database

ORIGIN = "origin"  # key of the origin in the meta of a corpus
LEAST_DOCUMENTS = 20  # training documents
_LEAST_USES = 2  # training documents with a word that is kept
_AT_ONCE = 1000  # documents in memory


class RefineError(ValueError):
    """An error: documents of which no corpus can be made; its message is one sentence."""


def refine_corpus(
    db: Database,
    source: CorpusRow,
    numbers: Sequence[int] | Array,
    name: str,
    origin: dict[str, Any],
    progress: Progress = ignore_progress,
) -> CorpusRow:
    """Write some documents of a corpus as a corpus of its own.

    Parts, labels, texts and columns are kept.  The vocabulary consists of the words of the source that at least two of
    the training documents have; where words are pixels, it is kept whole.

    Parameters
    ----------
    db : Database
        Open for writing.
    source : CorpusRow
    numbers : sequence of int
        Numbers of the documents, ascending.
    name : str
        Name of the new corpus.
    origin : dict
        Facts about where it comes from, stored in its meta: ``run``, ``snapshot``, ``topic``, ``where``.
    progress : Progress
        Called with the activity and its share.

    Raises
    ------
    RefineError
        If there are too few training documents.
    Conflict
        If the name is taken.
    """
    corpus_writer.check_name(db, name)
    marks = corpora.read_marks(db, source)
    chosen = np.asarray(numbers, dtype=np.int64)
    training = chosen[marks.part[chosen] == TRAIN]
    if len(training) < LEAST_DOCUMENTS:
        raise RefineError(
            f"{len(training)} of the {len(chosen):,} documents selected are for training, and a corpus needs "
            f"{LEAST_DOCUMENTS}; select more"
        )
    kept = _choose_words(db, source, training, progress)
    vocabulary = corpora.read_vocabulary(db, source.number)
    meta = {key: value for key, value in source.meta.items() if key not in (ADDITIONS, TYPED)}
    meta[ORIGIN] = {"corpus": source.number, "name": source.name, "documents": len(chosen)} | origin
    with corpus_writer.write_corpus(
        db, name, [vocabulary[word] for word in kept.tolist()],
        label_names=source.label_names, kind=source.kind, image_shape=source.image_shape,
        split_seed=source.split_seed, source=f"{len(chosen):,} documents of {source.name}", meta=meta,
        has_scored=source.has_scored,
    ) as writer:  # fmt: skip
        places = np.full(source.words, -1, dtype=np.int64)
        places[kept] = np.arange(len(kept))
        for first in range(0, len(chosen), _AT_ONCE):
            progress("Copying documents", first / len(chosen))
            some = chosen[first : first + _AT_ONCE]
            writer.add(_read_block(db, source, some, first, places, marks))
    ensure_columns(db, writer.row)
    return writer.row


def _choose_words(db: Database, source: CorpusRow, training: Array, progress: Progress) -> Array:
    """Return the numbers of the words to keep, ascending."""
    if source.image_shape is not None:
        return np.arange(source.words)
    uses = np.zeros(source.words, dtype=np.int64)
    for first in range(0, len(training), _AT_ONCE):
        progress("Counting words", first / len(training))
        counts = corpora.read_counts(db, source.number, training[first : first + _AT_ONCE].tolist())
        uses += np.bincount(counts.words, minlength=source.words)
    kept = np.flatnonzero(uses >= _LEAST_USES)
    if not len(kept):
        raise RefineError("no word occurs in two of the training documents selected; select more")
    return kept


def _read_block(
    db: Database, source: CorpusRow, numbers: Array, first: int, places: Array, marks: corpora.DocumentMarks
) -> DocumentBlock:
    """Return documents of the source as a block of the new corpus, whose words have other numbers."""
    documents = corpora.read_documents(db, source.number, numbers.tolist())
    counts = corpora.read_counts(db, source.number, numbers.tolist())
    scored = corpora.read_counts(db, source.number, numbers.tolist(), scored=True) if source.has_scored else None
    return DocumentBlock(
        first=first,
        counts=_renumber(counts, places),
        part=marks.part[numbers],
        labels=marks.labels[numbers],
        titles=[each.title for each in documents],
        texts=[each.text for each in documents],
        columns=[each.columns for each in documents],
        scored=None if scored is None else _renumber(scored, places),
    )


def _renumber(counts: StoredCounts, places: Array) -> StoredCounts:
    """Return counts over the words that are kept, with their new numbers."""
    words = places[counts.words]
    kept = words >= 0
    owners = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))[kept]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(counts.starts) - 1))])
    return StoredCounts(starts, words[kept].astype(np.int32), counts.values[kept])
