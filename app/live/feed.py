"""Changes in the store: one poller and one cache for all sessions of a server.

A single thread queries the store every 0.4 s, caches the answer, and notifies the sessions through their documents.
A session's callback only reads from memory; a slow session is not called again before it has answered, and then gets
all changes since in one call: at most one call is pending, and ticks that arrive meanwhile are merged.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, TypeAlias

from sqlalchemy.exc import SQLAlchemyError

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.notes import group_by_topic
from topiary.app.analysis.reader import StoreReader
from topiary.app.jobs import progress
from topiary.app.jobs.estimates import read_latest
from topiary.app.jobs.gallery import choose_run, is_of_gallery
from topiary.app.jobs.process import find_state
from topiary.app.live.cache import MOST_POINT_BYTES, Cache, History, InferenceCache, SharedMemory
from topiary.app.live.predictions import PredictionCache
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, points, runs, snapshots
from topiary.store import notes as annotations
from topiary.store.arrays import Array
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import DamagedSnapshot, StoreError
from topiary.store.run_rows import RunRow, RunWatch, describe_left_out
from topiary.store.snapshots import SnapshotRow

INTERVAL = 0.4  # seconds between two queries of the store
LEAVING = 1.0  # seconds to wait for work in progress when the server stops
CHUNK = 20_000  # points read at a time
PULSE = 1.0  # seconds between two ticks while a run trains, so that ages on screen stay correct
SPARK_POINTS = 48  # points of a sparkline
FIRST_SPARKS = 60  # newest runs whose sparklines are read in advance
MOST_POINTS = 4_000_000  # in all cached histories together; a point takes 32 bytes
LEAST_HISTORIES = 24  # cached regardless of their size
LABELLINGS = 4  # corpora whose labels are cached
SPARK_PAUSE = 2.0  # seconds between two readings of one sparkline
RING_AGAIN = 10.0  # seconds after which a session that has not answered is called again
TROUBLE = (StoreError, SQLAlchemyError, OSError)

log = logging.getLogger("topiary.feed")
Ring: TypeAlias = Callable[[Callable[[], None]], None]  # schedules a call in a session


@dataclass(frozen=True)
class Tick:
    """The changes since the last tick, as numbers of runs.

    Attributes
    ----------
    rows : runs whose row changed, or that were added or deleted
    points : runs whose history has more points or a new epoch
    snapshots : runs with a newer snapshot (its hierarchy is in the cache if a session shows the newest one)
    labels : runs with a renamed topic, or with new or changed notes on their topics or on documents of their corpus
    """

    rows: frozenset[int] = frozenset()
    points: frozenset[int] = frozenset()
    snapshots: frozenset[int] = frozenset()
    labels: frozenset[int] = frozenset()

    def __or__(self, other: "Tick") -> "Tick":
        """Return the changes of both ticks."""
        return Tick(
            self.rows | other.rows,
            self.points | other.points,
            self.snapshots | other.snapshots,
            self.labels | other.labels,
        )


class _SessionListener:
    """A session with at most one pending call; ticks that arrive meanwhile are merged."""

    def __init__(self, ring: Ring, callback: Callable[[Tick], None]) -> None:
        self._ring = ring
        self._callback = callback
        self._lock = Lock()
        self._pending: Tick | None = None
        self._called_at = 0.0

    def wake(self, tick: Tick) -> None:
        with self._lock:
            is_called = self._pending is not None and monotonic() - self._called_at < RING_AGAIN
            self._pending = tick if self._pending is None else self._pending | tick
            if is_called:
                return
            self._called_at = monotonic()
        self._ring(self._run)

    def _run(self) -> None:
        with self._lock:
            tick, self._pending = self._pending, None
        if tick is not None:
            self._callback(tick)


class SessionListeners:
    """The sessions to notify.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._all: dict[int, _SessionListener] = {}

    def add(self, ring: Ring, callback: Callable[[Tick], None]) -> Callable[[], None]:
        """Add a session: each tick calls ``ring(call)``, and ``call()`` passes it to ``callback``; return a remover."""
        listener = _SessionListener(ring, callback)
        with self._lock:
            self._all[id(listener)] = listener

        def end() -> None:
            with self._lock:
                self._all.pop(id(listener), None)

        return end

    def wake(self, tick: Tick) -> None:
        """Notify every session."""
        with self._lock:
            listeners = tuple(self._all.values())
        for listener in listeners:
            listener.wake(tick)


