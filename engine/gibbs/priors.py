"""The prior share of a token's mass, ``sum_k phi_vk a_kj``: weighed for every word, and a topic drawn from it.

It wins a few tokens in a hundred; then a topic is looked for among all of them.  One layer has r as the
only column of ``base``, and running sums of ``phi_vk r_k`` over blocks of eight topics, kept with every word,
tell the block at once.  With more layers a topic c of layer 2 is drawn first, then k given c.
"""

import numpy as np

from engine.contract import Array, FloatArray
from engine.gibbs.upper import EIGHT, NONE, ONE, place
from engine.jit import compiled, inlined
from engine.streams import Stream, uniform


def room(phi: FloatArray, base: FloatArray, *, lone: bool) -> FloatArray:
    """Room for the prior masses of all words: a column for every topic of layer 2, or for every block of eight.

    ``lone`` says that there is one layer only; ``base`` has one row then, and also where layer 2 has one topic.
    Memory is taken where it is written: words that are not weighed cost nothing.
    """
    return np.zeros((phi.shape[0], -(-phi.shape[1] // 8) if lone else len(base)))


@compiled
def weigh_words(phi: FloatArray, base: FloatArray, prior: FloatArray, words: Array, begin: int, end: int) -> None:
    """Fill the rows ``words[begin:end]`` of ``prior``, each in the same order whatever the threads."""
    turned = np.ascontiguousarray(base.T)
    for i in range(begin, end):
        _weigh(phi[words[i]], turned, prior[words[i]])


@inlined
def _weigh(weights: FloatArray, turned: FloatArray, row: FloatArray) -> None:
    """``row = weights @ turned``, four topics at a time: the row is loaded and stored a quarter as often."""
    n_topics, n_columns = turned.shape
    row[:] = 0.0
    whole = n_topics - n_topics % 4
    for k in range(0, whole, 4):
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for i in range(n_columns):
            row[i] += (a * turned[k, i] + b * turned[k + 1, i]) + (c * turned[k + 2, i] + d * turned[k + 3, i])
    for k in range(whole, n_topics):
        for i in range(n_columns):
            row[i] += weights[k] * turned[k, i]


@compiled
def add_up_blocks(phi: FloatArray, base: FloatArray, prior: FloatArray, words: Array, begin: int, end: int) -> None:
    """Fill the same rows for one layer: running sums of ``phi_vk r_k``, added as :func:`pick_topic` adds them."""
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
    """Draw k proportional to ``phi[word, k] * base[0, k]``: its block by the running sums, then within the block."""
    n, last = place(phi.shape[1]), place(prior.shape[1]) - ONE
    u, rng = uniform(rng)
    u *= prior[word, last]
    block = NONE
    for b in range(last):
        block += place(prior[word, b] <= u)
    reached = 0.0
    if block > NONE:
        reached = prior[word, block - ONE]
    k, mass = EIGHT * block, 0.0
    found, stop = k, min(k + EIGHT, n)
    while k < stop:
        mass += phi[word, k] * base[0, k]
        found += place(reached + mass <= u)
        k += ONE
    return np.int64(min(found, n - ONE)), rng  # type: ignore[return-value]


@inlined
def pick_column(near: FloatArray, i: int, u: float, theta: FloatArray, live: Array, n_live: int) -> int:
    """Find the topic c of layer 2 at point ``u`` of the prior mass of cell ``i``."""
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
