"""Columns of earlier versions are typed once in the background, with progress, and a failure is said."""

import numpy as np
import pytest

from topiary.app.ingest import column_kinds
from topiary.app.jobs import progress
from topiary.app.live.column_typing import ColumnTyping
from topiary.store import columns, corpora, corpus_writer
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import open_database
from topiary.store.errors import Conflict

N = 30


@pytest.fixture
def db(tmp_path):
    opened = open_database(str(tmp_path / "store.db"))
    with corpus_writer.write_corpus(opened, "earlier", ["word"]) as writer:
        writer.add(
            DocumentBlock(
                first=0,
                counts=StoredCounts(np.arange(N + 1), np.zeros(N, np.int32), np.ones(N, np.int32)),
                part=np.zeros(N, np.int8),
                labels=np.full(N, -1, np.int32),
                titles=[""] * N,
                texts=["word"] * N,
                columns=[{"day": f"2004-01-{1 + n:02}"} for n in range(N)],
            )
        )
    yield opened
    opened.close()


def test_columns_are_typed_with_progress_and_pages_hear_of_it(db, monkeypatch):
    posted, announced = [], []
    monkeypatch.setattr(progress, "post_import", posted.append)
    made = ColumnTyping(db.url, announced.append)
    made.work(1)
    assert columns.is_typed(corpora.get_corpus(db, 1))
    assert [each.kind for each in column_kinds.list_columns(db, corpora.get_corpus(db, 1))] == ["date"]
    assert announced == [1]
    assert posted[0].name == "earlier"
    assert posted[0].notice.sentence.startswith("finding the kinds of columns: 30 documents")
    assert posted[-1].notice.sentence == ""


def test_a_corpus_is_begun_once_and_the_sentence_is_that_of_its_progress(db, monkeypatch):
    begun = []
    made = ColumnTyping(db.url, lambda _: None)
    monkeypatch.setattr(made, "work", begun.append)
    assert "for the first time" in made.begin(1)
    made._report(-1, "earlier", 1, "Reading columns: 20 documents", 0.5)
    assert made.begin(1).endswith("Reading columns: 20 documents, 50 %.")
    progress.post_import(progress.ImportNotice(-1, "", progress.Notice()))
    assert begun == [1]


def test_a_failure_is_said_and_is_no_end_of_the_server(db, monkeypatch):
    def refuse(*_):
        raise Conflict("documents are being appended")

    monkeypatch.setattr("topiary.app.live.column_typing.ensure_columns", refuse)
    announced = []
    made = ColumnTyping(db.url, announced.append)
    made.work(1)
    assert made.begin(1) == "The columns of this corpus could not be read: documents are being appended."
    assert announced == [1]


def test_closing_ends_the_work_and_nothing_is_stored(db):
    announced = []
    made = ColumnTyping(db.url, announced.append)
    made.close()
    made.work(1)
    assert not columns.is_typed(corpora.get_corpus(db, 1))
    assert announced == []
    assert progress.list_imports() == ()
