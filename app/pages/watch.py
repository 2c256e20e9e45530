"""The page Watch: the health and progress of training, and the topics so far."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import panel as pn

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.jobs import logs
from topiary.app.jobs.claim import OUT_OF_MEMORY
from topiary.app.jobs.estimates import CURVES, Curve, read_concentrations
from topiary.app.jobs.forks import list_remedies
from topiary.app.live.feed import Tick
from topiary.app.names import COMING, name_step
from topiary.app.pages.components import Board, Message
from topiary.app.pages.curves import TALL_STYLE, WatchCurves
from topiary.app.pages.film import Film
from topiary.app.pages.messages import LatestRequest, MessagePart, delete_run, on
from topiary.app.pages.session import ANOTHER_RUN, Context
from topiary.app.views.runs import kpis
from topiary.app.views.runs.kpis import describe_snapshot, draw_preview, draw_waiting, draw_workers
from topiary.app.views.runs.run_list import (
    SILENT_WAYS,
    LogTail,
    draw_damage,
    draw_failure,
    explain_missing_run,
    explain_no_topics,
)
from topiary.app.views.text import format_number
from topiary.app.views.theme import PAGE
from topiary.store import events
from topiary.store.run_rows import RunRow

FIRST = "The first topics come with the first snapshot. On a new machine it compiles for about 20 s, once."


class TopicPreview(MessagePart):
    """The board with the most popular topics of the chosen run, snapshot and layer."""

    fields: ClassVar = {"layer": "layer"}

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.board = Board(on_message=self.handle, sheets=["explore"])  # the sheet "explore" has the colours of layers
        self._hierarchy: Hierarchy | None = None
        self._latest: LatestRequest[tuple[int, int]] = LatestRequest(context, self._on_view)  # (run, snapshot)
        context.view.param.watch(self._on_view, ["page", "run", "snapshot", "layer"])
        context.on_tick(self._on_tick)
        self._draw()

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page == "watch":
            self._draw()

    def _on_tick(self, tick: Tick) -> None:
        view = self._context.view
        if view.page == "watch" and view.run in (tick.snapshots | tick.labels | tick.rows):
            self._draw()

    @on("topic")
    def _explore(self, layer: int, topic: int) -> None:
        self._put(page="explore", layer=layer, topic=topic, tab="")

    def _draw(self) -> None:
        """Show the hierarchy if it is in memory; otherwise fetch it, and meanwhile leave an older one on screen."""
        view, feed = self._context.view, self._context.feed
        hierarchy = feed.get_cached_hierarchy(view.run, view.snapshot)
        if hierarchy is not None:
            self._show(hierarchy)
            return
        if self._hierarchy is None or self._hierarchy.run != view.run or view.snapshot:
            self._hierarchy = None
            self.board.html = self._draw_waiting()
        if feed.run(view.run) is not None:
            key = view.run, view.snapshot
            self._latest.send(key, partial(feed.hierarchy, *key), partial(self._receive, *key))

    def _draw_waiting(self) -> str:
        """Return HTML that says what the page is waiting for; an empty text if there is no run."""
        view, feed = self._context.view, self._context.feed
        if feed.run(view.run) is None:
            return ""
        if view.snapshot or feed.latest(view.run) is not None:
            return f"{_HEADING_HTML}</div>{draw_waiting('Opening the snapshot …')}"
        state = feed.state(view.run)
        row = feed.run(view.run)
        sentence = (
            FIRST
            if state == "running"
            else explain_no_topics(view.run, state, row.message if row else "", feed.damage(view.run))
        )
        return f"{_HEADING_HTML}</div>{draw_waiting(sentence, coming=state in COMING)}"

    def _receive(self, run: int, snapshot: int, hierarchy: Hierarchy | None) -> None:
        view = self._context.view
        if hierarchy is None or (run, snapshot) != (view.run, view.snapshot):
            return
        shown = self._hierarchy
        if snapshot or shown is None or shown.run != run or hierarchy.snapshot >= shown.snapshot:
            self._show(hierarchy)

    def _show(self, hierarchy: Hierarchy) -> None:
        view = self._context.view
        self._hierarchy = hierarchy
        layer = min(view.layer, hierarchy.n_layers)
        run = self._context.feed.run(hierarchy.run)
        step = name_step() if run is None else name_step(run)
        moment = describe_snapshot(hierarchy, step, pinned=bool(view.snapshot))
        entries = [
            (str(number), f"Layer {number} · {format_number(width)}")
            for number, width in enumerate(hierarchy.widths, 1)
        ]
        self.board.html = (
            f'{_HEADING_HTML}<span class="tp-dim">{moment}</span>'
            f"{kpis.draw_choices('layer', entries, str(layer), 'Layer')}</div>{draw_preview(hierarchy, layer)}"
        )


_HEADING_HTML = '<div class="tp-card-head"><h2 class="tp-h2">What it is about</h2>'


class FailedRun(MessagePart):
    """The board with the error of the run on screen, and buttons that may solve it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._log: tuple[int, LogTail] | None = None
        self.board = Board(on_message=self.handle)
        context.view.param.watch(self._on_view, ["page", "run"])
        context.on_tick(self._on_view)
        self._draw()

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page == "watch":
            self._draw()

    def _draw(self) -> None:
        feed, number = self._context.feed, self._context.view.run
        run, state = feed.run(number), feed.state(number)
        if run is None:
            self._show("")
            return
        remedies = SILENT_WAYS if state == "silent" else list_remedies(run)
        log = self._log[1] if self._log is not None and self._log[0] == number else None
        lacked_memory = state == "silent" and logs.tells_of_memory(feed.db.url, number)
        cause = OUT_OF_MEMORY if lacked_memory else ""
        self._show(draw_failure(run, state, remedies, log, cause) + draw_damage(feed.damage(number)))

    def _show(self, html: str) -> None:
        self.board.param.update(html=html, visible=bool(html))  # an empty board would leave a gap

    def read_argument(self, name: str, kind: Any, message: Message) -> Any:
        """Return what a handler wants to know: the run on screen, if it exists, or a field of the message."""
        if kind is RunRow:
            return self._context.feed.run(self._view.run)
        return super().read_argument(name, kind, message)

    @on("retry")
    def _retry(self, run: RunRow) -> None:
        self._context.later(partial(self._context.actions.retry, run.number), self._show_retry)

    @on("resume", "resume-here")
    def _resume(self, run: RunRow, do: str) -> None:
        where = () if do == "resume" else ("here",)
        self._context.later(partial(self._context.actions.resume, run.number, *where), lambda _: None)

    @on("log")
    def _show_log(self, run: RunRow) -> None:
        self._context.later(partial(self._context.actions.log, run.number), partial(self._read, run.number))

    @on("delete")
    def _delete(self, run: RunRow, typed: str) -> None:
        delete_run(self._context, run, typed)

    def _show_retry(self, new: RunRow) -> None:
        self._context.notify(f"Run {new.number} starts with smaller mini-batches.", "success")
        self._context.view.param.update(run=new.number, **ANOTHER_RUN)

    def _read(self, run: int, tail: tuple[str, list[str]]) -> None:
        self._log = (run, LogTail(*tail))
        self._draw()


