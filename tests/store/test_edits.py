"""The journal of a run: what is asked, what was done, and what a fork takes with it."""

import numpy as np
import pytest
from store_samples import claimed_run, new_run

from topiary.store import edits, notes, runs, snapshots
from topiary.store.edits import APPLIED, REFUSED, WAITING, WITHDRAWN, NewEdit
from topiary.store.errors import Conflict, LostClaim, NotFound

SEED = NewEdit("seed", words=(3, 5), strength="strong", name="doping", author="Ada")
PLACE = NewEdit("place", topics=(-1, 2), name="sport", step=4)


def test_edits_wait_are_taken_and_say_what_they_did(db):
    run = claimed_run(db)
    first, second = edits.add_edits(db, run.number, [SEED, PLACE])
    assert (first.edit, first.state, first.words, first.name, first.author, first.step) == (
        *(1, WAITING, (3, 5), "doping", "Ada"),
        1,
    )
    assert (second.edit, second.topics, second.topic, second.changed) == (2, (-1, 2), None, ())
    (taken,) = edits.take_edits(db, run.number, 1, [1], 7)
    assert (taken.state, taken.step) == (APPLIED, 7)
    done = taken._replace(topic=5, changed=(2, 5), tokens=40, documents=9, perplexity_before=964.0)
    edits.record_edit(db, 1, done, (1, 5))
    edits.record_perplexity(db, run.number, 1, [1], 966.5)
    assert edits.list_edits(db, run.number) == [done._replace(perplexity_after=966.5), second]
    (placed,) = edits.take_edits(db, run.number, 1, [2], 7)
    edits.record_edit(db, 1, placed, (2, 2))
    assert notes.read_remarks(db, run.number).names == {(1, 5): "doping", (2, 2): "sport"}


def test_a_topic_that_was_there_before_keeps_the_name_that_people_gave_it(db):
    run = claimed_run(db).number
    notes.set_label(db, run, 1, 5, "drugs")
    edits.add_edits(db, run, [SEED, SEED, SEED])
    one, two, made = edits.take_edits(db, run, 1, [1, 2, 3], 7)
    for row, topic, message in ((one, 5, "it was there"), (two, 6, "it was there"), (made, 7, "")):
        edits.record_edit(db, 1, row._replace(topic=topic, message=message), (1, topic))
    assert notes.read_remarks(db, run).names == {(1, 5): "drugs", (1, 6): "doping", (1, 7): "doping"}


def test_an_edit_is_withdrawn_while_it_waits_and_its_number_is_not_used_again(db):
    run = claimed_run(db).number
    edits.add_edits(db, run, [SEED, SEED])
    edits.withdraw_edits(db, run, [2], "changed my mind")
    (row,) = edits.take_edits(db, run, 1, [1, 2], 3)
    assert row.edit == 1
    with pytest.raises(Conflict, match="edit 1 of run 1 is applied already"):
        edits.withdraw_edits(db, run, [1], "")
    with pytest.raises(NotFound, match="run 1 has no edit 9; topiary edit 1 --list shows"):
        edits.withdraw_edits(db, run, [9], "")
    assert edits.add_edits(db, run, [SEED])[0].edit == 3
    assert [row.state for row in edits.list_edits(db, run)] == [APPLIED, WITHDRAWN, WAITING]


def test_a_worker_that_lost_its_run_takes_no_edit(db):
    run = claimed_run(db).number
    (row,) = edits.add_edits(db, run, [SEED])
    for act in (lambda: edits.take_edits(db, run, 2, [1], 3), lambda: edits.record_edit(db, 2, row)):
        with pytest.raises(LostClaim):
            act()
    assert edits.list_edits(db, run) == [row]


def test_a_fork_has_the_edits_before_its_snapshot_and_its_own_are_numbered_on(db):
    run = claimed_run(db).number
    edits.add_edits(db, run, [SEED] * 4)
    edits.take_edits(db, run, 1, [1], 2)
    (refused,) = edits.take_edits(db, run, 1, [2], 2)
    edits.record_edit(db, 1, refused._replace(state=REFUSED, message="no such document"))
    edits.take_edits(db, run, 1, [3], 6)
    snapshot = snapshots.append_snapshot(db, run, 1, 6, 1.0, {"r": np.ones(3)})
    fork = new_run(db, fork=snapshot.number, edits=[PLACE]).number
    assert [(row.edit, row.state, row.step) for row in edits.list_edits(db, fork)] == [
        (1, APPLIED, -4),
        (2, WAITING, 4),
    ]
    runs.finish_run(db, run, 1, "stopped")
    runs.delete_run(db, run)
    assert edits.list_edits(db, run) == []
    assert len(edits.list_edits(db, fork)) == 2
