"""Exact Dirichlet draws of whole layers of topics.

A topic is a column; its draw is a vector of gammas divided by their sum.  Most entries of a table have no counts:
random proposals draw these, as described below.  The entries that they list are drawn afterwards: refused proposals,
entries with counts, and the part of themselves that topics keep.  Loops without a branch draw many entries at a time;
the few entries that they cannot decide are drawn one by one.  Functions take a stream and return its continuation.

Random proposals for the entries of a table, made from one 64-bit word each, in loops without a branch.

Most entries have no count, keep nothing of their topic, and are ``Gam(eta)`` draws that a quick test accepts.  These
are drawn a group of rows at a time; the other entries are listed.

The upper half of a word is ``v`` on (0, 1] and the entry's proposal ``x = v^(1 / eta)`` (Ahrens and Dieter's GS, 1974,
for eta below 1), whose logarithm is at least ``-22 / eta``: smaller values have probability 2^-32.  Its two lower
quarters are the first bits of two uniforms, compared with the chance to keep nothing and the chance to be accepted.
If the 16 bits do not decide, the entry is listed and further bits are drawn, so that both chances are exact.

The functions for logarithms, exponentials and sines use products and sums alone, as those of ``gammas.py`` do.  If only
the chance to be accepted or the size of noise depends on them, they use single precision, eight numbers to a register
of AVX2: an error of 1e-7 there changes a law by as much, which 10^13 draws would not show.
"""

from math import exp, factorial, log, pi
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import augment, gammas
from topiary.engine.gibbs.augment import compute_tail_share, find_root
from topiary.engine.gibbs.gammas import power
from topiary.engine.gibbs.latent import draw_poisson
from topiary.engine.gibbs.upper import uint
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool
from topiary.engine.streams import LISTED, Stream, mix_bits
from topiary.engine.topic_moves.rows import BLOCK, Blocks, LayerAddress, divide_columns, run_blocks, start_row_stream

