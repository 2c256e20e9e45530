"""The page Steer: tell the topics of a run what you know, have it applied, and see what it changed."""

from functools import partial
from typing import Any, NamedTuple

import panel as pn
from panel.viewable import Viewable

from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.analysis.journal import JournalEntry
from topiary.app.jobs.edit_orders import FORMS, EditOrder, check_order, list_steerable, number_words
from topiary.app.jobs.plan import name_step
from topiary.app.live.ticks import Tick
from topiary.app.names import plural
from topiary.app.pages.components import Board, TreeView
from topiary.app.pages.measured import find_topics
from topiary.app.pages.messages import LatestRequest, TreePage, list_moments, on
from topiary.app.pages.session import ANOTHER_RUN, Context
from topiary.app.views.explore.controls import SnapshotOption
from topiary.app.views.steer import SteerContents, draw_steer_head, draw_steer_note, draw_steering
from topiary.app.views.tree.layout import WIDE
from topiary.app.views.tree.tiles import TileRows, TilesChoice, draw_tiles
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import SEED, STRENGTHS, EditRefused
from topiary.store.run_rows import RunRow

_WATCHED = ["page", "run", "snapshot", "layer", "topic"]
_MOST_DRAFTS = 100


class _SteerAnswer(NamedTuple):
    """What was read of a run; without topics, a sentence says why there are none."""

    run: int
    snapshot: int
    note: str = ""
    hierarchy: Hierarchy | None = None
    journal: tuple[JournalEntry, ...] = ()
    moments: tuple[SnapshotOption, ...] = ()
    steers: frozenset[str] = frozenset()
    refusal: str = ""


