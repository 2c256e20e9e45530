"""The tiles of the top layer: areas are shares, the parts of a child add up to it, and titles are whole."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.tiles import (
    Rectangle,
    TilesChoice,
    describe_shares,
    divide_into_rows,
    draw_tiles,
    place_rows,
)

SVG = "{http://www.w3.org/2000/svg}"
SIZE = (1008.0, 652.0)


@pytest.fixture(scope="module")
def hierarchy():
    return make_hierarchy()


def measure_boxes(svg):
    """Return (identity, parent, width, height) of every tile."""
    boxes = []
    for tile in ET.fromstring(svg).iter(f"{SVG}g"):
        if "tp-tile" in tile.get("class", ""):
            rect = tile.find(f"{SVG}rect")
            size = float(rect.get("width")), float(rect.get("height"))
            boxes.append((tile.get("data-id"), tile.get("data-in"), *size))
    return boxes


def test_rows_fill_the_frame_with_areas_in_proportion():
    areas = [40.0, 25.0, 20.0, 10.0, 5.0]
    rows = divide_into_rows(areas, 10.0, lambda *_: True)
    places = place_rows(areas, rows, Rectangle(0.0, 0.0, 10.0, 10.0))
    assert sum(rows) == len(areas)
    assert [round(place.width * place.height, 6) for place in places] == areas
    assert max(place.x + place.width for place in places) == pytest.approx(10.0)
    assert places[-1].y + places[-1].height == pytest.approx(10.0)


def test_a_division_in_which_more_can_be_read_wins_over_one_with_better_shapes():
    areas = [25.0] * 4
    assert divide_into_rows(areas, 10.0, lambda *_: True) == (2, 2)
    assert divide_into_rows(areas, 10.0, lambda _, width, __: width >= 9) == (1, 1, 1, 1)


def test_tiles_of_the_top_layer_are_as_large_as_their_shares(hierarchy):
    drawing = draw_tiles(hierarchy, TilesChoice(SIZE))
    boxes = [box for box in measure_boxes(drawing.svg) if box[1] is None]
    nodes = hierarchy.nodes(hierarchy.n_layers)[: len(boxes)]
    assert [box[0] for box in boxes] == [format_identity(node) for node in nodes]
    areas = np.array([(width + 6) * (height + 6) for _, _, width, height in boxes])  # with the gaps
    np.testing.assert_allclose(areas / np.prod(SIZE), [hierarchy.share(node) for node in nodes], atol=0.002)


def test_a_child_names_its_part_in_each_parent(hierarchy):
    parts = {}
    for tile in ET.fromstring(draw_tiles(hierarchy, TilesChoice(SIZE)).svg).iter(f"{SVG}g"):
        if tile.get("data-in"):
            parts[tile.get("data-id")] = tile.get("data-parents")
    assert parts
    for identity, text in parts.items():
        node = hierarchy.find_topic(identity)
        weights = hierarchy.phi[hierarchy.n_layers - 1][hierarchy.place(node)] * hierarchy.shares[-1]
        expected = np.sort(100 * weights / weights.sum())[::-1]
        named = sorted((float(percent) for percent in re.findall(r"=(\d+)", text)), reverse=True)
        np.testing.assert_allclose(named, expected[: len(named)], atol=0.51)


def test_titles_are_whole_or_cut_at_their_end_and_files_need_no_style_sheet(hierarchy):
    drawing = draw_tiles(hierarchy, TilesChoice(SIZE), theme=LIGHT)
    assert "var(" not in drawing.svg
    texts = [text.text for text in ET.fromstring(drawing.svg).iter(f"{SVG}text")]
    for node in drawing.rows.nodes:
        assert any(text and hierarchy.title(node).startswith(text.rstrip("…")) for text in texts)


def test_rows_stay_while_shares_move_slowly(hierarchy):
    first = draw_tiles(hierarchy, TilesChoice(SIZE))
    nodes = list(first.rows.nodes)
    shares = hierarchy.shares[-1].copy()
    one, two = (hierarchy.place(node) for node in nodes[:2])
    shares[one], shares[two] = shares[two] - 1e-6, shares[one]  # two neighbours change places
    moved = replace(hierarchy, shares=(*hierarchy.shares[:-1], shares))
    assert draw_tiles(moved, TilesChoice(SIZE, previous=first.rows)).rows == first.rows


def test_a_topic_set_apart_stands_in_a_bar_and_the_others_have_the_whole_area(hierarchy):
    apart = hierarchy.nodes(hierarchy.n_layers)[0]
    drawing = draw_tiles(hierarchy, TilesChoice(SIZE, {apart}))
    assert apart not in drawing.rows.nodes
    bar = next(box for box in measure_boxes(drawing.svg) if box[0] == format_identity(apart))
    assert bar[3] < 28


def test_topics_that_have_no_room_are_counted(hierarchy):
    drawing = draw_tiles(hierarchy, TilesChoice((200.0, 200.0)))
    assert drawing.left_out == hierarchy.widths[-1] - len(drawing.rows.nodes) > 0


def test_the_sentence_names_the_topics_that_hold_half_of_all_words(hierarchy):
    top, nodes = hierarchy.n_layers, hierarchy.nodes(hierarchy.n_layers)
    shares = np.full(hierarchy.widths[-1], 0.4 / (hierarchy.widths[-1] - 1))
    shares[hierarchy.place(nodes[0])] = 0.6
    one = replace(hierarchy, shares=(*hierarchy.shares[: top - 1], shares))
    rest = hierarchy.widths[-1] - 1
    others = f"{rest} more {'shares' if rest == 1 else 'share'} the rest"
    assert describe_shares(one) == f"One topic holds 60% of all words: {hierarchy.title(nodes[0])}; {others}."
    shares[hierarchy.place(nodes[0])] = shares[hierarchy.place(nodes[1])] = 0.35
    two = replace(hierarchy, shares=(*hierarchy.shares[: top - 1], shares))
    both = f"{hierarchy.title(nodes[0])} and {hierarchy.title(nodes[1])}"
    assert describe_shares(two) == f"Two topics hold 70% of all words: {both}; {rest - 1} more share the rest."
