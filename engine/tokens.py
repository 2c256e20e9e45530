"""Topics of a document's tokens with theta^(1) integrated out: the hottest loop of the house.

A token's topic is drawn from (models.md 1.5)

    P(z = k | rest) proportional to phi_vk (n_jk + a_kj),   a_j = Phi^(2) theta_j^(2)  (r for one layer),

split into the few topics the document already uses, ``phi_vk n_jk``, and one prior mass per word,
``sum_k phi_vk a_kj = sum_c (Phi^(1) Phi^(2))_vc theta_cj^(2)``.  Only when the prior wins is a topic
looked for among all of them: first c given the word, then k given c and the word.

One layer is the same code with a single topic above it, whose column is r and whose activation is 1:
``theta`` is then empty.
"""

from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.jit import compiled, inlined
from engine.streams import Stream, uniform
from engine.upper import FOUR, NONE, ONE, THREE, TWO, Upper, place

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
    """The topics a document uses, packed: slot ``s`` has ``tokens[s]`` of topic ``topic[s]``; ``where`` finds slots."""

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
    """Empty slots for a model of ``n_topics`` topics in layer 1, padded for sums of four."""
    room = n_topics + 4
    return Slots(np.zeros(room, place), np.zeros(room), np.full(n_topics, NOWHERE, place), np.zeros(room))


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
    """Make room for topic ``k`` behind the ``n`` slots in use and keep the padding behind it empty."""
    slots.where[k] = n
    slots.topic[n] = k
    for s in range(n, n + 4):
        slots.tokens[s] = 0.0
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
    for slot in range(kept, kept + 3):
        slots.tokens[slot] = 0.0
    return kept


@inlined
def empty_slots(slots: Slots, n: int) -> None:
    """Leave the slots as a new document wants to find them."""
    for slot in range(n):
        slots.where[slots.topic[slot]] = NOWHERE


@inlined
def copy_priors(glob: Globals, doc: Document, cells: Cells) -> None:
    """Bring the prior rows of a document's words together, one column of ``base`` after the other."""
    prior, near = glob.prior, cells.prior
    for i in range(doc.last - doc.first):
        word = doc.words[doc.first + i]
        for c in range(prior.shape[1]):
            near[c, i] = prior[word, c]


@inlined
def weigh_priors(theta: FloatArray, live: Array, n_live: int, n_cells: int, cells: Cells) -> None:
    """mass[i] = sum_k phi_vk a_kj of every cell: Phi^(1) Phi^(2) theta^(2), or Phi^(1) r for one layer."""
    near, mass = cells.prior, cells.mass
    if len(theta) == 0:
        for i in range(n_cells):
            mass[i] = near[0, i]
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
    """
    phi, base, near, mass = glob.phi, glob.base, cells.prior, cells.mass
    words, counts, topics, first = doc.words, doc.counts, doc.topics, doc.first
    slot_topic, slot_count, where, sums = slots
    weigh_priors(theta, live, n_live, doc.last - first, cells)
    token = NONE
    for cell in range(first, doc.last):
        word = place(words[cell])
        prior = mass[cell - first]
        for _ in range(counts[cell]):
            slot_count[where[topics[token]]] -= 1.0
            total = _running_sums(phi, word, slot_topic, slot_count, place(n), sums)
            u, rng = uniform(rng)
            u *= total + prior
            if u < total:
                slot = NONE
                while sums[slot] <= u:
                    slot += ONE
                k = slot_topic[slot]
            else:
                c = _prior_column(near, cell - first, u - total, theta, live, n_live)
                k, rng = scan(rng, phi, word, base, c, near[c, cell - first])
                slot = where[k]
                if slot == NOWHERE:
                    slot = place(n)
                    n = _open_slot(slots, n, k)
            slot_count[slot] += 1.0
            topics[token] = k
            token += ONE
    return rng, n


@inlined
def _running_sums(
    phi: FloatArray, word: int, slot_topic: Array, slot_count: FloatArray, n: int, sums: FloatArray
) -> float:
    """Write running sums of ``phi_vk n_jk`` over the slots, four at a time (slots are padded); returns the last."""
    total = 0.0
    s = NONE
    while s < n:
        a = phi[word, slot_topic[s]] * slot_count[s]
        b = phi[word, slot_topic[s + ONE]] * slot_count[s + ONE]
        c = phi[word, slot_topic[s + TWO]] * slot_count[s + TWO]
        d = phi[word, slot_topic[s + THREE]] * slot_count[s + THREE]
        b += a
        d += c
        sums[s] = total + a
        sums[s + ONE] = total + b
        sums[s + TWO] = total + (b + c)
        total += b + d
        sums[s + THREE] = total
        s += FOUR
    return total


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
