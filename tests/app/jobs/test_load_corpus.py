"""A corpus that stays in the store gives what one in memory gives."""

import numpy as np
import pytest
from store_samples import write_corpus

from topiary.app.jobs import load_corpus
from topiary.engine.contract import TEST, TRAIN, Counts
from topiary.engine.corpus import Corpus


@pytest.mark.parametrize("about", [{}, {"has_scored": True}, {"kind": "real"}], ids=["counts", "scored", "real"])
def test_documents_that_are_read_on_demand_are_those_of_the_whole_corpus(db, about):
    row = write_corpus(db, blocks=40, **about)
    whole, distant = load_corpus.load_corpus(db, row), load_corpus.open_corpus(db, row)
    np.testing.assert_array_equal(distant.list_lengths(), whole.list_lengths())
    assert distant.list_lengths().dtype == whole.list_lengths().dtype
    for part in (TRAIN, TEST):
        assert distant.count_tokens(part) == whole.count_tokens(part)
        np.testing.assert_array_equal(distant.documents(part), whole.documents(part))
    numbers = np.array([7, 119, 0, 64, 8, 9])
    for mine, theirs in (
        (whole.batch(numbers), distant.batch(numbers)),
        *zip(whole.split_tokens(numbers), distant.split_tokens(numbers), strict=True),
    ):
        for one, other in zip(mine, theirs, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_what_was_asked_for_last_is_kept_and_the_oldest_goes(db, monkeypatch):
    row = write_corpus(db, blocks=4)
    distant = load_corpus.open_corpus(db, row)
    read = []
    counts = load_corpus.corpora.read_counts
    monkeypatch.setattr(
        load_corpus.corpora, "read_counts", lambda *given, **more: read.append(given[2]) or counts(*given, **more)
    )
    monkeypatch.setattr(load_corpus, "ROOM", 1)
    first, second = np.array([1, 2]), np.array([3])
    assert distant.batch(first) is distant.batch(first)
    distant.batch(second)
    distant.batch(first)
    assert read == [[1, 2], [3], [1, 2]]


def test_lengths_of_empty_documents_are_nothing():
    counts = Counts(np.array([0, 0, 2, 2, 3, 3]), np.array([0, 1, 1], np.int32), np.array([2, 3, 4], np.int32))
    corpus = Corpus(counts=counts, vocabulary=("a", "b"), part=np.zeros(5, np.int8), labels=np.full(5, -1, np.int32))
    assert corpus.list_lengths().tolist() == [0, 5, 0, 4, 0]
    assert corpus.count_tokens(TRAIN) == 9
