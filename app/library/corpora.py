"""The corpora of a store as library objects, and checks of the texts that programs pass."""

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

from topiary.app.export.records import list_corpus_facts
from topiary.app.ingest.memory import explain_no_text
from topiary.app.ingest.options import APPENDED, ImportOptions, OptionError
from topiary.app.jobs import logs
from topiary.engine.contract import TEST, TRAIN, VALIDATION
from topiary.store import corpora, full_text
from topiary.store.columns import find_column
from topiary.store.corpus_rows import CATEGORY, CorpusRow
from topiary.store.database import Database
from topiary.store.errors import NotFound

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from topiary.app.ingest.appending import Addition
    from topiary.app.live.cache import InferenceCache
    from topiary.app.live.predictions import PredictionCache


class OpenStore:
    """An open store and its caches, shared by corpora and runs.

    Parameters
    ----------
    db : Database
    """

    def __init__(self, db: Database) -> None:
        self.db = db

    @cached_property
    def places(self) -> "InferenceCache":
        """The cache of snapshots that are ready to place documents; its first use loads the compiler."""
        from topiary.app.live.cache import InferenceCache

        return InferenceCache(self.db)

    @cached_property
    def classes(self) -> "PredictionCache":
        """The cache of predicted classes, which are also stored."""
        from functools import partial

        from topiary.app.analysis.predictions import store_predictions
        from topiary.app.live.predictions import PredictionCache

        return PredictionCache(self.db, keep=partial(store_predictions, self.db))


Key = TypeVar("Key")
Entry = TypeVar("Entry")


