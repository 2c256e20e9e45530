"""The list of runs: how a run is continued, and what a store without one offers."""

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from class_samples import plant
from page_sessions import PageSession

from app import notice
from app.pages.no_run import no_run_page
from app.pages.runs import Runs, fork_tab, forked
from app.ticks import Tick
from app.views.no_run import run_not_here
from store.database import Database, open_database


@pytest.fixture
def db(tmp_path: Any) -> Iterator[Database]:
    db = open_database(str(tmp_path / "store.db"))
    yield db
    db.close()


class Session(PageSession):
    """A list of runs."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, "runs")
        self.demos = 0
        self.page = Runs(replace(self.context, actions=SimpleNamespace(demo=self._demo)))  # type: ignore[arg-type]
        self.work()

    def _demo(self) -> None:
        self.demos += 1

    def hear(self, do: str, **more: Any) -> None:
        self.page._on_board({"do": do, **more})
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
    session.page._on_board({"do": "fork", "run": "1", "how": how})
    assert session.view.tab == tab
    session.feed.stop()


@pytest.mark.parametrize("fork", [(3, 0, False), (3, 17, False), (3, 0, True), (3, 17, True)])
def test_the_tab_of_a_fork_is_read_as_it_was_written(fork: tuple[int, int, bool]) -> None:
    run, snapshot, labels = fork
    assert forked(fork_tab(run, snapshot, labels=labels)) == fork


def test_an_empty_store_makes_the_demo_and_tells_how_far_it_is(db: Database) -> None:
    session = Session(db)
    assert "Try the demo" in session.page._board.html
    session.hear("demo")
    assert session.demos == 1
    notice.post("Preparing the demo: reading", 0.25)
    assert 'aria-valuenow="25"' in session.look()
    assert "Try the demo" not in session.look()
    notice.post("There is no room", failed=True)
    assert "There is no room" in session.look()
    assert "Try the demo" in session.look()
    notice.post("")
    session.feed.stop()


def test_what_stands_in_place_of_the_pages_of_a_run_leads_to_where_runs_are_started(db: Database) -> None:
    session = PageSession(db, "documents", run=0, tab="between")
    board: Any = no_run_page(session.context)
    assert "There is no run yet" in board.html
    board._handle_msg({"do": re.search(r'data-do="(\w+)"', board.html)[1]})  # type: ignore[index]
    assert (session.view.page, session.view.tab) == ("runs", "")


def test_a_run_that_is_not_known_yet_is_looked_for_and_without_one_somebody_is_asked_to_choose() -> None:
    assert run_not_here(7) == "Looking for run 7 …"
    assert run_not_here(0) == "Choose a run in the bar above, or start one on the Runs page."
