"""Two hierarchies with edges of either sign side by side."""

import re

import numpy as np
import pytest
from topic_hierarchies import signed_hierarchy

from app.analysis.comparison import agreement, compare, edge_changes
from app.views.compare.edges import by_size, edge_legend
from app.views.compare.picture import first_cut
from app.views.compare.trees import draw_trees


@pytest.fixture(scope="module")
def same():
    return compare(signed_hierarchy(), signed_hierarchy())


def test_a_hierarchy_is_like_itself_whatever_the_signs(same):
    changes = edge_changes(same, 1.0)
    assert {change.kind for change in changes} == {"same"}
    assert {change.a.weight < 0 for change in changes} == {True, False}
    assert agreement(same, changes).correlation == pytest.approx(1.0)
    assert agreement(same, changes).edges == 1.0


def test_trees_of_both_are_drawn(same):
    changes = edge_changes(same, 1.0)
    drawn = draw_trees(same, changes, first_cut(same, 1.0, 40), aspect=1.0)
    assert all("<svg" in svg for svg in (drawn.a, drawn.b))
    assert sorted(changes, key=by_size)


def test_the_sign_of_an_edge_is_seen_in_the_picture_whatever_became_of_it(same):
    changes = edge_changes(same, 1.0)
    drawn = draw_trees(same, changes, first_cut(same, 1.0, 40), aspect=1.0)
    lowered = [change for change in drawn.changes if change.b.weight < 0]
    assert 0 < len(lowered) < len(drawn.changes)
    assert drawn.a.count("tp-hem") == drawn.b.count("tp-hem") == len(lowered)
    assert "Makes rarer" in edge_legend(drawn.changes, changes)
    raised = [change for change in drawn.changes if change.b.weight > 0]
    assert "Makes rarer" not in edge_legend(raised, changes)
    (first,) = re.findall(r"<path[^>]*tp-hem[^>]*>", drawn.b)[:1]
    assert 'stroke="var(--tp-lowers)"' in first
    assert "stroke-dasharray" in first


def test_an_edge_that_turned_round_is_lost_and_gained(same):
    other = signed_hierarchy()
    turned = compare(other, signed_hierarchy(turned=True))
    edges = [edge for edge in other.edges(1.0) if edge.layer == 2]
    kinds = [change.kind for change in edge_changes(turned, 1.0) if (change.a or change.b).layer == 2]
    matched = {pair.a for pair in turned.pairs if pair.paired}
    assert all(np.isfinite(edge.weight) for edge in edges)
    assert any(edge.above in matched and edge.below in matched for edge in edges)
    assert "lost" in kinds
    assert "gained" in kinds
