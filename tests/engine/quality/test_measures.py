"""All measures of a hierarchy at once: the same numbers as one by one, of the documents and topics they are about."""

from itertools import pairwise

import numpy as np
import pytest
from gold import TEXTS, VOCABULARY, corpus, numbers
from sklearn.metrics import normalized_mutual_info_score

from topiary.engine.contract import Counts, Topics
from topiary.engine.hierarchy import topics
from topiary.engine.hierarchy.effects import present_hierarchy
from topiary.engine.quality import measures
from topiary.engine.quality.measures import LabelledDocuments, SampleSize, measure_quality

WORDS, WIDTHS = 40, (6, 3)


def made(documents, seed=1):
    """Documents about one of four subjects of ten words, a few other words in each."""
    rng = np.random.default_rng(seed)
    rates = np.full((documents, WORDS), 0.05)
    for row, subject in enumerate(rng.integers(0, 4, documents)):
        rates[row, 10 * subject : 10 * subject + 10] = 0.8
    table = rng.poisson(rates)
    rows, words = np.nonzero(table)
    return Counts.of(np.bincount(rows, minlength=documents), words.astype(np.int32), table[rows, words])


@pytest.fixture(scope="module")
def phi():
    """Four topics about the subjects, one of all words, and one of few tokens that mixes subjects."""
    rng = np.random.default_rng(2)
    first = rng.random((WORDS, 6)) * 0.01
    for topic in range(4):
        first[10 * topic : 10 * topic + 10, topic] += 1.0 + rng.random(10)
    first[:, 4] += 1.0
    first[::7, 5] += 5.0
    second = rng.random((6, 3)) * 0.02
    second[[0, 1, 2, 3], [0, 0, 1, 1]] += 1.0
    second[4, 2] += 1.0
    second[5] = 1e-5
    return tuple(table / table.sum(axis=0) for table in (first, second))


R = np.array([3.0, 2.0, 1.0])


def test_every_measure_is_that_of_its_own_function(phi):
    train, test = made(200), made(60, seed=5)
    first, second = measure_quality(present_hierarchy(Topics(phi, R)), train, test, threshold=1.0)
    tables = topics.project_topics(phi)
    lists = [topics.find_top_words(table, 10)[0] for table in tables]
    met = measures.count_pairs(np.concatenate([each.ravel() for each in lists]), train, WORDS)
    again = measures.count_pairs(np.concatenate([each.ravel() for each in lists]), test, WORDS)
    words = np.bincount(train.words, train.values, minlength=WORDS)
    for found, table, listed in zip((first, second), tables, lists, strict=True):
        np.testing.assert_array_equal(found.words, listed)
        np.testing.assert_allclose(found.npmi, measures.compute_npmi(listed, met))
        np.testing.assert_allclose(found.umass, measures.compute_umass(listed, met))
        np.testing.assert_allclose(found.held_out, measures.compute_npmi(listed, again))
        np.testing.assert_allclose(found.specialization, measures.measure_specialization(table, words))
        assert (found.train, found.test) == (SampleSize(200, 200), SampleSize(60, 60))
    assert (first.layer, first.affinity, second.layer) == (1, None, 2)
    assert np.isnan(first.cross_npmi)
    edges = phi[1][:5] > 1.0 / 6
    assert second.affinity == pytest.approx(measures.measure_affinity(tables[1], tables[0][:, :5], phi[1][:5], edges))
    assert second.affinity.child > second.affinity.other + 0.3
    assert second.cross_npmi == pytest.approx(measures.compute_cross_npmi(lists[1], lists[0][:5], edges, met))


def test_a_light_topic_is_left_out_of_the_figures_of_its_layer(phi):
    first, _ = measure_quality(present_hierarchy(Topics(phi, R)), made(200))
    assert first.live.tolist() == [True] * 5 + [False]
    assert (first.n_topics, first.n_live) == (6, 5)
    assert first.mean_npmi == pytest.approx(first.npmi[:5].mean())
    assert first.mean_npmi_all == pytest.approx(first.npmi.mean())
    assert first.mean_npmi_all < first.mean_npmi
    assert first.worst_tenth == pytest.approx(first.npmi[:5].min())
    assert first.diversity == pytest.approx(measures.measure_diversity(first.words[:5]))
    assert first.mean_umass == pytest.approx(first.umass[:5].mean())
    assert first.mean_specialization == pytest.approx(first.specialization[:5].mean())
    assert first.held_out is None
    assert np.isnan(first.mean_held_out)


