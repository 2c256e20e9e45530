"""A failed run offers what may mend it."""

import pytest
from process_samples import order, small_corpus

from app.jobs import process, ways_out
from store import runs
from store.database import open_database
from store.errors import Conflict, StoreError


@pytest.fixture
def file(tmp_path):
    database = open_database(str(tmp_path / "store.db"))
    small_corpus(database)
    yield database
    database.close()


def failed(file, message, **texts):
    row = runs.claim_run(file, order(file, **texts).number, process.identity())
    return runs.finish_run(file, row.number, row.attempt, "failed", message)


def test_a_run_out_of_memory_is_offered_half_of_its_mini_batches_first(file):
    row = failed(file, "out of memory: use fewer topics")
    assert [way.action for way in ways_out.ways_out(row)] == ["retry", "resume", "log", "delete"]
    assert ways_out.ways_out(row)[0].words == "Start again with mini-batches of 10 documents"
    assert ways_out.ways_out(failed(file, "ValueError: no"))[0].action == "resume"
    assert ways_out.ways_out(order(file)) == []


def test_the_run_ordered_again_differs_in_its_mini_batches_alone(file):
    row = failed(file, "out of memory: use fewer topics", eta="0.2")
    new = ways_out.again(file, row.number)
    assert new.state == "queued"
    assert new.settings == row.settings | {"batch_size": 10}
    same = ("corpus", "model", "inference", "layers", "options", "seed", "name", "planned")
    assert [getattr(new, name) for name in same] == [getattr(row, name) for name in same]
    assert ways_out.again(file, row.number, 5).settings["batch_size"] == 5


def test_a_run_that_did_not_fail_or_a_size_that_cannot_be_is_refused(file):
    with pytest.raises(Conflict, match="is queued; only one that failed"):
        ways_out.again(file, order(file).number)
    row = failed(file, "ValueError: no")
    with pytest.raises(StoreError, match="batch_size"):
        ways_out.again(file, row.number, 0)
    assert len(runs.list_runs(file)) == 2
