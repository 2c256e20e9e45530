"""What several roots share is drawn with the lines that lead there."""

import re

import pytest
from topic_hierarchies import make_hierarchy

from app.views.tree.picture import Choice, cut, draw
from app.views.tree.shared import linked
from engine.hierarchy.tree import Edge, Node, cut_subnetwork

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
    found = linked(part, GRAPH, "down", barred=())
    assert set(found.nodes) == {A, B, BOTH, DEEP, UNDER, LEFT, RIGHT}
    ends = {(edge.above, edge.below) for edge in found.edges}
    assert {(A, LEFT), (LEFT, DEEP), (B, RIGHT), (RIGHT, DEEP), (A, BOTH), (B, BOTH), (BOTH, UNDER)} <= ends


def test_a_topic_that_a_shared_one_leads_to_needs_no_other_way():
    graph = [edge for edge in GRAPH if edge.child != 0 or edge.layer == 3]
    part = cut_subnetwork(graph, [A, B], part="shared")
    assert linked(part, graph, "down", barred=()) == part


def test_hidden_and_folded_topics_are_no_way():
    part = cut_subnetwork(GRAPH, [A, B], part="shared", without=[LEFT])
    assert LEFT not in linked(part, GRAPH, "down", barred=[LEFT]).nodes


@pytest.mark.parametrize("direction", ["down", "up"])
def test_in_the_picture_every_shared_topic_is_joined_to_every_root_that_reaches_it(direction):
    hierarchy = make_hierarchy((40, 20, 8))
    layer = 3 if direction == "down" else 1
    roots = tuple(hierarchy.nodes(layer)[:3])
    choice = Choice(roots, 1.5, direction, "shared", light=True)
    part = cut(hierarchy, choice)[0]
    shared = set(cut_subnetwork(hierarchy.edges(1.5), roots, direction, part="shared").nodes) - set(roots)
    assert shared <= set(part.nodes)
    for root in roots:
        reached = set(cut_subnetwork(hierarchy.edges(1.5), [root], direction).nodes) & shared
        assert reached <= set(cut_subnetwork(part.edges, [root], direction).nodes)
    drawing = draw(hierarchy, choice)
    assert drawing.linking == set(part.nodes) - shared - set(roots)
    assert drawing.linking
    assert len(re.findall('class="tp-edge"', drawing.svg)) == len(part.edges)
