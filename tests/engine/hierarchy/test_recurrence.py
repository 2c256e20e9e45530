"""What comes back in other runs: planted copies, unrelated topics, a missing edge, and consensus words."""

import math
from itertools import pairwise

import numpy as np
import pytest

from topiary.engine.contract import Topics
from topiary.engine.hierarchy.align import NONE, Alignment, TopicPair, align_hierarchies
from topiary.engine.hierarchy.effects import list_topic_words
from topiary.engine.hierarchy.recurrence import (
    LEAST_COSINE,
    Recurrence,
    SeedTopics,
    measure_parent_overlap,
    measure_recurrence,
)
from topiary.engine.hierarchy.topics import find_top_words

WIDTHS = (12, 7, 4)
N_WORDS = 80
TAU = 1.5


def plant(seed: int = 1, words: slice = slice(None)) -> Topics:
    """A hierarchy whose topics use some of the words only."""
    rng = np.random.default_rng(seed)
    first = np.zeros((N_WORDS, WIDTHS[0]))
    n_words = len(range(*words.indices(N_WORDS)))
    first[words] = rng.dirichlet(np.full(n_words, 0.1), WIDTHS[0]).T
    rest = [rng.dirichlet(np.full(below, 0.1), above).T for below, above in pairwise(WIDTHS)]
    return Topics((first, *rest), rng.gamma(2.0, 1.0, WIDTHS[-1]))


