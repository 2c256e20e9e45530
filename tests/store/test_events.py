"""What an event changed in the structure: kept beside its sentence, and read once from the sentences of old stores."""

from sqlalchemy import inspect, text
from store_samples import back_to_version, claimed_run

from store import events, runs
from store.database import open_database
from store.events import StructureChange

LOST = StructureChange(1, (2, 9), 9, 7)
TOLD = (
    ("layer added", "layer 2 begins with 7 topics", StructureChange(2, (), 0, 7)),
    ("pruned", "layer 2 keeps all its 7 topics", StructureChange(2, (), 7, 7)),
    (
        "pruned",
        "layer 12 from 128 to 125 topics, without L12:2 L12:9 L12:128",
        StructureChange(12, (2, 9, 128), 128, 125),
    ),
    ("pruned", "some went", None),
    ("note", "layer 1 from 9 to 8 topics, without L1:2", None),
)


def test_a_change_is_kept_and_found_among_all_other_events(db):
    run = claimed_run(db).number
    events.append_event(db, run, 1, 10, "note", "L1:2 is fine")
    events.append_event(db, run, 1, 16, "pruned", "two went", LOST)
    runs.record_layers(db, run, 1, 31, (7, 7), [("layer added", "one more", StructureChange(2, (), 0, 7))])
    assert [(each.minibatch, each.change) for each in events.list_changes(db, run)] == [
        (16, LOST),
        (31, StructureChange(2, (), 0, 7)),
    ]
    assert [each.change for each in events.read_new_events(db, run)[0]] == [
        None,
        None,
        LOST,
        StructureChange(2, (), 0, 7),
    ]


def test_changes_are_found_however_many_events_there_are(db):
    run = claimed_run(db).number
    with db.write() as connection:
        for minibatch in range(1100):
            events.insert_event(connection, run, 1, minibatch, "note", "")
    events.append_event(db, run, 1, 1200, "pruned", "two went", LOST)
    assert [each.minibatch for each in events.list_changes(db, run)] == [1200]


def test_a_store_of_version_5_gets_the_changes_that_its_sentences_tell(db):
    run = claimed_run(db).number
    for minibatch, (kind, sentence, _) in enumerate(TOLD):
        events.append_event(db, run, 1, minibatch, kind, sentence)

    def described():
        with db.read() as connection:
            columns = inspect(connection).get_columns("events")
        return {each["name"]: (each["nullable"], str(each["type"])) for each in columns}

    new = described()
    with db.write() as connection:
        connection.execute(text("ALTER TABLE events DROP COLUMN change"))
    back_to_version(db, 5)
    assert "change" not in described()
    open_database(db.url).close()
    assert described() == new
    assert [each.change for each in events.read_new_events(db, run)[0]] == [None, *(change for _, _, change in TOLD)]
