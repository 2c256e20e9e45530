"""The map of all documents of a run on the documents page, linked with the topics and the table of documents."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import panel as pn
import param

from topiary.app.analysis.filters import parse_condition, write_line
from topiary.app.analysis.hierarchy import format_identity, parse_identity
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.jobs.progress import Notice
from topiary.app.live.ticks import Tick
from topiary.app.machine import find_asset
from topiary.app.pages.components import Board, Component, Message
from topiary.app.pages.documents_reading import Failure, try_work
from topiary.app.pages.filters import DocumentFilters
from topiary.app.pages.map_reading import (
    MOST_EXPORTED,
    MapAnswer,
    MapRequest,
    export_selection,
    find_words,
    read_map,
    read_title,
    summarise_selection,
)
from topiary.app.pages.messages import LatestRequest, MessagePart, on
from topiary.app.pages.session import FROM_DOCUMENTS, Context
from topiary.app.views.documents.documents_form import MAP
from topiary.app.views.documents.map_page import (
    MapControls,
    SelectionSummary,
    draw_map_controls,
    draw_map_help,
    draw_map_legend,
    draw_selection_card,
)
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node
from topiary.store.corpus_rows import CorpusRow

_MOST_CORNERS = 20_000  # of a line around documents


class MapView(Component):
    """The window of a map of documents, in which a visitor can pan, zoom, hover, and draw a line around documents.

    Parameters
    ----------
    url : str
        Address of the bytes of :class:`app.views.document_map.PackedMap`, which changes with them; "" without a map.
    hues : list of int
        Colour of each topic of layer 1: the number of a ``--tp-hue``, or 0 for grey.
    captions : list of dict
        As returned by :func:`app.views.document_map.list_captions`.
    frame : list of [float, float, float]
        Centre and size of the first view.
    selected : int
        Number of documents that are selected, -1 without a selection.
    raster : bool
        Whether to paint the points without WebGL even if the browser has it.
    on_message : (message) -> None
        Called with ``{"do": "lasso", "polygon": [[x, y], ...]}`` (no corners: the selection was cleared), ``{"do":
        "hover" | "open", "point": number}``, and ``{"do": "select", "id": "L3:17"}`` for a caption.
    """

    url = param.String(default="")
    hues = param.List(default=[], item_type=int)
    captions = param.List(default=[], item_type=dict)
    frame = param.List(default=[0.5, 0.5, 1.0], item_type=float)
    selected = param.Integer(default=-1)
    raster = param.Boolean(default=False)

    _bundle = find_asset("js/document_map.js")

    def __init__(self, on_message: Callable[[Message], object] | None = None, **params: Any) -> None:
        super().__init__(on_message, **({"margin": 0, "sheets": ["explore", "document_map"]} | params))

    def answer_hover(self, point: int, text: str) -> None:
        """Show a text at a point, if the pointer is still there."""
        self._send_msg({"point": point, "text": text})

    def hand_over(self, name: str, text: str) -> None:
        """Let the browser save a text as a CSV file."""
        self._send_msg({"name": name, "text": text})

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, dict) and isinstance(data.get("do"), str):
            super()._handle_msg(data)


def read_polygon(message: Message) -> FloatArray | None:
    """Return the corners of a line that was drawn, (n, 2), or None if the message has no valid ones."""
    corners = message.get("polygon")
    if not isinstance(corners, list) or len(corners) > _MOST_CORNERS:
        return None
    pairs = [corner for corner in corners if isinstance(corner, list) and len(corner) == 2]
    if len(pairs) != len(corners) or not all(isinstance(value, int | float) for pair in pairs for value in pair):
        return None
    polygon = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return polygon if np.isfinite(polygon).all() else None


_SHEETS = ["explore", "documents", "document_map"]
_FIELDS = ("page", "tab", "run", "snapshot", "where", "layer", "topic", "colour")


class MapTab(MessagePart):
    """The map of one session: it follows the view, and turns what a visitor does on it into changes of the view.

    Attributes
    ----------
    parts : list
        What the page shows, from top to bottom.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.helpers = (DocumentFilters(context),)
        self._answer: MapAnswer | None = None
        self._summary: SelectionSummary | None = None
        self._notice = Notice()
        self._is_busy = False  # whether a corpus is being made of the selection
        self._latest: LatestRequest[MapRequest] = LatestRequest(context, self._fetch)
        self._controls, self._side, self._foot = (
            Board(on_message=self.handle, sheets=_SHEETS, css_classes=[name])
            for name in ("dm-top", "dm-side", "dm-foot")
        )
        self._map = MapView(self.handle, css_classes=["dm-map"])
        self.parts = [
            pn.Row(
                self._controls, self._map, self._side, self._foot,
                css_classes=["dm-page"], sizing_mode="stretch_width",
                margin=0,
            )
        ]  # fmt: skip
        self._view.param.watch(self._choose, list(_FIELDS))
        context.on_tick(self._on_tick)
        self._choose()

    @property
    def _is_shown(self) -> bool:
        return self._view.page == "documents" and self._view.tab == MAP

    # ------------------------------------------------------------- changes

    def _choose(self, *_: Any) -> None:
        """Request the map that the view asks for, if it is on screen."""
        if self._is_shown:
            self._fetch()

    def _on_tick(self, tick: Tick) -> None:
        if not self._is_shown:
            return
        before, self._notice = self._notice, self._read_notice()
        changed = tick.snapshots | tick.labels
        if self._answer is None or self._answer.read is None:
            changed |= tick.rows
        if self._notice.sentence != before.sentence or self._view.run in changed:
            self._fetch()  # there may be a draft now, or the finished map
        elif self._notice != before:
            self._draw_controls()

    def _read_notice(self) -> Notice:
        """Return how far the map of the run on screen is."""
        row = self._context.feed.run(self._view.run)
        return Notice() if row is None else self._context.actions.maps.read_notice(row)

    def _make_request(self) -> MapRequest:
        view = self._view
        topic = Node(view.layer, view.topic - 1) if view.topic else None
        return MapRequest(view.run, view.snapshot, view.where, topic, view.colour)

    def _fetch(self) -> None:
        request = self._make_request()
        if self._answer is not None and self._answer.request.run != request.run:
            self._answer = self._summary = None
            self._map.url = ""
        self._draw_controls()
        self._draw_side()
        before = self._answer.read if self._answer is not None else None
        self._latest.send(request, partial(read_map, self._context, request, before), self._receive)

    def _receive(self, answer: MapAnswer) -> None:
        if answer.request != self._make_request():
            return
        before, self._answer = self._answer, answer
        self._notice = self._read_notice()
        is_same = before is not None and _tell_selection(before) == _tell_selection(answer)
        if not is_same:
            self._summary = None
        if is_same or answer.selected is None:
            self._show_points(answer)
        else:
            work, show = partial(summarise_selection, self._context, answer), partial(self._show_points, answer)
            self._context.later(work, partial(self._receive_summary, answer), show)
            if before is None or before.packed is None:
                show()
        self._draw_controls()
        self._draw_side()
        self._foot.html = draw_map_legend(answer.colours, answer.hierarchy, answer.regions)

    def _show_points(self, answer: MapAnswer) -> None:
        """Have the browser draw the points.

        If it shows points already, this waits for the list of what is selected, which would otherwise wait for the
        drawing.
        """
        if answer.packed is None:
            self._map.url = ""
        elif self._answer is answer:
            n_selected = -1 if answer.selected is None else int(answer.selected.sum())
            self._map.param.update(
                url=answer.url, hues=list(answer.colours.hues), captions=list(answer.captions),
                frame=list(answer.packed.view), selected=n_selected,
            )  # fmt: skip

    def _receive_summary(self, answer: MapAnswer, summary: SelectionSummary) -> None:
        if self._has_selection_of(answer):
            self._summary = summary
            self._draw_side()
            self._show_points(answer)
            work = partial(try_work, find_words, self._context, answer)
            self._context.aside(work, partial(self._receive_words, answer))

    def _receive_words(self, answer: MapAnswer, words: list[str] | Failure) -> None:
        if self._summary is not None and self._has_selection_of(answer):
            self._summary = self._summary._replace(words=[] if isinstance(words, Failure) else words)
            self._draw_side()

    def _has_selection_of(self, answer: MapAnswer) -> bool:
        return self._answer is not None and _tell_selection(self._answer) == _tell_selection(answer)

    # ------------------------------------------------------------- drawing

    def _draw_controls(self) -> None:
        answer, request = self._answer, self._make_request()
        hierarchy = None if answer is None else answer.hierarchy
        if answer is None or hierarchy is None:
            note = "Reading the map …" if answer is None else answer.note
            can_make = answer is not None and answer.can_make
            self._controls.html = draw_map_controls(
                MapControls(None, note=note, can_make=can_make, notice=self._notice)
            )
            return
        hierarchy = self._context.feed.update_names(hierarchy)
        topic = request.topic if request.topic is not None and hierarchy.has(request.topic) else None
        self._controls.html = draw_map_controls(
            MapControls(
                hierarchy, topic, request.colour, answer.colours, request.where, answer.columns, answer.note,
                answer.can_make, self._notice,
            )
        )  # fmt: skip

    def _draw_side(self) -> None:
        answer, summary = self._answer, self._summary
        if answer is None or answer.hierarchy is None:
            self._side.html = ""
        elif answer.selected is None:
            self._side.html = draw_map_help()
        elif summary is not None:
            hierarchy = self._context.feed.update_names(answer.hierarchy)
            self._side.html = draw_selection_card(summary, hierarchy, busy=self._is_busy)

    # ------------------------------------------------------------ messages

    def read_argument(self, name: str, kind: Any, message: Message) -> Any:
        """Return what a handler wants to know: the map on screen, if there is one, or a field of the message."""
        if kind is MapAnswer:
            answer = self._answer
            return None if answer is None or answer.packed is None or answer.corpus is None else answer
        return super().read_argument(name, kind, message)

    @on("lasso")
    def _enclose(self, answer: MapAnswer, message: dict[str, Any]) -> None:
        """Select the documents inside a line, in place of those inside another; no line clears the selection."""
        polygon = read_polygon(message)
        if polygon is None or answer.packed is None or answer.read is None:
            return
        others = [text for text in self._view.where if not parse_condition(text).map_snapshot]
        if not len(polygon):
            self._put(where=tuple(others), topic=0, table_page=1)
            return
        line = write_line(answer.read.facts.snapshot, answer.packed.trace(polygon))
        self._put(where=(*others, str(line)), table_page=1)

    @on("hover", "open")
    def _look_at(self, answer: MapAnswer, do: str, point: int) -> None:
        """Show the title of a document at its point, or open it."""
        if answer.packed is None or answer.corpus is None or point >= len(answer.packed.order):
            return
        number = int(answer.packed.order[point])
        if do == "open":
            self._open(number)
        else:
            work = partial(read_title, self._context, answer.corpus.number, number)
            self._context.later(work, partial(self._map.answer_hover, point))

    @on("select")
    def _choose_caption(self, topic: Node) -> None:
        self._choose_topic(format_identity(topic))

    @on("topic", "select")
    def _choose_topic(self, value: str) -> None:
        """Have the documents of a topic stand out, or no longer if they do."""
        node, view = parse_identity(value), self._view
        if node is None or (view.layer, view.topic) == (node.layer, node.column + 1):
            view.topic = 0
        else:
            self._put(layer=node.layer, topic=node.column + 1)

    @on("colour")
    def _colour(self, value: str) -> None:
        self._put(colour=value[:200])

    @on("explore")
    def _explore(self, topic: Node) -> None:
        roots = (format_identity(topic),)
        self._put(page="explore", layer=topic.layer, topic=topic.column + 1, roots=roots, tab="")

    @on("list", "trends")
    def _show_selection(self, do: Literal["list", "trends"]) -> None:
        choice = {"page": "trends"} if do == "trends" else {}
        self._put(tab="", where=self._make_request().conditions, topic=0, table_page=1, **choice)

    @on("seed-topic")
    def _begin_topic(self) -> None:
        self._put(page="steer", tab=FROM_DOCUMENTS, where=self._make_request().conditions, query="", topic=0)

    @on("clear")
    def _clear(self) -> None:
        self._put(where=(), topic=0, table_page=1)

    @on("read")
    def _open(self, number: int) -> None:
        self._view.param.update(documents=(number,), trail=(), tab="")

    @on("make")
    def _make(self) -> None:
        """Have a map made of the snapshot on screen, whose documents may have to be placed in the topics first."""
        context, view = self._context, self._view
        row, answer = context.feed.run(view.run), self._answer
        if row is None or answer is None or answer.corpus is None:
            return
        n_documents, wanted = answer.corpus.documents, view.snapshot

        def work() -> None:
            snapshot = find_snapshot(context.db, row.number, wanted)
            context.actions.make_map_again(row, snapshot.number, n_documents)

        context.later(work, lambda _: None)

    @on("export")
    def _export(self) -> None:
        answer, row = self._answer, self._context.feed.run(self._view.run)
        if answer is None or answer.hierarchy is None or answer.selected is None or row is None:
            return
        n_selected = int(np.count_nonzero(answer.selected))
        if n_selected > MOST_EXPORTED:
            self._context.notify(
                f"A file of {n_selected:,} documents is too large for the browser; topiary export writes it.", "info"
            )
            return
        work = partial(try_work, export_selection, self._context, row, answer.hierarchy, answer.request.conditions)
        self._context.aside(work, partial(self._hand_over, f"topiary-run-{row.number}-selection.csv"))

    def _hand_over(self, name: str, text: str | Failure) -> None:
        if isinstance(text, Failure):
            self._context.notify(text.sentence, "warning")
        else:
            self._map.hand_over(name, text)

    @on("refine")
    def _refine(self) -> None:
        """Make a corpus of the selection, then open the form for a run on it."""
        answer = self._answer
        if self._is_busy or answer is None or answer.hierarchy is None or answer.corpus is None:
            return
        self._is_busy = True
        self._draw_side()
        n_selected = 0 if answer.selected is None else int(np.count_nonzero(answer.selected))
        title = "" if answer.request.topic is None else f" · {answer.hierarchy.title(answer.request.topic)}"
        name = f"{answer.corpus.name}{title} · {n_selected:,} documents"
        snapshot, run, conditions = answer.hierarchy.snapshot, answer.request.run, answer.request.conditions
        context = self._context

        def work() -> CorpusRow:
            return context.actions.refine(run, find_snapshot(context.db, run, snapshot), name[:200], conditions)

        context.aside(partial(try_work, work), self._end_refining, self._allow_refining)

    def _allow_refining(self) -> None:
        self._is_busy = False
        self._draw_side()

    def _end_refining(self, made: CorpusRow | Failure) -> None:
        self._allow_refining()
        if isinstance(made, Failure):
            self._context.notify(made.sentence, "warning")
            return
        self._context.notify(f"{made.name} is a corpus now; choose the model of the run on it.", "success")
        self._view.param.update(page="runs", tab="new")


def _tell_selection(answer: MapAnswer) -> tuple[Any, ...]:
    """Return what the summary of a selection depends on."""
    facts = None if answer.read is None else answer.read.facts
    return answer.request.run, answer.request.conditions, facts
