"""Workers that have gone, hang or cannot be reached are noticed, and nothing is given to them."""

from types import SimpleNamespace

import pytest

from app.jobs.cluster import presence
from app.jobs.cluster.lost import WorkerLostError
from app.jobs.cluster.presence import SILENCE, Presence, Remote, workers

FIRST, SECOND = "tcp://10.0.0.1:9000", "tcp://10.0.0.2:9000"


class Scheduler:
    """What a scheduler knows, of which some seconds have passed."""

    def __init__(self, monkeypatch):
        self.known = {FIRST: self.about(0.0), SECOND: self.about(0.0)}
        self.answers = True
        self.now = 0.0
        monkeypatch.setattr(presence, "_every", self.every)
        monkeypatch.setattr(presence.time, "monotonic", lambda: self.now)

    @staticmethod
    def about(last_seen, folder="a"):
        return {"last_seen": last_seen, "local_directory": folder}

    def every(self, client):
        if not self.answers:
            raise OSError("it does not answer")
        return self.known


@pytest.fixture
def scheduler(monkeypatch):
    return Scheduler(monkeypatch)


@pytest.fixture
def begun(scheduler):
    made = Presence(SimpleNamespace())
    made.begin()
    return made


def test_a_worker_that_beats_may_take_as_long_as_it_likes(scheduler, begun):
    for scheduler.now in range(0, 1000, 10):
        scheduler.known[FIRST] = scheduler.about(scheduler.now)
        begun.check(FIRST)


def test_a_worker_without_a_heartbeat_is_lost_after_a_minute_and_not_before(scheduler, begun):
    scheduler.known[FIRST] = scheduler.about(5.0)
    for scheduler.now in (0.0, SILENCE - 1.0):
        begun.check(FIRST)
    scheduler.now = SILENCE + 1.0
    with pytest.raises(WorkerLostError, match=rf"^the worker {FIRST} has been silent for 60 s$"):
        begun.check(FIRST)


def test_a_scheduler_that_does_not_answer_is_waited_for_a_minute(scheduler, begun):
    begun.check(FIRST)
    scheduler.answers, scheduler.now = False, SILENCE - 1.0
    begun.check(FIRST)
    scheduler.now = SILENCE + 1.0
    with pytest.raises(WorkerLostError, match=r"^the scheduler has been silent"):
        begun.check(FIRST)


@pytest.mark.parametrize("another", [{}, {FIRST: Scheduler.about(9.0, "b")}], ids=["nobody", "a new process"])
def test_a_process_that_ended_is_lost_at_once(scheduler, begun, another):
    scheduler.known = another
    with pytest.raises(WorkerLostError, match=rf"^the worker {FIRST} was lost$"):
        begun.check(FIRST)


def test_nothing_is_given_to_a_worker_that_others_outlive(scheduler):
    scheduler.known[FIRST] = scheduler.about(20.0)
    assert set(workers(SimpleNamespace())) == {FIRST}


@pytest.mark.parametrize(("answers", "why"), [(True, "all workers were lost"), (False, "the scheduler was lost")])
def test_a_run_that_finds_nobody_goes_back(scheduler, answers, why):
    scheduler.known, scheduler.answers = {}, answers
    with pytest.raises(WorkerLostError, match=why):
        Presence(SimpleNamespace()).begin()


class Gone:
    """What Dask gives for an actor whose worker has gone."""

    def __getattr__(self, name):
        raise RuntimeError("Worker holding Actor was lost.  Status: cancelled")


def test_an_actor_that_is_gone_is_told_of_as_a_lost_worker():
    with pytest.raises(WorkerLostError, match="holding Actor"):
        Remote(Gone()).gather  # noqa: B018  # Dask raises as soon as it is named
