"""Exact Dirichlet draws of whole layers of topics.

A topic is a column; its draw is a vector of gammas divided by their sum.  Most entries of a table have no counts:
``proposals.py`` draws these, and describes the streams.  The entries that it lists are drawn here: refused proposals,
entries with counts, and the part of themselves that topics keep.  Loops without a branch draw many entries at a time;
the few entries that they cannot decide are drawn one by one.  Functions take a stream and return its continuation.
"""

from math import exp
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import augment, gammas
from topiary.engine.gibbs.latent import draw_poisson
from topiary.engine.gibbs.upper import uint
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool
from topiary.engine.streams import LISTED, Stream, mix_bits
from topiary.engine.topic_moves import proposals
from topiary.engine.topic_moves.proposals import EntryPrior, Group
from topiary.engine.topic_moves.rows import BLOCK, Blocks, LayerAddress, divide_columns, run_blocks, start_row_stream

_S11 = np.uint64(11)
_MASK32 = np.uint64(0xFFFFFFFF)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


class Singles(NamedTuple):
    """Scratch space in single precision: loops over these arrays alone process twice as many numbers at a time."""

    gap: Array
    v: Array
    x: Array
    tail: Array


class Lists(NamedTuple):
    """Scratch space for the listed entries of a group: their places, and the numbers that belong to them."""

    mine: Array
    words: Array
    u: FloatArray
    v: FloatArray
    x: FloatArray
    out: FloatArray
    flags: Array
    places: Array
    single: Singles


@compiled
def make_lists(n: int) -> Lists:
    """Return scratch space for ``n`` entries."""
    return Lists(
        np.empty(n, np.int64),
        np.empty(n, np.uint64),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.uint8),
        np.empty(n, np.int64),
        Singles(np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)),
    )


@compiled
def _fill_random(rng: Stream, words: Array) -> Stream:
    """Fill ``words`` with random bits and return the stream to continue with."""
    for i in range(len(words)):
        words[i] = mix_bits(rng.state + rng.gamma * np.uint64(i + 1))
    return Stream(rng.state + rng.gamma * np.uint64(len(words)), rng.gamma)


@inlined
def _take_uniform(word: np.uint64) -> float:
    """Return a uniform on [0, 1) from the upper 53 bits of a word."""
    return np.float64(word >> _S11) * _UNIT


# Gammas of shape eta whose proposals were not accepted by the quick test


@inlined
def draw_refused(rng: Stream, g: Group, n: int, prior: EntryPrior, lists: Lists, new: FloatArray) -> Stream:
    """Test the proposals of the first ``n`` of ``lists.mine`` exactly, and write new draws for those refused."""
    mine, words, single = lists.mine[:n], lists.words[:n], lists.single
    most = 1.0 + augment.compute_tail_share(prior.eta)
    rng = _fill_random(rng, words)
    for i in range(n):
        e = uint(mine[i])
        single.gap[i] = (
            proposals.take_refusal(g.words[e]) + _take_uniform(words[i]) * proposals.QUARTER_UNIT
        ) * most - 1.0
        single.v[i], single.x[i] = proposals.take_upper_half(g.words[e]), new[e]
    _judge_proposals(single, prior.eta, lists.flags[:n])
    for i in range(n):
        e = uint(mine[i])
        new[e] = new[e] if single.gap[i] < 0.0 else single.tail[i]
    n = gammas.list_flagged(lists.flags[:n], lists.places)
    for i in range(n):
        mine[i] = mine[uint(lists.places[i])]
    return _draw_again(rng, n, prior, lists, new)


@inlined
def _draw_again(rng: Stream, n: int, prior: EntryPrior, lists: Lists, new: FloatArray) -> Stream:
    """Draw ``Gam(eta)`` for the first ``n`` of ``lists.mine``, with 32 bits for each of the two uniforms."""
    words, x, out, single = lists.words[:n], lists.x[:n], lists.out, lists.single
    most = 1.0 + augment.compute_tail_share(prior.eta)
    rng = _fill_random(rng, words)
    proposals.propose_gammas(words, prior, x)
    for i in range(n):
        single.gap[i] = np.float64(words[i] & _MASK32) * (proposals.HALF_UNIT * most) - 1.0
        single.v[i], single.x[i] = proposals.take_upper_half(words[i]), x[i]
    _judge_proposals(single, prior.eta, lists.flags[:n])
    for i in range(n):
        out[i] = x[i] if single.gap[i] < 0.0 else single.tail[i]
    for j in range(gammas.list_flagged(lists.flags[:n], lists.places)):
        i = lists.places[j]
        out[i], rng = augment.draw_root_gamma(rng, prior.root) if prior.root > 0 else augment.draw_gamma(rng, prior.eta)
    for i in range(n):
        new[uint(lists.mine[i])] = out[i]
    return rng


