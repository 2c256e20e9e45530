"""Where a word is used: the parts of its occurrences, and the passages around it."""

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.word_use import cut_passage, find_word, find_word_uses


def test_the_parts_of_a_word_are_its_weight_times_the_share_of_each_topic_over_their_sum() -> None:
    hierarchy = make_hierarchy((8, 4), n_words=200)
    word = find_word(hierarchy, hierarchy.vocabulary[17])
    assert word == 17
    for layer in (1, 2):
        uses = find_word_uses(hierarchy, 17, layer, 100)
        counts = {node: hierarchy.share(node) * hierarchy.projections[layer - 1][17, hierarchy.place(node)]
                  for node in hierarchy.nodes(layer)}  # fmt: skip
        total = sum(counts.values())
        expected = {node: count / total for node, count in counts.items() if count / total >= 0.01}
        assert {use.node: use.part for use in uses} == pytest.approx(expected)
        assert [use.part for use in uses] == sorted((use.part for use in uses), reverse=True)
        assert len(find_word_uses(hierarchy, 17, layer, 1)) == 1
        assert hierarchy.measure_everywhere(layer)[17] == pytest.approx(total)


def test_a_word_without_weight_is_in_no_topic_and_an_unknown_word_has_no_number() -> None:
    hierarchy = make_hierarchy((8, 4), n_words=200)
    hierarchy.projections[0][5] = 0.0
    assert find_word_uses(hierarchy, 5, 1, 5) == []
    assert find_word(hierarchy, "no such word") is None
    np.testing.assert_allclose(hierarchy.measure_everywhere(1)[5], 0.0)


def test_a_passage_is_around_the_word_as_written() -> None:
    text = "The software was old. " * 20 + "At last the War\nof words began, " + "and then it ended. " * 20
    passage = cut_passage(text, "war", 60)
    assert passage.word == "War"
    assert passage.before.startswith("…")
    assert passage.before.endswith("At last the ")
    assert passage.after.startswith(" of words began,")
    assert passage.after.endswith("…")
    assert cut_passage("In New\nYork, at night", "new_york") == ("In ", "New York", ", at night")
    assert cut_passage("He went home", "go") == ("He went home", "", "")
    assert cut_passage("a (b", "(") == ("a (b", "", "")
