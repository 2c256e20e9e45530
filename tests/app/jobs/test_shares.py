"""The shares of all documents, the same whatever interrupts or divides the work, and in part before a run ends."""

from types import SimpleNamespace

import numpy as np
import pytest
from databases import open_filled
from process_samples import more_documents, order, small_corpus, written
from sqlalchemy import select

from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import complete_shares, find_newest_shares, find_shares
from topiary.app.jobs import claim, new_run, trainer
from topiary.app.jobs import shares as work
from topiary.engine.hierarchy.paths import UNITS, cut_shares
from topiary.store import corpora, corpus_writer, runs, shares, tables


@pytest.fixture
def file(tmp_path):
    database = open_filled(tmp_path / "store.db", small_corpus, validation=True)
    yield database
    database.close()


def read(db, run):
    """The shares of every layer of a run's latest snapshot, as bytes; None if there are none."""
    row = runs.get_run(db, run)
    snapshot = find_snapshot(db, run).number
    if find_shares(db, row, snapshot) is None:
        return None
    layers = [shares.read_layer(db, snapshot, layer) for layer in (1, 2)]
    return [array.tobytes() for layer in layers for array in layer]


def test_a_run_ends_with_the_shares_of_every_document_as_a_page_computes_them(file):
    run = order(file, minibatches=20)
    trainer.train_run(file, run.number)
    row, snapshot = runs.get_run(file, run.number), find_snapshot(file, run.number)
    assert row.state == "finished"
    assert find_shares(file, row, snapshot.number).documents == 120
    inference = open_inference(file, row, snapshot)
    numbers = [7, 3, 119]  # of training, validation or test
    placed = inference.place_documents(corpora.read_counts(file, row.corpus, numbers), numbers)
    for layer, found in enumerate(shares.read_documents(file, snapshot.number, numbers, 2)):
        expected = cut_shares(np.array([each.shares[layer] for each in placed]))
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
        whole = shares.read_layer(file, snapshot.number, layer + 1)
        sums = np.add.reduceat(whole.units.astype(np.int64), whole.starts[:-1]) + whole.rest
        assert (sums == UNITS).all()
    assert shares.read_tokens(file, snapshot.number).tolist() == [20.0] * 120


def test_threads_and_blocks_change_no_bit_of_the_shares(file, monkeypatch):
    found = []
    for threads, block in ((1, 4096), (2, 7)):
        monkeypatch.setattr(work, "BLOCK", block)
        texts = {"layers": "6-3", "inference": "tlasgr", "batch_size": "20", "burn_in": "4", "collect": "2"}
        run = new_run.create_run(file, "small", model="dlda", texts=texts, minibatches=10, threads=threads).number
        trainer.train_run(file, run)
        found.append(read(file, run))
    assert found[0] == found[1]
    with file.read() as connection:
        is_of_shares = tables.snapshot_parts.c.kind == "shares"
        assert len(connection.execute(select(tables.snapshot_parts.c.first).where(is_of_shares)).all()) == 1 + 18


@pytest.mark.parametrize("asked", ["pause", "stop", "signal"])
def test_a_run_interrupted_while_documents_are_placed_goes_on_there_and_shows_nothing_before(file, monkeypatch, asked):
    monkeypatch.setattr(work, "BLOCK", 50)
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    whole, broken = (order(file, minibatches=20).number for _ in range(2))
    trainer.train_run(file, whole)
    interrupt, append = claim.Interrupt(), shares.append_block

    def append_and_ask(db, *arguments):
        if asked == "signal":
            interrupt.requested = True
        else:
            runs.send_request(db, broken, asked)
        return append(db, *arguments)

    monkeypatch.setattr(shares, "append_block", append_and_ask)
    trainer.train_run(file, broken, interrupt=interrupt)
    row = runs.get_run(file, broken)
    assert row.state == ("stopped" if asked == "stop" else "paused")
    assert row.message == f"{row.state} while documents were placed in the topics"
    assert read(file, broken) is None
    first_blocks = []

    def record(db, snapshot, made_by, first, *rest):
        first_blocks.append(first)
        return append(db, snapshot, made_by, first, *rest)

    monkeypatch.setattr(shares, "append_block", record)
    runs.requeue_run(file, broken)
    trainer.train_run(file, broken)
    assert runs.get_run(file, broken).state == "finished"
    assert first_blocks == [50, 100]
    assert read(file, broken) == read(file, whole)


