"""The map of all documents of a run on the documents page, linked with the topics and the table of documents."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import panel as pn
import param
from panel.viewable import Viewable

from topiary.app.analysis.filters import STRONGEST, Condition, parse_condition, write_date_range, write_line
from topiary.app.analysis.hierarchy import format_identity, parse_identity
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.typical import TypicalTopics, TypicalWords
from topiary.app.jobs.progress import Notice
from topiary.app.live.feed import Tick
from topiary.app.machine import find_asset
from topiary.app.pages.components import Board, Component, Message
from topiary.app.pages.documents_reading import Failure, TableRequest, try_work
from topiary.app.pages.documents_table import DocumentTable
from topiary.app.pages.map_reading import MapAnswer, MapRequest, find_typical, read_map, read_title
from topiary.app.pages.messages import LatestRequest, MessagePart, on
from topiary.app.pages.saving import TableSaver
from topiary.app.pages.session import Context
from topiary.app.views.documents.map_page import (
    BesideMap,
    MapHead,
    TopicCount,
    draw_beside,
    draw_map_head,
    draw_map_legend,
)
from topiary.app.views.documents.placed_document import BETWEEN, FORM, MAP
from topiary.engine.contract import FloatArray
from topiary.engine.hierarchy.tree import Node

_MOST_CORNERS = 20_000  # of a line around documents


class MapView(Component):
    """The window of a map of documents, in which a visitor can pan, zoom, hover, and draw a line around documents.

    Parameters
    ----------
    url : str
        Address of the bytes of a :class:`app.views.documents.map_page.PackedMap`, which changes with them; "" for none.
    hues : list of int
        Colour of each code of a point: the number of a ``--tp-hue``, or 0 for grey.
    captions : list of dict
        Those of all layers (:func:`app.pages.map_reading.read_map`).
    layer : int
        Whose captions are shown first.
    chosen : list of str
        Identities of the topics whose captions are marked.
    frame : list of [float, float]
        Width and height of the map.
    note : str
        A sentence below the points.
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
    layer = param.Integer(default=1)
    chosen = param.List(default=[], item_type=str)
    frame = param.List(default=[1.0, 1.0], item_type=float)
    note = param.String(default="")
    selected = param.Integer(default=-1)
    raster = param.Boolean(default=False)

    _bundle = find_asset("js/document_map.js")

    def __init__(self, on_message: Callable[[Message], object] | None = None, **params: Any) -> None:
        super().__init__(on_message, **({"margin": 0, "sheets": ["explore", "document_map"]} | params))

    def answer_hover(self, point: int, text: str) -> None:
        """Show a text at a point, if the pointer is still there."""
        self._send_msg({"point": point, "text": text})


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


_SHEETS = ["explore", "menu", "documents", "document_map", "trends"]  # the last for what is typical of a selection


