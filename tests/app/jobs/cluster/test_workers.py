"""What workers say of themselves stays with the process of the run, and those that are lost stay with the time."""

import signal
from types import SimpleNamespace

import numpy as np
import pytest

from topiary.app.jobs.cluster import workers
from topiary.app.jobs.cluster.workers import ClusterFacts, SweepPace, WorkerFacts, WorkerReport

ONE, TWO = (
    WorkerFacts.of(f"tcp://10.0.0.{n}:4", WorkerReport(10 * n, 300, 2.0, 7), {"name": f"w{n}", "memory_limit": 9})
    for n in (1, 2)
)


def test_a_worker_has_its_speed_while_sweeping_and_the_limit_that_the_scheduler_knows():
    assert WorkerFacts("tcp://10.0.0.1:4", "w1", 10, 150.0, 7, 9) == ONE
    idle = WorkerFacts.of("tcp://10.0.0.3:4", WorkerReport(5, 0, 0.0, 7), {})
    assert (idle.tokens_per_second, idle.limit, idle.name) == (None, 0, "")
    card = {"name": "Card", "memory": 9, "used": 4}
    assert WorkerFacts.of("tcp://10.0.0.3:4", WorkerReport(5, 0, 0.0, 7, card), {}).card == card


def test_what_is_kept_beside_the_process_comes_back_and_rows_of_later_versions_can_be_read():
    card = {"name": "Card", "memory": 9, "used": 4}
    facts = ClusterFacts("http://10.0.0.9:8787/status", (ONE._replace(card=card), TWO._replace(lost=5.0)))
    kept = {"pid": 1} | facts.to_json()
    assert workers.read_cluster(kept) == facts
    kept[workers.KEY]["workers"][0]["colour"] = "green"
    assert workers.read_cluster(kept) == facts
    assert workers.read_cluster({"pid": 1}) == ClusterFacts()


def test_a_lost_worker_keeps_what_it_last_said_through_the_next_attempt_and_its_reports():
    both = ClusterFacts("d", (ONE, TWO))
    after = both.mark_lost({ONE.address}, "", now=77.0)
    assert after.workers == (ONE, TWO._replace(lost=77.0))
    resumed = workers.read_cluster(workers.keep_lost(after.to_json()))
    assert resumed.workers == (TWO._replace(lost=77.0),)
    again = resumed.add_report("d", [ONE._replace(documents=30)])
    assert again.workers == (ONE._replace(documents=30), TWO._replace(lost=77.0))
    assert again.mark_lost({ONE.address}, "", now=99.0) == again
    assert workers.keep_lost(both.to_json()) == {}


def test_a_worker_that_the_error_names_is_lost_though_the_scheduler_has_not_noticed():
    present = {ONE.address, TWO.address}
    after = ClusterFacts("d", (ONE, TWO)).mark_lost(present, f"the worker {TWO.address} was lost", now=1.0)
    assert [each.lost for each in after.workers] == [None, 1.0]
    longer = f"the worker {TWO.address}5 was lost"  # another port
    assert ClusterFacts("d", (ONE, TWO)).mark_lost(present, longer, now=1.0).lost == ()


def test_no_more_lost_workers_are_kept_than_the_latest_few():
    many = ClusterFacts("d", tuple(ONE._replace(address=f"tcp://h:{n}", lost=float(n)) for n in range(50)))
    assert [each.lost for each in many.mark_lost((), "", 1.0).workers] == [float(n) for n in range(30, 50)]


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(workers.time, "perf_counter", lambda: now.seconds)
    return now


def test_tokens_and_seconds_are_those_of_sweeps_since_the_last_question(clock):
    docs = [SimpleNamespace(counts=np.array([1, 2, 3])), SimpleNamespace(counts=np.array([4]))]
    kept = SweepPace()
    for _ in range(2):
        with kept.sweep(docs):
            clock.seconds += 1.5
        clock.seconds += 10.0  # between sweeps
    assert kept.make_report(2, 99) == WorkerReport(2, 20, 3.0, 99)
    assert kept.make_report(2, 99) == WorkerReport(2, 0, 0.0, 99)


def test_an_interrupt_is_ignored():
    before = signal.getsignal(signal.SIGINT)
    try:
        workers.dask_setup(None)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
