"""The page Trends: topics over time and by group, of the documents that a filter selects."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import split_ranges, write_date_range
from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.analysis.reader import GROUPS, TIME, RunDocuments, TrendQuestion
from topiary.app.analysis.trends import (
    MOST_TOPICS,
    GroupFigure,
    TimeFigure,
    TopicEffect,
    choose_groups,
    describe_effect,
    rank_effects,
)
from topiary.app.analysis.typical import TypicalWords, find_typical_topics, find_typical_words, sum_corpus_words
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.live.feed import Tick
from topiary.app.names import UNFINISHED, IntervalKind
from topiary.app.pages.filters import DocumentFilters, add_condition, open_documents
from topiary.app.pages.messages import MeasuredAnswer, MeasuredPage, find_topics, offer_columns, on
from topiary.app.pages.refining import CorpusRefiner
from topiary.app.pages.saving import TableSaver
from topiary.app.pages.session import Context, cut_view, list_fields
from topiary.app.views.trends.time_chart import MeasuredBy
from topiary.app.views.trends.trends_page import (
    EFFECT_ROWS,
    MOST_ROWS,
    MULTIPLES,
    NO_DATES,
    TYPICAL_WORDS,
    ColumnEntry,
    EffectChoices,
    HeatChoices,
    TrendChoices,
    TrendPage,
    draw_trend_note,
    draw_trends,
)
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, runs
from topiary.store.corpus_rows import KINDS, LABEL, CorpusColumn, CorpusRow
from topiary.store.errors import StoreError

_COUNTING = "Counting the words of the documents …"
_REAL = "Words are not compared, because this corpus has real values in place of counts."
WordsKey = tuple[int, tuple[str, ...]]  # snapshot, conditions


class SelectionWords:
    """The words of a session's selection; those of a large corpus take some seconds."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wanted: WordsKey | None = None
        self._answer: tuple[WordsKey, TypicalWords | None, str] | None = None

    def read(
        self, hierarchy: Hierarchy, where: tuple[str, ...], then: Callable[[], None]
    ) -> tuple[TypicalWords | None, str]:
        """Return the words, or None and a sentence that says why; count them if need be, and call ``then`` after."""
        key = hierarchy.snapshot, where
        if self._answer is not None and self._answer[0] == key:
            return self._answer[1:]
        if self._wanted != key:
            self._wanted = key
            self._context.aside(partial(self._count, key, hierarchy), partial(self._receive, key, then), self._fail)
        return None, _COUNTING

    def _count(self, key: WordsKey, hierarchy: Hierarchy) -> tuple[TypicalWords | None, str]:
        """Count the words unless they are no longer wanted; this waits for the store."""
        db, n_words = self._context.db, len(hierarchy.vocabulary)
        corpus = corpora.get_run_corpus(db, runs.get_run(db, hierarchy.run))
        if corpus.kind == "real":
            return None, _REAL
        try:
            selected = open_documents(self._context, corpus, hierarchy, key[1]).selected
            selection = sum_corpus_words(db, corpus, n_words, selected, lambda: self._wanted == key)
            if self._wanted != key:
                return None, _COUNTING
            everything = self._context.reader.sum_words(corpus, n_words)
        except (ReadError, StoreError) as error:
            return None, f"The words could not be counted: {error}."
        return find_typical_words(selection, everything, hierarchy.vocabulary, TYPICAL_WORDS), ""

    def _receive(self, key: WordsKey, then: Callable[[], None], found: tuple[TypicalWords | None, str]) -> None:
        if self._wanted == key:
            self._answer = (key, *found)
            then()

    def _fail(self) -> None:
        self._wanted = None


NO_SHARES = "The shares of the documents are not known yet: they are computed while the run trains, and when it ends."
PLACING = "All documents are being placed in the topics of this run, once; this page goes on when that is done."
NOT_PLACED = "The shares of the documents are not known; topiary place {run} computes them, or says why it cannot."
NO_GROUPS = "This corpus has no label, category or number by which documents could be grouped."
NO_DOCUMENTS = "No document meets all filters."
_WAITING = "Measuring the shares of topics …"


