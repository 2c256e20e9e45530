"""What is proposed in a world of which the truth is known: its twin topics as a merge, its shared column as a split."""

import numba
import numpy as np
import pytest
from merged_worlds import MergedWorld, measure_cosine

from topiary.engine.pool import Pool
from topiary.engine.steering.suggest import LEAST_MERGE, find_bans, find_splits, judge_merges

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")


@pytest.fixture(scope="module")
def world():
    """A world whose columns 1 and 2 are twins, and whose column 0 holds two topics."""
    return MergedWorld(1)


def test_twins_are_proposed_for_a_merge_and_no_other_pair(world):
    topics = world.state.topics.copy()
    shared = np.flatnonzero((topics == 1) | (topics == 2))
    topics[shared] = np.random.default_rng(1).integers(1, 3, len(shared))
    sizes = np.bincount(topics)
    judged = judge_merges(world.docs, topics, 400, 8)
    found = [each for each in judged if each.score > LEAST_MERGE]
    assert [set(each.topics) for each in found] == [{1, 2}]
    assert {k for each in judged for k in each.topics} == set(range(8))  # every topic has partners to choose from
    assert sizes[found[0].topics[0]] >= sizes[found[0].topics[1]]


def test_the_column_of_two_topics_is_the_first_to_be_split(world):
    before = world.state.topics.copy()
    found = find_splits(1, world.docs, before, 400, 8, Pool(1))
    assert np.array_equal(before, world.state.topics)
    assert found[0].topics == (0,)
    halves = [np.bincount(half[:10], minlength=400) for half in found[0].halves]
    truths = [np.bincount(np.argsort(-world.phi[:, k])[:10], minlength=400) for k in (0, 1)]
    alike = np.array([[measure_cosine(half, truth) for truth in truths] for half in halves])
    assert sorted(alike.argmax(axis=1)) == [0, 1]
    assert alike.max(axis=1).min() >= 0.8


def test_words_among_the_first_of_many_topics_are_proposed_for_a_ban():
    phi = np.random.default_rng(3).dirichlet(np.full(600, 0.02), 20).T + 1e-9
    phi[17] = 0.9
    phi[18] = np.arange(20) < 12
    found = find_bans(phi)
    assert [(each.words, each.score) for each in found[:2]] == [((17,), 20.0), ((18,), 12.0)]
