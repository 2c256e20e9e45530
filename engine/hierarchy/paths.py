"""How a hierarchy explains a document: root-to-leaf paths, the words of a topic, and steps between two documents.

The rate of a document is ``sum_k phi_k^(1) theta_k^(1)``.  Layer 1 gives the share of each leaf; the layers above give
the origin of a leaf's activation, since its prior mean is ``Phi^(l+1) theta^(l+1)``.  So a unit of topic ``k`` of layer
``l`` belongs to topic ``k'`` above it with probability

    A^(l+1)[k, k'] = Phi^(l+1)[k, k'] theta_k'^(l+1) / (Phi^(l+1) theta^(l+1))_k,

the probabilities with which the sampler sends counts upwards (DLDA, upward pass of section 2.2).  The share of a path
from a leaf to a root is the leaf's share of the rate times these probabilities.  So the shares of all paths sum to 1,
and the shares of the paths through one leaf sum to the leaf's share.

The share of every topic in a document, at every layer.

With n_jk of the n_j tokens of document j in topic k of layer 1 (the mean over the kept samples),

    w_j^(1)(k) = n_jk / n_j,    w_j^(l)(c) = sum_k w_j^(l-1)(k) Phi^(l)_kc theta_jc^(l) / (Phi^(l) theta_j^(l))_k,

so a share is carried upwards as :mod:`engine.hierarchy.paths` carries it along paths: the shares of all paths through a
topic sum to its share.  Each layer of a document with tokens sums to 1; a document without tokens has shares of 0.

Models that assign no tokens to topics give theta^(1) alone, and then n_jk is its mean given theta^(1),
``sum_v x_jv phi_vk theta_jk / (Phi^(1) theta_j^(1))_v``.  Where links are not linear, no share passes through a topic
above; the share of such a topic is its part of the document's activations in its layer.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray, Local, Topics
from topiary.engine.hierarchy.topics import find_largest
from topiary.engine.hierarchy.tree import Node
from topiary.engine.jit import compiled

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


LEAST = 0.01  # least share that is kept
UNITS = 65535  # units of a kept share in 1


class SparseShares(NamedTuple):
    """The larger shares of the topics of a layer in documents, in units of 1/65535.

    Attributes
    ----------
    starts : (documents + 1,) int64
        Document ``j`` owns the entries ``starts[j]:starts[j + 1]``.
    topics : (entries,) int32
        Columns of the topics, ascending in each document.
    units : (entries,) uint16
        Shares of at least ``LEAST``, rounded to the nearest unit.
    rest : (documents,) uint16
        What is missing to 1: all other shares and what rounding changed; 0 for a document without tokens.
    """

    starts: Array
    topics: Array
    units: Array
    rest: Array


def compute_shares(topics: Topics, local: Local, batch: Batch) -> tuple[FloatArray, ...]:
    """Return the share of every topic in documents.

    Parameters
    ----------
    topics : Topics
    local : Local
        The documents placed under these topics.
    batch : Batch
        The documents; only models that assign no tokens to topics read their words.

    Returns
    -------
    tuple of (documents, K_l) float64
        The share of every topic of layers 1, 2, ...; each row sums to 1, or is 0 for a document without tokens.
        The row of a document does not depend on the other documents.
    """
    tokens = local.tokens
    if tokens is None:
        tokens = _expect_tokens(topics.phi[0], local.theta[0], batch)
    shares = [_normalise_rows(tokens)]
    filled: Array = np.asarray(shares[0].any(axis=1))
    for link, theta in zip(topics.phi[1:], local.theta[1:], strict=True):
        if topics.links:
            shares.append(_normalise_rows(theta * filled[:, None]))
            continue
        above = np.zeros(theta.shape)
        _carry_shares(shares[-1], np.ascontiguousarray(link), np.ascontiguousarray(theta), above)
        shares.append(above)
    return tuple(shares)


def cut_shares(shares: FloatArray) -> SparseShares:
    """Return the larger ones of the shares (documents, K) of a layer, and the rest of each document as one number."""
    rows, columns = np.nonzero(shares >= LEAST)
    units = np.rint(shares[rows, columns] * UNITS).astype(np.int64)
    starts = np.searchsorted(rows, np.arange(len(shares) + 1))
    kept = np.bincount(rows, weights=units, minlength=len(shares)).astype(np.int64)
    if len(full := np.flatnonzero(kept > UNITS)):  # by rounding up; the largest share gives back some units
        heaviest = np.lexsort((units, rows))[starts[full + 1] - 1]
        units[heaviest] -= kept[full] - UNITS
        kept[full] = UNITS
    rest = np.where(shares.any(axis=1), UNITS - kept, 0)
    return SparseShares(
        starts.astype(np.int64), columns.astype(np.int32), units.astype(np.uint16), rest.astype(np.uint16)
    )


def measure_distances(one: SparseShares, others: SparseShares) -> FloatArray:
    """Return the Hellinger distances, 0 to 1, between the shares of one document and those of others, (documents,).

    With the kept shares u_k and the rest u_0, which counts as one more topic, each document has a distribution, and

        d = sqrt(1 - sum_{k >= 0} sqrt(u_k u'_k)).

    A document without tokens has distance 1 from every other.

    Parameters
    ----------
    one : SparseShares
        Of a single document.
    others : SparseShares
    """
    roots = np.zeros(1 + int(max(one.topics.max(initial=0), others.topics.max(initial=0))))
    roots[one.topics] = np.sqrt(one.units.astype(np.float64))
    rows = np.repeat(np.arange(len(others.rest)), np.diff(others.starts))
    shared = np.flatnonzero(roots[others.topics])
    products = roots[others.topics[shared]] * np.sqrt(others.units[shared].astype(np.float64))
    affinity = np.bincount(rows[shared], products, minlength=len(others.rest))
    affinity += np.sqrt(float(one.rest[0]) * others.rest)
    return np.sqrt(np.clip(1.0 - affinity / UNITS, 0.0, 1.0))


def _normalise_rows(values: FloatArray) -> FloatArray:
    """Return rows scaled to sum to 1; rows of zeros stay zero."""
    totals = values.sum(axis=1, keepdims=True)
    return np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)


def _expect_tokens(phi: FloatArray, theta: FloatArray, batch: Batch) -> FloatArray:
    """Return the mean number of tokens of every topic given theta^(1), (documents, K_1)."""
    tokens = np.zeros(theta.shape)
    _add_expected_tokens(np.ascontiguousarray(phi), np.ascontiguousarray(theta), batch, tokens)
    return tokens


@compiled
def _add_expected_tokens(phi: FloatArray, theta: FloatArray, batch: Batch, tokens: FloatArray) -> None:
    """Add ``x_jv phi_vk theta_jk / (Phi theta_j)_v``; a word that no topic of the document has is shared equally."""
    n_topics = phi.shape[1]
    for j in range(len(theta)):
        for cell in range(batch.starts[j], batch.starts[j + 1]):
            word, count = batch.words[cell], batch.counts[cell]
            total = 0.0
            for k in range(n_topics):
                total += phi[word, k] * theta[j, k]
            for k in range(n_topics):
                part = phi[word, k] * theta[j, k] / total if total > 0.0 else 1.0 / n_topics
                tokens[j, k] += count * part


@compiled
def _carry_shares(shares: FloatArray, link: FloatArray, theta: FloatArray, above: FloatArray) -> None:
    """Add to ``above`` (documents, K_l) the shares of the layer below, each divided among its parents.

    A topic all of whose parents have activation 0 is divided equally, as by ``paths.compute_parent_shares``.
    """
    n_below, n_above = link.shape
    for j in range(len(shares)):
        for k in range(n_below):
            if shares[j, k] == 0.0:
                continue
            total = 0.0
            for c in range(n_above):
                total += link[k, c] * theta[j, c]
            for c in range(n_above):
                part = link[k, c] * theta[j, c] / total if total > 0.0 else 1.0 / n_above
                above[j, c] += shares[j, k] * part