class TrendRequest(NamedTuple):
    """What the page asks for: fields of the view, see `app.pages.session.View`."""

    run: int
    snapshot: int
    where: tuple[str, ...]
    trend: str
    trend_layer: int
    trend_topic: tuple[str, ...]
    column: str
    measured: MeasuredBy
    interval: str
    zoomed: str
    group: str
    against: str
    effects: str
    heat: HeatChoices


TrendAnswer: TypeAlias = MeasuredAnswer[TrendRequest, TrendPage]


def read_trends(context: Context, request: TrendRequest, known: TrendAnswer | None = None) -> TrendAnswer:
    """Measure topics over time or by group; this waits for the store.

    An answer that is ``known`` is returned if it is to the same request and read the same shares.  Where no snapshot is
    asked for and the newest one has no shares, as in a run that trains, the newest one that has some is taken.
    """
    topics = find_topics(context, request.run, request.snapshot)
    if isinstance(topics, str):
        return MeasuredAnswer(request, None, topics)
    row, newest = topics
    hierarchy, found, source, _ = context.reader.place(newest, latest=not request.snapshot)
    if known is not None and found is not None and (known.request, known.shares) == (request, found) and known.contents:
        return known._replace(contents=known.contents._replace(source=source))
    corpus = corpora.get_run_corpus(context.db, row)
    offered = list_columns(context.db, corpus)
    choices = choose(hierarchy, offered, request)
    page = TrendPage(hierarchy, choices, documents=corpus.documents, source=source)
    if found is None:
        if row.state in UNFINISHED:
            return MeasuredAnswer(request, page._replace(note=NO_SHARES))
        goes_on = context.actions.place_documents(row.number, corpus.documents)
        return MeasuredAnswer(request, page._replace(note=PLACING if goes_on else NOT_PLACED.format(run=row.number)))
    try:
        return MeasuredAnswer(request, _measure(context, corpus, page), shares=found)
    except (ReadError, StoreError, ValueError) as error:
        return MeasuredAnswer(request, page._replace(note=f"{error}."))


def choose(hierarchy: Hierarchy, offered: Sequence[CorpusColumn], request: TrendRequest) -> TrendChoices:
    """Return the choices that a request stands for, with what is offered and the defaults filled in.

    Documents without dates are shown by group, whatever is requested, if they have groups.
    """
    names = offer_columns(offered, request.column)
    trend = "groups" if names.groups and not names.dates else request.trend
    node = parse_identity("".join(request.trend_topic))
    topic = node if node is not None and hierarchy.has(node) else None
    layer = topic.layer if topic is not None else min(request.trend_layer or hierarchy.n_layers, hierarchy.n_layers)
    column = names.date if trend == "time" else names.group
    return TrendChoices(
        trend, layer, topic, column, names.dates, names.groups, request.measured, request.interval,
        zoomed=request.zoomed == "shown",
        effects=EffectChoices(request.effects, request.group, request.against),
        heat=request.heat,
        where=request.where,
        columns=[
            ColumnEntry(each.name, each.kind, each.place == LABEL, each.filled, each.invalid, len(each.levels))
            for each in offered
        ],
    )  # fmt: skip


def _measure(context: Context, corpus: CorpusRow, page: TrendPage) -> TrendPage:
    hierarchy, choices = page.hierarchy, page.choices
    interval: IntervalKind = "topics" if choices.interval == "topics" else "documents"
    documents = context.reader.documents(corpus, hierarchy, choices.where, interval=interval)
    page = page._replace(selected=documents.count)
    if not documents.count:
        page = page._replace(note=NO_DOCUMENTS)
    elif documents.selected is not None and documents.count < corpus.documents:
        use = documents.sources.read_use(choices.layer)
        typical = find_typical_topics(hierarchy, choices.layer, use, documents.selected, by=choices.measured.weigh)
        page = page._replace(typical=typical)
    if not choices.column:
        note = page.note or (NO_DATES if choices.trend == "time" else NO_GROUPS)
        return page._replace(note=note)
    if choices.trend == "groups":
        return _measure_groups(page, documents) if documents.count else page
    return _measure_time(page, documents)