def test_of_many_documents_some_are_looked_at_and_their_number_is_told(phi):
    train, test = made(200), made(60, seed=5)
    first, _ = measure_quality(present_hierarchy(Topics(phi, R)), train, test, max_documents=70)
    assert (first.train, first.test) == (SampleSize(67, 200), SampleSize(60, 60))
    every_third = measures.copy_documents(train, np.arange(0, 200, 3))
    again, _ = measure_quality(present_hierarchy(Topics(phi, R)), every_third, totals=(200, 60))
    np.testing.assert_allclose(first.npmi, again.npmi)
    assert (again.train, again.test) == (SampleSize(67, 200), SampleSize(0, 60))


def test_words_that_are_in_no_test_document_are_counted(phi):
    test = made(60, seed=5)
    without = test.select_cells(test.words >= 3)
    first, _ = measure_quality(present_hierarchy(Topics(phi, R)), made(200), without)
    assert first.missing.tolist() == [(each < 3).sum() for each in first.words]
    assert first.missing[0] == 3


def test_words_may_be_other_than_the_heaviest(phi):
    turned = [topics.find_top_words(table, 10)[0][:, ::-1][:, :4] for table in topics.project_topics(phi)]
    first, second = measure_quality(present_hierarchy(Topics(phi, R)), made(200), words=turned)
    np.testing.assert_array_equal(second.words, turned[1])
    assert first.npmi[0] != pytest.approx(measure_quality(present_hierarchy(Topics(phi, R)), made(200))[0].npmi[0])


def test_labels_are_told_by_the_topic_used_most_of_each_layer(phi):
    labels = np.array([0, 0, 1, 1])
    theta = (np.eye(6)[[0, 0, 1, 1]], np.eye(3)[[0, 0, 0, 1]])
    first, second = measure_quality(
        present_hierarchy(Topics(phi, R)), made(20), labelled=LabelledDocuments(labels, theta)
    )
    assert (first.clusters.nmi, first.clusters.purity, first.clusters.documents) == (pytest.approx(1.0), 1.0, 4)
    assert second.clusters.purity == 0.75


PARENTS = ("cat .4 dog .3 pet .2 bank .1", "bond .5 stock .3 rate .2")
BELOW = ("cat .7 dog .3", "pet .6 vet .4", "bond .6 stock .4", "rate .7 bank .3")
EDGES = np.array([[True, False], [True, False], [False, True], [False, True]])


def table(topics):
    """Topics over the words, (V, K)."""
    made = np.zeros((len(VOCABULARY), len(topics)))
    for column, topic in enumerate(topics):
        parts = topic.split()
        made[[VOCABULARY.index(word) for word in parts[::2]], column] = [float(part) for part in parts[1::2]]
    return made


def first(topics, n=2):
    return numbers([topic.split()[: 2 * n : 2] for topic in topics])


def test_specialization_is_that_of_tsntm():
    words = np.array([" ".join(TEXTS.split(" / ")).split().count(word) for word in VOCABULARY])
    found = measures.measure_specialization(table(PARENTS + BELOW), words)
    assert found == pytest.approx([0.215619, 0.472014, 0.367498, 0.530597, 0.530597, 0.658107], abs=1e-6)
    assert measures.measure_specialization(words[:, None] / words.sum(), words) == pytest.approx([0.0], abs=1e-12)


def test_affinity_is_that_of_tsntm_with_children_and_others():
    found = measures.measure_affinity(table(PARENTS), table(BELOW), EDGES / 2, EDGES)
    assert found[:2] == pytest.approx((0.608468, 0.017980), abs=1e-6)
    assert found.weighted == pytest.approx(found.child)  # the children have equal weights here, and others none


