"""The islands of a map: connected areas where documents of a topic lie, for captions and as the map's table.

A topic, or the parent of several topics, may have several islands.  Each is named, because a caption in the middle of
all would stand where its documents are not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from engine.contract import Array, FloatArray, IntArray
from engine.document_map.features import NONE
from engine.document_map.layout import DocumentMap

LEAST_CELLS, MOST_CELLS = 8, 96  # of the grid in which islands are found, along each axis: the root of the documents
LEAST_SHARE = 0.1  # of the documents of a topic; smaller areas have no name, unless they are its largest
_OUTSIDE = (
    0.25  # percent of the documents that may lie outside the grid at each side; they count in its outermost cells
)
_NEARBY = np.ones((3, 3))


class Island(NamedTuple):
    """An area of the map where documents of a topic lie.

    Attributes
    ----------
    layer : int
        Counted from 1.
    column : int
        Column of the topic in Phi^(layer).
    documents : int
        Number of documents there whose strongest topic of layer 1 is this topic, or comes from it most.
    x, y : float
        Where most of these documents lie, in the coordinates of the map.
    """

    layer: int
    column: int
    documents: int
    x: float
    y: float


def find_islands(document_map: DocumentMap, heaviest: Sequence[IntArray] = ()) -> list[Island]:
    """Return the islands of the topics of all layers, by layer from layer 1, the largest of a layer first.

    Parameters
    ----------
    document_map : DocumentMap
    heaviest : sequence of (K_1,) int arrays
        For layers 2, 3 ...: the heaviest parent of each topic of layer 1.
    """
    documents = np.flatnonzero(document_map.topics != NONE)
    if not len(documents):
        return []
    positions = document_map.positions[documents].astype(np.float64)
    topics = document_map.topics[documents]
    n_cells = int(np.clip(len(documents) ** 0.5, LEAST_CELLS, MOST_CELLS))
    cells = _find_cells(positions, n_cells)
    islands: list[Island] = []
    for layer, groups in enumerate([topics, *(parents[topics] for parents in heaviest)], start=1):
        order = np.argsort(groups, kind="stable")
        names, firsts = np.unique(groups[order], return_index=True)
        found = [
            Island(layer, int(name), *area)
            for name, members in zip(names, np.split(order, firsts[1:]), strict=True)
            for area in _find_areas(positions[members], cells[members], n_cells)
        ]
        islands += sorted(found, key=lambda island: (-island.documents, island.column, island.x, island.y))
    return islands


def _find_cells(positions: FloatArray, n_cells: int) -> NDArray[np.intp]:
    """Return the row and column of the grid in which each document lies, (n, 2)."""
    low, high = np.percentile(positions, [_OUTSIDE, 100.0 - _OUTSIDE], axis=0)
    side = max(float((high - low).max()), 1e-12)
    scaled = (positions - (low + high) / 2) / side + 0.5
    return np.clip((scaled * n_cells).astype(np.intp), 0, n_cells - 1)


def _find_areas(positions: FloatArray, cells: NDArray[np.intp], n_cells: int) -> list[tuple[int, float, float]]:
    """Return number of documents, x and y of every area in which documents of one topic lie."""
    counts = np.zeros((n_cells, n_cells))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1.0)
    density = ndimage.convolve(counts, _NEARBY, mode="constant")
    numbers, n_areas = ndimage.label(density > 0, structure=_NEARBY)
    areas: Array = numbers[cells[:, 0], cells[:, 1]]
    sizes = np.bincount(areas, minlength=n_areas + 1)
    least = min(LEAST_SHARE * len(positions), int(sizes.max()))
    found = []
    for area in np.flatnonzero(sizes >= least):
        peak = np.unravel_index(np.argmax(np.where(numbers == area, density, -1.0)), density.shape)
        at_peak = (areas == area) & (np.abs(cells - np.array(peak)) <= 1).all(axis=1)
        x, y = positions[at_peak].mean(axis=0).tolist()
        found.append((int(sizes[area]), x, y))
    return found
