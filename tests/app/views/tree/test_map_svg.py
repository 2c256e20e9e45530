"""A model whose topics make others rarer: dashed and red lines with a minus sign, words made rarer, and the map."""

import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from topic_hierarchies import make_hierarchy, signed_hierarchy

from topiary.app.analysis.hierarchy import format_identity, parse_identity
from topiary.app.export import trees
from topiary.app.views.explore.controls import ControlState, draw_controls, draw_map_foot, draw_map_legend, draw_outline
from topiary.app.views.explore.detail import draw_topic
from topiary.app.views.text import BOLD, escape, measure_text, replace_unprintable
from topiary.app.views.theme import LIGHT, LIVE, RARER_DASHES
from topiary.app.views.tree.map_svg import (
    LEADING,
    SIZES,
    WHOLE,
    Circles,
    MapChoice,
    assign_hues,
    choose_families,
    draw_map,
    group_topics,
    list_lines,
    place_captions,
    place_labels,
    trace_parents,
)
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


NAMESPACE = "{http://www.w3.org/2000/svg}"
HIERARCHIES = {"many topics": make_hierarchy((90, 30, 12), n_words=400, seed=3), "few parents": signed_hierarchy()}
LEVELS = range(len(SIZES))


@pytest.fixture(params=HIERARCHIES.values(), ids=HIERARCHIES.keys(), scope="module")
def mapped(request):
    return request.param


@pytest.fixture(scope="module")
def drawn(mapped):
    """The map as XML, and its size."""
    drawing = draw_map(mapped, MapChoice(light=True), aspect=1.2)
    return ET.fromstring(drawing.svg), drawing


def read_origin(group):
    return np.array([float(number) for number in re.findall(r"-?[\d.]+", group.get("transform") or "0 0")])


def read_circles(svg):
    groups = [group for group in svg.iter(f"{NAMESPACE}g") if group.get("role") == "treeitem"]
    return [(read_origin(group), float(group.find(f"{NAMESPACE}circle").get("r"))) for group in groups]


def read_box(text, origin, width):
    """The box (left, top, right, bottom) of lines that are centred at an x, as a browser draws them."""
    size, lines = float(text.get("font-size")), list(text)
    x = float(lines[0].get("x"))
    first, last = (float(line.get("y")) - 0.36 * size for line in (lines[0], lines[-1]))
    half = width * size * max(measure_text("".join(line.itertext())) for line in lines) / 2
    return np.array([x - half, first - LEADING * size / 2, x + half, last + LEADING * size / 2]) + np.tile(origin, 2)


def read_labels(svg, level):
    return {
        group.get("data-id"): read_box(text, read_origin(group), 1.0)
        for group in svg.iter(f"{NAMESPACE}g")
        if group.get("role") == "treeitem"
        for text in group.findall(f"{NAMESPACE}g[@class='tp-level tp-level-{level}']/{NAMESPACE}text")
    }


def read_captions(svg, level):
    return {
        group.get("data-parent"): read_box(group.find(f"{NAMESPACE}text"), np.zeros(2), BOLD)
        for shown in svg.findall(f"{NAMESPACE}g[@class='tp-captions']/{NAMESPACE}g[@class='tp-level tp-level-{level}']")
        for group in shown
    }


@pytest.mark.parametrize("level", LEVELS)
def test_no_label_or_caption_covers_another_one_or_leaves_the_picture(drawn, level):
    svg, drawing = drawn
    boxes = [*read_labels(svg, level).values(), *read_captions(svg, level).values()]
    assert boxes
    for one, other in itertools.combinations(boxes, 2):
        assert (np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])).min() < 0.3, (one, other)
    assert all((box[:2] > -0.3).all() and (box[2:] < np.array(drawing.size) + 0.3).all() for box in boxes)


@pytest.mark.parametrize("level", LEVELS)
def test_no_label_covers_a_circle(drawn, level):
    svg, _ = drawn
    circles = read_circles(svg)
    for box in read_labels(svg, level).values():
        for centre, radius in circles:
            away = np.maximum(np.maximum(box[:2] - centre, centre - box[2:]), 0.0)
            assert np.hypot(*away) > radius - 0.3


def test_nearer_levels_have_more_labels_and_the_nearest_nearly_all(drawn):
    svg, drawing = drawn
    counts = [len(read_labels(svg, level)) for level in LEVELS]
    assert counts[0] >= 0.9 * drawing.topics
    assert counts[0] > counts[-1] > 0


def test_captions_are_those_of_layer_three_from_afar_and_of_layer_two_nearer(drawn):
    svg, _ = drawn
    for level in LEVELS:
        layers = {key[:2] for key in read_captions(svg, level)}
        assert layers == ({"L3"} if level >= WHOLE else {"L2"})


def test_labels_are_whole_words_of_the_title(mapped, drawn):
    svg, _ = drawn
    titles = {format_identity(node): set(replace_unprintable(mapped.title(node)).split()) for node in mapped.nodes(1)}
    for group in svg.iter(f"{NAMESPACE}g"):
        if group.get("role") == "treeitem":
            for text in group.iter(f"{NAMESPACE}text"):
                words = " ".join("".join(line.itertext()) for line in text).split()
                assert 1 <= len(words) <= 3
                assert {word for word in words if "…" not in word} <= titles[group.get("data-id")]


