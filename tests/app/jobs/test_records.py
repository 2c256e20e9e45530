"""Runs that learn their widths: what they write, and that interruptions change nothing of it."""

import numpy as np
import pytest
from process_samples import bury, kill_after, order, small_corpus, written

from app.analysis.read_hierarchy import build_hierarchy
from app.jobs import claim, worker
from app.jobs.forks import origin
from app.jobs.new_run import fork
from app.jobs.run_rules import NewRunError
from engine.hierarchy.tree import Node
from store import corpora, events, runs, snapshots

GROWING = {"layers": "9-9-9", "grow": "true", "grow_every": "15", "prune_below": "0.05"}


def grown(db, **changes):
    """A queued run of 60 mini-batches whose layers begin at 1, 16 and 31 and are all pruned at 46."""
    return order(db, averaged=True, **(GROWING | changes))


@pytest.fixture
def finished(db):
    """Such a run, trained."""
    small_corpus(db)
    number = grown(db).number
    worker.train(db, number)
    return runs.get_run(db, number)


def changes(db, run):
    return [each for each in events.read_new_events(db, run)[0] if each.kind in ("pruned", "layer added")]


def test_layers_come_one_by_one_and_each_change_is_an_event_with_a_snapshot_of_its_own(db, finished):
    report = [(each.minibatch, each.kind) for each in changes(db, finished.number)]
    assert report == [
        (16, "pruned"), (16, "layer added"), (31, "pruned"), (31, "layer added"), (46, "pruned"),
    ]  # fmt: skip
    shapes = {}
    for row in snapshots.list_snapshots(db, finished.number):
        arrays = snapshots.load_snapshot(db, row.number)
        shapes[row.minibatch] = [arrays[f"phi.{i}"].shape[1] for i in range(3) if f"phi.{i}" in arrays]
        assert [len(arrays[f"step.{i}"]) for i in range(len(shapes[row.minibatch]))] == shapes[row.minibatch]
        assert [len(arrays[f"top_documents.{i}"]) for i in range(len(shapes[row.minibatch]))] == shapes[row.minibatch]
    assert shapes[1] == [9]
    assert [len(shapes[t]) for t in (16, 31, 46, 60)] == [2, 3, 3, 3]
    assert shapes[16][0] < 9, "nothing was pruned, so this file proves nothing"
    assert finished.layers == tuple(shapes[60]) == tuple(sorted(shapes[60], reverse=True))
    assert finished.settings["layers"] == [9, 9, 9]


def test_step_sizes_of_r_stay_on_the_curve_above_the_last_layer(db, finished):
    from store import points

    layers = {}
    for point in points.read_points(db, finished.number):
        if point.name == "step_size_mean":
            layers.setdefault(point.minibatch, set()).add(point.layer)
    assert layers[1] == {1, 4}
    assert layers[16] == {1, 2, 4}
    assert layers[60] == {1, 2, 3, 4}


def test_a_growing_run_killed_between_any_two_writes_and_resumed_is_bit_identical(db, finished, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    run = grown(db).number
    kills = 0
    for writes in (20, 29, 30, 31, 35):
        kills += kill_after(db, run, writes)
        runs.requeue_run(db, bury(db, run))
    worker.train(db, run)
    assert kills == 5
    assert written(db, run) == written(db, finished.number)
    assert [each[3:5] for each in changes(db, run)] == [each[3:5] for each in changes(db, finished.number)]
    assert runs.get_run(db, run).layers == finished.layers


def test_a_topic_keeps_its_number_when_others_are_pruned(db, finished):
    words = corpora.read_vocabulary(db, finished.corpus)
    rows = {row.minibatch: row for row in snapshots.list_snapshots(db, finished.number)}
    arrays = {t: snapshots.load_snapshot(db, rows[t].number) for t in (1, 16, 60)}
    names = arrays[60]["names.0"].tolist()
    assert names == arrays[16]["names.0"].tolist()
    gone = sorted({*range(9)} - {*names})
    (first, *_) = (each for each in changes(db, finished.number) if each.minibatch == 16)
    assert " ".join(f"L1:{name + 1}" for name in gone) in first.text
    hierarchy = build_hierarchy(arrays[60], words, {(1, names[-1] + 1): "the last"}, finished, rows[60])
    assert [hierarchy.has(Node(1, name)) for name in range(9)] == [name in names for name in range(9)]
    assert {node.column for node in hierarchy.nodes(1)} == {*names}
    for column, name in enumerate(names):
        node = Node(1, name)
        assert hierarchy.place(node) == column
        best = hierarchy.top_words(node, 1)[0]
        assert best.weight == arrays[60]["mean.0"][words.index(best.text), column]
        assert hierarchy.at_rank(1, hierarchy.rank(node)) == node
        (weight,) = (each.weight for each in hierarchy.parents(node, 99)[:1])
        assert weight == arrays[60]["mean.1"][column].max()
    assert hierarchy.title(Node(1, names[-1])) == "the last"
    for edge in hierarchy.edges(0.5):
        below, above = hierarchy.place(edge.below), hierarchy.place(edge.above)
        assert edge.weight == pytest.approx(arrays[60][f"mean.{edge.layer - 1}"][below, above])


def test_a_fork_of_a_grown_run_has_its_widths_and_its_names(db, finished):
    child = fork(db, origin(db, finished.number), texts={"grow": "false"}, minibatches=2)
    assert child.layers == finished.layers
    worker.train(db, child.number)
    mine, theirs = (
        snapshots.load_snapshot(db, snapshots.find_latest(db, run).number) for run in (child.number, finished.number)
    )
    assert mine["names.0"].tolist() == theirs["names.0"].tolist()
    assert changes(db, child.number) == []


def test_a_fork_of_a_growing_run_goes_on_growing(db, finished):
    begin = origin(db, finished.number, minibatch=20)
    child = fork(db, begin, texts={}, minibatches=40)
    worker.train(db, child.number)
    left = 31 - begin.snapshot.minibatch
    assert [(each.minibatch, each.kind) for each in changes(db, child.number)] == [
        (left, "pruned"), (left, "layer added"), (left + 15, "pruned"),
    ]  # fmt: skip


def test_a_run_too_short_to_learn_its_widths_is_refused(db):
    small_corpus(db)
    with pytest.raises(NewRunError, match=r"widths of 3 layers takes more than 45 mini-batches .* got 45"):
        order(db, minibatches=45, **GROWING)
    assert order(db, minibatches=46, **GROWING).planned == 46


def test_batch_gibbs_learns_its_widths_and_is_resumed_like_the_others(db, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    small_corpus(db)
    whole, broken = (grown(db, inference="gibbs").number for _ in range(2))
    worker.train(db, whole)
    kills = 0
    for writes in (29, 33):
        kills += kill_after(db, broken, writes)
        runs.requeue_run(db, bury(db, broken))
    worker.train(db, broken)
    assert kills == 2
    assert written(db, broken) == written(db, whole)
    widths = runs.get_run(db, whole).layers
    assert len(widths) == 3
    assert np.all(np.diff(widths) <= 0)
