"""What an event changed in the structure is kept with its sentence."""

from store_samples import claimed_run

from topiary.store import events, runs
from topiary.store.events import StructureChange

LOST = StructureChange(1, (2, 9), 9, 7)


def test_a_change_is_kept_and_found_among_all_other_events(db):
    run = claimed_run(db).number
    events.append_event(db, run, 1, 10, "note", "L1:2 is fine")
    events.append_event(db, run, 1, 16, "pruned", "two went", LOST)
    runs.record_layers(db, run, 1, 31, (7, 7), [("layer added", "one more", StructureChange(2, (), 0, 7))])
    assert [each.change for each in events.read_new_events(db, run)[0]] == [
        None,
        None,
        LOST,
        StructureChange(2, (), 0, 7),
    ]
