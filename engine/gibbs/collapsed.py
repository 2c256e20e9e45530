"""Gibbs sweeps with theta^(1) integrated out: the fast local sampler of the Poisson link.

A document finishes all its sweeps before the next one starts, while the topics of its words are in the processor's
cache.  A sweep draws the topics of tokens (``tokens.py``), sends tables up, and draws rates and activations from the
top down (``upper.py``; DLDA section 2, models.md 1.1 and 1.5).  If an encoder has drawn the activations already, tokens
are assigned in proportion to ``phi_vk theta_jk`` and their counts carried up as tables, one sample per document
(models.md 1.1 steps 1 and 2; DATM section II-D).
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, Counts, FloatArray
from topiary.engine.gibbs import tokens
from topiary.engine.gibbs import upper as above
from topiary.engine.gibbs.augment import draw_binomial, draw_crt
from topiary.engine.gibbs.tokens import DocCells, DocView, Globals, Slots, add_products
from topiary.engine.gibbs.upper import Hyper, Layers, Scratch
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Address, Stream, draw_uniform, start_stream


class Tables(NamedTuple):
    """Counts collected by one thread; integers, so that sums do not depend on the order of addition.

    ``words`` (V, K_1) is the table x_vk of layer 1, ``upper`` are those of layers 2..L in the layout of
    ``Layers.rows``, ``top`` (K_L,) are the x_k^(L+1) that determine r.  With one layer, ``seats[k, m]``
    (K_1, ``SEATS``) is the number of documents with m tokens of topic k, from which :func:`draw_seated_tables` draws
    ``top``.
    """

    words: Array
    upper: Array
    top: Array
    seats: Array


class Outcome(NamedTuple):
    """Results of the kept sweeps; only the parts that the plan asks for are written.

    COUNTS: ``tables``; ``q_top`` (documents,), the sums of q_j^(L+1); ``counts`` (documents, T), the
    m^(2) ... m^(L) of the last sweep, or (documents, K_1 + T) with m^(1) first if theta^(1) is drawn.  The last sweep
    draws no theta, because topics are drawn from the counts first, and then :func:`redraw_documents` draws theta.
    RATES: sums at the ``scored`` cells in ``rates`` (cells,), and ``totals`` (documents,).
    THETA: posterior means ``theta1`` (documents, K_1) and ``theta`` (documents, T), and the mean numbers of tokens of
    each topic, ``tokens`` (documents, K_1).
    """

    tables: Tables
    q_top: FloatArray
    counts: Array
    scored: Counts
    rates: FloatArray
    totals: FloatArray
    theta1: FloatArray
    theta: FloatArray
    tokens: FloatArray


COUNTS, RATES, THETA = 0, 1, 2
_TOPIC_STREAMS = 1 << 62  # offset of the streams of topics, above the number of any document
SEATS = 64  # a document with at least this many tokens of a topic draws its tables separately


class SweepPlan(NamedTuple):
    """The plan of the sweeps of documents.

    ``fresh``: local variables start at theta = 1/K and c = 1; otherwise they continue.  ``burn_in`` sweeps are
    discarded, then every ``thin``-th of ``collect`` sweeps is kept.  p^(2) and c^(l) are drawn from sweep
    ``first_rates`` on, counted from 1.  ``quantity``, what is collected, is COUNTS, RATES or THETA.
    """

    fresh: bool
    burn_in: int
    collect: int
    thin: int = 1
    first_rates: int = 1
    quantity: int = COUNTS


class DocBatch(NamedTuple):
    """Documents and their local variables.

    ``words``, ``counts``, ``starts``, ``numbers`` are the batch; ``tokens`` (documents + 1,) int64 is where a
    document's tokens begin in ``topics`` (uint16, one topic per token); ``theta`` (documents, T) holds layers 2..L and
    ``c`` (documents, L) the rates c^(2) ... c^(L+1).
    """

    words: Array
    counts: Array
    starts: Array
    numbers: Array
    tokens: Array
    topics: Array
    theta: FloatArray
    c: FloatArray


class Desk(NamedTuple):
    """Working memory of one thread, reset for each document."""

    s: Scratch
    cells: DocCells
    slots: Slots


@compiled
def make_desk(glob: Globals, docs: DocBatch, begin: int, end: int) -> Desk:
    """Return working memory for documents ``begin:end``."""
    return Desk(
        above.make_scratch(glob.upper),
        tokens.make_cells(docs.starts, docs.tokens, begin, end, glob.prior.shape[1]),
        tokens.make_slots(glob.phi.shape[1]),
    )


@inlined
def view_document(docs: DocBatch, j: int) -> DocView:
    """Return document ``j`` of ``docs``, with its local variables as views."""
    topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
    return DocView(docs.words, docs.counts, docs.starts[j], docs.starts[j + 1], topics, docs.theta[j], docs.c[j])


@inlined
def lay_document(glob: Globals, doc: DocView, desk: Desk) -> int:
    """Prepare working memory for a document and return how many slots it uses."""
    above.set_all_shapes(glob.upper, doc.theta, desk.s)
    tokens.lay_cells(glob, doc, desk.cells)
    return tokens.fill_slots(doc.topics, desk.slots)


@inlined
def count_layer_two(upper: Layers) -> int:
    """Return the width of layer 2, 0 if there is only one layer."""
    return upper.widths[1] if len(upper.widths) > 1 else 0


@inlined
def sweep_document(
    rng: Stream,
    glob: Globals,
    hyper: Hyper,
    doc: DocView,
    desk: Desk,
    n: int,
    rates: bool,
    downwards: bool,
    keep: bool,
    tables: Tables,
) -> tuple[Stream, int]:
    """Sweep a document upwards and, if ``downwards``, downwards once, starting with ``n`` slots in use.

    Without the way down theta is left as it was (models.md 1.1, all steps but the last), but q is set.  Returns the
    stream and the number of slots in use after the sweep.
    """
    upper, s = glob.upper, desk.s
    rng, n = tokens.draw_topics(rng, glob, doc, doc.theta[: count_layer_two(upper)], desk.cells, desk.slots, n)
    rng = send_tables_up(rng, upper, doc.theta, s, desk.slots, n, keep, tables)
    if rates:
        rng = above.draw_rates(rng, upper, hyper, len(doc.topics), doc.theta, doc.c, s)
    if downwards:
        rng = above.draw_theta(rng, upper, doc.theta, doc.c, s)
    else:
        above.set_q(doc.c, s.q)
    return rng, n


@inlined
def send_tables_up(
    rng: Stream, upper: Layers, theta: FloatArray, s: Scratch, slots: Slots, n: int, keep: bool, tables: Tables
) -> Stream:
    """Draw the tables of layer 1, x_k^(2) ~ CRT(m_k^(1), a_kj), give them to layer 2 and carry them to the top."""
    if len(upper.widths) == 1:
        return _count_seats(rng, upper, slots, n, tables) if keep else rng
    above.clear_counts(s)
    for slot in range(n):
        k = slots.topic[slot]
        m = np.int64(slots.tokens[slot])
        if m > 0:
            n_blocks = above.weigh_parents(upper, theta, 1, k, s.sums)
            x, rng = draw_crt(rng, m, s.sums[n_blocks - above.ONE])
            rng = above.split_tables(rng, upper, theta, s, 1, k, x, n_blocks, keep, tables.upper)
    return above.send_counts_up(rng, upper, theta, s, keep, tables.upper, tables.top)


@inlined
def _count_seats(rng: Stream, upper: Layers, slots: Slots, n: int, tables: Tables) -> Stream:
    """Count the tokens of each topic of a document with one layer; draw the tables of topics with many tokens."""
    for slot in range(n):
        k = slots.topic[slot]
        m = np.int64(slots.tokens[slot])
        if m < SEATS:
            tables.seats[k, m] += 1
        else:
            x, rng = draw_crt(rng, m, upper.r[k])
            tables.top[k] += x
    return rng


@compiled
def draw_seated_tables(address: Address, r: FloatArray, seats: Array, top: Array) -> None:
    """Draw the tables of all documents in ``seats`` and add them to ``top``: x_k^(2) ~ sum_j CRT(m_jk, r_k).

    With one layer r_k is the rate in every document, so the number of tables opened by the i-th customers of all
    documents is Bin(number of i-th customers, r_k / (r_k + i - 1)).
    """
    for k in range(len(r)):
        rng = start_stream(address.seed, address.purpose, address.step, _TOPIC_STREAMS + k)
        customers = 0
        for i in range(SEATS - 1, 0, -1):
            customers += seats[k, i]
            x, rng = draw_binomial(rng, customers, r[k] / (r[k] + (i - 1.0)))
            top[k] += x


@compiled
def start_documents(glob: Globals, address: Address, docs: DocBatch, begin: int, end: int) -> None:
    """Set the local variables of documents ``begin:end`` to the start of a chain."""
    _start_all(glob, address, docs, begin, end, np.ones(glob.phi.shape[1]))


@inlined
def _start_all(glob: Globals, address: Address, docs: DocBatch, begin: int, end: int, flat: FloatArray) -> None:
    """Do the work of :func:`start_documents` without allocations; ``flat`` is ones, (K_1,)."""
    for j in range(begin, end):
        doc = view_document(docs, j)
        start_locals(glob.upper, doc.theta, doc.c)
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        tokens.start_topics(rng, glob.phi, doc, flat)


@compiled
def start_locals(upper: Layers, theta: FloatArray, c: FloatArray) -> None:
    """Set theta^(l) = 1/K_l and c^(l) = 1, the start of the authors' local chains."""
    c[:] = 1.0
    for layer in range(1, len(upper.widths)):
        begin, width = upper.first[layer], upper.widths[layer]
        theta[begin : begin + width] = 1.0 / width


