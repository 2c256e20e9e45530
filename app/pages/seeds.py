"""The page What comes back: what a run has in common with runs that differ from it in the seed alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.seeds import MixingFigure, SeedGroup, list_seed_runs, measure_mixing
from topiary.app.live.feed import Tick
from topiary.app.pages.components import Board
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import ANOTHER_RUN, Context
from topiary.app.views.compare.recurrence import MORE, SeedReport, draw_seed_page, draw_seed_progress
from topiary.app.views.runs.run_list import explain_missing_run, explain_no_topics
from topiary.app.views.tree.opening import choose_threshold
from topiary.engine.hierarchy.align import Recurrence
from topiary.engine.hierarchy.tree import Node
from topiary.store.run_rows import RunRow

PAUSE = 20.0  # seconds between two measurements while runs train
_WATCHED = ["page", "run", "snapshot", "threshold"]

SeedKey: TypeAlias = tuple[int, int, frozenset[tuple[int, int]]]


def fetch_recurrence(context: Context, hierarchy: Hierarchy) -> tuple[SeedGroup, Recurrence | None]:
    """Find the runs with other seeds, and measure what comes back; blocks while topics are read and matched."""
    row = context.feed.run(hierarchy.run)
    if row is None:
        raise LookupError(f"There is no run {hierarchy.run} in this store.")
    # The cached one has words by the usual relevance.
    return context.reader.recurrence(row, context.feed.hierarchy(hierarchy.run, hierarchy.snapshot) or hierarchy)


class MeasuredSeeds(NamedTuple):
    """What comes back of a hierarchy: the key of the request, the hierarchy, the runs, and the result."""

    key: SeedKey
    hierarchy: Hierarchy
    group: SeedGroup
    recurrence: Recurrence | None


class SeedReader:
    """What comes back of the hierarchy on screen, measured in another thread, one measurement at a time.

    While runs train, it is measured again at most every ``PAUSE`` seconds.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._answer: MeasuredSeeds | None = None
        self._added: tuple[Hierarchy, Hierarchy] | None = None  # the last that was given, and returned
        self._pending = False
        self._sent = 0.0

    def add(self, hierarchy: Hierarchy, then: Callable[[], None]) -> Hierarchy:
        """Return a hierarchy with what comes back of it if that is known; else measure it, and call ``then`` after.

        A hierarchy of a run without other seeds is returned as it is.
        """
        run = self._context.feed.run(hierarchy.run)
        others = [] if run is None else list_seed_runs(run, self._context.feed.runs())
        if not others:
            return hierarchy
        answer, key = self._answer, self._make_key(hierarchy, others)
        if (answer is None or answer.key != key) and self._is_due(answer, hierarchy, others):
            self._pending, self._sent = True, monotonic()
            work = partial(fetch_recurrence, self._context, hierarchy)
            self._context.aside(work, partial(self._receive, key, hierarchy, then), self._fail)
        if answer is None or answer.recurrence is None or not _has_same_topics(answer.hierarchy, hierarchy):
            return hierarchy
        if self._added is None or self._added[0] is not hierarchy or self._added[1].recurrence is not answer.recurrence:
            self._added = hierarchy, replace(hierarchy, recurrence=answer.recurrence)  # keeps what is computed of it
        return self._added[1]

    def _make_key(self, hierarchy: Hierarchy, others: list[RunRow]) -> SeedKey:
        latest = ((row.number, self._context.feed.latest(row.number)) for row in others)
        newest = frozenset((number, snapshot.number) for number, snapshot in latest if snapshot is not None)
        return hierarchy.run, hierarchy.snapshot, newest

    def _is_due(self, answer: MeasuredSeeds | None, hierarchy: Hierarchy, others: list[RunRow]) -> bool:
        if self._pending:
            return False
        states = (self._context.feed.state(number) for number in (hierarchy.run, *(row.number for row in others)))
        is_another = answer is None or answer.hierarchy.run != hierarchy.run
        return is_another or "running" not in states or monotonic() - self._sent > PAUSE

    def _receive(
        self, key: SeedKey, hierarchy: Hierarchy, then: Callable[[], None], found: tuple[SeedGroup, Recurrence | None]
    ) -> None:
        self._pending = False
        self._answer = MeasuredSeeds(key, hierarchy, *found)
        then()

    def _fail(self) -> None:
        self._pending = False


def _has_same_topics(one: Hierarchy, two: Hierarchy) -> bool:
    """Return whether two snapshots are of one run and have the same topics in the same columns."""
    return (one.run, one.widths) == (two.run, two.widths) and all(map(np.array_equal, one.names, two.names))


class _SeedAnswer(NamedTuple):
    """A request of the page and its answer; without a hierarchy, a sentence says why there is nothing to show."""

    run: int
    snapshot: int
    hierarchy: Hierarchy | None = None
    group: SeedGroup | None = None
    recurrence: Recurrence | None = None
    mixing: tuple[MixingFigure, ...] = ()


