"""Coherence of two runs beside each other."""

import re
from dataclasses import replace

import numpy as np
from topic_hierarchies import arrays, make_hierarchy
from topic_pairs import WIDTHS, changed, frame_of

from topiary.app.analysis.comparison import compare
from topiary.app.analysis.hierarchy import measure_coherence
from topiary.app.analysis.seeds import UNKNOWN_SPREAD
from topiary.app.views.compare.head import draw_coherence


def known(run, value, widths=WIDTHS):
    """A frame whose topics all have this NPMI."""
    npmi = {f"npmi.{layer}": np.full(width, value, np.float32) for layer, width in enumerate(widths)}
    return frame_of(arrays(widths) | npmi, run)


def seeds(gap):
    """What two seeds reach who differ by so much in every figure of coherence."""
    return UNKNOWN_SPREAD._replace(gaps=((gap, gap, gap),) * 3)


def rows(text):
    return [
        [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", text)
    ][2:]


def test_a_line_of_each_layer_has_the_figures_of_both_runs():
    a, b = known(7, 0.25), known(8, -0.5)
    table = draw_coherence(compare(a, b), seeds(0.7))
    diverse = [f"{layer.diversity:.3f}" for layer in measure_coherence(a)]
    assert rows(table) == [
        [f"Layer {layer}", "0.250", "−0.500", "0.250", "−0.500", diverse[layer - 1], diverse[layer - 1]]
        for layer in (3, 2, 1)
    ]
    assert table.count("<b>0.250</b>") == 6  # the better of two is bold, and neither of two that are equal
    assert table.count("<b>") == 6
    assert table.count("two seeds of one model differ by up to 0.700") == 18


def test_a_figure_is_better_only_by_more_than_two_seeds_differ():
    comparison = compare(known(7, 0.25), known(8, -0.5))
    assert "<b>" not in draw_coherence(comparison, seeds(0.8))
    alone = draw_coherence(comparison)
    assert "<b>" not in alone
    assert "second seed" not in alone


def test_a_side_that_does_not_know_its_coherence_has_dashes():
    old = frame_of(arrays(WIDTHS), 7)
    assert rows(draw_coherence(compare(old, known(8, 0.1))))[0][:3] == ["Layer 3", "–", "0.100"]


def test_layers_of_one_run_only_have_a_line_too():
    table = draw_coherence(compare(known(7, 0.25), known(8, 0.5, (24, 12))))
    assert rows(table)[0][:3] == ["Layer 3", "0.250", "–"]


def test_without_coherence_on_either_side_there_is_nothing():
    assert draw_coherence(changed()) == ""
    assert draw_coherence(compare(make_hierarchy(), make_hierarchy())) == ""


def test_figures_of_two_corpora_are_said_not_to_compare():
    a, b = known(7, 0.25), known(8, 0.5)
    assert "do not compare" not in draw_coherence(compare(a, b))
    assert "do not compare" in draw_coherence(compare(a, replace(b, corpus="other")))
