"""Operations on eight numbers at once: the compiled code against its Python twins, and against plain NumPy."""

import numba
import numpy as np
import pytest

from topiary.engine.gibbs import simd, tokens
from topiary.engine.gibbs.tokens import NOWHERE, DocView, make_slots
from topiary.engine.streams import Stream, draw_uniform, start_stream

RNG = np.random.default_rng(8)
TABLE = RNG.random((5, 40))
NUMBERS = np.concatenate([RNG.random(20), [np.inf, 0.0, 1e-310, 1e300], np.zeros(8)])
COLUMNS = RNG.integers(0, 40, 24).astype(np.uint64)
jitted = numba.njit(error_model="numpy")


@jitted
def loaded(numbers, place, out):
    simd.store(out, 3, simd.load(numbers, place))


@jitted
def gathered(table, row, columns, place, out):
    simd.store(out, 0, simd.gather(table, row, columns, place))


@jitted
def transferred(numbers, place, to, off, out):
    simd.store(out, 0, simd.transfer(simd.load(numbers, place), place, to, off))


@jitted
def summed(a, b, reached, out):
    sums = simd.sum_up(simd.multiply(simd.load(a, 0), simd.load(b, 0)), reached)
    simd.store(out, 0, sums)
    return simd.take_last(sums)


@jitted
def counted(numbers, place, u):
    return simd.count_at_most(simd.load(numbers, place), u)


@jitted
def added(a, b, out):
    simd.store(out, 0, simd.add(simd.load(a, 0), simd.load(b, 0)))
    simd.store(out, 8, simd.move_up(simd.load(a, 0)))
    simd.store(out, 16, simd.make_zeros())
    return simd.add_up(simd.load(a, 0))


def test_eight_numbers_are_read_from_anywhere_and_written_anywhere():
    out = np.full(14, -1.0)
    loaded(NUMBERS, 5, out)
    assert np.array_equal(out, [-1.0] * 3 + NUMBERS[5:13].tolist() + [-1.0] * 3)


def test_eight_columns_of_a_row_are_gathered():
    out = np.empty(8)
    gathered(TABLE, np.uint64(3), COLUMNS, 7, out)
    assert np.array_equal(out, TABLE[3, COLUMNS[7:15].astype(int)])


@pytest.mark.parametrize("to", [0, 8, 11, 15, 16, 0xFFFFFFFF])
@pytest.mark.parametrize("off", [7, 8, 11, 15, 40])
def test_a_token_goes_from_slot_to_slot_where_these_are_among_the_eight(to, off):
    numbers, out = np.arange(20.0), np.empty(8)
    transferred(numbers, np.uint64(8), np.uint64(to), np.uint64(off), out)
    expected = np.arange(8.0, 16.0)
    for slot, change in ((to, 1.0), (off, -1.0)):
        if 8 <= slot < 16:
            expected[slot - 8] += change
    assert np.array_equal(out, expected)


def test_running_sums_go_on_from_what_was_reached():
    a, b, out = RNG.random(8), RNG.random(8), np.empty(8)
    assert summed(a, b, 0.7, out) == out[7]
    np.testing.assert_allclose(out, 0.7 + np.cumsum(a * b), rtol=1e-15)


def test_running_sums_of_whole_numbers_are_exact():
    a, out = np.arange(1.0, 9.0), np.empty(8)
    summed(a, np.ones(8), 0.0, out)
    assert out.tolist() == [1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0, 36.0]


@pytest.mark.parametrize("place", [0, 5, 16, 24])
@pytest.mark.parametrize("u", [-1.0, 0.0, 0.4, 1e-310, 1e300, np.inf])
def test_lanes_at_most_u_are_counted(place, u):
    assert counted(NUMBERS, place, u) == (NUMBERS[place : place + 8] <= u).sum()


@pytest.mark.parametrize("n", [1, 8, 13, 200])
def test_room_begins_with_a_cache_line_and_holds_zeros(n):
    aligned = simd.allocate_aligned(n)
    assert aligned.ctypes.data % 64 == 0
    assert aligned.shape == (n,)
    assert not aligned.any()


def test_lanes_are_added_and_moved():
    a, b, out = RNG.random(8), RNG.random(8), np.full(24, -1.0)
    assert added(a, b, out) == pytest.approx(a.sum())
    assert out.tolist() == [*(a + b), 0.0, *a[:7], *np.zeros(8)]


@pytest.mark.parametrize("n_columns", [1, 7, 8, 13, 16])
@pytest.mark.parametrize("n_cells", [0, 1, 9])
def test_the_prior_masses_of_all_cells_are_weighed(n_columns, n_cells):
    base, words = RNG.random((n_columns, 5)), RNG.integers(0, 30, n_cells + 2).astype(np.int32)
    prior = tokens.allocate_priors(np.empty((30, 5)), base, lone=False)
    prior[:, :n_columns] = RNG.random((30, n_columns))
    cells = tokens.make_cells(np.array([0, n_cells]), np.array([0, n_cells]), 0, 1, prior.shape[1])
    theta = RNG.random(n_columns)
    doc = DocView(words, np.ones_like(words), 1, n_cells + 1, np.zeros(n_cells, np.uint16), theta, np.ones(1))
    weighed(prior, doc, theta, cells)
    np.testing.assert_allclose(cells.mass[:n_cells], prior[words[1 : n_cells + 1], :n_columns] @ theta, rtol=1e-13)


