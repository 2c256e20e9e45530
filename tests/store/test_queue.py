"""Queued runs start by number unless a person moved one."""

import threading

import pytest
from sqlalchemy import update
from store_samples import claimed_run, new_run

from topiary.store import queue, runs, tables
from topiary.store.database import open_database
from topiary.store.errors import Conflict, NotFound


def numbers(rows):
    return [row.number for row in rows]


@pytest.fixture
def five(db):
    return [new_run(db).number for _ in range(5)]


def test_runs_wait_in_the_order_of_their_numbers(db, five):
    claimed_run(db)
    assert numbers(queue.list_waiting(db)) == five


def test_a_run_is_moved_first_last_and_before_another(db, five):
    a, b, c, d, e = five
    assert numbers(queue.move_run(db, d)) == [d, a, b, c, e]
    assert numbers(queue.move_run(db, a, last=True)) == [d, b, c, e, a]
    assert numbers(queue.move_run(db, e, before=b)) == [d, e, b, c, a]
    assert numbers(queue.move_run(db, d, before=e)) == [d, e, b, c, a]
    assert numbers(queue.list_waiting(db)) == [d, e, b, c, a]


def test_later_runs_wait_behind_all_that_were_moved(db, five):
    queue.move_run(db, five[0], last=True)
    later = new_run(db).number
    assert numbers(queue.list_waiting(db)) == [*five[1:], five[0], later]


def test_places_that_became_the_same_are_told_apart_again(db, five):
    a, b, c, d, e = five
    queue.move_run(db, e)  # e has the place of a, and so on
    row = runs.claim_run(db, a, {"pid": 1})
    runs.finish_run(db, a, row.attempt, "paused")
    runs.requeue_run(db, a)  # back at its own number, where e is now
    assert numbers(queue.list_waiting(db)) == [a, e, b, c, d]
    assert numbers(queue.move_run(db, d, before=e)) == [a, d, e, b, c]
    assert numbers(queue.move_run(db, c, before=d)) == [a, c, d, e, b]


def test_only_queued_runs_are_put_in_an_order(db, five):
    training = claimed_run(db).number
    with pytest.raises(Conflict, match=f"run {training} is running; only queued runs"):
        queue.move_run(db, training)
    with pytest.raises(Conflict, match=f"run {training} is running"):
        queue.move_run(db, five[0], before=training)
    with pytest.raises(Conflict, match="before itself"):
        queue.move_run(db, five[0], before=five[0])
    with pytest.raises(NotFound):
        queue.move_run(db, 99)
    assert numbers(queue.list_waiting(db)) == five


def test_a_group_has_the_number_of_its_first_run(db):
    first = new_run(db, group=0)
    second = new_run(db, first.corpus, group=first.number)
    assert first.run_group == second.run_group == first.number
    assert new_run(db, first.corpus).run_group is None


def advance_run(db, run):
    row = runs.claim_run(db, run, {})
    runs.record_progress(db, run, row.attempt, minibatch=5, seconds=1.0, message="training")
    return row


def test_a_run_gives_way_to_runs_of_its_group_that_have_not_begun(db):
    first = new_run(db, group=0)
    others = [new_run(db, first.corpus, group=first.number).number for _ in range(2)]
    later = new_run(db, first.corpus).number
    row = advance_run(db, first.number)
    assert queue.give_way(db, first.number, row.attempt, "readable")
    assert numbers(queue.list_waiting(db)) == [*others, first.number, later]
    row = advance_run(db, others[0])
    assert queue.give_way(db, others[0], row.attempt, "readable")
    assert numbers(queue.list_waiting(db)) == [others[1], first.number, others[0], later]
    row = advance_run(db, others[1])
    assert not queue.give_way(db, others[1], row.attempt, "readable"), "no other waits for its first step"
    assert runs.get_run(db, others[1]).state == "running"


def test_a_run_that_is_asked_to_pause_does_not_give_way(db):
    first = new_run(db, group=0)
    new_run(db, first.corpus, group=first.number)
    row = advance_run(db, first.number)
    runs.send_request(db, first.number, "pause")
    assert not queue.give_way(db, first.number, row.attempt, "readable")


def unleased(rows):
    return [row.number for row in rows if row.state == "queued" and row.lease_left is None]


def test_a_lease_is_taken_once_by_many_and_ends_with_the_claim(db, five):
    taken, others = [], [open_database(db.url) for _ in range(3)]

    def take(other):
        taken.extend(queue.lease_runs(other, unleased, 60.0))

    threads = [threading.Thread(target=take, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert sorted(taken) == five
    queue.record_starter(db, five[0], {"pid": 7, "host": "here"})
    row = runs.get_run(db, five[0])
    assert row.starter == {"pid": 7, "host": "here"}
    assert 0 < row.lease_left <= 60
    row = runs.claim_run(db, five[0], {"pid": 7})
    assert (row.lease_left, row.starter) == (None, {})
    queue.record_starter(db, five[0], {"pid": 7})  # it was quicker than the program that started it
    assert runs.get_run(db, five[0]).starter == {}
    queue.release_lease(db, five[1])
    assert queue.lease_runs(db, unleased, 60.0) == [five[1]]
    with db.write() as connection:
        connection.execute(update(tables.runs).values(lease=tables.runs.c.lease - 90))
    assert -91 < runs.get_run(db, five[1]).lease_left < -29


def test_a_run_that_is_queued_again_has_no_lease(db, five):
    queue.lease_runs(db, unleased, 60.0)
    runs.abandon_run(db, five[0], "paused", "")
    assert runs.requeue_run(db, five[0]).lease_left is None
