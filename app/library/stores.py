"""The store as the Python library shows it: open it, list its corpora and runs, import and train."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

from topiary.app.export.records import find_headlines, list_run_facts
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.memory import import_texts
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.source import ignore_progress
from topiary.app.jobs import control
from topiary.app.jobs.cluster.reading import open_map
from topiary.app.jobs.progress import Progress
from topiary.app.jobs.run_rules import RunRequest
from topiary.store import runs
from topiary.store.database import Database, open_database
from topiary.store.errors import NotFound

from .corpora import (
    Corpora,
    Corpus,
    ImportWatcher,
    Listing,
    OpenStore,
    list_column,
    list_texts,
    refuse_one_text,
    refuse_other_order,
)
from .run import Layers, Run, Watcher, make_fields, write_settings

_RUN_IDENTITY = ("run", "name", "corpus", "state", "model", "inference", "layers")
_RUN_COLUMNS = (
    *_RUN_IDENTITY,
    "minibatch",
    "minibatches",
    "headline",
    "headline_value",
    "point_perplexity",
    "seconds",
    "message",
)


class Runs(Listing[int | Literal["last"], Run]):
    """The runs of a store by number; "last" is the newest."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        super().__init__(_RUN_COLUMNS, lambda: _list_runs(opened.db))

    def __getitem__(self, key: int | Literal["last"]) -> Run:
        if key == "last":
            numbers = list(self)
            if not numbers:
                raise NotFound("there is no run yet; start one with train")
            key = max(map(int, numbers))
        return Run(self._opened, runs.get_run(self._opened.db, int(key)).number)

    def __iter__(self) -> Iterator[int | Literal["last"]]:
        return iter(sorted(row.number for row in runs.list_runs(self._opened.db)))

    def __len__(self) -> int:
        return len(runs.list_runs(self._opened.db))


def _list_runs(db: Database) -> list[dict[str, Any]]:
    rows = runs.list_runs(db)
    headlines = find_headlines(db, rows)
    return [list_run_facts(row, headlines[row.number]) for row in rows]