@jitted
def weighed(prior, doc, theta, cells):
    tokens.weigh_priors(prior, doc, theta, cells)


# the two functions of the token loop that are made of them, and the loop over all topics


@pytest.mark.parametrize("used", [1, 7, 8, 9, 16, 21])
def test_sums_of_slots_by_lane_are_those_without_the_tokens_that_are_late(used):
    slots = some_slots(used)
    before = slots.tokens.copy()
    total = tokens._sum_slots(TABLE, np.uint64(2), slots, np.uint64(used), NOWHERE, np.uint64(used - 1))
    before[used - 1] -= 1.0
    assert np.array_equal(slots.tokens, before)
    size = -(-used // 8) * 8
    expected = np.zeros(size)
    expected[:used] = TABLE[2, slots.topic[:used].astype(int)] * before[:used]
    np.testing.assert_allclose(slots.sums[:size], np.cumsum(expected.reshape(-1, 8), axis=0).ravel(), rtol=1e-14)
    lanes = slots.sums[size : size + 8]
    np.testing.assert_allclose(lanes, np.cumsum(expected.reshape(-1, 8).sum(axis=0)), rtol=1e-14)
    assert total == lanes[-1]


@pytest.mark.parametrize("used", [1, 7, 8, 9, 16, 21])
def test_every_slot_is_found_where_its_mass_lies(used):
    slots = some_slots(used)
    tokens._sum_slots(TABLE, np.uint64(2), slots, np.uint64(used), NOWHERE, NOWHERE)
    size = -(-used // 8) * 8
    order = [slot for slot in np.arange(size).reshape(-1, 8).T.ravel() if slot < used]
    ends = np.cumsum((TABLE[2, slots.topic.astype(int)] * slots.tokens)[order])
    starts = np.concatenate([[0.0], ends[:-1]])
    for slot, start, end in zip(order, starts, ends, strict=True):
        for u in (start + 1e-9, 0.5 * (start + end), end - 1e-9):
            assert int(tokens.find_place(slots.sums, np.uint64(used), u)) == slot
    assert int(tokens.find_place(slots.sums, np.uint64(used), 2.0 * ends[-1])) < used


@pytest.mark.parametrize("n_topics", [3, 8, 13, 16, 24, 29, 40])
def test_the_loop_over_all_topics_draws_what_a_plain_loop_draws(n_topics):
    """A plain twin of the loop, with the tokens that are late as they are described."""
    rng, r = np.random.default_rng(n_topics), np.random.default_rng(3).random(n_topics)
    phi, words, of = rng.random((9, n_topics)), rng.integers(0, 9, 60), np.repeat(np.arange(60), 2).astype(np.int32)
    topics = rng.integers(0, n_topics, 120).astype(np.uint16)
    weights, sums = simd.allocate_aligned(n_topics + 24), simd.allocate_aligned(n_topics + 24)
    weights[:n_topics] = r + np.bincount(topics, minlength=n_topics)
    stream = Stream(*(np.uint64(word) for word in start_stream(1, 2, 3, n_topics)))
    drawn = topics.copy()
    after = tokens.draw_from_all(stream, phi, words.astype(np.int32), of, drawn, weights, sums)

    order = [k for k in np.arange(-(-n_topics // 8) * 8).reshape(-1, 8).T.ravel() if k < n_topics]
    expected, latest = topics.copy(), int(topics[-1])
    n = r + np.bincount(topics, minlength=n_topics)
    n[latest] -= 1.0
    before = None
    for token, word in enumerate(words[of]):
        n[[] if before is None else [before]] += 1.0
        n[expected[token]] -= 1.0
        ends = np.cumsum((phi[word] * n)[order])
        v, stream = draw_next(stream)
        k = order[int((ends <= v * ends[-1]).sum())]
        u, stream = draw_next(stream)
        before, latest = latest, k if u * (ends[-1] + phi[word, latest]) < ends[-1] else latest
        expected[token] = latest
    assert drawn.tolist() == expected.tolist()
    assert after == stream


def draw_next(rng):
    """Return a uniform and the stream to continue with, whose words the compiled function gives as plain integers."""
    u, rng = draw_uniform(rng)
    return u, Stream(*(np.uint64(word) for word in rng))


def some_slots(used):
    slots = make_slots(40)
    slots.topic[:used] = RNG.permutation(40)[:used]
    slots.tokens[:used] = RNG.integers(1, 6, used)
    return slots
