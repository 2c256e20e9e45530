"""The map made after a run has ended: by a process that nobody waits for, and that can be killed at any moment."""

import os
import signal
import time
from dataclasses import replace

import numpy as np
import psutil
import pytest
from databases import open_filled
from process_samples import NOBODY, order, small_corpus

from topiary.app.analysis import document_map
from topiary.app.analysis.document_map import find_map
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import find_shares
from topiary.app.jobs import launcher, map_work, process, trainer
from topiary.app.jobs.progress import Notice
from topiary.store import runs, shares
from topiary.store.errors import LostClaim


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.delenv("TOPIARY_MAPS")
    database = open_filled(tmp_path / "store.db", small_corpus)
    yield database
    database.close()


@pytest.fixture
def run(file):
    number = order(file, minibatches=10).number
    trainer.train_run(file, number)
    return number


def wait_for_map(db, run):
    until = time.monotonic() + 120
    while map_work.read_map_notice(runs.get_run(db, run)).sentence:
        assert time.monotonic() < until
        launcher.reap_children()
        time.sleep(0.05)
    row = runs.get_run(db, run)
    return row, find_map(db, row, find_snapshot(db, run))


@pytest.mark.slow
def test_a_map_made_after_a_run_is_that_of_a_page_and_killing_its_process_loses_nothing(file):
    made = []
    for ending in (None, signal.SIGKILL):
        run = order(file, minibatches=10).number
        trainer.train_run(file, run)
        before = runs.get_run(file, run)
        assert map_work.start_map(file, run)
        row, snapshot = runs.get_run(file, run), find_snapshot(file, run)
        assert (row.state, row.message, row.ended) == ("finished", before.message, before.ended)
        assert map_work.read_map_notice(row) == Notice(map_work.BEGINNING, 0.0)
        assert map_work.is_making_map(row, snapshot.number)
        if ending is not None:
            os.kill(row.process["map"]["pid"], ending)
            row, found = wait_for_map(file, run)
            assert found is None
            assert find_shares(file, row, snapshot.number).documents == 120
            document_map.make_map(file, run, snapshot.number, lambda *_: None)  # as for the page
        row, found = wait_for_map(file, run)
        made.append(found)
    assert np.array_equal(made[0].positions, made[1].positions)
    assert "map" in row.process  # of a process that was killed: it is not believed
    assert "map" not in runs.get_run(file, run - 1).process


def test_a_map_is_only_made_of_a_run_that_has_ended_with_its_documents_placed(file, run, monkeypatch):
    monkeypatch.setattr(map_work, "_start_mapping", lambda *_: pytest.fail("a process was started"))
    monkeypatch.setenv("TOPIARY_MAPS", "0")
    assert not map_work.start_map(file, run)
    monkeypatch.delenv("TOPIARY_MAPS")
    assert not map_work.start_map(file, order(file).number)
    shares.begin_set(file, find_snapshot(file, run).number, "another version")  # drops what was stored
    assert not map_work.start_map(file, run)


def test_a_record_is_believed_while_its_process_lives(file, run):
    row = runs.get_run(file, run)
    record = map_work.MapRecord(file, row, 7)
    record.write("Arranging", 0.2)
    record.write("Arranging", 0.3)  # too soon to be written
    row = runs.get_run(file, run)
    assert map_work.read_map_notice(row) == Notice("Arranging", 0.2)
    assert [map_work.is_making_map(row, snapshot) for snapshot in (7, 8)] == [True, False]
    dead = row.process["map"] | {"created": 1.0, "since_boot": 1.0}
    assert not map_work.read_map_notice(replace(row, process={"map": dead})).sentence
    for age, sentence in ((5.0, "Arranging"), (500.0, "")):
        far = replace(row, process={"map": row.process["map"] | {"host": "another"}}, heartbeat_age=age)
        assert map_work.read_map_notice(far).sentence == sentence
    assert not map_work.read_map_notice(replace(row, state="queued")).sentence
    record.remove()
    assert runs.get_run(file, run).process == {name: value for name, value in row.process.items() if name != "map"}


def test_the_process_ends_with_one_sentence_if_the_run_is_deleted_or_resumed(file, run, monkeypatch, capsys):
    monkeypatch.setenv("TOPIARY_STORE", file.url)
    snapshot, complete = find_snapshot(file, run).number, document_map.complete_map

    def lose(db, *arguments):
        runs.delete_run(file, run)
        return complete(db, *arguments)

    monkeypatch.setattr(document_map, "complete_map", lose)
    assert document_map.main([str(run), str(snapshot), map_work.AFTER_RUN]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "the map of documents was not made" in lines[0]
    row = order(file)
    claimed = runs.claim_run(file, row.number, process.identify_process())
    record = map_work.MapRecord(file, claimed, 1)
    runs.abandon_run(file, row.number, "stopped", "", force=True)
    with pytest.raises(LostClaim):
        record.write("Arranging", 0.5)


def test_a_page_leaves_the_map_to_the_process_of_the_worker(file, run, monkeypatch, capsys):
    monkeypatch.setenv("TOPIARY_STORE", file.url)
    monkeypatch.setattr(document_map, "make_map", lambda *_: pytest.fail("the map was made twice"))
    snapshot = find_snapshot(file, run).number
    map_work.MapRecord(file, runs.get_run(file, run), snapshot).write("Arranging", 0.5)
    assert document_map.main([str(run), str(snapshot)]) == map_work.LEFT
    assert capsys.readouterr().out == ""


def test_a_process_that_has_ended_before_it_is_recorded_is_an_error_of_the_system(file, run, monkeypatch):
    monkeypatch.setattr(map_work, "_start_mapping", lambda *_: NOBODY)
    with pytest.raises(psutil.NoSuchProcess):
        map_work.start_map(file, run)
