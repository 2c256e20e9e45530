"""Sweeps against a plain twin, on several threads, and what they leave alone."""

import naive
import numpy as np
import pytest
from map_samples import compress, draw_groups

from topiary.engine.document_map.features import NEGATIVES, find_strongest
from topiary.engine.document_map.neighbours import find_neighbours, link_neighbours
from topiary.engine.document_map.sweeps import MovementPlan, sweep_documents
from topiary.engine.pool import Pool
from topiary.engine.streams import start_stream

PLAN = MovementPlan(4, 1.0)


@pytest.fixture(scope="module")
def graph():
    features = compress(draw_groups(60)[0])
    return link_neighbours(find_neighbours(features, find_strongest(features), 1, Pool(1)))


def start(n=60):
    return np.random.default_rng(2).normal(0, 2, (n, 2)).astype(np.float32)


def run(graph, positions, moving, n_threads=1, plan=PLAN, on_progress=lambda _: None):
    return sweep_documents(positions, graph, np.asarray(moving), plan, 7, Pool(n_threads), on_progress)


@pytest.mark.parametrize("moving", [range(60), range(5, 30)])
def test_sweeps_are_those_of_the_plain_twin_to_the_last_bit(graph, moving):
    links = [graph.documents[a:b].tolist() for a, b in zip(graph.starts[:-1], graph.starts[1:], strict=True)]
    expected = start()
    for number in range(PLAN.sweeps):
        streams = [naive.Stream(*start_stream(7, NEGATIVES, number, document)) for document in range(60)]
        expected = naive.sweep(expected, links, moving, PLAN.rate * (1.0 - number / PLAN.sweeps), streams)
    found = run(graph, start(), list(moving))
    assert found.dtype == np.float32
    assert np.array_equal(found, expected)


def test_two_and_three_threads_give_the_bits_of_one(graph):
    one = run(graph, start(), range(60))
    assert all(np.array_equal(one, run(graph, start(), range(60), n_threads)) for n_threads in (2, 3))


def test_documents_that_do_not_move_keep_their_positions(graph):
    found = run(graph, start(), [3, 8])
    moved = (found != start()).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [3, 8]


def test_documents_at_one_point_and_far_away_stay_finite(graph):
    for positions in (np.zeros((60, 2), np.float32), 1e18 * start()):
        assert np.isfinite(run(graph, positions, range(60))).all()


def test_progress_is_told_after_each_sweep_and_may_end_the_work(graph):
    told = []
    run(graph, start(), range(60), on_progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(graph, start(), range(60), on_progress=stop)


def test_nothing_moves_without_documents():
    graph = link_neighbours(np.zeros((0, 10), np.int32))
    assert run(graph, np.zeros((0, 2), np.float32), np.zeros(0, int)).shape == (0, 2)
