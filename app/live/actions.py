"""The changes that a visitor may make to the store, each a short writing transaction.

The pages read through a read-only connection; this is the one place of the web application that
writes.  Every method may wait for the database, so pages call them through ``context.later``.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from subprocess import Popen
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from app.analysis.predictions import Classified, store_predictions
from app.ingest.options import ImportOptions, OptionError
from app.jobs import launcher, logs, new_run, progress
from app.jobs.forks import retry_run
from app.jobs.ingest_process import RunningImport
from app.jobs.logs import read_tail
from app.jobs.new_run import create_group
from app.jobs.progress import ImportNotice, Notice
from app.jobs.run_rules import RunRequest
from app.jobs.uploads import Uploads
from app.live.feed import LEAVING, Feed
from app.live.visitor import NotAllowed, Visitor
from store import annotations, corpora, events, full_text, queue, runs
from store.database import Database, open_database, open_existing
from store.errors import StoreError
from store.run_rows import RunRow

INDEX_PAUSE = 30.0  # seconds between two searches for corpora without an index

index_log = logging.getLogger("topiary.indexing")


class Indexing:
    """A thread that builds missing search indexes; pages show its progress.

    Parameters
    ----------
    url : str
        The store.
    look : () -> None
        Notifies the sessions that something has changed.
    """

    def __init__(self, url: str, look: Callable[[], None]) -> None:
        self._url = url
        self._look = look
        self._closing = Event()
        self._thread: Thread | None = None
        self._looked = -INDEX_PAUSE

    def keep(self) -> None:
        """Start making missing indexes, at once and again every half minute."""
        busy = self._thread is not None and self._thread.is_alive()
        if busy or self._closing.is_set() or monotonic() - self._looked < INDEX_PAUSE:
            return
        self._looked = monotonic()
        self._thread = Thread(target=self.work, name="topiary-indexing", daemon=True)
        self._thread.start()

    def work(self) -> None:
        """Make all missing indexes, one after the other."""
        try:
            db = open_database(self._url)
            try:
                for corpus in full_text.list_unindexed(db):
                    self._make(db, corpus)
            finally:
                db.close()
        except (StoreError, SQLAlchemyError) as error:
            index_log.warning("an index for searching could not be made: %s", error)

    def close(self) -> None:
        """Stop after the current documents, waiting for a moment only; the rest of an index is built another time."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=LEAVING)

    def _make(self, db: Database, corpus: int) -> None:
        name = corpora.get_corpus(db, corpus).name
        number = -corpus  # no import has it

        def report(done: int, total: int) -> bool:
            sentence = f"preparing the search, {done:,} of {total:,} documents"
            progress.post_import(ImportNotice(number, name, Notice(sentence, done / total)))
            return not self._closing.is_set()

        try:
            full_text.build_index(db, corpus, report)
        finally:
            progress.post_import(ImportNotice(number, name, Notice()))
            self._look()


log = logging.getLogger("topiary.actions")
FILL_PAUSE = 6.0  # seconds; a worker needs a moment to claim its run
ONLY_LOOKS = "The viewers' password lets you look and change nothing; log out and in again with that of the analysts"
NO_LOGIN = "Your login has ended, so nothing was changed; log in again"


@dataclass
class _SharedActions:
    """The state that the actions of all visitors share."""

    db: Database | None = None
    demo: "Popen[str] | None" = None
    lock: Lock = field(default_factory=Lock)
    filling: Lock = field(default_factory=Lock)
    filled: float = -FILL_PAUSE
    indexing: Indexing | None = None


