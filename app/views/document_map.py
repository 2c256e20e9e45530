"""The points of a map of documents as the browser reads them: six bytes each, in random order.

Any first part of the points is a fair sample, which is what the browser draws while the map moves.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from topiary.app.views.text import LONGEST_TITLE, shorten
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.engine.document_map.areas import Island
from topiary.engine.document_map.layout import DocumentMap

NO_CODE, NOT_SELECTED = 65535, 65534  # in place of the code by which a point is coloured
_STEPS = 65535  # of a coordinate, along each side of the map
_SHOWN = 99.5  # percent of the documents that the first view shows along each axis
_MARGIN = 1.06  # of the first view


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
        Length of the map's sides, which are 1 in the browser.
    view : (x, y, size)
        Centre and size of the first view, in the coordinates of the browser.
    """

    data: bytes
    order: IntArray
    corner: FloatArray
    side: float
    view: tuple[float, float, float]

    def place(self, points: Array) -> FloatArray:
        """Return the coordinates in the browser, 0 to 1, of points of the map, (n, 2)."""
        return np.asarray((np.asarray(points, dtype=np.float64) - self.corner) / self.side)

    def trace(self, polygon: Array) -> FloatArray:
        """Return the coordinates on the map of points in the browser, (n, 2)."""
        return np.asarray(np.asarray(polygon, dtype=np.float64).reshape(-1, 2) * self.side + self.corner)


def pack_map(document_map: DocumentMap, codes: Array | None = None, selected: Array | None = None) -> PackedMap:
    """Return the points of a map as the browser reads them; the same map gives the same bytes.

    Parameters
    ----------
    codes : (N,) int array, optional
        By which documents are coloured, -1 for none; by default their topics.
    selected : (N,) bool array, optional
        Documents that stand out; by default all.
    """
    positions = document_map.positions.astype(np.float64)
    n = len(positions)
    order = np.random.default_rng(n).permutation(n).astype(np.int32)
    low, high = (positions.min(axis=0), positions.max(axis=0)) if n else (np.zeros(2), np.zeros(2))
    side = max(float((high - low).max()), 1e-9)
    corner = (low + high - side) / 2
    coordinates = np.rint((positions[order] - corner) / side * _STEPS).clip(0, _STEPS).astype("<u2")
    own = document_map.topics if codes is None else codes
    shown = np.where(own < 0, NO_CODE, own)
    shown = shown if selected is None else np.where(selected, shown, NOT_SELECTED)
    data = coordinates.tobytes() + shown[order].astype("<u2").tobytes()
    packed = PackedMap(data, order, corner, side, (0.5, 0.5, 1.0))
    return packed._replace(view=_choose_view(packed.place(positions)))


def _choose_view(places: FloatArray) -> tuple[float, float, float]:
    """Return centre and size of a square that shows nearly all points."""
    if not len(places):
        return (0.5, 0.5, 1.0)
    low, high = np.percentile(places, [100.0 - _SHOWN, _SHOWN], axis=0)
    size = min(_MARGIN * max(float((high - low).max()), 0.01), _MARGIN)
    x, y = ((low + high) / 2).tolist()
    return (x, y, size)


def list_captions(
    packed: PackedMap, islands: Sequence[Island], describe: Callable[[int, int], tuple[str, str, int]]
) -> list[dict[str, Any]]:
    """Return the captions of islands as the browser reads them, higher layers first, then larger islands.

    Parameters
    ----------
    describe : (layer, column) -> (identity, text, hue)
        What a topic is called: its identity in messages, its title, and its hue, 0 for grey.
    """
    captions = []
    for island in sorted(islands, key=lambda island: (-island.layer, -island.documents)):
        identity, title, hue = describe(island.layer, island.column)
        names = {"id": identity, "text": shorten(title, LONGEST_TITLE), "title": title}
        ((x, y),) = packed.place(np.array([[island.x, island.y]])).tolist()
        captions.append(names | {"hue": hue, "layer": island.layer, "x": round(x, 5), "y": round(y, 5)})
    return captions
