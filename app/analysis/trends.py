"""Topics over time and by group, of the documents that a filter selects, as pages, commands and exports show them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy
from topiary.app.analysis.shares import LayerUse
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.hierarchy.certainty import Interval
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens import groups, periods
from topiary.engine.lens.groups import NumberBins
from topiary.engine.lens.intervals import EffectTable, GroupShares, add_spread
from topiary.engine.lens.moments import DocumentShares, Weighting
from topiary.engine.lens.periods import Periods
from topiary.store.columns import find_column
from topiary.store.corpus_rows import CATEGORY, CorpusColumn

COLUMNS, FEW = 12, 25  # groups that are compared side by side at first, and documents below which a group is not
MOST_GROUPS = 40  # categories that are shown; the others have the fewest documents
MOST_TOPICS = 7  # lines of a picture, as many as there are colours


class TopicSeries(NamedTuple):
    """The share of a topic in every period, (T,), and its 90 % interval; nan without documents."""

    node: Node
    mean: FloatArray
    low: FloatArray
    high: FloatArray


class TopicChange(NamedTuple):
    """How a topic changed over time: its share in the first and in the last third, and their difference.

    Attributes
    ----------
    low, high : float
        90 % interval of the difference.
    sure : float
        The end nearer to 0 of the interval that allows for all topics compared; 0 if the change may be chance.
    """

    node: Node
    before: float
    after: float
    low: float
    high: float
    sure: float

    @property
    def difference(self) -> float:
        """The share in the last third less that in the first."""
        return self.after - self.before


class TimeFigure(NamedTuple):
    """Topics over time.

    Attributes
    ----------
    documents : (T,) int64
    changes : sequence of TopicChange
        Of all topics compared, by popularity.
    compared : int
        Number of topics that were compared.
    missing : int
        Documents without a date among those that are shown.
    compared_documents : (int, int)
        Documents of the first and of the last third.
    samples : int
        Number of samples of the topics whose spread is in the intervals of the series; 0 if they have none.
    """

    periods: Periods
    documents: IntArray
    series: Sequence[TopicSeries]
    changes: Sequence[TopicChange]
    compared: int
    missing: int
    compared_documents: tuple[int, int]
    samples: int = 0

    @property
    def grown(self) -> list[TopicChange]:
        """Topics that grew beyond chance, the surest first."""
        return sorted((each for each in self.changes if each.sure > 0.0), key=lambda each: -each.sure)

    @property
    def shrunk(self) -> list[TopicChange]:
        """Topics that shrank beyond chance, the surest first."""
        return sorted((each for each in self.changes if each.sure < 0.0), key=lambda each: each.sure)


class DocumentGroups(NamedTuple):
    """Groups of documents by a column.

    Attributes
    ----------
    codes : (N,) int32
        Group of every document, -1 without a value or in a group that is not shown.
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
    group, against : int or None
        The group that is compared, None for each; and the one that it is compared with, None for all others.
    contrast : EffectTable
        The differences that ``group`` and ``against`` ask for, (G, K); nan for groups that are not compared.
    samples : int
        Number of samples of the topics whose spread is in ``low`` and ``high``; 0 if they have none.
    """

    groups: DocumentGroups
    nodes: Sequence[Node]
    shares: GroupShares
    low: FloatArray
    high: FloatArray
    effects: EffectTable
    everywhere: FloatArray
    group: int | None
    against: int | None
    contrast: EffectTable
    samples: int = 0


class TopicEffect(NamedTuple):
    """A row of a table of effects: the share of a topic in a group, and its difference, with 90 % intervals.

    Attributes
    ----------
    documents : int
        Documents of the group.
    mean : float
        Share of the topic in the group.
    interval : (float, float)
        Of the mean.
    difference : float
        Share in the group less that in the group, or the groups, it is compared with.
    difference_interval : (float, float)
    beyond : int
        1 or -1 if the difference is above or below 0 beyond chance among all comparisons, else 0.
    """

    node: Node
    group: int
    documents: int
    mean: float
    interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]
    beyond: int


def join_shares(use: LayerUse, n_topics: int) -> DocumentShares:
    """Return the stored shares of a layer in the form in which the engine measures them."""
    return DocumentShares(use.layer.starts, use.layer.topics, use.layer.units, use.layer.rest, use.tokens, n_topics)


def describe_bands(samples: int) -> str:
    """Return what 90 % intervals of shares contain, as every page, figure and table says it."""
    if not samples:
        return "90% intervals from the differences between documents, for the topics as they are"
    return f"90% intervals from the differences between documents and between {samples} samples of the topics"


def count_samples(use: LayerUse) -> int:
    """Return how many samples of the topics are in the intervals of shares; 0 if they have none."""
    return 0 if use.samples is None else len(use.samples.tables)


def find_intervals(
    use: LayerUse, shares: GroupShares, codes: Array, *, by: Weighting, selected: Array | None, moving: int = 1
) -> Interval:
    """Return the intervals of groups of documents, with the spread of the topics where it has been sampled."""
    if use.samples is not None:
        spread = groups.measure_spread(
            use.samples, use.tokens, codes, len(shares.mean), by=by, selected=selected, moving=moving
        )
        shares = add_spread(shares, spread, len(use.samples.tables))
    return shares.find_intervals()


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
    shown: Array | None = None,
    zoomed: bool = False,
    most_changed: int = 0,
) -> TimeFigure:
    """Return the shares of topics of a layer over time.

    Parameters
    ----------
    use : LayerUse
        Shares of the topics of the layer.
    dates : (N,) int64 array
        Milliseconds since 1970, the smallest int64 where the date is missing.
    nodes : sequence of Node, optional
        Topics of the layer; by default the ``MOST_TOPICS`` most popular ones without background topics.
    unit : str, optional
        Unit of the periods; by default it is chosen by density.
    moving : int
        Odd number of periods of the moving mean.
    by : "tokens" or "documents"
    selected : (N,) bool array, optional
        Documents among which topics grow or shrink; by default all.
    shown : (N,) bool array, optional
        Documents of the periods, if these are not the selected ones: a range of dates is seen among the others.
    zoomed : bool
        Whether the periods are those of the shown documents alone, and not of all.
    most_changed : int
        If not 0, the topics are those that changed most beyond chance, at most so many, from rise to fall.

    Raises
    ------
    ValueError
        If there are too many periods.
    """
    shares = join_shares(use, hierarchy.widths[layer - 1])
    n = len(shares.rest)
    dates, selected, shown = dates[:n], *(None if each is None else each[:n] for each in (selected, shown))
    shown = selected if shown is None else shown
    undated = dates == periods.NO_DATE
    dated = dates if shown is None or not zoomed else np.where(shown, dates, periods.NO_DATE)
    cut = periods.cut_periods(dated, unit)
    measured = periods.measure_periods(shares, cut, moving=moving, by=by, selected=shown)
    interval = find_intervals(use, measured, cut.codes, by=by, selected=shown, moving=moving)
    growth = periods.find_growth(shares, dates, by=by, selected=selected)
    changes = [_describe_growth(hierarchy, growth, node) for node in hierarchy.nodes(layer)]
    nodes = choose_changed(changes, most_changed) if most_changed else nodes or choose_topics(hierarchy, layer)
    return TimeFigure(
        periods=cut,
        documents=_count_documents(cut, shares, shown),
        series=[
            TopicSeries(node, measured.mean[:, column], interval.low[:, column], interval.high[:, column])
            for node in nodes
            for column in [hierarchy.place(node)]
        ],
        changes=changes,
        compared=growth.effects.comparisons,
        missing=int(np.count_nonzero(undated if shown is None else undated & shown)),
        compared_documents=(int(growth.thirds.documents[0]), int(growth.thirds.documents[1])),
        samples=count_samples(use),
    )


def choose_topics(hierarchy: Hierarchy, layer: int) -> list[Node]:
    """Return the most popular topics of a layer, without background topics and light ones where there are others."""
    nodes = hierarchy.nodes(layer)
    live = [node for node in nodes if hierarchy.role(node) != BACKGROUND and node not in hierarchy.light]
    return (live or nodes)[:MOST_TOPICS]


def choose_changed(changes: Sequence[TopicChange], most: int) -> list[Node]:
    """Return the topics that changed most beyond chance, at most so many, from the largest rise to the largest fall."""
    surest = sorted((each for each in changes if each.sure), key=lambda each: -abs(each.sure))[:most]
    return [each.node for each in sorted(surest, key=lambda each: -each.difference)]


def choose_column(columns: Sequence[CorpusColumn], kinds: Sequence[str], name: str = "") -> CorpusColumn:
    """Return the column of dates or groups with a name, by default the first one of a fitting kind.

    Raises
    ------
    ReadError
        If the column is of another kind, or there is none of a fitting kind.
    NotFound
        If there is no column of this name.
    """
    needed = " or ".join(kinds)
    fitting = [column for column in columns if column.kind in kinds]
    chosen = find_column(columns, name) if name else next(iter(fitting), None)
    if chosen is None:
        raise ReadError(f"the corpus has no column of kind {needed}; topiary columns lists those it has")
    if chosen not in fitting:
        raise ReadError(f"column {chosen.name!r} is of kind {chosen.kind}; this needs {needed}")
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
    group: str = "",
    against: str = "",
) -> GroupFigure:
    """Return the shares of the topics of a layer in groups of documents.

    Parameters
    ----------
    use : LayerUse
        Shares of the topics of the layer.
    by : "tokens" or "documents"
    selected : (N,) bool array, optional
    group, against : str
        Names of the group that is compared, and of the one that it is compared with; "" for each, and for all others.
    """
    shares = join_shares(use, hierarchy.widths[layer - 1])
    codes, selected = _cut_documents(shares, found.codes, selected)
    measured = groups.measure_groups(shares, codes, len(found.names), by=by, selected=selected)
    everywhere = groups.measure_groups(shares, np.zeros(len(codes), np.int32), 1, by=by, selected=selected)
    interval = find_intervals(use, measured, codes, by=by, selected=selected)
    effects = groups.tabulate_effects(measured)
    numbers = {name: number for number, name in enumerate(found.names)}
    one, other = numbers.get(group), numbers.get(against)
    other = None if other == one else other
    return GroupFigure(
        found,
        hierarchy.nodes(layer),
        measured,
        interval.low,
        interval.high,
        effects,
        everywhere.mean[0],
        one,
        other,
        _contrast_groups(measured, effects, one, other),
        count_samples(use),
    )


def _contrast_groups(shares: GroupShares, effects: EffectTable, group: int | None, against: int | None) -> EffectTable:
    """Return the differences of a group, or of each, from another one, or from all others."""
    if against is None:
        return effects
    if group is None:
        return groups.tabulate_effects(shares, against)
    pair = groups.compare_groups(shares, group, against)

    def place(row: FloatArray) -> FloatArray:
        table = np.full_like(shares.mean, np.nan)
        table[group] = row
        return table

    interval, simultaneous = (Interval(*map(place, each)) for each in (pair.interval, pair.simultaneous))
    return EffectTable(place(pair.value), interval, simultaneous, shares.documents, pair.comparisons)


def rank_effects(
    hierarchy: Hierarchy, figure: GroupFigure, order: str, topic: Node | None, most: int
) -> tuple[list[TopicEffect], int]:
    """Return the first rows of the table of effects in an order, and the number of all.

    Parameters
    ----------
    order : str
        "sure" (the end of the widened interval nearer to 0), "topic", "group", "mean", "documents" or "difference";
        with "-" before it the other way round.  Numbers begin with the largest.
    topic : Node or None
        The only topic of the table; None for all.
    most : int
        Number of rows returned at most.
    """
    table, mean = figure.contrast, figure.shares.mean
    wanted = np.isfinite(table.value)
    if figure.group is not None:
        wanted[np.arange(len(wanted)) != figure.group] = False
    columns = np.array([hierarchy.place(node) for node in figure.nodes if topic in (None, node)], dtype=np.int64)
    rows, places = np.nonzero(wanted[:, columns])
    cells = rows, columns[places]
    ranks = {
        "topic": places,
        "group": rows,
        "mean": -mean[cells],
        "documents": -figure.shares.documents[rows],
        "difference": -table.value[cells],
    }
    sure = table.sure[cells] if figure.against is None else np.abs(table.sure[cells])
    ranked = ranks.get(order.removeprefix("-"), -sure)
    sizes = -np.abs(table.value[cells])
    chosen = np.lexsort((sizes, -ranked if order.startswith("-") else ranked))[:most]
    found = [describe_effect(hierarchy, figure, int(cells[0][each]), int(cells[1][each])) for each in chosen]
    return found, len(rows)


def describe_effect(hierarchy: Hierarchy, figure: GroupFigure, group: int, column: int) -> TopicEffect:
    """Return the row of the table of effects of a group and of the topic in a column of Phi."""
    layer, table = figure.nodes[0].layer, figure.contrast
    low, high = (float(ends[group, column]) for ends in table.interval)
    return TopicEffect(
        hierarchy.node(layer, column),
        group,
        int(figure.shares.documents[group]),
        float(figure.shares.mean[group, column]),
        (float(figure.low[group, column]), float(figure.high[group, column])),
        float(table.value[group, column]),
        (low, high),
        int(np.sign(table.sure[group, column])),
    )


def choose_groups(figure: GroupFigure, wanted: Sequence[str] = ()) -> list[int]:
    """Return the groups that are compared side by side: those wanted, by their conditions, or the largest ones."""
    chosen = [place for place, condition in enumerate(figure.groups.conditions) if condition in wanted]
    documents = figure.shares.documents
    by_size = np.argsort(-documents, kind="stable").tolist()
    large = [place for place in by_size if documents[place] >= FEW] or by_size
    return chosen or sorted(large[:COLUMNS])


def order_alike(table: FloatArray) -> list[int]:
    """Return an order of the rows of a table in which neighbours are alike, the same for the same table."""
    if len(table) < 3:
        return list(range(len(table)))
    from scipy.cluster.hierarchy import leaves_list, linkage  # slow to load

    return [int(place) for place in leaves_list(linkage(np.nan_to_num(table), "average", optimal_ordering=True))]


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


def _describe_growth(hierarchy: Hierarchy, growth: periods.Growth, node: Node) -> TopicChange:
    column = hierarchy.place(node)
    before, after = (float(growth.thirds.mean[third, column]) for third in (0, 1))
    low, high = (float(ends[column]) for ends in growth.effects.interval)
    return TopicChange(node, before, after, low, high, float(growth.effects.sure[column]))


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
