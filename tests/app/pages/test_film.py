"""The film without a browser: what its bar asks for, and what that does to the view."""

import garden
import pytest
from databases import open_filled
from page_sessions import PageSession

from topiary.app.live.feed import Tick
from topiary.app.pages.film import Film
from topiary.store import runs, snapshots

KEPT = (10, 20, 30, 40, 50, 60, 400)


class Stage:
    """A film on a page; ``cursors`` are the mini-batches to which it moved the cursor, ``answers`` counts answers."""

    def __init__(self, db, **fields):
        self.session = PageSession(db, "watch", **fields)
        self.cursors: list[int | None] = []
        self.film = Film(self.session.context, "watch", on_cursor=self.cursors.append)
        self.answers = 0
        self.files: list[tuple[str, str]] = []
        self.film.bar.answer = self.count
        self.film.bar.hand_over = lambda name, text: self.files.append((name, text))
        self.session.work()

    @property
    def view(self):
        return self.session.view

    @property
    def numbers(self):
        return [moment[0] for moment in self.film.bar.moments]

    def count(self):
        self.answers += 1

    def say(self, do, **more):
        self.film.handle({"do": do, **more})
        self.session.work()


@pytest.fixture
def db(tmp_path):
    """Open a store with a finished run of seven snapshots."""
    opened = open_filled(tmp_path / "store.db")
    row = garden.begin(opened, garden.corpus(opened).number)
    for minibatch in KEPT:
        garden.advance(opened, row, minibatch, snapshot=True)
    runs.finish_run(opened, row.number, row.attempt, "finished")
    yield opened
    opened.close()


@pytest.fixture
def stage(db):
    return Stage(db)


def test_the_bar_has_every_snapshot_and_the_cursor_is_at_the_newest(stage):
    assert [moment[1] for moment in stage.film.bar.moments] == list(KEPT)
    assert stage.film.bar.place == len(KEPT) - 1
    assert stage.film.bar.track.count("fm-tick") == len(KEPT)
    assert "polyline" in stage.film.bar.track
    assert stage.film.bar.step == "mini-batch"
    assert stage.cursors[-1] is None


def test_a_snapshot_is_shown_once_it_is_read_and_the_next_ones_are_read_ahead(stage):
    numbers = stage.numbers
    stage.film.handle({"do": "moment", "value": numbers[0]})
    assert (stage.view.snapshot, stage.answers) == (0, 0)  # nothing moves before it is in memory
    stage.session.work()
    assert (stage.view.snapshot, stage.answers) == (numbers[0], 1)
    assert stage.film.bar.place == 0
    assert stage.cursors[-1] == 10
    feed = stage.session.feed
    assert all(feed.get_cached_hierarchy(1, number) is not None for number in numbers[:5])
    stage.film.handle({"do": "moment", "value": numbers[1]})
    assert (stage.view.snapshot, stage.answers) == (numbers[1], 2)  # at once


def test_the_last_snapshot_is_the_newest_one_which_a_page_follows(stage):
    stage.say("moment", value=stage.numbers[2])
    stage.say("moment", value=stage.numbers[-1])
    assert stage.view.snapshot == 0
    assert stage.cursors[-1] is None


def test_of_two_requests_the_newer_one_is_shown(stage):
    first, second = stage.numbers[:2]
    stage.film.handle({"do": "moment", "value": second})
    stage.film.handle({"do": "moment", "value": first})
    stage.session.work()
    assert stage.view.snapshot == first
    assert stage.answers == 2


@pytest.mark.parametrize("value", [999, "1", None, True, -1])
def test_what_is_no_snapshot_of_the_run_is_answered_and_changes_nothing(stage, value):
    stage.film._moments = stage.film._moments[1:]  # number 1, which True equals, is gone
    stage.say("moment", value=value)
    assert (stage.view.snapshot, stage.answers) == (0, 1)


def test_a_snapshot_that_was_thinned_out_meanwhile_is_no_longer_offered(db, stage):
    gone = stage.numbers[1]
    with db.write() as connection:
        connection.execute(snapshots.snapshots.delete().where(snapshots.snapshots.c.number == gone))
    stage.say("moment", value=gone)
    assert stage.answers == 1
    assert stage.view.snapshot == 0
    assert gone not in stage.numbers


def test_the_largest_changes_are_visited_one_after_the_other(stage):
    stage.say("largest")
    changes = stage.film._changes
    assert set(changes) == set(stage.numbers[1:])
    by_size = sorted(changes, key=lambda number: -changes[number])
    seen = [stage.view.snapshot or stage.numbers[-1]]
    for _ in range(2):
        stage.say("largest")
        seen.append(stage.view.snapshot or stage.numbers[-1])
    assert seen[0] == by_size[0]
    if stage.numbers[-1] not in by_size[:2]:
        assert seen == by_size[:3]
    stage.say("moment", value=stage.numbers[1])
    assert "changed since 10" in stage.film.bar.note


@pytest.mark.parametrize(("name", "snapshot", "plays"), [("demo", 0, 1), ("demo", 1, 0), ("another", 0, 0)])
def test_the_film_of_a_demo_plays_when_its_training_ends_while_a_visitor_follows_it(db, name, snapshot, plays):
    row = garden.begin(db, 1, name)
    garden.advance(db, row, 10, snapshot=True)
    stage = Stage(db, run=row.number, snapshot=snapshot)
    played = []
    stage.film.bar.play = lambda: played.append(row.number)
    runs.finish_run(db, row.number, row.attempt, "finished")
    stage.session.feed.look_now()
    for _ in range(2):
        stage.session.ticks[0](Tick(rows=frozenset({row.number})))
    assert played == [row.number] * plays


def test_the_film_is_saved_as_a_file(stage):
    stage.film.handle({"do": "film"})
    assert stage.film.bar.busy == "film"
    stage.session.work()
    assert stage.film.bar.busy == ""
    [(name, text)] = stage.files
    assert name == "topiary-run-1-film.html"
    assert text.startswith("<!DOCTYPE html>")


def test_a_new_snapshot_is_added_and_the_cursor_stays(db, stage):
    stage.say("moment", value=stage.numbers[2])
    row = garden.begin(db, 1)
    garden.advance(db, row, 10, snapshot=True)
    before = stage.film.bar.moments
    stage.session.ticks[0](Tick(snapshots=frozenset({row.number})))
    stage.session.work()
    assert stage.film.bar.moments == before  # of another run
    stage.session.feed.look_now()
    stage.view.run = row.number
    stage.session.work()
    assert [moment[1] for moment in stage.film.bar.moments] == [10]
    garden.advance(db, row, 20, snapshot=True)
    stage.session.ticks[0](Tick(snapshots=frozenset({row.number})))
    stage.session.work()
    assert [moment[1] for moment in stage.film.bar.moments] == [10, 20]
