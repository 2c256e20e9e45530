"""The topics of the columns of a table: who is above whom, in which order, and as HTML that keeps to itself."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime

import networkx as nx
import numpy as np
import pytest
from column_samples import FACTORS, ITEMS, hierarchy_of, table
from topic_hierarchies import NASTY, make_hierarchy, vocabulary

from topiary.app.analysis.column_topics import find_topics_above, list_column_layers, rank_column_topics
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.notes import Note, sign_note
from topiary.app.export import topics, trees
from topiary.app.export.trees import build_graph
from topiary.app.views.explore.controls import draw_column_topics
from topiary.app.views.explore.detail import NoteForm, PanelState, draw_notes, draw_topic, list_columns_above
from topiary.app.views.tree.picture import TreeChoice
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


BAD = '<script>alert("1")</script>\x07'
TIME = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
WRITTEN = (
    Note(4, False, f"first line\n{BAD}", "Ada & co", TIME),
    Note(7, True, "to check", "", TIME),
    Note(9, True, BAD, BAD, TIME),
)
FORM = NoteForm("L1:2", "this topic", ("to check", BAD))


@pytest.fixture
def noted() -> Hierarchy:
    return replace(make_hierarchy(), notes={Node(1, 2): WRITTEN})


def test_notes_and_tags_are_shown_with_author_and_time_and_nothing_becomes_markup() -> None:
    drawn = draw_notes(WRITTEN, FORM)
    assert "<script" not in drawn
    assert "\x07" not in drawn
    assert "<summary>Notes <small>3</small></summary>" in drawn
    assert re.search(r"<p data-edit=\"note-change\"[^>]*>first line\n&lt;script&gt;", drawn)
    assert f"<small>Ada &amp; co · {sign_note(WRITTEN[1])}</small>" in drawn
    assert re.findall(r'data-do="note-delete" data-number="(\d+)"', drawn) == ["7", "9", "4"]
    assert drawn.index("to check") < drawn.index("first line"), "tags come first"


def test_the_fold_is_open_where_there_is_something_to_read_and_the_form_limits_what_is_typed() -> None:
    assert draw_notes(WRITTEN, FORM).startswith('<details class="ex-fold ex-notes" open>')
    empty = draw_notes((), FORM)
    assert empty.startswith('<details class="ex-fold ex-notes"><summary>Notes</summary>')
    assert re.findall(r'name="(\w+)"[^>]* maxlength="(\d+)"', empty) == [
        ("text", "4000"), ("tag", "60"), ("author", "80"),
    ]  # fmt: skip
    assert "data-autofocus" not in empty
    again = draw_notes((), FORM._replace(sent=1, focus=True))
    assert "data-autofocus" in again
    assert re.findall('data-key="([^"]+)"', empty) != re.findall('data-key="([^"]+)"', again), "a new form is empty"


def test_the_panel_of_a_topic_has_its_own_notes_and_proposes_all_tags(noted: Hierarchy) -> None:
    own, other = (draw_topic(noted, Node(1, column), 1.0, []) for column in (2, 3))
    assert "first line" in own
    assert "first line" not in other
    assert '<option value="to check">' in other
    assert 'data-id="L1:4"' in other


def test_tables_of_topics_have_tags_and_notes(noted: Hierarchy) -> None:
    table = topics.list_row_and_column_topics(noted)
    (row,) = [row for row in json.loads(topics.render_topics(table, "json")) if row["tags"]]
    assert (row["layer"], row["topic"]) == (1, "L1:3")
    assert row["tags"] == ["to check", BAD]
    assert row["notes"] == [
        {"number": 4, "text": WRITTEN[0].text, "author": "Ada & co", "created": "2026-11-27T12:00:00+00:00"}
    ]
    rows = list(csv.DictReader(io.StringIO(topics.render_topics(table, "csv"))))
    (row,) = [row for row in rows if row["tags"]]
    assert row["tags"] == f"to check; {BAD}"
    assert row["notes"] == f"first line {BAD} (Ada & co, 2026-11-27)"


def test_nodes_of_graphs_have_tags_and_notes(noted: Hierarchy) -> None:
    data = build_graph(noted, 1.5, [Node(1, 2)]).nodes["L1:3"]
    assert data["tags"].startswith("to check; ")
    assert data["notes"].startswith("first line ")
    choice = TreeChoice((Node(1, 2),), 1.5)
    read = nx.parse_graphml(trees.render_tree(noted, choice, "graphml"))
    assert read.nodes["L1:3"]["tags"] == data["tags"].replace("\x07", "\ufffd")
    assert "first line" in "".join(ET.tostringlist(ET.fromstring(trees.render_tree(noted, choice, "gexf")), "unicode"))
    (node,) = json.loads(trees.render_tree(noted, choice, "json"))["nodes"]
    assert node["notes"].startswith("first line ")
