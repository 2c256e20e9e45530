"""Gibbs sweeps with theta^(1) integrated out: the fast local sampler of the Poisson link.

A document is swept in one go, while the topics of its words sit in cache.  With theta^(1) integrated
out (models.md 1.5) a token's topic is drawn from

    P(z = k | rest) proportional to phi_vk (n_jk + a_kj),   a_j = Phi^(2) theta_j^(2)  (r for one layer),

split into the few topics the document already uses, ``phi_vk n_jk``, and one prior mass per word,
``sum_k phi_vk a_kj = sum_c (Phi^(1) Phi^(2))_vc theta_cj^(2)``.  The layers above are in ``upper.py``.

One layer is the same code with a single topic above it, whose column is r and whose activation is 1.
"""

from typing import NamedTuple

import numpy as np

from engine import upper as above
from engine.upper import FOUR, NONE, ONE, THREE, TWO, place
from engine.augment import crt
from engine.contract import Array, FloatArray
from engine.jit import compiled, inlined
from engine.streams import CHAIN, INFER, stream, uniform

NOWHERE = place(0xFFFFFFFF)  # the slot of a topic that the document does not use


class Globals(NamedTuple):
    """What every document reads: the topics, and the prior of layer 1 as ``base`` columns.

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
    upper: above.Upper


class Tables(NamedTuple):
    """Counts collected by one thread; integers, so that they add up the same in any order.

    ``words`` (V, K_1) is the table x_vk of layer 1, ``upper`` those of layers 2..L laid out like
    ``Upper.weights``, ``top`` (K_L,) the x_k^(L+1) that drive r.
    """

    words: Array
    upper: Array
    top: Array


class Documents(NamedTuple):
    """Documents and their local variables.

    ``words``, ``counts``, ``starts``, ``numbers`` are the batch; ``tokens`` (documents + 1,) int64 tells
    where a document's tokens begin in ``topics`` (uint16, one topic per token); ``theta`` (documents, T)
    holds layers 2..L and ``c`` (documents, L) the rates c^(2) ... c^(L+1).
    """

    words: Array
    counts: Array
    starts: Array
    numbers: Array
    tokens: Array
    topics: Array
    theta: FloatArray
    c: FloatArray


class Slots(NamedTuple):
    """The topics one document uses, packed: ``count[s]`` tokens in topic ``topic[s]``; ``where`` inverts it."""

    topic: Array
    count: FloatArray
    where: Array
    sums: FloatArray


class Cells(NamedTuple):
    """The words of one document, brought together: ``prior`` (C, cells) and the prior ``mass`` (cells,)."""

    prior: FloatArray
    mass: FloatArray


@compiled
def make_slots(n_topics):
    """Empty slots for a model of ``n_topics`` topics in layer 1, padded for sums of four."""
    room = n_topics + 4
    return Slots(np.zeros(room, place), np.zeros(room), np.full(n_topics, NOWHERE, place), np.zeros(room))


@inlined
def scan(rng, phi, word, base, c, total):
    """Draw k proportional to ``phi[word, k] * base[c, k]``, which sum to ``total``: blocks of eight, then one by one."""
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
def _block(phi, word, base, c, k):
    return (
        (phi[word, k] * base[c, k] + phi[word, k + 1] * base[c, k + 1])
        + (phi[word, k + 2] * base[c, k + 2] + phi[word, k + 3] * base[c, k + 3])
    ) + (
        (phi[word, k + 4] * base[c, k + 4] + phi[word, k + 5] * base[c, k + 5])
        + (phi[word, k + 6] * base[c, k + 6] + phi[word, k + 7] * base[c, k + 7])
    )


@compiled
def start_document(rng, phi, words, counts, first, last, topics):
    """First topics of a document's tokens: theta^(1) = 1/K_1, so proportional to phi_vk alone."""
    flat = np.ones((1, phi.shape[1]))
    place = 0
    for cell in range(first, last):
        total = 0.0
        for k in range(phi.shape[1]):
            total += phi[words[cell], k]
        for _ in range(counts[cell]):
            k, rng = scan(rng, phi, words[cell], flat, 0, total)
            topics[place] = k
            place += 1
    return rng


