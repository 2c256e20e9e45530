"""A session that is over: its browser is hung up on, and what Panel keeps of it is let go.

Panel notes every root that it has drawn (``panel.state._views``) with the document it belongs to, and takes the note
away when the root is cleaned up; that of the area of notifications stays, and with it the whole document.

Bokeh makes a document the current one while its callbacks run (``bokeh.io.doc.patch_curdoc``), but does not undo this
after an error: a patch that fails would leave the document of its sender behind as that of everybody.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import panel as pn
from bokeh.io import doc as current_document


def forget(document: Any) -> None:
    """Take away the notes about a document whose session is over."""
    views: dict[str, Any] = getattr(pn.state, "_views", {})
    for root in [root for root, view in list(views.items()) if view[2] is document]:
        views.pop(root, None)


def hang_up(document: Any) -> None:
    """Cut the browser off that shows a document, at once: it is neither sent anything more nor heard."""
    session = getattr(document.session_context, "session", None)
    for connection in tuple(session._subscribed_connections) if session is not None else ():  # noqa: SLF001 - Bokeh
        socket = connection._socket  # noqa: SLF001 - has no word for ending a session from here
        socket.close()
        if socket.ws_connection is not None:  # without this, whoever does not answer would be heard some seconds more
            socket.ws_connection.stream.close()


def restore_documents() -> None:
    """Have Bokeh restore the current document after an error too; does nothing the second time."""
    current_document.patch_curdoc = _current_for_now  # type: ignore[assignment]


@contextmanager
def _current_for_now(document: Any) -> Iterator[None]:
    patched = current_document._PATCHED_CURDOCS  # noqa: SLF001 - the list that curdoc() reads
    patched.append(weakref.ref(document))
    del document
    try:
        yield
    finally:
        patched.pop()
