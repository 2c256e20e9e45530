"""Starts training processes, tells how they are, and reaps them.

A worker is a process of its own, in a session of its own: closing the browser, restarting or killing
the server never touches it.  Rows of the store say what should happen; this module only brings
processes into being for queued runs, up to :func:`most_at_once`, and sends those of a cluster to its scheduler.

A worker takes its time to claim its run: it loads its packages, and waits while the store is locked.  So the program
that starts one first takes a lease on the run, in its row, and names the process there; until the lease ends no
server starts another.
"""

import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil
from sqlalchemy.engine import make_url

from app.jobs import process
from app.jobs.cluster import whole
from app.machine import ROOT, count_processors
from store import queue, runs
from store.database import PATIENCE_SECONDS, Database
from store.errors import Conflict, StoreError
from store.run_rows import RunRow

SILENT_HERE = 120.0  # seconds without a beat; a living process may be compiling or in one long sweep
SILENT_ELSEWHERE = 60.0
LEASE_SECONDS = 30.0  # before another worker is started for a run whose first one died before it claimed it
UNSEEN_SECONDS = 2 * PATIENCE_SECONDS  # more, where nobody here sees whether it lives: so long it may wait for a lock
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_children: list["subprocess.Popen[bytes]"] = []


def most_at_once() -> int:
    """How many runs may train at the same time: half the processors, or TOPIARY_WORKERS."""
    request = os.environ.get("TOPIARY_WORKERS", "")
    return max(1, int(request) if request.isdigit() else count_processors() // 2)


def threads() -> int:
    """How many threads a run gets unless it is told otherwise: two where there are two."""
    return min(2, count_processors())


def log_folder() -> Path:
    """Where workers write what they have to say besides the store."""
    if sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "Topiary"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Application Support" / "Topiary"
    else:
        root = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local" / "share")) / "topiary"
    return root / "logs"


def made_log_folder() -> Path:
    """The same folder, made, and open to its owner only: logs name files and say what is in the store."""
    folder = log_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(OSError):  # somebody else's folder, which this user may write
        folder.chmod(0o700)
    return folder


def log_path(db_url: str, run: int) -> Path:
    """Where the workers of a run of a store write: each store has a folder of its own, because runs count from 1."""
    place = make_url(db_url).render_as_string(hide_password=True)
    return log_folder() / hashlib.sha256(place.encode()).hexdigest()[:8] / f"run-{run}.log"


def start(db_url: str, run: int) -> "subprocess.Popen[bytes]":
    """Start the worker of one run as a detached process.

    Parameters
    ----------
    db_url : str
        URL of the store; handed over in the environment, because command lines are for all to see and
        it may hold a password.
    run : int
        Number of the run; the worker claims it, and goes quietly when somebody else was faster.
    """
    command = [sys.executable, "-P", "-m", "app.jobs.worker", "--run", str(run)]
    made_log_folder()
    path = log_path(db_url, run)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    with path.open("ab") as log:
        child = detach(command, log, store=db_url)
    _children.append(child)
    return child


def detach(command: list[str], log: IO[bytes], *, store: str) -> "subprocess.Popen[bytes]":
    """Start a process that outlives this one and shares no terminal with it."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(store), **apart()
    )


def apart() -> dict[str, Any]:
    """What sets a process apart, so that Ctrl-C on our terminal does not reach it."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def environment(store: str) -> dict[str, str]:
    """The environment of a worker: our packages findable, matrix products on one thread.

    One thread keeps the bits of a product the same on every machine's number of processors; the
    kernels have threads of their own.
    """
    old = os.environ.get("PYTHONPATH")
    paths = [str(ROOT), *(old.split(os.pathsep) if old else [])]
    ours = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "TOPIARY_STORE": store}
    return os.environ | ours | dict.fromkeys(_ONE_THREAD, "1")


def fill(db: Database) -> list[int]:
    """Start queued runs, in their order, while there is room for the next one; give their numbers.

    Those that a cluster trains whole wait at its scheduler instead, which gives them to its workers.
    """
    reap()
    rows = runs.list_runs(db)
    chosen = queue.lease_runs(db, _next, LEASE_SECONDS) if _next(rows) else []
    for run in chosen:
        _start_leased(db, run)
    return chosen + whole.submit(db, [row for row in sorted(rows, key=lambda row: row.order) if not row.unusable])