class Listing(Mapping[Key, Entry]):
    """A mapping that reads the store at every access.

    Parameters
    ----------
    columns : sequence of str
        Columns of its table.
    facts : () -> iterable of dict
        Returns the rows of its table, by column.
    """

    def __init__(self, columns: Sequence[str], facts: Callable[[], Iterable[dict[str, Any]]]) -> None:
        self._columns, self._facts = list(columns), facts

    @property
    def table(self) -> pd.DataFrame:
        """A table with a row of facts for each entry."""
        return pd.DataFrame(list(self._facts()), columns=self._columns)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except NotFound:
            return False
        return True

    def get(self, key: Key, /, default: Any = None) -> Any:
        """Return the entry for a key, or ``default``."""
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
        Numbers of documents, of words in the vocabulary, and of tokens.
    kind : str
        "counts", "binary" or "real".
    labels : tuple of str
        Names of the classes.
    notes : tuple of str
        Notes of the import.
    record : dict or None
        How its files were read, and the options, as ``topiary corpora NAME --json`` prints them; None for a
        corpus that an earlier version imported.
    """

    def __init__(self, opened: OpenStore, row: CorpusRow) -> None:
        self._opened = opened
        self._set_facts(row)

    def _set_facts(self, row: CorpusRow) -> None:
        self._row = row
        self.number, self.name, self.kind = row.number, row.name, row.kind
        self.documents, self.training_documents = row.documents, row.train_documents
        self.validation_documents, self.test_documents = row.validation_documents, row.test_documents
        self.words, self.tokens, self.labels = row.words, row.tokens, row.label_names
        self.notes: tuple[str, ...] = tuple(row.meta.get("notes", ()))
        self.record: dict[str, Any] | None = row.meta.get("record")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words of the corpus, in the order of the columns of :meth:`counts`."""
        return corpora.read_vocabulary(self._opened.db, self.number)

    @property
    def columns(self) -> pd.DataFrame:
        """The columns of the corpus, the label first: kind, values and range of each, by name.

        A table with kind ("date", "number", "category", "text" or "id"), filled and invalid (numbers of documents
        with a value, and with a text that is no value of the kind), first and last (the range of dates and numbers)
        and categories (how many there are).
        """
        from topiary.app.export.columns import list_column_facts

        rows = [each.to_json() for each in list_column_facts(self._opened.db, self._row)]
        names = ["column", "kind", "filled", "invalid", "first", "last", "categories"]
        return pd.DataFrame(rows, columns=names).set_index("column").astype({"categories": "Int64"})

    def column(self, name: str) -> pd.Series:
        """Return the values of a column, or the label, for all documents.

        Parameters
        ----------
        name : str
            Its name, as in :attr:`columns`.

        Returns
        -------
        pandas.Series
            By the number of the document: dates as datetime64[ms] (UTC), numbers as float64, categories as
            categorical, texts and ids as str; missing values are NaT, NaN, or empty texts.

        Raises
        ------
        NotFound
            When there is no such column.
        """
        from topiary.app.ingest.column_kinds import ensure_columns, read_values

        column = find_column(ensure_columns(self._opened.db, self._row), name)
        values = read_values(self._opened.db, self._row, column)
        index = pd.RangeIndex(len(values), name="number")
        if column.kind == CATEGORY:
            return pd.Series(pd.Categorical.from_codes(values, categories=list(column.levels)), index, name=column.name)
        return pd.Series(values, index, name=column.name)

    def change_kind(self, name: str, kind: str) -> None:
        """Change the kind of a column, whose texts are read again, without importing the corpus again.

        Parameters
        ----------
        name : str
            Its name, as in :attr:`columns`.
        kind : {"date", "number", "category", "text", "id"}

        Raises
        ------
        KindError
            When no text of the column is a value of the kind, or there are too many categories.
        NotFound
            When there is no such column.
        """
        from topiary.app.ingest.column_kinds import change_kind

        change_kind(self._opened.db, self._row, name, kind)

    def texts(self, documents: Iterable[int] | None = None) -> pd.DataFrame:
        """Return the texts and labels of documents.

        Parameters
        ----------
        documents : iterable of int, optional
            Numbers of the documents, from 0; all by default.

        Returns
        -------
        pandas.DataFrame
            A row for each document, by number: title, text, label and part ("training", "validation" or "test").
        """
        numbers = range(self.documents) if documents is None else list(documents)
        return _build_documents(corpora.read_documents(self._opened.db, self.number, numbers))

    def search(self, words: str, n: int = 20) -> pd.DataFrame:
        """Return the first ``n`` documents with every word in title or text, as a table like that of :meth:`texts`."""
        full_text.build_index(self._opened.db, self.number)  # once, as an import leaves it to who searches first
        return _build_documents(corpora.search_documents(self._opened.db, self.number, words, 0, n)[1])

    def counts(self) -> "csr_array":
        """Return the counts of all documents, (documents, words), in the format of the estimators."""
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
        """Append the documents of files or folders to the corpus; existing runs do not use them.

        Parameters
        ----------
        source : path, or sequence of paths
        on : str
            Place where texts are cut into words, as in :meth:`Store.import_corpus`.
        progress : callable, optional
            Called with the current activity and the share of it that is done.
        **options
            How files are read: ``format``, ``text_column``, ``encoding`` and so on, as in ``topiary append``.

        Returns
        -------
        Addition
            Number of appended documents, and of their words that are not in the vocabulary.

        Raises
        ------
        IngestError, OptionError
            When the files cannot be appended, or an option is not valid.
        PlaceError
            When no scheduler answers at ``on``.
        Conflict
            When another process is appending at the same time.
        """
        from topiary.app.ingest.appending import append_path  # loads readers of files, which other methods do not need
        from topiary.app.ingest.source import ignore_progress
        from topiary.app.jobs.cluster.reading import open_map

        unknown = next((name for name in options if name not in APPENDED), None)
        if unknown is not None:
            raise OptionError(f"append has no option {unknown!r}; the options are {', '.join(APPENDED)}")
        refuse_table(source, "paths")
        sources = [source] if isinstance(source, str | os.PathLike) else source
        paths = [Path(path) for path in sources]
        import_options, report_progress = ImportOptions(**options), progress or ignore_progress
        with open_map(on) as map_batches:
            added = append_path(
                self._opened.db, self.number, paths, import_options, report_progress, map_batches=map_batches
            )
        self._set_facts(added.corpus)
        return added

    def delete(self) -> None:
        """Delete the corpus from the store.

        Raises
        ------
        Conflict
            When there are runs on it.
        """
        corpora.delete_corpus(self._opened.db, self.number)
        logs.record_action(self._opened.db.place, f"deleted {logs.name_subject('corpus', self.number, self.name)}")

    def __repr__(self) -> str:
        return f"<Corpus {self.number} {self.name!r}: {self._size()}>"

    def _repr_html_(self) -> str:
        return f"<p><b>Corpus {self.number}: {escape(self.name)}</b><br>{self._size()}</p>"

    def _size(self) -> str:
        return f"{self.documents:,} documents, {self.words:,} words, {self.tokens:,} tokens"


