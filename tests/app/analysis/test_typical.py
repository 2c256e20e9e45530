"""What is typical of a selection: sums read in blocks are those of all documents, and what was planted is found."""

import numpy as np
import pytest
from databases import open_filled
from trend_samples import DOCUMENTS, plant_trends

from topiary.app.analysis import typical
from topiary.app.analysis.read_hierarchy import find_snapshot, read_hierarchy
from topiary.app.analysis.shares import fetch_use
from topiary.app.analysis.typical import find_typical_topics, find_typical_words, sum_corpus_words
from topiary.engine.contract import Counts
from topiary.engine.lens.typical import sum_words
from topiary.store import corpora, corpus_writer
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import open_database

WORDS = ("common", "here", "elsewhere")
N = 60


@pytest.fixture
def corpus(tmp_path):
    """Documents of which the first third has the word ``here`` in place of ``elsewhere``."""
    db = open_filled(tmp_path / "store.db")
    second = np.where(np.arange(N) < N // 3, 1, 2)
    counts = StoredCounts(
        2 * np.arange(N + 1),
        np.stack([np.zeros(N, int), second], 1).ravel().astype(np.int32),
        np.full(2 * N, 3, np.int32),
    )
    with corpus_writer.write_corpus(db, "planted", WORDS) as writer:
        writer.add(
            DocumentBlock(
                first=0,
                counts=counts,
                part=np.zeros(N, np.int8),
                labels=np.full(N, -1, np.int32),
                titles=[""] * N,
                texts=[""] * N,
                columns=[{}] * N,
            )
        )
    yield db, writer.row
    db.close()


@pytest.mark.parametrize("block", [7, 1000])
def test_sums_do_not_depend_on_how_many_documents_are_read_at_a_time(corpus, monkeypatch, block):
    db, row = corpus
    monkeypatch.setattr(typical, "BLOCK", block)
    selected = np.arange(N) % 3 == 1
    counts = Counts(*corpora.read_counts(db, row.number, range(N)))
    for got, expected in zip(
        sum_corpus_words(db, row, len(WORDS), selected), sum_words(counts, len(WORDS), selected), strict=True
    ):
        np.testing.assert_array_equal(got, expected)


def test_words_of_the_selection_are_found_and_common_ones_are_not(corpus):
    db, row = corpus
    selection = sum_corpus_words(db, row, len(WORDS), np.arange(N) < N // 3)
    found = find_typical_words(selection, sum_corpus_words(db, row, len(WORDS)), WORDS, 5)
    assert [each.word for each in found.more] == ["here"]
    assert [each.word for each in found.less] == ["elsewhere"]
    assert found.more[0].documents == N // 3
    assert 1.0 < found.more[0].low < found.more[0].ratio < found.more[0].high
    assert found.compared == len(WORDS)


def test_work_that_is_no_longer_wanted_ends_before_the_next_block(corpus, monkeypatch):
    db, row = corpus
    monkeypatch.setattr(typical, "BLOCK", 10)
    answers = iter([True, True, False])
    assert sum_corpus_words(db, row, len(WORDS), is_wanted=lambda: next(answers)).documents[0] == 20


def test_typical_topics_are_more_frequent_in_the_selection_beyond_chance(tmp_path):
    db = open_database(str(tmp_path / "trends.db"))
    run = plant_trends(db)
    snapshot = find_snapshot(db, run.number)
    hierarchy, use = read_hierarchy(db, run, snapshot), fetch_use(db, run, snapshot, 1)
    late = np.arange(DOCUMENTS) >= DOCUMENTS // 2
    found = find_typical_topics(hierarchy, 1, use, late)
    first = 0.2 + 0.5 * np.arange(DOCUMENTS) / DOCUMENTS + 0.1 * (np.arange(DOCUMENTS) % 2 == 0)
    (more,), (less,) = found.more, found.less
    assert (hierarchy.place(more.node), hierarchy.place(less.node)) == (0, 1)
    assert more.share == pytest.approx(first[late].mean(), abs=1e-4)
    assert more.difference == pytest.approx(first[late].mean() - first[~late].mean(), abs=1e-4)
    assert found.documents == (DOCUMENTS // 2, DOCUMENTS // 2)
    assert not find_typical_topics(hierarchy, 1, use, np.arange(DOCUMENTS) % 4 < 2).more
    db.close()
