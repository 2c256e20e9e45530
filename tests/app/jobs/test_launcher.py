"""Workers as processes of their own: killed, paused, stopped, orphaned."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from process_samples import NOBODY, ended, order, small_corpus, wait_for, written
from relay import Relay
from sqlalchemy import update

from topiary.app.jobs import control, launcher, logs, process, trainer, worker
from topiary.app.jobs.compile_kernels import KernelRequest
from topiary.app.jobs.process import find_state
from topiary.store import corpora, points, run_rows, runs, snapshots, tables
from topiary.store.errors import Conflict, LostClaim
from topiary.store.points import Point

LONG = 150  # mini-batches, which take longer than a worker takes to see a wish
POSIX = sys.platform != "win32"


@pytest.fixture
def db(db):
    """A store with a corpus, where no worker outlives the test."""
    small_corpus(db)
    yield db
    for row in runs.list_runs(db):
        if process.check_life(row.process) == "alive" and row.process["pid"] != os.getpid():
            psutil.Process(row.process["pid"]).kill()
    for child in launcher._children:
        child.wait()
    launcher.reap_children()


def trains(at_least):
    return lambda row: (row.state == "running" and row.minibatch >= at_least) or ended(row)


def kill(row):
    psutil.Process(row.process["pid"]).kill()
    end = time.monotonic() + 30
    while process.check_life(row.process) == "alive":  # whoever started it: this process, or a worker that ended
        assert time.monotonic() < end, "a killed worker is still there"
        launcher.reap_children()
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.cores
@pytest.mark.dialects
@pytest.mark.nightly
def test_a_worker_killed_at_random_moments_and_resumed_is_bit_identical_to_one_never_interrupted(db):
    whole = order(db, minibatches=LONG, averaged=True).number
    run = order(db, minibatches=LONG, averaged=True).number
    launcher.start_queued_runs(db)
    rng = np.random.default_rng(11)
    killed = 0
    for target in sorted(rng.integers(1, LONG - 40, 2).tolist()):
        row = wait_for(db, run, trains(target))
        if not ended(row):
            kill(row)
            killed += 1
            assert find_state(runs.get_run(db, run)) == "silent"
            control.resume_run(db, run)
    assert killed > 0
    wait_for(db, run, ended)
    wait_for(db, whole, ended)
    assert runs.get_run(db, run).state == "finished"
    assert runs.get_run(db, run).attempt > 1
    assert written(db, run) == written(db, whole)


def test_pause_and_resume_change_nothing(db):
    whole = order(db, minibatches=LONG).number
    trainer.train_run(db, whole)  # here, and before a worker could take it
    run = order(db, minibatches=LONG).number
    launcher.start_queued_runs(db)
    wait_for(db, run, trains(5))
    control.pause_run(db, run)
    row = wait_for(db, run, ended)
    assert row.state == "paused"
    assert row.message == f"paused after mini-batch {row.minibatch:,} of {LONG}"
    control.resume_run(db, run)
    wait_for(db, run, lambda each: each.state == "finished")
    assert written(db, run) == written(db, whole)


@pytest.mark.nightly
def test_stop_keeps_what_there_is_and_can_be_taken_back(db):
    run = order(db, minibatches=20_000).number
    launcher.start_queued_runs(db)
    wait_for(db, run, trains(20))
    control.stop_run(db, run)
    row = wait_for(db, run, ended)
    assert row.state == "stopped"
    assert row.minibatch >= 20
    with pytest.raises(Conflict):
        control.stop_run(db, run)
    control.resume_run(db, run)
    wait_for(db, run, trains(row.minibatch + 1))
    control.stop_run(db, run)
    assert wait_for(db, run, ended).minibatch > row.minibatch


@pytest.mark.skipif(not POSIX, reason="Windows ends processes without asking them")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)])
def test_a_worker_asked_to_end_pauses_with_a_checkpoint(db, number):
    run = order(db, minibatches=20_000).number
    launcher.start_queued_runs(db)
    row = wait_for(db, run, trains(10))
    os.kill(row.process["pid"], number)
    row = wait_for(db, run, ended)
    assert (row.state, row.traceback) == ("paused", "")
    assert row.minibatch >= 10


def test_the_end_of_whoever_started_it_does_not_touch_training(db):
    run = order(db, minibatches=40).number
    script = (
        "import sys, time; from topiary.app.jobs import launcher; from topiary.store.database import open_database\n"
    )
    script += "launcher.start_queued_runs(open_database(sys.argv[1])); print('started', flush=True); time.sleep(600)"
    starter = subprocess.Popen(
        [sys.executable, "-c", script, db.url], stdout=subprocess.PIPE, env=process.build_environment(db.url)
    )
    assert starter.stdout is not None
    assert starter.stdout.readline().strip() == b"started"
    row = wait_for(db, run, trains(1))
    if POSIX:
        os.killpg(os.getpgid(starter.pid), 0)  # the group is there, and the worker is not in it
        assert os.getpgid(row.process["pid"]) != os.getpgid(starter.pid)
    starter.kill()
    starter.wait()
    starter.stdout.close()
    assert wait_for(db, run, ended).state == "finished"


SLEEPER = """
import os, signal, sys
from topiary.app.jobs import training, worker

