"""What runs and snapshots say: topics, those with shares of documents, and comparisons, without loading a compiler."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from topiary.app.analysis.comparison import Comparison, compare
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.read_hierarchy import find_snapshot, find_snapshot_at, read_hierarchy, read_words
from topiary.app.analysis.seeds import (
    SeedBaseline,
    SeedGroup,
    are_equally_trained,
    choose_most_seeds,
    compare_estimates,
    describe_seeds,
    differ_only_in_seed,
    find_nearest_snapshot,
    find_seed_group,
    list_decisions,
    list_seed_pairs,
    measure_group,
)
from topiary.app.analysis.shares import (
    LayerUse,
    RankedDocuments,
    describe_placed,
    explain_documents,
    find_newest_shares,
    find_placed_snapshot,
    find_shares,
    order_documents,
    read_use,
)  # fmt: skip
from topiary.app.jobs.estimates import read_latest
from topiary.app.names import name_step
from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy.align import Recurrence
from topiary.engine.hierarchy.tree import Node
from topiary.store import edits, runs, snapshots
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import DamagedArrays, DamagedSnapshot, NotFound
from topiary.store.run_rows import RunRow
from topiary.store.shares import ShareSet
from topiary.store.snapshots import MapFacts, SnapshotRow

if TYPE_CHECKING:
    from topiary.app.analysis.journal import JournalEntry
    from topiary.engine.document_map.areas import BoundedMap
    from topiary.engine.lens.typical import BadlyExplained, WordSums

Answer = TypeVar("Answer")


class ReaderMemory(Protocol):
    """A memory of large answers, such as that which the sessions of a server share."""

    def fetch(self, kind: str, key: Hashable, make: Callable[[], Answer]) -> Answer:
        """Return the answer of a kind that is known under a key, or make it and keep it."""


class _ShortMemory:
    """The memory of a command: the last words of a corpus, and the last shares of a layer."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Hashable, Any]] = {}

    def fetch(self, kind: str, key: Hashable, make: Callable[[], Answer]) -> Answer:
        if kind not in ("words", "uses"):
            return make()
        if kind not in self._last or self._last[kind][0] != key:
            self._last[kind] = key, make()
        return self._last[kind][1]


class PlacedTopics(NamedTuple):
    """The topics whose shares in documents are read.

    Attributes
    ----------
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


class TopicReader:
    """What a store says of runs and corpora, the same for every front.

    Parameters
    ----------
    memory : ReaderMemory, optional
        Remembers large answers; without it, everything is read each time.
    find_run : (number) -> RunRow, optional
        Returns a run that may be some tenths of a second old; without it, its row is read each time.
    """

    def __init__(
        self, db: Database, memory: ReaderMemory | None = None, find_run: Callable[[int], RunRow] | None = None
    ) -> None:
        self.db = db
        self.find_run = partial(runs.get_run, db) if find_run is None else find_run
        self.fetch = (_ShortMemory() if memory is None else memory).fetch

    # ------------------------------------------------------------------ topics

    def hierarchy(self, run: RunRow, snapshot: SnapshotRow) -> Hierarchy:
        """Return the hierarchy of a snapshot."""

        def make() -> Hierarchy:
            words = self.fetch("words", run.corpus, partial(read_words, self.db, run.corpus))
            return read_hierarchy(self.db, run, snapshot, words)

        return self.fetch("hierarchies", (run.number, snapshot.number), make)

    def hierarchy_at(
        self, run: RunRow, minibatch: int | None = None, *, npmi: bool = False, seeds: bool = False
    ) -> Hierarchy:
        """Return the hierarchy of the newest whole snapshot, or of the newest one at or before a mini-batch.

        Parameters
        ----------
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

    def edits(self, run: RunRow) -> "list[JournalEntry]":
        """Return the journal of a run, oldest first: the edits of its topics."""
        from topiary.app.analysis.journal import make_entries  # loads models, which most readers do without

        words = self.fetch("words", run.corpus, partial(read_words, self.db, run.corpus))
        return make_entries(edits.list_edits(self.db, run.number), words.vocabulary)

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
        run = self.find_run(hierarchy.run)
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
        return find_shares(self.db, self.find_run(run), snapshot)

    def read_use(self, found: ShareSet, layer: int) -> LayerUse:
        """Return the shares of the topics of a layer in all documents; NotFound or DamagedArrays as `read_use`."""
        key = (found.snapshot, found.documents, found.created, layer)
        return self.fetch("uses", key, partial(read_use, self.db, found, layer))

    def explain(self, found: ShareSet, corpus: CorpusRow, hierarchy: Hierarchy) -> "BadlyExplained":
        """Return the documents that the topics explain badly (:func:`app.analysis.shares.explain_documents`)."""
        key = (found.snapshot, found.documents, found.created)
        return self.fetch(
            "explained", key, lambda: explain_documents(self.db, corpus, hierarchy, self.read_use(found, 1))
        )

    def rank(self, hierarchy: Hierarchy, node: Node, selected: Array | None = None) -> RankedDocuments:
        """Return the documents that use a topic most, of all or of those ``selected`` (N,), most first.

        If shares are not stored, or are damaged, they are chosen from the examples in the snapshot.
        """
        found = self.find_shares(hierarchy.run, hierarchy.snapshot)
        if found is not None:
            try:
                return order_documents(self.read_use(found, node.layer), hierarchy.place(node), selected)
            except (NotFound, DamagedArrays):
                pass
        uses = hierarchy.uses(node)
        if selected is not None:
            uses = [use for use in uses if use.document < len(selected) and selected[use.document]]
        numbers, shares = ([use[place] for use in uses] for place in (0, 1))
        return RankedDocuments(np.array(numbers, dtype=np.int64), np.array(shares))

    def map_of(self, snapshot: int, facts: MapFacts | None = None) -> "BoundedMap":
        """Return the map of documents under a snapshot as it is drawn, with its ``facts`` if they have been read."""
        from topiary.engine.document_map.areas import bound_map  # loads the compiler

        key = snapshots.get_facts(self.db, snapshot) if facts is None else facts
        return self.fetch("maps", key, lambda: bound_map(snapshots.load_map(self.db, snapshot).positions))

    def sum_words(self, corpus: CorpusRow, n_words: int) -> "WordSums":
        """Return the sums of the words of all documents of a corpus."""
        from topiary.app.analysis.typical import sum_corpus_words

        key = (corpus.number, corpus.documents)
        return self.fetch("word sums", key, partial(sum_corpus_words, self.db, corpus, n_words))

    # ------------------------------------------------------------- comparisons

    def compare(self, a: Hierarchy, b: Hierarchy) -> Comparison:
        """Match two hierarchies, respecting the decisions of analysts; ValueError when they share no word."""
        decisions = list_decisions(self.db, a.run, b.run)

        def match() -> tuple[object, ...]:
            comparison = compare(a, b, decisions)
            return comparison.alignment, comparison.shared_words

        key = (a.run, a.snapshot, b.run, b.snapshot, decisions)
        return Comparison(a, b, *self.fetch("matches", key, match))  # type: ignore[arg-type]

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

        return group, self.fetch("recurrences", (hierarchy.snapshot, group.snapshots, decisions), measure)

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
