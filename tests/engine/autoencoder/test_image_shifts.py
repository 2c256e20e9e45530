"""Pictures moved by a few pixels, against tables that NumPy moves; bent ones, against the law of their fields."""

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
        places += np.bincount(image_shifts.strewn(docs, SHAPE, 2, 0.0, 9, step).words, minlength=35)
    reached = places.reshape(SHAPE)[:, 1:6]
    assert reached.sum() == places.sum() == 10_000
    assert stats.chisquare(reached.ravel()).pvalue > 1e-4
    first, again, other = (image_shifts.strewn(docs, SHAPE, 2, 0.0, 9, step).words for step in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def ramps(n, shape, along):
    """Pictures that grow lighter by one for each pixel down (0) or right (1), in real numbers."""
    table = np.broadcast_to(100.0 + np.indices(shape)[along], (n, *shape)).reshape(n, -1)
    starts = np.arange(n + 1) * table.shape[1]
    words = np.tile(np.arange(table.shape[1], dtype=np.int32), n)
    return Batch(words, table.ravel().astype(np.float32), starts, np.zeros(n, np.int32), np.arange(n))


def test_a_bent_picture_comes_from_places_as_far_away_and_as_smoothly_as_asked():
    """Standard deviation 0.7 and correlation exp(-d^2 / 64) of 4,000 fields; false alarms: one in 10,000.

    Standard errors: 1.1 % of the deviation, at most 0.016 of a correlation; bounds are 4.5 of them.
    """
    n, shape, far = 4000, (28, 30), 0.7
    values = np.indices(shape)
    gone = []
    for along in (0, 1):
        docs = image_shifts.bent(ramps(n, shape, along), shape, far, np.random.default_rng(5))
        assert docs.counts.dtype == np.float32
        assert len(docs.counts) > 0.99 * n * 28 * 30
        table = np.zeros((n, 28 * 30))
        table[np.repeat(np.arange(n), np.diff(docs.starts)), docs.words] = docs.counts
        gone.append(table.reshape(n, *shape) - 100 - values[along])
    down, right = (field[:, 14, 7:23] for field in gone)
    for field in (down, right):
        assert abs(field[:, 7].std() / far - 1) < 0.05
        assert abs(field[:, 7].mean()) < 4.5 * far / n**0.5
        for apart in (1, 4, 8):
            close = np.corrcoef(field[:, 4], field[:, 4 + apart])[0, 1]
            assert abs(close - np.exp(-(apart**2) / 64)) < 0.072
    assert abs(np.corrcoef(down[:, 7], right[:, 7])[0, 1]) < 0.072


def test_a_bent_picture_is_a_document_as_before():
    docs = batch_of(pictures())
    got = image_shifts.bent(docs, SHAPE, 0.8, np.random.default_rng(2))
    assert (got.counts > 0).all()
    for name in ("words", "counts", "starts"):
        assert getattr(got, name).dtype == getattr(docs, name).dtype
    for first, last in zip(got.starts, got.starts[1:], strict=False):
        assert (np.diff(got.words[first:last]) > 0).all()
    np.testing.assert_array_equal(got.labels, docs.labels)
    assert table_of(got)[2].sum() == 0
    assert (table_of(got) != table_of(docs)).any()
    still = image_shifts.bent(docs, SHAPE, 1e-6, np.random.default_rng(2))
    np.testing.assert_array_equal(table_of(still), table_of(docs))
    none = image_shifts.bent(
        docs._replace(starts=docs.starts[:1], documents=docs.documents[:0]), SHAPE, 0.8, np.random.default_rng()
    )
    assert len(none.words) == 0


def test_many_large_pictures_are_bent_a_few_at_a_time(monkeypatch):
    docs = batch_of(pictures())
    monkeypatch.setattr(image_shifts, "AT_ONCE", 80)
    got = image_shifts.bent(docs, SHAPE, 1e-6, np.random.default_rng(2))
    np.testing.assert_array_equal(table_of(got), table_of(docs))


def test_pictures_are_bent_before_they_move():
    docs = batch_of(pictures())
    still, bent = (image_shifts.strewn(docs, SHAPE, 1, far, 9, 3) for far in (1e-6, 0.8))
    np.testing.assert_array_equal(table_of(still), table_of(image_shifts.strewn(docs, SHAPE, 1, 0.0, 9, 3)))
    assert (table_of(bent) != table_of(still)).any()
