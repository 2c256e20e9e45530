"""Sessions that only look: which requests of a page change the store, and are neither offered nor heard there."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn

WHY = "You only look here: the analysts' password allows changes"
CHANGES = (
    "pause", "resume", "stop", "move", "delete", "rename", "demo", "new", "add", "fork", "supervise", "start", "make",
    "match", "unmatch", "dismiss", "add-again", "sending", "sent", "not-sent",
)  # fmt: skip

_visitors: "WeakKeyDictionary[Any, Callable[[], bool]]" = WeakKeyDictionary()


def ask_before_changes(document: Any, only_looks: Callable[[], bool]) -> None:
    """Have the components of a document ask ``only_looks()`` before they pass on a request for a change."""
    _visitors[document] = only_looks


def refused() -> list[str]:
    """Return the requests that boards of the current document show as disabled."""
    return list(CHANGES) if find_visitor()() else []


def find_visitor() -> Callable[[], bool]:
    """Return the function that says whether the visitor of the current document only looks."""
    document = pn.state.curdoc
    return _visitors.get(document, _changes) if document is not None else _changes


def _changes() -> bool:
    """Return False: in a document without a visitor every change is allowed."""
    return False
