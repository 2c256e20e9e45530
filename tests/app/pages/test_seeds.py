"""The page What comes back without a browser: it waits, measures once, follows the runs, and leads on."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from page_sessions import PageSession
from seed_samples import add_group, add_seed, plant_arrays

from topiary.app.analysis import topic_reader
from topiary.app.analysis.seeds import list_seed_runs
from topiary.app.jobs.forks import repeat_with_seeds
from topiary.app.live.feed import Tick
from topiary.app.pages import seeds
from topiary.app.pages.explore import ExplorePage
from topiary.app.pages.seeds import SeedsPage
from topiary.store import runs, snapshots


class Session(PageSession):
    """The page on a small store."""

    def __init__(self, db, page="seeds", **fields):
        super().__init__(db, page, **fields)
        self.page = SeedsPage(self.context) if page == "seeds" else ExplorePage(self.context)

    def tick(self, **news):
        self.feed.look_now()
        for callback in self.ticks:
            callback(Tick(**{name: frozenset(numbers) for name, numbers in news.items()}))
        return self.work()

    @property
    def html(self):
        return self.page.board.html


@pytest.fixture
def opened(db):
    sessions = []

    def open_page(*args, **fields):
        sessions.append(Session(db, *args, **fields))
        return sessions[-1]

    yield open_page
    for session in sessions:
        session.feed.stop()


def test_what_comes_back_is_measured_in_another_thread_and_only_once(db, opened, monkeypatch):
    add_group(db)
    session = opened()
    assert "Matching the topics of run 1 with those of other seeds" in session.html
    session.work()
    assert "Layer 2: agreement" in session.html
    assert "<b>3 of 4</b>" in session.html
    assert "Have the chains mixed?" in session.html
    monkeypatch.setattr(topic_reader, "measure_group", None)  # the result is kept for every session
    session.view.page = "runs"
    session.view.page = "seeds"
    session.work()
    assert "<b>3 of 4</b>" in session.html


def test_it_says_what_it_waits_for_and_goes_on_by_itself(db, opened):
    add_seed(db, 1, plant_arrays())
    late = add_seed(db, 2, {})
    session = opened().work()
    assert f"Waiting for run {late.number} (seed 2" in session.html
    assert "agreement" not in session.html
    snapshots.append_snapshot(db, late.number, late.attempt, 40, 1.0, plant_arrays())
    session.tick(snapshots={late.number})
    assert "Waiting" not in session.html
    assert "Layer 1: agreement" in session.html
    assert "found by the other seed" in session.html


def test_while_runs_train_it_is_measured_again_after_a_while_only(db, opened, monkeypatch):
    rows = add_group(db)
    session = opened().work()
    snapshots.append_snapshot(db, rows[1].number, rows[1].attempt, 41, 2.0, plant_arrays())
    session.tick(snapshots={rows[1].number})
    assert session.page._answer.group.snapshots[0] == 2
    monkeypatch.setattr(seeds, "PAUSE", -1.0)
    session.tick(snapshots={rows[1].number})
    assert "<b>3 of 4</b>" in session.html


def test_a_run_without_topics_or_without_other_seeds_is_told(db, opened):
    add_seed(db, 1, {})
    session = opened().work()
    assert "Run 1 is on its way" in session.html
    add_seed(db, 1, plant_arrays(), settings={"eta": 3.0})
    session = opened(run=2).work()
    assert "No run differs from run 2 in its seed alone" in session.html
    session.view.run = 9
    assert "Looking for run 9" in session.html


def test_four_more_seeds_are_trained_with_the_settings_of_the_run(db, opened, monkeypatch):
    add_seed(db, 3, plant_arrays())
    session = opened().work()
    asked = []
    monkeypatch.setattr(seeds, "MORE", 2)
    actions = SimpleNamespace(train_seeds=lambda run, n: asked.append((run, n)) or repeat_with_seeds(db, run, n))
    session.page._context = replace(session.page._context, actions=actions)
    assert 'data-do="more-seeds"' in session.html
    session.page.handle({"do": "more-seeds"})
    session.work()
    assert asked == [(1, 2)]
    first, *others = sorted(runs.list_runs(db), key=lambda row: row.number)
    assert [row.seed for row in others] == [1, 2]
    assert list_seed_runs(first, others) == others


def test_it_leads_to_explore_and_to_compare(db, opened):
    add_group(db)
    session = opened().work()
    session.page.handle({"do": "topic", "id": "L1:3"})
    view = session.view
    assert (view.page, view.run, view.layer, view.topic, view.roots) == ("explore", 1, 1, 3, ("L1:3",))
    session.page.handle({"do": "compare", "run": "4"})
    assert (view.page, view.run, view.partner) == ("compare", 1, 4)


def test_explore_says_of_a_topic_in_how_many_runs_it_is_found(db, opened):
    add_group(db)
    session = opened("explore", layer=1, topic=4)
    session.work()
    assert "Found by 3 of 4 other seeds" in session.page._detail.html
    session.page.handle({"do": "seeds"})
    assert (session.view.page, session.view.run) == ("seeds", 1)


def test_explore_measures_nothing_for_a_run_without_other_seeds(db, opened, monkeypatch):
    add_seed(db, 1, plant_arrays())
    monkeypatch.setattr(seeds, "fetch_recurrence", None)
    session = opened("explore", layer=1, topic=4)
    session.work()
    assert "word" in session.page._detail.html
    assert "other seeds" not in session.page._detail.html
