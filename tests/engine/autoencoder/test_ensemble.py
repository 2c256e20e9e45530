"""Several encoders on the same topics: each learns as if it were alone, and predictions are their mean."""

import numpy as np
import pytest
from tiny_sdatm import CLASSES, TINY, N, built, labelled, same, snapshot, trained

from engine.autoencoder import ensemble
from engine.autoencoder.encoder import PER_LAYER
from engine.contract import flatten, unflatten


def test_topics_and_the_models_own_encoder_are_the_same_with_others_beside_it():
    alone, together = flatten(trained(built(1), 6)), flatten(trained(built(3), 6))
    assert all(np.array_equal(array, together[name]) for name, array in alone.items())
    assert len(together) == len(alone) + 2 * ensemble.PARTS * sum(name.startswith("weights.") for name in alone)


@pytest.mark.parametrize("steps", [1, 5], ids=["before labels", "with labels"])
def test_each_encoder_makes_the_step_that_it_would_make_alone(steps):
    kernel, batch = built(3), labelled()
    before = trained(kernel, steps)
    after, _ = kernel.step(4, before, batch)
    members = list(zip(ensemble.members(before), ensemble.members(after), strict=True))
    assert len(members) == 3
    for number, (was, now) in enumerate(members):
        alone, _ = built(1).step(ensemble.seed_of(4, number), was, batch)
        same(alone.weights, now.weights)
        same(alone.first, now.first)
        same(alone.second, now.second)
        same(alone.steady or alone.weights, now.steady or now.weights)


@pytest.mark.parametrize("classifier", ["network", "linear"])
def test_class_weights_are_the_mean_of_all_encoders(classifier):
    kernel, single = built(3, classifier=classifier), built(1, classifier=classifier)
    state = trained(kernel, 6)
    apart = [single.keep(member) for member in ensemble.members(state)]
    together = kernel.keep(state)
    for layer in range(len(TINY["layers"])):
        tables = [kept[f"class_weights.{layer}"] for kept in apart]
        assert np.abs(tables[0] - tables[1]).max() > 1e-3
        np.testing.assert_allclose(together[f"class_weights.{layer}"], np.mean(tables, axis=0), atol=1e-12)


def test_encoders_differ_from_the_start():
    weights = [member.weights[0] for member in ensemble.members(built(3).init(4))]
    assert all(np.abs(one - other).max() > 0.01 for one, other in zip(weights, weights[1:] + weights[:1], strict=True))
    assert len({ensemble.seed_of(4, number) for number in range(20)} | {ensemble.seed_of(5, 1)}) == 21


def test_a_prediction_is_the_mean_of_all_encoders_which_share_the_draws():
    kernel, batch = built(3), labelled(1)
    state = trained(kernel, 8)
    alone = built(1, predict_samples=2)
    report = [
        alone.predict(ensemble.seed_of(4, number), member, batch)
        for number, member in enumerate(ensemble.members(state))
    ]
    assert np.abs(report[0] - report[1]).max() > 0.01
    np.testing.assert_allclose(kernel.predict(4, state, batch), sum(report) / 3, rtol=1e-12)
    fewer = [
        alone.predict(ensemble.seed_of(4, number), member, batch, 1)
        for number, member in enumerate(ensemble.members(state))
    ]
    np.testing.assert_allclose(kernel.predict(4, state, batch, 3), sum(fewer) / 3, rtol=1e-12)


def test_several_encoders_are_less_often_sure_and_wrong():
    """On planted classes, 40 documents of which are labelled wrongly: doubt is added where encoders disagree."""
    batch = labelled()
    wrong = np.arange(0, N, 3)
    noisy = batch._replace(labels=np.where(np.isin(np.arange(N), wrong), (batch.labels + 1) % CLASSES, batch.labels))
    kernel = built(4, label_weight=1000.0, dropout=0.0, read_share=1.0)
    state = kernel.init(4)
    for _ in range(60):
        state, _ = kernel.step(4, state, noisy)
    fresh = labelled(1)

    def loss(chances):
        return -np.log(chances[np.arange(N), fresh.labels]).mean()

    alone = built(1, predict_samples=2)
    each = [
        loss(alone.predict(ensemble.seed_of(4, number), member, fresh))
        for number, member in enumerate(ensemble.members(state))
    ]
    assert loss(kernel.predict(4, state, fresh)) < np.mean(each) - 0.01


def test_threads_change_no_bit():
    one, two = flatten(trained(built(4), 4)), flatten(trained(built(4, n_threads=2), 4))
    assert all(np.array_equal(array, two[name]) for name, array in one.items())


def test_a_run_goes_on_from_a_checkpoint_with_all_its_encoders():
    kernel, batch = built(3), labelled()
    state = trained(kernel, 5)
    again = unflatten(type(state), flatten(state))
    one, other = flatten(kernel.step(4, state, batch)[0]), flatten(kernel.step(4, again, batch)[0])
    assert all(np.array_equal(array, other[name]) for name, array in one.items())


def test_a_snapshot_keeps_the_steady_weights_of_all_encoders():
    kernel, batch = built(3), labelled(1)
    state = trained(kernel, 8)
    restored = kernel.restore(4, snapshot(kernel, state))
    for was, now in zip(ensemble.members(state), ensemble.members(restored), strict=True):
        same(now.weights, was.steady)
    np.testing.assert_allclose(kernel.predict(4, restored, batch), kernel.predict(4, state, batch), rtol=1e-12)


def test_a_fork_begins_encoders_that_its_parent_lacks_and_leaves_those_it_does_not_want():
    parent = built(2)
    kept = snapshot(parent, trained(parent, 8))
    more = list(ensemble.members(built(3).restore(4, kept)))
    fresh = list(ensemble.members(built(3).init(4)))
    theirs = list(ensemble.members(parent.restore(4, kept)))
    encoding = PER_LAYER * 2
    same(more[1].weights, theirs[1].weights)
    same(more[2].weights[:encoding], theirs[0].weights[:encoding])
    same(more[2].weights[encoding:], fresh[2].weights[encoding:])
    assert not built(1).restore(4, kept).others


def test_in_a_fork_to_another_classifier_each_encoder_goes_on_with_a_new_one():
    parent = built(2)
    kept = snapshot(parent, trained(parent, 8))
    theirs = list(ensemble.members(parent.restore(4, kept)))
    changed = built(2, hidden=(7, 4))
    found, fresh = (list(ensemble.members(state)) for state in (changed.restore(4, kept), changed.init(4)))
    encoding = PER_LAYER * 2
    for number in range(2):
        same(found[number].weights[:encoding], theirs[number].weights[:encoding])
        same(found[number].weights[encoding:], fresh[number].weights[encoding:])


def test_in_a_fork_of_topics_alone_encoders_begin_apart():
    parent = built(1)
    bare = {
        name: table for name, table in snapshot(parent, trained(parent, 2)).items() if not name.startswith("weights")
    }
    found = list(ensemble.members(built(2).restore(4, bare)))
    assert np.abs(found[1].weights[0] - found[0].weights[0]).max() > 0.01
