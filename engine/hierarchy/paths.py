"""How a hierarchy explains a document: root-to-leaf paths, the words of a topic, and steps between two documents.

The rate of a document is ``sum_k phi_k^(1) theta_k^(1)``.  Layer 1 gives the share of each leaf; the layers above give
the origin of a leaf's activation, since its prior mean is ``Phi^(l+1) theta^(l+1)``.  So a unit of topic ``k`` of layer
``l`` belongs to topic ``k'`` above it with probability

    A^(l+1)[k, k'] = Phi^(l+1)[k, k'] theta_k'^(l+1) / (Phi^(l+1) theta^(l+1))_k,

the probabilities with which the sampler sends counts upwards (DLDA, upward pass of section 2.2).  The share of a path
from a leaf to a root is the leaf's share of the rate times these probabilities.  So the shares of all paths sum to 1,
and the shares of the paths through one leaf sum to the leaf's share.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray
from topiary.engine.hierarchy.topics import find_largest
from topiary.engine.hierarchy.tree import Node

_TINY = float(np.finfo(np.float64).tiny)


class Path(NamedTuple):
    """A path of topics from the top layer to layer 1, and its share of the document's rate."""

    nodes: tuple[Node, ...]
    share: float


def normalise_shares(theta: Array) -> FloatArray:
    """Return ``theta`` (..., K) scaled to sum to 1 along the last axis; equal shares where all values are 0."""
    values = np.asarray(theta, dtype=np.float64)
    totals = values.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, values / np.maximum(totals, _TINY), 1.0 / values.shape[-1])


def compute_parent_shares(phi: Sequence[Array], theta: Sequence[Array]) -> list[FloatArray]:
    """Return the probabilities ``A^(2) .. A^(L)`` for one document, (K_{l-1}, K_l) each; rows sum to 1.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
        The topics of layers 1..L.
    theta : sequence of (K_l,) arrays
        Activations of one document.
    """
    return [
        normalise_shares(np.asarray(layer, dtype=np.float64) * above[None, :])
        for layer, above in zip(phi[1:], theta[1:], strict=True)
    ]


def find_best_paths(phi: Sequence[Array], theta: Sequence[Array], n: int) -> list[Path]:
    """Return the ``n`` root-to-leaf paths with the largest share of a document's rate, largest first.

    The result is exact: layer by layer from the bottom, the ``n`` best partial paths that end in each topic are kept,
    and no others can be part of one of the ``n`` best.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
    theta : sequence of (K_l,) arrays
    n : int
    """
    weights = normalise_shares(theta[0])[:, None]  # (K, partial paths), best first
    trails = np.arange(len(weights))[:, None, None]  # (K, partial paths, layers so far)
    for link in compute_parent_shares(phi, theta):
        weights, trails = _extend_paths(link, weights, trails, n)
    order, largest = find_largest(weights.ravel()[None, :], n)
    trails = trails.reshape(weights.size, -1)  # (K_L x partial paths, L)
    return [
        Path(_list_nodes(trails[index]), float(weight))
        for index, weight in zip(order[0].tolist(), largest[0].tolist(), strict=True)
        if weight > 0
    ]


def _extend_paths(link: FloatArray, weights: FloatArray, trails: Array, n: int) -> tuple[FloatArray, Array]:
    """Extend partial paths by one layer: return weights and trails of the ``n`` best that end in each topic above."""
    above = link.shape[1]
    products = (weights[:, :, None] * link[:, None, :]).reshape(-1, above).T  # (K', K x partial paths)
    order, largest = find_largest(products, n)
    row, column = np.divmod(order, weights.shape[1])
    ends = np.broadcast_to(np.arange(above)[:, None, None], (above, order.shape[1], 1))
    return largest, np.concatenate([trails[row, column], ends], axis=2)


def _list_nodes(trail: Array) -> tuple[Node, ...]:
    """Return the topics of a path from the top layer down, given their columns from layer 1 up."""
    layers = len(trail)
    return tuple(Node(layer, int(trail[layer - 1])) for layer in range(layers, 0, -1))


def compute_responsibilities(
    phi: Sequence[Array], theta: Sequence[Array], words: Array, nodes: Sequence[Node]
) -> FloatArray:
    """Return how much of each word of a document the given topics explain, from 0 to 1.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
    theta : sequence of (K_l,) arrays
        Activations of the document.
    words : (n,) int array
        Word numbers.
    nodes : sequence of Node
        One topic, or several topics of different layers.

    Returns
    -------
    (n,) float64
        The share of each word's rate on paths through all ``nodes``.  For single topics, these shares sum to 1 over
        the topics of a layer.
    """
    columns = {node.layer: node.column for node in nodes}
    flow = normalise_shares(
        np.asarray(phi[0], dtype=np.float64)[words] * np.asarray(theta[0], dtype=np.float64)[None, :]
    )
    for layer, link in enumerate([None, *compute_parent_shares(phi, theta)], start=1):
        flow = flow if link is None else flow @ link
        if layer in columns:
            mask = np.zeros(flow.shape[1])
            mask[columns[layer]] = 1.0
            flow = flow * mask[None, :]
    return np.asarray(flow.sum(axis=1))


def interpolate_documents(phi: Sequence[Array], ends: tuple[Array, Array], layer: int, steps: int) -> FloatArray:
    """Return distributions over words on the straight line between two documents (DATM, Figure 7 and Appendix F).

    The activations at ``layer`` are normalised, so that a long document does not outweigh a short one, then mixed, and
    projected to words: ``Phi^(1) ... Phi^(layer) theta^(layer)``.

    Parameters
    ----------
    phi : sequence of (K_{l-1}, K_l) arrays
    ends : two (K_layer,) arrays
        Activations of the two documents at that layer.
    layer : int
        Number of the layer, counted from 1.
    steps : int
        Number of points, at least 2; the first is one document, the last the other.

    Returns
    -------
    (steps, V) float64
        Rates of the words; each row sums to 1.
    """
    weight = np.linspace(0.0, 1.0, steps)[:, None]
    mixed = (1.0 - weight) * normalise_shares(ends[0])[None, :] + weight * normalise_shares(ends[1])[None, :]
    for table in reversed(phi[:layer]):
        mixed = mixed @ np.asarray(table, dtype=np.float64).T
    return mixed


def measure_hellinger(one: Array, others: Array) -> FloatArray:
    """Return the Hellinger distances, 0 to 1, between the shares ``one`` (K,) and each row of ``others`` (n, K)."""
    affinity = np.sqrt(np.asarray(others, dtype=np.float64)) @ np.sqrt(np.asarray(one, dtype=np.float64))
    return np.asarray(np.sqrt(np.clip(1.0 - affinity, 0.0, 1.0)))
