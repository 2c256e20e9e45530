"""Labels and captions of the map cover neither each other nor circles, and parents have colours and captions."""

import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy, signed_hierarchy

from topiary.app.analysis.hierarchy import format_identity, parse_identity
from topiary.app.views.explore.controls import draw_map_legend
from topiary.app.views.palette import LIGHT, LIVE
from topiary.app.views.text import BOLD, escape, measure_text, replace_unprintable
from topiary.app.views.tree.map_labels import LEADING, Circles, list_lines, place_captions, place_labels
from topiary.app.views.tree.map_parents import assign_hues, choose_families, group_topics, trace_parents
from topiary.app.views.tree.map_svg import SIZES, WHOLE, MapChoice, draw_map

SVG = "{http://www.w3.org/2000/svg}"
HIERARCHIES = {"many topics": make_hierarchy((90, 30, 12), n_words=400, seed=3), "few parents": signed_hierarchy()}
LEVELS = range(len(SIZES))


@pytest.fixture(params=HIERARCHIES.values(), ids=HIERARCHIES.keys(), scope="module")
def hierarchy(request):
    return request.param


@pytest.fixture(scope="module")
def drawn(hierarchy):
    """The map as XML, and its size."""
    drawing = draw_map(hierarchy, MapChoice(light=True), aspect=1.2)
    return ET.fromstring(drawing.svg), drawing


def read_origin(group):
    return np.array([float(number) for number in re.findall(r"-?[\d.]+", group.get("transform") or "0 0")])


def read_circles(svg):
    groups = [group for group in svg.iter(f"{SVG}g") if group.get("role") == "treeitem"]
    return [(read_origin(group), float(group.find(f"{SVG}circle").get("r"))) for group in groups]


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
        for group in svg.iter(f"{SVG}g")
        if group.get("role") == "treeitem"
        for text in group.findall(f"{SVG}g[@class='tp-level tp-level-{level}']/{SVG}text")
    }


def read_captions(svg, level):
    return {
        group.get("data-parent"): read_box(group.find(f"{SVG}text"), np.zeros(2), BOLD)
        for shown in svg.findall(f"{SVG}g[@class='tp-captions']/{SVG}g[@class='tp-level tp-level-{level}']")
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


def test_labels_are_whole_words_of_the_title(hierarchy, drawn):
    svg, _ = drawn
    titles = {
        format_identity(node): set(replace_unprintable(hierarchy.title(node)).split()) for node in hierarchy.nodes(1)
    }
    for group in svg.iter(f"{SVG}g"):
        if group.get("role") == "treeitem":
            for text in group.iter(f"{SVG}text"):
                words = " ".join("".join(line.itertext()) for line in text).split()
                assert 1 <= len(words) <= 3
                assert {word for word in words if "…" not in word} <= titles[group.get("data-id")]


def test_the_map_is_the_same_again(hierarchy):
    again = [draw_map(hierarchy, MapChoice(light=True), aspect=1.2, theme=LIGHT).svg for _ in range(2)]
    assert again[0] == again[1]


def test_a_circle_has_the_hue_of_its_heaviest_parent_and_its_tip_names_it(hierarchy, drawn):
    svg, drawing = drawn
    columns = [hierarchy.place(node) for node in hierarchy.nodes(1)]
    layer = next(iter(drawing.hues)).layer
    parts = trace_parents(hierarchy, columns)[layer - 2]
    assert np.allclose(parts.sum(axis=1), 1.0)
    groups = {group.get("data-id"): group for group in svg.iter(f"{SVG}g") if group.get("role") == "treeitem"}
    grey = 0
    for node, part in zip(hierarchy.nodes(1), parts, strict=True):
        parent = hierarchy.node(layer, int(np.argmax(part)))
        group = groups[format_identity(node)]
        wanted = LIVE.hues[drawing.hues[parent]] if parent in drawing.hues else LIVE.muted
        assert group.find(f"{SVG}circle").get("fill") == wanted
        assert f"heaviest parent: {hierarchy.title(parent)} (layer {layer})" in group.get("data-tip")
        grey += parent not in drawing.hues
    assert grey == drawing.others


def test_hues_are_of_the_lowest_layer_that_has_few_parents():
    shares = np.ones(90) / 90
    hierarchy = HIERARCHIES["many topics"]
    families = [
        group_topics(hierarchy, layer, parts, shares)
        for layer, parts in enumerate(trace_parents(hierarchy, range(90)), 2)
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


def test_the_legend_lists_the_hues_and_a_file_has_it_below_the_map(hierarchy, drawn):
    _, drawing = drawn
    legend = draw_map_legend(hierarchy, drawing)
    assert legend.count('data-do="select"') == len(drawing.hues)
    saved = draw_map(hierarchy, MapChoice(light=True), aspect=1.2, theme=LIGHT)
    assert saved.size[1] > drawing.size[1]
    assert "tp-level" not in saved.svg
    svg = ET.fromstring(saved.svg)
    assert {text.get("font-size") for text in svg.iter(f"{SVG}text") if text.get("class") == "tp-halo"} == {
        f"{SIZES[WHOLE]:.1f}"
    }
    for parent in drawing.hues:
        assert escape(hierarchy.title(parent)[:20]) in saved.svg


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


def test_captions_have_the_colour_of_their_topics_and_are_plain_above_the_coloured_layer(hierarchy, drawn):
    svg, drawing = drawn
    coloured = next(iter(drawing.hues)).layer
    found = {}
    for group in svg.iter(f"{SVG}g"):
        if group.get("data-parent"):
            found.setdefault(group.get("data-parent"), set()).add(group.find(f"{SVG}text").get("fill"))
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