def permute(topics: Topics, seed: int) -> tuple[Topics, list[np.ndarray]]:
    """The same topics under other numbers; ``orders[l][k]`` is the old number of topic ``k``."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(layer.shape[1]) for layer in topics.phi]
    phi = [topics.phi[0][:, orders[0]]]
    phi += [topics.phi[layer][np.ix_(orders[layer - 1], orders[layer])] for layer in range(1, len(orders))]
    return Topics(tuple(phi), topics.r[orders[-1]]), orders


def of(topics: Topics, shown: int = 10) -> SeedTopics:
    words = tuple(list_topic_words(topics))
    return SeedTopics(topics, words, tuple(find_top_words(table, shown)[0] for table in words))


def recur(reference: Topics, *others: Topics) -> Recurrence:
    return measure_recurrence(of(reference), [of(other) for other in others])


def test_permuted_copies_come_back_in_all_runs_with_their_edges_and_words():
    planted = plant()
    copies = [permute(planted, seed) for seed in range(4)]
    found = recur(planted, *(topics for topics, _ in copies))
    assert found.n_runs == 5
    for layer in (1, 2, 3):
        assert found.count_runs(layer).tolist() == [5] * WIDTHS[layer - 1]
        assert found.measure_agreement(layer) == pytest.approx(1.0)
        for row, (_, orders) in zip(found.partners[layer - 1], copies, strict=True):
            assert orders[layer - 1][row].tolist() == list(range(WIDTHS[layer - 1]))
    for layer in (2, 3):
        counts = found.count_edge_runs(layer, TAU)
        assert np.array_equal(counts > 0, planted.phi[layer - 1] > TAU / WIDTHS[layer - 2])
        assert set(counts[counts > 0].tolist()) == {5}
        assert found.measure_edge_agreement(layer) == pytest.approx(1.0)
    words = of(planted)
    for column, row in enumerate(found.consensus[0]):
        assert {each.word for each in row} == set(words.listed[0][column].tolist())
        assert {each.runs for each in row} == {5}
        assert [each.probability for each in row] == pytest.approx([planted.phi[0][each.word, column] for each in row])


def test_topics_of_other_words_come_back_in_none():
    found = recur(plant(1, slice(0, 40)), plant(2, slice(40, 80)), plant(3, slice(40, 80)))
    for layer in (1, 2, 3):
        assert set(found.count_runs(layer).tolist()) == {1}
        assert found.measure_agreement(layer) == 0.0
        assert (found.partners[layer - 1] == NONE).all()
    counts = found.count_edge_runs(2, TAU)
    assert set(counts[counts > 0].tolist()) == {1}
    assert found.measure_edge_agreement(2) == 0.0


def test_one_replaced_topic_is_found_in_one_run_fewer():
    planted = plant()
    copy, orders = permute(planted, 5)
    first = copy.phi[0].copy()
    first[:, 0] = np.random.default_rng(9).dirichlet(np.full(N_WORDS, 0.05))
    found = recur(planted, copy, copy._replace(phi=(first, *copy.phi[1:])))
    counts = found.count_runs(1)
    assert counts[orders[0][0]] == 2
    assert sorted(counts.tolist()) == [2] + [3] * 11
    lost, chance = found.shares[0][orders[0][0]], 1 / 12  # no other topic is alike, so one of twelve would do
    assert found.agreements[0] == pytest.approx([1.0, 1.0 - lost / (1.0 - (1.0 - lost) * chance)], abs=0.01)


def test_agreement_is_adjusted_for_what_partners_at_random_would_share():
    """By hand: with a giant parent the raw overlap is .9 although no topic has the parents of its partner."""
    parents = np.array([[0.9, 0.1, 0.0], [0.9, 0.0, 0.1]])
    straight, crossed = np.array([0, 1]), np.array([1, 0])
    above = np.arange(3)
    assert measure_parent_overlap(parents, parents, straight, above) == pytest.approx(1.0)
    assert measure_parent_overlap(parents, parents, crossed, above) == pytest.approx((0.9 - 0.95) / (1.0 - 0.95))
    flat = np.full((2, 3), 1 / 3)
    assert measure_parent_overlap(flat, flat, crossed, above) == 1.0, "every partner is as good"


def test_an_edge_that_one_run_lacks_is_found_in_one_run_fewer_and_all_others_in_all():
    planted = plant()
    second = planted.phi[1].copy()
    child, parent = np.argwhere((second > TAU / 12) & (second < 0.3))[0]  # its loss leaves the parent what it is
    second[child, parent] = 0.0
    without = planted._replace(phi=(planted.phi[0], second / second.sum(axis=0), planted.phi[2]))
    found = recur(planted, planted, permute(without, 3)[0], planted)
    assert found.count_runs(2)[parent] == 4
    counts = found.count_edge_runs(2, TAU)
    assert counts[child, parent] == 3
    counts[child, parent] = 4
    assert set(counts[counts > 0].tolist()) == {4}


def test_an_edge_of_the_other_sign_is_another_edge():
    planted = plant()
    signs = np.where(np.random.default_rng(1).random(planted.phi[1].shape) < 0.5, -1.0, 1.0)
    signed = of(planted)._replace(topics=planted._replace(phi=(planted.phi[0], signs * planted.phi[1], planted.phi[2])))
    found = measure_recurrence(signed, [of(planted), of(planted)])
    strong = planted.phi[1] > TAU / 12
    assert np.array_equal(found.count_edge_runs(2, TAU), strong * np.where(signs < 0, 1, 3))


def test_where_all_topics_are_alike_only_those_more_alike_than_chance_are_found():
    rng = np.random.default_rng(4)
    common = rng.dirichlet(np.full(N_WORDS, 0.3))

    def draw() -> Topics:
        own = rng.dirichlet(np.full(N_WORDS, 0.1), 10).T
        return Topics((0.9 * common[:, None] + 0.1 * own,), np.ones(10))

    planted = draw()
    found = recur(planted, permute(planted, 2)[0], draw())
    assert (found.levels[0] > 0.9).all()  # two of these topics at random have a cosine of some .98
    assert found.cosines[0].min() > LEAST_COSINE
    assert (found.partners[0][0] != NONE).all()
    assert (found.partners[0][1] != NONE).sum() <= 4
    # oracle: the level is the largest of the lowest 95 % of the cosines between topics that are no partners
    words = [table / np.linalg.norm(table, axis=0) for table in (planted.phi[0], permute(planted, 2)[0].phi[0])]
    partner = found.partners[0][0]
    cosines = sorted(words[0][:, k] @ words[1][:, j] for k in range(10) for j in range(10) if partner[k] != j)
    assert found.levels[0][0] == pytest.approx(cosines[math.floor(0.95 * (len(cosines) - 1))])


def test_a_pair_that_a_user_decided_counts_as_found():
    planted, other = plant(1, slice(0, 40)), plant(2, slice(40, 80))
    decided = align_hierarchies(planted, other, fixed=[TopicPair(1, 3, 5)])
    found = measure_recurrence(of(planted), [of(other)], [decided])
    assert found.count_runs(1).tolist() == [2 if column == 3 else 1 for column in range(12)]
    assert found.partners[0][0, 3] == 5


def test_words_of_most_runs_are_the_consensus_and_their_probability_is_the_mean_over_runs():
    tables = []
    for extra in (5, 6, 6):
        table = np.zeros((8, 1))
        table[[0, 1, extra], 0] = 0.5, 0.3, 0.2
        tables.append(Topics((table,), np.ones(1)))
    runs = [
        SeedTopics(each, each.phi, (np.array([[0, 1, extra]]),)) for each, extra in zip(tables, (5, 6, 6), strict=True)
    ]
    alignments = [Alignment(align_hierarchies(tables[0], each).matches, ()) for each in tables[1:]]
    ((words,),) = measure_recurrence(runs[0], runs[1:], alignments).consensus
    assert [(each.word, each.runs) for each in words] == [(0, 3), (1, 3), (6, 2)]
    assert [each.probability for each in words] == pytest.approx([0.5, 0.3, 0.4 / 3])


def test_other_widths_and_depths_can_be_compared_and_one_run_alone_has_no_agreement():
    planted = plant()
    shallow = Topics((planted.phi[0][:, :9], planted.phi[1][:9] / planted.phi[1][:9].sum(axis=0)), np.ones(7))
    found = recur(planted, shallow)
    assert found.count_runs(1)[9:].tolist() == [1, 1, 1]
    assert set(found.count_runs(3).tolist()) == {1}
    alone = recur(planted)
    assert alone.count_runs(1).tolist() == [1] * 12
    assert math.isnan(alone.measure_agreement(1))
    assert math.isnan(alone.measure_edge_agreement(2))