@compiled
def _fill_slots(topics, slots):
    n = 0
    for token in range(len(topics)):
        k = topics[token]
        if slots.where[k] == NOWHERE:
            n = _open_slot(slots, n, k)
        slots.count[slots.where[k]] += 1.0
    return n


@inlined
def _drop_empty(slots, n):
    """Close the gaps left by topics that lost their last token; returns how many remain."""
    kept = 0
    for slot in range(n):
        k = slots.topic[slot]
        if slots.count[slot] > 0.0:
            slots.topic[kept] = k
            slots.count[kept] = slots.count[slot]
            slots.where[k] = kept
            kept += 1
        else:
            slots.where[k] = NOWHERE
    for slot in range(kept, kept + 3):
        slots.count[slot] = 0.0
    return kept


@compiled
def _empty_slots(slots, n):
    for slot in range(n):
        slots.where[slots.topic[slot]] = NOWHERE


@compiled
def make_cells(docs, begin, end, n_columns):
    """Room for the prior masses of the longest of documents ``begin:end``."""
    longest = 1
    for j in range(begin, end):
        longest = max(longest, docs.starts[j + 1] - docs.starts[j])
    return Cells(np.empty((n_columns, longest)), np.empty(longest))


@compiled
def copy_priors(glob, words, first, last, cells):
    """Bring the prior rows of a document's words together, one column of ``base`` after the other."""
    prior, near = glob.prior, cells.prior
    for i in range(last - first):
        word = words[first + i]
        for c in range(prior.shape[1]):
            near[c, i] = prior[word, c]


@inlined
def weigh_priors(theta, live, n_live, n_cells, cells):
    """mass[i] = sum_k phi_vk a_kj of every cell: Phi^(1) Phi^(2) theta^(2), or Phi^(1) r for one layer."""
    near, mass = cells.prior, cells.mass
    if len(theta) == 0:
        for i in range(n_cells):
            mass[i] = near[0, i]
        return
    for i in range(n_cells):
        mass[i] = 0.0
    for place in range(n_live):
        c = live[place]
        weight = theta[c]
        for i in range(n_cells):
            mass[i] += near[c, i] * weight


@inlined
def _prior_column(near, i, u, theta, live, n_live):
    """The topic c of layer 2 at point ``u`` of the prior mass of cell ``i``; 0 for one layer."""
    if len(theta) == 0:
        return 0
    for place in range(n_live):
        c = live[place]
        u -= near[c, i] * theta[c]
        if u < 0.0:
            return c
    return live[n_live - 1]


@inlined
def draw_topics(rng, glob, words, counts, first, last, topics, theta, live, n_live, cells, slots, n):
    """Draw every token's topic anew, one after another; returns the stream and the number of slots."""
    phi, base, near, mass = glob.phi, glob.base, cells.prior, cells.mass
    slot_topic, slot_count, where, sums = slots
    weigh_priors(theta, live, n_live, last - first, cells)
    token = NONE
    for cell in range(first, last):
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
                # first the topic c of layer 2, by where u falls in the prior mass, then k given c
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
def _running_sums(phi, word, slot_topic, slot_count, n, sums):
    """Running sums of ``phi_vk n_jk`` over the slots, four at a time (slots are padded); returns the last."""
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
def _open_slot(slots, n, k):
    """Make room for topic ``k`` behind the ``n`` slots in use and keep the padding behind it empty."""
    slots.where[k] = n
    slots.topic[n] = k
    for s in range(n, n + 4):
        slots.count[s] = 0.0
    return n + 1


