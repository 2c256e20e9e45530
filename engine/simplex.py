"""Moves of whole layers of topics: stochastic-gradient Langevin steps and exact Dirichlet draws.

A layer is ``phi`` (K_{l-1}, K_l), C-contiguous, every column on the simplex, with a table of counts of
the same shape.  Work goes through memory row by row.  Row ``v`` of layer ``l`` owns the random stream
``(seed, TOPICS, step, (l, v))``, and column sums are sums of blocks of 64 rows added in block order, so
the result is the same bits for any number of threads.  No function changes its arguments.
"""

from collections.abc import Callable
from math import fabs, sqrt
from typing import Any, NamedTuple

import numpy as np

from engine.augment import (
    TINY,
    gamma,
    gamma_of_root,
    judge_root,
    log_gamma_draw,
    log_gamma_of_root,
    log_judge_root,
    normal,
    tail_share,
    whole_root,
)
from engine.contract import Array, FloatArray
from engine.jit import compiled, inlined
from engine.pool import Pool, chunks
from engine.streams import SHAPES, TOPICS, Stream, positive, stream, uniform
from engine.upper import place

SMALLEST = 2.2e-16  # where entries of phi are held after a Langevin step
LEAST_SCALE = 1e-10  # a topic whose M_k is not above this keeps its phi
_BLOCK = 64
_LAYER_SHIFT = 40  # a stream's item is the layer, then the row in the low 40 bits
_SMALL_TABLE = 16384  # below this many entries threads cost more than they save
_UNDERFLOW = 1e-290


def langevin(
    phi: FloatArray,
    counts: Array,
    eta: float,
    scale: FloatArray,
    eps: float,
    seed: int,
    step: int,
    layer: int,
    pool: Pool,
    *,
    reflect: bool = False,
) -> FloatArray:
    """Return the topics of one layer after one TLASGR or TLFSGR step (DLDA eq. 15).

    ``phi + s_k ((x + eta) - (x_. + eta V) phi) + N(0, 2 s_k diag(phi))`` with ``s_k = eps / M_k`` is moved
    onto the hyperplane of sum 1 along ``phi``, which leaves noise of covariance
    ``2 s_k (diag(phi) - phi phi')`` (eq. 14), then made non-negative and divided by its sum.

    Parameters
    ----------
    phi : (K_{l-1}, K_l) float64
        Topics, columns on the simplex.
    counts : (K_{l-1}, K_l)
        Expected counts of the mini-batch, already times rho.
    eta : float
        Dirichlet hyper-parameter.
    scale : (K_l,) float64
        ``M_k``; TLFSGR passes its mean.  A topic at or below ``LEAST_SCALE`` keeps its phi.
    eps : float
        Step size ``eps_t``.
    seed, step, layer : int
        Address of the random streams.
    pool : Pool
        Threads to work with.
    reflect : bool
        Negative entries take their absolute value, as in the authors' file, and not ``SMALLEST``.
    """
    steps = np.where(scale > LEAST_SCALE, eps / np.maximum(scale, LEAST_SCALE), 0.0)
    pull = _column_sums(counts, pool) + eta * phi.shape[0]
    new = np.empty_like(phi)
    sums = _by_blocks(_propose, (phi, counts, float(eta), pull, steps, seed, step, layer, new), phi.shape, pool)
    sums = _by_blocks(_project, (phi, sums - 1.0, reflect, new), phi.shape, pool)
    return _divide(new, sums, phi, steps > 0.0, pool)


def sgrld(
    phi_hat: FloatArray, counts: Array, eta: float, eps: float, seed: int, step: int, layer: int, pool: Pool
) -> FloatArray:
    """Return ``phi_hat`` of one layer after one expanded-mean step of SGRLD (DLDA eq. 5).

    ``|phi_hat + eps ((x + eta) - (x_. + phi_hat_.) phi) + N(0, 2 eps diag(phi_hat))|`` with
    ``phi = phi_hat / phi_hat_.``; shapes as in :func:`langevin`, and :func:`normalised` gives the topics.
    """
    explained = _column_sums(counts, pool)
    inverse = 1.0 / np.maximum(_column_sums(phi_hat, pool), TINY)
    new = np.empty_like(phi_hat)
    fixed = (phi_hat, counts, float(eta), explained, inverse, float(eps), seed, step, layer, new)
    _by_blocks(_expanded, fixed, new.shape, pool)
    return new


