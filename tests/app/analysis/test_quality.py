"""Quality of a stored snapshot: which documents are read, and that the store's numbers are the engine's."""

from dataclasses import replace

import garden
import numpy as np
import pytest

from topiary.app.analysis import inference, quality
from topiary.app.analysis.column_topics import rank_column_topics
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.quality import ROWS, Completion, _choose_step, read_completion
from topiary.app.analysis.read_hierarchy import read_hierarchy
from topiary.app.cli import quality as command
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import process, records
from topiary.app.jobs.load_corpus import load_corpus
from topiary.engine.contract import TEST, TRAIN, Counts, Facts
from topiary.engine.models.double_def import kernel as double_def
from topiary.engine.quality import measures
from topiary.engine.quality.measures import SampleSize, measure_quality
from topiary.engine.settings import parse, to_json
from topiary.store import corpora, runs, snapshots


@pytest.fixture
def planted(db):
    """A run about planted subjects, and the hierarchy of its last snapshot."""
    row = garden.plant(db)
    return row, read_hierarchy(db, row, snapshots.find_latest(db, row.number))


def test_a_snapshot_names_the_steps_of_its_run(db, planted):
    row, hierarchy = planted
    assert hierarchy.moment == f"mini-batch {row.minibatch:,}"
    sweeps = replace(row, options=row.options | {"sweeps_after": 0})
    assert read_hierarchy(db, sweeps, snapshots.find_latest(db, row.number)).moment == f"sweep {row.minibatch:,}"


def parts(db, row):
    arrays = corpora.load_corpus(db, row.corpus)
    numbers = [np.flatnonzero(arrays.part == part) for part in (TRAIN, TEST)]
    return [measures.copy_documents(Counts(*arrays.counts), each) for each in numbers]


def test_training_and_test_documents_are_told_apart(db, planted):
    row, hierarchy = planted
    found = quality.read_quality(db, row, hierarchy)
    shown = [words[:, :10] for words in hierarchy.words]
    expected = measure_quality(hierarchy.presentation, *parts(db, row), words=shown)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.npmi, other.npmi)
        np.testing.assert_array_equal(one.held_out, other.held_out)
        assert (one.train, one.test, one.clusters) == (SampleSize(30, 30), SampleSize(10, 10), None)
    assert not np.array_equal(found[0].npmi, found[0].held_out)


def test_of_many_documents_a_sample_is_read(db, planted, monkeypatch):
    monkeypatch.setattr(quality, "SAMPLED", 7)
    row, hierarchy = planted
    found = quality.read_quality(db, row, hierarchy)[0]
    assert (found.train, found.test) == (SampleSize(6, 30), SampleSize(5, 10))


def test_npmi_comes_from_the_snapshot_and_else_from_the_corpus(db, planted):
    row, hierarchy = planted
    computed = quality.add_npmi(db, row, hierarchy)
    for one, other in zip(computed.npmi, quality.read_quality(db, row, hierarchy), strict=True):
        np.testing.assert_allclose(one, other.npmi)
    known = replace(hierarchy, npmi=tuple(np.zeros(width) for width in hierarchy.widths))
    assert quality.add_npmi(db, row, known) is known


def test_what_a_snapshot_keeps_is_in_its_hierarchy(db):
    row = garden.begin(db, garden.corpus(db).number)
    kept = {f"npmi.{layer}": np.linspace(-1, 1, width) for layer, width in enumerate(garden.LAYERS)}
    made = snapshots.append_snapshot(db, row.number, row.attempt, 10, 0.5, garden.arrays(1) | kept)
    hierarchy: Hierarchy = read_hierarchy(db, row, made)
    assert [layer.shape for layer in hierarchy.npmi] == [(8,), (4,), (2,)]
    np.testing.assert_allclose(hierarchy.npmi[1], kept["npmi.1"], rtol=1e-6)


SEED, ITEMS = 5, 30


