"""The browser components that pages are built from, and the callouts of the demo, each with its code in ``assets/js``.

The code is served as a file, so that the browser loads it in parallel, once for all components of a class, and runs
it unchanged; code sent inside the document would be translated again for every component.
"""

from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import panel as pn
import param
from panel.custom import JSComponent

from topiary.app.machine import find_asset, make_asset_url
from topiary.app.views.theme import SHARED_STYLES

WHY_REFUSED = "You only look here: the analysts' password allows changes"
CHANGES = (
    "pause", "resume", "resume-here", "stop", "move", "delete", "rename", "demo", "new", "add", "fork", "supervise",
    "start", "make", "train-more", "more-seeds", "refine",
    "note-add", "note-change", "note-delete", "carry", "send-names",
    "steer", "apply-edits", "undo-edit",
    "kind", "match", "unmatch", "dismiss", "add-again", "sending", "sent", "not-sent",
)  # fmt: skip

# Selectors of the things at which callouts point.
_TOPICS = [".tp-node.tp-root", ".tp-tile[aria-level='1']", ".ex-rows button"]  # in a tree, as tiles, on phones
_DOCUMENTS = ".ex-documents"
_ADD_BUTTON, _RUNS_LINK = "[data-do='add']", ".tp-nav [data-page='runs']"

_viewer_checks: "WeakKeyDictionary[Any, Callable[[], bool]]" = WeakKeyDictionary()


def ask_before_changes(document: Any, only_looks: Callable[[], bool]) -> None:
    """Make the components of a document ignore requests for changes while ``only_looks()`` returns True."""
    _viewer_checks[document] = only_looks


def list_refused() -> list[str]:
    """Return the names of the requests whose buttons are disabled for the current visitor."""
    return list(CHANGES) if find_visitor()() else []


def find_visitor() -> Callable[[], bool]:
    """Return a function that returns True while the visitor of the current document may not make changes."""
    document = pn.state.curdoc
    return _viewer_checks.get(document, _allow_changes) if document is not None else _allow_changes


def _allow_changes() -> bool:
    """Return False: without a visitor, every change is allowed."""
    return False


Message = dict[str, Any]


class Component(JSComponent):
    """A component with browser code from ``assets/js``, whose messages are passed on to Python.

    A subclass sets ``_bundle`` to its file, and ``_acts`` to False if its messages have no action ``do``.

    Parameters
    ----------
    on_message : (message) -> None
        Called with each message of the browser code, once the page is open.
    sheets : list of str
        Style sheets of ``assets/css`` in the page's head that the component's shadow root adopts.
    """

    sheets = param.List(default=[], item_type=str)
    _acts = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Panel would look for it again for each component.
        cls._bundle_path = cls._bundle  # type: ignore[method-assign, assignment]

    def __init__(self, on_message: Callable[[Message], object] | None = None, **params: Any) -> None:
        super().__init__(**params)
        if unknown := {*self.sheets}.difference(SHARED_STYLES):
            raise ValueError(f"no page has the style sheets {sorted(unknown)}; name them in SHARED_STYLES")
        self._handler = on_message
        self._only_looks = find_visitor()

    def listen(self, on_message: Callable[[Message], object]) -> None:
        """Set the function that is called with each message."""
        self._handler = on_message

    def _handle_msg(self, data: Any) -> None:
        """Pass a message on once the page is open; changes that the server makes before that would get lost.

        The check of the visitor's role relies on nothing that the browser can set.
        """
        if not isinstance(data, dict) or (self._acts and not isinstance(data.get("do"), str)):
            return
        if data.get("do") in CHANGES and self._only_looks():
            return
        pn.state.onload(partial(self._call_handler, data))

    def _call_handler(self, message: Message) -> None:
        if self._handler is not None:
            self._handler(message)

    def _get_children(self, *_: Any) -> tuple[dict[str, Any], list[Any]]:
        """Return nothing: no component has others in it, for which Panel would look through all its parameters."""
        return {}, []

    @classmethod
    def _component_resource_path(cls, esm_path: str | PathLike[str], compiled: bool | str) -> str:  # noqa: ARG003, FBT001
        """Return the URL of the code; it changes with the code, so browsers may cache the file forever."""
        return make_asset_url(Path(esm_path))


