"""The topics of the columns of a table: who is above whom, in which order, and as HTML that keeps to itself."""

import numpy as np
import pytest
from column_samples import FACTORS, ITEMS, hierarchy_of, table
from topic_hierarchies import NASTY, make_hierarchy, vocabulary

from topiary.app.analysis.column_topics import find_topics_above, list_column_layers, rank_column_topics
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.explore.detail import PanelState, draw_column_topics, draw_topic, list_columns_above
from topiary.engine.hierarchy.tree import Node


@pytest.fixture
def hierarchy() -> Hierarchy:
    return hierarchy_of(table())


def test_column_topics_are_groups_of_items_the_most_popular_first(hierarchy: Hierarchy) -> None:
    words = vocabulary(ITEMS)
    assert list(list_column_layers(hierarchy)) == [2]
    first, second = rank_column_topics(hierarchy, 2, 8)
    assert [(each.rank, each.share) for each in (first, second)] == [(1, 0.75), (2, 0.25)]
    assert {item.text for item in first.items} == set(words[8:16])
    assert {item.text for item in second.items} == set(words[:8])
    assert second.title.split(", ")[0] in words[0]
    assert rank_column_topics(hierarchy, 1) == rank_column_topics(hierarchy, 3) == []


def test_items_that_a_column_topic_has_nothing_of_are_not_listed(hierarchy: Hierarchy) -> None:
    first, second = rank_column_topics(hierarchy, 2, ITEMS)
    assert (len(first.items), len(second.items)) == (8, 12)


def test_above_a_topic_of_layer_1_are_the_column_topics_in_which_it_weighs_most(hierarchy: Hierarchy) -> None:
    found = find_topics_above(hierarchy, Node(1, 3), 4)
    assert [each.topic.rank for each in found] == [2, 1]
    assert [each.weight for each in found] == pytest.approx([0.8 / 2.8, 0.2 / 1.2])  # relative to means of 5, 5, 1, 5
    assert [each.topic.rank for each in find_topics_above(hierarchy, Node(1, 0), 4)] == [2]
    assert len(find_topics_above(hierarchy, Node(1, 3), 1)) == 1
    assert find_topics_above(hierarchy, Node(2, 0), 4) == []


def test_the_detail_of_a_topic_and_the_foot_list_them_as_text(hierarchy: Hierarchy) -> None:
    every = [
        draw_column_topics(hierarchy),
        *(draw_topic(hierarchy, Node(1, k), 1.0, [], PanelState(root=True)) for k in range(4)),
    ]
    for html in every:
        assert "Column topics" in html
        assert "<script" not in html
        assert 'quo"te' not in html
    assert NASTY[0].startswith("<script")
    assert "&lt;script" in every[0]
    assert every[0].index("<b>C2:2</b>") < every[0].index("<b>C2:1</b>")  # by share
    assert "75%" in every[0].replace("\N{NO-BREAK SPACE}", "").replace(" ", "")
    assert "Column topics" not in draw_topic(hierarchy, Node(2, 0), 1.0, [], PanelState(root=True))


def test_models_without_columns_and_columns_of_one_layer_have_none() -> None:
    bare = hierarchy_of(table(phi=(FACTORS,), links=(), units=(), popularity=(np.ones(4),), means=(np.ones(4),)))
    for one in (make_hierarchy(), bare):
        assert (draw_column_topics(one), list_columns_above(one, Node(1, 0))) == ("", "")
        assert list(list_column_layers(one)) == []
    assert make_hierarchy().columns is None
