"""No message to a browser is left lying, and none overtakes another.

Panel writes what changes while the socket is busy in a task of its own (``panel.io.document._dispatch_msgs``).  A
message that comes just while such a task waits for its last write finds the task's lock, believes that the task will
take it along, and stays behind once the lock is gone, until something else happens to be sent: a finished run sends
nothing else.  So every such task looks back once when it is done.

Bokeh writes what changes by itself, and knows nothing of what waits in Panel's tasks: data of a figure would come
before the figure, which the browser does not know then, and the curve stays empty.  So it writes first what waits.
"""

from functools import wraps
from typing import Any

from bokeh.server.views.ws import WSHandler
from panel.io import document as panel_document

_NAMES = ("_dispatch_msgs", "_dispatch_write_task", "_WRITE_MSGS", "_WRITE_BLOCK")


def leave_nothing() -> None:
    """Make Panel's writing tasks look back, and Bokeh wait its turn.

    Does nothing the second time, or where Panel writes otherwise.
    """
    write = getattr(panel_document, _NAMES[0], None)
    if all(hasattr(panel_document, name) for name in _NAMES) and not hasattr(write, "looks_back"):
        panel_document._dispatch_msgs = _looking_back(write)  # noqa: SLF001 - the one place it can be mended
        if not hasattr(WSHandler.send_message, "waits"):
            WSHandler.send_message = _in_turn(WSHandler.send_message)  # type: ignore[method-assign]


def _looking_back(write: Any) -> Any:
    @wraps(write)
    async def then_look_back(doc: Any) -> None:
        await write(doc)
        waiting, held = panel_document._WRITE_MSGS, panel_document._WRITE_BLOCK  # noqa: SLF001
        if doc in waiting and doc not in held:
            held[doc] = True
            panel_document._dispatch_write_task(doc, panel_document._dispatch_msgs, doc)  # noqa: SLF001

    then_look_back.looks_back = True  # type: ignore[attr-defined]
    return then_look_back


def _in_turn(send: Any) -> Any:
    @wraps(send)
    async def after_what_waits(socket: Any, message: Any) -> None:
        for earlier in _waiting(socket) if message.msgtype == "PATCH-DOC" else ():
            await send(socket, earlier)
        await send(socket, message)

    after_what_waits.waits = True  # type: ignore[attr-defined]
    return after_what_waits


def _waiting(socket: Any) -> list[Any]:
    """Take what Panel has still to write to a socket."""
    taken: list[Any] = []
    for queued in panel_document._WRITE_MSGS.values():  # noqa: SLF001
        for connection in [each for each in queued if each._socket is socket]:  # noqa: SLF001
            taken += queued.pop(connection)
    return taken
