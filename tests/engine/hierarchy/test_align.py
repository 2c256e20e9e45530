"""Topics of two hierarchies find each other: permuted, noisy, replaced, wider, deeper, and by decision."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest

from topiary.engine.contract import Topics
from topiary.engine.hierarchy.align import (
    LEAST_COSINE,
    NEARLY_EQUAL,
    NONE,
    Alignment,
    Recurrence,
    SeedTopics,
    TopicMatch,
    TopicPair,
    align_hierarchies,
    measure_parent_overlap,
    measure_recurrence,
)
from topiary.engine.hierarchy.effects import list_topic_words
from topiary.engine.hierarchy.topics import find_top_words

WIDTHS = (12, 7, 4)
N_WORDS = 80


def hierarchy(widths: tuple[int, ...] = WIDTHS, n_words: int = N_WORDS, seed: int = 1) -> Topics:
    rng = np.random.default_rng(seed)
    phi = tuple(rng.dirichlet(np.full(below, 0.1), above).T for below, above in pairwise((n_words, *widths)))
    return Topics(phi, rng.gamma(2.0, 1.0, widths[-1]))


def permuted(topics: Topics, seed: int = 2) -> tuple[Topics, list[np.ndarray]]:
    """The same hierarchy under other numbers; ``orders[l][k]`` is the old number of new topic ``k``."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(layer.shape[1]) for layer in topics.phi]
    phi = [topics.phi[0][:, orders[0]]]
    phi += [topics.phi[layer][np.ix_(orders[layer - 1], orders[layer])] for layer in range(1, len(orders))]
    return Topics(tuple(phi), topics.r[orders[-1]]), orders


def blurred(topics: Topics, noise: float, seed: int = 3) -> Topics:
    """Every topic mixed with another drawn at random."""
    rng = np.random.default_rng(seed)
    phi = tuple(
        (1 - noise) * layer + noise * rng.dirichlet(np.full(layer.shape[0], 0.1), layer.shape[1]).T
        for layer in topics.phi
    )
    return Topics(phi, topics.r)


def of(alignment: Alignment, layer: int) -> list[TopicMatch]:
    return [match for match in alignment.matches if match.layer == layer]


def numbers(matches: list[TopicMatch], side: str) -> list[int]:
    return sorted(getattr(match, side) for match in matches if getattr(match, side) != NONE)


@pytest.mark.parametrize("seed", range(5))
def test_a_permuted_copy_is_recovered_exactly_in_every_layer(seed: int) -> None:
    original = hierarchy(seed=seed)
    copy, orders = permuted(original, seed + 50)
    found = align_hierarchies(original, copy)
    for layer, order in enumerate(orders, 1):
        assert found.partners(layer) == {int(old): new for new, old in enumerate(order)}
    assert min(match.score for match in found.matches) > 1 - 1e-5
    assert min(match.margin for match in found.matches) > 0.01


def test_a_permuted_copy_in_single_precision_is_recovered_too() -> None:
    original = hierarchy()
    single = Topics(tuple(layer.astype(np.float32) for layer in original.phi), original.r)
    copy, orders = permuted(single)
    found = align_hierarchies(single, copy)
    assert found.partners(1) == {int(old): new for new, old in enumerate(orders[0])}
    assert min(match.score for match in found.matches) > 1 - 2e-3


def test_score_and_margin_fall_as_noise_grows() -> None:
    original = hierarchy()
    means = []
    for noise in (0.0, 0.1, 0.25, 0.5):
        copy, _ = permuted(blurred(original, noise))
        found = [match for match in align_hierarchies(original, copy).matches if match.paired]
        means.append((np.mean([match.score for match in found]), np.mean([match.margin for match in found])))
    scores, margins = zip(*means, strict=True)
    assert all(later < sooner - 0.02 for sooner, later in pairwise(scores))
    assert all(later < sooner - 0.02 for sooner, later in pairwise(margins))


