"""The server makes the full-text indexes that are missing, and says how far it is."""

import time

import garden
import pytest

from app.jobs import progress
from app.live import indexing
from app.live.indexing import Indexing
from store import full_text
from store.database import open_database


@pytest.fixture
def planted(tmp_path):
    db = open_database(tmp_path / "store.db")
    garden.plant(db)
    yield db
    db.close()


def test_missing_indexes_are_made_and_the_notice_goes_when_they_are(planted, monkeypatch):
    said, looked = [], []
    monkeypatch.setattr(progress, "post_import", said.append)
    made = Indexing(planted.url, lambda: looked.append(1))
    assert full_text.list_unindexed(planted) == [1]
    made.work()
    assert full_text.list_unindexed(planted) == []
    assert said[0].notice.sentence.startswith("preparing the search, ")
    assert said[0].notice.share == 1.0
    assert said[-1].notice.sentence == ""
    assert looked == [1]


def test_it_looks_now_and_then_and_never_twice_at_once(planted, monkeypatch):
    made, calls = Indexing(planted.url, lambda: None), []
    monkeypatch.setattr(made, "work", lambda: calls.append(time.sleep(0.05)))
    for _ in range(5):
        made.keep()
    made.close()
    assert len(calls) == 1
    made.keep()  # closed
    assert len(calls) == 1


def test_a_store_that_cannot_be_written_is_no_end_of_the_server(tmp_path, caplog):
    indexing.Indexing(str(tmp_path), lambda: None).work()
    assert "an index for searching could not be made" in caplog.text


def test_closing_ends_the_work_after_the_documents_in_hand(planted, monkeypatch):
    monkeypatch.setattr(full_text, "_AT_ONCE", 1)
    made = Indexing(planted.url, lambda: None)
    made._closing.set()
    made.work()
    assert full_text.list_unindexed(planted) in ([1], [])
    assert progress.list_imports() == ()
