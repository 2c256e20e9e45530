"""Exact transitions of the diffusions whose Euler steps are TLASGR and TLFSGR: of topics, and of the shapes r.

Times its scale M an entry of a topic follows ``dx = (a - b x) dt + sqrt(2 x) dW`` with ``a`` its count plus eta
and ``b = a_. / M`` (DLDA eq. 15): a square-root diffusion (Cox, Ingersoll and Ross, 1985), whose law after any time
is a gamma with a Poisson number added to its shape.  So no step leaves the simplex, and for fixed counts topics
follow ``Dir(eta + counts)`` whatever the step size; an Euler step, clamped at 0, acts as if eta = 0.05 were 0.14.
Baker, Fearnhead, Fox and Nemeth (2018, "Large-scale stochastic sampling from the probability simplex") draw the
gammas of one learning rate so; here every topic has its own scale, and keeps it.  No function changes its arguments.
"""

from collections.abc import Callable
from functools import partial
from math import exp, expm1
from typing import Any, NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.gibbs.augment import TINY, gamma
from engine.gibbs.latent import MOST_RATE, poisson
from engine.jit import compiled
from engine.pool import Pool
from engine.settings import STEP_SIZES, setting
from engine.streams import SHAPES, stream
from engine.topic_moves import dirichlet, simplex
from engine.topic_moves.rows import column_sums
from engine.topic_moves.simplex import LEAST_SCALE


def topics(
    phi: FloatArray,
    counts: Array,
    eta: float,
    scale: FloatArray,
    eps: float,
    seed: int,
    step: int,
    layer: int,
    pool: Pool,
) -> FloatArray:
    """Return the topics of one layer after time ``eps`` of their diffusion.

    ``phi_k ~ Dir(eta + x_k + n_k)`` with ``n_vk ~ Pois(M_k phi_vk e^(-b eps) / g)``, ``g = (1 - e^(-b eps)) / b``:
    what a topic keeps of itself counts as further words.  Arguments as
    :func:`engine.topic_moves.simplex.langevin`; a topic whose scale is at or below ``LEAST_SCALE`` keeps its phi, and
    so does one whose step is below the rounding of float64: that many further words cannot be drawn.
    """
    moved = scale > LEAST_SCALE
    held = np.where(moved, scale, 1.0)
    pace = (column_sums(counts, pool) + eta * phi.shape[0]) / held
    kept = np.where(moved, held * np.exp(-pace * eps) * pace / -np.expm1(-pace * eps), 0.0)
    moved &= kept <= MOST_RATE
    kept = np.where(moved, kept, 0.0)
    new = dirichlet.draw(counts, eta, seed, step, layer, pool, dirichlet.Kept(phi, kept))
    if not moved.all():
        new[:, ~moved] = phi[:, ~moved]
    return new


@compiled
def shapes(
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
    """Return r (K_L,) after time ``eps`` of its diffusion (DLDA eq. 17); arguments as ``simplex.shapes_step``.

    As a topic, one whose step is too short keeps its weight.
    """
    new = r.copy()
    if not scale > LEAST_SCALE:
        return new
    pace = (c0 + q_total) / scale
    unit = -expm1(-pace * eps) / pace
    for k in range(r.size):
        rate = scale * r[k] * exp(-pace * eps) / unit
        if rate > MOST_RATE:
            continue
        n, rng = poisson(stream(seed, SHAPES, step, k), rate)
        draw, rng = gamma(rng, counts[k] + gamma0 / r.size + n)
        new[k] = max(unit * draw / scale, TINY)
    return new


class Step(NamedTuple):
    """One way to move: ``topics`` of a layer, and the ``shapes`` r; arguments as the functions above."""

    topics: Callable[..., FloatArray]
    shapes: Callable[..., FloatArray]


STEPS = {
    "exact": Step(topics, shapes),
    "clamp": Step(simplex.langevin, simplex.shapes_step),
    "reflect": Step(partial(simplex.langevin, reflect=True), simplex.shapes_step),
}


def step_setting(default: str) -> Any:
    """The setting that names one of ``STEPS``."""
    return setting(
        default,
        STEP_SIZES,
        "Step on the simplex",
        "exact: no error; clamp: the paper's Euler step, entries held at 2.2e-16; reflect: made positive.",
        choices=tuple(STEPS),
    )
