"""Queued runs start by number unless a person moved one."""

import pytest
from store_samples import claimed_run, new_run

from store import queue, runs
from store.errors import Conflict, NotFound


def numbers(rows):
    return [row.number for row in rows]


@pytest.fixture
def five(db):
    return [new_run(db).number for _ in range(5)]


def test_runs_wait_in_the_order_of_their_numbers(db, five):
    claimed_run(db)
    assert numbers(queue.waiting(db)) == five


def test_a_run_is_moved_first_last_and_before_another(db, five):
    a, b, c, d, e = five
    assert numbers(queue.move(db, d)) == [d, a, b, c, e]
    assert numbers(queue.move(db, a, last=True)) == [d, b, c, e, a]
    assert numbers(queue.move(db, e, before=b)) == [d, e, b, c, a]
    assert numbers(queue.move(db, d, before=e)) == [d, e, b, c, a]
    assert numbers(queue.waiting(db)) == [d, e, b, c, a]


def test_later_runs_wait_behind_all_that_were_moved(db, five):
    queue.move(db, five[0], last=True)
    later = new_run(db).number
    assert numbers(queue.waiting(db)) == [*five[1:], five[0], later]


def test_places_that_became_the_same_are_told_apart_again(db, five):
    a, b, c, d, e = five
    queue.move(db, e)  # e has the place of a, and so on
    row = runs.claim(db, a, {"pid": 1})
    runs.finish(db, a, row.attempt, "paused")
    runs.requeue(db, a)  # back at its own number, where e is now
    assert numbers(queue.waiting(db)) == [a, e, b, c, d]
    assert numbers(queue.move(db, d, before=e)) == [a, d, e, b, c]
    assert numbers(queue.move(db, c, before=d)) == [a, c, d, e, b]


def test_only_queued_runs_are_put_in_an_order(db, five):
    training = claimed_run(db).number
    with pytest.raises(Conflict, match=f"run {training} is running; only queued runs"):
        queue.move(db, training)
    with pytest.raises(Conflict, match=f"run {training} is running"):
        queue.move(db, five[0], before=training)
    with pytest.raises(Conflict, match="before itself"):
        queue.move(db, five[0], before=five[0])
    with pytest.raises(NotFound):
        queue.move(db, 99)
    assert numbers(queue.waiting(db)) == five


def test_a_group_has_the_number_of_its_first_run(db):
    first = new_run(db, group=0)
    second = new_run(db, first.corpus, group=first.number)
    assert first.run_group == second.run_group == first.number
    assert new_run(db, first.corpus).run_group is None
