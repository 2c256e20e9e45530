"""Places on a map: where the documents of each topic lie most densely, the bounds of the map, and the inside of a line.

A topic may lie in several parts of the map, so its caption leads to the densest one: the middle of all of them may be
where its documents are not.
"""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from topiary.engine.contract import Array, FloatArray
from topiary.engine.document_map.features import NONE
from topiary.engine.jit import compiled

LEAST_CELLS, MOST_CELLS = 8, 96  # of the grid of densities, along each axis: the root of the documents
BOUNDS = (1.2, 98.8)  # percent of the documents, along each axis; those beyond are drawn at the border
_NEARBY = np.ones((3, 3))


class BoundedMap(NamedTuple):
    """Positions of documents, (documents, 2) float32, those far off at the border, and the number of these."""

    positions: Array
    n_far: int


class TopicPlace(NamedTuple):
    """The place of a topic on the map.

    Attributes
    ----------
    column : int
        Column of the topic in Phi of its layer.
    documents : int
        Number of documents whose strongest topic it is.
    x, y : float
        Where most of these documents lie, in the coordinates of the map.
    """

    column: int
    documents: int
    x: float
    y: float


def bound_map(positions: Array) -> BoundedMap:
    """Return the positions of documents with those beyond the bounds moved to the border."""
    if not len(positions):
        return BoundedMap(positions, 0)
    low, high = np.percentile(positions, BOUNDS, axis=0).astype(positions.dtype)
    bounded = np.clip(positions, low, high)
    return BoundedMap(bounded, int((bounded != positions).any(axis=1).sum()))


def find_places(positions: Array, topics: Array) -> list[TopicPlace]:
    """Return the places of topics, those with most documents first.

    Parameters
    ----------
    positions : (N, 2) float array
    topics : (N,) int array
        The strongest topic of each document, `NONE` for none.
    """
    documents = np.flatnonzero(topics != NONE)
    if not len(documents):
        return []
    places = positions[documents].astype(np.float64)
    n_cells = int(np.clip(len(documents) ** 0.5, LEAST_CELLS, MOST_CELLS))
    low, high = places.min(axis=0), places.max(axis=0)
    side = max(float((high - low).max()), 1e-12)
    cells = np.clip(((places - low) / side * n_cells).astype(np.intp), 0, n_cells - 1)
    order = np.argsort(topics[documents], kind="stable")
    names, firsts = np.unique(topics[documents][order], return_index=True)
    found = [
        TopicPlace(int(name), len(members), *_find_densest(places[members], cells[members], n_cells))
        for name, members in zip(names, np.split(order, firsts[1:]), strict=True)
    ]
    return sorted(found, key=lambda place: (-place.documents, place.column))


def _find_densest(positions: FloatArray, cells: NDArray[np.intp], n_cells: int) -> tuple[float, float]:
    """Return the mean position of the documents in and around the cell with most of them."""
    counts = np.zeros((n_cells, n_cells))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1.0)
    density = np.where(counts > 0, scipy.ndimage.convolve(counts, _NEARBY, mode="constant"), 0.0)
    peak = np.unravel_index(np.argmax(density), density.shape)
    x, y = positions[(np.abs(cells - np.array(peak)) <= 1).all(axis=1)].mean(axis=0).tolist()
    return x, y


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
