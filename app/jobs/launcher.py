"""Start the workers of runs, and find the states of runs.

A worker is a separate process in a session of its own: closing the browser, restarting or killing
the server does not affect it.  Rows of the store say what should happen; this module only starts
processes for queued runs, up to :func:`limit_runs`, and sends runs of a cluster to its scheduler.

A worker needs some time to claim its run: it loads packages, and waits while the store is locked.  So the program
that starts one first takes a lease on the run, in its row, and records the process there; until the lease ends, no
server starts another.
"""

import itertools
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress

import psutil

from topiary.app.jobs import logs, process
from topiary.app.jobs.cluster import whole
from topiary.app.jobs.process import find_state
from topiary.app.machine import count_processors
from topiary.store import runs
from topiary.store.database import PATIENCE_SECONDS, Database
from topiary.store.errors import StoreError
from topiary.store.run_rows import RunRow

LEASE_SECONDS = 30.0  # after which a run whose worker died before claiming it gets another worker
UNSEEN_SECONDS = 2 * PATIENCE_SECONDS  # added to the lease if the process cannot be checked: it may wait for a lock

_children: list["subprocess.Popen[bytes]"] = []


def limit_runs() -> int:
    """Return how many runs may train at the same time: TOPIARY_WORKERS, or half the number of processors."""
    number = os.environ.get("TOPIARY_WORKERS", "")
    return max(1, int(number) if number.isdigit() else count_processors() // 2)


def start_worker(db_url: str, run: int) -> "subprocess.Popen[bytes]":
    """Start the worker of one run as a detached process.

    Parameters
    ----------
    db_url : str
        URL of the store, passed in the environment because all users can read command lines, and a URL may
        contain a password.
    run : int
        Number of the run; the worker claims it, or ends without an error if another process was faster.
    """
    child = process.give_run(db_url, run)
    if child is None:
        with logs.open_log(db_url, run) as log:
            child = process.start_module(
                "topiary.app.jobs.worker", "--run", str(run), store=db_url, apart=True, stdout=log, stderr=log
            )
    _children.append(child)
    return child


def start_placing(db_url: str, run: int) -> "subprocess.Popen[bytes]":
    """Start a process that places the documents appended to the corpus of a run (``topiary place``); return it."""
    child = process.start_module(
        "topiary.app.cli.main",
        "place",
        str(run),
        store=db_url,
        apart=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _children.append(child)
    return child


def start_queued_runs(db: Database) -> list[int]:
    """Start queued runs in order, as long as there is room for the next one; return their numbers.

    Runs that a cluster trains whole are sent to its scheduler instead, which gives them to its workers.
    """
    reap_children()
    rows = runs.list_runs(db)
    chosen = runs.lease_runs(db, _choose_next, LEASE_SECONDS) if _choose_next(rows) else []
    for run in chosen:
        _start_leased(db, run)
    return chosen + whole.submit_runs(db, sorted(rows, key=lambda row: row.order))


def _choose_next(rows: Sequence[RunRow]) -> list[int]:
    """Return the numbers of the queued runs to start now, given the rows of all runs."""
    local_rows = [row for row in sorted(rows, key=lambda row: row.order) if not whole.is_on_cluster(row)]
    n_busy = sum(find_state(row) == "running" or is_starting(row) for row in local_rows)
    queued = [row for row in local_rows if row.state == "queued" and not is_starting(row)]
    startable = itertools.takewhile(lambda item: n_busy + item[0] < _count_room(item[1]), enumerate(queued))
    return [row.number for _, row in startable]


def is_starting(row: RunRow) -> bool:
    """Return whether a worker is being started for a queued run, on this machine or another."""
    if row.state != "queued" or row.lease_left is None:
        return False
    match process.check_life(row.starter):
        case "alive":
            return True
        case "dead":
            return 0 < row.lease_left <= LEASE_SECONDS  # a longer rest: the database's clock was set back
        case _:
            return -UNSEEN_SECONDS < row.lease_left <= LEASE_SECONDS


def _start_leased(db: Database, run: int) -> None:
    """Start the worker of a run that this process has a lease on, and write its process into the row."""
    try:
        child = start_worker(db.url, run)
    except OSError:
        runs.release_lease(db, run)
        raise
    with suppress(StoreError, psutil.Error):  # without it, only the lease takes longer to end
        runs.record_starter(db, run, process.identify_process(child.pid))


def _count_room(row: RunRow) -> int:
    """Return how many runs may train at once, including this one: N for runs that share ``local:N``."""
    place = whole.find_place(row)
    return limit_runs() if place is None else place.processes


def reap_children() -> None:
    """Reap the child processes that have ended, so that no zombie looks alive."""
    _children[:] = [child for child in _children if child.poll() is None]
