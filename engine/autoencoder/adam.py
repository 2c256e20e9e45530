"""Adam (Kingma and Ba, 2015) on tuples of arrays, and on the rows of a large table that a mini-batch touched.

Maximises: gradients are of an objective that should rise.  Nothing is changed in place.
"""

from typing import NamedTuple

import numpy as np

from engine.contract import Array, FloatArray
from engine.jit import compiled

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8


class Moments(NamedTuple):
    """Running means of every weight's gradient and of its square."""

    first: tuple[FloatArray, ...]
    second: tuple[FloatArray, ...]


def start_moments(weights: tuple[FloatArray, ...]) -> Moments:
    """Return moments before the first step."""
    return Moments(tuple(np.zeros_like(w) for w in weights), tuple(np.zeros_like(w) for w in weights))


class RowGradient(NamedTuple):
    """Gradient of some rows of a table: ``rows`` (n,) their numbers, ``values`` (n, K)."""

    rows: Array
    values: FloatArray

    def add(self, other: "RowGradient") -> "RowGradient":
        """Return the sum of both, with the rows of either."""
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
    """Return weights and moments after step ``t`` = 1, 2, ...; rows that a :class:`RowGradient` lacks stay as they are.

    ``rates`` are the step sizes, one for each array, and ``fading`` the share of each that is lost in addition to the
    step, also in rows that stay (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019).
    """
    fading = fading or [0.0] * len(weights)
    scale = np.sqrt(1.0 - SECOND**t) / (1.0 - FIRST**t)
    small = SMALL * np.sqrt(1.0 - SECOND**t)
    new, first, second = [], [], []
    for weight, m, v, gradient, rate, lost in zip(weights, *moments, gradients, rates, fading, strict=True):
        size = rate * scale
        w = np.multiply(weight, 1.0 - lost, order="C") if lost else weight.copy()
        m, v = m.copy(), v.copy()  # noqa: PLW2901
        if isinstance(gradient, RowGradient):
            _move_rows(w, m, v, gradient.rows, gradient.values, size, small)
        else:
            _move_weights(
                w.reshape(-1), m.reshape(-1), v.reshape(-1), np.ascontiguousarray(gradient).reshape(-1), size, small
            )
        new.append(w)
        first.append(m)
        second.append(v)
    return tuple(new), Moments(tuple(first), tuple(second))


def average_weights(
    means: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], share: float
) -> tuple[FloatArray, ...]:
    """Return running means of weights (Polyak and Juditsky, 1992), moved by ``share`` towards the current ones."""
    return tuple(
        _interpolate(mean.reshape(-1), w.reshape(-1), share).reshape(w.shape)
        for mean, w in zip(means, weights, strict=True)
    )


@compiled
def _interpolate(one: FloatArray, other: FloatArray, share: float) -> FloatArray:
    mean = np.empty_like(one)
    for i in range(len(one)):
        mean[i] = one[i] + share * (other[i] - one[i])
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
