"""The filters of documents by columns, which several pages share."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.filters import Condition, FilterError, FilterSources, parse_condition, select_by_conditions
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.shares import LayerUse, describe_placed
from topiary.app.analysis.trends import measure_shares
from topiary.app.ingest.column_kinds import list_columns
from topiary.app.jobs.plan import name_step
from topiary.app.pages.components import Message
from topiary.app.pages.session import Context, View
from topiary.engine.contract import Array, FloatArray
from topiary.store import columns, corpora, document_maps, runs
from topiary.store.column_rows import CorpusColumn
from topiary.store.corpus_rows import CorpusRow
from topiary.store.errors import NotFound, StoreError
from topiary.store.shares import ShareSet

_LONGEST = 200  # characters of a condition
_UNFINISHED = ("queued", "running", "paused")  # states of runs whose documents may yet be placed
NO_SHARES = "the shares of the documents are not known yet: they are computed while the run trains, and when it ends"


class PlacedTopics(NamedTuple):
    """The topics whose shares in documents a page reads.

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


def find_placed(context: Context, hierarchy: Hierarchy, snapshot: int) -> PlacedTopics:
    """Return the topics whose shares are read in the place of those on screen; this waits for the store.

    They are the same if their shares are stored.  If not, and no ``snapshot`` is chosen (0), they are the newest ones
    of the run that have shares: while it trains, all documents are placed every now and then.
    """
    known = context.feed.shares
    found = known.find(hierarchy.run, hierarchy.snapshot)
    if found is not None or snapshot or (found := known.find_newest(hierarchy.run)) is None:
        return PlacedTopics(hierarchy, found)
    placed = context.feed.hierarchy(hierarchy.run, found.snapshot)
    if placed is None or placed.snapshot != found.snapshot:  # its snapshot is damaged, or gone
        return PlacedTopics(hierarchy, None)
    row = runs.get_run(context.db, hierarchy.run)
    note = describe_placed(row, placed.minibatch, hierarchy.minibatch)
    return PlacedTopics(placed, found, note, f"{name_step(row)} {placed.minibatch:,}" if note else "")


def open_sources(context: Context, corpus: CorpusRow, hierarchy: Hierarchy | None) -> FilterSources:
    """Return where filters read the columns of a corpus, and the shares of topics in its documents."""

    def read_column(column: CorpusColumn) -> Array:
        key = corpus.number, corpus.documents, column
        return context.feed.columns.fetch(key, lambda: columns.read_column(context.db, corpus, column))

    def read_use(layer: int) -> LayerUse:
        found = None if hierarchy is None else context.feed.shares.find(hierarchy.run, hierarchy.snapshot)
        if found is None:
            raise NotFound(explain_no_shares(context, hierarchy))
        return context.feed.shares.read(found, layer)

    def read_positions(snapshot: int) -> Array:
        facts = document_maps.get_facts(context.db, snapshot)
        return context.feed.maps.fetch(facts, partial(document_maps.load_map, context.db, snapshot)).positions

    place = hierarchy.place if hierarchy is not None else lambda node: node.column
    return FilterSources(list_columns(context.db, corpus), read_column, read_use, place, read_positions)


def explain_no_shares(context: Context, hierarchy: Hierarchy | None) -> str:
    """Return why shares cannot be read, as the beginning of a sentence."""
    if hierarchy is None or (not context.view.snapshot and context.feed.state(hierarchy.run) in _UNFINISHED):
        return NO_SHARES
    return (
        "the shares of the documents under these topics are not stored; "
        f"topiary place {hierarchy.run} computes those under the newest topics"
    )


def read_selection(
    context: Context, corpus: CorpusRow, hierarchy: Hierarchy | None, where: tuple[str, ...]
) -> Array | None:
    """Return which documents meet all conditions, as a mask; None without conditions.

    Shares of topics are read as by `find_placed`.

    Raises
    ------
    FilterError, NotFound
        If a condition means nothing in this corpus, or shares that it needs are not known.
    """
    if not where:
        return None
    conditions = [parse_condition(text) for text in where]
    if hierarchy is not None and any(condition.node is not None for condition in conditions):
        hierarchy = find_placed(context, hierarchy, context.view.snapshot).hierarchy
    return select_by_conditions(open_sources(context, corpus, hierarchy), conditions, corpus.documents)


