"""What every component with browser code of our own has in common.

The code is served as a file, so that the browser loads it beside everything else, once for all components of
a kind, and runs it as it stands; sent inside the document it would be translated for every single one.
"""

import hashlib
from collections.abc import Callable
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from app.pages.components import looking

Message = dict[str, Any]


class Component(JSComponent):
    """Browser code from ``assets/js``, and the way of its messages into Python.

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
        self._only_looks = looking.find_visitor()

    def listen(self, on_message: Callable[[Message], None]) -> None:
        """Call ``on_message`` from now on."""
        self._handler = on_message

    def _handle_msg(self, data: Any) -> None:
        """Hear a message, as soon as the page is open: what is changed on the server before that gets lost.

        The check of the role uses nothing that the browser can set.
        """
        if self._handler is None or not isinstance(data, dict):
            return
        if data.get("do") in looking.CHANGES and self._only_looks():
            return
        pn.state.onload(partial(self._handler, data))

    @classmethod
    def _component_resource_path(cls, esm_path: str | PathLike[str], compiled: bool | str) -> str:  # noqa: ARG003, FBT001
        """The address of the code; it changes with the code, so a browser may keep the file for good."""
        return served(Path(esm_path))


@cache
def served(path: Path) -> str:
    """The address, without a leading slash, under which :mod:`app.server.serve` serves a file of ``assets``."""
    version = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return f"topiary/{path.parent.name}/{path.name}?v={version}"