def _measure_groups(page: TrendPage, documents: RunDocuments) -> TrendPage:
    """Return the page with topics by group and the table of effects."""
    choices, compared = page.choices, page.choices.effects
    by_group = documents.measure(
        TrendQuestion(
            GROUPS, choices.layer, choices.column, by=choices.measured.weigh, group=compared.group,
            against=compared.against,
        )
    ).by_group  # fmt: skip
    if by_group is None:
        return page
    n_sure = int(np.count_nonzero(by_group.contrast.beyond)) if choices.topic is None else MOST_ROWS
    most = min(n_sure, MOST_ROWS) if compared.order == "sure" else MOST_ROWS
    rows = max(most, EFFECT_ROWS) if choices.heat.every == "shown" else EFFECT_ROWS
    effects, n_effects = rank_effects(page.hierarchy, by_group, compared.order, choices.topic, rows)
    n_effects = min(n_effects, most)
    marked = _find_marked(page.hierarchy, by_group, choices.heat.marked)
    return page._replace(
        by_group=by_group, effects=effects, n_effects=n_effects if n_effects > EFFECT_ROWS else 0, marked=marked
    )


def _find_marked(hierarchy: Hierarchy, figure: GroupFigure, marked: Sequence[str]) -> TopicEffect | None:
    """Return the row of a cell that was chosen; None if there is no such topic or group, or it is not compared."""
    identity, _, condition = "".join(marked).partition(" ")
    node = parse_identity(identity)
    if node is None or not hierarchy.has(node) or node.layer != figure.nodes[0].layer:
        return None
    if condition not in figure.groups.conditions:
        return None
    group, column = figure.groups.conditions.index(condition), hierarchy.place(node)
    is_compared = math.isfinite(figure.contrast.value[group, column])
    return describe_effect(hierarchy, figure, group, column) if is_compared else None


def _measure_time(page: TrendPage, documents: RunDocuments) -> TrendPage:
    """Return the page with topics over time, and with the children of the chosen topic."""
    choices, topic = page.choices, page.choices.topic
    question = TrendQuestion(
        TIME, choices.layer, choices.column, () if topic is None else (topic,),
        by=choices.measured.weigh, range_view="alone" if choices.zoomed else "among others",
        most_changed=0 if topic is not None else MULTIPLES, **choices.measured.periods,
    )  # fmt: skip
    figure = documents.measure(question)
    if not documents.count and (figure.picked is None or choices.zoomed):
        return page
    children: TimeFigure | None = None
    if topic is not None and topic.layer > 1:
        below = [relative.node for relative in page.hierarchy.children(topic, MOST_TOPICS)]
        if below:
            children = documents.measure(question._replace(layer=choices.layer - 1, nodes=below)).over_time
    return page._replace(picked=figure.picked, over_time=figure.over_time, children=children)


