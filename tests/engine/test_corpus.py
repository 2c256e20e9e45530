"""Corpora: which documents a mini-batch takes, and how tokens are held out."""

import dataclasses

import numpy as np
import pytest

from topiary.engine.contract import TEST, TRAIN, Counts
from topiary.engine.corpus import Corpus, draw_minibatch

N_WORDS = 30


def made_corpus(n_documents: int = 40, kind: type = np.int32) -> Corpus:
    rng = np.random.default_rng(4)
    rows = [np.sort(rng.choice(N_WORDS, size=rng.integers(1, 12), replace=False)) for _ in range(n_documents)]
    words = np.concatenate(rows).astype(np.int32)
    values = rng.integers(1, 9, size=len(words)).astype(kind)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    part = (np.arange(n_documents) % 4 == 0).astype(np.int8)
    labels = np.full(n_documents, -1, dtype=np.int32)
    vocabulary = tuple(f"w{v}" for v in range(N_WORDS))
    return Corpus(counts=Counts(starts, words, values), vocabulary=vocabulary, part=part, labels=labels, split_seed=9)


def dense(batch) -> np.ndarray:
    table = np.zeros((len(batch.documents), N_WORDS), dtype=batch.counts.dtype)
    for row in range(len(table)):
        cells = slice(batch.starts[row], batch.starts[row + 1])
        np.add.at(table[row], batch.words[cells], batch.counts[cells])
    return table


def test_a_batch_holds_the_documents_asked_for_in_the_order_asked_for():
    corpus = made_corpus()
    some = np.array([7, 3, 3, 39])
    assert np.array_equal(dense(corpus.batch(some)), dense(corpus.batch(np.arange(40)))[some])
    assert np.array_equal(corpus.batch(some).documents, some)


def test_observed_and_scored_tokens_add_up_to_the_document():
    corpus = made_corpus()
    observed, scored = corpus.split_tokens(corpus.documents(TEST))
    assert np.array_equal(dense(observed) + dense(scored), dense(corpus.batch(corpus.documents(TEST))))
    assert observed.counts.min() > 0
    assert scored.counts.min() > 0


def test_a_fifth_of_the_tokens_plus_one_is_scored_and_none_of_a_single_token():
    corpus = made_corpus(400)
    everyone = np.arange(400)
    totals = dense(corpus.batch(everyone)).sum(axis=1)
    scored = dense(corpus.split_tokens(everyone)[1]).sum(axis=1)
    assert np.array_equal(scored, np.where(totals >= 2, (0.2 * totals).astype(int) + 1, 0))


def test_tokens_are_split_and_not_word_types():
    corpus = made_corpus(400)
    observed, scored = corpus.split_tokens(np.arange(400))
    assert np.any((dense(observed) > 0) & (dense(scored) > 0))


def test_every_token_has_the_same_chance_to_be_scored():
    # one document of 10 cells x 10 tokens under 4,000 split seeds: each cell's share is hypergeometric with
    # mean 2.1 and variance 1.51; the largest of ten |z| exceeds 5 with chance 6e-6 (fixed seeds)
    starts, words = np.array([0, 10]), np.arange(10, dtype=np.int32)
    base = made_corpus()
    total = np.zeros(10)
    for seed in range(4000):
        counts = Counts(starts, words, np.full(10, 10, dtype=np.int32))
        corpus = dataclasses.replace(base, counts=counts, part=np.zeros(1, np.int8), split_seed=seed)
        scored = corpus.split_tokens(np.array([0]))[1]
        total[scored.words] += scored.counts
    variance = 21 * 0.1 * 0.9 * (100 - 21) / 99
    assert np.abs((total - 4000 * 2.1) / np.sqrt(4000 * variance)).max() < 5


def test_the_split_depends_on_the_document_and_not_on_its_company():
    corpus = made_corpus()
    alone = dense(corpus.split_tokens(np.array([8]))[1])[0]
    in_company = dense(corpus.split_tokens(np.arange(40))[1])[8]
    assert np.array_equal(alone, in_company)


def test_real_values_are_split_by_whole_cells():
    corpus = made_corpus(kind=np.float32)
    whole = dense(corpus.batch(np.arange(40)))
    observed, scored = (dense(part) for part in corpus.split_tokens(np.arange(40)))
    assert not np.any((observed > 0) & (scored > 0))
    assert np.array_equal(observed + scored, whole)


def test_scored_tokens_of_the_corpus_itself_are_respected():
    corpus = made_corpus()
    first = np.array([corpus.counts.words[0]], dtype=np.int32)
    starts = np.concatenate([[0], np.ones(40)]).astype(np.int64)
    own = dataclasses.replace(corpus, scored=Counts(starts, first, np.array([1], dtype=np.int32)))
    scored = own.split_tokens(np.array([0, 1]))[1]
    assert dense(scored)[0, first[0]] == 1
    assert dense(scored).sum() == 1


def test_scored_tokens_that_the_document_does_not_have_are_refused():
    corpus = made_corpus()
    word = int(np.setdiff1d(np.arange(N_WORDS), corpus.batch(np.array([0])).words)[0])
    starts = np.concatenate([[0], np.ones(40)]).astype(np.int64)
    bad = Counts(starts, np.array([word], np.int32), np.array([1], np.int32))
    with pytest.raises(ValueError, match="document 0 scores tokens that it does not have"):
        dataclasses.replace(corpus, scored=bad).split_tokens(np.array([0]))


def epoch(number, documents, **options):
    return np.concatenate([draw_minibatch(1, 3 * number + t, documents, 10, **options) for t in (1, 2, 3)])


def test_every_epoch_is_a_fresh_permutation():
    documents = made_corpus().documents(TRAIN)
    first, second = epoch(0, documents), epoch(1, documents)
    assert not np.array_equal(first, documents)
    assert not np.array_equal(second, first)
    assert np.array_equal(np.sort(first), documents)
    assert np.array_equal(np.sort(second), documents)


def test_the_first_epoch_follows_the_file_where_that_is_asked_for_as_by_the_authors():
    documents = made_corpus().documents(TRAIN)
    assert np.array_equal(epoch(0, documents, filed=True), documents)
    assert np.array_equal(epoch(1, documents, filed=True), epoch(1, documents))


def test_a_minibatch_is_a_function_of_seed_and_number():
    documents = np.arange(100)
    assert np.array_equal(draw_minibatch(3, 47, documents, 7), draw_minibatch(3, 47, documents, 7))
    assert not np.array_equal(draw_minibatch(3, 47, documents, 7), draw_minibatch(4, 47, documents, 7))


def test_a_corpus_smaller_than_a_minibatch_is_one_minibatch():
    assert len(draw_minibatch(1, 5, np.arange(6), 200)) == 6
