"""A corpus of a store, the corpora of a store, and the texts that programs pass."""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
import pandas as pd

from app.facts.records import list_corpus_facts
from app.ingest.memory import explain_no_text
from app.ingest.options import APPENDED, ImportOptions, OptionError
from app.jobs import logs
from engine.contract import TEST, TRAIN, VALIDATION
from store import corpora
from store.corpus_rows import CorpusRow
from store.database import Database
from store.errors import NotFound

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from app.ingest.appending import Addition
    from app.live.cache import InferenceCache
    from app.live.predictions import PredictionCache


class OpenStore:
    """An open store with its caches, which corpora and runs share.

    Parameters
    ----------
    db : Database
    """

    def __init__(self, db: Database) -> None:
        self.db = db

    @cached_property
    def places(self) -> "InferenceCache":
        """Snapshots ready to place documents; loads the compiler."""
        from app.live.cache import InferenceCache

        return InferenceCache(self.db)

    @cached_property
    def classes(self) -> "PredictionCache":
        """Predictions of classes, which the store remembers."""
        from functools import partial

        from app.analysis.predictions import store_predictions
        from app.live.predictions import PredictionCache

        return PredictionCache(self.db, keep=partial(store_predictions, self.db))


Key = TypeVar("Key")
Entry = TypeVar("Entry")


class Listing(Mapping[Key, Entry]):
    """A mapping that is read from the store at every access.

    Parameters
    ----------
    columns : sequence of str
        Of its table.
    facts : () -> iterable of dict
        Its rows, by column.
    """

    def __init__(self, columns: Sequence[str], facts: Callable[[], Iterable[dict[str, Any]]]) -> None:
        self._columns, self._facts = list(columns), facts

    @property
    def table(self) -> pd.DataFrame:
        """A row of facts for each entry."""
        return pd.DataFrame(list(self._facts()), columns=self._columns)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except NotFound:
            return False
        return True

    def get(self, key: Key, /, default: Any = None) -> Any:
        """Return the entry of that key, or ``default``."""
        try:
            return self[key]
        except NotFound:
            return default

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False, border=0))


ImportWatcher: TypeAlias = Callable[[str, float | None], None]
PARTS = {TRAIN: "training", VALIDATION: "validation", TEST: "test"}


class Corpus:
    """A corpus of a store: its facts, documents and counts.

    Returned by :attr:`Store.corpora` or :meth:`Store.import_corpus`.

    Attributes
    ----------
    number : int
    name : str
    documents, training_documents, validation_documents, test_documents, words, tokens : int
        How many.
    kind : str
        "counts", "binary" or "real".
    labels : tuple of str
        Names of the classes.
    notes : tuple of str
        Notes of the import.
    record : dict or None
        How its files were read and which options were chosen, as ``topiary corpora NAME --json`` prints it; None for a
        corpus that an earlier version imported.
    """

    def __init__(self, opened: OpenStore, row: CorpusRow) -> None:
        self._opened = opened
        self._take(row)

    def _take(self, row: CorpusRow) -> None:
        self.number, self.name, self.kind = row.number, row.name, row.kind
        self.documents, self.training_documents = row.documents, row.train_documents
        self.validation_documents, self.test_documents = row.validation_documents, row.test_documents
        self.words, self.tokens, self.labels = row.words, row.tokens, row.label_names
        self.notes: tuple[str, ...] = tuple(row.meta.get("notes", ()))
        self.record: dict[str, Any] | None = row.meta.get("record")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words, in the order of the columns of :meth:`counts`."""
        return corpora.read_vocabulary(self._opened.db, self.number)

    def texts(self, documents: Iterable[int] | None = None) -> pd.DataFrame:
        """Return documents for reading.

        Parameters
        ----------
        documents : iterable of int, optional
            Their numbers, from 0; all of them when not given.

        Returns
        -------
        pandas.DataFrame
            By number of the document: title, text, label and part ("training", "validation" or "test").
        """
        numbers = range(self.documents) if documents is None else list(documents)
        return _build_documents(corpora.read_documents(self._opened.db, self.number, numbers))

    def search(self, words: str, n: int = 20) -> pd.DataFrame:
        """Find the first ``n`` documents whose title or text has every word; a table as of :meth:`texts`."""
        return _build_documents(corpora.search_documents(self._opened.db, self.number, words, 0, n)[1])

    def counts(self) -> "csr_array":
        """Return the counts of all documents, (documents, words), as the estimators take them."""
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
            Called with what is being done and how much of it.
        **options
            How the file is read: ``format``, ``text_column``, ``encoding`` and so on, as of ``topiary append``.

        Returns
        -------
        Addition
            How many documents came, and how many of their words the corpus does not know.

        Raises
        ------
        IngestError, OptionError
            When it cannot be appended, or an option is not valid.
        PlaceError
            When no scheduler answers at ``on``.
        Conflict
            When another process appends at the same time.
        """
        from app.ingest.appending import append_path  # loads readers of files, which other methods do not need
        from app.ingest.importing import ignore_progress
        from app.jobs.cluster.reading import open_map

        unknown = next((name for name in options if name not in APPENDED), None)
        if unknown is not None:
            raise OptionError(f"append has no option {unknown!r}; the options are {', '.join(APPENDED)}")
        refuse_table(source, "paths")
        several = [source] if isinstance(source, str | os.PathLike) else source
        paths = [Path(path) for path in several]
        how, show = ImportOptions(**options), progress or ignore_progress
        with open_map(on) as mapped:
            added = append_path(self._opened.db, self.number, paths, how, show, mapped=mapped)
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


