import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import claimed_run, flip_snapshot

from store import checkpoints, points, runs, snapshots, thinning
from store.errors import DamagedSnapshot, NotFound
from store.points import Point


def arrays_at(minibatch):
    rng = np.random.default_rng(minibatch)
    return {"phi.0": rng.random((5, 3)), "r": rng.random(3), "top_documents.0": rng.integers(-1, 9, (3, 20))}


def same(a, b):
    return list(a) == list(b) and all(
        x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a.values(), b.values(), strict=True)
    )


def test_a_snapshot_comes_back_in_single_precision(db):
    run = claimed_run(db).number
    row = snapshots.append(db, run, 1, 50, 2.5, arrays_at(50))
    back = snapshots.load(db, row.number)
    given = arrays_at(50)
    assert np.array_equal(back["phi.0"], given["phi.0"].astype(np.float32))
    assert back["phi.0"].dtype == np.float32
    assert np.array_equal(back["top_documents.0"], given["top_documents.0"])
    assert (row.run, row.minibatch, row.seconds) == (run, 50, 2.5)
    assert 0 < row.size < sum(array.nbytes for array in given.values()) + 500
    assert snapshots.every(db, run) == [row]


def test_the_latest_snapshot_is_the_one_of_the_highest_minibatch(db):
    run, other = claimed_run(db).number, claimed_run(db).number
    assert snapshots.latest(db, run) is None
    for minibatch in (10, 20, 30):
        snapshots.append(db, run, 1, minibatch, 1.0, {})
    snapshots.append(db, other, 1, 99, 1.0, {})
    assert snapshots.latest(db, run).minibatch == 30
    assert [row.minibatch for row in snapshots.every(db, run)] == [10, 20, 30]


def test_a_second_snapshot_of_a_minibatch_replaces_the_first_under_a_new_number(db):
    run = claimed_run(db).number
    first = snapshots.append(db, run, 1, 10, 1.0, {"r": np.zeros(2)})
    second = snapshots.append(db, run, 1, 10, 1.0, {"r": np.ones(2)})
    assert second.number > first.number
    assert snapshots.load(db, second.number)["r"].tolist() == [1, 1]
    with pytest.raises(NotFound, match="not kept any more"):
        snapshots.load(db, first.number)


def test_old_snapshots_are_given_up_by_the_rule(db):
    run = claimed_run(db).number
    appended = range(0, 600, 2)
    for minibatch in appended:
        snapshots.append(db, run, 1, minibatch, 1.0, {})
    left = [row.minibatch for row in snapshots.every(db, run)]
    assert left == sorted(thinning.kept(appended))
    assert len(left) < 120
    assert left[0] == 0
    assert left[-thinning.LATEST :] == list(appended[-thinning.LATEST :])


def test_the_rule_keeps_first_last_an_even_ladder_and_an_early_one():
    left = sorted(thinning.kept(range(1, 1_000_001)))
    assert left[0] == 1
    assert left[-1] == 1_000_000
    assert len(left) < 170
    gaps = np.diff(left)
    assert gaps.max() <= 2**14  # 64 cells are enough for a million with cells of 2^14
    early = [m for m in left if m < 1000]
    assert len(early) > 30
    assert all(b / a <= 2 ** (1 / 2) + 1e-9 or b - a == 1 for a, b in itertools.pairwise(early))


@given(st.integers(0, 5_000_000), st.integers(1, 5000), st.integers(1, 800))
def test_the_rule_never_keeps_more_than_a_bound_that_grows_with_the_octaves(first, every, count):
    appended = range(first, first + every * count, every)
    bound = thinning.CELLS + thinning.PER_OCTAVE * (math.log2(appended[-1] + 1) + 1) + 1 + thinning.LATEST
    left = thinning.kept(appended)
    assert len(left) <= bound
    assert {appended[0], appended[-1]} <= left


@given(
    st.integers(0, 2**32),
    st.integers(1, 600),
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(1, 600), st.integers(0, 600)), max_size=4),
    st.none() | st.integers(2, 40),
)
def test_a_run_stopped_anywhere_ends_with_the_snapshots_of_one_never_stopped(seed, count, largest_step, stops, most):
    appended = np.cumsum(np.random.default_rng(seed).integers(1, largest_step + 1, count)).tolist()
    left: set[int] = set()
    for stopped_after, checkpoint in [*stops, (len(appended), 0)]:
        resumed_at = appended[min(checkpoint, stopped_after, len(appended)) - 1] if checkpoint else 0
        resumed_at = min(resumed_at, max(left, default=0))
        left = {m for m in left if m <= resumed_at}
        for minibatch in (m for m in appended[:stopped_after] if m > resumed_at):
            left = thinning.kept(left | {minibatch}, most)
    never_stopped: set[int] = set()
    for minibatch in appended:
        never_stopped = thinning.kept(never_stopped | {minibatch}, most)
    assert left == never_stopped == thinning.kept(appended, most)


