"""The runs of the demo: which there are, in which order, and which of them a page opens with."""

import io
import json

import numpy as np
import pytest
from databases import open_filled
from process_samples import NOBODY

from topiary.app.ingest.memory import import_texts
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import compile_kernels, control, gallery, launcher, process
from topiary.app.jobs.progress import Notifier
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