class TrendsPage(MeasuredPage[TrendRequest, TrendPage]):
    """The page Trends of one session."""

    fields: ClassVar = {
        name: name for name in ("trend", *MeasuredBy._fields, "interval", "effects", "cells", "ordered", "numbers")
    }
    switches: ClassVar = ("quiet", "every")

    def __init__(self, context: Context) -> None:
        super().__init__(context, "trends", list_fields(TrendRequest), _WAITING)
        self._refine = CorpusRefiner(context, self.draw)
        self.helpers = TableSaver(context, lambda: self.board), self._refine, DocumentFilters(context)
        self._words = SelectionWords(context)
        context.on_tick(self._on_tick)
        self.fetch()

    def _on_tick(self, tick: Tick) -> None:
        view = self._view
        if view.page != "trends":
            return
        if view.run in tick.labels:  # names, or kinds of columns, or shares that are there now
            self.fetch()
        elif view.run in tick.snapshots | tick.rows:
            self.fetch(self.answer)

    def _make_request(self) -> TrendRequest:
        return cut_view(self._view, TrendRequest)

    def _read(self, request: TrendRequest, known: TrendAnswer | None) -> TrendAnswer:
        return read_trends(self._context, request, known)

    def _keeps(self, shown: TrendRequest, request: TrendRequest) -> bool:
        return shown.run == request.run

    def _draw_sentence(self, sentence: str) -> str:
        return draw_trend_note(sentence)

    def _draw_answer(self, answer: TrendAnswer, contents: TrendPage, *, busy: bool) -> str:
        hierarchy = self._context.feed.update_names(contents.hierarchy)
        page = contents._replace(hierarchy=hierarchy, busy=busy, refining=self._refine.busy)
        if page.typical is not None:
            words, counting = self._words.read(hierarchy, answer.request.where, self.draw)
            page = page._replace(words=words, counting=counting)
        return draw_trends(page)

    # ------------------------------------------------------------ messages

    @on("trend_layer")
    def _choose_layer(self, value: int) -> None:
        self._put(trend_layer=min(value, 999), trend_topic=())

    @on("topic")
    def _choose_linked_topic(self, topic: Node) -> None:
        self._put(trend_topic=(format_identity(topic),))

    @on("topic")
    def _choose_topic(self, value: str) -> None:
        self._put_text("trend_topic", value)

    @on("column")
    def _choose_column(self, value: str) -> None:
        self._put(column=value[:200], group="", against="", heads=(), marked=())

    @on("contrast")
    def _choose_group(self, value: str) -> None:
        self._put(group=value[:200], against="" if value == self._view.against else self._view.against)

    @on("against")
    def _choose_other_group(self, value: str) -> None:
        self._put(against=value[:200])

    @on("head")
    def _choose_head(self, value: str) -> None:
        """Give a group a column of the table, or take it away; without any, the largest groups have one."""
        answer = self.answer
        figure = None if answer is None or answer.contents is None else answer.contents.by_group
        if figure is None or value not in figure.groups.conditions:
            return
        heads = [figure.groups.conditions[place] for place in choose_groups(figure, self._view.heads)]
        kept = [each for each in heads if each != value]
        self._put(heads=tuple(kept if value in heads else (*kept, value)))

    @on("cell")
    def _mark_cell(self, value: str) -> None:
        if "=" in value:
            self._put(marked=() if value in self._view.marked else (value[:800],))

    @on("read")
    def _read_documents(self, topic: Node, value: str) -> None:
        """Show the documents of a group in the order of a topic."""
        add_condition(self._view, value)
        self._put(page="documents", tab="", subject=(format_identity(topic),), query="", documents=(), table_page=1)

    @on("zoom")
    def _zoom(self) -> None:
        self._put(zoomed="hidden" if self._view.zoomed == "shown" else "shown")

    @on("brush")
    def _brush(self, from_: str, to: str) -> None:
        self._select_range(from_, to)

    @on("whole")
    def _select_all_dates(self) -> None:
        self._select_range("", "")

    @on("range")
    def _select_range(self, first: str, last: str) -> None:
        """Replace the conditions on the dates that are shown by a range of days; without days, drop them."""
        answer, view = self.answer, self._view
        if answer is None or answer.contents is None or not answer.contents.choices.column:
            return
        column = answer.contents.choices.column
        try:
            others, _ = split_ranges(view.where, column)
            where = (*others, f"{column}={write_date_range(first[:10], last[:10])}") if first or last else others
        except ReadError as error:
            self._context.notify(f"{error}.", "warning")
            return
        zoomed = view.zoomed if first or last else "hidden"
        view.param.update(where=where, zoomed=zoomed, table_page=1)

    @on("kind")
    def _change_kind(self, column: str, value: str) -> None:
        """Change the kind of a column; all pages that show the corpus hear of it."""
        context, row = self._context, self._context.feed.run(self._view.run)
        if row is None or value not in KINDS:
            return

        def receive(changed: CorpusColumn) -> None:
            context.notify(
                f"{changed.name} is of kind {changed.kind}: {changed.filled:,} documents have one.", "success"
            )

        def restore() -> None:
            self.board.html += " "  # counts as changed, so that the choice shows the kind of before

        context.aside(partial(context.actions.change_kind, row.corpus, column[:200], value), receive, restore)
