"""The topic that is selected stays in the tree while training goes on; with a page, in test_page.py."""

from topic_hierarchies import make_hierarchy

from app.pages.explore.held import Held, with_topic
from app.views.tree.picture import Choice, cut
from engine.hierarchy.tree import Node


def test_what_is_folded_stays_folded_and_a_topic_that_is_gone_is_not_held():
    hierarchy = make_hierarchy((40, 20, 8))
    root = hierarchy.at_rank(3, 1)
    choice = Choice((root,), 1.5)
    child = next(node for node in cut(hierarchy, choice)[0].nodes if node.layer == 1)
    folded = choice._replace(closed=frozenset({root}))
    shown = with_topic(hierarchy, folded, child)
    assert (shown.closed, child in cut(hierarchy, shown)[0].nodes) == (folded.closed, True)
    held = Held()
    held.hold(Node(1, 999))
    assert held.choice(hierarchy, choice) is choice
