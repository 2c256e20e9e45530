"""Saving reports and tables of a run from a page: they are written in another thread, and then sent to the browser."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.app.export.report import render_report
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.jobs.uploads import DOWNLOADS
from topiary.app.names import plural
from topiary.app.pages.components import Board, TreeView
from topiary.app.pages.filters import find_placed
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import LONGEST_QUERY, Context, cut_view
from topiary.app.views.save_dialogs import FORMATS, QUOTATIONS, SAVED_TABLES, ReportScope
from topiary.app.views.text import end_sentence
from topiary.app.views.tree.picture import TreeChoice
from topiary.app.views.trends.time_chart import MeasuredBy
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, runs
from topiary.store.corpus_rows import CATEGORY, DATE, NUMBER
from topiary.store.errors import StoreError

_KINDS = {"time": (DATE,), "groups": (CATEGORY, NUMBER)}  # of the column of a table


class ReportSubject(NamedTuple):
    """What a report is about: a snapshot, the tree on screen, and the topics among which the visitor chooses.

    ``choice`` is None if no tree is on screen because there is only one layer.
    """

    hierarchy: Hierarchy
    choice: TreeChoice | None
    scopes: Mapping[str, ReportScope]


class ReportFile(NamedTuple):
    """A report as a file: its name and text, or a sentence on why there is none."""

    name: str
    text: str
    fault: str = ""


def make_report(context: Context, subject: ReportSubject, topics: Sequence[Node], *, quotes: bool) -> ReportFile:
    """Write the report on some topics of a snapshot; this waits for the store.

    Time and groups are those of the column of the view, if it has one.  While a run trains, the report shows its newest
    topics that have shares of documents, if those that are asked for are among them.
    """
    hierarchy = subject.hierarchy
    name, columns = f"topiary-run-{hierarchy.run}-report.html", [context.view.column] if context.view.column else []
    try:
        row = runs.get_run(context.db, hierarchy.run)
        placed = find_placed(context, hierarchy).hierarchy
        shown = placed if placed.n_layers == hierarchy.n_layers and all(map(placed.has, topics)) else hierarchy
        snapshot = find_snapshot_at(context.db, row, shown.minibatch)
        text = render_report(
            context.db, row, snapshot, topics=topics, choice=subject.choice, quotes=quotes, columns=columns
        )
        return ReportFile(name, text)
    except (StoreError, ValueError) as error:
        return ReportFile(name, "", end_sentence(f"The report cannot be written: {error}"))


class ReportSaver(MessagePart):
    """Writes the reports that a visitor asks for, one at a time, and hands them to the browser.

    Parameters
    ----------
    window : TreeView
        The component that sends files to the browser.
    find_subject : () -> ReportSubject or None
        Returns what is on screen; None before there are topics.
    """

    def __init__(self, context: Context, window: TreeView, find_subject: Callable[[], ReportSubject | None]) -> None:
        super().__init__(context)
        self._window = window
        self._find_subject = find_subject
        self._is_writing = False

    @on("save-report")
    def _save(self, topics: str, quotes: str) -> None:
        """Write a report in another thread."""
        if quotes not in QUOTATIONS:
            return
        subject = self._find_subject()
        scope = None if subject is None else subject.scopes.get(topics)
        if subject is None or scope is None:
            self._context.notify("The topics that were chosen are no longer on screen; choose again.", "warning")
            return
        if self._is_writing:
            self._context.notify("A report is being written; wait until its download begins.", "info")
            return
        self._is_writing = True
        said = (
            f"The report on {plural(len(scope.topics), 'topic')} is being written; the download begins in some seconds."
        )
        self._context.notify(said, "info")
        work = partial(make_report, self._context, subject, scope.topics, quotes=quotes != "none")
        self._context.aside(work, self._hand_over, self._end)

    def _hand_over(self, made: ReportFile) -> None:
        self._end()
        if made.fault:
            self._context.notify(made.fault, "warning")
        else:
            self._window.hand_over(made.name, made.text)

    def _end(self) -> None:
        self._is_writing = False


class WrittenTable(NamedTuple):
    """A table in a file, ready to be fetched: its name and token, or a sentence on why there is none.

    ``note`` is a sentence on what is special about it; it may be empty.
    """

    name: str
    token: str
    fault: str = ""
    note: str = ""


class TableSaver(MessagePart):
    """Writes the tables that a visitor asks for, with the filters of the view.

    Parameters
    ----------
    board : () -> Board
        Returns the board whose browser code fetches the file.
    conditions : () -> sequence of str, optional
        Returns further conditions on the documents; by default there are only the filters of the view.
    """

    def __init__(
        self, context: Context, board: Callable[[], Board], conditions: Callable[[], tuple[str, ...]] = tuple
    ) -> None:
        super().__init__(context)
        self._board = board
        self._conditions = conditions
        self._is_writing = False

    @on("save-table")
    def _save(self, table: str, layer: int, format_: str, query: str) -> None:
        """Write a table in another thread."""
        if table not in SAVED_TABLES or format_ not in FORMATS:
            return
        if self._is_writing:
            self._context.notify("A table is being written; wait until its download begins.", "info")
            return
        self._is_writing = True
        self._context.notify("The table is being written; the download begins when it is ready.", "info")
        view, measured = self._view, cut_view(self._view, MeasuredBy)
        options: dict[str, Any] = {
            "layer": layer or None,
            "query": query[:LONGEST_QUERY].strip(),
            "column": view.column,
            "unit": measured.period,
            "by": measured.weigh,
            "where": (*view.where, *self._conditions()),
        }
        work = partial(write_run_table, self._context, view.run, view.snapshot, table, format_, options)
        self._context.aside(work, self._receive, self._end)

    def _receive(self, written: WrittenTable) -> None:
        self._end()
        if written.fault:
            self._context.notify(written.fault, "warning")
        else:
            self._board().fetch_file(f"{DOWNLOADS}/{written.token}", written.name)
            if written.note:
                self._context.notify(written.note, "info")

    def _end(self) -> None:
        self._is_writing = False


def write_run_table(
    context: Context, run: int, snapshot: int, kind: str, form: str, options: Mapping[str, Any]
) -> WrittenTable:
    """Write a table to a file for the visitor; this waits for the store.

    Parameters
    ----------
    run, snapshot : int
        As in the view; snapshot 0 is the newest one.
    kind, form : str
        One of `SAVED_TABLES`, and one of `FORMATS`.
    options : mapping
        Fields of `app.export.run_tables.RunTableRequest`; a column of another kind than the table needs is left out.
    """
    from topiary.app.analysis.errors import ReadError
    from topiary.app.export.run_tables import build_table, read_request, reads_shares  # load pandas, slowly
    from topiary.app.export.tables import write_table

    downloads = context.actions.downloads
    name = f"topiary-run-{run}-{kind}.{form}"
    path = downloads.begin(name)
    try:
        row = runs.get_run(context.db, run)
        hierarchy = context.feed.hierarchy(run, snapshot or None)
        is_newest = not snapshot and reads_shares(
            kind, options["where"]
        )  # then of the newest topics with shares, as on pages
        minibatch = None if hierarchy is None or is_newest else hierarchy.minibatch
        offered = list_columns(context.db, corpora.get_run_corpus(context.db, row))
        fitting = {column.name for column in offered if column.kind in _KINDS.get(kind, ())}
        chosen = options["column"] if options["column"] in fitting else ""
        request = read_request(context.db, row, kind, minibatch=minibatch, **(dict(options) | {"column": chosen}))
        write_table(build_table(kind, request), path)
    except (StoreError, ReadError, LookupError, ValueError, OSError) as error:
        downloads.drop(path)
        reason = str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
        return WrittenTable(name, "", end_sentence(f"The table cannot be written: {reason}"))
    return WrittenTable(name, downloads.offer(path), note=request.note)