@compiled
def sweep_documents(
    glob: Globals, hyper: Hyper, address: Address, docs: DocBatch, begin: int, end: int, plan: SweepPlan, out: Outcome
) -> None:
    """Sweep documents ``begin:end`` as planned, and write the planned quantity of the kept sweeps to ``out``."""
    desk = make_desk(glob, docs, begin, end)
    _sweep_all(glob, hyper, address, docs, begin, end, plan, out, desk, np.ones(glob.phi.shape[1]))


@inlined
def _sweep_all(
    glob: Globals,
    hyper: Hyper,
    address: Address,
    docs: DocBatch,
    begin: int,
    end: int,
    plan: SweepPlan,
    out: Outcome,
    desk: Desk,
    flat: FloatArray,
) -> None:
    """Do the work of :func:`sweep_documents` without allocations; ``flat`` is ones, (K_1,)."""
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        doc = view_document(docs, j)
        if plan.fresh:
            start_locals(glob.upper, doc.theta, doc.c)
            rng = tokens.start_topics(rng, glob.phi, doc, flat)
        n = lay_document(glob, doc, desk)
        last = plan.burn_in + plan.collect
        for sweep in range(1, last + 1):
            if sweep > 1:
                n = tokens.drop_empty_slots(desk.slots, n)
            keep = sweep > plan.burn_in and (sweep - plan.burn_in) % plan.thin == 0
            counting = keep and plan.quantity == COUNTS
            rates = sweep >= plan.first_rates
            downwards = sweep < last or plan.quantity != COUNTS
            rng, n = sweep_document(rng, glob, hyper, doc, desk, n, rates, downwards, counting, out.tables)
            if keep:
                _collect_sweep(glob, doc, desk, n, j, plan, out)
        if plan.quantity == COUNTS:
            for i in range(len(desk.s.counts)):
                out.counts[j, i] = desk.s.counts[i]
        tokens.clear_slots(desk.slots, n)


