"""Parts of training that need no process: examples of topics, blocks, views."""

import numpy as np

from app.training import EXAMPLES, Training, best_documents
from engine.contract import Facts
from engine.corpus import TRAIN
from engine.models import dlda
from tests.speed.synthetic import small_corpus


def test_the_best_documents_of_a_topic_come_first_and_unknown_ones_not_at_all():
    shares = np.array([[0.1, -1], [0.7, 0.2], [0.2, -1]], dtype=np.float32)
    documents, weights = best_documents(shares, np.array([40, 10, 30]))
    assert documents.shape == weights.shape == (2, EXAMPLES)
    assert documents[0, :4].tolist() == [10, 30, 40, -1]
    assert documents[1, :2].tolist() == [10, -1]
    np.testing.assert_allclose(weights[0, :4], [0.7, 0.2, 0.1, 0])
    assert weights[1, 1] == 0


def test_equal_shares_keep_the_order_of_their_rows():
    documents, _ = best_documents(np.full((20, 1), 0.5, dtype=np.float32), np.arange(100, 120))
    assert documents[0].tolist() == list(range(100, 120))


def test_the_best_documents_are_those_of_a_full_sort():
    shares = np.random.default_rng(5).random((300, 4)).astype(np.float32)
    documents, weights = best_documents(shares, np.arange(300))
    np.testing.assert_array_equal(documents, np.argsort(-shares, axis=0)[:EXAMPLES].T)
    np.testing.assert_array_equal(weights, -np.sort(-shares, axis=0)[:EXAMPLES].T)


def test_the_first_epoch_follows_the_file_for_benchmarks_only():
    corpus = small_corpus(100)
    kernel = dlda.build(dlda.Config(layers=(3,), batch_size=20), Facts(corpus.n_words, 80))
    filed, shuffled = (
        np.concatenate([Training(corpus, kernel, dlda.State, 1, filed=each).batch(t).documents for t in (1, 2, 3, 4)])
        for each in (True, False)
    )
    assert np.array_equal(filed, corpus.documents(TRAIN))
    assert not np.array_equal(shuffled, filed)
    assert np.array_equal(np.sort(shuffled), filed)
