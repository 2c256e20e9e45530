"""Running means of topics, shapes and network over the last samples: what people are shown instead of one draw.

See :mod:`engine.topic_moves.averages`; weights of a link go with the topics, or units, that they pull.
"""

from typing import NamedTuple

import numpy as np

from engine.belief.steps import Variables
from engine.contract import Array, FloatArray
from engine.pool import Pool
from engine.topic_moves import averages


class Means(NamedTuple):
    """``mean`` (V, K_1) float32 of the topics, of ``averaged`` (K_1,) samples; then of r, W^(l) and c^(l)."""

    mean: Array
    averaged: Array
    mean_shapes: FloatArray
    mean_weights: tuple[FloatArray, ...]
    mean_biases: tuple[FloatArray, ...]


def begin(
    phi: FloatArray, shapes: FloatArray, weights: tuple[FloatArray, ...], biases: tuple[FloatArray, ...]
) -> Means:
    """The means before the first sample."""
    return Means(*averages.begin(phi), shapes, weights, biases)


def follow(old: Means, new: Variables, sample: Array, eta: float, t: int, pool: Pool) -> Means:
    """The means with one sample more, of step ``t``; the rows of a topic that is another one now begin anew."""
    mean, weight = averages.follow(averages.Mean(old.mean, old.averaged), sample, eta, pool)
    upper = 1.0 / min(t, averages.MEMORY)
    rates = [weight, *(np.full(len(bias), upper) for bias in new.biases[1:])]
    return Means(
        mean=mean.phi,
        averaged=mean.samples,
        mean_shapes=old.mean_shapes + weight * (new.shapes - old.mean_shapes),
        mean_weights=tuple(
            past + rate[:, None] * (now - past)
            for past, now, rate in zip(old.mean_weights, new.weights, rates[:-1], strict=True)
        ),
        mean_biases=tuple(
            past + rate * (now - past) for past, now, rate in zip(old.mean_biases, new.biases, rates, strict=True)
        ),
    )
