"""Topics of a document's tokens with theta^(1) integrated out: the hottest loop of the program.

A token's topic is drawn from (models.md 1.5)

    P(z = k | rest) proportional to phi_vk (n_jk + a_kj),   a_j = Phi^(2) theta_j^(2)  (r for one layer),

as a mixture of two parts: ``phi_vk n_jk`` of the few topics that the document already uses, packed into slots so that a
sweep reads few topics; and the prior mass of the word, ``sum_k phi_vk a_kj = sum_c (Phi^(1) Phi^(2))_vc theta_cj^(2)``.

A model with one layer is treated as having a single topic above, whose column is r and whose activation is 1;
``theta`` is then empty.

The prior mass of a token, ``sum_k phi_vk a_kj``: computed for every word, and topics drawn from it.

The prior wins only a few tokens in a hundred; then the topic is drawn from all topics.  With one layer, ``base`` is r
as a single row, and running sums of ``phi_vk r_k`` over blocks of eight topics, stored for every word, find the block
at once.  With more layers, a topic c of layer 2 is drawn first, then k given c.

Topics of a document's tokens drawn from all topics at once: for documents that use many, or often the prior.

The law is the same, but the weights ``n_jk + a_kj`` of all topics are read for every token; no step
depends on whether a topic is new to the document, which the processor could not predict.
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import simd
from topiary.engine.gibbs.registers import make_registers
from topiary.engine.gibbs.upper import EIGHT, NONE, ONE, SEVEN, Layers, multiply_rows, sum_block, uint
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Stream, draw_uniform

_NO_PLACE = uint(0xFFFFFFFF)


@inlined
def find_place(sums: FloatArray, n: np.uint64, u: float) -> np.uint64:
    """Return the first of ``n`` places, lane after lane, whose running sum exceeds ``u``; rounding leads to any place.

    Place ``s`` is in lane ``s % 8``.  ``sums`` has running sums of each lane in blocks of eight, then those of whole
    lanes.
    """
    n_blocks = (n + SEVEN) // EIGHT
    lanes = simd.load(sums, EIGHT * n_blocks)
    reached, lane = simd.move_up(lanes), simd.count_at_most(lanes, u)
    rank = lane
    for block in range(n_blocks - ONE):
        rank += simd.count_at_most(simd.add(simd.load(sums, EIGHT * block), reached), u)
    return min(EIGHT * (rank - lane * n_blocks) + lane, n - ONE)


@inlined
def _shift_token(weights: FloatArray, gains: np.uint64, loses: np.uint64) -> None:
    """Move a token from topic ``loses`` to topic ``gains``, eight weights at a time, as they are read."""
    block = gains // EIGHT * EIGHT
    simd.store(weights, block, simd.transfer(simd.load(weights, block), block, gains, _NO_PLACE))
    block = loses // EIGHT * EIGHT
    simd.store(weights, block, simd.transfer(simd.load(weights, block), block, _NO_PLACE, loses))


@inlined
def _sum_products(row: FloatArray, weights: FloatArray, sums: FloatArray) -> float:
    """Write running sums of ``row[k] * weights[k]`` in each lane, then those of whole lanes, and return the last.

    Two blocks of eight are added at a time, which halves the chain of additions.
    """
    n = uint(len(row))
    whole, k, total = n // EIGHT * EIGHT, NONE, simd.make_zeros()
    while k + EIGHT < whole:
        first = simd.multiply(simd.load(row, k), simd.load(weights, k))
        second = simd.multiply(simd.load(row, k + EIGHT), simd.load(weights, k + EIGHT))
        simd.store(sums, k, simd.add(total, first))
        total = simd.add(total, simd.add(first, second))
        simd.store(sums, k + EIGHT, total)
        k += EIGHT + EIGHT
    while k < whole:
        total = simd.add(total, simd.multiply(simd.load(row, k), simd.load(weights, k)))
        simd.store(sums, k, total)
        k += EIGHT
    if whole < n:
        simd.store(sums, whole, simd.make_zeros())
        for place in range(whole, n):
            sums[place] = row[place] * weights[place]
        total = simd.add(total, simd.load(sums, whole))
        simd.store(sums, whole, total)
        whole += EIGHT
    lanes = simd.sum_up(total, 0.0)
    simd.store(sums, whole, lanes)
    return simd.take_last(lanes)


@compiled
def draw_from_all(
    rng: Stream, phi: FloatArray, words: Array, of: Array, topics: Array, weights: FloatArray, sums: FloatArray
) -> Stream:
    """Draw the topic of every token in place; token ``i`` is of word ``words[of[i]]``.

    ``weights`` are ``n_jk + a_kj``, followed by space for whole blocks of eight and one block more, as has ``sums``.
    As in ``tokens.py``, a token's sums lack the token drawn before it, which is an outcome of its own.
    """
    n_topics, n_tokens = uint(phi.shape[1]), uint(len(topics))
    latest, before = uint(topics[n_tokens - ONE]), n_topics + EIGHT  # at first no token waits to be counted
    _shift_token(weights, before, latest)
    for token in range(n_tokens):
        row = phi[uint(words[uint(of[token])])]
        _shift_token(weights, before, uint(topics[token]))
        counted = _sum_products(row, weights, sums)
        v, rng = draw_uniform(rng)
        k = find_place(sums, n_topics, v * counted)
        u, rng = draw_uniform(rng)
        before = latest
        latest = k if u * (counted + row[latest]) < counted else latest
        topics[token] = latest
    return rng


def allocate_priors(phi: FloatArray, base: FloatArray, *, lone: bool) -> FloatArray:
    """Return an array for the prior masses of all words, a column per topic of layer 2, or per block of eight topics.

    ``lone`` says that there is only one layer: a ``base`` with one row does not, because layer 2 may have one topic.
    Columns of layer 2 are followed by zeros up to whole blocks of eight.  The system assigns memory when it is written
    to, so words without computed priors cost nothing.
    """
    n_blocks = -(-(phi.shape[1] if lone else len(base)) // 8)
    return np.zeros((phi.shape[0], n_blocks if lone else 8 * n_blocks))


@compiled
def weigh_words(phi: FloatArray, base: FloatArray, prior: FloatArray, words: Array, begin: int, end: int) -> None:
    """Write the rows ``words[begin:end]`` of ``prior = phi @ base'``; results do not depend on the threads."""
    columns = np.zeros((base.shape[1], prior.shape[1]))
    columns[:, : len(base)] = base.T
    for i in range(begin, end):
        multiply_rows(phi[words[i]], columns, prior[words[i]])