def normalised(table: FloatArray, pool: Pool) -> FloatArray:
    """Return ``table`` with every column divided by its sum; a column without a usable sum becomes flat."""
    flat = np.full_like(table, 1.0 / table.shape[0])
    return _divide(table.copy(), _column_sums(table, pool), flat, np.ones(table.shape[1], np.bool_), pool)


def dirichlet(counts: Array, eta: float, seed: int, step: int, layer: int, pool: Pool) -> FloatArray:
    """Return a draw of every topic of one layer, ``phi_k ~ Dir(eta + counts[:, k])``, exact for tiny eta."""
    new: FloatArray = np.empty(counts.shape)
    root = whole_root(eta)  # most entries have no counts, and shapes such as 1/20 can be drawn faster
    sums = _by_blocks(_gammas, (counts, float(eta), root, seed, step, layer, new), new.shape, pool)
    low = np.flatnonzero(~(sums > _UNDERFLOW))
    if low.size:
        sums = sums.copy()
        logs = _log_gammas(counts, float(eta), root, seed, step, layer, low)
        new[:, low] = np.exp(logs - logs.max(axis=0))
        sums[low] = new[:, low].sum(axis=0)
    return _divide(new, sums, new, np.ones(new.shape[1], np.bool_), pool)


@compiled
def shapes_step(
    r: FloatArray,
    counts: FloatArray,
    q_total: float,
    gamma0: float,
    c0: float,
    scale: float,
    eps: float,
    seed: int,
    step: int,
) -> FloatArray:
    """Return r (K_L,) after one Langevin step, reflected at 0 (DLDA eq. 17).

    ``counts`` (K_L,) and ``q_total`` are the mini-batch's ``x^(L+1)`` and ``q^(L+1)``, already times rho;
    ``scale`` is ``M^(L+1)``, and at or below ``LEAST_SCALE`` nothing moves.
    """
    new = r.copy()
    if not scale > LEAST_SCALE:
        return new
    size = eps / scale
    for k in range(r.size):
        z, _ = normal(stream(seed, SHAPES, step, k))
        drift = counts[k] + gamma0 / r.size - r[k] * (c0 + q_total)
        new[k] = max(fabs(r[k] + size * drift + sqrt(2.0 * size * r[k]) * z), TINY)
    return new


@compiled
def shapes_gibbs(counts: FloatArray, q_total: float, gamma0: float, c0: float, seed: int, step: int) -> FloatArray:
    """Return a draw of r (K_L,): ``r_k ~ Gam(gamma0 / K_L + counts_k, 1 / (c0 + q_total))``."""
    new = np.empty(counts.size)
    for k in range(counts.size):
        draw, _ = gamma(stream(seed, SHAPES, step, k), gamma0 / counts.size + counts[k])
        new[k] = max(draw / (c0 + q_total), TINY)
    return new


