"""Edges of Figure 7 and the algebra of subnetworks, on a small graph whose answers are read off.

    layer 3        a0      a1
                  /  \\    /  \\
    layer 2     b0    b1      b2
                 |   /  \\      |
    layer 1     c0  c1   c2   c3
"""

import numpy as np
import pytest

from topiary.engine.hierarchy import tree as layer_map
from topiary.engine.hierarchy.tree import (
    Edge,
    Node,
    correlate_topics,
    cut_subnetwork,
    find_edges,
    find_heaviest_edges,
    find_relations,
)

GRAPH = [
    Edge(3, 0, 0, 0.6), Edge(3, 0, 1, 0.3), Edge(3, 1, 1, 0.5), Edge(3, 1, 2, 0.4),
    Edge(2, 0, 0, 0.9), Edge(2, 1, 1, 0.5), Edge(2, 1, 2, 0.5), Edge(2, 2, 3, 0.8),
]  # fmt: skip
A0, A1 = Node(3, 0), Node(3, 1)
B0, B1, B2 = Node(2, 0), Node(2, 1), Node(2, 2)
C0, C1, C2, C3 = (Node(1, column) for column in range(4))


def test_an_edge_needs_a_weight_strictly_above_the_threshold() -> None:
    upper = np.array([[0.5, 0.1], [0.25, 0.4], [0.15, 0.3], [0.1, 0.2]])
    found = find_edges([np.full((6, 4), 1 / 6), upper], threshold=1.0)
    assert {(edge.parent, edge.child) for edge in found} == {(0, 0), (1, 1), (1, 2)}  # 0.25 is not above 1 / 4
    assert all(edge.layer == 2 for edge in found)


def test_the_threshold_is_relative_to_the_number_of_topics_below() -> None:
    rng = np.random.default_rng(0)
    phi = [rng.dirichlet(np.ones(below), above).T for below, above in ((30, 8), (8, 5), (5, 3))]
    for edge in find_edges(phi, 1.4):
        assert edge.weight == phi[edge.layer - 1][edge.child, edge.parent]
    expected = sum(int((layer > 1.4 / len(layer)).sum()) for layer in phi[1:])
    assert len(find_edges(phi, 1.4)) == expected > 0


def test_single_precision_topics_give_the_edges_of_their_exact_values() -> None:
    upper = np.array([[0.6], [0.4]], dtype=np.float32)
    assert find_edges([np.full((3, 2), 1 / 3), upper], threshold=2 * 0.4) != []  # float32(0.4) lies above 0.4


def test_downwards_a_root_reaches_its_descendants_each_once() -> None:
    part = cut_subnetwork(GRAPH, [A0])
    assert part.nodes == (A0, B0, B1, C0, C1, C2)
    assert len(part.edges) == 5


def test_upwards_a_topic_reaches_all_its_ancestors() -> None:
    part = cut_subnetwork(GRAPH, [C1], "up")
    assert part.nodes == (A0, A1, B1, C1)
    assert {(edge.above, edge.below) for edge in part.edges} == {(A0, B1), (A1, B1), (B1, C1)}


def test_shared_and_unique_parts_make_up_the_union() -> None:
    union = set(cut_subnetwork(GRAPH, [A0, A1]).nodes)
    shared = set(cut_subnetwork(GRAPH, [A0, A1], part="shared").nodes)
    unique = set(cut_subnetwork(GRAPH, [A0, A1], part="unique").nodes)
    assert shared == {A0, A1, B1, C1, C2}
    assert unique == {A0, A1, B0, B2, C0, C3}
    assert shared | unique == union
    assert shared & unique == {A0, A1}


def test_with_one_root_nothing_but_the_root_is_shared() -> None:
    assert cut_subnetwork(GRAPH, [A0], part="shared").nodes == (A0,)


def test_a_closed_topic_hides_what_only_it_leads_to_and_says_how_much() -> None:
    part = cut_subnetwork(GRAPH, [A0], closed={B1})
    assert part.nodes == (A0, B0, B1, C0)
    assert part.hidden == {B1: 2}


def test_a_closed_topic_leaves_what_another_path_reaches() -> None:
    part = cut_subnetwork([*GRAPH, Edge(2, 0, 1, 0.1)], [A0], closed={B1})
    assert C1 in part.nodes
    assert part.hidden == {B1: 1}
    assert all(edge.above != B1 for edge in part.edges)


def test_closing_a_leaf_changes_nothing() -> None:
    part = cut_subnetwork(GRAPH, [A0], closed={C0})
    assert part.nodes == cut_subnetwork(GRAPH, [A0]).nodes
    assert part.hidden == {}


def test_a_hidden_topic_is_neither_shown_nor_walked_through_but_a_root_stays() -> None:
    assert cut_subnetwork(GRAPH, [A0], without={B1}).nodes == (A0, B0, C0)
    assert A0 in cut_subnetwork(GRAPH, [A0], without={A0}).nodes


def test_repeated_roots_count_once() -> None:
    assert cut_subnetwork(GRAPH, [A0, A0], part="shared") == cut_subnetwork(GRAPH, [A0], part="shared")


