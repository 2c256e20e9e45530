"""Pages and websockets of Bokeh whose sessions belong to a login.

The server generates and signs session ids, and refuses page requests that name one.  The token of a page contains the
name of its login instead of cookies, and only this login may open the page's websocket.
"""

import asyncio
import binascii
import calendar
import logging
import time
import weakref
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, wraps
from typing import Any, ClassVar, NamedTuple
from weakref import WeakSet

import bokeh
import panel as pn
from bokeh.application.handlers.handler import Handler
from bokeh.core.has_props import is_DataModel
from bokeh.core.serialization import Serializer
from bokeh.document import Document
from bokeh.document.json import DocJson
from bokeh.embed.elements import script_for_render_items
from bokeh.embed.util import RenderItem
from bokeh.io import doc as current_document
from bokeh.model import Model
from bokeh.protocol.message import Message
from bokeh.protocol.messages.pull_doc_reply import PullDoc, pull_doc_reply
from bokeh.server.protocol_handler import ProtocolHandler
from bokeh.server.session import ServerSession, _needs_document_lock
from bokeh.server.views.ws import WSHandler as BokehSocket
from bokeh.util.token import check_token_signature, generate_secret_key, get_session_id, get_token_payload
from panel.io import document as panel_document
from panel.io.resources import LOCAL_DIST, patch_model_css
from panel.io.server import DocHandler, WSHandler
from panel.io.state import set_curdoc
from panel_material_ui.base import MaterialComponent
from panel_material_ui.notifications import NotificationArea
from panel_material_ui.template.base import Page
from param import descendents
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.iostream import StreamClosedError
from tornado.routing import Matcher

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.live.feed import Feed
from topiary.app.pages.components import Board, TreeView
from topiary.app.server.access import Authentication
from topiary.app.server.guarded_files import UnreadRequest
from topiary.app.server.hosts import POLICY, Hosts, make_nonce, make_policy, send_sentence
from topiary.app.views.theme import PageStart


def forget_document(document: Any) -> None:
    """Remove the references to a document whose session has ended from Panel's state.

    Panel records every root that it has drawn with its document (``panel.state._views``), and removes the entry when
    the root is cleaned up; the entry of the notification area stays, and with it the whole document.
    """
    views: dict[str, Any] = getattr(pn.state, "_views", {})
    for root in [root for root, view in list(views.items()) if view[2] is document]:
        views.pop(root, None)


def close_connections(document: Any) -> None:
    """Close the connections of a document to its browser immediately."""
    session = getattr(document.session_context, "session", None)
    for connection in tuple(session._subscribed_connections) if session is not None else ():  # noqa: SLF001 - Bokeh
        socket = connection._socket  # noqa: SLF001 - has no public way to end a session from the server
        socket.close()
        if socket.ws_connection is not None:  # otherwise the server waits seconds for a browser that does not answer
            socket.ws_connection.stream.close()


def repair_current_document() -> None:
    """Patch Bokeh to restore the current document also after an error; a second call changes nothing.

    Bokeh makes a document the current one while its callbacks run (``bokeh.io.doc.patch_curdoc``), but does not undo
    this after an error: after a failing patch, the document of its sender would remain the current one for everyone.
    """
    current_document.patch_curdoc = _set_current  # type: ignore[assignment]


@contextmanager
def _set_current(document: Any) -> Iterator[None]:
    """Make a document the current one while a block runs, also if it fails."""
    patched = current_document._PATCHED_CURDOCS  # noqa: SLF001 - the list that curdoc() reads
    patched.append(weakref.ref(document))
    del document
    try:
        yield
    finally:
        patched.pop()


_PANEL_NAMES = ("_dispatch_msgs", "_dispatch_write_task", "_WRITE_MSGS", "_WRITE_BLOCK")


