"""Predictions: kept beside their snapshot, found by who would compute the same, and gone with the snapshot."""

from threading import Thread

import numpy as np
import pytest
from sqlalchemy import event, func, inspect, select, text, update
from store_samples import back_to_version, claimed_run, new_run

from store import corpora, predictions, removal, runs, snapshots, tables, thinning
from store.database import open_database
from store.errors import NotFound, StoreError

ME = "this program"


def arrays(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"probabilities": rng.random((40, 3)), "labels": rng.integers(0, 3, 40), "minibatch": np.array(7)}


def same(found, given) -> bool:
    return list(found) == list(given) and all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes()
        for one, other in zip(found.values(), given.values(), strict=True)
    )


def count(db) -> int:
    with db.read() as connection:
        return connection.execute(select(func.count()).select_from(tables.predictions)).scalar_one()


@pytest.fixture
def run(db) -> int:
    return claimed_run(db).number


@pytest.fixture
def snapshot(db, run) -> int:
    return snapshots.append(db, run, 1, 7, 1.0, {"r": np.ones(2)}).number


def test_predictions_come_back_bit_for_bit(db, run, snapshot):
    assert predictions.load(db, run, snapshot, ME) is None
    predictions.keep(db, snapshot, ME, arrays())
    assert same(predictions.load(db, run, snapshot, ME), arrays())


def test_who_would_compute_something_else_finds_nothing(db, run, snapshot):
    predictions.keep(db, snapshot, ME, arrays())
    assert predictions.load(db, run, snapshot, "a later program") is None


def test_a_snapshot_of_another_run_has_no_predictions_of_this_one(db, run, snapshot):
    predictions.keep(db, snapshot, ME, arrays())
    assert predictions.load(db, new_run(db).number, snapshot, ME) is None


def test_later_predictions_replace_earlier_ones(db, run, snapshot):
    predictions.keep(db, snapshot, ME, arrays())
    predictions.keep(db, snapshot, "a later program", arrays(1))
    assert predictions.load(db, run, snapshot, ME) is None
    assert same(predictions.load(db, run, snapshot, "a later program"), arrays(1))
    assert count(db) == 1


def test_the_size_is_that_of_the_bytes(db, snapshot):
    predictions.keep(db, snapshot, ME, arrays())
    with db.read() as connection:
        size, blob = connection.execute(select(tables.predictions.c.size, tables.predictions.c.arrays)).one()
    assert size == len(blob) < 2 * sum(array.nbytes for array in arrays().values())


@pytest.mark.parametrize("place", [0, 30, 200, -1])
def test_one_altered_bit_anywhere_makes_them_unknown(db, run, snapshot, place):
    predictions.keep(db, snapshot, ME, arrays())
    with db.write() as connection:
        blob = bytearray(connection.execute(select(tables.predictions.c.arrays)).scalar_one())
        blob[place] ^= 1
        connection.execute(update(tables.predictions).values(arrays=bytes(blob)))
    assert predictions.load(db, run, snapshot, ME) is None


def test_bytes_that_were_never_arrays_are_unknown_even_with_their_checksum(db, run, snapshot, monkeypatch):
    monkeypatch.setattr(predictions, "pack", lambda arrays: b"TOPIARY1 but no more")
    predictions.keep(db, snapshot, ME, arrays())
    assert predictions.load(db, run, snapshot, ME) is None


def test_they_go_with_the_run(db, run, snapshot):
    other = claimed_run(db).number
    kept = snapshots.append(db, other, 1, 7, 1.0, {}).number
    predictions.keep(db, snapshot, ME, arrays())
    predictions.keep(db, kept, ME, arrays(1))
    runs.finish(db, run, 1, "finished")
    runs.delete(db, run)
    assert count(db) == 1
    assert same(predictions.load(db, other, kept, ME), arrays(1))


def test_the_corpus_can_be_deleted_after_the_run(db, run, snapshot):
    predictions.keep(db, snapshot, ME, arrays())
    corpus = runs.finish(db, run, 1, "finished").corpus
    runs.delete(db, run)
    corpora.delete(db, corpus)
    assert count(db) == 0


