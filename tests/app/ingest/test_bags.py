"""Bags of words: batches of a bounded size, and the counts that scikit-learn finds."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from app.ingest import survey
from app.ingest.source import TextDocument
from app.ingest.text.cleaning import clean_text, make_word_pattern
from app.ingest.text.wording import Wording

TEXTS = ["Apple pear, the APPLE", "", "the and", "fig pear fig fig", "naïve quince"]


def documents(texts: list[str]) -> Iterator[TextDocument]:
    return (TextDocument(text, f"title {n}", "label", 0, {"more": "x"}) for n, text in enumerate(texts))


def counted(document: TextDocument) -> str:
    return clean_text(document.text)


def test_bags_have_the_counts_of_scikit_learn() -> None:
    wording = Wording(pattern=make_word_pattern(), stop_words=("en",))
    found = survey.count_bags(list(documents(TEXTS)), counted, wording)
    vectoriser = CountVectorizer(analyzer=lambda text: wording.tokens(clean_text(text)))
    expected = vectoriser.fit_transform(TEXTS)
    shape = (found.counts.n_documents, len(found.words))
    matrix = sparse.csr_matrix((found.counts.values, found.counts.words, found.counts.starts), shape)
    order = np.argsort(found.words)
    assert np.array(found.words)[order].tolist() == vectoriser.get_feature_names_out().tolist()
    np.testing.assert_array_equal(matrix[:, order].toarray(), expected.toarray())
    assert found.stopped == {"the": 2, "and": 1}


def test_a_batch_is_bounded_in_documents_and_letters_and_has_only_what_words_are_found_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(survey, "DOCUMENTS", 3)
    monkeypatch.setattr(survey, "LETTERS", 10)
    found = list(survey.batch_documents(documents(["a"] * 4 + ["b" * 9] * 3 + ["c" * 50, "d"])))
    assert [[each.text[0] for each in batch] for batch in found] == [["a"] * 3, ["a", "b"], ["b", "b"], ["c"], ["d"]]
    assert found[0][0] == TextDocument("a", "title 0")


def test_runs_are_those_of_the_wording_and_a_word_travels_once() -> None:
    wording = Wording(pattern=make_word_pattern(), stop_words=("en",))
    texts = ["new york, the new york times"] * 50
    found = survey.find_runs(list(documents(texts)), counted, wording)
    assert found == [[["new", "york"], ["new", "york", "times"]]] * 50
    assert pickle.dumps(found).count(b"york") == 1
