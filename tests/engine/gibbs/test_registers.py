"""Operations on numbers held in registers, and what the token loops and the prior make of them, against NumPy."""

from fractions import Fraction

import numba
import numpy as np
import pytest

from topiary.engine.gibbs import tokens
from topiary.engine.gibbs.registers import make_registers
from topiary.engine.gibbs.tokens import NOWHERE, DocCells, DocView, TokenProgress, fill_slots, make_slots
from topiary.engine.streams import Stream, draw_uniform, start_stream

RNG = np.random.default_rng(12)
VECTORS = [2, 4, 6]
TABLE = RNG.random((5, 40))
jitted = numba.njit(error_model="numpy")


def kernels(n):
    """Compiled uses of every operation in ``n`` vectors."""
    some = make_registers(n)
    load, store, gather, transfer, multiply = some.load, some.store, some.gather, some.transfer, some.multiply
    sum_up, take_last, count_at_most = some.sum_up, some.take_last, some.count_at_most

    @jitted
    def moved(numbers, to, off, out):
        store(out, transfer(load(numbers), to, off))

    @jitted
    def weighed(table, number, columns, numbers, out):
        sums = sum_up(multiply(gather(table, number, columns), load(numbers)))
        store(out, sums)
        return take_last(sums)

    @jitted
    def found(sums, u):
        return count_at_most(load(sums), u)

    return some.size, moved, weighed, found


@pytest.mark.parametrize("n", VECTORS)
def test_a_token_goes_from_place_to_place_and_to_none_that_there_is_not(n):
    capacity, moved, _, _ = kernels(n)
    numbers, out = RNG.random(capacity + 3), np.full(capacity + 1, -1.0)
    for to in (*range(capacity), capacity, NOWHERE):
        for off in (0, capacity - 1, capacity, NOWHERE):
            moved(numbers, np.uint64(to), np.uint64(off), out)
            expected = numbers[:capacity].copy()
            expected[[int(to)] if to < capacity else []] += 1.0
            expected[[int(off)] if off < capacity else []] -= 1.0
            np.testing.assert_array_equal(out[:capacity], expected)
    assert out[capacity] == -1.0


@pytest.mark.parametrize("n", VECTORS)
def test_running_sums_of_products_are_in_the_order_of_places(n):
    capacity, _, weighed, _ = kernels(n)
    columns, numbers, out = RNG.integers(0, 40, capacity).astype(np.uint64), RNG.random(capacity), np.empty(capacity)
    total = weighed(TABLE, np.uint64(3), columns, numbers, out)
    np.testing.assert_allclose(out, np.cumsum(TABLE[3, columns.astype(int)] * numbers), rtol=1e-14)
    assert total == out[-1]


@pytest.mark.parametrize("n", VECTORS)
def test_running_sums_of_whole_numbers_are_exact_and_stand_still_behind_the_last(n):
    capacity, _, weighed, _ = kernels(n)
    for used in range(1, capacity + 1):
        numbers, out = np.concatenate([np.arange(1.0, used + 1), np.zeros(capacity - used)]), np.empty(capacity)
        weighed(np.ones((1, 40)), np.uint64(0), np.zeros(capacity, np.uint64), numbers, out)
        assert out.tolist() == np.cumsum(numbers).tolist()


@pytest.mark.parametrize("n", VECTORS)
def test_sums_at_most_a_point_are_counted(n):
    capacity, _, _, found = kernels(n)
    sums = np.cumsum(RNG.random(capacity))
    for u in (0.0, *sums, *(sums - 1e-9), sums[-1] + 1.0):
        assert found(sums, u) == (sums <= u).sum()


LOOPS = {
    8: tokens._draw_two_vectors,
    16: tokens._draw_four_vectors,
    24: tokens._draw_six_vectors,
    "memory": tokens._draw_in_memory,
    "ahead": tokens._draw_ahead,
}