@compiled
def add_blocks(phi: FloatArray, base: FloatArray, prior: FloatArray, words: Array, begin: int, end: int) -> None:
    """Write the rows ``words[begin:end]`` of ``prior`` for one layer: running sums of ``phi_vk r_k`` by blocks.

    Numbers are added in the order in which :func:`pick_topic` adds them.
    """
    n = phi.shape[1]
    for i in range(begin, end):
        v = words[i]
        reached = 0.0
        for block in range(prior.shape[1]):
            mass = 0.0
            for k in range(8 * block, min(8 * block + 8, n)):
                mass += phi[v, k] * base[0, k]
            reached += mass
            prior[v, block] = reached


@inlined
def pick_topic(rng: Stream, phi: FloatArray, word: int, base: FloatArray, prior: FloatArray) -> tuple[int, Stream]:
    """Draw k proportional to ``phi[word, k] * base[0, k]``: first its block by the running sums, then k itself."""
    n, last = uint(phi.shape[1]), uint(prior.shape[1]) - ONE
    u, rng = draw_uniform(rng)
    u *= prior[word, last]
    block = NONE
    for b in range(last):
        block += uint(prior[word, b] <= u)
    reached = 0.0
    if block > NONE:
        reached = prior[word, block - ONE]
    k, mass = EIGHT * block, 0.0
    place, stop = k, min(k + EIGHT, n)
    while k < stop:
        mass += phi[word, k] * base[0, k]
        place += uint(reached + mass <= u)
        k += ONE
    return np.int64(min(place, n - ONE)), rng  # type: ignore[return-value]


