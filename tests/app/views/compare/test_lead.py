"""The first sentence of Compare: what distinguishes the runs, what came of it, and the largest changes."""

import html
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from topic_hierarchies import arrays
from topic_pairs import WIDTHS, changed, frame_of, opinionated, reword, same

from topiary.app.analysis.comparison import compare, find_edge_changes
from topiary.app.views.compare.labels import LabelAccuracy
from topiary.app.views.compare.lead import LeadFacts, describe_lines, draw_lead, find_largest_change, find_opening


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
        a=SimpleNamespace(value=a, **vars(estimate)), b=SimpleNamespace(value=b, **vars(estimate)), gap=None
    )


def say(comparison, a=None, b=None, **more):
    facts = LeadFacts(comparison, find_edge_changes(comparison, 1.0), a or run(), b or run(8), **more)
    return html.unescape(re.sub("<[^>]+>", "", draw_lead(facts)))


def test_with_labels_it_says_what_they_bought_and_cost():
    comparison = opinionated((), ("space", "sport"))
    accuracy = LabelAccuracy(0.961, "test", 0.2)
    told = say(comparison, run(model="datm"), run(8, model="sdatm"), accuracies=(None, accuracy),
               estimates=perplexities(800.0, 816.0))  # fmt: skip
    assert told.startswith(
        "With labels the topics predict 96% of the test labels correctly, at 2% more point perplexity; "
    )
    told = say(opinionated(("x", "y"), ()), accuracies=(accuracy, None), estimates=perplexities(800.0, 784.0))
    assert told.startswith(
        "Without labels the topics predict no labels, those of A 96% correctly, at 2% less point perplexity"
    )
    both = opinionated(("space", "sport"), ("space", "sport"))
    told = say(both, b=run(8, seed=2), accuracies=(LabelAccuracy(0.93, "test"), accuracy))
    assert told.startswith("With another seed the topics predict 96% of the test labels correctly, those of A 93%")


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
    assert find_opening(LeadFacts(changed(), [], run(), run(8, **different))) == opening


def test_two_moments_of_a_run_are_told_in_their_order():
    made = arrays(WIDTHS)
    early, late = frame_of(made, 7), replace(frame_of(made, 7), snapshot=9, minibatch=900)
    facts = LeadFacts(compare(early, late), [], run(), run())
    assert ">From sweep 700 to 900 all 42 topics stay.</p>" in draw_lead(facts)
    assert find_opening(facts._replace(comparison=compare(late, early))) == "From sweep 900 back to 700"


def test_it_names_the_topic_that_changed_most_and_only_if_its_title_did():
    assert find_largest_change(same()[0]) is None
    comparison = reword()
    pair = find_largest_change(comparison)
    assert pair is not None
    before, now = comparison.a.title_words(pair.a)[:2], comparison.b.title_words(pair.b)[:2]
    assert not set(before) & set(now)
    titles = comparison.a.title(pair.a), comparison.b.title(pair.b)
    alike = f"{100 * pair.score:.0f}% alike"
    related = compare(comparison.a, replace(comparison.b, family=comparison.a.family))
    for each in (comparison, related):
        assert f"; ‘{titles[0]}’ differs most: its partner in B, ‘{titles[1]}’, is {alike}; " in say(each)
    again = compare(comparison.a, replace(comparison.b, run=comparison.a.run))
    assert re.search("; ‘[^’]*’ changed most: now ‘[^’]*’, [0-9]+% alike; ", say(again, run(), run()))
    assert 'data-do="select"' in draw_lead(LeadFacts(comparison, [], run(), run(8)))


def test_lines_are_counted_and_said_in_the_singular_where_there_is_one():
    def count(gained, lost, same=0):
        kinds = ["gained"] * gained + ["lost"] * lost + ["same"] * same
        return describe_lines([SimpleNamespace(kind=kind) for kind in kinds])

    assert count(11, 4) == "11 lines are new, 4 are gone"
    assert count(1, 1) == "1 line is new, 1 is gone"
    assert count(0, 2) == "2 lines are gone"
    assert count(0, 0, 3) == "all lines stay"
    assert count(0, 0) == ""


def test_names_are_text():
    facts = LeadFacts(changed(), [], run(), run(8, corpus_name="<script>"))
    assert "<script" not in draw_lead(facts)
