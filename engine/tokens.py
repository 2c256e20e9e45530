"""Topics of a document's tokens with theta^(1) integrated out: the hottest loop of the house.

A token's topic is drawn from (models.md 1.5)

    P(z = k | rest) proportional to phi_vk (n_jk + a_kj),   a_j = Phi^(2) theta_j^(2)  (r for one layer),

split into the few topics the document already uses, ``phi_vk n_jk``, and one prior mass per word,
``sum_k phi_vk a_kj = sum_c (Phi^(1) Phi^(2))_vc theta_cj^(2)``.  Only when the prior wins is a topic
looked for among all of them: first c given the word, then k given c and the word.

One layer is the same code with a single topic above it, whose column is r and whose activation is 1:
``theta`` is then empty.
"""

from typing import Any, NamedTuple

import numpy as np

from engine import lanes
from engine.contract import Array, FloatArray
from engine.jit import compiled, inlined
from engine.streams import Stream, uniform
from engine.upper import EIGHT, NONE, ONE, Upper, place

NOWHERE = place(0xFFFFFFFF)  # the slot of a topic that the document does not use


class Globals(NamedTuple):
    """What every document reads: the topics, and the prior of layer 1 as columns of ``base``.

    Attributes
    ----------
    phi : (V, K_1) float64
        Phi^(1).
    base : (C, K_1) float64
        Transpose of Phi^(2), or r as one row when there is one layer.
    prior : (V, C) float64
        ``Phi^(1) base'``: prior mass of every word under each column.
    upper : Upper
        The layers above.
    """

    phi: FloatArray
    base: FloatArray
    prior: FloatArray
    upper: Upper


class Document(NamedTuple):
    """One document: its cells ``first:last`` of ``words`` and ``counts``, one topic per token, theta and c above."""

    words: Array
    counts: Array
    first: int
    last: int
    topics: Array
    theta: FloatArray
    c: FloatArray


class Slots(NamedTuple):
    """The topics a document uses, packed: slot ``s`` has ``tokens[s]`` of topic ``topic[s]``; ``where`` finds slots.

    Behind the slots in use ``tokens`` is 0 and ``topic`` any topic, so that slots can be read eight at a time.
    """

    topic: Array
    tokens: FloatArray
    where: Array
    sums: FloatArray


class Cells(NamedTuple):
    """The words of one document, brought together: ``prior`` (C, cells) and the prior ``mass`` (cells,)."""

    prior: FloatArray
    mass: FloatArray


@compiled
def make_slots(n_topics: int) -> Slots:
    """Empty slots for a model of ``n_topics`` topics in layer 1."""
    room = n_topics + lanes.LANES
    return Slots(np.zeros(room, place), lanes.aligned(room), np.full(n_topics, NOWHERE, place), lanes.aligned(room))


@compiled
def make_cells(starts: Array, begin: int, end: int, n_columns: int) -> Cells:
    """Room for the prior masses of the longest of documents ``begin:end``."""
    longest = 1
    for j in range(begin, end):
        longest = max(longest, starts[j + 1] - starts[j])
    return Cells(np.empty((n_columns, longest)), np.empty(longest))


@inlined
def fill_slots(topics: Array, slots: Slots) -> int:
    """Count the topics of a document's tokens; returns how many slots are in use."""
    n = 0
    for token in range(len(topics)):
        k = topics[token]
        if slots.where[k] == NOWHERE:
            n = _open_slot(slots, n, k)
        slots.tokens[slots.where[k]] += 1.0
    return n


@inlined
def _open_slot(slots: Slots, n: int, k: int) -> int:
    """Make room for topic ``k`` behind the ``n`` slots in use."""
    slots.where[k] = n
    slots.topic[n] = k
    return n + 1


@inlined
def drop_empty(slots: Slots, n: int) -> int:
    """Close the gaps left by topics that lost their last token; returns how many slots remain."""
    kept = 0
    for slot in range(n):
        k = slots.topic[slot]
        if slots.tokens[slot] > 0.0:
            slots.topic[kept] = k
            slots.tokens[kept] = slots.tokens[slot]
            slots.where[k] = kept
            kept += 1
        else:
            slots.where[k] = NOWHERE
    for slot in range(kept, n):
        slots.tokens[slot] = 0.0
    return kept


