"""The first sentence of Compare: what distinguishes the runs, what came of it, and the largest changes."""

import html
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from topic_hierarchies import arrays
from topic_pairs import WIDTHS, changed, frame_of, opinionated

from topiary.app.analysis.comparison import compare
from topiary.app.views.compare.labels import LabelAccuracy
from topiary.app.views.compare.lead import LeadFacts, describe_yardsticks, draw_lead, find_opening


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
    assert told == "Without labels the topics name no labels, A the right one for 96%; point perplexity is 2.0% lower."
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
