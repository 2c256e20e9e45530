"""Files of trees and topics: readable by their programs, and the same numbers as the frame's."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import networkx as nx
import pruned_samples
import pytest
from topic_frames import make_frame

from app.analysis.hierarchy import Frame, identity, parse_identity
from app.export import topics, trees
from app.export.graph import build_graph
from app.views.text import printable
from app.views.tree.picture import Choice, draw
from engine.hierarchy.tree import Node

THRESHOLD = 1.5


@pytest.fixture
def frame() -> Frame:
    return make_frame(labels={(3, 1): 'A "name" & <more>', (1, 2): "nan"})


@pytest.fixture
def roots(frame: Frame) -> list[Node]:
    return frame.nodes(3)[:2]


def test_every_format_of_the_command_line_is_known() -> None:
    assert {"svg", "graphml", "json"} <= set(trees.formats())
    assert {"json", "csv"} <= set(topics.formats())


@pytest.mark.parametrize("form", trees.formats())
def test_every_format_is_written_and_names_every_topic(
    form: str, frame: Frame, roots: list[Node], tmp_path: Path
) -> None:
    path = trees.write(frame, roots, THRESHOLD, "down", tmp_path / f"tree.{form.upper()}")
    text = path.read_text(encoding="utf-8")
    graph = build_graph(frame, THRESHOLD, roots)
    assert len(graph) > 5
    if form == "svg":
        assert len(re.findall(r'class="tp-words"', text)) == len(graph)
    else:
        assert {identity(node) for node in frame.nodes(3)[:2]} <= set(graph)
        assert all(f'"{key}"' in text for key in graph)


def check(read: "nx.DiGraph[str]", frame: Frame, roots: list[Node]) -> None:
    expected = build_graph(frame, THRESHOLD, roots)
    assert set(read.nodes) == set(expected.nodes)
    assert set(read.edges) == set(expected.edges)
    for above, below, weight in read.edges(data="weight"):
        assert weight == expected.edges[above, below]["weight"]
    for key, data in read.nodes(data=True):
        node = parse_identity(key)
        assert node is not None
        assert (data["rank"], data["topic"], data["layer"]) == (frame.rank(node), node.column + 1, node.layer)
        assert data["share"] == frame.share(node)
        assert data["popularity"] == frame.weight(node)


def test_graphml_is_read_back_with_types_and_numbers(frame: Frame, roots: list[Node], tmp_path: Path) -> None:
    read = nx.read_graphml(trees.write(frame, roots, THRESHOLD, "down", tmp_path / "tree.graphml"))
    check(read, frame, roots)
    assert read.nodes["L3:1"]["label"] == 'A "name" & <more>'


def test_json_is_read_back_with_types_and_numbers(frame: Frame, roots: list[Node], tmp_path: Path) -> None:
    path = trees.write(frame, roots, THRESHOLD, "down", tmp_path / "tree.json")
    data = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    check(nx.node_link_graph(data, edges="edges"), frame, roots)
    assert data["graph"] == {
        "run": 7,
        "corpus": "news & <views>",
        "snapshot": 3,
        "minibatch": 700,
        "threshold": 1.5,
        "seed": 5,
    }


def test_gexf_is_read_back_with_numbers(frame: Frame, roots: list[Node], tmp_path: Path) -> None:
    check(nx.read_gexf(trees.write(frame, roots, THRESHOLD, "down", tmp_path / "tree.gexf")), frame, roots)


@pytest.mark.parametrize("form", ["graphml", "gexf", "json"])
def test_pruned_topics_are_in_the_graph_with_lines_to_their_heirs_and_to_what_they_were_made_of(form: str) -> None:
    """The same lines as in the picture; living topics and their edges are as they are without ghosts."""
    _, now, remains = pruned_samples.pruned()
    choice = Choice(tuple(now.nodes(3)), THRESHOLD, cap=99)
    text = trees.render(now, choice, form, remains)
    read = {
        "graphml": lambda: nx.parse_graphml(text),
        "gexf": lambda: nx.read_gexf(io.BytesIO(text.encode())),
        "json": lambda: nx.node_link_graph(json.loads(text), edges="edges"),
    }[form]()
    shown = {identity(each.node): each for each in draw(now, choice, remains=remains).haunting.shown}
    assert len(shown) == 3
    ghosts = {key: data for key, data in read.nodes(data=True) if "pruned" in data}
    assert set(ghosts) == set(shown)
    for key, data in ghosts.items():
        left = shown[key].remains
        assert (data["pruned"], data["title"], data["share"]) == (650, printable(left.title), left.share)
        assert "rank" not in data
        lines = {(end, line["kind"]): line["weight"] for _, end, line in read.out_edges(key, data=True)}
        assert lines == {
            **{(identity(heir.node), "heir"): heir.part for heir in shown[key].heirs},
            **{(identity(child.node), "made of"): child.weight for child in shown[key].children},
        }
        assert {kind for _, kind in lines} == {"heir", "made of"}
    read.remove_nodes_from(ghosts)
    check(read, now, now.nodes(3))


def test_dot_draws_pruned_topics_dashed_among_their_layer() -> None:
    _, now, remains = pruned_samples.pruned()
    choice = Choice(tuple(now.nodes(3)), THRESHOLD, cap=99)
    plain, haunted = trees.render(now, choice, "dot"), trees.render(now, choice, "dot", remains)
    added = set(haunted.splitlines()) - set(plain.splitlines())
    boxes = [line for line in added if 'style="rounded,dashed"' in line]
    assert sorted(re.findall(r'"(L2:\d+)" \[label="pruned', "\n".join(boxes))) == ["L2:10", "L2:3", "L2:6"]
    assert any("style=dashed, color=gray" in line for line in added)
    assert any("style=dotted, color=gray" in line for line in added)
    ranks = re.findall(r"rank=same;(.*?)\}", haunted, re.DOTALL)
    assert all(line.strip() in ranks[1] for line in boxes)


def test_dot_puts_every_layer_on_one_rank_and_quotes_every_text(
    frame: Frame, roots: list[Node], tmp_path: Path
) -> None:
    text = trees.write(frame, roots, THRESHOLD, "down", tmp_path / "tree.dot").read_text(encoding="utf-8")
    assert text.count("rank=same") == 3
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    assert '"' not in outside
    assert "<" not in outside
    assert outside.count("->") == build_graph(frame, THRESHOLD, roots).number_of_edges()


def test_the_file_has_all_topics_however_many(tmp_path: Path) -> None:
    frame = make_frame((90, 3), n_words=60)
    path = trees.write(frame, frame.nodes(2), 0.0, "down", tmp_path / "tree.json", light=True)
    assert len(json.loads(path.read_text(encoding="utf-8"))["nodes"]) > 60


def test_upwards_the_file_has_the_ancestors(frame: Frame, tmp_path: Path) -> None:
    leaf = frame.nodes(1)[0]
    path = trees.write(frame, [leaf], 1.0, "up", tmp_path / "tree.json")
    keys = {node["id"] for node in json.loads(path.read_text(encoding="utf-8"))["nodes"]}
    assert keys == set(build_graph(frame, 1.0, [leaf], "up"))


@pytest.mark.parametrize("name", ["tree.pdf", "tree", "tree.svg.gz"])
def test_an_unknown_suffix_is_refused_with_the_list_of_known_ones(name: str, frame: Frame, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.svg") as caught:
        trees.write(frame, frame.nodes(3)[:1], 5.0, "down", tmp_path / name)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_root_that_does_not_exist_is_refused_and_so_is_none(frame: Frame, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no topic L4:1"):
        trees.write(frame, [Node(4, 0)], 5.0, "down", tmp_path / "tree.svg")
    with pytest.raises(ValueError, match="without a root"):
        trees.write(frame, [], 5.0, "down", tmp_path / "tree.svg")


def test_the_table_of_topics_agrees_with_the_tree_for_all_topics(frame: Frame) -> None:
    graph = build_graph(frame, 0.0)
    table = topics.topics_table(frame)
    assert len(table) == len(graph) == sum(frame.widths)
    for row in table:
        data = graph.nodes[f"L{row['layer']}:{row['topic']}"]
        assert (row["rank"], row["share"], row["name"]) == (data["rank"], data["share"], data["label"])
        assert " ".join(row["words"]) == data["words"]


def test_the_table_of_one_layer_is_by_rank(frame: Frame) -> None:
    table = topics.topics_table(frame, 2)
    assert [row["rank"] for row in table] == list(range(1, 13))
    assert {row["layer"] for row in table} == {2}
    assert sum(row["share"] for row in table) == pytest.approx(1.0)
    with pytest.raises(LookupError, match="no layer 4"):
        topics.topics_table(frame, 4)


def test_topics_as_csv_keep_words_that_look_like_something_else(frame: Frame, tmp_path: Path) -> None:
    text = topics.write(frame, None, tmp_path / "topics.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text), quoting=csv.QUOTE_NONNUMERIC))
    table = topics.topics_table(frame)
    assert [row["words"] for row in rows] == [" ".join(row["words"]) for row in table]
    assert [row["share"] for row in rows] == [row["share"] for row in table]
    assert {row["name"] for row in rows} == {"", "nan", 'A "name" & <more>'}


def test_topics_as_json_are_the_table(frame: Frame, tmp_path: Path) -> None:
    path = topics.write(frame, 1, tmp_path / "topics.json")
    assert json.loads(path.read_text(encoding="utf-8")) == topics.topics_table(frame, 1)
    with pytest.raises(ValueError, match=r"\.csv, \.json"):
        topics.write(frame, 1, tmp_path / "topics.xlsx")


def test_the_picture_shows_the_ranks_of_the_table(frame: Frame, roots: list[Node]) -> None:
    svg = ET.fromstring(trees.render(frame, Choice(tuple(roots), THRESHOLD), "svg"))
    ranks = [
        "".join(group[0].itertext())
        for group in svg.iter("{http://www.w3.org/2000/svg}g")
        if group.get("class") == "tp-words"
    ]
    expected = [str(data["rank"]) for _, data in build_graph(frame, THRESHOLD, roots).nodes(data=True)]
    assert sorted(ranks) == sorted(expected)


def test_forbidden_characters_never_reach_a_file(frame: Frame) -> None:
    choice = Choice(tuple(frame.nodes(3)), 0.5)
    for form in trees.formats():
        text = trees.render(frame, choice, form)
        assert "\x07" not in text
        assert printable(text) == text
