"""The table of the corpus on the documents page, and the bar above a document that is read."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from topiary.app.analysis.document_table import DocumentFilter, StrongestTopic
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.pages.components import Board
from topiary.app.pages.documents_reading import (
    Failure,
    SelectedDocuments,
    TableRequest,
    find_selection,
    must_compile_rows,
    place_rows,
    read_rows,
    try_work,
)
from topiary.app.pages.filters import DocumentFilters
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.refining import CorpusRefiner
from topiary.app.pages.saving import TableSaver
from topiary.app.pages.session import LONGEST_QUERY, Context, read_field, to_query
from topiary.app.views.documents.document_table import (
    PAGE_ROWS,
    DocumentRow,
    ReaderPlace,
    TablePage,
    draw_clear_button,
    draw_reader_bar,
    draw_table,
)
from topiary.app.views.documents.placed_document import MAP
from topiary.app.views.text import end_sentence, escape

COMPILING = "The strongest topics follow when their code is compiled (about 20 s, only once on this machine) …"
_MOST_PLACED = 5000  # documents whose strongest topics are remembered


class ShownRows(NamedTuple):
    """The rows of one page of selected documents; pages count from 0."""

    selected: SelectedDocuments
    page: int
    rows: list[DocumentRow]


class DocumentTable(MessagePart):
    """The table of a run's corpus, its filters, and the way from one document to the next.

    Parameters
    ----------
    sheets : list of str
        Style sheets of the boards.
    changed : callable
        Called when the topics in use may have changed, and while the map is on screen, when anything has.

    Attributes
    ----------
    request : TableRequest or None
        The selection on its way or shown.
    fault, note : str
        Why there is no selection, and what is special about it; may be empty.
    board : Board
        The table.
    bar : Board
        The bar above a document that is read.
    """

    def __init__(self, context: Context, sheets: list[str], changed: Callable[[], None]) -> None:
        super().__init__(context)
        self._changed = changed
        self.board = Board(on_message=self.handle, sheets=sheets)
        self.bar = Board(on_message=self.handle, sheets=sheets)
        self.request: TableRequest | None = None
        self._selected: SelectedDocuments | None = None
        self._page = -1  # the page whose rows are on their way or shown
        self._shown: ShownRows | None = None
        self._strongest: dict[int, tuple[StrongestTopic | None, ...]] = {}
        self._placing = False
        self.fault = self.note = ""
        self._title = ""  # of the document that is read
        self._read, self._must_focus = -1, False
        self._refine = CorpusRefiner(context, self._draw, self.list_conditions, lambda: self._view.query)
        tables = TableSaver(context, lambda: self.board, self.list_conditions)
        self.helpers = tables, self._refine, DocumentFilters(context)

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The topics in use; None where there are none yet."""
        return None if self._selected is None else self._selected.hierarchy

    @property
    def selected(self) -> SelectedDocuments | None:
        """The documents that the request selects; None until they are known."""
        selected = self._selected
        return selected if selected is not None and selected.request == self.request else None

    @property
    def is_ready(self) -> bool:
        """Whether it is known which documents are selected, or why none can be."""
        return self.selected is not None or bool(self.fault)

    def choose(self) -> None:
        """Show what the view asks for, and request what is missing."""
        view = self._view
        subject = view.subject[0] if view.subject else ""
        wanted = DocumentFilter(view.query, view.label, subject, view.where, view.explained == "badly")
        request = TableRequest(view.run, view.snapshot, wanted)
        if request != self.request:
            before, self.request, self._page, self.fault = self.request, request, -1, ""
            if before is None or before[:2] != request[:2]:
                self._forget_topics()
            is_wanted = partial(self._is_wanted, request)
            start = self._context.aside if wanted.text.strip() or wanted.badly else self._context.later
            start(
                partial(try_work, find_selection, self._context, request, is_wanted),
                partial(self._receive_selection, request),
            )
        self._fetch_rows()
        self._draw()

    def forget(self) -> None:
        """Forget the request, so that newer topics are used from now on."""
        self.request = None

    def entitle(self, title: str) -> None:
        """Remember the title of the document that is read, for quotations."""
        self._title = title
        self._draw()

    # -------------------------------------------------------------- requests

    def _is_wanted(self, request: TableRequest) -> bool:
        return request == self.request

    def _forget_topics(self) -> None:
        self._strongest, self.note = {}, ""
        if self._selected is not None and self._selected.request.run != self._view.run:
            self._selected, self._shown, self._read = None, None, -1

    def _receive_selection(self, request: TableRequest, selected: SelectedDocuments | Failure) -> None:
        if request != self.request:
            return
        if isinstance(selected, Failure):
            self.fault = selected.sentence
        else:
            self._selected = selected
            self._changed()
            self._fetch_rows()
        self._draw()

    def _find_page(self, selected: SelectedDocuments) -> int:
        """Return the page to show, from 0; the last one if the view asks for a later one."""
        return min(self._view.table_page - 1, max(0, (selected.selection.total - 1) // PAGE_ROWS))

    def _fetch_rows(self) -> None:
        """Fetch the rows of the page of the table, unless a document is read."""
        selected = self.selected
        if selected is None or self._is_reading:
            return
        page = self._find_page(selected)
        if page != self._page:
            self._page = page
            work = partial(try_work, read_rows, self._context, selected, page)
            self._context.later(work, partial(self._receive_rows, selected, page))
        else:
            self._fetch_topics()

    def _receive_rows(self, selected: SelectedDocuments, page: int, rows: list[DocumentRow] | Failure) -> None:
        if selected is not self._selected or page != self._page:
            return
        if isinstance(rows, Failure):
            self.fault = rows.sentence
        else:
            self._shown = ShownRows(selected, page, rows)
            self._fetch_topics()
        self._draw()

    def _list_unplaced(self) -> list[int]:
        rows = self._shown.rows if self._shown is not None else []
        return [row.number for row in rows if row.words and row.number not in self._strongest]

    def _fetch_topics(self) -> None:
        """Find the strongest topics of the rows, once the kernels for it are there."""
        selected, numbers = self._selected, self._list_unplaced()
        if self._placing or selected is None or selected.hierarchy is None or not numbers:
            return
        self._placing = True
        used = selected.hierarchy
        work = partial(try_work, must_compile_rows, self._context, used.run, used.snapshot, numbers)
        self._context.later(work, partial(self._place_rows, selected), self._end_placing)

    def _place_rows(self, selected: SelectedDocuments, must_compile: bool | Failure) -> None:  # noqa: FBT001 - as computed
        hierarchy, numbers = selected.hierarchy, self._list_unplaced()
        if hierarchy is None or not numbers:
            self._placing = False
            return
        start = self._context.later
        if must_compile is True:
            self.note, start = COMPILING, self._context.in_turn  # others must not wait for the compiler
            self._draw()
        work = partial(try_work, place_rows, self._context, hierarchy.run, hierarchy.snapshot, numbers)
        start(work, partial(self._receive_topics, selected), self._end_placing)

    def _receive_topics(
        self, selected: SelectedDocuments, placed: dict[int, tuple[StrongestTopic | None, ...]] | Failure
    ) -> None:
        self._placing = False
        if isinstance(placed, Failure):
            self.note = placed.sentence
        elif self._is_of_same_topics(selected):
            if len(self._strongest) > _MOST_PLACED:
                self._strongest = {}
            self._strongest |= placed
            self.note = ""
            self._fetch_topics()
        else:
            self._fetch_topics()
        self._draw()

    def _is_of_same_topics(self, selected: SelectedDocuments) -> bool:
        shown = self._selected.hierarchy if self._selected is not None else None
        used = selected.hierarchy
        return shown is not None and used is not None and (shown.run, shown.snapshot) == (used.run, used.snapshot)

    def _end_placing(self) -> None:
        self._placing = False

    # --------------------------------------------------------------- drawing

    @property
    def _is_reading(self) -> bool:
        return bool(self._view.documents) and self._view.tab != MAP

    def _draw(self) -> None:
        if self._view.tab == MAP:
            self._changed()
        elif self._is_reading:
            self.bar.html = self._draw_bar(self._view.documents[0])
        else:
            self.board.html = self._draw_table()

    def _draw_table(self) -> str:
        request = self.request
        if self.fault or request is None:
            clear = draw_clear_button() if request is not None and request.wanted != DocumentFilter() else ""
            fault = f'<p class="dc-read" role="status">{escape(end_sentence(self.fault))}</p>' if self.fault else ""
            return f'<section class="dc-card">{fault}{clear}</section>'
        page = self.describe_page(request.wanted.ranked.layer if request.wanted.ranked is not None else 1)
        if page is None:
            return draw_table(TablePage(wanted=request.wanted))
        focus, self._must_focus = self._must_focus, False
        return draw_table(replace(page, focus=focus))

    def describe_page(self, layer: int) -> TablePage | None:
        """Return the page of the table with the strongest topics of a layer; None until its rows are known."""
        shown, request = self._shown, self.request
        if shown is None or request is None:
            return None
        selected = shown.selected
        return TablePage(
            wanted=request.wanted,
            total=selected.selection.total if selected.request == request else None,
            documents=selected.corpus.documents,
            page=shown.page,
            rows=shown.rows,
            labels=selected.corpus.label_names,
            hierarchy=None if selected.hierarchy is None else self._context.feed.update_names(selected.hierarchy),
            strongest={
                number: topic
                for number, topics in self._strongest.items()
                if layer <= len(topics) and (topic := topics[layer - 1]) is not None
            },
            note=" ".join(filter(None, (self.note, selected.note))),
            link=to_query(self._view, without=("tab",)),
            read=self._read,
            columns=selected.columns,
            scores={row.number: float(selected.scores[row.number]) for row in shown.rows}
            if selected.scores is not None
            else {},
            has_shares=selected.has_shares,
            conditions=(*self._view.where, *self.list_conditions()),
            refining=self._refine.busy,
        )

    def _draw_bar(self, document: int) -> str:
        selected = self.selected
        if selected is None:
            return draw_reader_bar(ReaderPlace(document, self._title, None, None, None, None, is_filtered=False))
        selection = selected.selection
        return draw_reader_bar(
            ReaderPlace(
                document,
                self._title,
                selection.find_place(document),
                selection.total,
                selection.find_neighbour(document, -1),
                selection.find_neighbour(document, 1),
                is_filtered=selection.numbers is not None,
            )
        )

    # -------------------------------------------------------------- messages

    def list_conditions(self) -> tuple[str, ...]:
        """Return the filters by label and topic as conditions."""
        view, selected = self._view, self._selected
        found = [f"{topic}=0.5%.." for topic in view.subject]  # every share that is stored
        if selected is not None and 0 < view.label <= len(selected.corpus.label_names):
            found.append(f"{selected.columns[0]}={selected.corpus.label_names[view.label - 1]}")
        return tuple(found)

    @on("page")
    def _turn_page(self, number: int) -> None:
        self._put(table_page=number + 1)

    @on("step")
    def _step(self, number: int) -> None:
        self._put(documents=(number,))

    @on("quoted")
    def _confirm_quotation(self) -> None:
        self._context.notify("The quotation and its address are in the clipboard.", "success")

    @on("find")
    def _find(self, value: str) -> None:
        self._filter(query=value[:LONGEST_QUERY].encode("utf-8", "replace").decode())

    @on("label")
    def _choose_label(self, value: int) -> None:
        self._filter(label=value)

    @on("subject")
    def _choose_subject(self, value: str) -> None:
        self._filter(subject=read_field("subject", value))

    @on("badly")
    def _choose_badly_explained(self) -> None:
        self._filter(explained="any" if self._view.explained == "badly" else "badly")

    @on("clear")
    def _clear(self) -> None:
        self._filter(query="", label=0, subject=(), where=(), explained="any")

    def _filter(self, **fields: Any) -> None:
        """Change filters, and show the first page of what they select."""
        self._put(table_page=1, **fields)

    @on("read")
    def _open(self, number: int = -1) -> None:
        selected = self._selected
        last = selected.corpus.documents - 1 if selected is not None else None
        if number < 0 or (last is not None and number > last):
            numbers = "" if last is None else f", from 0 to {last:,}"
            self._context.notify(f"Enter the number of a document{numbers}.", "info")
            return
        self._put(documents=(number,), trail=())

    @on("back")
    def _go_back(self) -> None:
        """Go back to the page of the table with the document that was read, and to its row."""
        selected, page = self.selected, self._view.table_page
        if self._view.documents and selected is not None:
            place = selected.selection.find_place(self._view.documents[0])
            page = page if place is None else place // PAGE_ROWS + 1
        self.leave(page)

    def leave(self, page: int | None = None) -> None:
        """Show the table in place of the document that was read."""
        self._read, self._must_focus = (self._view.documents or (-1,))[0], True
        self._view.param.update(
            documents=(), trail=(), tab="", table_page=self._view.table_page if page is None else page
        )
