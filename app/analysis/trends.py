"""Topics over time and by group, of the documents that a filter selects, as pages, commands and exports show them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from app.analysis.hierarchy import BACKGROUND, Hierarchy
from app.analysis.shares import LayerUse
from engine.contract import Array, FloatArray, IntArray
from engine.hierarchy.tree import Node
from engine.lens import groups, periods
from engine.lens.groups import NumberBins
from engine.lens.intervals import EffectTable, GroupShares
from engine.lens.moments import DocumentShares, Weighting
from engine.lens.periods import Periods
from store.column_rows import CATEGORY, CorpusColumn
from store.columns import find_column

MOST_GROUPS = 40  # categories that are shown; the others have the fewest documents
MOST_TOPICS = 7  # lines of a picture, as many as there are colours


class ColumnError(ValueError):
    """An error: a corpus has no column of the kind needed; its message is one sentence."""


class TopicSeries(NamedTuple):
    """The share of a topic in every period, (T,), and its 90 % interval; nan without documents."""

    node: Node
    mean: FloatArray
    low: FloatArray
    high: FloatArray


class GrownTopic(NamedTuple):
    """A topic that grew or shrank beyond chance: share in the first and in the last third, and their difference."""

    node: Node
    before: float
    after: float
    low: float
    high: float


class TimeFigure(NamedTuple):
    """Topics over time.

    Attributes
    ----------
    periods : Periods
    documents : (T,) int64
    series : sequence of TopicSeries
    borders : (T, n + 2) array
        Borders of the areas of the n topics (:func:`engine.lens.periods.stack_shares`).
    grown, shrunk : sequence of GrownTopic
        The surest first.
    compared : int
        Number of topics that were compared.
    missing : int
        Selected documents without a date.
    selected : int
        Selected documents.
    """

    periods: Periods
    documents: IntArray
    series: Sequence[TopicSeries]
    borders: FloatArray
    grown: Sequence[GrownTopic]
    shrunk: Sequence[GrownTopic]
    compared: int
    missing: int
    selected: int


class DocumentGroups(NamedTuple):
    """Groups of documents by a column.

    Attributes
    ----------
    codes : (N,) int32
        Group of every document, -1 without a value or in a group that is not shown.
    names : sequence of str
    conditions : sequence of str
        The condition that selects each group, as `app.analysis.filters` writes it.
    """

    codes: Array
    names: Sequence[str]
    conditions: Sequence[str]


class GroupFigure(NamedTuple):
    """Topics by group.

    Attributes
    ----------
    groups : DocumentGroups
    nodes : sequence of Node
        The topics of the layer, by popularity.
    shares : GroupShares
        Columns are topics as in Phi.
    low, high : (G, K) arrays
        90 % intervals of the shares.
    effects : EffectTable
        Every group less all others, (G, K).
    everywhere : (K,) array
        Shares in all selected documents.
    """

    groups: DocumentGroups
    nodes: Sequence[Node]
    shares: GroupShares
    low: FloatArray
    high: FloatArray
    effects: EffectTable
    everywhere: FloatArray


def join_shares(use: LayerUse, n_topics: int) -> DocumentShares:
    """Return the stored shares of a layer in the form in which the engine measures them."""
    return DocumentShares(use.layer.starts, use.layer.topics, use.layer.units, use.layer.rest, use.tokens, n_topics)


def measure_over_time(
    hierarchy: Hierarchy,
    layer: int,
    use: LayerUse,
    dates: Array,
    *,
    nodes: Sequence[Node] = (),
    unit: str | None = None,
    moving: int = 1,
    by: Weighting = "tokens",
    selected: Array | None = None,
) -> TimeFigure:
    """Return the shares of topics of a layer over time.

    Parameters
    ----------
    hierarchy : Hierarchy
    layer : int
    use : LayerUse
        Shares of the topics of the layer.
    dates : (N,) int64 array
        Milliseconds since 1970, the smallest int64 where the date is missing.
    nodes : sequence of Node, optional
        Topics of the layer, at most ``MOST_TOPICS``; by default the most popular ones without background topics.
    unit : str, optional
        Unit of the periods; by default it is chosen by density.
    moving : int
        Odd number of periods of the moving mean.
    by : "tokens" or "documents"
    selected : (N,) bool array, optional

    Raises
    ------
    ValueError
        If there are too many periods.
    """
    shares = join_shares(use, hierarchy.widths[layer - 1])
    dates, selected = _cut_documents(shares, dates, selected)
    cut = periods.cut_periods(dates, unit)
    measured = periods.measure_periods(shares, cut, moving=moving, by=by, selected=selected)
    interval = measured.find_intervals()
    chosen = list(nodes or choose_topics(hierarchy, layer))[:MOST_TOPICS]
    columns = [hierarchy.place(node) for node in chosen]
    growth = periods.find_growth(shares, dates, by=by, selected=selected)
    rises, falls = (
        [_describe_growth(hierarchy, layer, growth, column) for column in ranked.tolist()]
        for ranked in (growth.effects.rank_increases(), growth.effects.rank_decreases())
    )
    return TimeFigure(
        periods=cut,
        documents=_count_documents(cut, shares, selected),
        series=[
            TopicSeries(node, measured.mean[:, column], interval.low[:, column], interval.high[:, column])
            for node, column in zip(chosen, columns, strict=True)
        ],
        borders=periods.stack_shares(measured, np.array(columns, dtype=np.int64)),
        grown=rises,
        shrunk=falls,
        compared=growth.effects.comparisons,
        missing=growth.missing,
        selected=len(dates) if selected is None else int(np.count_nonzero(selected)),
    )


def choose_topics(hierarchy: Hierarchy, layer: int) -> list[Node]:
    """Return the most popular topics of a layer, without background topics and light ones where there are others."""
    nodes = hierarchy.nodes(layer)
    live = [node for node in nodes if hierarchy.role(node) != BACKGROUND and node not in hierarchy.light]
    return (live or nodes)[:MOST_TOPICS]


def choose_column(columns: Sequence[CorpusColumn], kinds: Sequence[str], name: str = "") -> CorpusColumn:
    """Return the column of dates or groups with a name, by default the first one of a fitting kind.

    Raises
    ------
    ColumnError
        If the column is of another kind, or there is none of a fitting kind.
    NotFound
        If there is no column of this name.
    """
    needed = " or ".join(kinds)
    fitting = [column for column in columns if column.kind in kinds]
    chosen = find_column(columns, name) if name else next(iter(fitting), None)
    if chosen is None:
        raise ColumnError(f"the corpus has no column of kind {needed}; topiary columns lists those it has")
    if chosen not in fitting:
        raise ColumnError(f"column {chosen.name!r} is of kind {chosen.kind}; this needs {needed}")
    return chosen


def group_documents(column: CorpusColumn, values: Array) -> DocumentGroups:
    """Return the groups of documents by a category, the largest first, or by a number, in bins.

    Parameters
    ----------
    column : CorpusColumn
        A category or a number.
    values : (N,) array
    """
    if column.kind == CATEGORY:
        counts = np.bincount(values[values >= 0], minlength=len(column.levels))
        shown = np.argsort(-counts, kind="stable")[:MOST_GROUPS]
        shown = shown[counts[shown] > 0]
        places = np.full(len(column.levels) + 1, -1, dtype=np.int32)
        places[shown] = np.arange(len(shown))
        names = [column.levels[number] for number in shown.tolist()]
        return DocumentGroups(places[values], names, [f"{column.name}={name}" for name in names])
    bins = groups.bin_numbers(values)
    names = [_name_bin(bins, number) for number in range(len(bins.lows))]
    ends = zip(bins.lows.tolist(), bins.highs.tolist(), strict=True)
    return DocumentGroups(bins.codes, names, [f"{column.name}={first!r}..{last!r}" for first, last in ends])


def measure_by_group(
    hierarchy: Hierarchy,
    layer: int,
    use: LayerUse,
    found: DocumentGroups,
    *,
    by: Weighting = "tokens",
    selected: Array | None = None,
) -> GroupFigure:
    """Return the shares of the topics of a layer in groups of documents.

    Parameters
    ----------
    hierarchy : Hierarchy
    layer : int
    use : LayerUse
        Shares of the topics of the layer.
    found : DocumentGroups
    by : "tokens" or "documents"
    selected : (N,) bool array, optional
    """
    shares = join_shares(use, hierarchy.widths[layer - 1])
    codes, selected = _cut_documents(shares, found.codes, selected)
    measured = groups.measure_groups(shares, codes, len(found.names), by=by, selected=selected)
    everywhere = groups.measure_groups(shares, np.zeros(len(codes), np.int32), 1, by=by, selected=selected)
    interval = measured.find_intervals()
    return GroupFigure(
        found,
        hierarchy.nodes(layer),
        measured,
        interval.low,
        interval.high,
        groups.tabulate_effects(measured),
        everywhere.mean[0],
    )


def _cut_documents(shares: DocumentShares, values: Array, selected: Array | None) -> tuple[Array, Array | None]:
    """Return values and selection of the documents whose shares are stored."""
    n = len(shares.rest)
    return values[:n], None if selected is None else selected[:n]


def _count_documents(cut: Periods, shares: DocumentShares, selected: Array | None) -> IntArray:
    """Return the number of documents with words of every period."""
    counted = (cut.codes >= 0) & (np.asarray(shares.tokens) > 0)
    if selected is not None:
        counted &= selected
    return np.bincount(cut.codes[counted], minlength=len(cut.starts) - 1).astype(np.int64)


def _describe_growth(hierarchy: Hierarchy, layer: int, growth: periods.Growth, column: int) -> GrownTopic:
    before, after = (float(growth.thirds.mean[third, column]) for third in (0, 1))
    low, high = (float(ends[column]) for ends in growth.effects.interval)
    return GrownTopic(hierarchy.node(layer, column), before, after, low, high)


def _name_bin(bins: NumberBins, number: int) -> str:
    first, last = float(bins.lows[number]), float(bins.highs[number])
    return f"{first:g}" if first == last else f"{first:g} to {last:g}"


def measure_shares(hierarchy: Hierarchy, layer: int, use: LayerUse, selected: Array | None) -> FloatArray:
    """Return the share of every topic of a layer in the words of the selected documents, (K,).

    Shares under 1 % of a document are spread over the topics in proportion to the others, so that all sum to 1.
    """
    shares = join_shares(use, hierarchy.widths[layer - 1])
    codes, selected = _cut_documents(shares, np.zeros(len(shares.rest), np.int32), selected)
    mean = groups.measure_groups(shares, codes, 1, selected=selected).mean[0]
    total = float(mean.sum())
    return mean / total if total > 0 else mean
