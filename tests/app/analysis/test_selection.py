"""What is typical of a selection of documents: the words of its subject, and the topics that it has more of."""

import garden
import numpy as np
import pytest
from trend_samples import DOCUMENTS, plant_trends

from app.analysis import selection
from app.analysis.inference import find_snapshot
from app.analysis.read_hierarchy import read_hierarchy
from app.analysis.selection import find_typical_topics, find_typical_words
from app.analysis.shares import fetch_use
from store import corpus_writer
from store.blocks import DocumentBlock, StoredCounts
from store.database import open_database


@pytest.fixture
def db(tmp_path):
    opened = open_database(str(tmp_path / "store.db"))
    yield opened
    opened.close()


def plant_subjects(db):
    """Write documents of six different words of one of four subjects."""
    rng = np.random.default_rng(3)
    words = [np.sort(rng.choice(7, 6, replace=False)) + 7 * (j % 4) for j in range(DOCUMENTS)]
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(np.arange(0, 6 * DOCUMENTS + 1, 6), np.concatenate(words), np.ones(6 * DOCUMENTS, int)),
        part=np.zeros(DOCUMENTS, np.int8),
        labels=np.full(DOCUMENTS, -1, np.int32),
        titles=[""] * DOCUMENTS,
        texts=[""] * DOCUMENTS,
        columns=[{}] * DOCUMENTS,
    )
    with corpus_writer.write_corpus(db, "subjects", garden.WORDS) as writer:
        writer.add(block)
    return writer.row


@pytest.mark.parametrize("most", [20_000, 80])
def test_typical_words_are_those_of_the_subject_selected(db, monkeypatch, most):
    monkeypatch.setattr(selection, "MOST_READ", most)
    corpus = plant_subjects(db)
    for subject in range(4):
        selected = np.arange(DOCUMENTS) % 4 == subject
        words = [garden.WORDS[word] for word in find_typical_words(db, corpus, selected, 9).tolist()]
        assert sorted(words) == sorted(garden.SUBJECTS[subject].split())
    assert len(find_typical_words(db, corpus, selected, 3)) == 3


def test_typical_topics_are_more_frequent_in_the_selection_beyond_chance(db):
    run = plant_trends(db)
    snapshot = find_snapshot(db, run.number)
    hierarchy, use = read_hierarchy(db, run, snapshot), fetch_use(db, run, snapshot, 1)
    late = np.arange(DOCUMENTS) >= DOCUMENTS // 2
    (found,) = find_typical_topics(hierarchy, 1, use, late, 5)
    first = 0.2 + 0.5 * np.arange(DOCUMENTS) / DOCUMENTS + 0.1 * (np.arange(DOCUMENTS) % 2 == 0)
    assert hierarchy.place(found.node) == 0
    assert (found.share, found.elsewhere) == pytest.approx((first[late].mean(), first[~late].mean()), abs=1e-4)
    (other,) = find_typical_topics(hierarchy, 1, use, ~late, 5)
    assert hierarchy.place(other.node) == 1
    assert find_typical_topics(hierarchy, 1, use, np.arange(DOCUMENTS) % 4 < 2, 5) == []
