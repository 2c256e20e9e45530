"""Exact Dirichlet draws of whole layers of topics.

A topic is a column; its draw is gammas divided by their sum.  Most entries of a table have no counts: their
gammas all have the shape eta, and those of a row are proposed together.  See ``rows.py`` for the streams.
"""

from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.gibbs.augment import (
    TINY,
    gamma,
    gamma_of_root,
    judge_root,
    log_gamma_draw,
    log_gamma_of_root,
    log_judge_root,
    tail_share,
    whole_root,
)
from engine.gibbs.upper import place
from engine.jit import compiled, inlined
from engine.pool import Pool
from engine.streams import Stream, positive, uniform
from engine.topic_moves.rows import BLOCK, by_blocks, divide, row_stream

_UNDERFLOW = 1e-290


def draw(counts: Array, eta: float, seed: int, step: int, layer: int, pool: Pool) -> FloatArray:
    """Return a draw of every topic of one layer, ``phi_k ~ Dir(eta + counts[:, k])``, exact for tiny eta."""
    new: FloatArray = np.empty(counts.shape)
    root = whole_root(eta)  # most entries have no counts, and shapes such as 1/20 can be drawn faster
    sums = by_blocks(_gammas, (counts, float(eta), root, seed, step, layer, new), new.shape, pool)
    low = np.flatnonzero(~(sums > _UNDERFLOW))
    if low.size:
        sums = sums.copy()
        logs = _log_gammas(counts, float(eta), root, seed, step, layer, low)
        new[:, low] = np.exp(logs - logs.max(axis=0))
        sums[low] = new[:, low].sum(axis=0)
    return divide(new, sums, new, np.ones(new.shape[1], np.bool_), pool)


class _Proposals(NamedTuple):
    """One proposal for every entry of a row: two uniforms, ``x = v^root``, room for squares of squares and a list."""

    u: FloatArray
    v: FloatArray
    x: FloatArray
    square: FloatArray
    left: Array


@compiled
def _new_proposals(n: int) -> _Proposals:
    """Room for a row of ``n``."""
    return _Proposals(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64))


@compiled
def _propose_roots(rng: Stream, root: int, p: _Proposals) -> Stream:
    """Fill a row of proposals for ``Gam(1 / root, 1)``: loops without a branch, which become vector code."""
    n = len(p.u)
    for k in range(n):
        p.u[k], _ = uniform(Stream(rng.state + rng.gamma * np.uint64(2 * k), rng.gamma))
        p.v[k], _ = positive(Stream(rng.state + rng.gamma * np.uint64(2 * k + 1), rng.gamma))
    p.x[:] = 1.0
    p.square[:] = p.v
    while root > 0:
        if root & 1:
            for k in range(n):
                p.x[k] *= p.square[k]
        for k in range(n):
            p.square[k] *= p.square[k]
        root >>= 1
    return Stream(rng.state + rng.gamma * np.uint64(2 * n), rng.gamma)


@inlined
def _take_roots(root: int, p: _Proposals, counts: Array, out: FloatArray) -> np.uint64:
    """Take proposals that :func:`judge_root` accepts at a glance, where there are no counts; list the others.

    Returns how many are left in ``p.left``.  Nothing branches here: which way it goes cannot be foreseen.
    """
    n_left = place(0)
    most = 1.0 + tail_share(root)
    for k in range(place(len(out))):
        out[k] = max(p.x[k], TINY)
        p.left[n_left] = k
        n_left += place((counts[k] > 0) | (p.u[k] * most >= 1.0 - p.x[k]))
    return n_left


@compiled
def _gammas(
    counts: Array,
    eta: float,
    root: int,
    seed: int,
    step: int,
    layer: int,
    new: FloatArray,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Write ``Gam(eta + counts)`` to ``new`` and its column sums by block to ``sums``."""
    n_topics = counts.shape[1]
    proposals = _new_proposals(n_topics)
    for k in range(n_topics):
        proposals.left[k] = k  # all of them, where no shape is drawn by whole powers
    for block in range(first, last):
        total = sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, counts.shape[0])):
            rng = row_stream(seed, step, layer, v)
            n_left = place(n_topics)
            if root > 0:
                rng = _propose_roots(rng, root, proposals)
                n_left = _take_roots(root, proposals, counts[v], new[v])
            for i in range(n_left):
                entry = place(proposals.left[i])
                if root > 0 and counts[v, entry] == 0:
                    draw, accepted = judge_root(root, proposals.u[entry], proposals.v[entry], proposals.x[entry])
                    if not accepted:
                        draw, rng = gamma_of_root(rng, root)
                else:
                    draw, rng = gamma(rng, eta + counts[v, entry])
                new[v, entry] = draw
            for k in range(n_topics):
                total[k] += new[v, k]


@compiled
def _log_gammas(counts: Array, eta: float, root: int, seed: int, step: int, layer: int, topics: Array) -> FloatArray:
    """Return the logarithms (K_{l-1}, n) of the gammas that :func:`_gammas` drew for ``topics`` (n,)."""
    logs = np.empty((counts.shape[0], topics.size))
    n_topics = counts.shape[1]
    proposals = _new_proposals(n_topics)
    row = np.empty(n_topics)
    for v in range(counts.shape[0]):
        rng = row_stream(seed, step, layer, v)
        if root > 0:
            rng = _propose_roots(rng, root, proposals)
        for k in range(n_topics):
            if root > 0 and counts[v, k] == 0:
                row[k], accepted = log_judge_root(root, proposals.u[k], proposals.v[k])
                if not accepted:
                    row[k], rng = log_gamma_of_root(rng, root)
            else:
                row[k], rng = log_gamma_draw(rng, eta + counts[v, k])
        logs[v] = row[topics]
    return logs