def plays():
    """Lines of 160 users who like ten of thirty items each: those whose numbers leave the same remainder by three."""
    rng = np.random.default_rng(2)
    rates = 0.05 + 2.0 * (np.arange(160)[:, None] % 3 == np.arange(ITEMS) % 3) * rng.gamma(2.0, 0.5, ITEMS)
    counts = rng.poisson(rates)
    return [f"user{n},item{i},{counts[n, i]}" for n, i in np.argwhere(counts)]


@pytest.fixture
def trained(db, tmp_path, monkeypatch):
    """A run of a double DEF on such a table, with snapshots before and after it learnt."""
    monkeypatch.setattr(inference.compile_kernels, "list_missing", lambda request: [])
    path = tmp_path / "plays.csv"
    path.write_text("\n".join(["user,item,count", *plays()]))
    row = import_path(db, path, ImportOptions(test_share=0.25))
    corpus = load_corpus(db, row)
    docs = corpus.batch(corpus.documents(TRAIN))
    config = parse(double_def.Config, {"layers": "3-2"})
    facts = Facts(row.words, row.train_documents, n_tokens=int(docs.counts.sum()))
    kernel = double_def.build(config, facts)
    run = runs.create_run(
        db, corpus=row.number, model="double-def", inference="", layers=(3, 2), settings=to_json(config),
        options={"minibatches": 80}, seed=SEED, name="",
    )  # fmt: skip
    run = runs.claim_run(db, run.number, process.identify_process())
    state = kernel.prepare(SEED, kernel.init_from_documents(SEED, docs), docs)
    found = []
    for step in range(1, 81):
        state, info = kernel.step(SEED, state, docs)
        if step in (1, 80):
            arrays = records.pack_snapshot(kernel, state, info, {})
            found.append(snapshots.append_snapshot(db, run.number, run.attempt, step, 1.0, arrays))
    return run, found, kernel.topics(state)


def test_the_hierarchy_of_columns_comes_through_the_store(db, trained):
    run, found, topics = trained
    hierarchy = read_hierarchy(db, run, found[-1])
    assert hierarchy.columns is not None
    for one, other in zip(hierarchy.columns.popularity, topics.columns.popularity, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert sum(each.share for each in rank_column_topics(hierarchy, 2)) == pytest.approx(1.0)
    assert {word.text for word in hierarchy.top_words(hierarchy.nodes(1)[0], 5)} <= set(hierarchy.vocabulary)
    assert all(text.startswith("item") for text in hierarchy.vocabulary)


def test_new_rows_are_completed_alike_every_time_and_better_than_by_chance(db, trained):
    run, found, _ = trained
    hierarchy = read_hierarchy(db, run, found[-1])
    made = read_completion(db, run, hierarchy)
    assert made == read_completion(db, run, hierarchy)
    assert (made.every, made.rows) == (20, 20)
    assert made.low == 20, "a tenth of about ten cells is observed"
    assert made.ndcg == made.ndcg_low
    # a tenth of the cells is one or two: guessing the third of the items gives about 10, all items alike 30
    assert made.perplexity < 16
    assert made.ndcg > 0.75


def test_models_of_documents_complete_no_rows(db, trained):
    run, found, _ = trained
    assert read_completion(db, run, replace(read_hierarchy(db, run, found[-1]), columns=None)) is None


def test_of_many_rows_or_long_ones_some_are_completed():
    assert [_choose_step(rows, 100) for rows in (1, ROWS, ROWS + 1, 5 * ROWS)] == [1, 1, 2, 5]
    assert _choose_step(1000, 20_000) == 10
    assert _choose_step(3, 10**8) == 3


def test_the_command_says_so_and_nothing_of_rows_of_low_activity_where_there_are_none():
    said = command._describe_completion(Completion(12.34, 0.5, 0.25, 20, 3, 40))
    assert said.endswith(
        "20 of 40 test rows: completion perplexity 12.3, NDCG 0.500, "
        "NDCG of the 3 with fewer than 5 observed cells 0.250."
    )
    assert "fewer" not in command._describe_completion(Completion(12.34, 0.5, float("nan"), 20, 0, 40))
