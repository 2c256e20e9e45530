"""The runs of the demo: which there are, in which order, and which of them a page opens with."""

import io
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from databases import open_filled
from process_samples import NOBODY

from topiary.app.ingest.memory import import_texts
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import compile_kernels, control, gallery, launcher, process
from topiary.app.jobs.gallery import (
    FIRST,
    GALLERY,
    LABELLED,
    LIVE,
    PARENT,
    PREPARATION,
    STAGES,
    Preparation,
    measure_gallery,
)
from topiary.app.jobs.progress import Notice, Notifier
from topiary.store import runs, snapshots
from topiary.store.run_rows import RunRow


@pytest.fixture
def db(tmp_path, monkeypatch):
    """A store in which no worker starts and nothing is compiled."""
    monkeypatch.setattr(compile_kernels, "start_compilers", lambda request, store: [])
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    database = open_filled(tmp_path / "store.db")
    yield database
    database.close()


@pytest.fixture
def corpus(db):
    """Forty short texts of two classes."""
    texts = [f"apple bread cheese {'dates' * (j % 3)}" for j in range(40)]
    options = ImportOptions(name="texts", min_df=1, max_df=1.0)
    return import_texts(db, texts, labels=["one", "two"] * 20, options=options)


def finish(db, row: RunRow) -> None:
    """End a run whose only snapshot has topics of the widths that it asked for."""
    words, (below, above) = 4, row.layers[:2]
    claimed = runs.claim_run(db, row.number, process.identify_process())
    rng = np.random.default_rng(1)
    arrays = {"phi.0": rng.dirichlet(np.ones(words), below).T, "phi.1": rng.dirichlet(np.ones(below), above).T}
    snapshots.append_snapshot(db, row.number, claimed.attempt, 10, 1.0, arrays | {"r": rng.random(above)})
    runs.finish_run(db, row.number, claimed.attempt, "finished")


def named(db) -> list[str]:
    return [row.name for row in runs.list_runs(db)]


def test_the_runs_come_in_order_and_the_last_continues_the_one_before(db, corpus):
    gallery.create_first(db, corpus)
    report, waits = io.StringIO(), []

    def pause(seconds):
        waits.append(named(db))
        finish(db, gallery.find_run(runs.list_runs(db), corpus.number, gallery.PARENT))

    gallery.fill_gallery(db, corpus, Notifier(report), pause)
    assert waits == [["demo", "demo, mini-batches", "demo, DATM"]]
    *_, parent, labelled = runs.list_runs(db)
    assert (labelled.name, labelled.model, labelled.parent) == ("demo, sDATM", "sdatm", parent.number)
    assert labelled.layers == parent.layers
    said = [json.loads(line)[0] for line in report.getvalue().splitlines()]
    assert said[0].startswith("Run 1 of 4, “demo”: ")
    assert said[-1].startswith("Run 4 of 4, “demo, sDATM”: ")
    assert "next" not in said[-1]
    gallery.fill_gallery(db, corpus, Notifier(report), pause)
    assert len(named(db)) == 4


@pytest.mark.parametrize("how", ["stopped", "deleted"])
def test_a_run_that_was_given_up_is_not_continued(db, corpus, how):
    gallery.create_first(db, corpus)

    def pause(seconds):
        number = gallery.find_run(runs.list_runs(db), corpus.number, gallery.PARENT).number
        (control.stop_run if how == "stopped" else control.delete_run)(db, number)

    gallery.fill_gallery(db, corpus, Notifier(io.StringIO()), pause)
    assert "demo, sDATM" not in named(db)


def test_every_run_can_be_made_and_has_its_pages():
    pages = [page for member in gallery.GALLERY for page in member.pages]
    assert len(pages) == len(set(pages))
    assert {"watch", "explore", "compare", "classes"} <= set(pages)


class Row:
    """The facts of a run from which a page chooses."""

    def __init__(self, number, member, minibatch):
        self.number, self.name, self.model, self.minibatch = number, member.name, member.model, minibatch
        self.corpus = 1


def test_a_page_opens_with_the_run_that_has_most_to_show_there():
    rows = [Row(n, member, 10) for n, member in enumerate(gallery.GALLERY, 1)]
    chosen = {page: gallery.choose_run(rows, page) for page in ("explore", "watch", "compare", "classes", "guide")}
    assert chosen == {"explore": 1, "watch": 2, "compare": 4, "classes": 4, "guide": 0}
    rows[1].minibatch = 0
    assert gallery.choose_run(rows, "watch") == 1
    assert gallery.choose_run(rows[1:], "watch") == 0


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


class Heard(list):
    """What a preparation says at given seconds."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.preparation = Preparation(lambda words, share: self.append((words, share)), lambda: self.now)

    def tell(self, now, words, share=None):
        self.now = now
        self.preparation(words, share)
        return self[-1]


def test_the_share_never_falls_and_the_sentence_says_what_comes():
    heard = Heard()
    words, _ = heard.tell(0.0, "Reading documentation: 95 docstrings", 0.02)
    assert words.startswith("Reading documentation: 95 docstrings; next: counting words; about ")
    heard.tell(5.0, "Reading documentation: 5,000 docstrings", 1.0)
    heard.tell(6.0, "Recognising the language: 2,000 documents")
    heard.tell(8.0, "Recognising the language: 5,000 documents")
    heard.tell(8.0, "Counting words: 2,000 documents")
    heard.tell(9.0, "Storing documents: 2,000", 0.4)
    heard.tell(11.0, "Compiling the model, once")
    heard.tell(12.0, "Compiling the model, once")
    words, _ = heard.tell(90.0, "Starting the first run, of three layers")
    assert "next" not in words
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert len(set(shares[-4:])) == 4
    assert 0.0 <= shares[0] < 0.02
    assert 0.85 < shares[-1] <= 1.0


def test_what_is_left_follows_the_pace_of_this_machine():
    total = sum(stage.seconds for stage in STAGES)
    assert Heard().tell(0.0, "Reading documentation", 0.0)[0].endswith(f"about {total:.0f} s left")
    slow = Heard()
    assert slow.tell(29.0, "Reading documentation", 1.0)[0].endswith("about 3 min 20 s left")  # four times as slow


def test_notes_and_what_is_out_of_order_are_left_out():
    heard = Heard()
    heard.tell(1.0, "Storing documents: 5", 0.5)
    said = list(heard)
    heard.tell(2.0, "Note: the texts are in English")
    heard.tell(2.0, "Reading documentation", 0.9)
    assert heard == said
