"""What labels bought and cost, and which class differs most."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from topic_pairs import changed, opinionated

from topiary.app.analysis.comparison import Comparison
from topiary.app.views.compare.labels import LabelAccuracy, choose_class, describe_cost, draw_labels, rank_classes


def speaking_for(comparison, groups):
    """Give B classes, each spoken for by the topics of layer 1 of some pairs alone."""
    names = tuple(groups)
    weights = [np.zeros((len(names), width)) for width in comparison.b.widths]
    for label, pairs in enumerate(groups.values()):
        for pair in pairs:
            weights[0][label, comparison.b.place(pair.b)] = 1.0
    side = replace(comparison.b, classes=names, class_weights=tuple(weights))
    return Comparison(comparison.a, side, comparison.alignment, comparison.shared_words)


def test_the_class_whose_topics_changed_most_comes_first():
    comparison = changed()
    pairs = sorted((pair for pair in comparison.pairs if pair.layer == 1 and pair.paired), key=lambda pair: pair.score)
    told = rank_classes(speaking_for(comparison, {"still": pairs[-3:], "moved": pairs[:3], "silent": []}))
    assert [each.name for each in told] == ["moved", "still"]
    shares = [comparison.b.share(pair.b) for pair in pairs[:3]]
    expected = sum((1 - pair.score) * share for pair, share in zip(pairs, shares, strict=False)) / sum(shares)
    assert np.isclose(told[0].change, expected)
    assert told[0].pair in pairs[:3], "one that speaks for the class"
    assert choose_class(speaking_for(comparison, {"still": pairs[-3:], "moved": pairs[:3]})) == 2


def test_a_topic_without_a_partner_has_changed_completely():
    comparison = changed()
    alone = [pair for pair in comparison.pairs if pair.layer == 1 and pair.a is None]
    assert rank_classes(speaking_for(comparison, {"new": alone}))[0].change == 1.0


def test_without_class_weights_no_class_is_chosen_and_nothing_is_drawn():
    assert choose_class(changed()) == 0
    assert draw_labels(changed(), (None, None), None, 0) == ""


def test_every_class_has_a_row_that_chooses_it():
    comparison = opinionated(("space", "<sport>"), ("<sport>", "space"))
    page = draw_labels(comparison, (LabelAccuracy(0.9, "validation"), LabelAccuracy(0.95, "validation", 0.25)), None, 2)
    assert re.findall(r'data-do="label" data-value="(\d)" aria-pressed="(\w+)"', page)
    assert sorted(re.findall(r'data-value="(\d)" aria-pressed="(\w+)"', page)) == [("1", "false"), ("2", "true")]
    assert "A 90% · B 95%" in page
    assert "of the labels of validation documents" in page
    assert "<sport>" not in page


def test_the_cost_is_relative_to_a():
    def tell(a, b, *, lower=True):
        one, two = (SimpleNamespace(value=value, lower_is_better=lower) for value in (a, b))
        return describe_cost(SimpleNamespace(a=one, b=two))

    assert tell(800.0, 880.0) == "10.0% higher"
    assert tell(800.0, 776.0) == "3.0% lower"
    assert tell(800.0, 801.0) == "about the same"
    assert tell(-7.0, -6.9, lower=False) == "+0.100"
