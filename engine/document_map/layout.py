"""The positions of all documents: a draft at once, the finished map, and maps that continue an older one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.engine.contract import Array, IntArray
from topiary.engine.document_map import start
from topiary.engine.document_map.features import NONE, MapFeatures, find_strongest
from topiary.engine.document_map.neighbours import find_neighbours, link_neighbours
from topiary.engine.document_map.sweeps import MovementPlan, Progress, sweep_documents
from topiary.engine.pool import Pool

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
    places = start.place_topics_of_documents(features, parents, pool)
    return _set_apart(start.place_at_barycentres(features, places, seed), topics)


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
            start.add_jitter(near, self._seed)
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
