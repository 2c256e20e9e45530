"""The topics of tokens, with theta^(1) integrated out (models.md 1.5): the lanes draw one token after another.

``P(z = k | rest)`` is proportional to ``phi_vk (n_jk + a_kj)`` with ``a_j = Phi^(2) theta_j^(2)``, r for one layer.
All topics are weighed for every token, so that all lanes of all documents do the same work.
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, FloatArray
from topiary.engine.gpu import draws, lanes
from topiary.engine.jit import compiled, inlined

uint = np.uint64
INVISIBLE = 1e-9  # share of an activation in their sum below which single precision does not see it


@inlined
def count_topics(topics: Array, first: int, n_tokens: int, lane: int, ints: Array, base: int, width: int) -> None:
    """Count the tokens of every topic of a document in ``ints[base : base + width]``; zeros without any topics."""
    k = lane
    while k < width:
        ints[uint(base + k)] = np.int32(0)
        k += lanes.LANES
    lanes.wait()
    token = lane
    while token < n_tokens and len(topics) > 0:
        lanes.add_token(ints, base + topics[uint(first + token)])
        token += lanes.LANES
    lanes.wait()


class LaneDesk(NamedTuple):
    """Working memory of a lane and of its group.

    ``prior`` (entries,) are the prior shapes a_kj of the topics of the lane; ``row`` (entries,), and ``above`` for the
    layer above, are scratch.  ``floats`` and ``ints`` are two views of the memory of the group, whose numbers begin at
    ``base``.
    """

    prior: Array
    row: Array
    above: Array
    floats: Array
    ints: Array
    base: int


@inlined
def weigh_parents(columns: FloatArray, lane: int, desk: LaneDesk) -> None:
    """Write ``Phi theta`` to ``desk.prior``, by the list of the activations that single precision sees.

    Parameters
    ----------
    columns : (K_l, padded K_{l-1}) float32
        The topics of layer l, one a row.
    lane : int
    desk : LaneDesk
        ``above`` is theta^(l) of the document, of which each lane has its entries.  Activations are listed in the
        memory of the group, and their topics ``len(columns)`` later.
    """
    out, row, above, floats, ints, base = desk
    n, width = 0, len(columns)
    total = np.float32(0.0)
    for i in range(len(above)):
        total += above[i]
    least = lanes.add_lanes(total) * np.float32(INVISIBLE)
    for i in range(len(above)):
        is_live = above[i] > least
        mask = lanes.vote(is_live)
        if is_live:
            slot = base + n + lanes.count_before(mask, lane)
            floats[uint(slot)] = above[i]
            ints[uint(slot + width)] = np.int32(lanes.find_place(i, lane))
        n += lanes.count_bits(mask)
    lanes.wait()
    for i in range(len(out)):
        out[i] = np.float32(draws.LEAST)
    q = 0
    while lanes.is_any(q < n):
        weight, c = np.float32(0.0), 0
        if q < n:
            weight, c = floats[uint(base + q)], ints[uint(base + width + q)]
        lanes.load_row(columns, c, lane, row)
        for i in range(len(out)):
            out[i] += row[i] * weight
        q += 1
    lanes.wait()


@inlined
def choose_topic(
    word: int,
    point: float,
    is_counted: bool,
    lane: int,
    phi: FloatArray,
    sums: FloatArray,
    pairs: FloatArray,
    desk: LaneDesk,
) -> Any:
    """Return the topic at ``point``, a uniform, of the mass ``phi_vk (n_jk + a_kj)`` of a word.

    It is counted if ``is_counted``.  The arguments are as in :func:`draw_document`; all lanes return the topic.
    """
    prior, row, base = desk.prior, desk.row, desk.base
    lanes.load_row(phi, word, lane, row)
    lanes.load_memory(pairs, base, lane, sums)
    total = np.float32(0.0)
    for i in range(len(sums)):
        total += row[i] * (sums[i] + prior[i])
        sums[i] = total
    reached = lanes.scan(total, lane)
    mass = lanes.share(reached, lanes.LANES - 1)
    entry, source = draws.pick_entry(sums, total, reached, point * mass)
    k = np.int32(lanes.find_place(entry, lane))
    if is_counted and lane == source:
        desk.floats[uint(base + k)] += np.float32(1.0)
    return lanes.share(k, source)


@inlined
def find_topic(topics: Array, token: int) -> Any:
    """Return the topic of a token, 0 without any topics."""
    return np.int32(topics[uint(token)]) if len(topics) > 0 else np.int32(0)


@inlined
def draw_document(
    rng: streams.Stream,
    first: int,
    n_tokens: int,
    lane: int,
    words: Array,
    topics: Array,
    new: Array,
    phi: FloatArray,
    keep: bool,
    table: Array,
    sums: FloatArray,
    pairs: FloatArray,
    desk: LaneDesk,
) -> None:
    """Draw the topic of every token of a document once, in their order.

    Parameters
    ----------
    rng : Stream
        Of this lane.
    first, n_tokens : int
        The document's tokens are ``words[first : first + n_tokens]``; none for a group without a document.
    lane : int
    words : (tokens,) uint16 or int32
    topics, new : (tokens,) uint16
        Topics before and after.  None before: they are drawn in proportion to ``phi_vk a_kj``, and not counted.
    phi : (V, padded K_1) float32
    keep : bool
        Whether the new topics are added to ``table``.
    table : (V, K_1) int32
        x_vk^(1).
    sums : (entries,) float32
        Working memory of the lane.
    pairs : Array
        A third view of the memory of the group.
    desk : LaneDesk
        Has the prior shapes; the counts n_jk are in the memory of the group.
    """
    floats, base = desk.floats, desk.base
    continues = len(topics) > 0
    for i in range(len(desk.prior)):
        k = base + lanes.find_place(i, lane)
        floats[uint(k)] = np.float32(desk.ints[uint(k)])
    lanes.wait()
    start = 0
    while lanes.is_any(start < n_tokens):
        mine = start + lane
        word, old, latest, u = np.int32(0), np.int32(0), np.int32(0), np.float32(0.0)
        if start < n_tokens:
            u, rng = draws.draw_single(rng)
        if mine < n_tokens:
            word = np.int32(words[uint(first + mine)])
            old = find_topic(topics, first + mine)
        for q in range(lanes.LANES):
            is_counted = continues and start + q < n_tokens
            before, v, point = lanes.share(old, q), lanes.share(word, q), lanes.share(u, q)
            if is_counted and lane == lanes.find_owner(before):
                floats[uint(base + before)] -= np.float32(1.0)
            k = choose_topic(v, point, is_counted, lane, phi, sums, pairs, desk)
            if lane == q:
                latest = k
        if mine < n_tokens:
            new[uint(first + mine)] = latest
            if keep:
                lanes.add_count(table, word, latest, np.int32(1))
        start += lanes.LANES


@inlined
def set_prior(document: int, lane: int, columns: FloatArray, theta: FloatArray, r: FloatArray, desk: LaneDesk) -> None:
    """Write the prior shapes of a layer: Phi theta of the layer above, or r if there is none (no rows).

    ``r`` has one row, or one for every document.
    """
    if len(columns) == 0:
        lanes.load_row(r, document if len(r) > 1 else 0, lane, desk.prior)
        return
    lanes.load_row(theta, document, lane, desk.above)
    weigh_parents(columns, lane, desk)


@compiled
def make_desk(sizes: tuple[int, int]) -> LaneDesk:
    """Return working memory of one lane; ``sizes`` are the padded widths of a layer and of the one above."""
    prior, row, above = np.empty(sizes[0], np.float32), np.empty(sizes[0], np.float32), np.empty(sizes[1], np.float32)
    floats = np.zeros(2 * max(sizes), np.float32)
    return LaneDesk(prior, row, above, floats, floats.view(np.int32), 0)


@compiled
def sweep_tokens(
    sizes: tuple[int, int],
    seed: int,
    purpose: int,
    step: int,
    order: Array,
    numbers: Array,
    starts: Array,
    words: Array,
    topics: Array,
    new: Array,
    phi: FloatArray,
    columns: FloatArray,
    theta: FloatArray,
    r: FloatArray,
    keep: bool,
    table: Array,
) -> None:
    """Draw the topics of the tokens of all documents, one document after another, with one lane.

    ``sizes`` are the padded widths of layers 1 and 2; the rest is as in :func:`draw_document` and :func:`set_prior`.
    """
    desk, sums = make_desk(sizes), np.empty(sizes[0], np.float32)
    for item in range(len(order)):
        j = order[item]
        n_tokens = starts[j + 1] - starts[j]
        rng = draws.start_lane(seed, purpose, step, numbers[j], 0)
        set_prior(j, 0, columns, theta, r, desk)
        count_topics(topics, starts[j], n_tokens, 0, desk.ints, 0, sizes[0])
        draw_document(rng, starts[j], n_tokens, 0, words, topics, new, phi, keep, table, sums, desk.floats, desk)