def test_weighted_affinity_goes_by_the_weights_of_all_topics():
    parents, below = np.eye(3)[:, :1], np.eye(3)[:, :2]
    found = measures.measure_affinity(parents, below, np.array([[0.7], [0.3]]), np.array([[True], [True]]))
    assert found.child == pytest.approx(0.5)
    assert found.weighted == pytest.approx(0.7)
    assert np.isnan(found.other)


def test_a_parent_without_a_child_has_no_part_in_the_mean():
    edges = EDGES.copy()
    edges[:, 1] = False
    one = measures.measure_affinity(table(PARENTS)[:, :1], table(BELOW), EDGES[:, :1] / 2, EDGES[:, :1])
    assert measures.measure_affinity(table(PARENTS), table(BELOW), EDGES / 2, edges).child == pytest.approx(one.child)


def test_a_child_is_as_many_times_heavier_than_in_a_flat_topic_as_the_threshold_says():
    weights = np.array([[0.7, 0.26], [0.3, 0.25], [0.0, 0.25], [0.0, 0.24]])
    assert measures.find_children(weights, 1.0).tolist() == [
        [True, True],
        [True, False],
        [False, False],
        [False, False],
    ]
    assert not measures.find_children(weights).any()


def test_cross_level_npmi_by_our_rule_that_pairs_that_never_meet_count_minus_one():
    parents, below = first(PARENTS), first(BELOW)
    value = measures.compute_cross_npmi(parents, below, EDGES, met(parents, below))
    assert value == pytest.approx(0.058756, abs=1e-6)


def test_cross_level_npmi_is_that_of_the_literature_where_pairs_that_never_meet_count_as_nearly_none():
    parents, below = first(PARENTS), first(BELOW)
    known = met(parents, below)
    nearly = known._replace(together=np.maximum(known.together, 1e-12 * known.n_documents))
    assert measures.compute_cross_npmi(parents, below, EDGES, nearly) == pytest.approx(0.065028, abs=1e-6)


def test_words_that_parent_and_child_share_are_left_out():
    parents, below = numbers([("cat", "dog")]), numbers([("dog", "vet")])
    known = met(parents, below)
    only = measures.compute_npmi(numbers([("cat", "vet")]), known)[0]
    assert measures.compute_cross_npmi(parents, below, np.array([[True]]), known) == pytest.approx(only)


def test_without_an_edge_there_is_no_cross_level_npmi():
    parents, below = first(PARENTS), first(BELOW)
    assert np.isnan(measures.compute_cross_npmi(parents, below, np.zeros_like(EDGES), met(parents, below)))


def met(*lists):
    return measures.count_pairs(np.concatenate(lists), corpus(), len(VOCABULARY))


LABELS = np.array([0, 0, 0, 1, 1, 1, 0, 0])
FOUND = np.array([0, 0, 1, 2, 2, 2, 2, 1])