def test_a_replaced_topic_is_left_alone_on_both_sides() -> None:
    original = hierarchy((12, 5), n_words=160)
    first = np.array(original.phi[0])
    first[:80] = 0  # nobody uses the first half of the words ...
    first /= first.sum(axis=0)
    other = first.copy()
    other[:, 4] = 0
    other[:80, 4] = 1 / 80  # ... but the topic that took the place of topic 4
    found = align_hierarchies(
        Topics((first, original.phi[1]), original.r), Topics((other, original.phi[1]), original.r)
    )
    alone = [(match.first, match.second) for match in of(found, 1) if not match.paired]
    assert alone == [(4, NONE), (NONE, 4)]
    assert all(match.score == 0 and match.margin > 0 for match in of(found, 1) if not match.paired)
    assert len(found.partners(1)) == 11


def test_widths_and_depths_may_differ_and_every_topic_is_told_once() -> None:
    wide, narrow = hierarchy((12, 7, 4)), hierarchy((9, 8), seed=8)
    for first, second in ((wide, narrow), (narrow, wide)):
        found = align_hierarchies(first, second)
        for layer in (1, 2, 3):
            for side, topics in (("first", first), ("second", second)):
                width = topics.phi[layer - 1].shape[1] if layer <= len(topics.phi) else 0
                assert numbers(of(found, layer), side) == list(range(width))
        assert found.partners(3) == {}
        assert [cost.shape for cost in found.costs] == [
            (first.phi[layer].shape[1], second.phi[layer].shape[1]) for layer in (0, 1)
        ]


def test_a_wider_copy_keeps_the_pairs_and_leaves_the_new_topics_alone() -> None:
    narrow, wide = hierarchy((6,), seed=4), hierarchy((9,), seed=5)
    both = np.concatenate([narrow.phi[0], wide.phi[0][:, :3][::-1]], axis=1)
    found = align_hierarchies(narrow, Topics((both,), np.ones(9)), threshold=0.5)
    assert found.partners(1) == {column: column for column in range(6)}
    assert [match.second for match in found.matches if match.first == NONE] == [6, 7, 8]


def test_a_layer_is_solved_as_a_whole_and_not_topic_by_topic() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        first, second = (Topics((rng.dirichlet(np.full(30, 1.0), 5).T,), np.ones(5)) for _ in range(2))
        found = align_hierarchies(first, second, threshold=1.0)
        (cost,) = found.costs
        cheapest = min(sum(cost[i, j] for i, j in enumerate(order)) for order in permutations(range(5)))
        assert sum(cost[i, j] for i, j in found.partners(1).items()) == pytest.approx(cheapest, abs=1e-5)


def test_the_cost_is_the_hellinger_distance_of_words_and_of_where_topics_come_from() -> None:
    first, second = hierarchy(), hierarchy((12, 7, 6), seed=9)  # two parents of the second have no partner
    found = align_hierarchies(first, second, parent_weight=0.25, threshold=1.0)

    def hellinger(p: np.ndarray, q: np.ndarray) -> float:
        return float(np.sqrt(max(0.0, 1 - np.sqrt(p * q).sum())))

    words = [side.phi[0] @ side.phi[1] for side in (first, second)]
    come = [side.phi[2] * side.r / (side.phi[2] @ side.r)[:, None] for side in (first, second)]
    partners = found.partners(3)
    for match in of(found, 2):
        carried = np.zeros(4)
        for one, other in partners.items():
            carried[one] = come[1][match.second, other]
        by_hand = 0.75 * hellinger(words[0][:, match.first], words[1][:, match.second])
        by_hand += 0.25 * hellinger(come[0][match.first], carried)
        assert match.score == pytest.approx(1 - by_hand, abs=1e-5)
        assert found.costs[1][match.first, match.second] == pytest.approx(by_hand, abs=1e-3)


