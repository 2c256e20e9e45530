"""Interpolation between two documents, step by step (DATM, Figure 7 and Appendix F)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy import paths

ALIKE = 0.15  # two documents whose distance (total variation) is smaller are nearly the same


class Step(NamedTuple):
    """One point of the line between two documents.

    Attributes
    ----------
    weight : float
        0 at the first document, 1 at the second.
    words : tuple of int
        Numbers of the words with the largest rates, largest first.
    shares : tuple of float
        Shares of these words in the total rate.
    new : tuple of bool
        True for words that were not among those of the step before.
    rates : (V,) float64
        Rates of all words, summing to 1; used to draw pictures.
    """

    weight: float
    words: tuple[int, ...]
    shares: tuple[float, ...]
    new: tuple[bool, ...]
    rates: FloatArray


def decode_line(
    phi: Sequence[Array], thetas: tuple[Sequence[Array], Sequence[Array]], layer: int, steps: int, n_words: int
) -> list[Step]:
    """Return the steps of the line between two documents, each decoded to word rates.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
    thetas : two sequences of (K_l,) arrays
        Activations of all layers of each document.
    layer : int
        The layer whose activations are mixed, from 1.
    steps, n_words : int
        Number of points on the line, and of words listed at each.
    """
    rates = paths.interpolate_documents(phi, (thetas[0][layer - 1], thetas[1][layer - 1]), layer, steps)
    line: list[Step] = []
    for step, row in enumerate(rates):
        words = np.argsort(-row, kind="stable")[:n_words].tolist()
        previous_words = set(line[-1].words) if line else set(words)
        new = tuple(word not in previous_words for word in words)
        line.append(Step(step / (steps - 1), tuple(words), tuple(row[words].tolist()), new, row))
    return line


def measure_distance(one: FloatArray, other: FloatArray) -> float:
    """Return the total variation between the rates of two steps: 0 = the same, 1 = nothing in common."""
    return float(np.abs(one - other).sum()) / 2


def round_percent(weight: float) -> int:
    """Return a weight in whole percent, halves rounded up; Python's `round` makes 12 of 12.5, but 38 of 37.5."""
    return int(100 * weight + 0.5)


def find_telling_layer(phi: Sequence[Array], thetas: tuple[Sequence[Array], Sequence[Array]]) -> int:
    """Return the highest layer that distinguishes two documents, or the one with the largest distance if none does."""
    distances = {}
    for layer in range(len(phi), 0, -1):
        ends = thetas[0][layer - 1], thetas[1][layer - 1]
        distances[layer] = measure_distance(*paths.interpolate_documents(phi, ends, layer, 2))
        if distances[layer] >= ALIKE:
            return layer
    return max(distances, key=distances.__getitem__)
