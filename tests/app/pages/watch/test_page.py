"""Watch of a run on a cluster: the table of its workers is that of the row, and goes with the run."""

from page_sessions import PageSession
from process_samples import order

from app.jobs import process
from app.jobs.cluster.workers import ClusterFacts, WorkerFacts
from app.live.ticks import Tick
from app.pages.watch.page import Watch
from store import runs

ONE = WorkerFacts("tcp://10.0.0.1:4", "", 1200, 2.5e6, 412_000_000, 0)


def test_the_workers_of_a_run_are_shown_as_the_store_knows_them_now(db):
    row = runs.claim_run(db, order(db).number, process.identify_process())
    session = PageSession(db, "watch", run=row.number)
    watch = Watch(session.context)
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
