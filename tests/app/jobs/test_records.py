"""Runs that learn their widths: what they write, and that interruptions change nothing of it."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from process_samples import bury, kill_after, open_copy, order, written

from tests.benchmarks import synthetic
from topiary.app.analysis.read_hierarchy import build_hierarchy
from topiary.app.jobs import claim, records, trainer
from topiary.app.jobs.forks import find_origin
from topiary.app.jobs.new_run import fork_run
from topiary.app.jobs.run_rules import NewRunError
from topiary.engine.contract import TEST, TRAIN
from topiary.engine.hierarchy import topics
from topiary.engine.hierarchy.tree import Node
from topiary.engine.quality import measures
from topiary.store import corpora, events, runs, snapshots

GROWING = {"layers": "9-9-9", "grow": "true", "grow_every": "15", "prune_below": "0.05"}


def grown(db, **changes):
    """A queued run of 60 mini-batches whose layers begin at 1, 16 and 31 and are all pruned at 46."""
    return order(db, averaged=True, **(GROWING | changes))


pytestmark = pytest.mark.usefixtures("seldom")


@pytest.fixture(scope="module")
def grown_folder(tmp_path_factory, corpus_folder, seldom):
    """A folder whose store has such a run, trained, number 1."""
    folder = tmp_path_factory.mktemp("grown")
    with closing(open_copy(corpus_folder, folder)) as database:
        trainer.train_run(database, grown(database).number)
    return folder


@pytest.fixture
def db(grown_folder, tmp_path):
    """A copy of that store."""
    database = open_copy(grown_folder, tmp_path)
    yield database
    database.close()


@pytest.fixture
def finished(db):
    """The run that it has."""
    return runs.get_run(db, 1)


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
    from topiary.store import points

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
    trainer.train_run(db, run)
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
    child = fork_run(db, find_origin(db, finished.number), texts={"grow": "false"}, minibatches=2)
    assert child.layers == finished.layers
    trainer.train_run(db, child.number)
    mine, theirs = (
        snapshots.load_snapshot(db, snapshots.find_latest(db, run).number) for run in (child.number, finished.number)
    )
    assert mine["names.0"].tolist() == theirs["names.0"].tolist()
    assert changes(db, child.number) == []


def test_a_fork_of_a_growing_run_goes_on_growing(db, finished):
    begin = find_origin(db, finished.number, minibatch=20)
    child = fork_run(db, begin, texts={}, minibatches=40)
    trainer.train_run(db, child.number)
    left = 31 - begin.snapshot.minibatch
    assert [(each.minibatch, each.kind) for each in changes(db, child.number)] == [
        (left, "pruned"), (left, "layer added"), (left + 15, "pruned"),
    ]  # fmt: skip


def test_a_run_too_short_to_learn_its_widths_is_refused(db):
    with pytest.raises(NewRunError, match=r"widths of 3 layers takes more than 45 mini-batches .* got 45"):
        order(db, minibatches=45, **GROWING)
    assert order(db, minibatches=46, **GROWING).planned == 46


def test_batch_gibbs_learns_its_widths_and_is_resumed_like_the_others(db, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    whole, broken = (grown(db, inference="gibbs").number for _ in range(2))
    trainer.train_run(db, whole)
    kills = 0
    for writes in (29, 33):
        kills += kill_after(db, broken, writes)
        runs.requeue_run(db, bury(db, broken))
    trainer.train_run(db, broken)
    assert kills == 2
    assert written(db, broken) == written(db, whole)
    widths = runs.get_run(db, whole).layers
    assert len(widths) == 3
    assert np.all(np.diff(widths) <= 0)


@pytest.fixture
def corpus():
    return synthetic.small_corpus(100)


def snapshot(n_words: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Topics of two layers."""
    rng = np.random.default_rng(seed)
    return {
        "phi.0": rng.dirichlet(np.full(n_words, 0.1), 6).T,
        "phi.1": rng.dirichlet(np.full(6, 0.3), 3).T,
        "r": rng.gamma(1.0, 1.0, 3),
    }


def test_the_coherence_is_that_of_the_ten_words_shown_first_in_the_training_documents(corpus):
    arrays = snapshot(corpus.n_words)
    found = records.collect_topic_facts(corpus, records.find_common_words(corpus), arrays, ())
    phi = [arrays["phi.0"].astype(np.float32), arrays["phi.1"].astype(np.float32)]
    train = corpus.batch(corpus.documents(TRAIN)).cells
    for layer, projection in enumerate(topics.project_topics(phi)):
        parts = topics.compute_shares(topics.weigh_topics(phi, arrays["r"])[layer])
        words, _ = topics.find_relevant_words(projection, parts, 10)
        expected = measures.compute_npmi(words, measures.count_pairs(words, train, corpus.n_words))
        np.testing.assert_allclose(found[f"npmi.{layer}"], expected, rtol=1e-6)
        assert found[f"npmi.{layer}"].dtype == np.float32


