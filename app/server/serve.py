"""The web server: one process, one port, nothing fetched from anywhere else."""

import asyncio
import ctypes
import errno
import logging
import os
import re
import sys
import webbrowser
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

# Both are read when Bokeh and Panel are imported: scripts and styles come from this server only.
os.environ["BOKEH_RESOURCES"] = "server"
os.environ["PANEL_CDN_ROOT"] = "/cdn/"

import panel as pn
import panel_material_ui as pmui  # registers its bundle before the first page
from tornado.ioloop import PeriodicCallback
from tornado.routing import PathMatches, Rule
from tornado.websocket import WebSocketClosedError

from app.jobs.uploads import ADDRESS, LARGEST_UPLOAD, Uploads
from app.live.actions import Actions
from app.live.feed import Feed
from app.machine import find_asset
from app.pages.session import View, to_query
from app.server.access import Authentication, Passwords, check_open_address
from app.server.guarded_files import (
    COMPONENTS,
    ComponentFiles,
    MalformedPath,
    NotBelowPrefix,
    NotFoundAnswer,
    OutsidePrefix,
    PageRedirect,
    QueryRedirect,
    UnreadableQuery,
    read_prefix,
)
from app.server.hosts import EVERYWHERE, LOOPBACK, ForeignRequest, HostRefusal, Hosts, SafeHeaders
from app.server.login import (
    ENDED,
    LOGIN,
    LOGOUT,
    EndedLogin,
    LoginContext,
    LoginForm,
    LoginRedirect,
    LogoutForm,
    WithoutLogin,
)
from app.server.ports import choose_port
from app.server.proxies import Proxies, ProxyRouter
from app.server.quiet_log import limit_log
from app.server.sessions import (
    LARGEST_MESSAGE,
    SHED,
    ChosenSession,
    SessionOwner,
    SessionPage,
    SessionRefusal,
    SessionSocket,
    make_session_options,
    repair_current_document,
    repair_message_order,
)
from app.server.upload_handler import UploadReceiver
from app.server.visit import Site, open_session
from app.views import theme
from store.database import open_database

IDLE = 20.0  # seconds that a connection may wait for a request, and a request for the end of its headers
SLOW = 30.0  # seconds that the body of a request may take; a file that is sent may take longer
_MMAP_THRESHOLD = -3  # the number that mallopt(3) has for it
LARGEST_BODY = 1 << 20  # bytes; of a file that is sent, as many as there is room for

log = logging.getLogger("topiary.serve")


class ServerReach(NamedTuple):
    """The addresses at which browsers find the server.

    Attributes
    ----------
    hosts : Hosts
        The names it answers to.
    proxies : Proxies
        The proxies whose headers about browsers are trusted.
    prefix : str
        The path that its addresses begin with, as in ``/topiary``; empty where there is none.
    """

    hosts: Hosts
    proxies: Proxies = Proxies()
    prefix: str = ""


def serve(
    store_url: str | None = None,
    port: int | None = None,
    *,
    address: str = "127.0.0.1",
    open_browser: bool = False,
    first_view: dict[str, Any] | None = None,
    on_ready: Callable[[str], None],
    allowed_hosts: Iterable[str] = (),
    passwords: Passwords = Passwords(),  # noqa: B008 - frozen
    insecure: bool = False,
    largest_upload: int = LARGEST_UPLOAD,
    prefix: str = "",
    behind_proxy: Iterable[str] = (),
) -> None:
    """Serve a store until Ctrl-C or SIGTERM.

    Parameters
    ----------
    store_url : str or None
        URL or path of the store; None is the user's own.
    port : int or None
        0 is any free port; None is 5006 or the next free one.
    address : str
        Where to listen; the default is reachable from this machine only.
    open_browser : bool
        Open the page in the user's browser.
    first_view : dict or None
        Fields of :class:`app.pages.session.View` that a visitor without a link begins with.
    on_ready : (url) -> None
        Called with the address when the server answers.
    allowed_hosts : iterable of str
        Further names that browsers may reach it by; see :mod:`app.server.hosts`.
    passwords : Passwords
        The passwords of visitors; needed for every address that others reach.
    insecure : bool
        Accept such an address without a password.
    largest_upload : int
        Bytes of all files together that become one corpus.
    prefix : str
        The path that browsers find it below.
    behind_proxy : iterable of str
        Addresses of proxies whose headers about browsers are trusted; see :mod:`app.server.proxies`.

    Raises
    ------
    ServeError
        When the port is taken, or others could come in without a password, or a name or path cannot be one.
    """
    check_open_address(address, passwords, insecure=insecure)
    reach = ServerReach(Hosts(address, allowed_hosts), Proxies(behind_proxy), read_prefix(prefix))
    open_database(store_url).close()  # creates the store, or says what is wrong with it
    choose_port(address, port)
    db = open_database(store_url, readonly=True)
    feed = Feed(db)
    actions = Actions(store_url or db.url, feed, Uploads(largest_upload))
    feed.after_look = actions.do_upkeep
    feed.classes.keep = actions.keep_predictions
    site = Site(db, feed, actions, dict(first_view or {}), Authentication(passwords))
    server = _bind_server(site, address, port, reach)
    limit_log()
    _limit_memory()
    server.io_loop.asyncio_loop.set_exception_handler(_handle_loop_error)
    url = f"http://{_format_address(address)}:{server.port}{reach.prefix}/"
    feed.start()
    feed.ready.wait(timeout=5)
    try:
        on_ready(url)
        if open_browser:
            webbrowser.open(url + _make_first_query(site.first_view))
        server.run_until_shutdown()
    finally:
        feed.stop()
        actions.close()
        db.close()


