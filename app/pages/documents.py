"""The page of documents: the table of the corpus, one of its documents or a visitor's text with its topics."""

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import panel as pn
from panel.viewable import Viewable

from topiary.app.analysis.hierarchy import parse_identities
from topiary.app.analysis.inference import MOST
from topiary.app.live.feed import Tick
from topiary.app.pages.components import Board
from topiary.app.pages.documents_reading import (
    DocumentKind,
    DocumentSearch,
    Failure,
    Placement,
    PlacementRequest,
    Surroundings,
    choose_documents,
    find_kind,
    find_neighbours,
    must_compile_kernels,
    place_document,
    read_listed,
    read_text,
    try_work,
)
from topiary.app.pages.documents_table import DocumentTable
from topiary.app.pages.interpolation import Interpolation
from topiary.app.pages.map_tab import MapTab
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.notes import DocumentNotes
from topiary.app.pages.session import Context, to_query
from topiary.app.views.documents import placed_document as form
from topiary.app.views.documents.document_table import draw_reading
from topiary.app.views.documents.placed_document import (
    BETWEEN,
    FORM,
    MAP,
    DocumentAction,
    ListedDocument,
    NeighbourChoice,
    draw_neighbours,
    draw_placed_document,
)
from topiary.app.views.explore.detail import cut_excerpt
from topiary.app.views.runs.run_list import explain_missing_run
from topiary.app.views.text import escape
from topiary.app.views.theme import PAGE
from topiary.engine.hierarchy import paths
from topiary.engine.hierarchy.tree import Node

SHEETS = ["explore", "documents"]
_WATCHED = (
    "page",
    "run",
    "snapshot",
    "documents",
    "trail",
    "steps",
    "mixed",
    "tab",
    "query",
    "label",
    "subject",
    "where",
    "table_page",
    "near",
    "explained",
    "colour",
)
_NO_TOPICS = "This run has no topics yet; documents can be placed after its first snapshot."
COMPILING = "Compiling the kernels that place documents, about 20 s, once on this machine …"
LOADING = "Loading the kernels that place documents, a few seconds, once since the server started …"