@inlined
def send_up(rng, glob, theta, s, slots, n, keep, tables):
    """Tables of layer 1, x_k^(2) ~ CRT(m_k^(1), a_kj), given to layer 2 and carried to the top."""
    upper = glob.upper
    above.clear(s)
    one_layer = len(upper.widths) == 1
    for slot in range(n):
        k = slots.topic[slot]
        m = np.int64(slots.count[slot])
        if one_layer:
            x, rng = crt(rng, m, upper.r[k])
            if keep:
                tables.top[k] += x
        else:
            n_blocks = above.weigh(upper, theta, 1, k, s.sums)
            x, rng = crt(rng, m, s.sums[n_blocks - above.ONE])
            rng = above.split_tables(rng, upper, theta, s, 1, k, x, n_blocks, keep, tables.upper)
    return above.ascend(rng, upper, theta, s, keep, tables.upper, tables.top)


@compiled
def _count_words(words, counts, first, last, topics, table):
    place = 0
    for cell in range(first, last):
        for _ in range(counts[cell]):
            table[words[cell], topics[place]] += 1
            place += 1


@compiled
def sweep_documents(glob, hyper, seed, purpose, step, docs, begin, end, fresh, burn_in, collect, first_rates, tables, q_top):
    """Sweep documents ``begin:end`` and collect counts over the last ``collect`` sweeps.

    Parameters
    ----------
    fresh : bool
        Start local variables anew (theta = 1/K, c = 1) instead of going on from where they are.
    first_rates : int
        Sweep, counted from 1, from which p^(2) and c^(l) are drawn.
    q_top : (documents,) float64
        Receives the sum over collected sweeps of q_j^(L+1).
    """
    upper = glob.upper
    s = above.new_scratch(upper)
    slots = make_slots(glob.phi.shape[1])
    cells = make_cells(docs, begin, end, glob.base.shape[0])
    for j in range(begin, end):
        rng = stream(seed, purpose, step, docs.numbers[j])
        first, last = docs.starts[j], docs.starts[j + 1]
        topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
        theta, c = docs.theta[j], docs.c[j]
        if fresh:
            start_locals(upper, theta, c)
            rng = start_document(rng, glob.phi, docs.words, docs.counts, first, last, topics)
        above.survey(upper, theta, s)
        copy_priors(glob, docs.words, first, last, cells)
        n = _fill_slots(topics, slots)
        q_sum = 0.0
        for sweep in range(1, burn_in + collect + 1):
            keep = sweep > burn_in
            rng, n = one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, cells, slots, n, sweep >= first_rates, keep, tables)
            if keep:
                q_sum += s.q[len(c)]
                _count_words(docs.words, docs.counts, first, last, topics, tables.words)
        q_top[j] = q_sum
        _empty_slots(slots, n)


@inlined
def one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, cells, slots, n, rates, keep, tables):
    """One upward-downward sweep of one document (models.md 1.1)."""
    upper = glob.upper
    begin = upper.first[1] if len(upper.widths) > 1 else 0
    n_live = s.n_live[1] if len(upper.widths) > 1 else 0
    rng, n = draw_topics(
        rng, glob, docs.words, docs.counts, first, last, topics, theta[: layer_two_width(upper)], s.live[begin:], n_live, cells, slots, n
    )
    n = _drop_empty(slots, n)
    rng = send_up(rng, glob, theta, s, slots, n, keep, tables)
    if rates:
        rng = above.draw_rates(rng, upper, hyper, len(topics), theta, c)
    rng = above.descend(rng, upper, theta, c, s)
    return rng, n


@inlined
def layer_two_width(upper):
    """K_2, or 0 when there is one layer."""
    return upper.widths[1] if len(upper.widths) > 1 else 0


@compiled
def start_locals(upper, theta, c):
    """theta^(l) = 1/K_l and c^(l) = 1: where the authors' local chains start."""
    c[:] = 1.0
    for layer in range(1, len(upper.widths)):
        begin, width = upper.first[layer], upper.widths[layer]
        theta[begin : begin + width] = 1.0 / width


