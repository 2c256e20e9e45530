"""The web server: one process, one port, nothing fetched from anywhere else."""

import asyncio
import errno
import logging
import os
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# Both are read when Bokeh and Panel are imported: scripts and styles come from this server only.
os.environ["BOKEH_RESOURCES"] = "server"
os.environ["PANEL_CDN_ROOT"] = "/cdn/"

import panel as pn
import panel_material_ui  # noqa: F401 - registers its bundle before the first page
from tornado.routing import PathMatches, Rule
from tornado.web import RedirectHandler
from tornado.websocket import WebSocketClosedError

from app.jobs.uploads import ADDRESS, LARGEST_UPLOAD, Uploads
from app.live.actions import Actions
from app.live.feed import Feed
from app.pages.session import View, to_query
from app.paths import asset
from app.server.access import Authentication, Passwords, check_open_address
from app.server.guarded_files import COMPONENTS, Components, Malformed, Nowhere, UnreadableQuery, WithoutQuery
from app.server.hosts import LOOPBACK, ForeignRequest, Hosts, Refusal
from app.server.login import ENDED, LOGIN, LOGOUT, Ended, Login, Logout, ToLogin, Unadmitted
from app.server.message_order import leave_nothing
from app.server.ports import choose_port
from app.server.upload_handler import Receiver
from app.server.visit import Site, visit
from store.database import open_database

log = logging.getLogger("topiary.serve")


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
        What visitors come in with; needed for every address that others reach.
    insecure : bool
        Let whoever reaches such an address in without one.
    largest_upload : int
        Bytes of all files together that become one corpus.

    Raises
    ------
    ServeError
        When the port is taken, or others could come in without a password.
    """
    check_open_address(address, passwords, insecure=insecure)
    open_database(store_url).close()  # creates the store, or says what is wrong with it
    choose_port(address, port)
    db = open_database(store_url, readonly=True)
    feed = Feed(db)
    actions = Actions(store_url or db.url, feed, Uploads(largest_upload))
    feed.after_look = actions.keep_house
    feed.classes.keep = actions.keep_predictions
    site = Site(db, feed, actions, dict(first_view or {}), Authentication(passwords))
    server = _bound(site, address, port, Hosts(address, allowed_hosts))
    server.io_loop.asyncio_loop.set_exception_handler(_overlook_leaving)
    url = f"http://{_shown(address)}:{server.port}/"
    feed.start()
    feed.ready.wait(timeout=5)
    try:
        on_ready(url)
        if open_browser:
            webbrowser.open(url + _first_query(site.first_view))
        server.run_until_shutdown()
    finally:
        feed.stop()
        actions.close()
        db.close()


def _bound(site: Site, address: str, port: int | None, hosts: Hosts) -> Any:
    """A server on the port asked for, or on the next free one: a free port may be taken before it is bound."""
    while True:
        chosen = choose_port(address, port)
        try:
            return _server(site, address, chosen, hosts)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def _server(site: Site, address: str, port: int, hosts: Hosts) -> Any:
    leave_nothing()
    pn.extension(notifications=True)
    pn.config.exception_handler = _show_error
    dist = Path(pn.__file__).parent / "dist"
    server = pn.serve(
        {"/": lambda: _page(site)},
        port=port,
        address=address,
        start=False,
        show=False,
        verbose=False,
        title="Topiary",
        websocket_origin=hosts.origins(port),
        static_dirs={f"cdn/{pn.__version__}/dist": str(dist), "topiary": str(asset("icons").parent)},
        extra_patterns=[
            (
                rf"/{ADDRESS}/([\w-]+)",
                Receiver,
                {"uploads": site.actions.uploads, "authentication": site.authentication},
            ),
            # What is no page opens the nearest view, as in every other link; metadata is Bokeh's own.
            (r"/(?!metadata)([\w-]+)/?", RedirectHandler, {"url": "/?page={0}", "permanent": False}),
        ],
        compress_response=address not in LOOPBACK,  # on the way to this very machine it only costs time
        keep_alive_milliseconds=20000,
        unused_session_lifetime_milliseconds=15000,
    )
    rules = server._tornado.default_router.rules  # noqa: SLF001 - before every handler, Bokeh's own among them
    rules[:0] = [
        Rule(ForeignRequest(hosts), Refusal),
        Rule(Malformed(), Nowhere),
        Rule(UnreadableQuery(), WithoutQuery),
        *_login_rules(site.authentication),
        Rule(PathMatches(COMPONENTS), Components),
        Rule(PathMatches(r"/autoload\.js"), Nowhere),  # Bokeh's way into pages of other sites, which nobody is offered
    ]
    return server


def _login_rules(authentication: Authentication) -> list[Rule]:
    """The rules that ask for a password, where there is one."""
    if not authentication.guarded:
        return []
    return [
        Rule(PathMatches(LOGIN), Login, {"authentication": authentication}),
        Rule(PathMatches(LOGOUT), Logout, {"authentication": authentication}),
        Rule(PathMatches(ENDED), Ended, {"authentication": authentication}),
        Rule(Unadmitted(authentication), ToLogin),
    ]


def _page(site: Site) -> Any:
    """One visit; what goes wrong while it is built is shown instead of a blank page."""
    try:
        return visit(site)
    except Exception:  # the outermost function: an unexpected error must not become a blank page
        log.exception("a page could not be built")
        return pn.pane.HTML(
            "<h2>This view could not be opened</h2><p>The server's log says why. "
            '<a href="/">Open Topiary without the rest of the link</a></p>'
        )


def _show_error(error: Exception) -> None:
    """What a callback could not do: into the log, and a sentence for the visitor."""
    log.error("a callback failed", exc_info=error)
    if pn.state.notifications is not None:
        pn.state.notifications.error("Something went wrong; the server's log has the details.", duration=9000)


def _overlook_leaving(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say nothing of a message that was on its way when its browser was closed; report everything else as ever."""
    if not isinstance(context.get("exception"), WebSocketClosedError):
        loop.default_exception_handler(context)


def _shown(address: str) -> str:
    if address in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{address}]" if ":" in address else address


def _first_query(fields: dict[str, Any]) -> str:
    return f"?{to_query(View(**fields))}" if fields else ""
