"""The making of the map of documents after a run has ended: its process, and how far it is, in the row of the run.

The worker starts the process when the end of the run is recorded, so that nobody waits for the map.  The process
(:mod:`app.analysis.document_map`) outlives the worker.  If it is killed, the map is made when a page asks for it.
"""

import os
import subprocess
import time
from typing import Any

import psutil

from topiary.app.jobs import logs, process
from topiary.app.jobs.progress import Notice
from topiary.store import runs, shares, snapshots
from topiary.store.database import Database
from topiary.store.errors import StoreError
from topiary.store.run_rows import RunRow

LEFT = 3  # exit status of the process: another one makes the map
BEGINNING = "The map of documents is about to be made"
RECORD_SECONDS = 1.0  # between two records of the progress
AFTER_RUN = "--after-run"  # the process reports to the row of its run, and gives way to runs that train
_ENDED = ("finished", "stopped")  # runs whose documents are placed

_children: list["subprocess.Popen[bytes]"] = []


def start_map(db: Database, run: int) -> bool:
    """Start the process that makes the map of a run that has ended with all its documents placed.

    The environment variable ``TOPIARY_MAPS`` with the value 0 leaves maps to the pages that show them.

    Returns
    -------
    bool
        Whether it was started.
    """
    from topiary.app.jobs.plan import hash_share_origin

    row = runs.get_run(db, run)
    if row.state not in _ENDED or os.environ.get("TOPIARY_MAPS") == "0":
        return False
    snapshot = snapshots.find_sound(db, run)
    if snapshot is None or shares.find_set(db, snapshot.number, hash_share_origin(row)) is None:
        return False
    child = _start_mapping(db.url, run, snapshot.number)
    MapRecord(db, row, snapshot.number, child.pid).write(BEGINNING, 0.0)
    return True


def try_start_map(db: Database, run: int) -> None:
    """Start the process as :func:`start_map` does; an error is only logged, as a page makes the map later."""
    try:
        start_map(db, run)
    except (StoreError, OSError, psutil.Error) as error:
        logs.write_line(f"the map of documents is not made now: {error}")


def _start_mapping(db_url: str, run: int, snapshot: int) -> "subprocess.Popen[bytes]":
    """Start the process that makes the map of documents under a snapshot of a run that has ended; return it."""
    with logs.open_log(db_url, run) as log:
        child = process.start_module(
            "topiary.app.analysis.document_map", str(run), str(snapshot), AFTER_RUN,
            store=db_url, apart=True, stdout=log, stderr=log,
        )  # fmt: skip
    _children[:] = [each for each in _children if each.poll() is None] + [child]  # so that no zombie looks alive
    return child


class MapRecord:
    """What the row of a run that has ended says of the process that makes its map.

    Parameters
    ----------
    db : Database
        Open for writing.
    snapshot : int
        Number of the snapshot whose map is made.
    pid : int, optional
        Number of the process, by default of this one.
    """

    def __init__(self, db: Database, row: RunRow, snapshot: int, pid: int | None = None) -> None:
        self._db, self._row = db, row
        self._facts = process.identify_process(pid) | {"snapshot": snapshot}
        self._last: tuple[str, float] = ("", 0.0)  # the last words, and when they were written

    def write(self, words: str, share: float) -> None:
        """Record the activity and the share of it that is done, unless that was done a moment ago.

        Raises
        ------
        LostClaim
            If the run was resumed or deleted, so that its map is not wanted any more.
        """
        words_before, written = self._last
        if words != words_before or time.monotonic() - written >= RECORD_SECONDS:
            self._last = words, time.monotonic()
            self._replace({"map": self._facts | {"words": words, "share": share}})

    def remove(self) -> None:
        """Remove the record; errors are those of `write`."""
        self._replace({})

    def _replace(self, record: dict[str, Any]) -> None:
        others = {name: value for name, value in self._row.process.items() if name != "map"}
        runs.record_process(self._db, self._row.number, self._row.attempt, others | record)


def read_map_notice(row: RunRow) -> Notice:
    """Return how far the map of a run that has ended is; an empty sentence if no process makes it."""
    record = row.process.get("map")
    if row.state not in _ENDED or record is None:
        return Notice()
    life = process.check_life(record)
    age = row.heartbeat_age if row.heartbeat_age is not None else 0.0
    if life == "dead" or (life != "alive" and age > process.SILENT_ELSEWHERE):
        return Notice()
    return Notice(record["words"], record["share"])


def is_making_map(row: RunRow, snapshot: int) -> bool:
    """Return whether a process makes the map of a snapshot, as the row of its run says."""
    return bool(read_map_notice(row).sentence) and row.process["map"]["snapshot"] == snapshot
