"""With which threshold and roots trees open, and what is offered where nothing is joined."""

import re

import pytest
from topic_hierarchies import arrays, make_hierarchy
from topic_pairs import frame_of, narrow

from topiary.app.analysis.comparison import compare
from topiary.app.views.compare.trees import choose_first_cut
from topiary.app.views.tree.opening import (
    LOWEST,
    STEP,
    USUAL,
    add_linking_topics,
    choose_first_roots,
    choose_threshold,
    find_lower_threshold,
    find_opening_threshold,
    list_joined_topics,
)
from topiary.app.views.tree.picture import TreeChoice, cut_tree, draw_tree, reveal_topic
from topiary.engine.hierarchy.tree import Edge, Node, cut_subnetwork


def test_a_wide_model_opens_at_the_threshold_of_the_paper() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    assert find_opening_threshold(hierarchy) == USUAL
    assert choose_threshold(None, hierarchy) == USUAL
    assert choose_threshold(7.5, hierarchy) == 7.5


def test_a_narrow_model_opens_at_the_highest_step_with_a_tree() -> None:
    hierarchy = narrow()
    assert cut_tree(hierarchy, TreeChoice(choose_first_roots(hierarchy, USUAL), USUAL))[0].edges == ()
    threshold = find_opening_threshold(hierarchy)
    assert threshold == 2.0
    roots = choose_first_roots(hierarchy, threshold)
    tree = cut_tree(hierarchy, TreeChoice(roots, threshold))[0]
    assert roots[0] == hierarchy.at_rank(3, 1)
    assert {node.layer for node in tree.nodes} == {1, 2, 3}
    assert all(any(edge.above == root for edge in tree.edges) for root in roots)
    assert choose_threshold(None, make_hierarchy((60, 25, 8)), hierarchy) == threshold


def test_only_topics_that_are_joined_become_roots() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    lonely = hierarchy.phi[2].copy()
    second = hierarchy.at_rank(3, 2).column
    lonely[:, second] = 1 / 25
    made = {"phi.0": hierarchy.phi[0], "phi.1": hierarchy.phi[1], "phi.2": lonely, "r": hierarchy.r}
    changed = frame_of(made, 7)
    assert Node(3, second) not in list_joined_topics(changed, 5.0)
    assert Node(3, second) not in choose_first_roots(changed, 5.0)
    assert choose_first_roots(changed, 1000.0) == tuple(changed.nodes(3)[:3])  # none is: the most popular ones


@pytest.mark.parametrize("widths", [(1,), (5,), (4, 1), (3, 3, 3, 3, 3)])
def test_every_depth_has_an_opening(widths: tuple[int, ...]) -> None:
    assert LOWEST <= find_opening_threshold(make_hierarchy(widths)) <= USUAL


def test_more_is_offered_at_the_next_step_at_which_the_roots_are_joined() -> None:
    hierarchy = narrow()
    roots = choose_first_roots(hierarchy, 30.0)
    threshold = find_lower_threshold(hierarchy, roots, 30.0)
    assert threshold == 2.0
    assert cut_tree(hierarchy, TreeChoice(roots, threshold))[0].edges
    assert find_lower_threshold(hierarchy, roots, 1.0) == 1.0 - STEP
    assert find_lower_threshold(hierarchy, roots, 0.0) is None
    assert find_lower_threshold(hierarchy, (Node(1, 0),), 5.0) is None  # nothing is below
    above = find_lower_threshold(hierarchy, (Node(1, 0),), 30.0, "up")
    assert above is not None
    assert len(cut_tree(hierarchy, TreeChoice((Node(1, 0),), above, "up"))[0].nodes) > 1


def test_a_comparison_opens_with_the_most_popular_topics_of_both_sides() -> None:
    made = arrays((24, 12, 6))
    a, b = frame_of(made, 7), frame_of(made | {"r": made["r"][::-1].copy()}, 8)
    cut_of = choose_first_cut(compare(a, b), 2.0, 40)
    assert cut_of.roots_a[0] == a.at_rank(3, 1)
    assert cut_of.roots_b[0] == b.at_rank(3, 1)


def test_a_topic_is_revealed_under_its_ancestors() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    for threshold in (5.0, 1000.0):
        for node in hierarchy.nodes(1)[::7]:
            choice = TreeChoice(tuple(hierarchy.nodes(3)[:1]), threshold)
            drawn = cut_tree(hierarchy, choice)[0].nodes
            shown = reveal_topic(hierarchy, choice, node)
            tree = cut_tree(hierarchy, shown)[0]
            assert node in tree.nodes
            assert hierarchy.parents(node, 1)[0].node in tree.nodes
            assert set(drawn) <= set(tree.nodes)
            assert shown.roots[:1] == choice.roots
            assert len(shown.roots) <= 4
            assert (shown == choice) == (node in drawn)