class SeedsPage(MessagePart):
    """The page What comes back of one session."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._answer: _SeedAnswer | None = None
        self._pending: tuple[int, int] | None = None
        self._sent = 0.0
        self.board = Board(on_message=self.handle, sheets=["explore", "compare", "seeds"])
        context.view.param.watch(self._on_view, _WATCHED)
        context.on_tick(self._on_tick)
        self._fetch()

    def _on_view(self, *events: Any) -> None:
        if self._view.page != "seeds":
            return
        if self._answer is None or {event.name for event in events} & {"run", "snapshot", "page"}:
            self._fetch()
        else:
            self._draw()

    def _on_tick(self, tick: Tick) -> None:
        view, answer = self._view, self._answer
        if view.page != "seeds" or self._pending is not None:
            return
        if answer is None or answer.group is None:
            if view.run in tick.rows | tick.snapshots:
                self._fetch()
            return
        numbers = {view.run, *(row.number for row in self._list_others())}
        if numbers & tick.labels:
            self._draw()
        known = {row.number for row, _ in answer.group.ready}
        has_news = bool(numbers & tick.snapshots) or bool((numbers - known) & tick.rows)
        if has_news and (answer.recurrence is None or monotonic() - self._sent > PAUSE):
            self._fetch()

    def _list_others(self) -> list[RunRow]:
        run = self._context.feed.run(self._view.run)
        return [] if run is None else list_seed_runs(run, self._context.feed.runs())

    def _fetch(self) -> None:
        """Measure what comes back in another thread; show the last answer meanwhile if it is of this run."""
        view, feed = self._context.view, self._context.feed
        if feed.run(view.run) is None:
            self._answer = None
            self._draw_sentence(explain_missing_run(view.run))
            return
        key = view.run, view.snapshot
        if self._answer is not None and self._answer[:2] != key:
            self._answer = None
        self._draw()
        if self._pending != key:
            self._pending, self._sent = key, monotonic()
            self._context.aside(partial(self._read, *key), partial(self._receive, key), partial(self._fail, key))

    def _read(self, run: int, snapshot: int) -> _SeedAnswer:
        hierarchy = self._context.feed.hierarchy(run, snapshot or None)
        if hierarchy is None:
            return _SeedAnswer(run, snapshot)
        group, recurrence = fetch_recurrence(self._context, hierarchy)
        numbers = [run, *(row.number for row, _ in group.ready)]
        mixing = (
            measure_mixing(self._context.db, numbers, hierarchy.n_layers, hierarchy.minibatch) if group.ready else []
        )
        return _SeedAnswer(run, snapshot, hierarchy, group, recurrence, tuple(mixing))

    def _receive(self, key: tuple[int, int], answer: _SeedAnswer) -> None:
        if self._pending == key:
            self._pending = None
        if key == (self._view.run, self._view.snapshot):
            self._answer = answer
            self._draw()

    def _fail(self, key: tuple[int, int]) -> None:
        if self._pending == key:
            self._pending = None
            if self._view.page == "seeds":
                self._fetch()

    def _draw(self) -> None:
        answer, view, feed = self._answer, self._context.view, self._context.feed
        if answer is None or answer.hierarchy is None or answer.group is None:
            if feed.latest(view.run) is None:
                row = feed.run(view.run)
                self._draw_sentence(explain_no_topics(view.run, feed.state(view.run), row.message if row else ""))
            else:
                self._draw_sentence(f"Matching the topics of run {view.run} with those of other seeds …", busy=True)
            return
        hierarchy = feed.update_names(answer.hierarchy)
        threshold = choose_threshold(view.threshold, hierarchy)
        report = SeedReport(hierarchy, answer.group, answer.recurrence, answer.mixing, threshold)
        self.board.html = draw_seed_page(report)

    def _draw_sentence(self, sentence: str, *, busy: bool = False) -> None:
        self.board.html = draw_seed_progress(sentence, busy=busy)

    @on("topic")
    def _explore(self, topic: Node) -> None:
        self._open_topic(topic)

    @on("more-seeds")
    def _train_seeds(self) -> None:
        """Train the run with further seeds; the page goes on as soon as these have topics."""
        self._context.later(partial(self._context.actions.train_seeds, self._view.run, MORE), self._report_seeds)

    def _report_seeds(self, rows: list[RunRow]) -> None:
        first, last = rows[0], rows[-1]
        self._context.notify(
            f"Runs {first.number} to {last.number} train run {self._view.run} with other seeds.", "success"
        )
        self._fetch()

    @on("compare")
    def _compare(self, run: int) -> None:
        partner = {"partner": run, "partner_snapshot": 0, "partner_roots": ()}
        kept = {"run": self._view.run, "snapshot": self._view.snapshot}
        self._put(page="compare", tab="", **(ANOTHER_RUN | partner | kept))
