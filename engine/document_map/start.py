"""Where documents start on the map: at the barycentre of their topics, which lie close together if they are alike.

This is the map's draft: it is made at once, and the sweeps (:mod:`engine.document_map.sweeps`) refine it.
"""

from collections.abc import Sequence

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.document_map.features import JITTER, SCALE, MapFeatures, count_cooccurrence
from topiary.engine.hierarchy.tree import scale_classically, separate_circles
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool

WEIGHTS = (0.4, 0.3, 0.3)  # of documents in common, of parents in layer 2, and of parents in layer 3
SPREAD = 6.0  # standard deviation of the coordinates with which the sweeps start
_COVERED = 0.3  # share of the topics' bounding box that all their circles together cover
_ROUNDS = 150  # most rounds of SMACOF
_SETTLED = 1e-4  # largest move of a topic, on a map about 1 wide, after which it has settled
_APART = 1e-3  # between topics that would start at the same point
_JITTER = 0.05  # largest random offset of a document along each axis
_TINY = 1e-12


def place_topics_of_documents(features: MapFeatures, parents: Sequence[Array], pool: Pool) -> FloatArray:
    """Place the topics of layer 1 on a plane, given their documents and parents, each in a circle of its own.

    Parameters
    ----------
    features : MapFeatures
    parents : sequence of (K_1, K_l) arrays
        From which topics of layer 2, and of layer 3, each topic comes; rows sum to 1.  Layers above are ignored.
    pool : Pool

    Returns
    -------
    (K_1, 2) float64
        Topics without any document lie in the middle.
    """
    common = count_cooccurrence(features, pool).astype(np.float64)
    masses = common.diagonal()
    live = np.flatnonzero(masses > 0)
    places = np.zeros((features.n_topics, 2))
    if len(live) > 1:
        distances = measure_topic_distances(common[np.ix_(live, live)], [layer[live] for layer in parents])
        points = scale_distances(distances)
        area = float(np.prod(np.maximum(np.ptp(points, axis=0), 0.1)))
        radii = np.sqrt(masses[live] / masses.sum() * _COVERED * area / np.pi)
        points = separate_circles(points, radii)
        places[:] = points.mean(axis=0)
        places[live] = points
    return places


def measure_topic_distances(common: FloatArray, parents: Sequence[Array]) -> FloatArray:
    """Return the distances of topics: a mean of Hellinger distances, weighted by ``WEIGHTS``.

    Parameters
    ----------
    common : (K, K) float64
        For two topics, the sum over documents of the product of the roots of their shares; no zero on the diagonal.
        Divided by the roots of both sums of shares, it is the affinity of two distributions over documents.
    parents : sequence of (K, K_l) arrays
        Rows sum to 1; with fewer than two layers above, the weights are scaled to sum to 1.
    """
    roots = np.sqrt(common.diagonal())
    affinities = [common / (roots[:, None] * roots)]
    for layer in parents[: len(WEIGHTS) - 1]:
        parts = np.sqrt(np.asarray(layer, dtype=np.float64))
        affinities.append(parts @ parts.T)
    weights = np.array(WEIGHTS[: len(affinities)])
    terms = [np.sqrt(np.clip(1.0 - affinity, 0.0, 1.0)) for affinity in affinities]
    distances = sum(weight * term for weight, term in zip(weights / weights.sum(), terms, strict=True))
    return np.asarray(np.round(distances * (1.0 - np.eye(len(common))), 9))  # without bits that depend on the BLAS


def scale_distances(distances: FloatArray) -> FloatArray:
    """Place points on a plane so that their distances are as close as possible to the given ones (SMACOF).

    The Guttman transform (de Leeuw, 1977), from the points of classical scaling.  These are rounded, so that the last
    bits of the eigenvectors, which depend on the number of threads, do not matter.

    Parameters
    ----------
    distances : (K, K) float64, symmetric

    Returns
    -------
    (K, 2) float64
    """
    n = len(distances)
    angles = 2.399963 * np.arange(n)
    nudge = _APART * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.round(scale_classically(distances**2), 3) + nudge
    for _ in range(_ROUNDS):
        offsets = points[:, None] - points
        lengths = np.sqrt((offsets**2).sum(axis=2))
        ratios = np.divide(distances, lengths, out=np.zeros_like(lengths), where=lengths > _TINY)
        moved = (ratios[:, :, None] * offsets).sum(axis=1) / n
        largest = float(np.abs(moved - points).max())
        points = moved
        if largest < _SETTLED:
            break
    return points


def place_at_barycentres(features: MapFeatures, places: FloatArray, seed: int) -> Array:
    """Place documents at the barycentre of their topics, weighted by squared shares.

    Parameters
    ----------
    features : MapFeatures
    places : (K_1, 2) float64
        Of the topics.
    seed : int
        Of the small random offset of each document.

    Returns
    -------
    (N, 2) float32
        Coordinates with mean 0 and standard deviation `SPREAD`.
    """
    points = np.zeros((features.n_documents, 2))
    _average_topics(*features[:3], places, points)
    if len(points):
        points -= points.mean(axis=0)
        points *= SPREAD / max(float(points.std()), _TINY)
    add_jitter(points, seed)
    return points.astype(np.float32)


@compiled
def _average_topics(starts: Array, topics: Array, roots: Array, places: Array, points: Array) -> None:
    """Fill in the barycentre of each document; a document without topics is left at 0."""
    for document in range(len(points)):
        total = x = y = 0.0
        for cell in range(starts[document], starts[document + 1]):
            share = (np.float64(roots[cell]) / SCALE) ** 2
            total += share * share
            x += share * share * places[topics[cell], 0]
            y += share * share * places[topics[cell], 1]
        if total > 0.0:
            points[document, 0] = x / total
            points[document, 1] = y / total


@compiled
def add_jitter(points: Array, seed: int) -> None:
    """Move each document by a small random offset of its own, so that those at the same point can part."""
    for document in range(len(points)):
        rng = streams.start_stream(seed, JITTER, 0, document)
        for axis in range(2):
            uniform, rng = streams.draw_uniform(rng)
            points[document, axis] += (2.0 * uniform - 1.0) * _JITTER


def find_heaviest_parents(parents: Sequence[Array]) -> list[IntArray]:
    """Return the heaviest parent of every topic of layer 1 in each layer above, (K_1,) int each."""
    return [np.argmax(layer, axis=1) for layer in parents]