@inlined
def add_products(a: FloatArray, b: FloatArray) -> float:
    """Return the sum of ``a[k] * b[k]`` over the length of ``b``."""
    n, k, total = uint(len(b)), NONE, 0.0
    while k + EIGHT <= n:
        total += sum_block(a, k, b, k)
        k += EIGHT
    while k < n:
        total += a[k] * b[k]
        k += ONE
    return total


@inlined
def find_product(a: FloatArray, b: FloatArray, u: float) -> np.uint64:
    """Return the first k at which the running sum of ``a[k] * b[k]`` exceeds ``u``: first its block, then itself.

    Within the block there is no branch, which the processor could not predict.
    """
    n, k, reached = uint(len(b)), NONE, 0.0
    while k + EIGHT <= n:
        mass = sum_block(a, k, b, k)
        if reached + mass > u:
            break
        reached += mass
        k += EIGHT
    place, stop = k, min(k + EIGHT, n)
    while k < stop:
        reached += a[k] * b[k]
        place += uint(reached <= u)
        k += ONE
    while place > NONE and (place >= n or a[place] * b[place] == 0.0):  # rounding led beyond the last product
        place -= ONE
    return place


# From this number of topics on, Phi of the tokens to come is fetched ahead, and slots whose topics have lost their last
# token are used again.
MANY = uint(512)

# A document is swept by the loop over all topics if it uses more of them than fit into registers, at least a sixth, and
# if its prior, sum_k a_kj, weighs at least as much as an eighth of its tokens.
MANY_SLOTS, MOST_READ, PRIOR_PART = 24, 6, 8.0
NOWHERE = uint(0xFFFFFFFF)  # the slot of a topic that the document does not use


class Slots(NamedTuple):
    """The topics in use by a document: slot ``s`` has ``tokens[s]`` tokens of ``topic[s]``; ``where[k]`` is k's slot.

    Beyond the slots in use ``tokens`` is 0 and ``topic`` is any topic, so that slots can be read several at a time.
    ``sums`` is space for running sums, ``weights`` for the weights of all topics.
    """

    topic: Array
    tokens: FloatArray
    where: Array
    sums: FloatArray
    weights: FloatArray


@compiled
def make_slots(n_topics: int) -> Slots:
    """Return empty slots for a model of ``n_topics`` topics in layer 1."""
    size = n_topics + 3 * simd.LANES
    return Slots(
        np.zeros(size, uint),
        simd.allocate_aligned(size),
        np.full(n_topics, NOWHERE, uint),
        simd.allocate_aligned(size),
        simd.allocate_aligned(size),
    )


@inlined
def fill_slots(topics: Array, slots: Slots) -> int:
    """Count the topics of a document's tokens and return the number of slots in use.

    The code has no branch on whether a token is the first of its topic, which the processor could not predict.
    """
    n = NONE
    for token in range(uint(len(topics))):
        k = uint(topics[token])
        slot = min(slots.where[k], n)
        slots.where[k] = slot
        slots.topic[slot] = k
        slots.tokens[slot] += 1.0
        n += uint(slot == n)
    return np.int64(n)  # type: ignore[return-value]


@compiled
def find_empty_slot(slots: Slots, n: np.uint64, latest: np.uint64) -> np.uint64:
    """Return the first of the ``n`` slots in use whose topic has lost its last token, or ``n`` if there is none.

    Slot ``latest`` is not empty: its count lacks the token drawn last.
    """
    empty = n
    for slot in range(n):
        empty = min(empty, uint(slot) if (slots.tokens[slot] == 0.0) & (slot != latest) else n)
    return empty


