"""The classes page says every number, escapes every word, and follows the class looked at."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest
from numbers_traced import untraced
from topic_hierarchies import CLASSES, arrays, hierarchy_with_classes, vocabulary

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.predictions import Classified, Misled
from topiary.app.analysis.read_hierarchy import build_hierarchy
from topiary.app.names import format_signed
from topiary.app.views.classes.class_report import (
    ClassReport,
    blend_colour,
    choose_ink,
    draw_class_report,
    draw_heat_table,
    draw_no_classes,
)
from topiary.app.views.explore.detail import draw_topic
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.boxes import find_class_overlay
from topiary.app.views.tree.opening import choose_first_roots, find_opening_threshold
from topiary.app.views.tree.picture import TreeChoice, draw_tree
from topiary.engine.hierarchy.class_scores import score_predictions
from topiary.engine.hierarchy.tree import Node


@pytest.fixture
def hierarchy() -> Hierarchy:
    return hierarchy_with_classes()


@pytest.fixture
def report(hierarchy: Hierarchy) -> ClassReport:
    probabilities = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    labels = np.array([0, 1, 1, 2])
    found = Classified(
        run=7,
        snapshot=3,
        minibatch=700,
        names=CLASSES,
        train_counts=np.array([30, 10, 20]),
        test_counts=np.array([1, 2, 1]),
        documents=np.array([4, 5, 6, 7]),
        labels=labels,
        probabilities=probabilities,
        scores=score_predictions(probabilities, labels),
        carried=(0.7, 0.2, 0.1),
        misled=(Misled(5, 1, 0, 0.7, (Node(3, 0), Node(2, 1), Node(1, 2)), 0.4),),
    )
    return ClassReport(found, hierarchy, {5: "a <i>title</i>"}, 0, 0.5, 0)


def test_the_page_says_what_the_scores_are(report: ClassReport) -> None:
    text = draw_class_report(report)
    for said in (
        "25.00%",
        "75.00% by always choosing space, the most common in training",
        "700",
        "4 labelled test documents",
        "3.0 to 1",
    ):
        assert said in text
    assert f"{report.result.scores.macro_f1:.3f}" in text
    assert f"{report.result.scores.ece:.2%}" in text


def without_tests(report: ClassReport, probabilities: list[list[float]]) -> str:
    """The page where no test document is of the last class."""
    labels, given = np.array([0, 1]), np.array(probabilities)
    found = dataclasses.replace(
        report.result,
        labels=labels,
        scores=score_predictions(given, labels),
        test_counts=np.array([1, 1, 0]),
        misled=(),
    )
    return draw_class_report(report._replace(result=found))


def test_a_class_without_test_documents_is_no_failure(report: ClassReport) -> None:
    text = without_tests(report, [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    assert re.search(r"<td[^>]*>0</td><td", text)
    assert "– no test documents</td></tr>" in text
    assert ">0.000</td>" not in text
    assert "of 2 of 3 classes; the others have no test documents" in text
    assert "average over all classes" in draw_class_report(report)


def test_a_class_wrongly_predicted_has_no_recall_without_test_documents(report: ClassReport) -> None:
    text = without_tests(report, [[0.9, 0.1, 0.0], [0.2, 0.1, 0.7]])
    assert re.findall(r"<td[^>]*>([^<]*)</td>", text[: text.index("</table>")])[-4:] == ["0", "0.000", "–", "0.000"]
    assert "average over all classes" in text


def test_without_labels_for_training_no_class_is_the_commonest(report: ClassReport) -> None:
    text = draw_class_report(
        report._replace(result=dataclasses.replace(report.result, train_counts=np.zeros(3, np.int64)))
    )
    assert "no training document has a label" in text
    assert "commonest in training (choose" not in text


def test_what_is_not_certain_is_not_written_as_100_percent(report: ClassReport) -> None:
    sure = dataclasses.replace(
        report.result, misled=(report.result.misled[0]._replace(probability=0.9999, share=0.997),)
    )
    assert "&gt;99.9% sure · 99.7% of it" in draw_class_report(report._replace(result=sure))


def test_names_and_titles_that_look_like_markup_are_text(report: ClassReport) -> None:
    text = draw_class_report(report)
    assert "<b>sport</b>" not in text
    assert "<i>title</i>" not in text
    assert "&lt;b&gt;sport&lt;/b&gt;" in text


def test_a_wrong_prediction_is_listed_under_its_path(report: ClassReport) -> None:
    text = draw_class_report(report)
    group = text[text.index('class="cl-misled"') :]
    assert re.findall(r'data-id="(L\d+:\d+)"', group[: group.index("<ul>")]) == ["L3:1", "L2:2", "L1:3"]
    assert "70% sure" in group


def test_a_class_without_mistakes_has_none_listed(report: ClassReport) -> None:
    assert 'class="cl-misled"' not in draw_class_report(report._replace(label=3))
    assert 'class="cl-misled"' in draw_class_report(report._replace(label=2))


def test_paths_that_speak_for_a_class_begin_with_the_most_telling(report: ClassReport) -> None:
    text = draw_class_report(report._replace(label=2))
    part = text[text.index('class="cl-paths"') : text.index("Show on the tree")]
    values = [float(number.replace("−", "-")) for number in re.findall(r"<b[^>]*>([+−][\d.]+)</b></li>", part)]
    assert len(values) > 1
    assert values == sorted(values, reverse=True)
    unchosen = draw_class_report(report)
    assert "For space, the commonest in training (choose another above)" in unchosen
    assert 'class="cl-paths"' in unchosen


def test_paths_that_speak_against_a_class_are_not_listed_among_those_that_speak_for_it(report: ClassReport) -> None:
    layers = tuple(np.full_like(weights, -0.1) for weights in report.hierarchy.class_weights)
    against = dataclasses.replace(report.hierarchy, class_weights=layers)
    text = draw_class_report(report._replace(hierarchy=against, label=2))
    assert 'class="cl-paths"' not in text
    assert "speaks for &lt;b&gt;sport&lt;/b&gt;: none has weights above 0 together." in text
    assert "Show on the tree" in text
    mixed = dataclasses.replace(report.hierarchy, class_weights=(*layers[:-1], np.eye(*layers[-1].shape)))
    text = draw_class_report(report._replace(hierarchy=mixed, label=2))
    part = text[text.index('class="cl-paths"') : text.index("Show on the tree")]
    assert "−" not in part
    assert ">+0.80</b></li>" in part


def test_where_no_path_is_above_the_threshold_the_one_that_opens_is_offered(report: ClassReport) -> None:
    text = draw_class_report(report._replace(threshold=1000.0, label=2))
    assert "No path from the top to layer 1 is above τ = 1000." in text
    (value,) = re.findall(r'data-do="threshold" data-value="([\d.]+)"', text)
    assert float(value) == find_opening_threshold(report.hierarchy)
    assert 'class="cl-paths"' in draw_class_report(report._replace(threshold=float(value), label=2))


def test_a_run_without_classes_says_what_to_do_about_it() -> None:
    sentence = "Run 1 learns <topics> without labels."
    offered = draw_no_classes(sentence, "model")
    assert 'data-do="supervise"' in offered
    assert "Run 1 learns &lt;topics&gt; without labels." in offered
    needed = draw_no_classes(sentence, "labels")
    assert 'data-do="supervise"' not in needed
    assert "a folder for each class" in needed
    assert "<button" not in draw_no_classes(sentence, "")


def test_weights_that_no_topic_has_leave_layers_and_paths_unsaid(report: ClassReport) -> None:
    plain = dataclasses.replace(report.hierarchy, classes=(), class_weights=())
    text = draw_class_report(report._replace(hierarchy=plain, result=dataclasses.replace(report.result, carried=())))
    assert "gives no topic a weight of its own" in text
    assert "cl-paths" not in text


def test_a_newer_snapshot_is_offered(report: ClassReport) -> None:
    assert 'data-do="update"' in draw_class_report(report._replace(newest=900))
    assert 'data-do="update"' not in draw_class_report(report)


def test_too_many_classes_for_a_heat_map_give_the_most_frequent_mistakes(report: ClassReport) -> None:
    many = 30
    probabilities = np.full((3, many), 0.01)
    probabilities[:, 4] = 0.71
    labels = np.array([4, 7, 7])
    counts = np.ones(many, dtype=int)
    found = dataclasses.replace(
        report.result,
        names=tuple(f"class {k}" for k in range(many)),
        scores=score_predictions(probabilities, labels),
        train_counts=counts,
        test_counts=counts,
        misled=(),
    )
    text = draw_class_report(report._replace(result=found))
    assert "cl-heat" not in text
    assert ">2</b> class 7 taken for class 4" in text


def test_every_number_of_a_heat_map_is_read_on_its_colour() -> None:
    def luminance(shade: str) -> float:
        channels = [int(shade[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for side in (False, True):
        ground = [luminance(blend_colour(part, dark=side)) for part in np.linspace(0, 1, 101)]
        for part, own in zip(np.linspace(0, 1, 101), ground, strict=True):
            light, dark = sorted((own, luminance(choose_ink(part, dark=side))), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 4.5, part
        assert sorted(ground, reverse=not side) == ground  # more is darker, on the dark side brighter


def test_a_cell_with_more_of_its_row_stands_out_more() -> None:
    text = draw_heat_table(("a", "b"), [[9, 1], [2, 2]], "true", SimpleNamespace(run=7, moment="mini-batch 700"))
    grounds = re.findall(r"background:light-dark\((#\w+),(#\w+)\)", text)
    assert grounds[0] == (blend_colour(0.9), blend_colour(0.9, dark=True))
    assert grounds[1] == (blend_colour(0.1), blend_colour(0.1, dark=True))
    assert blend_colour(0.9) < blend_colour(0.1)
    assert blend_colour(0.9, dark=True) > blend_colour(0.1, dark=True)


def test_a_heat_map_has_a_cell_for_every_pair() -> None:
    text = draw_heat_table(("a", "b"), [[3, 1], [0, 2]], "true", SimpleNamespace(run=7, moment="mini-batch 700"))
    assert re.findall(r"<td[^>]*>([^<]*)</td>", text) == ["3", "1", "·", "2"]
    assert "a taken for b: 1 test document (25.0% of the row)" in text


def test_the_tree_shows_the_weight_for_a_class_on_every_topic(hierarchy: Hierarchy) -> None:
    roots = choose_first_roots(hierarchy, 5.0)
    plain, shown = (draw_tree(hierarchy, TreeChoice(roots, 1.0, label=label)) for label in (0, 2))
    assert plain.svg.count("tp-opinion") == 0
    assert shown.svg.count('class="tp-opinion"') == len(shown.part.nodes)
    weight = hierarchy.class_weights[2][1, roots[0].column]
    assert f">{format_signed(float(weight))}</text>" in shown.svg
    assert "&lt;b&gt;sport&lt;/b&gt;" in shown.svg
    paper = draw_tree(hierarchy, TreeChoice(roots, 1.0, label=2), theme=LIGHT).svg
    assert "var(--" not in paper
    assert "colour: weight for" in paper


def test_the_number_of_a_class_covers_no_word_of_its_box(hierarchy: Hierarchy) -> None:
    svg = ET.fromstring(draw_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(3)), 0.0, label=2)).svg)
    nodes = [each for each in svg.iter() if each.get("role") == "treeitem"]
    for each in nodes:
        tab = next(part for part in each if part.get("class") == "tp-opinion")
        foot = float(re.findall(r"-?[\d.]+", tab.get("transform", ""))[1]) + float(tab[0].get("height", "0"))
        written = next(part for part in each if part.get("class") == "tp-words")
        lines = [part for part in written.iter() if part.get("y") and part.tag.endswith(("text", "tspan"))]
        highest = min(float(part.get("y", "0")) - 0.75 * float(part.get("font-size", "9")) for part in lines)
        assert foot <= highest
    assert nodes


def test_the_largest_weight_of_all_is_the_measure_of_every_tint(hierarchy: Hierarchy) -> None:
    parts = []
    for label in (1, 2, 3):
        overlay = find_class_overlay(hierarchy, label)
        assert overlay is not None
        parts += [overlay.part(Node(layer, k)) for layer in (1, 2, 3) for k in range(hierarchy.widths[layer - 1])]
    assert max(map(abs, parts)) == pytest.approx(1.0)
    assert find_class_overlay(hierarchy, 0) is None
    assert find_class_overlay(hierarchy, 4) is None


def test_a_topic_says_for_which_classes_it_speaks(hierarchy: Hierarchy) -> None:
    text = draw_topic(hierarchy, Node(2, 3), 1.0, [])
    part = text[text.index("<h3>Classes") : text.index("Documents that use it most")]
    shown = [float(number.replace("−", "-")) for number in re.findall(r"<small[^>]*>([+−][\d.]+)</small>", part)]
    np.testing.assert_allclose(shown, sorted(hierarchy.class_weights[1][:, 3], reverse=True), atol=0.006)


def test_weights_for_other_classes_than_the_corpus_has_are_left_out() -> None:
    made = arrays() | {"model.class_weights.0": np.ones((2, 24))}
    run, snapshot = (
        SimpleNamespace(number=7, seed=5, corpus_name="news", family=7),
        SimpleNamespace(number=3, minibatch=700),
    )
    hierarchy = build_hierarchy(made, vocabulary(60), {}, run, snapshot, classes=CLASSES)
    assert (hierarchy.classes, hierarchy.class_weights) == ((), ())


def test_a_topic_that_speaks_for_the_class_is_orange_and_one_against_it_blue(hierarchy: Hierarchy) -> None:
    drawing = draw_tree(hierarchy, TreeChoice(choose_first_roots(hierarchy, 5.0), 1.0, label=2))
    tints = re.findall(r'class="tp-tint" rx="7" fill="var\(--tp-(\w+)\)"', drawing.svg)
    nodes = list(drawing.layout.places)
    assert tints == ["speaks" if hierarchy.opinion(node, 1) > 0 else "denies" for node in nodes]
    assert {"speaks", "denies"} == set(tints)


@pytest.mark.parametrize("label", [0, 2])
def test_every_number_says_what_it_is_and_of_which_snapshot(report: ClassReport, label: int) -> None:
    text = draw_class_report(report._replace(label=label))
    seen, silent = untraced(text)
    assert seen > 40
    assert silent == []
    for name in (
        "Macro-F1",
        "predicted as this class, the",
        "of this class, the part",
        "Mean probability",
        "taken for",
    ):
        if name in text:
            place = text.index(name)
            assert "Run 7, snapshot of mini-batch 700." in text[max(0, place - 250) : place + 300], name


def test_the_most_frequent_mistakes_of_many_classes_say_what_they_count(report: ClassReport) -> None:
    names = tuple(f"class {place}" for place in range(30))
    probabilities = np.full((4, 30), 0.01)
    probabilities[:, 1] = 0.71
    labels = np.array([0, 0, 1, 2])
    counts = np.ones(30, np.int64)
    found = dataclasses.replace(
        report.result, names=names, labels=labels, probabilities=probabilities, train_counts=counts, test_counts=counts,
        scores=score_predictions(probabilities, labels), misled=(),
    )  # fmt: skip
    text = draw_class_report(report._replace(result=found))
    assert "2</b> class 0 taken for class 1" in text
    assert untraced(text[text.index('class="cl-pairs"') :])[1] == []
