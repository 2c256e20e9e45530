"""What sDATM can do beside the paper: images that move while they are read."""

import numpy as np
import pytest
from tiny_sdatm import CLASSES, TINY, WORDS, N, labelled, same

from engine import models
from engine.autoencoder import image_shifts
from engine.contract import Batch, Facts, flatten
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
    for most in (1, 2):
        one, report = built(moved=most).step(4, state, batch)
        other, also = still.step(4, state, image_shifts.moved_at_random(batch, SHAPE, most, 4, 4))
        same(flatten(one).values(), flatten(other).values())
        assert report.elbo == also.elbo
        assert also.tokens != report.tokens == batch.counts.sum()


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
            models.load("sdatm").Config(**(TINY | own | {"moved": most})), Facts(64, 300, 3, (8, 8))
        )
        state = trained(kernel, 150, learned)
        wrong[most] = np.mean(kernel.predict(4, state, asked, 18).argmax(axis=1) != asked.labels)
    assert wrong[1] < 0.08 < 0.2 < wrong[0], wrong


def test_words_that_are_no_pixels_are_not_moved():
    with pytest.raises(SettingError, match="only pictures can be moved; set moved to 0, got 2"):
        built(None, moved=2)
