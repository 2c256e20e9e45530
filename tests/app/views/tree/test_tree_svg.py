"""The picture as text: well-formed, escaped, complete, readable by keyboard and without colour."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from topic_hierarchies import NASTY, make_hierarchy

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.seeds import measure_group
from topiary.app.views.text import measure_text
from topiary.app.views.theme import LIGHT, LIVE, PictureTheme, find_layer_border, find_layer_colour
from topiary.app.views.tree.picture import TreeChoice, draw_tree, write_caption
from topiary.app.views.tree.tree_svg import WordMarking, _draw_line

SVG = "{http://www.w3.org/2000/svg}"


def roots(hierarchy, count=2):
    return tuple(hierarchy.nodes(hierarchy.n_layers)[:count])


@pytest.mark.parametrize("theme", [LIVE, LIGHT])
@pytest.mark.parametrize("direction", ["down", "up"])
def test_the_picture_is_well_formed_xml_whatever_the_words(theme: PictureTheme, direction: str) -> None:
    hierarchy = make_hierarchy(labels={(3, 1): '<b>"name" & \x00 more</b>'})
    start = roots(hierarchy) if direction == "down" else tuple(hierarchy.nodes(1)[:2])
    drawing = draw_tree(hierarchy, TreeChoice(start, 1.0, direction), theme=theme)
    tree = ET.fromstring(drawing.svg)
    assert tree.tag == f"{SVG}svg"
    assert tree.findall(f".//{SVG}script") == []


def test_words_that_look_like_markup_are_shown_as_words() -> None:
    hierarchy = make_hierarchy((6, 3), n_words=len(NASTY))
    svg = draw_tree(hierarchy, TreeChoice(roots(hierarchy), 0.0), theme=LIVE).svg
    assert "<script" not in svg
    shown = " ".join(ET.fromstring(svg).itertext())
    assert "<script>alert" in shown
    assert "a&b" in shown
    assert "日本語" in shown


def test_every_topic_and_every_edge_is_drawn_once() -> None:
    hierarchy = make_hierarchy()
    drawing = draw_tree(hierarchy, TreeChoice(roots(hierarchy), 1.5))
    svg = ET.fromstring(drawing.svg)
    keys = [element.get("data-id") for element in svg.iter() if element.get("role") == "treeitem"]
    assert sorted(keys) == sorted(format_identity(node) for node in drawing.part.nodes)
    ends = [(element.get("data-from"), element.get("data-to")) for element in svg.iter() if element.get("data-from")]
    assert sorted(ends) == sorted(
        (format_identity(edge.above), format_identity(edge.below)) for edge in drawing.part.edges
    )


def test_an_edge_is_marked_as_sure_within_this_run_or_by_the_other_seeds_that_found_it() -> None:
    plain = make_hierarchy()
    variances = tuple(np.full_like(phi, 1e-4) for phi in plain.phi[1:])
    alone = replace(plain, edge_variances=variances)
    seeds = replace(alone, recurrence=measure_group(alone, [plain, make_hierarchy(seed=2)]))  # itself, and another
    every, sure = TreeChoice(roots(plain), 1.5), TreeChoice(roots(plain), 1.5, sure=True)
    tips = {
        element.get("data-from", "") + element.get("data-to", ""): element.get("data-tip", "")
        for element in ET.fromstring(draw_tree(alone, every).svg).iter()
        if element.get("data-from")
    }
    drawn = draw_tree(alone, sure)
    kept = {format_identity(edge.above) + format_identity(edge.below) for edge in drawn.part.edges}
    assert {key for key, tip in tips.items() if "sure within this run: above the threshold with" in tip} == kept
    assert 0 < len(kept) < len(tips)
    assert "only edges sure within this run (90%)" in write_caption(alone, sure)
    svg = draw_tree(seeds, every).svg
    assert "found by 1 of 2 other seeds&#10;" in svg
    assert "only edges found by both other seeds" in write_caption(seeds, sure)
    kept_by_seeds = draw_tree(seeds, sure).part.edges
    assert len(kept_by_seeds) < len(tips)
    assert all(seeds.find_mark(edge.above, edge.below, 1.5).found == 2 for edge in kept_by_seeds)


def test_what_hovers_over_an_edge_is_two_lines() -> None:
    hierarchy = make_hierarchy()
    svg = ET.fromstring(draw_tree(hierarchy, TreeChoice(roots(hierarchy), 1.5)).svg)
    tips = [element.get("data-tip") for element in svg.iter() if element.get("data-from")]
    assert tips
    assert all([line.startswith("weight") for line in (tip or "").split("\n")] == [False, True] for tip in tips)


def test_rank_and_the_twelve_heaviest_words_stand_in_every_box() -> None:
    hierarchy = make_hierarchy()
    drawing = draw_tree(hierarchy, TreeChoice(roots(hierarchy), 1.5), theme=LIGHT)
    groups = [
        group for group in ET.fromstring(drawing.svg).findall(f"{SVG}g") if group.find(f".//{SVG}tspan") is not None
    ]
    assert len(groups) == len(drawing.part.nodes)
    for group, node in zip(groups, drawing.layout.places, strict=True):
        texts = ["".join(text.itertext()) for text in group.iter(f"{SVG}text")]
        assert texts[0] == format_identity(node)
        words = " ".join(part for tspan in group.iter(f"{SVG}tspan") for part in tspan.itertext())
        for word in hierarchy.top_words(node, 12):
            assert word.text.replace("\x07", "\ufffd")[:20] in words


def test_edges_are_as_wide_as_the_root_of_their_weight() -> None:
    hierarchy = make_hierarchy()
    for curve in draw_tree(hierarchy, TreeChoice(roots(hierarchy), 0.5)).layout.curves:
        assert curve.width == pytest.approx(max(0.9, 9 * curve.edge.weight**0.5))


def test_the_file_needs_no_style_sheet_and_carries_its_caption() -> None:
    hierarchy = make_hierarchy()
    choice = TreeChoice(roots(hierarchy), 2.5)
    svg = draw_tree(hierarchy, choice, theme=LIGHT).svg
    assert "var(" not in svg
    assert "tabindex" not in svg
    assert "run 7 · mini-batch 700" in svg
    assert "weight &gt; 2.5 / topics of the layer below · seed 5" in svg
    assert "news &amp; &lt;views&gt;" in svg
    assert write_caption(hierarchy, choice).startswith("news & <views>")


@pytest.mark.parametrize("n_roots", [1, 3])
def test_the_file_is_as_wide_as_its_caption_and_as_large_as_the_picture_says(n_roots: int) -> None:
    hierarchy = make_hierarchy((6,))
    choice = TreeChoice(roots(hierarchy, n_roots), 1.0)
    drawing = draw_tree(hierarchy, choice, theme=LIGHT)
    width, height = map(float, ET.fromstring(drawing.svg).attrib["viewBox"].split()[2:])
    assert (width, height) == pytest.approx(drawing.size, abs=0.5)
    assert width >= 11 * measure_text(write_caption(hierarchy, choice))
    assert height > drawing.layout.height
    live = draw_tree(hierarchy, choice)
    assert live.size == (live.layout.width, live.layout.height)


def test_marked_words_are_found_in_their_line_with_blanks_in_them_too() -> None:
    marking = WordMarking(frozenset({"new york", "york", "sea"}), "#123456", "underline")
    assert re.findall(r"<tspan fill[^>]*>([^<]*)", _draw_line("sea new york seaside york", marking)) == [
        "sea", "new york", "york"
    ]  # fmt: skip
    assert "".join(ET.fromstring(f"<t>{_draw_line('a&b sea', marking)}</t>").itertext()) == "a&b sea"


def test_a_folded_topic_says_how_many_it_hides_and_is_announced_as_closed() -> None:
    hierarchy = make_hierarchy()
    node = roots(hierarchy)[0]
    open_picture = draw_tree(hierarchy, TreeChoice((node,), 1.0))
    folded = draw_tree(hierarchy, TreeChoice((node,), 1.0, closed=frozenset([node])))
    count = len(open_picture.part.nodes) - 1
    assert f">+{count}<" in folded.svg
    assert f">+{count}<" in draw_tree(hierarchy, TreeChoice((node,), 1.0, closed=frozenset([node])), theme=LIGHT).svg
    item = next(
        element for element in ET.fromstring(folded.svg).iter() if element.get("data-id") == format_identity(node)
    )
    assert item.get("aria-expanded") == "false"
    assert item.get("aria-level") == "1"


def test_what_the_cap_leaves_out_stands_as_a_chip_with_its_number() -> None:
    hierarchy = make_hierarchy()
    choice = TreeChoice(roots(hierarchy), 0.5, cap=3)
    drawing = draw_tree(hierarchy, choice)
    for layer, more in drawing.more.items():
        assert f'data-layer="{layer}"' in drawing.svg
        assert f">{more} more<" in drawing.svg
    assert drawing.more


def test_layers_differ_by_border_as_well_as_by_colour() -> None:
    assert len({find_layer_border(layer) for layer in range(1, 7)}) == 6
    for theme in (LIGHT, LIVE):
        assert len({find_layer_colour(theme, layer) for layer in range(1, 7)}) == 6


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_of_the_file_are_read_on_their_ground() -> None:
    for ground in (LIGHT.paper, LIGHT.box):
        assert contrast(LIGHT.ink, ground) >= 7
        assert contrast(LIGHT.muted, ground) >= 4.5
        for colour in LIGHT.layers:
            assert contrast(colour, ground) >= 4.5


def test_topics_of_images_are_drawn_as_pictures() -> None:
    hierarchy = make_hierarchy((6, 3), n_words=20, image_shape=(4, 5))
    svg = draw_tree(hierarchy, TreeChoice(roots(hierarchy), 0.5), theme=LIGHT).svg
    pictures = re.findall(r'<image href="data:image/png;base64,', svg)
    assert len(pictures) == len(draw_tree(hierarchy, TreeChoice(roots(hierarchy), 0.5)).part.nodes)
    assert "word" not in svg