@inlined
def _collect_sweep(glob: Globals, doc: DocView, desk: Desk, n: int, j: int, plan: SweepPlan, out: Outcome) -> None:
    """Write the plan's quantity of a kept sweep of document ``j``."""
    if plan.quantity == COUNTS:
        out.q_top[j] += desk.s.q[len(doc.c)]
        tokens.count_words(doc, desk.cells.of, out.tables.words)
    elif plan.quantity == RATES:
        _add_rates(glob, doc, desk, n, j, out)
    else:
        share = plan.thin / plan.collect
        _add_theta(glob, doc, desk, n, share, out.theta1[j], out.theta[j])
        for slot in range(n):
            out.tokens[j, desk.slots.topic[slot]] += desk.slots.tokens[slot] * share


@compiled
def redraw_documents(glob: Globals, address: Address, docs: DocBatch, begin: int, end: int, counts: Array) -> None:
    """Draw theta^(2) ... theta^(L) from the counts of the last sweep, under topics drawn after that sweep."""
    s = above.make_scratch(glob.upper)
    _redraw_all(glob, address, docs, begin, end, counts, s)


@inlined
def _redraw_all(
    glob: Globals, address: Address, docs: DocBatch, begin: int, end: int, counts: Array, s: Scratch
) -> None:
    """Do the work of :func:`redraw_documents` without allocations."""
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        for i in range(len(s.counts)):
            s.counts[i] = counts[j, i]
        above.draw_theta(rng, glob.upper, docs.theta[j], docs.c[j], s)


