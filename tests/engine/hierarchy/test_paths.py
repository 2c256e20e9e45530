"""Paths of a document: shares that sum, the best ones found, words given to topics, lines between documents."""

from itertools import pairwise, product

import numpy as np
import pytest

from topiary.engine.hierarchy import paths
from topiary.engine.hierarchy.tree import Node

WIDTHS = (9, 5, 4, 3)  # words, then three layers


@pytest.fixture
def phi():
    rng = np.random.default_rng(11)
    return tuple(rng.dirichlet(np.full(below, 0.4), above).T for below, above in pairwise(WIDTHS))


@pytest.fixture
def theta():
    rng = np.random.default_rng(12)
    return tuple(rng.gamma(0.6, 2.0, width) for width in WIDTHS[1:])


def every_path(phi, theta):
    """Each path from a root down to a leaf with its share, by the formula in words."""
    found = {}
    for leaf, middle, root in product(range(5), range(4), range(3)):
        share = theta[0][leaf] / theta[0].sum()
        share *= phi[1][leaf, middle] * theta[1][middle] / (phi[1][leaf] @ theta[1])
        share *= phi[2][middle, root] * theta[2][root] / (phi[2][middle] @ theta[2])
        found[Node(3, root), Node(2, middle), Node(1, leaf)] = share
    return found


def test_the_best_paths_are_those_of_listing_every_one(phi, theta):
    request = sorted(every_path(phi, theta).items(), key=lambda item: -item[1])[:7]
    found = paths.find_best_paths(phi, theta, 7)
    assert [path.nodes for path in found] == [nodes for nodes, _ in request]
    np.testing.assert_allclose([path.share for path in found], [share for _, share in request])


def test_all_paths_together_are_the_whole_document_and_those_through_a_leaf_its_share(phi, theta):
    found = paths.find_best_paths(phi, theta, 1000)
    assert len(found) == 5 * 4 * 3
    assert sum(path.share for path in found) == pytest.approx(1.0)
    for leaf in range(5):
        through = sum(path.share for path in found if path.nodes[-1] == Node(1, leaf))
        assert through == pytest.approx(theta[0][leaf] / theta[0].sum())


def test_where_a_layer_is_exactly_what_the_one_above_expects_a_path_has_the_product_from_the_top(phi, theta):
    top = theta[2]
    middle = phi[2] @ top
    found = paths.find_best_paths(phi, (phi[1] @ middle, middle, top), 1000)
    for path in found:
        root, inner, leaf = (node.column for node in path.nodes)
        assert path.share == pytest.approx(top[root] * phi[2][inner, root] * phi[1][leaf, inner] / top.sum())


def test_a_document_of_one_layer_has_its_topics_as_paths(phi, theta):
    found = paths.find_best_paths(phi[:1], theta[:1], 2)
    assert [path.nodes for path in found] == [(Node(1, k),) for k in np.argsort(-theta[0])[:2]]


def test_the_topics_of_a_layer_share_every_word_among_them(phi, theta):
    words = np.array([0, 3, 8])
    for layer in (1, 2, 3):
        parts = [paths.compute_responsibilities(phi, theta, words, [Node(layer, k)]) for k in range(WIDTHS[layer])]
        np.testing.assert_allclose(np.sum(parts, axis=0), 1.0)


def test_a_word_belongs_to_a_leaf_as_its_rate_says_and_to_a_path_as_its_leaf_and_the_odds_say(phi, theta):
    words = np.array([2, 5])
    rate = phi[0][words] * theta[0]
    leaf = paths.compute_responsibilities(phi, theta, words, [Node(1, 3)])
    np.testing.assert_allclose(leaf, rate[:, 3] / rate.sum(axis=1))
    trail = [Node(3, 1), Node(2, 2), Node(1, 3)]
    up = every_path(phi, theta)[tuple(trail)] / (theta[0][3] / theta[0].sum())
    np.testing.assert_allclose(paths.compute_responsibilities(phi, theta, words, trail), leaf * up)


def test_a_document_without_activations_is_spread_evenly_and_nothing_is_divided_by_zero(phi):
    nothing = tuple(np.zeros(width) for width in WIDTHS[1:])
    assert sum(path.share for path in paths.find_best_paths(phi, nothing, 1000)) == pytest.approx(1.0)
    np.testing.assert_allclose(paths.compute_responsibilities(phi, nothing, np.array([1]), [Node(1, 0)]), [1 / 5])


def test_the_line_between_two_documents_begins_and_ends_with_what_they_decode_to(phi, theta):
    other = np.array([5.0, 0.0, 1.0])
    rates = paths.interpolate_documents(phi, (theta[2], other), 3, 5)
    project = phi[0] @ phi[1] @ phi[2]
    np.testing.assert_allclose(rates[0], project @ theta[2] / theta[2].sum())
    np.testing.assert_allclose(rates[-1], project @ other / 6)
    np.testing.assert_allclose(rates[2], (rates[0] + rates[-1]) / 2)
    np.testing.assert_allclose(rates.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        paths.interpolate_documents(phi, (theta[0], theta[0][::-1]), 1, 2)[0], phi[0] @ paths.normalise_shares(theta[0])
    )


def test_a_document_ten_times_as_long_lies_no_nearer_in_the_middle(phi, theta):
    other = np.array([5.0, 0.0, 1.0])
    np.testing.assert_allclose(
        paths.interpolate_documents(phi, (theta[2], other), 3, 5),
        paths.interpolate_documents(phi, (10 * theta[2], other), 3, 5),
    )


def test_the_hellinger_distance_is_0_for_the_same_and_1_for_strangers():
    one = np.array([0.5, 0.5, 0.0])
    found = paths.measure_hellinger(one, np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]))
    np.testing.assert_allclose(found, [0.0, 1.0, np.sqrt(0.5)], atol=1e-7)
