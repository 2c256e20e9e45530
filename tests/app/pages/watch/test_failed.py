"""A run that failed says why in a sentence and offers the ways out as buttons, each of which does what it says."""

import re
from types import SimpleNamespace

from page_sessions import PageSession
from process_samples import order

from app.jobs import process
from app.pages.watch.failed import FailedRun
from store import runs


class Acts:
    """What the page asks the store for, in order."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        def act(run, *_):
            self.asked.append((name, run))
            return {"retry": SimpleNamespace(number=7), "log": ("/logs/run-1.log", ["<b>one", "two"])}.get(name)

        return act


def failed(db, state="failed", message="out of memory: use fewer topics"):
    row = runs.claim_run(db, order(db).number, process.identify_process())
    if state == "failed":
        runs.finish_run(db, row.number, row.attempt, state, message)
    session = PageSession(db, "watch", run=row.number)
    acts = Acts()
    object.__setattr__(session.context, "actions", acts)
    return FailedRun(session.context), session, acts


def buttons(html):
    return re.findall(r'<button class="tp-button[^>]*data-(?:do|open)="([a-z]+)[^"]*"', html)


def test_out_of_memory_is_one_sentence_and_half_the_batch_comes_first(db):
    page, _, _ = failed(db)
    html = page.board.html
    assert "<p>Out of memory: use fewer topics.</p>" in html
    assert buttons(html)[:4] == ["retry", "resume", "log", "delete"]
    assert "Start again with mini-batches of 10 documents" in html


def test_a_run_that_goes_on_has_no_such_card(db):
    assert failed(db, "running")[0].board.html == ""


def test_a_silent_run_is_told_as_such_and_can_go_on(db, monkeypatch):
    page, session, _ = failed(db, "running")
    monkeypatch.setattr(session.feed, "state", lambda _: "silent")
    session.ticks[0](None)
    assert "has fallen silent" in page.board.html
    assert "Nothing that was written is lost" in page.board.html
    assert buttons(page.board.html)[:2] == ["resume", "log"]


def test_each_button_does_what_it_says(db):
    page, session, acts = failed(db)
    run = session.view.run
    page._on_board({"do": "resume"})
    page._on_board({"do": "log"})
    session.work()
    assert "The last lines of /logs/run-1.log" in page.board.html
    assert "&lt;b&gt;one\ntwo</pre>" in page.board.html
    page._on_board({"do": "delete", "form": {"typed": "something else"}})
    session.work()
    assert "stays: the name typed was not its name" in session.report[-1]
    page._on_board({"do": "delete", "form": {"typed": re.search('data-needs="([^"]+)"', page.board.html)[1]}})
    page._on_board({"do": "retry"})
    session.work()
    assert acts.asked == [(what, run) for what in ("resume", "log", "delete", "retry")]
    assert session.view.run == 7


def test_a_snapshot_that_turned_out_damaged_is_said(db, monkeypatch):
    page, session, _ = failed(db, "running")
    monkeypatch.setattr(session.feed, "damage", lambda _: "the snapshot of mini-batch 40 is damaged")
    session.ticks[0](None)
    assert "the snapshot of mini-batch 40 is damaged" in page.board.html
