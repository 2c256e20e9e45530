"""What two seeds of one model reach, and what lies beyond it.

Runs that differ in the seed alone are found, wait for each other, and are measured together.
"""

import math
from dataclasses import replace
from math import isnan, nan
from types import SimpleNamespace

import feed_samples
import numpy as np
import pytest
from seed_samples import add_group, add_seed, plant_arrays
from topic_hierarchies import arrays, make_hierarchy
from topic_pairs import WIDTHS, changed, frame_of, same

from topiary.app.analysis.comparison import compare, find_edge_changes, measure_agreement
from topiary.app.analysis.hierarchy import parse_identity
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.seeds import (
    ACTIVE,
    ENTROPY,
    LIKELIHOOD,
    MIXED,
    MOST_SEEDS,
    TOTAL,
    MixingFigure,
    Range,
    choose_most_seeds,
    compare_estimates,
    diagnose_chains,
    find_seed_group,
    find_seed_groups,
    is_below_range,
    list_consensus,
    list_recurrent,
    list_seed_edges,
    list_seed_runs,
    measure_mixing,
    measure_seed_spread,
    summarize_layer,
)
from topiary.engine.hierarchy.align import count_most
from topiary.store import runs
from topiary.store.points import Point


def test_the_spread_goes_from_the_lowest_to_the_highest_of_all_pairs_of_seeds():
    alike, apart = same()[0], changed()
    other = compare(frame_of(arrays(WIDTHS), 7), frame_of(arrays(WIDTHS, seed=2), 9))
    spread = measure_seed_spread((alike, apart, other), 1.5)
    found = [measure_agreement(each, find_edge_changes(each, 1.5)) for each in (alike, apart, other)]
    for place in range(3):
        scores = [each.scores[place] for each in found if not isnan(each.scores[place])]
        assert spread.scores[place] == (min(scores), max(scores))
    assert spread.edges == (min(each.edges for each in found), max(each.edges for each in found))
    assert spread.pairs == 3
    every = [pair.score for each in (alike, apart, other) for pair in each.pairs if pair.layer == 1 and pair.paired]
    assert np.mean(np.array(every) < spread.floors[0]) == pytest.approx(0.05, abs=0.03)


def test_without_seeds_there_is_no_spread():
    assert measure_seed_spread((), 1.5) is None


@pytest.mark.parametrize(
    ("value", "usual", "said"),
    [
        (0.61, Range(0.62, 0.7), True),
        (0.617, Range(0.62, 0.7), False),  # reads 0.62 too
        (0.65, Range(0.62, 0.7), False),
        (0.9, Range(0.62, 0.7), False),
        (nan, Range(0.62, 0.7), False),
        (0.1, None, False),
    ],
)
def test_only_what_is_lower_than_every_pair_of_seeds_is_beyond_them(value, usual, said):
    assert is_below_range(value, usual) is said


def run(number, point, averaged=None, corpus="garden"):
    plan = {"minibatches": 100, "protocol": {"documents": 30}}
    fields = {"number": number, "minibatch": 100, "options": plan, "point_perplexity": point}
    return SimpleNamespace(**fields, averaged_perplexity=averaged, corpus_name=corpus)


def test_the_best_estimate_that_both_have_is_held_against_the_largest_difference_of_seeds():
    a, b, c, d = run(1, 900.0, 800.0), run(2, 950.0), run(3, 910.0), run(4, 870.0)
    found = compare_estimates(a, b, [(a, c), (c, d)], lambda _: {})
    assert (found.a.kind, found.a.value, found.b.value) == ("point_perplexity", 900.0, 950.0)
    assert (found.gap, found.difference, found.exceeds_seeds) == (40.0, 50.0, True)
    assert not compare_estimates(a, c, [(c, d)], lambda _: {}).exceeds_seeds
    means = {1: 700.0, 2: 710.0}
    assert compare_estimates(a, b, [], lambda number: {"mean_perplexity": means.get(number)}).a.value == 700.0