@inlined
def open_slot(slots: Slots, n: np.uint64, slot: np.uint64, k: np.uint64) -> np.uint64:
    """Give topic ``k`` an empty slot, or the one after the ``n`` in use, and return the new number of slots in use."""
    if slot < n:
        slots.where[slots.topic[slot]] = NOWHERE
    slots.where[k] = slot
    slots.topic[slot] = k
    return max(n, slot + ONE)


@inlined
def drop_empty_slots(slots: Slots, n: int) -> int:
    """Remove the slots of topics that lost their last token, and return the number of slots that remain."""
    n_left = 0
    for slot in range(n):
        k = slots.topic[slot]
        if slots.tokens[slot] > 0.0:
            slots.topic[n_left] = k
            slots.tokens[n_left] = slots.tokens[slot]
            slots.where[k] = n_left
            n_left += 1
        else:
            slots.where[k] = NOWHERE
    for slot in range(n_left, n):
        slots.tokens[slot] = 0.0
    return n_left


@inlined
def clear_slots(slots: Slots, n: int) -> None:
    """Reset the slots for a new document."""
    for slot in range(n):
        slots.where[slots.topic[slot]] = NOWHERE
        slots.tokens[slot] = 0.0


class Globals(NamedTuple):
    """The topics, and the prior of layer 1 as rows of ``base``, which all documents read.

    Attributes
    ----------
    phi : (V, K_1) float64
        Phi^(1).
    base : (C, K_1) float64
        Transpose of Phi^(2), or r as one row when there is one layer.
    prior : (V, C or more) float64
        ``Phi^(1) base'``: prior mass of every word under each column, then zeros up to whole blocks of eight.  With
        one layer (V, blocks): running sums of ``phi_vk r_k`` over blocks of eight topics, of which the last is the
        prior mass.
    upper : Layers
        The layers above.
    """

    phi: FloatArray
    base: FloatArray
    prior: FloatArray
    upper: Layers


class DocView(NamedTuple):
    """One document: its cells ``first:last`` of ``words`` and ``counts``, one topic per token, and theta and c."""

    words: Array
    counts: Array
    first: int
    last: int
    topics: Array
    theta: FloatArray
    c: FloatArray


class DocCells(NamedTuple):
    """The cells of one document and their prior masses.

    ``of`` (tokens,) is the cell of every token; ``mass`` (cells,) the prior mass of every cell; ``theta`` theta^(2) of
    the document, with zeros up to whole blocks of eight (not used with one layer).
    """

    of: Array
    mass: FloatArray
    theta: FloatArray


class TokenProgress(NamedTuple):
    """The progress of a sweep of a document.

    ``token`` is the next one to draw.  The two before it went to slots ``latest`` and ``before``, and are not yet
    counted in ``slots.tokens``: if every token waited for the count of the previous one, these waits would dominate
    the time.  So the running sums of a token are computed without the previous token, and a slot is drawn from them by
    a uniform of its own, while the previous token is being drawn.  A second uniform then decides whether the topic is
    that of this slot, that of the previous token, whose mass is known by now, or drawn from the prior.
    """

    rng: Stream
    token: np.uint64
    latest: np.uint64
    before: np.uint64


@compiled
def make_cells(starts: Array, tokens: Array, begin: int, end: int, n_columns: int) -> DocCells:
    """Return space for the longest of documents ``begin:end``; ``tokens`` holds where each document's tokens begin."""
    most_cells, most_tokens = 1, 0
    for j in range(begin, end):
        most_cells = max(most_cells, starts[j + 1] - starts[j])
        most_tokens = max(most_tokens, tokens[j + 1] - tokens[j])
    return DocCells(np.zeros(most_tokens + 2, np.int32), np.empty(most_cells), simd.allocate_aligned(n_columns))


@inlined
def lay_cells(glob: Globals, doc: DocView, cells: DocCells) -> None:
    """Write the cell of each token of a document and, with one layer, the prior masses of its words."""
    spread_cells(doc, cells.of)
    if len(doc.theta) == 0:
        last = uint(glob.prior.shape[1]) - ONE
        for i in range(doc.last - doc.first):
            cells.mass[i] = glob.prior[doc.words[doc.first + i], last]


