"""The page that places documents in the topics of a run: a text of the visitor, or one of the corpus."""

from functools import partial
from typing import Any

import numpy as np
import panel as pn
from panel.viewable import Viewable

from app.analysis.hierarchy import parse_identity
from app.analysis.neighbours import MOST
from app.live.ticks import Tick
from app.pages.components.board import Board, Message
from app.pages.documents import loading as reading
from app.pages.documents.interpolation import Between
from app.pages.documents.search import Seeker
from app.pages.session import Context
from app.views.documents import documents_form as form
from app.views.documents.nearby import Act, neighbours
from app.views.documents.placed_document import answer
from app.views.explore.detail import excerpt
from app.views.runs.no_run import run_not_here
from app.views.text import escape
from app.views.theme import PAGE
from engine.hierarchy import paths
from engine.hierarchy.tree import Node

SHEETS = ["explore", "documents"]
BETWEEN = "between"
_SHOWN = ("page", "run", "snapshot", "documents", "trail", "steps", "mixed", "tab")
COMPILING = "Compiling the kernels that place documents, about 20 s, once on this machine …"
LOADING = "Loading the kernels that place documents, a few seconds, once since the server started …"


def documents_page(context: Context) -> Viewable:
    """Build the page of one session."""
    return Documents(context).page


