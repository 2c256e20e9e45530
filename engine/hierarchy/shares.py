"""The share of every topic in a document, at every layer.

With n_jk of the n_j tokens of document j in topic k of layer 1 (the mean over the kept samples),

    w_j^(1)(k) = n_jk / n_j,    w_j^(l)(c) = sum_k w_j^(l-1)(k) Phi^(l)_kc theta_jc^(l) / (Phi^(l) theta_j^(l))_k,

so a share is carried upwards as :mod:`engine.hierarchy.paths` carries it along paths: the shares of all paths through a
topic sum to its share.  Each layer of a document with tokens sums to 1; a document without tokens has shares of 0.

Models that assign no tokens to topics give theta^(1) alone, and then n_jk is its mean given theta^(1),
``sum_v x_jv phi_vk theta_jk / (Phi^(1) theta_j^(1))_v``.  Where links are not linear, no share passes through a topic
above; the share of such a topic is its part of the document's activations in its layer.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray, Local, Topics
from topiary.engine.jit import compiled

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
