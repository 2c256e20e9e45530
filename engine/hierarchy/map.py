"""A map of the topics of one layer: topics with the same words lie close together."""

import numpy as np

from engine.contract import Array, FloatArray

_ROUNDS = 200  # of pushing circles apart
_PUSH = 0.5  # of an overlap that one round undoes, on either side


def places(words: Array) -> FloatArray:
    """Place topics on a plane by classical scaling (Torgerson, 1952) of the Hellinger distances of their words.

    Parameters
    ----------
    words : (V, K) array
        Topics over words, columns that sum to 1.

    Returns
    -------
    (K, 2) float64
        Coordinates about 0, the axis with the larger spread first; the farthest topic of an axis is on its positive
        side.
    """
    roots = np.sqrt(np.asarray(words, dtype=np.float64))
    squared = np.maximum(1.0 - roots.T @ roots, 0.0)
    inner = -0.5 * (squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean())
    values, vectors = np.linalg.eigh(inner)
    found = np.zeros((len(values), 2))
    for axis, place in enumerate(range(len(values) - 1, max(len(values) - 3, -1), -1)):
        column = vectors[:, place] * np.sqrt(max(values[place], 0.0))
        found[:, axis] = column * (np.sign(column[np.argmax(np.abs(column))]) or 1.0)
    return found


def apart(centres: FloatArray, radii: FloatArray, gap: float = 0.0) -> FloatArray:
    """Push circles apart until hardly any overlap, each as little as the others let it.

    Parameters
    ----------
    centres : (K, 2) float64
    radii : (K,) float64
    gap : float
        Room between neighbours.
    """
    found = centres.copy()
    reach = radii[:, None] + radii + gap
    np.fill_diagonal(reach, 0.0)
    angles = 2.399963 * np.arange(len(radii))  # where two lie on one point, directions that all differ
    nudge = 1e-6 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(_ROUNDS):
        away = found[:, None] - found + (nudge[:, None] - nudge)
        distance = np.maximum(np.sqrt((away**2).sum(axis=2)), 1e-12)
        overlap = np.maximum(reach - distance, 0.0)
        if overlap.max() < 1e-3 * reach.max():
            break
        found = found + _PUSH * (away * (overlap / distance)[:, :, None]).sum(axis=1) / 2
    return found