class Board(Component):
    """HTML from the server, merged into the page so that focus and half-typed text survive updates.

    Parameters
    ----------
    html : str
        The content.  Texts from users must be escaped with :func:`html.escape`.
    current : str or None
        The ``data-key`` of the item that is marked as the current one, and brought into view, without the content being
        sent again; None leaves the marks of the content as they are.
    refused : list of str
        Requests whose buttons are disabled, with the reason ``why``; the server ignores them as well.
    on_message : (message) -> None
        Called with ``{"do": name, ...}`` when a visitor clicks, changes or submits something.
    """

    html = param.String(default="")
    current = param.String(default=None, allow_None=True)
    refused = param.List(default=[], item_type=str)
    why = param.String(default=WHY_REFUSED)

    _bundle = find_asset("js/board.js")

    def __init__(self, html: str = "", on_message: Callable[[Message], object] | None = None, **params: Any) -> None:
        defaults = {"sizing_mode": "stretch_width", "margin": 0, "refused": list_refused()}
        super().__init__(on_message, html=html, **(defaults | params))

    def fetch_file(self, url: str, name: str) -> None:
        """Let the browser download a file from an address of this server."""
        self._send_msg({"fetch": url, "name": name})


_LEAST_PIXELS = 50  # width and height of a window; a smaller one is about to appear or disappear
_ASPECTS = (0.6, 2.6)  # smallest and largest width / height of a tree
_STEP = 4.0  # pixels by which windows differ for which a picture is drawn again
_SAME_ASPECT = 0.12  # relative change of width / height below which a tree is not drawn again
_MEDIA_TYPES = {"html": "text/html", "svg": "image/svg+xml", "json": "application/json", "csv": "text/csv"}


class TreeView(Component):
    """The window of a tree, in which a visitor can pan, zoom, hover, fold topics and walk from topic to topic.

    Parameters
    ----------
    svg : str
        The picture in the page's theme; empty while there is nothing to show.
    selected : str
        Identity of the chosen topic, or "".
    group : str
        Trees of a page with the same group pan, zoom and highlight together; "" for an independent tree.
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

    def __init__(self, on_message: Callable[[Message], object] | None = None, **params: Any) -> None:
        super().__init__(on_message, **({"margin": 0} | params))

    def hand_over(self, name: str, text: str) -> None:
        """Let the browser download a text as a file."""
        media_type = _MEDIA_TYPES.get(name.rpartition(".")[2], "text/plain")
        self._send_msg({"name": name, "text": text, "type": f"{media_type};charset=utf-8"})

    def hand_over_picture(self, name: str, svg: str, width: float, height: float) -> None:
        """Let the browser convert an SVG text into a PNG, at up to three times its size, and download it."""
        self._send_msg({"paint": True, "name": name, "text": svg, "size": [width, height]})


def read_aspect(message: Mapping[str, Any], before: float) -> float | None:
    """Return width / height of a tree's window from a message with its size.

    Return ``before`` if the shape has hardly changed, and None if the message has no valid size.
    """
    width, height = message.get("width"), message.get("height")
    if not isinstance(width, int | float) or not isinstance(height, int | float) or min(width, height) < _LEAST_PIXELS:
        return None
    aspect = min(_ASPECTS[1], max(_ASPECTS[0], width / height))
    return aspect if abs(aspect / before - 1) > _SAME_ASPECT else before


def read_window(message: Mapping[str, Any]) -> tuple[float, float]:
    """Return width and height of a window from a message that has them, in steps of a few pixels."""
    width, height = (max(200.0, min(4000.0, message[side] // _STEP * _STEP)) for side in ("width", "height"))
    return width, height


class Callouts(Component):
    """A component of no size that shows one callout at a time, over the page.

    A visitor closes a callout with its button, with Escape, or by doing what it says; the browser remembers how many
    have been closed.  The next one comes when the thing that it points at is on screen.

    Parameters
    ----------
    active : bool
        Whether the run on screen is one of the demo.
    steps : list of dict
        For each callout its heading and text, the selectors ``at`` of the things that it may point at, the first seen
        of which counts, and the ``sides`` of the thing, in the order in which a place for the callout is looked for.
    """

    active = param.Boolean(default=False)
    steps = param.List(default=[], item_type=dict)

    _bundle = find_asset("js/callouts.js")
    _steps: ClassVar[list[dict[str, Any]]] = [
        {
            "heading": "Click a topic",
            "text": "Each large box is a broad topic; the boxes in it, or below it, are what it is made of.",
            "at": _TOPICS,
            "sides": ["left", "below", "above", "right"],
        },
        {
            "heading": "Read its documents",
            "text": "These documents use the topic most: they show what its words mean.",
            "at": [_DOCUMENTS],
            "sides": ["left", "above", "below", "right"],
        },
        {
            "heading": "Add your own",
            "text": "Texts, PDF files, tables, mail and more. They stay on this machine.",
            "at": [_ADD_BUTTON, _RUNS_LINK],
            "sides": ["below", "above", "left", "right"],
        },
    ]

    def __init__(self, **params: Any) -> None:
        super().__init__(**({"steps": self._steps} | params), width=0, height=0, margin=0)
