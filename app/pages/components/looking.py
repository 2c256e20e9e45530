"""Sessions that only look: which requests of a page change the store, and are neither offered nor heard there."""

from typing import Any
from weakref import WeakSet

import panel as pn

WHY = "You only look here: the analysts' password allows changes"
CHANGES = (
    "pause", "resume", "stop", "move", "delete", "rename", "demo", "new", "add", "fork", "supervise", "start", "make",
    "match", "unmatch", "dismiss", "add-again", "sending", "sent", "not-sent",
)  # fmt: skip

_looking: WeakSet[Any] = WeakSet()


def only_look(document: Any) -> None:
    """Have the boards that are made for a document from now on offer no change."""
    _looking.add(document)


def refused() -> list[str]:
    """The requests that boards of the current document neither offer nor hear."""
    document = pn.state.curdoc
    return list(CHANGES) if document is not None and document in _looking else []