@inlined
def empty_slots(slots: Slots, n: int) -> None:
    """Leave the slots as a new document wants to find them."""
    for slot in range(n):
        slots.where[slots.topic[slot]] = NOWHERE
        slots.tokens[slot] = 0.0


@inlined
def copy_priors(glob: Globals, doc: Document, cells: Cells) -> None:
    """Bring the prior rows of a document's words together, one column of ``base`` after the other.

    Rows of a single column, that of one layer, are read where they are.
    """
    prior, near = glob.prior, cells.prior
    if len(doc.theta) == 0:
        return
    for i in range(doc.last - doc.first):
        word = doc.words[doc.first + i]
        for c in range(prior.shape[1]):
            near[c, i] = prior[word, c]


@inlined
def weigh_priors(theta: FloatArray, live: Array, n_live: int, n_cells: int, cells: Cells) -> None:
    """mass[i] = sum_k phi_vk a_kj of every cell: Phi^(1) Phi^(2) theta^(2); nothing to do for one layer."""
    near, mass = cells.prior, cells.mass
    if len(theta) == 0:
        return
    for i in range(n_cells):
        mass[i] = 0.0
    for rank in range(n_live):
        c = live[rank]
        weight = theta[c]
        for i in range(n_cells):
            mass[i] += near[c, i] * weight


@inlined
def _prior_column(near: FloatArray, i: int, u: float, theta: FloatArray, live: Array, n_live: int) -> int:
    """Find the topic c of layer 2 at point ``u`` of the prior mass of cell ``i``; 0 for one layer."""
    if len(theta) == 0:
        return 0
    for rank in range(n_live):
        c = live[rank]
        u -= near[c, i] * theta[c]
        if u < 0.0:
            return c
    return live[n_live - 1]


@inlined
def scan(rng: Stream, phi: FloatArray, word: int, base: FloatArray, c: int, total: float) -> tuple[int, Stream]:
    """Draw k proportional to ``phi[word, k] * base[c, k]``, which sum to ``total``: blocks of eight, then singly."""
    n = phi.shape[1]
    u, rng = uniform(rng)
    u *= total
    reached = 0.0
    k = 0
    while k + 8 <= n:
        mass = _block(phi, word, base, c, k)
        if reached + mass > u:
            break
        reached += mass
        k += 8
    last = 0
    while k < n:
        weight = phi[word, k] * base[c, k]
        if weight > 0.0:
            last = k
        reached += weight
        if reached > u:
            return k, rng
        k += 1
    return last, rng


@inlined
def _block(phi: FloatArray, word: int, base: FloatArray, c: int, k: int) -> float:
    """Eight products as a balanced sum: short chains of additions."""
    return (
        (phi[word, k] * base[c, k] + phi[word, k + 1] * base[c, k + 1])
        + (phi[word, k + 2] * base[c, k + 2] + phi[word, k + 3] * base[c, k + 3])
    ) + (
        (phi[word, k + 4] * base[c, k + 4] + phi[word, k + 5] * base[c, k + 5])
        + (phi[word, k + 6] * base[c, k + 6] + phi[word, k + 7] * base[c, k + 7])
    )


