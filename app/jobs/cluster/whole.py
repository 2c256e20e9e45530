"""Runs of a group that share a place: each is trained whole by one process of it.

With ``local:N`` the processes are the usual workers, N at a time, which :mod:`app.jobs.launcher` starts.  On a cluster
each run is a task that Dask gives to a worker; this module sends it there.  The worker reads and writes the store.
"""

import hashlib
import logging
import time
from collections.abc import Iterable, Sequence

from topiary.app.jobs.cluster import place
from topiary.store import events, runs
from topiary.store.database import Database, open_database
from topiary.store.errors import StoreError
from topiary.store.run_rows import RunRow

AGAIN_SECONDS = 120.0  # after which a waiting run is sent again, in case the scheduler has forgotten it
RETRY_SECONDS = 30.0  # after which an address that did not answer is tried again
SCHEDULER_PATIENCE = 10  # seconds to wait for an answer of a scheduler

log = logging.getLogger("topiary.cluster")
_sent: dict[str, float] = {}  # time at which this process sent a task, by the name of the task
_failed: dict[str, float] = {}  # time at which an address last did not answer


def find_place(row: RunRow) -> place.WorkPlace | None:
    """Return the place of a run that is trained whole; None for all other runs."""
    if not row.options.get("whole"):
        return None
    try:
        return place.parse_place(str(row.options.get("on", "")))
    except place.PlaceError:
        return None


def is_on_cluster(row: RunRow) -> bool:
    """Return whether a worker of a Dask cluster trains a run whole, so that no process is started for it here."""
    target = find_place(row)
    return target is not None and bool(target.address)


def submit_runs(db: Database, rows: Iterable[RunRow]) -> list[int]:
    """Send queued runs to their schedulers; return the numbers of the runs that have been sent.

    A run is not trained twice if it is sent twice: Dask knows the task by its name, and a task skips a run that another
    process has claimed since.  If no scheduler answers, the runs keep waiting, and their list of events says so.
    """
    waiting = [row for row in rows if row.state == "queued" and is_on_cluster(row)]
    sent = []
    for address in dict.fromkeys(str(row.options["on"]) for row in waiting):
        sent += _send_runs(db, address, [row for row in waiting if row.options["on"] == address])
    return sent


def train_submitted(url: str, run: int, attempt: int) -> None:
    """Train a run in a worker of a cluster, unless another process has claimed it since it was sent.

    If the worker dies, Dask gives the task to another one, which skips it.  The run is then silent and goes on from its
    checkpoint when a user resumes it, as after any other death of its process.
    """
    from topiary.app.jobs.map_work import try_start_map
    from topiary.app.jobs.trainer import train_run  # only a worker trains

    db = open_database(url)
    try:
        row = runs.get_run(db, run)
        if (row.state, row.attempt) == ("queued", attempt):
            train_run(db, run)
            try_start_map(db, run)
    except StoreError as error:  # the run was deleted, or another process was faster
        log.warning("run %d: %s", run, error)
    finally:
        db.close()


def _send_runs(db: Database, address: str, rows: Sequence[RunRow]) -> list[int]:
    """Send runs to one scheduler if it is time to; return the numbers of those that it has."""
    now = time.monotonic()
    due = [row for row in rows if now - _sent.get(_name_task(db, row), -AGAIN_SECONDS) >= AGAIN_SECONDS]
    if not due:
        return [row.number for row in rows]
    if now - _failed.get(address, -RETRY_SECONDS) < RETRY_SECONDS:
        return []
    try:
        _submit_tasks(db, address, due)
    except place.PlaceError as error:
        _failed[address] = time.monotonic()
        for row in due:
            events.append_note(db, row.number, row.minibatch, "waiting", str(error))
        return []
    _sent.update({_name_task(db, row): time.monotonic() for row in due})
    return [row.number for row in rows]


def _submit_tasks(db: Database, address: str, rows: Sequence[RunRow]) -> None:
    """Submit a task for each run to a scheduler, without waiting for results."""
    client = place.connect_client(address, patience=SCHEDULER_PATIENCE)
    try:
        from distributed import fire_and_forget

        for row in rows:
            task = client.submit(
                train_submitted, db.url, row.number, row.attempt, key=_name_task(db, row), pure=False, retries=0
            )
            fire_and_forget(task)
    finally:
        place.close_client(client)


def _name_task(db: Database, row: RunRow) -> str:
    """Return the name of the task for an attempt at a run; names differ between stores."""
    return f"topiary-run-{row.number}-{row.attempt}-{hashlib.sha256(db.url.encode()).hexdigest()[:8]}"
