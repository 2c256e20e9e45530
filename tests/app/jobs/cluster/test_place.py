"""Places that cannot be used are refused with a sentence, and within the time there is for it."""

import gc
import os
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from topiary.app.jobs.cluster import place
from topiary.app.jobs.cluster.place import SILENCE_SECONDS, PlaceError, RemoteActor, WorkerPresence, list_workers
from topiary.app.jobs.cluster.workers import WorkerLostError
from topiary.app.machine import ROOT

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector

OTHER = "from topiary.app.jobs.cluster import place\n"
OTHER += "place.list_versions = lambda: {'engine': 'e', 'numpy': '1.0', 'numba': '0.1'}\n"


@pytest.fixture
def scheduler():
    """A scheduler without workers."""
    about = {"processes": False, "dashboard_address": "127.0.0.1:0", "protocol": "tcp://", "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=0, **about) as made:
        yield made.scheduler_address


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused_at_once(scheduler, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(OTHER, encoding="utf-8")
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--no-dashboard"]
    command += ["--nthreads", "1", "--local-directory", str(tmp_path), "--preload", str(other)]
    nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **nowhere)
    try:
        with pytest.raises(
            PlaceError, match=r"has engine e instead of \w+, numpy 1\.0 instead of .*; install the same"
        ):
            place.connect_client(scheduler)
    finally:
        process.kill()
        process.wait()


def test_a_worker_without_topiary_is_refused(monkeypatch):
    found = {"tcp://10.0.0.2:9000": ModuleNotFoundError("No module named 'topiary'")}
    monkeypatch.setattr(place, "list_workers", lambda client: dict.fromkeys(found))
    with pytest.raises(PlaceError, match=r"tcp://10\.0\.0\.2:9000 of tls://10\.0\.0\.1:8786 cannot load Topiary \(No"):
        place._check_versions(
            SimpleNamespace(run=lambda *_, **__: found), "tls://10.0.0.1:8786", place.list_versions, 5
        )


def test_workers_that_hang_are_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(place, "list_workers", lambda client: {"tcp://10.0.0.2:9000": {}})

    def hangs(*_, **__):
        raise TimeoutError

    with pytest.raises(TimeoutError, match="do not answer"):
        place._check_versions(SimpleNamespace(run=hangs), "tcp://10.0.0.1:8786", place.list_versions, 1)


@pytest.mark.timeout(60)
def test_a_program_that_accepts_and_says_nothing_is_no_scheduler():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        with pytest.raises(PlaceError, match="no scheduler with workers answers at tcp"):
            place.connect_client(f"tcp://127.0.0.1:{silent.getsockname()[1]}", patience=1)
    assert time.monotonic() - began < 20


def test_clients_that_met_nobody_are_gone_before_another_begins(monkeypatch):
    import distributed

    gone, seen = [], []

    class Cycle:
        def __init__(self):
            self.own = self

        def __del__(self):
            gone.append(True)

    def nobody(*_args, **_options):
        seen.extend(gone)
        raise OSError("refused")

    monkeypatch.setattr(distributed, "Client", nobody)
    gc.disable()
    try:
        Cycle()
        with pytest.raises(PlaceError, match="no scheduler with workers answers"):
            place.connect_client("tcp://127.0.0.1:1")
    finally:
        gc.enable()
    assert seen == [True]


def test_an_address_with_tls_says_that_certificates_are_needed():
    with pytest.raises(PlaceError, match="give them and Topiary the same certificates"):
        place.connect_client("tls://127.0.0.1:1", patience=1)


FIRST, SECOND = "tcp://10.0.0.1:9000", "tcp://10.0.0.2:9000"


class Scheduler:
    """What a scheduler knows, of which some seconds have passed."""

    def __init__(self, monkeypatch):
        self.known = {FIRST: self.about(0.0), SECOND: self.about(0.0)}
        self.answers = True
        self.now = 0.0
        monkeypatch.setattr(place, "_read_workers", self.every)
        monkeypatch.setattr(place.time, "monotonic", lambda: self.now)

    @staticmethod
    def about(last_seen, folder="a"):
        return {"last_seen": last_seen, "local_directory": folder}

    def every(self, client):
        if not self.answers:
            raise OSError("it does not answer")
        return self.known


@pytest.fixture
def fake_scheduler(monkeypatch):
    return Scheduler(monkeypatch)


@pytest.fixture
def begun(fake_scheduler):
    made = WorkerPresence(SimpleNamespace())
    made.begin()
    return made


def test_a_worker_that_beats_may_take_as_long_as_it_likes(fake_scheduler, begun):
    for fake_scheduler.now in range(0, 1000, 10):
        fake_scheduler.known[FIRST] = fake_scheduler.about(fake_scheduler.now)
        begun.check(FIRST)


def test_a_worker_without_a_heartbeat_is_lost_after_a_minute_and_not_before(fake_scheduler, begun):
    fake_scheduler.known[FIRST] = fake_scheduler.about(5.0)
    for fake_scheduler.now in (0.0, SILENCE_SECONDS - 1.0):
        begun.check(FIRST)
    fake_scheduler.now = SILENCE_SECONDS + 1.0
    with pytest.raises(WorkerLostError, match=rf"^the worker {FIRST} has been silent for 60 s$"):
        begun.check(FIRST)


def test_a_scheduler_that_does_not_answer_is_waited_for_a_minute(fake_scheduler, begun):
    begun.check(FIRST)
    fake_scheduler.answers, fake_scheduler.now = False, SILENCE_SECONDS - 1.0
    begun.check(FIRST)
    fake_scheduler.now = SILENCE_SECONDS + 1.0
    with pytest.raises(WorkerLostError, match=r"^the scheduler has been silent"):
        begun.check(FIRST)


@pytest.mark.parametrize("another", [{}, {FIRST: Scheduler.about(9.0, "b")}], ids=["nobody", "a new process"])
def test_a_process_that_ended_is_lost_at_once(fake_scheduler, begun, another):
    fake_scheduler.known = another
    with pytest.raises(WorkerLostError, match=rf"^the worker {FIRST} was lost$"):
        begun.check(FIRST)


def test_nothing_is_given_to_a_worker_that_others_outlive(fake_scheduler):
    fake_scheduler.known[FIRST] = fake_scheduler.about(20.0)
    assert set(list_workers(SimpleNamespace())) == {FIRST}


@pytest.mark.parametrize(("answers", "why"), [(True, "all workers were lost"), (False, "the scheduler was lost")])
def test_a_run_that_finds_nobody_goes_back(fake_scheduler, answers, why):
    fake_scheduler.known, fake_scheduler.answers = {}, answers
    with pytest.raises(WorkerLostError, match=why):
        WorkerPresence(SimpleNamespace()).begin()


class Gone:
    """What Dask gives for an actor whose worker has gone."""

    def __getattr__(self, name):
        raise RuntimeError("Worker holding Actor was lost.  Status: cancelled")


def test_an_actor_that_is_gone_is_told_of_as_a_lost_worker():
    with pytest.raises(WorkerLostError, match="holding Actor"):
        RemoteActor(Gone()).gather  # noqa: B018  # Dask raises as soon as it is named


def test_a_place_where_nothing_listens_is_refused_before_a_run_is_ordered():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(PlaceError, match=rf"no scheduler with workers answers at tcp://127\.0\.0\.1:{port} \("):
            place.check_listening(f"tcp://127.0.0.1:{port}")
        free.listen()
        place.check_listening(f"tcp://127.0.0.1:{port}")
