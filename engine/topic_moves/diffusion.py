"""Stochastic-gradient moves of topics and of the shapes r: Langevin steps and exact transitions.

A layer is ``phi`` (K_{l-1}, K_l), C-contiguous, every column on the simplex, with a table of counts of the same shape;
``rows.py`` describes how blocks of rows are processed.  No public function changes its arguments.

An entry of a topic, times the topic's scale M, follows ``dx = (a - b x) dt + sqrt(2 x) dW`` with ``a`` its count plus
eta and ``b = a_. / M`` (DLDA eq. 15): a square-root diffusion (Cox, Ingersoll and Ross, 1985), whose law after any time
is a gamma with a Poisson number added to its shape.  So an exact step never leaves the simplex, and for fixed counts
topics follow ``Dir(eta + counts)`` for any step size; an Euler step, clamped at 0, acts as if eta = 0.05 were 0.14.
Baker, Fearnhead, Fox and Nemeth (2018, "Large-scale stochastic sampling from the probability simplex") draw the gammas
in this way with one learning rate; here every topic keeps its own scale.
"""

from collections.abc import Callable
from functools import partial
from math import exp, expm1, fabs, sqrt
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.gibbs.augment import TINY, draw_gamma, draw_normal
from topiary.engine.gibbs.latent import MOST_RATE, draw_poisson
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool
from topiary.engine.streams import SHAPES, start_stream
from topiary.engine.topic_moves import dirichlet
from topiary.engine.topic_moves.rows import (
    BLOCK,
    Blocks,
    LayerAddress,
    divide_columns,
    run_blocks,
    start_row_stream,
    sum_columns,
)

SMALLEST = 2.2e-16  # smallest entry of phi after a Langevin step
LEAST_SCALE = 1e-10  # a topic keeps its phi if its M_k is not above this


class ShapePrior(NamedTuple):
    """The prior of r: ``r_k ~ Gam(gamma0 / K_L, 1 / c0)``."""

    gamma0: float
    c0: float


class LangevinPlan(NamedTuple):
    """What a Langevin step of a layer needs of every topic: ``steps`` (K_l,), s_k, and ``pull`` (K_l,), x_. + eta V."""

    steps: FloatArray
    pull: FloatArray


def plan_langevin(totals: FloatArray, eta: float, n_rows: int, scale: FloatArray, eps: float) -> LangevinPlan:
    """Return the plan of :func:`step_langevin` given the sums of the columns of counts, ``totals`` (K_l,)."""
    steps = np.where(scale > LEAST_SCALE, eps / np.maximum(scale, LEAST_SCALE), 0.0)
    return LangevinPlan(steps, totals + eta * n_rows)


