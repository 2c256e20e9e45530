"""Full-text indexes that are missing, made by the server: those of stores that older versions of Topiary wrote."""

import logging
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

from sqlalchemy.exc import SQLAlchemyError

from app.jobs import progress
from app.jobs.progress import ImportNotice, Notice
from app.live.feed import LEAVING
from store import corpora, full_text
from store.database import Database, open_database
from store.errors import StoreError

PAUSE = 30.0  # seconds between two looks for corpora without an index

log = logging.getLogger("topiary.indexing")


class Indexing:
    """One thread that makes indexes while there are some to make; pages show how far it is.

    Parameters
    ----------
    url : str
        The store.
    look : () -> None
        Tells the sessions that something is new.
    """

    def __init__(self, url: str, look: Callable[[], None]) -> None:
        self._url = url
        self._look = look
        self._closing = Event()
        self._thread: Thread | None = None
        self._looked = -PAUSE

    def keep(self) -> None:
        """See to it that missing indexes are made; at once, and again every half a minute."""
        busy = self._thread is not None and self._thread.is_alive()
        if busy or self._closing.is_set() or monotonic() - self._looked < PAUSE:
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
            log.warning("an index for searching could not be made: %s", error)

    def close(self) -> None:
        """Stop after the documents in hand, if that is soon; what is left of an index is made another time."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=LEAVING)

    def _make(self, db: Database, corpus: int) -> None:
        name = corpora.get_corpus(db, corpus).name
        number = -corpus  # no import has it

        def report(done: int, total: int) -> bool:
            said = f"preparing the search, {done:,} of {total:,} documents"
            progress.post_import(ImportNotice(number, name, Notice(said, done / total)))
            return not self._closing.is_set()

        try:
            full_text.build_index(db, corpus, report)
        finally:
            progress.post_import(ImportNotice(number, name, Notice()))
            self._look()
