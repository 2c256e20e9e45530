"""Files of trees and topics: readable by their programs, and the same numbers as the frame's."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pruned_samples
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.export import topics, trees
from topiary.app.export.trees import build_graph
from topiary.app.views.text import replace_unprintable
from topiary.app.views.tree.picture import TreeChoice
from topiary.engine.hierarchy.tree import Node

THRESHOLD = 1.5


@pytest.fixture
def hierarchy() -> Hierarchy:
    return make_hierarchy(labels={(3, 1): 'A "name" & <more>', (1, 2): "nan"})


@pytest.fixture
def roots(hierarchy: Hierarchy) -> list[Node]:
    return hierarchy.nodes(3)[:2]


def test_every_format_of_the_command_line_is_known() -> None:
    assert {"svg", "graphml", "json"} <= set(trees.FORMATS)
    assert {"json", "csv"} <= set(topics.FORMATS)


@pytest.mark.parametrize("form", trees.FORMATS)
def test_every_format_is_written_and_names_every_topic(
    form: str, hierarchy: Hierarchy, roots: list[Node], tmp_path: Path
) -> None:
    path = trees.write_tree(hierarchy, roots, THRESHOLD, "down", tmp_path / f"tree.{form.upper()}")
    text = path.read_text(encoding="utf-8")
    graph = build_graph(hierarchy, THRESHOLD, roots)
    assert len(graph) > 5
    if form == "svg":
        assert len(re.findall(r'class="tp-words"', text)) == len(graph)
    else:
        assert {format_identity(node) for node in hierarchy.nodes(3)[:2]} <= set(graph)
        assert all(f'"{key}"' in text for key in graph)


def check(read: "nx.DiGraph[str]", hierarchy: Hierarchy, roots: list[Node]) -> None:
    expected = build_graph(hierarchy, THRESHOLD, roots)
    assert set(read.nodes) == set(expected.nodes)
    assert set(read.edges) == set(expected.edges)
    for above, below, weight in read.edges(data="weight"):
        assert weight == expected.edges[above, below]["weight"]
    for key, data in read.nodes(data=True):
        node = parse_identity(key)
        assert node is not None
        assert (data["rank"], data["topic"], data["layer"]) == (hierarchy.rank(node), key, node.layer)
        assert data["share"] == hierarchy.share(node)
        assert data["popularity"] == hierarchy.weight(node)


def test_graphml_is_read_back_with_types_and_numbers(hierarchy: Hierarchy, roots: list[Node], tmp_path: Path) -> None:
    read = nx.read_graphml(trees.write_tree(hierarchy, roots, THRESHOLD, "down", tmp_path / "tree.graphml"))
    check(read, hierarchy, roots)
    assert read.nodes["L3:1"]["label"] == 'A "name" & <more>'


def test_json_is_read_back_with_types_and_numbers(hierarchy: Hierarchy, roots: list[Node], tmp_path: Path) -> None:
    path = trees.write_tree(hierarchy, roots, THRESHOLD, "down", tmp_path / "tree.json")
    data = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    check(nx.node_link_graph(data, edges="edges"), hierarchy, roots)
    assert data["graph"] == {
        "run": 7,
        "corpus": "news & <views>",
        "snapshot": 3,
        "minibatch": 700,
        "threshold": 1.5,
        "seed": 5,
    }


def test_gexf_is_read_back_with_numbers(hierarchy: Hierarchy, roots: list[Node], tmp_path: Path) -> None:
    check(nx.read_gexf(trees.write_tree(hierarchy, roots, THRESHOLD, "down", tmp_path / "tree.gexf")), hierarchy, roots)


def test_dot_puts_every_layer_on_one_rank_and_quotes_every_text(
    hierarchy: Hierarchy, roots: list[Node], tmp_path: Path
) -> None:
    text = trees.write_tree(hierarchy, roots, THRESHOLD, "down", tmp_path / "tree.dot").read_text(encoding="utf-8")
    assert text.count("rank=same") == 3
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    assert '"' not in outside
    assert "<" not in outside
    assert outside.count("->") == build_graph(hierarchy, THRESHOLD, roots).number_of_edges()


def test_the_file_has_all_topics_however_many(tmp_path: Path) -> None:
    hierarchy = make_hierarchy((90, 3), n_words=60)
    path = trees.write_tree(hierarchy, hierarchy.nodes(2), 0.0, "down", tmp_path / "tree.json", light=True)
    assert len(json.loads(path.read_text(encoding="utf-8"))["nodes"]) > 60


def test_upwards_the_file_has_the_ancestors(hierarchy: Hierarchy, tmp_path: Path) -> None:
    leaf = hierarchy.nodes(1)[0]
    path = trees.write_tree(hierarchy, [leaf], 1.0, "up", tmp_path / "tree.json")
    keys = {node["id"] for node in json.loads(path.read_text(encoding="utf-8"))["nodes"]}
    assert keys == set(build_graph(hierarchy, 1.0, [leaf], "up"))


@pytest.mark.parametrize("name", ["tree.pdf", "tree", "tree.svg.gz"])
def test_an_unknown_suffix_is_refused_with_the_list_of_known_ones(
    name: str, hierarchy: Hierarchy, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"\.svg") as caught:
        trees.write_tree(hierarchy, hierarchy.nodes(3)[:1], 5.0, "down", tmp_path / name)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_root_that_does_not_exist_is_refused_and_so_is_none(hierarchy: Hierarchy, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no topic L4:1"):
        trees.write_tree(hierarchy, [Node(4, 0)], 5.0, "down", tmp_path / "tree.svg")
    with pytest.raises(ValueError, match="without a root"):
        trees.write_tree(hierarchy, [], 5.0, "down", tmp_path / "tree.svg")


def test_the_table_of_topics_agrees_with_the_tree_for_all_topics(hierarchy: Hierarchy) -> None:
    graph = build_graph(hierarchy, 0.0, hierarchy.nodes(hierarchy.n_layers), light=True)
    table = topics.list_topics(hierarchy)
    assert len(table) == len(graph) == sum(hierarchy.widths)
    for row in table:
        data = graph.nodes[row["topic"]]
        assert (row["rank"], row["share"], row["name"]) == (data["rank"], data["share"], data["label"])
        assert " ".join(row["words"]) == data["words"]


def test_the_table_of_one_layer_is_by_rank(hierarchy: Hierarchy) -> None:
    table = topics.list_topics(hierarchy, 2)
    assert [row["rank"] for row in table] == list(range(1, 13))
    assert {row["layer"] for row in table} == {2}
    assert sum(row["share"] for row in table) == pytest.approx(1.0)
    with pytest.raises(LookupError, match="no layer 4"):
        topics.list_topics(hierarchy, 4)


def test_topics_as_csv_keep_words_that_look_like_something_else(hierarchy: Hierarchy, tmp_path: Path) -> None:
    text = topics.write_topics(hierarchy, None, tmp_path / "topics.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text), quoting=csv.QUOTE_NONNUMERIC))
    table = topics.list_topics(hierarchy)
    assert [row["words"] for row in rows] == [" ".join(row["words"]) for row in table]
    assert [row["share"] for row in rows] == [row["share"] for row in table]
    assert {row["name"] for row in rows} == {"", "nan", 'A "name" & <more>'}


def test_topics_are_written_with_their_npmi_and_without_where_it_is_not_known(hierarchy: Hierarchy) -> None:
    npmi = tuple(np.linspace(-1, 1, width, dtype=np.float32) for width in hierarchy.widths)
    for known in (replace(hierarchy, npmi=npmi), hierarchy):
        table = topics.list_topics(known)
        read = list(csv.DictReader(io.StringIO(topics.render_topics(table, "csv")), quoting=csv.QUOTE_NONNUMERIC))
        for row, line, again in zip(table, read, json.loads(topics.render_topics(table, "json")), strict=True):
            value = float(npmi[row["layer"] - 1][parse_identity(row["topic"]).column]) if known.npmi else None
            assert (row["npmi"], line["npmi"], again["npmi"]) == (value, "" if value is None else value, value)
    lost = replace(hierarchy, npmi=tuple(np.full(width, np.nan) for width in hierarchy.widths))
    assert {row["npmi"] for row in topics.list_topics(lost)} == {None}


def test_a_topic_is_written_with_its_twin(hierarchy: Hierarchy) -> None:
    first, second = hierarchy.nodes(2)[:2]
    projection, words = hierarchy.projections[1].copy(), hierarchy.words[1].copy()
    projection[:, hierarchy.place(second)] = projection[:, hierarchy.place(first)]
    words[hierarchy.place(second)] = words[hierarchy.place(first)]
    twins = replace(hierarchy, projections=(hierarchy.projections[0], projection, *hierarchy.projections[2:]))
    twins = replace(twins, words=(hierarchy.words[0], words, *hierarchy.words[2:]))
    table = topics.list_topics(twins, 2)
    read = list(csv.DictReader(io.StringIO(topics.render_topics(table, "csv")), quoting=csv.QUOTE_NONNUMERIC))
    assert [row["twin"] for row in table][:2] == [None, format_identity(first)]
    assert [line["twin"] for line in read] == ["" if row["twin"] is None else row["twin"] for row in table]


def test_a_topic_has_its_own_npmi_where_others_were_pruned_before_it() -> None:
    _, now = pruned_samples.pruned()
    known = replace(now, npmi=tuple(np.arange(width) / 100 for width in now.widths))
    for row in topics.list_topics(known):
        assert row["npmi"] == known.place(known.find_topic(row["topic"])) / 100
    assert any(known.place(node) != node.column for node in known.nodes(2))


def test_topics_as_json_are_the_table(hierarchy: Hierarchy, tmp_path: Path) -> None:
    path = topics.write_topics(hierarchy, 1, tmp_path / "topics.json")
    assert json.loads(path.read_text(encoding="utf-8")) == topics.list_topics(hierarchy, 1)
    with pytest.raises(ValueError, match=r"\.csv, \.json"):
        topics.write_topics(hierarchy, 1, tmp_path / "topics.xlsx")


def test_the_picture_shows_the_identities_of_the_table(hierarchy: Hierarchy, roots: list[Node]) -> None:
    svg = ET.fromstring(trees.render_tree(hierarchy, TreeChoice(tuple(roots), THRESHOLD), "svg"))
    identities = [
        "".join(group[0].itertext())
        for group in svg.iter("{http://www.w3.org/2000/svg}g")
        if group.get("class") == "tp-words"
    ]
    assert sorted(identities) == sorted(build_graph(hierarchy, THRESHOLD, roots))


def test_forbidden_characters_never_reach_a_file(hierarchy: Hierarchy) -> None:
    choice = TreeChoice(tuple(hierarchy.nodes(3)), 0.5)
    for form in trees.FORMATS:
        text = trees.render_tree(hierarchy, choice, form)
        assert "\x07" not in text
        assert replace_unprintable(text) == text