class DocumentsPage(MessagePart):
    """The documents page of one session; a pasted text is stored in it and nowhere else."""

    fields: ClassVar = {"near": "near"}

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._text = self._draft = self._title = ""
        self._sentence = ""  # about the placement on its way
        self._listed: ListedDocument | None = None  # the document that is read, before its topics are found
        self._listed_of = (0, -1)  # its run and number
        self._refusal = ""  # why the file that was chosen last could not be used
        self._kind = DocumentKind()
        self._kind_run = 0  # the run that ``_kind`` is about
        self._placement: Placement | None = None
        self._request: PlacementRequest | None = None
        self._surroundings: Surroundings | None = None
        self._neighbours_of: Placement | None = None  # the placement whose neighbours are being fetched
        self._head, self._form, self._answer = (Board(on_message=self.handle, sheets=SHEETS) for _ in range(3))
        self._between = Interpolation(context, self._draw_head)
        self._table = DocumentTable(context, SHEETS, self._follow_table)
        self._map = MapTab(context, self._table)
        self._notes = DocumentNotes(context, SHEETS)
        self._search = DocumentSearch(context, self._draw_form)
        self.page = pn.Column(
            self._head,
            css_classes=["tp-page"], stylesheets=[PAGE], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, list(_WATCHED))
        context.on_tick(self._on_tick)
        self._choose()

    # ------------------------------------------------------------- changes

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "documents":
            return
        if {event.name for event in events} == {"trail"}:
            self._draw_answer()
        else:
            self._choose()

    def _on_tick(self, tick: Tick) -> None:
        view = self._view
        if view.page != "documents" or view.run not in tick.snapshots | tick.rows | tick.labels:
            return
        self._draw_head()
        if view.run in tick.labels:
            self._notes.fetch()
        if self._table.hierarchy is None and view.run in tick.snapshots:
            self._table.forget()
        if self._request is None or view.run in tick.labels:
            self._choose()

    def _choose(self) -> None:
        """Show the chosen part of the page, and request what is missing."""
        parts = self._list_parts()
        if list(self.page) != parts:
            self.page[:] = parts
        self._draw_head()
        if self._view.tab == BETWEEN:
            self._between.choose()
            return
        if self._view.tab == MAP and self._has_run():
            self._table.choose()
            self._map.follow()
            return
        if self._view.tab == FORM:
            self._fetch_kind()
            self._search.follow()
            self._draw_form()
        elif self._has_run():
            self._table.choose()
            self._fetch_listed()
            self._notes.choose()
        request = self._make_request()
        if request is None:
            self._placement = self._request = None
            self._draw_nothing()
        elif request != self._request:
            self._place(request)
        else:
            self._draw_answer()
            self._fetch_neighbours()

    def _list_parts(self) -> list[Viewable]:
        tab = self._view.tab
        if tab == MAP and self._has_run():
            return self._map.parts
        if tab == BETWEEN:
            return [self._head, *self._between.boards]
        if tab == FORM:
            return [self._head, self._form, self._answer]
        if not self._has_run():
            return [self._head, self._answer]
        if self._view.documents:
            return [self._head, self._table.bar, self._notes.board, self._answer]
        return [self._head, self._table.board]

    def _follow_table(self) -> None:
        self._draw_head()
        self._map.follow()

    def _has_run(self) -> bool:
        return self._context.feed.run(self._view.run) is not None

    def _fetch_listed(self) -> None:
        """Fetch the text of the document that is read, which is shown before its topics are found."""
        view = self._view
        wanted = (view.run, view.documents[0]) if view.documents else (0, -1)
        if view.documents and wanted != self._listed_of:
            self._listed_of, self._listed = wanted, None
            work = partial(try_work, read_listed, self._context, *wanted)
            self._context.later(work, partial(self._receive_listed, wanted))

    def _receive_listed(self, wanted: tuple[int, int], listed: ListedDocument | Failure) -> None:
        if wanted != self._listed_of:
            return
        if isinstance(listed, Failure):
            self._sentence = escape(listed.sentence)
        else:
            self._listed = listed
            self._table.entitle(listed.title)
        if self._placement is None or self._placement.request != self._request:
            self._draw_waiting()

    def _fetch_kind(self) -> None:
        """Fetch the kind of the run's documents, once for each run."""
        run = self._view.run
        if self._context.feed.run(run) is not None and run != self._kind_run:
            self._kind_run, self._kind = run, self._kind._replace(some=())
            self._context.later(partial(find_kind, self._context, run), partial(self._receive_kind, run))

    def _receive_kind(self, run: int, kind: DocumentKind) -> None:
        if run == self._kind_run:
            self._kind = kind
            self._draw_form()

    def _make_request(self) -> PlacementRequest | None:
        view = self._view
        if not self._has_run() or (not view.snapshot and not self._has_snapshot()):
            return None
        if view.documents:
            return PlacementRequest(view.run, view.snapshot, view.documents[0], "", "")
        if view.tab == FORM and self._text.strip():
            return PlacementRequest(view.run, view.snapshot, -1, self._text, self._title)
        return None

    def _has_snapshot(self) -> bool:
        return self._context.feed.latest(self._view.run) is not None

    # --------------------------------------------------------------- placing

    def _place(self, request: PlacementRequest) -> None:
        self._request = request
        self._show_sentence("Finding its topics …")
        self._context.later(
            partial(try_work, must_compile_kernels, self._context, request.run), partial(self._begin_placing, request)
        )

    def _begin_placing(self, request: PlacementRequest, must_compile: bool | Failure) -> None:  # noqa: FBT001 - as computed
        """Place the document now that it is known whether kernels must be compiled for it."""
        if request != self._request:
            return
        if must_compile is True:
            self._show_sentence(COMPILING)
        elif not self._context.feed.places.opened:
            self._show_sentence(LOADING)
        start = (
            self._context.in_turn if must_compile is True else self._context.later
        )  # other requests must not wait for the compiler
        start(partial(try_work, place_document, self._context, request), partial(self._receive_placement, request))

    def _receive_placement(self, request: PlacementRequest, placement: Placement | Failure) -> None:
        if request != self._request:
            return
        if isinstance(placement, Failure):
            self._show_sentence(escape(placement.sentence))
            return
        self._placement, self._surroundings = placement, None
        self._draw_head()
        self._draw_answer()
        self._fetch_neighbours()

    def _fetch_neighbours(self) -> None:
        """Place documents of the corpus to compare with, a block at a time, while the page is shown."""
        placement = self._placement
        is_complete = self._surroundings is not None and self._surroundings.nearest is not None
        if is_complete and self._surroundings is not None and self._surroundings.stored and placement is not None:
            is_complete = self._surroundings.layer == min(self._view.near, placement.hierarchy.n_layers)
        if placement is None or placement.answer.blank or is_complete or self._neighbours_of is not None:
            return
        self._neighbours_of = placement
        self._context.later(
            partial(try_work, find_neighbours, self._context, placement, self._view.near),
            partial(self._receive_neighbours, placement),
        )

    def _receive_neighbours(self, placement: Placement, surroundings: Surroundings | Failure) -> None:
        self._neighbours_of = None
        if isinstance(surroundings, Failure):
            return
        if placement is not self._placement:
            self._fetch_neighbours()
            return
        self._surroundings = surroundings
        self._draw_answer()
        if self._view.page == "documents" and self._view.tab != BETWEEN:
            self._fetch_neighbours()

    # --------------------------------------------------------------- drawing

    def _show_sentence(self, sentence: str) -> None:
        self._sentence = sentence
        self._draw_waiting()

    def _draw_waiting(self) -> None:
        """Draw the document that is read with a sentence about its topics, or the sentence alone."""
        listed, view = self._listed, self._view
        if listed is None or view.tab or self._listed_of != (view.run, *view.documents[:1]):
            self._answer.html = _draw_card(self._sentence)
            return
        self._answer.html = draw_reading(listed, self._sentence)

    def _draw_nothing(self) -> None:
        if not self._has_run():
            self._answer.html = f'<p class="ex-none">{explain_missing_run(self._view.run)}</p>'
        elif not self._view.snapshot and not self._has_snapshot():
            damage = self._context.feed.damage(self._view.run)
            self._show_sentence(f"{damage.rstrip('.')}." if damage else _NO_TOPICS)
        else:
            self._answer.html = _draw_card(self._refusal) if self._refusal else ""

    def _draw_head(self) -> None:
        view, feed = self._view, self._context.feed
        between = view.tab == BETWEEN
        shown = (
            self._placement.hierarchy if self._placement is not None else None if view.tab else self._table.hierarchy
        )
        hierarchy = self._between.hierarchy if between else shown
        note = newer = ""
        if hierarchy is not None and hierarchy.run == view.run:
            note = f"in the topics of run {hierarchy.run}, {hierarchy.moment}"
            latest = feed.latest(view.run)
            if not view.snapshot and latest is not None and latest.number != hierarchy.snapshot:
                newer = f"Newer topics, of {hierarchy.step} {latest.minibatch:,}: update"
        self._head.html = form.draw_head(view.tab if view.tab in (BETWEEN, FORM, MAP) else "", note, newer=newer)

    def _draw_form(self) -> None:
        examples = self._kind.some if self._make_request() is None else ()
        self._form.html = form.draw_placing_form(
            self._draft, self._search.search, images=self._kind.images, some=examples
        )

    def _draw_answer(self) -> None:
        """Draw the placed document, with the words of the chosen topic or path marked."""
        placement = self._placement
        if placement is None or placement.request != self._request:
            return
        answer = placement.answer
        trail = self._choose_trail(placement)
        columns = [Node(node.layer, placement.hierarchy.place(node)) for node in trail]
        phi = placement.inference.mixtures
        responsibilities = paths.compute_responsibilities(phi, answer.theta[: len(phi)], answer.words, columns)
        responsibility_by_word = dict(zip(answer.words.tolist(), np.asarray(responsibilities).tolist(), strict=True))
        self._answer.html = draw_placed_document(
            self._context.feed.update_names(placement.hierarchy),
            answer,
            trail,
            responsibility_by_word,
            self._draw_neighbours(placement),
        )

    def _choose_trail(self, placement: Placement) -> tuple[Node, ...]:
        """Return the topic or path whose words are marked: the visitor's choice, or else the strongest path.

        Where the table lists the documents of a topic, that is the visitor's choice until another is made.
        """
        deepest = len(placement.inference.mixtures)
        nodes = parse_identities(self._view.trail or (() if self._view.tab else self._view.subject))
        trail = tuple(node for node in nodes if placement.hierarchy.has(node) and node.layer <= deepest)
        return trail or (placement.answer.paths[0].nodes if placement.answer.paths else ())

    def _draw_neighbours(self, placement: Placement) -> str:
        surroundings = self._surroundings or Surroundings(0, min(placement.inference.corpus.documents, MOST), None)
        actions = [DocumentAction("document", "Find its topics")]
        if placement.answer.document >= 0:
            actions.append(DocumentAction("line", "Go between"))
        hierarchy = placement.hierarchy
        choice = NeighbourChoice(surroundings.layer, hierarchy.n_layers) if surroundings.stored else None
        return draw_neighbours(
            surroundings.nearest, surroundings.done, surroundings.total, actions, hierarchy, choice,
            link=to_query(self._view, without=("documents", "trail")),
        )  # fmt: skip

    # -------------------------------------------------------------- messages

    @on("typed")
    def _keep_draft(self, value: str) -> None:
        self._draft = value

    @on("document")
    def _show(self, number: int) -> None:
        self._put(documents=(number,), trail=())

    @on("any")
    def _choose_any(self) -> None:
        work = partial(choose_documents, self._context, self._view.run, 1)
        self._context.later(work, lambda numbers: self._show(numbers[0]))

    @on("find")
    def _find(self, value: str) -> None:
        self._search.find(value)

    @on("tab")
    def _choose_tab(self, value: Literal["", "between", "topics", "map"]) -> None:
        if value:
            self._view.tab = value
        else:
            self._table.leave()

    @on("line")
    def _go_between(self, number: int) -> None:
        self._put(documents=(*self._view.documents[:1], number), tab=BETWEEN)

    @on("trail")
    def _choose_marked(self, ids: str) -> None:
        self._put_text("trail", ids)

    @on("explore")
    def _explore(self, topic: Node) -> None:
        self._open_topic(topic)

    @on("again")
    def _place_again(self) -> None:
        self._request = None
        self._table.forget()
        self._between.forget()
        self._choose()

    @on("place")
    def _place_text(self, text: str) -> None:
        self._take_text(text, "")

    def _take_text(self, text: str, title: str) -> None:
        if not text.strip():
            self._context.notify("Paste a text first, or choose a file or a document of the corpus.", "info")
            return
        self._draft = text
        self._replace_document(text, title)

    def _replace_document(self, text: str, title: str, refusal: str = "") -> None:
        """Replace the shown document by a text with its title, or by the reason why there is none."""
        self._text, self._title, self._refusal = text, title, refusal
        if self._view.documents or self._view.trail:
            self._view.param.update(documents=(), trail=())
        else:
            self._choose()

    @on("file")
    def _take_file(self, value: str, file: str, size: int = 0) -> None:
        """Place a file, which is sent in base64; one that is too large is sent empty."""
        if not value and size:
            self._refuse(f"{cut_excerpt(file, 60)} is larger than 8 MB; use topiary infer for such files.")
            return
        work = partial(try_work, read_text, value, file)
        self._context.later(work, partial(self._receive_text, file))

    def _receive_text(self, name: str, text: str | Failure) -> None:
        if isinstance(text, Failure):
            self._refuse(text.sentence)
        else:
            self._take_text(text, name)

    def _refuse(self, sentence: str) -> None:
        """Show why a file is not placed, in place of any other document."""
        self._replace_document("", "", escape(sentence))
        self._context.notify(sentence, "warning")


def _draw_card(sentence: str) -> str:
    return f'<section class="dc-card"><p class="dc-read" role="status">{sentence}</p></section>'
