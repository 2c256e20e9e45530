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
from engine.augment import crt
from engine.contract import Array, FloatArray
from engine.jit import compiled
from engine.streams import CHAIN, INFER, stream, uniform


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


@compiled
def make_slots(n_topics):
    """Empty slots for a model of ``n_topics`` topics in layer 1."""
    return Slots(
        np.zeros(n_topics, np.int64), np.zeros(n_topics), np.full(n_topics, -1, np.int64), np.zeros(n_topics)
    )


@compiled
def scan(rng, row, weights):
    """Draw k proportional to ``row[k] * weights[k]`` by blocks of eight: short sums instead of one long chain."""
    n = len(row)
    n_blocks = n // 8
    total = 0.0
    for b in range(n_blocks):
        total += _block(row, weights, 8 * b)
    for k in range(8 * n_blocks, n):
        total += row[k] * weights[k]
    u, rng = uniform(rng)
    u *= total
    reached = 0.0
    k = 0
    for b in range(n_blocks):
        mass = _block(row, weights, 8 * b)
        if reached + mass > u:
            break
        reached += mass
        k += 8
    last = k
    while k < n:
        weight = row[k] * weights[k]
        if weight > 0.0:
            last = k
        reached += weight
        if reached > u:
            return k, rng
        k += 1
    return min(last, n - 1), rng


@compiled
def _block(row, weights, k):
    return (
        (row[k] * weights[k] + row[k + 1] * weights[k + 1]) + (row[k + 2] * weights[k + 2] + row[k + 3] * weights[k + 3])
    ) + (
        (row[k + 4] * weights[k + 4] + row[k + 5] * weights[k + 5])
        + (row[k + 6] * weights[k + 6] + row[k + 7] * weights[k + 7])
    )


@compiled
def start_document(rng, phi, words, counts, first, last, topics):
    """First topics of a document's tokens: theta^(1) = 1/K_1, so proportional to phi_vk alone."""
    flat = np.ones(phi.shape[1])
    place = 0
    for cell in range(first, last):
        row = phi[words[cell]]
        for _ in range(counts[cell]):
            k, rng = scan(rng, row, flat)
            topics[place] = k
            place += 1
    return rng


@compiled
def _fill_slots(topics, slots):
    n = 0
    for token in range(len(topics)):
        k = topics[token]
        slot = slots.where[k]
        if slot < 0:
            slot = n
            slots.where[k] = slot
            slots.topic[slot] = k
            slots.count[slot] = 0.0
            n += 1
        slots.count[slot] += 1.0
    return n


@compiled
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
            slots.where[k] = -1
    return kept


@compiled
def _empty_slots(slots, n):
    for slot in range(n):
        slots.where[slots.topic[slot]] = -1


@compiled
def _prior_mass(glob, word, theta, live, n_live):
    """sum_k phi_vk a_kj of one word, over the topics of layer 2 in use."""
    if len(theta) == 0:
        return glob.prior[word, 0]
    mass = 0.0
    for i in range(n_live):
        mass += glob.prior[word, live[i]] * theta[live[i]]
    return mass


@compiled
def _prior_topic(rng, glob, word, u, theta, live, n_live):
    """Draw k proportional to phi_vk a_kj: first the topic c of layer 2 (by ``u``, a point of the mass), then k."""
    c = 0
    if len(theta) > 0:
        c = live[n_live - 1]
        for i in range(n_live):
            u -= glob.prior[word, live[i]] * theta[live[i]]
            if u < 0.0:
                c = live[i]
                break
    return scan(rng, glob.phi[word], glob.base[c])


@compiled
def draw_topics(rng, glob, words, counts, first, last, topics, theta, live, n_live, slots, n):
    """Draw every token's topic anew, one after another; returns the stream and the number of slots."""
    phi = glob.phi
    place = 0
    for cell in range(first, last):
        word = words[cell]
        prior = _prior_mass(glob, word, theta, live, n_live)
        for _ in range(counts[cell]):
            slots.count[slots.where[topics[place]]] -= 1.0
            total = 0.0
            for s in range(n):
                total += phi[word, slots.topic[s]] * slots.count[s]
                slots.sums[s] = total
            u, rng = uniform(rng)
            u *= total + prior
            if u < total:
                slot = 0
                while slots.sums[slot] <= u:
                    slot += 1
                k = slots.topic[slot]
            else:
                k, rng = _prior_topic(rng, glob, word, u - total, theta, live, n_live)
                slot = slots.where[k]
                if slot < 0:
                    slot = n
                    slots.where[k] = slot
                    slots.topic[slot] = k
                    slots.count[slot] = 0.0
                    n += 1
            slots.count[slot] += 1.0
            topics[place] = k
            place += 1
    return rng, n


