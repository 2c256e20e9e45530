"""The nearest neighbours of documents by the Hellinger distance of their shares, and the graph that they form.

Documents are compared within buckets: those that have a topic among their two strongest.  Large buckets are halved by
random hyperplanes until they have at most ``LARGEST`` documents (random-projection trees: Dasgupta and Freund, 2008).
This is done twice.  A bucket for the strongest topic alone, or random buckets, would tear islands apart that belong
together.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.engine.contract import Array, IntArray
from topiary.engine.document_map.features import BUCKETS, NONE, MapFeatures
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool, cut_evenly
from topiary.engine.streams import make_generator

NEIGHBOURS = 10  # of each document
ROUNDS = 2
LARGEST = 1000  # documents of a bucket


class NeighbourGraph(NamedTuple):
    """The links of each document, as compressed rows: to its neighbours, and to the documents whose neighbour it is.

    Two documents that are neighbours of each other are linked twice.

    Attributes
    ----------
    starts : (N + 1,) int64
    documents : (links,) int32
        The other end of each link; every link is there twice, once for each of its ends.
    """

    starts: Array
    documents: Array


class _Best(NamedTuple):
    """The nearest documents found so far: (N, ``NEIGHBOURS``) int32 numbers, `NONE` if fewer, and float32 products."""

    documents: Array
    products: Array


def find_neighbours(
    features: MapFeatures, strongest: IntArray, seed: int, pool: Pool, wanted: NDArray[np.bool_] | None = None
) -> IntArray:
    """Return the nearest neighbours of documents, nearest first; of equally near ones, the lower number first.

    Parameters
    ----------
    features : MapFeatures
    strongest : (N, 2) int array
        As returned by :func:`engine.document_map.features.find_strongest`.
    seed : int
    pool : Pool
    wanted : (N,) bool array, optional
        The documents whose neighbours are wanted; all by default.  Neighbours are sought among all documents.

    Returns
    -------
    (N, ``NEIGHBOURS``) int32
        `NONE` where a document has fewer neighbours, or was not wanted.
    """
    shape = (features.n_documents, NEIGHBOURS)
    best = _Best(np.full(shape, NONE, np.int32), np.full(shape, -1.0, np.float32))
    for bucket in list_buckets(features, strongest, seed):
        rows = np.arange(len(bucket)) if wanted is None else np.flatnonzero(wanted[bucket])
        if len(rows) and len(bucket) > 1:
            _search_bucket(features, bucket, rows, best, pool)
    return best.documents


def list_buckets(features: MapFeatures, strongest: IntArray, seed: int) -> Iterator[IntArray]:
    """Yield the documents of each bucket of all rounds, increasing numbers."""
    n_documents, each = strongest.shape
    topics = strongest.ravel()
    order = np.argsort(topics, kind="stable")
    documents = np.repeat(np.arange(n_documents, dtype=np.int32), each)[order]
    edges = np.searchsorted(topics[order], np.arange(features.n_topics + 1))
    for number in range(ROUNDS):
        rng = make_generator(seed, BUCKETS, number)
        for bucket in (documents[begin:end] for begin, end in itertools.pairwise(edges)):
            if number == 0 or len(bucket) > LARGEST:  # a small one is the same in every round
                yield from _split_bucket(features, bucket, rng)


def _split_bucket(features: MapFeatures, bucket: IntArray, rng: np.random.Generator) -> Iterator[IntArray]:
    """Halve a bucket, and its halves, until they are small: at the median along the line through two documents."""
    waiting = [bucket]
    while waiting:
        members = waiting.pop()
        if len(members) <= LARGEST:
            yield np.sort(members)
            continue
        one, other = members[rng.integers(len(members), size=2)]
        order = np.argsort(_project_rows(*features, members, one, other), kind="stable")
        half = len(members) // 2
        waiting += [members[order[:half]], members[order[half:]]]


@compiled
def _project_rows(
    starts: Array, topics: Array, roots: Array, n_topics: int, members: Array, one: int, other: int
) -> Array:
    """Return the products of documents' rows with the difference of the rows of two of them, int64."""
    direction = np.zeros(n_topics, np.int64)
    for cell in range(starts[one], starts[one + 1]):
        direction[topics[cell]] += roots[cell]
    for cell in range(starts[other], starts[other + 1]):
        direction[topics[cell]] -= roots[cell]
    products = np.zeros(len(members), np.int64)
    for row in range(len(members)):
        for cell in range(starts[members[row]], starts[members[row] + 1]):
            products[row] += np.int64(roots[cell]) * direction[topics[cell]]
    return products


