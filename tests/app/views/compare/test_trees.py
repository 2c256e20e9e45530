"""Two hierarchies with edges of either sign side by side."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from topic_hierarchies import NASTY, arrays, signed_hierarchy
from topic_pairs import WIDTHS, changed, frame_of, opinionated, reword

from topiary.app.analysis.comparison import (
    KINDS,
    Comparison,
    compare,
    count_kinds,
    find_edge_changes,
    measure_agreement,
)
from topiary.app.views.compare.table import compute_edge_change_key, draw_edge_legend
from topiary.app.views.compare.trees import (
    ComparePicture,
    choose_edge_colour,
    choose_first_cut,
    draw_compare_picture,
    draw_trees,
)
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.boxes import find_class, find_class_overlay


@pytest.fixture(scope="module")
def same():
    return compare(signed_hierarchy(), signed_hierarchy())


def test_a_hierarchy_is_like_itself_whatever_the_signs(same):
    changes = find_edge_changes(same, 1.0)
    assert {change.kind for change in changes} == {"same"}
    assert {change.a.weight < 0 for change in changes} == {True, False}
    assert measure_agreement(same, changes).correlation == pytest.approx(1.0)
    assert measure_agreement(same, changes).edges == 1.0


def test_trees_of_both_are_drawn(same):
    changes = find_edge_changes(same, 1.0)
    drawn = draw_trees(same, changes, choose_first_cut(same, 1.0, 40), aspect=1.0)
    assert all("<svg" in svg for svg in (drawn.a, drawn.b))
    assert sorted(changes, key=compute_edge_change_key)


def test_the_sign_of_an_edge_is_seen_in_the_picture_whatever_became_of_it(same):
    changes = find_edge_changes(same, 1.0)
    drawn = draw_trees(same, changes, choose_first_cut(same, 1.0, 40), aspect=1.0)
    lowered = [change for change in drawn.changes if change.b.weight < 0]
    assert 0 < len(lowered) < len(drawn.changes)
    assert drawn.a.count("tp-hem") == drawn.b.count("tp-hem") == len(lowered)
    assert "Makes rarer" in draw_edge_legend(drawn.changes, changes)
    raised = [change for change in drawn.changes if change.b.weight > 0]
    assert "Makes rarer" not in draw_edge_legend(raised, changes)
    (first,) = re.findall(r"<path[^>]*tp-hem[^>]*>", drawn.b)[:1]
    assert 'stroke="var(--tp-lowers)"' in first
    assert "stroke-dasharray" in first


def test_an_edge_that_turned_round_is_lost_and_gained(same):
    other = signed_hierarchy()
    turned = compare(other, signed_hierarchy(turned=True))
    edges = [edge for edge in other.edges(1.0) if edge.layer == 2]
    kinds = [change.kind for change in find_edge_changes(turned, 1.0) if (change.a or change.b).layer == 2]
    matched = {pair.a for pair in turned.pairs if pair.paired}
    assert all(np.isfinite(edge.weight) for edge in edges)
    assert any(edge.above in matched and edge.below in matched for edge in edges)
    assert "lost" in kinds
    assert "gained" in kinds


SVG = "{http://www.w3.org/2000/svg}"
THRESHOLD = 1.0


@pytest.fixture
def comparison() -> Comparison:
    return changed()


def drawn(comparison: Comparison, label: int = 0, **more) -> ComparePicture:
    cut = choose_first_cut(comparison, THRESHOLD, 40)._replace(label=label)
    return draw_compare_picture(comparison, find_edge_changes(comparison, THRESHOLD), cut, **more)


def strokes(half: ET.Element) -> list[str | None]:
    return [path.get("stroke") for path in half.iter(f"{SVG}path") if path.get("stroke")]


def test_the_file_has_both_trees_beside_each_other_and_needs_no_style_sheet(comparison: Comparison) -> None:
    picture = drawn(comparison)
    root = ET.fromstring(picture.svg)
    halves = list(root.iter(f"{SVG}svg"))[1:]
    assert len(halves) == 2
    assert "var(" not in picture.svg
    assert 'class="tp-node' not in picture.svg
    places = [group.get("transform", "") for group in root.findall(f"{SVG}g[@transform]")]
    lefts = [float(place.partition("(")[2].split()[0]) for place in places]
    widths = [float(half.get("width", 0)) for half in halves]
    assert widths[0] == widths[1] <= lefts[1] - lefts[0]
    assert lefts[1] + widths[1] <= picture.width == pytest.approx(float(root.get("width", 0)), abs=1)
    below = max(float(half.get("height", 0)) for half in halves) + 40
    assert all(float(text.get("y", 0)) > below for text in root.findall(f"{SVG}g/{SVG}text"))


def test_edges_have_the_colour_of_what_became_of_them_and_the_legend_counts_them(comparison: Comparison) -> None:
    picture = drawn(comparison)
    root = ET.fromstring(picture.svg)
    a, b = list(root.iter(f"{SVG}svg"))[1:]
    cut = choose_first_cut(comparison, THRESHOLD, 40)
    live = draw_trees(comparison, find_edge_changes(comparison, THRESHOLD), cut)
    counts = count_kinds(live.changes)
    gained, lost = (choose_edge_colour(LIGHT, kind) for kind in ("gained", "lost"))
    assert counts["gained"] > 0 < counts["lost"]
    assert (strokes(a).count(gained), strokes(b).count(gained)) == (0, counts["gained"])
    assert (strokes(a).count(lost), strokes(b).count(lost)) == (counts["lost"], 0)
    legend = " ".join(text.text or "" for text in root.findall(f"{SVG}g/{SVG}text"))
    assert [int(each) for each in re.findall(r"\((\d+)\)", legend)] == [counts[kind] for kind in KINDS]
    samples = [line.get("stroke") for line in root.iter(f"{SVG}line")]
    assert samples == [choose_edge_colour(LIGHT, kind) for kind in KINDS]


def test_words_that_left_are_struck_through_in_a_and_words_that_entered_underlined_in_b() -> None:
    comparison = reword()
    root = ET.fromstring(drawn(comparison).svg)
    a, b = list(root.iter(f"{SVG}svg"))[1:]
    changes = [comparison.words(pair) for pair in comparison.pairs]
    for half, line, words in (
        (a, "line-through", {word for change in changes for word in change.left}),
        (b, "underline", {word for change in changes for word in change.entered}),
    ):
        marked = [span for span in half.iter(f"{SVG}tspan") if span.get("text-decoration")]
        assert marked
        assert {span.get("text-decoration") for span in marked} == {line}
        assert {span.text for span in marked} <= {word.replace("\x07", "\ufffd") for word in words}


def test_two_runs_without_a_change_mark_nothing() -> None:
    made = arrays(WIDTHS)
    root = ET.fromstring(drawn(compare(frame_of(made, 7), frame_of(made, 8))).svg)
    assert not [span for span in root.iter(f"{SVG}tspan") if span.get("text-decoration")]
    for half in list(root.iter(f"{SVG}svg"))[1:]:
        assert set(strokes(half)) == {choose_edge_colour(LIGHT, "same")}


def test_words_that_look_like_markup_are_text_in_the_file() -> None:
    labels = {(1, 1): NASTY[0], (3, 1): NASTY[0]}
    a, b = frame_of(arrays(WIDTHS), 7, labels=labels), frame_of(arrays(WIDTHS, seed=2), 8, labels=labels)
    assert "<script" not in drawn(compare(a, b)).svg


def tints(half: ET.Element) -> list[tuple[str | None, str | None]]:
    return [
        (each.get("fill"), each.get("opacity")) for each in half.iter(f"{SVG}rect") if each.get("class") == "tp-tint"
    ]


def test_topics_are_tinted_by_their_weights_for_the_class_and_the_legend_says_which() -> None:
    comparison = opinionated((), ("space", "<b>sport</b>"))
    root = ET.fromstring(drawn(comparison, label=2).svg)
    a, b = list(root.iter(f"{SVG}svg"))[1:]
    opinion = find_class_overlay(comparison.b, 2)
    assert opinion is not None
    shown = [node for layer in (3, 2, 1) for node in comparison.b.nodes(layer)]
    known = {
        (LIGHT.speaks if opinion.part(node) > 0 else LIGHT.denies, f"{0.36 * abs(opinion.part(node)):.3f}")
        for node in shown
    }
    assert tints(a) == []
    assert len(tints(b)) > 8
    assert set(tints(b)) <= known
    legend = root.find(f"{SVG}g[@data-legend='class']")
    assert legend is not None
    assert [text.text for text in legend.iter(f"{SVG}text")] == [
        "speaks for <b>sport</b>",
        "speaks against <b>sport</b>",
    ]
    assert [swatch.get("fill") for swatch in legend.iter(f"{SVG}rect")] == [LIGHT.speaks, LIGHT.denies]
    captions = [text.text or "" for text in root.findall(f"{SVG}text")]
    assert ["weight for <b>sport</b>" in text for text in captions if "seed" in text] == [False, True]


def test_without_a_class_nothing_is_tinted_and_the_legend_is_silent() -> None:
    svg = drawn(opinionated(("space", "sport"), ("space", "sport"))).svg
    assert "tp-tint" not in svg
    assert "speaks" not in svg


def test_a_class_is_the_same_on_both_sides_by_its_name_not_by_its_number() -> None:
    comparison = opinionated(("sport", "space", "law"), ("space", "sport", "medicine"))
    for label, found in ((1, 2), (2, 1), (3, 0)):
        a, _ = list(ET.fromstring(drawn(comparison, label=label).svg).iter(f"{SVG}svg"))[1:]
        opinion = find_class_overlay(comparison.a, found)
        nodes = [node for layer in (3, 2, 1) for node in comparison.a.nodes(layer)]
        known = {f"{0.36 * abs(opinion.part(node)):.3f}" for node in nodes} if opinion else set()
        assert {opacity for _, opacity in tints(a)} <= known
        assert bool(tints(a)) == bool(opinion)


def test_a_class_is_found_by_its_name_and_one_that_is_not_there_is_answered_with_those_that_are() -> None:
    assert find_class(("Space", "sport"), "sport") == 2
    assert find_class(("Space", "sport"), "space") == 1
    assert find_class(("Space", "space"), "space") == 2
    with pytest.raises(LookupError, match="no class 'SPACE'; the classes are Space, space"):
        find_class(("Space", "space"), "SPACE")
    with pytest.raises(LookupError, match="no topic speaks for a class"):
        find_class((), "space")
