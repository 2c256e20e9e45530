"""Shares of documents for tests of the map: groups of documents that are about the same few topics."""

import numpy as np

from topiary.engine.document_map.features import MapFeatures, make_features

LEAST = 0.02


def draw_shares(n_documents: int, n_topics: int, seed: int = 5, concentration: float = 0.3) -> np.ndarray:
    """Shares of documents that use every topic by chance, (n, K)."""
    return np.random.default_rng(seed).dirichlet(np.full(n_topics, concentration), n_documents)


def draw_groups(
    n_documents: int, n_topics: int = 12, n_groups: int = 4, seed: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """Shares (n, K) and groups (n,) of documents; each group has topics of its own, and a little of all others."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_documents)
    own = np.arange(n_topics)[None, :] % n_groups == groups[:, None]
    shares = np.where(own, rng.gamma(0.8, size=own.shape), 0.02 * rng.random(own.shape))
    return shares / shares.sum(axis=1, keepdims=True), groups


def compress(shares: np.ndarray, least: float = LEAST) -> MapFeatures:
    """The features of documents, from all shares in a table that are at least ``least`` of their row."""
    kept = shares >= least * shares.sum(axis=1, keepdims=True)
    kept &= shares > 0
    rows, topics = np.nonzero(kept)
    starts = np.searchsorted(rows, np.arange(len(shares) + 1))
    return make_features(starts, topics, shares[rows, topics], shares.shape[1])


def densify(features: MapFeatures) -> np.ndarray:
    """The rounded roots as a table (n, K)."""
    table = np.zeros((features.n_documents, features.n_topics))
    for document in range(features.n_documents):
        cells = slice(features.starts[document], features.starts[document + 1])
        table[document, features.topics[cells]] = features.roots[cells]
    return table
