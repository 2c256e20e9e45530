"""Widths learnt layer by layer: what is pruned, what comes, and how near the truth it ends."""

import numpy as np
import pytest

from topiary.engine import models, widths
from topiary.engine.contract import Batch, Facts, flatten
from topiary.engine.widths import SETTLED, GrowthRule, Structure

RULE = GrowthRule(layers=3, budget=6, every=10, below=0.1)
TRUE, WORDS = 5, 50


def structure(r, born=0, layers=1):
    """Layers all as wide as ``r`` is long."""
    rng = np.random.default_rng(4)
    width = len(r)
    phi = tuple(widths.draw_flat_topics(rng, rows, width) for rows in (8, *[width] * (layers - 1)))
    return Structure(phi, np.array(r), widths.name_topics(phi), np.array(born))


def planted(documents=300, tokens=60, seed=2):
    """Documents of one of five subjects with ten words each, and of a little of another."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((documents, WORDS), dtype=np.int64)
    for j in range(documents):
        for subject, n in ((j % TRUE, tokens), (rng.integers(TRUE), tokens // 6)):
            np.add.at(counts[j], rng.integers(0, WORDS // TRUE, n) + subject * WORDS // TRUE, 1)
    here = counts > 0
    starts = np.concatenate([[0], np.cumsum(here.sum(1))])
    labels = np.full(documents, -1, dtype=np.int32)
    cells = np.nonzero(here)[1].astype(np.int32), counts[here].astype(np.int32)
    return Batch(*cells, starts, labels, np.arange(documents))


def some(batch, rows):
    """Documents of a batch by their numbers."""
    cells = np.concatenate([np.arange(batch.starts[j], batch.starts[j + 1]) for j in rows])
    starts = np.concatenate([[0], np.cumsum(np.diff(batch.starts)[rows])])
    return Batch(batch.words[cells], batch.counts[cells], starts, batch.labels[rows], batch.documents[rows])


def grown(seed, inference="tlasgr", layers=2, every=60, **more):
    """The state of a small model after all its stages, and every event on the way."""
    module = models.load("dlda")
    config = module.Config(
        layers=(15,) * layers, inference=inference, grow=True, grow_every=every, burn_in=5, collect=5, **more
    )
    docs = planted()
    kernel = module.build(config, Facts(WORDS, len(docs.documents)))
    rng = np.random.default_rng(seed)
    state = kernel.prepare(seed, kernel.init(seed), docs)
    happened = []
    for _ in range(layers * every + 1):
        batch = docs if kernel.is_sweeping(state) else some(docs, np.sort(rng.permutation(300)[:50]))
        state, info = kernel.step(seed, state, batch)
        happened += info.events
    return state, happened


# ---------------------------------------------------------------- the rules


def test_nothing_changes_before_its_time_nor_in_a_structure_that_is_settled():
    assert widths.grow_structure(1, 9, structure([0.5] * 6), RULE) is None
    assert widths.grow_structure(1, 99, structure([0.5] * 6, born=SETTLED), RULE) is None
    assert widths.grow_structure(1, 99, structure([0.5] * 6), None) is None


def test_light_topics_of_the_top_layer_go_and_a_layer_as_wide_as_the_rest_comes():
    before = structure([0.5, 0.09, 0.1, 0.0, 2.0, 0.3])
    change = widths.grow_structure(1, 10, before, RULE)
    assert change.columns.tolist() == [0, 2, 4, 5]
    after = change.structure
    assert [layer.shape for layer in after.phi] == [(8, 4), (4, 4)]
    assert np.array_equal(after.phi[0], before.phi[0][:, [0, 2, 4, 5]])
    np.testing.assert_allclose(after.phi[1].sum(axis=0), 1)
    assert after.r.tolist() == [0.25] * 4
    assert [names.tolist() for names in after.names] == [[0, 2, 4, 5], [0, 1, 2, 3]]
    assert int(after.born) == 10
    assert change.added
    assert [tuple(event) for event in change.events] == [
        ("pruned", 1, (1, 3), 6, 4), ("layer added", 2, (), 0, 4),
    ]  # fmt: skip


def test_the_last_layer_is_pruned_and_then_the_structure_is_settled():
    before = structure([0.5, 0.09, 0.2, 0.3], born=20, layers=3)
    change = widths.grow_structure(1, 30, before, RULE)
    assert not change.added
    assert int(change.structure.born) == SETTLED
    assert [layer.shape[1] for layer in change.structure.phi] == [4, 4, 3]
    assert change.structure.r.tolist() == [0.5, 0.2, 0.3]


def test_a_layer_is_never_emptied():
    change = widths.grow_structure(1, 10, structure([0.01, 0.03, 0.02]), RULE)
    assert change.columns.tolist() == [1]


def test_the_new_layer_depends_on_the_seed_and_the_moment_only():
    phis = [
        widths.grow_structure(*at, structure([0.5] * 6), RULE).structure.phi[1]
        for at in ((1, 10), (1, 10), (2, 10), (1, 11))
    ]
    assert np.array_equal(phis[0], phis[1])
    assert not np.array_equal(phis[0], phis[2])
    assert not np.array_equal(phis[0], phis[3])


def test_names_survive_a_second_pruning():
    first = widths.grow_structure(1, 10, structure([0.5, 0.0, 0.2, 0.3]), RULE).structure
    again = first._replace(phi=first.phi[:1], names=first.names[:1], r=np.array([0.0, 1.0, 1.0]), born=np.array(10))
    assert widths.grow_structure(1, 20, again, RULE).structure.names[0].tolist() == [2, 3]


def test_growth_goes_on_from_a_snapshot_and_begins_where_layers_are_missing():
    phi = structure([0.5] * 4, layers=2).phi
    kept = {"born": np.array(20), "names.0": np.array([0, 2, 5, 7])}
    names, born = widths.restore_names(kept, phi, 25, RULE)
    assert ([each.tolist() for each in names], int(born)) == ([[0, 2, 5, 7], [0, 1, 2, 3]], 20)
    assert int(widths.restore_names(kept, phi, 25, None)[1]) == SETTLED
    assert int(widths.restore_names({}, phi, 25, RULE)[1]) == 25, "a layer is missing: its stage begins now"
    full = structure([0.5] * 4, layers=3).phi
    assert int(widths.restore_names({}, full, 25, RULE)[1]) == SETTLED
    assert int(widths.restore_names(kept, phi, 5, RULE)[1]) == 5, "of a run that had gone further than this state"


# -------------------------------------------------------------- what it learns


@pytest.mark.parametrize(("inference", "every", "most"), [("gibbs", 400, 6), ("tlasgr", 200, 8)])
def test_a_budget_of_15_ends_near_the_5_planted_topics(inference, every, most):
    """Gibbs: 5 for 15 and 6 for 5 of 20 seeds tried.  TLASGR, noisier: 5 to 8 for 12 of 12, mostly 6 or 7.

    So another seed may fail in at most about one of 20 (Gibbs) or 12 cases; this one is fixed.
    """
    state, happened = grown(1, inference, every=every, eta=(2.0, 0.05))
    found = [layer.shape[1] for layer in state.phi]
    assert TRUE <= found[0] <= most
    assert found[1] <= found[0]
    by_subject = state.phi[0].reshape(TRUE, WORDS // TRUE, -1).sum(axis=1)
    assert {*by_subject.argmax(axis=0).tolist()} == {*range(TRUE)}, "every subject has a topic"
    assert [event.kind for event in happened] == ["pruned", "layer added", "pruned"]
    assert len(happened[0].topics) == 15 - found[0]


@pytest.mark.parametrize("inference", ["tlasgr", "sgrld", "gibbs"])
def test_widths_never_grow_upward(inference):
    state, happened = grown(3, inference, layers=4, every=8, prune_below=0.03)
    found = [layer.shape[1] for layer in state.phi]
    assert found == sorted(found, reverse=True)
    assert len(found) == 4
    assert all(event.after <= event.before for event in happened if event.kind == "pruned")


def test_without_pruning_the_structure_is_the_budget_in_every_layer():
    state, _ = grown(1, every=3, prune_below=0.0)
    assert [layer.shape[1] for layer in state.phi] == [15, 15]


def test_running_averages_of_topics_that_stay_go_on_and_a_new_layer_takes_its_first_estimate():
    module = models.load("dlda")
    config = module.Config(layers=(15, 15), grow=True, grow_every=4, burn_in=2, collect=2, scale_step=1e-6)
    docs = planted(60)
    kernel = module.build(config, Facts(WORDS, 60))
    state = kernel.init(1)
    for _ in range(4):
        state, _ = kernel.step(1, state, docs)
    after, info = kernel.step(1, state, docs)
    stay = [k for k in range(15) if k not in info.events[0].topics]
    np.testing.assert_allclose(after.scale[0], state.scale[0][stay], rtol=1e-2)  # M hardly moves: scale_step is tiny
    assert after.scale[1].sum() > 1
    assert float(after.top_scale) > 1
    assert set(flatten(after)) >= {"names.0", "names.1", "born"}
