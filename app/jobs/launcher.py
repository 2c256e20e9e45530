"""Start training processes, find the states of their runs, and reap them.

A worker is a process of its own, in a session of its own: closing the browser, restarting or killing
the server never touches it.  Rows of the store say what should happen; this module only starts
processes for queued runs, up to :func:`limit_runs`, and sends those of a cluster to its scheduler.

A worker takes its time to claim its run: it loads its packages, and waits while the store is locked.  So the program
that starts one first takes a lease on the run, in its row, and names the process there; until the lease ends no
server starts another.
"""

import itertools
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress

import psutil

from app.jobs import logs, process
from app.jobs.cluster import whole
from app.machine import count_processors
from store import queue, runs
from store.database import PATIENCE_SECONDS, Database
from store.errors import Conflict, StoreError
from store.run_rows import RunRow

SILENT_HERE = 120.0  # seconds without a beat; a living process may be compiling or in one long sweep
SILENT_ELSEWHERE = 60.0
LEASE_SECONDS = 30.0  # before another worker is started for a run whose first one died before it claimed it
UNSEEN_SECONDS = 2 * PATIENCE_SECONDS  # longer where the process cannot be checked: it may wait for a lock

_children: list["subprocess.Popen[bytes]"] = []


def limit_runs() -> int:
    """Return how many runs may train at the same time: TOPIARY_WORKERS, or half the processors."""
    number = os.environ.get("TOPIARY_WORKERS", "")
    return max(1, int(number) if number.isdigit() else count_processors() // 2)


def choose_threads() -> int:
    """Return the default number of threads of a run: two where there are two processors."""
    return min(2, count_processors())


def start_worker(db_url: str, run: int) -> "subprocess.Popen[bytes]":
    """Start the worker of one run as a detached process.

    Parameters
    ----------
    db_url : str
        URL of the store; handed over in the environment, because everybody can read command lines and a
        URL may hold a password.
    run : int
        Number of the run; the worker claims it, and ends without an error when another process was faster.
    """
    logs.make_log_folder()
    path = logs.find_log(db_url, run)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    with path.open("ab") as log:
        child = process.start_module(
            "app.jobs.worker", "--run", str(run), store=db_url, apart=True, stdout=log, stderr=log
        )
    _children.append(child)
    return child


def start_queued_runs(db: Database) -> list[int]:
    """Start queued runs, in their order, while there is room for the next one; return their numbers.

    Those that a cluster trains whole wait at its scheduler instead, which gives them to its workers.
    """
    reap_children()
    rows = runs.list_runs(db)
    chosen = queue.lease_runs(db, _choose_next, LEASE_SECONDS) if _choose_next(rows) else []
    for run in chosen:
        _start_leased(db, run)
    return chosen + whole.submit_runs(db, [row for row in sorted(rows, key=lambda row: row.order) if not row.unusable])


def _choose_next(rows: Sequence[RunRow]) -> list[int]:
    """Return the queued runs to start workers for now, given all runs at one moment."""
    here = [row for row in sorted(rows, key=lambda row: row.order) if not whole.is_on_cluster(row)]
    busy = sum(find_work_state(row) == "running" or is_starting(row) for row in here)
    waiting = [row for row in here if row.state == "queued" and not row.unusable and not is_starting(row)]
    fitting = itertools.takewhile(lambda place: busy + place[0] < _count_room(place[1]), enumerate(waiting))
    return [row.number for _, row in fitting]


def is_starting(row: RunRow) -> bool:
    """Return whether a worker is being started for a queued run, here or elsewhere."""
    if row.state != "queued" or row.lease_left is None:
        return False
    match process.check_life(row.starter):
        case "alive":
            return True
        case "dead":
            return 0 < row.lease_left <= LEASE_SECONDS  # more: the clock of the database was set back
        case _:
            return -UNSEEN_SECONDS < row.lease_left <= LEASE_SECONDS


def _start_leased(db: Database, run: int) -> None:
    """Start the worker of a run that this process has a lease on, and write its process into the row."""
    try:
        child = start_worker(db.url, run)
    except OSError:
        queue.release_lease(db, run)
        raise
    with suppress(StoreError, psutil.Error):  # without the process in the row the lease only takes longer to end
        queue.record_starter(db, run, process.identify_process(child.pid))


def _count_room(row: RunRow) -> int:
    """Return how many runs may train at once with this one among them: N where several share ``local:N``."""
    place = whole.find_place(row)
    return limit_runs() if place is None else place.processes


def find_state(row: RunRow) -> str:
    """Return the state to show: that of the row, "damaged" where cells of it are, "silent" without a living worker.

    On this host a run is silent when its process is gone, is a zombie, or has not beaten for two
    minutes; on another host, when it has not beaten for one.
    """
    return "damaged" if row.damage else find_work_state(row)


def find_work_state(row: RunRow) -> str:
    """Return the state of a run, even if its row is damaged."""
    if row.state != "running":
        return row.state
    age = row.heartbeat_age if row.heartbeat_age is not None else 0.0
    match process.check_life(row.process):
        case "dead":
            return "silent"
        case "alive":
            return "silent" if age > SILENT_HERE else "running"
        case _:
            return "silent" if age > SILENT_ELSEWHERE else "running"


def stop_run(db: Database, run: int) -> None:
    """Ask a run to stop; one without a living worker is stopped at once.

    Raises
    ------
    Conflict
        When it has ended already.
    """
    _request_end(db, run, "stop", "stopped")


def pause_run(db: Database, run: int) -> None:
    """Ask a run to pause; one without a living worker is paused at once.

    Raises
    ------
    Conflict
        When it has ended already.
    """
    _request_end(db, run, "pause", "paused")


def _request_end(db: Database, run: int, request: str, state: str) -> None:
    row = runs.get_run(db, run)
    if find_work_state(row) in ("queued", "silent"):
        _end_run(db, row, state)
    else:
        runs.send_request(db, run, request)


def resume_run(db: Database, run: int) -> None:
    """Go on with a run from its checkpoint: it is queued, and starts when there is room.

    Raises
    ------
    Conflict
        When it trains already or is finished.
    DamagedRow
        When its row is damaged, so that it cannot go on.
    """
    row = runs.get_run(db, run)
    row.check_usable()
    state = find_work_state(row)
    if state in ("running", "finished"):
        raise Conflict(f"run {run} is {state}; there is nothing to resume")
    if state == "silent":
        _end_run(db, row, "paused")
    if state != "queued":
        runs.requeue_run(db, run)
    start_queued_runs(db)


def delete_run(db: Database, run: int) -> None:
    """Delete a run with everything it wrote.

    Raises
    ------
    Conflict
        While it trains.
    """
    row = runs.get_run(db, run)
    match find_work_state(row):
        case "running":
            raise Conflict(f"run {run} is training; stop it before deleting it")
        case "silent":
            _end_run(db, row, "stopped")
    runs.delete_run(db, run)


def reap_children() -> None:
    """Let the operating system forget children that have ended, so that no zombie looks alive."""
    _children[:] = [child for child in _children if child.poll() is None]


def _end_run(db: Database, row: RunRow, state: str) -> None:
    """End a run without a living worker; its results stay."""
    proved_dead = row.state == "running" and process.check_life(row.process) == "dead"
    runs.abandon_run(db, row.number, state, f"{state} while no worker was training it", force=proved_dead)
