"""What the panel of a topic reads in other threads: its documents and passages, and its shares by time and group.

Names are proposed for it when a visitor asks: phrases of its documents, and those of a language model.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.name_server import NameRequest, write_request
from topiary.app.analysis.passages import TopicPassage, choose_passages, weigh_words
from topiary.app.analysis.reader import GROUPS, TIME, RunDocuments, TrendQuestion
from topiary.app.analysis.trends import GroupFigure
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.ingest.new_documents import find_rules
from topiary.app.pages.filters import find_placed, open_documents
from topiary.app.pages.messages import MessagePart, offer_columns, on
from topiary.app.pages.session import Context
from topiary.app.views.explore.detail import GroupShare, NameOffer, TopicDocument, TopicTrend
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.corpora import Document
from topiary.store.corpus_rows import CorpusRow
from topiary.store.errors import StoreError
from topiary.store.run_rows import RunRow

if TYPE_CHECKING:
    from topiary.app.analysis.topic_names import ProposedName

_SHOWN_DOCUMENTS = 8
_READ_DOCUMENTS = 24  # among which passages are sought
_MOST_CACHED_TOPICS = 200  # topics whose documents are cached
_LEAST_DOCUMENTS = 25  # of a group, unless all groups have fewer
_MOST_GROUPS = 4
_Topic = tuple[int, int, Node]  # run, snapshot and topic


def _find_topic_passages(
    corpus: CorpusRow, hierarchy: Hierarchy, node: Node, documents: Sequence[Document]
) -> dict[int, TopicPassage]:
    """Return the passage of every document that says most of a topic; documents without a text have none."""
    with_text = [document for document in documents if document.text.strip()]
    if not with_text or hierarchy.image_shape is not None:
        return {}
    rules, weights = find_rules(corpus.meta, corpus.kind, hierarchy.vocabulary), weigh_words(hierarchy, node)
    passages = choose_passages(with_text, rules, weights, len(with_text))
    return {passage.document: passage for passage in passages}


# Run, snapshot, topic, state of the run, and the conditions of the view.
TopicKey: TypeAlias = tuple[int, int, Node, str, tuple[str, ...]]


Found = TypeVar("Found")


class TopicReading(ABC, Generic[Found]):
    """Something about topics that is read in other threads and cached."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cached: dict[TopicKey, Found] = {}
        self._pending: set[TopicKey] = set()

    @abstractmethod
    def _read(self, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> Found:
        """Read it; this waits for the store."""

    def of(self, hierarchy: Hierarchy, node: Node, then: Callable[[], None]) -> Found | None:
        """Return what is known of a topic, or None if it must be read first; then call ``then`` after reading."""
        # When a run ends, all documents have been placed, so they are read again.
        where = self._context.view.where
        key = (hierarchy.run, hierarchy.snapshot, node, self._context.feed.state(hierarchy.run), where)
        found = self._cached.get(key)
        if found is None and key not in self._pending:
            self._pending.add(key)
            work = partial(self._read, hierarchy, node, where)
            self._context.later(work, partial(self._receive, key, then), partial(self._fail, key, then))
        return found

    def _fail(self, key: TopicKey, then: Callable[[], None]) -> None:
        self._pending.discard(key)
        then()

    def _receive(self, key: TopicKey, then: Callable[[], None], found: Found) -> None:
        self._pending.discard(key)
        if len(self._cached) >= _MOST_CACHED_TOPICS:
            self._cached.clear()
        self._cached[key] = found
        then()


class TopicDocuments(TopicReading[list[TopicDocument]]):
    """The documents of topics."""

    def _read(self, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> list[TopicDocument]:
        row, reader = self._context.feed.run(hierarchy.run), self._context.reader
        if row is None:
            return []
        if where:
            return self._choose(hierarchy, node, row, where)
        found = reader.find_shares(hierarchy.run, hierarchy.snapshot)  # there may be some that were not there before
        key = hierarchy.run, hierarchy.snapshot, node, found
        return reader.fetch("topic documents", key, lambda: self._choose(hierarchy, node, row, ()))

    def _choose(self, hierarchy: Hierarchy, node: Node, row: RunRow, where: tuple[str, ...]) -> list[TopicDocument]:
        """Return the documents of a topic that meet conditions, those first whose passages say most of it."""
        selected = self._select(hierarchy, row, where)
        placed = hierarchy
        if selected is not None:  # else the newest examples are enough
            placed = find_placed(self._context, hierarchy).hierarchy
        used = placed if placed.has(node) else hierarchy
        uses = self._context.reader.rank(used, node, selected).list_uses(_READ_DOCUMENTS)
        if not uses:
            return []
        corpus = corpora.get_run_corpus(self._context.db, row)
        rows = corpora.read_documents(self._context.db, corpus.number, [use.document for use in uses])
        passages = _find_topic_passages(corpus, hierarchy, node, rows)
        documents = {document.number: document for document in rows}
        read = [
            TopicDocument(
                document.title, document.text, document.label or "", use.weight, document.number,
                passages.get(document.number),
            )
            for use in uses
            if (document := documents.get(use.document)) is not None
        ]  # fmt: skip
        return sorted(read, key=lambda each: -each.passage.score if each.passage is not None else 0.0)[
            :_SHOWN_DOCUMENTS
        ]

    def _select(self, hierarchy: Hierarchy, row: RunRow, where: tuple[str, ...]) -> Array | None:
        """Return which documents meet the conditions; None for all, also if the conditions mean nothing."""
        if not where:
            return None
        try:
            corpus = corpora.get_run_corpus(self._context.db, row)
            return open_documents(self._context, corpus, hierarchy, where).selected
        except (ReadError, StoreError):
            return None


class TopicTrends(TopicReading[TopicTrend]):
    """Topics over time and by group."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._groups: tuple[Any, GroupFigure | None] = (None, None)  # of all topics of a layer, and what they are of

    def _read(self, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> TopicTrend:
        """Measure a topic; without columns of dates or groups, or without shares, nothing is known."""
        context, trend = self._context, TopicTrend()
        with suppress(ReadError, StoreError):
            row, placed = context.feed.run(hierarchy.run), find_placed(context, hierarchy)
            if row is None or placed.shares is None or not placed.hierarchy.has(node):
                return trend
            corpus = corpora.get_run_corpus(context.db, row)
            offered = offer_columns(list_columns(context.db, corpus), "")
            if not (offered.date or offered.group):
                return trend
            documents = open_documents(context, corpus, placed.hierarchy, where)
            if documents.count and offered.date:
                trend = _measure_over_time(trend, documents, node, offered.date)
            if documents.count and offered.group:
                key = hierarchy.run, placed.shares, node.layer, offered.group, where
                if self._groups[0] != key:
                    question = TrendQuestion(GROUPS, node.layer, offered.group)
                    self._groups = key, documents.measure(question).by_group
                groups = _list_groups(placed.hierarchy, self._groups[1], node)
                trend = trend._replace(column=offered.group, groups=groups)
        return trend


def _measure_over_time(trend: TopicTrend, documents: RunDocuments, node: Node, column: str) -> TopicTrend:
    with suppress(ReadError):  # there are too many periods
        figure = documents.measure(TrendQuestion(TIME, node.layer, column, (node,))).over_time
        if figure is not None:
            return trend._replace(unit=figure.periods.unit, series=figure.series[0])
    return trend


def _list_groups(hierarchy: Hierarchy, figure: GroupFigure | None, node: Node) -> Sequence[GroupShare]:
    """Return the groups in which a topic has most, largest first."""
    if figure is None:
        return ()
    place, shares = hierarchy.place(node), figure.shares
    known = [group for group in range(len(figure.groups.names)) if shares.documents[group] > 0]
    large = [group for group in known if shares.documents[group] >= _LEAST_DOCUMENTS] or known
    order = sorted(large, key=lambda group: -float(shares.mean[group, place]))[:_MOST_GROUPS]
    return [
        GroupShare(
            figure.groups.names[group],
            float(shares.mean[group, place]),
            float(figure.low[group, place]),
            float(figure.high[group, place]),
        )
        for group in order
    ]


class _Phrases(TopicReading["tuple[ProposedName, ...]"]):
    """The phrases that are proposed for topics."""

    def _read(self, hierarchy: Hierarchy, node: Node, where: tuple[str, ...]) -> "tuple[ProposedName, ...]":  # noqa: ARG002
        from topiary.app.analysis.topic_names import propose_names  # loads SciPy

        return propose_names(self._context.reader, hierarchy, node.layer).get(node, ())


class NameProposer(MessagePart):
    """Proposes names once a visitor has asked for them; nothing is sent that was not shown before.

    Parameters
    ----------
    find : () -> Hierarchy or None
        Returns the topics on screen.
    changed : () -> None
        Draws the panel again.

    Attributes
    ----------
    is_used : bool
        Whether the visitor has asked for anything; until then every topic is offered the same.
    """

    def __init__(self, context: Context, find: Callable[[], Hierarchy | None], changed: Callable[[], None]) -> None:
        super().__init__(context)
        self._find, self._changed = find, changed
        self.is_used = self._asked = self._sending = False
        self._phrases = _Phrases(context)
        self._shown: tuple[_Topic, NameRequest] | None = None
        self._answers: dict[_Topic, list[str]] = {}

    def offer(self, hierarchy: Hierarchy, node: Node) -> NameOffer:
        """Return what the panel says of names for a topic."""
        topic, shown = (hierarchy.run, hierarchy.snapshot, node), self._shown
        phrases = self._phrases.of(hierarchy, node, self._changed) if self._asked else None
        request = shown[1] if shown is not None and shown[0] == topic else None
        answers = self._answers.get(topic, ())
        return NameOffer(self._asked, phrases, answers, self._context.names, request, self._sending)

    @on("propose-names")
    def _propose(self) -> None:
        self.is_used = self._asked = True
        self._changed()

    @on("name-request")
    def _prepare(self, topic: Node, value: str) -> None:
        """Show what would be sent for a topic: its words, with ``passages`` of its documents or without."""
        hierarchy, server = self._find(), self._context.names
        if hierarchy is not None and server is not None and hierarchy.has(topic):
            work = partial(write_request, server, self._context.reader, hierarchy, topic, passages=value == "passages")
            key = hierarchy.run, hierarchy.snapshot, topic
            self._context.later(work, lambda request: self._show((key, request)))

    @on("close-request")
    def _show(self, shown: tuple[_Topic, NameRequest] | None = None) -> None:
        self.is_used, self._shown = True, shown
        self._changed()

    @on("send-names")
    def _send(self, topic: Node) -> None:
        """Send what is shown of a topic."""
        if self._shown is None or self._shown[0][2] != topic or self._sending:
            return
        key, request = self._shown
        self._sending = True
        self._changed()
        work = partial(self._context.actions.ask_names, key[0], topic, request)
        self._context.aside(work, partial(self._take, key), self._end)

    def _take(self, topic: _Topic, names: list[str]) -> None:
        self._answers[topic], self._shown = names, None
        self._end()

    def _end(self) -> None:
        self._sending = False
        self._changed()
