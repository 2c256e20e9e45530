"""Shares under samples of the topics: which snapshots they come from, and how they widen intervals."""

import numpy as np
import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, CountingKernel, arrays, plain_model, plant

from topiary.app.analysis import inference
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.read_hierarchy import find_snapshot, read_hierarchy
from topiary.app.analysis.reader import sample_topics
from topiary.app.analysis.shares import fetch_use
from topiary.app.analysis.trends import DocumentGroups, describe_bands, measure_by_group
from topiary.engine import models
from topiary.engine.contract import AveragingKernel
from topiary.store import runs, snapshots

__all__ = ["plain_model"]


class DrawingKernel(CountingKernel, AveragingKernel):
    """A kernel whose topics are samples."""

    def average(self, state):
        return state

    def variance(self, state):
        return ()


@pytest.fixture
def db(tmp_path, plain_model):
    db = open_filled(tmp_path / "store.db", plant)
    yield db
    db.close()


@pytest.fixture
def sampling(plain_model, monkeypatch):
    """Let the model average its topics, as those do that draw them."""
    module = models.load("dlda")
    monkeypatch.setattr(module, "build", lambda *_, **__: DrawingKernel())
    monkeypatch.setattr(inference, "load_model", lambda run: (module, module.Config()))


def add_draws(db, row, last):
    """Add snapshots whose second layer moves from one to the next: the last ones are samples, the first is burn-in."""
    for number in range(1, 9):
        draw = arrays()
        draw["phi.1"] = draw["phi.1"] + 0.2 * (number % 2) * np.array([[1, 0], [-1, 0], [0, 0], [0, 0]])
        snapshots.append_snapshot(db, row.number, row.attempt, last * number // 8, 1.0, draw)


def test_a_model_that_draws_no_topics_and_a_run_with_few_snapshots_say_so(db, sampling, monkeypatch):
    row, snapshot = runs.get_run(db, 1), find_snapshot(db, 1)
    with pytest.raises(ReadError, match="3 snapshots of the second half of the run, and run 1 has 1"):
        sample_topics(db, row, snapshot)
    monkeypatch.setattr(models.load("dlda"), "build", lambda *_, **__: CountingKernel())
    with pytest.raises(ReadError, match="draws no samples of its topics"):
        sample_topics(db, row, snapshot)


def test_documents_are_placed_under_the_topics_of_the_second_half_and_widen_intervals(db, sampling):
    row = runs.get_run(db, 1)
    add_draws(db, row, 8 * find_snapshot(db, 1).minibatch)
    snapshot = find_snapshot(db, 1)
    samples = sample_topics(db, row, snapshot)
    assert samples.documents.tolist() == list(range(DOCUMENTS))
    assert [layer.shape for layer in samples.layers] == [(4, DOCUMENTS, 4), (4, DOCUMENTS, 2)]
    assert np.ptp(samples.layers[1], axis=0).max() > 0.04
    np.testing.assert_allclose(samples.layers[1].sum(axis=2), 1.0, rtol=1e-5)
    hierarchy = read_hierarchy(db, row, snapshot)
    use = fetch_use(db, row, snapshot, 2)
    found = DocumentGroups(np.arange(DOCUMENTS, dtype=np.int32) % 2, ("even", "odd"), ("a=0", "a=1"))
    usual = measure_by_group(hierarchy, 2, use, found)
    wider = measure_by_group(hierarchy, 2, samples.add_to(use, 2), found)
    assert (wider.high - wider.low > usual.high - usual.low).all()
    assert (usual.samples, wider.samples) == (0, 4)
    assert np.array_equal(usual.effects.interval.low, wider.effects.interval.low)
    assert describe_bands(usual.samples) != describe_bands(wider.samples)
    assert "4 samples of the topics" in describe_bands(wider.samples)
