"""The changes that a visitor may make to the store, each in a short write transaction.

Visitors are analysts, who may change the store, and viewers, who may only read it.

Pages read through a read-only connection; only this module of the web application writes.
Every method may wait for the database, so pages call them through ``context.later``.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from subprocess import Popen
from threading import Event, Lock, Thread
from time import monotonic
from typing import Literal

from sqlalchemy.exc import SQLAlchemyError

from topiary.app.analysis.carry import CarriedTopic, carry_annotations
from topiary.app.analysis.comparison import Comparison
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.name_server import NameRequest, ask_names
from topiary.app.analysis.predictions import Classified, store_predictions
from topiary.app.analysis.refinements import SHARE, refine_run
from topiary.app.ingest.column_kinds import change_kind
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.jobs import control, launcher, logs, progress, steering
from topiary.app.jobs.edit_orders import EditOrder
from topiary.app.jobs.ingest_process import RunningImport
from topiary.app.jobs.logs import read_tail
from topiary.app.jobs.progress import ImportNotice, Notice
from topiary.app.jobs.run_rules import RunRequest
from topiary.app.jobs.uploads import Downloads, Uploads
from topiary.app.live.feed import LEAVING, Feed
from topiary.app.live.predictions import MapJobs
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, events, full_text, notes, runs
from topiary.store.corpus_rows import CorpusColumn, CorpusRow
from topiary.store.database import Database, open_database, open_existing
from topiary.store.errors import StoreError
from topiary.store.notes import NewNote, NoteRow
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

INDEX_PAUSE = 30.0  # seconds between two checks for corpora without an index
IMPORT_PAUSE = 60.0  # seconds after an import, whose process makes the index
SHOWN_LETTERS = 6  # of a login's name in logs

Role = Literal["analyst", "viewer"]
index_log = logging.getLogger("topiary.indexing")


class NotAllowed(ValueError):  # noqa: N818 - a sentence for the visitor, no fault of the program
    """An error: a viewer requested a change; its message is one sentence for the visitor."""


@dataclass(frozen=True)
class Visitor:
    """The visitor who opened a session.

    Attributes
    ----------
    role : {"analyst", "viewer"}
        The role at the beginning of the session, which the page shows.
    address : str
        The browser's address as the server sees it; empty if unknown.
    login : str
        The name of the login; empty if the server has no password.
    find_role : () -> role or None
        Looks up the current role, None once the login has ended.  If not given, the role never changes.
    """

    role: Role = "analyst"
    address: str = ""
    login: str = ""
    find_role: Callable[[], Role | None] | None = field(default=None, repr=False, compare=False)

    @property
    def role_now(self) -> Role | None:
        """The current role; None once the login has ended."""
        return self.role if self.find_role is None else self.find_role()

    @property
    def only_looks(self) -> bool:
        """True if changes are refused."""
        return self.role_now != "analyst"

    def __str__(self) -> str:
        """Return the visitor's name for logs."""
        login = f" (login {self.login[:SHOWN_LETTERS]})" if self.login else ""
        return f"{self.role} in the browser at {self.address or 'an unknown address'}{login}"


