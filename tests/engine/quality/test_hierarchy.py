"""Specialization, affinity and cross-level NPMI against the golden values of the reference codes, and by hand."""

import numpy as np
import pytest
from gold import TEXTS, VOCABULARY, corpus, numbers

from engine.quality import coherence, hierarchy

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
    found = hierarchy.specialization(table(PARENTS + BELOW), words)
    assert found == pytest.approx([0.215619, 0.472014, 0.367498, 0.530597, 0.530597, 0.658107], abs=1e-6)
    assert hierarchy.specialization(words[:, None] / words.sum(), words) == pytest.approx([0.0], abs=1e-12)


def test_affinity_is_that_of_tsntm_with_children_and_others():
    found = hierarchy.affinity(table(PARENTS), table(BELOW), EDGES / 2, EDGES)
    assert found[:2] == pytest.approx((0.608468, 0.017980), abs=1e-6)
    assert found.weighted == pytest.approx(found.child)  # the children have equal weights here, and others none


def test_weighted_affinity_goes_by_the_weights_of_all_topics():
    parents, below = np.eye(3)[:, :1], np.eye(3)[:, :2]
    found = hierarchy.affinity(parents, below, np.array([[0.7], [0.3]]), np.array([[True], [True]]))
    assert found.child == pytest.approx(0.5)
    assert found.weighted == pytest.approx(0.7)
    assert np.isnan(found.other)


def test_a_parent_without_a_child_has_no_part_in_the_mean():
    edges = EDGES.copy()
    edges[:, 1] = False
    one = hierarchy.affinity(table(PARENTS)[:, :1], table(BELOW), EDGES[:, :1] / 2, EDGES[:, :1])
    assert hierarchy.affinity(table(PARENTS), table(BELOW), EDGES / 2, edges).child == pytest.approx(one.child)


def test_a_child_is_as_many_times_heavier_than_in_a_flat_topic_as_the_threshold_says():
    weights = np.array([[0.7, 0.26], [0.3, 0.25], [0.0, 0.25], [0.0, 0.24]])
    assert hierarchy.children(weights, 1.0).tolist() == [[True, True], [True, False], [False, False], [False, False]]
    assert not hierarchy.children(weights).any()


@pytest.mark.parametrize(
    ("how", "value"), [({}, 0.058756), ({"positive": True}, 0.121256), ({"repeated": -1.0}, -0.441244)]
)
def test_cross_level_npmi_by_our_rule_that_pairs_that_never_meet_count_minus_one(how, value):
    parents, below = first(PARENTS), first(BELOW)
    found = hierarchy.cross_npmi(parents, below, EDGES, met(parents, below), **how)
    assert found == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("how", "value"), [({}, 0.065028), ({"positive": True}, 0.121256), ({"repeated": -1.0}, -0.434972)]
)
def test_cross_level_npmi_is_that_of_the_literature_where_pairs_that_never_meet_count_as_nearly_none(how, value):
    parents, below = first(PARENTS), first(BELOW)
    known = met(parents, below)
    nearly = known._replace(together=np.maximum(known.together, 1e-12 * known.n_documents))
    found = hierarchy.cross_npmi(parents, below, EDGES, nearly, **how)
    assert found == pytest.approx(value, abs=1e-6)


def test_words_that_parent_and_child_share_are_left_out():
    parents, below = numbers([("cat", "dog")]), numbers([("dog", "vet")])
    known = met(parents, below)
    only = coherence.npmi(numbers([("cat", "vet")]), known)[0]
    assert hierarchy.cross_npmi(parents, below, np.array([[True]]), known) == pytest.approx(only)


def test_without_an_edge_there_is_no_cross_level_npmi():
    parents, below = first(PARENTS), first(BELOW)
    assert np.isnan(hierarchy.cross_npmi(parents, below, np.zeros_like(EDGES), met(parents, below)))


def met(*lists):
    return coherence.meetings(np.concatenate(lists), corpus(), len(VOCABULARY))
