"""The page Runs: the list of runs, and the forms for new runs and corpora."""

import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import panel as pn

from topiary.app.analysis.hierarchy import measure_coherence
from topiary.app.analysis.seeds import find_seed_groups
from topiary.app.jobs import progress
from topiary.app.jobs.demo import find_corpus
from topiary.app.jobs.estimates import choose_headline
from topiary.app.jobs.forks import LABEL_MODEL
from topiary.app.jobs.progress import Notice
from topiary.app.live.feed import TROUBLE, Tick, find_usual_run
from topiary.app.pages.components import Board
from topiary.app.pages.form_fields import reword_options
from topiary.app.pages.messages import MessagePart, delete_run, on
from topiary.app.pages.new_corpus import NewCorpusForm
from topiary.app.pages.new_run import ForkRequest, NewRunForm
from topiary.app.pages.session import ANOTHER_RUN, Context
from topiary.app.views.markup import draw_icon, draw_select
from topiary.app.views.runs.corpus_form import ImportFacts, draw_imports
from topiary.app.views.runs.run_list import (
    AT_ONCE,
    LATE,
    LOWEST,
    MOST_MARKED,
    ORDERS,
    RunChoice,
    TableRun,
    WaitFacts,
    draw_empty_store,
    draw_marked,
    draw_missing_run,
    draw_no_run,
    draw_preparation,
    draw_rest,
    draw_run_choice,
    draw_run_table,
    draw_runs,
    draw_waiting_page,
    explain_order,
    follow_preparation,
    follow_start,
    round_estimate,
    select_runs,
)
from topiary.store import corpora, corpus_rows, runs
from topiary.store.run_rows import RunRow

ADD = "add"  # the tab with the form that adds documents


def make_fork_tab(run: int, snapshot: int = 0, *, labels: bool = False) -> str:
    """Return the tab with the form that continues a run: ``fork-3``, ``fork-3-17`` (snapshot 17), ``fork-3-labels``."""
    return f"fork-{run}{f'-{snapshot}' if snapshot else ''}{'-labels' if labels else ''}"


def read_fork_tab(tab: str) -> ForkRequest | None:
    """Return the fork that a tab names; None for any other tab."""
    match = re.fullmatch(r"fork-(\d{1,9})(?:-(\d{1,9}))?(-labels)?", tab)
    return ForkRequest(int(match[1]), int(match[2] or 0), bool(match[3])) if match else None


def make_table_tab(runs: Sequence[int]) -> str:
    """Return the tab with the table that compares runs: ``table-3-5-7``."""
    return "-".join(["table", *map(str, runs)])


def read_table_tab(tab: str) -> list[int]:
    """Return the numbers of the runs in the table that a tab names; empty for any other tab."""
    match = re.fullmatch(r"table((?:-\d{1,9})+)", tab)
    return list(dict.fromkeys(map(int, match[1][1:].split("-"))))[:MOST_MARKED] if match else []


def _is_form(tab: str) -> bool:
    return tab in ("new", ADD) or read_fork_tab(tab) is not None