def _search_bucket(features: MapFeatures, bucket: IntArray, rows: IntArray, best: _Best, pool: Pool) -> None:
    """Compare the documents in some rows of a bucket with all in it, and keep the nearest."""
    table = np.zeros((len(bucket), features.n_topics), np.float32)
    _fill_rows(*features[:3], bucket, table)

    def search(begin: int, end: int) -> None:
        piece = rows[begin:end]
        _keep_nearest(table[piece] @ table.T, bucket, piece, best.documents, best.products)

    pool.run(search, cut_evenly(len(rows), pool.n_threads))


@compiled
def _fill_rows(starts: Array, topics: Array, roots: Array, members: Array, table: Array) -> None:
    """Write the rows of some documents into a dense table of zeros."""
    for row in range(len(members)):
        for cell in range(starts[members[row]], starts[members[row] + 1]):
            table[row, topics[cell]] = roots[cell]


@compiled
def _keep_nearest(products: Array, bucket: Array, rows: Array, documents: Array, largest: Array) -> None:
    """Merge the documents of a bucket into the sorted lists of the nearest of the documents in some of its rows."""
    last = documents.shape[1] - 1
    for place in range(len(rows)):
        own = bucket[rows[place]]
        for column in range(len(bucket)):
            product = products[place, column]
            if product < largest[own, last] or column == rows[place]:
                continue
            other = bucket[column]
            slot = last + 1  # the first slot of a list whose document is not nearer
            while slot > 0 and (
                product > largest[own, slot - 1]
                or (product == largest[own, slot - 1] and other <= documents[own, slot - 1])
            ):
                slot -= 1
            if slot > last or documents[own, slot] == other:
                continue
            for after in range(last, slot, -1):
                documents[own, after] = documents[own, after - 1]
                largest[own, after] = largest[own, after - 1]
            documents[own, slot] = other
            largest[own, slot] = product


def link_neighbours(neighbours: IntArray) -> NeighbourGraph:
    """Return the links between documents and their neighbours.

    Parameters
    ----------
    neighbours : (N, k) int array
        `NONE` where a document has fewer than k.
    """
    starts = np.zeros(len(neighbours) + 1, np.int64)
    _count_links(neighbours, starts[1:])
    np.cumsum(starts, out=starts)
    documents = np.zeros(int(starts[-1]), np.int32)
    _fill_links(neighbours, starts[:-1].copy(), documents)
    return NeighbourGraph(starts, documents)


@compiled
def _count_links(neighbours: Array, counts: Array) -> None:
    """Add up the links of each document."""
    for document in range(len(neighbours)):
        for slot in range(neighbours.shape[1]):
            other = neighbours[document, slot]
            if other >= 0:
                counts[document] += 1
                counts[other] += 1


@compiled
def _fill_links(neighbours: Array, ends: Array, documents: Array) -> None:
    """Write the links of each document, given where its row begins; ``ends`` is moved to where it ends."""
    for document in range(len(neighbours)):
        for slot in range(neighbours.shape[1]):
            other = neighbours[document, slot]
            if other >= 0:
                documents[ends[document]] = other
                documents[ends[other]] = document
                ends[document] += 1
                ends[other] += 1
