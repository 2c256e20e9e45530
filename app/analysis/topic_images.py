"""Topics of images as pictures: each projected topic is an image itself, and each picture is a data URI.

PNG files of 8-bit grey are written here; an image library would be a dependency for twenty lines.
"""

import base64
import struct
import zlib
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from app.analysis.hierarchy import Hierarchy
from engine.hierarchy.tree import Node


def encode_png(grey: NDArray[np.uint8]) -> bytes:
    """Encode a (rows, columns) picture of grey levels as PNG."""
    rows, columns = grey.shape
    scanlines = np.zeros((rows, columns + 1), dtype=np.uint8)  # each begins with its filter, 0 = none
    scanlines[:, 1:] = grey
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(scanlines.tobytes(), 6)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def has_pictures(hierarchy: Hierarchy) -> bool:
    """Return True if the words of this corpus are the pixels of pictures."""
    shape = hierarchy.image_shape
    return shape is not None and shape[0] * shape[1] == len(hierarchy.vocabulary)


def draw_atom(hierarchy: Hierarchy, node: Node) -> NDArray[np.uint8]:
    """Draw the projection of a topic, its heaviest pixel white.

    Returns
    -------
    (rows, columns) uint8 array
    """
    if hierarchy.image_shape is None:
        raise ValueError(f"the corpus of run {hierarchy.run} is not one of images")
    return _grey(hierarchy.projections[node.layer - 1][:, hierarchy.place(node)]).reshape(hierarchy.image_shape)


def draw_atom_uri(hierarchy: Hierarchy, node: Node) -> str:
    """Return the picture of a topic as a data URI."""
    return _uri(encode_png(draw_atom(hierarchy, node)))


def draw_picture_uri(shape: tuple[int, int], values: NDArray[Any], most: float = 0.0) -> str:
    """Return any weights of the pixels, (V,), as a picture (data URI); ``most`` is white, 0 = the heaviest."""
    top = most if most > 0 else float(values.max(initial=0.0))
    grey = np.round(np.clip(values / top, 0.0, 1.0) * 255.0) if top > 0 else np.zeros(len(values))
    return _uri(encode_png(grey.astype(np.uint8).reshape(shape)))


def draw_mosaic_uri(hierarchy: Hierarchy, layer: int, columns: int) -> str:
    """Draw all topics of a layer, by popularity, as one picture of ``columns`` atoms a row (data URI).

    It is cached as long as the hierarchy is in memory.
    """
    sheets = _sheets.setdefault(hierarchy, {})
    if (layer, columns) not in sheets:
        sheets[layer, columns] = _mosaic(hierarchy, layer, columns)
    return sheets[layer, columns]


_sheets: WeakKeyDictionary[Hierarchy, dict[tuple[int, int], str]] = WeakKeyDictionary()


def _mosaic(hierarchy: Hierarchy, layer: int, columns: int) -> str:
    nodes = hierarchy.nodes(layer)
    height, width = draw_atom(hierarchy, nodes[0]).shape
    rows = -(-len(nodes) // columns)
    sheet = np.zeros((rows * height, columns * width), dtype=np.uint8)
    for place, node in enumerate(nodes):
        row, column = divmod(place, columns)
        sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = draw_atom(hierarchy, node)
    return _uri(encode_png(sheet))


def _grey(weights: NDArray[Any]) -> NDArray[np.uint8]:
    most = float(weights.max())
    return np.asarray(np.round(weights * (255.0 / most)) if most > 0 else np.zeros(weights.shape), dtype=np.uint8)


def _uri(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