class Documents:
    """The page of one session; the pasted text lives here and nowhere else.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._view = context.view
        self._text = self._draft = self._title = ""
        self._refused = ""  # why the file that was chosen last is not shown
        self._kind = reading.Kind()
        self._kind_of = 0  # the run of which that is known
        self._placing: reading.Placing | None = None
        self._asked: reading.Wanted | None = None
        self._around: reading.Around | None = None
        self._looking: reading.Placing | None = None  # whose neighbours are being looked for
        self._head, self._ask, self._answer = (Board(heard=self._hear, sheets=SHEETS) for _ in range(3))
        self._between = Between(context, self._draw_head)
        self._seeker = Seeker(context, self._draw_ask)
        self.page = pn.Column(
            self._head,
            css_classes=["tp-page"], stylesheets=[PAGE], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, list(_SHOWN))
        context.on_tick(self._on_tick)
        self._choose()

    # ------------------------------------------------------------ what's new

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
        if self._asked is None or view.run in tick.labels:
            self._choose()

    def _choose(self) -> None:
        """Show the chosen half of the page and begin what is missing in it."""
        between = self._view.tab == BETWEEN
        parts = [self._head, *(self._between.boards if between else (self._ask, self._answer))]
        if list(self.page) != parts:
            self.page[:] = parts
        self._draw_head()
        if between:
            self._between.choose()
            return
        self._look_at_kind()
        self._seeker.follow()
        self._draw_ask()
        wanted = self._wanted()
        if wanted is None:
            self._placing = self._asked = None
            self._answer.html = self._nothing()
        elif wanted != self._asked:
            self._place(wanted)
        else:
            self._draw_answer()
            self._look_around()

    def _look_at_kind(self) -> None:
        """Find out what the documents of the run are."""
        run = self._view.run
        if self._context.feed.run(run) is not None and run != self._kind_of:
            self._kind_of, self._kind = run, self._kind._replace(some=())
            self._context.later(partial(reading.kind, self._context, run), partial(self._take_kind, run))

    def _take_kind(self, run: int, kind: reading.Kind) -> None:
        if run == self._kind_of:
            self._kind = kind
            self._draw_ask()

    def _wanted(self) -> reading.Wanted | None:
        view = self._view
        if self._context.feed.run(view.run) is None or (not view.snapshot and not self._has_snapshot()):
            return None
        if view.documents:
            return reading.Wanted(view.run, view.snapshot, view.documents[0], "", "")
        if self._text.strip():
            return reading.Wanted(view.run, view.snapshot, -1, self._text, self._title)
        return None

    def _has_snapshot(self) -> bool:
        return self._context.feed.latest(self._view.run) is not None

    # --------------------------------------------------------------- placing

    def _place(self, wanted: reading.Wanted) -> None:
        self._asked = wanted
        self._say("Placing the document …")
        self._context.later(
            partial(reading.tried, reading.waits_for_kernels, self._context, wanted.run), partial(self._begin, wanted)
        )

    def _begin(self, wanted: reading.Wanted, waits: bool | reading.Failed) -> None:  # noqa: FBT001 - as computed
        if wanted != self._asked:
            return
        if waits is True:
            self._say(COMPILING)
        elif not self._context.feed.places.opened:
            self._say(LOADING)
        start = self._context.in_turn if waits is True else self._context.later  # whoever waits holds no other thread
        start(partial(reading.tried, reading.place, self._context, wanted), partial(self._placed, wanted))

    def _placed(self, wanted: reading.Wanted, placing: reading.Placing | reading.Failed) -> None:
        if wanted != self._asked:
            return
        if isinstance(placing, reading.Failed):
            self._say(escape(placing.sentence))
            return
        self._placing, self._around = placing, None
        self._draw_head()
        self._draw_answer()
        self._look_around()

    def _look_around(self) -> None:
        """Place the documents to compare with, a block at a time, as long as somebody looks."""
        placing = self._placing
        known = self._around is not None and self._around.nearest is not None
        if placing is None or placing.answer.blank or known or self._looking is not None:
            return
        self._looking = placing
        self._context.later(
            partial(reading.tried, reading.around, self._context, placing), partial(self._looked, placing)
        )

    def _looked(self, placing: reading.Placing, around: reading.Around | reading.Failed) -> None:
        self._looking = None
        if isinstance(around, reading.Failed):
            return
        if placing is not self._placing:
            self._look_around()
            return
        self._around = around
        self._draw_answer()
        if self._view.page == "documents" and self._view.tab != BETWEEN:
            self._look_around()

    # --------------------------------------------------------------- drawing

    def _say(self, sentence: str) -> None:
        self._answer.html = _card(sentence)

    def _nothing(self) -> str:
        if self._context.feed.run(self._view.run) is None:
            return f'<p class="ex-none">{run_not_here(self._view.run)}</p>'
        if not self._view.snapshot and not self._has_snapshot():
            return (
                '<p class="ex-none">This run has no topics yet; documents can be placed after its first snapshot.</p>'
            )
        return _card(self._refused) if self._refused else ""

    def _draw_head(self) -> None:
        view, feed = self._view, self._context.feed
        between = view.tab == BETWEEN
        frame = self._between.frame if between else self._placing.frame if self._placing else None
        note = newer = ""
        if frame is not None and frame.run == view.run:
            note = f"in the topics of run {frame.run}, mini-batch {frame.minibatch:,}"
            latest = feed.latest(view.run)
            if not view.snapshot and latest is not None and latest.number != frame.snapshot:
                newer = f"Newer topics, of mini-batch {latest.minibatch:,}: place again"
        self._head.html = form.head(BETWEEN if between else "", note, newer=newer)

    def _draw_ask(self) -> None:
        some = self._kind.some if self._wanted() is None else ()
        self._ask.html = form.ask(self._draft, self._seeker.search, images=self._kind.images, some=some)

    def _draw_answer(self) -> None:
        placing = self._placing
        if placing is None or placing.wanted != self._asked:
            return
        found = placing.answer
        trail = self._trail(placing)
        columns = [Node(node.layer, placing.frame.place(node)) for node in trail]
        part = paths.responsibilities(placing.placer.topics.phi, found.theta, found.words, columns)
        parts = dict(zip(found.words.tolist(), np.asarray(part).tolist(), strict=True))
        self._answer.html = answer(
            self._context.feed.as_named_now(placing.frame), found, trail, parts, self._near(placing)
        )

    def _trail(self, placing: reading.Placing) -> tuple[Node, ...]:
        """The topic or path whose words are marked: the visitor's choice, else the strongest path."""
        chosen = [node for text in self._view.trail if (node := parse_identity(text)) is not None]
        known = tuple(node for node in chosen if placing.frame.has(node))
        return known or (placing.answer.paths[0].nodes if placing.answer.paths else ())

    def _near(self, placing: reading.Placing) -> str:
        around = self._around or reading.Around(0, min(placing.placer.corpus.documents, MOST), None)
        acts = [Act("document", "Place")]
        if placing.answer.document >= 0:
            acts.append(Act("line", "Go between"))
        return neighbours(around.nearest, around.done, around.total, acts)

    # ---------------------------------------------------------------- wishes

    def _hear(self, message: Message) -> None:
        """Do what a click asks; nothing in a message is trusted."""
        self._hear_giving(message)
        self._hear_choosing(message)

    def _hear_giving(self, message: Message) -> None:
        match message:
            case {"do": "typed", "value": str(text)}:
                self._draft = text
            case {"do": "place", "form": {"text": str(text)}}:
                self._take(text, "")
            case {"do": "file", "value": str(packed), "file": str(name)}:
                self._take_file(packed, name, message.get("size"))
            case {"do": "document", "number": str(number)} if number.isdecimal():
                self._show(int(number))
            case {"do": "any"}:
                work = partial(reading.any_documents, self._context, self._view.run, 1)
                self._context.later(work, lambda numbers: self._show(numbers[0]))
            case {"do": "find", "value": str(text)}:
                self._seeker.find(text)

    def _hear_choosing(self, message: Message) -> None:
        match message:
            case {"do": "tab", "value": str(tab)}:
                self._view.tab = BETWEEN if tab == BETWEEN else ""
            case {"do": "line", "number": str(number)} if number.isdecimal():
                self._view.param.update(documents=(*self._view.documents[:1], int(number)), tab=BETWEEN)
            case {"do": "trail", "ids": str(ids)}:
                self._view.trail = tuple(text for text in ids.split(",") if parse_identity(text) is not None)
            case {"do": "explore", "id": str(text)} if (node := parse_identity(text)) is not None:
                self._view.param.update(page="explore", layer=node.layer, topic=node.column + 1, roots=(text,), tab="")
            case {"do": "again"}:
                self._asked = None
                self._between.forget()
                self._choose()

    def _show(self, document: int) -> None:
        self._view.param.update(documents=(document,), trail=())

    def _take(self, text: str, title: str) -> None:
        if not text.strip():
            self._context.tell("Paste a text first, or choose a file or a document of the corpus.", "info")
            return
        self._draft = text
        self._put(text, title)

    def _put(self, text: str, title: str, refused: str = "") -> None:
        """Show a text under its title, or why there is none, in place of what was there."""
        self._text, self._title, self._refused = text, title, refused
        if self._view.documents or self._view.trail:
            self._view.param.update(documents=(), trail=())
        else:
            self._choose()

    def _take_file(self, packed: str, name: str, size: object) -> None:
        if not packed and isinstance(size, int) and size > 0:
            self._refuse(f"{excerpt(name, 60)} is larger than 8 MB; use topiary infer for such files.")
            return
        work = partial(reading.tried, reading.text_of, packed, name)
        self._context.later(work, partial(self._take_read, name))

    def _take_read(self, name: str, text: str | reading.Failed) -> None:
        if isinstance(text, reading.Failed):
            self._refuse(text.sentence)
        else:
            self._take(text, name)

    def _refuse(self, sentence: str) -> None:
        """Say why a file is not placed, and show nothing of another document meanwhile."""
        self._put("", "", escape(sentence))
        self._context.tell(sentence, "warning")


def _card(sentence: str) -> str:
    return f'<section class="dc-card"><p class="dc-read" role="status">{sentence}</p></section>'
