"""Runs that are ordered together on a place: each is trained whole, by one of its processes.

With ``local:N`` these are the usual workers, N at a time, which :mod:`app.jobs.launcher` starts.  On a cluster each run
is a task that Dask gives to a worker; this module only sends it there.  The worker reads and writes the store.
"""

import hashlib
import logging
import time
from collections.abc import Iterable, Sequence

from app.jobs.cluster import place
from app.jobs.trainer import train_run
from store import events, runs
from store.database import Database, open_database
from store.errors import StoreError
from store.run_rows import RunRow

AGAIN_SECONDS = 120.0  # after which a run that still waits is sent again, in case the scheduler has forgotten it
RETRY_SECONDS = 30.0  # after which an address is tried again where nobody answered
SCHEDULER_PATIENCE = 10  # seconds that a scheduler has to answer

log = logging.getLogger("topiary.cluster")
_sent: dict[str, float] = {}  # when this process sent a task, by its name
_failed: dict[str, float] = {}  # when an address did not answer


def find_place(row: RunRow) -> place.WorkPlace | None:
    """Return the place whose processes train a run whole; None of all other runs."""
    if not row.options.get("whole"):
        return None
    try:
        return place.parse_place(str(row.options.get("on", "")))
    except place.PlaceError:
        return None


def is_on_cluster(row: RunRow) -> bool:
    """Return whether a worker of a Dask cluster trains a run whole, so that no process is started for it here."""
    found = find_place(row)
    return found is not None and bool(found.address)


def submit_runs(db: Database, rows: Iterable[RunRow]) -> list[int]:
    """Send queued runs to the schedulers that they were ordered on; return the numbers of those that are there.

    A run that was sent before is not trained twice: Dask knows the task by its name, and a task leaves a run alone that
    another process has taken up since.  Where no scheduler answers the runs go on waiting, and *What happened* says so.
    """
    waiting = [row for row in rows if row.state == "queued" and is_on_cluster(row)]
    there = []
    for address in dict.fromkeys(str(row.options["on"]) for row in waiting):
        there += _send_runs(db, address, [row for row in waiting if row.options["on"] == address])
    return there


def train_submitted(url: str, run: int, attempt: int) -> None:
    """Train a run, in the worker of a cluster, unless another process has taken it up since it was sent.

    Dask gives a task to another worker when the first has died.  The run is then silent, and goes on from its
    checkpoint when it is resumed, as after any other death of its process.
    """
    db = open_database(url)
    try:
        row = runs.get_run(db, run)
        if (row.state, row.attempt) == ("queued", attempt):
            train_run(db, run)
    except StoreError as error:  # deleted, or another process was faster
        log.warning("run %d: %s", run, error)
    finally:
        db.close()


def _send_runs(db: Database, address: str, rows: Sequence[RunRow]) -> list[int]:
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
    """Return the name of the task that makes an attempt at a run; another store has other names."""
    return f"topiary-run-{row.number}-{row.attempt}-{hashlib.sha256(db.url.encode()).hexdigest()[:8]}"
