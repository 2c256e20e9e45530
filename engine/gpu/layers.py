"""The layers above layer 1 of a document: tables are sent up, rates and activations drawn (models.md 1.1, 2 to 5).

Layer ``l`` of the paper is index ``l - 1``.  The lanes of a document go through its topics in use one after another.
"""

from math import exp, log1p

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu import draws, lanes, tokens
from topiary.engine.jit import compiled, inlined

uint = np.uint64
LEAST_RATE = 1e-20  # so that q is finite in single precision
SLOTS = 1024  # numbers to which documents add their q, so that few add to the same one at a time
_UNIT = np.float32(4294967296.0)  # 2^32: sums of q are integers in this unit, and exact in any order


@inlined
def list_counts(ints: Array, base: int, width: int, lane: int) -> int:
    """List the topics with counts and return their number.

    The counts are ``ints[base : base + width]``; the next ``width`` numbers become the counts of the listed topics,
    and the ``width`` after them the topics.
    """
    n, k = 0, lane
    for _ in range((width + lanes.LANES - 1) // lanes.LANES):
        count = ints[uint(base + k)] if k < width else np.int32(0)
        mask = lanes.vote(count > 0)
        if count > 0:
            slot = base + width + n + lanes.count_before(mask, lane)
            ints[uint(slot)] = count
            ints[uint(slot + width)] = np.int32(k)
        n += lanes.count_bits(mask)
        k += lanes.LANES
    lanes.wait()
    return n


@inlined
def raise_tables(
    rng: streams.Stream,
    document: int,
    is_document: bool,
    lane: int,
    width: int,
    weights: FloatArray,
    theta: FloatArray,
    counts: Array,
    keep: bool,
    table: Array,
    above: FloatArray,
    sums: FloatArray,
    ints: Array,
    base: int,
) -> None:
    """Draw x^(l+1) ~ CRT(m^(l), Phi^(l+1) theta^(l+1)) and split it over the topics of layer l + 1.

    Parameters
    ----------
    rng : Stream
        Of this lane.
    document : int
    is_document : bool
        False for a group without a document, whose counts are 0.
    lane, width : int
        ``width`` is K_l; the counts m^(l) are in ``ints[base : base + width]``.
    weights : (K_l, padded K_{l+1}) float32
        Phi^(l+1).
    theta : (documents, padded K_{l+1}) float32
    counts : (documents, K_{l+1}) int32
        Gets m^(l+1).
    keep : bool
        Whether tables are added to ``table``.
    table : (K_l, K_{l+1}) int32
    above, sums : (entries,) float32
        Working memory of the lane.
    ints : Array
        The memory of the group, ``3 width + padded K_{l+1}`` numbers from ``base`` on.
    base : int
    """
    n = list_counts(ints, base, width, lane)
    lanes.load_row(theta, document, lane, above)
    new = base + 3 * width
    for i in range(len(sums)):
        ints[uint(new + lanes.find_place(i, lane))] = np.int32(0)
    x = 0
    while lanes.is_any(x < n):
        customers, k = 0, 0
        if x < n:
            customers, k = ints[uint(base + width + x)], ints[uint(base + 2 * width + x)]
        lanes.load_row(weights, k, lane, sums)
        total = draws.sum_products(sums, above, sums)
        reached = lanes.scan(total, lane)
        mass = lanes.share(reached, lanes.LANES - 1)
        tables, rng = draws.draw_tables(rng, customers, mass + np.float32(draws.LEAST), lane)
        u, q = np.float32(0.0), 0
        while lanes.is_any(q < tables):
            if q % lanes.LANES == 0 and q < tables:
                u, rng = draws.draw_single(rng)
            point = lanes.share(u, q % lanes.LANES) * mass
            entry, source = draws.pick_entry(sums, total, reached, point)
            if lane == source and q < tables:
                c = lanes.find_place(entry, lane)
                ints[uint(new + c)] += np.int32(1)
                if keep:
                    lanes.add_count(table, k, c, np.int32(1))
            q += 1
        x += 1
    for i in range(len(sums)):
        c = lanes.find_place(i, lane)
        if is_document and c < counts.shape[1]:
            counts[uint(document), uint(c)] = ints[uint(new + c)]
    lanes.wait()


@inlined
def raise_top(
    rng: streams.Stream, lane: int, width: int, r: FloatArray, keep: bool, top: Array, ints: Array, base: int
) -> None:
    """Draw x_k^(L+1) ~ CRT(m_k^(L), r_k) and add it to ``top`` (1, K_L); memory as in :func:`raise_tables`."""
    n = list_counts(ints, base, width, lane)
    x = 0
    while lanes.is_any(x < n):
        customers, k = 0, 0
        if x < n:
            customers, k = ints[uint(base + width + x)], ints[uint(base + 2 * width + x)]
        tables, rng = draws.draw_tables(rng, customers, r[0, uint(k)], lane)
        if keep and lane == 0 and x < n:
            lanes.add_count(top, 0, k, np.int32(tables))
        x += 1
    lanes.wait()


@inlined
def load_counts(counts: Array, document: int, is_document: bool, lane: int, ints: Array, base: int, width: int) -> None:
    """Read the counts of a document into ``ints[base : base + width]``; zeros for a group without one."""
    k = lane
    while k < width:
        ints[uint(base + k)] = counts[uint(document), uint(k)] if is_document else np.int32(0)
        k += lanes.LANES
    lanes.wait()


@inlined
def draw_activations(
    rng: streams.Stream,
    document: int,
    is_document: bool,
    lane: int,
    counts: Array,
    scale: float,
    theta: FloatArray,
    desk: tokens.LaneDesk,
) -> None:
    """Draw theta_k ~ Gam(shape_k + m_k, scale) of one layer.

    The factors of small shapes are drawn first, in logarithms; only activations that are not nearly zero are drawn
    further, and the lanes share these.

    Parameters
    ----------
    rng : Stream
    document : int
    is_document : bool
    lane : int
    counts : (documents, K) int32
    scale : float32
    theta : (documents, padded K) float32
        Gets the draws.
    desk : LaneDesk
        Has the prior shapes, which are overwritten; uses twice the padded K of the memory of the group.
    """
    shapes, floats, base = desk.prior, desk.floats, desk.base
    n, half, width = 0, theta.shape[1], counts.shape[1]
    for i in range(len(shapes)):
        k = lanes.find_place(i, lane)
        shape, boost, is_drawn = shapes[i], np.float32(0.0), k < width
        if is_drawn:
            shape += np.float32(counts[uint(document), uint(k)])
            if shape < np.float32(1.0):
                boost, rng = draws.draw_boost(rng, shape)
                is_drawn = boost > np.float32(draws.NEGLIGIBLE)
                shape += np.float32(1.0)
        mask = lanes.vote(is_drawn)
        shapes[i] = np.float32(-1.0)
        if is_drawn:
            slot = n + lanes.count_before(mask, lane)
            floats[uint(base + slot)], floats[uint(base + half + slot)] = shape, boost
            shapes[i] = np.float32(slot)
        n += lanes.count_bits(mask)
    lanes.wait()
    slot = lane
    while slot < n:
        value, rng = draws.draw_large_gamma(rng, floats[uint(base + slot)])
        floats[uint(base + slot)] = value * exp(floats[uint(base + half + slot)])
        slot += lanes.LANES
    lanes.wait()
    for i in range(len(shapes)):
        k = lanes.find_place(i, lane)
        value = np.float32(draws.LEAST)
        if shapes[i] >= np.float32(0.0):
            value = max(floats[uint(base + np.int64(shapes[i]))] * scale, value)
        if is_document:
            theta[uint(document), uint(k)] = value if k < width else np.float32(0.0)
    lanes.wait()


@compiled
def sum_rows(rows: FloatArray, width: int, column: int, out: FloatArray) -> None:
    """Write the sum of the first ``width`` numbers of every row to a column of ``out``."""
    for j in range(lanes.find_first_item(), len(rows), lanes.count_workers()):
        total = np.float32(0.0)
        for k in range(width):
            total += rows[uint(j), uint(k)]
        out[uint(j), uint(column)] = total


@compiled
def fill_rows(value: float, width: int, rows: FloatArray) -> None:
    """Set the first ``width`` numbers of every row to a value, and the rest to 0."""
    for j in range(lanes.find_first_item(), len(rows), lanes.count_workers()):
        for k in range(rows.shape[1]):
            rows[uint(j), uint(k)] = np.float32(value) if k < width else np.float32(0.0)


@compiled
def draw_rates(
    hyper: Hyper,
    seed: int,
    purpose: int,
    step: int,
    numbers: Array,
    starts: Array,
    sums: FloatArray,
    r_total: float,
    draws_rates: bool,
    keep: bool,
    c: FloatArray,
    scales: FloatArray,
    q: Array,
) -> None:
    """Draw p^(2) ~ Beta(a0 + x_., b0 + sum theta^(2)), c^(l) ~ Gam(e0 + sum theta^(l), 1/(f0 + sum theta^(l-1))).

    Parameters
    ----------
    hyper : Hyper
    seed, purpose, step : int
    numbers : (documents,) int64
    starts : (documents + 1,) int64
        Where the tokens of each document begin.
    sums : (documents, L - 1) float32
        ``sums[:, l - 2]`` is the sum of theta^(l).
    r_total : float
        Sum of r, which is theta^(L+1).
    draws_rates : bool
        False keeps the rates of ``c``.
    keep : bool
        Whether q^(L+1) is added to ``q``.
    c : (documents, L) float32
        c^(2) ... c^(L+1), changed in place.
    scales : (documents, L) float32
        Gets ``1 / (c^(l+1) + q^(l))`` of layers l = 1..L.
    q : (1, SLOTS) int64
        Parts of the sum of q^(L+1) over documents, in units of 2^-32.
    """
    n_layers = c.shape[1]
    for item in range(lanes.find_first_item(), len(numbers), lanes.count_workers()):
        j = uint(item)
        if draws_rates:
            rng = draws.start_lane(seed, purpose, step, numbers[j], 0)
            n_tokens = np.float32(starts[uint(item + 1)] - starts[j])
            below = sums[j, uint(0)] if n_layers > 1 else np.float32(r_total)
            g, rng = draws.draw_gamma(rng, np.float32(hyper.b0) + below)
            h, rng = draws.draw_gamma(rng, np.float32(hyper.a0) + n_tokens)
            c[j, uint(0)] = max(g / h, np.float32(LEAST_RATE))
            for layer in range(1, n_layers):
                total = sums[j, uint(layer)] if layer < n_layers - 1 else np.float32(r_total)
                g, rng = draws.draw_gamma(rng, np.float32(hyper.e0) + total)
                c[j, uint(layer)] = max(g / (np.float32(hyper.f0) + below), np.float32(LEAST_RATE))
                below = total
        value = np.float32(1.0)
        for layer in range(n_layers):
            rate = c[j, uint(layer)]
            scales[j, uint(layer)] = np.float32(1.0) / (rate + value)
            value = np.float32(log1p(value / rate))
        if keep:
            lanes.add_count(q, 0, item % SLOTS, np.int64(value * _UNIT))


@compiled
def sweep_tables(
    sizes: tuple[int, int],
    seed: int,
    purpose: int,
    step: int,
    order: Array,
    numbers: Array,
    starts: Array,
    topics: Array,
    counts: Array,
    weights: FloatArray,
    theta: FloatArray,
    r: FloatArray,
    new: Array,
    keep: bool,
    table: Array,
) -> None:
    """Send the tables of a layer up in all documents, with one lane.

    Parameters
    ----------
    sizes : tuple of int
        K_l, and the padded K_{l+1}.
    seed, purpose, step : int
    order : (documents,) int32
    numbers, starts : Array
        As in :func:`draw_rates`.
    topics : (tokens,) uint16
    counts : (documents, K_l) int32
        m^(l), or no rows for layer 1, whose counts are those of ``topics``.
    weights : (K_l, padded K_{l+1}) float32
        No rows for the top layer.
    theta : (documents, padded K_{l+1}) float32
    r : (1, padded K_L) float32
    new : (documents, K_{l+1}) int32
        Gets m^(l+1).
    keep : bool
    table : (K_l, K_{l+1}) int32
        (1, K_L) for the top layer.
    """
    above, sums = np.empty(sizes[1], np.float32), np.empty(sizes[1], np.float32)
    ints = np.zeros(3 * sizes[0] + sizes[1], np.int32)
    for item in range(len(order)):
        j = order[item]
        rng = draws.start_lane(seed, purpose, step, numbers[j], 0)
        if len(counts) == 0:
            tokens.count_topics(topics, starts[j], starts[j + 1] - starts[j], 0, ints, 0, sizes[0])
        else:
            load_counts(counts, j, True, 0, ints, 0, sizes[0])
        if len(weights) == 0:
            raise_top(rng, 0, sizes[0], r, keep, table, ints, 0)
        else:
            raise_tables(rng, j, True, 0, sizes[0], weights, theta, new, keep, table, above, sums, ints, 0)


@compiled
def sweep_activations(
    sizes: tuple[int, int],
    seed: int,
    purpose: int,
    step: int,
    order: Array,
    numbers: Array,
    columns: FloatArray,
    above_theta: FloatArray,
    r: FloatArray,
    counts: Array,
    scales: FloatArray,
    layer: int,
    theta: FloatArray,
) -> None:
    """Draw theta of the layer with index ``layer`` in all documents, with one lane.

    ``sizes`` are the padded widths of this layer and of the one above; the rest is as in :func:`draw_activations` and
    :func:`engine.gpu.tokens.set_prior`.
    """
    desk = tokens.make_desk(sizes)
    for item in range(len(order)):
        j = order[item]
        rng = draws.start_lane(seed, purpose, step, numbers[j], 0)
        tokens.set_prior(j, 0, columns, above_theta, r, desk)
        draw_activations(rng, j, True, 0, counts, scales[j, layer], theta, desk)
