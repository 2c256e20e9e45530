"""What sDATM can do beside the paper: pictures that move while they are read, naive Bayes and word ratios asked too."""

import numpy as np
import pytest
from tiny_sdatm import CLASSES, TINY, WORDS, N, labelled, same, snapshot

from engine import models
from engine.autoencoder import image_shifts, naive_bayes, word_ratios
from engine.autoencoder.classifier import softmax
from engine.autoencoder.naive_bayes import Said
from engine.autoencoder.word_ratios import Learned
from engine.contract import Batch, Facts, flatten, unflatten
from engine.settings import SettingError

SHAPE = (4, 6)


def built(shape=SHAPE, **changed):
    module = models.load("sdatm")
    return module.build(module.Config(**(TINY | changed)), Facts(WORDS, N, CLASSES, shape))


def trained(kernel, steps=8, batch=None, seed=4):
    state = kernel.init(seed)
    for _ in range(steps):
        state, _ = kernel.step(seed, state, labelled() if batch is None else batch)
    return state


# ------------------------------------------------------------------ pictures


def test_a_step_is_that_of_the_pictures_as_they_fell():
    batch, still = labelled(), built()
    state = trained(still, 3)
    for most, far in ((1, 0.0), (0, 0.9), (1, 0.9)):
        one, told = built(moved=most, bent=far).step(4, state, batch)
        other, also = still.step(4, state, image_shifts.strewn(batch, SHAPE, most, far, 4, 4))
        same(flatten(one).values(), flatten(other).values())
        assert told.elbo == also.elbo
        assert also.tokens != told.tokens == batch.counts.sum()


def test_a_prediction_is_the_mean_over_all_ways_and_with_few_draws_over_the_shortest():
    """Of 200 draws a way on either side: three standard errors of the difference are below 0.02."""
    batch, still, moving = labelled(2), built(), built(moved=1)
    state = trained(moving, 12)
    ways = image_shifts.ways(1)
    apart = [still.predict(4, state, image_shifts.moved(batch, SHAPE, *way), 200) for way in ways]
    mean = sum(apart) / len(ways)
    got = moving.predict(4, state, batch, 200 * len(ways))
    assert np.abs(got - mean).max() < 0.02 < 0.08 < np.abs(apart[0] - mean).max()
    np.testing.assert_array_equal(moving.predict(4, state, batch, 1), still.predict(4, state, batch, 1))


def bars(n, seed, most):
    """A bar lying, standing or slanting in a frame of 8 x 8, moved by at most ``most`` pixels, in some noise."""
    rng = np.random.default_rng(seed)
    shapes = np.zeros((3, 8, 8), dtype=np.int64)
    shapes[0, 3, 2:6] = shapes[1, 2:6, 3] = 6
    shapes[2, range(2, 6), range(2, 6)] = 6
    labels = rng.integers(0, 3, n)
    ways = rng.integers(-most, most + 1, (n, 2))
    table = np.array([np.roll(shapes[c], way, (0, 1)) for c, way in zip(labels, ways, strict=True)])
    table = rng.poisson(0.15 + table).reshape(n, 64)
    rows, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Batch(
        words.astype(np.int32), table[rows, words].astype(np.int32), starts, labels.astype(np.int32), np.arange(n)
    )


def test_moved_while_learned_things_are_known_where_none_was_seen():
    """Bars always in one place while they are learned: elsewhere they are known only to whom they moved."""
    learned, asked = bars(300, 0, 0), bars(300, 1, 1)
    own = {"layers": (16, 8), "label_start": 20, "label_weight": 1000.0, "dropout": 0.0, "counts": "encoder"}
    wrong = {}
    for most in (0, 1):
        kernel = models.load("sdatm").build(
            models.load("sdatm").Config(**(TINY | own | {"moved": most})),
            Facts(64, 300, 3, (8, 8)),
        )
        state = trained(kernel, 150, learned)
        wrong[most] = np.mean(kernel.predict(4, state, asked, 18).argmax(axis=1) != asked.labels)
    assert wrong[1] < 0.08 < 0.2 < wrong[0], wrong


def test_words_that_are_no_pixels_are_not_moved():
    with pytest.raises(SettingError, match="only pictures can be moved; set moved to 0, got 2"):
        built(None, moved=2)


# --------------------------------------------------------------- naive Bayes


