"""A corpus of a store."""

from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from app.jobs import deletions
from engine.contract import TEST, TRAIN
from store import corpora
from store.corpora import CorpusRow

from .opened import Opened

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
    """

    def __init__(self, opened: Opened, row: CorpusRow) -> None:
        self._opened = opened
        self.number, self.name, self.kind = row.number, row.name, row.kind
        self.documents, self.training_documents = row.documents, row.train_documents
        self.words, self.tokens, self.labels = row.words, row.tokens, row.label_names
        self.notes: tuple[str, ...] = tuple(row.meta.get("notes", ()))

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Its words, in the order of the columns of :meth:`counts`."""
        return corpora.vocabulary(self._opened.db, self.number)

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
        return _documents(corpora.documents(self._opened.db, self.number, request))

    def search(self, words: str, n: int = 20) -> pd.DataFrame:
        """The first ``n`` documents whose title or text has every word; a table as of :meth:`texts`."""
        return _documents(corpora.search(self._opened.db, self.number, words, 0, n)[1])

    def counts(self) -> "csr_array":
        """The counts of all documents, (documents, words), as the estimators take them."""
        from scipy.sparse import csr_array

        starts, words, values = corpora.load(self._opened.db, self.number).counts
        return csr_array((values, words, starts), shape=(self.documents, self.words))

    def delete(self) -> None:
        """Delete it from the store.

        Raises
        ------
        Conflict
            When runs were trained on it.
        """
        corpora.delete(self._opened.db, self.number)
        deletions.record(self._opened.db.place, f"corpus {self.number}")

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
