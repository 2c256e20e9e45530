import itertools
import math
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, func, select, update
from store_samples import claimed_run, flip_part, flip_snapshot, new_run

from topiary.store import check, checkpoints, corpora, points, run_rows, runs, snapshots, tables
from topiary.store.database import open_database
from topiary.store.errors import DamagedSnapshot, LostClaim, NotFound, StoreError
from topiary.store.points import Point
from topiary.store.snapshots import StoredMap


def arrays_at(minibatch):
    rng = np.random.default_rng(minibatch)
    return {"phi.0": rng.random((5, 3)), "r": rng.random(3), "top_documents.0": rng.integers(-1, 9, (3, 20))}


def same(a, b):
    return list(a) == list(b) and all(
        x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a.values(), b.values(), strict=True)
    )


def test_a_snapshot_comes_back_in_single_precision(db):
    run = claimed_run(db).number
    row = snapshots.append_snapshot(db, run, 1, 50, 2.5, arrays_at(50))
    back = snapshots.load_snapshot(db, row.number)
    given = arrays_at(50)
    assert np.array_equal(back["phi.0"], given["phi.0"].astype(np.float32))
    assert back["phi.0"].dtype == np.float32
    assert np.array_equal(back["top_documents.0"], given["top_documents.0"])
    assert (row.run, row.minibatch, row.seconds) == (run, 50, 2.5)
    assert 0 < row.size < sum(array.nbytes for array in given.values()) + 500
    assert snapshots.list_snapshots(db, run) == [row]


def test_the_latest_snapshot_is_the_one_of_the_highest_minibatch(db):
    run, other = claimed_run(db).number, claimed_run(db).number
    assert snapshots.find_latest(db, run) is None
    for minibatch in (10, 20, 30):
        snapshots.append_snapshot(db, run, 1, minibatch, 1.0, {})
    snapshots.append_snapshot(db, other, 1, 99, 1.0, {})
    assert snapshots.find_latest(db, run).minibatch == 30
    assert [row.minibatch for row in snapshots.list_snapshots(db, run)] == [10, 20, 30]


def test_snapshots_after_a_minibatch_can_be_given_up_by_the_attempt_that_holds_the_run(db):
    run = claimed_run(db)
    for minibatch in (1, 5, 9):
        snapshots.append_snapshot(db, run.number, run.attempt, minibatch, 1.0, {"r": np.ones(1)})
    with pytest.raises(LostClaim):
        snapshots.delete_later(db, run.number, run.attempt + 1, 5)
    snapshots.delete_later(db, run.number, run.attempt, 5)
    assert [each.minibatch for each in snapshots.list_snapshots(db, run.number)] == [1, 5]


def test_a_second_snapshot_of_a_minibatch_replaces_the_first_under_a_new_number(db):
    run = claimed_run(db).number
    first = snapshots.append_snapshot(db, run, 1, 10, 1.0, {"r": np.zeros(2)})
    second = snapshots.append_snapshot(db, run, 1, 10, 1.0, {"r": np.ones(2)})
    assert second.number > first.number
    assert snapshots.load_snapshot(db, second.number)["r"].tolist() == [1, 1]
    with pytest.raises(NotFound, match="not kept any more"):
        snapshots.load_snapshot(db, first.number)


def test_old_snapshots_are_given_up_by_the_rule(db):
    run = claimed_run(db).number
    appended = range(0, 600, 2)
    for minibatch in appended:
        snapshots.append_snapshot(db, run, 1, minibatch, 1.0, {})
    left = [row.minibatch for row in snapshots.list_snapshots(db, run)]
    assert left == sorted(snapshots.choose_kept(appended))
    assert len(left) < 120
    assert left[0] == 0
    assert left[-snapshots.LATEST :] == list(appended[-snapshots.LATEST :])