def repair_message_order() -> None:
    """Patch Panel and Bokeh so that no message to the browser is lost or overtaken by a later one.

    While a socket is busy, Panel writes changes in a separate task (``panel.io.document._dispatch_msgs``).  A message
    that arrives while this task waits for its last write finds the task's lock and relies on the task to send it, but
    stays in the queue when the task ends, until something else is sent: after the end of a run, nothing else is.  So
    each such task checks the queue again when it is done.

    Bokeh writes changes independently of Panel's queue: the data of a figure could arrive before the figure, which the
    browser does not know then, and the curve would stay empty.  So Bokeh sends the queued messages first.

    A second call changes nothing, and neither does a call with a version of Panel that writes in another way.
    """
    write = getattr(panel_document, _PANEL_NAMES[0], None)
    if all(hasattr(panel_document, name) for name in _PANEL_NAMES) and not hasattr(write, "looks_back"):
        panel_document._dispatch_msgs = _make_dispatcher(write)  # noqa: SLF001 - the only place to repair this
        if not hasattr(BokehSocket.send_message, "waits"):
            BokehSocket.send_message = _make_sender(BokehSocket.send_message)  # type: ignore[method-assign]


def _make_dispatcher(write: Any) -> Any:
    @wraps(write)
    async def write_and_check(doc: Any) -> None:
        await write(doc)
        queued, locks = panel_document._WRITE_MSGS, panel_document._WRITE_BLOCK  # noqa: SLF001
        if doc in queued and doc not in locks:
            locks[doc] = True
            panel_document._dispatch_write_task(doc, panel_document._dispatch_msgs, doc)  # noqa: SLF001

    write_and_check.looks_back = True  # type: ignore[attr-defined]
    return write_and_check


def _make_sender(send: Any) -> Any:
    @wraps(send)
    async def send_after_queued(socket: Any, message: Any) -> None:
        for queued in _take_queued(socket) if message.msgtype == "PATCH-DOC" else ():
            await send(socket, queued)
        await send(socket, message)

    send_after_queued.waits = True  # type: ignore[attr-defined]
    return send_after_queued


def _take_queued(socket: Any) -> list[Any]:
    """Remove and return the messages that Panel has queued for a socket."""
    messages: list[Any] = []
    for connections in panel_document._WRITE_MSGS.values():  # noqa: SLF001
        for connection in [candidate for candidate in connections if candidate._socket is socket]:  # noqa: SLF001
            messages += connections.pop(connection)
    return messages


LARGEST_MESSAGE = 12_000_000  # bytes; a file of 8,000,000 bytes, the most that js/board.js sends, takes 10,700,000
MOST_BUFFERS = 16  # binary parts of a message; the pages of this program send none
LONGEST_WAIT = 120.0  # seconds from the first to the last part of a message; enough for a file on a slow connection
MOST_UNFINISHED = 64_000_000  # bytes of unfinished messages of all visitors together
SHED = 250  # milliseconds between two checks of unfinished frames; complete parts are checked on arrival
MOST_FAULTS = 50  # failed messages in a row; a few are normal when a page changes while its browser sends
PING = 120  # seconds between two pings, and seconds in which a browser must answer one
_CHOSEN_SESSION = (
    "This link names a session, which only the server may do; open it without the parts that begin with bokeh-."
)
_LARGEST_HEAD = 10_000  # largest number of bytes of a message's header, and of its metadata

PREVIEW = "preview"  # the name of the preview among the variables of a document
_MOST_PREVIEWS = 24  # in memory, of about 60 kB
_HEAD_START = 0.03  # seconds for a browser to paint the beginning of a page, and to ask for the scripts
# Steps of the loop between two pages, and seconds of each, in which other visitors' browsers answer: of many at once,
# each other request waits for one page, and a document, which takes several answers, for two or three.
_STEPS, _PAUSE = 6, 0.0015

log = logging.getLogger("topiary.sessions")


def make_session_options() -> dict[str, Any]:
    """Return Bokeh's options for sessions, with a random key for signing them that is new in each process."""
    return {
        "sign_sessions": True,
        "secret_key": generate_secret_key().encode(),
        "include_headers": [],  # headers would include the cookie of the login, and the page would contain it
        "include_cookies": ["topiary_theme", "topiary_window"],
        "websocket_max_message_size": LARGEST_MESSAGE,
        "websocket_ping_interval": PING,
        "websocket_ping_timeout": PING,
    }


