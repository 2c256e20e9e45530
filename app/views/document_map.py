"""The points of a map of documents as the browser reads them: six bytes each, in random order.

Any first part of the points is a fair sample, which is what the browser draws while the map moves.
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Array, FloatArray, IntArray

NO_CODE = 0x7FFF  # in place of the code by which a point is coloured; larger codes count as none
SELECTED = 0x8000  # is added to the code of a point that is selected
_STEPS = 65535  # of a coordinate, along each side of the map


class PackedMap(NamedTuple):
    """The points of a map, and what is needed to understand what the browser says of them.

    Attributes
    ----------
    data : bytes
        x and y of every point, then the code of every point: little-endian 16-bit whole numbers.
    order : (N,) int32
        Document of each point.
    corner : (2,) float64
        Lower left corner of the map: the documents' coordinates where those of the browser are 0.
    side : float
        Length of the longer side of the map, which is 1 in the browser.
    frame : (width, height)
        Of the map, in the coordinates of the browser.
    """

    data: bytes
    order: IntArray
    corner: FloatArray
    side: float
    frame: tuple[float, float]

    def place(self, points: Array) -> FloatArray:
        """Return the coordinates in the browser, 0 to 1, of points of the map, (n, 2)."""
        return np.asarray((np.asarray(points, dtype=np.float64) - self.corner) / self.side)

    def trace(self, polygon: Array) -> FloatArray:
        """Return the coordinates on the map of points in the browser, (n, 2)."""
        return np.asarray(np.asarray(polygon, dtype=np.float64).reshape(-1, 2) * self.side + self.corner)

    def find_point(self, document: int) -> int:
        """Return the point of a document; -1 for none."""
        return int(next(iter(np.flatnonzero(self.order == document)), -1))


def pack_map(positions: Array, codes: Array, selected: Array | None = None) -> PackedMap:
    """Return the points of a map as the browser reads them; the same map gives the same bytes.

    Parameters
    ----------
    positions : (N, 2) float array
    codes : (N,) int array
        By which documents are coloured, -1 for none.
    selected : (N,) bool array, optional
        Documents that stand out; by default all.
    """
    places, n = positions.astype(np.float64), len(positions)
    order = np.random.default_rng(n).permutation(n).astype(np.int32)
    low, high = (places.min(axis=0), places.max(axis=0)) if n else (np.zeros(2), np.zeros(2))
    side = max(float((high - low).max()), 1e-9)
    coordinates = np.rint((places[order] - low) / side * _STEPS).clip(0, _STEPS).astype("<u2")
    shown = np.where((codes < 0) | (codes > NO_CODE), NO_CODE, codes)
    if selected is not None:
        shown = shown + np.where(selected, SELECTED, 0)
    width, height = ((high - low) / side).tolist()
    data = coordinates.tobytes() + shown[order].astype("<u2").tobytes()
    return PackedMap(data, order, low, side, (width, height))
