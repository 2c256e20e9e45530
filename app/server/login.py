"""The pages for logging in and out, and the rule that redirects to them."""

import logging
from collections.abc import Awaitable
from math import ceil
from typing import NamedTuple
from urllib.parse import parse_qs, quote

from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.routing import Matcher
from tornado.web import HTTPError, RequestHandler, stream_request_body

from topiary.app.jobs import logs
from topiary.app.live.actions import Visitor
from topiary.app.server.access import DAYS, Authentication
from topiary.app.server.guarded_files import UnreadRequest
from topiary.app.server.hosts import Hosts, send_sentence
from topiary.app.views.html import render

# Paths relative to the page, which a proxy may serve anywhere.
LOGIN = "login"
LOGOUT = "logout"
ENDED = "ended"  # js/lost.js opens it in tabs whose login has ended
_LARGEST_FORM = 10_000  # bytes of the form

log = logging.getLogger("topiary.access")


class LoginContext(NamedTuple):
    """The objects that the pages for logging in and out share.

    Attributes
    ----------
    place : str
        The store, for the audit log.
    prefix : str
        The path with which the server's URLs begin in browsers; empty if there is none.
    """

    authentication: Authentication
    hosts: Hosts
    place: str
    prefix: str = ""


class WithoutLogin(Matcher):
    """A match of every request without a login."""

    def __init__(self, authentication: Authentication) -> None:
        self._authentication = authentication

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for requests with a login, which other handlers answer."""
        return None if self._authentication.role_in(request) else {}


class LoginRedirect(UnreadRequest):
    """A handler that redirects browsers to the login, and answers 401 to other requests before reading the body."""

    def prepare(self) -> None:
        """Answer every method and path."""
        wants_page = self.request.method in ("GET", "HEAD") and self.request.path == f"{self._prefix}/"
        if wants_page and self.request.headers.get("Upgrade", "").lower() != "websocket":
            self.redirect(f"{LOGIN}?next={quote(self.request.query, safe='')}" if self.request.query else LOGIN)
            return
        send_sentence(self, 401, "Log in first: open this server's page in a browser and give the password.")


class _LoginHandler(RequestHandler):
    """A page for logging in or out."""

    def initialize(self, context: LoginContext) -> None:
        """Keep the context."""
        self._context = context
        self._authentication = context.authentication

    def check_origin(self) -> None:
        """Refuse a form that another site sends."""
        if not self._context.hosts.is_own_request(self.request):
            raise HTTPError(403, reason="This form comes from another site")

    def record(self, what: str, who: Visitor | str) -> None:
        """Record an event of a login in the audit log."""
        logs.record_action(self._context.place, what, str(who))


@stream_request_body
class LoginForm(_LoginHandler):
    """The handler of the form that asks for a password."""

    def initialize(self, context: LoginContext) -> None:
        """Keep the context."""
        super().initialize(context)
        self._body = b""

    def prepare(self) -> None:
        """Limit the body to the size of a password."""
        self.request.connection.set_max_body_size(_LARGEST_FORM)  # type: ignore[union-attr]

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Collect a part of the body."""
        self._body += chunk
        if len(self._body) > _LARGEST_FORM:
            raise HTTPError(413)
        return None

    def get(self) -> None:
        """Show the form."""
        self._show_form("")

    def post(self) -> None:
        """Open a login for a correct password; after too many wrong ones, say how long to wait."""
        self.check_origin()
        address = self.request.remote_ip or ""
        wait = self._authentication.attempts.wait(address)
        if wait > 0:
            self.set_status(429)
            self.set_header("Retry-After", str(ceil(wait)))
            self._show_form(f"Too many wrong passwords; wait {_format_span(wait)} and try again.")
            return
        typed = parse_qs(self._body.decode("utf-8", "replace"), max_num_fields=10).get("password", [""])[0]
        login = self._authentication.log_in(typed)
        if login is None:
            self._authentication.attempts.count_failure(address)
            log.warning("a wrong password from %s", address)
            self.record("gave a wrong password", f"a browser at {address}")
            self.set_status(403)
            self._show_form("That is not a password of this server.")
            return
        self._authentication.attempts.clear_failures(address)
        self._authentication.log_out(self._authentication.find_cookie(self.request))  # the login of the old cookie
        IOLoop.current().call_later(DAYS * 24 * 3600, self._authentication.forget, login[1])
        self._set_cookie(login[1])
        self.record("logged in", self._authentication.find_visitor(login[1], address))
        self.redirect(_make_target(self.get_query_argument("next", "")), status=303)

    def _set_cookie(self, cookie: str) -> None:
        """Set the cookie of a login; it is restricted to HTTPS if the proxy or the browser's origin says HTTPS."""
        origin = self.request.headers.get("Origin", "")
        secure = self.request.protocol == "https" or origin.startswith("https:")
        path = f"{self._context.prefix}/"
        self.set_cookie(self._authentication.cookie, cookie, path=path, httponly=True, samesite="Lax", secure=secure)

    def _show_form(self, sentence: str) -> None:
        _forbid_caching(self)
        query = self.get_query_argument("next", "")
        action = f"{LOGIN}?next={quote(query, safe='')}" if query else LOGIN
        self.finish(render("login.login", action, sentence, self._authentication.has_viewers))


class LogoutForm(_LoginHandler):
    """The handler that ends the login of this browser, by POST so that a link on another site cannot do it.

    The browser keeps the cookie, which is no longer accepted, so that the other tabs can show why they ended.
    """

    def get(self) -> None:
        """Show a form that asks for confirmation."""
        _forbid_caching(self)
        self.finish(render("login.logout", LOGOUT, self._authentication.role_in(self.request) == "analyst"))

    def post(self) -> None:
        """End the login, or all logins if an analyst asks for it, and redirect to the form."""
        self.check_origin()
        cookie = self._authentication.find_cookie(self.request)
        role = self._authentication.role_of(cookie)
        everywhere = role == "analyst" and bool(self.get_body_argument("everywhere", ""))
        if role is not None:
            visitor = self._authentication.find_visitor(cookie, self.request.remote_ip or "")
            self.record("logged out everybody" if everywhere else "logged out", visitor)
        end = self._authentication.log_out_everywhere if everywhere else self._authentication.log_out
        end(cookie)
        self.redirect(LOGIN, status=303)


class EndedLogin(_LoginHandler):
    """The page that says that a login has ended, and links back to the view that was open."""

    def get(self) -> None:
        """Show one sentence, or redirect if there is a new login."""
        back = _make_target(self.get_query_argument("next", ""))
        if self._authentication.role_in(self.request):
            self.redirect(back)
            return
        _forbid_caching(self)
        why = self._authentication.explain_end(self._authentication.find_cookie(self.request))
        self.finish(render("login.ended", why, back))


def _forbid_caching(answer: RequestHandler) -> None:
    answer.set_header("Cache-Control", "no-store")


def _make_target(query: str) -> str:
    """Return the URL to open after the login, which is always a view of this server."""
    return f"./?{query}" if query and query.isprintable() else "./"


def _format_span(seconds: float) -> str:
    return f"{ceil(seconds)} seconds" if seconds < 90 else f"{ceil(seconds / 60)} minutes"
