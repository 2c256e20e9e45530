"""Whatever becomes of a run, the next look has it; a run that nothing became of is not read again."""

from functools import partial

import pytest
from store_samples import write_corpus

from store import events, run_watch, runs
from store.points import Point
from store.run_watch import RunWatch

ME = {"pid": 1, "created": 1.0, "host": "here"}


@pytest.fixture
def make(db):
    """Makes a queued run."""
    corpus = write_corpus(db, "food").number
    order = {"model": "dlda", "inference": "tlasgr", "layers": (3, 2), "settings": {"eta": 0.1}, "seed": 1}
    return partial(runs.create, db, corpus=corpus, plan={"minibatches": 9}, **order)


def report(rows):
    """Rows without the ages of heartbeats, which no two looks have in common."""
    return [vars(row) | {"heartbeat_age": None} for row in rows]


GREW = events.Change(1, (3,), 3, 2)
VERBS = {
    "claimed": lambda db, n: runs.claim(db, n, ME),
    "beats": lambda db, n: runs.beat(db, n, 1, minibatch=1, seconds=0.5, points=[Point(1, 5, 0.5, "elbo", 0, 1.0)]),
    "measured": lambda db, n: runs.beat(db, n, 1, minibatch=1, seconds=0.5, point_perplexity=5.0, message="so far"),
    "grown": lambda db, n: runs.restructure(db, n, 1, 1, (2, 2), [("pruned", "a topic", GREW)]),
    "asked": lambda db, n: runs.request(db, n, "pause"),
    "paused": lambda db, n: runs.finish(db, n, 1, "paused"),
    "stopped": lambda db, n: runs.request(db, n, "stop"),
    "queued": runs.requeue,
    "abandoned": lambda db, n: runs.abandon(db, n, "stopped", "nobody was at it"),
    "renamed": lambda db, n: runs.rename(db, n, "roses"),
    "again": runs.requeue,
    "taken": lambda db, n: runs.claim(db, n, ME | {"pid": 2}),
    "failed": lambda db, n: runs.finish(db, n, 3, "failed", "ValueError: no", "line 1\nline 2"),
}


def test_every_change_is_seen_and_nothing_else_is_read_again(db, make):
    quiet, busy = make(name="quiet").number, make(name="busy").number
    watch = RunWatch(db)
    still = watch.look()[quiet]
    for verb, act in VERBS.items():
        act(db, busy)
        rows = watch.look()
        assert report(rows.values()) == report(runs.every(db)), verb
        assert rows[quiet] is still, verb


def test_a_verb_that_follows_another_before_the_next_look_is_seen_too(db, make):
    watch = RunWatch(db)
    for length in range(1, len(VERBS) + 1):
        run = make().number
        watch.look()
        for act in list(VERBS.values())[:length]:
            act(db, run)
        assert report(watch.look().values()) == report(runs.every(db))


def test_runs_that_come_and_go_are_seen(db, make, monkeypatch):
    monkeypatch.setattr(run_watch, "_AT_ONCE", 2)
    numbers = [make().number for _ in range(5)]
    watch = RunWatch(db)
    assert list(watch.look()) == numbers
    runs.delete(db, numbers[1])
    numbers.append(make().number)
    assert list(watch.look()) == [number for number in numbers if number != numbers[1]]


def test_a_run_that_trains_has_its_age_told_anew(db, make):
    run = make().number
    runs.claim(db, run, ME)
    watch = RunWatch(db)
    first = watch.look()[run]
    assert watch.look()[run].heartbeat_age >= first.heartbeat_age
    assert watch.look()[run] is not first
