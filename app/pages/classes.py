"""The page Classes: quality of a run's predictions, the topics behind them, and misclassified documents."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.predictions import Classified
from topiary.app.live.feed import Tick
from topiary.app.pages.components import Board
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.runs import make_fork_tab
from topiary.app.pages.session import Context, read_field
from topiary.app.views.classes.class_report import (
    LACKS,
    ClassReport,
    Lack,
    draw_class_report,
    draw_no_classes,
    draw_prediction_progress,
    draw_waiting,
)
from topiary.app.views.runs.run_list import explain_missing_run
from topiary.app.views.tree.opening import choose_threshold
from topiary.engine.hierarchy.tree import Node
from topiary.engine.settings import SettingError
from topiary.store import corpora
from topiary.store.errors import NotFound
from topiary.store.run_rows import RunRow

_WATCHED = ["page", "run", "snapshot", "label", "threshold"]


class _ReadPredictions(NamedTuple):
    """A request and its answer: predictions with hierarchy and titles, or a sentence saying why there are none."""

    run: int
    snapshot: int
    result: Classified | None = None
    hierarchy: Hierarchy | None = None
    titles: dict[int, str] = {}  # noqa: RUF012 - never changed
    sentence: str = ""
    lack: Lack = ""


class ClassesPage(MessagePart):
    """The classes page of one session."""

    fields: ClassVar = {"threshold": "threshold"}

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._answer: _ReadPredictions | None = None
        self._pending: tuple[int, int] | None = None
        self.board = Board(on_message=self.handle, sheets=["explore", "classes"])
        context.view.param.watch(self._on_view, _WATCHED)
        context.on_tick(self._on_tick)
        self._fetch()

    def _on_view(self, *events: Any) -> None:
        view = self._context.view
        if view.page != "classes":
            return
        if self._answer is None or {event.name for event in events} & {"run", "snapshot", "page"}:
            self._fetch()
        else:
            self._draw()

    def _on_tick(self, tick: Tick) -> None:
        view = self._context.view
        if view.page == "classes" and self._pending is not None:
            self._draw_progress()
            return
        if view.page != "classes" or view.run not in tick.snapshots | tick.labels:
            return
        if self._answer is None or self._answer.result is None:
            self._fetch()
        else:
            self._draw()

    def _fetch(self, *, again: bool = False) -> None:
        """Request the predictions of the chosen run and snapshot, unless they are on screen or on their way."""
        view = self._context.view
        key = (view.run, view.snapshot)
        if self._context.feed.run(view.run) is None:
            self.board.html = draw_waiting(explain_missing_run(view.run), over=True)
        elif not again and self._answer is not None and self._answer[:2] == key and self._answer.result is not None:
            self._draw()
        elif self._pending != key:
            self._pending = key
            self._draw_progress()
            work = partial(self._read, self._context.feed.classes.recall, *key)
            self._context.later(work, partial(self._receive_stored, key), partial(self._fail, key))

    def _draw_progress(self) -> None:
        view, doing = self._context.view, self._context.feed.classes.doing
        is_of_this_run = doing is not None and doing.run == view.run and view.snapshot in (0, doing.snapshot)
        self.board.html = draw_prediction_progress(doing, mine=is_of_this_run)

    def _read(
        self, get_predictions: Callable[[int, int], Classified | None], run: int, snapshot: int
    ) -> _ReadPredictions | None:
        """Return the predictions that a function gets, with hierarchy and titles, or the reason why there are none."""
        feed = self._context.feed
        row = feed.run(run)
        try:
            result = get_predictions(run, snapshot)
        except (ReadError, NotFound, SettingError) as error:
            lacking = self._find_lack(row, snapshot) if row is not None else None
            if lacking is not None:  # the same for every snapshot
                return lacking
            text = str(error)
            return _ReadPredictions(run, snapshot, sentence=f"{text[0].upper()}{text[1:]}.")
        if result is None:
            return self._find_lack(row, snapshot) if row is not None else None
        numbers = [misled.document for misled in result.misled]
        documents = corpora.read_documents(self._context.db, row.corpus, numbers) if row is not None else []
        titles = {document.number: document.title for document in documents}
        return _ReadPredictions(run, snapshot, result, feed.hierarchy(run, result.snapshot), titles)

    def _find_lack(self, run: RunRow, snapshot: int) -> _ReadPredictions | None:
        """Return what a run lacks to predict classes, without compiling anything; None if it lacks nothing."""
        if self._context.feed.classes.predicts(run.number):
            return None
        lack: Lack = "model" if len(corpora.get_corpus(self._context.db, run.corpus).label_names) > 1 else "labels"
        sentence = LACKS[lack].format(run=run.number, corpus=run.corpus_name)
        return _ReadPredictions(run.number, snapshot, sentence=sentence, lack=lack)

    def _receive_stored(self, key: tuple[int, int], answer: _ReadPredictions | None) -> None:
        """Show predictions that were computed before; otherwise queue their computation."""
        if answer is not None:
            self._receive(answer)
        elif key == self._pending:
            work = partial(self._read, self._context.feed.classes.fetch, *key)
            self._context.in_turn(work, self._receive, partial(self._fail, key))

    def _fail(self, key: tuple[int, int]) -> None:
        """Request predictions again after they could not be read."""
        if self._pending == key:
            self._pending = None
            if self._context.view.page == "classes":
                self._fetch()

    def _receive(self, answer: _ReadPredictions) -> None:
        self._pending = None
        if answer[:2] == (self._context.view.run, self._context.view.snapshot):
            self._answer = answer
            self._draw()
        else:
            self._fetch()

    def _draw(self) -> None:
        """Draw the predictions, or the sentence that says why there are none."""
        answer, view = self._answer, self._context.view
        if answer is None or answer.result is None or answer.hierarchy is None:
            has_no_topics = self._context.feed.latest(view.run) is None
            self.board.html = (
                draw_no_classes(answer.sentence, answer.lack, bare=has_no_topics)
                if answer
                else draw_waiting("", over=True)
            )
            return
        latest = self._context.feed.latest(view.run)
        hierarchy = self._context.feed.update_names(answer.hierarchy)
        newer = latest is not None and not view.snapshot and latest.number != answer.result.snapshot
        label = view.label if view.label <= len(answer.result.names) else 0
        report = ClassReport(
            answer.result,
            hierarchy,
            answer.titles,
            label,
            choose_threshold(view.threshold, hierarchy),
            latest.minibatch if latest and newer else 0,
        )
        self.board.html = draw_class_report(report)

    @on("label")
    def _choose_class(self, value: int) -> None:
        self._put(label=0 if value == self._view.label else value)

    @on("update")
    def _update(self) -> None:
        self._fetch(again=True)

    @on("supervise")
    def _learn_labels(self) -> None:
        self._put(page="runs", tab=make_fork_tab(self._view.run, self._view.snapshot, labels=True))

    @on("tree")
    def _show_on_tree(self, value: int) -> None:
        self._put(page="explore", label=value, tab="")

    @on("document")
    def _open_document(self, number: int, ids: str) -> None:
        self._put(page="documents", documents=(number,), trail=read_field("trail", ids), tab="")

    @on("topic")
    def _explore(self, topic: Node) -> None:
        self._open_topic(topic)