class SessionOwner(Handler):
    """A handler that adds the login of a session to its token."""

    def __init__(self, authentication: Authentication) -> None:
        super().__init__()
        self._authentication = authentication

    def process_request(self, request: HTTPServerRequest) -> dict[str, Any]:
        """Return the entries that Bokeh adds to the token before signing it."""
        return {"login": self._authentication.login_in(request)}

    def modify_document(self, doc: Document) -> None:
        """Leave the document unchanged."""


class ChosenSession(Matcher):
    """A match of requests that choose a session id, or set another argument that Bokeh and Panel would read."""

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for requests without any of these."""
        chosen = any(name.lower().startswith("bokeh-") for name in request.arguments)
        return {} if chosen or "Bokeh-Session-Id" in request.headers else None


class SessionRefusal(UnreadRequest):
    """A handler that answers 403 with one sentence."""

    def prepare(self) -> None:
        """Answer every method."""
        send_sentence(self, 403, _CHOSEN_SESSION)


class Preview(NamedTuple):
    """A page as HTML, which browsers show until they have its scripts, and the hierarchy that it shows.

    It looks like the page and answers to nothing.  ``snapshot`` is 0 for the newest.
    """

    html: str
    run: int
    snapshot: int
    hierarchy: Hierarchy | None


class Previews:
    """The previews of the pages that were opened last.

    Parameters
    ----------
    feed : Feed
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._drawn: dict[Hashable, Preview] = {}

    def find(self, key: Hashable) -> str:
        """Return the HTML kept for a request; an empty text if there is none, or other topics or names by now."""
        preview = self._drawn.get(key)
        if preview is None or self._feed.get_cached_hierarchy(preview.run, preview.snapshot) is not preview.hierarchy:
            return ""
        return preview.html

    def keep(self, key: Hashable, preview: Preview) -> None:
        """Keep a preview for requests like the one that it was drawn for."""
        self._drawn.pop(key, None)
        self._drawn[key] = preview
        if len(self._drawn) > _MOST_PREVIEWS:
            del self._drawn[next(iter(self._drawn))]


def draw_preview(layout: Any) -> str:
    """Return the page Explore as HTML; an empty text if it shows no tiles."""
    if not any(isinstance(each, TreeView) and 'class="tp-tiles"' in each.svg for each in layout):
        return ""
    parts = "".join(_draw_part(each.css_classes, *_draw_component(each)) for each in layout)
    return f'<div id="tp-preview" inert>{_draw_part(layout.css_classes, ("menu", "explore"), parts)}</div>'


def _draw_component(component: Any) -> tuple[Sequence[str], str]:
    """Return the style sheets and the content of a component."""
    if isinstance(component, TreeView):
        svg = component.svg.replace('class="tp-tiles"', 'class="tp-canvas"')
        return component.sheets, f'<div class="tp-stage" data-kind="tiles">{svg}</div>'
    if isinstance(component, Board):
        return ("board", *component.sheets), f'<div class="tp-board">{component.html}</div>'
    return (), ""  # the film is drawn in the browser


def _draw_part(classes: Sequence[str], sheets: Sequence[str], content: str) -> str:
    """Return an element whose content ``js/page.js`` moves into a shadow root with these style sheets."""
    return f'<div class="{" ".join(classes)}"><template data-sheets="{" ".join(sheets)}">{content}</template></div>'


