"""A message to the browser that comes while another one is being written is written too."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.server.views.ws import WSHandler
from panel.io import document as panel_document
from tornado import locks

from app.server.message_order import leave_nothing


class Socket:
    """Remembers what it is given; the last part of each message is written when the test says so."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.last: asyncio.Future[None] | None = None

    def send(self, *, text_data: str) -> "asyncio.Future[None]":
        self.written.append(text_data)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if text_data.endswith("content"):
            self.last = done
        else:
            done.set_result(None)
        return done


class Connection:
    """As much of a connection as writing needs."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self.protocol = SimpleNamespace(create=self._create)

    @staticmethod
    def _create(_: str, events: list[str]) -> Any:
        parts = {f"{part}_json": f"{events[0]} {part}" for part in ("header", "metadata", "content")}
        return SimpleNamespace(**parts, _buffers=[])


async def _second_while_first_ends() -> list[str]:
    """Contents written where a message comes in the very moment in which the one before it has been written."""
    doc, socket = Document(), Socket()
    connection: Any = Connection(socket)
    panel_document.schedule_write_events(doc, [connection], ["first"])  # type: ignore[list-item]
    while socket.last is None:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    first, socket.last = socket.last, None
    first.set_result(None)
    panel_document.schedule_write_events(doc, [connection], ["second"])  # type: ignore[list-item]
    for _ in range(50):
        await asyncio.sleep(0)
        if socket.last is not None and not socket.last.done():
            socket.last.set_result(None)
    return [text for text in socket.written if text.endswith("content")]


def _run(coroutine: Coroutine[Any, Any, list[str]]) -> list[str]:
    """Run it on a loop of its own thread: in that of the tests a browser may have left one running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@pytest.fixture
def panel_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panel's own writing, whatever another test has made of it."""
    write = panel_document._dispatch_msgs
    monkeypatch.setattr(panel_document, "_dispatch_msgs", getattr(write, "__wrapped__", write))
    send = WSHandler.send_message
    monkeypatch.setattr(WSHandler, "send_message", getattr(send, "__wrapped__", send))


@pytest.mark.usefixtures("panel_as_it_is")
def test_panel_alone_leaves_the_second_message_lying() -> None:
    """The reason for app/server/message_order.py: once this fails, Panel has mended it and the file can go."""
    assert _run(_second_while_first_ends()) == ["first content"]


@pytest.mark.usefixtures("panel_as_it_is")
def test_every_message_is_written() -> None:
    leave_nothing()
    assert _run(_second_while_first_ends()) == ["first content", "second content"]


@pytest.mark.usefixtures("panel_as_it_is")
def test_twice_is_once() -> None:
    leave_nothing()
    write = panel_document._dispatch_msgs
    leave_nothing()
    assert panel_document._dispatch_msgs is write


class Written:
    """A message that notes when it is written; the first one takes a while, as a large one does."""

    msgtype = "PATCH-DOC"

    def __init__(self, name: str, into: list[str], *, slow: bool = False) -> None:
        self.name, self.into, self.slow = name, into, slow

    async def send(self, socket: Any) -> None:
        with await socket.write_lock.acquire():
            for _ in range(20 if self.slow else 1):
                await asyncio.sleep(0)
            self.into.append(self.name)


class Busy(SimpleNamespace):
    """A connection, which Panel keeps as the key of what waits."""

    __hash__ = object.__hash__


async def _data_after_its_figure() -> list[str]:
    """Names in the order in which they are written: Panel's figure waits for a busy socket, then Bokeh has its data."""
    doc, into = Document(), []
    socket: Any = SimpleNamespace(write_lock=locks.Lock())
    made = {"figure": Written("figure", into)}
    connection: Any = Busy(_socket=socket, protocol=SimpleNamespace(create=lambda _, events: made[events[0]]))
    busy = asyncio.ensure_future(WSHandler.send_message(socket, Written("large", into, slow=True)))
    await asyncio.sleep(0)
    panel_document.schedule_write_events(doc, [connection], ["figure"])  # type: ignore[list-item]
    await WSHandler.send_message(socket, Written("data", into))
    await busy
    panel_document._WRITE_MSGS.pop(doc, None)
    panel_document._WRITE_BLOCK.pop(doc, None)
    return into


@pytest.mark.usefixtures("panel_as_it_is")
def test_bokeh_alone_writes_data_before_their_figure() -> None:
    """The reason for the second half of app/server/message_order.py."""
    assert _run(_data_after_its_figure()) == ["large", "data"]


@pytest.mark.usefixtures("panel_as_it_is")
def test_data_come_after_their_figure() -> None:
    leave_nothing()
    assert _run(_data_after_its_figure()) == ["large", "figure", "data"]
