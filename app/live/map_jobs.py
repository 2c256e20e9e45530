"""Maps of documents in progress: one at a time, each made by a process of its own, so that pages stay quick.

The map of a run that has just ended is made by a process that its worker has started (:mod:`app.jobs.map_work`); the
server leaves it to that process.
"""

import json
import logging
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from topiary.app.jobs import logs, process, progress
from topiary.app.jobs.map_work import BEGINNING, LEFT, is_making_map, read_map_notice
from topiary.app.jobs.progress import FAILED, ImportNotice, Notice
from topiary.store.run_rows import RunRow

_FIRST_NUMBER = 1_000_000_000  # the notice of run n has the number -(this + n), which no import and no index has

log = logging.getLogger("topiary.maps")


class MapJobs:
    """The maps that this server has made, one at a time, and how far they are."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="topiary-maps")
        self._begun: set[tuple[int, int, int]] = set()  # runs, snapshots, and documents of their corpora
        self._notices: dict[int, Notice] = {}  # by run
        self._child: subprocess.Popen[str] | None = None
        self._closing = False

    def start(self, url: str, run: RunRow, snapshot: int, documents: int, look: Callable[[], None]) -> None:
        """Have the map made, unless that was begun before or is done by the process that the worker has started.

        Parameters
        ----------
        url : str
            URL of the store.
        run : RunRow
        snapshot : int
            Number of the snapshot.
        documents : int
            Number of documents of the corpus.
        look : () -> None
            Called after each change; has the store queried, so that sessions see the change.
        """
        key = run.number, snapshot, documents
        with self._lock:
            if key in self._begun or self._closing or is_making_map(run, snapshot):
                return
            self._begun.add(key)
        self._post(run, Notice(BEGINNING, 0.0))
        self._threads.submit(self._make, url, run, snapshot, look)
        look()

    def read_notice(self, run: RunRow) -> Notice:
        """Return how far the map of a run is, or why it has failed; an empty sentence if neither."""
        with self._lock:
            own = self._notices.get(run.number, Notice())
        return own if own.sentence else read_map_notice(run)

    def forget(self, run: int) -> None:
        """Forget which maps of a run were begun, unless one is in progress."""
        with self._lock:
            notice = self._notices.get(run, Notice())
            if notice.failed or not notice.sentence:
                self._begun = {key for key in self._begun if key[0] != run}
                self._notices.pop(run, None)

    def close(self) -> None:
        """End the process that is at work; the map is made another time."""
        with self._lock:
            self._closing = True
            child = self._child
        if child is not None and child.poll() is None:
            child.terminate()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _make(self, url: str, run: RunRow, snapshot: int, look: Callable[[], None]) -> None:
        """Start the process, and pass on its messages until it ends."""
        with logs.open_private(logs.make_log_folder() / "maps.log") as log_file:
            child = process.start_module(
                "topiary.app.analysis.map_process", str(run.number), str(snapshot),
                store=url, apart=True, stdout=subprocess.PIPE, stderr=log_file, text=True, encoding="utf-8",
            )  # fmt: skip
            with self._lock:
                self._child = child
                if self._closing:
                    child.terminate()
            reason = ""
            with child:
                for line in child.stdout or ():
                    words, value = json.loads(line)
                    if words == FAILED:
                        reason = value
                    else:
                        self._post(run, Notice(words, value))
        if child.returncode == LEFT:  # it may be asked for again if the process that makes it is killed
            with self._lock:
                self._begun = {key for key in self._begun if key[:2] != (run.number, snapshot)}
        elif child.returncode and not reason and not self._closing:
            reason = f"it ended unexpectedly; {log_file.name} says why"
        if reason:
            log.warning("the map of run %d could not be made: %s", run.number, reason)
        self._post(run, Notice(f"The map could not be made: {reason}", failed=True) if reason else Notice())
        look()

    def _post(self, run: RunRow, notice: Notice) -> None:
        """Set the notice of a run, also on the page Runs while the map is being made."""
        with self._lock:
            self._notices[run.number] = notice
        shown = Notice() if notice.failed else notice
        progress.post_import(ImportNotice(-_FIRST_NUMBER - run.number, run.name or f"Run {run.number}", shown))
