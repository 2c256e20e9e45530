"""What a visitor may do to the store, each a short writing transaction.

The pages read through a read-only connection; this is the one place of the web application that
writes.  Every method may wait for the database, so pages call them through ``context.later``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from subprocess import Popen
from threading import Lock
from time import monotonic

from app.analysis import stored_predictions
from app.analysis.predictions import Classified
from app.ingest.options import ImportOptions, OptionError
from app.jobs import launcher, new_run
from app.jobs.import_process import Import
from app.jobs.new_run import NewRun
from app.jobs.uploads import Uploads
from app.live.feed import Feed
from store import corpora, labels, matches, runs
from store.database import Database, open_database
from store.runs import RunRow

FILL_PAUSE = 6.0  # seconds; a worker needs a moment to claim its run


@dataclass
class Actions:
    """Start, stop, pause, resume, delete and rename.

    Attributes
    ----------
    url : str
        The store; opened for writing on the first action.
    feed : Feed
        Told to look again after each action.
    uploads : Uploads
        Files that browsers send, to become corpora.
    """

    url: str
    feed: Feed
    uploads: Uploads = field(default_factory=Uploads)
    _db: Database | None = None
    _demo: "Popen[str] | None" = None
    _lock: Lock = field(default_factory=Lock)
    _filled: float = -FILL_PAUSE

    def create(self, request: NewRun) -> RunRow:
        """Queue a run and start it when there is room.

        Raises
        ------
        app.jobs.new_run.NewRunError
            When a setting cannot be read or is out of bounds.
        """
        row = new_run.create(
            self._writing(),
            request.corpus,
            model=request.model,
            texts=request.texts,
            minibatches=request.minibatches,
            preset=request.preset,
            averaged=request.averaged,
            seed=request.seed,
            threads=launcher.threads(),
            name=request.name,
            fork=request.fork,
        )
        self.fill(now=True)
        self.feed.look()
        return row

    def add_corpus(self, token: str, options: ImportOptions, into: int = 0) -> Import:
        """Begin to make a corpus of what was sent with a token, or to append it to corpus number ``into``.

        Raises
        ------
        OptionError
            When nothing was sent.
        """
        sent = self.uploads.hand_over(token)
        if sent is None:
            raise OptionError("no file has come yet; choose the files again")
        return Import(self._writing().url, sent, options, self.feed.look, into)

    def demo(self) -> None:
        """Begin to prepare the demo, once; the feed's notice says how far it is."""
        from app.jobs.demo import begin

        url = self._writing().url
        with self._lock:
            if self._demo is None or self._demo.poll() is not None:
                self._demo = begin(url)
        self.feed.look()

    def delete_corpus(self, number: int) -> None:
        """Delete a corpus; refused while there are runs on it."""
        corpora.delete(self._writing(), number)

    def stop(self, run: int) -> None:
        """Ask a run to stop after its mini-batch; it keeps its results and can be resumed."""
        launcher.stop(self._writing(), run)
        self.feed.look()

    def pause(self, run: int) -> None:
        """Ask a run to pause after its mini-batch."""
        launcher.pause(self._writing(), run)
        self.feed.look()

    def resume(self, run: int) -> None:
        """Go on from the checkpoint."""
        launcher.resume(self._writing(), run)
        self.feed.look()

    def delete(self, run: int) -> None:
        """Delete a run with its points, snapshots and names; refused while its worker lives."""
        launcher.delete(self._writing(), run)
        self.feed.look()

    def rename_run(self, run: int, name: str) -> None:
        """Give a run another name."""
        runs.rename(self._writing(), run, name)
        self.feed.look()

    def rename_topic(self, run: int, layer: int, topic: int, text: str) -> None:
        """Give a topic (identity number from 1) a name; an empty text takes it away."""
        labels.set(self._writing(), run, layer, topic, text)
        self.feed.relabel(run)

    def match_topics(self, run_a: int, run_b: int, decision: matches.Decision) -> None:
        """Write down which topic of one run is which of the other."""
        matches.decide(self._writing(), run_a, run_b, decision)
        self.feed.relabel(run_b)

    def unmatch_topics(self, run_a: int, run_b: int, decision: matches.Decision) -> None:
        """Take back what was decided about the topics of a pair."""
        matches.undo(self._writing(), run_a, run_b, decision)
        self.feed.relabel(run_b)

    def keep_predictions(self, found: Classified) -> None:
        """Let the store remember predictions; called in the thread that computed them."""
        stored_predictions.keep(self._writing(), found)

    def keep_house(self, rows: Sequence[RunRow]) -> None:
        """Forget ended workers and start what is queued; the feed calls it after every look."""
        launcher.reap()
        if any(row.state == "queued" for row in rows):
            self.feed.submit(self.fill)  # a write may have to wait; the poller must not

    def fill(self, *, now: bool = False) -> None:
        """Start queued runs while there is room, at most every few seconds."""
        with self._lock:
            if not now and monotonic() - self._filled < FILL_PAUSE:
                return
            self._filled = monotonic()
        launcher.fill(self._writing())

    def close(self) -> None:
        """Close the writing connection and remove what was sent and not used; a demo not yet there is not made."""
        self.uploads.close()
        with self._lock:
            if self._demo is not None and self._demo.poll() is None:
                self._demo.terminate()
                self._demo.wait()
            if self._db is not None:
                self._db.close()
                self._db = None

    def _writing(self) -> Database:
        with self._lock:
            if self._db is None:
                self._db = open_database(self.url)
            return self._db
