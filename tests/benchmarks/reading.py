"""A corpus straight from a file, without a store."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.peers import build_matrix
from topiary.app.ingest import importing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import seed_parts
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import CountSource
from topiary.app.ingest.text import cleaning
from topiary.engine.contract import TEST, TRAIN, Counts
from topiary.engine.corpus import Corpus
from topiary.engine.parts import divide_share, draw_parts, hash_contents


def read_corpus(path: Path, n_words: int | None = None, kind: str | None = None) -> Corpus:
    """The corpus of a file or folder of counts.

    Where it does not say which documents are for the test, a tenth of them is drawn.

    Parameters
    ----------
    path : Path
    n_words : int or None
        Keep only the most frequent words that are not in the stop list beside the counts; None keeps all.
    kind : str or None
        The format; None recognises it.

    Raises
    ------
    IngestError
        When the file cannot be read, or holds texts.
    """
    options = ImportOptions(format=kind)
    source = importing.read_source(path, options)
    if not isinstance(source, CountSource):
        raise IngestError(path, "holds texts, and a benchmark compares on counts; give a file of counts")
    rows = list(source.blocks())
    counts = joined([run.counts for run in rows])
    part = source.part
    if part is None:
        sizes = divide_share(counts.n_documents, options.test_share, validation=False)
        part = draw_parts(seed_parts(options.seed), hash_contents(counts), sizes)
    corpus = Corpus(
        counts=counts,
        vocabulary=source.vocabulary,
        part=part,
        labels=np.concatenate([run.labels for run in rows]),
        label_names=source.label_names,
        scored=joined([run.scored for run in rows if run.scored is not None]) if source.has_scored else None,
    )
    return corpus if n_words is None else commonest(corpus, n_words, stops_beside(path))


def stops_beside(path: Path) -> frozenset[str]:
    """The words of ``stop-word-list.txt`` in the folder of a corpus, or none."""
    listed = (path if path.is_dir() else path.parent) / "stop-word-list.txt"
    return cleaning.read_stop_words(str(listed)) if listed.exists() else frozenset()


def commonest(corpus: Corpus, n_words: int, stops: frozenset[str]) -> Corpus:
    """The corpus with only its ``n_words`` most frequent words that are no ``stops``, the most frequent first.

    Documents without any of them go.  As the papers made their 2,000 words of 20 Newsgroups.
    """
    counts = build_matrix(corpus.counts, corpus.n_words)
    often = np.asarray(counts.sum(axis=0)).ravel()
    often[[word in stops for word in corpus.vocabulary]] = 0
    kept = np.argsort(-often, kind="stable")[: min(n_words, int(np.count_nonzero(often)))]
    filled = np.flatnonzero(np.asarray(counts[:, kept].sum(axis=1)))
    scored = None if corpus.scored is None else compressed(build_matrix(corpus.scored, corpus.n_words)[filled][:, kept])
    return Corpus(
        counts=compressed(counts[filled][:, kept]),
        vocabulary=tuple(corpus.vocabulary[word] for word in kept.tolist()),
        part=corpus.part[filled],
        labels=corpus.labels[filled],
        label_names=corpus.label_names,
        scored=scored,
    )


def compressed(rows: Any) -> Counts:
    """A sparse matrix of SciPy as compressed rows with ascending words."""
    rows = rows.tocsr()
    rows.sum_duplicates()
    return Counts(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.int32))


def joined(parts: Sequence[Counts]) -> Counts:
    """Runs of compressed rows as one."""
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    words, values = (np.concatenate(arrays) for arrays in ([p.words for p in parts], [p.values for p in parts]))
    return Counts.of(lengths, words, values)


SHARE = 0.3  # of the tokens of each document
SEED = 7  # of the split, and of which documents are scored


def pooled(corpus: Corpus, scored_documents: int = 0) -> Corpus:
    """The corpus of 2N rows in which all N documents, training and test, are both trained on and scored.

    The first N rows are for training and hold the observed 70 % of the tokens.  The others are the same documents
    for the test, with all tokens, of which the held-out 30 % are ``scored``.

    Parameters
    ----------
    corpus : Corpus
        Its own split of documents and of tokens is not used.
    scored_documents : int
        Score only that many documents, drawn by a fixed seed; 0 scores all.
    """
    everyone = np.arange(corpus.counts.n_documents)
    whole = dataclasses.replace(corpus, scored=None, split_seed=SEED)
    observed, _ = whole.split_tokens(everyone, SHARE)
    tested = everyone
    if 0 < scored_documents < len(everyone):
        tested = np.sort(np.random.default_rng(SEED).permutation(everyone)[:scored_documents])
    _, scored = whole.split_tokens(tested, SHARE)
    nothing = Counts.of(np.zeros(len(everyone), np.int64), scored.words[:0], scored.counts[:0])
    return Corpus(
        counts=joined([observed.cells, whole.batch(tested).cells]),
        vocabulary=corpus.vocabulary,
        part=np.repeat(np.array([TRAIN, TEST], np.int8), [len(everyone), len(tested)]),
        labels=np.concatenate([corpus.labels, corpus.labels[tested]]),
        label_names=corpus.label_names,
        scored=joined([nothing, scored.cells]),
    )
