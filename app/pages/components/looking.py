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
    """Have the components of a document ask, whenever a change is wanted, whether its visitor only looks."""
    _visitors[document] = only_looks


def refused() -> list[str]:
    """Return the requests that boards of the current document do not offer."""
    return list(CHANGES) if find_visitor()() else []


def find_visitor() -> Callable[[], bool]:
    """Return what tells whether the visitor of the current document only looks."""
    document = pn.state.curdoc
    return _visitors.get(document, _changes) if document is not None else _changes


def _changes() -> bool:
    """Where nobody was asked for a password nobody only looks."""
    return False