def _next(rows: Sequence[RunRow]) -> list[int]:
    """Return the queued runs that a worker is to be started for now, of all runs as they are at one moment."""
    here = [row for row in sorted(rows, key=lambda row: row.order) if not whole.on_cluster(row)]
    busy = sum(work_state(row) == "running" or is_starting(row) for row in here)
    waiting = [row for row in here if row.state == "queued" and not row.unusable and not is_starting(row)]
    fitting = itertools.takewhile(lambda place: busy + place[0] < _room(place[1]), enumerate(waiting))
    return [row.number for _, row in fitting]


def is_starting(row: RunRow) -> bool:
    """Return whether a worker is being started for a queued run, here or elsewhere."""
    if row.state != "queued" or row.lease_left is None:
        return False
    match process.life(row.starter):
        case "alive":
            return True
        case "dead":
            return 0 < row.lease_left <= LEASE_SECONDS  # more: the clock of the database was set back
        case _:
            return -UNSEEN_SECONDS < row.lease_left <= LEASE_SECONDS


def _start_leased(db: Database, run: int) -> None:
    """Start the worker of a run that this process has a lease on, and name it in the row."""
    try:
        child = start(db.url, run)
    except OSError:
        queue.release_lease(db, run)
        raise
    with suppress(StoreError, psutil.Error):  # without its name the lease only takes longer to end
        queue.record_starter(db, run, process.identity(child.pid))


def _room(row: RunRow) -> int:
    """How many runs may train at once where this one is to be among them: N of several that share ``local:N``."""
    place = whole.place_of(row)
    return most_at_once() if place is None else place.processes


def state_of(row: RunRow) -> str:
    """The state to show: that of the row, "damaged" if cells of it are, or "silent" when it says running and nobody is.

    On this host a run is silent when its process is gone, is a zombie, or has not beaten for two
    minutes; on another host, when it has not beaten for one.
    """
    return "damaged" if row.damage else work_state(row)


def work_state(row: RunRow) -> str:
    """Return the state of a run, whatever cells of its row are damaged."""
    if row.state != "running":
        return row.state
    age = row.heartbeat_age if row.heartbeat_age is not None else 0.0
    match process.life(row.process):
        case "dead":
            return "silent"
        case "alive":
            return "silent" if age > SILENT_HERE else "running"
        case _:
            return "silent" if age > SILENT_ELSEWHERE else "running"


def stop(db: Database, run: int) -> None:
    """Ask a run to stop; one without a living worker is stopped at once.

    Raises
    ------
    Conflict
        When it has ended already.
    """
    _ask(db, run, "stop", "stopped")


def pause(db: Database, run: int) -> None:
    """Ask a run to pause; one without a living worker is paused at once.

    Raises
    ------
    Conflict
        When it has ended already.
    """
    _ask(db, run, "pause", "paused")


def _ask(db: Database, run: int, request: str, state: str) -> None:
    row = runs.get_run(db, run)
    if work_state(row) in ("queued", "silent"):
        _end(db, row, state)
    else:
        runs.send_request(db, run, request)


def resume(db: Database, run: int) -> None:
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
    state = work_state(row)
    if state in ("running", "finished"):
        raise Conflict(f"run {run} is {state}; there is nothing to resume")
    if state == "silent":
        _end(db, row, "paused")
    if state != "queued":
        runs.requeue_run(db, run)
    fill(db)


def delete(db: Database, run: int) -> None:
    """Delete a run with everything it wrote.

    Raises
    ------
    Conflict
        While it trains.
    """
    row = runs.get_run(db, run)
    match work_state(row):
        case "running":
            raise Conflict(f"run {run} is training; stop it before deleting it")
        case "silent":
            _end(db, row, "stopped")
    runs.delete_run(db, run)


def reap() -> None:
    """Let the operating system forget children that have ended, so that no zombie looks alive."""
    _children[:] = [child for child in _children if child.poll() is None]


def _end(db: Database, row: RunRow, state: str) -> None:
    """End a run that nobody trains; its results stay."""
    proved_dead = row.state == "running" and process.life(row.process) == "dead"
    runs.abandon_run(db, row.number, state, f"{state} while no worker was training it", force=proved_dead)
