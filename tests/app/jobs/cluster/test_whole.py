"""Runs ordered together on a place: each is trained whole, once, by one of its processes."""

import signal
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from databases import open_filled
from process_samples import NOBODY, SMALL, ended, order, small_corpus, wait_for, written

from topiary.app.jobs import control, launcher, map_work, new_run, trainer
from topiary.app.jobs.cluster import place, whole
from topiary.app.jobs.new_run import create_runs
from topiary.app.jobs.process import find_state
from topiary.app.jobs.run_rules import RunRequest
from topiary.store import events, runs
from topiary.store.database import Database

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector


@pytest.fixture
def file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A store with a corpus; nothing was sent anywhere yet."""
    monkeypatch.setattr(whole, "_sent", {})
    monkeypatch.setattr(whole, "_failed", {})
    db = open_filled(tmp_path / "store.db", small_corpus)
    yield db
    db.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler with two workers, each a process that makes one thing at a time."""
    about = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with distributed.LocalCluster(processes=True, **about) as made:
        yield made


def group(db: Database, on: str, *, seeds: tuple[int, ...], minibatches: int = 40) -> list[int]:
    asked = {"model": "dlda", "texts": SMALL, "minibatches": minibatches, "on": on}
    rows = create_runs(db, RunRequest(corpus="small", seeds=seeds, **asked))
    return [row.number for row in rows]


def trains(row: Any) -> bool:
    return (row.state == "running" and row.minibatch >= 20) or ended(row)


def test_every_run_of_a_group_is_trained_whole_by_a_worker_to_the_bits_of_this_machine(file, cluster):
    numbers = group(file, cluster.scheduler_address, seeds=(1, 2, 3), minibatches=20)
    alone = new_run.create_run(file, "small", model="dlda", texts=SMALL, minibatches=20, seed=2).number
    trainer.train_run(file, alone)
    assert launcher.start_queued_runs(file) == numbers
    assert [wait_for(file, number, ended).state for number in numbers] == ["finished"] * 3
    assert written(file, numbers[1]) == written(file, alone)
    with distributed.Client(cluster) as client:
        pids = set(client.run(lambda: psutil.Process().pid).values())
    assert {runs.get_run(file, number).process["pid"] for number in numbers} == pids
    assert launcher._children == []
    assert all("workers" not in {event.kind for event in events.read_new_events(file, number)[0]} for number in numbers)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_run_whose_worker_dies_is_silent_and_goes_on_when_it_is_resumed(file, cluster):
    (first, second), minibatches = group(file, cluster.scheduler_address, seeds=(1, 2), minibatches=1500), 1500
    launcher.start_queued_runs(file)
    row = wait_for(file, first, trains)
    psutil.Process(row.process["pid"]).send_signal(signal.SIGKILL)
    wait_for(file, second, ended)
    time.sleep(2.0)  # Dask has given the task to another worker, which leaves the run alone
    row = runs.get_run(file, first)
    assert (find_state(row), row.attempt) == ("silent", 1)
    control.resume_run(file, first)
    assert wait_for(file, first, ended).state == "finished"
    alone = new_run.create_run(file, "small", model="dlda", texts=SMALL, minibatches=minibatches, seed=1).number
    trainer.train_run(file, alone)
    assert written(file, first) == written(file, alone)


def test_a_run_on_a_cluster_pauses_when_it_is_asked_to(file, cluster):
    run = group(file, cluster.scheduler_address, seeds=(1, 2), minibatches=100_000)
    launcher.start_queued_runs(file)
    for number in run:
        wait_for(file, number, trains)
        control.pause_run(file, number)
    assert [wait_for(file, number, ended).state for number in run] == ["paused", "paused"]


