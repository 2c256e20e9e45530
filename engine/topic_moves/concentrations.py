"""Exact draws of concentrations given counts: those of Dirichlet priors, and the gamma prior of r.

Columns ``n_k ~ Mult(phi_k)`` with ``phi_k ~ Dir(eta)`` over V entries, phi integrated out, have the likelihood

    prod_k Gamma(eta V) / Gamma(eta V + n_.k)  prod_v Gamma(eta + n_vk) / Gamma(eta).

Its first factor is the integral of ``u^(eta V - 1) (1 - u)^(n_.k - 1)``, its second the sum of ``eta^l`` over tables of
a Chinese restaurant.  So with ``l_vk ~ CRT(n_vk, eta)`` and ``u_k ~ Beta(eta V, n_.k)`` the conditional of eta is a
gamma distribution if its prior Gam(a, 1/b) is one (Escobar and West, JASA 1995; Zhou and Carin, TPAMI 2015):

    eta ~ Gam(a + sum_vk l_vk,  1 / (b - V sum_k ln u_k)).

Tables are integers and every row has its own random stream, so results are the same bits for any number of threads.
"""

from math import exp, fabs, log1p
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import Draw, draw_crt, draw_gamma, draw_log_gamma
from topiary.engine.gibbs.local import FINEST
from topiary.engine.jit import compiled, inlined
from topiary.engine.pool import Pool
from topiary.engine.streams import CONCENTRATIONS, SHAPES, Stream, start_stream
from topiary.engine.topic_moves.rows import BLOCK, Blocks, LayerAddress, run_blocks, start_row_stream, sum_columns

LEAST = 1e-6  # least concentration drawn, the lower bound of the settings; without any count a draw may be anything


class GammaPrior(NamedTuple):
    """The prior of a concentration: ``Gam(shape, 1 / rate)``."""

    shape: float
    rate: float


class RPriors(NamedTuple):
    """The priors of gamma_0 and c_0, which are those of r."""

    gamma0: GammaPrior
    c0: GammaPrior


R_PRIORS = RPriors(GammaPrior(0.01, 0.01), GammaPrior(1.0, 1.0))  # of Zhou, Cong and Chen


def choose_prior(given: float) -> GammaPrior:
    """Return the prior of a concentration that is learnt: exponential, with the given number as its mean."""
    return GammaPrior(1.0, 1.0 / given)


def draw_eta(counts: Array, eta: float, prior: GammaPrior, at: LayerAddress, pool: Pool) -> float:
    """Return a draw of eta given the counts of one layer, (K_{l-1}, K_l), with its topics integrated out.

    ``eta`` is the current value, from which the tables are drawn.
    """
    tables = run_blocks(_count_tables, (counts, eta, at), counts.shape, pool)
    value: float = _draw_given_tables(float(tables.sum()), sum_columns(counts, pool), len(counts), eta, prior, at)
    return value


@compiled
def _count_tables(counts: Array, eta: float, at: LayerAddress, blocks: Blocks) -> None:
    """Write the column sums of ``l_vk ~ CRT(n_vk, eta)`` of every block to ``blocks.sums``."""
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, counts.shape[0])):
            rng = start_row_stream(at, v, CONCENTRATIONS)
            for k in range(counts.shape[1]):
                if counts[v, k] > 0:
                    tables, rng = draw_crt(rng, np.int64(counts[v, k]), eta)
                    total[k] += tables


@compiled
def _draw_given_tables(
    tables: float, totals: FloatArray, n_rows: int, eta: float, prior: GammaPrior, at: LayerAddress
) -> float:
    """Draw eta given the number of tables and the counts n_.k of the columns."""
    rng = start_row_stream(at, n_rows, CONCENTRATIONS)  # rows end before this number
    rate = 0.0
    for k in range(len(totals)):
        if totals[k] > 0.0:
            minus_log, rng = _draw_minus_log(rng, eta * n_rows, totals[k])
            rate += minus_log
    draw, _ = draw_gamma(rng, prior.shape + tables)
    return max(draw / (prior.rate + n_rows * rate), LEAST)


