"""Images moved by a few pixels, against tables that NumPy moves."""

import numpy as np
from scipy import stats

from engine.autoencoder import image_shifts
from engine.contract import Batch

SHAPE = (5, 7)


def pictures(n=6, seed=0):
    """Pictures with some light and some dark pixels, and one without any light."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.7, (n, *SHAPE))
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
    table = np.zeros((len(batch.documents), SHAPE[0] * SHAPE[1]), dtype=np.int64)
    np.add.at(table, (np.repeat(np.arange(len(table)), np.diff(batch.starts)), batch.words), batch.counts)
    return table.reshape(-1, *SHAPE)


def shifted(picture, down, right):
    """The same picture in a dark frame, moved and cut out again."""
    room = np.pad(picture, 3)
    return np.roll(room, (down, right), (0, 1))[3 : 3 + SHAPE[0], 3 : 3 + SHAPE[1]]


def test_a_picture_moves_and_what_leaves_the_frame_is_lost():
    table = pictures()
    down, right = np.array([0, 1, 2, -1, -2, 0]), np.array([0, -2, 1, 1, 2, 3])
    docs = batch_of(table)
    got = image_shifts.moved(docs, SHAPE, down, right)
    expected = np.array([shifted(*each) for each in zip(table, down, right, strict=True)])
    np.testing.assert_array_equal(table_of(got), expected)
    assert (got.counts > 0).all()
    assert got.words.dtype == docs.words.dtype
    assert got.counts.dtype == docs.counts.dtype
    np.testing.assert_array_equal(got.labels, docs.labels)
    np.testing.assert_array_equal(got.documents, docs.documents)
    all_down = image_shifts.moved(docs, SHAPE, 1, 0)
    np.testing.assert_array_equal(table_of(all_down), [shifted(picture, 1, 0) for picture in table])


def test_pixels_of_a_moved_picture_stay_in_order():
    got = image_shifts.moved(batch_of(pictures()), SHAPE, -1, 2)
    for first, last in zip(got.starts, got.starts[1:], strict=False):
        assert (np.diff(got.words[first:last]) > 0).all()


def test_ways_are_all_there_are_and_the_shortest_come_first():
    assert image_shifts.ways(0) == [(0, 0)]
    found = image_shifts.ways(2)
    assert len(set(found)) == 25
    assert found[0] == (0, 0)
    assert set(found[:5]) == {(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)}
    far = [down**2 + right**2 for down, right in found]
    assert far == sorted(far)


def test_every_way_is_as_likely_and_steps_differ():
    """Chi-squared with 24 degrees of freedom, seed fixed; false alarms: one in 10,000."""
    one = np.zeros((400, *SHAPE), dtype=np.int64)
    one[:, 2, 3] = 1
    docs, places = batch_of(one), np.zeros(35)
    for step in range(1, 26):
        places += np.bincount(image_shifts.moved_at_random(docs, SHAPE, 2, 9, step).words, minlength=35)
    reached = places.reshape(SHAPE)[:, 1:6]
    assert reached.sum() == places.sum() == 10_000
    assert stats.chisquare(reached.ravel()).pvalue > 1e-4
    first, again, other = (image_shifts.moved_at_random(docs, SHAPE, 2, 9, step).words for step in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
