"""The fold with notes on the page, and the same notes in the report and in files of topics and trees."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime

import networkx as nx
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.notes import Note, sign_note
from topiary.app.export import topics, trees
from topiary.app.export.trees import build_graph
from topiary.app.views.explore.detail import draw_topic
from topiary.app.views.notes import NoteForm, draw_notes
from topiary.app.views.tree.picture import TreeChoice
from topiary.engine.hierarchy.tree import Node

BAD = '<script>alert("1")</script>\x07'
TIME = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
WRITTEN = (
    Note(4, False, f"first line\n{BAD}", "Ada & co", TIME),
    Note(7, True, "to check", "", TIME),
    Note(9, True, BAD, BAD, TIME),
)
FORM = NoteForm("L1:2", "this topic", ("to check", BAD))


@pytest.fixture
def hierarchy() -> Hierarchy:
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


def test_the_panel_of_a_topic_has_its_own_notes_and_proposes_all_tags(hierarchy: Hierarchy) -> None:
    own, other = (draw_topic(hierarchy, Node(1, column), 1.0, []) for column in (2, 3))
    assert "first line" in own
    assert "first line" not in other
    assert '<option value="to check">' in other
    assert 'data-id="L1:4"' in other


def test_tables_of_topics_have_tags_and_notes(hierarchy: Hierarchy) -> None:
    table = topics.list_row_and_column_topics(hierarchy)
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


def test_nodes_of_graphs_have_tags_and_notes(hierarchy: Hierarchy) -> None:
    data = build_graph(hierarchy, 1.5, [Node(1, 2)]).nodes["L1:3"]
    assert data["tags"].startswith("to check; ")
    assert data["notes"].startswith("first line ")
    choice = TreeChoice((Node(1, 2),), 1.5)
    read = nx.parse_graphml(trees.render_tree(hierarchy, choice, "graphml"))
    assert read.nodes["L1:3"]["tags"] == data["tags"].replace("\x07", "\ufffd")
    assert "first line" in "".join(
        ET.tostringlist(ET.fromstring(trees.render_tree(hierarchy, choice, "gexf")), "unicode")
    )
    (node,) = json.loads(trees.render_tree(hierarchy, choice, "json"))["nodes"]
    assert node["notes"].startswith("first line ")
