"""Maps of documents in the store: they come back, are replaced, found under earlier snapshots, checked and removed."""

import numpy as np
import pytest
from sqlalchemy import select
from store_samples import claimed_run, flip_part

from topiary.store import check, document_maps, snapshots, tables
from topiary.store.document_maps import StoredMap
from topiary.store.errors import NotFound

ME = "this program"


@pytest.fixture
def run(db):
    return claimed_run(db)


def append(db, run, minibatch, most=None):
    return snapshots.append_snapshot(db, run.number, run.attempt, minibatch, 0.5, {"r": np.ones(2)}, most).number


def draw(snapshot, n=5, *, finished=True):
    rng = np.random.default_rng(snapshot)
    return StoredMap(
        snapshot, rng.normal(size=(n, 2)).astype(np.float32), np.arange(-1, n - 1, dtype=np.int32), finished
    )


def find(db, run, minibatch=9, made_by=ME):
    return document_maps.find_map(db, run.number, made_by, minibatch)


def same(found, expected):
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_a_map_comes_back_with_the_same_bits_and_replaces_its_draft(db, run):
    snapshot = append(db, run, 9)
    assert find(db, run) is None
    for finished in (False, True):
        document_maps.save_map(db, ME, draw(snapshot, finished=finished))
        assert same(find(db, run), draw(snapshot, finished=finished))
    assert find(db, run).positions.dtype == np.float32
    assert find(db, run).topics.dtype == np.int32
    assert find(db, run, made_by="a later program") is None


def test_the_newest_map_at_or_before_a_minibatch_is_found(db, run):
    first, second = append(db, run, 3), append(db, run, 9)
    for number in (first, second):
        document_maps.save_map(db, ME, draw(number))
    assert [find(db, run, minibatch) and find(db, run, minibatch).snapshot for minibatch in (2, 3, 8, 9, 20)] == [
        None, first, first, second, second,
    ]  # fmt: skip


def test_facts_about_a_map_are_found_and_the_map_is_loaded_by_its_snapshot(db, run):
    first, second = append(db, run, 3), append(db, run, 9)
    document_maps.save_map(db, ME, draw(first, 4))
    facts = document_maps.find_facts(db, run.number, ME, 9)
    assert facts[:3] == (first, 4, True)
    assert document_maps.get_facts(db, first) == facts
    assert same(document_maps.load_map(db, first), draw(first, 4))
    document_maps.save_map(db, ME, draw(second, finished=False))
    assert document_maps.find_facts(db, run.number, ME, 20)[:3] == (second, 5, False)
    assert document_maps.find_facts(db, run.number, "a later program", 20) is None
    for read in (document_maps.get_facts, document_maps.load_map):
        with pytest.raises(NotFound, match="no map of documents under snapshot 99"):
            read(db, 99)


def test_a_map_goes_with_its_snapshot_and_none_is_saved_under_one_that_is_gone(db, run):
    snapshot = append(db, run, 9)
    document_maps.save_map(db, ME, draw(snapshot))
    snapshots.delete_later(db, run.number, run.attempt, 0)
    with db.read() as connection:
        assert connection.execute(select(tables.snapshot_parts)).first() is None
    with pytest.raises(NotFound, match="not kept any more"):
        document_maps.save_map(db, ME, draw(snapshot))


def test_thinning_keeps_the_snapshot_with_the_newest_map(db, run):
    numbers = [append(db, run, minibatch) for minibatch in (1, 2, 3)]
    for number in numbers[1:]:
        document_maps.save_map(db, ME, draw(number))
    for minibatch in range(4, 20):
        append(db, run, minibatch, 2)
    assert [row.minibatch for row in snapshots.list_snapshots(db, run.number)] == [1, 3, 19]


def test_a_damaged_map_is_reported_and_not_shown(db, run):
    snapshot = append(db, run, 9)
    document_maps.save_map(db, ME, draw(snapshot))
    assert check.check_store(db).damages == ()
    flip_part(db, snapshot, snapshots.MAP)
    (damage,) = check.check_store(db).damages
    assert damage.what == f"maps of documents under snapshot {snapshot}, from document 0 on, are damaged"
    assert find(db, run) is None
