"""An open store: its corpora and runs, import and training."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

from app.facts.records import find_headlines, list_run_facts
from app.ingest.importing import ignore_progress, import_path
from app.ingest.memory import import_texts
from app.ingest.options import ImportOptions, OptionError
from app.jobs import launcher, logs
from app.jobs.cluster.reading import open_map
from app.jobs.new_run import create_group, create_run
from app.jobs.progress import Progress
from store import runs
from store.database import Database, open_database
from store.errors import NotFound
from store.run_rows import RunRow

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
from .run import Layers, Run, Watcher, collect_options, split_arguments, write_settings

_RUN_IS = ("run", "name", "corpus", "state", "model", "inference", "layers")
_RUN = (*_RUN_IS, "minibatch", "minibatches", "headline", "headline_value", "point_perplexity", "seconds", "message")


class Runs(Listing[int | Literal["last"], Run]):
    """The runs of a store by number; "last" is the newest."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        super().__init__(_RUN, lambda: _list_runs(opened.db))

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
    """A store: corpora, runs and everything they wrote.  As a context manager it is closed at the end.

    Runs train in processes of their own and go on when the store is closed or Python ends.

    Parameters
    ----------
    url : str or path, optional
        File or database URL; by default that of TOPIARY_STORE, or a file in your data folder.

    Attributes
    ----------
    corpora : Corpora
        By name or number.
    runs : Runs
        By number, or "last".
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
        """Make a corpus of a file or folder, of several files, or of texts.

        Parameters
        ----------
        source : str, path, or sequence of str
            A string is a path, its format is recognised, and so are several ``Path``; anything else holds the texts,
            one for each document: a list, an array or a column such as ``df["text"]``.
        name : str, optional
            Of the corpus; that of the file, or "texts".
        labels, titles : iterable, optional
            Of texts, one for each; a label is None or NaN where there is none.
        on : str
            Cut texts into words in other processes: ``"local:2"``, or the address of a Dask scheduler.  The corpus is
            the same.  A script that uses ``local:`` needs ``if __name__ == "__main__":``, because every process
            imports it.
        progress : bool or callable, default=False
            True writes to standard error; a function is called with what is being done and how much of it.
        **options
            As of ``topiary import``: ``min_df``, ``stop_words``, ``test_share``, ``validation_share``, ``text_column``
            and so on.

        Raises
        ------
        IngestError, OptionError
            When it cannot become a corpus, or an option is not valid.
        PlaceError
            When no scheduler answers at ``on``.
        TypeError
            When it is a whole table or a dictionary; the sentence names the column to give.
        Conflict
            When the name is taken.
        """
        how = ImportOptions(name=name, **_check_options(options))
        db = self._opened.db
        with _watch_import(progress) as notify, open_map(on) as mapped:
            paths = _list_paths(source)
            if paths:
                if labels is not None or titles is not None:
                    raise OptionError("labels and titles belong to texts; name the columns of a file instead")
                row = import_path(db, paths, how, notify, mapped=mapped)
            else:
                texts = list_texts(source)
                for what, values in (("labels", labels), ("titles", titles)):
                    refuse_other_order(source, values, what)
                classes, named = list_column("labels", labels), list_column("titles", titles)
                row = import_texts(db, texts, classes, named, how, notify, mapped=mapped)
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
        averaged: bool = False,
        averaged_burn_in: int | None = None,
        averaged_samples: int | None = None,
        paper_point: bool = False,
        on: str = "",
        name: str = "",
        wait: bool = False,
        progress: bool | Watcher = False,
        **settings: Any,
    ) -> Run:
        """Train a model in the background.

        Parameters
        ----------
        corpus : Corpus, str or int
            Or its name or number.
        model : str, default="dlda"
            "dlda", "datm" or "sdatm".
        layers : sequence of int, or str, optional
            Topics of every layer, from the words upwards: ``(128, 64, 32)`` or ``"128-64-32"``; proposed from the size
            of the corpus when not given.
        inference : str, optional
            For example "tlasgr" or "gibbs".
        minibatches : int, optional
            Steps; sweeps over all documents for "gibbs".
        preset : {"", "paper"}
            Settings and length as in the paper of the model; settings given as well win.
        seed : int, default=1
            The same number gives the same topics, whatever ``threads``.
        threads : int, optional
            Of the kernels; up to 2 by default.
        averaged, averaged_burn_in, averaged_samples
            The averaged protocol of the paper's Table 1, and its length.
        paper_point : bool, default=False
            At the end also judge all test documents with 600 sweeps.
        on : str
            Sweep documents in other processes: ``"local:2"``, or the address of a Dask scheduler.  Topics are the same.
        name : str
            For people.
        wait, progress
            Whether to wait until it ends, and as in :meth:`Run.wait`.
        **settings
            Any other setting of the model, for example ``eta=0.05``.

        Raises
        ------
        NewRunError
            When the model, a setting or a number is not valid.
        NotFound
            When there is no such corpus.
        RunFailed
            When it was waited for and failed.
        """
        row = create_run(
            self._opened.db,
            corpus.number if isinstance(corpus, Corpus) else corpus,
            model=model,
            texts=write_settings(settings | {"layers": layers, "inference": inference}),
            **collect_options(
                minibatches=minibatches,
                preset=preset,
                seed=seed,
                threads=threads,
                averaged=averaged,
                burn_in=averaged_burn_in,
                samples=averaged_samples,
                paper_point=paper_point,
                on=on,
                name=name,
            ),
        )
        self._record([row])
        launcher.start_queued_runs(self._opened.db)
        run = Run(self._opened, row.number)
        return run.wait(progress=progress) if wait else run

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
        """Train a model for every seed and every combination of settings, in the background: a group of runs.

        Parameters
        ----------
        corpus, model, wait, progress
            As in :meth:`train`.
        seeds : iterable of int
            Each once; empty where all have ``seed``.
        grid : mapping of str to iterable, optional
            Settings by name with the values that they take in turn, as in ``{"eta": [0.01, 0.05]}``.
        **more
            As in :meth:`train`.  With ``on`` every run is trained whole, by one process of the place.

        Returns
        -------
        list of Run
            In the order of the settings, and for each of these of the seeds.

        Raises
        ------
        NewRunError
            When one of the runs is not possible; then none is created.
        NotFound
            When there is no such corpus.
        RunFailed
            When one was waited for and failed.
        """
        texts, options = split_arguments(more)
        rows = create_group(
            self._opened.db,
            corpus.number if isinstance(corpus, Corpus) else corpus,
            tuple(seeds),
            model=model,
            texts=texts,
            grid={name: [write_settings({name: value})[name] for value in each] for name, each in (grid or {}).items()},
            **options,
        )
        self._record(rows)
        launcher.start_queued_runs(self._opened.db)
        found = [Run(self._opened, row.number) for row in rows]
        return [run.wait(progress=progress) for run in found] if wait else found

    def _record(self, rows: Iterable[RunRow]) -> None:
        """Write into the audit log which runs were started."""
        for row in rows:
            logs.record_action(self._opened.db.place, f"started {logs.name_subject('run', row.number, row.name)}")

    @property
    def url(self) -> str:
        """The address; may hold a password."""
        return self._opened.db.url

    def close(self) -> None:
        """Close the connections to the database; runs go on."""
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
        listed = f"{self.corpora._repr_html_()}{self.runs._repr_html_()}"
        return f"<p><b>Store {escape(self._opened.db.place)}</b></p>{listed}"


def open(url: str | os.PathLike[str] | None = None) -> Store:
    """Open a store, making it when it is not there yet.

    Parameters
    ----------
    url : str or path, optional
        File or database URL (``postgresql://user@host/name``); by default that of the environment variable
        TOPIARY_STORE, or a file in your data folder: the store that the ``topiary`` command uses.

    Raises
    ------
    StoreError
        When it cannot be opened.
    """
    return Store(url)


def _list_paths(source: str | os.PathLike[str] | Iterable[str] | Iterable[os.PathLike[str]]) -> list[Path]:
    """Return the paths that a source names, none where it holds texts."""
    if isinstance(source, str | os.PathLike):
        if isinstance(source, str):
            refuse_one_text(source)
        return [Path(source)]
    listed = isinstance(source, list | tuple) and source and all(isinstance(each, os.PathLike) for each in source)
    return [Path(cast("os.PathLike[str]", each)) for each in source] if listed else []


def _check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of an import, and refuse unknown ones."""
    known = [field.name for field in fields(ImportOptions)]
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise OptionError(f"there is no option {unknown!r} of an import; the options are {', '.join(known)}")
    plain = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}
    for name in ("stop_words", "vocabulary"):
        if not isinstance(plain.get(name), str | None):
            kind = type(plain[name]).__name__
            raise OptionError(
                f"{name} takes the name of a file with a word a line, and no {kind}; write the words to one"
            )
    return plain


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