class Indexing:
    """A thread that builds missing search indexes; pages show its progress.

    Parameters
    ----------
    url : str
        URL of the store.
    look : () -> None
        Called after each index; has the store queried, so that sessions see the change.
    """

    def __init__(self, url: str, look: Callable[[], None]) -> None:
        self._url = url
        self._look = look
        self._closing = Event()
        self._thread: Thread | None = None
        self._last_check = -INDEX_PAUSE

    def keep(self) -> None:
        """Build missing indexes in a thread, unless one is running or began within the last half minute."""
        is_running = self._thread is not None and self._thread.is_alive()
        if is_running or self._closing.is_set() or monotonic() - self._last_check < INDEX_PAUSE:
            return
        self._last_check = monotonic()
        self._thread = Thread(target=self.work, name="topiary-indexing", daemon=True)
        self._thread.start()

    def work(self) -> None:
        """Build all missing indexes, one after the other."""
        try:
            db = open_database(self._url)
            try:
                for corpus in full_text.list_unindexed(db, IMPORT_PAUSE):
                    self._build_index(db, corpus)
            finally:
                db.close()
        except (StoreError, SQLAlchemyError) as error:
            index_log.warning("an index for searching could not be made: %s", error)

    def close(self) -> None:
        """Stop after the current documents, waiting a moment at most; an unfinished index is built another time."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=LEAVING)

    def _build_index(self, db: Database, corpus: int) -> None:
        name = corpora.get_corpus(db, corpus).name
        number = -corpus  # differs from the number of every import

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
FILL_PAUSE = 6.0  # seconds between two starts of queued runs; a worker needs a moment to claim its run
ONLY_LOOKS = "The viewers' password lets you look and change nothing; log out and in again with that of the analysts"
NO_LOGIN = "Your login has ended, so nothing was changed; log in again"


@dataclass
class _SharedActions:
    """The state that the actions of all visitors share; ``filled`` is the time of the last start of queued runs."""

    db: Database | None = None
    demo: "Popen[str] | None" = None
    lock: Lock = field(default_factory=Lock)
    filling: Lock = field(default_factory=Lock)
    filled: float = -FILL_PAUSE
    indexing: Indexing | None = None
    placing: "dict[tuple[int, int], Future[None]]" = field(default_factory=dict)  # by run, and documents of its corpus
    training: frozenset[int] = frozenset()  # runs at the last upkeep
    maps: MapJobs = field(default_factory=MapJobs)


@dataclass
class Actions:
    """The changes that one visitor can make: start, stop, pause, delete, rename and so on; viewers are refused.

    Attributes
    ----------
    url : str
        URL of the store, which is opened for writing on the first action.
    feed : Feed
        Queried after each action, so that sessions see the change.
    uploads : Uploads
        Uploaded files, from which corpora are made.
    downloads : Downloads
        Files that were written for visitors.
    visitor : Visitor
        The visitor who acts; the server itself is an analyst.
    """

    url: str
    feed: Feed
    uploads: Uploads = field(default_factory=Uploads)
    downloads: Downloads = field(default_factory=Downloads)
    visitor: Visitor = field(default_factory=Visitor)
    _shared: _SharedActions = field(default_factory=_SharedActions)

    def on_behalf_of(self, visitor: Visitor) -> "Actions":
        """Return these actions on behalf of a visitor."""
        return replace(self, visitor=visitor)

    def __post_init__(self) -> None:
        if self.feed.on_damage is None:  # the first instance belongs to the server itself, which may write
            self.feed.on_damage = self.note_damage

    def note_damage(self, run: int, minibatch: int, sentence: str) -> None:
        """Record that a snapshot of a run is damaged; the feed calls this in a thread."""
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
        rows, _ = control.start_runs(self._writing(), request, str(self.visitor))
        self.feed.look()
        return rows

    def add_corpus(self, token: str, options: ImportOptions, into: int = 0) -> RunningImport:
        """Start importing the files uploaded with a token, as a new corpus or (``into`` > 0) into an existing one.

        Raises
        ------
        OptionError
            When no file was uploaded.
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
        """Start preparing the demo unless that is under way; the feed's notice shows the progress."""
        from topiary.app.jobs.demo import begin_demo

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
        """Stop a run after its current mini-batch; it keeps its results and can be resumed."""
        control.stop_run(self._writing(), run, str(self.visitor))
        self.feed.look()

    def pause(self, run: int) -> None:
        """Pause a run after its current mini-batch."""
        control.pause_run(self._writing(), run, str(self.visitor))
        self.feed.look()

    def resume(self, run: int, on: str = "") -> None:
        """Continue a run from its checkpoint, with documents swept elsewhere if ``on`` says so."""
        control.resume_run(self._writing(), run, on, str(self.visitor))
        self.feed.look()

    def move(self, run: int) -> None:
        """Move a queued run to the front of the queue."""
        runs.move_run(self._writing(), run)
        self.feed.look()

    def retry(self, run: int, batch_size: int | None = None) -> RunRow:
        """Start a failed run again as a new one; see :func:`app.jobs.control.repeat_run`."""
        row = control.repeat_run(self._writing(), run, batch_size, str(self.visitor))
        self.feed.look()
        return row

    def train_seeds(self, run: int, n: int) -> list[RunRow]:
        """Start runs that differ from a run in their seed alone; see :func:`app.jobs.control.train_seeds`."""
        rows = control.train_seeds(self._writing(), run, n, str(self.visitor))
        self.feed.look()
        return rows

    def train_more(self, run: int) -> RunRow:
        """Start a run that continues one from its last snapshot; see :func:`app.jobs.control.continue_run`."""
        row = control.continue_run(self._writing(), run, str(self.visitor))
        self.feed.look()
        return row

    def steer(self, run: int, orders: Sequence[EditOrder], author: str = "") -> RunRow:
        """Add edits to the journal of a run, all or none, have them made, and return the run that makes them.

        See :func:`app.jobs.steering.queue_edits` and :func:`app.jobs.steering.apply_edits`.
        """
        db = self._writing()
        steering.queue_edits(db, run, orders, author, str(self.visitor))
        row = steering.apply_edits(db, run, who=str(self.visitor))
        self.feed.look()
        return row

    def undo_edit(self, run: int, number: int) -> RunRow:
        """Undo an edit and all after it; see :func:`app.jobs.steering.undo_edit`."""
        row = steering.undo_edit(self._writing(), run, number, str(self.visitor))
        self.feed.look()
        return row

    def log(self, run: int, lines: int = 40) -> tuple[str, list[str]]:
        """Return the path of a run's log on this machine and the last lines of the log."""
        path = logs.find_log(self._writing().url, run)
        return str(path), read_tail(path, lines)

    def delete(self, run: int) -> None:
        """Delete a run with its points, snapshots, names and notes; refused while its worker is alive."""
        control.delete_run(self._writing(), run, str(self.visitor))
        self.feed.look()

    def rename_run(self, run: int, name: str) -> None:
        """Rename a run."""
        control.rename_run(self._writing(), run, name, str(self.visitor))
        self.feed.look()

    def rename_topic(self, run: int, layer: int, topic: int, text: str) -> None:
        """Name a topic (numbered from 1 by identity); an empty text removes the name."""
        notes.set_label(self._writing(), run, layer, topic, text)
        self._record(f"named topic L{layer}:{topic} of run {run} {text}")
        self.feed.relabel(run)

    def ask_names(self, run: int, topic: Node, request: NameRequest) -> list[str]:
        """Send a request for names of a topic, and return the answer; ReadError if there is none."""
        self._writing()
        self._record(f"asked {request.address} for names of topic {format_identity(topic)} of run {run}")
        return ask_names(request)

    def match_topics(self, run_a: int, run_b: int, decision: notes.MatchDecision) -> None:
        """Save a decision about which topics of two runs match."""
        notes.save_match(self._writing(), run_a, run_b, decision)
        self.feed.relabel(run_b)

    def unmatch_topics(self, run_a: int, run_b: int, decision: notes.MatchDecision) -> None:
        """Undo a decision about which topics of two runs match."""
        notes.undo_match(self._writing(), run_a, run_b, decision)
        self.feed.relabel(run_b)

    def add_topic_notes(self, run: int, layer: int, topic: int, new: Sequence[NewNote]) -> None:
        """Add notes and tags to a topic (numbered from 1 by identity)."""
        for each in new:
            notes.add_topic_note(self._writing(), run, layer, topic, each)
            self._record(f"added a {each.kind} to topic L{layer}:{topic} of run {run}")
        self.feed.relabel(run)

    def add_document_notes(self, corpus: int, document: int, new: Sequence[NewNote]) -> None:
        """Add notes and tags to a document of a corpus."""
        for each in new:
            notes.add_document_note(self._writing(), corpus, document, each)
            self._record(f"added a {each.kind} to document {document} of corpus {corpus}")
        self.feed.announce_documents(corpus)

    def change_note(self, number: int, text: str, author: str) -> None:
        """Replace the text of a note."""
        self._announce("changed", notes.change_note(self._writing(), number, text, author))

    def delete_note(self, number: int) -> None:
        """Delete a note or a tag."""
        self._announce("deleted", notes.delete_note(self._writing(), number))

    def carry_annotations(self, comparison: Comparison) -> list[CarriedTopic]:
        """Copy names, notes and tags of the topics of A to the same topics of B."""
        carried = carry_annotations(self._writing(), comparison)
        self._record(f"carried names and notes of run {comparison.a.run} to run {comparison.b.run}")
        self.feed.relabel(comparison.b.run)
        return carried

    def change_kind(self, corpus: int, column: str, kind: str) -> CorpusColumn:
        """Change the kind of a column of a corpus; see :func:`app.ingest.column_kinds.change_kind`."""
        db = self._writing()
        changed = change_kind(db, corpora.get_corpus(db, corpus), column, kind)
        self._record(f"made column {column} of corpus {corpus} a {kind}")
        self.feed.announce_documents(corpus)
        return changed

    def keep_predictions(self, predictions: Classified) -> None:
        """Save predictions in the store, in the thread that computed them."""
        store_predictions(self._writing(), predictions)

    def place_documents(self, run: int, documents: int) -> bool:
        """Start a process that places the documents without shares of a run's corpus, which has so many; once a server.

        Returns
        -------
        bool
            Whether it is going on.  What fails is left to ``topiary place``.
        """
        with self._shared.lock:
            placing = self._shared.placing.get((run, documents))
            if placing is None:
                placing = self.feed.submit_in_turn(partial(self._place_documents, run))
                self._shared.placing[run, documents] = placing
        return not placing.done()

    def make_map(self, run: RunRow, snapshot: int, documents: int) -> None:
        """Start a process that makes the map of all documents under a snapshot, of so many documents; once a server.

        Nothing waits for it: :attr:`maps` says how far it is.
        """
        self._shared.maps.start(self.url, run, snapshot, documents, self.feed.look)

    def make_map_again(self, run: RunRow, snapshot: int, documents: int) -> None:
        """Have the map made, even if that has failed before, or its documents must be placed in the topics first."""
        self._writing()
        self._shared.maps.forget(run.number)
        self.make_map(run, snapshot, documents)
        self._record(f"had the map of the documents of run {run.number} made")

    @property
    def maps(self) -> MapJobs:
        """The maps in progress."""
        return self._shared.maps

    def refine(
        self,
        run: int,
        snapshot: SnapshotRow,
        name: str = "",
        where: Sequence[str] = (),
        *,
        topic: Node | None = None,
        share: float = SHARE,
        query: str = "",
    ) -> CorpusRow:
        """Write some documents of a run as a corpus of its own, and return it; see :func:`refine_run`.

        Raises
        ------
        RefineError, ReadError, QueryError
            If too few documents are selected, or a condition means nothing.
        """
        db = self._writing()
        row = runs.get_run(db, run)
        hierarchy = self.feed.reader.hierarchy(row, snapshot)
        corpus = refine_run(db, row, hierarchy, name, topic=topic, share=share, where=where, query=query)
        self._record(f"made {logs.name_subject('corpus', corpus.number, corpus.name)} of documents of run {run}")
        self.feed.look()
        return corpus

    def do_upkeep(self, rows: Sequence[RunRow]) -> None:
        """Reap ended workers, start queued runs, predict classes and build indexes; called after every query."""
        launcher.reap_children()
        training = frozenset(row.number for row in rows if row.state == "running")
        ended = [row.number for row in rows if row.number in self._shared.training and row.state == "finished"]
        self._shared.training = training
        for run in ended:
            self.feed.submit_in_turn(partial(self._predict_classes, run))
        if any(row.state == "queued" for row in rows):
            self.feed.submit(self.fill)  # a write may have to wait; the poller must not
        if self._shared.indexing is None:
            self._shared.indexing = Indexing(self.url, self.feed.look)
        self._shared.indexing.keep()

    def fill(self) -> None:
        """Start queued runs up to the limit: every few seconds at most, and in one thread at a time."""
        shared = self._shared
        if not shared.filling.acquire(blocking=False):  # another thread is starting runs already
            return
        try:
            if monotonic() - shared.filled >= FILL_PAUSE:
                shared.filled = monotonic()
                launcher.start_queued_runs(self._writing())
        finally:
            shared.filling.release()

    def close(self) -> None:
        """Close the write connection, remove unused uploads and downloads, and stop preparing the demo.

        This does not wait long for a thread that is opening the store.
        """
        self.uploads.close()
        self.downloads.close()
        shared = self._shared
        if shared.indexing is not None:
            shared.indexing.close()
        shared.maps.close()
        if shared.demo is not None and shared.demo.poll() is None:
            shared.demo.terminate()
            shared.demo.wait()
        if shared.lock.acquire(timeout=LEAVING):
            if shared.db is not None:
                shared.db.close()
                shared.db = None
            shared.lock.release()

    def _place_documents(self, run: int) -> None:
        """Wait for the process that places documents, and have the pages about the run read the shares."""
        launcher.start_placing(self.url, run).wait()
        self.feed.relabel(run)

    def _predict_classes(self, run: int) -> None:
        """Predict the classes of the test documents of a run that has just ended, before a page asks for them."""
        try:
            if self.feed.classes.predicts(run):
                self.feed.classes.fetch(run, 0)
        except (ReadError, StoreError, SQLAlchemyError) as error:  # the page will say it
            log.info("the classes of run %d were not predicted: %s", run, error)

    def _announce(self, verb: str, row: NoteRow) -> None:
        """Record what was done to a note, and notify the sessions that show it."""
        where = f"document {row.document} of corpus {row.corpus}"
        if row.run is not None:
            where = f"topic L{row.layer}:{row.topic} of run {row.run}"
        self._record(f"{verb} the {row.kind} {row.number} on {where}")
        if row.run is None:
            self.feed.announce_documents(row.corpus)
        else:
            self.feed.relabel(row.run)

    def _record(self, action: str) -> None:
        """Record an action of the visitor in the audit log."""
        db = self._shared.db  # opened by the action itself
        logs.record_action(db.place if db is not None else "", action, str(self.visitor))

    def _writing(self) -> Database:
        """Return the store, open for writing; check first that the visitor may change it.

        Raises
        ------
        NotAllowed
            When the visitor is a viewer, or the login has ended.
        """
        if self.visitor.only_looks:
            raise NotAllowed(NO_LOGIN if self.visitor.role_now is None else ONLY_LOOKS)
        with self._shared.lock:
            if self._shared.db is None:
                self._shared.db = open_existing(self.url)  # never creates a store in place of a deleted one
            return self._shared.db