real = training.Training.step

def step(self, position):
    if position.minibatch == 20:
        os.kill(os.getpid(), signal.SIGSTOP)
    return real(self, position)

training.Training.step = step
sys.exit(worker.main(["--run", sys.argv[1]]))
"""


@pytest.mark.skipif(not POSIX, reason="only POSIX systems can halt a process and let it wake up")
@pytest.mark.dialects
def test_a_worker_that_wakes_up_after_it_was_replaced_writes_nothing(db):
    run = order(db).number
    sleeper = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(run)], env=process.build_environment(db.url), stderr=subprocess.DEVNULL
    )
    about = psutil.Process(sleeper.pid)
    wait_for(db, run, lambda row: ended(row) or about.status() == psutil.STATUS_STOPPED)
    claimed = runs.claim_run(db, run, process.identify_process(), force=True)  # somebody decides that it is dead
    runs.finish_run(db, run, claimed.attempt, "paused", "taken over")
    before = written(db, run)
    os.kill(sleeper.pid, signal.SIGCONT)
    assert sleeper.wait(timeout=60) == worker.LOST
    assert written(db, run) == before


def test_a_dead_child_nobody_has_waited_for_counts_as_dead_and_its_run_is_deleted_which_one_that_trains_is_not(db):
    run = order(db, minibatches=20_000).number
    launcher.start_queued_runs(db)
    row = wait_for(db, run, trains(5))
    with pytest.raises(Conflict, match="stop it"):
        control.delete_run(db, run)
    psutil.Process(row.process["pid"]).kill()
    for _ in range(500):  # a zombie until it is reaped
        if process.check_life(row.process) == "dead":
            break
        time.sleep(0.01)
    assert process.check_life(row.process) == "dead"
    assert find_state(runs.get_run(db, run)) == "silent"
    control.delete_run(db, run)
    assert run not in [each.number for each in runs.list_runs(db)]


@pytest.mark.cores
def test_queued_runs_start_when_there_is_room(db, monkeypatch):
    monkeypatch.setenv("TOPIARY_WORKERS", "1")
    first, second = order(db, minibatches=20_000).number, order(db, minibatches=2).number
    assert launcher.start_queued_runs(db) == [first]
    wait_for(db, first, trains(1))
    assert launcher.start_queued_runs(db) == []
    assert runs.get_run(db, second).state == "queued"
    control.stop_run(db, first)
    wait_for(db, first, ended)
    assert wait_for(db, second, ended).state == "finished", "the worker that ended started the next run"


DEAD = {"pid": 999_999_999, "created": 1.0, "host": process.identify_process()["host"]}
ELSEWHERE = DEAD | {"host": "elsewhere"}


def age_leases(db, seconds):
    with db.write() as connection:
        connection.execute(update(tables.runs).values(lease=tables.runs.c.lease - seconds))


@pytest.mark.parametrize(
    ("starter", "seconds"),
    [
        (DEAD, launcher.LEASE_SECONDS),
        (ELSEWHERE, launcher.LEASE_SECONDS + launcher.UNSEEN_SECONDS),
        ({}, launcher.LEASE_SECONDS + launcher.UNSEEN_SECONDS),
    ],
)
def test_a_run_whose_worker_died_before_it_claimed_it_is_started_again_once_the_lease_is_over(
    db, monkeypatch, starter, seconds
):
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    run = order(db).number
    assert launcher.start_queued_runs(db) == [run]
    runs.record_starter(db, run, starter)
    age_leases(db, seconds - 5.0)
    assert launcher.start_queued_runs(db) == []
    age_leases(db, 10.0)
    assert launcher.start_queued_runs(db) == [run]


def test_a_worker_that_takes_its_time_is_not_started_twice_and_counts_among_those_at_work(db, monkeypatch):
    monkeypatch.setenv("TOPIARY_WORKERS", "2")
    started = []
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: started.append(run) or NOBODY)
    first, second, third = (order(db).number for _ in range(3))
    assert launcher.start_queued_runs(db) == [first, second]
    for run in (first, second):
        runs.record_starter(db, run, process.identify_process())
    age_leases(db, 10 * launcher.UNSEEN_SECONDS)
    assert launcher.start_queued_runs(db) == []
    row = runs.claim_run(db, first, process.identify_process())
    assert launcher.start_queued_runs(db) == []
    runs.finish_run(db, first, row.attempt, "stopped")
    assert launcher.start_queued_runs(db) == [third]
    assert started == [first, second, third]


def test_a_worker_that_cannot_be_started_leaves_no_lease(db, monkeypatch):
    def start(url, run):
        raise OSError("no more processes")

    with monkeypatch.context() as patch:
        patch.setattr(launcher, "start_worker", start)
        run = order(db).number
        with pytest.raises(OSError, match="no more processes"):
            launcher.start_queued_runs(db)
    assert runs.get_run(db, run).lease_left is None


SERVER = """
import sys, time
from topiary.app.jobs import launcher
from topiary.store.database import open_database
db = open_database(sys.argv[1])
while True:
    launcher.start_queued_runs(db)
    time.sleep(0.05)
