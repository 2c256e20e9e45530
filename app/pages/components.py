"""The browser components that pages are built from, each with its code in ``assets/js``.

The code is served as a file, so that the browser loads it in parallel to everything else, once for all components of
a kind, and runs it unchanged; sent inside the document it would be translated for every single component.
"""

import hashlib
from collections.abc import Callable
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
import param
from panel.custom import JSComponent

from app.machine import find_asset

WHY_REFUSED = "You only look here: the analysts' password allows changes"
CHANGES = (
    "pause", "resume", "stop", "move", "delete", "rename", "demo", "new", "add", "fork", "supervise", "start", "make",
    "match", "unmatch", "dismiss", "add-again", "sending", "sent", "not-sent",
)  # fmt: skip

_visitors: "WeakKeyDictionary[Any, Callable[[], bool]]" = WeakKeyDictionary()


def ask_before_changes(document: Any, only_looks: Callable[[], bool]) -> None:
    """Have the components of a document call ``only_looks()`` before they pass on a request for a change."""
    _visitors[document] = only_looks


def list_refused() -> list[str]:
    """Return the requests that boards of the current document show as disabled."""
    return list(CHANGES) if find_visitor()() else []


def find_visitor() -> Callable[[], bool]:
    """Return the function that returns True if the visitor of the current document is a viewer."""
    document = pn.state.curdoc
    return _visitors.get(document, _allow_changes) if document is not None else _allow_changes


def _allow_changes() -> bool:
    """Return False: in a document without a visitor every change is allowed."""
    return False


Message = dict[str, Any]


class Component(JSComponent):
    """Browser code from ``assets/js``, whose messages are passed on to Python.

    A subclass names its file in ``_bundle``.

    Parameters
    ----------
    on_message : (message) -> None
        Called with what the browser code sends, once the page is open.
    sheets : list of str
        Style sheets of ``assets/css`` in the page's head that the component's shadow root adopts.
    """

    sheets = param.List(default=[], item_type=str)

    def __init__(self, on_message: Callable[[Message], None] | None = None, **params: Any) -> None:
        super().__init__(**params)
        self._handler = on_message
        self._only_looks = find_visitor()

    def listen(self, on_message: Callable[[Message], None]) -> None:
        """Call ``on_message`` from now on."""
        self._handler = on_message

    def _handle_msg(self, data: Any) -> None:
        """Pass a message on, as soon as the page is open: changes on the server before that would get lost.

        The check of the role uses nothing that the browser can set.
        """
        if self._handler is None or not isinstance(data, dict):
            return
        if data.get("do") in CHANGES and self._only_looks():
            return
        pn.state.onload(partial(self._handler, data))

    @classmethod
    def _component_resource_path(cls, esm_path: str | PathLike[str], compiled: bool | str) -> str:  # noqa: ARG003, FBT001
        """Return the address of the code; it changes with the code, so a browser may keep the file for good."""
        return make_asset_url(Path(esm_path))


@cache
def make_asset_url(path: Path) -> str:
    """Return the address, without a leading slash, under which :mod:`app.server.serve` serves a file of ``assets``."""
    version = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return f"topiary/{path.parent.name}/{path.name}?v={version}"


__all__ = ["Board", "Message"]


class Board(Component):
    """HTML made on the server, merged in the browser so that focus and half-typed text survive.

    Parameters
    ----------
    html : str
        The content.  Texts of users must be escaped by :func:`html.escape`.
    refused : list of str
        Requests whose buttons are shown disabled, with the reason ``why``; the server ignores them too.
    on_message : (message) -> None
        Called with ``{"do": name, ...}`` when a visitor clicks, changes or submits something.
    """

    html = param.String(default="")
    refused = param.List(default=[], item_type=str)
    why = param.String(default=WHY_REFUSED)

    _bundle = find_asset("js/board.js")

    def __init__(self, html: str = "", on_message: Callable[[Message], None] | None = None, **params: Any) -> None:
        usual = {"sizing_mode": "stretch_width", "margin": 0, "refused": list_refused()}
        super().__init__(on_message, html=html, **(usual | params))

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, dict) and isinstance(data.get("do"), str):
            super()._handle_msg(data)


_LEAST_PIXELS = 50  # a smaller window is about to appear or disappear
_ASPECTS = (0.6, 2.6)
_ALIKE = 0.12  # share by which a window may change before its tree is drawn again
_TYPES = {"svg": "image/svg+xml", "json": "application/json", "csv": "text/csv"}


class TreeView(Component):
    """The window of a tree: pan, zoom, hover, fold and walk through it.

    Parameters
    ----------
    svg : str
        The picture in the live theme; empty while there is nothing to show.
    selected : str
        Identity of the chosen topic, or "".
    group : str
        Trees of one page with the same group move, zoom and light up together; "" for a tree that is alone.
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


def read_aspect(message: Message, before: float) -> float | None:
    """Read the ratio of width to height of a tree's window from a message with its size.

    Return ``before`` while the window has nearly the same shape; None for a message that makes no sense.
    """
    width, height = message.get("width"), message.get("height")
    if not isinstance(width, int | float) or not isinstance(height, int | float) or min(width, height) < _LEAST_PIXELS:
        return None
    aspect = min(_ASPECTS[1], max(_ASPECTS[0], width / height))
    return aspect if abs(aspect / before - 1) > _ALIKE else before
