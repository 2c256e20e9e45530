"""Areas of a map: the islands of each topic, for captions and as the map's table, and the inside of a drawn line.

A topic, or the parent of several topics, may have several islands: connected areas where its documents lie.  Each is
named, because a caption in the middle of all would stand where its documents are not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.document_map.features import NONE
from topiary.engine.document_map.layout import DocumentMap
from topiary.engine.jit import compiled

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
    density = scipy.ndimage.convolve(counts, _NEARBY, mode="constant")
    numbers, n_areas = scipy.ndimage.label(density > 0, structure=_NEARBY)
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


def find_inside(positions: Array, polygon: Array) -> NDArray[np.bool_]:
    """Return whether each document lies inside a polygon, by the even-odd rule, (N,) bool.

    Parameters
    ----------
    positions : (N, 2) float array
    polygon : (n, 2) float array
        Corners in order; the last is joined to the first.  Fewer than three contain nothing.
    """
    inside = np.zeros(len(positions), np.bool_)
    corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    if len(corners) > 2:
        _cross_edges(positions, corners, inside)
    return inside


@compiled
def _cross_edges(positions: Array, corners: Array, inside: Array) -> None:
    """Flip a document's mark at every edge of the polygon that a ray from it to the right crosses."""
    low, high = corners[0].copy(), corners[0].copy()
    for corner in range(len(corners)):
        for axis in range(2):
            low[axis] = min(low[axis], corners[corner, axis])
            high[axis] = max(high[axis], corners[corner, axis])
    for document in range(len(positions)):
        x, y = np.float64(positions[document, 0]), np.float64(positions[document, 1])
        if low[0] <= x <= high[0] and low[1] <= y <= high[1]:
            before = len(corners) - 1
            for corner in range(len(corners)):
                x1, y1, x2, y2 = corners[before, 0], corners[before, 1], corners[corner, 0], corners[corner, 1]
                if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
                    inside[document] = not inside[document]
                before = corner
