"""The protocol of DATM's Table I: every document is read in training, and a share of its tokens is held out."""

import dataclasses

import numpy as np

from app.benchmarks.reading import joined
from engine.contract import TEST, TRAIN, Counts
from engine.corpus import Corpus

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
    observed, _ = whole.held_out(everyone, SHARE)
    tested = everyone
    if 0 < scored_documents < len(everyone):
        tested = np.sort(np.random.default_rng(SEED).permutation(everyone)[:scored_documents])
    _, scored = whole.held_out(tested, SHARE)
    nothing = Counts.of(np.zeros(len(everyone), np.int64), scored.words[:0], scored.counts[:0])
    return Corpus(
        counts=joined([observed.cells, whole.batch(tested).cells]),
        vocabulary=corpus.vocabulary,
        part=np.repeat(np.array([TRAIN, TEST], np.int8), [len(everyone), len(tested)]),
        labels=np.concatenate([corpus.labels, corpus.labels[tested]]),
        label_names=corpus.label_names,
        scored=joined([nothing, scored.cells]),
    )