class ShareTables(NamedTuple):
    """What documents say about alpha: ``tables`` (K,), ``sum_d CRT(n_dk, alpha_k)``, and ``q``, ``-sum_d ln u_d``.

    ``u_d ~ Beta(alpha_., n_d)``, as in the module's description with documents as columns.
    """

    tables: FloatArray
    q: float


@compiled
def draw_lengths(numbers: Array, starts: Array, alpha_sum: float, at: LayerAddress) -> int:
    """Return ``-sum_d ln u_d`` of documents with these ``numbers``, in units of ``FINEST``: exact in any order.

    ``starts`` (documents + 1,) is where the tokens of every document begin; rows of ``at`` are documents.
    """
    total = 0
    for d in range(len(numbers)):
        if starts[d + 1] > starts[d]:
            rng = start_row_stream(at, numbers[d], CONCENTRATIONS)
            rate, _ = _draw_minus_log(rng, alpha_sum, float(starts[d + 1] - starts[d]))
            total += int(np.rint(rate / FINEST))
    return total


@inlined
def _draw_minus_log(rng: Stream, a: float, b: float) -> Draw:
    """Draw ``-ln u`` of ``u ~ Beta(a, b)``, exact for u far below the smallest float64."""
    x, rng = draw_log_gamma(rng, a)
    y, rng = draw_log_gamma(rng, b)
    return max(y - x, 0.0) + log1p(exp(-fabs(y - x))), rng


def draw_alpha(shares: ShareTables, prior: GammaPrior, at: LayerAddress, *, shared: bool) -> FloatArray:
    """Return a draw of the Dirichlet parameters of documents' shares of topics, (K,), the shares integrated out.

    If ``shared``, one number for all topics, ``Gam(a + sum_k tables_k, 1/(b + K q))``; if not, each topic has its own,
    ``Gam(a + tables_k, 1/(b + q))``.
    """
    tables, n_topics = shares.tables, len(shares.tables)
    if shared:
        one = _draw_each(np.array([tables.sum()]), prior.shape, prior.rate + n_topics * shares.q, at)
        return np.full(n_topics, one[0])
    each: FloatArray = _draw_each(tables, prior.shape, prior.rate + shares.q, at)
    return each


@compiled
def _draw_each(tables: FloatArray, shape: float, rate: float, at: LayerAddress) -> FloatArray:
    """Draw ``Gam(shape + tables_k, 1 / rate)`` for every k."""
    new = np.empty(len(tables))
    for k in range(len(tables)):
        draw, _ = draw_gamma(start_row_stream(at, k, CONCENTRATIONS), shape + tables[k])
        new[k] = max(draw / rate, LEAST)
    return new


@compiled
def draw_shrinkage(
    top: FloatArray, q: float, gamma0: float, r: FloatArray, priors: RPriors, seed: int, step: int
) -> tuple[float, float]:
    """Return a draw of gamma_0 and c_0, of ``r_k ~ Gam(gamma_0 / K, 1 / c_0)``, given the counts of the top layer.

    ``c_0 ~ Gam(a' + gamma_0, 1 / (b' + r_.))``; then, with r integrated out and ``tables = sum_k CRT(top_k, gamma_0 /
    K)``, ``gamma_0 ~ Gam(a + tables, 1 / (b + ln(1 + q / c_0)))`` (Zhou, Cong and Chen, JMLR 2016, section 3).
    """
    rng = start_stream(seed, SHAPES, step, len(r) + 1)
    draw, rng = draw_gamma(rng, priors.c0.shape + gamma0)
    c0 = draw / (priors.c0.rate + r.sum())
    tables = 0
    for k in range(len(top)):
        n, rng = draw_crt(rng, np.int64(top[k]), gamma0 / len(top))
        tables += n
    draw, rng = draw_gamma(rng, priors.gamma0.shape + tables)
    return draw / (priors.gamma0.rate + np.log1p(q / c0)), c0