def test_a_folded_hidden_or_left_out_topic_is_revealed() -> None:
    hierarchy = make_hierarchy((60, 25, 8))
    roots = tuple(hierarchy.nodes(3)[:2])
    whole = cut_tree(hierarchy, TreeChoice(roots, 2.0))[0]
    node = next(node for node in whole.nodes if node.layer == 1)
    parent = hierarchy.parents(node, 1)[0].node
    folded = TreeChoice(roots, 2.0, closed=frozenset({parent, *roots}), without=frozenset({node}))
    assert node not in cut_tree(hierarchy, folded)[0].nodes
    shown = reveal_topic(hierarchy, folded, node)
    assert node in cut_tree(hierarchy, shown)[0].nodes
    least = max((node for node in whole.nodes if node.layer == 1), key=hierarchy.rank)
    capped = TreeChoice(roots, 2.0, cap=1)
    assert least not in cut_tree(hierarchy, capped)[0].nodes
    assert least in cut_tree(hierarchy, reveal_topic(hierarchy, capped, least))[0].nodes
    assert reveal_topic(hierarchy, TreeChoice((node,), 2.0, "up"), least).roots == (node, least)


A, B = Node(3, 0), Node(3, 1)  # two roots
LEFT, RIGHT, BOTH = Node(2, 0), Node(2, 1), Node(2, 2)
DEEP, UNDER = Node(1, 0), Node(1, 1)
GRAPH = [
    Edge(3, 0, 0, 0.5), Edge(3, 1, 1, 0.5),  # A to LEFT, B to RIGHT
    Edge(3, 0, 2, 0.3), Edge(3, 1, 2, 0.3),  # both to BOTH
    Edge(2, 0, 0, 0.4), Edge(2, 1, 0, 0.4),  # LEFT and RIGHT to DEEP
    Edge(2, 2, 1, 0.6), Edge(2, 0, 1, 0.1),  # BOTH and LEFT to UNDER
]  # fmt: skip


def test_a_topic_that_two_roots_reach_by_different_ways_stands_under_both_ways():
    part = cut_subnetwork(GRAPH, [A, B], part="shared")
    assert set(part.nodes) == {A, B, BOTH, DEEP, UNDER}
    found = add_linking_topics(part, GRAPH, "down", barred=())
    assert set(found.nodes) == {A, B, BOTH, DEEP, UNDER, LEFT, RIGHT}
    ends = {(edge.above, edge.below) for edge in found.edges}
    assert {(A, LEFT), (LEFT, DEEP), (B, RIGHT), (RIGHT, DEEP), (A, BOTH), (B, BOTH), (BOTH, UNDER)} <= ends


def test_a_topic_that_a_shared_one_leads_to_needs_no_other_way():
    graph = [edge for edge in GRAPH if edge.child != 0 or edge.layer == 3]
    part = cut_subnetwork(graph, [A, B], part="shared")
    assert add_linking_topics(part, graph, "down", barred=()) == part


def test_hidden_and_folded_topics_are_no_way():
    part = cut_subnetwork(GRAPH, [A, B], part="shared", without=[LEFT])
    assert LEFT not in add_linking_topics(part, GRAPH, "down", barred=[LEFT]).nodes


@pytest.mark.parametrize("direction", ["down", "up"])
def test_in_the_picture_every_shared_topic_is_joined_to_every_root_that_reaches_it(direction):
    hierarchy = make_hierarchy((40, 20, 8))
    layer = 3 if direction == "down" else 1
    roots = tuple(hierarchy.nodes(layer)[:3])
    choice = TreeChoice(roots, 1.5, direction, "shared", light=True)
    part = cut_tree(hierarchy, choice)[0]
    shared = set(cut_subnetwork(hierarchy.edges(1.5), roots, direction, part="shared").nodes) - set(roots)
    assert shared <= set(part.nodes)
    for root in roots:
        reached = set(cut_subnetwork(hierarchy.edges(1.5), [root], direction).nodes) & shared
        assert reached <= set(cut_subnetwork(part.edges, [root], direction).nodes)
    drawing = draw_tree(hierarchy, choice)
    assert drawing.linking == set(part.nodes) - shared - set(roots)
    assert drawing.linking
    assert len(re.findall('class="tp-edge"', drawing.svg)) == len(part.edges)
