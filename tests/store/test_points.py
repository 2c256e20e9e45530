import math
import tracemalloc

import numpy as np
import pytest
from sqlalchemy import event
from store_samples import append_points, claimed_run

from topiary.store import checkpoints, events, points, runs
from topiary.store.points import Point


def some(count, name="point_perplexity", layer=0, first=1):
    return [Point(m, 10 * m, m / 2, name, layer, 1000.0 / m) for m in range(first, first + count)]


def test_points_come_back_as_they_were_written(db):
    run = claimed_run(db).number
    written = [*some(3), Point(4, 40, 2.0, "step_size_mean", 3, 1e-300), Point(5, 50, 2.5, "elbo", 0, -math.inf)]
    append_points(db, run, 1, written)
    assert list(points.read_points(db, run)) == written
    assert points.read_new_points(db, run)[0] == written


def test_numbers_of_numpy_are_taken_and_nan_comes_back_as_nan(db):
    run = claimed_run(db).number
    one = Point(np.int64(3), np.int32(30), np.float32(1.5), "elbo", np.int8(2), np.float64("nan"))
    runs.record_progress(
        db, run, 1, minibatch=np.int64(3), seconds=np.float64(1.5), point_perplexity=np.nan, points=[one]
    )
    (back,) = points.read_points(db, run)
    assert back[:5] == (3, 30, 1.5, "elbo", 2)
    assert math.isnan(back.value)
    assert runs.get_run(db, run).minibatch == 3
    assert runs.get_run(db, run).point_perplexity is None


def test_a_reader_with_a_cursor_gets_every_point_once(db):
    run, other = claimed_run(db).number, claimed_run(db).number
    seen, cursor = [], 0
    for first in (1, 4, 7):
        append_points(db, run, 1, some(3, first=first))
        append_points(db, other, 1, some(5))
        while True:
            new, cursor = points.read_new_points(db, run, cursor, limit=2)
            if not new:
                break
            seen += new
    assert seen == some(9)


def test_points_written_again_after_a_claim_are_new_to_every_cursor(db):
    run = claimed_run(db).number
    append_points(db, run, 1, some(6))
    _, cursor = points.read_new_points(db, run)
    runs.claim_run(db, run, {}, force=True)
    assert points.read_new_points(db, run, cursor) == ([], cursor)
    append_points(db, run, 2, some(2))
    assert points.read_new_points(db, run, cursor)[0] == some(2)


@pytest.mark.parametrize("most", [2, 3, 10, 99, 100, 2000])
def test_a_thinned_curve_keeps_first_and_last_and_is_evenly_spread(db, most):
    run = claimed_run(db).number
    append_points(db, run, 1, [*some(100), *some(50, "elbo"), *some(100, layer=2)])
    series = points.read_series(db, run, "point_perplexity", 0, most)
    assert series.minibatch[0] == 1
    assert series.minibatch[-1] == 100
    assert len(series.minibatch) <= most
    assert len(series.minibatch) >= min(most, 100) / 2
    assert np.ptp(np.diff(series.minibatch)[:-1]) == 0 if len(series.minibatch) > 2 else True
    assert np.array_equal(series.documents, 10 * series.minibatch)
    assert np.array_equal(series.seconds, series.minibatch / 2)
    assert np.array_equal(series.value, 1000.0 / series.minibatch)


def test_the_newest_value_of_every_layer_is_found(db):
    run = claimed_run(db).number
    append_points(db, run, 1, [Point(m, m, m, "eta", layer, m + layer / 10.0) for m in (1, 2, 3) for layer in (2, 1)])
    append_points(db, run, 1, [Point(4, 4, 4, "eta", 1, 4.5)])
    assert points.read_newest(db, run, "eta") == {1: 4.5, 2: 3.2}
    assert points.read_newest(db, run, "elbo") == {}


def test_a_curve_that_is_not_there_is_empty(db):
    series = points.read_series(db, claimed_run(db).number, "elbo")
    assert [array.shape for array in series] == [(0,)] * 4
    assert [array.dtype.name for array in series] == ["int64", "int64", "float64", "float64"]