def _build_documents(found: list[corpora.Document]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [asdict(each) | {"part": PARTS[each.part]} for each in found]
    columns = ["number", "title", "text", "label", "part"]
    return pd.DataFrame(rows, columns=columns).set_index("number")


_CORPUS = (
    *("corpus", "name", "documents", "train_documents", "validation_documents", "test_documents", "words", "tokens"),
    "kind",
)


class Corpora(Listing[str | int, Corpus]):
    """The corpora of a store by name or number."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        super().__init__(_CORPUS, lambda: map(list_corpus_facts, corpora.list_corpora(opened.db)))

    def __getitem__(self, key: str | int) -> Corpus:
        return Corpus(self._opened, corpora.find_corpus(self._opened.db, key))

    def __iter__(self) -> Iterator[str | int]:
        return iter([row.name for row in corpora.list_corpora(self._opened.db)])

    def __len__(self) -> int:
        return len(corpora.list_corpora(self._opened.db))


_LOOKED_AT = 50  # values of a column
_NAMED = 5  # columns that a sentence names
_FILES = 3  # strings that are tried as names of files


def list_texts(source: Any) -> list[Any]:
    """Return the texts that a program passes, one for each document; single values are not checked here.

    Raises
    ------
    TypeError
        When it is a table, a dictionary, an open file or anything else that is no sequence of texts; the sentence says
        what to give instead.
    """
    refuse_table(source)
    if isinstance(source, bytes | bytearray):
        raise TypeError("bytes are no text: decode them, as in data.decode('utf-8')")
    if isinstance(source, set | frozenset):
        raise TypeError("a set has no order, and documents have one: give a list, such as sorted(texts)")
    if isinstance(source, io.IOBase):
        raise TypeError("an open file is no list of texts: give its path, or its lines by list(file)")
    if not _can_be_listed(source):
        raise TypeError(f"texts are a list of strings, a column or an array of one dimension; got {source!r:.60}")
    found = _make_list(source)
    names = [text for text in found[:_FILES] if _is_file(text)]
    if found and len(names) == min(_FILES, len(found)):
        raise TypeError(f"{names[0]!r} is the name of a file: to read files give their paths, as in Path(name)")
    return found


def refuse_one_text(source: str) -> None:
    """Refuse a string that is meant as a text where a path is expected.

    Raises
    ------
    TypeError
        When it has several words, and there is no file of that name.
    """
    if len(source.split()) < 2:
        return
    try:
        there = Path(source).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # a name longer than the system allows, or with a NUL in it
        there = False
    if not there:
        raise TypeError(
            f"a string is the path of a file, and there is none called {source!r:.60}: give texts as a list"
        )


def list_column(what: str, values: Any) -> list[Any] | None:
    """Return labels or titles that a program passes, one for each document; None where there are none.

    Raises
    ------
    TypeError
        When it is a single text, a dictionary, or a table of several columns.
    """
    if values is None:
        return None
    if isinstance(values, str | bytes):
        raise TypeError(f"{what} are a list with one for each document; got the single text {values!r:.60}")
    refuse_table(values, what)
    if isinstance(values, set | frozenset) or not _can_be_listed(values):
        raise TypeError(f"{what} are a list with one for each document; got {values!r:.60}")
    return _make_list(values)


def refuse_table(source: Any, what: str = "texts") -> None:
    """Refuse tables and dictionaries: iterating over them would give their names instead of their values.

    Raises
    ------
    TypeError
        The sentence names a column that can be given.
    """
    columns, kind = _list_columns(source), type(source).__name__
    if columns:
        name = _find_text_column(source, columns) if what == "texts" else columns[0]
        others = ", ".join(map(repr, columns[:_NAMED])) + (" ..." if len(columns) > _NAMED else "")
        wanted = f"such as df[{name!r}] (it has {others})"
        raise TypeError(f"a {kind} is no list of {what}: give one of its columns, {wanted}")
    if isinstance(source, Mapping):
        keys = ", and its keys as titles" if what == "texts" else ", in the order of the texts"
        raise TypeError(f"a {kind} is no list of {what}: give its values, list(d.values()){keys}")
    if isinstance(source, np.ndarray) and source.ndim > 1:
        raise TypeError(f"an array of {source.ndim} dimensions is no list of {what}: give a column of it, array[:, 0]")


def refuse_other_order(texts: Any, values: Any, what: str) -> None:
    """Refuse two columns of pandas with the same index in another order, which would be paired wrongly.

    Raises
    ------
    TypeError
        The sentence says how to align them.
    """
    if not (isinstance(texts, pd.Series) and isinstance(values, pd.Series)) or len(texts) != len(values):
        return
    if not texts.index.equals(values.index) and set(texts.index) == set(values.index):
        raise TypeError(f"{what} have the index of the texts in another order: give {what}.loc[texts.index]")


def find_index(texts: Any) -> pd.Index | None:
    """Return the index of a column of pandas, which identifies its documents; None of anything else."""
    return texts.index if isinstance(texts, pd.Series) else None


def refuse_missing(texts: Iterable[Any]) -> None:
    """Refuse values that are no texts among those that are to be placed.

    Raises
    ------
    TypeError
        Names the document and what to do.
    """
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"document {number} {explain_no_text(text)}")


def _is_file(text: Any) -> bool:
    return isinstance(text, str) and len(text) < 256 and "\0" not in text and Path(text).is_file()


def _can_be_listed(source: Any) -> TypeGuard[Iterable[Any]]:
    return isinstance(source, Iterable) and not (isinstance(source, np.ndarray) and source.ndim == 0)


def _make_list(source: Any) -> list[Any]:
    """Return values as a list; those of Arrow as Python's."""
    return list(source.to_pylist() if hasattr(source, "to_pylist") else source)


def _list_columns(source: Any) -> list[Any]:
    """Return the names of the columns of a table, or of a dictionary of columns."""
    if isinstance(source, Mapping):
        long = [
            value for value in source.values() if not isinstance(value, str | bytes) and isinstance(value, Iterable)
        ]
        return list(source) if long and len(long) == len(source) else []
    for attribute in ("column_names", "columns"):
        found = getattr(source, attribute, None)
        if found is not None and not callable(found):
            return list(found)
    return []


def _find_text_column(table: Any, columns: list[Any]) -> Any:
    """Return the column with the longest texts."""
    return max(columns, key=lambda name: _measure_length(table[name]))


def _measure_length(column: Any) -> float:
    """Return the mean length of the texts among the first values of a column."""
    try:
        values = _make_list(column[:_LOOKED_AT])
    except (TypeError, KeyError, IndexError):
        return 0.0
    return sum(len(value) for value in values if isinstance(value, str)) / max(1, len(values))
