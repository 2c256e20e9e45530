"""One browser component that shows a text of HTML and reports what a visitor does with it.

A list, a strip of numbers or a form is one board instead of dozens of components; ``assets/js/board.js``
says which ``data-*`` attributes it understands.
"""

from collections.abc import Callable
from typing import Any

import param

from app.machine import find_asset
from app.pages.components import looking
from app.pages.components.component import Component, Message

__all__ = ["Board", "Message"]


class Board(Component):
    """HTML made on the server, merged in the browser so that focus and half-typed text survive.

    Parameters
    ----------
    html : str
        What to show.  Words of users must have gone through :func:`html.escape`.
    refused : list of str
        Requests whose buttons are shown disabled, with the reason ``why``; the server does not hear them either.
    on_message : (message) -> None
        Called with ``{"do": name, ...}`` when a visitor clicks, changes or submits something.
    """

    html = param.String(default="")
    refused = param.List(default=[], item_type=str)
    why = param.String(default=looking.WHY)

    _bundle = find_asset("js/board.js")

    def __init__(self, html: str = "", on_message: Callable[[Message], None] | None = None, **params: Any) -> None:
        usual = {"sizing_mode": "stretch_width", "margin": 0, "refused": looking.refused()}
        super().__init__(on_message, html=html, **(usual | params))

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, dict) and isinstance(data.get("do"), str):
            super()._handle_msg(data)