def test_topics_of_equal_words_are_told_apart_by_their_parents() -> None:
    rng = np.random.default_rng(11)
    first = rng.dirichlet(np.full(40, 0.1), 4).T
    first[:, 1] = first[:, 0]  # two topics of the very same words ...
    above = np.array([[0.7, 0.0], [0.0, 0.6], [0.3, 0.0], [0.0, 0.4]])  # ... under different parents
    original = Topics((first, above), np.array([1.0, 1.0]))
    swapped = Topics((first, above[[1, 0, 2, 3]]), original.r)
    assert align_hierarchies(original, swapped).partners(1) == {0: 1, 1: 0, 2: 2, 3: 3}
    assert all(
        match.margin < 1e-3
        for match in align_hierarchies(original, swapped, parent_weight=0.0).matches
        if match.first in (0, 1) and match.layer == 1
    )


def test_margin_is_what_the_second_best_answer_costs_more() -> None:
    found = align_hierarchies(hierarchy((6,), seed=1), hierarchy((5,), seed=2), threshold=0.9)
    (cost,) = found.costs
    for match in found.matches:
        if match.paired:
            rest = [cost[match.first, j] for j in range(5) if j != match.second]
            rest += [cost[i, match.second] for i in range(6) if i != match.first]
            assert match.margin == pytest.approx(min(*rest, 0.9) - (1 - match.score), abs=1e-4)
        else:
            assert match.margin == pytest.approx(cost[match.first].min() - 0.9, abs=1e-4)


def test_topics_no_more_alike_than_any_two_are_no_pair() -> None:
    rng = np.random.default_rng(12)
    common = rng.dirichlet(np.full(60, 1.0))[:, None]  # every topic is mostly this: all costs are low
    first, second = (0.8 * common + 0.2 * rng.dirichlet(np.full(60, 0.05), 10).T for _ in range(2))
    second[:, :5] = first[:, 5:]
    found = align_hierarchies(Topics((first,), np.ones(10)), Topics((second,), np.ones(10)))
    typical = float(np.median(found.costs[0]))
    assert typical < 0.5
    assert {5 + k: k for k in range(5)}.items() <= found.partners(1).items()
    assert all(1 - match.score < typical for match in found.matches if match.paired)
    assert len(found.partners(1)) < 10