@inlined
def spread_cells(doc: DocView, of: Array) -> None:
    """Write the cell of every token; two are written per cell even if it has one token, which saves a branch."""
    token = NONE
    for i in range(doc.last - doc.first):
        n = uint(doc.counts[doc.first + i])
        of[token] = i
        of[token + ONE] = i
        if n > ONE + ONE:
            for later in range(ONE + ONE, n):
                of[token + later] = i
        token += n


@inlined
def weigh_priors(prior: FloatArray, doc: DocView, theta: FloatArray, cells: DocCells) -> None:
    """Write the prior mass of every cell, mass[i] = sum_k phi_vk a_kj; with one layer it has been written already."""
    if len(theta) == 0:
        return
    words, first, padded, mass = doc.words, uint(doc.first), cells.theta, cells.mass
    for c in range(len(theta)):
        padded[c] = theta[c]
    width = uint(prior.shape[1])
    for i in range(uint(doc.last - doc.first)):
        row, sums = prior[uint(words[first + i])], simd.make_zeros()
        for begin in range(NONE, width, EIGHT):
            sums = simd.add(sums, simd.multiply(simd.load(row, begin), simd.load(padded, begin)))
        mass[i] = simd.add_up(sums)


@inlined
def start_topics(rng: Stream, phi: FloatArray, doc: DocView, flat: FloatArray) -> Stream:
    """Draw the first topics of tokens for theta^(1) = 1/K_1: proportional to phi_vk; ``flat`` is ones, (K_1,)."""
    token = 0
    for cell in range(doc.first, doc.last):
        word = doc.words[cell]
        total = 0.0
        for k in range(phi.shape[1]):
            total += phi[word, k]
        for _ in range(doc.counts[cell]):
            u, rng = draw_uniform(rng)
            doc.topics[token] = find_product(phi[word], flat, u * total)
            token += 1
    return rng


def _make_register_loop(n_vectors: int) -> tuple[Any, Any]:
    """Return the token loop for documents whose slots fit into ``n_vectors`` registers, and their number of slots."""
    ops = make_registers(n_vectors)
    load, store, gather, transfer, multiply = ops.load, ops.store, ops.gather, ops.transfer, ops.multiply
    sum_up, take_last, count_at_most = ops.sum_up, ops.take_last, ops.count_at_most

    @inlined
    def draw(
        course: TokenProgress,
        phi: FloatArray,
        doc: DocView,
        cells: DocCells,
        slots: Slots,
        used: np.uint64,
        n: np.uint64,
    ) -> tuple[TokenProgress, float]:
        words, topics, first = doc.words, doc.topics, uint(doc.first)
        rng, token, latest, before = course
        tokens, over = load(slots.tokens), 0.0
        while token < n:
            cell = uint(cells.of[token])
            word = uint(words[first + cell])
            tokens = transfer(tokens, before, slots.where[topics[token]])
            sums = sum_up(multiply(gather(phi, word, slots.topic), tokens))
            counted = take_last(sums)
            v, rng = draw_uniform(rng)
            slot = min(count_at_most(sums, v * counted), used - ONE)  # rounding may lead beyond the last slot
            before = latest
            total = counted + phi[word, slots.topic[latest]]
            u, rng = draw_uniform(rng)
            u *= total + cells.mass[cell]
            if u >= total:
                over = u - total
                break
            latest = slot if u < counted else latest
            topics[token] = slots.topic[latest]
            token += ONE
        store(slots.tokens, tokens)
        return TokenProgress(rng, token, latest, before), over

    return draw, uint(ops.size)


_draw_two_vectors, _TWO_VECTORS = _make_register_loop(2)
_draw_four_vectors, _FOUR_VECTORS = _make_register_loop(4)
_draw_six_vectors, _SIX_VECTORS = _make_register_loop(6)