def test_without_seeds_there_is_no_difference_to_speak_of_and_without_a_common_estimate_nothing():
    found = compare_estimates(run(1, 900.0), run(2, 950.0), [], lambda _: {})
    assert (found.gap, found.exceeds_seeds) == (None, False)
    assert compare_estimates(run(1, 900.0), run(2, None), [], lambda _: {}) is None
    assert compare_estimates(run(1, 900.0), run(2, 950.0, corpus="pond"), [], lambda _: {}) is None


def measured(db, row):
    hierarchy = StoreReader(db).hierarchy_at(row)
    group, recurrence = StoreReader(db).recurrence(row, hierarchy)
    return group, replace(hierarchy, recurrence=recurrence)


def test_a_group_of_five_tells_what_comes_back(db):
    rows = add_group(db)
    group, hierarchy = measured(db, rows[0])
    assert [row.number for row, _ in group.ready] == [2, 3, 4, 5]
    recurrence = hierarchy.recurrence
    assert recurrence.n_runs == 5
    counts = {node.column: hierarchy.count_runs(node) for node in hierarchy.nodes(1)}
    assert counts == {0: 5, 1: 5, 2: 5, 3: 4}
    assert [hierarchy.count_runs(node) for node in list_recurrent(hierarchy, recurrence, 1)] == [5, 5, 5, 4]
    lost = parse_identity("L1:4")
    edges = list_seed_edges(hierarchy, recurrence, parse_identity("L2:2"), 1.0)
    assert edges == [(parse_identity("L1:3"), 5), (lost, 4)]
    assert hierarchy.count_edge_runs(parse_identity("L2:2"), lost, 1.0) == 4
    summary = summarize_layer(hierarchy, recurrence, 2, 1.0)
    assert (summary.topics, summary.topics_in_most, summary.edges, summary.edges_in_most) == (2, 2, 4, 3)
    share = hierarchy.share(lost)
    agreement = summarize_layer(hierarchy, recurrence, 1, 1.0).agreement
    assert 1 - share / 2 < agreement < 1 - share / 4, "adjusted for chance, what is lost counts for more"
    words = list_consensus(hierarchy, recurrence, parse_identity("L1:1"))
    assert [each.text for each in words[:3]] == ["word0", "word1", "word2"]
    assert (words[0].runs, words[0].probability) == (5, pytest.approx(0.5))


def test_a_hierarchy_without_other_seeds_stays_as_it_is(db):
    row = add_seed(db, 1, plant_arrays())
    add_seed(db, 2, settings={"eta": 1.0})  # another setting
    add_seed(db, 1)  # the same seed
    group, hierarchy = measured(db, row)
    assert (group.n_others, hierarchy.recurrence) == (0, None)
    assert hierarchy.count_runs(hierarchy.at_rank(1, 1)) is None
    assert hierarchy.count_edge_runs(hierarchy.at_rank(2, 1), hierarchy.at_rank(1, 1), 1.0) is None


def test_runs_without_a_snapshot_from_about_the_same_step_are_waited_for_or_left_out(db):
    row = add_seed(db, 1, plant_arrays())
    waiting, late = add_seed(db, 2, {}), add_seed(db, 3, minibatch=10)
    ended = add_seed(db, 4, {})
    runs.finish_run(db, ended.number, ended.attempt, "failed", "no reason")
    ready = add_seed(db, 5, minibatch=50)
    group = find_seed_group(db, row, 40, runs.list_runs(db))
    assert [each.number for each, _ in group.ready] == [ready.number]
    assert [each.number for each in group.waiting] == [waiting.number, late.number]
    assert [each.number for each in group.absent] == [ended.number]
    few = find_seed_group(db, row, 40, runs.list_runs(db), most=3)
    assert (len(few.ready) + len(few.waiting), few.left_out, few.n_others) == (2, 2, 4)