class SessionPage(DocHandler):
    """The handler that creates a session and sends its page."""

    def initialize(
        self,
        application_context: Any,  # noqa: ARG002 - Bokeh reads it
        bokeh_websocket_path: str,  # noqa: ARG002
        authentication: Authentication,
        start: PageStart,
        turns: asyncio.Lock,
        previews: Previews,
    ) -> None:
        """Store the authentication, the beginning of the page, whose turn it is, and what other visitors opened."""
        self._authentication, self._start, self._turns, self._previews = authentication, start, turns, previews
        self._is_left = False

    async def prepare(self) -> None:
        """Refuse a session id in the body, and sessions above the limit."""
        await super().prepare()
        if ChosenSession().match(self.request) is not None:
            send_sentence(self, 403, _CHOSEN_SESSION)
        elif full := self._explain_limit():
            send_sentence(self, 429, full)

    def on_connection_close(self) -> None:
        """Note that the visitor has left, who may wait for the page's turn."""
        self._is_left = True

    async def get(self, *_arguments: Any, **_named: Any) -> None:
        """Send the beginning of the page, which the browser shows meanwhile, and build the rest when it is its turn."""
        nonce = make_nonce()
        self.set_header("Cache-Control", "no-store")  # it has the token of its session
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header(POLICY, make_policy(nonce))
        key = self._identify_view()
        preview, is_known = self._previews.find(key), self.get_cookie("topiary_window") is not None
        is_dark = self.get_cookie("topiary_theme") == "dark"
        self.write(self._start.draw(nonce, dark=is_dark, styled=bool(preview) and not is_known))
        self._show_preview(preview, nonce)
        with suppress(StreamClosedError):
            await self.flush()
            await asyncio.sleep(_HEAD_START)
            self.write(self._start.draw_scripts(nonce))
            await self.flush()
            async with self._turns:
                if not self._is_left:
                    await self._send_rest(nonce, None if preview else key)
                for _ in range(_STEPS):
                    await asyncio.sleep(_PAUSE)

    def _identify_view(self) -> Hashable:
        """Return what decides how a page looks before its components are there; None if its address names no run."""
        if "run" not in self.request.arguments:
            return None
        role = self._authentication.role_in(self.request)
        return self.request.query, role, self.get_cookie("topiary_window")

    def _show_preview(self, html: str, nonce: str) -> None:
        if html:
            self.write(f'{html}<script nonce="{nonce}">topiary.show_preview()</script>')

    async def _send_rest(self, nonce: str, key: Hashable | None) -> None:
        """Send the places of a new session's document, and the script that fills them, below its preview.

        With a ``key`` the preview is not on screen yet, and is kept for others.
        """
        if full := self._explain_limit():
            sentence = f'document.querySelector("#tp-skeleton p").textContent = "{full}"'
            self.finish(f'<script nonce="{nonce}">{sentence}</script>')
            return
        session = await self.get_session()  # type: ignore[misc]
        document = session.document
        preview = document.template_variables.pop(PREVIEW, None)
        if preview is not None and key is not None:
            self._previews.keep(key, preview)
            self._show_preview(preview.html, nonce)
        with set_curdoc(document):
            for root in document.roots:
                patch_model_css(root, dist_url=LOCAL_DIST)
        item = RenderItem(token=session.token, roots=document.roots, use_for_title=False)
        places = (f'<div id="{root.elementid}" data-root-id="{root.id}" class="tp-root"></div>' for root in item.roots)
        script = script_for_render_items({}, [item])
        self.finish(f'{"".join(places)}<script nonce="{nonce}">{script}</script></body></html>')

    def _explain_limit(self) -> str:
        return self._authentication.explain_limit(self._authentication.login_in(self.request))


