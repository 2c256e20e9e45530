"""The prior mass of a token, ``sum_k phi_vk a_kj``: computed for every word, and topics drawn from it.

The prior wins only a few tokens in a hundred; then the topic is drawn from all topics.  With one layer, ``base`` is r
as a single row, and running sums of ``phi_vk r_k`` over blocks of eight topics, stored for every word, find the block
at once.  With more layers, a topic c of layer 2 is drawn first, then k given c.
"""

import numpy as np

from engine.contract import Array, FloatArray
from engine.gibbs.upper import EIGHT, NONE, ONE, uint
from engine.jit import compiled, inlined
from engine.streams import Stream, draw_uniform


def allocate_priors(phi: FloatArray, base: FloatArray, *, lone: bool) -> FloatArray:
    """Return an array for the prior masses of all words, a column per topic of layer 2, or per block of eight topics.

    ``lone`` says that there is only one layer: a ``base`` with one row does not, because layer 2 may have one topic.
    The system assigns memory when it is written to, so words without computed priors cost nothing.
    """
    return np.zeros((phi.shape[0], -(-phi.shape[1] // 8) if lone else len(base)))


@compiled
def weigh_words(phi: FloatArray, base: FloatArray, prior: FloatArray, words: Array, begin: int, end: int) -> None:
    """Write the rows ``words[begin:end]`` of ``prior = phi @ base'``; results do not depend on the threads."""
    columns = np.ascontiguousarray(base.T)
    for i in range(begin, end):
        multiply_rows(phi[words[i]], columns, prior[words[i]])


@inlined
def multiply_rows(weights: FloatArray, rows: FloatArray, out: FloatArray) -> None:
    """Write ``out = weights @ rows``, four rows at a time, so that ``out`` is loaded and stored a quarter as often."""
    out[:] = 0.0
    whole = len(weights) - len(weights) % 4
    for j in range(0, whole, 4):
        a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(len(out)):
            out[i] += (a * rows[j, i] + b * rows[j + 1, i]) + (c * rows[j + 2, i] + d * rows[j + 3, i])
    for j in range(whole, len(weights)):
        for i in range(len(out)):
            out[i] += weights[j] * rows[j, i]


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
def pick_column(near: FloatArray, i: int, u: float, theta: FloatArray, live: Array, n_live: int) -> int:
    """Return the topic c of layer 2 at point ``u`` of the prior mass of cell ``i``."""
    for rank in range(n_live):
        c = live[rank]
        u -= near[c, i] * theta[c]
        if u < 0.0:
            return c
    return live[n_live - 1]


@inlined
def scan_topics(rng: Stream, phi: FloatArray, word: int, base: FloatArray, c: int, total: float) -> tuple[int, Stream]:
    """Draw k proportional to ``phi[word, k] * base[c, k]``, which sum to ``total``, skipping blocks of eight."""
    n = phi.shape[1]
    u, rng = draw_uniform(rng)
    u *= total
    reached = 0.0
    k = 0
    while k + 8 <= n:
        mass = _sum_block(phi, word, base, c, k)
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
def _sum_block(phi: FloatArray, word: int, base: FloatArray, c: int, k: int) -> float:
    """Return the sum of eight products as a balanced tree, which keeps chains of additions short."""
    return (
        (phi[word, k] * base[c, k] + phi[word, k + 1] * base[c, k + 1])
        + (phi[word, k + 2] * base[c, k + 2] + phi[word, k + 3] * base[c, k + 3])
    ) + (
        (phi[word, k + 4] * base[c, k + 4] + phi[word, k + 5] * base[c, k + 5])
        + (phi[word, k + 6] * base[c, k + 6] + phi[word, k + 7] * base[c, k + 7])
    )