def test_the_rule_keeps_first_last_an_even_ladder_and_an_early_one():
    left = sorted(snapshots.choose_kept(range(1, 1_000_001)))
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
    bound = snapshots.CELLS + snapshots.PER_OCTAVE * (math.log2(appended[-1] + 1) + 1) + 1 + snapshots.LATEST
    left = snapshots.choose_kept(appended)
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
            left = snapshots.choose_kept(left | {minibatch}, most)
    never_stopped: set[int] = set()
    for minibatch in appended:
        never_stopped = snapshots.choose_kept(never_stopped | {minibatch}, most)
    assert left == never_stopped == snapshots.choose_kept(appended, most)


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
            runs.record_progress(
                self.db, self.run, self.attempt, minibatch=m, seconds=m / 8, point_perplexity=measure, points=new
            )
            if m % 7 == 0:
                snapshots.append_snapshot(self.db, self.run, self.attempt, m, m / 8, arrays_at(m))
            if m % checkpoint == 0:
                checkpoints.save_checkpoint(self.db, self.run, self.attempt, m, m / 8, arrays_at(m), {"m": m})
        return self


def written(db, run):
    row = runs.get_run(db, run)
    kept = [
        (row.minibatch, row.seconds, snapshots.load_snapshot(db, row.number))
        for row in snapshots.list_snapshots(db, run)
    ]
    found = [(m, s, {name: array.tolist() for name, array in arrays.items()}) for m, s, arrays in kept]
    return list(points.read_points(db, run)), found, (row.minibatch, row.seconds, row.point_perplexity)


@pytest.mark.parametrize("kills", [[], [19], [20], [21], [57], [39, 41, 61], [5, 5, 60]])
def test_a_run_killed_and_resumed_has_exactly_the_rows_of_one_never_stopped(db, kills):
    whole, broken = claimed_run(db), claimed_run(db)
    Work(db, whole.number, whole).train(65)
    for kill in kills:
        Work(db, broken.number, broken).train(kill)
        broken = runs.claim_run(db, broken.number, {}, force=True)
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
            snapshots.append_snapshot(db, number, 1, minibatch, 1.0, {"r": np.ones(2)})
    found = snapshots.find_newest(db, numbers[1:])
    assert found == {number: snapshots.find_latest(db, number) for number in numbers[1:-1]}


def test_the_shapes_of_a_snapshot_are_known_without_reading_its_arrays(db, monkeypatch):
    run = claimed_run(db)
    row = snapshots.append_snapshot(
        db, run.number, run.attempt, 10, 1.0, arrays_at(10) | {"large": np.ones((500, 900))}
    )
    monkeypatch.setattr(snapshots, "unpack_arrays", lambda *_: pytest.fail("all arrays were read"))
    found = snapshots.read_shapes(db, row.number)
    assert found == {"phi.0": (5, 3), "r": (3,), "top_documents.0": (3, 20), "large": (500, 900)}
    with pytest.raises(NotFound, match="snapshot 99 is not kept any more"):
        snapshots.read_shapes(db, 99)


@given(st.integers(2, 60), st.integers(1, 300), st.integers(1, 50))
def test_no_more_snapshots_stay_than_are_wanted_and_the_first_and_last_among_them(most, count, every):
    appended = range(every, every * count + 1, every)
    left = snapshots.choose_kept(appended, most)
    assert len(left) <= most
    assert {appended[0], appended[-1]} <= left


def test_a_damaged_snapshot_is_refused_and_from_then_on_passed_over(db, caplog):
    run = claimed_run(db).number
    rows = [snapshots.append_snapshot(db, run, 1, minibatch, 1.0, arrays_at(minibatch)) for minibatch in (10, 20, 30)]
    flip_snapshot(db, rows[2].number)
    assert snapshots.find_latest(db, run) == rows[2]
    with pytest.raises(DamagedSnapshot, match=rf"the snapshot of run {run} at mini-batch 30 is damaged, so the one"):
        snapshots.load_snapshot(db, rows[2].number)
    assert (
        snapshots.find_latest(db, run)
        == snapshots.find_snapshot(db, run, 99)
        == snapshots.find_newest(db, [run])[run]
        == rows[1]
    )
    assert snapshots.list_snapshots(db, run) == rows[:2]
    assert db.damaged == {rows[2].number}
    flip_snapshot(db, rows[1].number)
    assert snapshots.find_sound(db, run) == rows[0]
    assert "mini-batch 20 is damaged" in caplog.text
    assert snapshots.find_sound(db, run, 5) is None
    assert snapshots.explain_absence(db, run) == ""
    caplog.clear()
    flip_snapshot(db, rows[0].number)
    assert snapshots.find_sound(db, run) is None
    sentence = f"all 3 snapshots of run {run} are damaged; restore the store from a backup, and check the disk"
    assert snapshots.explain_absence(db, run) == sentence
    assert caplog.records == []
    with pytest.raises(DamagedSnapshot, match="all 3 snapshots"):
        snapshots.load_snapshot(db, rows[0].number)


