"""The film of a run: a bar with a cursor over its snapshots, which the pages Watch and Explore share."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import param
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.export.film import draw_track, measure_changes, place_moments, render_film
from topiary.app.jobs.gallery import is_of_gallery
from topiary.app.live.cache import History
from topiary.app.live.feed import Tick
from topiary.app.machine import find_asset
from topiary.app.names import name_step
from topiary.app.pages.components import Component, Message
from topiary.app.pages.messages import MessagePart, list_moments, on
from topiary.app.pages.session import Context
from topiary.app.views.explore.controls import SnapshotOption
from topiary.app.views.runs.curves import thin_points
from topiary.app.views.text import format_percent
from topiary.app.views.tree.picture import TreeChoice

_AHEAD = 4  # snapshots after the one on screen that are read before they are asked for
_BEHIND = 2  # the same before it
_TRACK_POINTS = 240  # of the curve below the cursor


class FilmBar(Component):
    """The bar in the browser: play, a slider that stops at the snapshots kept, and a file to save.

    Parameters
    ----------
    moments : list of [int, int, float]
        Number, mini-batch and place (0 to 1000) of every snapshot, oldest first.
    place : int
        Index of the snapshot on screen.
    track : str
        SVG of the curve and the ticks.
    step : str
        Name of a step of the run, such as "sweep".
    note : str
        A remark about the snapshot on screen; by default its number among all.
    busy : str
        The request under way that takes seconds: "largest" while changes are measured, "film" while a file is made.
    on_message : (message) -> None
        Called with ``{"do": "moment", "value": number}`` and with requests of the buttons.
    """

    moments = param.List(default=[])
    place = param.Integer(default=0)
    track = param.String(default="")
    step = param.String(default="step")
    note = param.String(default="")
    busy: Any = param.Selector(default="", objects=["", "largest", "film"])

    _bundle = find_asset("js/film.js")

    def __init__(self, on_message: Callable[[Message], object] | None = None, **params: Any) -> None:
        super().__init__(on_message, **({"margin": 0, "sizing_mode": "stretch_width"} | params))

    def answer(self) -> None:
        """Tell the browser that the snapshot it asked for is on screen, or that there is none."""
        self._send_msg({"answered": True})

    def play(self) -> None:
        """Let the browser play the film, unless the visitor wants less motion."""
        self._send_msg({"play": True})

    def hand_over(self, name: str, text: str) -> None:
        """Let the browser download a text as an HTML file."""
        self._send_msg({"name": name, "text": text})


class Film(MessagePart):
    """The film on one page of a session; make it after the page has begun to watch the view.

    Parameters
    ----------
    page : str
        Name of the page: the film rests while another one is on screen.
    choice : () -> TreeChoice or None
        Returns the part of the tree that is saved; None for the usual one.
    on_cursor : (mini-batch or None) -> None
        Called with the mini-batch of the cursor, None while the page follows the newest snapshot.
    """

    def __init__(
        self,
        context: Context,
        page: str,
        *,
        choice: Callable[[], TreeChoice | None] = lambda: None,
        on_cursor: Callable[[int | None], None] = lambda _: None,
        css_class: str = "tp-film",
    ) -> None:
        super().__init__(context)
        self._page = page
        self._choice = choice
        self._on_cursor = on_cursor
        self._run = 0
        self._state = ""  # of the run when the page last looked
        self._moments: tuple[SnapshotOption, ...] = ()
        self._changes: dict[int, float] = {}  # what moved before a snapshot, by its number
        self._wanted = 0  # the snapshot that the browser asked for last
        self._is_reading = False  # a snapshot that was not asked for yet
        self._open = True
        self.bar = FilmBar(self.handle, css_classes=[css_class])
        context.view.param.watch(self._on_view, ["page", "run", "snapshot"])
        context.on_tick(self._on_tick)
        context.on_close(self._close)
        self._choose_run()

    # ------------------------------------------------------------- changes

    def _close(self) -> None:
        self._open = False

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page != self._page:
            return
        if self._context.view.run != self._run:
            self._choose_run()
        self._draw()

    def _on_tick(self, tick: Tick) -> None:
        run = self._context.view.run
        if self._context.view.page != self._page:
            return
        if run != self._run:
            self._choose_run()
            return
        if run in tick.snapshots:
            self._fetch_moments()
        if run in tick.rows:
            self._play_at_end()

    def _play_at_end(self) -> None:
        """Play the film of a run of the demo when its training ends while a visitor follows it."""
        before, self._state = self._state, self._context.feed.state(self._run)
        has_ended = before == "running" and self._state == "finished"
        if has_ended and not self._context.view.snapshot and is_of_gallery(self._context.feed.runs(), self._run):
            self.bar.play()

    def _choose_run(self) -> None:
        """Show the snapshots of the run on screen."""
        self._run, self._moments, self._changes = self._context.view.run, (), {}
        self._state = self._context.feed.state(self._run)
        self.bar.param.update(moments=[], track="", note="", busy="")
        if self._context.feed.run(self._run) is not None:
            self._fetch_moments()

    def _fetch_moments(self) -> None:
        work = partial(list_moments, self._context, self._run)
        self._context.later(work, partial(self._receive_moments, self._run))

    def _receive_moments(self, run: int, moments: tuple[SnapshotOption, ...]) -> None:
        if run != self._run:
            return
        self._moments = moments
        if self._context.feed.get_cached_history(run) is None and moments:
            self._context.later(partial(self._context.feed.history, run), partial(self._receive_history, run))
        self._draw_track()
        self._draw()

    def _receive_history(self, run: int, _: History | None) -> None:
        if run == self._run:
            self._draw_track()

    # ------------------------------------------------------------- drawing

    def _draw(self) -> None:
        place, snapshot = self._find_place(), self._context.view.snapshot
        self.bar.param.update(place=place, note=self._describe_change(place))
        self._on_cursor(next((moment.minibatch for moment in self._moments if moment.number == snapshot), None))

    def _draw_track(self) -> None:
        """Draw the curve and the ticks of all snapshots."""
        run = self._context.feed.run(self._run)
        minibatches = [moment.minibatch for moment in self._moments]
        places = place_moments(minibatches)
        changes = {moment.minibatch: self._changes.get(moment.number, 0.0) for moment in self._moments}
        self.bar.param.update(
            moments=[[*moment, place] for moment, place in zip(self._moments, places, strict=True)],
            track=draw_track(minibatches, self._read_curve(), changes if self._changes else None),
            step=name_step() if run is None else name_step(run),
        )

    def _read_curve(self) -> NDArray[np.float64]:
        history = self._context.feed.get_cached_history(self._run)
        if history is None:
            return np.empty((0, 2))
        columns = history.after("point_perplexity")
        return columns.take(thin_points(columns.value, _TRACK_POINTS)).curve()

    def _find_place(self) -> int:
        """Return the index of the snapshot on screen, that of the newest one if none is pinned."""
        numbers = [moment.number for moment in self._moments]
        snapshot = self._context.view.snapshot
        return numbers.index(snapshot) if snapshot in numbers else max(0, len(numbers) - 1)

    def _describe_change(self, place: int) -> str:
        """Return how much changed before a snapshot, if that has been measured."""
        if not 0 < place < len(self._moments) or self._moments[place].number not in self._changes:
            return ""
        share = format_percent(self._changes[self._moments[place].number])
        return f"{share} changed since {self._moments[place - 1].minibatch:,}"

    # -------------------------------------------------------------- moving

    @on("moment")
    def _go(self, value: int = 0) -> None:
        """Show a snapshot as soon as it is in memory; the newest request replaces those before it."""
        number = value
        if number not in {moment.number for moment in self._moments}:
            self.bar.answer()
            return
        self._wanted = number
        feed, run = self._context.feed, self._run
        if feed.get_cached_hierarchy(run, number) is not None:
            self._show(number)
        else:
            work = partial(feed.hierarchy, run, number)
            self._context.later(work, partial(self._receive, run, number), self.bar.answer)

    def _receive(self, run: int, number: int, hierarchy: Hierarchy | None) -> None:
        if (run, number) != (self._context.view.run, self._wanted):
            self.bar.answer()
        elif hierarchy is None or hierarchy.snapshot != number:  # thinned out meanwhile, or damaged
            self._fetch_moments()
            self.bar.answer()
        else:
            self._show(number)

    def _show(self, number: int) -> None:
        self._context.view.snapshot = 0 if number == self._moments[-1].number else number
        self.bar.answer()
        self._read_ahead()

    @on("near")
    def _read_ahead(self) -> None:
        """Read snapshots near the cursor, one after the other, so that they are in memory when they are asked for."""
        place = self._find_place()
        places = [*range(place + 1, place + 1 + _AHEAD), *range(place - 1, place - 1 - _BEHIND, -1)]
        feed, run = self._context.feed, self._run
        number = next(
            (
                self._moments[near].number
                for near in places
                if 0 <= near < len(self._moments) and feed.get_cached_hierarchy(run, self._moments[near].number) is None
            ),
            None,
        )
        if number is not None and not self._is_reading:
            self._is_reading = True
            self._context.aside(partial(feed.hierarchy, run, number), partial(self._read_next, number), self._stop)

    def _read_next(self, number: int, hierarchy: Hierarchy | None) -> None:
        self._is_reading = False
        if hierarchy is not None and hierarchy.snapshot == number:
            self._read_ahead()

    def _stop(self) -> None:
        self._is_reading = False

    @on("largest")
    def _find_largest(self) -> None:
        """Go to the snapshot before which most changed, or from there to the next one; measure first if necessary."""
        if self._changes.keys() >= {moment.number for moment in self._moments[1:]}:
            self._go_to_largest()
            return
        if not self.bar.busy:
            self.bar.busy = "largest"
            run = self._run
            work = partial(_measure_run, self._context, run)
            self._context.aside(work, partial(self._receive_changes, run), self._end_work)

    def _receive_changes(self, run: int, changes: dict[int, float]) -> None:
        if run == self._run:
            self.bar.busy = ""
            self._changes = {moment.number: 0.0 for moment in self._moments[1:]} | changes
            self._draw_track()
            self._go_to_largest()

    def _go_to_largest(self) -> None:
        numbers = [moment.number for moment in self._moments[1:]]
        by_size = sorted(numbers, key=lambda number: -self._changes[number])
        if not by_size:
            return
        on_screen = self._moments[self._find_place()].number
        after = by_size.index(on_screen) + 1 if self._context.view.snapshot and on_screen in by_size else 0
        self._go(by_size[after % len(by_size)])

    # ------------------------------------------------------------ the file

    @on("film")
    def _save(self) -> None:
        """Send the film to the browser as a file, drawn in another thread."""
        row = self._context.feed.run(self._run)
        if row is not None and not self.bar.busy and len(self._moments) > 1:
            self.bar.busy = "film"
            work = partial(render_film, self._context.db, row, self._choice(), lambda: self._open)
            self._context.aside(work, partial(self._hand_over, row.number), self._end_work)

    def _hand_over(self, run: int, text: str) -> None:
        self.bar.busy = ""
        self.bar.hand_over(f"topiary-run-{run}-film.html", text)

    def _end_work(self) -> None:
        self.bar.busy = ""


def _measure_run(context: Context, run: int) -> dict[int, float]:
    return measure_changes(context.db, context.feed.snapshots(run))
