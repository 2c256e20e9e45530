"""What runs, corpora and snapshots say: one reader for pages, commands, library, tables, figures and reports."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from topiary.app.analysis.comparison import Comparison, compare
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import DateRange, FilterSources, parse_condition, select_by_conditions, split_ranges
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import find_snapshot
from topiary.app.analysis.partners import (
    are_equally_trained,
    differ_only_in_seed,
    find_nearest_snapshot,
    list_decisions,
    list_seed_pairs,
)
from topiary.app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from topiary.app.analysis.recurrence import SeedGroup, choose_most_seeds, find_seed_group, measure_group
from topiary.app.analysis.seeds import SeedBaseline, compare_estimates, describe_seeds
from topiary.app.analysis.shares import (
    LayerUse,
    RankedDocuments,
    describe_placed,
    explain_documents,
    explain_no_shares,
    find_newest_shares,
    find_placed_snapshot,
    find_shares,
    order_documents,
    read_use,
)  # fmt: skip
from topiary.app.analysis.trends import (
    GroupFigure,
    TimeFigure,
    choose_column,
    group_documents,
    measure_by_group,
    measure_over_time,
)
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.jobs.estimates import read_latest
from topiary.app.jobs.plan import name_step
from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy.recurrence import Recurrence
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.explained import BadlyExplained
from topiary.engine.lens.moments import Weighting
from topiary.engine.lens.typical import WordSums
from topiary.store import columns, corpora, document_maps, runs
from topiary.store.column_rows import CATEGORY, DATE, NUMBER, CorpusColumn
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.document_maps import MapFacts, StoredMap
from topiary.store.errors import DamagedArrays, DamagedSnapshot, NotFound
from topiary.store.run_rows import RunRow
from topiary.store.shares import ShareSet
from topiary.store.snapshots import SnapshotRow

Answer = TypeVar("Answer")
IntervalKind: TypeAlias = Literal["documents", "topics"]  # of which differences intervals are: topics has both
RangeView: TypeAlias = Literal["selected", "among others", "alone"]
TIME, GROUPS = (DATE,), (CATEGORY, NUMBER)  # kinds of columns over which and by which topics are measured


class Memory(Protocol):
    """A memory of large answers, such as that which the sessions of a server share."""

    def fetch(self, kind: str, key: Hashable, make: Callable[[], Answer]) -> Answer:
        """Return the answer of a kind that is known under a key, or make it and keep it."""


class _ShortMemory:
    """The memory of a command: the words of a corpus, which all its runs have in common."""

    def __init__(self) -> None:
        self._words: dict[Hashable, object] = {}

    def fetch(self, kind: str, key: Hashable, make: Callable[[], Answer]) -> Answer:
        if kind != "words":
            return make()
        if key not in self._words:
            self._words[key] = make()
        return self._words[key]  # type: ignore[return-value]


class PlacedTopics(NamedTuple):
    """The topics whose shares in documents are read.

    Attributes
    ----------
    hierarchy : Hierarchy
    shares : ShareSet or None
        None where they are not known.
    note : str
        A sentence if these are not the newest topics; may be empty.
    moment : str
        The step that they are of, in the same case; may be empty.
    """

    hierarchy: Hierarchy
    shares: ShareSet | None
    note: str = ""
    moment: str = ""

    def move_shares(self, newest: Hierarchy, layer: int, shares: FloatArray) -> FloatArray:
        """Return shares of the topics of a layer, (K,), in the columns of the newest topics; new topics have 0."""
        if newest is self.hierarchy:
            return shares
        moved = np.zeros(newest.widths[layer - 1])
        for node in filter(self.hierarchy.has, newest.nodes(layer)):
            moved[newest.place(node)] = shares[self.hierarchy.place(node)]
        return moved


class TrendQuestion(NamedTuple):
    """Which topics are measured over time or by group, as every front asks it.

    Attributes
    ----------
    kinds : tuple of str
        `TIME` or `GROUPS`.
    layer : int
    column : str
        Name of the column of dates or groups; by default the first one of a fitting kind.
    nodes : sequence of Node
        Topics over time; by default the most popular ones.
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
    corpus : CorpusRow
    hierarchy : Hierarchy or None
        The topics whose shares are read.
    sources : FilterSources
        Read values of columns and shares, each once.
    where : tuple of str
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
                zoomed=question.range_view == "alone",
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