def test_a_stopped_run_has_shares_under_its_latest_snapshot_and_a_paused_one_has_none(file, monkeypatch):
    for request, has_shares in (("stop", True), ("pause", False)):
        run = order(file, minibatches=20).number
        ask, done = claim.Claim.record_minibatch, []

        def record(self, minibatch, *rest, request=request, real=ask, done=done):
            real(self, minibatch, *rest)
            if minibatch == 10 and not done:
                done.append(runs.send_request(file, self.row.number, request))
                self.beat()

        monkeypatch.setattr(claim.Claim, "record_minibatch", record)
        trainer.train_run(file, run)
        monkeypatch.setattr(claim.Claim, "record_minibatch", ask)
        assert runs.get_run(file, run).minibatch == 10
        assert (read(file, run) is not None) == has_shares


def test_documents_that_are_appended_are_placed_when_needed_and_change_no_other(file):
    run = order(file, minibatches=20).number
    trainer.train_run(file, run)
    before = read(file, run)
    more = small_corpus(file, documents=40, name="more")
    with corpus_writer.append_documents(file, corpora.find_corpus(file, "small").number) as appender:
        appender.add(more_documents(file, more.number, first=120))
    row, snapshot = runs.get_run(file, run), find_snapshot(file, run)
    told = []
    assert complete_shares(file, row, snapshot, lambda *done: told.append(done)).documents == 160
    assert told == [(120, 160)]
    for layer in (1, 2):
        found = shares.read_layer(file, snapshot.number, layer)
        old = found.select_rows(np.arange(120))
        assert [array.tobytes() for array in old] == before[4 * layer - 4 : 4 * layer]
        assert (found.rest[120:] < UNITS).all()
    assert complete_shares(file, row, snapshot, lambda *done: told.append(done)).documents == 160
    assert len(told) == 1


def test_a_run_that_trains_has_shares_of_its_late_snapshots_and_the_bits_of_one_without(file, monkeypatch):
    plain, live = order(file).number, order(file).number
    seen = []
    real = claim.Claim.beat_if_due

    def record(self):
        found = find_newest_shares(file, runs.get_run(file, self.row.number))
        seen.append((self.row.number, self.minibatch, found))
        real(self)

    monkeypatch.setattr(claim.Claim, "beat_if_due", record)
    trainer.train_run(file, plain)
    assert all(found is None for _, _, found in seen)  # after a second there is no time for it yet
    monkeypatch.setattr(work, "LIVE_PART", 1e6)
    monkeypatch.setattr(work, "LIVE_SECONDS", 5.0)
    trainer.train_run(file, live)
    during = {found.snapshot: found for run, step, found in seen if run == live and found is not None and step < 60}
    assert len(during) > 1
    assert {found.documents for found in during.values()} == {120}
    assert written(file, live) == written(file, plain)
    assert read(file, live) == read(file, plain)
    with file.read() as connection:
        is_of_shares = tables.snapshot_parts.c.kind == "shares"
        snapshots_with_shares = select(tables.snapshot_parts.c.snapshot).where(is_of_shares).distinct()
        assert len(connection.execute(snapshots_with_shares).all()) == 2  # those of earlier snapshots are gone


def test_documents_are_placed_in_a_twentieth_of_the_time_of_training_and_training_never_waits_long(monkeypatch):
    clock, placed, waits = [0.0], [], []
    monkeypatch.setattr(work.time, "perf_counter", lambda: clock[0])

    def begin(placement):
        placement._placed, placement._least, placement._most, placement._size = 1, 32, 4096, 32
        return place(placement)

    def place(placement):
        for _ in range(20):
            yield 0
            clock[0] += 0.004 * placement._size
            placed.append(placement._size)

    monkeypatch.setattr(work.LivePlacement, "_begin_snapshot", begin)
    training = SimpleNamespace(seconds=0.0)
    placement = work.LivePlacement(training, None)
    for second in range(1, 301):
        training.seconds = float(second)
        placement.offer(1)
        before = clock[0]
        placement.advance()
        waits.append(clock[0] - before)
        assert clock[0] <= 0.05 * second + 0.01
    assert len(placed) == 20
    assert max(waits) <= 0.51
    assert placed[0] == 32
    assert placed[-1] == pytest.approx(125, abs=1)  # half a second
