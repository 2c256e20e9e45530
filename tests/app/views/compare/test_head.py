"""The top of Compare: the coherence of two runs beside each other, and the first sentence.

That says what distinguishes the runs, what came of it, and the largest changes.
"""

import html
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from topic_hierarchies import NASTY, arrays, make_hierarchy
from topic_pairs import WIDTHS, changed, frame_of, opinionated, reword, same

from topiary.app.analysis.comparison import compare
from topiary.app.analysis.hierarchy import format_identity, measure_coherence
from topiary.app.analysis.seeds import UNKNOWN_SPREAD
from topiary.app.views.compare.head import (
    TOPICS,
    LeadFacts,
    choose_largest,
    describe_yardsticks,
    draw_coherence,
    draw_lead,
    draw_pair,
    draw_strip,
    find_opening,
)
from topiary.app.views.compare.labels import LabelAccuracy
from topiary.app.views.compare.trees import find_overlay


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


def run(number=7, **more):
    fields = {
        "number": number, "corpus_name": "news", "model": "dlda", "inference": "tlasgr", "layers": (24, 12, 6),
        "settings": {"eta": 0.05, "layers": [24, 12, 6]}, "options": {"sweeps_after": 0}, "seed": 1, "parent": None,
        "minibatch": 700,
    }  # fmt: skip
    return SimpleNamespace(**(fields | more))


def perplexities(a, b):
    estimate = SimpleNamespace(lower_is_better=True, name="point perplexity")
    return SimpleNamespace(
        a=SimpleNamespace(value=a, figure=f"{a:.1f}", **vars(estimate)),
        b=SimpleNamespace(value=b, figure=f"{b:.1f}", **vars(estimate)),
        gap=None,
    )


def say(comparison, a=None, b=None, **more):
    facts = LeadFacts(comparison, a or run(), b or run(8), **more)
    return html.unescape(re.sub("<[^>]+>", "", draw_lead(facts)))


def test_with_labels_it_says_what_they_bought_and_cost():
    comparison = opinionated((), ("space", "sport"))
    accuracy = LabelAccuracy(0.961, "test", 0.2)
    told = say(comparison, run(model="datm"), run(8, model="sdatm"), accuracies=(None, accuracy),
               estimates=perplexities(800.0, 816.0))  # fmt: skip
    assert (
        told
        == "With labels the topics name the right label for 96% of test documents; point perplexity is 2.0% higher."
    )
    told = say(opinionated(("x", "y"), ()), accuracies=(accuracy, None), estimates=perplexities(800.0, 784.0))
    assert told == (
        "Without labels B names none, where A names the right one for 96% of test documents; "
        "point perplexity is 2.0% lower."
    )
    both = opinionated(("space", "sport"), ("space", "sport"))
    told = say(both, b=run(8, seed=2), accuracies=(LabelAccuracy(0.93, "test"), accuracy))
    assert told == "With another seed the topics name the right label for 96% of test documents, A for 93%."
    facts = LeadFacts(both, run(), run(8), (None, accuracy), perplexities(800.0, 816.0))
    assert describe_yardsticks(facts) == ["The commonest class alone: 20%", "point perplexity 800.0 in A, 816.0 in B"]


@pytest.mark.parametrize(
    ("different", "opening"),
    [
        ({"corpus_name": "bbc"}, "On bbc instead of news"),
        ({"model": "datm"}, "With DATM instead of DLDA"),
        ({"layers": (48, 24)}, "With 48-24 topics instead of 24-12-6"),
        ({"inference": "gibbs"}, "With Gibbs sampling instead of TLASGR-MCMC"),
        ({"settings": {"eta": 0.2}}, "With Topic smoothing eta 0.2 instead of 0.05"),
        ({"settings": {"eta": 0.2, "gamma0": 2}}, "With other settings"),
        ({"seed": 4}, "With another seed"),
        ({"parent": 7}, "After 700 more sweeps"),
        ({}, "In run 8"),
    ],
)
def test_the_opening_is_what_distinguishes_the_runs(different, opening):
    assert find_opening(LeadFacts(changed(), run(), run(8, **different))) == opening


