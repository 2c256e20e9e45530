"""The map of a run's documents: drafted, finished, stored, extended, and continued after more training."""

import json

import numpy as np
import pytest
from databases import open_filled
from process_samples import more_documents, order, small_corpus

from topiary.app.analysis import document_map
from topiary.app.analysis.document_map import (
    ARRANGING,
    DRAFTING,
    PLACING,
    PREPARING,
    complete_map,
    find_map,
    main,
    read_source,
)
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.jobs import trainer
from topiary.app.jobs.progress import FAILED
from topiary.engine.document_map.layout import draft_map
from topiary.engine.pool import Pool
from topiary.store import corpus_writer, runs, snapshots


@pytest.fixture
def file(tmp_path):
    database = open_filled(tmp_path / "store.db", small_corpus)
    yield database
    database.close()


@pytest.fixture
def run(file):
    number = order(file, minibatches=20).number
    trainer.train_run(file, number)
    return runs.get_run(file, number)


def refuse(*_):
    pytest.fail("a stored map is read, not computed")


def test_a_map_is_drafted_finished_and_from_then_on_read(file, run, monkeypatch):
    snapshot, drafts = find_snapshot(file, run.number), []
    assert find_map(file, run, snapshot) is None
    made = complete_map(file, run, snapshot, 1, lambda _: drafts.append(find_map(file, run, snapshot)))
    source = read_source(file, run, snapshot)
    draft = draft_map(source.features, source.parents, run.seed, Pool(2))
    assert np.array_equal(drafts[0].positions, draft.positions)
    assert not np.array_equal(made.positions, draft.positions)
    assert made.positions.shape == (120, 2)
    assert [parents.shape for parents in source.parents] == [(6, 3)]
    assert source.parents[0].sum(axis=1) == pytest.approx(np.ones(6))
    monkeypatch.setattr(document_map, "read_source", refuse)
    again = complete_map(file, run, snapshot, 2)
    assert np.array_equal(again.positions, made.positions)
    assert np.array_equal(find_map(file, run, snapshot).topics, made.topics)


def test_a_map_is_extended_by_appended_documents(file, run):
    snapshot = find_snapshot(file, run.number)
    before = complete_map(file, run, snapshot, 1)
    with corpus_writer.append_documents(file, run.corpus) as appender:
        appender.add(more_documents(file, run.corpus, 120))
    after = complete_map(file, run, snapshot, 1)
    assert after.positions.shape == (240, 2)
    assert np.array_equal(after.positions[:120], before.positions)
    assert len(find_map(file, run, snapshot).topics) == 240


def test_a_map_under_a_later_snapshot_continues_the_last_one(file, run):
    first, last = sorted(snapshots.list_snapshots(file, run.number), key=lambda row: row.minibatch)[-2:]
    before = complete_map(file, run, first, 1)
    after = complete_map(file, run, last, 1)
    moves = np.linalg.norm(after.positions - before.positions, axis=1)
    assert 0 < np.median(moves) < 0.25 * np.ptp(before.positions)
    assert np.array_equal(find_map(file, run, first).positions, before.positions)


def test_the_process_that_makes_a_map_says_how_far_it_is_or_why_it_fails(file, run, monkeypatch, capsys):
    monkeypatch.setenv("TOPIARY_STORE", file.url)
    snapshot = find_snapshot(file, run.number)
    assert main([str(run.number), str(snapshot.number)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    stages = [words for words, _ in lines]
    assert list(dict.fromkeys(stages)) in ([DRAFTING, ARRANGING, PREPARING], [PLACING, DRAFTING, ARRANGING, PREPARING])
    assert all(0.0 <= share <= 1.0 for _, share in lines)
    assert find_map(file, run, snapshot) is not None
    assert main([str(run.number), "999"]) == 1
    words, reason = json.loads(capsys.readouterr().out)
    assert words == FAILED
    assert "no snapshot 999" in reason
