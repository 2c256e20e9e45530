"""The topics' part of the bound: q(phi_k) = Dir(lambda_k), ``lambda`` (V, K), a column for every topic.

Column sums are made of blocks of rows in their order (:mod:`engine.topic_moves.rows`), so that results are the same
bits for any number of threads.
"""

import numpy as np

from engine.contract import Array, FloatArray
from engine.jit import compiled
from engine.lda.special import digamma, exp_digamma, log_gamma
from engine.pool import Pool, chunks
from engine.topic_moves.rows import BLOCK, by_blocks

LEAST = 1e-100  # of an entry of lambda


def table_of(lam: FloatArray, totals: FloatArray, words: Array, pool: Pool) -> FloatArray:
    """``exp(E[ln phi_kv]) = exp(psi(lambda_vk) - psi(sum_v lambda_vk))``, (V, K), in the rows of ``words`` alone."""
    used = np.zeros(len(lam), np.bool_)
    used[words] = True
    rows = np.flatnonzero(used)
    table = np.empty_like(lam)
    scale = np.empty_like(totals)
    _exp_digammas(totals, scale)
    pool.run(_fill, [(lam, 1.0 / scale, rows, table, a, b) for a, b in chunks(len(rows), pool.n_threads)])
    return table


def blended(
    lam: FloatArray, counts: FloatArray, beta: FloatArray, step: float, scale: float, pool: Pool
) -> tuple[FloatArray, FloatArray]:
    """``(1 - step) lambda + step (beta + scale counts)`` and its column sums (Hoffman et al. 2013, eq. 26)."""
    new = np.empty_like(lam)
    totals = by_blocks(_blend, (lam, counts, beta, step, scale, new), lam.shape, pool)
    return new, totals


def divergence(lam: FloatArray, totals: FloatArray, beta: FloatArray, pool: Pool) -> float:
    """``sum_k KL(Dir(lambda_k) || Dir(beta))``."""
    means = np.empty_like(totals)
    _digammas(totals, means)
    by_word = by_blocks(_diverge, (lam, means, beta), lam.shape, pool)
    logs = np.empty(len(totals) + len(beta) + 1)
    _log_gammas(np.concatenate([totals, beta, [beta.sum()]]), logs)
    normal = logs[: len(totals)].sum() + len(totals) * (logs[len(totals) : -1].sum() - logs[-1])
    return float(by_word.sum() + normal)


@compiled
def _exp_digammas(x: FloatArray, out: FloatArray) -> None:
    for k in range(len(x)):
        out[k] = exp_digamma(x[k])


@compiled
def _digammas(x: FloatArray, out: FloatArray) -> None:
    for k in range(len(x)):
        out[k] = digamma(x[k])


@compiled
def _log_gammas(x: FloatArray, out: FloatArray) -> None:
    for k in range(len(x)):
        out[k] = log_gamma(x[k])


@compiled
def _fill(lam: FloatArray, scale: FloatArray, rows: Array, table: FloatArray, first: int, last: int) -> None:
    for i in range(first, last):
        v = rows[i]
        for k in range(len(scale)):
            table[v, k] = max(exp_digamma(lam[v, k]) * scale[k], 1e-140)


@compiled
def _blend(
    lam: FloatArray,
    counts: FloatArray,
    beta: FloatArray,
    step: float,
    scale: float,
    new: FloatArray,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    for block in range(first, last):
        total = sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, lam.shape[0])):
            prior = beta[v]
            for k in range(lam.shape[1]):
                value = (1.0 - step) * lam[v, k] + step * (prior + scale * counts[v, k])
                new[v, k] = value
                total[k] += value


@compiled
def _diverge(lam: FloatArray, means: FloatArray, beta: FloatArray, first: int, last: int, sums: FloatArray) -> None:
    """Leave ``sum_v (lambda - beta)(psi(lambda) - psi(sum lambda)) - ln Gamma(lambda)``."""
    for block in range(first, last):
        total = sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, lam.shape[0])):
            prior = beta[v]
            for k in range(lam.shape[1]):
                value = lam[v, k]
                total[k] += (value - prior) * (digamma(value) - means[k]) - log_gamma(value)