def test_the_first_of_the_snapshots_if_damaged_is_not_said_to_have_one_before_it(db):
    run = claimed_run(db).number
    rows = [snapshots.append_snapshot(db, run, 1, minibatch, 1.0, arrays_at(minibatch)) for minibatch in (10, 20)]
    flip_snapshot(db, rows[0].number)
    with pytest.raises(DamagedSnapshot, match="mini-batch 10 is damaged, and there is none before it"):
        snapshots.load_snapshot(db, rows[0].number)


ME = "this program"


def arrays(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"probabilities": rng.random((40, 3)), "labels": rng.integers(0, 3, 40), "minibatch": np.array(7)}


def same_arrays(found, given) -> bool:
    return list(found) == list(given) and all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes()
        for one, other in zip(found.values(), given.values(), strict=True)
    )


def count(db) -> int:
    with db.read() as connection:
        return connection.execute(
            select(func.count()).where(tables.snapshot_parts.c.kind == snapshots.PREDICTIONS)
        ).scalar_one()


@pytest.fixture
def run(db) -> int:
    return claimed_run(db).number


@pytest.fixture
def snapshot(db, run) -> int:
    return snapshots.append_snapshot(db, run, 1, 7, 1.0, {"r": np.ones(2)}).number


def test_predictions_come_back_bit_for_bit(db, run, snapshot):
    assert snapshots.load_predictions(db, run, snapshot, ME) is None
    snapshots.save_predictions(db, snapshot, ME, arrays())
    assert same_arrays(snapshots.load_predictions(db, run, snapshot, ME), arrays())


def test_who_would_compute_something_else_finds_nothing(db, run, snapshot):
    snapshots.save_predictions(db, snapshot, ME, arrays())
    assert snapshots.load_predictions(db, run, snapshot, "a later program") is None


def test_a_snapshot_of_another_run_has_no_predictions_of_this_one(db, run, snapshot):
    snapshots.save_predictions(db, snapshot, ME, arrays())
    assert snapshots.load_predictions(db, new_run(db).number, snapshot, ME) is None


def test_later_predictions_replace_earlier_ones(db, run, snapshot):
    snapshots.save_predictions(db, snapshot, ME, arrays())
    snapshots.save_predictions(db, snapshot, "a later program", arrays(1))
    assert snapshots.load_predictions(db, run, snapshot, ME) is None
    assert same_arrays(snapshots.load_predictions(db, run, snapshot, "a later program"), arrays(1))
    assert count(db) == 1


@pytest.mark.parametrize("place", [0, 30, 200, -1])
def test_one_altered_bit_anywhere_makes_them_unknown(db, run, snapshot, place):
    snapshots.save_predictions(db, snapshot, ME, arrays())
    with db.write() as connection:
        is_predictions = tables.snapshot_parts.c.kind == snapshots.PREDICTIONS
        blob = bytearray(connection.execute(select(tables.snapshot_parts.c.arrays).where(is_predictions)).scalar_one())
        blob[place] ^= 1
        connection.execute(update(tables.snapshot_parts).where(is_predictions).values(arrays=bytes(blob)))
    assert snapshots.load_predictions(db, run, snapshot, ME) is None


def test_they_go_with_the_run(db, run, snapshot):
    other = claimed_run(db).number
    kept = snapshots.append_snapshot(db, other, 1, 7, 1.0, {}).number
    snapshots.save_predictions(db, snapshot, ME, arrays())
    snapshots.save_predictions(db, kept, ME, arrays(1))
    runs.finish_run(db, run, 1, "finished")
    runs.delete_run(db, run)
    assert count(db) == 1
    assert same_arrays(snapshots.load_predictions(db, other, kept, ME), arrays(1))


