"""The web server: one process, one port, and no resources from other servers."""

import asyncio
import ctypes
import errno
import logging
import os
import re
import sys
import time
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

# Read when Bokeh and Panel are imported: makes scripts and styles come from this server only.
os.environ["BOKEH_RESOURCES"] = "server"
os.environ["PANEL_CDN_ROOT"] = "/cdn/"
# Checks of the signature of every callback and of every document, which are for authors of apps.
os.environ["BOKEH_PERFORM_ERROR_DIAGNOSTICS"] = os.environ["BOKEH_VALIDATE_DOC"] = "no"

import panel as pn
import panel_material_ui as pmui  # registers its bundle before the first page
from bokeh.settings import settings
from panel.io.resources import LOCAL_DIST
from tornado.ioloop import PeriodicCallback
from tornado.routing import PathMatches, Rule
from tornado.websocket import WebSocketClosedError

from topiary.app.analysis.name_server import NameServer
from topiary.app.jobs.uploads import ADDRESS, DOWNLOADS, Uploads
from topiary.app.live.actions import Actions
from topiary.app.live.feed import Feed
from topiary.app.machine import LARGEST_UPLOAD, LOOPBACK, find_asset
from topiary.app.pages.components import Board
from topiary.app.pages.session import View, to_query
from topiary.app.server.access import Authentication, Passwords, check_open_address
from topiary.app.server.guarded_files import (
    COMPONENTS,
    MAP_POINTS,
    STYLE_SHEETS,
    ComponentFiles,
    FileSender,
    MalformedPath,
    MapPoints,
    NotBelowPrefix,
    NotFoundAnswer,
    OutsidePrefix,
    PageRedirect,
    QueryRedirect,
    SharedStyles,
    UnreadableQuery,
    UploadReceiver,
    read_prefix,
)
from topiary.app.server.hosts import (
    EVERYWHERE,
    ForeignRequest,
    HostRefusal,
    Hosts,
    Proxies,
    ProxyRouter,
    SafeHeaders,
    choose_port,
)
from topiary.app.server.login import (
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
from topiary.app.server.sessions import (
    LARGEST_MESSAGE,
    SHED,
    ChosenSession,
    Previews,
    SessionOwner,
    SessionPage,
    SessionRefusal,
    SessionSocket,
    make_session_options,
    repair_current_document,
    repair_message_order,
)
from topiary.app.server.visit import Site, make_page_start, open_session
from topiary.store.database import open_database

IDLE = 20.0  # seconds until a connection without a request, or a request without all its headers, is closed
SLOW = 30.0  # seconds that the body of a request may take; uploads may take longer
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of mallopt(3)
PASSWORDS_CHECKED = 1000  # milliseconds between two looks for changed passwords; each login looks, too
LARGEST_BODY = 1 << 20  # bytes; uploads may be larger
COMPRESSION = 4  # level of zlib for websockets; higher ones take longer and save little

log = logging.getLogger("topiary.serve")


class ServerReach(NamedTuple):
    """The addresses at which browsers reach the server.

    Attributes
    ----------
    hosts : Hosts
        The host names that it answers to.
    proxies : Proxies
        The proxies whose headers about browsers are trusted.
    prefix : str
        The path with which its URLs begin, such as ``/topiary``; empty if there is none.
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
    read_changes: Callable[[], Passwords | None] = lambda: None,
    insecure: bool = False,
    largest_upload: int = LARGEST_UPLOAD,
    prefix: str = "",
    behind_proxy: Iterable[str] = (),
    names: NameServer | None = None,
) -> None:
    """Serve a store until Ctrl-C or SIGTERM.

    Parameters
    ----------
    store_url : str or None
        URL or path of the store; None for the user's default store.
    port : int or None
        Port to listen on; 0 for any free port, None for 5006 or the next free one.
    address : str
        Address to listen at; the default can be reached from this machine only.
    open_browser : bool
        Whether to open the page in the user's browser.
    first_view : dict or None
        Fields of :class:`app.pages.session.View` for visitors who come without a link.
    on_ready : (url) -> None
        Called with the server's URL as soon as it answers.
    allowed_hosts : iterable of str
        Further host names by which browsers may reach it; see :mod:`app.server.hosts`.
    passwords : Passwords
        The passwords of visitors; required if other machines can reach the address.
    read_changes : () -> Passwords or None
        Returns the passwords if they have changed since it was last called.
    insecure : bool
        Whether to accept such an address without a password.
    largest_upload : int
        Largest total size of the files of a corpus, in bytes.
    prefix : str
        The path with which the server's URLs begin in browsers.
    behind_proxy : iterable of str
        Addresses of proxies whose headers about browsers are trusted; see :mod:`app.server.hosts`.
    names : NameServer or None
        The server of language models that analysts may ask for names of topics.

    Raises
    ------
    ServeError
        When the port is taken, other machines could connect without a password, or a name or path is not valid.
    """
    check_open_address(address, passwords, insecure=insecure)
    reach = ServerReach(Hosts(address, allowed_hosts), Proxies(behind_proxy), read_prefix(prefix))
    open_database(store_url).close()  # creates the store if necessary, or raises an error that says what is wrong
    choose_port(address, port)
    with open_site(store_url, Authentication(passwords, read_changes), first_view, largest_upload, names) as site:
        server = _bind_server(site, address, port, reach)
        limit_log()
        _limit_memory()
        url = f"http://{_format_address(address)}:{server.port}{reach.prefix}/"
        site.feed.start()
        site.feed.ready.wait(timeout=5)
        on_ready(url)
        if open_browser:
            webbrowser.open(url + _make_first_query(site.first_view))
        server.run_until_shutdown()


@contextmanager
def open_site(
    store_url: str | None,
    authentication: Authentication,
    first_view: dict[str, Any] | None = None,
    largest_upload: int = LARGEST_UPLOAD,
    names: NameServer | None = None,
) -> Iterator[Site]:
    """Yield what all sessions of a server on a store share; the feed is not started yet."""
    db = open_database(store_url, readonly=True)
    feed = Feed(db)
    actions = Actions(store_url or db.url, feed, Uploads(largest_upload))
    feed.after_look = actions.do_upkeep
    feed.classes.keep = actions.keep_predictions
    try:
        yield Site(db, feed, actions, dict(first_view or {}), authentication, names)
    finally:
        feed.stop()
        actions.close()
        db.close()


def _bind_server(site: Site, address: str, port: int | None, reach: ServerReach) -> Any:
    """Return a server that is bound to a port; choose again if the chosen port is taken before it is bound."""
    while True:
        chosen = choose_port(address, port)
        try:
            return _make_server(site, address, chosen, reach)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def _make_server(site: Site, address: str, port: int, reach: ServerReach) -> Any:
    """Return a server of Panel for the pages, with this program's limits, rules and headers."""
    repair_message_order()
    repair_current_document()
    pn.extension(notifications=True, browser_info=False)
    settings.resources = "server"  # whatever BOKEH_RESOURCES and what ran before say: nothing comes from elsewhere
    pn.config.exception_handler = _show_error
    dist = Path(pn.__file__).parent / "dist"
    is_far = address not in LOOPBACK or bool(reach.proxies)
    server = pn.serve(
        {"/": lambda: _build_page(site)},
        port=port,
        address=address,
        start=False,
        show=False,
        verbose=False,
        title="Topiary",
        location=False,  # Panel's own fails on the host [::1]; js/router.js writes the address bar
        prefix=reach.prefix,
        static_dirs={f"cdn/{pn.__version__}/dist": str(dist), "topiary": str(find_asset("icons").parent)},
        extra_patterns=[
            (
                rf"/{ADDRESS}/([\w-]+)",
                UploadReceiver,
                {"uploads": site.actions.uploads, "authentication": site.authentication},
            ),
            (STYLE_SHEETS, SharedStyles, {"authentication": site.authentication}),
            (MAP_POINTS, MapPoints, {"points": site.feed.points, "authentication": site.authentication}),
            (
                rf"/{DOWNLOADS}/([\w-]+)",
                FileSender,
                {"downloads": site.actions.downloads, "authentication": site.authentication},
            ),
            # /NAME opens the view of that name, or the default view; /metadata belongs to Bokeh.
            (r"/(?!metadata)([\w-]+)/?", PageRedirect),
        ],
        # compression only costs time if browser and server are on the same machine
        compress_response=is_far,
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
    application = server._tornado  # noqa: SLF001 - Bokeh has no public way to put rules before its handlers
    application.add_transform(SafeHeaders)
    application.default_router.rules[:0] = _make_rules(
        site, reach, application.applications["/"], COMPRESSION if is_far else None
    )
    server._http.request_callback = ProxyRouter(application, reach.proxies)  # noqa: SLF001 - likewise
    server.io_loop.asyncio_loop.set_exception_handler(_handle_loop_error)
    PeriodicCallback(SessionSocket.shed_load, SHED).start()
    if site.authentication.guarded:
        PeriodicCallback(site.authentication.update_passwords, PASSWORDS_CHECKED).start()
    return server


def _make_rules(site: Site, reach: ServerReach, context: Any, compression: int | None) -> list[Rule]:
    """Return the rules that come before all handlers of Bokeh and Panel, in order of precedence."""
    authentication, hosts, prefix = site.authentication, reach.hosts, reach.prefix
    context.application.add(SessionOwner(authentication))
    prefix_pattern = re.escape(prefix)
    session_arguments = {
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
        Rule(PathMatches(rf"{prefix_pattern}{COMPONENTS}"), ComponentFiles),
        Rule(
            PathMatches(rf"{prefix_pattern}/autoload\.js"), NotFoundAnswer
        ),  # would embed Bokeh's documents in pages of other sites
        Rule(
            PathMatches(rf"{prefix_pattern}/"),
            SessionPage,
            session_arguments | {"start": make_page_start(), "turns": asyncio.Lock(), "previews": Previews(site.feed)},
        ),
        Rule(
            PathMatches(rf"{prefix_pattern}/ws"),
            SessionSocket,
            session_arguments | {"hosts": hosts, "compression_level": compression},
        ),
    ]


def _make_login_rules(login: LoginContext) -> list[Rule]:
    """Return the rules for the pages about logins, and the rule that asks for a password."""
    pages = ((LOGIN, LoginForm), (LOGOUT, LogoutForm), (ENDED, EndedLogin))
    return [
        *(
            Rule(PathMatches(rf"{re.escape(login.prefix)}/{name}"), handler, {"context": login})
            for name, handler in pages
        ),
        Rule(WithoutLogin(login.authentication), LoginRedirect, {"prefix": login.prefix}),
    ]


def _build_page(site: Site) -> Any:
    """Build the page of one session; after an error, show a message instead of a blank page."""
    if pn.state.curdoc is not None:  # components made after the page is sent have their styles from here too
        pn.state.curdoc.template_variables["dist_url"] = LOCAL_DIST
    try:
        return open_session(site)
    except Exception:  # the outermost function: an unexpected error must not become a blank page
        log.exception("a page could not be built")
        sentence = Board(
            "<h2>This view could not be opened</h2><p>The server's log says why. "
            '<a href="./">Open Topiary without the rest of the link</a></p>'
        )
        return pmui.Page(main=[sentence])  # type: ignore[attr-defined]


def _show_error(error: Exception) -> None:
    """Log the error of a callback, and show a message to the visitor."""
    log.error("a callback failed", exc_info=error)
    if pn.state.notifications is not None:
        pn.state.notifications.error("Something went wrong; the server's log has the details.", duration=9000)


def _handle_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore errors from sending to a browser that was just closed; report all others as usual."""
    if not isinstance(context.get("exception"), WebSocketClosedError):
        loop.default_exception_handler(context)


def _limit_memory() -> None:
    """Make the C library of Linux return the memory of large messages to the system, instead of caching it."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library without mallopt
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGEST_BODY)


def _format_address(address: str) -> str:
    if address in EVERYWHERE:
        return "[::1]" if address == "::" else "127.0.0.1"  # for "::" Tornado listens at IPv6 addresses only
    return f"[{address}]" if ":" in address else address


def _make_first_query(fields: dict[str, Any]) -> str:
    return f"?{to_query(View(**fields))}" if fields else ""


MOST = 20  # entries of one logging call within SPAN
SPAN = 60.0  # seconds
LONGEST = 4000  # characters of one entry, including its traceback


class RateFilter(logging.Filter):
    """A filter that limits the entries of each logging call, and counts those left out.

    Parameters
    ----------
    clock : () -> float
        Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._spans: dict[
            tuple[str, int], tuple[float, int]
        ] = {}  # start of the span and number of entries, by line of code

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write an entry."""
        now, place = self._clock(), (record.pathname, record.lineno)
        start, count = self._spans.get(place, (now, 0))
        if now - start >= SPAN:
            if count > MOST:
                record.msg, record.args = f"{record.getMessage()} ({count - MOST:,} like it were left out)", None
            start, count = now, 0
        self._spans[place] = start, count + 1
        return count < MOST


class ShortFormatter(logging.Formatter):
    """A formatter that shortens long entries and replaces control characters.

    Parameters
    ----------
    inner : logging.Formatter or None
        The formatter of the whole entries; None for the default.
    """

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__(logging.BASIC_FORMAT)
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return an entry as text."""
        text = super().format(record) if self._inner is None else self._inner.format(record)
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]}\n...\n{text[-LONGEST // 2 :]}"
        return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)


def limit_log() -> None:
    """Limit the entries of all handlers, including those that Bokeh and Panel add to their own loggers."""
    root = logging.getLogger()
    if not root.handlers:
        logging.basicConfig()
    named = [item for item in logging.Logger.manager.loggerDict.values() if isinstance(item, logging.Logger)]
    rate_filter = RateFilter()
    for handler in dict.fromkeys(handler for logger in (root, *named) for handler in logger.handlers):
        handler.addFilter(rate_filter)
        handler.setFormatter(ShortFormatter(handler.formatter))
