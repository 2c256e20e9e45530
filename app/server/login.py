"""The page that asks for the password, and the rule that leads everybody there who has not given it."""

import logging
from collections.abc import Awaitable
from math import ceil
from urllib.parse import parse_qs, quote, urlsplit

from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import HTTPError, RequestHandler, stream_request_body

from app.server.access import Authentication
from app.server.guarded_files import Unread
from app.views.login import login_page

LOGIN = "/login"
LOGOUT = "/logout"
_MOST = 10_000  # bytes of the form

log = logging.getLogger("topiary.access")


class Unadmitted(Matcher):
    """Matches every request of somebody who has not given a password.

    Parameters
    ----------
    authentication : Authentication
    """

    def __init__(self, authentication: Authentication) -> None:
        self._authentication = authentication

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Nothing for those who are in, whom other handlers then serve."""
        return None if self._authentication.role_in(request) else {}


class ToLogin(Unread):
    """Leads a browser that wants a page to the login; everything else is 401, before a byte of its body is read."""

    def prepare(self) -> None:
        """Answer before a method or a path counts."""
        wants_page = self.request.method in ("GET", "HEAD") and self.request.path == "/"
        if wants_page and self.request.headers.get("Upgrade", "").lower() != "websocket":
            self.redirect(f"{LOGIN}?next={quote(self.request.query, safe='')}" if self.request.query else LOGIN)
            return
        self.set_status(401)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("Log in first: open this server's page in a browser and give the password.\n")


@stream_request_body
class Login(RequestHandler):
    """Shows the form and looks at what comes back.

    Parameters
    ----------
    authentication : Authentication
    """

    def initialize(self, authentication: Authentication) -> None:
        """Remember whom to ask."""
        self._authentication = authentication
        self._body = b""

    def prepare(self) -> None:
        """Read no more than a password can be."""
        self.request.connection.set_max_body_size(_MOST)  # type: ignore[union-attr]

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Keep the little there is."""
        self._body += chunk
        if len(self._body) > _MOST:
            raise HTTPError(413)
        return None

    def get(self) -> None:
        """Show the form."""
        self._show("")

    def post(self) -> None:
        """Let in whoever has a password; say how long to wait after too many wrong ones."""
        origin = self.request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != self.request.headers.get("Host", "").lower():
            raise HTTPError(403, reason="This form comes from another site")
        address = self.request.remote_ip or ""
        wait = self._authentication.attempts.wait(address)
        if wait > 0:
            self.set_status(429)
            self.set_header("Retry-After", str(ceil(wait)))
            self._show(f"Too many wrong passwords; wait {_span(wait)} and try again.")
            return
        typed = parse_qs(self._body.decode("utf-8", "replace"), max_num_fields=10).get("password", [""])[0]
        opened = self._authentication.log_in(typed)
        if opened is None:
            self._authentication.attempts.failed(address)
            log.warning("a wrong password from %s", address)
            self.set_status(403)
            self._show("That is not a password of this server.")
            return
        self._authentication.attempts.passed(address)
        secure = self.request.protocol == "https"
        self.set_cookie(self._authentication.cookie, opened[1], httponly=True, samesite="Lax", secure=secure)
        self.redirect(_after(self.get_query_argument("next", "")), status=303)

    def _show(self, sentence: str) -> None:
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
        self.set_header("X-Frame-Options", "DENY")
        query = self.get_query_argument("next", "")
        action = f"{LOGIN}?next={quote(query, safe='')}" if query else LOGIN
        self.finish(login_page(action, sentence, viewers=self._authentication.has_viewers))


class Logout(RequestHandler):
    """Forgets the login of this browser.

    Parameters
    ----------
    authentication : Authentication
    """

    def initialize(self, authentication: Authentication) -> None:
        """Remember the name of the cookie."""
        self._authentication = authentication

    def get(self) -> None:
        """Back to the form."""
        self.clear_cookie(self._authentication.cookie)
        self.redirect(LOGIN)


def _after(query: str) -> str:
    """Where to go after the login: a view of this server, whatever is asked for."""
    return f"/?{query}" if query and query.isprintable() else "/"


def _span(seconds: float) -> str:
    return f"{ceil(seconds)} seconds" if seconds < 90 else f"{ceil(seconds / 60)} minutes"
