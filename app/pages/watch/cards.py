"""The first answer on the watch page: the most popular topics of the newest snapshot."""

from functools import partial
from typing import Any

from app.analysis.hierarchy import Hierarchy
from app.live.ticks import Tick
from app.pages.components.board import Board, Message
from app.pages.components.latest import Latest
from app.pages.session import Context
from app.views.run_facts import format_number
from app.views.runs import kpis
from app.views.runs.kpis import caption, preview, waiting
from app.views.runs.notices import no_snapshot

FIRST = "The first topics come with the first snapshot. On a new machine it compiles for about 20 s, once."
COMING = ("queued", "running")  # states in which the first topics will come


class TopicPreview:
    """A board that follows the chosen run, snapshot and layer.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.board = Board(on_message=self._on_board, sheets=["explore"])  # it has the colours of layers
        self._shown: Hierarchy | None = None
        self._latest: Latest[tuple[int, int]] = Latest()  # (run, snapshot) being fetched
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

    def _on_board(self, message: Message) -> None:
        match message:
            case {"do": "layer", "value": str(text)} if text.isdecimal():
                self._context.view.layer = int(text)
            case {"do": "topic", "layer": str(layer), "topic": str(topic)} if layer.isdecimal() and topic.isdecimal():
                self._context.view.param.update(page="explore", layer=int(layer), topic=int(topic), tab="")

    def _draw(self) -> None:
        """Show the newest hierarchy in memory; what is shown stays until the next one is there."""
        view, feed = self._context.view, self._context.feed
        hierarchy = feed.known_hierarchy(view.run, view.snapshot)
        if hierarchy is not None:
            self._show(hierarchy)
            return
        if self._shown is None or self._shown.run != view.run or view.snapshot:
            self._shown = None
            self.board.html = self._waiting()
        if feed.run(view.run) is not None and self._latest.begin((view.run, view.snapshot)):
            self._context.later(
                partial(feed.hierarchy, view.run, view.snapshot),
                partial(self._arrived, view.run, view.snapshot),
                partial(self._failed, view.run, view.snapshot),
            )

    def _waiting(self) -> str:
        """Say what is waited for; nothing where there is no run."""
        view, feed = self._context.view, self._context.feed
        if feed.run(view.run) is None:
            return ""
        if view.snapshot or feed.latest(view.run) is not None:
            return f"{_HEAD}</div>{waiting('Opening the snapshot …')}"
        state = feed.state(view.run)
        row = feed.run(view.run)
        said = FIRST if state == "running" else no_snapshot(view.run, state, row.message if row else "")
        return f"{_HEAD}</div>{waiting(said, coming=state in COMING)}"

    def _failed(self, run: int, snapshot: int) -> None:
        """Ask again for what could not be read."""
        if self._latest.end((run, snapshot)):
            self._on_view()

    def _arrived(self, run: int, snapshot: int, hierarchy: Hierarchy | None) -> None:
        view = self._context.view
        if self._latest.end((run, snapshot)) and self._latest.repeated:
            self._on_view()
        if hierarchy is None or (run, snapshot) != (view.run, view.snapshot):
            return
        if snapshot or self._shown is None or self._shown.run != run or hierarchy.snapshot >= self._shown.snapshot:
            self._show(hierarchy)

    def _show(self, hierarchy: Hierarchy) -> None:
        view = self._context.view
        self._shown = hierarchy
        layer = min(view.layer, hierarchy.n_layers)
        entries = [
            (str(place), f"Layer {place} · {format_number(width)}") for place, width in enumerate(hierarchy.widths, 1)
        ]
        self.board.html = (
            f'{_HEAD}<span class="tp-dim">{caption(hierarchy, bool(view.snapshot))}</span>'
            f"{kpis.choices('layer', entries, str(layer), 'Layer')}</div>{preview(hierarchy, layer)}"
        )


_HEAD = '<div class="tp-card-head"><h2 class="tp-h2">What it is about</h2>'
