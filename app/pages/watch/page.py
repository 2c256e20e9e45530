"""Watch: is training healthy, how far is it, what is the corpus about."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import panel as pn
from panel.viewable import Viewable

from app.jobs.estimates import CURVES, Curve
from app.live.ticks import Tick
from app.pages.components.board import Board
from app.pages.session import Context
from app.pages.watch.cards import TopicPreview
from app.pages.watch.curves import TALL, WatchCurves
from app.pages.watch.failed import FailedRun
from app.views.runs import kpis
from app.views.runs.kpis import workers
from app.views.runs.notices import run_not_here
from app.views.theme import PAGE
from store import corpora, events
from store.run_rows import RunRow


class Watch:
    """The watch page of one session: numbers and topics at once, the curves when the browser has drawn those.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._strip = Board()
        self._workers = Board()
        self._about = Board()
        self._failed = FailedRun(context)
        self._preview = TopicPreview(context)
        self._curves: WatchCurves | None = None
        self._place = pn.Column(sizing_mode="stretch_width", margin=0, min_height=420, styles=TALL)
        self.page = pn.Column(
            self._failed.board,
            self._strip,
            self._preview.board,
            self._place,
            self._workers,
            self._about,
            css_classes=["tp-page"],
            stylesheets=[PAGE],
            styles=TALL,
            sizing_mode="stretch_width",
            margin=0,
        )
        self._choose()
        context.view.param.watch(self._on_view, ["page", "run", "overlay", "axis"])
        context.on_tick(self._on_tick)
        context.soon(self._add_curves)

    def _add_curves(self) -> None:
        self._curves = WatchCurves(self._context, self._draw_strip)
        self._place[:] = [self._curves.page]
        self._draw_strip()  # the points may have come before the curves

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
            self._fetch_about()

    def _choose(self) -> None:
        self._draw_strip()
        if self._curves is not None:
            self._curves.choose()
        self._fetch_about()

    def _draw_strip(self) -> None:
        feed = self._context.feed
        run = feed.run(self._context.view.run)
        self._place.visible = run is not None
        if run is None:
            sentence = run_not_here(self._context.view.run)
            self._strip.html = f'<p class="tp-dim" role="status">{sentence}</p>'
            self._workers.html = self._about.html = ""
            return
        history = feed.known_history(run.number)
        curve: Curve = history.after("point_perplexity").curve() if history else []
        latest = {name: history.last(name) for name in CURVES} if history else feed.judged(run.number)
        about = kpis.health(feed.state(run.number), curve, latest)
        self._strip.html = kpis.kpis(run, about)
        self._workers.html = workers(run.process, feed.state(run.number))

    def _fetch_about(self) -> None:
        run = self._context.feed.run(self._context.view.run)
        if run is not None:
            self._context.later(partial(self._read_about, run), partial(self._draw_about, run))

    def _read_about(self, run: RunRow) -> tuple[Sequence[events.RunEvent], int]:
        corpus = corpora.get_run_corpus(self._context.db, run)
        return events.read_new_events(self._context.db, run.number)[0], corpus.documents - corpus.train_documents

    def _draw_about(self, run: RunRow, read: tuple[Sequence[events.RunEvent], int]) -> None:
        happened, heldout = read
        lines = [(f"{event.created.astimezone():%d %b %H:%M:%S}", event.kind, event.text) for event in happened[-40:]]
        self._about.html = kpis.details(run, lines[::-1])
        if self._curves is not None:
            self._curves.report_heldout(heldout)
            self._curves.report_changes(happened)


def watch_page(context: Context) -> Viewable:
    """The page that shows how a run is doing."""
    return Watch(context).page
