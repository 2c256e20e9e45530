"""Stochastic gradient Nose-Hoover thermostats, one for every parameter (DPFA section 3.2, eq. 10).

As the authors' code: the gradient of a mini-batch is taken once, ``N_STEPS`` Euler steps follow it, the momentum is
drawn anew at every mini-batch, and the thermostats go on.  In the scale of the code, where ``u = sqrt(eta) v`` and the
thermostat is times ``sqrt(eta)``:

    x <- x + u,  u <- (1 - xi) u + eta gradient + sqrt(2 C eta) N(0, 1),  xi <- xi + u^2 - eta.
"""

import itertools
from math import sqrt

import numpy as np

from engine.contract import FloatArray
from engine.gibbs.augment import normal
from engine.jit import compiled
from engine.streams import SHAPES, stream

N_STEPS = 50
_SHIFT = 40  # a stream's item is the number of the table, then the parameter in the low 40 bits


def begin(layers: tuple[int, ...], noise: float) -> tuple[FloatArray, ...]:
    """Thermostats of weights and biases before the first step, of every link and of the top biases."""
    shapes = [*((above + 1, below) for below, above in itertools.pairwise(layers)), (1, layers[-1])]
    return tuple(np.full(shape, noise) for shape in shapes)


def moved(
    x: FloatArray, xi: FloatArray, gradient: FloatArray, eta: float, noise: float, seed: int, step: int, table: int
) -> tuple[FloatArray, FloatArray]:
    """Parameters and thermostats after the steps of one mini-batch.

    Parameters
    ----------
    x, xi, gradient : float64 arrays of one shape
        Parameters, thermostats, and the gradient of the log-posterior at x.
    eta : float
        Square of the step size.
    noise : float
        C, the noise injected; where thermostats begin.
    seed, step, table : int
        Address of the random streams.
    """
    new, friction = x.ravel().copy(), xi.ravel().copy()
    _steps(new, friction, gradient.ravel(), eta, noise, seed, step, table, N_STEPS)
    return new.reshape(x.shape), friction.reshape(x.shape)


@compiled
def _steps(
    x: FloatArray,
    xi: FloatArray,
    gradient: FloatArray,
    eta: float,
    noise: float,
    seed: int,
    step: int,
    table: int,
    n_steps: int,
) -> None:
    """Take the steps in place, parameter by parameter: with the gradient frozen none looks at another."""
    spread, pace = sqrt(2.0 * noise * eta), sqrt(eta)
    for i in range(len(x)):
        z, rng = normal(stream(seed, SHAPES, step, (np.int64(table + 1) << _SHIFT) + i))
        u = pace * z
        for _ in range(n_steps):
            x[i] += u
            z, rng = normal(rng)
            u = (1.0 - xi[i]) * u + eta * gradient[i] + spread * z
            xi[i] += u * u - eta