@inlined
def _fetch_slots(phi: FloatArray, word: int, slots: Slots, used: int) -> None:
    """Fetch Phi of a word for the topics of all slots into the cache, which changes no result."""
    s = NONE
    while s < used:
        simd.prefetch(phi, word, slots.topic, s)
        s += EIGHT


@inlined
def _sum_slots(phi: FloatArray, word: int, slots: Slots, used: int, gains: int, loses: int) -> float:
    """Move a token from slot ``loses`` to slot ``gains``; write running sums of ``phi_vk n_jk`` and return the last.

    They are running sums of every lane, slot ``s`` being in lane ``s % 8``, and then those of whole lanes.
    """
    sums = simd.make_zeros()
    s = NONE
    while s < used:
        tokens = simd.transfer(simd.load(slots.tokens, s), s, gains, loses)
        simd.store(slots.tokens, s, tokens)
        sums = simd.add(sums, simd.multiply(simd.gather(phi, word, slots.topic, s), tokens))
        simd.store(slots.sums, s, sums)
        s += EIGHT
    lanes = simd.sum_up(sums, 0.0)
    simd.store(slots.sums, s, lanes)
    return simd.take_last(lanes)


def _make_memory_loop(*, ahead: bool) -> Any:
    """Return the token loop of :func:`_make_register_loop` with counts in memory, eight slots at a time.

    ``ahead``: Phi of the token after the next one is fetched, because with many topics it lies on many cache lines.
    """

    @inlined
    def draw_in_memory(
        course: TokenProgress,
        phi: FloatArray,
        doc: DocView,
        cells: DocCells,
        slots: Slots,
        used: np.uint64,
        n: np.uint64,
    ) -> tuple[TokenProgress, float]:
        words, topics, first = doc.words, doc.topics, uint(doc.first)
        rng, token, latest, before = course
        over = 0.0
        while token < n:
            cell = uint(cells.of[token])
            word = uint(words[first + cell])
            if ahead:
                soon = uint(words[first + uint(cells.of[min(token + ONE + ONE, n - ONE)])])
                _fetch_slots(phi, soon, slots, used)
            counted = _sum_slots(phi, word, slots, used, before, slots.where[topics[token]])
            v, rng = draw_uniform(rng)
            slot = find_place(slots.sums, used, v * counted)
            before = latest
            total = counted + phi[word, slots.topic[latest]]
            u, rng = draw_uniform(rng)
            u *= total + cells.mass[cell]
            if u >= total:
                over = u - total
                break
            latest = slot if u < counted else latest
            topics[token] = slots.topic[latest]
            token += ONE
        return TokenProgress(rng, token, latest, before), over

    return draw_in_memory


_draw_in_memory, _draw_ahead = _make_memory_loop(ahead=False), _make_memory_loop(ahead=True)


@inlined
def _draw_until_prior(
    course: TokenProgress, phi: FloatArray, doc: DocView, cells: DocCells, slots: Slots, used: np.uint64, n: np.uint64
) -> tuple[TokenProgress, float]:
    """Draw topics until the prior wins a token; return the progress, and the point of that draw in the prior mass."""
    if uint(phi.shape[1]) >= MANY:
        course, over = _draw_ahead(course, phi, doc, cells, slots, used, n)
    elif used <= _TWO_VECTORS:
        course, over = _draw_two_vectors(course, phi, doc, cells, slots, used, n)
    elif used <= _FOUR_VECTORS:
        course, over = _draw_four_vectors(course, phi, doc, cells, slots, used, n)
    elif used <= _SIX_VECTORS:
        course, over = _draw_six_vectors(course, phi, doc, cells, slots, used, n)
    else:
        course, over = _draw_in_memory(course, phi, doc, cells, slots, used, n)
    return course, over


