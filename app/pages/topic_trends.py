"""Topics over time and by group for the panel of Explore: measured as on Trends, in another thread."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.reader import GROUPS, TIME, RunDocuments, TrendQuestion
from topiary.app.analysis.trends import GroupFigure
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.pages.filters import find_placed, open_documents
from topiary.app.pages.measured import offer_columns
from topiary.app.pages.session import Context
from topiary.app.pages.topic_documents import TopicReading
from topiary.app.views.explore.detail import GroupShare, TopicTrend
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.errors import StoreError

_LEAST_DOCUMENTS = 25  # of a group, unless all groups have fewer
_MOST_GROUPS = 4


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