class Store:
    """A store: corpora, runs and all their results.  Used as a context manager, it is closed at the end.

    Runs train in processes of their own, which continue after the store is closed or Python exits.

    Parameters
    ----------
    url : str or path, optional
        File or database URL; by default the value of TOPIARY_STORE, or a file in your data folder.

    Attributes
    ----------
    corpora : Corpora
        The corpora, by name or number.
    runs : Runs
        The runs, by number; "last" is the newest.
    """

    def __init__(self, url: str | os.PathLike[str] | None = None) -> None:
        self._opened = OpenStore(open_database(url))
        self.corpora = Corpora(self._opened)
        self.runs = Runs(self._opened)

    def import_corpus(
        self,
        source: str | os.PathLike[str] | Iterable[str] | Iterable[os.PathLike[str]],
        *,
        name: str | None = None,
        labels: Iterable[Any] | None = None,
        titles: Iterable[str] | None = None,
        on: str = "",
        progress: bool | ImportWatcher = False,
        **options: Any,
    ) -> Corpus:
        """Make a corpus from a file or folder, from several files, or from texts.

        Parameters
        ----------
        source : str, path, or sequence of str
            A string, a ``Path`` or a list of ``Path`` names files, whose format is recognised; anything else holds the
            texts, one per document: a list, an array or a column such as ``df["text"]``.
        name : str, optional
            Name of the corpus; by default the name of the file, or "texts".
        labels, titles : iterable, optional
            Labels and titles of texts, one per text; a missing label is None or NaN.
        on : str
            Where to split texts into words: ``"local:2"`` for two processes here, or the address of a Dask scheduler.
            The corpus is the same.  A script that uses ``local:`` needs ``if __name__ == "__main__":``, because every
            process imports it.
        progress : bool or callable, default=False
            True writes to standard error; a function is called with the current step and its progress.
        **options
            The options of ``topiary import``: ``min_df``, ``stop_words``, ``test_share``, ``validation_share``,
            ``text_column`` and so on.

        Raises
        ------
        IngestError, OptionError
            When the source cannot become a corpus, or an option is not valid.
        PlaceError
            When no scheduler answers at ``on``.
        TypeError
            When the source is a whole table or a dictionary; the message names the column to pass instead.
        Conflict
            When the name is taken.
        """
        import_options = ImportOptions(name=name, **_check_options(options))
        db = self._opened.db
        with _watch_import(progress) as notify, open_map(on) as map_batches:
            paths = _list_paths(source)
            if paths:
                if labels is not None or titles is not None:
                    raise OptionError("labels and titles belong to texts; name the columns of a file instead")
                row = import_path(db, paths, import_options, notify, map_batches=map_batches)
            else:
                texts = list_texts(source)
                for column_name, values in (("labels", labels), ("titles", titles)):
                    refuse_other_order(source, values, column_name)
                classes, document_titles = list_column("labels", labels), list_column("titles", titles)
                row = import_texts(db, texts, classes, document_titles, import_options, notify, map_batches=map_batches)
        return Corpus(self._opened, row)

    def train(
        self,
        corpus: Corpus | str | int,
        model: str = "dlda",
        *,
        layers: Layers | None = None,
        inference: str | None = None,
        minibatches: int | None = None,
        preset: str = "",
        seed: int = 1,
        threads: int | None = None,
        on: str = "",
        name: str = "",
        topics: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        wait: bool = False,
        progress: bool | Watcher = False,
        **settings: Any,
    ) -> Run:
        """Train a model in the background.

        Parameters
        ----------
        corpus : Corpus, str or int
            The corpus, its name or its number.
        model : str, default="dlda"
            Name of the model, for example "dlda", "datm" or "sdatm".
        layers : sequence of int, or str, optional
            Number of topics in each layer, from the words upwards: ``(128, 64, 32)`` or ``"128-64-32"``; by default
            chosen by the size of the corpus.
        inference : str, optional
            Inference method, for example "tlasgr" or "gibbs".
        minibatches : int, optional
            Number of steps; for "gibbs", sweeps over all documents.
        preset : {"", "paper"}
            "paper" takes settings and length from the paper of the model; settings passed as well take precedence.
        seed : int, default=1
            Random seed; the same seed gives the same topics with any number of ``threads``.
        threads : int, optional
            Number of threads of the kernels; up to 2 by default.
        on : str
            Where to sweep documents: ``"local:2"`` for two processes here, or the address of a Dask scheduler.  The
            topics are the same.  ``"gpu"`` sweeps them by a graphics processor, in single precision, and
            ``"gpu+local:2"`` or ``"gpu+tcp://host:8786"`` by one of every process.
        name : str
            Name of the run, for display.
        topics : dict or path, optional
            What you know of the topics, which the run begins with: ``{"topics": [{"name": "Aid", "words": ["tsunami",
            "aid"], "parent": "Asia"}], "ban": ["year"]}``, or a YAML file with the same.
        wait, progress
            Whether to wait until the run ends, and whether to show progress meanwhile; see :meth:`Run.wait`.
        **settings
            Any other setting of the model, for example ``eta=0.05``.

        Raises
        ------
        NewRunError
            When the model, a setting or a number is not valid.
        EditRefused
            When ``topics`` cannot be read.
        NotFound
            When there is no such corpus.
        RunFailed
            When ``wait`` is true and the run failed.
        """
        given = settings | {
            "layers": layers, "inference": inference, "minibatches": minibatches, "preset": preset, "seed": seed,
            "threads": threads, "on": on, "name": name, "topics": topics,
        }  # fmt: skip
        (run,) = self.train_group(corpus, model, wait=wait, progress=progress, **given)
        return run

    def train_group(
        self,
        corpus: Corpus | str | int,
        model: str = "dlda",
        *,
        seeds: Iterable[int] = (),
        grid: Mapping[str, Iterable[Any]] | None = None,
        wait: bool = False,
        progress: bool | Watcher = False,
        **more: Any,
    ) -> list[Run]:
        """Train a group of runs in the background, one for every combination of settings and seed.

        Parameters
        ----------
        corpus, model, wait, progress
            As in :meth:`train`.
        seeds : iterable of int
            Each used once per combination; if empty, every run uses ``seed``.
        grid : mapping of str to iterable, optional
            Settings by name, each with the values to try, as in ``{"eta": [0.01, 0.05]}``.
        **more
            As in :meth:`train`.  With ``on``, each run is trained by a single process there.

        Returns
        -------
        list of Run
            Ordered by combination of settings, then by seed.

        Raises
        ------
        NewRunError
            When one of the runs is not valid; then none is created.
        NotFound
            When there is no such corpus.
        RunFailed
            When ``wait`` is true and one of the runs failed.
        """
        written = {
            name: [write_settings({name: value})[name] for value in values] for name, values in (grid or {}).items()
        }
        number = corpus.number if isinstance(corpus, Corpus) else corpus
        request = RunRequest(corpus=number, seeds=tuple(seeds), grid=written, **make_fields(model, more))
        rows, _ = control.start_runs(self._opened.db, request)
        group = [Run(self._opened, row.number) for row in rows]
        return [run.wait(progress=progress) for run in group] if wait else group

    @property
    def url(self) -> str:
        """The URL of the store, which may contain a password."""
        return self._opened.db.url

    def close(self) -> None:
        """Close the connections to the database; runs continue."""
        self._opened.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self._opened.db.place}: {len(self.corpora)} corpora, {len(self.runs)} runs>"

    def _repr_html_(self) -> str:
        tables = f"{self.corpora._repr_html_()}{self.runs._repr_html_()}"
        return f"<p><b>Store {escape(self._opened.db.place)}</b></p>{tables}"


