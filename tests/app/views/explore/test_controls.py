"""What stands above a tree, a tree as rows, and a topic over time and by group as small pictures."""

import re
from html import unescape

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.trends import TopicSeries
from topiary.app.views.explore.controls import describe_tree, draw_share_bar, list_top_rows, list_tree_rows
from topiary.app.views.explore.detail import GroupShare, TopicTrend, draw_small_trends
from topiary.app.views.text import format_percent, replace_unprintable
from topiary.app.views.tree.opening import RULES
from topiary.app.views.tree.picture import TreeChoice, cut_tree, describe_elsewhere, draw_tree, list_edges
from topiary.engine.hierarchy.tree import Node


@pytest.fixture
def hierarchy() -> Hierarchy:
    return make_hierarchy((40, 20, 8))


def test_the_root_has_its_heaviest_children_and_each_of_them_three(hierarchy: Hierarchy) -> None:
    root = hierarchy.nodes(3)[0]
    edges = list_edges(hierarchy, TreeChoice((root,), detail="normal"))
    own = [edge for edge in edges if edge.above == root]
    assert 2 <= len(own) <= 6
    assert [edge.below for edge in own] == [
        edge.below for edge in hierarchy.heaviest_edges(*RULES["normal"][:3]) if edge.above == root
    ]
    for node in {edge.below for edge in own}:
        below = {edge.below for edge in edges if edge.above == node}
        assert below == {each.node for each in hierarchy.children(node, 3)}
    up = list_edges(hierarchy, TreeChoice((hierarchy.nodes(1)[0],), detail="normal", direction="up"))
    assert all(sum(edge.below == node for edge in up) <= 3 for node in hierarchy.nodes(2))


def test_the_parts_of_a_topic_in_its_parents_sum_to_one_and_what_is_elsewhere_is_told(hierarchy: Hierarchy) -> None:
    root = hierarchy.nodes(3)[0]
    drawing = draw_tree(hierarchy, TreeChoice((root,), detail="normal"))
    told = describe_elsewhere(hierarchy, drawing.part)
    assert told
    for node, text in told.items():
        parts = {each.node: each.weight for each in hierarchy.belongs(node)}
        assert sum(parts.values()) == pytest.approx(1.0)
        assert text == f"{format_percent(1 - parts[root])} in other top topics"
        assert text in drawing.svg
    both = cut_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(3)), detail="normal"))[0]
    assert describe_elsewhere(hierarchy, both) == {}


def test_a_title_in_the_bar_is_whole_or_ends_after_the_words_that_fit(hierarchy: Hierarchy) -> None:
    root, titles = hierarchy.nodes(3)[0], [replace_unprintable(hierarchy.title(node)) for node in hierarchy.nodes(3)]
    drawn = {width: draw_share_bar(hierarchy, 3, (root,), width) for width in (20_000.0, 900.0, 120.0)}
    wide, middle, narrow = (
        [unescape(text) for text in re.findall(r">([^<]*)</button>", bar)] for bar in drawn.values()
    )
    assert wide == titles
    assert narrow == [""] * len(titles)
    parts = {text: title for text, title in zip(middle, titles, strict=True) if text not in ("", title)}
    assert parts
    for text, title in parts.items():
        assert text.endswith("…")
        assert title[len(text) - 1] in ", "  # a whole word is the last
    assert all(title in unescape(drawn[120.0]) for title in titles)  # on hover
    assert drawn[20_000.0].count('aria-current="true"') == 1


def test_a_sentence_says_what_most_of_the_root_is(hierarchy: Hierarchy) -> None:
    root = hierarchy.nodes(3)[0]
    first = hierarchy.children(root, 1)[0]
    part = cut_tree(hierarchy, TreeChoice((root,), detail="normal"))[0]
    share, title = format_percent(first.weight), hierarchy.title(first.node)
    assert describe_tree(hierarchy, part, "down").startswith(f"{share} of {hierarchy.title(root)} is {title}; ")
    low = hierarchy.nodes(1)[0]
    up = cut_tree(hierarchy, TreeChoice((low,), detail="normal", direction="up"))[0]
    belongs = hierarchy.belongs(low)[0]
    sentence = f"{format_percent(belongs.weight)} of {hierarchy.title(low)} is in {hierarchy.title(belongs.node)}; "
    assert describe_tree(hierarchy, up, "up").startswith(sentence)
    several = cut_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(3)[:2]), detail="normal"))[0]
    assert describe_tree(hierarchy, several, "down").startswith("2 topics, and ")


def test_rows_say_the_same_as_tiles_and_tree(hierarchy: Hierarchy) -> None:
    tops = list_top_rows(hierarchy)
    assert [row.node for row in tops] == hierarchy.nodes(3)
    assert tops[0].length == 1.0
    assert all(0 < end <= 1 for row in tops for end in row.pieces)
    part = cut_tree(hierarchy, TreeChoice((hierarchy.nodes(3)[0],), detail="normal"))[0]
    rows = list_tree_rows(hierarchy, part, "down")
    assert {row.node for row in rows} == {*part.nodes}
    assert [row.depth for row in rows[:3]] == [0, 1, 2]
    assert sum(row.depth == 1 for row in rows) == sum(edge.above == part.roots[0] for edge in part.edges)


def test_a_topic_over_time_has_gaps_and_groups_are_named_with_their_intervals() -> None:
    series = TopicSeries(Node(1, 0), *(np.array(each) for each in ([0.1, 0.2, np.nan, 0.3],) * 3))
    groups = [GroupShare("<b>herald</b>", 0.4, 0.3, 0.5), GroupShare("echo", 0.1, 0.0, 0.2)]
    html = draw_small_trends(TopicTrend("month", series, "source", groups))
    assert html.count('class="rp-line"') == 1  # of the first two periods
    assert html.count("<circle") == 1  # the last one, by itself
    assert "from 10% to 30%" in html
    assert html.count("<rect") == html.count("ex-whisker") == 2
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert draw_small_trends(TopicTrend()) == ""
