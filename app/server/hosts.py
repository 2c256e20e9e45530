"""The host names that a server answers to, and the security headers of its answers.

A page of a foreign site may let its own name lead to this machine (DNS rebinding); to the browser server and page then
are of one origin.  Only the name it asks for, in the header ``Host``, tells such a request from our own.
"""

import ipaddress
import re
import secrets
from collections.abc import Iterable
from typing import NamedTuple

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import OutputTransform, RequestHandler

from app.server.ports import ServeError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:\[\]/@,?#\\]+))(?::([0-9]{1,5}))?")


class HostName(NamedTuple):
    """The name of a host in lower case, and its port if one is given."""

    name: str
    port: int | None = None


class Hosts:
    """The hosts of a server.

    Parameters
    ----------
    address : str
        Where it listens; where that is every address of the machine, any numeric address is a host.
    names : iterable of str
        Further names that people reach it by; with a port, as in ``papers.example:8443``, where a proxy has another
        than those that browsers leave out.

    Raises
    ------
    ServeError
        When one of the names is not the name of a host.
    """

    def __init__(self, address: str, names: Iterable[str] = ()) -> None:
        self._pages = {_read_name(name) for name in names}
        self._known = {*LOOPBACK, *(page.name for page in self._pages), _shorten(address.lower())}
        self._any_number = address in EVERYWHERE

    def allows(self, host: str) -> bool:
        """Return whether a request may ask for a host, as in a header: ``localhost:5006``, ``[::1]``."""
        place = read_host(host)
        return place is not None and (place.name in self._known or (self._any_number and _is_number(place.name)))

    def is_own_page(self, origin: str, host: str) -> bool:
        """Return whether a page of an origin is one of ours: the host and port asked for, or an allowed name.

        A name that was allowed without a port is that of a proxy at the port that browsers leave out.
        """
        scheme, _, page = origin.lower().partition("://")
        place = read_host(page) if scheme in ("http", "https") and page == page.strip() else None
        return place is not None and (place == read_host(host) or place in self._pages)

    def is_own_request(self, request: HTTPServerRequest) -> bool:
        """Return whether a request comes from one of our pages, or from a program, which sends no origin."""
        origin = request.headers.get("Origin")
        return origin is None or self.is_own_page(origin, request.headers.get("Host", ""))


class ForeignRequest(Matcher):
    """A match of every request that asks for a foreign host, or comes from the page of another one.

    Parameters
    ----------
    hosts : Hosts
    """

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for our own requests, which other handlers then take."""
        if not self._hosts.allows(request.headers.get("Host", "")):
            return {}
        return {} if _is_websocket(request) and not self._hosts.is_own_request(request) else None


class HostRefusal(RequestHandler):
    """The answer 403 with one sentence to every foreign request.

    Parameters
    ----------
    hosts : Hosts
    """

    def initialize(self, hosts: Hosts) -> None:
        """Keep the hosts."""
        self._hosts = hosts

    def prepare(self) -> None:
        """Answer every method and path."""
        host, origin = (self.request.headers.get(name, "") for name in ("Host", "Origin"))
        foreign = f"pages of {origin!r}" if self._hosts.allows(host) else f"the host {host!r}"
        sentence = f"This server does not answer to {foreign}; start it with --allow-host NAME if that is its name."
        send_sentence(self, 403, sentence)


def send_sentence(answer: RequestHandler, status: int, sentence: str) -> None:
    """Answer a request with a status and one sentence of plain text."""
    answer.set_status(status)
    answer.set_header("Content-Type", "text/plain; charset=utf-8")
    answer.finish(f"{sentence}\n")


def read_host(host: str) -> HostName | None:
    """Read a host as in a header, with or without a port; return None unless the whole text is one."""
    found = _HOST.fullmatch(host.strip().lower())
    if found is None or (found[1] and not _is_number(found[1])):
        return None
    return HostName(_shorten(found[1] or found[2]), int(found[3]) if found[3] else None)


def _read_name(text: str) -> HostName:
    """Read a value of ``--allow-host``; an IPv6 address may come without brackets."""
    bare = text.strip().lower()
    place = HostName(_shorten(bare)) if _is_number(bare) else read_host(bare)
    if place is None:
        raise ServeError(
            f"--allow-host takes a name as in an address, such as papers.example or papers.example:8443, not {text!r}"
        )
    return place


def _shorten(name: str) -> str:
    """Return an IPv6 address in its shortest form, and any other name unchanged."""
    return str(ipaddress.ip_address(name)) if _is_number(name) else name


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_websocket(request: HTTPServerRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


POLICY = "Content-Security-Policy"
SAFE_HEADERS = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
SEALED = "frame-ancestors 'none'; base-uri 'none'"
BARE = f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; {SEALED}"  # of files, errors and forms
# A page may load scripts, styles, fonts and pictures from this server only.  An inline script runs only with the nonce
# of its answer, which injected HTML cannot know.  ``unsafe-eval`` is needed by BokehJS, which compiles the texts of
# CustomJS, CustomJSTicker and CustomJSTickFormatter with ``new Function``: the axes of the curves, the change between
# light and dark, and the note about a lost connection.  ``unsafe-inline`` is allowed for styles only, because BokehJS
# and Material add style elements and attributes at run time.
_PAGE = (
    "default-src 'none'",
    "script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "object-src 'none'",
    SEALED,
)


class SafeHeaders(OutputTransform):
    """The security headers of every answer, including errors, redirects and refused websockets."""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002, FBT001 - as its parent has it
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the headers, and remove the one that names the server and its version."""
        for name, value in SAFE_HEADERS.items():
            headers[name] = value
        headers.setdefault(POLICY, BARE)
        headers.pop("Server", None)
        return status_code, headers, chunk


def make_nonce() -> str:
    """Return a random nonce for the inline scripts of one answer."""
    return secrets.token_urlsafe(18)


def make_policy(nonce: str) -> str:
    """Return the policy of a page whose inline scripts carry a nonce."""
    return "; ".join(_PAGE).format(nonce=nonce)
