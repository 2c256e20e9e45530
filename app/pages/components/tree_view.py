"""The tree in the browser: a component that shows the SVG text of `draw` and reports what is wanted."""

from collections.abc import Callable
from typing import Any

import param

from app.machine import find_asset
from app.pages.components.component import Component, Message

_LEAST = 50  # pixels; a smaller window is one that is about to come or go
_ASPECTS = (0.6, 2.6)
_ALIKE = 0.12  # share by which a window may change before its tree is drawn anew
_TYPES = {"svg": "image/svg+xml", "json": "application/json", "csv": "text/csv"}


class TreeView(Component):
    """Pan, zoom, hover, fold and walk through a tree.

    Parameters
    ----------
    svg : str
        What `draw` wrote with the live theme; empty while there is nothing to show.
    selected : str
        Identity of the chosen topic, or "".
    group : str
        Trees of one page with the same group move, zoom and light up together; "" is alone.
    note : str
        The sentence shown instead of an empty picture.
    on_message : (message) -> None
        Called with ``{"do": "select" | "toggle" | "root" | "hide", "id": "L3:17"}``, with ``{"do":
        "more", "layer": 2}``, ``{"do": "size", "width": .., "height": ..}`` or ``{"do": "search"}``.
    """

    svg = param.String(default="")
    selected = param.String(default="")
    note = param.String(default="")
    group = param.String(default="")

    _bundle = find_asset("js/tree.js")

    def __init__(self, on_message: Callable[[Message], None] | None = None, **params: Any) -> None:
        super().__init__(on_message, **({"margin": 0} | params))

    def hand_over(self, name: str, text: str) -> None:
        """Hand a text to the visitor as a file."""
        kind = _TYPES.get(name.rpartition(".")[2], "text/plain")
        self._send_msg({"name": name, "text": text, "type": f"{kind};charset=utf-8"})

    def hand_over_picture(self, name: str, svg: str, width: float, height: float) -> None:
        """Hand an SVG text to the visitor as a PNG, drawn by the browser at up to three times its size."""
        self._send_msg({"paint": True, "name": name, "text": svg, "size": [width, height]})

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, dict) and isinstance(data.get("do"), str):
            super()._handle_msg(data)


def aspect_of(message: Message, before: float) -> float | None:
    """Width over height to draw a tree for, of a message that tells the size of its window.

    That of ``before`` while the window is nearly the same; None of a message that makes no sense.
    """
    width, height = message.get("width"), message.get("height")
    if not isinstance(width, int | float) or not isinstance(height, int | float) or min(width, height) < _LEAST:
        return None
    aspect = min(_ASPECTS[1], max(_ASPECTS[0], width / height))
    return aspect if abs(aspect / before - 1) > _ALIKE else before