@dataclass
class Actions:
    """The changes of one visitor: start, stop, pause, resume, delete, rename; all are refused to a viewer.

    Attributes
    ----------
    url : str
        The store; opened for writing on the first action.
    feed : Feed
        Looks at the store after each action.
    uploads : Uploads
        Files that browsers send, from which corpora are made.
    visitor : Visitor
        The visitor who acts; the server itself is an analyst.
    """

    url: str
    feed: Feed
    uploads: Uploads = field(default_factory=Uploads)
    visitor: Visitor = field(default_factory=Visitor)
    _shared: _SharedActions = field(default_factory=_SharedActions)

    def on_behalf_of(self, visitor: Visitor) -> "Actions":
        """Return the same actions for one visitor."""
        return replace(self, visitor=visitor)

    def __post_init__(self) -> None:
        if self.feed.on_damage is None:  # the first actions are those of the server itself, which may write
            self.feed.on_damage = self.note_damage

    def note_damage(self, run: int, minibatch: int, sentence: str) -> None:
        """Record that a snapshot of a run turned out damaged; called by the feed, in a thread."""
        try:
            events.append_note(self._writing(), run, minibatch, "damaged", sentence)
        except (StoreError, SQLAlchemyError, OSError) as error:
            log.warning("what is damaged could not be written down: %s", error)

    def create(self, request: RunRequest) -> list[RunRow]:
        """Queue a run, or one for each seed, and start as many as the limit allows.

        Raises
        ------
        app.jobs.run_rules.NewRunError
            When a setting cannot be read or is out of bounds.
        """
        common: dict[str, Any] = {
            "model": request.model,
            "texts": request.texts,
            "minibatches": request.minibatches,
            "preset": request.preset,
            "averaged": request.averaged,
            "threads": launcher.choose_threads(),
            "name": request.name,
            "fork": request.fork,
            "on": request.on,
        }
        if request.seeds:
            rows = create_group(self._writing(), request.corpus, request.seeds, **common)
        else:
            rows = [new_run.create_run(self._writing(), request.corpus, seed=request.seed, **common)]
        for row in rows:
            self._record(f"started {logs.name_subject('run', row.number, row.name)}")
        self.fill(now=True)
        self.feed.look()
        return rows

    def add_corpus(self, token: str, options: ImportOptions, into: int = 0) -> RunningImport:
        """Begin to make a corpus of the files sent with a token, or to append them to corpus number ``into``.

        Raises
        ------
        OptionError
            When no file was sent.
        """
        url = self._writing().url
        folder = self.uploads.hand_over(token)
        if folder is None:
            raise OptionError("no file has come yet; choose the files again")
        self._record(
            f"began to add documents to corpus {into}" if into else f"began to make a corpus {options.name or ''}"
        )
        return RunningImport(url, folder, options, self.feed.look, into)

    def demo(self) -> None:
        """Begin to prepare the demo, once; the feed's notice shows the progress."""
        from app.jobs.demo import begin_demo

        url = self._writing().url
        shared = self._shared
        with shared.lock:
            if shared.demo is None or shared.demo.poll() is not None:
                shared.demo = begin_demo(url)
                self._record("started the demo")
        self.feed.look()

    def delete_corpus(self, number: int) -> None:
        """Delete a corpus; refused while there are runs on it."""
        db = self._writing()
        name = corpora.get_corpus(db, number).name
        corpora.delete_corpus(db, number)
        self._record(f"deleted {logs.name_subject('corpus', number, name)}")

    def stop(self, run: int) -> None:
        """Ask a run to stop after its mini-batch; it keeps its results and can be resumed."""
        launcher.stop_run(self._writing(), run)
        self._record(f"stopped run {run}")
        self.feed.look()

    def pause(self, run: int) -> None:
        """Ask a run to pause after its mini-batch."""
        launcher.pause_run(self._writing(), run)
        self._record(f"paused run {run}")
        self.feed.look()

    def resume(self, run: int) -> None:
        """Continue a run from its checkpoint."""
        launcher.resume_run(self._writing(), run)
        self._record(f"resumed run {run}")
        self.feed.look()

    def move(self, run: int) -> None:
        """Let a queued run start first."""
        queue.move_run(self._writing(), run)
        self.feed.look()

    def retry(self, run: int, batch_size: int | None = None) -> RunRow:
        """Start a run again with mini-batches of half the size or of ``batch_size``; see :func:`retry_run`."""
        row = retry_run(self._writing(), run, batch_size)
        self._record(f"started {logs.name_subject('run', row.number, row.name)} in place of run {run}")
        self.fill(now=True)
        self.feed.look()
        return row

    def log(self, run: int, lines: int = 40) -> tuple[str, list[str]]:
        """Return the path of a run's log on this machine, and its last lines."""
        path = logs.find_log(self._writing().url, run)
        return str(path), read_tail(path, lines)

    def delete(self, run: int) -> None:
        """Delete a run with its points, snapshots and names; refused while its worker lives."""
        db = self._writing()
        name = runs.get_run(db, run).name
        launcher.delete_run(db, run)
        self._record(f"deleted {logs.name_subject('run', run, name)}")
        self.feed.look()

    def rename_run(self, run: int, name: str) -> None:
        """Give a run another name."""
        runs.rename_run(self._writing(), run, name)
        self._record(f"renamed run {run} to {name}")
        self.feed.look()

    def rename_topic(self, run: int, layer: int, topic: int, text: str) -> None:
        """Give a topic (identity number from 1) a name; an empty text removes the name."""
        annotations.set_label(self._writing(), run, layer, topic, text)
        self._record(f"named topic L{layer}:{topic} of run {run} {text}")
        self.feed.relabel(run)

    def match_topics(self, run_a: int, run_b: int, decision: annotations.MatchDecision) -> None:
        """Save which topic of one run corresponds to which of the other."""
        annotations.save_match(self._writing(), run_a, run_b, decision)
        self.feed.relabel(run_b)

    def unmatch_topics(self, run_a: int, run_b: int, decision: annotations.MatchDecision) -> None:
        """Undo a decision about the topics of a pair."""
        annotations.undo_match(self._writing(), run_a, run_b, decision)
        self.feed.relabel(run_b)

    def keep_predictions(self, predictions: Classified) -> None:
        """Save predictions in the store; called in the thread that computed them."""
        store_predictions(self._writing(), predictions)

    def do_upkeep(self, rows: Sequence[RunRow]) -> None:
        """Reap ended workers, start queued runs, prepare searches; the feed calls it after every look."""
        launcher.reap_children()
        if any(row.state == "queued" for row in rows):
            self.feed.submit(self.fill)  # a write may have to wait; the poller must not
        if self._shared.indexing is None:
            self._shared.indexing = Indexing(self.url, self.feed.look)
        self._shared.indexing.keep()

    def fill(self, *, now: bool = False) -> None:
        """Start queued runs up to the limit, at most every few seconds, and one thread at a time."""
        shared = self._shared
        if not shared.filling.acquire(blocking=now):  # another thread is waiting for the store already
            return
        try:
            if now or monotonic() - shared.filled >= FILL_PAUSE:
                shared.filled = monotonic()
                launcher.start_queued_runs(self._writing())
        finally:
            shared.filling.release()

    def close(self) -> None:
        """Close the writing connection, remove unused uploads, and stop the preparation of a demo.

        A thread that is waiting for the store is not waited for.
        """
        self.uploads.close()
        shared = self._shared
        if shared.indexing is not None:
            shared.indexing.close()
        if shared.demo is not None and shared.demo.poll() is None:
            shared.demo.terminate()
            shared.demo.wait()
        if shared.lock.acquire(timeout=LEAVING):
            if shared.db is not None:
                shared.db.close()
                shared.db = None
            shared.lock.release()

    def _record(self, what: str) -> None:
        """Write into the audit log what the visitor did."""
        db = self._shared.db  # opened by the action itself
        logs.record_action(db.place if db is not None else "", what, str(self.visitor))

    def _writing(self) -> Database:
        """Return the store, open for writing; every action calls this, and the role is checked each time."""
        if self.visitor.only_looks:
            raise NotAllowed(NO_LOGIN if self.visitor.role_now is None else ONLY_LOOKS)
        with self._shared.lock:
            if self._shared.db is None:
                self._shared.db = open_existing(self.url)  # never a new one in place of one that was deleted
            return self._shared.db
