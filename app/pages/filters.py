"""The filters of documents by columns, which several pages share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.filters import Condition, SelectedShares
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.reader import RunDocuments
from topiary.app.analysis.topic_reader import PlacedTopics
from topiary.app.analysis.trends import measure_shares
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context, View
from topiary.store import corpora, runs
from topiary.store.corpus_rows import CorpusRow
from topiary.store.errors import StoreError

_LONGEST = 200  # characters of a condition


def open_documents(
    context: Context, corpus: CorpusRow, hierarchy: Hierarchy | None, where: Sequence[str] = ()
) -> RunDocuments:
    """Return the documents that meet conditions, as the view reads them (`app.analysis.reader.Reader.documents`)."""
    return context.reader.documents(corpus, hierarchy, where, latest=not context.view.snapshot)


def find_placed(context: Context, hierarchy: Hierarchy) -> PlacedTopics:
    """Return the topics whose shares are read in the place of those of the view; this waits for the store."""
    return context.reader.place(hierarchy, latest=not context.view.snapshot)


class DocumentFilters(MessagePart):
    """Adds and removes conditions on documents."""

    @on("filter")
    def _add(self, column: str, value: str) -> None:
        add_condition(self._view, str(Condition(column[: _LONGEST // 2], value.strip()[: _LONGEST // 2])))

    @on("group")
    def _add_group(self, value: str) -> None:
        """Add the condition that a group of documents stands for, such as ``source=herald``."""
        add_condition(self._view, value)

    @on("unfilter")
    def _remove(self, value: str) -> None:
        where = tuple(each for each in self._view.where if each != value)
        self._put(where=where, table_page=1)


def add_condition(view: View, text: str) -> None:
    """Add a condition to those of the view."""
    if "=" in text[1:] and text not in view.where:
        view.param.update(where=(*view.where, text[:_LONGEST]), table_page=1)


class SelectionReader:
    """The shares of topics in the documents that the view selects, measured in another thread."""

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
        placed = find_placed(context, hierarchy)
        documents = open_documents(context, corpus, placed.hierarchy, where)
        if not documents.count:
            return answer._replace(fault="No document meets all filters; shares are those of all documents.")
        read_use, selected = documents.sources.read_use, documents.selected
        shares = tuple(
            placed.move_shares(hierarchy, layer, measure_shares(placed.hierarchy, layer, read_use(layer), selected))
            for layer in range(1, hierarchy.n_layers + 1)
        )
    except (ReadError, StoreError) as error:
        return answer._replace(fault=f"{error}; shares are those of all documents.")
    return answer._replace(shares=shares, selected=documents.count, moment=placed.moment)