class MapTab(MessagePart):
    """The map of one session: it shows the documents that the table selects, and changes the filters.

    Parameters
    ----------
    context : Context
    table : DocumentTable
        Knows which documents the filters select.

    Attributes
    ----------
    parts : list
        What the page shows, from top to bottom.
    """

    fields: ClassVar = {"colour": "colour"}

    def __init__(self, context: Context, table: DocumentTable) -> None:
        super().__init__(context)
        self._table = table
        self._answer: MapAnswer | None = None
        self._typical: tuple[TypicalTopics, TypicalWords | None] | None = None
        self._typical_of: TableRequest | None = None  # the documents of which that is, or will be
        self._notice = Notice()
        self._latest: LatestRequest[MapRequest] = LatestRequest(context, self._fetch)
        self._head, self._side, self._foot = (
            Board(on_message=self.handle, sheets=_SHEETS, css_classes=[name])
            for name in ("dm-top", "dm-side", "dm-foot")
        )
        self.helpers = TableSaver(context, lambda: self._side, table.list_conditions), table
        self._map = MapView(self.handle, css_classes=["dm-map"])
        self.parts: list[Viewable] = [
            pn.Row(
                self._head, self._map, self._side, self._foot,
                css_classes=["dm-page"], sizing_mode="stretch_width",
                margin=0,
            )
        ]  # fmt: skip
        context.on_tick(self._on_tick)

    @property
    def _is_shown(self) -> bool:
        return self._view.page == "documents" and self._view.tab == MAP

    # ------------------------------------------------------------- changes

    def follow(self) -> None:
        """Show what the view and the table ask for, if the map is on screen."""
        if not self._is_shown:
            return
        request = self._make_request()
        is_known = self._answer is not None and self._answer.request == request
        if request is not None and self._table.is_ready and not is_known and self._latest.pending != request:
            self._fetch()
        self._draw()

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
            self._draw_head()

    def _read_notice(self) -> Notice:
        """Return how far the map of the run on screen is."""
        row = self._context.feed.run(self._view.run)
        return Notice() if row is None else self._context.actions.maps.read_notice(row)

    def _make_request(self) -> MapRequest | None:
        request = self._table.request
        return None if request is None else MapRequest(request, self._view.colour)

    def _fetch(self) -> None:
        request, selected = self._make_request(), self._table.selected
        if request is None or not self._table.is_ready:
            return
        if self._answer is not None and self._answer.request.table.run != request.table.run:
            self._answer = None
            self._map.url = ""
        before = self._answer.read if self._answer is not None else None
        numbers = None if selected is None else selected.selection.numbers
        work = partial(read_map, self._context, request, before, numbers)
        self._latest.send(request, work, self._receive)

    def _receive(self, answer: MapAnswer) -> None:
        if answer.request != self._make_request():
            return
        self._answer = answer
        self._notice = self._read_notice()
        if answer.packed is None:
            self._map.url = ""
        else:
            n_selected = -1 if answer.selected is None else int(answer.selected.sum())
            conditions = map(parse_condition, answer.request.table.wanted.where)
            chosen = [condition.column for condition in conditions if condition.strongest]
            far = answer.said.far
            note = f"{far:,} far-off document{' is' if far == 1 else 's are'} drawn at the border" if far else ""
            self._map.param.update(
                url=answer.url, hues=list(answer.colours.hues), captions=list(answer.captions), chosen=chosen,
                layer=1 if answer.read is None else answer.read.layer, frame=list(answer.packed.frame),
                note=note, selected=n_selected,
            )  # fmt: skip
        self._draw()
        self._foot.html = draw_map_legend(answer.colours)

    # ------------------------------------------------------------- drawing

    def _draw(self) -> None:
        self._draw_head()
        self._draw_side()

    def _draw_head(self) -> None:
        answer, view = self._answer, self._view
        head = MapHead(notice=self._notice, note="Reading the map …", colour=view.colour, where=view.where)
        head = head._replace(query=view.query, is_badly=view.explained == "badly", label=view.label)
        if answer is not None:
            head = head._replace(note=answer.note, can_make=answer.can_make)
        if answer is not None and answer.hierarchy is not None and answer.read is not None:
            names = () if self._table.selected is None else self._table.selected.corpus.label_names
            head = head._replace(
                hierarchy=self._context.feed.update_names(answer.hierarchy),
                note=" ".join(filter(None, (self._table.fault, self._table.note, answer.note))),
                topics=[
                    [TopicCount(answer.hierarchy.node(layer, each.column), each.documents) for each in places]
                    for layer, places in enumerate(answer.read.places, start=1)
                ],
                subject=parse_identity(view.subject[0]) if view.subject else None,
                label_name=names[view.label - 1] if 0 < view.label <= len(names) else "",
                said=answer.said,
                colours=answer.colours,
                columns=answer.columns,
                groups=answer.groups,
                dates=answer.dates,
            )
        self._head.html = draw_map_head(head)

    def _draw_side(self) -> None:
        answer = self._answer
        packed = None if answer is None else answer.packed
        page = self._table.describe_page(1 if answer is None or answer.read is None else answer.read.layer)
        if answer is None or packed is None or page is None:
            self._side.html = ""
            return
        points = {row.number: packed.find_point(row.number) for row in page.rows}
        is_typical = self._typical_of is not None and self._typical_of == self._table.request
        beside = BesideMap(points, self._typical if is_typical else None, is_waiting=is_typical)
        self._side.html = draw_beside(page, beside)

    # ------------------------------------------------------------ messages

    def read_argument(self, name: str, kind: Any, message: Message) -> Any:
        """Return what a handler wants to know: the map on screen, if there is one, or a field of the message."""
        if kind is MapAnswer:
            answer = self._answer
            return None if answer is None or answer.packed is None or answer.corpus is None else answer
        return super().read_argument(name, kind, message)

    @on("lasso")
    def _enclose(self, answer: MapAnswer, message: dict[str, Any]) -> None:
        """Select the documents inside a line, in place of those inside another; no line ends lines and topics."""
        polygon = read_polygon(message)
        if polygon is None or answer.packed is None or answer.read is None:
            return
        others = [each for each in map(parse_condition, self._view.where) if not each.map_snapshot]
        if len(polygon):
            kept = [*others, write_line(answer.read.facts.snapshot, answer.packed.trace(polygon))]
        else:
            kept = [each for each in others if not each.strongest]
        self._put(where=tuple(map(str, kept)), table_page=1)

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

    @on("topic")
    def _choose_topic(self, value: str) -> None:
        """Select the documents whose strongest topic is this one, or no longer if they are; one topic at a time."""
        if parse_identity(value) is None:
            return
        wanted = str(Condition(value, STRONGEST))
        others = tuple(text for text in self._view.where if parse_condition(text).strongest is None)
        self._put(where=others if wanted in self._view.where else (*others, wanted), table_page=1)

    @on("pick")
    def _choose_group(self, column: str, value: str) -> None:
        """Select the documents of a group of a column in the place of another, or those of all groups."""
        others = tuple(text for text in self._view.where if parse_condition(text).column != column)
        self._put(where=(*others, str(Condition(column, value))) if value else others, table_page=1)

    @on("dates")
    def _choose_dates(self, answer: MapAnswer, first: int, last: int) -> None:
        """Select a range of dates by the places of its ends in the histogram."""
        dates = answer.dates
        if dates is None:
            return
        n_bars = len(dates.counts)
        first, last = sorted((min(first, n_bars), min(last, n_bars)))
        first = min(first, n_bars - 1)
        others = tuple(text for text in self._view.where if parse_condition(text).column != dates.column)
        kept = others
        if last - first < n_bars:
            value = write_date_range(dates.first_days[first], dates.last_days[max(last, first + 1) - 1])
            kept = (*others, str(Condition(dates.column, value)))
        self._put(where=kept, table_page=1)

    @on("tab")
    def _choose_tab(self, value: str) -> None:
        if value in (FORM, BETWEEN):
            self._view.tab = value
        elif not value:
            self._table.leave()

    @on("explore")
    def _explore(self, topic: Node) -> None:
        self._open_topic(topic)

    @on("trends")
    def _show_trends(self) -> None:
        where = (*self._view.where, *self._table.list_conditions())
        self._put(page="trends", tab="", where=where, table_page=1)

    @on("read")
    def _open(self, number: int) -> None:
        self._view.param.update(documents=(number,), trail=(), tab="")

    @on("typical")
    def _describe_typical(self, answer: MapAnswer) -> None:
        """Find what is typical of the documents that are selected."""
        self._typical, self._typical_of = None, answer.request.table
        work = partial(try_work, find_typical, self._context, answer)
        self._context.aside(work, partial(self._receive_typical, answer.request.table), self._forget_typical)
        self._draw_side()

    def _receive_typical(
        self, request: TableRequest, found: tuple[TypicalTopics, TypicalWords | None] | Failure
    ) -> None:
        if request != self._typical_of:
            return
        if isinstance(found, Failure):
            self._context.notify(found.sentence, "info")
            self._forget_typical()
            return
        self._typical = found
        self._draw_side()

    def _forget_typical(self) -> None:
        self._typical_of = None
        self._draw_side()

    @on("make")
    def _make(self) -> None:
        """Have a map made of the snapshot on screen, whose documents may have to be placed in the topics first."""
        context, view, shown = self._context, self._view, self._answer
        row = context.feed.run(view.run)
        if row is None or shown is None or shown.corpus is None:
            return
        n_documents, wanted = shown.corpus.documents, view.snapshot

        def work() -> None:
            snapshot = find_snapshot(context.db, row.number, wanted)
            context.actions.make_map_again(row, snapshot.number, n_documents)

        context.later(work, lambda _: None)
