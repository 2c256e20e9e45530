"""The kernels with several lanes: simulated by threads that exchange values.

A graphics processor runs the same functions; the simulation shows that lanes share their work rightly.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest

from topiary.engine import streams
from topiary.engine.gpu import draws, kept, lanes, layers, relink, tokens


class Warp:
    """``n`` threads in step: every exchange waits for all of them."""

    def __init__(self, n):
        self.n, self.slots, self.place = n, [None] * n, threading.local()
        self.barrier, self.lock = threading.Barrier(n, timeout=60), threading.Lock()
        replaced = {lanes: self.make_lanes()}
        self.streams, self.draws, self.tokens, self.layers, self.kept = (
            relink.copy_module(module, replaced, lambda function: function)
            for module in (streams, draws, tokens, layers, kept)
        )

    def exchange(self, value):
        self.slots[self.place.lane] = value
        self.barrier.wait()
        values = list(self.slots)
        self.barrier.wait()
        return values

    def make_lanes(self) -> ModuleType:
        module = relink.copy_module(lanes, {}, lambda function: function)
        module.LANES = self.n

        def add(table, *place_and_value):
            *place, value = place_and_value
            with self.lock:
                table[tuple(map(int, place))] += value

        def vote(flag):
            return np.uint32(sum(1 << lane for lane, each in enumerate(self.exchange(bool(flag))) if each))

        module.share = lambda value, source: self.exchange(value)[source]
        module.scan = lambda value, lane: np.float32(sum(self.exchange(value)[: lane + 1]))
        module.add_lanes = lambda value: np.float32(sum(self.exchange(value)))
        module.vote = vote
        module.is_any = lambda flag: any(self.exchange(bool(flag)))
        module.find_first = lambda mask: (int(mask) & -int(mask)).bit_length() - 1
        module.count_bits = lambda mask: int(mask).bit_count()
        module.count_before = lambda mask, lane: (int(mask) & ((1 << lane) - 1)).bit_count()
        module.wait = lambda: bool(self.exchange(True))
        module.add_count = add
        module.add_token = lambda ints, place: add(ints, place, np.int32(1))
        return module

    def pad(self, width):
        return -(-width // (2 * self.n)) * 2 * self.n

    def pad_rows(self, rows):
        padded = np.zeros((len(rows), self.pad(rows.shape[1])), np.float32)
        padded[:, : rows.shape[1]] = rows
        return padded

    def run(self, work):
        """Return the results of ``work(lane)`` of all lanes."""

        def run_lane(lane):
            self.place.lane = lane
            with np.errstate(over="ignore"):
                return work(lane)

        with ThreadPoolExecutor(self.n) as pool:
            return list(pool.map(run_lane, range(self.n)))


def draw_simplex(rng, rows, columns):
    weights = rng.gamma(1.0, size=(rows, columns))
    return weights / weights.sum(axis=0)


@pytest.mark.parametrize(("n_lanes", "width"), [(8, 37), (16, 64), (32, 70), (8, 3)])
def test_lanes_choose_the_topic_at_a_point_of_the_mass_and_never_one_of_the_padding(n_lanes, width):
    warp, rng = Warp(n_lanes), np.random.default_rng(1)
    phi, prior, counts = (
        warp.pad_rows(rng.gamma(0.3, size=(2, width))),
        rng.gamma(0.5, size=width),
        np.arange(width) % 3,
    )
    size = warp.pad(width)
    mass, places = np.zeros(size), np.arange(size)
    mass[:width] = phi[1, :width] * (counts + prior)
    order = np.concatenate([places[(places // 2) % n_lanes == lane] for lane in range(n_lanes)])
    ends = np.cumsum(mass[order])
    points = rng.random(40) * 0.999 + 5e-4
    expected = order[np.searchsorted(ends, points * ends[-1])]
    floats = np.zeros(size, np.float32)
    floats[:width] = counts

    def choose(lane):
        own = [warp.layers.lanes.find_place(i, lane) for i in range(size // n_lanes)]
        mine = np.array([prior[k] if k < width else 0.0 for k in own], np.float32)
        row, sums = np.zeros(len(own), np.float32), np.zeros(len(own), np.float32)
        desk = tokens.LaneDesk(mine, row, row, floats, floats.view(np.int32), 0)
        return [warp.tokens.choose_topic(1, np.float32(u), False, lane, phi, sums, floats, desk) for u in points]

    results = np.array(warp.run(choose))
    assert np.all(results == results[0])
    assert np.array_equal(results[0], expected)


@pytest.mark.parametrize("n_lanes", [8, 32])
def test_lanes_sweep_a_document_with_counts_that_agree(n_lanes):
    warp, rng = Warp(n_lanes), np.random.default_rng(2)
    widths, n_tokens = (21, 9), 13
    phi, above = draw_simplex(rng, 30, widths[0]), draw_simplex(rng, *widths)
    words = rng.integers(0, 30, n_tokens).astype(np.uint16)
    topics = rng.integers(0, widths[0], n_tokens).astype(np.uint16)
    theta = warp.pad_rows(rng.gamma(1.0, size=(1, widths[1])))
    sizes = warp.pad(widths[0]), warp.pad(widths[1])
    rows, weights, columns = warp.pad_rows(phi), warp.pad_rows(above), warp.pad_rows(above.T)
    ints = np.zeros(3 * widths[0] + 1 + 4 * max(sizes), np.int32)
    floats = ints.view(np.float32)
    table, tables = np.zeros((30, widths[0]), np.int32), np.zeros(widths, np.int32)
    new, counts, priors = np.zeros_like(topics), np.zeros((1, widths[1]), np.int32), np.zeros(sizes[0])
    new_theta, r = np.zeros_like(theta), warp.pad_rows(np.full((1, widths[1]), 0.3))

    def sweep(lane):
        n, m = sizes[0] // n_lanes, sizes[1] // n_lanes
        prior, row, sums = (np.zeros(n, np.float32) for _ in range(3))
        upper, products = np.zeros(m, np.float32), np.zeros(m, np.float32)
        rng = warp.draws.start_lane(3, 2, 1, 5, lane)
        desk = tokens.LaneDesk(prior, row, upper, floats, ints, 0)
        warp.tokens.set_prior(0, lane, columns, theta, r, desk)
        priors[[warp.layers.lanes.find_place(i, lane) for i in range(n)]] = prior
        warp.tokens.count_topics(topics, 0, n_tokens, lane, ints, 0, sizes[0])
        warp.tokens.draw_document(rng, 0, n_tokens, lane, words, topics, new, rows, True, table, sums, floats, desk)
        warp.layers.lanes.wait()
        warp.tokens.count_topics(new, 0, n_tokens, lane, ints, 0, widths[0])
        rng = warp.draws.start_lane(3, 2, 2, 5, lane)
        warp.layers.raise_tables(
            rng, 0, True, lane, widths[0], weights, theta, counts, True, tables, upper, products, ints, 0
        )
        desk = tokens.LaneDesk(np.zeros(m, np.float32), row, upper, floats, ints, 0)
        warp.tokens.set_prior(0, lane, columns[:0], theta, r, desk)
        warp.layers.draw_activations(rng, 0, True, lane, counts, np.float32(0.5), new_theta, desk)

    warp.run(sweep)
    np.testing.assert_allclose(priors[: widths[0]], above @ theta[0, : widths[1]], rtol=1e-5)
    exact = np.zeros_like(table)
    np.add.at(exact, (words, new), 1)
    assert np.array_equal(table, exact)
    used = exact.sum(axis=0)
    assert np.array_equal(tables.sum(axis=1) > 0, used > 0)
    assert np.all(tables.sum(axis=1) <= used)
    assert np.array_equal(counts[0], tables.sum(axis=0))
    assert np.all(new_theta[0, : widths[1]] > 0)
    assert not new_theta[0, widths[1] :].any()
    assert np.all(np.diff(np.sort(new_theta[0, : widths[1]])[-3:]) > 0)  # lanes have streams of their own


@pytest.mark.parametrize("n_lanes", [8, 16, 32])
def test_lanes_sum_the_rates_and_activations_of_a_document_as_one_does(n_lanes):
    warp, rng = Warp(n_lanes), np.random.default_rng(3)
    width, words = 37, np.array([4, 9, 11], np.int32)
    phi, prior, counts = rng.gamma(0.3, size=(12, width)), rng.gamma(0.5, size=width), np.arange(width) % 3
    size = warp.pad(width)
    rows, ints = warp.pad_rows(phi), np.zeros(size, np.int32)
    ints[:width] = counts
    cell_starts, rates, totals = np.array([0, 1, 3]), np.zeros(3), np.zeros(2)
    theta, kept_counts = np.zeros((2, size), np.float32), np.zeros((2, size), np.float32)

    def add(lane):
        own = [warp.kept.lanes.find_place(i, lane) for i in range(size // n_lanes)]
        shapes = np.array([prior[k] if k < width else 0.0 for k in own], np.float32)
        row, half = np.zeros(len(own), np.float32), np.float32(0.5)
        warp.kept.place_document(1, True, lane, half, half, shapes, ints, 0, theta, kept_counts)
        warp.kept.rate_document(1, True, lane, cell_starts, words, rows, half, shapes, row, ints, 0, rates, totals)

    warp.run(add)
    np.testing.assert_allclose(rates, [0.0, *(phi[words[1:]] @ (prior + counts) / 2)], rtol=1e-5)
    np.testing.assert_allclose(totals, [0.0, (prior + counts).sum() / 2], rtol=1e-5)
    np.testing.assert_allclose(theta[1, :width], (prior + counts) / 4, rtol=1e-5)
    np.testing.assert_allclose(kept_counts[1, :width], counts / 2, rtol=1e-5)
    assert not theta[0].any()


@pytest.mark.parametrize("n_lanes", [8, 32])
def test_lanes_start_a_chain_and_count_the_tables_of_a_single_layer(n_lanes):
    warp, rng = Warp(n_lanes), np.random.default_rng(5)
    width, n_tokens = 21, 120
    phi = np.zeros((2, width))
    phi[0, 3], phi[1, 10:13] = 1.0, 1.0
    words = np.arange(n_tokens).astype(np.uint16) % 2
    rows, r = warp.pad_rows(phi), warp.pad_rows(rng.gamma(1.0, size=(1, width)))
    size, none = warp.pad(width), np.zeros((0, 1), np.float32)
    ints = np.zeros(3 * size, np.int32)
    floats, new, top = ints.view(np.float32), np.zeros(n_tokens, np.uint16), np.zeros((1, width), np.int32)
    table = np.zeros((2, width), np.int32)

    def start(lane):
        prior, row, sums = (np.zeros(size // n_lanes, np.float32) for _ in range(3))
        rng = warp.draws.start_lane(3, 2, 1, 5, lane)
        before, desk = new[:0], tokens.LaneDesk(prior, row, row, floats, ints, 0)
        warp.tokens.set_prior(0, lane, none, none, warp.pad_rows(np.ones((1, width))), desk)
        warp.tokens.count_topics(before, 0, n_tokens, lane, ints, 0, size)
        warp.tokens.draw_document(rng, 0, n_tokens, lane, words, before, new, rows, False, table, sums, floats, desk)
        warp.layers.lanes.wait()
        warp.tokens.count_topics(new, 0, n_tokens, lane, ints, 0, width)
        warp.layers.raise_top(rng, lane, width, r, True, top, ints, 0)

    warp.run(start)
    counts = np.bincount(new, minlength=width)
    assert counts[3] == n_tokens // 2
    assert counts[10:13].sum() == n_tokens // 2
    assert np.all(np.abs(counts[10:13] - n_tokens / 6) < 19)  # 5 deviations
    assert np.array_equal(top[0] > 0, counts > 0)
    assert np.all(top[0] <= counts)


@pytest.mark.parametrize("n_lanes", [8, 16, 32])
def test_lanes_take_the_activations_of_their_document_as_shapes_if_every_document_has_its_own(n_lanes):
    warp, rng = Warp(n_lanes), np.random.default_rng(6)
    rows = warp.pad_rows(rng.gamma(1.0, size=(3, 21)))
    size, none, memory = warp.pad(21), np.zeros((0, 1), np.float32), np.zeros(1, np.float32)
    priors = np.zeros((3, size), np.float32)

    def read(lane):
        prior = np.zeros(size // n_lanes, np.float32)
        desk = tokens.LaneDesk(prior, prior, prior, memory, memory.view(np.int32), 0)
        places = [warp.tokens.lanes.find_place(i, lane) for i in range(len(prior))]
        for document in range(3):
            warp.tokens.set_prior(document, lane, none, none, rows, desk)
            priors[document, places] = prior

    warp.run(read)
    assert np.array_equal(priors, rows)


def test_lanes_seat_customers_with_the_law_of_one_lane():
    warp, n = Warp(8), 150

    def seat(lane):
        streams_of_lane = [warp.draws.start_lane(1, 1, i, 0, lane) for i in range(n)]
        return [warp.draws.draw_tables(rng, 25, np.float32(2.0), lane)[0] for rng in streams_of_lane]

    tables = np.array(warp.run(seat))
    assert np.all(tables == tables[0])
    chances = 2.0 / (2.0 + np.arange(25))
    deviation = (tables[0].mean() - chances.sum()) / np.sqrt((chances * (1 - chances)).sum() / n)
    assert abs(deviation) < 4.5  # one false alarm in 150,000
