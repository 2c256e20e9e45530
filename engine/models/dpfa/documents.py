"""Local Gibbs sweeps of deep Poisson factor analysis, with the factor scores theta and layer 1 integrated out.

``x ~ Pois(Phi (theta o h^(1)))``, ``theta_k ~ Gam(r_k, p / (1 - p))`` with p = 1/2.  Given the layers above, h_k^(1) is
on with probability pi_k, and the counts of topic k are 0 or negative binomial; so with h^(1) and theta integrated out
a token has topic k with probability proportional to (DPFA section 3.1; Zhou and Carin, 2015)

    phi_vk (n_k + r_k)  where the document's other tokens have the topic,
    phi_vk r_k q_k      where none has,  q_k = P(h_k = 1 | no token) = pi_k (1-p)^r_k / (pi_k (1-p)^r_k + 1 - pi_k).

Then h_k^(1) is 1 if topic k has tokens, else drawn with q_k; the layers above follow (``network.py``).  The posterior
is that of a sampler that draws theta and h^(1) first, but topics are found faster, because no topic is shut off.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, Counts, FloatArray
from topiary.engine.gibbs.augment import draw_crt
from topiary.engine.jit import compiled
from topiary.engine.models.dpfa import network
from topiary.engine.models.dpfa.network import NetScratch, Network, sigmoid
from topiary.engine.streams import Address, Stream, draw_uniform, start_stream

NOTHING, MOMENTS, GRADIENT, RATES, THETA = 0, 1, 2, 3, 4  # what is summed over the kept sweeps
UNIT = 4294967296.0  # 2^32: one in the fixed-point sums, which are exact in any order
LOG_HALF = -0.6931471805599453  # ln(1 - p)
_BLOCK = 8  # topics in a block of the sums


class NetGlobals(NamedTuple):
    """Topics and network, packed: ``phi`` (V, K_1) on the simplex, ``shapes`` (K_1,) r, and the network above."""

    phi: FloatArray
    shapes: FloatArray
    net: Network


class NetPlan(NamedTuple):
    """The sweeps to make: ``burn_in``, then ``collect``, of which every ``thin``-th adds to the sums of ``quantity``.

    ``fresh`` says whether the local variables are initialised first; ``all_topics_on`` says whether every topic is on,
    and the layers above are not drawn.
    """

    fresh: bool
    burn_in: int
    collect: int
    thin: int
    all_topics_on: bool
    quantity: int


class NetDocs(NamedTuple):
    """Documents and their local variables: ``topics`` (tokens,) from ``tokens[j]`` on, ``h`` (documents, units)."""

    words: Array
    counts: Array
    starts: Array
    numbers: Array
    tokens: Array
    topics: Array
    h: Array


class Tallies(NamedTuple):
    """Sums of one thread over documents and kept sweeps; they are integers, so that the order does not matter.

    Attributes
    ----------
    words : (V, K_1)
        Numbers of tokens.
    tables : (K_1,)
        Draws of CRT(n_jk, r_k).
    on : (units,)
        How often each unit is on.
    cross : (sum (K_{l+1} + 1) K_l,)
        For each pair of layers, ``(2 h_k - 1)`` times every unit above, the last of which is always on.
    gram : (sum P_l K_l,)
        ``omega_k`` times every pair of units above, in units of 1/2^32, P_l = (K_{l+1} + 1)(K_{l+1} + 2) / 2.
    slope : (sum (K_{l+1} + 1) K_l + K_L,)
        Gradient of the log-probability of the units, as ``cross``, then of the top biases; in units of 1/2^32.
    """

    words: Array
    tables: Array
    on: Array
    cross: Array
    gram: Array
    slope: Array


class NetOutcome(NamedTuple):
    """Sums over kept sweeps.

    Tallies, or ``E[theta o h]`` in ``theta`` (documents, K_1), P(h = 1) in ``chance`` (documents, units) and the tokens
    of every topic in ``tokens`` (documents, K_1).
    """

    tallies: Tallies
    theta: FloatArray
    chance: FloatArray
    tokens: FloatArray


class NetMemory(NamedTuple):
    """Working memory for one document: tokens ``n`` of every topic, prior masses and their sums, and topics in use."""

    n: FloatArray
    prior: FloatArray
    active: Array
    sums: FloatArray
    blocks: FloatArray
    other: Array


@compiled
def make_memory(n_topics: int, n_units: int) -> NetMemory:
    """Return working memory for a model with these numbers of topics and units."""
    blocks = (n_topics + _BLOCK - 1) // _BLOCK
    return NetMemory(
        np.zeros(n_topics),
        np.zeros(n_topics),
        np.zeros(n_topics + 1, np.int64),
        np.zeros(n_topics + 1),
        np.zeros(blocks),
        np.zeros(n_units, np.int8),
    )


@compiled
def sweep_documents(
    glob: NetGlobals, address: Address, docs: NetDocs, begin: int, end: int, plan: NetPlan, out: NetOutcome
) -> None:
    """Sweep documents ``begin:end``, updating their local variables and ``out`` in place."""
    s, memory = network.make_scratch(glob.net), make_memory(len(glob.shapes), len(glob.net.bias))
    for j in range(begin, end):
        rng = start_stream(address.seed, address.purpose, address.step, docs.numbers[j])
        if plan.fresh:
            rng = _start_document(rng, glob, docs, j, s, memory)
        n_active = _count_topics(docs.topics[docs.tokens[j] : docs.tokens[j + 1]], memory)
        for sweep in range(1, plan.burn_in + plan.collect + 1):
            rng, n_active = _sweep_document(rng, glob, docs, j, plan.all_topics_on, s, memory, n_active)
            if sweep > plan.burn_in and (sweep - plan.burn_in) % plan.thin == 0:
                if plan.quantity >= RATES:
                    _add_activations(glob.shapes, memory, out.theta[j])
                    if plan.quantity == THETA:
                        out.chance[j] += s.chance
                        out.tokens[j] += memory.n
                elif plan.quantity != NOTHING:
                    rng = _add_tallies(rng, glob, docs, j, plan, s, memory, out.tallies)


@compiled
def _start_document(rng: Stream, glob: NetGlobals, docs: NetDocs, j: int, s: NetScratch, memory: NetMemory) -> Stream:
    """Draw the layers above from their prior, then the topic of each token given the tokens before, with all topics on.

    A document that starts with many topics loses most in a few sweeps; if r is large, it would rarely gain new ones.
    """
    topics = docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
    rng = network.draw_downwards(rng, glob.net, docs.h[j], s, 1)
    _weigh_topics(glob, docs.h[j], True, s, memory.prior)
    memory.n[:] = 0.0
    n_active, token = 0, 0
    for cell in range(docs.starts[j], docs.starts[j + 1]):
        row = glob.phi[docs.words[cell]]
        base = _add_blocks(row, memory)
        for _ in range(docs.counts[cell]):
            k, rng = _draw_topic(rng, row, base, glob.shapes, memory, n_active)
            n_active = _add_token(memory, k, n_active)
            topics[token] = k
            token += 1
    return rng


@compiled
def _weigh_topics(glob: NetGlobals, h: Array, all_topics_on: bool, s: NetScratch, prior: FloatArray) -> None:
    """Write ``r_k q_k`` to ``prior``, and q_k to ``s.chance`` of layer 1."""
    net, shapes = glob.net, glob.shapes
    if all_topics_on:
        s.chance[: len(shapes)] = 1.0
        prior[:] = shapes
        return
    network.compute_inputs(net, h, 0, s.inputs)
    for k in range(len(shapes)):
        s.chance[k] = sigmoid(s.inputs[k] + shapes[k] * LOG_HALF)
        prior[k] = shapes[k] * s.chance[k]


@compiled
def _count_topics(topics: Array, memory: NetMemory) -> int:
    """Count the tokens of each topic in a document, list the topics in use, and return the number of these topics."""
    memory.n[:] = 0.0
    n_active = 0
    for token in range(len(topics)):
        n_active = _add_token(memory, topics[token], n_active)
    return n_active


@compiled
def _add_token(memory: NetMemory, k: int, n_active: int) -> int:
    """Add one token to topic ``k``; return the number of topics in use."""
    if memory.n[k] == 0.0:
        memory.active[n_active] = k
        n_active += 1
    memory.n[k] += 1.0
    return n_active


@compiled
def _remove_token(memory: NetMemory, k: int, n_active: int) -> int:
    """Remove one token from topic ``k``; return the number of topics in use."""
    memory.n[k] -= 1.0
    if memory.n[k] == 0.0:
        slot = 0
        while memory.active[slot] != k:
            slot += 1
        n_active -= 1
        memory.active[slot] = memory.active[n_active]
    return n_active


@compiled
def _add_blocks(row: FloatArray, memory: NetMemory) -> float:
    """Sum ``phi_vk prior_k`` in blocks of eight topics; return the total."""
    prior, n_topics = memory.prior, len(memory.prior)
    total = 0.0
    for block in range(len(memory.blocks)):
        part = 0.0
        for k in range(block * _BLOCK, min((block + 1) * _BLOCK, n_topics)):
            part += row[k] * prior[k]
        memory.blocks[block] = part
        total += part
    return total


@compiled
def _draw_topic(
    rng: Stream, row: FloatArray, base: float, shapes: FloatArray, memory: NetMemory, n_active: int
) -> tuple[int, Stream]:
    """Draw the topic of a token given the other tokens of the document.

    ``base`` is the mass of all topics as if they had no token; topics in use add ``phi_vk (n_k + r_k - prior_k)``.
    """
    total = 0.0
    for slot in range(n_active):
        k = memory.active[slot]
        total += row[k] * (memory.n[k] + shapes[k] - memory.prior[k])
        memory.sums[slot] = total
    u, rng = draw_uniform(rng)
    point = u * (total + base)
    if point < total:
        slot = 0
        while memory.sums[slot] <= point:
            slot += 1
        return memory.active[slot], rng
    return _pick_topic(row, memory, point - total), rng


@compiled
def _pick_topic(row: FloatArray, memory: NetMemory, point: float) -> int:
    """Return the topic at a point of the cumulative prior mass, also if rounding puts the point beyond the last."""
    block = 0
    while block < len(memory.blocks) - 1 and point >= memory.blocks[block]:
        point -= memory.blocks[block]
        block += 1
    last = min((block + 1) * _BLOCK, len(memory.prior)) - 1
    k = block * _BLOCK
    while k < last and point >= row[k] * memory.prior[k]:
        point -= row[k] * memory.prior[k]
        k += 1
    return k


@compiled
def _sweep_document(
    rng: Stream,
    glob: NetGlobals,
    docs: NetDocs,
    j: int,
    all_topics_on: bool,
    s: NetScratch,
    memory: NetMemory,
    n_active: int,
) -> tuple[Stream, int]:
    """Draw the topics of tokens, layer 1, and the layers above; return the stream and the number of topics in use."""
    shapes, h, topics = glob.shapes, docs.h[j], docs.topics[docs.tokens[j] : docs.tokens[j + 1]]
    _weigh_topics(glob, h, all_topics_on, s, memory.prior)
    token = 0
    for cell in range(docs.starts[j], docs.starts[j + 1]):
        row = glob.phi[docs.words[cell]]
        base = _add_blocks(row, memory)
        for _ in range(docs.counts[cell]):
            n_active = _remove_token(memory, topics[token], n_active)
            k, rng = _draw_topic(rng, row, base, shapes, memory, n_active)
            n_active = _add_token(memory, k, n_active)
            topics[token] = k
            token += 1
    for k in range(len(shapes)):
        if memory.n[k] > 0.0:
            h[k] = 1
        else:
            h[k], rng = network.draw_bit(rng, s.chance[k])
    if not all_topics_on:
        rng = network.draw_upwards(rng, glob.net, h, s)
    return rng, n_active


@compiled
def _add_activations(shapes: FloatArray, memory: NetMemory, theta: FloatArray) -> None:
    """Add ``E[theta_k h_k | tokens, layers above]`` to ``theta``."""
    for k in range(len(shapes)):
        theta[k] += 0.5 * (memory.n[k] + shapes[k] if memory.n[k] > 0.0 else memory.prior[k])


@compiled
def _add_tallies(
    rng: Stream, glob: NetGlobals, docs: NetDocs, j: int, plan: NetPlan, s: NetScratch, memory: NetMemory, out: Tallies
) -> Stream:
    """Add a sweep of a document to the tallies ``out``."""
    net, shapes = glob.net, glob.shapes
    _count_words(docs, j, out.words)
    for k in range(len(shapes)):
        tables, rng = draw_crt(rng, np.int64(memory.n[k]), shapes[k])
        out.tables[k] += tables
    h = docs.h[j]
    for unit in range(len(h)):
        out.on[unit] += h[unit]
    if plan.all_topics_on:
        return rng
    if plan.quantity == MOMENTS:
        _add_moments(net, h, s, out)
        return rng
    if not net.undirected:
        _add_unit_slope(net, h, s, out.slope)
        return rng
    _add_pairs(net, h, 1, s, out.slope)
    memory.other[:] = h
    rng = network.draw_reconstruction(rng, net, memory.other, s)
    _add_pairs(net, memory.other, -1, s, out.slope)
    return rng


@compiled
def _count_words(docs: NetDocs, j: int, table: Array) -> None:
    """Add the tokens of a document to the table of words by topics."""
    token = docs.tokens[j]
    for cell in range(docs.starts[j], docs.starts[j + 1]):
        row = table[docs.words[cell]]
        for _ in range(docs.counts[cell]):
            row[docs.topics[token]] += 1
            token += 1


@compiled
def list_active(net: Network, h: Array, layer: int, on: Array) -> int:
    """Write the units of a layer that are on to ``on``, then the unit that always is; return their number."""
    n = 0
    for j in range(net.widths[layer]):
        if h[net.first[layer] + j]:
            on[n] = j
            n += 1
    on[n] = net.widths[layer]
    return n + 1


@compiled
def _add_moments(net: Network, h: Array, s: NetScratch, out: Tallies) -> None:
    """Add moments for the Gaussian draws of weights between layers: ``(2 h_k - 1) h'`` and ``omega_k h' h''``."""
    cross, gram = 0, 0
    for layer in range(len(net.widths) - 1):
        width, first_unit = net.widths[layer], net.first[layer]
        n_above = net.widths[layer + 1] + 1
        n = list_active(net, h, layer + 1, s.on)
        for k in range(width):
            s.fixed[first_unit + k] = np.int64(s.omega[first_unit + k] * UNIT + 0.5)
        for a in range(n):
            row = out.cross[cross + s.on[a] * width : cross + (s.on[a] + 1) * width]
            for k in range(width):
                row[k] += 2 * h[first_unit + k] - 1
            for b in range(a + 1):
                pair = gram + (s.on[a] * (s.on[a] + 1) // 2 + s.on[b]) * width
                products = out.gram[pair : pair + width]
                for k in range(width):
                    products[k] += s.fixed[first_unit + k]
        cross += n_above * width
        gram += n_above * (n_above + 1) // 2 * width


@compiled
def _add_unit_slope(net: Network, h: Array, s: NetScratch, slope: Array) -> None:
    """Add the gradient of the log-probability of units in a sigmoid belief network: ``(h_k - sigmoid(psi_k)) h'``."""
    for layer in range(len(net.widths)):
        network.compute_inputs(net, h, layer, s.inputs)
    for k in range(len(h)):
        s.fixed[k] = np.int64(np.rint((h[k] - sigmoid(s.inputs[k])) * UNIT))
    _add_slope(net, h, s, slope)