def handle_filter(view: View, message: Message) -> bool:
    """Add or remove a condition that a message asks for; return False if it asks for nothing of the kind."""
    match message:
        case {"do": "filter", "form": {"column": str(column), "value": str(value)}}:
            add_condition(view, str(Condition(column[: _LONGEST // 2], value.strip()[: _LONGEST // 2])))
        case {"do": "unfilter", "value": str(text)}:
            view.param.update(where=tuple(each for each in view.where if each != text), table_page=1)
        case _:
            return False
    return True


def add_condition(view: View, text: str) -> None:
    """Add a condition to those of the view."""
    if "=" in text[1:] and text not in view.where:
        view.param.update(where=(*view.where, text[:_LONGEST]), table_page=1)


class SelectedShares(NamedTuple):
    """The shares of topics in the documents that meet the conditions of a view.

    Attributes
    ----------
    snapshot : int
    where : tuple of str
        The conditions.
    shares : tuple of (K_l,) arrays
        By layer; empty after an error.
    selected, documents : int
        Documents that meet the conditions, and all of the corpus.
    fault : str
        Why there are no shares, as a sentence.
    moment : str
        The step that the shares are of if that is not the newest one; may be empty.
    """

    snapshot: int
    where: tuple[str, ...]
    shares: tuple[FloatArray, ...] = ()
    selected: int = 0
    documents: int = 0
    fault: str = ""
    moment: str = ""


class SelectionReader:
    """The shares of topics in the documents that the view selects, measured in another thread.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._answer: SelectedShares | None = None
        self._pending: tuple[int, tuple[str, ...], str] | None = None
        self._measured: tuple[int, tuple[str, ...], str] | None = None  # what the answer is to

    @property
    def answer(self) -> SelectedShares | None:
        """The last answer if it is about the conditions of the view, which may be about an earlier snapshot."""
        answer = self._answer
        return answer if answer is not None and self._context.view.where == answer.where != () else None

    def add(self, hierarchy: Hierarchy, then: Callable[[], None]) -> Hierarchy:
        """Return a hierarchy with the shares of the documents selected, or measure them and call ``then`` after."""
        # When a run ends, all documents have been placed, so that they are measured again.
        key = hierarchy.snapshot, self._context.view.where, self._context.feed.state(hierarchy.run)
        if not key[1]:
            return hierarchy
        answer = self._answer
        if answer is None or self._measured != key:
            if self._pending != key:
                self._pending = key
                work = partial(_measure_selection, self._context, hierarchy, key[1])
                self._context.later(work, partial(self._receive, key, then), self._fail)
            return hierarchy
        return replace(hierarchy, shares=answer.shares) if answer.shares else hierarchy

    def _receive(self, key: tuple[int, tuple[str, ...], str], then: Callable[[], None], answer: SelectedShares) -> None:
        self._pending, self._measured, self._answer = None, key, answer
        then()

    def _fail(self) -> None:
        self._pending = None


def _measure_selection(context: Context, hierarchy: Hierarchy, where: tuple[str, ...]) -> SelectedShares:
    """Measure the shares of topics in the documents that meet conditions; this waits for the store."""
    row = runs.get_run(context.db, hierarchy.run)
    corpus = corpora.get_run_corpus(context.db, row)
    answer = SelectedShares(hierarchy.snapshot, where, documents=corpus.documents)
    try:
        selected = read_selection(context, corpus, hierarchy, where)
        n_selected = corpus.documents if selected is None else int(selected.sum())
        if not n_selected:
            return answer._replace(fault="No document meets all filters; shares are those of all documents.")
        placed = find_placed(context, hierarchy, context.view.snapshot)
        uses = open_sources(context, corpus, placed.hierarchy).read_use
        shares = tuple(
            placed.move_shares(hierarchy, layer, measure_shares(placed.hierarchy, layer, uses(layer), selected))
            for layer in range(1, hierarchy.n_layers + 1)
        )
    except (FilterError, StoreError) as error:
        return answer._replace(fault=f"{error}; shares are those of all documents.")
    return answer._replace(shares=shares, selected=n_selected, moment=placed.moment)
