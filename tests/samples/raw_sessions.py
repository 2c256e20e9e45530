"""The server in a thread, and a client that speaks Bokeh's protocol to it without a browser: what attackers use."""

import asyncio
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from typing import Any
from urllib.parse import urlencode

from bokeh.util.token import generate_jwt_token
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClientConnection, websocket_connect

PATIENCE = 20.0  # seconds
ANALYSTS, VIEWERS = "analysts-secret", "viewers-secret"


class ThreadServer:
    """A server that a test asks; ``place`` is its host with the port."""

    def __init__(self, make: Callable[[], Any], host: str) -> None:
        self._make, self._ready = make, Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        self.place = f"{host}:{self.server.port}"
        self.home = f"http://{self.place}"

    def _run(self) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        self.server = self._make()
        self.server.start()
        self.loop = IOLoop.current()
        self.loop.add_callback(self._ready.set)
        self.loop.start()

    async def _end(self) -> None:
        """Close every connection, and let everything that waits come to its end."""
        await self.server._http.close_all_connections()
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def call(self, work: Callable[[], Any]) -> Any:
        """Run something in the server's thread, and give what it returns."""
        result: Future[Any] = Future()
        self.loop.add_callback(lambda: result.set_result(work()))
        return result.result(PATIENCE)

    def stop(self) -> None:
        self.call(self.server.stop)
        asyncio.run_coroutine_threadsafe(self._end(), self.loop.asyncio_loop).result(PATIENCE)
        self.loop.add_callback(self.loop.stop)
        self._thread.join(PATIENCE)

    # ------------------------------------------------------------------ asking

    def ask(self, path: str, body: bytes | None = None, method: str | None = None, **headers: str) -> Any:
        """An answer, with ``status``, ``headers`` and ``text``; redirections are not followed."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{self.home}{path}", body, named, method=method)
        try:
            answer = urllib.request.build_opener(_Stay).open(request, timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            answer.text = answer.read().decode("utf-8", "replace")
        return answer

    def log_in(self, password: str) -> str:
        """The cookie that a password gives."""
        answer = self.ask("/login", urlencode({"password": password}).encode())
        assert answer.status == 303
        return str(answer.headers["Set-Cookie"]).partition(";")[0]

    def page_token(self, query: str = "page=guide", cookie: str = "", **headers: str) -> str:
        """The token in the page that a browser with a cookie gets."""
        answer = self.ask(f"/?{query}", Cookie=cookie, **headers)
        found = re.search(r'"token":"([^"]+)"', answer.text)
        assert found, (answer.status, answer.text[:500])
        return found[1]

    def opened(self, token: str, cookie: str = "") -> tuple[int, str]:
        """The status of an attempt to open a websocket, and what was said."""

        async def attempt() -> tuple[int, str]:
            try:
                await RawSession.open(self.place, token, cookie)
            except HTTPClientError as error:
                return error.code, error.response.body.decode() if error.response else ""
            return 101, ""

        found: tuple[int, str] = in_loop(attempt())
        return found


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@contextmanager
def running(make: Callable[[], Any], host: str = "127.0.0.1") -> Iterator[ThreadServer]:
    """A server while a test runs."""
    server = ThreadServer(make, host)
    try:
        yield server
    finally:
        server.stop()


def in_loop(work: Coroutine[Any, Any, Any], patience: float = 120) -> Any:
    """Run a client's coroutine on a loop of its own thread: in that of the tests a browser may have left one."""
    result: Future[Any] = Future()

    async def work_and_close() -> Any:
        _opened.set([])
        try:
            return await work
        finally:
            for session in _opened.get():
                await session.close()

    def run() -> None:
        try:
            result.set_result(asyncio.run(work_and_close()))
        except BaseException as error:  # noqa: BLE001 - handed on
            result.set_exception(error)

    Thread(target=run, daemon=True).start()
    return result.result(patience)


_opened: "ContextVar[list[RawSession]]" = ContextVar("opened")