@compiled
def _add_pairs(net: Network, h: Array, sign: int, s: NetScratch, slope: Array) -> None:
    """Add (or subtract) the pairs of units that are both on: the two phases of contrastive divergence."""
    increment = sign * np.int64(UNIT)
    for k in range(len(h)):
        s.fixed[k] = increment * h[k]
    _add_slope(net, h, s, slope)


@compiled
def _add_slope(net: Network, h: Array, s: NetScratch, slope: Array) -> None:
    """Add ``s.fixed`` of all units to the rows of those units above them that are on."""
    offset = 0
    for layer in range(len(net.widths)):
        width, first_unit = net.widths[layer], net.first[layer]
        is_top = layer + 1 == len(net.widths)
        n = 1 if is_top else list_active(net, h, layer + 1, s.on)
        for a in range(n):
            unit = 0 if is_top else s.on[a]
            row = slope[offset + unit * width : offset + (unit + 1) * width]
            for k in range(width):
                row[k] += s.fixed[first_unit + k]
        if not is_top:
            offset += (net.widths[layer + 1] + 1) * width


@compiled
def rate_cells(phi: FloatArray, theta: FloatArray, scored: Counts, begin: int, end: int, cells: FloatArray) -> None:
    """Write the rates ``(Phi theta_j)_v`` of the scored cells of documents ``begin:end`` to ``cells``."""
    for j in range(begin, end):
        for cell in range(scored.starts[j], scored.starts[j + 1]):
            row, total = phi[scored.words[cell]], 0.0
            for k in range(theta.shape[1]):
                total += row[k] * theta[j, k]
            cells[cell] = total