class SteerPage(TreePage):
    """The page Steer of one session; edits wait here until the visitor applies them."""

    def __init__(self, context: Context) -> None:
        self._tree = TreeView(on_message=self.handle, css_classes=["st-tree"], sheets=["explore"])
        self._head = Board(on_message=self.handle, sheets=["explore", "steer"], css_classes=["st-top"])
        self._board = Board(on_message=self.handle, sheets=["explore", "steer"], css_classes=["st-body"])
        super().__init__(context, {"": self._tree}, (self._head, self._board), aspect=WIDE)
        self._is_exact = True
        self._answer: _SteerAnswer | None = None
        self._rows: TileRows | None = None
        self._drafts: list[EditOrder] = []
        self._strength = "medium"
        self._latest: LatestRequest[tuple[int, int]] = LatestRequest(context, self._fetch)
        self.page = pn.Row(
            self._head, self._tree, self._board,
            css_classes=["st-page"], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, _WATCHED)
        context.on_tick(self._on_tick)
        self._fetch()

    # ------------------------------------------------------------- reading

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "steer":
            return
        answer = self._answer
        if answer is None or {event.name for event in events} & {"page", "run", "snapshot"}:
            if answer is not None and answer.run != self._view.run:
                self._answer, self._drafts, self._rows = None, [], None
            self._fetch()
        else:
            self._draw()

    def _on_tick(self, tick: Tick) -> None:
        if self._view.page == "steer" and self._view.run in tick.rows | tick.snapshots | tick.points | tick.labels:
            self._fetch()

    def _fetch(self) -> None:
        key = self._view.run, self._view.snapshot
        if self._answer is None:
            self._draw()
        self._latest.send(key, partial(self._read, *key), self._receive)

    def _read(self, run: int, snapshot: int) -> _SteerAnswer:
        """Read the topics and the journal of a run; this waits for the store."""
        topics = find_topics(self._context, run, snapshot)
        if isinstance(topics, str):
            return _SteerAnswer(run, snapshot, topics)
        row, hierarchy = topics
        steers, refusal = list_steerable(self._context.db, row)
        journal, moments = self._context.reader.edits(row), list_moments(self._context, run)
        return _SteerAnswer(run, snapshot, "", hierarchy, tuple(journal), moments, steers, refusal)

    def _receive(self, answer: _SteerAnswer) -> None:
        if (answer.run, answer.snapshot) == (self._view.run, self._view.snapshot):
            self._answer = answer
            self._draw()

    # ------------------------------------------------------------- drawing

    def _draw_again(self) -> None:
        self._draw()

    def _draw(self) -> None:
        contents = self._make_contents()
        if contents is None:
            note = "Reading the topics and the journal …" if self._answer is None else self._answer.note
            self._head.html, self._board.html = draw_steer_note(note), ""
            self._tree.param.update(svg="", note="")
            return
        self._head.html, self._board.html = draw_steer_head(contents), draw_steering(contents)
        self._tree.selected = format_identity(contents.node)
        if contents.hierarchy.n_layers > 1:
            drawing = draw_tiles(contents.hierarchy, TilesChoice(self._window, (), self._rows))
            self._rows = drawing.rows
            self._tree.param.update(svg=drawing.svg, note="")
        classes = ["st-page", *(["st-flat"] if contents.hierarchy.n_layers == 1 else [])]
        if self.page.css_classes != classes:
            self.page.css_classes = classes

    def _make_contents(self) -> SteerContents | None:
        answer, feed = self._answer, self._context.feed
        if answer is None or answer.hierarchy is None:
            return None
        hierarchy, row = feed.update_names(answer.hierarchy), feed.run(answer.run)
        if row is None:
            return None
        return SteerContents(
            hierarchy,
            self._find_node(hierarchy),
            answer.journal,
            answer.steers,
            answer.refusal,
            tuple(self._drafts),
            self._strength,
            is_ended=feed.state(answer.run) not in ("running", "queued"),
            moments=_find_moments(answer),
            pinned=answer.snapshot,
            step=name_step(row),
        )

    def _find_node(self, hierarchy: Hierarchy) -> Node:
        """Return the topic of the view; the largest of the top layer if there is none."""
        if self._view.topic and self._view.layer <= hierarchy.n_layers:
            node = Node(self._view.layer, self._view.topic - 1)
            if hierarchy.has(node):
                return node
        return hierarchy.at_rank(hierarchy.n_layers, 1)

    # ------------------------------------------------------------ messages

    @on("select")
    def _select(self, topic: Node) -> None:
        self._put(layer=topic.layer, topic=topic.column + 1)

    @on("select")
    def _select_value(self, value: str) -> None:
        node = parse_identity(value)
        if node is not None:
            self._select(node)

    @on("explore", "root")
    def _explore(self) -> None:
        self._put(page="explore", tab="", snapshot=0)

    @on("moment")
    def _show_moment(self, value: str) -> None:
        before = None if self._answer is None else _find_moments(self._answer)[0]
        self._put(snapshot=before if value == "before" and before is not None else 0)

    @on("strength")
    def _choose_strength(self, value: str) -> None:
        if value in STRENGTHS:
            self._strength = value
            self._drafts = [each._replace(strength=value) for each in self._drafts]
            self._draw()

    @on("steer")
    def _add_draft(self, kind: str, message: dict[str, Any], word: str = "", name: str = "") -> None:
        """Add an edit to those that wait, or say why it cannot be made."""
        answer = self._answer
        if answer is None or answer.hierarchy is None or kind not in FORMS:
            return
        named = [self.read_argument(field, str, message) for field in ("id", "other")]
        nodes = [node for text in named if text and (node := parse_identity(text)) is not None]
        words = tuple(each for each in word.replace(",", " ").split() if each)
        topics = tuple(nodes[: FORMS[kind].topics])
        layer = 1 if kind == SEED or not topics else topics[0].layer
        order = EditOrder(kind, topics, words, layer, self._strength, " ".join(name.split())[:120])
        try:
            check_order(order, number_words(answer.hierarchy.vocabulary))
        except EditRefused as error:
            self._context.notify(f"{str(error)[:1].upper()}{str(error)[1:]}.", "warning")
            return
        if order not in self._drafts and len(self._drafts) < _MOST_DRAFTS:
            self._drafts.append(order)
        self._draw()

    @on("undraft")
    def _drop_draft(self, number: int) -> None:
        self._drafts = [each for place, each in enumerate(self._drafts) if place != number]
        self._draw()

    @on("discard")
    def _discard(self) -> None:
        self._drafts = []
        self._draw()

    @on("apply-edits")
    def _apply(self) -> None:
        if not self._drafts:
            return
        drafts, run = tuple(self._drafts), self._view.run
        self._context.later(
            partial(self._context.actions.steer, run, drafts), partial(self._receive_applied, run, drafts)
        )

    def _receive_applied(self, run: int, drafts: tuple[EditOrder, ...], row: RunRow) -> None:
        made, self._drafts = row.number, [each for each in self._drafts if each not in drafts]
        if made != run:
            self._context.notify(f"Run {made} goes on from run {run} with {plural(len(drafts), 'edit')}.", "success")
            self._open_run(made)
            return
        self._context.notify(f"{plural(len(drafts), 'edit')} will be made after the present step.", "success")
        self._put(snapshot=0)
        self._fetch()

    @on("undo-edit")
    def _undo(self, number: int) -> None:
        run = self._view.run
        self._context.later(
            partial(self._context.actions.undo_edit, run, number), partial(self._receive_undone, run, number)
        )

    def _receive_undone(self, run: int, number: int, row: RunRow) -> None:
        made = row.number
        if made == run:
            self._context.notify(f"Edit {number} is withdrawn.", "success")
            self._fetch()
            return
        self._context.notify(f"Run {made} goes on from before edit {number} of run {run}.", "success")
        self._open_run(made)

    def _open_run(self, run: int) -> None:
        self._put(**(ANOTHER_RUN | {"run": run, "layer": self._view.layer, "topic": self._view.topic}))


def _find_moments(answer: _SteerAnswer) -> tuple[int | None, int | None]:
    """Return the numbers of the last snapshot before the last edit that was made, and of the newest one (0)."""
    made = [each.step for each in answer.journal if each.state == "applied" and each.step > 0]
    if not made:
        return None, None
    earlier = [moment.number for moment in answer.moments if moment.minibatch <= made[-1]]
    return (earlier[-1] if earlier else None), 0


def build_steer_page(context: Context) -> Viewable:
    """Build the page on which visitors steer a run."""
    return SteerPage(context).page
