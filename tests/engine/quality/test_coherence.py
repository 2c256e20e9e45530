"""Coherence and diversity against the golden values of gensim 4.4.0 and by hand."""

from itertools import pairwise

import numpy as np
import pytest
from gold import VOCABULARY, corpus, numbers

from topiary.engine.contract import Counts
from topiary.engine.quality import coherence

LISTS = (("cat", "dog", "pet"), ("stock", "bond", "rate"), ("cat", "bond", "vet"))


def met(lists=LISTS, most=100):
    return coherence.count_pairs(numbers(lists), corpus(), len(VOCABULARY), most)


def test_npmi_is_that_of_gensim_but_for_pairs_that_never_meet():
    assert coherence.compute_npmi(numbers(LISTS), met()) == pytest.approx([0.276692, 0.582790, -0.666667], abs=1e-6)


def test_umass_is_that_of_gensim():
    assert coherence.compute_umass(numbers(LISTS), met()) == pytest.approx([-0.597253, -0.366204, -18.324787], abs=1e-6)


def test_a_word_that_is_in_no_document_is_counted_and_never_infinite():
    few = corpus().select_cells(corpus().words != VOCABULARY.index("vet"))
    found = coherence.count_pairs(numbers(LISTS), few, len(VOCABULARY))
    assert coherence.count_missing(numbers(LISTS), found).tolist() == [0, 0, 1]
    assert coherence.compute_npmi(numbers(LISTS), found)[2] == -1.0
    first = numbers([("vet", "cat", "bond")])  # UMass divides by the documents of the words before the last
    assert np.isnan(coherence.compute_umass(first, found)).tolist() == [True]


def test_words_that_are_in_every_document_always_meet():
    both = Counts.of(np.array([2, 2]), np.array([0, 1, 0, 1], np.int32), np.ones(4, np.int32))
    words = np.array([[0, 1]])
    assert coherence.compute_npmi(words, coherence.count_pairs(words, both, 2)) == pytest.approx([1.0])


def test_of_many_documents_every_second_is_looked_at():
    found = met(most=4)
    assert found.n_documents == 4
    assert found.documents[found.find_rows(np.array([VOCABULARY.index("cat")]))] == [2]


def test_the_worst_tenth_is_at_least_one_topic():
    assert coherence.average_worst_tenth(np.array([0.3, -0.2, 0.1])) == pytest.approx(-0.2)
    assert coherence.average_worst_tenth(np.arange(20.0)) == pytest.approx(0.5)
    assert np.isnan(coherence.average_worst_tenth(np.array([])))


def test_diversity_is_that_of_the_literature():
    assert coherence.measure_diversity(numbers(LISTS)) == pytest.approx(0.777778, abs=1e-6)


def test_documents_are_copied_out_in_the_order_asked_for():
    found = coherence.copy_documents(corpus(), np.array([6, 0, 4]))
    parts = [found.words[begin:end].tolist() for begin, end in pairwise(found.starts)]
    assert parts == [[0, 2], [2, 3, 4], [1, 6]]
    assert coherence.copy_documents(corpus(), np.array([], dtype=int)).n_documents == 0


def test_a_topic_of_one_word_has_no_coherence():
    one = numbers([("cat",), ("dog",)])
    found = coherence.count_pairs(one, corpus(), len(VOCABULARY))
    assert np.isnan(coherence.compute_npmi(one, found)).tolist() == [True, True]
    assert np.isnan(coherence.compute_umass(one, found)).tolist() == [True, True]


@pytest.mark.parametrize("most", [10_000, 100, 37])
def test_pairs_of_one_list_meet_as_often_as_all_pairs_do(most):
    rng = np.random.default_rng(6)
    table = rng.random((300, 40)) < rng.random(40) * 0.4
    documents, words = np.nonzero(table)
    counts = Counts.of(np.bincount(documents, minlength=300), words.astype(np.int32), np.ones(len(words), np.int32))
    lists = np.stack([rng.choice(40, 6, replace=False) for _ in range(15)])
    whole, within = (count(lists, counts, 40, most) for count in (coherence.count_pairs, coherence.count_pairs_within))
    np.testing.assert_array_equal(within.documents, whole.documents)
    assert within.n_documents == whole.n_documents
    np.testing.assert_array_equal(coherence.compute_npmi(lists, within), coherence.compute_npmi(lists, whole))
