"""Adam (Kingma and Ba, 2015) on tuples of arrays, and on the rows of a large table that a mini-batch touched.

The objective is maximised: steps go up its gradients.  No argument of the public functions is changed in place.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.jit import compiled

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # decay of the two moments, and a constant that avoids division by 0


class Moments(NamedTuple):
    """Running means of the gradient of every weight and of its square."""

    first: tuple[FloatArray, ...]
    second: tuple[FloatArray, ...]


def start_moments(weights: tuple[FloatArray, ...]) -> Moments:
    """Return the moments before the first step."""
    return Moments(tuple(np.zeros_like(w) for w in weights), tuple(np.zeros_like(w) for w in weights))


class RowGradient(NamedTuple):
    """Gradient in some rows of a table: their numbers ``rows`` (n,), and ``values`` (n, K)."""

    rows: Array
    values: FloatArray

    def add(self, other: "RowGradient") -> "RowGradient":
        """Return the sum of two gradients, with the rows of either."""
        rows = np.union1d(self.rows, other.rows)
        values = np.zeros((len(rows), self.values.shape[1]))
        for part in (self, other):
            values[np.searchsorted(rows, part.rows)] += part.values
        return RowGradient(rows, values)


def step_adam(
    weights: tuple[FloatArray, ...],
    moments: Moments,
    gradients: list[FloatArray | RowGradient],
    rates: list[float],
    t: int,
    fading: list[float] | None = None,
) -> tuple[tuple[FloatArray, ...], Moments]:
    """Return weights and moments after step ``t`` = 1, 2, ...; rows that a :class:`RowGradient` lacks take no step.

    ``rates`` are the step sizes, one for each array.  ``fading`` is the share of each array that decays in addition to
    the step, also in rows without one (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019).
    """
    fading = fading or [0.0] * len(weights)
    scale = np.sqrt(1.0 - SECOND**t) / (1.0 - FIRST**t)
    small = SMALL * np.sqrt(1.0 - SECOND**t)
    new_weights, first, second = [], [], []
    for weight, m, v, gradient, rate, decay in zip(weights, *moments, gradients, rates, fading, strict=True):
        step_size = rate * scale
        w = np.multiply(weight, 1.0 - decay, order="C") if decay else weight.copy()
        m, v = m.copy(), v.copy()  # noqa: PLW2901
        if isinstance(gradient, RowGradient):
            _move_rows(w, m, v, gradient.rows, gradient.values, step_size, small)
        else:
            _move_weights(
                w.reshape(-1),
                m.reshape(-1),
                v.reshape(-1),
                np.ascontiguousarray(gradient).reshape(-1),
                step_size,
                small,
            )
        new_weights.append(w)
        first.append(m)
        second.append(v)
    return tuple(new_weights), Moments(tuple(first), tuple(second))


def average_weights(
    means: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], share: float
) -> tuple[FloatArray, ...]:
    """Return running means of weights (Polyak and Juditsky, 1992), moved by ``share`` towards the current weights."""
    return tuple(
        _interpolate(mean.reshape(-1), w.reshape(-1), share).reshape(w.shape)
        for mean, w in zip(means, weights, strict=True)
    )


@compiled
def _interpolate(start: FloatArray, end: FloatArray, share: float) -> FloatArray:
    mean = np.empty_like(start)
    for i in range(len(start)):
        mean[i] = start[i] + share * (end[i] - start[i])
    return mean


@compiled
def _move_weights(w: FloatArray, m: FloatArray, v: FloatArray, g: FloatArray, size: float, small: float) -> None:
    for i in range(len(w)):
        m[i] += (1.0 - FIRST) * (g[i] - m[i])
        v[i] += (1.0 - SECOND) * (g[i] * g[i] - v[i])
        w[i] += size * m[i] / (np.sqrt(v[i]) + small)


@compiled
def _move_rows(
    w: FloatArray, m: FloatArray, v: FloatArray, rows: Array, g: FloatArray, size: float, small: float
) -> None:
    for i in range(len(rows)):
        _move_weights(w[rows[i]], m[rows[i]], v[rows[i]], g[i], size, small)