@pytest.mark.parametrize(("state", "attempt"), [("queued", 1), ("stopped", 0)])
def test_a_task_leaves_a_run_alone_that_somebody_has_taken_up_since(file, monkeypatch, state, attempt):
    run = order(file).number
    trained, mapped = [], []
    monkeypatch.setattr(map_work, "start_map", lambda _db, number: mapped.append(number))
    monkeypatch.setattr(trainer, "train_run", lambda db, number: trained.append(number))
    if state == "stopped":
        control.stop_run(file, run)
    whole.train_submitted(file.url, run, attempt)
    assert trained == mapped == []
    if state == "queued":
        whole.train_submitted(file.url, run, 0)
        assert trained == mapped == [run]
    whole.train_submitted(file.url, run + 1, 0)  # deleted meanwhile


def test_where_no_scheduler_answers_runs_wait_and_say_why_and_the_address_is_left_in_peace(file, monkeypatch):
    asked = []

    def connect(on: str, *, patience: int) -> None:
        asked.append((on, patience))
        raise place.PlaceError(f"no scheduler with workers answers at {on} (refused); start them")

    monkeypatch.setattr(place, "connect_client", connect)
    numbers = group(file, "tcp://127.0.0.1:9", seeds=(1, 2))
    assert launcher.start_queued_runs(file) == []
    assert launcher.start_queued_runs(file) == []
    assert asked == [("tcp://127.0.0.1:9", whole.SCHEDULER_PATIENCE)]
    for number in numbers:
        found, _ = events.read_new_events(file, number)
        assert [(event.kind, event.text) for event in found] == [
            ("waiting", "no scheduler with workers answers at tcp://127.0.0.1:9 (refused); start them")
        ]
        assert runs.get_run(file, number).state == "queued"
    whole._failed["tcp://127.0.0.1:9"] -= whole.RETRY_SECONDS
    launcher.start_queued_runs(file)
    assert len(asked) == 2


def test_a_run_is_sent_once_and_again_after_a_while_in_case_the_scheduler_forgot_it(file, monkeypatch):
    sent = []
    monkeypatch.setattr(whole, "_submit_tasks", lambda db, address, rows: sent.append([row.number for row in rows]))
    numbers = group(file, "tcp://127.0.0.1:9", seeds=(1, 2))
    assert [launcher.start_queued_runs(file) for _ in range(2)] == [numbers, numbers]
    assert sent == [numbers]
    for name in whole._sent:
        whole._sent[name] -= whole.AGAIN_SECONDS
    launcher.start_queued_runs(file)
    assert sent == [numbers, numbers]


def test_runs_that_share_processes_of_this_machine_train_that_many_at_a_time(file, monkeypatch):
    started = []
    monkeypatch.setenv("TOPIARY_WORKERS", "1")
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: started.append(run) or NOBODY)
    monkeypatch.setattr(place, "is_dask_installed", lambda: False)  # nothing is spread, so nothing needs Dask
    numbers = group(file, "local:3", seeds=(1, 2, 3, 4, 5))
    assert launcher.start_queued_runs(file) == numbers[:3] == started
    claimed = runs.claim_run(file, numbers[0], {"pid": 1, "created": 0.0, "host": "elsewhere"})
    assert (find_state(claimed), launcher.start_queued_runs(file)) == ("running", [])


def test_a_run_in_front_of_the_queue_is_not_overtaken_by_a_group_that_has_more_room(file, monkeypatch):
    monkeypatch.setenv("TOPIARY_WORKERS", "1")
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    first, second = order(file).number, order(file).number
    group(file, "local:4", seeds=(1, 2))
    runs.claim_run(file, first, {"pid": 1, "created": 0.0, "host": "elsewhere"})
    assert launcher.start_queued_runs(file) == []
    control.stop_run(file, second)
    assert len(launcher.start_queued_runs(file)) == 2


def test_only_runs_that_are_trained_whole_have_a_place_to_share():
    plans = ({}, {"on": "local:2"}, {"on": "tcp://h:1", "whole": True}, {"on": "later:1", "whole": True})
    rows = [SimpleNamespace(options=plan) for plan in plans]
    assert [whole.find_place(row) for row in rows] == [None, None, place.WorkPlace(address="tcp://h:1"), None]
    assert [whole.is_on_cluster(row) for row in rows] == [False, False, True, False]