@compiled
def rate_documents(glob, hyper, seed, step, docs, begin, end, burn_in, collect, thin, scored_words, scored_starts, cells, totals):
    """Go on with the chains of ``begin:end`` and sum E[Phi^(1) theta^(1)] at the scored cells over kept sweeps.

    theta^(1) enters by its conditional mean given the counts, ``(n_jk + a_kj) p_j^(2)``.
    """
    upper = glob.upper
    s = above.new_scratch(upper)
    slots = make_slots(glob.phi.shape[1])
    near = make_cells(docs, begin, end, glob.base.shape[0])
    nothing = _no_tables()
    for j in range(begin, end):
        rng = stream(seed, CHAIN, step, docs.numbers[j])
        first, last = docs.starts[j], docs.starts[j + 1]
        topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
        theta, c = docs.theta[j], docs.c[j]
        above.survey(upper, theta, s)
        copy_priors(glob, docs.words, first, last, near)
        n = _fill_slots(topics, slots)
        for sweep in range(burn_in + collect):
            rng, n = one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, near, slots, n, True, False, nothing)
            if sweep >= burn_in and (sweep - burn_in) % thin == thin - 1:
                totals[j] += _add_rates(glob, scored_words, scored_starts[j], scored_starts[j + 1], theta, c, s, slots, n, len(topics), cells)
        _empty_slots(slots, n)


@compiled
def _add_rates(glob, words, first, last, theta, c, s, slots, n, n_tokens, cells):
    """Add one sample's rates to ``cells``; returns the sum of the rates over the whole vocabulary."""
    upper = glob.upper
    p = 1.0 / (1.0 + c[0])
    begin = upper.first[1] if len(upper.widths) > 1 else 0
    n_live = s.n_live[1] if len(upper.widths) > 1 else 0
    under = theta[: layer_two_width(upper)]
    for cell in range(first, last):
        word = words[cell]
        rate = 0.0
        if len(under) == 0:
            rate = glob.prior[word, 0]
        for i in range(n_live):
            rate += glob.prior[word, s.live[begin + i]] * under[s.live[begin + i]]
        for slot in range(n):
            rate += glob.phi[word, slots.topic[slot]] * slots.count[slot]
        cells[cell] += rate * p
    shape = np.sum(under) if len(under) > 0 else np.sum(upper.r)
    return (n_tokens + shape) * p


@compiled
def place_documents(glob, hyper, seed, docs, begin, end, burn_in, collect, first_rates, theta1, theta_upper):
    """Posterior means of theta for fresh documents: ``theta1`` (documents, K_1), ``theta_upper`` (documents, T)."""
    upper = glob.upper
    s = above.new_scratch(upper)
    slots = make_slots(glob.phi.shape[1])
    near = make_cells(docs, begin, end, glob.base.shape[0])
    nothing = _no_tables()
    for j in range(begin, end):
        rng = stream(seed, INFER, 0, docs.numbers[j])
        first, last = docs.starts[j], docs.starts[j + 1]
        topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
        theta, c = docs.theta[j], docs.c[j]
        start_locals(upper, theta, c)
        rng = start_document(rng, glob.phi, docs.words, docs.counts, first, last, topics)
        above.survey(upper, theta, s)
        copy_priors(glob, docs.words, first, last, near)
        n = _fill_slots(topics, slots)
        for sweep in range(1, burn_in + collect + 1):
            rng, n = one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, near, slots, n, sweep >= first_rates, False, nothing)
            if sweep > burn_in:
                _add_theta(glob, theta, c, slots, n, collect, theta1[j], theta_upper[j])
        _empty_slots(slots, n)


@compiled
def _add_theta(glob, theta, c, slots, n, n_samples, theta1, theta_upper):
    share = 1.0 / n_samples
    p = share / (1.0 + c[0])
    if len(theta) == 0:
        theta1 += glob.base[0] * p
    for i in range(layer_two_width(glob.upper)):
        if theta[i] > 0.0:
            theta1 += glob.base[i] * (theta[i] * p)
    for slot in range(n):
        theta1[slots.topic[slot]] += slots.count[slot] * p
    theta_upper += theta * share


@compiled
def _no_tables():
    """Tables that nothing is kept in."""
    return Tables(np.zeros((0, 0), np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