def _build_documents(documents: list[corpora.Document]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [asdict(document) | {"part": PARTS[document.part]} for document in documents]
    columns = ["number", "title", "text", "label", "part"]
    return pd.DataFrame(rows, columns=columns).set_index("number")


_COLUMNS = (
    *("corpus", "name", "documents", "train_documents", "validation_documents", "test_documents", "words", "tokens"),
    "kind",
)


class Corpora(Listing[str | int, Corpus]):
    """The corpora of a store by name or number."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        super().__init__(_COLUMNS, lambda: map(list_corpus_facts, corpora.list_corpora(opened.db)))

    def __getitem__(self, key: str | int) -> Corpus:
        return Corpus(self._opened, corpora.find_corpus(self._opened.db, key))

    def __iter__(self) -> Iterator[str | int]:
        return iter([row.name for row in corpora.list_corpora(self._opened.db)])

    def __len__(self) -> int:
        return len(corpora.list_corpora(self._opened.db))


_SAMPLED_VALUES = 50  # values of a column whose length is measured
_NAMED = 5  # columns named in a message
_FILES = 3  # first texts that are checked for being names of files


def list_texts(source: Any) -> list[Any]:
    """Return the texts passed by a program, one for each document, as a list; single values are not checked.

    Raises
    ------
    TypeError
        When it is a table, a dictionary, an open file or anything else but a sequence of texts; the message says what
        to pass instead.
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
    texts = _make_list(source)
    names = [text for text in texts[:_FILES] if _is_file(text)]
    if texts and len(names) == min(_FILES, len(texts)):
        raise TypeError(f"{names[0]!r} is the name of a file: to read files give their paths, as in Path(name)")
    return texts


def refuse_one_text(source: str) -> None:
    """Refuse a string that is a text where a path is expected.

    Raises
    ------
    TypeError
        When it has several words, and there is no file with this name.
    """
    if len(source.split()) < 2:
        return
    try:
        exists = Path(source).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # a name longer than the system allows, or with a NUL in it
        exists = False
    if not exists:
        raise TypeError(
            f"a string is the path of a file, and there is none called {source!r:.60}: give texts as a list"
        )


def list_column(what: str, values: Any) -> list[Any] | None:
    """Return labels or titles passed by a program, one for each document, as a list; None if there are none.

    Raises
    ------
    TypeError
        When they are a single text, a set, a dictionary, or a table of several columns.
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
    """Refuse tables and dictionaries, because iterating over them gives names instead of values.

    Raises
    ------
    TypeError
        When it is one; the message names a column to pass instead.
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
    """Refuse two pandas Series with the same index in different order, which would be paired wrongly.

    Raises
    ------
    TypeError
        When they are; the message says how to align them.
    """
    if not (isinstance(texts, pd.Series) and isinstance(values, pd.Series)) or len(texts) != len(values):
        return
    if not texts.index.equals(values.index) and set(texts.index) == set(values.index):
        raise TypeError(f"{what} have the index of the texts in another order: give {what}.loc[texts.index]")


def find_index(texts: Any) -> pd.Index | None:
    """Return the index of a pandas Series, which identifies its documents; None for anything else."""
    return texts.index if isinstance(texts, pd.Series) else None


def refuse_missing(texts: Iterable[Any]) -> None:
    """Refuse values that are not texts among documents to be placed.

    Raises
    ------
    TypeError
        When there is one; the message names the document and the remedy.
    """
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"document {number} {explain_no_text(text)}")


def _is_file(text: Any) -> bool:
    """Return whether a value is the name of an existing file."""
    return isinstance(text, str) and len(text) < 256 and "\0" not in text and Path(text).is_file()


def _can_be_listed(source: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether a value can be iterated over; an array without dimensions cannot."""
    return isinstance(source, Iterable) and not (isinstance(source, np.ndarray) and source.ndim == 0)


def _make_list(source: Any) -> list[Any]:
    """Return values as a list, converting those of Arrow to Python values."""
    return list(source.to_pylist() if hasattr(source, "to_pylist") else source)


def _list_columns(source: Any) -> list[Any]:
    """Return the column names of a table or a dictionary of columns; an empty list for other values."""
    if isinstance(source, Mapping):
        columns = [
            value for value in source.values() if not isinstance(value, str | bytes) and isinstance(value, Iterable)
        ]
        return list(source) if columns and len(columns) == len(source) else []
    for attribute in ("column_names", "columns"):
        names = getattr(source, attribute, None)
        if names is not None and not callable(names):
            return list(names)
    return []


def _find_text_column(table: Any, columns: list[Any]) -> Any:
    return max(columns, key=lambda name: _measure_length(table[name]))


def _measure_length(column: Any) -> float:
    """Return the mean length of the texts among the first values of a column."""
    try:
        values = _make_list(column[:_SAMPLED_VALUES])
    except (TypeError, KeyError, IndexError):
        return 0.0
    return sum(len(value) for value in values if isinstance(value, str)) / max(1, len(values))
