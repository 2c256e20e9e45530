"""How well the strongest topic of a document tells its label: purity and normalised mutual information."""

import numpy as np

from engine.contract import Array, FloatArray, IntArray


def strongest(theta: Array) -> IntArray:
    """The cluster of every document: the topic it uses most, (documents,), of activations (documents, K)."""
    return np.asarray(np.argmax(theta, axis=1))


def purity(labels: IntArray, clusters: IntArray) -> float:
    """Share of the documents that have the commonest label of their cluster; nan without documents."""
    return float(_table(labels, clusters).max(axis=0).sum() / len(labels)) if len(labels) else float("nan")


def nmi(labels: IntArray, clusters: IntArray) -> float:
    """Mutual information of labels and clusters over the mean of their entropies: scikit-learn's "arithmetic" NMI.

    1 where both are of one kind only, since nothing is left to be told; nan without documents.
    """
    if not len(labels):
        return float("nan")
    shares = _table(labels, clusters) / len(labels)
    by_label, by_cluster = shares.sum(axis=1), shares.sum(axis=0)
    if len(by_label) == len(by_cluster) == 1:
        return 1.0
    told = _entropy(by_label) + _entropy(by_cluster) - _entropy(shares)
    return max(0.0, 2.0 * told / (_entropy(by_label) + _entropy(by_cluster)))


def _table(labels: IntArray, clusters: IntArray) -> IntArray:
    """How many documents have which label (rows) and are in which cluster."""
    rows, columns = (np.unique(each, return_inverse=True)[1] for each in (labels, clusters))
    size = int(rows.max()) + 1, int(columns.max()) + 1
    return np.bincount(rows * size[1] + columns, minlength=size[0] * size[1]).reshape(size)


def _entropy(shares: FloatArray) -> float:
    some = shares[shares > 0]
    return float(-(some * np.log(some)).sum())
