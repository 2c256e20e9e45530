"""Runs on several processes: the same run as in one, also when a process is killed."""

import threading
import time
from collections.abc import Iterator

import psutil
import pytest
from process_samples import SMALL, small_corpus, written

from app.jobs import new_run, worker
from app.jobs.cluster import workers
from store import events, runs
from store.database import Database, open_database

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector

SWEPT = {"layers": "6-3", "inference": "gibbs"}


@pytest.fixture
def file(tmp_path) -> Iterator[Database]:
    db = open_database(str(tmp_path / "store.db"))
    small_corpus(db)
    yield db
    db.close()


def trained(db: Database, *, on: str = "", minibatches: int = 30, texts: dict[str, str] = SWEPT) -> int:
    row = new_run.create(db, "small", model="dlda", texts=texts, minibatches=minibatches, on=on, averaged=True)
    worker.train(db, row.number)
    return row.number


@pytest.mark.parametrize("texts", [SWEPT, SMALL], ids=["sweeps", "mini-batches"])
def test_a_run_on_two_processes_writes_what_a_run_in_one_writes_and_leaves_nothing_else(
    file, tmp_path, monkeypatch, texts
):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    alone, together = trained(file, texts=texts), trained(file, on="local:2", texts=texts)
    assert written(file, together) == written(file, alone)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
def test_a_killed_process_sends_the_run_back_to_its_checkpoint_and_to_the_same_bits(file):
    alone = trained(file, minibatches=400)
    mine = psutil.Process()
    killed = []

    def kill() -> None:
        while (
            newest := max(runs.list_runs(file), key=lambda row: row.number)
        ).number == alone or newest.minibatch < 100:
            time.sleep(0.01)
        workers = [each for each in mine.children(recursive=True) if "spawn_main" in " ".join(each.cmdline())]
        killed.append(workers[-1].pid)
        workers[-1].kill()

    thread = threading.Thread(target=kill)
    thread.start()
    together = trained(file, on="local:2", minibatches=400)
    thread.join()
    assert killed
    assert any(event.kind == "worker lost" for event in events.read_new_events(file, together)[0])
    facts = workers.of_process(runs.get_run(file, together).process)
    assert [each.lost is not None for each in facts.workers] == [False, False, True]
    assert 0 <= time.time() - facts.lost[0].lost < 120
    assert 0 < facts.lost[0].documents < 90
    assert written(file, together) == written(file, alone)


@pytest.mark.parametrize("texts", [SWEPT, SMALL], ids=["sweeps", "mini-batches"])
def test_workers_say_what_they_hold_how_fast_they_are_and_what_memory_they_take(file, texts):
    run = trained(file, on="local:2", texts=texts)
    facts = workers.of_process(runs.get_run(file, run).process)
    assert sum(each.documents for each in facts.workers) == 90
    assert facts.dashboard.startswith("http://127.0.0.1:")
    for each in facts.workers:
        assert each.address.startswith("tcp://127.0.0.1:")
        assert each.lost is None
        assert each.tokens_per_second > 0
        assert 10_000_000 < each.memory < each.limit


def test_a_run_that_only_loses_workers_gives_up_with_a_sentence(file, monkeypatch):
    number = new_run.create(file, "small", model="dlda", texts=SWEPT, minibatches=30).number
    attempts = []
    monkeypatch.setattr(worker, "_trained", lambda *_: attempts.append(1) or "the worker tcp://10.0.0.2:1 was lost")
    worker.train(file, number)
    row = runs.get_run(file, number)
    assert (row.state, len(attempts)) == ("failed", worker.MOST_LOSSES)
    assert row.message.startswith("the worker tcp://10.0.0.2:1 was lost, for the 10th time since mini-batch 0; look at")
