"""Forks: what a run takes over from a snapshot of another one, and what then may happen to that one."""

import numpy as np
import pytest
from sqlalchemy import inspect, text
from store_samples import back_to_version, claimed_run, new_run, write_corpus

from store import checkpoints, labels, runs, snapshots
from store.database import open_database
from store.errors import Conflict, NotFound

ARRAYS = {"phi.0": np.full((6, 4), 1 / 6), "r": np.ones(4), "model.t": np.array(20)}


@pytest.fixture
def parent(db):
    """A run with snapshots at mini-batches 10, 20 and 30, and a named topic."""
    row = claimed_run(db)
    for minibatch in (10, 20, 30):
        snapshots.append(db, row.number, 1, minibatch, 1.0, ARRAYS | {"r": np.full(4, float(minibatch))})
    labels.set(db, row.number, 1, 3, "cheese")
    return row


def fork(db, parent, minibatch=20):
    return new_run(db, parent.corpus, fork=snapshots.at(db, parent.number, minibatch).number)


def test_the_snapshot_at_or_before_a_minibatch_is_found(db, parent):
    found = [snapshots.at(db, parent.number, minibatch) for minibatch in (9, 10, 29, 99)]
    assert [row and row.minibatch for row in found] == [None, 10, 20, 30]


def test_a_run_that_is_no_fork_has_no_parent(db, parent):
    assert (parent.parent, parent.parent_snapshot, parent.parent_minibatch) == (None, None, None)


def test_a_fork_begins_with_a_copy_of_the_snapshot_and_the_names_of_its_topics(db, parent):
    child = fork(db, parent)
    number = snapshots.at(db, parent.number, 20).number
    assert (child.parent, child.parent_snapshot, child.parent_minibatch) == (parent.number, number, 20)
    (first,) = snapshots.every(db, child.number)
    assert (first.minibatch, first.seconds) == (0, 0.0)
    arrays = snapshots.load(db, first.number)
    assert arrays["r"].tolist() == [20] * 4
    assert list(arrays) == list(ARRAYS)
    assert labels.every(db, child.number) == {(1, 3): "cheese"}


def test_a_fork_outlives_the_thinning_and_the_deletion_of_its_parent(db, parent):
    child = fork(db, parent)
    runs.finish(db, parent.number, 1, "stopped")
    runs.delete(db, parent.number)
    left = runs.get(db, child.number)
    assert (left.parent, left.parent_minibatch) == (parent.number, 20)
    assert snapshots.load(db, snapshots.latest(db, child.number).number)["r"].tolist() == [20] * 4
    assert new_run(db, parent.corpus).number > child.number, "the number of a parent that is gone is not given again"


def test_being_claimed_again_and_again_a_fork_keeps_its_first_snapshot_until_and_after_its_checkpoint(db, parent):
    child = fork(db, parent).number
    for attempt in (1, 2):
        runs.claim(db, child, {"pid": attempt}, force=True)
        snapshots.append(db, child, attempt, 5, 1.0, ARRAYS)
    runs.claim(db, child, {"pid": 3}, force=True)
    assert [row.minibatch for row in snapshots.every(db, child)] == [0]
    snapshots.append(db, child, 3, 5, 1.0, ARRAYS)
    checkpoints.save_checkpoint(db, child, 3, 5, 1.0, {}, {})
    snapshots.append(db, child, 3, 6, 1.0, ARRAYS)
    runs.claim(db, child, {"pid": 4}, force=True)
    assert [row.minibatch for row in snapshots.every(db, child)] == [0, 5]


def test_a_long_run_keeps_the_snapshot_it_was_forked_from(db, parent):
    child = fork(db, parent).number
    runs.claim(db, child, {"pid": 1})
    for minibatch in range(1, 2000, 7):
        snapshots.append(db, child, 1, minibatch, 1.0, {})
    kept = [row.minibatch for row in snapshots.every(db, child)]
    assert kept[0] == 0
    assert len(kept) < 200


def test_a_snapshot_that_is_gone_or_of_another_corpus_is_refused_and_leaves_no_run(db, parent):
    with pytest.raises(NotFound, match="fork from the run's latest one"):
        new_run(db, parent.corpus, fork=99)
    with pytest.raises(Conflict, match="another corpus"):
        new_run(db, write_corpus(db, "other").number, fork=snapshots.latest(db, parent.number).number)
    assert [row.number for row in runs.every(db)] == [parent.number]


def test_a_line_of_forks_is_one_family_though_some_of_it_are_gone(db, parent):
    child = fork(db, parent)
    grandchild, stranger = fork(db, child), new_run(db, parent.corpus)
    runs.claim(db, child.number, {"pid": 1})
    runs.finish(db, child.number, 1, "stopped")
    runs.delete(db, child.number)
    found = {row.number: row.family for row in runs.every(db)}
    assert found == dict.fromkeys((parent.number, grandchild.number), parent.number) | {
        stranger.number: stranger.number
    }


def test_deleting_a_fork_leaves_its_parent_as_it_was(db, parent):
    runs.delete(db, fork(db, parent).number)
    assert [row.minibatch for row in snapshots.every(db, parent.number)] == [10, 20, 30]
    assert labels.every(db, parent.number) == {(1, 3): "cheese"}


def test_a_store_of_version_2_gets_the_columns_that_a_new_store_has(db):
    row = new_run(db)

    def described():
        with db.read() as connection:
            return {
                each["name"]: (each["nullable"], str(each["type"])) for each in inspect(connection).get_columns("runs")
            }

    new = described()
    with db.write() as connection:
        connection.execute(text("DROP TABLE predictions"))
        for column in ("parent", "parent_snapshot", "parent_minibatch", "family"):
            connection.execute(text(f"ALTER TABLE runs DROP COLUMN {column}"))
        connection.execute(text("ALTER TABLE events DROP COLUMN change"))
    back_to_version(db, 2)
    open_database(db.url).close()
    assert described() == new
    assert runs.get(db, row.number) == row


def test_a_store_of_version_4_gets_the_families_of_its_forks(db, parent):
    child = fork(db, parent)
    grandchild = fork(db, child)
    orphan = fork(db, fork(db, child))
    middle = runs.get(db, orphan.parent)
    runs.delete(db, middle.number)
    sibling = new_run(db, parent.corpus)
    with db.write() as connection:
        connection.execute(text("ALTER TABLE runs DROP COLUMN family"))
        connection.execute(text("ALTER TABLE events DROP COLUMN change"))
    back_to_version(db, 4)
    open_database(db.url).close()
    found = {row.number: row.family for row in runs.every(db)}
    assert [found[row.number] for row in (parent, child, grandchild)] == [parent.number] * 3
    assert found[orphan.number] == middle.number, "a line can be followed no further than to the run that is gone"
    assert found[sibling.number] == sibling.number