@inlined
def _prefer_all_topics(glob: Globals, theta: FloatArray, n_tokens: int, n: int) -> bool:
    """Return whether a document of ``n`` slots is swept faster from all topics: it uses many, and often the prior."""
    n_topics, prior = glob.phi.shape[1], 0.0
    if n <= MANY_SLOTS or n_topics > MOST_READ * n or n_topics >= np.int64(MANY):
        return False
    if len(theta) == 0:
        for k in range(n_topics):
            prior += glob.base[0, k]
    else:
        for c in range(len(theta)):
            prior += theta[c]
    return prior * PRIOR_PART > n_tokens


@inlined
def _weigh_topics(glob: Globals, theta: FloatArray, slots: Slots, n: int) -> None:
    """Write ``n_jk + a_kj`` of all topics to ``slots.weights``."""
    weights, base = slots.weights, glob.base
    if len(theta) == 0:
        for k in range(base.shape[1]):
            weights[k] = base[0, k]
    else:
        multiply_rows(theta, base, weights[: base.shape[1]])
    for slot in range(n):
        weights[slots.topic[slot]] += slots.tokens[slot]


@inlined
def draw_topics(
    rng: Stream, glob: Globals, doc: DocView, theta: FloatArray, cells: DocCells, slots: Slots, n: int
) -> tuple[Stream, int]:
    """Draw the topic of every token, one after another, and return the stream and the number of slots.

    ``theta`` is theta^(2) of the document (empty with one layer).  The sweep starts as if the document's last token had
    just been drawn (see :class:`TokenProgress`).
    """
    n_tokens = uint(len(doc.topics))
    if n_tokens == NONE:
        return rng, n
    if _prefer_all_topics(glob, theta, len(doc.topics), n):
        _weigh_topics(glob, theta, slots, n)
        words = doc.words[doc.first : doc.last]
        rng = draw_from_all(rng, glob.phi, words, cells.of, doc.topics, slots.weights, slots.sums)
        clear_slots(slots, n)
        return rng, fill_slots(doc.topics, slots)
    weigh_priors(glob.prior, doc, theta, cells)
    used, topics = uint(n), doc.topics
    course = TokenProgress(rng, NONE, slots.where[topics[n_tokens - ONE]], NOWHERE)
    slots.tokens[course.latest] -= 1.0
    while True:
        course, over = _draw_until_prior(course, glob.phi, doc, cells, slots, used, n_tokens)
        if course.token >= n_tokens:
            break
        k, rng = _draw_from_prior(course, glob, doc, theta, cells, over)
        latest = slots.where[k]
        if latest == NOWHERE:
            latest = used
            if uint(len(slots.where)) >= MANY:
                latest = find_empty_slot(slots, used, course.before)
            used = open_slot(slots, used, latest, k)
        topics[course.token] = k
        course = TokenProgress(rng, course.token + ONE, latest, course.before)
    slots.tokens[course.latest] += 1.0
    slots.tokens[course.before] += 1.0
    return course.rng, np.int64(used)  # type: ignore[return-value]


@inlined
def _draw_from_prior(
    course: TokenProgress, glob: Globals, doc: DocView, theta: FloatArray, cells: DocCells, over: float
) -> tuple[np.uint64, Stream]:
    """Draw the topic of a token that the prior won; ``over`` is its point in the prior mass."""
    cell = uint(cells.of[course.token])
    word = uint(doc.words[uint(doc.first) + cell])
    if len(theta) == 0:
        k, rng = pick_topic(course.rng, glob.phi, word, glob.base, glob.prior)
        return uint(k), rng
    c = find_product(glob.prior[word], theta, over)
    u, rng = draw_uniform(course.rng)
    return find_product(glob.phi[word], glob.base[c], u * glob.prior[word, c]), rng


@inlined
def count_words(doc: DocView, of: Array, table: Array) -> None:
    """Add a document's tokens to the table x_vk of layer 1; ``of`` is the cell of every token."""
    words, topics, first = doc.words, doc.topics, uint(doc.first)
    for token in range(uint(len(topics))):
        table[uint(words[first + uint(of[token])]), topics[token]] += 1
