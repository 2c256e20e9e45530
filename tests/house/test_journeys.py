"""How many functions and files of the program a click, a new snapshot and a command pass: back and forth costs time."""

import inspect
import json
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import garden
import pytest
from page_sessions import PageSession
from sources import ROOMS, ROOT

from topiary.app.pages.explore import ExplorePage
from topiary.store.database import open_database

COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
TRAIN = """
import inspect, json, sys
from topiary.app.cli.main import main
from topiary.store import runs
codes = set()
def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        codes.add(frame.f_code.co_filename)
def end(*_, **__):
    sys.setprofile(None)
    modules = [name for name in sys.modules if name.startswith("topiary.")]
    print(json.dumps({"files": sorted(codes), "modules": modules}))
    raise SystemExit
runs.create_run = end
sys.setprofile(note)
main(["train", "allotment", "--store", sys.argv[1]])
"""


class PassedCode:
    """The functions and lambdas of the program that run while it is recorded.

    Comprehensions are parts of the functions that they stand in (Python 3.11 runs them as functions, 3.12 does not).
    """

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_name not in COMPREHENSIONS:
            self._codes.add(code)  # no body of a module or of a class

    @property
    def counts(self) -> "Counts":
        found = [code.co_filename for code in self._codes if is_of_program(code.co_filename)]
        return Counts(len(found), len({*found}))


class Counts(NamedTuple):
    functions: int
    files: int

    def __le__(self, most: tuple[int, ...]) -> bool:
        return all(mine <= other for mine, other in zip(self, most, strict=True))


def is_of_program(file: str) -> bool:
    path = Path(file)
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ROOMS


@contextmanager
def recorded():
    passed = PassedCode()
    sys.setprofile(passed.note)
    try:
        yield passed
    finally:
        sys.setprofile(None)


@pytest.fixture
def db(tmp_path):
    with closing(open_database(str(tmp_path / "store.db"))) as opened:
        yield opened


@pytest.fixture
def session(db):
    """Explore on a run that trains, with a second snapshot to come; what the poller does runs at once."""
    row = garden.begin(db, garden.corpus(db).number, "first spring")
    garden.advance(db, row, 10, snapshot=True)
    made = PageSession(db, "explore", layer=3)
    made.row, made.page = row, ExplorePage(made.context)
    made.feed._pool.submit = lambda work, *given: work(*given)
    made.feed.subscribe(lambda call: call(), lambda tick: [each(tick) for each in made.ticks])
    yield made.work()
    made.feed.stop()


def test_a_click_on_a_topic_draws_its_panel_and_the_marks_alone(session):
    before = {board: board.html for board in (session.page._controls, session.page._list, session.page._foot)}
    with recorded() as drawn:
        session.page.handle({"do": "select", "id": "L3:2"})
    with recorded() as read:
        session.work()
    assert 'data-key="L3:2"' in session.page._detail.html
    assert session.page._list.current == session.page._tree.selected == "L3:2"
    assert all(board.html == html for board, html in before.items())
    assert drawn.counts <= (95, 18)
    assert read.counts <= (213, 40)


def test_a_new_snapshot_reaches_the_picture_on_a_short_way(session, db):
    garden.advance(db, session.row, 20, snapshot=True)
    before, panel = session.page._tree.svg, session.page._detail.html
    with recorded() as passed:
        session.feed.look_now()
    assert session.page._tree.svg != before
    assert session.page._detail.html == panel  # it does not lose its documents while the new ones are read
    with recorded() as read:
        session.work()
    assert session.page._detail.html != panel
    assert passed.counts <= (227, 35)
    assert read.counts <= (243, 47)


def test_a_command_that_queues_a_run_loads_little(db):
    garden.corpus(db)
    made = subprocess.run([sys.executable, "-c", TRAIN, db.url], check=True, capture_output=True, text=True, cwd=ROOT)
    passed = json.loads(made.stdout)
    files = [each for each in passed["files"] if is_of_program(each)]
    assert len(files) <= 20
    assert len(passed["modules"]) <= 54
