"""How far the demo is: a share that never falls, and a sentence that says what is done, what is next and how long."""

import re
from types import SimpleNamespace

from topiary.app.jobs.gallery import FIRST, GALLERY, LABELLED, LIVE, PARENT
from topiary.app.jobs.gallery_progress import PREPARATION, measure_gallery
from topiary.app.jobs.progress import Notice

FILLING = Notice("Preparing the demo: run 1 of 4", None)
NOTHING = Notice()


class Store:
    """The runs of a gallery as a page knows them; ``pace`` is how many times slower than expected they train."""

    def __init__(self, pace=1.0):
        self.rows, self.states, self.pace = [], {}, pace

    def put(self, member, state, minibatch=0, planned=100):
        number = GALLERY.index(member) + 1
        self.rows = [row for row in self.rows if row.number != number]
        options = {"until_plateau": True} if member is FIRST else {}
        row = SimpleNamespace(
            number=number, name=member.name, model=member.model, corpus=1, minibatch=minibatch, planned=planned,
            seconds=self.pace * member.seconds * minibatch / planned, options=options,
        )  # fmt: skip
        self.rows.append(row)
        self.states[number] = state

    def measure(self, notice):
        return measure_gallery(self.rows, self.states.get, notice)


def fill(pace=1.0):
    """A demo from the first message to the end of the last run: what the pages show."""
    store = Store(pace)
    shown = [store.measure(Notice(f"Preparing the demo: reading {share}", share)) for share in (0.0, 0.4, 0.9)]
    store.put(FIRST, "queued")
    shown.append(store.measure(Notice("Preparing the demo: starting", 0.98)))
    shown.append(store.measure(Notice("Preparing the demo: run 1 is training", 1.0)))
    for member in GALLERY:
        store.put(member, "queued")
        notice = NOTHING if member is LABELLED else FILLING
        shown.append(store.measure(notice))
        for minibatch in (1, 50, 99):
            store.put(member, "running", minibatch)
            shown.append(store.measure(notice))
        store.put(member, "finished", 100)
        shown.append(store.measure(notice))
    return shown


def test_the_share_grows_from_nothing_to_the_end_and_then_the_strip_is_gone():
    *shown, last = fill()
    assert last is None
    shares = [each.share for each in shown]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.9 < shares[-1] < 1.0


def test_the_sentence_says_what_is_done_what_is_next_and_how_long_it_takes():
    store = Store()
    assert store.measure(NOTHING) is None
    assert store.measure(Notice("Preparing the demo: reading", 0.5)).sentence == "Preparing the demo: reading"
    store.put(FIRST, "finished", 100)
    store.put(LIVE, "finished", 100)
    store.put(PARENT, "running", 50)
    left = 0.5 * PARENT.seconds + LABELLED.seconds
    words = f"{5 * round(left / 5)} s" if left <= 55 else f"{round(left / 60)} min"
    expected = f"Demo: 2 of 4 runs ready · DATM is training · next: sDATM · about {words} left"
    assert store.measure(FILLING).sentence == expected
    store.put(PARENT, "finished", 100)
    assert "3 of 4 runs ready · sDATM comes next" in store.measure(FILLING).sentence
    store.put(LABELLED, "queued")
    assert "3 of 4 runs ready · sDATM is about to start" in store.measure(NOTHING).sentence


def test_a_slower_machine_takes_longer():
    def measure(pace):
        store = Store(pace)
        store.put(FIRST, "finished", 100)
        store.put(LIVE, "running", 50)
        found = store.measure(FILLING)
        number, unit = re.search(r"about (\d+) (s|min) left", found.sentence).groups()
        return found.share, int(number) * (60 if unit == "min" else 1)

    (share, left), (slow_share, slow_left) = measure(1.0), measure(8.0)
    assert share == slow_share
    assert 4 < slow_left / left < 10


def test_a_quick_demo_has_one_run_and_one_that_was_given_up_is_not_waited_for():
    store = Store()
    store.put(FIRST, "running", 1)
    found = store.measure(NOTHING)
    assert found.sentence.startswith("Demo · DLDA is training · about ")
    assert found.share > PREPARATION / (PREPARATION + FIRST.seconds)
    store.put(FIRST, "stopped", 1)
    assert store.measure(NOTHING) is None
    store.put(FIRST, "paused", 1)
    assert store.measure(NOTHING) is None
    assert "DLDA is paused" in store.measure(FILLING).sentence
    assert "left" not in store.measure(FILLING).sentence


def test_nothing_is_shown_of_a_demo_that_failed_or_was_filled_before():
    store = Store()
    assert store.measure(Notice("The demo cannot be prepared: no room", None, failed=True)) is None
    for member in GALLERY:
        store.put(member, "finished", 100)
    assert store.measure(Notice("Preparing the demo: compiling", 0.4)) is None
