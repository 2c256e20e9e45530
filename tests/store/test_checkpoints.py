"""Checkpoints: whole or not at all, and the one before the last as long as it may be needed."""

import numpy as np
import pytest
from sqlalchemy import func, select
from store_samples import claimed_run, flip_checkpoint

from topiary.store import arrays, checkpoints, events, points, runs, snapshots, tables
from topiary.store.errors import DamagedArrays, LostClaim
from topiary.store.points import Point


def arrays_at(minibatch):
    rng = np.random.default_rng(minibatch)
    return {"phi.0": rng.random((5, 3)), "r": rng.random(3), "top_documents.0": rng.integers(-1, 9, (3, 20))}


def same(a, b):
    return list(a) == list(b) and all(
        x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a.values(), b.values(), strict=True)
    )


def trained(db, until):
    """A run with a checkpoint, a point and a snapshot every ten mini-batches."""
    row = claimed_run(db)
    for m in range(10, until + 1, 10):
        new = [Point(m, m, m, "point_perplexity", 0, 1000.0 - m)]
        runs.record_progress(db, row.number, 1, minibatch=m, seconds=m / 8, point_perplexity=1000.0 - m, points=new)
        snapshots.append_snapshot(db, row.number, 1, m, m / 8, arrays_at(m))
        checkpoints.save_checkpoint(db, row.number, 1, m, m / 8, arrays_at(m), {"m": m})
    return row.number


def test_a_checkpoint_comes_back_bit_for_bit(db):
    run = claimed_run(db).number
    assert checkpoints.load_checkpoint(db, run) is None
    given = arrays_at(1) | {"t": np.array(7), "empty": np.zeros((0, 4)), "half": np.float32([1 / 3])}
    meta = {"generator": {"state": 2**127 + 1}, "seen": [1, 2]}
    checkpoints.save_checkpoint(db, run, 1, 20, 4.5, given, meta)
    found = checkpoints.load_checkpoint(db, run)
    assert (found.minibatch, found.seconds, found.meta) == (20, 4.5, meta)
    assert same(found.arrays, given)


def test_a_checkpoint_of_many_parts_comes_back_and_the_one_before_it_is_kept_but_no_earlier(db, monkeypatch):
    monkeypatch.setattr(arrays, "PART_BYTES", 1000)
    run = claimed_run(db).number
    for minibatch in (1, 2, 3):
        large = {str(i): np.random.default_rng((minibatch, i)).random(100) for i in range(12)}
        checkpoints.save_checkpoint(db, run, 1, minibatch, 1.0, large, {})
    with db.read() as connection:
        table = tables.checkpoint_parts
        counted = connection.execute(select(table.c.generation, func.count()).group_by(table.c.generation)).all()
    assert len(counted) == 2
    assert counted[0][1] > 5
    found = checkpoints.load_checkpoint(db, run)
    assert found.minibatch == 3
    assert same(found.arrays, large)


def test_a_checkpoint_that_lost_a_part_is_refused(db, monkeypatch):
    monkeypatch.setattr(arrays, "PART_BYTES", 100)
    run = claimed_run(db).number
    checkpoints.save_checkpoint(db, run, 1, 1, 1.0, {str(i): np.arange(100) for i in range(5)}, {})
    with db.write() as connection:
        connection.execute(tables.checkpoint_parts.delete().where(tables.checkpoint_parts.c.part == 4))
    with pytest.raises(DamagedArrays, match="parts of them are missing"):
        checkpoints.load_checkpoint(db, run)


def test_a_worker_that_loses_its_run_between_two_parts_of_a_checkpoint_writes_no_further_part(db, monkeypatch):
    monkeypatch.setattr(arrays, "PART_BYTES", 1000)
    run = claimed_run(db).number
    checkpoints.save_checkpoint(db, run, 1, 10, 1.0, arrays_at(10), {})
    real = arrays.write_parts

    def lose_after_two(pieces):
        for number, part in enumerate(real(pieces)):
            if number == 2:
                runs.claim_run(db, run, {"pid": 2}, force=True)
            yield part

    monkeypatch.setattr(arrays, "write_parts", lose_after_two)
    large = {str(i): np.random.default_rng(i).random(200) for i in range(6)}
    with pytest.raises(LostClaim):
        checkpoints.save_checkpoint(db, run, 1, 20, 2.0, large, {})
    with db.read() as connection:
        generations = connection.execute(select(tables.checkpoint_parts.c.generation).distinct()).all()
    assert len(generations) == 1
    assert checkpoints.load_checkpoint(db, run).minibatch == 10


def test_a_damaged_checkpoint_is_given_up_for_the_one_before_with_all_that_is_later(db):
    run = trained(db, 30)
    flip_checkpoint(db, run, 3)
    row = runs.claim_run(db, run, {"pid": 2}, force=True)
    with pytest.raises(DamagedArrays):
        checkpoints.load_checkpoint(db, run)
    said = checkpoints.restore_earlier(db, run, row.attempt)
    assert (
        said
        == "the checkpoint at mini-batch 30 is damaged, so the run goes on from the one before it, at mini-batch 20"
    )
    found = checkpoints.load_checkpoint(db, run)
    assert (found.minibatch, found.seconds, found.meta) == (20, 2.5, {"m": 20})
    assert same(found.arrays, arrays_at(20))
    assert [point.minibatch for point in points.read_points(db, run)] == [10, 20]
    assert [each.minibatch for each in snapshots.list_snapshots(db, run)] == [10, 20]
    after = runs.get_run(db, run)
    assert (after.minibatch, after.seconds, after.point_perplexity) == (20, 2.5, 980.0)
    assert [(each.minibatch, each.text) for each in events.read_new_events(db, run)[0] if each.kind == "damaged"] == [
        (20, said)
    ]
    assert after.attempt == row.attempt + 1
    checkpoints.save_checkpoint(db, run, after.attempt, 30, 3.0, arrays_at(30), {})
    assert same(checkpoints.load_checkpoint(db, run).arrays, arrays_at(30))


def test_without_a_checkpoint_that_is_whole_a_run_begins_anew(db):
    run = trained(db, 20)
    for generation in (1, 2):
        flip_checkpoint(db, run, generation)
    row = runs.claim_run(db, run, {"pid": 2}, force=True)
    checkpoints.restore_earlier(db, run, row.attempt)
    with pytest.raises(DamagedArrays):
        checkpoints.load_checkpoint(db, run)
    assert checkpoints.restore_earlier(db, run, row.attempt + 1).endswith(
        "mini-batch 10 is damaged, so the run begins from the start"
    )
    assert checkpoints.load_checkpoint(db, run) is None
    assert list(points.read_points(db, run)) == []
    with db.read() as connection:
        assert connection.execute(select(func.count()).select_from(tables.checkpoint_parts)).scalar() == 0


def test_nobody_but_the_owner_gives_up_a_checkpoint(db):
    run = trained(db, 20)
    runs.claim_run(db, run, {"pid": 2}, force=True)
    with pytest.raises(LostClaim):
        checkpoints.restore_earlier(db, run, 1)
    assert checkpoints.load_checkpoint(db, run).minibatch == 20
