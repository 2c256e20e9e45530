"""The prior mass of a token, ``sum_k phi_vk a_kj``: computed for every word, and topics drawn from it.

The prior wins only a few tokens in a hundred; then the topic is drawn from all topics.  With one layer, ``base`` is r
as a single row, and running sums of ``phi_vk r_k`` over blocks of eight topics, stored for every word, find the block
at once.  With more layers, a topic c of layer 2 is drawn first, then k given c.
"""

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.upper import EIGHT, NONE, ONE, multiply_rows, sum_block, uint
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Stream, draw_uniform


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
