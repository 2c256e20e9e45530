"""A session that is over: its browser is hung up on, and what Panel keeps of it is let go.

Panel notes every root that it has drawn (``panel.state._views``) with the document it belongs to, and takes the note
away when the root is cleaned up; that of the area of notifications stays, and with it the whole document.
"""

from typing import Any

import panel as pn


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