@compiled
def _judge_proposals(single: Singles, eta: float, flags: Array) -> None:
    """Flag rejected proposals for ``Gam(eta)``, as ``augment.judge_root_gamma`` does, and write the values of the tail.

    A proposal is ``x`` if ``gap = u (1 + share) - 1`` is below 0, else the value of the tail.
    """
    share, power, one, zero = (
        np.float32(augment.compute_tail_share(eta)),
        np.float32(1.0 - eta),
        np.float32(1.0),
        np.float32(0.0),
    )
    for i in range(len(flags)):
        tail = one - proposals.single_logarithm(single.v[i])
        body = proposals.single_exp_minus(single.x[i]) - one
        beyond = share * proposals.single_exp_minus(power * proposals.single_logarithm(tail))
        gap = single.gap[i]
        single.tail[i] = tail
        flags[i] = gap >= (body if gap < zero else beyond)


# Gammas of any shape


@inlined
def add_gammas(rng: Stream, n: int, lists: Lists, new: FloatArray) -> Stream:
    """Add ``Gam(x_i)`` to the first ``n`` of ``lists.mine``; shapes below 1 are drawn one higher and scaled down."""
    shapes, words, out = lists.x[:n], lists.words[:n], lists.out[:n]
    least = 1.0
    for i in range(n):
        least = min(least, shapes[i])
    rng = _fill_random(rng, words)
    _propose_gammas(words, shapes, lists.u, lists.v, out, lists.flags[:n])
    for j in range(gammas.list_flagged(lists.flags[:n], lists.places)):
        i = lists.places[j]
        out[i], rng = gammas.settle_gamma(rng, words[i], gammas.lift_shape(shapes[i]), lists.u[i], lists.v[i])
    if least < 1.0:
        for i in range(n):
            if shapes[i] < 1.0:
                e, rng = augment.draw_exponential(rng)
                out[i] *= exp(-e / shapes[i])
    for i in range(n):
        new[uint(lists.mine[i])] += out[i]
    return rng


@compiled
def _propose_gammas(
    words: Array, shapes: FloatArray, z: FloatArray, u: FloatArray, out: FloatArray, flags: Array
) -> None:
    """Propose cubes of normals and flag those that the quick test does not accept."""
    for i in range(len(flags)):
        out[i], z[i], u[i], flags[i] = gammas.propose_gamma(words[i], gammas.lift_shape(shapes[i]))


# The part of themselves that topics keep


@inlined
def add_kept(rng: Stream, g: Group, n: int, lists: Lists, new: FloatArray) -> Stream:
    """Add ``Gam(Pois(rate))`` to the first ``n`` of ``lists.mine``, without drawing the Poisson number.

    Let T be the first point of a Poisson process of rate 1: if T >= rate the number is 0, otherwise 1 plus a
    Poisson number of mean ``s = rate - T``.  ``Gam(1 + Pois(s))`` is half of a noncentral chi-square of two degrees
    of freedom, ``|(sqrt(2 s), 0) + Z|^2 / 2 = s + e + 2 sqrt(s e) cos(angle)`` with e exponential.
    """
    mine, words, u = lists.mine[:n], lists.words[:n], lists.u[:n]
    rng = _fill_random(rng, words)
    for i in range(n):
        e = uint(mine[i])
        u[i] = proposals.take_keeping(g.words[e]) + _take_uniform(words[i]) * proposals.QUARTER_UNIT
        lists.x[i] = g.rates[e]
    rng = _fill_random(rng, words)
    _draw_noise(words, lists.single.x, lists.single.tail)
    _write_noncentral(u, lists.x, lists.single.x, lists.single.tail, lists.out)
    for i in range(n):
        new[uint(mine[i])] += lists.out[i]
    return rng


@compiled
def _draw_noise(words: Array, e: Array, cosine: Array) -> None:
    """Write an exponential draw, at most 22, and the cosine of a random angle, from the two halves of every word."""
    halves = words.view(np.uint32)
    unit, one, half = np.float32(proposals.HALF_UNIT), np.float32(1.0), np.float32(0.5)
    for i in range(len(words)):
        e[i] = -proposals.single_logarithm((np.float32(halves[2 * i]) + one) * unit)
        cosine[i] = proposals.single_sine(np.float32(halves[2 * i + 1]) * unit - half)


@compiled
def _write_noncentral(u: FloatArray, rates: FloatArray, e: Array, cosine: Array, out: FloatArray) -> None:
    """Write the kept part of every entry to ``out``; ``T = -ln(1 - u)``."""
    for i in range(len(u)):
        s = rates[i] + gammas.logarithm(1.0 - u[i])
        noise = np.float64(e[i])
        value = s + noise + 2.0 * np.sqrt(max(s, 0.0) * noise) * np.float64(cosine[i])
        out[i] = max(value, 0.0) if s > 0.0 else 0.0


SAFE = 0.2  # least eta V for plain gammas: the chance that a sum of V gammas is below 1e-290 is 1e-290^(eta V)