def step_langevin(
    phi: FloatArray,
    counts: Array,
    eta: float,
    scale: FloatArray,
    eps: float,
    at: LayerAddress,
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
    at : LayerAddress
        Address of the random streams.
    pool : Pool
        Threads to use.
    reflect : bool
        Replace negative entries by their absolute value, as in the authors' code, instead of by ``SMALLEST``.
    """
    steps, pull = plan_langevin(sum_columns(counts, pool), eta, phi.shape[0], scale, eps)
    new = np.empty_like(phi)
    sums = run_blocks(_propose_step, (phi, counts, float(eta), pull, steps, at, new), phi.shape, pool)
    sums = run_blocks(_project_step, (phi, sums - 1.0, reflect, new), phi.shape, pool)
    return divide_columns(new, sums, phi, steps > 0.0, pool)


def step_sgrld(phi_hat: FloatArray, counts: Array, eta: float, eps: float, at: LayerAddress, pool: Pool) -> FloatArray:
    """Return ``phi_hat`` of one layer after one expanded-mean step of SGRLD (DLDA eq. 5).

    ``|phi_hat + eps ((x + eta) - (x_. + phi_hat_.) phi) + N(0, 2 eps diag(phi_hat))|`` with
    ``phi = phi_hat / phi_hat_.``; shapes as in :func:`step_langevin`, and :func:`normalise_columns` gives the topics.
    """
    explained = sum_columns(counts, pool)
    inverse = 1.0 / np.maximum(sum_columns(phi_hat, pool), TINY)
    new = np.empty_like(phi_hat)
    run_blocks(_step_expanded, (phi_hat, counts, float(eta), explained, inverse, float(eps), at, new), new.shape, pool)
    return new


def normalise_columns(table: FloatArray, pool: Pool) -> FloatArray:
    """Return ``table`` with every column divided by its sum; a column without a usable sum becomes flat."""
    flat = np.full_like(table, 1.0 / table.shape[0])
    return divide_columns(table.copy(), sum_columns(table, pool), flat, np.ones(table.shape[1], np.bool_), pool)


@compiled
def step_shapes(
    r: FloatArray, counts: FloatArray, q_total: float, prior: ShapePrior, scale: float, eps: float, seed: int, step: int
) -> FloatArray:
    """Return r (K_L,) after one Langevin step, reflected at 0 (DLDA eq. 17).

    ``counts`` (K_L,) and ``q_total`` are the mini-batch's ``x^(L+1)`` and ``q^(L+1)``, already times rho; ``scale`` is
    ``M^(L+1)``; at or below ``LEAST_SCALE`` nothing moves.  A step so long that it would end farther from its target
    than it began is shortened to end there on average; otherwise r would grow without bound.
    """
    new = r.copy()
    if not scale > LEAST_SCALE:
        return new
    size, pull = eps / scale, prior.c0 + q_total
    if size * pull > 2.0:
        size = 1.0 / pull
    for k in range(r.size):
        z, _ = draw_normal(start_stream(seed, SHAPES, step, k))
        drift = counts[k] + prior.gamma0 / r.size - r[k] * pull
        new[k] = max(fabs(r[k] + size * drift + sqrt(2.0 * size * r[k]) * z), TINY)
    return new


@compiled
def draw_shapes(counts: FloatArray, q_total: float, prior: ShapePrior, seed: int, step: int) -> FloatArray:
    """Return a draw of r (K_L,): ``r_k ~ Gam(gamma0 / K_L + counts_k, 1 / (c0 + q_total))``."""
    new = np.empty(counts.size)
    for k in range(counts.size):
        draw, _ = draw_gamma(start_stream(seed, SHAPES, step, k), prior.gamma0 / counts.size + counts[k])
        new[k] = max(draw / (prior.c0 + q_total), TINY)
    return new


@compiled
def _draw_noise(at: LayerAddress, v: int, out: FloatArray) -> None:
    """Fill ``out`` with the standard normals of row ``v``."""
    rng = start_row_stream(at, v)
    for k in range(out.size):
        out[k], rng = draw_normal(rng)


@compiled
def _propose_step(
    phi: FloatArray,
    counts: Array,
    eta: float,
    pull: FloatArray,
    steps: FloatArray,
    at: LayerAddress,
    new: FloatArray,
    blocks: Blocks,
) -> None:
    """Write the V-dimensional draw of eq. 15 to ``new`` and its column sums by block to ``blocks.sums``."""
    n_topics = phi.shape[1]
    noise = np.empty(n_topics)
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, phi.shape[0])):
            _draw_noise(at, v, noise)
            for k in range(n_topics):
                p = phi[v, k]
                moved = p + steps[k] * (counts[v, k] + eta - pull[k] * p) + sqrt(2.0 * steps[k] * p) * noise[k]
                new[v, k] = moved
                total[k] += moved


@compiled
def _project_step(phi: FloatArray, excess: FloatArray, reflect: bool, new: FloatArray, blocks: Blocks) -> None:
    """Move every column to sum 1 along ``phi``, make it at least ``SMALLEST``, and write its new sum by block."""
    for block in range(blocks.first, blocks.last):
        total = blocks.sums[block]
        for v in range(block * BLOCK, min((block + 1) * BLOCK, phi.shape[0])):
            for k in range(phi.shape[1]):
                moved = new[v, k] - excess[k] * phi[v, k]
                if reflect:
                    moved = fabs(moved)
                moved = SMALLEST if moved < SMALLEST else moved
                new[v, k] = moved
                total[k] += moved


@compiled
def _step_expanded(
    phi_hat: FloatArray,
    counts: Array,
    eta: float,
    explained: FloatArray,
    inverse: FloatArray,
    eps: float,
    at: LayerAddress,
    new: FloatArray,
    blocks: Blocks,
) -> None:
    """Write the step of eq. 5 to ``new``; ``explained`` is x_., ``inverse`` is 1 / phi_hat_."""
    n_topics = phi_hat.shape[1]
    noise = np.empty(n_topics)
    for block in range(blocks.first, blocks.last):
        for v in range(block * BLOCK, min((block + 1) * BLOCK, phi_hat.shape[0])):
            _draw_noise(at, v, noise)
            for k in range(n_topics):
                p = phi_hat[v, k]
                drift = counts[v, k] + eta - explained[k] * (p * inverse[k]) - p
                moved = p + eps * drift + sqrt(2.0 * eps * p) * noise[k]
                new[v, k] = max(fabs(moved), TINY)


def diffuse_topics(
    phi: FloatArray, counts: Array, eta: float, scale: FloatArray, eps: float, at: LayerAddress, pool: Pool
) -> FloatArray:
    """Return the topics of one layer after diffusing for time ``eps``.

    ``phi_k ~ Dir(eta + x_k + n_k)`` with ``n_vk ~ Pois(M_k phi_vk e^(-b eps) / g)``, ``g = (1 - e^(-b eps)) / b``: the
    part of itself that a topic keeps counts as additional words.  Arguments as in :func:`step_langevin`; a topic keeps
    its phi if its scale is at or below ``LEAST_SCALE``, or if its step is so short that the number of additional words
    exceeds the precision of float64.
    """
    rates, moved = find_kept_rates(sum_columns(counts, pool), eta, phi.shape[0], scale, eps)
    new = dirichlet.draw_topics(counts, eta, at, pool, dirichlet.KeptWords(phi, rates))
    if not moved.all():
        new[:, ~moved] = phi[:, ~moved]
    return new


def find_kept_rates(
    totals: FloatArray, eta: float, n_rows: int, scale: FloatArray, eps: float
) -> tuple[FloatArray, Array]:
    """Return the rates ``M_k e^(-b eps) / g`` of :func:`diffuse_topics`, (K_l,), and which topics move, (K_l,) bool.

    ``totals`` (K_l,) are the sums of the columns of counts.
    """
    moved = scale > LEAST_SCALE
    divisor = np.where(moved, scale, 1.0)
    pace = (totals + eta * n_rows) / divisor
    rates = np.where(moved, divisor * np.exp(-pace * eps) * pace / -np.expm1(-pace * eps), 0.0)
    moved &= rates <= MOST_RATE
    return np.where(moved, rates, 0.0), moved


@compiled
def diffuse_shapes(
    r: FloatArray, counts: FloatArray, q_total: float, prior: ShapePrior, scale: float, eps: float, seed: int, step: int
) -> FloatArray:
    """Return r (K_L,) after diffusing for time ``eps`` (DLDA eq. 17); arguments as in :func:`step_shapes`.

    As with topics, a shape whose step is too short keeps its value.
    """
    new = r.copy()
    if not scale > LEAST_SCALE:
        return new
    pace = (prior.c0 + q_total) / scale
    unit = -expm1(-pace * eps) / pace
    for k in range(r.size):
        rate = scale * r[k] * exp(-pace * eps) / unit
        if rate > MOST_RATE:
            continue
        n, rng = draw_poisson(start_stream(seed, SHAPES, step, k), rate)
        draw, rng = draw_gamma(rng, counts[k] + prior.gamma0 / r.size + n)
        new[k] = max(unit * draw / scale, TINY)
    return new


class TopicStep(NamedTuple):
    """A pair of functions that move the ``topics`` of a layer and the ``shapes`` r; arguments as in those above."""

    topics: Callable[..., FloatArray]
    shapes: Callable[..., FloatArray]


STEPS = {  # the choices of :func:`engine.shared_settings.simplex_setting`
    "exact": TopicStep(diffuse_topics, diffuse_shapes),
    "clamp": TopicStep(step_langevin, step_shapes),
    "reflect": TopicStep(partial(step_langevin, reflect=True), step_shapes),
}
