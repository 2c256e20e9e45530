"""The graph of topics that are used together (DPFA, Figure 3)."""

import numpy as np
import pytest

from engine.hierarchy.relations import correlations, relations

WEIGHTS = (
    np.array([[2.0, 0.1], [1.0, 0.0], [-1.0, 0.2], [0.0, 3.0], [0.0, 0.0]]),
    np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]),
)


def plain(weights):
    """The figure's formula entry by entry."""
    product = weights[0] if len(weights) == 1 else weights[0] @ weights[1]
    covariance = product @ product.T
    n = len(covariance)
    table = np.eye(n)
    for i in range(n):
        for j in range(n):
            if i != j and covariance[i, i] * covariance[j, j] > 0:
                table[i, j] = covariance[i, j] / np.sqrt(covariance[i, i] * covariance[j, j])
    return table


@pytest.mark.parametrize("depth", [1, 2])
def test_correlations_are_the_covariance_of_the_weights_scaled(depth):
    np.testing.assert_allclose(correlations(WEIGHTS[:depth]), plain(WEIGHTS[:depth]), atol=1e-12)


def test_pairs_above_the_threshold_come_strongest_first_and_once():
    found, table = relations(WEIGHTS, 0.0), plain(WEIGHTS)
    assert (found.one < found.other).all()
    assert (np.diff(found.correlation) <= 0).all()
    np.testing.assert_allclose(found.correlation, table[found.one, found.other])
    assert len(found.one) == (np.triu(table, 1) >= 0).sum() - 15  # the lower half and the diagonal are 0 there


def test_only_topics_that_go_together_are_related_and_opposites_are_not():
    found = relations(WEIGHTS)
    assert list(zip(found.one.tolist(), found.other.tolist(), strict=True)) == [(0, 1)]
    assert 0.99 < found.correlation[0] < 1.0


def test_a_threshold_is_met_by_equality_and_one_layer_has_no_relations():
    same = (np.array([[1.0, 2.0], [1.0, 2.0]]),)
    assert relations(same, 1.0 - 1e-12).one.tolist() == [0]
    assert len(relations(()).one) == 0


def test_a_topic_without_weights_is_related_to_none():
    assert 4 not in {*relations(WEIGHTS, 0.01).one.tolist(), *relations(WEIGHTS, 0.01).other.tolist()}