@compiled
def layer_one_shape(glob, theta, live, n_live, k):
    """a_kj = (Phi^(2) theta_j^(2))_k, r_k for one layer."""
    if len(theta) == 0:
        return glob.base[0, k]
    shape = 0.0
    for i in range(n_live):
        shape += glob.base[live[i], k] * theta[live[i]]
    return shape


@compiled
def send_up(rng, glob, theta, s, slots, n, keep, tables):
    """Tables of layer 1, x_k^(2) ~ CRT(m_k^(1), a_kj), given to layer 2 and carried to the top."""
    upper = glob.upper
    above.clear(s)
    one_layer = len(upper.widths) == 1
    begin, n_live = (0, 0) if one_layer else (upper.first[1], s.n_live[1])
    for slot in range(n):
        k = slots.topic[slot]
        shape = layer_one_shape(glob, theta, s.live[begin:], n_live, k)
        x, rng = crt(rng, np.int64(slots.count[slot]), shape)
        if not one_layer:
            rng = above.split_tables(rng, upper, theta, s, 1, k, x, keep, tables.upper)
        elif keep:
            tables.top[k] += x
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
    for j in range(begin, end):
        rng = stream(seed, purpose, step, docs.numbers[j])
        first, last = docs.starts[j], docs.starts[j + 1]
        topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
        theta, c = docs.theta[j], docs.c[j]
        if fresh:
            start_locals(upper, theta, c)
            rng = start_document(rng, glob.phi, docs.words, docs.counts, first, last, topics)
        above.survey(upper, theta, s)
        n = _fill_slots(topics, slots)
        q_sum = 0.0
        for sweep in range(1, burn_in + collect + 1):
            keep = sweep > burn_in
            rng, n = one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, slots, n, sweep >= first_rates, keep, tables)
            if keep:
                q_sum += s.q[len(c)]
                _count_words(docs.words, docs.counts, first, last, topics, tables.words)
        q_top[j] = q_sum
        _empty_slots(slots, n)


@compiled
def one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, slots, n, rates, keep, tables):
    """One upward-downward sweep of one document (models.md 1.1)."""
    upper = glob.upper
    begin = upper.first[1] if len(upper.widths) > 1 else 0
    n_live = s.n_live[1] if len(upper.widths) > 1 else 0
    rng, n = draw_topics(
        rng, glob, docs.words, docs.counts, first, last, topics, theta[: layer_two_width(upper)], s.live[begin:], n_live, slots, n
    )
    n = _drop_empty(slots, n)
    rng = send_up(rng, glob, theta, s, slots, n, keep, tables)
    if rates:
        rng = above.draw_rates(rng, upper, hyper, len(topics), theta, c)
    rng = above.descend(rng, upper, theta, c, s)
    return rng, n


@compiled
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
    nothing = _no_tables()
    for j in range(begin, end):
        rng = stream(seed, CHAIN, step, docs.numbers[j])
        first, last = docs.starts[j], docs.starts[j + 1]
        topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
        theta, c = docs.theta[j], docs.c[j]
        above.survey(upper, theta, s)
        n = _fill_slots(topics, slots)
        for sweep in range(burn_in + collect):
            rng, n = one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, slots, n, True, False, nothing)
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
        rate = _prior_mass(glob, words[cell], under, s.live[begin:], n_live)
        for slot in range(n):
            rate += glob.phi[words[cell], slots.topic[slot]] * slots.count[slot]
        cells[cell] += rate * p
    shape = np.sum(under) if len(under) > 0 else np.sum(upper.r)
    return (n_tokens + shape) * p


@compiled
def place_documents(glob, hyper, seed, docs, begin, end, burn_in, collect, first_rates, theta1, theta_upper):
    """Posterior means of theta for fresh documents: ``theta1`` (documents, K_1), ``theta_upper`` (documents, T)."""
    upper = glob.upper
    s = above.new_scratch(upper)
    slots = make_slots(glob.phi.shape[1])
    nothing = _no_tables()
    for j in range(begin, end):
        rng = stream(seed, INFER, 0, docs.numbers[j])
        first, last = docs.starts[j], docs.starts[j + 1]
        topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
        theta, c = docs.theta[j], docs.c[j]
        start_locals(upper, theta, c)
        rng = start_document(rng, glob.phi, docs.words, docs.counts, first, last, topics)
        above.survey(upper, theta, s)
        n = _fill_slots(topics, slots)
        for sweep in range(1, burn_in + collect + 1):
            rng, n = one_sweep(rng, glob, hyper, docs, first, last, topics, theta, c, s, slots, n, sweep >= first_rates, False, nothing)
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
