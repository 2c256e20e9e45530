"""The list of runs: how a run is continued, and what a store without one offers."""

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from class_samples import plant
from databases import open_filled
from page_sessions import PageSession

from topiary.app.jobs import process, progress
from topiary.app.live.feed import Tick
from topiary.app.pages.runs import NoRunPage, RunsPage, make_fork_tab, make_table_tab, read_fork_tab, read_table_tab
from topiary.app.views.runs.run_list import NO_FORK, draw_sparkline, explain_missing_run
from topiary.app.views.top_bar import VisitorPlace, draw_top_bar
from topiary.store import corpora, runs
from topiary.store.database import Database
from topiary.store.points import Point


@pytest.fixture
def db(tmp_path: Any) -> Iterator[Database]:
    db = open_filled(tmp_path / "store.db")
    yield db
    db.close()


class Session(PageSession):
    """A list of runs."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, "runs")
        self.demos = 0
        self.first: list[int] = []
        uploads = SimpleNamespace(begin=lambda: "token", list_names=lambda _: [])
        actions = SimpleNamespace(demo=self._demo, uploads=uploads, move=self.first.append)
        self.page = RunsPage(replace(self.context, actions=actions))  # type: ignore[arg-type]
        self.work()

    def _demo(self) -> None:
        self.demos += 1

    def handle(self, do: str, **more: Any) -> None:
        self.page.handle({"do": do, **more})
        self.work()

    def look(self) -> str:
        """What stands there after the feed has looked again."""
        self.feed.look_now()
        self.ticks[0](Tick())
        return self.page._board.html


@pytest.mark.parametrize(
    ("options", "word", "tab"),
    [({}, "Continue with labels", "fork-1-labels"), ({"labelled": False}, "Continue", "fork-1")],
)
def test_a_run_is_continued_by_a_word_and_with_labels_where_there_are_some(
    db: Database, options: dict[str, Any], word: str, tab: str
) -> None:
    plant(db, **options)
    session = Session(db)
    assert f">{word}</button>" in session.page._board.html
    how = "labels" if 'data-how="labels"' in session.page._board.html else ""
    session.page.handle({"do": "fork", "run": "1", "how": how})
    assert session.view.tab == tab
    session.feed.stop()


def test_a_run_without_topics_cannot_be_continued_yet_and_it_is_said_why(db: Database) -> None:
    plant(db)
    planted(db, 1)
    session = Session(db)
    buttons = re.findall(r'<button[^>]*data-do="fork"[^>]*>', session.page._board.html)
    assert ["disabled" in button for button in buttons] == [True, False]  # run 2 waits
    assert NO_FORK in buttons[0]
    bars = [draw_top_bar(VisitorPlace("watch", session.feed.run(2), "queued", bare=bare), []) for bare in (True, False)]
    assert [NO_FORK in bar and " disabled" in bar for bar in bars] == [True, False]
    session.feed.stop()


def planted(db: Database, count: int, points: int = 0) -> None:
    """So many more runs on the corpus of the first; all but run 2, which waits, and run 3, which trains, are over."""
    for number in range(2, count + 2):
        row = runs.create_run(
            db,
            corpus=1,
            model="dlda",
            inference="tlasgr",
            layers=(4, 2),
            settings={},
            options={"minibatches": 9},
            seed=1,
        )
        assert row.number == number
        if number == 2:
            continue
        runs.claim_run(db, number, process.identify_process())
        found = [Point(t, 10 * t, 0.1 * t, "point_perplexity", 0, 100.0 - t) for t in range(1, points + 1)]
        runs.record_progress(db, number, 1, minibatch=points, seconds=1.0, points=found)
        if number != 3:
            runs.finish_run(db, number, 1, "finished")


def numbers(session: Session) -> list[int]:
    """Those of the rows that are shown."""
    return [int(number) for number in re.findall(r'tp-run-number"[^>]*>(\d+)<', session.page._board.html)]


def test_of_many_runs_the_newest_those_at_work_and_the_chosen_one_are_shown_and_more_on_demand(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topiary.app.pages.runs.AT_ONCE", 5)
    plant(db)
    planted(db, 29)
    session = Session(db)
    session.page._n_shown = 5
    session.look()
    assert numbers(session) == [30, 29, 28, 27, 26, 3, 2, 1]
    assert "8 of 30 runs" in session.page._board.html
    session.handle("more")
    assert numbers(session) == [*range(30, 20, -1), 3, 2, 1]
    session.handle("find", value="FINISHED 17")
    assert numbers(session) == [17]
    assert 'data-do="more"' not in session.page._board.html
    session.handle("find", value="training")
    assert numbers(session) == [3]
    session.handle("find", value="<no such run>")
    assert numbers(session) == []
    assert "No run matches “&lt;no such run&gt;”." in session.page._board.html
    session.feed.stop()


def test_runs_are_filtered_ordered_and_compared_in_a_table(db: Database) -> None:
    plant(db)
    planted(db, 5, points=3)
    session = Session(db)
    session.handle("order", value="oldest")
    assert numbers(session) == [1, 2, 3, 4, 5, 6]
    session.handle("state", value="queued")
    assert numbers(session) == [2]
    session.handle("state", value="paused")
    assert numbers(session) == []
    assert "No run fits these filters." in session.page._board.html
    session.handle("state", value="")
    session.handle("table")
    session.handle("mark", run="77")
    session.handle("mark", run="4")
    assert session.view.tab == ""
    assert session.page._board.html.count('aria-checked="true"') == 1
    session.handle("mark", run="1")
    session.handle("mark", run="5")
    session.handle("mark", run="5")
    session.handle("table")
    assert session.view.tab == "table-1-4"
    session.work()
    html = session.page._board.html
    assert re.findall(r'data-do="watch" data-run="(\d+)"', html) == ["1", "4"]
    assert "<td>9 mini-batches</td>" in html
    assert list(session.page._npmi) == [session.feed.latest(1).number]  # type: ignore[union-attr]
    assert "being read" not in html
    session.handle("list")
    assert (session.view.tab, session.page._marked) == ("", {1, 4})
    session.handle("mark-all")
    assert session.page._marked == {1, 2, 3, 4, 5, 6}
    session.handle("unmark")
    assert session.page._marked == set()
    session.view.tab = "table-98-99"
    assert "None of these runs is in this store" in session.page._board.html
    session.feed.stop()


def test_the_tab_of_a_table_is_read_as_it_was_written() -> None:
    assert make_table_tab([3, 5, 17]) == "table-3-5-17"
    assert read_table_tab("table-3-5-17-5") == [3, 5, 17]
    assert read_table_tab("table-") == read_table_tab("table") == read_table_tab("fork-3") == []


def test_a_few_runs_need_no_field_to_be_found(db: Database) -> None:
    plant(db)
    session = Session(db)
    assert 'data-input="find"' not in session.look()
    planted(db, 12)
    assert 'data-input="find"' in session.look()
    session.handle("find", value="training")
    runs.delete_run(db, 13)
    assert numbers(session) == [3]
    assert 'data-input="find"' in session.look(), "what hides the others can still be taken back"
    session.feed.stop()


def test_the_small_curve_of_an_old_run_is_read_when_it_is_looked_at(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topiary.app.live.feed.FIRST_SPARKS", 1)
    plant(db)
    planted(db, 4, points=4)
    feed = PageSession(db, "watch").feed
    assert feed.list_missing_sparks(range(9)) == [1, 2, 3, 4]
    feed.stop()
    session = Session(db)
    session.look()
    assert session.feed.spark(5) == session.feed.spark(4) == (99.0, 98.0, 97.0, 96.0)
    assert session.page._board.html.count(draw_sparkline((99.0, 98.0, 97.0, 96.0))) == 3
    session.feed.stop()


@pytest.mark.parametrize("fork", [(3, 0, False), (3, 17, False), (3, 0, True), (3, 17, True)])
def test_the_tab_of_a_fork_is_read_as_it_was_written(fork: tuple[int, int, bool]) -> None:
    run, snapshot, labels = fork
    assert read_fork_tab(make_fork_tab(run, snapshot, labels=labels)) == fork


def test_an_empty_store_makes_the_demo_and_tells_how_far_it_is(db: Database) -> None:
    session = Session(db)
    assert "Try the demo" in session.page._board.html
    session.handle("demo")
    assert session.demos == 1
    progress.post_notice("Preparing the demo: reading", 0.25)
    assert 'aria-valuenow="25"' in session.look()
    assert "Try the demo" not in session.look()
    progress.post_notice("There is no room", failed=True)
    assert "There is no room" in session.look()
    assert "Try the demo" in session.look()
    progress.post_notice("")
    session.feed.stop()


@pytest.mark.parametrize("runs_there", [False, True])
def test_an_import_that_another_session_began_is_told_and_why_it_failed_until_somebody_has_read_it(
    db: Database, runs_there: bool
) -> None:
    if runs_there:
        plant(db)
    session = Session(db)
    assert "tp-adding" not in session.look()
    progress.post_import(progress.ImportNotice(1, "<b>letters</b>", progress.Notice("Storing documents", 0.25)))
    assert "Adding “&lt;b&gt;letters&lt;/b&gt;”: Storing documents …" in session.look()
    assert 'aria-valuenow="25"' in session.look()
    progress.post_import(progress.ImportNotice(1, "letters", progress.Notice("a.csv: lower --min-df", failed=True)))
    progress.post_import(progress.ImportNotice(2, "mails", progress.Notice("it is empty", failed=True)))
    assert "“letters” was not added. a.csv: lower “Rarest words”" in session.look()
    session.page.handle({"do": "dismiss", "import": "1"})
    assert "letters" not in session.look()
    session.page.handle({"do": "add-again", "import": "2"})
    assert session.view.tab == "add"
    assert progress.list_imports() == ()
    session.feed.stop()


def test_the_corpus_of_an_import_that_another_session_began_is_there_at_its_end(db: Database) -> None:
    session = Session(db)
    progress.post_import(progress.ImportNotice(1, "letters", progress.Notice("Storing documents")))
    session.look()
    runs.delete_run(db, plant(db).number)  # its corpus stays
    progress.post_import(progress.ImportNotice(1, "letters", progress.Notice()))
    session.look()
    session.work()
    assert "Corpora in this store: leaflets" in session.page._board.html
    session.feed.stop()


def test_what_stands_in_place_of_the_pages_of_a_run_leads_to_where_runs_are_started(db: Database) -> None:
    session = PageSession(db, "documents", run=0, tab="between")
    board: Any = NoRunPage(session.context).board
    assert "There is no run yet" in board.html
    board._handle_msg({"do": re.search(r'data-do="(\w+)"', board.html)[1]})  # type: ignore[index]
    assert (session.view.page, session.view.tab) == ("runs", "")


def test_until_a_run_has_topics_its_page_says_when_and_the_estimate_only_falls(db: Database) -> None:
    row = plant(db)
    session = PageSession(db, "explore", run=row.number)
    page = NoRunPage(session.context)
    assert "Your first topics appear in about 50 seconds." in page.board.html
    assert f"Read {corpora.get_run_corpus(db, row).documents:,} documents" in page.board.html
    assert "<b>Your documents</b>" in page.board.html
    facts = page._follow_run(row.number)
    assert "about 6 seconds" in page._draw_waiting(facts._replace(seconds=4.0))
    assert "about 6 seconds" in page._draw_waiting(facts._replace(seconds=40.0)), "it never rises"
    session.view.run = row.number + 1
    assert "about 40 seconds" in page._draw_waiting(facts._replace(seconds=40.0)), "but for another run"


def test_a_run_that_is_not_known_yet_is_looked_for_and_without_one_somebody_is_asked_to_choose() -> None:
    assert explain_missing_run(7) == "Looking for run 7 …"
    assert explain_missing_run(0) == "Choose a run in the bar above, or start one on the Runs page."


def test_a_queued_run_can_be_told_to_start_first(db: Database) -> None:
    session = Session(db)
    session.handle("move", run="7")
    session.handle("move", run="seven")
    assert session.first == [7]