class SessionSocket(WSHandler):
    """The websocket of a page."""

    _sockets: ClassVar[WeakSet[Any]] = WeakSet()

    receiver: Any
    handler: Any

    def initialize(  # type: ignore[override]
        self,
        application_context: Any,  # noqa: ARG002 - Bokeh reads it
        bokeh_websocket_path: str,  # noqa: ARG002
        authentication: Authentication,
        hosts: Hosts,
    ) -> None:
        """Store the authentication and the hosts."""
        self._authentication, self._hosts = authentication, hosts
        self._login = ""
        self._sizes: list[int] = []  # bytes of each part of the current message
        self._deadline: object | None = None
        self._n_failed = 0

    async def prepare(self) -> None:
        """Refuse the websocket before the handshake, for example if the session belongs to another login."""
        await super().prepare()
        self._login = self._authentication.login_in(self.request)
        if not self._finished and (reason := self._find_objection()):
            log.warning("a websocket from %s was refused: %s", self.request.remote_ip, reason)
            send_sentence(self, 403, f"The websocket is refused: {reason}. Reload the page.")

    def check_origin(self, origin: str) -> bool:
        """Return whether a page of this server opens the socket."""
        return self._hosts.is_own_page(origin, self.request.headers.get("Host", ""))

    async def on_message(self, fragment: str | bytes) -> None:
        """Receive a part of a message while the login is open, and handle the message once it is complete."""
        if self._authentication.logins.role_of(self._login) is None:
            self._close_at_once("the login has ended")
            return
        message = await self._receive(fragment)
        work = None if message is None else await self._handle(message)
        if work is not None:
            await self._schedule(work)

    @classmethod
    def shed_load(cls) -> None:
        """Close the sockets with the largest unfinished messages until the total size is below the limit."""
        sizes = {socket: size for socket in cls._sockets if (size := socket.unfinished)}
        for socket in sorted(sizes, key=lambda candidate: -sizes[candidate]):
            if sum(sizes.values()) <= MOST_UNFINISHED:
                break
            socket._close_at_once("too many messages are unfinished")  # noqa: SLF001 - an instance of this class
            del sizes[socket]

    @property
    def unfinished(self) -> int:
        """The number of bytes received of an incomplete message."""
        stream = getattr(self.ws_connection, "stream", None)
        return sum(self._sizes) + int(getattr(stream, "_read_buffer_size", 0))  # Tornado has no public name for it

    def on_close(self) -> None:
        """Drop an unfinished message, and leave the session, which may have been discarded already."""
        self._forget_message()
        if self.connection is not None and self.connection._session is None:  # noqa: SLF001 - Bokeh would fail
            self.application.client_lost(self.connection)  # type: ignore[attr-defined]  # a BokehTornado
            self.connection = None
        super().on_close()
        self.receiver = self.handler = None

    async def _async_open(self, token: str) -> None:
        await super()._async_open(token)
        self.handler = PageProtocol()
        self._sockets.add(self)

    async def _receive(self, fragment: str | bytes) -> Message[Any] | None:
        """Return the message that a part completes, else None; close the socket if it is too large or invalid."""
        self._count_part(len(fragment))
        if self._is_message_too_large():
            self._close_at_once("a message is too large")
        elif len(fragment) > _LARGEST_HEAD:
            self.shed_load()
        if self.receiver is None:
            return None
        try:
            message = await self.receiver.consume(fragment)
        except Exception as error:  # noqa: BLE001 - input from a browser can raise anything
            self._close_at_once("a message cannot be read", repr(error)[:200])
            return None
        if message is not None:
            self._forget_message()
        return message

    async def _handle(self, message: Message[Any]) -> Any:
        """Handle a message; close the socket after too many failed messages in a row."""
        work = await super()._handle(message)
        self._n_failed = self._n_failed + 1 if getattr(work, "msgtype", "") == "ERROR" else 0
        if self._n_failed > MOST_FAULTS:
            self._close_at_once("too many messages failed")
            return None
        return work

    def _find_objection(self) -> str:
        """Return why this websocket is refused, or an empty text if it is not."""
        payload = read_token(self._offered_token(), self.application.secret_key)  # type: ignore[attr-defined]
        if payload is None:
            return "its session was not begun by this server, or too long ago"
        if payload.get("login") != self._login or self._authentication.logins.role_of(self._login) is None:
            return "its session belongs to another login"
        session = next(
            (candidate for candidate in self.application_context.sessions if candidate.id == payload["session_id"]),
            None,
        )
        if session is not None and session.connection_count > 0:
            return "its session is open in another window"
        return "" if session is not None else self._authentication.explain_limit(self._login).rstrip(".")

    def _offered_token(self) -> str:
        parts = [part.strip() for part in self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        return parts[1] if len(parts) == 2 and parts[0] == "bokeh" else ""

    def _count_part(self, size: int) -> None:
        if not self._sizes:
            self._deadline = IOLoop.current().call_later(LONGEST_WAIT, self._close_at_once, "a message was too slow")
        self._sizes.append(size)

    def _forget_message(self) -> None:
        self._sizes.clear()
        if self._deadline is not None:
            IOLoop.current().remove_timeout(self._deadline)
            self._deadline = None

    def _is_message_too_large(self) -> bool:
        sizes = self._sizes
        return max(sizes[:2]) > _LARGEST_HEAD or sum(sizes) > LARGEST_MESSAGE or len(sizes) > 3 + 2 * MOST_BUFFERS

    def _close_at_once(self, reason: str, detail: str = "") -> None:
        """Close the connection at once; the protocol limits a reason to about 120 bytes."""
        log.warning("a websocket from %s was closed: %s %s", self.request.remote_ip, reason, detail)
        self._forget_message()
        self.receiver = None
        self.close(1008, reason)
        if self.ws_connection is not None:  # otherwise the server reads until the browser answers
            self.ws_connection.stream.close()  # type: ignore[union-attr]


class PageProtocol(ProtocolHandler):
    """A protocol with only the messages that a page may send: the request for its document, and patches."""

    def __init__(self) -> None:
        super().__init__()
        self._handlers = {"PULL-DOC-REQ": _send_document, "PATCH-DOC": self._handlers["PATCH-DOC"]}

    async def handle(self, message: Message[Any], connection: Any) -> Any:
        """Handle a message; answer an error with its text, without the traceback that Bokeh would send."""
        handler = self._handlers.get(message.msgtype)
        try:
            if handler is None:
                raise ValueError(f"a page sends no {message.msgtype}")
            return await handler(message, connection)
        except Exception as error:  # noqa: BLE001 - as in Bokeh: the browser gets an error, the connection stays open
            log.warning("a message of a page failed: %s", repr(error)[:300])
            sentence = repr(error)[:300]
        return connection.error(message, sentence)


async def _send_document(message: Message[Any], connection: Any) -> Any:
    """Answer the request of a page for its document."""
    return await _write_document(connection.session, message)


@_needs_document_lock
async def _write_document(session: ServerSession, message: Message[Any]) -> Message[Any]:
    """Return the document as Bokeh does, without definitions of components that no page has: most of its bytes."""
    document, serializer = session.document, Serializer(deferred=True)
    content = DocJson(
        version=bokeh.__version__,
        title=document.title,
        defs=_encode_definitions(len(Model.model_class_reverse_map)),
        config=serializer.encode(document.config),
        roots=serializer.encode(document.roots),
        callbacks=serializer.encode(document.callbacks.js_event_callbacks),
    )
    document.models.flush_synced()
    reply = pull_doc_reply(pull_doc_reply.create_header(request_id=message.header["msgid"]), {}, PullDoc(doc=content))
    reply.add_buffers(*serializer.buffers)
    return reply


@cache
def _encode_definitions(n_classes: int) -> list[Any]:  # noqa: ARG001 - there is an answer for each number of classes
    """Return the definitions of the components that pages have: of Material's, these are the page and its messages."""
    used = {model for each in (Page, NotificationArea) for model in each._data_model.__mro__}  # noqa: SLF001
    others = {each._data_model for each in descendents(MaterialComponent)} - used  # noqa: SLF001
    models = [model for model in Model.model_class_reverse_map.values() if is_DataModel(model) and model not in others]
    encoded: list[Any] = Serializer().encode(models)
    return encoded


def read_token(token: str, secret_key: bytes | None) -> dict[str, Any] | None:
    """Return the payload of a token; None unless this server signed it and it has not expired."""
    try:
        if not check_token_signature(token, secret_key, signed=True):
            return None
        payload = {**get_token_payload(token), "session_id": get_session_id(token)}
    except (ValueError, TypeError, KeyError, AttributeError, AssertionError, binascii.Error):
        return None
    return payload if payload.get("session_expiry", 0) > calendar.timegm(time.gmtime()) else None