def open(url: str | os.PathLike[str] | None = None) -> Store:
    """Open a store, and create it if it does not exist.

    Parameters
    ----------
    url : str or path, optional
        File or database URL (``postgresql://user@host/name``); by default the value of the environment variable
        TOPIARY_STORE, or a file in your data folder, as for the ``topiary`` command.

    Raises
    ------
    StoreError
        When the store cannot be opened.
    """
    return Store(url)


def _list_paths(source: str | os.PathLike[str] | Iterable[str] | Iterable[os.PathLike[str]]) -> list[Path]:
    """Return the paths that a source names; empty if it holds texts."""
    if isinstance(source, str | os.PathLike):
        if isinstance(source, str):
            refuse_one_text(source)
        return [Path(source)]
    is_list_of_paths = (
        isinstance(source, list | tuple) and source and all(isinstance(item, os.PathLike) for item in source)
    )
    return [Path(cast("os.PathLike[str]", item)) for item in source] if is_list_of_paths else []


def _check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an import with paths as strings; refuse unknown and mistyped ones."""
    option_names = [field.name for field in fields(ImportOptions)]
    unknown_name = next((name for name in options if name not in option_names), None)
    if unknown_name is not None:
        raise OptionError(
            f"there is no option {unknown_name!r} of an import; the options are {', '.join(option_names)}"
        )
    checked = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}
    for name in ("stop_words", "vocabulary"):
        if not isinstance(checked.get(name), str | None):
            kind = type(checked[name]).__name__
            raise OptionError(
                f"{name} takes the name of a file with a word a line, and no {kind}; write the words to one"
            )
    return checked


@contextmanager
def _watch_import(progress: bool | ImportWatcher) -> Iterator[ImportWatcher]:  # noqa: FBT001 - or a function
    """Yield the function that an import reports its progress to."""
    if not isinstance(progress, bool):
        yield progress
        return
    line = Progress()
    try:
        yield line.show if progress else ignore_progress
    finally:
        if progress:
            line.end()
