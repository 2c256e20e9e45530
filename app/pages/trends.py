"""The page Trends: topics over time and by group, of the documents that a filter selects."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from panel.viewable import Viewable

from app.analysis.filters import FilterError
from app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from app.analysis.trends import MOST_TOPICS, TimeFigure, group_documents, measure_by_group, measure_over_time
from app.ingest.column_kinds import list_columns
from app.jobs.plan import name_step
from app.live.ticks import Tick
from app.pages.components import Board, Message
from app.pages.filters import add_condition, handle_filter, open_sources, read_selection
from app.pages.refining import RefineRequests
from app.pages.requests import LatestRequest
from app.pages.saving import TableSaver
from app.pages.session import CHOICES, Context, read_field
from app.views.runs.notices import explain_missing_run, explain_no_topics
from app.views.trends.trends_page import TrendChoices, TrendPage, draw_trend_note, draw_trends
from engine.contract import Array
from store import columns, corpora
from store.column_rows import CATEGORY, DATE, NUMBER, CorpusColumn
from store.corpus_rows import CorpusRow
from store.errors import StoreError
from store.shares import ShareSet

NO_SHARES = "The shares of the documents are not known yet: they are computed while the run trains, and when it ends."
EARLIER = (
    "These are the topics and shares of {step} {placed:,}, the last one whose documents have all been placed; the "
    "newest topics are of {step} {newest:,}."
)
NO_DATES = "No column of this corpus holds dates. topiary columns lists the columns, and changes their kinds."
NO_GROUPS = "This corpus has no label, category or number by which documents could be grouped."
NO_DOCUMENTS = "No document meets all filters."
_FIELDS = (
    "page", "run", "snapshot", "where", "trend", "trend_layer", "trend_topic", "column", "unit", "moving", "weigh",
    "areas",
)  # fmt: skip


class TrendRequest(NamedTuple):
    """What the page asks for: fields of the view, see `app.pages.session.View`."""

    run: int
    snapshot: int
    where: tuple[str, ...]
    trend: str
    layer: int
    topic: str
    column: str
    unit: str
    moving: str
    weigh: str
    areas: str


class TrendAnswer(NamedTuple):
    """The page as it was asked for; without a hierarchy, the note of a page that cannot be shown."""

    request: TrendRequest
    page: TrendPage | None
    note: str = ""
    shares: ShareSet | None = None


def read_trends(context: Context, request: TrendRequest, known: TrendAnswer | None = None) -> TrendAnswer:
    """Measure topics over time or by group; this waits for the store.

    An answer that is ``known`` is returned if it is to the same request and read the same shares.  Where no snapshot is
    asked for and the newest one has no shares, as in a run that trains, the newest one that has some is taken.
    """
    feed = context.feed
    row = feed.run(request.run)
    if row is None:
        return TrendAnswer(request, None, explain_missing_run(request.run))
    hierarchy = feed.hierarchy(request.run, request.snapshot or None)
    if hierarchy is None:
        return TrendAnswer(request, None, explain_no_topics(request.run, feed.state(request.run), row.message))
    newest, found = hierarchy, feed.shares.find(request.run, hierarchy.snapshot)
    if found is None and not request.snapshot and (found := feed.shares.find_newest(request.run)) is not None:
        hierarchy = feed.hierarchy(request.run, found.snapshot) or newest
    steps = {"step": name_step(row), "placed": hierarchy.minibatch, "newest": newest.minibatch}
    source = "" if hierarchy is newest else EARLIER.format(**steps)
    if known is not None and found is not None and (known.request, known.shares) == (request, found) and known.page:
        return known._replace(page=known.page._replace(source=source))
    corpus = corpora.get_run_corpus(context.db, row)
    offered = list_columns(context.db, corpus)
    page = TrendPage(hierarchy, choose(hierarchy, offered, request), documents=corpus.documents, source=source)
    if found is None:
        return TrendAnswer(request, page._replace(note=NO_SHARES))
    try:
        return TrendAnswer(request, _measure(context, corpus, page), shares=found)
    except (FilterError, StoreError, ValueError) as error:
        return TrendAnswer(request, page._replace(note=f"{error}."))


def choose(hierarchy: Hierarchy, offered: Sequence[CorpusColumn], request: TrendRequest) -> TrendChoices:
    """Return the choices that a request stands for, with what is offered and the defaults filled in."""
    dates = [column.name for column in offered if column.kind == DATE]
    groups = [column.name for column in offered if column.kind in (CATEGORY, NUMBER)]
    names = dates if request.trend == "time" else groups
    node = parse_identity(request.topic)
    topic = node if node is not None and hierarchy.has(node) else None
    layer = topic.layer if topic is not None else min(request.layer or hierarchy.n_layers, hierarchy.n_layers)
    column = request.column if request.column in names else next(iter(names), "")
    return TrendChoices(
        request.trend, layer, topic, column, dates, groups, request.unit, request.moving, request.weigh,
        areas=request.areas == "shown", where=request.where, columns=[each.name for each in offered],
    )  # fmt: skip


def _measure(context: Context, corpus: CorpusRow, page: TrendPage) -> TrendPage:
    """Return the page with what it measures."""
    hierarchy, choices = page.hierarchy, page.choices

    sources = open_sources(context, corpus, hierarchy)
    selected = read_selection(context, corpus, hierarchy, tuple(choices.where))
    n_selected = corpus.documents if selected is None else int(selected.sum())
    page = page._replace(selected=n_selected)
    if not n_selected:
        return page._replace(note=NO_DOCUMENTS)
    if not choices.column:
        return page._replace(note=NO_DATES if choices.trend == "time" else NO_GROUPS)
    column = columns.find_column(sources.columns, choices.column)
    values = sources.read_column(column)
    if choices.trend == "groups":
        by_group = measure_by_group(
            hierarchy, choices.layer, sources.read_use(choices.layer), group_documents(column, values),
            by=_read_weighting(choices), selected=selected,
        )  # fmt: skip
        return page._replace(by_group=by_group)
    return _measure_time(page, sources.read_use, values, selected)


def _read_weighting(choices: TrendChoices) -> Any:
    return choices.weigh


def _measure_time(page: TrendPage, read_use: Any, dates: Array, selected: Array | None) -> TrendPage:
    """Return the page with topics over time, and with the children of the chosen topic."""
    hierarchy, choices = page.hierarchy, page.choices
    options: dict[str, Any] = {
        "unit": None if choices.unit == "automatic" else choices.unit,
        "moving": int(choices.moving),
        "by": choices.weigh,
        "selected": selected,
    }
    layer, topic = choices.layer, choices.topic
    nodes = () if topic is None else (topic,)
    over_time = measure_over_time(hierarchy, layer, read_use(layer), dates, nodes=nodes, **options)
    children: TimeFigure | None = None
    if topic is not None and topic.layer > 1:
        below = [relative.node for relative in hierarchy.children(topic, MOST_TOPICS)]
        if below:
            children = measure_over_time(hierarchy, layer - 1, read_use(layer - 1), dates, nodes=below, **options)
    return page._replace(over_time=over_time, children=children)


class TrendsPage:
    """The page Trends of one session.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._answer: TrendAnswer | None = None
        self._latest: LatestRequest[TrendRequest] = LatestRequest(context, self._fetch)
        self._tables = TableSaver(context, lambda: self.board)
        self._refine = RefineRequests(context, partial(self._draw, busy=False))
        self.board = Board(on_message=self._on_message, sheets=["explore", "trends"])
        context.view.param.watch(self._on_view, list(_FIELDS))
        context.on_tick(self._on_tick)
        self._fetch()

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page == "trends":
            self._fetch()

    def _on_tick(self, tick: Tick) -> None:
        view = self._context.view
        if view.page == "trends" and view.run in tick.snapshots | tick.rows | tick.labels:
            self._fetch(self._answer)

    def _make_request(self) -> TrendRequest:
        view = self._context.view
        topic = view.trend_topic[0] if view.trend_topic else ""
        return TrendRequest(
            view.run, view.snapshot, view.where, view.trend, view.trend_layer, topic, view.column, view.unit,
            view.moving, view.weigh, view.areas,
        )  # fmt: skip

    def _fetch(self, known: TrendAnswer | None = None) -> None:
        """Measure what the view asks for in another thread; what is on screen stays meanwhile.

        What is ``known`` is not measured again while the shares are the same.
        """
        request = self._make_request()
        if self._answer is not None and self._answer.request.run != request.run:
            self._answer = None
        self._draw(busy=self._answer is None or self._answer.request != request)
        self._latest.send(request, partial(read_trends, self._context, request, known), self._receive)

    def _receive(self, answer: TrendAnswer) -> None:
        if answer.request == self._make_request():
            self._answer = answer
            self._draw(busy=False)

    def _draw(self, *, busy: bool) -> None:
        answer = self._answer
        if answer is None:
            self.board.html = draw_trend_note("Measuring the shares of topics …")
        elif answer.page is None:
            self.board.html = draw_trend_note(answer.note)
        else:
            hierarchy = self._context.feed.update_names(answer.page.hierarchy)
            self.board.html = draw_trends(
                answer.page._replace(hierarchy=hierarchy, busy=busy, refining=self._refine.busy)
            )

    def _on_message(self, message: Message) -> None:
        """Handle a message of the browser, whose contents are not trusted."""
        view = self._context.view
        if self._tables.handle(message) or self._refine.handle(message):
            return
        match message:
            case {"do": "trend" | "unit" | "moving" | "weigh" as field, "value": str(text)} if text in CHOICES[field]:
                view.param.update(**{field: text})
            case {"do": "trend_layer", "value": str(text)} if text.isascii() and text.isdecimal():
                view.param.update(trend_layer=int(text[:3]), trend_topic=())
            case {"do": "topic", "value": str(text)}:
                view.trend_topic = read_field("trend_topic", text)
            case {"do": "topic", "id": str(text)} if (node := parse_identity(text)) is not None:
                view.trend_topic = (format_identity(node),)
            case {"do": "column", "value": str(text)}:
                view.column = text[:200]
            case {"do": "areas"}:
                view.areas = "hidden" if view.areas == "shown" else "shown"
            case {"do": "group", "value": str(text)}:
                add_condition(view, text)
            case _:
                handle_filter(view, message)


def build_trends_page(context: Context) -> Viewable:
    """Build the page of topics over time and by group."""
    return TrendsPage(context).board