@pytest.mark.parametrize(
    ("name", "used"),
    [(8, 1), (8, 5), (8, 8), (16, 9), (16, 16), (24, 2), (24, 20), (24, 24)]
    + [(name, used) for name in ("memory", "ahead") for used in (1, 8, 20, 40)],
)
def test_a_document_is_swept_as_the_plain_loop_sweeps_it(name, used):
    phi = RNG.random((30, 40))
    topics, course, slots = swept_document(LOOPS[name], phi, used)
    size = name if isinstance(name, int) else -(-used // 8) * 8
    order = np.arange(size) if isinstance(name, int) else np.arange(size).reshape(-1, 8).T.ravel()
    same_topics, same_course, same_slots = swept_document(plain_loop(order), phi, used)
    assert int(course.token) > 100
    assert topics.tolist() == same_topics.tolist()
    assert course == same_course
    if isinstance(name, int):  # in memory the last token taken out is not written before the loop ends
        assert slots.tokens[:used].tolist() == same_slots.tokens[:used].tolist()


def draw_next(rng):
    """Return a uniform and the stream to continue with, whose words the compiled function gives as plain integers."""
    u, rng = draw_uniform(rng)
    return u, Stream(*(np.uint64(word) for word in rng))


def plain_loop(order):
    """The token loop with running sums over slots in this order."""

    def loop(course, phi, doc, cells, slots, used, n):
        rng, token, latest, before = course
        while token < n:
            word = doc.words[cells.of[int(token)]]
            if before < used:
                slots.tokens[int(before)] += 1.0
            slots.tokens[int(slots.where[doc.topics[int(token)]])] -= 1.0
            sums = np.cumsum((phi[word, slots.topic.astype(int)] * slots.tokens)[order])
            v, rng = draw_next(rng)
            slot = order[min((sums <= v * sums[-1]).sum(), len(order) - 1)]
            before, total = latest, sums[-1] + phi[word, int(slots.topic[int(latest)])]
            u, rng = draw_next(rng)
            u *= total + cells.mass[cells.of[int(token)]]
            if u >= total:
                return TokenProgress(rng, token, latest, before), u - total
            latest = np.uint64(slot) if u < sums[-1] else latest
            doc.topics[int(token)] = slots.topic[int(latest)]
            token += np.uint64(1)
        return TokenProgress(rng, token, latest, before), 0.0

    return loop


def test_an_empty_slot_is_used_again_unless_the_latest_token_is_there():
    slots = make_slots(40)
    n = np.uint64(fill_slots(np.arange(10, 15, dtype=np.uint16), slots))
    slots.tokens[[1, 3]] = 0.0
    places = [int(tokens.find_empty_slot(slots, n, np.uint64(latest))) for latest in (0, 1, 3)]
    assert places == [1, 3, 1]
    assert tokens.open_slot(slots, n, np.uint64(1), np.uint64(39)) == n
    assert [int(slots.where[k]) for k in (11, 39)] == [int(NOWHERE), 1]
    slots.tokens[[1, 3]] = 1.0
    assert tokens.find_empty_slot(slots, n, NOWHERE) == n
    assert tokens.open_slot(slots, n, n, np.uint64(30)) == n + np.uint64(1)


def swept_document(loop, phi, used):
    """Topics of a document of 300 tokens and ``used`` topics after one run of a token loop, and what it leaves."""
    rng = np.random.default_rng(used)
    words, counts = rng.integers(0, 30, 300).astype(np.int32), np.ones(300, np.int32)
    topics = rng.permutation(np.concatenate([np.arange(used), rng.integers(0, used, 300 - used)])).astype(np.uint16)
    doc = DocView(words, counts, 0, 300, topics, np.zeros(0), np.ones(1))
    cells = DocCells(np.arange(302, dtype=np.int32), np.full(300, 0.01), np.zeros(0))
    slots = make_slots(40)
    n = fill_slots(topics, slots)
    latest = slots.where[topics[-1]]
    slots.tokens[latest] -= 1.0
    rng = Stream(*(np.uint64(word) for word in start_stream(1, 2, 3, used)))
    course, _ = loop(
        TokenProgress(rng, np.uint64(0), latest, NOWHERE), phi, doc, cells, slots, np.uint64(n), np.uint64(300)
    )
    return topics, course, slots


@jitted
def picked(phi, word, r, prior, n):
    """How often each topic is drawn in ``n`` draws."""
    seen = np.zeros(phi.shape[1])
    rng = start_stream(1, 1, 1, 1)
    for _ in range(n):
        k, rng = tokens.pick_topic(rng, phi, word, r, prior)
        seen[k] += 1
    return seen


@pytest.mark.parametrize("n_topics", [1, 7, 8, 9, 40])
def test_the_prior_of_one_layer_draws_topics_as_often_as_they_weigh(n_topics):
    phi, r = RNG.random((3, n_topics)), RNG.random((1, n_topics)) + 0.1
    phi[1, n_topics // 2] *= n_topics == 1  # a topic of no weight, if it is not the only one
    prior = tokens.allocate_priors(phi, r, lone=True)
    tokens.add_blocks(phi, r, prior, np.arange(3), 0, 3)
    np.testing.assert_allclose(prior[:, -1], phi @ r[0], rtol=1e-14)
    n = 2_000 if numba.config.DISABLE_JIT else 40_000
    share = phi[1] * r[0] / (phi[1] @ r[0])
    seen = picked(phi, np.uint64(1), r, prior, n) / n
    assert seen[share == 0.0].sum() == 0.0
    assert np.all(np.abs(seen - share) < 5.0 * np.sqrt(share * (1 - share) / n) + 1e-12)


def test_the_blocks_of_the_prior_end_where_the_topics_in_them_end():
    """Sums by block and within a block are the same numbers, so that a point below the last is always found."""
    phi, r = RNG.random((50, 40)) * 10.0 ** RNG.integers(-300, 0, (50, 40)), RNG.random((1, 40))
    prior = tokens.allocate_priors(phi, r, lone=True)
    tokens.add_blocks(phi, r, prior, np.arange(50), 0, 50)
    for v in range(50):
        reached = 0.0
        for block in range(5):
            mass = 0.0
            for k in range(8 * block, 8 * block + 8):
                mass += phi[v, k] * r[0, k]
            assert Fraction(prior[v, block]) == Fraction(reached + mass)
            reached += mass


@pytest.mark.parametrize("above", [1, 5])
@pytest.mark.parametrize("n_topics", [1, 3, 4, 10])
def test_the_prior_of_more_layers_is_the_product_of_topics_for_the_words_that_occur(n_topics, above):
    phi, base = RNG.random((6, n_topics)), RNG.random((above, n_topics))
    prior = tokens.allocate_priors(phi, base, lone=False)
    tokens.weigh_words(phi, base, prior, np.array([1, 4, 5]), 1, 3)
    np.testing.assert_allclose(prior[[4, 5], :above], (phi @ base.T)[[4, 5]], rtol=1e-13)
    assert not prior[:4].any()
    assert not prior[:, above:].any()
    assert prior.shape[1] % 8 == 0


@jitted
def found_product(a, b, u):
    return tokens.find_product(a, b, u), tokens.add_products(a, b)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 40])
def test_a_product_is_found_where_its_mass_lies_and_never_where_there_is_none(n):
    a, b = RNG.random(n + 3), RNG.random(n)
    b[n // 2] *= n == 1
    ends = np.cumsum(a[:n] * b)
    starts = np.concatenate([[0.0], ends[:-1]])
    for k in np.flatnonzero(b):
        for u in (starts[k] + 1e-9, 0.5 * (starts[k] + ends[k]), ends[k] - 1e-9):
            assert found_product(a, b, u)[0] == k
    b[n - 1] *= n == 1
    assert b[int(found_product(a, b, 2.0 * ends[-1])[0])] > 0.0  # rounding, exaggerated
    assert found_product(a, b, 0.0)[1] == pytest.approx(a[:n] @ b)
