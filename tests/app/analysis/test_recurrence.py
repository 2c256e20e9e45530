"""Runs that differ in the seed alone are found, wait for each other, and are measured together."""

from dataclasses import replace

import numpy as np
import pytest
from seed_samples import add_group, add_seed, plant_arrays
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import parse_identity
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.recurrence import (
    MOST_SEEDS,
    choose_most_seeds,
    find_seed_group,
    find_seed_groups,
    list_consensus,
    list_recurrent,
    list_seed_edges,
    list_seed_runs,
    summarize_layer,
)
from topiary.engine.hierarchy.recurrence import count_most
from topiary.store import runs


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
