"""A corpus of a store."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from app.ingest.options import APPENDED, ImportOptions, OptionError
from app.jobs import logs
from engine.contract import TEST, TRAIN
from store import corpora
from store.corpus_rows import CorpusRow

from .opened import Opened
from .texts import refuse_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from app.ingest.appending import Addition

ImportWatcher: TypeAlias = Callable[[str, float | None], None]
PARTS = {TRAIN: "training", TEST: "test"}


class Corpus:
    """A corpus of a store: what is known of it, its documents and its counts.

    Got from :attr:`Store.corpora` or :meth:`Store.import_corpus`.

    Attributes
    ----------
    number : int
    name : str
    documents, training_documents, words, tokens : int
        How many.
    kind : str
        "counts", "binary" or "real".
    labels : tuple of str
        Names of the classes.
    notes : tuple of str
        What was noticed when it was imported.
    record : dict or None
        What its files were understood as and what was chosen, as ``topiary corpora NAME --json`` says it; None of a
        corpus that an earlier version imported.
    """

    def __init__(self, opened: Opened, row: CorpusRow) -> None:
        self._opened = opened
        self._take(row)

    def _take(self, row: CorpusRow) -> None:
        self.number, self.name, self.kind = row.number, row.name, row.kind
        self.documents, self.training_documents = row.documents, row.train_documents
        self.words, self.tokens, self.labels = row.words, row.tokens, row.label_names
        self.notes: tuple[str, ...] = tuple(row.meta.get("notes", ()))
        self.record: dict[str, Any] | None = row.meta.get("record")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Its words, in the order of the columns of :meth:`counts`."""
        return corpora.read_vocabulary(self._opened.db, self.number)

    def texts(self, documents: Iterable[int] | None = None) -> pd.DataFrame:
        """Documents for reading.

        Parameters
        ----------
        documents : iterable of int, optional
            Their numbers, from 0; all of them when not given.

        Returns
        -------
        pandas.DataFrame
            By number of the document: title, text, label and part ("training" or "test").
        """
        request = range(self.documents) if documents is None else list(documents)
        return _documents(corpora.read_documents(self._opened.db, self.number, request))

    def search(self, words: str, n: int = 20) -> pd.DataFrame:
        """The first ``n`` documents whose title or text has every word; a table as of :meth:`texts`."""
        return _documents(corpora.search_documents(self._opened.db, self.number, words, 0, n)[1])

    def counts(self) -> "csr_array":
        """The counts of all documents, (documents, words), as the estimators take them."""
        from scipy.sparse import csr_array

        starts, words, values = corpora.load_corpus(self._opened.db, self.number).counts
        return csr_array((values, words, starts), shape=(self.documents, self.words))

    def append(
        self,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        on: str = "",
        progress: ImportWatcher | None = None,
        **options: Any,
    ) -> "Addition":
        """Append the documents of a file or folder, or of several files; runs keep to those they began with.

        Parameters
        ----------
        source : path, or sequence of paths
        on : str
            Cut texts into words in other processes, as :meth:`Store.import_corpus` does.
        progress : callable, optional
            Gets what is being done and the share that is.
        **options
            How the file is read: ``format``, ``text_column``, ``encoding`` and so on, as of ``topiary append``.

        Returns
        -------
        Addition
            How many documents came, and how many of their words the corpus does not know.

        Raises
        ------
        IngestError, OptionError
            When it cannot be appended, or an option cannot be.
        PlaceError
            When nobody answers where ``on`` says.
        Conflict
            When somebody else appends at the same time.
        """
        from app.ingest.appending import append_path  # loads what reads files, which a look at a corpus needs not
        from app.ingest.importing import ignore_progress
        from app.jobs.cluster.reading import open_map

        strange = next((name for name in options if name not in APPENDED), None)
        if strange is not None:
            raise OptionError(f"append has no option {strange!r}; the options are {', '.join(APPENDED)}")
        refuse_table(source, "paths")
        several = [source] if isinstance(source, str | os.PathLike) else source
        paths = [Path(path) for path in several]
        how, shown = ImportOptions(**options), progress or ignore_progress
        with open_map(on) as mapped:
            added = append_path(self._opened.db, self.number, paths, how, shown, mapped=mapped)
        self._take(added.corpus)
        return added

    def delete(self) -> None:
        """Delete it from the store.

        Raises
        ------
        Conflict
            When runs were trained on it.
        """
        corpora.delete_corpus(self._opened.db, self.number)
        logs.record_action(self._opened.db.place, f"deleted {logs.name_subject('corpus', self.number, self.name)}")

    def __repr__(self) -> str:
        return f"<Corpus {self.number} {self.name!r}: {self._size()}>"

    def _repr_html_(self) -> str:
        return f"<p><b>Corpus {self.number}: {escape(self.name)}</b><br>{self._size()}</p>"

    def _size(self) -> str:
        return f"{self.documents:,} documents, {self.words:,} words, {self.tokens:,} tokens"


def _documents(found: list[corpora.Document]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [asdict(each) | {"part": PARTS[each.part]} for each in found]
    columns = ["number", "title", "text", "label", "part"]
    return pd.DataFrame(rows, columns=columns).set_index("number")
