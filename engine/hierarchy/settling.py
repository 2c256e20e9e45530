"""How far a hierarchy has settled: how much of the weight of its edges is where it was some time before."""

from collections.abc import Sequence

import numpy as np

from engine.contract import FloatArray, Topics
from engine.hierarchy import effects


def weigh_edges(topics: Topics) -> tuple[FloatArray, ...]:
    """Return the weight (K_l, K_{l+1}) of every edge above layer l as a part of all weight of its layer.

    That of topic k under topic c is ``Phi_kc`` times the popularity of c; those of a layer sum to 1.
    """
    shown = effects.present_hierarchy(topics)
    pairs = zip(shown.weights[1:], shown.popularity[1:], strict=True)
    return tuple(_scale_to_one(np.abs(np.asarray(phi, dtype=np.float64)) * weights) for phi, weights in pairs)


def measure_persistence(before: Sequence[FloatArray], now: Sequence[FloatArray]) -> tuple[float, ...]:
    """Return the part of the weight of the edges above each layer that has stayed, 0 to 1.

    Both are weights of :func:`weigh_edges` of one chain; a structure with other widths has kept nothing.
    """
    if [each.shape for each in before] != [each.shape for each in now]:
        return (0.0,) * len(now)
    return tuple(float(np.minimum(old, new).sum()) for old, new in zip(before, now, strict=True))


def _scale_to_one(weights: FloatArray) -> FloatArray:
    total = float(weights.sum())
    return weights / total if total > 0.0 else weights