"""


@pytest.mark.skipif(not POSIX, reason="the lock of another program is that of POSIX")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.nightly
def test_each_run_is_started_once_by_two_servers_while_the_store_is_locked(db, monkeypatch):
    monkeypatch.setenv("TOPIARY_WORKERS", "2")
    command, more = [sys.executable, "-c", SERVER, db.url], {"env": process.build_environment(db.url)}
    servers = [subprocess.Popen(command, stderr=subprocess.DEVNULL, **more) for _ in range(2)]
    try:
        numbers = [order(db, minibatches=3).number for _ in range(4)]
        wait_for(db, numbers[0], lambda row: row.lease_left is not None or row.state != "queued")
        most, end = 0, time.monotonic() + 4.0
        with db.write():
            while time.monotonic() < end:
                most = max(most, len(workers_of(db)))
                time.sleep(0.1)
        for run in numbers:
            wait_for(db, run, ended)
    finally:
        for server in servers:
            server.kill()
            server.wait()
    texts = [logs.find_log(db.url, run).read_text(encoding="utf-8") for run in numbers]
    assert most <= 2
    assert [log.count(" begins") for log in texts] == [1, 1, 1, 1]


def test_a_worker_that_was_started_ahead_takes_the_next_run_unless_it_has_died(db):
    row = order(db, minibatches=3)
    request = KernelRequest.of("dlda", row.settings, corpora.get_corpus(db, row.corpus), averaged=False)
    for kernels in (None, request._asdict()):
        process.start_worker_ahead(kernels)
        (ahead,) = process._ahead
        launcher.start_queued_runs(db)
        assert wait_for(db, row.number, ended).process["pid"] == ahead.pid
        assert logs.find_log(db.url, row.number).read_text(encoding="utf-8").count(" begins") == 1
        row = order(db, minibatches=3)
    process.start_worker_ahead()
    process._ahead[0].kill()
    process._ahead[0].wait()
    assert process.give_run(db.url, 2) is None
    process.start_worker_ahead()
    (dismissed,) = process._ahead
    process.dismiss_worker()
    assert dismissed.wait(30) == 0


def workers_of(db):
    """The workers of a store that are alive."""
    found = []
    for each in psutil.process_iter():
        try:
            if "topiary.app.jobs.worker" in each.cmdline() and each.environ().get("TOPIARY_STORE") == db.url:
                found.append(each)
        except psutil.Error:
            continue
    return found


def test_a_queued_run_is_stopped_and_paused_without_a_worker(db):
    one, other = order(db).number, order(db).number
    control.stop_run(db, one)
    control.pause_run(db, other)
    assert runs.get_run(db, one).state == "stopped"
    assert runs.get_run(db, other).state == "paused"


def test_a_run_stopped_while_its_worker_starts_stays_stopped(db, monkeypatch):
    run, identify = order(db).number, process.identify_process

    def stop_first():
        control.stop_run(db, run)
        return identify()

    monkeypatch.setattr(process, "identify_process", stop_first)
    with pytest.raises(Conflict, match=f"run {run} is stopped; topiary resume {run} queues it again"):
        trainer.train_run(db, run)
    assert runs.get_run(db, run).state == "stopped"


@pytest.mark.dialects
@pytest.mark.nightly
def test_two_workers_for_one_run_train_it_once(db):
    run = order(db, minibatches=20).number
    both = [launcher.start_worker(db.url, run) for _ in range(2)]
    assert wait_for(db, run, ended).state == "finished"
    assert sorted(child.wait() for child in both) == [0, worker.LOST]
    assert runs.get_run(db, run).attempt == 1


def test_a_living_worker_that_has_not_written_for_a_while_keeps_its_run(db):
    run = order(db).number
    runs.claim_run(db, run, process.identify_process())
    with db.write() as connection:
        connection.execute(update(tables.runs).values(heartbeat=tables.runs.c.heartbeat - 2 * run_rows.STALE_SECONDS))
    assert not runs.get_run(db, run).alive
    assert find_state(runs.get_run(db, run)) == "running"
    with pytest.raises(Conflict, match="stop it"):
        control.delete_run(db, run)
    assert runs.get_run(db, run).state == "running"


@pytest.mark.parametrize("end", [control.stop_run, control.pause_run])
def test_a_run_whose_worker_died_keeps_its_results_when_it_is_ended(db, end):
    run = order(db).number
    attempt = runs.claim_run(
        db, run, {"pid": 999_999_999, "created": 1.0, "host": process.identify_process()["host"]}
    ).attempt
    runs.record_progress(
        db, run, attempt, minibatch=7, seconds=1.0, points=[Point(7, 0, 1.0, "point_perplexity", 0, 800.0)]
    )
    snapshots.append_snapshot(db, run, attempt, 7, 1.0, {"phi.0": np.ones((2, 1))})
    assert find_state(runs.get_run(db, run)) == "silent"
    end(db, run)
    assert ended(runs.get_run(db, run))
    assert [each.minibatch for each in snapshots.list_snapshots(db, run)] == [7]
    assert [point.minibatch for point in points.read_points(db, run)] == [7]
    assert runs.get_run(db, run).minibatch == 7
    with pytest.raises(LostClaim):  # and the lost worker cannot come back
        runs.record_progress(db, run, attempt, minibatch=8, seconds=1.0)


def test_deleting_a_run_under_its_worker_ends_the_worker(db):
    run = order(db, minibatches=20_000).number
    row = runs.claim_run(db, run, process.identify_process())
    runs.finish_run(db, run, row.attempt, "stopped")
    runs.delete_run(db, run)
    with pytest.raises(LostClaim):
        runs.record_progress(db, run, row.attempt, minibatch=1, seconds=0.0)


def test_the_password_of_a_store_is_on_no_command_line(monkeypatch):
    seen = []
    with monkeypatch.context() as patch:
        patch.setattr(
            process.subprocess, "Popen", lambda command, env, **_: seen.append((command, env["TOPIARY_STORE"]))
        )
        patch.setattr(launcher, "_children", [])
        launcher.start_worker("postgresql://me:secret@here/db", 5)
    command, store = seen[0]
    assert "secret" not in " ".join(command)
    assert store == "postgresql://me:secret@here/db"
    assert command[1:] == ["-P", "-m", "topiary.app.jobs.worker", "--run", "5"]


SCREEN = {"panel", "bokeh", "holoviews", "pandas", "sklearn", "networkx", "param", "matplotlib"}


def test_a_worker_imports_nothing_it_does_not_need():
    script = (
        "import sys, topiary.app.jobs.worker, topiary.app.jobs.training, topiary.app.jobs.records, "
        "topiary.app.jobs.load_corpus\n"
    )
    script += "import topiary.engine.models as m; m.load('dlda').build\n"
    script += "print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=process.build_environment("x"))
    assert "numba" in out.stdout.split()
    assert not SCREEN & set(out.stdout.split())


def leave(run, db, seconds=60):
    """The exit status of the worker of a run, once it has left by itself, and its log."""
    (child,) = launcher._children
    status = child.wait(timeout=seconds)
    return status, logs.find_log(db.url, run).read_text(encoding="utf-8")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("replaced", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_worker_whose_store_is_deleted_or_replaced_leaves_with_a_sentence(db, tmp_path, replaced):
    run = order(db, minibatches=200_000).number
    launcher.start_queued_runs(db)
    wait_for(db, run, trains(1))
    began = time.monotonic()
    (tmp_path / "copy.db").write_bytes((tmp_path / "store.db").read_bytes())
    (tmp_path / "store.db").rename(tmp_path / "away.db")
    if replaced:  # at once: the worker should not look in between
        (tmp_path / "copy.db").rename(tmp_path / "store.db")
    status, log = leave(run, db)
    assert time.monotonic() - began < 30
    assert status == worker.LOST
    assert ("another store has taken the place" if replaced else "was deleted or moved away") in log
    assert "Traceback" not in log
    (tmp_path / "away.db").rename(tmp_path / "store.db")
    assert find_state(runs.get_run(db, run)) == "silent"


@pytest.mark.skipif(not POSIX, reason="Windows ends processes without asking them")
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.nightly
def test_a_worker_asked_to_end_leaves_soon_also_when_the_database_is_gone(db, database_url):
    run = order(db, minibatches=200_000).number
    with Relay(database_url) as relay:
        child = launcher.start_worker(relay.url, run)
        wait_for(db, run, trains(1))
        relay.cut()
        time.sleep(1.0)
        assert child.poll() is None  # a server that restarts is waited for
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait(timeout=30) == worker.LOST
        log = logs.find_log(relay.url, run).read_text(encoding="utf-8")
    assert "cannot be reached" in log
    assert find_state(runs.get_run(db, run)) == "silent"
