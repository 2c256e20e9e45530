"""The map of all documents in the browser: its component, and the messages that its visitors send."""

from collections.abc import Callable
from typing import Any

import numpy as np
import param

from topiary.app.machine import find_asset
from topiary.app.pages.components import Component, Message
from topiary.engine.contract import FloatArray

_MOST_CORNERS = 20_000  # of a line around documents


class MapView(Component):
    """The window of a map of documents, in which a visitor can pan, zoom, hover, and draw a line around documents.

    Parameters
    ----------
    url : str
        Address of the bytes of :class:`app.views.document_map.PackedMap`, which changes with them; "" without a map.
    hues : list of int
        Colour of each topic of layer 1: the number of a ``--tp-hue``, or 0 for grey.
    captions : list of dict
        As returned by :func:`app.views.document_map.list_captions`.
    frame : list of [float, float, float]
        Centre and size of the first view.
    selected : int
        Number of documents that are selected, -1 without a selection.
    raster : bool
        Whether to paint the points without WebGL even if the browser has it.
    on_message : (message) -> None
        Called with ``{"do": "lasso", "polygon": [[x, y], ...]}`` (no corners: the selection was cleared), ``{"do":
        "hover" | "open", "point": number}``, and ``{"do": "select", "id": "L3:17"}`` for a caption.
    """

    url = param.String(default="")
    hues = param.List(default=[], item_type=int)
    captions = param.List(default=[], item_type=dict)
    frame = param.List(default=[0.5, 0.5, 1.0], item_type=float)
    selected = param.Integer(default=-1)
    raster = param.Boolean(default=False)

    _bundle = find_asset("js/document_map.js")

    def __init__(self, on_message: Callable[[Message], None] | None = None, **params: Any) -> None:
        super().__init__(on_message, **({"margin": 0, "sheets": ["explore", "document_map"]} | params))

    def answer_hover(self, point: int, text: str) -> None:
        """Show a text at a point, if the pointer is still there."""
        self._send_msg({"point": point, "text": text})

    def hand_over(self, name: str, text: str) -> None:
        """Let the browser save a text as a CSV file."""
        self._send_msg({"name": name, "text": text})

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, dict) and isinstance(data.get("do"), str):
            super()._handle_msg(data)


def read_polygon(message: Message) -> FloatArray | None:
    """Return the corners of a line that was drawn, (n, 2), or None if the message has no valid ones."""
    corners = message.get("polygon")
    if not isinstance(corners, list) or len(corners) > _MOST_CORNERS:
        return None
    pairs = [corner for corner in corners if isinstance(corner, list) and len(corner) == 2]
    if len(pairs) != len(corners) or not all(isinstance(value, int | float) for pair in pairs for value in pair):
        return None
    polygon = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return polygon if np.isfinite(polygon).all() else None