def test_the_map_is_the_same_again(mapped):
    again = [draw_map(mapped, MapChoice(light=True), aspect=1.2, theme=LIGHT).svg for _ in range(2)]
    assert again[0] == again[1]


def test_a_circle_has_the_hue_of_its_heaviest_parent_and_its_tip_names_it(mapped, drawn):
    svg, drawing = drawn
    columns = [mapped.place(node) for node in mapped.nodes(1)]
    layer = next(iter(drawing.hues)).layer
    parts = trace_parents(mapped, columns)[layer - 2]
    assert np.allclose(parts.sum(axis=1), 1.0)
    groups = {group.get("data-id"): group for group in svg.iter(f"{NAMESPACE}g") if group.get("role") == "treeitem"}
    grey = 0
    for node, part in zip(mapped.nodes(1), parts, strict=True):
        parent = mapped.node(layer, int(np.argmax(part)))
        group = groups[format_identity(node)]
        wanted = LIVE.hues[drawing.hues[parent]] if parent in drawing.hues else LIVE.muted
        assert group.find(f"{NAMESPACE}circle").get("fill") == wanted
        assert f"heaviest parent: {mapped.title(parent)} (layer {layer})" in group.get("data-tip")
        grey += parent not in drawing.hues
    assert grey == drawing.others


def test_hues_are_of_the_lowest_layer_that_has_few_parents():
    shares = np.ones(90) / 90
    mapped = HIERARCHIES["many topics"]
    families = [
        group_topics(mapped, layer, parts, shares) for layer, parts in enumerate(trace_parents(mapped, range(90)), 2)
    ]
    assert choose_families(families, 7) is families[1]  # 30 topics in layer 2, and too many parents in layer 3, too
    assert choose_families(families, 40) is families[0]
    assert choose_families([], 7) == ()
    for each in families:
        assert Counter(number for family in each for number in family.topics) == Counter(range(90))


def test_a_parent_keeps_its_hue_when_the_order_changes():
    families = group_topics(HIERARCHIES["few parents"], 2, np.eye(6)[[0, 1, 2, 3]], np.array([4.0, 3.0, 2.0, 1.0]))
    hues = assign_hues(families, 7)
    assert assign_hues(families[::-1], 7) == hues
    assert len(set(hues.values())) == 4
    assert len(assign_hues(families, 2)) == 2


def test_the_legend_lists_the_hues_and_a_file_has_it_below_the_map(mapped, drawn):
    _, drawing = drawn
    legend = draw_map_legend(mapped, drawing)
    assert legend.count('data-do="select"') == len(drawing.hues)
    saved = draw_map(mapped, MapChoice(light=True), aspect=1.2, theme=LIGHT)
    assert saved.size[1] > drawing.size[1]
    assert "tp-level" not in saved.svg
    svg = ET.fromstring(saved.svg)
    assert {text.get("font-size") for text in svg.iter(f"{NAMESPACE}text") if text.get("class") == "tp-halo"} == {
        f"{SIZES[WHOLE]:.1f}"
    }
    for parent in drawing.hues:
        assert escape(mapped.title(parent)[:20]) in saved.svg


def test_of_two_labels_in_the_same_place_the_first_stays_and_the_other_waits_for_the_zoom():
    circles = Circles(np.array([[50.0, 20.0], [50.0, 24.0]]), np.array([2.0, 2.0]), (100.0, 45.0))
    nearest, afar = place_labels([["one"], ["two"]], circles, (2.0, 30.0), [[], []])
    assert set(nearest) == {0, 1}
    assert len(afar) <= 1


def test_a_caption_goes_to_the_free_place_next_to_its_centre():
    circles = Circles(np.array([[100.0, 50.0]]), np.array([12.0]), (200.0, 100.0))
    first, second = place_captions([["top"], ["top"]], np.array([[100.0, 50.0]] * 2), circles, 10.0)
    for placed in (first, second):
        away = np.maximum(np.maximum(placed.box[:2] - circles.centres[0], circles.centres[0] - placed.box[2:]), 0.0)
        assert np.hypot(*away) > 11.0
        assert np.hypot(*(np.array(placed.centre) - 50.0 - [50.0, 0.0])) < 60.0
    assert not np.array_equal(first.box, second.box)


def test_words_are_written_in_one_line_or_several():
    assert list_lines(["a"]) == [("a",)]
    assert list_lines(["a", "b", "c"])[-3:] == [("a b c",), ("a b", "c"), ("a", "b", "c")]


def test_captions_have_the_colour_of_their_topics_and_are_plain_above_the_coloured_layer(mapped, drawn):
    svg, drawing = drawn
    coloured = next(iter(drawing.hues)).layer
    found = {}
    for group in svg.iter(f"{NAMESPACE}g"):
        if group.get("data-parent"):
            found.setdefault(group.get("data-parent"), set()).add(group.find(f"{NAMESPACE}text").get("fill"))
    assert found
    assert all(len(colours) == 1 for colours in found.values())
    for key, (colour,) in found.items():
        node = parse_identity(key)
        if node.layer > coloured:
            assert colour == LIVE.muted
        elif node.layer == coloured:
            assert colour == (LIVE.hues[drawing.hues[node]] if node in drawing.hues else LIVE.muted)
        else:
            assert colour in {*LIVE.hues, LIVE.muted}
