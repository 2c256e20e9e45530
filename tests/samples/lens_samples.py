"""Small worlds of documents with shares, and plain twins of what is computed from them."""

import naive
import numpy as np

from topiary.engine import streams
from topiary.engine.lens.moments import DocumentShares
from topiary.engine.streams import start_stream

N_TOPICS = 6


def make_shares(n_documents, seed=1, n_topics=N_TOPICS):
    """Documents with shares of at least 1 %, and one without tokens if there are more than three."""
    rng = np.random.default_rng(seed)
    gammas = rng.gamma(np.full((n_documents, n_topics), 0.4))
    units = np.floor(gammas / gammas.sum(axis=1, keepdims=True) * 65535.0)
    units[units < 656] = 0.0
    tokens = rng.integers(5, 200, n_documents)
    if n_documents > 3:
        units[3], tokens[3] = 0.0, 0
    rest = np.where(tokens > 0, 65535.0 - units.sum(axis=1), 0.0)
    rows, topics = np.nonzero(units)
    starts = np.searchsorted(rows, np.arange(n_documents + 1))
    return DocumentShares(
        starts.astype(np.int64),
        topics.astype(np.int32),
        units[rows, topics].astype(np.uint16),
        rest.astype(np.uint16),
        tokens,
        n_topics,
    )


def tabulate(shares):
    """The shares as a table (documents, K + 1); the last column is the rest."""
    table = np.zeros((len(shares.tokens), shares.n_topics + 1))
    for j in range(len(table)):
        entries = slice(shares.starts[j], shares.starts[j + 1])
        table[j, shares.topics[entries]] = shares.units[entries] / 65535.0
        table[j, -1] = shares.rest[j] / 65535.0
    return table


def count_draws(seed, document, n_draws):
    """Poisson(1) counts of a document: the number of terms of the distribution below a uniform."""
    rng = naive.Stream(*start_stream(seed, streams.BOOTSTRAP, 0, document))
    below = np.cumsum(np.exp(-1.0) / np.cumprod(np.r_[1.0, np.arange(1.0, 21.0)]))
    return np.array([np.searchsorted(below, rng.uniform(), side="right") for _ in range(n_draws)])


def bootstrap(seed, shares, weights, documents, n_draws):
    """Variances (K + 1,) of shares over draws, the obvious way."""
    table = tabulate(shares)[documents]
    drawn = np.array([count_draws(seed, j, n_draws) for j in documents]) * weights[documents][:, None]
    filled = drawn.sum(axis=0) > 0
    ratios = (drawn.T @ table)[filled] / drawn.sum(axis=0)[filled][:, None]
    return ratios.var(axis=0, ddof=1)