def _by_blocks(work: Callable[..., Any], arguments: tuple[Any, ...], shape: tuple[int, ...], pool: Pool) -> FloatArray:
    """Run ``work(*arguments, first, last, sums)`` over blocks of rows; the column sums it leaves behind."""
    n_blocks = -(-shape[0] // _BLOCK)
    sums = np.zeros((n_blocks, shape[1]))
    parts = pool.n_threads if shape[0] * shape[1] > _SMALL_TABLE else 1
    pool.run(work, [(*arguments, first, last, sums) for first, last in chunks(n_blocks, parts)])
    total: FloatArray = _in_order(sums)
    return total


def _column_sums(table: Array, pool: Pool) -> FloatArray:
    return _by_blocks(_sums, (table,), table.shape, pool)


def _divide(new: FloatArray, sums: FloatArray, old: FloatArray, moved: Array, pool: Pool) -> FloatArray:
    """Divide the columns of ``new`` by their sums; one that stands still or has no usable sum stays ``old``."""
    usable = moved & (sums > 0.0) & np.isfinite(sums)
    factors = np.where(usable, 1.0 / np.where(usable, sums, 1.0), 0.0)
    _by_blocks(_scale_rows, (old, usable, bool(usable.all()), factors, new), new.shape, pool)
    return new


@compiled
def _in_order(sums: FloatArray) -> FloatArray:
    total = np.zeros(sums.shape[1])
    for block in range(sums.shape[0]):
        total += sums[block]
    return total


@compiled
def _sums(table: Array, first: int, last: int, sums: FloatArray) -> None:
    for block in range(first, last):
        total = sums[block]
        for v in range(block * _BLOCK, min((block + 1) * _BLOCK, table.shape[0])):
            for k in range(table.shape[1]):
                total[k] += table[v, k]


@compiled
def _noise(seed: int, step: int, layer: int, v: int, out: FloatArray) -> None:
    """Fill ``out`` with the normals of row ``v``."""
    rng = stream(seed, TOPICS, step, (layer << _LAYER_SHIFT) + v)
    for k in range(out.size):
        out[k], rng = normal(rng)


@compiled
def _propose(
    phi: FloatArray,
    counts: Array,
    eta: float,
    pull: FloatArray,
    steps: FloatArray,
    seed: int,
    step: int,
    layer: int,
    new: FloatArray,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Write the V-dimensional draw of eq. 15 to ``new`` and its column sums by block to ``sums``."""
    n_topics = phi.shape[1]
    noise = np.empty(n_topics)
    for block in range(first, last):
        total = sums[block]
        for v in range(block * _BLOCK, min((block + 1) * _BLOCK, phi.shape[0])):
            _noise(seed, step, layer, v, noise)
            for k in range(n_topics):
                p = phi[v, k]
                moved = p + steps[k] * (counts[v, k] + eta - pull[k] * p) + sqrt(2.0 * steps[k] * p) * noise[k]
                new[v, k] = moved
                total[k] += moved


@compiled
def _project(
    phi: FloatArray,
    excess: FloatArray,
    reflect: bool,
    new: FloatArray,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Move every column to sum 1 along ``phi``, make it at least ``SMALLEST``, leave its new sum by block."""
    for block in range(first, last):
        total = sums[block]
        for v in range(block * _BLOCK, min((block + 1) * _BLOCK, phi.shape[0])):
            for k in range(phi.shape[1]):
                moved = new[v, k] - excess[k] * phi[v, k]
                if reflect:
                    moved = fabs(moved)
                moved = SMALLEST if moved < SMALLEST else moved
                new[v, k] = moved
                total[k] += moved


@compiled
def _expanded(
    phi_hat: FloatArray,
    counts: Array,
    eta: float,
    explained: FloatArray,
    inverse: FloatArray,
    eps: float,
    seed: int,
    step: int,
    layer: int,
    new: FloatArray,
    first: int,
    last: int,
    _totals: FloatArray,
) -> None:
    """Write the step of eq. 5 to ``new``; ``explained`` is x_., ``inverse`` is 1 / phi_hat_."""
    n_topics = phi_hat.shape[1]
    noise = np.empty(n_topics)
    for block in range(first, last):
        for v in range(block * _BLOCK, min((block + 1) * _BLOCK, phi_hat.shape[0])):
            _noise(seed, step, layer, v, noise)
            for k in range(n_topics):
                p = phi_hat[v, k]
                drift = counts[v, k] + eta - explained[k] * (p * inverse[k]) - p
                moved = p + eps * drift + sqrt(2.0 * eps * p) * noise[k]
                new[v, k] = max(fabs(moved), TINY)


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
        for v in range(block * _BLOCK, min((block + 1) * _BLOCK, counts.shape[0])):
            rng = stream(seed, TOPICS, step, (layer << _LAYER_SHIFT) + v)
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
        rng = stream(seed, TOPICS, step, (layer << _LAYER_SHIFT) + v)
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


@compiled
def _scale_rows(
    old: FloatArray,
    usable: Array,
    every: bool,
    factors: FloatArray,
    new: FloatArray,
    first: int,
    last: int,
    _totals: FloatArray,
) -> None:
    """Multiply columns by their factors, or put ``old`` where they are not usable."""
    for v in range(first * _BLOCK, min(last * _BLOCK, new.shape[0])):
        for k in range(new.shape[1]):
            new[v, k] = max(new[v, k] * factors[k], TINY)
        if not every:
            for k in range(new.shape[1]):
                if not usable[k]:
                    new[v, k] = old[v, k]
