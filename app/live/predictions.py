"""Classes and maps that the server computes; quick to import, as the engine is loaded with the first computation."""

import json
import logging
import subprocess
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock

from sqlalchemy.exc import SQLAlchemyError

from topiary.app.analysis.predictions import Classified, Doing, Report, load_predictions, store_predictions
from topiary.app.jobs import logs, process, progress
from topiary.app.jobs.map_work import BEGINNING, LEFT, is_making_map, read_map_notice
from topiary.app.jobs.progress import FAILED, ImportNotice, Notice, Progress
from topiary.store import corpora, runs, snapshots
from topiary.store.database import Database
from topiary.store.errors import NotFound, StoreError
from topiary.store.run_rows import RunRow

MOST_PREDICTIONS = 6  # snapshots whose predictions are in memory

log = logging.getLogger("topiary.classes")


PredictionWork = Callable[[Database, RunRow, int, Report], Classified]


class PredictionCache:
    """Predictions by (run, snapshot), computed once: sessions share them in memory, processes through the store.

    Parameters
    ----------
    db : Database
        Read-only.
    work : (db, run row, snapshot, report) -> Classified, optional
        Computes predictions and reports its progress; by default
        :func:`app.analysis.predict.classify_run`, which loads the engine.
    keep : (Classified) -> None, optional
        Stores newly computed predictions.
    report : () -> None, optional
        Called in the computing thread after every change of :attr:`doing`.

    Attributes
    ----------
    doing : Doing or None
        Progress of the computation that is running, if any.
    """

    def __init__(
        self,
        db: Database,
        work: PredictionWork | None = None,
        *,
        keep: Callable[[Classified], None] | None = None,
        report: Callable[[], None] | None = None,
    ) -> None:
        self.keep = keep
        self.doing: Doing | None = None
        self._db = db
        self._work = work
        self._report = report
        self._lock = Lock()
        self._turn = Lock()  # one at a time: a prediction takes every processor
        self._predictions: OrderedDict[tuple[int, int], Classified] = OrderedDict()
        self._predicts: dict[int, bool] = {}

    def find_in_memory(self, run: int, snapshot: int) -> Classified | None:
        """Return the predictions of a snapshot (its number, not 0) if they are in memory, else None."""
        with self._lock:
            predictions = self._predictions.get((run, snapshot))
            if predictions is not None:
                self._predictions.move_to_end((run, snapshot))
            return predictions

    def is_known_to_predict(self, run: int) -> bool | None:
        """Return whether the run's model predicts classes; None before the first call of :meth:`predicts`."""
        return self._predicts.get(run)

    def predicts(self, run: int) -> bool:
        """Return whether the run's model predicts classes; waits for the store."""
        if run not in self._predicts:
            from topiary.app.analysis.predict import predicts

            row = runs.get_run(self._db, run)
            corpus = corpora.get_corpus(self._db, row.corpus)
            self._predicts[run] = len(corpus.label_names) > 1 and predicts(row, corpus)
        return self._predicts[run]

    def recall(self, run: int, snapshot: int) -> Classified | None:
        """Return the predictions under a snapshot (0 = the newest) if they have been computed already, else None."""
        return self._find_predictions(runs.get_run(self._db, run), snapshot or self._find_newest(run))

    def fetch(self, run: int, snapshot: int) -> Classified:
        """Return the predictions under a snapshot (0 = the newest); compute them if they are not stored."""
        number = snapshot or self._find_newest(run)
        row = runs.get_run(self._db, run)
        stored = self._find_predictions(row, number)
        if stored is not None:
            return stored
        with self._turn:
            stored = self._find_predictions(row, number)  # another thread may have computed them meanwhile
            if stored is not None:
                return stored
            predictions = self._add(self._compute(row, number))
        self._remember(predictions)
        return predictions

    def _find_predictions(self, run: RunRow, snapshot: int) -> Classified | None:
        """Return predictions from memory or from the store; None if there are none."""
        predictions = self.find_in_memory(run.number, snapshot)
        if predictions is not None:
            return predictions
        try:
            stored = load_predictions(self._db, run, snapshot)
        except (StoreError, SQLAlchemyError) as error:
            log.warning("stored predictions of run %d cannot be read: %s", run.number, error)
            return None
        return None if stored is None else self._add(stored)

    def _compute(self, run: RunRow, snapshot: int) -> Classified:
        def report(done: int, total: int) -> None:
            self._notify(Doing(run.number, snapshot, done, total))

        if self._work is None:
            from topiary.app.analysis.predict import classify_run

            self._work = classify_run
        self._notify(Doing(run.number, snapshot))
        try:
            return self._work(self._db, run, snapshot, report)
        finally:
            self._notify(None)

    def _notify(self, doing: Doing | None) -> None:
        self.doing = doing
        if self._report is not None:
            self._report()

    def _add(self, predictions: Classified) -> Classified:
        with self._lock:
            self._predictions[predictions.run, predictions.snapshot] = predictions
            while len(self._predictions) > MOST_PREDICTIONS:
                self._predictions.popitem(last=False)
        return predictions

    def _remember(self, predictions: Classified) -> None:
        """Save predictions in the store; if that fails, they are computed again another time."""
        if self.keep is None:
            return
        try:
            self.keep(predictions)
        except (StoreError, SQLAlchemyError, OSError) as error:
            log.warning("the predictions of run %d could not be stored: %s", predictions.run, error)

    def _find_newest(self, run: int) -> int:
        latest = snapshots.find_latest(self._db, run)
        if latest is None:
            absence = f"run {run} has no snapshot yet, so no document can be placed in its topics"
            raise NotFound(snapshots.explain_absence(self._db, run) or absence)
        return latest.number


def fetch_predictions(db: Database, run: RunRow, snapshot: int) -> Classified:
    """Return predictions, from the store if they have been computed before; write progress to standard error."""
    progress = Progress()

    def report() -> None:
        if cache.doing is None:
            progress.end()
        elif cache.doing.total:
            done, total = cache.doing[2:]
            progress.show("predicting classes", done / total, f"{done:,} of {total:,} documents")

    cache = PredictionCache(db, keep=partial(store_predictions, db), report=report)
    return cache.fetch(run.number, snapshot)


_FIRST_NUMBER = 1_000_000_000  # the notice of run n has the number -(this + n), which no import and no index has

map_log = logging.getLogger("topiary.maps")


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
                "topiary.app.analysis.document_map", str(run.number), str(snapshot),
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
            map_log.warning("the map of run %d could not be made: %s", run.number, reason)
        self._post(run, Notice(f"The map could not be made: {reason}", failed=True) if reason else Notice())
        look()

    def _post(self, run: RunRow, notice: Notice) -> None:
        """Set the notice of a run, also on the page Runs while the map is being made."""
        with self._lock:
            self._notices[run.number] = notice
        shown = Notice() if notice.failed else notice
        progress.post_import(ImportNotice(-_FIRST_NUMBER - run.number, run.name or f"Run {run.number}", shown))