_LOG_2_SINGLE = np.float32(log(2.0))
_S23 = np.int32(23)
_ROOT_HALF_SINGLE = np.int32(0x3F3504F3)
_PI = np.float32(pi)
_ONE, _TWO, _MINUS_QUARTER = np.float32(1.0), np.float32(2.0), np.float32(-0.25)
_THIRD, _FIFTH, _SEVENTH, _NINTH = (np.float32(1.0 / n) for n in (3, 5, 7, 9))
_E2, _E3, _E4, _E5, _E6 = (np.float32(1.0 / factorial(n)) for n in range(2, 7))
_S3, _S5, _S7, _S9, _S11 = (np.float32((-1) ** (n // 2) / factorial(n)) for n in range(3, 12, 2))


@inlined
def single_logarithm(x: np.float32) -> np.float32:
    """Return ``ln x`` of a positive normal float32."""
    bits = np.float32(x).view(np.int32)
    exponent = np.int32((bits - _ROOT_HALF_SINGLE) >> _S23)
    m = np.int32(bits - (exponent << _S23)).view(np.float32)
    s = (m - _ONE) / (m + _ONE)
    z = s * s
    return np.float32(exponent) * _LOG_2_SINGLE + _TWO * s * (
        _ONE + z * (_THIRD + z * (_FIFTH + z * (_SEVENTH + z * _NINTH)))
    )


@inlined
def single_exp_minus(x: np.float32) -> np.float32:
    """Return ``e^-x`` of a float32 from 0 to 1: a series for x / 4, squared twice.  At 3 it is accurate to 1e-5."""
    y = x * _MINUS_QUARTER
    e = _ONE + y * (_ONE + y * (_E2 + y * (_E3 + y * (_E4 + y * (_E5 + y * _E6)))))
    e *= e
    return e * e


@inlined
def single_sine(y: np.float32) -> np.float32:
    """Return ``sin(pi y)`` of a float32 from -1/2 to 1/2."""
    x = y * _PI
    z = x * x
    return x * (_ONE + z * (_S3 + z * (_S5 + z * (_S7 + z * (_S9 + z * _S11)))))


REFUSED, COUNTED, KEEPS = np.uint8(1), np.uint8(2), np.uint8(4)  # flags of entries that are listed
ENTRIES = 4096  # entries of a group: long enough for vector code, short enough for the first-level cache

_S16, _S32 = np.uint64(16), np.uint64(32)
_QUARTER = np.uint64(0xFFFF)
HALF_UNIT = 1.0 / 4294967296.0  # 2^-32
QUARTER_UNIT = 1.0 / 65536.0  # 2^-16


class EntryPrior(NamedTuple):
    """The shape ``eta`` of an entry without a count, and ``root = 1 / eta`` if that is a whole number, else 0."""

    eta: float
    root: int


def make_prior(eta: float) -> EntryPrior:
    """Return the prior of shape ``eta``."""
    return EntryPrior(float(eta), find_root(eta))


class Group(NamedTuple):
    """Scratch space for the entries of some rows, one after another: words, kept rates, flags, and listed places."""

    words: Array
    rates: FloatArray
    flags: Array
    places: Array


@compiled
def count_group_rows(n_topics: int) -> int:
    """Return the number of rows drawn together: a power of 2 up to 64, whatever the number of threads."""
    rows = 64
    while rows > 1 and rows * n_topics > ENTRIES:
        rows //= 2
    return rows


@compiled
def make_group(n: int) -> Group:
    """Return scratch space for ``n`` entries that keep nothing."""
    return Group(np.empty(n, np.uint64), np.zeros(n), np.empty(n, np.uint8), np.empty(n, np.int64))


@inlined
def take_refusal(word: np.uint64) -> float:
    """Return the first bits of the uniform of the acceptance test, a multiple of 2^-16."""
    return np.float64((word >> _S16) & _QUARTER) * QUARTER_UNIT


@inlined
def take_keeping(word: np.uint64) -> float:
    """Return the first bits of the uniform that decides how much is kept, a multiple of 2^-16."""
    return np.float64(word & _QUARTER) * QUARTER_UNIT


@inlined
def take_upper_half(word: np.uint64) -> float:
    """Return the uniform ``v`` on (0, 1]."""
    return (np.float64(word >> _S32) + 1.0) * HALF_UNIT


@compiled
def fill_words(at: LayerAddress, first: int, last: int, counts: Array, words: Array, flags: Array) -> None:
    """Write the words of rows ``first:last`` and flag the entries that have a count."""
    n_topics = len(words) // (last - first)
    for row in range(last - first):
        rng = start_row_stream(at, first + row)
        offset = row * n_topics
        for k in range(n_topics):
            i = uint(offset + k)
            words[i] = mix_bits(rng.state + rng.gamma * np.uint64(k + 1))
            flags[i] = COUNTED if counts[i] > 0 else 0


@compiled
def flag_kept(phi: FloatArray, kept: FloatArray, words: Array, rates: FloatArray, flags: Array) -> None:
    """Write ``rate = kept_k phi_vk``, and flag entries that may keep words: their chance is ``1 - e^-rate < rate``."""
    n_topics = len(kept)
    for row in range(len(rates) // n_topics):
        offset = row * n_topics
        for k in range(n_topics):
            i = uint(offset + k)
            rate = kept[uint(k)] * phi[i]
            rates[i] = rate
            flags[i] |= KEEPS if take_keeping(words[i]) < rate else 0


@compiled
def propose_gammas(words: Array, prior: EntryPrior, x: FloatArray) -> None:
    """Write the proposal ``x = v^(1 / eta)`` of every word."""
    if prior.root > 0:
        _raise_to_root(words, prior.root, x)
    else:
        for i in range(len(x)):
            x[i] = power(take_upper_half(words[i]), 1.0 / prior.eta)


@compiled
def _raise_to_root(words: Array, root: int, x: FloatArray) -> None:
    """Write ``v^root`` of every word: the first five binary digits of the power at once, then one at a time."""
    n_later = 0
    while root >> n_later > 31:
        n_later += 1
    top = root >> n_later
    d4, d3, d2, d1, d0 = (top & 16) > 0, (top & 8) > 0, (top & 4) > 0, (top & 2) > 0, (top & 1) > 0
    for i in range(len(x)):
        v = take_upper_half(words[i])
        y = v if d4 else 1.0
        y = y * y * (v if d3 else 1.0)
        y = y * y * (v if d2 else 1.0)
        y = y * y * (v if d1 else 1.0)
        x[i] = y * y * (v if d0 else 1.0)
    while n_later > 0:
        n_later -= 1
        digit = (root >> n_later & 1) > 0
        for i in range(len(x)):
            x[i] = x[i] * x[i] * (take_upper_half(words[i]) if digit else 1.0)


@compiled
def flag_refused(words: Array, x: FloatArray, eta: float, flags: Array) -> None:
    """Flag proposals that the quick test does not accept; it compares the uniform with the first terms of ``e^-x``."""
    most = 1.0 + compute_tail_share(eta)
    for i in range(len(x)):
        bound = 1.0 - x[i] * (1.0 - x[i] * (1.0 / 2.0 - x[i] * (1.0 / 6.0)))
        flags[i] |= REFUSED if (take_refusal(words[i]) + QUARTER_UNIT) * most >= bound else 0


@compiled
def list_marked(flag: int, flags: Array, places: Array, mine: Array) -> Any:
    """Write those of ``places`` whose entries have one flag to ``mine``, and return how many there are."""
    n = uint(0)
    for i in range(uint(len(places))):
        mine[n] = places[i]
        n += uint((flags[uint(places[i])] & flag) != 0)
    return n


_SHIFT_11 = np.uint64(11)
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
    return np.float64(word >> _SHIFT_11) * _UNIT


# Gammas of shape eta whose proposals were not accepted by the quick test


@inlined
def draw_refused(rng: Stream, g: Group, n: int, prior: EntryPrior, lists: Lists, new: FloatArray) -> Stream:
    """Test the proposals of the first ``n`` of ``lists.mine`` exactly, and write new draws for those refused."""
    mine, words, single = lists.mine[:n], lists.words[:n], lists.single
    most = 1.0 + augment.compute_tail_share(prior.eta)
    rng = _fill_random(rng, words)
    for i in range(n):
        e = uint(mine[i])
        single.gap[i] = (take_refusal(g.words[e]) + _take_uniform(words[i]) * QUARTER_UNIT) * most - 1.0
        single.v[i], single.x[i] = take_upper_half(g.words[e]), new[e]
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
    propose_gammas(words, prior, x)
    for i in range(n):
        single.gap[i] = np.float64(words[i] & _MASK32) * (HALF_UNIT * most) - 1.0
        single.v[i], single.x[i] = take_upper_half(words[i]), x[i]
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
        tail = one - single_logarithm(single.v[i])
        body = single_exp_minus(single.x[i]) - one
        beyond = share * single_exp_minus(power * single_logarithm(tail))
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
        u[i] = take_keeping(g.words[e]) + _take_uniform(words[i]) * QUARTER_UNIT
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
    unit, one, half = np.float32(HALF_UNIT), np.float32(1.0), np.float32(0.5)
    for i in range(len(words)):
        e[i] = -single_logarithm((np.float32(halves[2 * i]) + one) * unit)
        cosine[i] = single_sine(np.float32(halves[2 * i + 1]) * unit - half)


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
    fixed = (make_prior(eta), at, new)
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
    n_rows_at_once = count_group_rows(n_topics)
    group = make_group(n_rows_at_once * n_topics)
    lists = make_lists(n_rows_at_once * n_topics)
    values = new.reshape(new.size)
    for v in range(blocks.first * BLOCK, min(blocks.last * BLOCK, n_rows), n_rows_at_once):
        end = min(v + n_rows_at_once, n_rows)
        a, b = v * n_topics, end * n_topics
        if b - a < len(group.words):
            group = make_group(b - a)
        fill_words(at, v, end, counts[a:b], group.words, group.flags)
        if len(kept.rates) > 0:
            flag_kept(kept.phi[a:b], kept.rates, group.words, group.rates, group.flags)
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
        propose_gammas(group.words, prior, new)
        flag_refused(group.words, new, prior.eta, flags)
    else:
        new[:] = 0.0
        flags[:] |= COUNTED
    places = group.places[: gammas.list_flagged(flags, group.places)]
    if small:
        rng = draw_refused(rng, group, list_marked(REFUSED, flags, places, lists.mine), prior, lists, new)
    n = list_marked(COUNTED, flags, places, lists.mine)
    extra = 0.0 if small else prior.eta
    for i in range(n):
        x[i] = counts[uint(lists.mine[i])] + extra
    rng = add_gammas(rng, n, lists, new)
    if keeps:
        add_kept(rng, group, list_marked(KEEPS, flags, places, lists.mine), lists, new)


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
