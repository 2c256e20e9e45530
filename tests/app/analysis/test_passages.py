"""Passages that say most about a topic: where they begin and end, which words are marked, and their order.

A word is used by topics for parts of its occurrences, and passages around it are cut.
"""

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.passages import (
    LONGEST,
    WIDTH,
    choose_passages,
    choose_word_contexts,
    cut_passage,
    find_passage,
    find_word,
    find_word_contexts,
    find_word_uses,
    weigh_words,
)
from topiary.app.ingest.new_documents import find_rules
from topiary.engine.hierarchy.tree import Node
from topiary.store.corpora import Document

WORDS = ("rose", "tulip", "orbit", "moon")
FLOWERS = np.array([0.9, 0.8, 0.1, 0.0])
FILLER = "Nothing of note was said about it by anybody at all. "


@pytest.fixture
def rules():
    return find_rules({}, "counts", WORDS)


def document(text, number=0):
    return Document(number, "Notes", text, None, {}, 0)


def test_the_passage_is_the_stretch_with_most_words_of_the_topic_as_whole_sentences(rules):
    text = FILLER * 20 + "A rose, a tulip;\na  rose. The moon rose. " + FILLER * 20 + "One tulip. " + FILLER * 20
    passage = find_passage(document(text), rules, FLOWERS)
    assert passage.text.startswith("… ")
    assert passage.text.endswith(" …")
    assert "A rose, a tulip; a rose. The moon rose." in passage.text
    assert len(passage.text) < LONGEST + 200
    assert [passage.text[begin:end] for begin, end in passage.marks] == ["rose", "tulip", "rose", "rose"]
    assert passage.score == pytest.approx(0.9 * 3 + 0.8)


def test_a_short_text_is_quoted_whole(rules):
    passage = find_passage(document("The  moon\nand a rose"), rules, FLOWERS)
    assert passage.text == "The moon and a rose"


@pytest.mark.parametrize("text", ["", "nothing known", "the moon"])
def test_a_text_that_says_nothing_about_the_topic_has_no_passage(rules, text):
    assert find_passage(document(text), rules, FLOWERS) is None


def test_passages_come_from_different_documents_the_best_first(rules):
    texts = ("one tulip", "a rose and a rose", "the moon", "orbit")
    found = choose_passages((document(text, n) for n, text in enumerate(texts)), rules, FLOWERS, 2)
    assert [passage.document for passage in found] == [1, 0]


def test_a_word_speaks_for_a_topic_as_far_as_its_occurrences_belong_to_it():
    hierarchy = make_hierarchy((4, 2))
    weights = np.stack([weigh_words(hierarchy, Node(1, column)) for column in range(4)])
    assert weights.sum(axis=0) == pytest.approx(np.ones(weights.shape[1]))
    own = hierarchy.projections[0] * hierarchy.shares[0]
    assert weights == pytest.approx((own / own.sum(axis=1, keepdims=True)).T)


ROSE, MOON = 0, 3


def test_a_context_has_the_word_as_written_and_marks_the_words_of_the_topic(rules):
    (line,) = find_word_contexts(document("A tulip\n under the  Moon, and an orbit."), rules, MOON, FLOWERS)
    assert (line.before.text, line.match, line.after.text) == ("A tulip under the ", "Moon", ", and an orbit.")
    assert [line.before.text[begin:end] for begin, end in line.before.marks] == ["tulip"]
    assert line.after.marks == ()  # an orbit hardly speaks for flowers
    assert line.score == pytest.approx(0.9)


def test_a_context_is_a_line_of_limited_length(rules):
    (line,) = find_word_contexts(document("x" * 500 + " tulip rose " + "y" * 500), rules, ROSE, FLOWERS)
    assert len(line.before.text) == len(line.after.text) == WIDTH
    assert line.before.text.endswith("xx tulip ")


def test_contexts_that_say_most_of_the_topic_come_first_and_no_document_fills_the_list(rules):
    texts = ("moon", "moon tulip", "moon, a rose, a tulip" + " and so on" * 30 + " moon" + " and so on" * 30 + " moon")
    documents = [document(text, number) for number, text in enumerate(texts)]
    found = choose_word_contexts(documents, rules, MOON, FLOWERS, 3)
    assert [line.document for line in found] == [2, 1, 0]
    assert [line.document for line in choose_word_contexts(documents, rules, MOON, FLOWERS, 9)].count(2) == 2
    assert [line.document for line in choose_word_contexts(documents, rules, MOON, np.zeros(4), 9)] == [0, 1, 2, 2]


def test_a_text_that_several_documents_have_is_quoted_once(rules):
    documents = [document("a rose under the moon", number) for number in range(3)]
    assert [line.document for line in choose_word_contexts(documents, rules, MOON, FLOWERS, 9)] == [0]


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