def test_purity_and_nmi_are_those_of_the_literature():
    assert measures.compute_purity(LABELS, FOUND) == pytest.approx(0.875)
    assert measures.compute_nmi(LABELS, FOUND) == pytest.approx(0.447187, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_nmi_is_that_of_scikit_learn_whatever_the_numbers_of_labels_and_clusters(seed):
    rng = np.random.default_rng(seed)
    labels, found = rng.integers(0, 6, 200) * 3, rng.integers(0, 1 + 4 * seed, 200)
    assert measures.compute_nmi(labels, found) == pytest.approx(normalized_mutual_info_score(labels, found), abs=1e-9)


def test_clusters_of_one_kind_are_judged_as_by_scikit_learn():
    one, two = np.zeros(4, int), np.array([0, 0, 1, 1])
    assert (measures.compute_nmi(one, one), measures.compute_nmi(two, one), measures.compute_nmi(two, 1 - two)) == (
        1.0,
        0.0,
        1.0,
    )
    assert measures.compute_purity(two, one) == 0.5
    assert np.isnan(measures.compute_nmi(one[:0], one[:0]))
    assert np.isnan(measures.compute_purity(one[:0], one[:0]))


def test_a_document_belongs_to_the_topic_it_uses_most():
    assert measures.find_strongest_topics(np.array([[0.1, 0.9], [2.0, 1.0]])).tolist() == [1, 0]


LISTS = (("cat", "dog", "pet"), ("stock", "bond", "rate"), ("cat", "bond", "vet"))


def count_met(lists=LISTS, most=100):
    return measures.count_pairs(numbers(lists), corpus(), len(VOCABULARY), most)


def test_npmi_is_that_of_gensim_but_for_pairs_that_never_meet():
    assert measures.compute_npmi(numbers(LISTS), count_met()) == pytest.approx(
        [0.276692, 0.582790, -0.666667], abs=1e-6
    )


def test_umass_is_that_of_gensim():
    assert measures.compute_umass(numbers(LISTS), count_met()) == pytest.approx(
        [-0.597253, -0.366204, -18.324787], abs=1e-6
    )


def test_a_word_that_is_in_no_document_is_counted_and_never_infinite():
    few = corpus().select_cells(corpus().words != VOCABULARY.index("vet"))
    found = measures.count_pairs(numbers(LISTS), few, len(VOCABULARY))
    assert measures.count_missing(numbers(LISTS), found).tolist() == [0, 0, 1]
    assert measures.compute_npmi(numbers(LISTS), found)[2] == -1.0
    first = numbers([("vet", "cat", "bond")])  # UMass divides by the documents of the words before the last
    assert np.isnan(measures.compute_umass(first, found)).tolist() == [True]


def test_words_that_are_in_every_document_always_meet():
    both = Counts.of(np.array([2, 2]), np.array([0, 1, 0, 1], np.int32), np.ones(4, np.int32))
    words = np.array([[0, 1]])
    assert measures.compute_npmi(words, measures.count_pairs(words, both, 2)) == pytest.approx([1.0])


def test_of_many_documents_every_second_is_looked_at():
    found = count_met(most=4)
    assert found.n_documents == 4
    assert found.documents[found.find_rows(np.array([VOCABULARY.index("cat")]))] == [2]


def test_the_worst_tenth_is_at_least_one_topic():
    assert measures.average_worst_tenth(np.array([0.3, -0.2, 0.1])) == pytest.approx(-0.2)
    assert measures.average_worst_tenth(np.arange(20.0)) == pytest.approx(0.5)
    assert np.isnan(measures.average_worst_tenth(np.array([])))


def test_diversity_is_that_of_the_literature():
    assert measures.measure_diversity(numbers(LISTS)) == pytest.approx(0.777778, abs=1e-6)


def test_documents_are_copied_out_in_the_order_asked_for():
    found = measures.copy_documents(corpus(), np.array([6, 0, 4]))
    parts = [found.words[begin:end].tolist() for begin, end in pairwise(found.starts)]
    assert parts == [[0, 2], [2, 3, 4], [1, 6]]
    assert measures.copy_documents(corpus(), np.array([], dtype=int)).n_documents == 0


def test_a_topic_of_one_word_has_no_coherence():
    one = numbers([("cat",), ("dog",)])
    found = measures.count_pairs(one, corpus(), len(VOCABULARY))
    assert np.isnan(measures.compute_npmi(one, found)).tolist() == [True, True]
    assert np.isnan(measures.compute_umass(one, found)).tolist() == [True, True]


@pytest.mark.parametrize("most", [10_000, 100, 37])
def test_pairs_of_one_list_meet_as_often_as_all_pairs_do(most):
    rng = np.random.default_rng(6)
    table = rng.random((300, 40)) < rng.random(40) * 0.4
    documents, words = np.nonzero(table)
    counts = Counts.of(np.bincount(documents, minlength=300), words.astype(np.int32), np.ones(len(words), np.int32))
    lists = np.stack([rng.choice(40, 6, replace=False) for _ in range(15)])
    whole, within = (count(lists, counts, 40, most) for count in (measures.count_pairs, measures.count_pairs_within))
    np.testing.assert_array_equal(within.documents, whole.documents)
    assert within.n_documents == whole.n_documents
    np.testing.assert_array_equal(measures.compute_npmi(lists, within), measures.compute_npmi(lists, whole))
