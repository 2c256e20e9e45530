"""Operations on eight numbers at once: the compiled code against its Python twins, and against plain NumPy."""

import numba
import numpy as np
import pytest

from engine.gibbs import simd, tokens
from engine.gibbs.tokens import NOWHERE, DocView, Globals, make_slots
from engine.gibbs.upper import pack_layers

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
def laid(table, rows, first, column, out, place):
    simd.lay_columns(table, rows, first, column, out, place)


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


@pytest.mark.parametrize(("first", "column", "place"), [(0, 0, 0), (3, 8, 1), (1, 31, 5)])
def test_eight_columns_of_eight_rows_are_laid_side_by_side(first, column, place):
    rows, out = RNG.integers(0, 5, 12), np.full((40, 14), -1.0)
    laid(TABLE, rows, first, column, out, place)
    expected = np.full((40, 14), -1.0)
    for c in range(column, column + 8):
        for i in range(8):
            expected[c, place + i] = TABLE[rows[first + i], c]
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("n_columns", [1, 7, 8, 13, 16])
@pytest.mark.parametrize("n_cells", [0, 1, 7, 8, 9, 20])
def test_the_prior_masses_of_all_cells_are_laid_by_column(n_columns, n_cells):
    prior, words = RNG.random((30, n_columns)), RNG.integers(0, 30, n_cells + 2).astype(np.int32)
    counts = np.ones(n_cells + 2, np.int32)
    glob = Globals(prior, prior, prior, pack_layers((prior,), np.ones(n_columns)))
    cells = tokens.make_cells(np.array([0, n_cells]), np.array([0, n_cells]), 0, 1, n_columns)
    doc = DocView(words, counts, 1, n_cells + 1, np.zeros(n_cells, np.uint16), np.ones(n_columns), np.ones(1))
    laid_cells(glob, doc, cells)
    assert np.array_equal(cells.prior[:, :n_cells], prior[words[1 : n_cells + 1]].T)
    assert cells.of[:n_cells].tolist() == list(range(n_cells))


@jitted
def laid_cells(glob, doc, cells):
    tokens.lay_cells(glob, doc, cells)


# the two functions of the token loop that are made of them


@pytest.mark.parametrize("used", [1, 7, 8, 9, 16, 21])
def test_running_sums_over_slots_are_those_without_the_tokens_that_are_late(used):
    slots = some_slots(used)
    before = slots.tokens.copy()
    total = tokens._sum_slots(TABLE, np.uint64(2), slots, np.uint64(used), NOWHERE, np.uint64(used - 1))
    before[used - 1] -= 1.0
    assert np.array_equal(slots.tokens, before)
    expected = np.cumsum(TABLE[2, slots.topic[:used].astype(int)] * before[:used])
    np.testing.assert_allclose(slots.sums[:used], expected, rtol=1e-14)
    assert total == pytest.approx(expected[-1])


@pytest.mark.parametrize("used", [1, 7, 8, 9, 16, 21])
def test_every_slot_is_found_where_its_mass_lies_with_the_late_token_or_without(used):
    slots = some_slots(used)
    tokens._sum_slots(TABLE, np.uint64(2), slots, np.uint64(used), NOWHERE, NOWHERE)
    for latest in range(used):
        extra = TABLE[2, int(slots.topic[latest])]
        ends = slots.sums[:used] + extra * (np.arange(used) >= latest)
        starts = np.concatenate([[0.0], ends[:-1]])
        for slot in range(used):
            for u in (starts[slot] + 1e-9, 0.5 * (starts[slot] + ends[slot]), ends[slot] - 1e-9):
                found = tokens._find_slot(slots.sums, np.uint64(used), u, extra, np.uint64(latest))
                assert int(found) == slot


def some_slots(used):
    slots = make_slots(40)
    slots.topic[:used] = RNG.permutation(40)[:used]
    slots.tokens[:used] = RNG.integers(1, 6, used)
    return slots