def test_roots_of_different_layers_join_in_one_subnetwork() -> None:
    part = cut_subnetwork(GRAPH, [A1, C0])
    assert part.nodes == (A1, B1, B2, C0, C1, C2, C3)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_subnetwork_does_not_depend_on_the_order_of_the_edges(direction: str) -> None:
    rng = np.random.default_rng(5)
    shuffled = [GRAPH[place] for place in rng.permutation(len(GRAPH))]
    roots = [A0, A1] if direction == "down" else [C1, C3]
    one, other = cut_subnetwork(GRAPH, roots, direction), cut_subnetwork(shuffled, roots, direction)
    assert one.nodes == other.nodes
    assert set(one.edges) == set(other.edges)


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
    np.testing.assert_allclose(correlate_topics(WEIGHTS[:depth]), plain(WEIGHTS[:depth]), atol=1e-12)


def test_pairs_above_the_threshold_come_strongest_first_and_once():
    found, table = find_relations(WEIGHTS, 0.0), plain(WEIGHTS)
    assert (found.one < found.other).all()
    assert (np.diff(found.correlation) <= 0).all()
    np.testing.assert_allclose(found.correlation, table[found.one, found.other])
    assert len(found.one) == (np.triu(table, 1) >= 0).sum() - 15  # the lower half and the diagonal are 0 there


def test_only_topics_that_go_together_are_related_and_opposites_are_not():
    found = find_relations(WEIGHTS)
    assert list(zip(found.one.tolist(), found.other.tolist(), strict=True)) == [(0, 1)]
    assert 0.99 < found.correlation[0] < 1.0


def test_a_threshold_is_met_by_equality_and_one_layer_has_no_relations():
    same = (np.array([[1.0, 2.0], [1.0, 2.0]]),)
    assert find_relations(same, 1.0 - 1e-12).one.tolist() == [0]
    assert len(find_relations(()).one) == 0


def test_a_topic_without_weights_is_related_to_none():
    assert 4 not in {*find_relations(WEIGHTS, 0.01).one.tolist(), *find_relations(WEIGHTS, 0.01).other.tolist()}


RNG = np.random.default_rng(20_261_126)


def test_alike_topics_lie_together_and_others_apart():
    groups = [RNG.dirichlet(np.where(np.arange(30) // 10 == group, 2.0, 0.01), 5) for group in range(3)]
    places = layer_map.place_topics(np.concatenate(groups).T)
    centres = np.array([places[5 * group : 5 * group + 5].mean(axis=0) for group in range(3)])
    inside = max(np.linalg.norm(places[5 * g : 5 * g + 5] - centres[g], axis=1).max() for g in range(3))
    between = min(np.linalg.norm(centres[a] - centres[b]) for a in range(3) for b in range(a))
    assert between > 2.0 * inside


def test_three_topics_have_their_hellinger_distances():
    words = RNG.dirichlet(np.full(8, 0.5), 3).T
    places = layer_map.place_topics(words)
    for one in range(3):
        for other in range(one):
            distance = np.sqrt(((np.sqrt(words[:, one]) - np.sqrt(words[:, other])) ** 2).sum() / 2)
            np.testing.assert_allclose(np.linalg.norm(places[one] - places[other]), distance, rtol=1e-9)


def test_a_single_topic_and_equal_ones_lie_at_the_origin():
    np.testing.assert_allclose(layer_map.place_topics(np.ones((4, 1)) / 4), 0.0, atol=1e-12)
    np.testing.assert_allclose(layer_map.place_topics(np.ones((4, 3)) / 4), 0.0, atol=1e-6)


def test_circles_are_pushed_apart_and_no_further_than_needed():
    radii = RNG.uniform(0.5, 2.0, 30)
    found = layer_map.separate_circles(RNG.normal(0.0, 1.0, (30, 2)), radii)
    away = np.linalg.norm(found[:, None] - found, axis=2) + 1e3 * np.eye(30)
    assert (away > 0.95 * (radii[:, None] + radii)).all()
    lone = np.array([[0.0, 0.0], [100.0, 0.0]])
    np.testing.assert_array_equal(layer_map.separate_circles(lone, np.ones(2)), lone)


def test_circles_on_one_point_part():
    found = layer_map.separate_circles(np.zeros((5, 2)), np.ones(5))
    away = np.linalg.norm(found[:, None] - found, axis=2) + 1e3 * np.eye(5)
    assert (away > 1.9).all()


def test_the_heaviest_children_are_drawn_until_enough_of_the_parent_is_covered() -> None:
    rng = np.random.default_rng(3)
    phi = [rng.dirichlet(np.ones(9), 30).T, rng.dirichlet(np.full(30, 0.1), 12).T]
    apart = [np.arange(30) == 4, np.zeros(12, dtype=bool)]
    found = {(edge.parent, edge.child): edge.weight for edge in find_heaviest_edges(phi, 0.7, 2, 6, apart=apart)}
    for parent in range(12):
        weights = np.where(apart[0], 0.0, phi[1][:, parent])
        wanted: list[int] = []
        for child in np.argsort(-weights, kind="stable").tolist():
            enough = weights[wanted].sum() >= 0.7 * weights.sum()
            if len(wanted) == 6 or (enough and len(wanted) >= 2):
                break
            wanted.append(child)
        assert {child for above, child in found if above == parent} == set(wanted)
    upward = find_heaviest_edges(phi, 0.7, 2, 6, "up")
    turned = find_heaviest_edges([phi[0], phi[1].T], 0.7, 2, 6)
    assert {(edge.child, edge.parent) for edge in upward} == {(edge.parent, edge.child) for edge in turned}
