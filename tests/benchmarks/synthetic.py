"""Corpora made by a fixed recipe: subjects with Zipf-distributed words, a few subjects in each document."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from topiary.engine.contract import Counts
from topiary.engine.corpus import Corpus
from topiary.store import blocks, corpus_writer
from topiary.store.blocks import DocumentBlock
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

SUBJECTS = 60
PER_DOCUMENT = 3
TABLE = 1 << 15  # inverse distribution of a subject's words, as a table: a word costs one look
BLOCK = 10_000
TEST_EVERY = 40


def small_corpus(documents: int, words: int = 500, tokens: int = 60) -> Corpus:
    """A corpus in memory; every fifth document is for the test."""
    return Corpus(
        counts=_block(np.random.default_rng((11, 0)), _subjects(words), documents, words, tokens),
        vocabulary=tuple(f"word{v}" for v in range(words)),
        part=(np.arange(documents) % 5 == 4).astype(np.int8),
        labels=np.full(documents, -1, np.int32),
    )


def store_corpus(db: Database, name: str, *, documents: int, words: int, tokens: int) -> CorpusRow:
    """A corpus of about ``tokens`` tokens, made in blocks straight into a store; no texts."""
    with corpus_writer.write_corpus(db, name, [f"word{v}" for v in range(words)], source="synthetic") as writer:
        for block in stored_blocks(documents, words, tokens / documents):
            writer.add(block)
    return writer.row


def stored_blocks(documents: int, words: int, tokens: float) -> Iterator[DocumentBlock]:
    """The blocks of a corpus of documents of about ``tokens`` tokens each, as a store takes them; no texts."""
    subjects = _subjects(words)
    for number, first in enumerate(range(0, documents, BLOCK)):
        rng = np.random.default_rng((11, number))
        yield _stored(first, _block(rng, subjects, min(BLOCK, documents - first), words, tokens))


def _subjects(words: int) -> Any:
    """(SUBJECTS, TABLE) int32: words of every subject, each as often as it is likely."""
    rng = np.random.default_rng(5)
    zipf = 1.0 / (10.0 + np.arange(words))
    edges = np.cumsum(zipf / zipf.sum())
    places = np.searchsorted(edges, (np.arange(TABLE) + 0.5) / TABLE)
    return np.stack([rng.permutation(words)[places] for _ in range(SUBJECTS)]).astype(np.int32)


def _block(rng: np.random.Generator, subjects: Any, documents: int, words: int, tokens: float) -> Counts:
    """Counts of some documents."""
    lengths = np.maximum(1, rng.negative_binomial(3, 3 / (3 + tokens), documents))
    owner = np.repeat(np.arange(documents), lengths)
    mine = rng.integers(0, SUBJECTS, (documents, PER_DOCUMENT))
    subject = mine[owner, rng.integers(0, PER_DOCUMENT, len(owner))]
    drawn = subjects[subject, rng.integers(0, TABLE, len(owner))]
    keys, values = np.unique(owner * np.int64(words) + drawn, return_counts=True)
    starts = np.searchsorted(keys, np.arange(documents + 1) * np.int64(words)).astype(np.int64)
    return Counts(starts, (keys % words).astype(np.int32), values.astype(np.int32))


def _stored(first: int, counts: Counts) -> DocumentBlock:
    n = counts.n_documents
    numbers = np.arange(first, first + n)
    return DocumentBlock(
        first=first,
        counts=blocks.StoredCounts(*counts),
        part=(numbers % TEST_EVERY == TEST_EVERY - 1).astype(np.int8),
        labels=np.full(n, -1, np.int32),
        titles=[""] * n,
        texts=[""] * n,
        columns=[{}] * n,
    )
