"""One damaged cell is said to be damaged, and everything else in the store is read as before."""

import math

import pytest
from sqlalchemy import text
from store_samples import append_points, claimed_run, new_run, write_corpus

from topiary.store import checkpoints, corpora, corpus_writer, events, points, runs, snapshots, tables
from topiary.store.check import check_store
from topiary.store.errors import DamagedArrays, DamagedRow
from topiary.store.points import Point

BROKEN = ('{"layers": [3', "[]", "null", '"text"', "[" * 9000)
OF_SQLITE = ("x'00ff'", "CAST(x'7b22ff227d' AS TEXT)", "'{' || char(0) || '}'")  # bytes, no UTF-8, a NUL
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def plant(db, table, column, value, number=None):
    """Put a value into a cell as another program would: past all types."""
    where = "" if number is None else f" WHERE number = {number}"
    with db.write() as connection:
        connection.execute(text(f"UPDATE {table} SET {column} = :value{where}"), {"value": value})


def plant_sql(db, table, column, expression, number):
    with db.write() as connection:
        connection.exec_driver_sql(f"UPDATE {table} SET {column} = {expression} WHERE number = {number}")


@pytest.mark.parametrize("column", ["settings", "options"])
def test_a_run_without_readable_settings_is_listed_and_can_only_be_deleted(db, column):
    damaged, sound = claimed_run(db).number, new_run(db).number
    before = runs.get_run(db, sound)
    for value in BROKEN:
        plant(db, "runs", column, value, damaged)
        row, other = runs.list_runs(db)
        assert (row.damage.partition(" ")[0], row.unusable, getattr(row, column)) == (column, True, {})
        assert other == before
        assert [damage.what.partition(" (")[0] for damage in check_store(db).damages] == [f"run 1, its row: {column}"]
    runs.record_progress(db, damaged, 1, minibatch=3, seconds=1.0)  # a worker that has read them goes on
    runs.finish_run(db, damaged, 1, "paused")
    runs.rename_run(db, damaged, "a name")
    for work in (lambda: runs.claim_run(db, damaged, {}), lambda: runs.requeue_run(db, damaged)):
        with pytest.raises(
            DamagedRow, match=rf"run 1 is damaged: {column} \(.*\); restore the store from a backup, or"
        ):
            work()
    runs.delete_run(db, damaged)
    assert runs.list_runs(db) == [before]
    assert check_store(db).damages == ()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("options", '{"minibatches": "many"}'),
        ("options", '{"minibatches": 9, "protocol": {"documents": "x"}}'),
        ("options", '{"minibatches": 9, "averaged": true, "burn_in": 9}'),
        ("settings", '{"layers": 5}'),
        ("settings", '{"layers": ["a"]}'),
        ("settings", '{"eta": {"a": 1}}'),
        ("process", '{"pid": "x"}'),
        ("process", '{"cluster": {"workers": [{}]}}'),
        ("layers", '"128"'),
        ("layers", "[3, null]"),
    ],
)
def test_json_of_another_shape_is_damage_too(db, column, value):
    run = new_run(db).number
    plant(db, "runs", column, value, run)
    assert runs.get_run(db, run).damage == f"{column} (JSON, but not as Topiary writes it)"


@pytest.mark.parametrize("column", ["process", "layers"])
def test_what_a_worker_writes_again_does_not_keep_it_from_the_run(db, column):
    run = new_run(db).number
    plant(db, "runs", column, "{broken", run)
    assert (runs.get_run(db, run).damage, runs.get_run(db, run).unusable) == (f"{column} (not JSON)", False)
    runs.claim_run(db, run, {"pid": 1})
    runs.record_layers(db, run, 1, 0, (4, 2))
    assert runs.get_run(db, run).damage == ""


@on_sqlite
@pytest.mark.parametrize("expression", OF_SQLITE)
def test_bytes_nuls_and_text_that_is_no_utf8_are_damage(db, expression):
    first, second = new_run(db).number, new_run(db).number
    for column in ("settings", "message", "model", "state"):
        plant_sql(db, "runs", column, expression, first)
    row, other = runs.list_runs(db)
    assert all(name in row.damage for name in ("settings (", "message (", "model (", "state ("))
    assert (row.state, other.number, other.damage) == ("damaged", second, "")
    plant_sql(db, "corpora", "name", expression, row.corpus)
    assert corpora.list_corpora(db)[0].damage.startswith("name (")


@on_sqlite
@pytest.mark.parametrize("expression", ["'soon'", "x'00'", "-1", "1e300"])
def test_numbers_that_are_none_are_damage(db, expression):
    run = claimed_run(db).number
    for column in ("attempt", "created", "seed"):
        plant_sql(db, "runs", column, expression, run)
    damage = runs.get_run(db, run).damage
    assert "attempt (" in damage
    assert "seed (" in damage
    assert ("created (" in damage) is (expression != "-1")  # a second before 1970