def test_they_go_with_snapshots_that_are_given_up_as_the_run_grows(db, run):
    appended = range(0, 160, 2)
    numbers = {}
    for minibatch in appended:
        numbers[minibatch] = snapshots.append(db, run, 1, minibatch, 1.0, {}).number
        predictions.keep(db, numbers[minibatch], ME, {"minibatch": np.array(minibatch)})
    left = thinning.kept(appended)
    assert 0 < len(left) < len(appended)
    for minibatch in appended:
        found = predictions.load(db, run, numbers[minibatch], ME)
        assert (found is not None) == (minibatch in left)
    assert count(db) == len(left)


def test_they_go_with_a_snapshot_that_is_taken_again_and_with_one_that_is_rewound(db, run, snapshot):
    predictions.keep(db, snapshot, ME, arrays())
    again = snapshots.append(db, run, 1, 7, 1.0, {}).number
    assert count(db) == 0
    predictions.keep(db, again, ME, arrays())
    with db.write() as connection:
        removal.rewind(connection, run)
    assert count(db) == 0


def test_what_is_gone_cannot_be_predicted_any_more(db, run, snapshot):
    with pytest.raises(NotFound, match="snapshot 99 is not kept"):
        predictions.keep(db, 99, ME, arrays())
    with db.write() as connection:
        connection.execute(update(tables.runs).values(state="deleted"))
    with pytest.raises(NotFound, match=f"snapshot {snapshot} is not kept"):
        predictions.keep(db, snapshot, ME, arrays())
    assert count(db) == 0


def test_too_large_ones_are_refused_and_earlier_ones_stay(db, run, snapshot, monkeypatch):
    predictions.keep(db, snapshot, ME, arrays())
    monkeypatch.setattr(predictions, "LARGEST", 100)
    with pytest.raises(StoreError, match="remembers at most"):
        predictions.keep(db, snapshot, ME, arrays(1))
    assert same(predictions.load(db, run, snapshot, ME), arrays())


def test_killed_half_way_the_earlier_ones_stay(db, run, snapshot):
    predictions.keep(db, snapshot, ME, arrays())

    def die(connection, cursor, statement, *rest):
        if statement.startswith("INSERT INTO predictions"):
            raise KeyboardInterrupt

    event.listen(db._engine, "before_cursor_execute", die)
    with pytest.raises(KeyboardInterrupt):
        predictions.keep(db, snapshot, ME, arrays(1))
    event.remove(db._engine, "before_cursor_execute", die)
    assert same(predictions.load(db, run, snapshot, ME), arrays())


def test_several_programs_keep_them_at_once_while_the_worker_writes(db, run, snapshot):
    failed = []

    def keeping(seed):
        try:
            mine = open_database(db.url)
            for _ in range(15):
                predictions.keep(mine, snapshot, ME, arrays(seed))
            mine.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shall show it
            failed.append(error)

    threads = [Thread(target=keeping, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for minibatch in range(8, 23):
        runs.beat(db, run, 1, minibatch=minibatch, seconds=1.0)
        snapshots.append(db, run, 1, minibatch, 1.0, {})
        predictions.load(db, run, snapshot, ME)
    for thread in threads:
        thread.join()
    assert failed == []
    assert any(same(predictions.load(db, run, snapshot, ME), arrays(seed)) for seed in range(3))


def test_a_store_of_version_3_gets_the_table_that_a_new_store_has(db, run, snapshot):
    def described():
        with db.read() as connection:
            look = inspect(connection)
            columns = {(each["name"], each["nullable"], str(each["type"])) for each in look.get_columns("predictions")}
            keys = {
                (*key["constrained_columns"], key["referred_table"], key["options"].get("ondelete"))
                for key in look.get_foreign_keys("predictions")
            }
            return columns, keys, look.get_pk_constraint("predictions")["constrained_columns"]

    new = described()
    with db.write() as connection:
        connection.execute(text("DROP TABLE predictions"))
        connection.execute(text("ALTER TABLE runs DROP COLUMN family"))
        connection.execute(text("ALTER TABLE events DROP COLUMN change"))
    back_to_version(db, 3)
    open_database(db.url).close()
    assert described() == new
    predictions.keep(db, snapshot, ME, arrays())
    assert same(predictions.load(db, run, snapshot, ME), arrays())