def _bind_server(site: Site, address: str, port: int | None, reach: ServerReach) -> Any:
    """Return a server on the port asked for, or on the next free one: a free port may be taken before it is bound."""
    while True:
        chosen = choose_port(address, port)
        try:
            return _make_server(site, address, chosen, reach)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def _make_server(site: Site, address: str, port: int, reach: ServerReach) -> Any:
    repair_message_order()
    repair_current_document()
    pn.extension(notifications=True)
    pn.config.exception_handler = _show_error
    dist = Path(pn.__file__).parent / "dist"
    server = pn.serve(
        {"/": lambda: _build_page(site)},
        port=port,
        address=address,
        start=False,
        show=False,
        verbose=False,
        title="Topiary",
        location=False,  # Panel's fails at the host [::1]; the address bar is written by our own router
        prefix=reach.prefix,
        static_dirs={f"cdn/{pn.__version__}/dist": str(dist), "topiary": str(find_asset("icons").parent)},
        extra_patterns=[
            (
                rf"/{ADDRESS}/([\w-]+)",
                UploadReceiver,
                {"uploads": site.actions.uploads, "authentication": site.authentication},
            ),
            # What is no page opens the nearest view, as in every other link; metadata is Bokeh's own.
            (r"/(?!metadata)([\w-]+)/?", PageRedirect),
        ],
        # on the way to this very machine it only costs time
        compress_response=address not in LOOPBACK or bool(reach.proxies),
        keep_alive_milliseconds=20000,
        unused_session_lifetime_milliseconds=15000,
        http_server_kwargs={
            "idle_connection_timeout": IDLE,
            "body_timeout": SLOW,
            "max_body_size": LARGEST_BODY,
            "max_buffer_size": 2 * LARGEST_MESSAGE,
        },
        **make_session_options(),
    )
    application = server._tornado  # noqa: SLF001 - Bokeh has no word for what stands before its handlers
    application.add_transform(SafeHeaders)
    application.default_router.rules[:0] = _make_rules(site, reach, application.applications["/"])
    server._http.request_callback = ProxyRouter(application, reach.proxies)  # noqa: SLF001 - likewise
    PeriodicCallback(SessionSocket.shed_load, SHED).start()
    return server


def _make_rules(site: Site, reach: ServerReach, context: Any) -> list[Rule]:
    """Return the rules that precede every handler of Bokeh and Panel, in this order."""
    authentication, hosts, prefix = site.authentication, reach.hosts, reach.prefix
    context.application.add(SessionOwner(authentication))
    below = re.escape(prefix)
    of_session = {
        "application_context": context,
        "bokeh_websocket_path": f"{prefix}/ws",
        "authentication": authentication,
    }
    return [
        Rule(ForeignRequest(hosts), HostRefusal, {"hosts": hosts}),
        Rule(MalformedPath(), NotFoundAnswer),
        Rule(NotBelowPrefix(prefix), OutsidePrefix, {"prefix": prefix}),
        Rule(UnreadableQuery(), QueryRedirect),
        Rule(ChosenSession(), SessionRefusal),
        *(
            _make_login_rules(LoginContext(authentication, hosts, site.db.place, prefix))
            if authentication.guarded
            else ()
        ),
        Rule(PathMatches(rf"{below}{COMPONENTS}"), ComponentFiles),
        Rule(PathMatches(rf"{below}/autoload\.js"), NotFoundAnswer),  # Bokeh's way into pages of other sites
        Rule(PathMatches(rf"{below}/"), SessionPage, of_session),
        Rule(PathMatches(rf"{below}/ws"), SessionSocket, of_session | {"hosts": hosts}),
    ]


def _make_login_rules(login: LoginContext) -> list[Rule]:
    """Return the rules that ask for a password."""
    pages = ((LOGIN, LoginForm), (LOGOUT, LogoutForm), (ENDED, EndedLogin))
    return [
        *(
            Rule(PathMatches(rf"{re.escape(login.prefix)}/{name}"), handler, {"context": login})
            for name, handler in pages
        ),
        Rule(WithoutLogin(login.authentication), LoginRedirect, {"prefix": login.prefix}),
    ]


def _build_page(site: Site) -> Any:
    """Build the page of one session; an error is shown instead of a blank page."""
    try:
        return open_session(site)
    except Exception:  # the outermost function: an unexpected error must not become a blank page
        log.exception("a page could not be built")
        sentence = pn.pane.HTML(
            "<h2>This view could not be opened</h2><p>The server's log says why. "
            '<a href="./">Open Topiary without the rest of the link</a></p>'
        )
        return pmui.Page(main=[sentence], template=theme.make_template())  # type: ignore[attr-defined]


def _show_error(error: Exception) -> None:
    """Log the error of a callback, and show a sentence to the visitor."""
    log.error("a callback failed", exc_info=error)
    if pn.state.notifications is not None:
        pn.state.notifications.error("Something went wrong; the server's log has the details.", duration=9000)


def _handle_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore a message that was under way when its browser was closed; report everything else as usual."""
    if not isinstance(context.get("exception"), WebSocketClosedError):
        loop.default_exception_handler(context)


def _limit_memory() -> None:
    """Make the C library of Linux return the memory of large messages, which it would otherwise keep."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a library that does not know the word
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGEST_BODY)


def _format_address(address: str) -> str:
    if address in EVERYWHERE:
        return "[::1]" if address == "::" else "127.0.0.1"  # Tornado listens at addresses of IPv6 alone for "::"
    return f"[{address}]" if ":" in address else address


def _make_first_query(fields: dict[str, Any]) -> str:
    return f"?{to_query(View(**fields))}" if fields else ""