class Feed:
    """The store as sessions read it.  Thread-safe; start it once, and stop it at the end.

    Parameters
    ----------
    db : Database
        Read-only.
    interval : float
        Seconds between two queries of the store.

    Attributes
    ----------
    after_look : callable or None
        Called in the poller's thread with all runs after each query.
    on_damage : callable or None
        Called in a thread with a run, a mini-batch and a sentence when the snapshot of that mini-batch is damaged.
    trouble : str
        Why the store cannot be read at the moment; otherwise empty.
    left_out : str or None
        Which rows are left out because they are damaged; None until the store has been queried once.
    notice : Notice
        The work in progress before there is a run (such as the demo), for pages with nothing else to show.
    imports : tuple of ImportNotice
        The imports that are running or have failed.
    places : InferenceCache
        Snapshots that are ready for placing documents.
    points : Cache
        Points of maps as browsers read them, by the hash of their bytes.
    classes : PredictionCache
        Predictions of runs that learn from labels.
    reader : StoreReader
        Reads topics and documents, with a memory that all sessions share.
    ready : Event
        Set when the store has been queried once.
    """

    def __init__(self, db: Database, interval: float = INTERVAL) -> None:
        self.db = db
        self.after_look: Callable[[Sequence[RunRow]], None] | None = None
        self.on_damage: Callable[[int, int, str], None] | None = None
        self.trouble = ""
        self.left_out: str | None = None
        self._damage: dict[int, str] = {}
        self.notice = progress.Notice()
        self.imports: tuple[progress.ImportNotice, ...] = ()
        self.places = InferenceCache(db)
        self.points: Cache[str, bytes] = Cache(MOST_POINT_BYTES, len, least=1)
        self.ready = Event()
        self._interval = interval
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="topiary-feed")
        self._turns = ThreadPoolExecutor(max_workers=1, thread_name_prefix="topiary-turns")
        self._aside = ThreadPoolExecutor(max_workers=2, thread_name_prefix="topiary-aside")
        self._stop = Event()
        self._lock = Lock()
        self._polling = Lock()
        self._thread = Thread(target=self._loop, name="topiary-poller", daemon=True)
        self._listeners = SessionListeners()
        self._watch = RunWatch(db)
        self._rows: dict[int, RunRow] = {}
        self._states: dict[int, str] = {}
        self._histories: Cache[int, History] = Cache(MOST_POINTS, attrgetter("points"), LEAST_HISTORIES)
        self._latest: dict[int, SnapshotRow] = {}
        # For each run: time of reading, (mini-batch, state) at that time, and the points of the sparkline.
        self._sparks: dict[int, tuple[float, tuple[int, str], tuple[float, ...]]] = {}
        self._latest_values: dict[int, dict[str, float]] = {}
        self._live: set[int] = set()  # runs whose newest snapshot pages show
        self._pulse = 0.0  # time of the last tick
        self.classes = PredictionCache(db, report=lambda: self._listeners.wake(Tick()))
        memory = SharedMemory()
        self.reader = StoreReader(db, memory, self._find_run)
        self._hierarchies = memory.hierarchies
        self._labels: Cache[tuple[int, int], Array] = Cache(LABELLINGS)

    # ------------------------------------------------------------------ life

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling; wait a moment for work in progress, which cannot keep the program from exiting."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=LEAVING)
        for pool in (self._pool, self._turns, self._aside):
            pool.shutdown(wait=False, cancel_futures=True)

    def subscribe(
        self, ring: Callable[[Callable[[], None]], None], callback: Callable[[Tick], None]
    ) -> Callable[[], None]:
        """Call ``callback(tick)`` whenever something has changed.

        Parameters
        ----------
        ring : (call) -> None
            Called in the poller's thread; schedules ``call()`` in the session.
        callback : (tick) -> None

        Returns
        -------
        end : () -> None
            Ends the subscription.
        """
        return self._listeners.add(ring, callback)

    def submit(self, work: Callable[[], Any]) -> "Future[Any]":
        """Run ``work`` in one of the feed's threads."""
        return self._pool.submit(work)

    def submit_aside(self, work: Callable[[], Any]) -> "Future[Any]":
        """Run ``work``, which may take a minute, in a thread where no quick work waits behind it."""
        return self._aside.submit(work)

    def submit_in_turn(self, work: Callable[[], Any]) -> "Future[Any]":
        """Run ``work``, which occupies all processors for minutes, after all work submitted here before."""
        return self._turns.submit(work)

    # --------------------------------------------- answered from memory only

    def runs(self) -> tuple[RunRow, ...]:
        """Return every run, newest first."""
        with self._lock:
            return tuple(reversed(self._rows.values()))

    def run(self, number: int) -> RunRow | None:
        """Return a run; None if there is none of that number."""
        with self._lock:
            return self._rows.get(number)

    def _find_run(self, number: int) -> RunRow:
        """Return a run, from the store if it is newer than the last query; NotFound if there is none."""
        return self.run(number) or runs.get_run(self.db, number)

    def state(self, number: int) -> str:
        """Return the state to show: the state in the store, or "silent" if the run's worker is gone."""
        with self._lock:
            row = self._rows.get(number)
            return self._states.get(number, row.state if row else "")

    def spark(self, number: int) -> tuple[float, ...]:
        """Return the point perplexities of a run's sparkline; empty if they have not been read."""
        with self._lock:
            return self._sparks.get(number, (0.0, (0, ""), ()))[2]

    def get_latest_values(self, number: int) -> dict[str, float]:
        """Return the newest values of the curves that `app.jobs.estimates` reads, read together with the sparkline."""
        with self._lock:
            return self._latest_values.get(number, {})

    def list_missing_sparks(self, numbers: Iterable[int]) -> list[int]:
        """Return those of the given runs whose sparkline has not been read; see :meth:`read_sparks`."""
        with self._lock:
            return [number for number in numbers if number in self._rows and number not in self._sparks]

    def damage(self, number: int) -> str:
        """Return the message about the last damaged snapshot of a run, or an empty text."""
        with self._lock:
            return self._damage.get(number, "")

    def latest(self, number: int) -> SnapshotRow | None:
        """Return the newest snapshot of a run that the poller has found; None if there is none."""
        with self._lock:
            return self._latest.get(number)

    def get_cached_history(self, number: int) -> History | None:
        """Return the history of a run if it is in memory; see :meth:`history`."""
        return self._histories.get(number)

    def get_cached_hierarchy(self, run: int, snapshot: int | None = None) -> Hierarchy | None:
        """Return the hierarchy of a snapshot (None or 0 = the newest) if it is in memory; see :meth:`hierarchy`."""
        if not snapshot:
            self._live.add(run)
            latest = self.latest(run)
            if latest is None:
                return None
            snapshot = latest.number
        return self._hierarchies.get((run, snapshot))

    # --------------------------- may read the store: call these in a thread

    def history(self, number: int) -> History | None:
        """Return the history of a run, read from the store on the first call and kept up to date from then on."""
        row = self.run(number)
        return None if row is None else self._histories.fetch(number, partial(self._read_history, row))

    def hierarchy(self, run: int, snapshot: int | None = None) -> Hierarchy | None:
        """Return the hierarchy of a snapshot, built on the first call.

        Parameters
        ----------
        snapshot : int or None
            Number of the snapshot; None or 0 is the newest, and the next one will then be prepared before
            sessions are notified of it.

        Returns
        -------
        Hierarchy or None
            None when the run has no such snapshot.
        """
        if snapshot:
            snapshot_row = next((row for row in snapshots.list_snapshots(self.db, run) if row.number == snapshot), None)
        else:
            self._live.add(run)
            snapshot_row = snapshots.find_latest(self.db, run)
        return self._hierarchy(run, snapshot_row)

    def labels(self, corpus: CorpusRow) -> Array:
        """Return the label of every document of a corpus, -1 = none, read on the first call."""
        return self._labels.fetch((corpus.number, corpus.documents), partial(corpora.read_labels, self.db, corpus))

    def read_sparks(self, numbers: Iterable[int]) -> None:
        """Read the sparklines of runs and keep them up to date; the poller does so itself for the newest runs."""
        self._refresh_sparks(row for number in numbers if (row := self.run(number)) is not None)

    def snapshots(self, run: int) -> list[SnapshotRow]:
        """Return the snapshots of a run, oldest first."""
        return snapshots.list_snapshots(self.db, run)

    def update_names(self, hierarchy: Hierarchy) -> Hierarchy:
        """Return a hierarchy that was read earlier with the current names of its topics."""
        return self._hierarchies.get((hierarchy.run, hierarchy.snapshot)) or hierarchy

    def relabel(self, run: int) -> None:
        """Read the names and notes of a run's topics again and notify every session."""
        remarks = annotations.read_remarks(self.db, run)
        names = {Node(layer, topic - 1): text for (layer, topic), text in remarks.names.items() if text}
        notes = group_by_topic(remarks.notes)
        self._hierarchies.change(
            lambda key, hierarchy: replace(hierarchy, labels=names, notes=notes) if key[0] == run else hierarchy
        )
        self._listeners.wake(Tick(labels=frozenset({run})))

    def announce_documents(self, corpus: int) -> None:
        """Notify every session that shows a run on a corpus of changes: notes on documents, or kinds of columns."""
        self._listeners.wake(Tick(labels=frozenset(row.number for row in self.runs() if row.corpus == corpus)))

    def look(self) -> None:
        """Query the store now, in another thread, instead of at the next interval (after an action of a visitor)."""
        self._pool.submit(self.look_now)

    # -------------------------------------------------------------- the poller

    def _loop(self) -> None:
        while not self._stop.is_set():
            self.look_now()
            self._stop.wait(self._interval)

    def look_now(self) -> None:
        """Query the store in this thread and notify the sessions of changes."""
        with self._polling:
            try:
                self._poll()
            except TROUBLE as error:
                if not self.trouble:
                    log.warning("the store cannot be read: %s", error)
                self.trouble = f"The store cannot be read at the moment: {str(error).splitlines()[0]}"
                self._listeners.wake(Tick())
            else:
                self.trouble = ""
            self.ready.set()

    def _poll(self) -> None:
        """Query the store once, update the caches, and notify the sessions of what has changed."""
        if self.left_out is None:
            self.left_out = describe_left_out(self.db)
        rows = self._watch.look()
        changed = self._replace_rows(rows)
        grown = {number for number in self._histories.keys() & rows.keys() if self._update_history(rows[number])}
        busy = [number for number, row in rows.items() if number in changed or row.state == "running"]
        self._histories.trim()
        newer = self._find_newer_snapshots(busy)
        first = set(sorted(rows)[-FIRST_SPARKS:])  # the others are read when a page shows them
        self._refresh_sparks(rows[number] for number in busy if number in first or number in self._sparks)
        prepared = newer & self._live
        self._live -= prepared  # a page that shows the newest snapshot adds its run again
        self._live &= rows.keys()
        tick = Tick(frozenset(changed), frozenset(grown), frozenset(newer - prepared))
        notices = progress.read_notice(), progress.list_imports()
        due = (bool(busy) and monotonic() - self._pulse >= PULSE) or notices != (self.notice, self.imports)
        self.notice, self.imports = notices
        if tick != Tick() or due:
            self._pulse = monotonic()
            self._listeners.wake(tick)
        for number in prepared:
            self._pool.submit(self._prepare, number)
        if self.after_look is not None:
            self.after_look(tuple(rows.values()))

    def _replace_rows(self, rows: dict[int, RunRow]) -> set[int]:
        """Replace the cached rows; return the runs that have changed, appeared or disappeared."""
        states = {n: find_state(row) for n, row in rows.items()}
        with self._lock:
            old, old_states = self._rows, self._states
            self._rows, self._states = rows, states  # oldest first
            for number in old.keys() - rows.keys():
                self._histories.drop(number)
                for cache in (self._latest, self._sparks, self._latest_values):
                    cache.pop(number, None)
        changed = {
            n for n, row in rows.items() if n not in old or _has_changed(old[n], row) or old_states[n] != states[n]
        }
        return changed | (old.keys() - rows.keys())

    def _update_history(self, row: RunRow) -> bool:
        """Update the history of a run if it is in memory; return whether it has changed."""
        cached_history = self._histories.peek(row.number)
        if cached_history is None:
            return False
        if cached_history.attempt != row.attempt:
            fresh = self._read_history(row)
            self._histories.change(lambda run, history: fresh if run == row.number else history)
            return True
        return self._read_points(cached_history) > 0

    def _read_history(self, row: RunRow) -> History:
        history = History(row.number, row.attempt)
        self._read_points(history)
        return history

    def _read_points(self, history: History) -> int:
        """Read the points of a run that its history lacks; return how many were added."""
        added = 0
        if not history.cursor:  # a new history: read whole series
            curves, history.cursor = points.read_all_series(self.db, history.run)
            for name, layer, columns in curves:
                history.put(name, layer, columns)
            added = history.points
        while True:
            batch, cursor = points.read_new_points(self.db, history.run, history.cursor, limit=CHUNK)
            added += history.add(batch)
            history.cursor = cursor
            if len(batch) < CHUNK:
                return added

    def _find_newer_snapshots(self, numbers: Iterable[int]) -> set[int]:
        """Return the runs that have a newer snapshot than the one known before."""
        newest = snapshots.find_newest(self.db, numbers)
        with self._lock:
            newer = {n for n, row in newest.items() if n not in self._latest or self._latest[n].number != row.number}
            self._latest |= newest
        return newer

    def _refresh_sparks(self, rows: Iterable[RunRow]) -> None:
        """Read the sparklines of runs that have progressed, though not too often while they train."""
        now = monotonic()
        for row in rows:
            last_read, last_position, _ = self._sparks.get(row.number, (-SPARK_PAUSE, (-1, ""), ()))
            position = row.minibatch, row.state  # after a run has ended, its last points are read once more
            if last_position == position or (row.state == "running" and now - last_read < SPARK_PAUSE):
                continue
            value = points.read_series(self.db, row.number, "point_perplexity", most=SPARK_POINTS)[3]
            latest_values = read_latest(self.db, row.number)
            with self._lock:
                self._latest_values[row.number] = latest_values
                self._sparks[row.number] = (now, position, tuple(float(item) for item in value))

    def _prepare(self, number: int) -> None:
        """Build the newest hierarchy, then notify the sessions, which find it in the cache."""
        try:
            self._hierarchy(number, self.latest(number))
        except TROUBLE as error:
            log.warning("the newest snapshot of run %d cannot be read: %s", number, error)
        self._listeners.wake(Tick(snapshots=frozenset({number})))

    def _hierarchy(self, run: int, snapshot: SnapshotRow | None) -> Hierarchy | None:
        """Return the hierarchy of a snapshot, or of the newest one before it whose arrays are intact."""
        while snapshot is not None:
            try:
                return self.reader.hierarchy(self.run(run) or runs.get_run(self.db, run), snapshot)
            except DamagedSnapshot as error:
                snapshot = self._skip_damaged(run, snapshot, str(error))
        return None

    def _skip_damaged(self, run: int, damaged: SnapshotRow, sentence: str) -> SnapshotRow | None:
        """Return the snapshot before a damaged one; record the damage and notify the sessions."""
        log.warning("%s", sentence)
        previous = snapshots.find_snapshot(self.db, run, damaged.minibatch)
        with self._lock:
            self._damage[run] = sentence[0].upper() + sentence[1:]
            latest = self._latest.get(run)
            if latest is not None and latest.number == damaged.number:
                del self._latest[run]
                if previous is not None:
                    self._latest[run] = previous
        if self.on_damage is not None:
            self._aside.submit(partial(self.on_damage, run, damaged.minibatch, sentence))
        self._listeners.wake(Tick())
        return previous


def _has_changed(old: RunRow, new: RunRow) -> bool:
    """Return whether two rows differ by more than the age of the heartbeat."""
    return new is not old and replace(old, heartbeat_age=None) != replace(new, heartbeat_age=None)


def find_usual_run(feed: Feed, page: str = "") -> int:
    """Return the number of the run to show by default: the newest that is training, or else the newest; 0 for none.

    If that is a run of the demo, it is the one of the demo that the page is for.
    """
    rows = feed.runs()
    running = (row.number for row in rows if row.state == "running")
    usual = next(running, rows[0].number if rows else 0)
    return (is_of_gallery(rows, usual) and choose_run(rows, page)) or usual
