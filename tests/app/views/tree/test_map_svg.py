"""A model whose topics make others rarer: dashed and red lines with a minus sign, words made rarer, and the map."""

import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest
from topic_hierarchies import make_hierarchy, signed_hierarchy

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.export import trees
from topiary.app.views.explore.controls import ControlState, draw_controls, draw_map_foot, draw_map_legend, draw_outline
from topiary.app.views.explore.detail import draw_topic
from topiary.app.views.palette import LIGHT, LIVE, RARER_DASHES
from topiary.app.views.tree.map_svg import MapChoice, draw_map
from topiary.app.views.tree.picture import TreeChoice, draw_tree, write_caption

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def hierarchy():
    return signed_hierarchy()


@pytest.fixture(scope="module")
def choice(hierarchy):
    return TreeChoice(tuple(hierarchy.nodes(3)), 1.0)


def test_edges_to_what_a_topic_makes_rarer_are_dashed_and_of_another_colour(hierarchy, choice):
    drawing = draw_tree(hierarchy, choice, theme=LIGHT)
    rarer = [edge for edge in drawing.part.edges if edge.weight < 0]
    assert rarer
    assert len(rarer) < len(drawing.part.edges)
    lines = [line for line in ET.fromstring(drawing.svg).iter(f"{SVG}path") if line.get("stroke") == LIGHT.lowers]
    assert len(lines) == len(rarer)
    assert {line.get("stroke-dasharray") for line in lines} == {RARER_DASHES}
    assert "red dashes: made rarer" in write_caption(hierarchy, choice)


def test_what_hovers_over_an_edge_says_what_the_parent_does(hierarchy, choice):
    svg = ET.fromstring(draw_tree(hierarchy, choice, theme=LIVE).svg)
    tips = [element.get("data-tip") for element in svg.iter() if element.get("data-from")]
    assert any("makes topic" in tip and "rarer:" in tip for tip in tips)
    assert any("more frequent:" in tip for tip in tips)


def test_the_outline_and_the_files_have_the_sign(hierarchy, choice):
    drawing = draw_tree(hierarchy, choice)
    assert " · edge −" in draw_outline(hierarchy, drawing.part)
    dot = trees.render_tree(hierarchy, choice, "dot")
    assert "style=dashed" in dot
    graph = nx.parse_graphml(trees.render_tree(hierarchy, choice, "graphml"))
    signs = {data["weight"] < 0 for *_, data in graph.edges(data=True)}
    assert signs == {True, False}


def test_a_topic_names_the_words_that_it_makes_rarer(hierarchy):
    node = next(node for node in hierarchy.nodes(2) if hierarchy.lowered_words(node))
    words = hierarchy.lowered_words(node, 5)
    column = hierarchy.lowers[1][:, hierarchy.place(node)]
    assert [word.weight for word in words] == pytest.approx(sorted(column, reverse=True)[: len(words)])
    html = draw_topic(hierarchy, node, 1.0, [])
    assert "Makes rarer" in html
    assert words[0].text in html
    assert "Makes rarer" not in draw_topic(hierarchy, hierarchy.nodes(1)[0], 1.0, [])


def test_children_of_either_sign_are_listed_the_strongest_first(hierarchy):
    found = [relative.weight for node in hierarchy.nodes(2) for relative in hierarchy.children(node)]
    assert min(found) < 0 < max(found)
    for node in hierarchy.nodes(2):
        sizes = [abs(relative.weight) for relative in hierarchy.children(node)]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("theme", [LIVE, LIGHT])
def test_the_map_has_every_topic_of_layer_one_and_the_related_ones_joined(hierarchy, theme):
    drawing = draw_map(hierarchy, MapChoice(light=True, selected=hierarchy.nodes(1)[1], relation=0.5), theme=theme)
    svg = ET.fromstring(drawing.svg)
    keys = [element.get("data-id") for element in svg.iter() if element.get("role") == "treeitem"]
    assert keys == [format_identity(node) for node in hierarchy.nodes(1)]
    strong = [pair for pair in hierarchy.relations if pair[2] >= 0.5]
    assert strong
    assert len(list(svg.iter(f"{SVG}line"))) == len(strong) == drawing.lines
    chosen = [element for element in svg.iter() if element.get("aria-selected") == "true"]
    assert [element.get("data-id") for element in chosen] == [format_identity(hierarchy.nodes(1)[1])]


def test_circles_of_the_map_lie_in_the_picture_and_apart(hierarchy):
    drawing = draw_map(hierarchy, MapChoice(light=True), theme=LIGHT)
    places, radii = [], []
    for group in ET.fromstring(drawing.svg).iter(f"{SVG}g"):
        if group.get("role") == "treeitem":
            x, y = (group.get("transform") or "")[len("translate(") : -1].split()
            places.append((float(x), float(y)))
            radii.append(float(group.find(f"{SVG}circle").get("r")))
    at, size = np.array(places), np.array(radii)
    assert (at - size[:, None] > 0).all()
    assert (at + size[:, None] < drawing.size).all()
    away = np.linalg.norm(at[:, None] - at, axis=2) + 1e6 * np.eye(len(at))
    assert (away > 0.9 * (size[:, None] + size)).all()


def test_controls_and_foot_are_those_of_the_map(hierarchy, choice):
    state = ControlState(chosen=False, hidden=0, wide=False, formats=("svg",))
    tree = draw_controls(hierarchy, choice, state)
    on_map = draw_controls(hierarchy, choice, state._replace(picture="map"))
    assert 'data-do="picture"' in tree
    assert 'data-input="threshold"' in tree
    assert 'data-input="relation"' in on_map
    assert 'data-input="threshold"' not in on_map
    drawing = draw_map(hierarchy, MapChoice(light=True, relation=0.5))
    foot = draw_map_foot(hierarchy, drawing, 0.5, "What a child is.")
    assert f"{drawing.lines} pairs of topics are joined" in foot
    assert "What a child is." in foot
    assert "similar words and the same parents" in foot


def test_the_map_of_one_layer_says_nothing_of_parents():
    flat = make_hierarchy(widths=(6,))
    drawing = draw_map(flat, MapChoice())
    foot = draw_map_foot(flat, drawing, 0.5, "What a child is.")
    assert "parents" not in foot
    assert "What a child is." not in foot
    assert "heaviest parent" not in drawing.svg
    assert "tp-caption" not in drawing.svg.replace("tp-captions", "")
    assert draw_map_legend(flat, drawing) == ""