def narrow(seed: int, own: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Twice the same eight topics that have most of their words in common, their own part changed by noise."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.full(200, 0.3))[:, None]
    parts, others = (rng.dirichlet(np.full(200, 0.05), 8).T for _ in range(2))
    return (1 - own) * common + own * parts, (1 - own) * common + own * ((1 - noise) * parts + noise * others)


@pytest.mark.parametrize("seed", range(5))
def test_topics_nearly_the_same_are_never_said_to_be_missing(seed: int) -> None:
    """High up in a narrow model all topics are alike, one of them a little less so."""
    first, second = narrow(seed, own=0.02, noise=0.5)
    second[:, 3] = 0.8 * second[:, 3] + 0.2 / 200
    found = align_hierarchies(Topics((first,), np.ones(8)), Topics((second,), np.ones(8)))
    typical = float(np.median(found.costs[0]))
    assert typical < found.costs[0][:, 3].min() < NEARLY_EQUAL  # so that the median alone would leave the fourth out
    assert len(found.partners(1)) == 8


def test_topics_of_a_fork_keep_their_numbers_where_others_are_as_near() -> None:
    first, second = narrow(1, own=0.02, noise=1.0)  # nothing but the common part is left
    second[:, [0, 1]] = second[:, [1, 0]]
    topics = Topics((first,), np.ones(8)), Topics((second,), np.ones(8))
    same = {column: column for column in range(8)}
    known = [TopicPair(1, column, column) for column in range(8)]
    assert align_hierarchies(*topics).partners(1) != same
    found = align_hierarchies(*topics, known=[*known, TopicPair(1, 8, 8), TopicPair(2, 0, 0)])
    assert found.partners(1) == same
    for match in found.matches:  # the score is that of the true cost
        assert match.score == pytest.approx(1 - found.costs[0][match.first, match.second], abs=1e-3)
        assert not match.fixed


def test_what_has_nothing_in_common_any_more_is_no_pair_though_it_once_was_one_topic() -> None:
    """The cost of a known pair lies between the limit and the limit + KNOWN_BONUS: alone, as it would be unknown."""
    phi = np.eye(9)
    moved = phi.copy()
    moved[:, 0] = 0.0
    moved[0, 0], moved[1, 0] = 0.3, 0.7  # Hellinger distance sqrt(1 - sqrt(0.3)) = 0.673 of the first
    one, other = (Topics((table,), np.ones(9)) for table in (phi, moved))
    known = [TopicPair(1, column, column) for column in range(9)]
    assert align_hierarchies(one, other, known=known, threshold=0.65).partners(1) == {
        column: column for column in range(1, 9)
    }
    assert align_hierarchies(one, other, known=known, threshold=0.7).partners(1)[0] == 0


def test_to_be_known_is_no_reason_against_the_words() -> None:
    original = hierarchy()
    copy, orders = permuted(original)
    known = [TopicPair(layer, column, column) for layer, order in enumerate(orders, 1) for column in range(len(order))]
    found = align_hierarchies(original, copy, known=known)
    for layer, order in enumerate(orders, 1):
        assert found.partners(layer) == {int(old): new for new, old in enumerate(order)}


def test_decisions_stand_and_the_rest_is_matched_around_them() -> None:
    original = hierarchy()
    decided = [
        TopicPair(1, 0, 3),
        TopicPair(1, 5, NONE),
        TopicPair(2, NONE, 2),
        TopicPair(1, 400, 1),
        TopicPair(9, 0, 0),
    ]
    found = align_hierarchies(original, original, fixed=decided)
    report = {(match.first, match.second) for match in of(found, 1) if match.fixed}
    assert report == {(0, 3), (5, NONE)}
    assert found.partners(1)[7] == 7
    assert found.partners(1)[1] == 1  # there is no topic 400, so nothing was decided about this one
    assert 2 not in found.partners(2).values()
    assert next(match for match in of(found, 2) if match.second == 2).fixed
    wrong = next(match for match in of(found, 1) if match.first == 0)
    assert wrong.margin < 0
    for layer, width in enumerate(WIDTHS, 1):
        assert numbers(of(found, layer), "first") == numbers(of(found, layer), "second") == list(range(width))


def test_given_projections_are_used_and_need_not_sum_to_one() -> None:
    original = hierarchy()
    copy, orders = permuted(original)
    some = np.arange(0, N_WORDS, 2)

    def halves(topics: Topics) -> list[np.ndarray]:
        projected = [topics.phi[0], topics.phi[0] @ topics.phi[1], topics.phi[0] @ topics.phi[1] @ topics.phi[2]]
        return [3 * layer[some] for layer in projected]

    found = align_hierarchies(original, copy, projected=(halves(original), halves(copy)))
    assert found.partners(2) == {int(old): new for new, old in enumerate(orders[1])}
    assert min(match.score for match in found.matches) > 1 - 1e-5


def test_dead_topics_and_empty_parents_give_no_number_that_is_none() -> None:
    original = hierarchy()
    dead = np.array(original.phi[0])
    dead[:, 2] = 0
    silent = np.array(original.phi[1])
    silent[3] = 0
    changed = Topics((dead, silent, original.phi[2]), original.r)
    found = align_hierarchies(changed, original)
    assert all(np.isfinite([match.score, match.margin]).all() and 0 <= match.score <= 1 for match in found.matches)
    assert 2 not in found.partners(1)
    again = align_hierarchies(changed, changed).partners(1)
    assert again == {column: column for column in range(12) if column != 2}  # nobody's child is its own partner
    assert next(match.score for match in align_hierarchies(changed, changed).matches if match.first == 3) > 1 - 1e-5


def test_topics_over_other_words_are_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="over 80 and 81 words cannot be matched"):
        align_hierarchies(hierarchy(), hierarchy(n_words=81))


