"""Extensions of sDATM to the paper: images that move while they are read."""

import numpy as np
import pytest
from scipy import stats
from tiny_sdatm import CLASSES, TINY, WORDS, N, labelled, same

from topiary.engine import models
from topiary.engine.contract import Batch, Facts, flatten
from topiary.engine.models.sdatm import kernel as sdatm
from topiary.engine.settings import SettingError

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
        other, also = still.step(4, state, sdatm.shift_at_random(batch, SHAPE, most, 4, 4))
        same(flatten(one).values(), flatten(other).values())
        assert report.elbo == also.elbo
        assert also.tokens != report.tokens == batch.counts.sum()


def test_a_prediction_is_the_mean_over_all_ways_and_with_few_draws_over_the_shortest():
    """Of 200 draws a way on either side: three standard errors of the difference are below 0.02."""
    batch, still, moving = labelled(2), built(), built(moved=1)
    state = trained(moving, 12)
    ways = sdatm.list_shifts(1)
    apart = [still.predict(4, state, sdatm.shift_images(batch, SHAPE, *way), 200) for way in ways]
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
    learned, tested = bars(300, 0, 0), bars(300, 1, 1)
    own = {"layers": (16, 8), "label_start": 20, "label_weight": 1000.0, "dropout": 0.0, "counts": "encoder"}
    wrong = {}
    for most in (0, 1):
        kernel = models.load("sdatm").build(
            models.load("sdatm").Config(**(TINY | own | {"moved": most})), Facts(64, 300, 3, (8, 8))
        )
        state = trained(kernel, 150, learned)
        wrong[most] = np.mean(kernel.predict(4, state, tested, 18).argmax(axis=1) != tested.labels)
    assert wrong[1] < 0.08 < 0.2 < wrong[0], wrong


def test_words_that_are_no_pixels_are_not_moved():
    with pytest.raises(SettingError, match="only pictures can be moved; set moved to 0, got 2"):
        built(None, moved=2)


PICTURE = (5, 7)


def pictures(n=6, seed=0):
    """Pictures with some light and some dark pixels, and one without any light."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.7, (n, *PICTURE))
    table[2] = 0
    return table


def batch_of(table):
    rows, words = np.nonzero(table.reshape(len(table), -1))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(table)))])
    counts = table.reshape(len(table), -1)[rows, words].astype(np.int32)
    return Batch(
        words.astype(np.int32), counts, starts, np.arange(len(table), dtype=np.int32), 50 + np.arange(len(table))
    )


def table_of(batch):
    table = np.zeros((len(batch.documents), PICTURE[0] * PICTURE[1]), dtype=np.int64)
    np.add.at(table, (np.repeat(np.arange(len(table)), np.diff(batch.starts)), batch.words), batch.counts)
    return table.reshape(-1, *PICTURE)


def shifted(picture, down, right):
    """The same picture in a dark frame, moved and cut out again."""
    padded = np.pad(picture, 3)
    return np.roll(padded, (down, right), (0, 1))[3 : 3 + PICTURE[0], 3 : 3 + PICTURE[1]]


def test_a_picture_moves_and_what_leaves_the_frame_is_lost():
    table = pictures()
    down, right = np.array([0, 1, 2, -1, -2, 0]), np.array([0, -2, 1, 1, 2, 3])
    docs = batch_of(table)
    got = sdatm.shift_images(docs, PICTURE, down, right)
    expected = np.array([shifted(*each) for each in zip(table, down, right, strict=True)])
    np.testing.assert_array_equal(table_of(got), expected)
    assert (got.counts > 0).all()
    assert got.words.dtype == docs.words.dtype
    assert got.counts.dtype == docs.counts.dtype
    np.testing.assert_array_equal(got.labels, docs.labels)
    np.testing.assert_array_equal(got.documents, docs.documents)
    all_down = sdatm.shift_images(docs, PICTURE, 1, 0)
    np.testing.assert_array_equal(table_of(all_down), [shifted(picture, 1, 0) for picture in table])


def test_pixels_of_a_moved_picture_stay_in_order():
    got = sdatm.shift_images(batch_of(pictures()), PICTURE, -1, 2)
    for first, last in zip(got.starts, got.starts[1:], strict=False):
        assert (np.diff(got.words[first:last]) > 0).all()


def test_ways_are_all_there_are_and_the_shortest_come_first():
    assert sdatm.list_shifts(0) == [(0, 0)]
    found = sdatm.list_shifts(2)
    assert len(set(found)) == 25
    assert found[0] == (0, 0)
    assert set(found[:5]) == {(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)}
    far = [down**2 + right**2 for down, right in found]
    assert far == sorted(far)


def test_every_way_is_as_likely_and_steps_differ():
    """Chi-squared with 24 degrees of freedom, seed fixed; false alarms: one in 10,000."""
    one = np.zeros((400, *PICTURE), dtype=np.int64)
    one[:, 2, 3] = 1
    docs, places = batch_of(one), np.zeros(35)
    for step in range(1, 26):
        places += np.bincount(sdatm.shift_at_random(docs, PICTURE, 2, 9, step).words, minlength=35)
    reached = places.reshape(PICTURE)[:, 1:6]
    assert reached.sum() == places.sum() == 10_000
    assert stats.chisquare(reached.ravel()).pvalue > 1e-4
    first, again, other = (sdatm.shift_at_random(docs, PICTURE, 2, 9, step).words for step in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
