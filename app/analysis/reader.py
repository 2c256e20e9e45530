"""One reader of results for pages, commands, library, tables, figures and reports: topics, documents and trends.

The spread of the topics themselves: shares of documents under samples that a run has kept.

The topics of the snapshots of the second half of a run are draws of its chain.  Documents are placed under several of
them, and how far the share of a group moves from one to the next is what the topics add to its interval (the method of
composition, :mod:`engine.lens.intervals`).  As everything that comes from one chain, it does not know other starts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import DateRange, FilterSources, parse_condition, select_by_conditions, split_ranges
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy
from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import LayerUse, explain_no_shares, find_shares, find_strongest_topics
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.analysis.trends import (
    GroupFigure,
    TimeFigure,
    choose_column,
    group_documents,
    measure_by_group,
    measure_over_time,
)
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.jobs.records import restore_state
from topiary.app.jobs.shares import BLOCK, infer_shares
from topiary.app.names import IntervalKind
from topiary.engine.contract import Array, AveragingKernel, Counts, IntArray
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.moments import SampledShares, Weighting
from topiary.store import columns, corpora, snapshots
from topiary.store.corpus_rows import CATEGORY, DATE, NUMBER, CorpusColumn, CorpusRow
from topiary.store.database import Database
from topiary.store.errors import NotFound
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

MOST_SAMPLES, LEAST_SAMPLES = 8, 3
MOST_DOCUMENTS = 4_000  # that are placed under every sample, evenly chosen; shares of groups move alike in the others


class TopicSamples(NamedTuple):
    """Shares of the topics of every layer in some documents: their numbers (n,), and tables (S, n, K_l) float32."""

    documents: IntArray
    layers: tuple[Array, ...]

    def add_to(self, use: LayerUse, layer: int) -> LayerUse:
        """Return the shares of a layer with these samples."""
        return use._replace(samples=SampledShares(self.documents, self.layers[layer - 1]))

    @property
    def size(self) -> int:
        """Size of the arrays in bytes."""
        return sum(int(array.nbytes) for array in (self.documents, *self.layers))


def sample_topics(db: Database, run: RunRow, snapshot: SnapshotRow) -> TopicSamples:
    """Place documents under the topics of several snapshots of the second half of a run; takes seconds to a minute.

    Parameters
    ----------
    db : Database
    run : RunRow
    snapshot : SnapshotRow
        The newest one that may be used.

    Raises
    ------
    ReadError
        If there are fewer than three with topics that are samples, or the model draws none.
    """
    inference = open_inference(db, run, snapshot)
    if not isinstance(inference.kernel, AveragingKernel):
        raise ReadError(f"model {run.model} draws no samples of its topics, so their spread is not known")
    rows = _list_late(db, run, snapshot)
    if len(rows) < LEAST_SAMPLES:
        raise ReadError(
            f"the spread of the topics takes {LEAST_SAMPLES} snapshots of the second half of the run, and run "
            f"{run.number} has {len(rows)}"
        )
    corpus = inference.corpus
    numbers = np.unique(np.linspace(0, corpus.documents - 1, min(corpus.documents, MOST_DOCUMENTS)).astype(np.int64))
    blocks = [numbers[first : first + BLOCK] for first in range(0, len(numbers), BLOCK)]
    batches = [Counts(*corpora.read_counts(db, corpus.number, block.tolist())).batch(block) for block in blocks]
    placed = []
    for row in rows:
        state = restore_state(inference.kernel, run.seed, snapshots.load_snapshot(db, row.number))
        parts = [infer_shares(inference.kernel, run.seed, state, batch) for batch in batches]
        placed.append([np.concatenate(layer).astype(np.float32) for layer in zip(*parts, strict=True)])
    return TopicSamples(numbers, tuple(np.stack(tables) for tables in zip(*placed, strict=True)))


def _list_late(db: Database, run: RunRow, snapshot: SnapshotRow) -> list[SnapshotRow]:
    """Return snapshots of the second half of a run up to one of them, of the same topics, evenly chosen."""
    late = {
        row.minibatch: row
        for row in snapshots.list_snapshots(db, run.number)
        if snapshot.minibatch / 2 < row.minibatch <= snapshot.minibatch
    }
    shapes = snapshots.read_shapes(db, snapshot.number)
    topics = {name: shape for name, shape in shapes.items() if name.startswith(("phi.", "names."))}
    chosen = sorted(snapshots.choose_evenly(late, MOST_SAMPLES))
    return [
        late[minibatch]
        for minibatch in chosen
        if topics.items() <= snapshots.read_shapes(db, late[minibatch].number).items()
    ]


RangeView: TypeAlias = Literal["selected", "among others", "alone"]
TIME, GROUPS = (DATE,), (CATEGORY, NUMBER)  # kinds of columns over which and by which topics are measured


class TrendQuestion(NamedTuple):
    """Which topics are measured over time or by group, as every front asks it.

    Attributes
    ----------
    kinds : tuple of str
        `TIME` or `GROUPS`.
    column : str
        Name of the column of dates or groups; by default the first one of a fitting kind.
    nodes : sequence of Node
        Topics over time; by default the most popular ones.
    most_changed : int
        If not 0, topics over time are those that changed most beyond chance, at most so many.
    unit : str or None
        Length of the periods; None to choose it by density.
    moving : int
        Odd number of periods of the moving mean.
    by : "tokens" or "documents"
        Weight of a document.
    range_view : {"selected", "among others", "alone"}
        What a condition on the dates does to time: only documents in the range are in the periods; all others are too,
        and topics grow and shrink in the range; or the periods are those of the range.
    group, against : str
        The group that is compared, "" for each; and the one that it is compared with, "" for all others.
    """

    kinds: tuple[str, ...]
    layer: int
    column: str = ""
    nodes: Sequence[Node] = ()
    unit: str | None = None
    moving: int = 1
    by: Weighting = "tokens"
    range_view: RangeView = "selected"
    group: str = ""
    against: str = ""
    most_changed: int = 0


class TrendFigure(NamedTuple):
    """Topics over time or by group of the documents of a selection; ``picked`` is the range of dates selected."""

    column: CorpusColumn
    over_time: TimeFigure | None = None
    by_group: GroupFigure | None = None
    picked: DateRange | None = None


@dataclass(frozen=True)
class RunDocuments:
    """The documents of a corpus that meet conditions, with their columns and the shares of topics in them.

    Attributes
    ----------
    hierarchy : Hierarchy or None
        The topics whose shares are read.
    sources : FilterSources
        Read values of columns and shares, each once.
    select : (where) -> mask or None
    selected : (documents,) bool array or None
        Which documents meet the conditions ``where``; None for all.
    """

    corpus: CorpusRow
    hierarchy: Hierarchy | None
    sources: FilterSources
    where: tuple[str, ...]
    select: Callable[[Sequence[str]], Array | None]
    selected: Array | None

    @property
    def count(self) -> int:
        """The number of documents selected."""
        return self.corpus.documents if self.selected is None else int(self.selected.sum())

    def measure(self, question: TrendQuestion) -> TrendFigure:
        """Measure topics over time or by group.

        Raises
        ------
        ReadError
            If there is no fitting column, or there are too many periods.
        NotFound
            If there is no column of this name, or shares are not stored.
        """
        if self.hierarchy is None:
            raise ReadError("there are no topics yet, so nothing is measured")
        column = choose_column(self.sources.columns, question.kinds, question.column)
        use, values = self.sources.read_use(question.layer), self.sources.read_column(column)
        if question.kinds != TIME:
            by_group = measure_by_group(
                self.hierarchy, question.layer, use, group_documents(column, values), by=question.by,
                selected=self.selected, group=question.group, against=question.against,
            )  # fmt: skip
            return TrendFigure(column, by_group=by_group)
        picked, shown = self._split_range(column, question.range_view)
        try:
            over_time = measure_over_time(
                self.hierarchy, question.layer, use, values, nodes=question.nodes, unit=question.unit,
                moving=question.moving, by=question.by, selected=self.selected, shown=shown,
                zoomed=question.range_view == "alone", most_changed=question.most_changed,
            )  # fmt: skip
        except ValueError as error:  # there are too many periods
            raise ReadError(str(error)) from error
        return TrendFigure(column, over_time, picked=picked)

    def _split_range(self, column: CorpusColumn, view: RangeView) -> tuple[DateRange | None, Array | None]:
        """Return the range of dates that is selected, and the documents of the periods if they are others."""
        others, picked = split_ranges(self.where, column.name)
        if picked is None or view != "among others":
            return picked, None
        shown = self.select(others)
        return picked, np.ones(self.corpus.documents, dtype=bool) if shown is None else shown


class StoreReader(TopicReader):
    """What a store says of runs and corpora, the same for every front."""

    def documents(
        self,
        corpus: CorpusRow,
        hierarchy: Hierarchy | None,
        where: Sequence[str] = (),
        *,
        interval: IntervalKind = "documents",
        latest: bool = False,
    ) -> RunDocuments:
        """Return the documents of a corpus that meet conditions.

        Parameters
        ----------
        hierarchy : Hierarchy or None
            Topics of a run on it, whose shares are read.
        where : sequence of str
            Conditions (`app.analysis.filters`).
        interval : "documents" or "topics"
            Whether intervals of shares have the differences between documents, or also those between samples of the
            topics.
        latest : bool
            Whether conditions on shares may use the newest topics with shares in the place of these, as by `place`.

        Raises
        ------
        ReadError
            If a condition means nothing in this corpus.
        NotFound
            If there is no such column, or shares that a condition needs are not stored.
        """
        sources = _open_sources(self, corpus, hierarchy, interval)

        def select(texts: Sequence[str]) -> Array | None:
            conditions = [parse_condition(text) for text in texts]
            chosen = sources
            if latest and hierarchy is not None and any(condition.node is not None for condition in conditions):
                placed = self.place(hierarchy, latest=True).hierarchy
                chosen = sources if placed is hierarchy else _open_sources(self, corpus, placed, "documents")
            return select_by_conditions(chosen, conditions, corpus.documents)

        return RunDocuments(corpus, hierarchy, sources, tuple(where), select, select(where))


def _open_sources(
    reader: TopicReader, corpus: CorpusRow, hierarchy: Hierarchy | None, interval: IntervalKind
) -> FilterSources:
    """Return what reads the columns of a corpus, and the shares of topics in its documents, each once."""

    @cache
    def read_values(column: CorpusColumn) -> Array:
        key = (corpus.number, corpus.documents, column)
        return reader.fetch("columns", key, partial(columns.read_column, reader.db, corpus, column))

    @cache
    def read_shares(layer: int) -> LayerUse:
        if hierarchy is None:
            raise NotFound("there are no topics yet, so their shares in documents are not known")
        run = reader.find_run(hierarchy.run)
        found = find_shares(reader.db, run, hierarchy.snapshot)
        if found is None:
            raise NotFound(explain_no_shares(run, hierarchy))
        use = reader.read_use(found, layer)
        return use if interval == "documents" else _add_samples(reader, run, hierarchy, use, layer)

    @cache
    def find_strongest(layer: int) -> Array:
        use = read_shares(layer)
        roles = () if hierarchy is None else hierarchy.roles[layer - 1]
        return find_strongest_topics(use.layer, np.array([role == BACKGROUND for role in roles], dtype=bool))

    place = hierarchy.place if hierarchy is not None else lambda node: node.column
    offered = list_columns(reader.db, corpus)
    return FilterSources(
        offered, read_values, read_shares, place, lambda number: reader.map_of(number).positions, find_strongest
    )


def _add_samples(reader: TopicReader, run: RunRow, hierarchy: Hierarchy, use: LayerUse, layer: int) -> LayerUse:
    from topiary.app.analysis.reader import sample_topics  # loads the compiler

    snapshot = find_snapshot(reader.db, run.number, hierarchy.snapshot)
    samples = reader.fetch("samples", snapshot.number, partial(sample_topics, reader.db, run, snapshot))
    return samples.add_to(use, layer)
