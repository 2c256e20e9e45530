"""Persistence of a hierarchy during a run: the share of the weight of its edges that has not moved since earlier."""

from collections.abc import Sequence

import numpy as np

from engine.contract import FloatArray, Topics
from engine.hierarchy import effects


def weigh_edges(topics: Topics) -> tuple[FloatArray, ...]:
    """Return the weight (K_l, K_{l+1}) of every edge above layer l, as a share of the weight of all edges there.

    The weight of the edge from topic c down to topic k is ``Phi_kc`` times the popularity of c, before scaling.
    """
    presentation = effects.present_hierarchy(topics)
    pairs = zip(presentation.weights[1:], presentation.popularity[1:], strict=True)
    return tuple(_scale_to_one(np.abs(np.asarray(phi, dtype=np.float64)) * weights) for phi, weights in pairs)


def measure_persistence(before: Sequence[FloatArray], now: Sequence[FloatArray]) -> tuple[float, ...]:
    """Return the share of the edge weights above each layer that has not moved, 0 to 1.

    Both arguments are results of :func:`weigh_edges` from one run.  If the widths of layers differ, the share is 0.
    """
    if [weights.shape for weights in before] != [weights.shape for weights in now]:
        return (0.0,) * len(now)
    return tuple(float(np.minimum(old, new).sum()) for old, new in zip(before, now, strict=True))


def _scale_to_one(weights: FloatArray) -> FloatArray:
    """Scale weights to sum 1; weights of 0 stay 0."""
    total = float(weights.sum())
    return weights / total if total > 0.0 else weights
