"""The page Steer: tell the topics of a run what you know, have it applied, and see what it changed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn

from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.jobs.edit_orders import FORMS, EditOrder, check_order, number_words
from topiary.app.jobs.edit_previews import EditHints, find_hints
from topiary.app.live.feed import Tick
from topiary.app.names import name_step, plural
from topiary.app.pages.components import Board, TreeView
from topiary.app.pages.messages import LatestRequest, TreePage, on
from topiary.app.pages.session import ANOTHER_RUN, FROM_DOCUMENTS, Context, View
from topiary.app.pages.steer_reading import SteerAnswer, read_seeds, read_steering, try_edit
from topiary.app.views.steer import (
    EditTrial,
    SeedSource,
    SteerContents,
    draw_steer_head,
    draw_steer_note,
    draw_steering,
)
from topiary.app.views.text import write_sentence
from topiary.app.views.tree.layout import WIDE
from topiary.app.views.tree.tiles import TileRows, TilesChoice, draw_tiles
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import SEED, SPLIT, STRENGTHS, EditRefused
from topiary.store.run_rows import RunRow

_WATCHED = ["page", "run", "snapshot", "layer", "topic", "tab", "where", "query"]
_MOST_DRAFTS = 100


class SteerPage(TreePage):
    """The page Steer of one session; edits wait here until the visitor applies them."""

    def __init__(self, context: Context) -> None:
        self._tree = TreeView(on_message=self.handle, css_classes=["st-tree"], sheets=["explore"])
        self._head = Board(on_message=self.handle, sheets=["explore", "steer"], css_classes=["st-top"])
        self._board = Board(on_message=self.handle, sheets=["explore", "steer"], css_classes=["st-body"])
        super().__init__(context, {"": self._tree}, (self._head, self._board), aspect=WIDE)
        self._is_exact = True
        self._rows: TileRows | None = None
        self._pictured: tuple[Hierarchy, tuple[float, float]] | None = None  # what the picture shows, and its size
        self._state = ""  # of the run, when the page was drawn
        self._strength = "medium"
        self._forget_run()
        self._latest: LatestRequest[tuple[int, int]] = LatestRequest(context, self._fetch)
        self.page = pn.Row(
            self._head, self._tree, self._board,
            css_classes=["st-page"], sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._view.param.watch(self._on_view, _WATCHED)
        context.on_tick(self._on_tick)
        self._fetch()

    def _forget_run(self) -> None:
        """Forget everything about the run that was on screen."""
        self._answer: SteerAnswer | None = None
        self._drafts: list[EditOrder] = []
        self._trials: dict[tuple[str, ...], EditTrial] = {}  # of drafts of new topics, by their words
        self._split: tuple[Node, EditTrial | None] | None = None  # the topic whose halves are shown or on their way
        self._hints: EditHints | str | None = None
        self._hints_of: tuple[object, ...] = ()
        self._seeds: SeedSource | None = None
        self._seeds_of: tuple[object, ...] = ()

    # ------------------------------------------------------------- reading

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "steer":
            return
        answer = self._answer
        if answer is None or {event.name for event in events} & {"page", "run", "snapshot"}:
            if answer is not None and answer.run != self._view.run:
                self._rows = None
                self._forget_run()
            self._fetch()
        else:
            self._fetch_seeds()
            self._draw()

    def _on_tick(self, tick: Tick) -> None:
        if self._view.page == "steer" and self._view.run in tick.rows | tick.snapshots | tick.points | tick.labels:
            self._fetch()

    def _fetch(self) -> None:
        key = self._view.run, self._view.snapshot
        if self._answer is None:
            self._draw()
        self._latest.send(key, partial(read_steering, self._context, *key), self._receive)

    def _receive(self, answer: SteerAnswer) -> None:
        if (answer.run, answer.snapshot) == (self._view.run, self._view.snapshot):
            is_known, state = answer == self._answer, self._context.feed.state(answer.run)
            self._answer = answer
            self._fetch_hints(answer)
            self._fetch_seeds()
            if not is_known or state != self._state:  # a run that trains changes a few times a second
                self._state = state
                self._draw()

    def _fetch_hints(self, answer: SteerAnswer) -> None:
        """Judge merges and splits when the page opens, after an edit, and at the end of the run."""
        if not answer.steers or answer.hierarchy is None:
            return
        hints, feed = self._hints, self._context.feed
        is_known = isinstance(hints, EditHints) and hints.edited >= answer.last_edit
        latest = None if is_known else feed.latest(answer.run)  # until a checkpoint follows the last edit
        key = answer.run, answer.last_edit, feed.state(answer.run), latest and latest.number
        if key[:3] != self._hints_of[:3] or (latest is not None and key != self._hints_of):
            self._hints_of = key
            row = self._context.reader.find_run(answer.run)
            self._context.aside(partial(find_hints, self._context.db, row), partial(self._receive_hints, key))

    def _receive_hints(self, key: tuple[object, ...], hints: EditHints | str) -> None:
        if key == self._hints_of:
            self._hints = hints
            self._draw()

    def _fetch_seeds(self) -> None:
        """Find the words of the documents from which a new topic is to be made."""
        view = self._view
        wanted = view.run, view.snapshot, view.where, view.query
        if view.tab != FROM_DOCUMENTS:
            self._seeds, self._seeds_of = None, ()
        elif wanted != self._seeds_of:
            self._seeds, self._seeds_of = None, wanted
            self._context.aside(partial(read_seeds, self._context, *wanted), partial(self._receive_seeds, wanted))

    def _receive_seeds(self, wanted: tuple[object, ...], seeds: SeedSource) -> None:
        if wanted == self._seeds_of:
            self._seeds = seeds
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
            self._pictured = None
            return
        self._head.html, self._board.html = draw_steer_head(contents), draw_steering(contents)
        self._tree.selected = format_identity(contents.node)
        pictured = contents.hierarchy, self._window
        if contents.hierarchy.n_layers > 1 and pictured != self._pictured:
            drawing = draw_tiles(contents.hierarchy, TilesChoice(self._window, (), self._rows))
            self._rows, self._pictured = drawing.rows, pictured
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
            moments=answer.find_moments(),
            pinned=answer.snapshot,
            step=name_step(row),
            hints=self._hints,
            split=self._split,
            trials=self._trials,
            seeds=self._seeds,
            conditions=_list_conditions(self._view) if self._view.tab == FROM_DOCUMENTS else (),
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
        before = None if self._answer is None else self._answer.find_moments()[0]
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
        order = EditOrder(kind, topics, words, self._strength, " ".join(name.split())[:120])
        try:
            check_order(order, number_words(answer.hierarchy.vocabulary))
        except EditRefused as error:
            self._context.notify(write_sentence(str(error)), "warning")
            return
        if order not in self._drafts and len(self._drafts) < _MOST_DRAFTS:
            self._drafts.append(order)
        if kind == SPLIT:
            self._split = None
        if kind == SEED:
            self._try(order, partial(self._receive_trial, order))
            self._leave_documents()
        self._draw()

    def _try(self, order: EditOrder, then: Callable[[EditTrial], None]) -> None:
        """Have an edit tried; its answer is dropped if another run is on screen by then."""
        run = self._view.run

        def receive(trial: EditTrial) -> None:
            if run == self._view.run:
                then(trial)
                self._draw()

        self._context.aside(partial(try_edit, self._context, run, order), receive)

    def _receive_trial(self, order: EditOrder, trial: EditTrial) -> None:
        """Remember what a new topic would be; drop the draft of one that would be refused, and say why."""
        self._trials[order.words] = trial
        if trial.is_refused:
            self._drafts = [each for each in self._drafts if each.words != order.words or each.kind != SEED]
            self._context.notify(write_sentence(trial.note), "warning")

    @on("preview")
    def _preview_split(self, topic: Node) -> None:
        """Show the halves of a topic before it is split."""
        self._split = topic, None
        self._select(topic)
        self._draw()
        self._try(EditOrder(SPLIT, (topic,)), partial(self._receive_halves, topic))

    def _receive_halves(self, topic: Node, trial: EditTrial) -> None:
        if self._split is not None and self._split[0] == topic:
            self._split = topic, trial

    @on("no-preview")
    def _hide_halves(self) -> None:
        self._split = None
        self._draw()

    @on("no-documents")
    def _leave_documents(self) -> None:
        """Make a new topic from typed words again."""
        if self._view.tab == FROM_DOCUMENTS:
            self._put(tab="")

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


def _list_conditions(view: View) -> tuple[str, ...]:
    """Return the conditions and the search that select documents."""
    return tuple(filter(None, (*view.where, view.query.strip())))