def test_the_corpus_can_be_deleted_after_the_run(db, run, snapshot):
    snapshots.save_predictions(db, snapshot, ME, arrays())
    corpus = runs.finish_run(db, run, 1, "finished").corpus
    runs.delete_run(db, run)
    corpora.delete_corpus(db, corpus)
    assert count(db) == 0


def test_they_go_with_snapshots_that_are_given_up_as_the_run_grows(db, run):
    appended = range(0, 160, 2)
    numbers = {}
    for minibatch in appended:
        numbers[minibatch] = snapshots.append_snapshot(db, run, 1, minibatch, 1.0, {}).number
        snapshots.save_predictions(db, numbers[minibatch], ME, {"minibatch": np.array(minibatch)})
    left = snapshots.choose_kept(appended)
    assert 0 < len(left) < len(appended)
    for minibatch in appended:
        found = snapshots.load_predictions(db, run, numbers[minibatch], ME)
        assert (found is not None) == (minibatch in left)
    assert count(db) == len(left)


def test_they_go_with_a_snapshot_that_is_taken_again_and_with_one_that_is_rewound(db, run, snapshot):
    snapshots.save_predictions(db, snapshot, ME, arrays())
    again = snapshots.append_snapshot(db, run, 1, 7, 1.0, {}).number
    assert count(db) == 0
    snapshots.save_predictions(db, again, ME, arrays())
    with db.write() as connection:
        run_rows.rewind_run(connection, run)
    assert count(db) == 0


def test_what_is_gone_cannot_be_predicted_any_more(db, run, snapshot):
    with pytest.raises(NotFound, match="snapshot 99 is not kept"):
        snapshots.save_predictions(db, 99, ME, arrays())
    with db.write() as connection:
        connection.execute(update(tables.runs).values(state="deleted"))
    with pytest.raises(NotFound, match=f"snapshot {snapshot} is not kept"):
        snapshots.save_predictions(db, snapshot, ME, arrays())
    assert count(db) == 0


def test_too_large_ones_are_refused_and_earlier_ones_stay(db, run, snapshot, monkeypatch):
    snapshots.save_predictions(db, snapshot, ME, arrays())
    monkeypatch.setattr(snapshots, "LARGEST", 100)
    with pytest.raises(StoreError, match="keeps at most"):
        snapshots.save_predictions(db, snapshot, ME, arrays(1))
    assert same_arrays(snapshots.load_predictions(db, run, snapshot, ME), arrays())


def test_killed_half_way_the_earlier_ones_stay(db, run, snapshot):
    snapshots.save_predictions(db, snapshot, ME, arrays())

    def die(connection, cursor, statement, *rest):
        if statement.startswith("INSERT INTO snapshot_parts"):
            raise KeyboardInterrupt

    event.listen(db._engine, "before_cursor_execute", die)
    with pytest.raises(KeyboardInterrupt):
        snapshots.save_predictions(db, snapshot, ME, arrays(1))
    event.remove(db._engine, "before_cursor_execute", die)
    assert same_arrays(snapshots.load_predictions(db, run, snapshot, ME), arrays())