def test_a_run_of_the_group_that_has_not_tried_its_widths_yet_is_waited_for(db):
    narrow, wide = {"layers": [4, 2], "eta": 0.1}, {"layers": [8, 4], "eta": 0.1}
    row = add_seed(db, 1, plant_arrays(), run_group=1, settings=narrow)
    late = add_seed(db, 2, {}, run_group=1, settings=wide, options={"minibatches": 50, "tries_widths": True})
    add_seed(db, 3, {}, run_group=1, settings=wide)  # has tried them
    add_seed(db, 4, {}, run_group=7, settings=wide, options={"minibatches": 50, "tries_widths": True})
    assert [each.number for each in find_seed_group(db, row, 40, runs.list_runs(db)).waiting] == [late.number]


def test_of_runs_with_one_seed_only_the_latest_counts(db):
    row = add_seed(db, 1, plant_arrays())
    add_seed(db, 2)
    again = add_seed(db, 2)
    assert [each.number for each in list_seed_runs(row, runs.list_runs(db))] == [again.number]


def test_a_group_has_something_to_compare_if_two_of_its_runs_differ_in_the_seed_alone(db):
    one, two = add_seed(db, 1, run_group=1), add_seed(db, 2, run_group=1)
    add_seed(db, 1, run_group=3, settings={"eta": 1.0})
    add_seed(db, 2, run_group=3, settings={"eta": 2.0})
    add_seed(db, 3)
    assert find_seed_groups(runs.list_runs(db)) == {one.number, two.number}


def test_large_hierarchies_are_compared_with_fewer_at_a_time():
    small = make_hierarchy()
    assert choose_most_seeds(small) == MOST_SEEDS
    wide = replace(small, projections=(np.broadcast_to(np.float32(0), (200_000, 1_000)),))
    assert choose_most_seeds(wide) == 3


def test_most_of_four_other_seeds_are_all_of_them():
    assert [count_most(others) for others in (1, 2, 3, 4, 5, 9)] == [1, 2, 3, 4, 4, 8]


def test_chains_of_one_distribution_are_mixed_and_a_chain_elsewhere_is_noticed():
    draws = np.random.default_rng(1).normal(size=(4, 500))
    rhat, ess = diagnose_chains(draws)
    assert rhat < MIXED
    assert 1400 < ess < 2600  # independent: all 2,000 of them
    apart = draws + np.array([[0.0], [0.0], [0.0], [2.0]])
    rhat, ess = diagnose_chains(apart)
    assert rhat > 1.2
    assert ess < 20


def test_r_hat_is_the_one_of_the_paper():
    """Split chains, rank-normalise, and compare variances between and within: written out once more."""
    from scipy.stats import norm, rankdata

    draws = np.random.default_rng(2).gamma(1.0, size=(3, 40)) + np.array([[0.0], [0.3], [0.6]])

    def plain(values):
        halves = np.concatenate([values[:, :20], values[:, 20:]])
        scores = norm.ppf((rankdata(halves).reshape(halves.shape) - 0.375) / (halves.size + 0.25))
        between, within = 20 * scores.mean(axis=1).var(ddof=1), scores.var(axis=1, ddof=1).mean()
        return math.sqrt((between / within + 19) / 20)

    halves = np.concatenate([draws[:, :20], draws[:, 20:]])
    assert diagnose_chains(draws)[0] == pytest.approx(max(plain(draws), plain(abs(draws - np.median(halves)))))


@pytest.mark.parametrize("draws", [np.ones((4, 50)), np.zeros((1, 50)), np.random.default_rng(1).random((4, 9))])
def test_of_equal_draws_one_chain_or_few_points_nothing_is_known(draws):
    assert all(map(math.isnan, diagnose_chains(draws)))


def record(db, seed, last, names):
    row = feed_samples.run(db)
    rng = np.random.default_rng(seed)
    points = [
        Point(t, t, t, name, layer, math.exp(rng.normal(5, 0.1)) if "perp" in name else rng.normal(3.0 + shift, 0.1))
        for t in range(1, last + 1)
        for name, layer, shift in names
    ]
    runs.record_progress(db, row.number, row.attempt, minibatch=last, seconds=1.0, points=points)
    return row.number