@pytest.mark.parametrize(
    "value", [*BROKEN[:-1], '{"additions": [{}]}', '{"notes": 5}', '{"record": 3}', '{"wording": []}']
)
def test_a_corpus_with_a_damaged_cell_is_listed_and_nothing_is_trained_on_it(db, value):
    damaged, sound = write_corpus(db).number, write_corpus(db, "sound")
    run = new_run(db, damaged)
    plant(db, "corpora", "meta", value, damaged)
    row, other = corpora.list_corpora(db)
    assert (row.number, row.documents, row.meta, row.unusable, other) == (damaged, 6, {}, True, sound)
    for work in (
        lambda: new_run(db, damaged),
        lambda: corpora.get_run_corpus(db, run),
        lambda: corpus_writer.append_documents(db, damaged).__enter__(),
    ):
        with pytest.raises(DamagedRow, match=r"corpus 1 \(food\) is damaged: meta \("):
            work()
    assert [damage.what.partition(" (")[0] for damage in check_store(db).damages] == ["corpus 'food', its row: meta"]
    assert len(corpora.read_documents(db, damaged, [0, 5])) == 2


def test_sizes_and_labels_that_its_documents_do_not_have_are_noticed(db):
    number = write_corpus(db).number
    whole = corpora.get_corpus(db, number)
    plant(db, "corpora", "cells", whole.cells + 1)
    assert [damage.what for damage in check_store(db).damages] == [
        f"corpus 'food': its row says {whole.cells + 1} cells, and it has {whole.cells}"
    ]
    with pytest.raises(DamagedArrays, match=r"the documents of corpus 1 do not fit what is known of it \(they have"):
        corpora.load_corpus(db, number)
    plant(db, "corpora", "cells", whole.cells)
    plant(db, "corpora", "label_names", '["sweet"]')
    (damage,) = check_store(db).damages
    assert damage.what == "corpus 'food': its row names 1 labels, and its documents have 2"
    with pytest.raises(DamagedArrays):
        corpora.read_documents(db, number, range(6))


def test_an_event_with_a_damaged_cell_says_so_in_its_place(db):
    run = claimed_run(db).number
    for place in (1, 2):
        events.append_event(db, run, 1, 5, "pruned", f"topic {place}", events.StructureChange(1, (place,), 3, 2))
    plant(db, "events", "change", "{broken", 2)
    said = [(event.kind, event.text) for event in events.read_new_events(db, run)[0][1:]]
    assert said == [("pruned", "topic 1 (this event is damaged: change (not JSON))"), ("pruned", "topic 2")]
    assert [event.change.topics for event in events.read_new_events(db, run)[0] if event.change] == [(2,)]
    assert "run 1, event 2: change (not JSON)" in {damage.what for damage in check_store(db).damages}


@on_sqlite
def test_points_that_cannot_be_read_are_left_out_or_no_number_and_counted(db):
    run = claimed_run(db).number
    append_points(db, run, 1, [Point(m, m, 1.0, "elbo", 0, float(m)) for m in range(1, 6)])
    plant_sql(db, "points", "value", "'much'", 1)
    plant_sql(db, "points", "minibatch", "'soon'", 2)
    plant_sql(db, "points", "name", "x'00'", 3)
    nan = math.nan
    assert points.read_series(db, run, "elbo").value.tolist() == pytest.approx([nan, 4.0, 5.0], nan_ok=True)
    assert [point.minibatch for _, point in points.read_new_points(db, run)[0]] == [1, 4, 5]
    assert points.read_curve(db, run, "elbo")[1:] == [(4, 4.0), (5, 5.0)]
    assert {name for name, _, _ in points.read_all_series(db, run)[0]} == {"elbo"}
    assert [point.minibatch for point in points.read_points(db, run)] == [1, 4, 5]
    assert {damage.what for damage in check_store(db).damages} == {
        f"1 cells points.{name} are not of their kind" for name in ("value", "minibatch", "name")
    }


@pytest.mark.parametrize("value", ["{broken", "[]", '{"effort": 3}'])
def test_a_checkpoint_with_a_damaged_row_gives_way_to_the_one_before(db, value):
    run = claimed_run(db).number
    for minibatch in (10, 20):
        checkpoints.save_checkpoint(db, run, 1, minibatch, 1.0, {}, {})
    with db.write() as connection:
        connection.execute(text("UPDATE checkpoints SET meta = :value"), {"value": value})
    with pytest.raises(DamagedArrays, match="its row is damaged: meta"):
        checkpoints.load_checkpoint(db, run)
    (damage,) = check_store(db).damages
    assert damage.means == "the run goes on from that of mini-batch 10 when it is resumed"
    checkpoints.restore_earlier(db, run, 1)
    assert checkpoints.load_checkpoint(db, run).minibatch == 10


@on_sqlite
def test_a_claim_passes_over_a_checkpoint_that_does_not_say_what_it_is_of(db):
    run = claimed_run(db).number
    for minibatch in (10, 20):
        checkpoints.save_checkpoint(db, run, 1, minibatch, 1.0, {}, {})
    with db.write() as connection:
        connection.exec_driver_sql("UPDATE checkpoints SET minibatch = 'soon'")
    assert runs.claim_run(db, run, {"pid": 2}, force=True).minibatch == 10


@on_sqlite
def test_text_where_arrays_belong_is_damage_of_the_arrays(db):
    run = claimed_run(db).number
    snapshots.append_snapshot(db, run, 1, 5, 1.0, {})
    with db.write() as connection:
        connection.exec_driver_sql(f"UPDATE {tables.snapshots.name} SET arrays = 'letters'")
    assert snapshots.find_sound(db, run) is None
    assert any(damage.what.startswith("run 1, snapshot at mini-batch 5") for damage in check_store(db).damages)