@inlined
def _add_rates(glob: Globals, doc: DocView, desk: Desk, n: int, j: int, out: Outcome) -> None:
    """Add E[Phi^(1) theta^(1)] at the scored cells; theta^(1) enters by its conditional mean (n_jk + a_kj) p_j^(2)."""
    scored = out.scored
    for cell in range(scored.starts[j], scored.starts[j + 1]):
        out.rates[cell] += _compute_mean_rate(glob, scored.words[cell], doc, desk, n)
    out.totals[j] += _compute_mean_total(glob.upper, doc, desk.s)


@inlined
def _compute_mean_rate(glob: Globals, word: int, doc: DocView, desk: Desk, n: int) -> float:
    """Return (sum_k phi_vk (n_jk + a_kj)) p_j^(2) of one word."""
    theta = doc.theta[: count_layer_two(glob.upper)]
    rate = add_products(glob.prior[word], theta) if len(theta) > 0 else glob.prior[word, glob.prior.shape[1] - 1]
    for slot in range(n):
        rate += glob.phi[word, desk.slots.topic[slot]] * desk.slots.tokens[slot]
    return rate / (1.0 + doc.c[0])


@inlined
def _compute_mean_total(upper: Layers, doc: DocView, s: Scratch) -> float:
    """Return (sum_k (n_jk + a_kj)) p_j^(2), the mean rates summed over the vocabulary."""
    theta = doc.theta[: count_layer_two(upper)]
    shape = 0.0 if len(theta) > 0 else s.r_total
    for c in range(len(theta)):
        shape += theta[c]
    return (len(doc.topics) + shape) / (1.0 + doc.c[0])


@inlined
def _add_theta(
    glob: Globals, doc: DocView, desk: Desk, n: int, share: float, theta1: FloatArray, theta_upper: FloatArray
) -> None:
    """Add the conditional mean of theta^(1), and the drawn theta of the layers above, both times ``share``."""
    theta, p = doc.theta[: count_layer_two(glob.upper)], share / (1.0 + doc.c[0])
    if len(theta) == 0:
        for k in range(len(theta1)):
            theta1[k] += glob.base[0, k] * p
    for c in range(len(theta)):
        for k in range(len(theta1)):
            theta1[k] += glob.base[c, k] * (theta[c] * p)
    for slot in range(n):
        theta1[desk.slots.topic[slot]] += desk.slots.tokens[slot] * p
    for i in range(len(theta_upper)):
        theta_upper[i] += doc.theta[i] * share


@compiled
def assign_tokens(phi: FloatArray, address: Address, docs: DocBatch, theta1: FloatArray, begin: int, end: int) -> None:
    """Draw the topic of every token of documents ``begin:end``: ``P(z = k) ~ phi_vk theta_jk``."""
    sums = np.empty(phi.shape[1])
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        token = docs.tokens[j]
        for cell in range(docs.starts[j], docs.starts[j + 1]):
            word = docs.words[cell]
            total = 0.0
            for k in range(len(sums)):
                total += phi[word, k] * theta1[j, k]
                sums[k] = total
            for _ in range(docs.counts[cell]):
                u, rng = draw_uniform(rng)
                docs.topics[token] = min(np.searchsorted(sums, u * total, side="right"), len(sums) - 1)
                token += 1


@compiled
def carry_documents(glob: Globals, address: Address, docs: DocBatch, begin: int, end: int, out: Outcome) -> None:
    """Carry the counts of documents ``begin:end`` to the top of the hierarchy and add them to ``out.tables``."""
    _carry_all(glob, address, docs, begin, end, out, make_desk(glob, docs, begin, end))


@inlined
def _carry_all(glob: Globals, address: Address, docs: DocBatch, begin: int, end: int, out: Outcome, desk: Desk) -> None:
    """Do the work of :func:`carry_documents` without allocations."""
    s, slots, of = desk.s, desk.slots, desk.cells.of
    for j in range(begin, end):
        doc = view_document(docs, j)
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        above.set_all_shapes(glob.upper, doc.theta, s)
        n = tokens.fill_slots(doc.topics, slots)
        send_tables_up(rng, glob.upper, doc.theta, s, slots, n, True, out.tables)
        above.set_q(doc.c, s.q)
        out.q_top[j] += s.q[len(doc.c)]
        tokens.spread_cells(doc, of)
        tokens.count_words(doc, of, out.tables.words)
        tokens.clear_slots(slots, n)
