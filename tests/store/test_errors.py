"""Single damages of a store: a damaged row is left out and listed, and nothing is misread in silence."""

import random
import re

import numpy as np
import pytest
from sqlalchemy import text
from store_samples import append_points, claimed_run, damage_rows, new_run, write_corpus

from topiary.store import (
    checkpoints,
    columns,
    corpora,
    corpus_writer,
    events,
    migrations,
    notes,
    points,
    run_rows,
    runs,
    shares,
    snapshots,
)
from topiary.store.check import check_store
from topiary.store.corpus_rows import NUMBER, ColumnBlock, CorpusColumn
from topiary.store.database import lock_schema, open_database
from topiary.store.errors import DamagedArrays, DamagedRow, DamagedStore, LostClaim, StoreError
from topiary.store.points import Point
from topiary.store.upkeep import vacuum_store

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
DAMAGES = 60  # with each of five seeds
ME = "this program"


def damages(db):
    """What the check finds, except SQLite's own lines."""
    return [damage.what for damage in check_store(db).damages if not damage.what.startswith("the file of the store")]


@pytest.mark.parametrize(
    "change",
    [
        "settings = replace(settings, 'eta', 'etb')",
        "options = '{broken'",
        "state = x'00ff'",
        "message = CAST(x'7b22ff227d' AS TEXT)",
        "attempt = 'soon'",
        "seed = seed + 1",
    ],
)
def test_a_run_with_a_damaged_row_is_left_out_of_lists_and_said_to_be(db, change):
    damaged, sound = claimed_run(db).number, new_run(db)
    damage_rows(db.path, "runs", f"UPDATE runs SET {change} WHERE number = {damaged}")
    assert runs.list_runs(db) == [sound]
    assert list(run_rows.RunWatch(db).look()) == [sound.number]
    assert run_rows.describe_left_out(db) == ("1 run left out because the rows are damaged; topiary check says which")
    for work in (runs.get_run, runs.delete_run, runs.requeue_run):
        with pytest.raises(DamagedRow, match="run 1 is damaged: its row is not what was written; restore the store"):
            work(db, damaged)
    with pytest.raises((DamagedStore, LostClaim)):  # nothing puts the copy right in silence
        runs.record_progress(db, damaged, 1, minibatch=3, seconds=1.0)
    with pytest.raises(DamagedStore, match="rows of runs are damaged, so the store is not made smaller"):
        vacuum_store(db)
    assert damages(db) == ["the row of runs with number 1 is not what was written"]


def test_a_corpus_with_a_damaged_row_is_left_out_and_nothing_is_trained_on_it(db):
    damaged, sound = write_corpus(db).number, write_corpus(db, "sound")
    run = new_run(db, damaged)
    damage_rows(db.path, "corpora", f"UPDATE corpora SET tokens = tokens + 1 WHERE number = {damaged}")
    assert corpora.list_corpora(db) == [sound]
    assert run_rows.describe_left_out(db).startswith("1 corpus left out")
    for work in (
        lambda: new_run(db, damaged),
        lambda: corpora.get_run_corpus(db, run),
        lambda: corpus_writer.append_documents(db, damaged).__enter__(),
    ):
        with pytest.raises(DamagedRow, match="corpus 1 is damaged"):
            work()
    assert damages(db) == ["the row of corpora with number 1 is not what was written"]


def test_damaged_events_notes_and_names_are_left_out_and_found(db):
    run = claimed_run(db).number
    for place in (1, 2):
        events.append_event(db, run, 1, 5, "pruned", f"topic {place}", events.StructureChange(1, (place,), 3, 2))
        notes.add_topic_note(db, run, 1, place, notes.NewNote(f"note {place}"))
        notes.set_label(db, run, 1, place, f"name {place}")
    damage_rows(db.path, "events", "UPDATE events SET change = '{broken' WHERE number = 2")
    damage_rows(db.path, "notes", "UPDATE notes SET layer = 'one' WHERE number = 1")
    damage_rows(db.path, "topic_labels", "UPDATE topic_labels SET text = 'other' WHERE topic = 1")
    assert [event.text for event in events.read_new_events(db, run)[0][1:]] == ["topic 2"]
    assert [row.text for row in notes.read_remarks(db, run).notes] == ["note 2"]
    assert notes.read_remarks(db, run).names == {(1, 2): "name 2"}
    assert set(damages(db)) == {
        "the row of events with number 2 is not what was written",
        "the row of topic_labels with run 1, layer 1, topic 1 is not what was written",
        "the row of notes with number 1 is not what was written",
    }


def test_points_that_are_no_numbers_are_left_out(db):
    run = claimed_run(db).number
    append_points(db, run, 1, [Point(m, m, 1.0, "elbo", 0, float(m)) for m in range(1, 6)])
    damage_rows(db.path, "points", "UPDATE points SET value = 'much' WHERE number = 1")
    damage_rows(db.path, "points", "UPDATE points SET minibatch = 'soon' WHERE number = 2")
    assert [point.minibatch for point in points.read_new_points(db, run)[0]] == [3, 4, 5]
    assert [point.minibatch for point in points.read_points(db, run)] == [3, 4, 5]
    assert damages(db) == [f"the row of points with number {number} is not what was written" for number in (1, 2)]