def test_the_points_of_several_runs_are_read_at_their_common_steps_after_burn_in(db):
    every = [("point_perplexity", 0, 0), ("r_sum", 0, 0), ("active_topics", 1, 0), ("share_entropy", 1, 0)]
    one, two = record(db, 1, 100, every), record(db, 2, 90, every)
    old = record(db, 3, 100, [("point_perplexity", 0, 0)])
    found = {(each.name, each.layer): each for each in measure_mixing(db, [one, two, old], 2, 80)}
    assert set(found) == {(LIKELIHOOD, 0), (TOTAL, 0), (ACTIVE, 1), (ACTIVE, 2), (ENTROPY, 1), (ENTROPY, 2)}
    likelihood, total, missing = found[LIKELIHOOD, 0], found[TOTAL, 0], found[ENTROPY, 2]
    assert (likelihood.chains, likelihood.draws) == (3, 40)  # steps 41 to 80
    assert (total.chains, total.draws) == (2, 40)  # the run of an earlier version has no sum of r
    assert (missing.chains, missing.draws) == (0, 0)
    assert math.isnan(missing.rhat)
    assert likelihood.rhat < 1.1
    assert not likelihood.constant


def test_runs_whose_points_are_of_other_steps_are_compared_by_as_many_of_each(db):
    numbers = []
    for seed, steps in ((1, range(2, 101, 2)), (2, range(1, 101, 3))):
        row, rng = feed_samples.run(db), np.random.default_rng(seed)
        points = [Point(t, t, t, "r_sum", 0, rng.normal()) for t in steps]
        runs.record_progress(db, row.number, row.attempt, minibatch=100, seconds=1.0, points=points)
        numbers.append(row.number)
    found = {each.name: each for each in measure_mixing(db, numbers, 1, 100)}
    assert (found[TOTAL].chains, found[TOTAL].draws) == (2, 17)  # of 52, 54 ... and of 52, 55 ... 100
    assert found[TOTAL].verdict == "too few draws to tell"


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (MixingFigure(TOTAL, 0, 2, 10, 0.977, 26.0), "too few draws to tell"),
        (MixingFigure(TOTAL, 0, 2, 10, 2.3, 3.0), "not mixed"),
        (MixingFigure(TOTAL, 0, 4, 100, 1.004, 90.0), "too few draws to tell"),
        (MixingFigure(TOTAL, 0, 4, 100, 1.004, 390.0), "mixed"),
        (MixingFigure(TOTAL, 0, 4, 100, 1.02, 390.0), "not mixed"),
        (MixingFigure(TOTAL, 0, 4, 3, math.nan, math.nan), "not known: 3 draws of each run, 10 are needed"),
        (MixingFigure(TOTAL, 0, 1, 90, math.nan, math.nan), "not known: fewer than two runs have it"),
    ],
)
def test_the_verdict_says_what_is_known_and_whether_the_draws_are_enough(figure, verdict):
    assert figure.verdict == verdict


def test_a_run_that_stays_elsewhere_is_noticed_and_one_number_that_never_changes_too(db):
    numbers = [record(db, seed, 60, [("share_entropy", 1, shift)]) for seed, shift in ((1, 0), (2, 0), (3, 1.0))]
    found = {each.name: each for each in measure_mixing(db, numbers, 1, 60)}
    assert found[ENTROPY].rhat > 1.2
    for number in numbers:
        row = runs.get_run(db, number)
        points = [Point(t, t, t, "active_topics", 1, 4.0) for t in range(1, 61)]
        runs.record_progress(db, number, row.attempt, minibatch=60, seconds=2.0, points=points)
    (constant,) = (each for each in measure_mixing(db, numbers, 1, 60) if each.name == ACTIVE)
    assert constant.constant
    assert math.isnan(constant.rhat)
