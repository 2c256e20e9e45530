"""Watch of a run on a cluster: the table of its workers is that of the row, and goes with the run."""

import re
from types import SimpleNamespace

import pytest
from databases import open_filled
from page_sessions import PageSession
from process_samples import order, small_corpus

from topiary.app.jobs import process
from topiary.app.jobs.cluster.workers import ClusterFacts, WorkerFacts
from topiary.app.live.feed import Tick
from topiary.app.pages.session import View
from topiary.app.pages.watch import FailedRun, TopicPreview, WatchPage
from topiary.store import runs
from topiary.store.points import Point


@pytest.fixture
def db(tmp_path):
    """Open a store with a small corpus."""
    opened = open_filled(tmp_path / "store.db", small_corpus)
    yield opened
    opened.close()


ONE = WorkerFacts("tcp://10.0.0.1:4", "", 1200, 2.5e6, 412_000_000, 0)


def test_the_workers_of_a_run_are_shown_as_the_store_knows_them_now(db):
    row = runs.claim_run(db, order(db).number, process.identify_process())
    session = PageSession(db, "watch", run=row.number)
    watch = WatchPage(session.context)
    assert watch._workers.html == ""
    known = row.process | ClusterFacts("", (ONE,)).to_json()
    runs.record_progress(db, row.number, row.attempt, minibatch=1, seconds=1.0, process=known)
    runs.record_progress(
        db, row.number, row.attempt, minibatch=2, seconds=2.0
    )  # says nothing of the process, which stays
    session.feed.look_now()
    watch._on_tick(Tick(frozenset({row.number})))
    assert "tcp://10.0.0.1:4" in watch._workers.html
    session.view.run = 99
    assert watch._workers.html == ""


def test_a_late_answer_to_an_earlier_request_does_not_have_the_latest_one_made_twice():
    asked = []
    feed = SimpleNamespace(
        get_cached_hierarchy=lambda run, snapshot: None,
        run=lambda run: object(),
        latest=lambda run: None,
        state=lambda run: "running",
        hierarchy=lambda run, snapshot: None,
    )
    view = View(page="watch", run=1)
    context = SimpleNamespace(
        view=view,
        feed=feed,
        on_tick=lambda on_message: None,
        later=lambda work, then, failed: asked.append((work, then)),
    )
    preview = TopicPreview(context)
    preview._draw()
    view.run = 2
    assert [work.args for work, _ in asked] == [(1, 0), (2, 0)]
    asked[0][1](None)  # the answer about run 1 comes while run 2 is being read
    preview._draw()
    assert len(asked) == 2


class Acts:
    """What the page asks the store for, in order."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        def act(run, *_):
            self.asked.append((name, run))
            return {
                "retry": SimpleNamespace(number=7),
                "train_more": SimpleNamespace(number=8, parent=run),
                "log": ("/logs/run-1.log", ["<b>one", "two"]),
            }.get(name)

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
    return re.findall(r'<button class="tp-button[^>]*data-(?:do|open)="(train-more|[a-z]+)[^"]*"', html)


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
    page.handle({"do": "resume"})
    page.handle({"do": "log"})
    session.work()
    assert "The last lines of /logs/run-1.log" in page.board.html
    assert "&lt;b&gt;one\ntwo</pre>" in page.board.html
    page.handle({"do": "delete", "form": {"typed": "something else"}})
    session.work()
    assert "stays: the number typed was not its number" in session.report[-1]
    page.handle({"do": "delete", "form": {"typed": re.search('data-needs="([^"]+)"', page.board.html)[1]}})
    page.handle({"do": "retry"})
    session.work()
    assert acts.asked == [(what, run) for what in ("resume", "log", "delete", "retry")]
    assert session.view.run == 7


def test_a_snapshot_that_turned_out_damaged_is_said(db, monkeypatch):
    page, session, _ = failed(db, "running")
    monkeypatch.setattr(session.feed, "damage", lambda _: "the snapshot of mini-batch 40 is damaged")
    session.ticks[0](None)
    assert "the snapshot of mini-batch 40 is damaged" in page.board.html


def test_a_finished_run_whose_curve_still_fell_offers_to_train_more_and_shows_the_run_that_does(db):
    row = runs.claim_run(db, order(db).number, process.identify_process())
    falling = [Point(t, t, t, "point_perplexity", 0, 3000.0 - 10 * t) for t in range(1, 41)]
    runs.record_progress(db, row.number, row.attempt, minibatch=40, seconds=40.0, points=falling)
    runs.finish_run(db, row.number, row.attempt, "finished")
    session = PageSession(db, "watch", run=row.number)
    acts = Acts()
    object.__setattr__(session.context, "actions", acts)
    watch = WatchPage(session.context)
    session.feed.history(row.number)
    watch._draw_strip()
    assert "Finished, still improving: <button" in watch._strip.html
    assert buttons(watch._strip.html) == ["train-more"]
    watch.handle({"do": "train-more", "run": str(row.number)})
    session.work()
    assert acts.asked == [("train_more", row.number)]
    assert session.view.run == 8
