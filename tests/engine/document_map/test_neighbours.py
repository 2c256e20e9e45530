"""Neighbours against exact ones, buckets, threads, and the graph of both directions."""

import numpy as np
import pytest
from map_samples import compress, densify, draw_groups, draw_shares

from topiary.engine.document_map import neighbours
from topiary.engine.document_map.features import NONE, find_strongest
from topiary.engine.document_map.neighbours import NEIGHBOURS, find_neighbours, link_neighbours, list_buckets
from topiary.engine.pool import Pool


def find(features, seed=1, n_threads=1, wanted=None):
    return find_neighbours(features, find_strongest(features), seed, Pool(n_threads), wanted)


def find_exactly(features) -> np.ndarray:
    """The nearest by comparing all pairs; of equally near ones the lower number first."""
    table = densify(features).astype(np.int64)
    products = table @ table.T
    np.fill_diagonal(products, -1)
    return np.argsort(-products, axis=1, kind="stable")[:, :NEIGHBOURS]


def measure_recall(found, exact) -> float:
    return np.mean([len(np.intersect1d(one, other)) / len(other) for one, other in zip(found, exact, strict=True)])


def test_a_single_small_bucket_has_the_exact_neighbours_in_their_order():
    features = compress(draw_shares(300, 2, concentration=1.0), 0.0)
    assert np.array_equal(find(features), find_exactly(features))


def test_at_least_nine_of_ten_neighbours_are_found(monkeypatch):
    features = compress(draw_shares(1200, 10))
    exact = find_exactly(features)
    assert measure_recall(find(features), exact) >= 0.9
    monkeypatch.setattr(neighbours, "LARGEST", 100)  # about 240 documents share a topic, so all are split
    assert 0.75 <= measure_recall(find(features), exact) < 1.0


def test_large_buckets_are_split_and_documents_of_a_split_bucket_are_in_several(monkeypatch):
    monkeypatch.setattr(neighbours, "LARGEST", 40)
    features = compress(draw_shares(500, 6))
    strongest = find_strongest(features)
    buckets = list(list_buckets(features, strongest, 1))
    assert max(map(len, buckets)) <= 40
    assert all((np.diff(bucket) > 0).all() for bucket in buckets)
    counts = np.bincount(np.concatenate(buckets), minlength=500)
    assert counts.min() >= 2  # rounds
    assert counts.max() == 4  # topics in both rounds


def test_neighbours_are_the_same_with_two_threads(monkeypatch):
    monkeypatch.setattr(neighbours, "LARGEST", 100)
    features = compress(draw_groups(700)[0])
    assert np.array_equal(find(features), find(features, n_threads=2))
    assert not np.array_equal(find(features), find(features, seed=2))


def test_only_wanted_documents_get_neighbours_and_find_them_among_all():
    features = compress(draw_groups(200)[0])
    wanted = np.arange(200) >= 190
    found = find(features, wanted=wanted)
    assert (found[:190] == NONE).all()
    assert np.array_equal(found[190:], find(features)[190:])
    assert (found[190:] < 190).any()


def test_equal_documents_are_neighbours_of_each_other_and_nobody_is_its_own():
    features = compress(np.repeat([[0.7, 0.3], [0.2, 0.8]], 8, axis=0))
    found = find(features)
    assert all(set(row[:7].tolist()) == set(range(8)) - {number} for number, row in enumerate(found[:8]))
    assert not (found == np.arange(16)[:, None]).any()


def test_a_few_documents_have_as_many_neighbours_as_there_are_others():
    found = find(compress(draw_shares(3, 1)))
    assert (found >= 0).sum(axis=1).tolist() == [2, 2, 2]
    assert (find(compress(draw_shares(1, 4))) == NONE).all()
    assert find(compress(np.zeros((0, 4)))).shape == (0, NEIGHBOURS)


@pytest.mark.parametrize("n", [1, 30])
def test_documents_are_linked_to_their_neighbours_and_to_those_whose_neighbour_they_are(n):
    found = find(compress(draw_groups(n)[0]))
    graph = link_neighbours(found)
    links = [(i, int(j)) for i in range(n) for j in graph.documents[graph.starts[i] : graph.starts[i + 1]]]
    expected = [(i, int(j)) for i in range(n) for j in found[i] if j != NONE]
    assert sorted(links) == sorted(expected + [(j, i) for i, j in expected])