def test_two_moments_of_a_run_are_told_in_their_order():
    made = arrays(WIDTHS)
    early, late = frame_of(made, 7), replace(frame_of(made, 7), snapshot=9, minibatch=900)
    facts = LeadFacts(compare(early, late), run(), run())
    assert ">From sweep 700 to 900 all 42 topics stay.</p>" in draw_lead(facts)
    assert find_opening(facts._replace(comparison=compare(late, early))) == "From sweep 900 back to 700"


def test_names_are_text():
    facts = LeadFacts(changed(), run(), run(8, corpus_name="<script>"))
    assert "<script" not in draw_lead(facts)


def list_cells(page):
    """Return the halves of the cards: those of A, and those of B."""
    halves = [re.findall(r'<span class="cm-half".*?(?=<span class="cm-alike"|</button>)', card)
              for card in re.findall(r"<li>.*?</li>", page)]  # fmt: skip
    return [list(each) for each in zip(*halves, strict=True)]


def test_the_largest_of_a_stand_above_their_nearest_partners():
    comparison = changed()
    pairs = choose_largest(comparison)
    assert [pair.a for pair in pairs] == comparison.a.nodes(1)[:TOPICS]
    page = draw_strip(comparison, 0)
    for pair, below in zip(pairs, list_cells(page)[1], strict=True):
        text = f"{100 * pair.score:.0f}% alike" if pair.paired else "no partner"
        assert (format_identity(pair.b) if pair.b else "no partner") in below
        assert text in page
    assert "became" not in page
    assert re.search(r"layer 1 · (all \d+|\d+ of \d+) are paired, half of them under \d+% alike", page)


def test_topics_that_were_edited_have_a_mark_that_says_how_on_their_side_alone():
    comparison = same()[0]
    largest = choose_largest(comparison)[0]
    edited = replace(comparison, b=replace(comparison.b, edited={largest.b: "keep <i>; pin"}))
    above, below = list_cells(draw_strip(edited, 0))
    assert "✎" not in "".join([*above, *below[1:]])
    assert 'title="Edited by hand: keep &lt;i&gt;; pin"' in below[0]
    assert "✎" in draw_pair(edited, largest, one_run=False)


def test_runs_with_the_same_topics_have_no_mark():
    page = draw_strip(same()[0], 0)
    assert [len(row) for row in list_cells(page)] == [TOPICS, TOPICS]
    assert page.count("<ins>") == page.count("<del>") == 1  # of the legend


def test_words_that_differ_are_marked_on_their_side_alone():
    comparison = reword()
    above, below = list_cells(draw_strip(comparison, 0))
    marked = 0
    for pair, first, second in zip(choose_largest(comparison), above, below, strict=True):
        change = comparison.words(pair)
        assert set(re.findall("<del>(.*?)</del>", first)) <= set(change.left)
        assert set(re.findall("<ins>(.*?)</ins>", second)) <= set(change.entered)
        assert "<ins>" not in first
        assert "<del>" not in second
        marked += len(re.findall("<ins>", second))
    assert marked


def test_topics_are_tinted_by_the_class_on_the_side_that_has_it():
    comparison = opinionated((), ("space", "sport"))
    above, below = list_cells(draw_strip(comparison, 2))
    assert "color-mix" not in "".join(above)
    for pair, cell in zip(choose_largest(comparison), below, strict=True):
        if pair.b is not None:
            speaks = find_overlay(comparison, "b", 2).weight(pair.b) > 0
            assert f"--tp-{'speaks' if speaks else 'denies'}" in cell
            opinions = [comparison.b.opinion(pair.b, label) for label in (0, 1)]
            assert f">{('space', 'sport')[int(np.argmax(opinions))]}</em>" in cell
    assert "speaks for sport" in draw_strip(comparison, 2)
    assert "speaks for" not in draw_strip(changed(), 0)


def test_the_chosen_pair_is_pressed_and_words_are_text():
    labels = {(1, number): NASTY[0] for number in range(1, 25)}
    comparison = compare(frame_of(arrays(WIDTHS), 7, labels=labels), frame_of(arrays(WIDTHS), 8))
    page = draw_strip(comparison, 0, choose_largest(comparison)[1])
    assert page.count('aria-pressed="true"') == 1
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_topics_that_are_pictures_are_drawn():
    hierarchy = make_hierarchy(image_shape=(6, 10))
    page = draw_strip(compare(hierarchy, replace(hierarchy, run=8)), 0)
    assert page.count("<img") == 2 * TOPICS
