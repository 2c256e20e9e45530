"""What the map knows of documents: the square roots of their shares of layer 1, as compressed rows of whole numbers.

The Euclidean distance of the roots of two documents is their Hellinger distance (times the square root of 2).  Roots
are rounded to multiples of 1 / ``SCALE``.  The products of two rows then add up to at most about ``SCALE`` squared,
which is less than 2^24, so single precision adds them exactly in any order: neighbours are the same on every machine,
with every library of linear algebra and any number of threads.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, IntArray
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool, add_in_place, cut_evenly

SCALE = 4000  # of the rounded roots; well below 2^12, since rounding may lengthen a row
NONE = -1  # stands for the strongest topic of a document that has none
TOPICS_EACH = 2  # strongest topics of a document, in whose buckets it looks for neighbours

# Purposes of random numbers of this package, after those that are listed in `engine.streams`.
JITTER, BUCKETS, NEGATIVES = 64, 65, 66


class MapFeatures(NamedTuple):
    """Documents x topics of layer 1 as compressed rows; a row of zeros for a document without any share.

    Attributes
    ----------
    starts : (N + 1,) int64
        Document ``j`` owns the cells ``starts[j]:starts[j + 1]``.
    topics : (nnz,) int32
        Topic of each cell; each topic at most once in a document.
    roots : (nnz,) int16
        Square roots of the shares, scaled to sum 1 over the cells of a document, times ``SCALE``.
    n_topics : int
        Number of topics K_1.
    """

    starts: Array
    topics: Array
    roots: Array
    n_topics: int

    @property
    def n_documents(self) -> int:
        """Number of documents N."""
        return len(self.starts) - 1

    def select(self, documents: Array) -> "MapFeatures":
        """Return the rows of these documents, (n,) increasing numbers; the features themselves if these are all."""
        if len(documents) == self.n_documents:
            return self
        lengths = np.diff(self.starts)[documents]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        cells = np.repeat(self.starts[documents] - starts[:-1], lengths) + np.arange(starts[-1])
        return MapFeatures(starts, self.topics[cells], self.roots[cells], self.n_topics)


def make_features(starts: Array, topics: Array, shares: Array, n_topics: int) -> MapFeatures:
    """Return the features of documents, given their shares of layer 1 as compressed rows.

    Parameters
    ----------
    starts : (N + 1,) int array
    topics : (nnz,) int array
    shares : (nnz,) float array
        They need not sum to 1, because small shares are usually not stored.  Shares that are negative or not finite
        count as 0.
    n_topics : int
        Number of topics K_1.
    """
    rows = np.ascontiguousarray(starts, dtype=np.int64)
    values = np.asarray(shares, dtype=np.float64)
    values = np.where(np.isfinite(values) & (values > 0.0), values, 0.0)
    roots = np.zeros(len(values), np.int16)
    _round_roots(rows, values, roots)
    return MapFeatures(rows, np.ascontiguousarray(topics, dtype=np.int32), roots, n_topics)


@compiled
def _round_roots(starts: Array, shares: Array, roots: Array) -> None:
    """Fill in ``SCALE`` times the roots of the shares of each document, divided by their sum."""
    for document in range(len(starts) - 1):
        total = 0.0
        for cell in range(starts[document], starts[document + 1]):
            total += shares[cell]
        if total > 0.0:
            for cell in range(starts[document], starts[document + 1]):
                roots[cell] = np.int16(np.sqrt(shares[cell] / total) * SCALE + 0.5)


def find_strongest(features: MapFeatures) -> IntArray:
    """Return the strongest topics of every document, (N, ``TOPICS_EACH``) int32, largest share first.

    `NONE` stands where a document has no further topic.  Of equal shares, that stored first is the stronger.
    """
    strongest = np.full((features.n_documents, TOPICS_EACH), NONE, np.int32)
    _fill_strongest(features.starts, features.topics, features.roots, strongest)
    return strongest


@compiled
def _fill_strongest(starts: Array, topics: Array, roots: Array, strongest: Array) -> None:
    """Fill in the two strongest topics of each document."""
    for document in range(len(starts) - 1):
        first = second = np.int64(0)
        for cell in range(starts[document], starts[document + 1]):
            root = np.int64(roots[cell])
            if root > first:
                strongest[document, 1] = strongest[document, 0]
                strongest[document, 0] = topics[cell]
                first, second = root, first
            elif root > second:
                strongest[document, 1] = topics[cell]
                second = root


def count_cooccurrence(features: MapFeatures, pool: Pool) -> IntArray:
    """Return the sums over documents of the products of two topics' roots, (K_1, K_1) int64."""
    tables = pool.run(
        lambda begin, end: (_add_products(*features[:3], begin, end, features.n_topics),),
        cut_evenly(features.n_documents, pool.n_threads) if features.n_documents else [(0, 0)],
    )
    return add_in_place(tables)[0]


@compiled
def _add_products(starts: Array, topics: Array, roots: Array, begin: int, end: int, n_topics: int) -> Array:
    """Return the products of all pairs of topics, added over the documents ``begin:end``."""
    sums = np.zeros((n_topics, n_topics), np.int64)
    for document in range(begin, end):
        for one in range(starts[document], starts[document + 1]):
            root = np.int64(roots[one])
            for other in range(starts[document], starts[document + 1]):
                sums[topics[one], topics[other]] += root * np.int64(roots[other])
    return sums