class KeptWords(NamedTuple):
    """The part of themselves that topics keep: ``phi`` (K_{l-1}, K_l) and ``rates`` (K_l,), mean words per topic."""

    phi: FloatArray
    rates: FloatArray


NOTHING_KEPT = KeptWords(np.zeros((0, 0)), np.zeros(0))


def draw_topics(counts: Array, eta: float, at: LayerAddress, pool: Pool, kept: KeptWords = NOTHING_KEPT) -> FloatArray:
    """Return a draw of every topic of one layer, ``phi_k ~ Dir(eta + counts[:, k])``, exact for tiny eta.

    The part of itself that a topic keeps counts as ``Pois(rates_k phi_vk)`` additional occurrences of every word.
    """
    new: FloatArray = np.empty(counts.shape)
    fixed = (proposals.make_prior(eta), at, new)
    if eta * len(counts) < SAFE:
        run_blocks(_draw_log_gammas, (counts, kept, *fixed), new.shape, pool)
        np.exp(new - new.max(axis=0), out=new)
        sums = new.sum(axis=0)
    else:
        flat = np.ascontiguousarray(counts).ravel()
        sums = run_blocks(_draw_gammas, (flat, KeptWords(kept.phi.ravel(), kept.rates), *fixed), new.shape, pool)
    return divide_columns(new, sums, new, np.ones(new.shape[1], np.bool_), pool)


@compiled
def _draw_gammas(
    counts: Array, kept: KeptWords, prior: EntryPrior, at: LayerAddress, new: FloatArray, blocks: Blocks
) -> None:
    """Write ``Gam(eta + counts + Pois(kept phi))`` to ``new`` and its column sums by block to ``blocks.sums``."""
    n_rows, n_topics = new.shape
    n_rows_at_once = proposals.count_group_rows(n_topics)
    group = proposals.make_group(n_rows_at_once * n_topics)
    lists = make_lists(n_rows_at_once * n_topics)
    values = new.reshape(new.size)
    for v in range(blocks.first * BLOCK, min(blocks.last * BLOCK, n_rows), n_rows_at_once):
        end = min(v + n_rows_at_once, n_rows)
        a, b = v * n_topics, end * n_topics
        if b - a < len(group.words):
            group = proposals.make_group(b - a)
        proposals.fill_words(at, v, end, counts[a:b], group.words, group.flags)
        if len(kept.rates) > 0:
            proposals.flag_kept(kept.phi[a:b], kept.rates, group.words, group.rates, group.flags)
        rng = start_row_stream(at, v, LISTED)
        _draw_group(rng, counts[a:b], prior, len(kept.rates) > 0, group, lists, values[a:b])
        _add_rows(new[v:end], blocks.sums[v // BLOCK])


@compiled
def _add_rows(rows: FloatArray, total: FloatArray) -> None:
    """Add the rows of a table to ``total``, in order."""
    for v in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total[k] += rows[v, k]


@compiled
def _draw_group(
    rng: Stream, counts: Array, prior: EntryPrior, keeps: bool, group: Group, lists: Lists, new: FloatArray
) -> None:
    """Write ``Gam(eta)`` for every entry, and add the gammas of counts and of the kept part."""
    flags, x = group.flags, lists.x
    small = prior.eta < 1.0
    if small:
        proposals.propose_gammas(group.words, prior, new)
        proposals.flag_refused(group.words, new, prior.eta, flags)
    else:
        new[:] = 0.0
        flags[:] |= proposals.COUNTED
    places = group.places[: gammas.list_flagged(flags, group.places)]
    if small:
        rng = draw_refused(
            rng, group, proposals.list_marked(proposals.REFUSED, flags, places, lists.mine), prior, lists, new
        )
    n = proposals.list_marked(proposals.COUNTED, flags, places, lists.mine)
    extra = 0.0 if small else prior.eta
    for i in range(n):
        x[i] = counts[uint(lists.mine[i])] + extra
    rng = add_gammas(rng, n, lists, new)
    if keeps:
        add_kept(rng, group, proposals.list_marked(proposals.KEEPS, flags, places, lists.mine), lists, new)


@compiled
def _draw_log_gammas(
    counts: Array, kept: KeptWords, prior: EntryPrior, at: LayerAddress, new: FloatArray, blocks: Blocks
) -> None:
    """Write the logarithms of ``Gam(eta + counts + Pois(kept phi))`` to ``new``."""
    for v in range(blocks.first * BLOCK, min(blocks.last * BLOCK, new.shape[0])):
        rng = start_row_stream(at, v)
        for k in range(new.shape[1]):
            count = float(counts[v, k])
            if len(kept.rates) > 0:
                n, rng = draw_poisson(rng, kept.rates[k] * kept.phi[v, k])
                count += n
            if prior.root > 0 and count == 0.0:
                new[v, k], rng = augment.draw_root_log_gamma(rng, prior.root)
            else:
                new[v, k], rng = augment.draw_log_gamma(rng, prior.eta + count)