def test_a_checkpoint_with_a_damaged_row_stops_its_run_and_nothing_of_it_is_removed(db):
    run = claimed_run(db).number
    for minibatch in (10, 20):
        checkpoints.save_checkpoint(db, run, 1, minibatch, 1.0, {}, {})
    damage_rows(db.path, "checkpoints", "UPDATE checkpoints SET generation = 7")
    for work in (
        lambda: checkpoints.load_checkpoint(db, run),
        lambda: runs.claim_run(db, run, {"pid": 2}, force=True),
        lambda: checkpoints.save_checkpoint(db, run, 1, 30, 1.0, {}, {}),
    ):
        with pytest.raises(DamagedArrays, match="the row of a checkpoint of run 1 is damaged"):
            work()
    with db.read() as connection:
        assert connection.execute(text("SELECT count(DISTINCT generation) FROM checkpoint_parts")).scalar() == 2


@pytest.fixture
def whole(db):
    """A small store with something in every table."""
    number = write_corpus(db).number
    corpus = corpora.get_corpus(db, number)
    column = CorpusColumn(0, "year", NUMBER, documents=6, filled=6)
    columns.replace_columns(db, corpus, [column], [ColumnBlock(0, 0, np.arange(6.0))])
    run = claimed_run(db).number
    append_points(db, run, 1, [Point(m, m, 1.0, name, 0, m / 3) for m in range(1, 9) for name in ("elbo", "eta")])
    for minibatch in (5, 10):
        made = snapshots.append_snapshot(db, run, 1, minibatch, 1.0, {"phi.0": np.full((6, 4), 1 / 6)}).number
        checkpoints.save_checkpoint(db, run, 1, minibatch, 1.0, {"x": np.arange(9.0)}, {"effort": {}})
    snapshots.save_predictions(db, made, ME, {"labels": np.arange(3)})
    snapshots.save_map(db, ME, snapshots.StoredMap(made, np.ones((6, 2), np.float32), np.ones(6, int), True))
    layer = shares.LayerShares(np.arange(7), np.zeros(6, int), np.full(6, 9), np.full(6, 65526))
    shares.begin_set(db, made, ME)
    shares.append_block(db, made, ME, 0, [layer], np.ones(6))
    shares.publish_set(db, made, ME)
    events.append_event(db, run, 1, 5, "pruned", "one", events.StructureChange(1, (2,), 4, 3))
    notes.set_label(db, run, 1, 1, "food")
    notes.add_topic_note(db, run, 1, 1, notes.NewNote("salt"))
    notes.add_document_note(db, number, 2, notes.NewNote("sour", notes.TAG))
    notes.save_match(db, run, new_run(db).number, notes.MatchDecision(1, 1, 2))
    db.close()
    return db.path


def read_everything(db):
    """What commands and pages read of a store; a sentence in the place of what cannot be read."""
    found = []

    def read(function, *arguments):
        try:
            result = function(db, *arguments)
        except StoreError as error:
            result = f"refused: {type(error).__name__}"
        found.append(plain(result))
        return [] if isinstance(result, str) else result

    for corpus in read(corpora.list_corpora):
        read(corpora.read_vocabulary, corpus.number)
        read(corpora.load_corpus, corpus.number)
        read(corpora.read_documents, corpus.number, range(6))
        read(notes.list_document_notes, corpus.number)
        read(notes.count_tags, corpus.number)
        for column in read(columns.list_columns, corpus):
            read(columns.read_column, corpus, column)
    for run in read(runs.list_runs):
        for function in (points.read_all_series, points.read_new_points, snapshots.list_snapshots):
            read(function, run.number)
        for function in (events.read_new_events, notes.read_remarks):
            read(function, run.number)
        read(notes.list_matches, run.number, 2)
        read(checkpoints.load_checkpoint, run.number)
        for row in read(snapshots.list_snapshots, run.number):
            read(snapshots.load_snapshot, row.number)
            read(snapshots.load_predictions, run.number, row.number, ME)
            read(snapshots.find_map, run.number, ME, row.minibatch)
            read(shares.find_set, row.number, ME)
            read(shares.read_documents, row.number, range(6), 1)
    return found


def plain(value):
    """A result in a form that can be compared; ages of heartbeats change."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, run_rows.RunRow):
        return {name: plain(cell) for name, cell in vars(value).items() if name != "heartbeat_age"}
    if isinstance(value, dict):
        return {name: plain(cell) for name, cell in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return plain(vars(value))
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 5))])
def test_no_single_damage_ends_in_a_traceback_or_is_misread_in_silence(whole, seed):
    content = whole.read_bytes()
    definitions = [found.start() for found in re.finditer(b"CREATE (TABLE|INDEX|UNIQUE)", content)]
    db = open_database(whole, readonly=True)
    expected = read_everything(db)
    assert check_store(db).damages == ()
    rng, missed, refused = random.Random(seed), [], 0
    for number in range(DAMAGES):
        place = rng.choice(definitions) + rng.randrange(-40, 200) if number % 2 else rng.randrange(len(content))
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(8)
        db.close()
        db.damaged.clear()
        whole.write_bytes(damaged)
        try:
            migrations.check_version(db, db.place, lock=lock_schema, readonly=True)  # as when it is opened
            if read_everything(db) != expected and not check_store(db).damages:
                missed.append(place)
        except StoreError as error:
            refused += 1
            missed += [place] * ("\n" in str(error))
    db.close()
    assert missed == []
    assert refused > DAMAGES / 10