@inlined
def sum_of_products(phi: FloatArray, word: int, base: FloatArray, c: int) -> float:
    """Sum of ``phi[word, k] * base[c, k]`` over k, in the order in which :func:`scan` adds."""
    n = phi.shape[1]
    total = 0.0
    for block in range(n // 8):
        total += _block(phi, word, base, c, 8 * block)
    for k in range(n - n % 8, n):
        total += phi[word, k] * base[c, k]
    return total


@inlined
def start_topics(rng: Stream, phi: FloatArray, doc: Document, flat: FloatArray) -> Stream:
    """First topics of a document's tokens: theta^(1) = 1/K_1, so proportional to phi_vk; ``flat`` is ones, (1, K_1)."""
    token = 0
    for cell in range(doc.first, doc.last):
        word = doc.words[cell]
        total = 0.0
        for k in range(phi.shape[1]):
            total += phi[word, k]
        for _ in range(doc.counts[cell]):
            k, rng = scan(rng, phi, word, flat, 0, total)
            doc.topics[token] = k
            token += 1
    return rng


@inlined
def draw_topics(
    rng: Stream,
    glob: Globals,
    doc: Document,
    theta: FloatArray,
    live: Array,
    n_live: int,
    cells: Cells,
    slots: Slots,
    n: int,
) -> tuple[Stream, int]:
    """Draw every token's topic anew, one after another; returns the stream and the number of slots.

    ``theta`` is theta^(2) of the document (empty for one layer), ``live`` its topics that matter.

    The masses of a token wait for the token before it: these waits, one after another, would be all the time
    there is.  So running sums are taken without the token just drawn, while it is being drawn, and its own mass
    ``extra`` is added to those from its slot ``latest`` on: that is all that has to wait.  ``slots.tokens`` learns
    of a token one later still (``before``).  The last token of the sweep before is the first to be late.
    """
    weigh_priors(theta, live, n_live, doc.last - doc.first, cells)
    if len(doc.topics) == 0:
        return rng, n
    phi, near, mass = glob.phi, cells.prior, cells.mass
    words, counts, topics, first = doc.words, doc.counts, doc.topics, doc.first
    one_layer = len(theta) == 0
    used, k, token = place(n), place(topics[len(topics) - 1]), NONE
    latest, before = slots.where[k], NOWHERE
    slots.tokens[latest] -= 1.0
    for cell in range(first, doc.last):
        word = place(words[cell])
        prior = glob.prior[word, 0] if one_layer else mass[cell - first]
        for _ in range(counts[cell]):
            total = _sum_slots(phi, word, slots, used, before, slots.where[topics[token]])
            before = latest
            extra = phi[word, k]
            total += extra
            u, rng = uniform(rng)
            u *= total + prior
            if u < total:
                latest = min(_find_slot(slots.sums, used, u, extra, latest), used - ONE)
                k = slots.topic[latest]
            else:
                c = _prior_column(near, cell - first, u - total, theta, live, n_live)
                found, rng = scan(rng, phi, word, glob.base, c, prior if one_layer else near[c, cell - first])
                k = place(found)
                latest = slots.where[k]
                if latest == NOWHERE:
                    latest = used
                    used = place(_open_slot(slots, used, k))
            topics[token] = k
            token += ONE
    slots.tokens[latest] += 1.0
    slots.tokens[before] += 1.0
    return rng, np.int64(used)  # type: ignore[return-value]


@inlined
def _sum_slots(phi: FloatArray, word: int, slots: Slots, used: int, gains: int, loses: int) -> float:
    """Give slot ``gains`` a token and take one from ``loses``; running sums of ``phi_vk n_jk``, of which the last."""
    total = 0.0
    s = NONE
    while s < used:
        tokens = lanes.transfer(lanes.load(slots.tokens, s), s, gains, loses)
        lanes.store(slots.tokens, s, tokens)
        sums = lanes.running(lanes.product(lanes.gather(phi, word, slots.topic, s), tokens), total)
        lanes.store(slots.sums, s, sums)
        total = lanes.last(sums)
        s += EIGHT
    return total


@inlined
def _find_slot(sums: FloatArray, used: int, u: float, extra: float, latest: int) -> Any:
    """Find the first slot above ``u`` among running sums that lack ``extra`` from slot ``latest`` on.

    It may lie behind the last slot by a rounding.
    """
    below, after = NONE, NONE
    s = NONE
    while s < used:
        eight = lanes.load(sums, s)
        below += lanes.not_above(eight, u)
        after += lanes.not_above(eight, u - extra)
        s += EIGHT
    return below if below < latest else max(after, latest)


@inlined
def count_words(doc: Document, table: Array) -> None:
    """Add a document's tokens to the table x_vk of layer 1."""
    words, counts, topics = doc.words, doc.counts, doc.topics
    token = NONE
    for cell in range(doc.first, doc.last):
        word = place(words[cell])
        for _ in range(counts[cell]):
            table[word, topics[token]] += 1
            token += ONE
