"""Shares of documents in the store: published as a whole, continued after an interruption, extended, removed."""

import numpy as np
import pytest
from sqlalchemy import func, select
from store_samples import claimed_run, flip_part

from topiary.store import check, runs, shares, snapshots, tables, upkeep
from topiary.store.check import Damage
from topiary.store.database import open_database
from topiary.store.errors import Conflict, DamagedArrays, NotFound
from topiary.store.shares import LayerShares

ME, OTHER = "this program", "another program"
TOKENS = np.array([40, 0, 7, 300, 1])
LENGTHS = (3, 0, 2, 5, 1)  # entries of five documents


@pytest.fixture
def run(db):
    return claimed_run(db)


@pytest.fixture
def snapshot(db, run):
    return snapshots.append_snapshot(db, run.number, run.attempt, 9, 0.5, {"r": np.ones(2)}).number


def made(layer=0, first=0, end=5):
    """Shares of documents ``first:end`` of five, different in every layer."""
    rng = np.random.default_rng(layer)
    starts = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    topics = np.concatenate([np.sort(rng.choice(300, n, replace=False)) for n in LENGTHS]).astype(np.int32)
    units = rng.integers(655, 9000, len(topics)).astype(np.uint16)
    rest = np.arange(5, dtype=np.uint16) + layer
    whole = LayerShares(starts, topics, units, rest)
    return whole.select_rows(np.arange(first, end))


def append(db, snapshot, first, end, made_by=ME):
    layers = [made(0, first, end), made(1, first, end)]
    return shares.append_block(db, snapshot, made_by, first, layers, TOKENS[first:end])


def same(found, expected):
    return all(
        one.dtype == other.dtype and np.array_equal(one, other) for one, other in zip(found, expected, strict=True)
    )


def count_blocks(db):
    with db.read() as connection:
        is_block = tables.snapshot_parts.c.kind.in_((snapshots.SHARES, snapshots.NEW_SHARES))
        return connection.execute(select(func.count()).where(is_block)).scalar_one()


def test_blocks_come_back_as_one_layer_with_the_same_numbers(db, snapshot):
    assert shares.begin_set(db, snapshot, ME) == 0
    assert append(db, snapshot, 0, 2) == 2
    assert append(db, snapshot, 2, 5) == 5
    assert shares.publish_set(db, snapshot, ME) == 5
    for layer in (1, 2):
        assert same(shares.read_layer(db, snapshot, layer), made(layer - 1))
    assert shares.find_set(db, snapshot, ME).documents == 5
    assert shares.read_tokens(db, snapshot).tolist() == TOKENS.tolist()
    np.testing.assert_allclose(shares.read_layer(db, snapshot, 1).shares, made(0).units / 65535, rtol=1e-6)


def test_documents_are_read_in_the_order_requested_across_blocks(db, snapshot):
    shares.begin_set(db, snapshot, ME)
    append(db, snapshot, 0, 2)
    append(db, snapshot, 2, 5)
    shares.publish_set(db, snapshot, ME)
    chosen = [4, 0, 3, 0]
    for layer, found in enumerate(shares.read_documents(db, snapshot, chosen, 2)):
        assert same(found, made(layer).select_rows(np.array(chosen)))
    assert len(shares.read_documents(db, snapshot, [], 2)[0].rest) == 0
    with pytest.raises(NotFound, match="documents 0 to 4"):
        shares.read_documents(db, snapshot, [5], 1)
    with pytest.raises(NotFound, match="no layer 3"):
        shares.read_layer(db, snapshot, 3)


def test_nothing_is_visible_before_the_set_is_published_and_then_all_at_once(db, snapshot):
    shares.begin_set(db, snapshot, ME)
    append(db, snapshot, 0, 2)
    assert shares.find_set(db, snapshot, ME) is None
    with pytest.raises(NotFound, match="no shares"):
        shares.read_layer(db, snapshot, 1)
    shares.publish_set(db, snapshot, ME)
    append(db, snapshot, 2, 5)
    assert shares.find_set(db, snapshot, ME).documents == 2
    assert len(shares.read_layer(db, snapshot, 1).rest) == 2
    shares.publish_set(db, snapshot, ME)
    assert len(shares.read_layer(db, snapshot, 1).rest) == 5


def test_an_interrupted_set_goes_on_where_it_stopped(db, snapshot):
    shares.begin_set(db, snapshot, ME)
    append(db, snapshot, 0, 2)
    assert shares.begin_set(db, snapshot, ME) == 2


