"""What Panel keeps of a session that is over is let go.

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
