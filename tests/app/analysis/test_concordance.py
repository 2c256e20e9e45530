"""The contexts of a word: every form that the corpus counts as it, the words of a topic marked, and their order."""

import numpy as np
import pytest

from topiary.app.analysis.concordance import WIDTH, choose_word_contexts, find_word_contexts
from topiary.app.ingest.new_documents import find_rules
from topiary.store.corpora import Document

WORDS = ("rose", "tulip", "orbit", "moon")
FLOWERS = np.array([0.9, 0.8, 0.1, 0.0])
ROSE, MOON = 0, 3


@pytest.fixture
def rules():
    return find_rules({}, "counts", WORDS)


def document(text, number=0):
    return Document(number, "Notes", text, None, {}, 0)


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