def test_a_writer_who_comes_second_adds_nothing_and_learns_where_to_go_on(db, snapshot):
    shares.begin_set(db, snapshot, ME)
    append(db, snapshot, 0, 3)
    assert append(db, snapshot, 0, 2) == 3
    assert count_blocks(db) == 1


def test_shares_that_something_else_made_are_not_found_and_are_replaced(db, snapshot):
    shares.begin_set(db, snapshot, OTHER)
    append(db, snapshot, 0, 5, OTHER)
    shares.publish_set(db, snapshot, OTHER)
    assert shares.find_set(db, snapshot, ME) is None
    assert shares.begin_set(db, snapshot, ME) == 0
    assert count_blocks(db) == 0
    append(db, snapshot, 0, 2)
    with pytest.raises(Conflict, match="another program"):
        append(db, snapshot, 2, 5, OTHER)


def test_a_damaged_block_is_found_and_computed_again_with_those_after_it(db, snapshot):
    shares.begin_set(db, snapshot, ME)
    for first in range(5):
        append(db, snapshot, first, first + 1)
    shares.publish_set(db, snapshot, ME)
    flip_part(db, snapshot, snapshots.SHARES, 2)
    with pytest.raises(DamagedArrays):
        shares.read_documents(db, snapshot, [2], 2)
    report = check.check_store(db)
    assert report.read["blocks of shares"] == 5
    assert (
        Damage(
            f"blocks of shares under snapshot {snapshot}, from document 2 on, are damaged",
            "they are computed again when they are wanted again",
        )
        in report.damages
    )
    assert shares.begin_set(db, snapshot, ME) == 2
    assert shares.find_set(db, snapshot, ME).documents == 2
    assert count_blocks(db) == 2


def test_shares_go_with_their_snapshot(db, run, snapshot):
    shares.begin_set(db, snapshot, ME)
    append(db, snapshot, 0, 5)
    shares.publish_set(db, snapshot, ME)
    snapshots.delete_later(db, run.number, run.attempt, 0)
    assert count_blocks(db) == 0
    with pytest.raises(NotFound, match="not kept any more"):
        shares.begin_set(db, snapshot, ME)


def test_thinning_keeps_the_snapshot_with_shares_until_a_later_one_has_them(db, run):
    first = snapshots.append_snapshot(db, run.number, run.attempt, 1, 0.5, {"r": np.ones(2)}).number
    second = snapshots.append_snapshot(db, run.number, run.attempt, 2, 0.5, {"r": np.ones(2)}).number
    shares.begin_set(db, second, ME)
    append(db, second, 0, 5)
    shares.publish_set(db, second, ME)
    for minibatch in range(3, 20):
        last = snapshots.append_snapshot(db, run.number, run.attempt, minibatch, 0.5, {"r": np.ones(2)}, 2).number
    assert [row.minibatch for row in snapshots.list_snapshots(db, run.number)] == [1, 2, 19]
    shares.begin_set(db, last, ME)
    append(db, last, 0, 5)
    assert shares.find_set(db, second, ME) is not None
    shares.publish_set(db, last, ME, 2)
    assert shares.find_set(db, second, ME) is None
    assert [row.number for row in snapshots.list_snapshots(db, run.number)] == [first, last]


def test_a_read_only_store_reads_shares(db, snapshot):
    shares.begin_set(db, snapshot, ME)
    append(db, snapshot, 0, 5)
    shares.publish_set(db, snapshot, ME)
    reader = open_database(db.url, readonly=True)
    assert same(shares.read_layer(reader, snapshot, 2), made(1))
    reader.close()


def test_pruning_counts_the_shares_that_go_with_a_snapshot(db, run, snapshot):
    snapshots.append_snapshot(db, run.number, run.attempt, 10, 0.5, {"r": np.ones(2)})
    runs.finish_run(db, run.number, run.attempt, "finished")
    shares.begin_set(db, snapshot, ME)
    append(db, snapshot, 0, 5)
    (item,) = upkeep.find_removable(db, upkeep.PruneRule(keep=1))
    with db.read() as connection:
        parts = tables.snapshot_parts.c
        size_of = select(func.sum(func.length(parts.arrays))).where(parts.snapshot == snapshot)
        size = connection.execute(size_of).scalar_one()
    assert item.size == size > 100
    item.remove(db)
    assert count_blocks(db) == 0
