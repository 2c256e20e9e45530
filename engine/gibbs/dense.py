"""Topics of a document's tokens drawn from all topics at once: for documents that use many, or often the prior.

``tokens.py`` describes the law.  Here the weights ``n_jk + a_kj`` of all topics are read for every token; no step
depends on whether a topic is new to the document, which the processor could not predict.
"""

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs import simd
from topiary.engine.gibbs.upper import EIGHT, NONE, ONE, SEVEN, uint
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