def test_several_programs_keep_them_at_once_while_the_worker_writes(db, run, snapshot):
    failed = []

    def keeping(seed):
        try:
            mine = open_database(db.url)
            for _ in range(15):
                snapshots.save_predictions(mine, snapshot, ME, arrays(seed))
            mine.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shall show it
            failed.append(error)

    threads = [Thread(target=keeping, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for minibatch in range(8, 23):
        runs.record_progress(db, run, 1, minibatch=minibatch, seconds=1.0)
        snapshots.append_snapshot(db, run, 1, minibatch, 1.0, {})
        snapshots.load_predictions(db, run, snapshot, ME)
    for thread in threads:
        thread.join()
    assert failed == []
    assert any(same_arrays(snapshots.load_predictions(db, run, snapshot, ME), arrays(seed)) for seed in range(3))


MAKER = "this program"


@pytest.fixture
def mapped(db):
    return claimed_run(db)


def append(db, mapped, minibatch, most=None):
    return snapshots.append_snapshot(db, mapped.number, mapped.attempt, minibatch, 0.5, {"r": np.ones(2)}, most).number


def draw(snapshot, n=5, *, finished=True):
    rng = np.random.default_rng(snapshot)
    return StoredMap(
        snapshot, rng.normal(size=(n, 2)).astype(np.float32), np.arange(-1, n - 1, dtype=np.int32), finished
    )


def find(db, mapped, minibatch=9, made_by=MAKER):
    return snapshots.find_map(db, mapped.number, made_by, minibatch)


def same_map(found, expected):
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_a_map_comes_back_with_the_same_bits_and_replaces_its_draft(db, mapped):
    snapshot = append(db, mapped, 9)
    assert find(db, mapped) is None
    for finished in (False, True):
        snapshots.save_map(db, MAKER, draw(snapshot, finished=finished))
        assert same_map(find(db, mapped), draw(snapshot, finished=finished))
    assert find(db, mapped).positions.dtype == np.float32
    assert find(db, mapped).topics.dtype == np.int32
    assert find(db, mapped, made_by="a later program") is None


def test_the_newest_map_at_or_before_a_minibatch_is_found(db, mapped):
    first, second = append(db, mapped, 3), append(db, mapped, 9)
    for number in (first, second):
        snapshots.save_map(db, MAKER, draw(number))
    assert [find(db, mapped, minibatch) and find(db, mapped, minibatch).snapshot for minibatch in (2, 3, 8, 9, 20)] == [
        None, first, first, second, second,
    ]  # fmt: skip


def test_facts_about_a_map_are_found_and_the_map_is_loaded_by_its_snapshot(db, mapped):
    first, second = append(db, mapped, 3), append(db, mapped, 9)
    snapshots.save_map(db, MAKER, draw(first, 4))
    facts = snapshots.find_facts(db, mapped.number, MAKER, 9)
    assert facts[:3] == (first, 4, True)
    assert snapshots.get_facts(db, first) == facts
    assert same_map(snapshots.load_map(db, first), draw(first, 4))
    snapshots.save_map(db, MAKER, draw(second, finished=False))
    assert snapshots.find_facts(db, mapped.number, MAKER, 20)[:3] == (second, 5, False)
    assert snapshots.find_facts(db, mapped.number, "a later program", 20) is None
    for read in (snapshots.get_facts, snapshots.load_map):
        with pytest.raises(NotFound, match="no map of documents under snapshot 99"):
            read(db, 99)


def test_a_map_goes_with_its_snapshot_and_none_is_saved_under_one_that_is_gone(db, mapped):
    snapshot = append(db, mapped, 9)
    snapshots.save_map(db, MAKER, draw(snapshot))
    snapshots.delete_later(db, mapped.number, mapped.attempt, 0)
    with db.read() as connection:
        assert connection.execute(select(tables.snapshot_parts)).first() is None
    with pytest.raises(NotFound, match="not kept any more"):
        snapshots.save_map(db, MAKER, draw(snapshot))


def test_thinning_keeps_the_snapshot_with_the_newest_map(db, mapped):
    numbers = [append(db, mapped, minibatch) for minibatch in (1, 2, 3)]
    for number in numbers[1:]:
        snapshots.save_map(db, MAKER, draw(number))
    for minibatch in range(4, 20):
        append(db, mapped, minibatch, 2)
    assert [row.minibatch for row in snapshots.list_snapshots(db, mapped.number)] == [1, 3, 19]


def test_a_damaged_map_is_reported_and_not_shown(db, mapped):
    snapshot = append(db, mapped, 9)
    snapshots.save_map(db, MAKER, draw(snapshot))
    assert check.check_store(db).damages == ()
    flip_part(db, snapshot, snapshots.MAP)
    (damage,) = check.check_store(db).damages
    assert damage.what == f"maps of documents under snapshot {snapshot}, from document 0 on, are damaged"
    assert find(db, mapped) is None