def test_test_documents_are_not_looked_at(corpus):
    arrays = snapshot(corpus.n_words)
    values = corpus.counts.values.copy()
    words = corpus.counts.words.copy()
    for document in corpus.documents(TEST).tolist():
        cells = slice(corpus.counts.starts[document], corpus.counts.starts[document + 1])
        words[cells] = np.arange(cells.stop - cells.start)
        values[cells] = 90
    other = replace(corpus, counts=corpus.counts._replace(words=words, values=values))
    first, second = (
        records.collect_topic_facts(each, records.find_common_words(each), arrays, ()) for each in (corpus, other)
    )
    assert set(first) == set(second) == {"everywhere", "npmi.0", "npmi.1", "title.0", "title.1"}
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_a_title_stays_from_snapshot_to_snapshot_while_its_words_are_among_the_first(corpus):
    first = snapshot(corpus.n_words) | {"names.0": np.array([0, 1, 2, 3, 4, 7]), "names.1": np.arange(3)}
    common = np.zeros(0, dtype=np.int64)
    first |= records.collect_topic_facts(corpus, common, first, ())
    kept, rng = records.index_titles(first), np.random.default_rng(3)
    assert [table.shape for table in kept] == [(8, 3), (3, 3)]
    assert kept[0][5].tolist() == [-1, -1, -1]
    np.testing.assert_array_equal(kept[0][7], first["title.0"][5])

    moved = np.array([5, 3, 0, 4])  # two topics are pruned, the others are in other columns and a little different
    second = {
        "phi.0": first["phi.0"][:, moved] * rng.uniform(0.5, 1.5, (corpus.n_words, 4)),
        "phi.1": first["phi.1"][moved] / first["phi.1"][moved].sum(axis=0),
        "r": first["r"],
        "names.0": first["names.0"][moved],
        "names.1": first["names.1"],
    }
    second["phi.0"] /= second["phi.0"].sum(axis=0)
    found = records.collect_topic_facts(corpus, common, second, (), kept)
    fresh = records.collect_topic_facts(corpus, common, second, ())
    weights = topics.weigh_topics([second["phi.0"], second["phi.1"]], second["r"])[0]
    shown, _ = topics.find_relevant_words(second["phi.0"], topics.compute_shares(weights), 8)
    stays = [set(first["title.0"][old].tolist()) <= set(shown[new].tolist()) for new, old in enumerate(moved)]
    assert any(stays)
    for new, old in enumerate(moved.tolist()):
        assert (found["title.0"][new].tolist() == first["title.0"][old].tolist()) is stays[new]
    assert any((found[name] != fresh[name]).any() for name in ("title.0", "title.1"))


def test_the_mean_of_the_topics_is_judged_where_there_is_one(corpus):
    drawn, mean = snapshot(corpus.n_words), snapshot(corpus.n_words, seed=2)
    both = drawn | {"mean.0": mean["phi.0"], "mean.1": mean["phi.1"]}
    alone = mean | {"r": drawn["r"]}
    for layer in (0, 1):
        found, expected = (
            records.collect_topic_facts(corpus, np.zeros(0), each, ())[f"npmi.{layer}"] for each in (both, alone)
        )
        np.testing.assert_array_equal(found, expected)


def test_the_spread_is_there_once_enough_documents_are_placed(corpus):
    arrays = snapshot(corpus.n_words)
    placed = np.random.default_rng(4).random((50, 6)).astype(np.float32)
    few = np.full((50, 3), -1, dtype=np.float32)
    found = records.collect_topic_facts(corpus, np.zeros(0), arrays, (placed, few))
    assert found["spread.0"].shape == (6,)
    assert ((found["spread.0"] > 0.5) & (found["spread.0"] <= 1.0)).all()
    assert "spread.1" not in found


@pytest.mark.parametrize("kind", ["pixels", "real"])
def test_of_pixels_and_real_numbers_there_are_no_words_to_judge(corpus, kind):
    if kind == "pixels":
        corpus = replace(corpus, image_shape=(1, corpus.n_words))
    else:
        corpus = replace(corpus, counts=corpus.counts._replace(values=corpus.counts.values.astype(np.float32)))
    placed = (np.full((60, 6), 0.2, dtype=np.float32), np.full((60, 3), 0.3, dtype=np.float32))
    arrays = snapshot(corpus.n_words)
    assert records.find_common_words(corpus).tolist() == []
    assert set(records.collect_topic_facts(corpus, records.find_common_words(corpus), arrays, placed)) == {
        "spread.0",
        "spread.1",
    }


def test_of_very_many_documents_some_are_looked_at(corpus):
    assert records.read_training_counts(corpus).n_documents == len(corpus.documents(TRAIN))
    assert records.read_training_counts(corpus, 30).n_documents == -(-len(corpus.documents(TRAIN)) // 3)
