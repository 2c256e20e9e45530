"""Types the columns of corpora that an earlier version imported, in the background, when a page needs them."""

import logging
from collections.abc import Callable
from functools import partial
from threading import Event, Lock, Thread

from sqlalchemy.exc import SQLAlchemyError

from topiary.app.ingest.column_kinds import ensure_columns
from topiary.app.jobs import progress
from topiary.app.jobs.progress import ImportNotice, Notice
from topiary.store import corpora
from topiary.store.database import open_existing
from topiary.store.errors import StoreError

_FIRST_NOTICE = -1_000_000_000  # the numbers of the notices, less the number of the corpus, differ from all others

log = logging.getLogger("topiary.columns")


class _ServerStopsError(Exception):
    """The server stops, so nothing is stored."""


class ColumnTyping:
    """Threads that find the kinds of the columns of corpora and store their values; pages show their progress.

    Parameters
    ----------
    url : str
        URL of the store.
    announce : (corpus) -> None
        Called after each corpus; has the pages that show it read it again.
    """

    def __init__(self, url: str, announce: Callable[[int], None]) -> None:
        self._url = url
        self._announce = announce
        self._closing = Event()
        self._lock = Lock()
        self._sentences: dict[int, str] = {}

    def begin(self, corpus: int) -> str:
        """Begin with a corpus unless this was done before, and return a sentence about the progress, or the failure.

        It is empty once the columns are typed.
        """
        with self._lock:
            is_new = corpus not in self._sentences
            if is_new:
                self._sentences[corpus] = "The columns of this corpus are being read for the first time."
        if is_new:
            Thread(target=self.work, args=(corpus,), name="topiary-columns", daemon=True).start()
        return self._sentences[corpus]

    def work(self, corpus: int) -> None:
        """Type the columns of a corpus."""
        number = _FIRST_NOTICE - corpus
        try:
            db = open_existing(self._url)
            try:
                row = corpora.get_corpus(db, corpus)
                ensure_columns(db, row, partial(self._report, number, row.name, corpus))
            finally:
                db.close()
            self._sentences[corpus] = ""
        except (StoreError, SQLAlchemyError) as error:
            log.warning("the columns of corpus %d could not be read: %s", corpus, error)
            self._sentences[corpus] = f"The columns of this corpus could not be read: {error}."
        except _ServerStopsError:
            return
        finally:
            progress.post_import(ImportNotice(number, "", Notice()))
        self._announce(corpus)

    def close(self) -> None:
        """End all work; a corpus that is not done stays as it is, and is typed another time."""
        self._closing.set()

    def _report(self, number: int, name: str, corpus: int, words: str, share: float | None) -> None:
        if self._closing.is_set():
            raise _ServerStopsError
        done = "" if share is None else f", {100 * share:.0f} %"
        self._sentences[corpus] = f"The columns of this corpus are being read for the first time: {words}{done}."
        progress.post_import(ImportNotice(number, name, Notice(words[:1].lower() + words[1:], share)))