class WatchPage(MessagePart):
    """The watch page of one session: numbers and topics first, curves once the browser has drawn these."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._strip = Board(on_message=self.handle)
        self._workers = Board()
        self._details = Board()
        self._failed = FailedRun(context)
        self._preview = TopicPreview(context)
        self._curves: WatchCurves | None = None
        self._cursor: int | None = None  # the mini-batch of the film's cursor
        self._curve_holder = pn.Column(sizing_mode="stretch_width", margin=0, min_height=420, styles=TALL_STYLE)
        self._film = Film(context, "watch", on_cursor=self._place_cursor)
        self.page = pn.Column(
            self._failed.board,
            self._strip,
            self._film.bar,
            self._preview.board,
            self._curve_holder,
            self._workers,
            self._details,
            css_classes=["tp-page"],
            stylesheets=[PAGE],
            styles=TALL_STYLE,
            sizing_mode="stretch_width",
            margin=0,
        )
        self._choose()
        context.view.param.watch(self._on_view, ["page", "run", "overlay", "axis"])
        context.on_tick(self._on_tick)
        context.soon(self._add_curves)

    def _add_curves(self) -> None:
        self._curves = WatchCurves(self._context, self._draw_strip)
        self._curves.place_cursor(self._cursor)
        self._curve_holder[:] = [self._curves.page]
        self._draw_strip()  # the points may have been read before the curves were made

    def _place_cursor(self, minibatch: int | None) -> None:
        self._cursor = minibatch
        if self._curves is not None:
            self._curves.place_cursor(minibatch)

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page == "watch":
            self._choose()

    def _on_tick(self, tick: Tick) -> None:
        view = self._context.view
        if view.page != "watch":
            return
        self._draw_strip()
        if self._curves is not None:
            self._curves.draw_head()
            if tick.points:
                self._curves.stream()
        if view.run in tick.rows:
            self._fetch_details()

    def _choose(self) -> None:
        self._draw_strip()
        if self._curves is not None:
            self._curves.choose()
        self._fetch_details()

    def _draw_strip(self) -> None:
        feed = self._context.feed
        run = feed.run(self._context.view.run)
        self._curve_holder.visible = run is not None
        if run is None:
            sentence = explain_missing_run(self._context.view.run)
            self._strip.html = f'<p class="tp-dim" role="status">{sentence}</p>'
            self._workers.html = self._details.html = ""
            return
        history = feed.get_cached_history(run.number)
        curve: Curve = history.after("point_perplexity").curve() if history else []
        latest = {name: history.last(name) for name in CURVES} if history else feed.get_latest_values(run.number)
        health = kpis.measure_health(feed.state(run.number), curve, latest)
        self._strip.html = kpis.draw_kpis(run, health) + kpis.draw_continuation(run, health)
        self._workers.html = draw_workers(run.process, feed.state(run.number))

    @on("train-more")
    def _train_more(self, run: int) -> None:
        self._context.later(partial(self._context.actions.train_more, run), self._show_continuation)

    def _show_continuation(self, new: RunRow) -> None:
        self._context.notify(f"Run {new.number} continues run {new.parent}.", "success")
        self._context.view.param.update(run=new.number, **ANOTHER_RUN)

    def _fetch_details(self) -> None:
        run = self._context.feed.run(self._context.view.run)
        if run is not None:
            self._context.later(partial(self._read_details, run), partial(self._draw_details, run))

    def _read_details(self, run: RunRow) -> tuple[Sequence[events.RunEvent], dict[str, float]]:
        db = self._context.db
        return events.read_new_events(db, run.number)[0], read_concentrations(db, run)

    def _draw_details(self, run: RunRow, details: tuple[Sequence[events.RunEvent], dict[str, float]]) -> None:
        run_events, learnt = details
        lines = [(f"{event.created.astimezone():%d %b %H:%M:%S}", event.kind, event.text) for event in run_events[-40:]]
        self._details.html = kpis.draw_details(run, lines[::-1], learnt)
        if self._curves is not None:
            self._curves.report_changes(run_events)