def test_a_long_curve_is_thinned_by_the_database(db):
    run = claimed_run(db).number
    append_points(db, run, 1, some(30_000))
    points.read_series(db, run, "point_perplexity", most=50)
    tracemalloc.start()
    assert len(points.read_series(db, run, "point_perplexity", most=50).value) > 25
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000  # 30,000 rows as Python objects take ten times as much


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_is_new_is_found_by_an_index(db):
    run = claimed_run(db).number
    statements = []

    def remember(connection, cursor, statement, parameters, context, many):
        statements.append((statement, parameters))

    event.listen(db._engine, "before_cursor_execute", remember)
    points.read_new_points(db, run, 5)
    points.read_series(db, run, "elbo")
    event.remove(db._engine, "before_cursor_execute", remember)
    plans = []
    with db.read() as connection:
        for statement, parameters in statements:
            if "FROM points" in statement:
                plans += [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    found = [plan for plan in plans if "points" in plan]
    assert found
    assert all("INDEX points_by_number" in plan or "INDEX points_copy" in plan for plan in found), plans
    assert not any("TEMP B-TREE" in plan for plan in plans), plans


def test_the_whole_table_is_read_in_short_reads(db, monkeypatch):
    monkeypatch.setattr(points, "_AT_ONCE", 4)
    run = claimed_run(db).number
    append_points(db, run, 1, some(8))
    table = points.read_points(db, run)
    assert next(table) == some(1)[0]
    append_points(db, run, 1, some(3, first=9))
    assert [point.minibatch for point in table] == list(range(2, 12))


def test_events_are_told_in_order_and_rewound_like_points(db):
    run = claimed_run(db).number
    events.append_event(db, run, 1, 0, "note", "from nothing")
    checkpoints.save_checkpoint(db, run, 1, 10, 1.0, {}, {})
    events.append_event(db, run, 1, 20, "note", "going well")
    found, cursor = events.read_new_events(db, run, 0)
    assert [(e.attempt, e.minibatch, e.kind, e.text) for e in found] == [
        (1, 0, "started", "by process 1 on here"),
        (1, 0, "note", "from nothing"),
        (1, 20, "note", "going well"),
    ]
    assert found[0].created <= found[1].created
    runs.claim_run(db, run, {}, force=True)
    report = [(e.attempt, e.minibatch, e.kind) for e in events.read_new_events(db, run)[0]]
    assert report == [(1, 0, "started"), (1, 0, "note"), (2, 10, "resumed")]
    assert [e.kind for e in events.read_new_events(db, run, cursor)[0]] == ["resumed"]
    assert events.read_new_events(db, run, 10**9) == ([], 10**9)


@pytest.mark.parametrize("state", runs.ENDED)
def test_claims_and_ends_are_events_by_themselves(db, state):
    run = claimed_run(db).number
    runs.record_progress(db, run, 1, minibatch=7, seconds=1.0)
    checkpoints.save_checkpoint(db, run, 1, 7, 1.0, {}, {})
    runs.finish_run(db, run, 1, state, "a reason")
    report = [(e.attempt, e.minibatch, e.kind, e.text) for e in events.read_new_events(db, run)[0]]
    assert report == [(1, 0, "started", "by process 1 on here"), (1, 7, state, "a reason")]


def test_one_curve_is_told_of_all_runs_at_once_or_of_one(db):
    one, two, none = (claimed_run(db).number for _ in range(3))
    append_points(
        db, one, 1, [*some(3), Point(9, 90, 9.0, "elbo", 0, 1.0), Point(9, 90, 9.0, "point_perplexity", 1, 2.0)]
    )
    append_points(db, two, 1, [Point(5, 50, 5.0, "point_perplexity", 0, math.nan)])
    curves = points.read_curves(db, "point_perplexity")
    assert curves[one] == [(t, 1000.0 / t) for t in (1, 2, 3)] == points.read_curve(db, one, "point_perplexity")
    assert [at for at, value in curves[two] if math.isnan(value)] == [5]
    assert (none in curves, points.read_curve(db, none, "point_perplexity")) == (False, [])


def test_all_curves_of_a_run_at_once_are_those_read_point_by_point(db):
    run, other = claimed_run(db).number, claimed_run(db).number
    append_points(db, other, 1, some(3))
    append_points(db, run, 1, [*some(5), *some(4, "step_size_mean", 2), Point(9, 90, 4.5, "elbo", 0, math.nan)])
    curves, cursor = points.read_all_series(db, run)
    read = {(name, layer): columns for name, layer, columns in curves}
    assert set(read) == {("point_perplexity", 0), ("step_size_mean", 2), ("elbo", 0)}
    assert list(zip(*read["step_size_mean", 2], strict=True)) == [
        (point.minibatch, point.documents, point.seconds, point.value) for point in some(4)
    ]
    assert read["point_perplexity", 0].minibatch.dtype == np.int64
    assert math.isnan(read["elbo", 0].value[0])
    append_points(db, run, 1, some(1, first=10))
    assert [point.minibatch for point in points.read_new_points(db, run, cursor)[0]] == [10]


def test_a_run_without_points_has_no_curves(db):
    assert points.read_all_series(db, claimed_run(db).number) == ([], 0)