THREE_WIDTHS = (12, 7, 4)
MANY_WORDS = 80
TAU = 1.5


def plant(seed: int = 1, words: slice = slice(None)) -> Topics:
    """A hierarchy whose topics use some of the words only."""
    rng = np.random.default_rng(seed)
    first = np.zeros((MANY_WORDS, THREE_WIDTHS[0]))
    n_words = len(range(*words.indices(MANY_WORDS)))
    first[words] = rng.dirichlet(np.full(n_words, 0.1), THREE_WIDTHS[0]).T
    rest = [rng.dirichlet(np.full(below, 0.1), above).T for below, above in pairwise(THREE_WIDTHS)]
    return Topics((first, *rest), rng.gamma(2.0, 1.0, THREE_WIDTHS[-1]))


def permute(topics: Topics, seed: int) -> tuple[Topics, list[np.ndarray]]:
    """The same topics under other numbers; ``orders[l][k]`` is the old number of topic ``k``."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(layer.shape[1]) for layer in topics.phi]
    phi = [topics.phi[0][:, orders[0]]]
    phi += [topics.phi[layer][np.ix_(orders[layer - 1], orders[layer])] for layer in range(1, len(orders))]
    return Topics(tuple(phi), topics.r[orders[-1]]), orders


def seed_topics(topics: Topics, shown: int = 10) -> SeedTopics:
    words = tuple(list_topic_words(topics))
    return SeedTopics(topics, words, tuple(find_top_words(table, shown)[0] for table in words))


def recur(reference: Topics, *others: Topics) -> Recurrence:
    return measure_recurrence(seed_topics(reference), [seed_topics(other) for other in others])


def test_permuted_copies_come_back_in_all_runs_with_their_edges_and_words():
    planted = plant()
    copies = [permute(planted, seed) for seed in range(4)]
    found = recur(planted, *(topics for topics, _ in copies))
    assert found.n_runs == 5
    for layer in (1, 2, 3):
        assert found.count_runs(layer).tolist() == [5] * THREE_WIDTHS[layer - 1]
        assert found.measure_agreement(layer) == pytest.approx(1.0)
        for row, (_, orders) in zip(found.partners[layer - 1], copies, strict=True):
            assert orders[layer - 1][row].tolist() == list(range(THREE_WIDTHS[layer - 1]))
    for layer in (2, 3):
        counts = found.count_edge_runs(layer, TAU)
        assert np.array_equal(counts > 0, planted.phi[layer - 1] > TAU / THREE_WIDTHS[layer - 2])
        assert set(counts[counts > 0].tolist()) == {5}
        assert found.measure_edge_agreement(layer) == pytest.approx(1.0)
    words = seed_topics(planted)
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
    first[:, 0] = np.random.default_rng(9).dirichlet(np.full(MANY_WORDS, 0.05))
    found = recur(planted, copy, copy._replace(phi=(first, *copy.phi[1:])))
    counts = found.count_runs(1)
    assert counts[orders[0][0]] == 2
    assert sorted(counts.tolist()) == [2] + [3] * 11
    lost, chance = (found.shares[0][orders[0][0]], 1 / 12)  # no other topic is alike, so one of twelve would do
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
    signed = seed_topics(planted)._replace(
        topics=planted._replace(phi=(planted.phi[0], signs * planted.phi[1], planted.phi[2]))
    )
    found = measure_recurrence(signed, [seed_topics(planted), seed_topics(planted)])
    strong = planted.phi[1] > TAU / 12
    assert np.array_equal(found.count_edge_runs(2, TAU), strong * np.where(signs < 0, 1, 3))


def test_where_all_topics_are_alike_only_those_more_alike_than_chance_are_found():
    rng = np.random.default_rng(4)
    common = rng.dirichlet(np.full(MANY_WORDS, 0.3))

    def draw() -> Topics:
        own = rng.dirichlet(np.full(MANY_WORDS, 0.1), 10).T
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
    found = measure_recurrence(seed_topics(planted), [seed_topics(other)], [decided])
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
