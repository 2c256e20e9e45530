"""Passages that say most about a topic: where they begin and end, which words are marked, and their order."""

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.passages import LONGEST, choose_passages, find_passage, weigh_words
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
