"""The map of topics: distances on the plane are those of the words, circles do not cover each other."""

import numpy as np

from engine.hierarchy import map as layer_map

RNG = np.random.default_rng(20_261_126)


def test_alike_topics_lie_together_and_others_apart():
    groups = [RNG.dirichlet(np.where(np.arange(30) // 10 == group, 2.0, 0.01), 5) for group in range(3)]
    places = layer_map.places(np.concatenate(groups).T)
    centres = np.array([places[5 * group : 5 * group + 5].mean(axis=0) for group in range(3)])
    inside = max(np.linalg.norm(places[5 * g : 5 * g + 5] - centres[g], axis=1).max() for g in range(3))
    between = min(np.linalg.norm(centres[a] - centres[b]) for a in range(3) for b in range(a))
    assert between > 2.0 * inside


def test_three_topics_have_their_hellinger_distances():
    words = RNG.dirichlet(np.full(8, 0.5), 3).T
    places = layer_map.places(words)
    for one in range(3):
        for other in range(one):
            distance = np.sqrt(((np.sqrt(words[:, one]) - np.sqrt(words[:, other])) ** 2).sum() / 2)
            np.testing.assert_allclose(np.linalg.norm(places[one] - places[other]), distance, rtol=1e-9)


def test_a_single_topic_and_equal_ones_lie_at_the_origin():
    np.testing.assert_allclose(layer_map.places(np.ones((4, 1)) / 4), 0.0, atol=1e-12)
    np.testing.assert_allclose(layer_map.places(np.ones((4, 3)) / 4), 0.0, atol=1e-6)


def test_circles_are_pushed_apart_and_no_further_than_needed():
    radii = RNG.uniform(0.5, 2.0, 30)
    found = layer_map.apart(RNG.normal(0.0, 1.0, (30, 2)), radii)
    away = np.linalg.norm(found[:, None] - found, axis=2) + 1e3 * np.eye(30)
    assert (away > 0.95 * (radii[:, None] + radii)).all()
    lone = np.array([[0.0, 0.0], [100.0, 0.0]])
    np.testing.assert_array_equal(layer_map.apart(lone, np.ones(2)), lone)


def test_circles_on_one_point_part():
    found = layer_map.apart(np.zeros((5, 2)), np.ones(5))
    away = np.linalg.norm(found[:, None] - found, axis=2) + 1e3 * np.eye(5)
    assert (away > 1.9).all()
