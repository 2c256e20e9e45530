"""Where topics and documents start: distances kept on the plane, circles apart, barycentres."""

import numpy as np
import pytest
from map_samples import compress, densify, draw_groups

from topiary.engine.document_map.features import make_features
from topiary.engine.document_map.start import (
    SPREAD,
    measure_topic_distances,
    place_at_barycentres,
    place_topics_of_documents,
    scale_distances,
)
from topiary.engine.pool import Pool


def measure_distances(points):
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


def measure_stress(points, distances):
    return ((measure_distances(points) - distances) ** 2).sum()


def test_distances_on_a_plane_are_found_again():
    points = np.random.default_rng(1).normal(size=(20, 2))
    wanted = measure_distances(points)
    assert np.abs(measure_distances(scale_distances(wanted)) - wanted).max() < 0.01


def test_no_nearby_places_fit_distances_better():
    rng = np.random.default_rng(2)
    distances = measure_distances(rng.normal(size=(15, 6)))
    found = scale_distances(distances)
    least = measure_stress(found, distances)
    assert all(measure_stress(found + rng.normal(0, 0.05, found.shape), distances) > least for _ in range(50))


def test_the_distance_of_topics_is_the_weighted_mean_of_three():
    features = compress(draw_groups(50, 4)[0])
    table = densify(features)
    parents = [np.random.default_rng(layer).dirichlet(np.ones(3), 4) for layer in (2, 3)]
    by_hand = np.zeros((4, 4))
    for one in range(4):
        for other in range(4):
            p, q = table[:, one] / np.linalg.norm(table[:, one]), table[:, other] / np.linalg.norm(table[:, other])
            by_hand[one, other] = 0.4 * np.sqrt(max(1 - p @ q, 0))
            for layer in parents:
                affinity = sum(np.sqrt(a * b) for a, b in zip(layer[one], layer[other], strict=True))
                by_hand[one, other] += 0.3 * np.sqrt(max(1 - affinity, 0))
    found = measure_topic_distances(table.T @ table, parents)
    off = ~np.eye(4, dtype=bool)
    assert found[off] == pytest.approx(by_hand[off], abs=1e-8)
    assert (found.diagonal() == 0).all()


def test_with_fewer_layers_the_weights_are_scaled_to_one():
    common = np.array([[1.0, 0.0], [0.0, 1.0]])  # no document in common: distance 1
    same = np.array([[1.0], [1.0]])  # one parent: distance 0
    assert measure_topic_distances(common, [])[0, 1] == pytest.approx(1.0)
    assert measure_topic_distances(common, [same])[0, 1] == pytest.approx(0.4 / 0.7)
    assert measure_topic_distances(common, [same, same, same])[0, 1] == pytest.approx(0.4)


def test_topics_without_documents_lie_in_the_middle_and_move_no_other():
    shares, _ = draw_groups(80, 6)
    alone = place_topics_of_documents(compress(shares), [], Pool(1))
    wider = np.insert(shares, [2, 5], 0.0, axis=1)
    found = place_topics_of_documents(compress(wider), [], Pool(1))
    live = [0, 1, 3, 4, 5, 7]
    assert np.array_equal(found[live], alone)
    assert found[[2, 6]] == pytest.approx(np.array([alone.mean(axis=0)] * 2))


def test_topics_of_a_group_lie_closer_together_than_topics_of_others():
    places = place_topics_of_documents(compress(draw_groups(500)[0]), [], Pool(1))
    group = np.arange(12) % 4
    distances = measure_distances(places)
    same = group[:, None] == group
    assert distances[same & ~np.eye(12, dtype=bool)].mean() < 0.6 * distances[~same].mean()


def test_documents_lie_at_the_mean_of_their_topics_weighted_by_squared_shares():
    shares, _ = draw_groups(100, 5)
    features = compress(shares)
    places = np.random.default_rng(3).normal(size=(5, 2))
    weights = (densify(features) / 4000) ** 4
    expected = weights @ places / weights.sum(axis=1, keepdims=True)
    expected = (expected - expected.mean(axis=0)) / (expected - expected.mean(axis=0)).std() * SPREAD
    offsets = place_at_barycentres(features, places, 1) - expected
    assert np.abs(offsets).max() <= 0.0501
    assert len(np.unique(offsets)) == 200  # each has its own jitter


def test_documents_at_one_point_or_none_at_all_are_placed():
    one = make_features(np.array([0, 1, 2]), np.array([0, 0]), np.ones(2), 1)
    assert np.abs(place_at_barycentres(one, np.zeros((1, 2)), 1)).max() <= 0.0501
    empty = make_features(np.zeros(1, int), np.zeros(0, int), np.zeros(0), 3)
    assert place_at_barycentres(empty, np.zeros((3, 2)), 1).shape == (0, 2)
