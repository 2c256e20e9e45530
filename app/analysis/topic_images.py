"""Pictures of topics whose words are pixels: the projection of such a topic to the pixels is itself an image.

Pictures are data URIs of 8-bit grey PNG files, encoded here because it takes only twenty lines without an image
library.
"""

import base64
import struct
import zlib
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.engine.hierarchy.tree import Node


def encode_png(grey: NDArray[np.uint8]) -> bytes:
    """Encode a (rows, columns) picture of grey levels as PNG."""
    rows, columns = grey.shape
    scanlines = np.zeros((rows, columns + 1), dtype=np.uint8)  # the first byte is the filter, 0 = none
    scanlines[:, 1:] = grey
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    chunks = (
        _make_chunk(b"IHDR", header),
        _make_chunk(b"IDAT", zlib.compress(scanlines.tobytes(), 6)),
        _make_chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def draw_atom(hierarchy: Hierarchy, node: Node) -> NDArray[np.uint8]:
    """Draw the projection of a topic to the pixels; the heaviest pixel is white.

    Returns
    -------
    (rows, columns) uint8 array
    """
    if hierarchy.image_shape is None:
        raise ValueError(f"the corpus of run {hierarchy.run} is not one of images")
    return _scale_to_grey(hierarchy.projections[node.layer - 1][:, hierarchy.place(node)]).reshape(
        hierarchy.image_shape
    )


def draw_atom_uri(hierarchy: Hierarchy, node: Node) -> str:
    """Return the picture of a topic as a data URI."""
    return _make_uri(encode_png(draw_atom(hierarchy, node)))


def draw_picture_uri(shape: tuple[int, int], values: NDArray[Any], most: float = 0.0) -> str:
    """Return weights of the pixels, (V,), as a picture (data URI); the weight ``most`` is white, 0 = the largest."""
    white = most if most > 0 else float(values.max(initial=0.0))
    grey = np.round(np.clip(values / white, 0.0, 1.0) * 255.0) if white > 0 else np.zeros(len(values))
    return _make_uri(encode_png(grey.astype(np.uint8).reshape(shape)))


def draw_mosaic_uri(hierarchy: Hierarchy, layer: int, columns: int) -> str:
    """Draw all topics of a layer, by popularity, as one picture of ``columns`` atoms a row (data URI).

    The picture is cached as long as the hierarchy is in memory.
    """
    sheets = _sheets.setdefault(hierarchy, {})
    if (layer, columns) not in sheets:
        sheets[layer, columns] = _draw_mosaic(hierarchy, layer, columns)
    return sheets[layer, columns]


_sheets: WeakKeyDictionary[Hierarchy, dict[tuple[int, int], str]] = WeakKeyDictionary()


def _draw_mosaic(hierarchy: Hierarchy, layer: int, columns: int) -> str:
    """Draw the picture of `draw_mosaic_uri`."""
    nodes = hierarchy.nodes(layer)
    height, width = draw_atom(hierarchy, nodes[0]).shape
    rows = -(-len(nodes) // columns)
    sheet = np.zeros((rows * height, columns * width), dtype=np.uint8)
    for position, node in enumerate(nodes):
        row, column = divmod(position, columns)
        sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = draw_atom(hierarchy, node)
    return _make_uri(encode_png(sheet))


def _scale_to_grey(weights: NDArray[Any]) -> NDArray[np.uint8]:
    """Return weights as grey levels, the largest weight being white."""
    largest = float(weights.max())
    return np.asarray(np.round(weights * (255.0 / largest)) if largest > 0 else np.zeros(weights.shape), dtype=np.uint8)


def _make_uri(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"


def _make_chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG file: length, kind, data and checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