def unsigned_token(session: str) -> str:
    """A token that anybody can write."""
    payload = {"headers": {}, "cookies": {}, "arguments": {}}
    return generate_jwt_token(session, signed=False, extra_payload=payload)  # type: ignore[arg-type]


class RawSession:
    """One websocket, as a program of an attacker opens it."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        self._numbers = 0
        self._over = False

    @classmethod
    async def open(cls, place: str, token: str, cookie: str = "", **headers: str) -> "RawSession":
        """Open a websocket with a token and a cookie.

        Raises
        ------
        tornado.httpclient.HTTPError
            When the server refuses it.
        ConnectionError
            When the server hangs up instead of greeting.
        """
        known = {"Cookie": cookie} if cookie else {}
        request = HTTPRequest(f"ws://{place}/ws", headers=known | headers)
        socket = await websocket_connect(request, subprotocols=["bokeh", token])
        session = cls(socket)
        _opened.get().append(session)
        socket.protocol.stream.set_nodelay(True)  # type: ignore[union-attr]
        await session.message()  # ACK
        return session

    async def message(self) -> tuple[dict[str, Any], Any]:
        """Header and content of the next message."""
        parts = [await self._part() for _ in range(3)]
        header, _, content = (json.loads(part) for part in parts)
        for _ in range(2 * header.get("num_buffers", 0)):
            await self._part()
        return header, content

    async def _part(self) -> str:
        part = await asyncio.wait_for(self._socket.read_message(), PATIENCE)
        if part is None:
            self._over = True
            raise ConnectionError("the server hung up")
        return str(part)

    async def send(self, kind: str, content: Any, **header: Any) -> dict[str, Any]:
        """Send a message and wait for its answer, whatever else comes meanwhile; gives the answer's content."""
        number = await self.begin(kind, content, **header)
        while True:
            header, answer = await self.message()
            if header.get("reqid") == number:
                return dict(answer) | {"msgtype": header["msgtype"]}

    async def begin(self, kind: str, content: Any, **header: Any) -> str:
        """Send the three parts of a message; gives its number."""
        self._numbers += 1
        number = f"raw{self._numbers}"
        for part in ({"msgid": number, "msgtype": kind} | header, {}, content):
            await self._socket.write_message(json.dumps(part))
        return number

    async def write(self, part: str | bytes) -> None:
        """Send a part of a message."""
        await self._socket.write_message(part, binary=isinstance(part, bytes))

    async def boards(self) -> list[str]:
        """The identities of every component with code of ours in the document."""
        document = (await self.send("PULL-DOC-REQ", {}))["doc"]
        return [each["id"] for each in _models(document) if each.get("name") == "panel.models.esm.ReactiveESM"]

    async def press(self, name: str, **values: Any) -> str:
        """Send an event as BokehJS does, without waiting for an answer; gives the number of the message."""
        entries = {"entries": [[key, _as_map(value)] for key, value in values.items()]} if values else {}
        data = {"type": "event", "name": name, "values": {"type": "map"} | entries}
        event = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}
        return await self.begin("PATCH-DOC", {"events": [event]})

    async def tell(self, board: str, message: dict[str, Any]) -> str:
        """Send what a click on a board sends."""
        return await self.press("data_event", model={"id": board}, data=message)

    async def change(self, model: str, name: str, value: Any) -> str:
        """Change a property of a model in the document."""
        change = {"kind": "ModelChanged", "model": {"id": model}, "attr": name, "new": value}
        return await self.begin("PATCH-DOC", {"events": [change]})

    async def close(self) -> None:
        """Say goodbye, and wait for the answer, once."""
        self._socket.close()
        while not self._over:
            self._over = await self._socket.read_message() is None


def _as_map(value: Any) -> Any:
    if isinstance(value, dict) and set(value) != {"id"}:
        return {"type": "map", "entries": [[key, _as_map(each)] for key, each in value.items()]}
    return value


def _models(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if part.get("type") == "object" and "id" in part:
            yield part
        for each in part.values():
            yield from _models(each)
    elif isinstance(part, list):
        for each in part:
            yield from _models(each)