class Reader:
    """What a store says of runs and corpora, the same for every front.

    Parameters
    ----------
    db : Database
    memory : Memory, optional
        Remembers large answers; without it, everything is read each time.
    """

    def __init__(self, db: Database, memory: Memory | None = None) -> None:
        self.db = db
        self._fetch = (_ShortMemory() if memory is None else memory).fetch

    # ------------------------------------------------------------------ topics

    def hierarchy(self, run: RunRow, snapshot: SnapshotRow) -> Hierarchy:
        """Return the hierarchy of a snapshot."""

        def make() -> Hierarchy:
            words = self._fetch("words", run.corpus, partial(corpora.read_vocabulary, self.db, run.corpus))
            return read_hierarchy(self.db, run, snapshot, words)

        return self._fetch("hierarchies", (run.number, snapshot.number), make)

    def hierarchy_at(
        self, run: RunRow, minibatch: int | None = None, *, npmi: bool = False, seeds: bool = False
    ) -> Hierarchy:
        """Return the hierarchy of the newest whole snapshot, or of the newest one at or before a mini-batch.

        Parameters
        ----------
        run : RunRow
        minibatch : int, optional
        npmi : bool, default=False
            Compute the NPMI of topics from the corpus if the snapshot lacks it.
        seeds : bool, default=False
            Measure what comes back in runs with other seeds, if there are any.

        Raises
        ------
        NotFound
            When there is no such snapshot.
        """
        hierarchy = self.hierarchy(run, find_snapshot_at(self.db, run, minibatch))
        if seeds:
            hierarchy = self.add_recurrence(run, hierarchy)
        if not npmi:
            return hierarchy
        from topiary.app.analysis.quality import add_npmi

        return add_npmi(self.db, run, hierarchy)

    def placed_at(self, run: RunRow, minibatch: int | None = None) -> PlacedTopics:
        """Return the topics at or before a mini-batch; by default the newest ones with shares of documents.

        While a run trains, these are earlier ones than the newest, which are returned if none have shares.
        """
        newest, chosen = find_snapshot_at(self.db, run, minibatch), find_placed_snapshot(self.db, run, minibatch)
        return self._describe_placed(
            run, self.hierarchy(run, chosen), newest.minibatch, find_shares(self.db, run, chosen.number)
        )

    def place(self, hierarchy: Hierarchy, *, latest: bool) -> PlacedTopics:
        """Return the topics whose shares are read in the place of others; this waits for the store.

        They are the same if their shares are stored.  If not, and the ``latest`` ones are wanted, they are the newest
        ones of the run that have shares: while it trains, all documents are placed every now and then.
        """
        run = runs.get_run(self.db, hierarchy.run)
        found = find_shares(self.db, run, hierarchy.snapshot)
        if found is not None or not latest or (found := find_newest_shares(self.db, run)) is None:
            return PlacedTopics(hierarchy, found)
        try:
            placed = self.hierarchy(run, find_snapshot(self.db, run.number, found.snapshot))
        except (NotFound, DamagedSnapshot):
            return PlacedTopics(hierarchy, None)
        return self._describe_placed(run, placed, hierarchy.minibatch, found)

    def _describe_placed(self, run: RunRow, placed: Hierarchy, newest: int, found: ShareSet | None) -> PlacedTopics:
        note = describe_placed(run, placed.minibatch, newest)
        return PlacedTopics(placed, found, note, f"{name_step(run)} {placed.minibatch:,}" if note else "")

    # --------------------------------------------------------------- documents

    def find_shares(self, run: int, snapshot: int) -> ShareSet | None:
        """Return the stored shares under a snapshot of a run; None if there are none that are valid."""
        return find_shares(self.db, runs.get_run(self.db, run), snapshot)

    def read_use(self, found: ShareSet, layer: int) -> LayerUse:
        """Return the shares of the topics of a layer in all documents; NotFound or DamagedArrays as `read_use`."""
        key = (found.snapshot, found.documents, found.created, layer)
        return self._fetch("uses", key, partial(read_use, self.db, found, layer))

    def explain(self, found: ShareSet, corpus: CorpusRow, hierarchy: Hierarchy) -> BadlyExplained:
        """Return the documents that the topics explain badly (:func:`app.analysis.shares.explain_documents`)."""
        key = (found.snapshot, found.documents, found.created)
        return self._fetch(
            "explained", key, lambda: explain_documents(self.db, corpus, hierarchy, self.read_use(found, 1))
        )

    def rank(self, hierarchy: Hierarchy, node: Node, selected: Array | None = None) -> RankedDocuments | None:
        """Return the documents that use a topic most (:func:`app.analysis.shares.order_documents`).

        None if their shares are not stored, or are damaged.
        """
        found = self.find_shares(hierarchy.run, hierarchy.snapshot)
        if found is None:
            return None
        try:
            return order_documents(self.read_use(found, node.layer), hierarchy.place(node), selected)
        except (NotFound, DamagedArrays):
            return None

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
        corpus : CorpusRow
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
        sources = self._open_sources(corpus, hierarchy, interval)

        def select(texts: Sequence[str]) -> Array | None:
            conditions = [parse_condition(text) for text in texts]
            chosen = sources
            if latest and hierarchy is not None and any(condition.node is not None for condition in conditions):
                placed = self.place(hierarchy, latest=True).hierarchy
                chosen = sources if placed is hierarchy else self._open_sources(corpus, placed, "documents")
            return select_by_conditions(chosen, conditions, corpus.documents)

        return RunDocuments(corpus, hierarchy, sources, tuple(where), select, select(where))

    def _open_sources(self, corpus: CorpusRow, hierarchy: Hierarchy | None, interval: IntervalKind) -> FilterSources:
        """Return what reads the columns of a corpus, and the shares of topics in its documents, each once."""

        @cache
        def read_values(column: CorpusColumn) -> Array:
            key = (corpus.number, corpus.documents, column)
            return self._fetch("columns", key, partial(columns.read_column, self.db, corpus, column))

        @cache
        def read_shares(layer: int) -> LayerUse:
            if hierarchy is None:
                raise NotFound("there are no topics yet, so their shares in documents are not known")
            run = runs.get_run(self.db, hierarchy.run)
            found = find_shares(self.db, run, hierarchy.snapshot)
            if found is None:
                raise NotFound(explain_no_shares(run, hierarchy))
            use = self.read_use(found, layer)
            return use if interval == "documents" else self._add_samples(run, hierarchy, use, layer)

        place = hierarchy.place if hierarchy is not None else lambda node: node.column
        offered = list_columns(self.db, corpus)
        return FilterSources(offered, read_values, read_shares, place, lambda number: self.map_of(number).positions)

    def _add_samples(self, run: RunRow, hierarchy: Hierarchy, use: LayerUse, layer: int) -> LayerUse:
        """Return shares of a layer with those under samples of the topics."""
        from topiary.app.analysis.topic_samples import sample_topics  # loads the compiler

        snapshot = find_snapshot(self.db, run.number, hierarchy.snapshot)
        samples = self._fetch("samples", snapshot.number, partial(sample_topics, self.db, run, snapshot))
        return samples.add_to(use, layer)

    def map_of(self, snapshot: int, facts: MapFacts | None = None) -> StoredMap:
        """Return the map of documents under a snapshot, with its ``facts`` if they have been read."""
        key = document_maps.get_facts(self.db, snapshot) if facts is None else facts
        return self._fetch("maps", key, partial(document_maps.load_map, self.db, snapshot))

    def sum_words(self, corpus: CorpusRow, n_words: int) -> WordSums:
        """Return the sums of the words of all documents of a corpus."""
        from topiary.app.analysis.typical import sum_corpus_words

        key = (corpus.number, corpus.documents)
        return self._fetch("word sums", key, partial(sum_corpus_words, self.db, corpus, n_words))

    # ------------------------------------------------------------- comparisons

    def compare(self, a: Hierarchy, b: Hierarchy) -> Comparison:
        """Match two hierarchies, respecting the decisions of analysts; ValueError when they share no word."""
        decisions = list_decisions(self.db, a.run, b.run)

        def match() -> tuple[object, ...]:
            comparison = compare(a, b, decisions)
            return comparison.alignment, comparison.shared_words

        key = (a.run, a.snapshot, b.run, b.snapshot, decisions)
        return Comparison(a, b, *self._fetch("matches", key, match))  # type: ignore[arg-type]

    def find_seeds(self, shown: Comparison) -> SeedBaseline:
        """Compare runs that have the settings of either of two compared runs and differ only in their seed."""
        rows = {row.number: row for row in runs.list_runs(self.db)}
        row_a, row_b = rows.get(shown.a.run), rows.get(shown.b.run)
        if row_a is None or row_b is None:
            return SeedBaseline()
        comparisons, names, pairs = [], [], []
        for own, twin in list_seed_pairs(row_a, row_b, rows.values()):
            known = {row_b.number: shown.b, row_a.number: shown.a}.get(own.number)
            first = known or self._find_nearest(own, shown.b.minibatch)
            second = None if first is None else self._find_nearest(twin, first.minibatch)
            if first is not None and second is not None:
                comparisons.append(self.compare(first, second))
                names.append(f"{own.number} and {twin.number}")
                pairs.append((own, twin))
        alone = differ_only_in_seed(row_a, row_b) and are_equally_trained(shown.a.minibatch, shown.b.minibatch)
        estimates = compare_estimates(row_a, row_b, pairs, cache(partial(read_latest, self.db)))
        return SeedBaseline(tuple(comparisons), describe_seeds(names, row_b.number, alone=alone), estimates)

    def recurrence(self, run: RunRow, hierarchy: Hierarchy) -> tuple[SeedGroup, Recurrence | None]:
        """Return the runs with other seeds, and what of a hierarchy comes back in them; None without any."""
        most = choose_most_seeds(hierarchy)
        group = find_seed_group(self.db, run, hierarchy.minibatch, runs.list_runs(self.db), most=most)
        if not group.ready:
            return group, None
        decisions = frozenset((row.number, list_decisions(self.db, run.number, row.number)) for row, _ in group.ready)

        def measure() -> Recurrence:
            others = (self._read_sound(row, snapshot) for row, snapshot in group.ready)
            return measure_group(hierarchy, [each for each in others if each is not None], self.compare)

        return group, self._fetch("recurrences", (hierarchy.snapshot, group.snapshots, decisions), measure)

    def add_recurrence(self, run: RunRow, hierarchy: Hierarchy) -> Hierarchy:
        """Return a hierarchy with what comes back in runs with other seeds; as it is if there are none."""
        _, recurrence = self.recurrence(run, hierarchy)
        return hierarchy if recurrence is None else replace(hierarchy, recurrence=recurrence)

    def _find_nearest(self, run: RunRow, minibatch: int) -> Hierarchy | None:
        """Return the hierarchy of the snapshot nearest to a mini-batch; None if none is near enough and whole."""
        snapshot = find_nearest_snapshot(self.db, run.number, minibatch)
        return None if snapshot is None else self._read_sound(run, snapshot)

    def _read_sound(self, run: RunRow, snapshot: SnapshotRow) -> Hierarchy | None:
        try:
            return self.hierarchy(run, snapshot)
        except DamagedSnapshot:
            return None