class Work:
    """A worker in miniature: what it writes at a mini-batch depends on the mini-batch only."""

    def __init__(self, db, run, claim):
        self.db, self.run, self.attempt = db, run, claim.attempt
        self.minibatch = claim.minibatch

    def train(self, until, *, checkpoint=20):
        for m in range(self.minibatch + 1, until + 1):
            self.minibatch = m
            new = [Point(m, 10 * m, m / 8, "point_perplexity", 0, 900 + 100 / m)] if m % 3 == 0 else []
            measure = new[0].value if new else None
            runs.beat(self.db, self.run, self.attempt, minibatch=m, seconds=m / 8, point_perplexity=measure, points=new)
            if m % 7 == 0:
                snapshots.append(self.db, self.run, self.attempt, m, m / 8, arrays_at(m))
            if m % checkpoint == 0:
                checkpoints.save_checkpoint(self.db, self.run, self.attempt, m, m / 8, arrays_at(m), {"m": m})
        return self


def written(db, run):
    row = runs.get(db, run)
    kept = [(row.minibatch, row.seconds, snapshots.load(db, row.number)) for row in snapshots.every(db, run)]
    found = [(m, s, {name: array.tolist() for name, array in arrays.items()}) for m, s, arrays in kept]
    return list(points.table(db, run)), found, (row.minibatch, row.seconds, row.point_perplexity)


@pytest.mark.parametrize("kills", [[], [19], [20], [21], [57], [39, 41, 61], [5, 5, 60]])
def test_a_run_killed_and_resumed_has_exactly_the_rows_of_one_never_stopped(db, kills):
    whole, broken = claimed_run(db), claimed_run(db)
    Work(db, whole.number, whole).train(65)
    for kill in kills:
        Work(db, broken.number, broken).train(kill)
        broken = runs.claim(db, broken.number, {}, force=True)
        at = 20 * (kill // 20)
        assert (broken.minibatch, broken.seconds) == (at, at / 8)
        assert broken.point_perplexity == (900 + 100 / (at // 3 * 3) if at else None)
        assert max([m for m, *_ in written(db, broken.number)[0]], default=0) <= at
    Work(db, broken.number, broken).train(65)
    assert written(db, broken.number) == written(db, whole.number)


def test_the_newest_snapshots_of_some_runs_are_those_that_each_alone_has(db, monkeypatch):
    monkeypatch.setattr(snapshots, "_RUNS_AT_ONCE", 2)
    numbers = [claimed_run(db).number for _ in range(5)]
    for place, number in enumerate(numbers[:-1]):
        for minibatch in range(1, place + 2):
            snapshots.append(db, number, 1, minibatch, 1.0, {"r": np.ones(2)})
    found = snapshots.newest(db, numbers[1:])
    assert found == {number: snapshots.latest(db, number) for number in numbers[1:-1]}


def test_the_shapes_of_a_snapshot_are_known_without_reading_its_arrays(db, monkeypatch):
    run = claimed_run(db)
    row = snapshots.append(db, run.number, run.attempt, 10, 1.0, arrays_at(10) | {"large": np.ones((500, 900))})
    monkeypatch.setattr(snapshots, "unpack", lambda *_: pytest.fail("all arrays were read"))
    found = snapshots.shapes(db, row.number)
    assert found == {"phi.0": (5, 3), "r": (3,), "top_documents.0": (3, 20), "large": (500, 900)}
    with pytest.raises(NotFound, match="snapshot 99 is not kept any more"):
        snapshots.shapes(db, 99)


@given(st.integers(2, 60), st.integers(1, 300), st.integers(1, 50))
def test_no_more_snapshots_stay_than_are_wanted_and_the_first_and_last_among_them(most, count, every):
    appended = range(every, every * count + 1, every)
    left = thinning.kept(appended, most)
    assert len(left) <= most
    assert {appended[0], appended[-1]} <= left


def test_a_damaged_snapshot_is_refused_and_from_then_on_passed_over(db, caplog):
    run = claimed_run(db).number
    rows = [snapshots.append(db, run, 1, minibatch, 1.0, arrays_at(minibatch)) for minibatch in (10, 20, 30)]
    flip_snapshot(db, rows[2].number)
    assert snapshots.latest(db, run) == rows[2]
    with pytest.raises(DamagedSnapshot, match=rf"the snapshot of run {run} at mini-batch 30 is damaged, so the one"):
        snapshots.load(db, rows[2].number)
    assert snapshots.latest(db, run) == snapshots.at(db, run, 99) == snapshots.newest(db, [run])[run] == rows[1]
    assert snapshots.every(db, run) == rows[:2]
    assert snapshots.damaged_rows(db) == [rows[2]]
    flip_snapshot(db, rows[1].number)
    assert snapshots.latest_sound(db, run) == rows[0]
    assert "mini-batch 20 is damaged" in caplog.text
    assert snapshots.latest_sound(db, run, 5) is None