def test_topics_and_encoder_know_nothing_of_naive_bayes():
    alone, asked = flatten(trained(built())), flatten(trained(built(naive_bayes=0.5)))
    assert all(np.array_equal(array, asked[name]) for name, array in alone.items())
    assert sorted(asked.keys() - alone.keys()) == ["said.0", "said.1", "said.2"]


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_prediction_is_pooled_with_what_words_say(share):
    batch, kernel = labelled(1), built(naive_bayes=share, encoders=2)
    state = trained(kernel)
    said = naive_bayes.told(Said(*state.said), batch)
    own = built(encoders=2).predict(4, state._replace(said=()), batch)
    np.testing.assert_allclose(kernel.predict(4, state, batch), naive_bayes.pooled(own, [(share, said)]), rtol=1e-12)
    assert np.abs(kernel.predict(4, state, batch) - own).max() > 0.01
    if share == 1.0:
        np.testing.assert_allclose(kernel.predict(4, state, batch), softmax(said), rtol=1e-12)


def test_documents_of_the_first_pass_are_heard_once():
    batch, kernel = labelled(), built(naive_bayes=0.5)
    one, many = trained(kernel, 1), trained(kernel, 5)
    same(one.said, many.said)
    same(one.said, naive_bayes.heard(naive_bayes.begun(CLASSES, WORDS), batch, N))


def test_a_snapshot_keeps_what_was_said_and_a_fork_without_it_hears_anew():
    batch, kernel = labelled(), built(naive_bayes=0.5)
    state = trained(kernel, 4)
    again = kernel.restore(4, snapshot(kernel, state))
    same(again.said, state.said)
    same(flatten(unflatten(type(state), flatten(state))).values(), flatten(state).values())
    plain = built()
    begun = kernel.restore(4, snapshot(plain, trained(plain, 4)))
    same(begun.said, naive_bayes.begun(CLASSES, WORDS))
    same(kernel.step(4, begun, batch)[0].said, state.said)
    assert plain.restore(4, snapshot(kernel, state)).said == ()


# --------------------------------------------------------------- word ratios


def test_topics_encoder_and_naive_bayes_know_nothing_of_word_ratios():
    alone, asked = (flatten(trained(built(naive_bayes=0.3, **more))) for more in ({}, {"word_ratios": 0.3}))
    assert all(np.array_equal(array, asked[name]) for name, array in alone.items())
    assert sorted(asked.keys() - alone.keys()) == [f"ratios.{i}" for i in range(4)]


@pytest.mark.parametrize("bayes", [0.0, 0.3])
def test_a_prediction_is_pooled_with_word_ratios_too(bayes):
    batch, kernel = labelled(1), built(naive_bayes=bayes, word_ratios=0.4, encoders=2)
    state = trained(kernel)
    said = Said(*state.said)
    own = built(encoders=2).predict(4, state._replace(said=()), batch)
    logs = (
        (0.6 - bayes) * np.log(own)
        + bayes * naive_bayes.told(said, batch)
        + 0.4 * word_ratios.told(Learned(*state.ratios), said, batch)
    )
    np.testing.assert_allclose(kernel.predict(4, state, batch), softmax(logs), rtol=1e-10)
    assert np.abs(kernel.predict(4, state, batch) - own).max() > 0.01


def test_word_ratios_are_learned_at_every_mini_batch_and_go_on_from_a_snapshot():
    batch, kernel = labelled(), built(word_ratios=0.5)
    state = trained(kernel, 4)
    assert int(state.ratios[-1]) == 4
    again = kernel.restore(4, snapshot(kernel, state))
    np.testing.assert_allclose(again.ratios[0], state.ratios[0], rtol=1e-6)
    same(flatten(unflatten(type(state), flatten(state))).values(), flatten(state).values())
    plain = built()
    begun = kernel.restore(4, snapshot(plain, trained(plain, 4)))
    same(begun.ratios, word_ratios.begun(CLASSES, WORDS))
    assert int(kernel.step(4, begun, batch)[0].ratios[-1]) == 1
    assert plain.restore(4, snapshot(kernel, state)).ratios == ()


def test_shares_of_a_prediction_are_not_more_than_all_of_it():
    built(naive_bayes=0.5, word_ratios=0.5)
    with pytest.raises(SettingError, match=r"at most 1 together; got 1\.1"):
        built(naive_bayes=0.5, word_ratios=0.6)
