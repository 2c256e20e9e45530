"""All measures of a hierarchy at once: the same numbers as one by one, of the documents and topics they are about."""

import numpy as np
import pytest

from engine.contract import Counts, Topics
from engine.hierarchy import topics
from engine.hierarchy.effects import shown
from engine.quality import coherence, diversity, hierarchy
from engine.quality.measures import Labelled, Sample, measure

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
    first, second = measure(shown(Topics(phi, R)), train, test, threshold=1.0)
    tables = topics.projections(phi)
    lists = [topics.top_words(table, 10)[0] for table in tables]
    met = coherence.meetings(np.concatenate([each.ravel() for each in lists]), train, WORDS)
    again = coherence.meetings(np.concatenate([each.ravel() for each in lists]), test, WORDS)
    words = np.bincount(train.words, train.values, minlength=WORDS)
    for found, table, listed in zip((first, second), tables, lists, strict=True):
        np.testing.assert_array_equal(found.words, listed)
        np.testing.assert_allclose(found.npmi, coherence.npmi(listed, met))
        np.testing.assert_allclose(found.umass, coherence.umass(listed, met))
        np.testing.assert_allclose(found.held_out, coherence.npmi(listed, again))
        np.testing.assert_allclose(found.specialization, hierarchy.specialization(table, words))
        assert (found.train, found.test) == (Sample(200, 200), Sample(60, 60))
    assert (first.layer, first.affinity, second.layer) == (1, None, 2)
    assert np.isnan(first.cross_npmi)
    edges = phi[1][:5] > 1.0 / 6
    assert second.affinity == pytest.approx(hierarchy.affinity(tables[1], tables[0][:, :5], phi[1][:5], edges))
    assert second.affinity.child > second.affinity.other + 0.3
    assert second.cross_npmi == pytest.approx(hierarchy.cross_npmi(lists[1], lists[0][:5], edges, met))


def test_a_light_topic_is_left_out_of_the_figures_of_its_layer(phi):
    first, _ = measure(shown(Topics(phi, R)), made(200))
    assert first.live.tolist() == [True] * 5 + [False]
    assert (first.n_topics, first.n_live) == (6, 5)
    assert first.mean_npmi == pytest.approx(first.npmi[:5].mean())
    assert first.mean_npmi_all == pytest.approx(first.npmi.mean())
    assert first.mean_npmi_all < first.mean_npmi
    assert first.worst_tenth == pytest.approx(first.npmi[:5].min())
    assert first.diversity == pytest.approx(diversity.topic_diversity(first.words[:5]))
    assert first.mean_umass == pytest.approx(first.umass[:5].mean())
    assert first.mean_specialization == pytest.approx(first.specialization[:5].mean())
    assert first.held_out is None
    assert np.isnan(first.mean_held_out)


def test_of_many_documents_some_are_looked_at_and_their_number_is_told(phi):
    train, test = made(200), made(60, seed=5)
    first, _ = measure(shown(Topics(phi, R)), train, test, most=70)
    assert (first.train, first.test) == (Sample(67, 200), Sample(60, 60))
    every_third = coherence.some(train, np.arange(0, 200, 3))
    again, _ = measure(shown(Topics(phi, R)), every_third, of=(200, 60))
    np.testing.assert_allclose(first.npmi, again.npmi)
    assert (again.train, again.test) == (Sample(67, 200), Sample(0, 60))


def test_words_that_are_in_no_test_document_are_counted(phi):
    test = made(60, seed=5)
    without = test.only(test.words >= 3)
    first, _ = measure(shown(Topics(phi, R)), made(200), without)
    assert first.missing.tolist() == [(each < 3).sum() for each in first.words]
    assert first.missing[0] == 3


def test_words_may_be_other_than_the_heaviest(phi):
    turned = [topics.top_words(table, 10)[0][:, ::-1][:, :4] for table in topics.projections(phi)]
    first, second = measure(shown(Topics(phi, R)), made(200), words=turned)
    np.testing.assert_array_equal(second.words, turned[1])
    assert first.npmi[0] != pytest.approx(measure(shown(Topics(phi, R)), made(200))[0].npmi[0])


def test_labels_are_told_by_the_topic_used_most_of_each_layer(phi):
    labels = np.array([0, 0, 1, 1])
    theta = (np.eye(6)[[0, 0, 1, 1]], np.eye(3)[[0, 0, 0, 1]])
    first, second = measure(shown(Topics(phi, R)), made(20), labelled=Labelled(labels, theta))
    assert (first.clusters.nmi, first.clusters.purity, first.clusters.documents) == (pytest.approx(1.0), 1.0, 4)
    assert second.clusters.purity == 0.75