class RunsPage(MessagePart):
    """The page Runs of one session: the list of runs, or a form that ``tab`` names ("new", "fork-3" or "add")."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._board = Board(on_message=self.handle, sheets=["explore"])
        self._run_form = NewRunForm(context)
        self._corpus_form = NewCorpusForm(context)
        self._corpora: list[corpus_rows.CorpusRow] = []
        self._prepared = False  # whether the demo is being prepared in an empty store
        self._n_imports = 0  # number of imports running at the last tick
        self._choice = RunChoice()
        self._marked: set[int] = set()  # numbers of the runs to compare
        self._npmi: dict[int, tuple[float, ...]] = {}  # mean coherence of each layer, by number of the snapshot
        self._reading = False  # whether coherences are being read
        self._n_shown = AT_ONCE
        self._holder = pn.Column(sizing_mode="stretch_width", margin=0)
        self.page = self._holder
        context.view.param.watch(self._on_view, ["page", "run", "tab"])
        context.on_tick(self._on_tick)
        self._on_view()

    def _on_view(self, *_: Any) -> None:
        if self._context.view.page != "runs":
            return
        tab = self._context.view.tab
        part = self._corpus_form.board if tab == ADD else self._run_form.board if _is_form(tab) else self._board
        if list(self._holder) != [part]:
            self._holder[:] = [part]
        if part is self._board:
            self._draw()
            self._context.later(partial(corpora.list_corpora, self._context.db), self._take_corpora)
        elif part is self._run_form.board:
            self._run_form.refresh(read_fork_tab(tab))
        else:
            self._corpus_form.refresh()

    def _take_corpora(self, rows: list[corpus_rows.CorpusRow]) -> None:
        self._corpora = rows
        self._draw()

    def _on_tick(self, _: Tick) -> None:
        n_running = sum(not notice.notice.failed for notice in progress.list_imports())
        if n_running != self._n_imports:  # an import that has ended may have made a corpus
            self._n_imports = n_running
            self._context.later(partial(corpora.list_corpora, self._context.db), self._take_corpora)
        if self._context.view.page == "runs" and not _is_form(self._context.view.tab):
            self._draw()

    def _draw(self) -> None:
        """Draw the list of runs, or what to do in an empty store; open the demo once it has its run."""
        feed = self._context.feed
        rows = feed.runs()
        imports = draw_imports(_list_imports())
        if not rows:
            self._prepared = bool(feed.notice.sentence) and not feed.notice.failed
            self._board.html = f'<div class="tp-page-in">{imports}{self._draw_empty(feed.notice)}</div>'
            return
        if self._prepared:
            self._prepared = False
            self._context.view.param.update(page="explore", run=rows[-1].number)  # the demo's first
            return
        if compared := read_table_tab(self._context.view.tab):
            self._draw_table([row for row in rows if row.number in compared])
            return
        training = sum(feed.state(row.number) == "running" for row in rows)
        note = f"{len(rows):,} in this store, {training} training" if training else f"{len(rows):,} in this store"
        latest, selected = feed.get_latest_values, self._context.view.run
        matching = self._choice.select(rows, feed.state, latest)
        visible = select_runs(matching, feed.state, selected, self._n_shown)
        numbers = {row.number for row in rows}
        self._marked &= numbers
        listing = draw_runs(
            visible,
            feed.state,
            feed.spark,
            selected,
            self._find_labelled(visible),
            numbers,
            {row.number for row in visible if feed.latest(row.number) is None},
            latest,
            find_seed_groups(rows),
            self._marked if len(rows) > 1 else None,
        )
        self._board.html = (
            f'<div class="tp-page-in"><div class="tp-title"><div><h1>Runs</h1><p class="tp-dim">{note}</p></div>'
            '<div class="tp-title-acts">'
            f'<button class="tp-button" data-do="add">{draw_icon("page")}Add documents</button>'
            '<button class="tp-button tp-strong" data-do="new">'
            f"{draw_icon('plus')}New run</button></div></div>"
            f"{imports}"
            f'<div class="tp-list-acts">{draw_run_choice(rows, feed.state, self._choice)}'
            f"{draw_marked(self._marked, len(matching))}</div>{explain_order(matching, self._choice)}"
            f"{listing}"
            f"{draw_rest(len(visible), len(matching), AT_ONCE, self._choice.text)}</div>"
        )
        read = matching if self._choice.order == LOWEST else visible
        if unread := feed.list_missing_sparks(row.number for row in read):
            self._context.later(partial(feed.read_sparks, unread), lambda _: self._on_tick(Tick()))

    def _draw_table(self, rows: list[RunRow]) -> None:
        """Draw the table that compares runs, and read the coherences that it lacks."""
        feed = self._context.feed
        newest = {row.number: feed.latest(row.number) for row in rows}
        missing = {number: row.number for number, row in newest.items() if row and row.number not in self._npmi}
        table = [
            TableRun(
                row,
                feed.state(row.number),
                choose_headline(row, feed.get_latest_values(row.number)),
                self._npmi.get(snapshot.number, ()) if (snapshot := newest[row.number]) else (),
            )
            for row in RunChoice(order=self._choice.order).select(rows, feed.state, feed.get_latest_values)
        ]
        body = (
            draw_run_table(table, waiting=bool(missing))
            if table
            else '<p class="tp-error" role="alert">None of these runs is in this store any more.</p>'
        )
        order = draw_select("order", ORDERS.items(), self._choice.order, "Order of the runs")
        note = f'<p class="tp-dim">{len(rows)} of {len(feed.runs()):,} in this store</p>'
        self._board.html = (
            f'<div class="tp-page-in"><div class="tp-title"><div><h1>Compare runs</h1>{note}</div>'
            f'<div class="tp-title-acts"><div class="tp-choice">{order}</div><button class="tp-button" data-do="list">'
            f"{draw_icon('list')}Back to the runs</button></div></div>{body}</div>"
        )
        if missing and not self._reading:
            self._reading = True
            self._context.later(partial(self._read_npmi, missing), self._take_npmi)
        if unread := feed.list_missing_sparks(row.number for row in rows):
            self._context.later(partial(feed.read_sparks, unread), lambda _: self._on_tick(Tick()))

    def _read_npmi(self, snapshots: Mapping[int, int]) -> dict[int, tuple[float, ...]]:
        """Return the mean coherence of each layer of snapshots, by number; ``snapshots`` has them by run."""
        found: dict[int, tuple[float, ...]] = {}
        for run, snapshot in snapshots.items():
            try:
                hierarchy = self._context.feed.hierarchy(run, snapshot)
            except TROUBLE:
                hierarchy = None  # damaged or gone, which the pages of the run explain
            layers = () if hierarchy is None else measure_coherence(hierarchy)
            found[snapshot] = tuple(layer.mean_npmi for layer in layers)
        return found

    def _take_npmi(self, found: dict[int, tuple[float, ...]]) -> None:
        self._reading = False
        self._npmi |= found
        self._on_tick(Tick())

    def _draw_empty(self, notice: Notice) -> str:
        """Draw what a visitor can do in a store without runs, or the progress of the demo."""
        if self._prepared:
            return draw_preparation(notice.sentence, notice.share)
        return draw_empty_store([row.name for row in self._corpora], notice.sentence)

    def _find_labelled(self, rows: Sequence[RunRow]) -> set[int]:
        """Return the runs that can be continued with labels: their corpus has labels, and their model ignores them."""
        corpus_numbers = {row.number for row in self._corpora if len(row.label_names) > 1}
        return {row.number for row in rows if row.corpus in corpus_numbers and row.model != LABEL_MODEL}

    # ------------------------------------------------------------ messages

    @on("add-again", "dismiss")
    def _forget_import(self, do: str, import_: int) -> None:
        progress.forget_import(import_)
        self._draw()
        self._view.tab = ADD if do == "add-again" else ""

    @on("new", "add")
    def _open_form(self, do: str) -> None:
        self._view.tab = do

    @on("find", "order", "state", "corpus", "model")
    def _choose_shown(self, do: str, value: str) -> None:
        """Show the runs that match the search and the filters, in order."""
        self._choice, self._n_shown = self._choice.change("text" if do == "find" else do, value), AT_ONCE
        self._draw()

    @on("more")
    def _show_more(self) -> None:
        self._n_shown += AT_ONCE
        self._draw()

    @on("mark")
    def _mark(self, run: int) -> None:
        if self._context.feed.run(run) is not None:
            self._marked ^= {run}
        self._draw()

    @on("mark-all")
    def _mark_all(self) -> None:
        feed = self._context.feed
        fitting = self._choice.select(feed.runs(), feed.state, feed.get_latest_values)
        self._marked = {row.number for row in fitting[:MOST_MARKED]}
        self._draw()

    @on("unmark")
    def _unmark(self) -> None:
        self._marked = set()
        self._draw()

    @on("table")
    def _open_table(self) -> None:
        if len(self._marked) > 1:
            self._view.tab = make_table_tab(sorted(self._marked)[-MOST_MARKED:])

    @on("list")
    def _leave_table(self) -> None:
        self._marked = set(read_table_tab(self._view.tab))
        self._view.tab = ""

    @on("demo")
    def _start_demo(self) -> None:
        self._context.later(self._context.actions.demo, lambda _: None)

    @on("fork")
    def _fork(self, run: int, how: str = "") -> None:
        self._view.tab = make_fork_tab(run, labels=how == "labels")

    @on("watch", "explore", "seeds")
    def _open(self, do: str, run: int) -> None:
        self._put(page=do, run=run, tab="", **({} if run == self._view.run else ANOTHER_RUN))

    @on("pause", "resume", "stop", "move")
    def _control(self, do: str, run: int) -> None:
        self._context.later(partial(getattr(self._context.actions, do), run), lambda _: None)

    @on("rename")
    def _rename(self, run: int, value: str) -> None:
        self._context.later(partial(self._context.actions.rename_run, run, value[:200]), lambda _: None)

    @on("delete")
    def _delete(self, run: int, typed: str) -> None:
        if (row := self._context.feed.run(run)) is not None:
            delete_run(self._context, row, typed)

    @on("compare")
    def _compare(self, run: int) -> None:
        row = self._context.feed.run(run)
        if row is not None and row.parent is not None:
            choice = ANOTHER_RUN | {"partner": row.parent, "partner_snapshot": 0, "partner_roots": ()}
            self._put(page="compare", run=run, tab="", **choice)


def _list_imports() -> list[ImportFacts]:
    """Return the imports of this process, with options named as in the form."""
    return [
        ImportFacts(number, name, reword_options(sentence), share, failed)
        for number, name, (sentence, share, failed) in progress.list_imports()
    ]


class NoRunPage(MessagePart):
    """The page in place of topics that are not there: of no run, or of one whose first topics are on their way."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.board = Board("", self.handle, sheets=["waiting"])
        self._said: tuple[int, int, float] | None = None  # run, estimate, and when it fell to this
        self._corpus: tuple[int, WaitFacts] | None = None
        self._view.param.watch(self._draw, ["run", "page"])
        context.on_tick(self._draw)
        self._draw()

    def _draw(self, *_: Any) -> None:
        feed, run = self._context.feed, self._view.run
        usual = find_usual_run(feed)
        if feed.run(run) is not None:
            self.board.html = self._draw_waiting(self._follow_run(run))
        elif usual:
            self.board.html = draw_missing_run(run, usual)
        elif feed.notice.sentence and not feed.notice.failed:
            self.board.html = self._draw_waiting(self._follow_demo())
        else:
            self.board.html = draw_no_run()

    def _draw_waiting(self, facts: WaitFacts) -> str:
        """Draw the wait with an estimate that only falls; when it has not for a while, the page says so."""
        now, run, estimate = time.monotonic(), self._view.run, round_estimate(facts.seconds)
        if self._said is None or self._said[0] not in (0, run) or estimate < self._said[1]:
            self._said = (run, estimate, now)
        return draw_waiting_page(facts, self._said[1], late=now - self._said[2] > LATE)

    def _follow_demo(self) -> WaitFacts:
        found = find_corpus(self._context.db)
        share = min(max(self._context.feed.notice.share or 0.0, 0.0), 1.0)
        return follow_preparation(share, found.documents if found else 0, found.tokens if found else 0)

    def _follow_run(self, run: int) -> WaitFacts:
        """Return what a run has behind it before its first topics; its corpus is read once."""
        row = self._context.feed.run(run)
        if self._corpus is None or self._corpus[0] != run:
            corpus = corpora.get_run_corpus(self._context.db, runs.get_run(self._context.db, run))
            demo = find_corpus(self._context.db)
            is_demo = demo is not None and demo.number == corpus.number
            wanted = () if is_demo else range(min(corpus.documents, 2))
            rows = corpora.read_documents(self._context.db, corpus.number, wanted)
            own = [(document.title or "", document.text or "") for document in rows]
            self._corpus = run, WaitFacts(2, 0.0, 0.0, corpus.documents, corpus.tokens, own)
        if row is None:
            return self._corpus[1]
        began = row.started or datetime.now(UTC)
        is_queued, spent = row.state == "queued", (datetime.now(UTC) - began).total_seconds()
        facts = follow_start(self._corpus[1], "" if is_queued else row.message or "", spent)
        return facts._replace(layers=tuple(row.layers), queued=is_queued)

    @on("usual")
    def _show_usual(self) -> None:
        self._put(**(ANOTHER_RUN | {"run": find_usual_run(self._context.feed)}))

    @on("runs")
    def _list_runs(self) -> None:
        self._put(page="runs", tab="", **(ANOTHER_RUN | {"run": find_usual_run(self._context.feed)}))
