"""The positions of all documents: a draft at once, the finished map, and maps that continue an older one.

The nearest neighbours of documents by the Hellinger distance of their shares, and the graph that they form.

Documents are compared within buckets: those that have a topic among their two strongest.  Large buckets are halved by
random hyperplanes until they have at most ``LARGEST`` documents (random-projection trees: Dasgupta and Freund, 2008).
This is done twice.  A bucket for the strongest topic alone, or random buckets, would tear islands apart that belong
together.

Sweeps that move documents towards their neighbours and away from random others.

Attraction and repulsion follow the Cauchy kernel 1 / (1 + d^2) of distances on the map, as in UMAP (McInnes, Healy and
Melville, 2018).  All documents move at once from the positions before a sweep, and the random numbers belong to a sweep
and a document.  So positions are the same bits for any number of threads.

Where documents start on the map: at the barycentre of their topics, which lie close together if they are alike.

This is the map's draft: it is made at once, and the sweeps refine it.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.engine import streams
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.document_map.features import (
    BUCKETS,
    JITTER,
    NEGATIVES,
    NONE,
    SCALE,
    MapFeatures,
    count_cooccurrence,
    find_strongest,
)
from topiary.engine.hierarchy.tree import scale_classically, separate_circles
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


NEGATIVES_OF_A_LINK = 2  # random documents that push a document away, for each link that attracts it
_PULL = 0.5  # of a link; documents that are neighbours of each other have two
_FARTHEST = 4.0  # a random document moves another by less than this, times the rate, along each axis
_SOFT = 0.01  # added to squared distances, so that repulsion stays finite
_HALF_WORD = np.uint64(32)

Progress = Callable[[float], None]


class MovementPlan(NamedTuple):
    """A number of sweeps, and the rate of the first; the rate falls linearly to 0."""

    sweeps: int
    rate: float


def sweep_documents(
    positions: Array,
    graph: NeighbourGraph,
    moving: IntArray,
    plan: MovementPlan,
    seed: int,
    pool: Pool,
    on_progress: Progress,
) -> Array:
    """Return positions after all sweeps of a plan.

    Parameters
    ----------
    positions : (N, 2) float32
        Not changed.
    graph : NeighbourGraph
    moving : (n,) int array
        Documents that move; the others attract and repel them from where they are.
    plan : MovementPlan
    seed : int
    pool : Pool
    on_progress : (share) -> None
        Called after every sweep with the share of sweeps that are done; an error that it raises ends the work.

    Returns
    -------
    (N, 2) float32
    """
    before, after = positions.astype(np.float32), positions.astype(np.float32)
    pieces = cut_evenly(len(moving), pool.n_threads) if len(moving) else []
    for sweep in range(plan.sweeps):
        rate = plan.rate * (1.0 - sweep / plan.sweeps)
        shared = (before, after, graph.starts, graph.documents, moving, rate, seed, sweep)
        pool.run(lambda begin, end, shared=shared: _sweep_piece(*shared, begin, end), pieces)
        before, after = after, before
        on_progress((sweep + 1) / plan.sweeps)
    return before


@compiled
def _sweep_piece(
    before: Array,
    after: Array,
    starts: Array,
    links: Array,
    moving: Array,
    rate: float,
    seed: int,
    sweep: int,
    begin: int,
    end: int,
) -> None:
    """Fill in the positions after a sweep of the documents ``moving[begin:end]``."""
    n_documents = np.uint64(len(before))
    for place in range(begin, end):
        document = moving[place]
        x, y = np.float64(before[document, 0]), np.float64(before[document, 1])
        for link in range(starts[document], starts[document + 1]):
            dx, dy = x - before[links[link], 0], y - before[links[link], 1]
            pull = _PULL * rate / (1.0 + dx * dx + dy * dy)
            x -= pull * dx
            y -= pull * dy
        rng = streams.start_stream(seed, NEGATIVES, sweep, document)
        for _ in range(NEGATIVES_OF_A_LINK * (starts[document + 1] - starts[document])):
            bits, rng = streams.draw_bits(rng)
            other = np.int64(((bits >> _HALF_WORD) * n_documents) >> _HALF_WORD)
            if other == document:
                continue
            dx, dy = x - before[other, 0], y - before[other, 1]
            squared = dx * dx + dy * dy
            push = 2.0 * rate / ((_SOFT + squared) * (1.0 + squared))
            x += min(_FARTHEST, max(-_FARTHEST, push * dx))
            y += min(_FARTHEST, max(-_FARTHEST, push * dy))
        after[document, 0] = x
        after[document, 1] = y


_LARGE = 300_000  # documents from which on half the sweeps must do
_WHOLE, _WHOLE_LARGE = MovementPlan(300, 1.0), MovementPlan(150, 1.0)
_EXTENSION = MovementPlan(60, 1.0)  # for new documents, while all others stay where they are
_CONTINUATION = MovementPlan(80, 0.3)  # for all documents after more training
_GAP = 0.06  # between the map and the strip of documents without a topic, in heights of the map


class DocumentMap(NamedTuple):
    """Where the documents of a corpus lie on a plane.

    Attributes
    ----------
    positions : (N, 2) float32
        Finite.  Documents without any topic lie side by side in a strip below all others.
    topics : (N,) int32
        Strongest topic of layer 1 of each document; `NONE` for a document without any.
    """

    positions: Array
    topics: IntArray


def draft_map(features: MapFeatures, parents: Sequence[Array], seed: int, pool: Pool) -> DocumentMap:
    """Place documents at the barycentres of their topics: a rough map that is ready at once.

    Parameters
    ----------
    features : MapFeatures
    parents : sequence of (K_1, K_l) arrays
        From which topics of layer 2, and of layer 3, each topic of layer 1 comes; rows sum to 1.
    seed : int
    pool : Pool
    """
    topics = find_strongest(features)[:, 0]
    places = place_topics_of_documents(features, parents, pool)
    return _set_apart(place_at_barycentres(features, places, seed), topics)


def finish_map(
    features: MapFeatures, draft: DocumentMap, seed: int, pool: Pool, on_progress: Progress | None = None
) -> DocumentMap:
    """Return the map of a corpus, made from its draft by 300 sweeps (150 for 300,000 documents or more).

    Parameters
    ----------
    features : MapFeatures
    draft : DocumentMap
        Of the same documents.
    seed : int
    pool : Pool
    on_progress : (share) -> None, optional
        Called after every sweep with the share of sweeps that are done; an error that it raises ends the work.
    """
    plan = _WHOLE if features.n_documents < _LARGE else _WHOLE_LARGE
    return _Movement(features, seed, pool, on_progress).run(draft.positions, plan)


def extend_map(
    features: MapFeatures, before: DocumentMap, seed: int, pool: Pool, on_progress: Progress | None = None
) -> DocumentMap:
    """Return a map to which documents were added; all others keep their positions to the last bit.

    New documents start at the median of their neighbours that have a position.

    Parameters
    ----------
    features : MapFeatures
        Of all documents, the new ones last.
    before : DocumentMap
        Of the documents that were there before, which may be any number of the first.
    seed, pool, on_progress
        As those of :func:`finish_map`.
    """
    movement = _Movement(features, seed, pool, on_progress)
    positions, is_new = movement.place_new(before)
    return movement.run(positions, _EXTENSION, is_new)


def continue_map(
    features: MapFeatures, before: DocumentMap, seed: int, pool: Pool, on_progress: Progress | None = None
) -> DocumentMap:
    """Return the map after more training, so close to the last one that it can be recognised.

    Parameters
    ----------
    features : MapFeatures
        The documents' present shares; documents may have been added.
    before : DocumentMap
        The last map.
    seed, pool, on_progress
        As those of :func:`finish_map`.
    """
    movement = _Movement(features, seed, pool, on_progress)
    positions, _ = movement.place_new(before)
    return movement.run(positions, _CONTINUATION)


class _Movement:
    """The documents that have a topic, which are all that move, and the neighbours that move them."""

    def __init__(self, features: MapFeatures, seed: int, pool: Pool, on_progress: Progress | None) -> None:
        strongest = find_strongest(features)
        self._topics = strongest[:, 0]
        self._placed = np.flatnonzero(self._topics != NONE)
        self._features = features.select(self._placed)
        self._strongest = strongest[self._placed]
        self._seed, self._pool = seed, pool
        self._on_progress = on_progress or _ignore_share
        self._last: tuple[NDArray[np.bool_], IntArray] | None = None

    def place_new(self, before: DocumentMap) -> tuple[Array, NDArray[np.bool_]]:
        """Return positions for all documents, (N, 2) float32, and which have none in an older map, (N,) bool."""
        n_before = min(len(before.topics), len(self._topics))
        positions = np.zeros((len(self._topics), 2), np.float32)
        positions[:n_before] = before.positions[:n_before]
        is_new = np.ones(len(self._topics), np.bool_)
        is_new[:n_before] = before.topics[:n_before] == NONE
        wanted = is_new[self._placed]
        if wanted.any():
            inside = positions[self._placed]
            near = _find_medians(inside, self._find_neighbours(wanted), self._strongest[:, 0], ~wanted)
            add_jitter(near, self._seed)
            inside[wanted] = near[wanted]
            positions[self._placed] = inside
        return positions, is_new

    def run(self, positions: Array, plan: MovementPlan, moving: NDArray[np.bool_] | None = None) -> DocumentMap:
        """Return the map after all sweeps, given whether each document moves; all with a topic do by default."""
        wanted = np.ones(len(self._placed), np.bool_) if moving is None else moving[self._placed]
        graph = link_neighbours(self._find_neighbours(wanted))
        movers = np.flatnonzero(wanted)
        inside = positions[self._placed]
        moved = positions.astype(np.float32)
        moved[self._placed] = sweep_documents(inside, graph, movers, plan, self._seed, self._pool, self._on_progress)
        return _set_apart(moved, self._topics)

    def _find_neighbours(self, wanted: NDArray[np.bool_]) -> IntArray:
        """Return the neighbours of some of the documents that have a topic; the last answer is kept."""
        if self._last is None or not np.array_equal(self._last[0], wanted):
            self._last = wanted, find_neighbours(self._features, self._strongest, self._seed, self._pool, wanted)
        return self._last[1]


def _ignore_share(_: float) -> None:
    return None


def _find_medians(positions: Array, neighbours: IntArray, topics: IntArray, is_known: NDArray[np.bool_]) -> Array:
    """Return the median position of the neighbours of each document that have a position, (n, 2) float32.

    Without such neighbours it is the median of the documents of the same strongest topic, or else of all.
    """
    usable = (neighbours >= 0) & is_known[neighbours]
    found = np.where(usable[:, :, None], positions[neighbours], np.nan)
    medians = np.zeros_like(positions)
    some = usable.any(axis=1)
    medians[some] = np.nanmedian(found[some], axis=1)
    middle = np.median(positions[is_known], axis=0) if is_known.any() else np.zeros(2)
    for topic in np.unique(topics[~some & ~is_known]):
        same = is_known & (topics == topic)
        alone = ~some & ~is_known & (topics == topic)
        medians[alone] = np.median(positions[same], axis=0) if same.any() else middle
    return medians


def _set_apart(positions: Array, topics: IntArray) -> DocumentMap:
    """Return the map with the documents that have no topic side by side below all others."""
    outside = np.flatnonzero(topics == NONE)
    if not len(outside):
        return DocumentMap(positions, topics)
    inside = positions[topics != NONE]
    low, high = (inside.min(axis=0), inside.max(axis=0)) if len(inside) else (np.zeros(2), np.ones(2))
    apart = positions.copy()
    apart[outside, 0] = np.linspace(low[0], high[0], len(outside) + 2)[1:-1]
    apart[outside, 1] = low[1] - _GAP * max(float(high[1] - low[1]), 1.0)
    return DocumentMap(apart, topics)
