"""Widths follow the size of the corpus where nobody says any."""

import pytest
from process_samples import small_corpus

from app.jobs import new_run
from app.jobs.widths_for import proposal, widths_for
from store import runs, snapshots
from store.database import open_database


@pytest.mark.parametrize(
    ("documents", "widths"),
    [
        (0, (16, 8, 4)),
        (479, (16, 8, 4)),
        (480, (32, 16, 8)),
        (959, (32, 16, 8)),
        (960, (64, 32, 16)),
        (1_919, (64, 32, 16)),
        (1_920, (128, 64, 32)),
        (10**7, (128, 64, 32)),
    ],
)
def test_larger_corpora_get_more_topics(documents, widths):
    assert widths_for(documents, 1_000 * documents) == widths


def test_a_topic_has_enough_tokens_of_its_own_where_documents_are_short():
    assert widths_for(2_000, 8_000 * 32 - 1) == (16, 8, 4)
    assert widths_for(2_000, 8_000 * 32) == widths_for(500, 10**9) == (32, 16, 8)
    assert proposal((32, 16, 8), 2_000) == "32-16-8: proposed for 2,000 documents"


@pytest.fixture
def file(tmp_path):
    database = open_database(str(tmp_path / "store.db"))
    yield database
    database.close()


def layers(row):
    return row.settings["layers"]


def test_a_run_whose_widths_nobody_says_has_those_of_its_corpus(file, monkeypatch):
    monkeypatch.setattr("app.jobs.widths_for.TOKENS", 500)
    small_corpus(file)
    small_corpus(file, documents=1_500, name="many")
    for corpus, widths in (("small", [16, 8, 4]), ("many", [32, 16, 8])):  # 20 words a document
        assert layers(new_run.create(file, corpus, model="dlda", texts={})) == widths
        assert layers(new_run.create(file, corpus, model="datm", texts={}, preset="paper")) == widths
    assert layers(new_run.create(file, "small", model="dlda", texts={"layers": "5-3"})) == [5, 3]


def test_learned_widths_keep_their_budget_and_a_fork_the_widths_of_its_snapshot(file):
    small_corpus(file)
    assert layers(new_run.create(file, "small", model="dlda", texts={"grow": "yes"})) == [128, 64, 32]
    parent = new_run.create(file, "small", model="dlda", texts={"layers": "6-3", "batch_size": "20"}, minibatches=2)
    from app.jobs import worker
    from app.jobs.forks import origin

    worker.train(file, parent.number)
    assert snapshots.find_latest(file, parent.number)
    child = new_run.fork(file, origin(file, parent.number), texts={}, minibatches=2)
    assert layers(runs.get_run(file, child.number)) == [6, 3]
