"""Quality of a stored snapshot: which documents are read, and that the store's numbers are the engine's."""

from dataclasses import replace

import garden
import numpy as np
import pytest

from app.analysis import quality
from app.analysis.hierarchy import Hierarchy
from app.analysis.read_hierarchy import read_hierarchy
from engine.contract import TEST, TRAIN, Counts
from engine.quality import coherence
from engine.quality.measures import SampleSize, measure_quality
from store import corpora, snapshots


@pytest.fixture
def planted(db):
    """A run about planted subjects, and the hierarchy of its last snapshot."""
    row = garden.plant(db)
    return row, read_hierarchy(db, row, snapshots.find_latest(db, row.number))


def parts(db, row):
    arrays = corpora.load_corpus(db, row.corpus)
    numbers = [np.flatnonzero(arrays.part == part) for part in (TRAIN, TEST)]
    return [coherence.copy_documents(Counts(*arrays.counts), each) for each in numbers]


def test_training_and_test_documents_are_told_apart(db, planted):
    row, hierarchy = planted
    found = quality.read_quality(db, row, hierarchy)
    shown = [words[:, :10] for words in hierarchy.words]
    expected = measure_quality(hierarchy.shown, *parts(db, row), words=shown)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.npmi, other.npmi)
        np.testing.assert_array_equal(one.held_out, other.held_out)
        assert (one.train, one.test, one.clusters) == (SampleSize(30, 30), SampleSize(10, 10), None)
    assert not np.array_equal(found[0].npmi, found[0].held_out)


def test_words_may_be_others_than_the_heaviest(db, planted):
    row, hierarchy = planted
    lists = [words[:, 10:14] for words in hierarchy.words]
    found = quality.read_quality(db, row, hierarchy, words=lists)
    np.testing.assert_array_equal(found[1].words, lists[1])


def test_of_many_documents_a_sample_is_read(db, planted, monkeypatch):
    monkeypatch.setattr(quality, "SAMPLED", 7)
    row, hierarchy = planted
    found = quality.read_quality(db, row, hierarchy)[0]
    assert (found.train, found.test) == (SampleSize(6, 30), SampleSize(5, 10))


def test_npmi_comes_from_the_snapshot_and_else_from_the_corpus(db, planted):
    row, hierarchy = planted
    computed = quality.with_npmi(db, row, hierarchy)
    for one, other in zip(computed.npmi, quality.read_quality(db, row, hierarchy), strict=True):
        np.testing.assert_allclose(one, other.npmi)
    known = replace(hierarchy, npmi=tuple(np.zeros(width) for width in hierarchy.widths))
    assert quality.with_npmi(db, row, known) is known


def test_what_a_snapshot_keeps_is_in_its_hierarchy(db):
    row = garden.begin(db, garden.corpus(db).number)
    kept = {f"npmi.{layer}": np.linspace(-1, 1, width) for layer, width in enumerate(garden.LAYERS)}
    made = snapshots.append_snapshot(db, row.number, row.attempt, 10, 0.5, garden.arrays(1) | kept)
    hierarchy: Hierarchy = read_hierarchy(db, row, made)
    assert [layer.shape for layer in hierarchy.npmi] == [(8,), (4,), (2,)]
    np.testing.assert_allclose(hierarchy.npmi[1], kept["npmi.1"], rtol=1e-6)
