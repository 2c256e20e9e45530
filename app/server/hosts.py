"""Where a server is reached: the host names it answers to, its port, proxies before it, and headers of answers.

A foreign site can make its own host name resolve to this machine (DNS rebinding); for the browser, its page and this
server then have the same origin.  Only the header ``Host`` distinguishes such requests from legitimate ones.
"""

import ipaddress
import re
import secrets
import socket
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, HTTPServerRequest, split_host_and_port
from tornado.routing import Matcher, Router
from tornado.web import OutputTransform, RequestHandler

from topiary.app.machine import LOOPBACK

EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound
_HOST_PATTERN = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:\[\]/@,?#\\]+))(?::([0-9]{1,5}))?")


class HostName(NamedTuple):
    """The name of a host in lower case, and its port (None if not given)."""

    name: str
    port: int | None = None


class Hosts:
    """The host names to which a server answers.

    Parameters
    ----------
    address : str
        Address at which the server listens; if that is every address of the machine, any IP address is allowed.
    names : iterable of str
        Further names by which browsers reach it; with a port, as in ``papers.example:8443``, if a proxy listens at a
        port that is not the default of HTTP or HTTPS.

    Raises
    ------
    ServeError
        When one of the names is not a host name.
    """

    def __init__(self, address: str, names: Iterable[str] = ()) -> None:
        self._pages = {_read_name(name) for name in names}
        self._names = {*LOOPBACK, *(page.name for page in self._pages), _shorten(address.lower())}
        self._allows_any_address = address in EVERYWHERE

    def allows(self, host: str) -> bool:
        """Return whether a request may name a host, written as in the header: ``localhost:5006``, ``[::1]``."""
        host_name = read_host(host)
        return host_name is not None and (
            host_name.name in self._names or (self._allows_any_address and _is_ip_address(host_name.name))
        )

    def is_own_page(self, origin: str, host: str) -> bool:
        """Return whether an origin is this server: the host and port of the request, or an allowed name.

        A name that was allowed without a port belongs to a proxy at the default port, which browsers leave out.
        """
        scheme, _, page = origin.lower().partition("://")
        page_host = read_host(page) if scheme in ("http", "https") and page == page.strip() else None
        return page_host is not None and (page_host == read_host(host) or page_host in self._pages)

    def is_own_request(self, request: HTTPServerRequest) -> bool:
        """Return whether a request comes from a page of this server, or from a program, which sends no origin."""
        origin = request.headers.get("Origin")
        return origin is None or self.is_own_page(origin, request.headers.get("Host", ""))


class ForeignRequest(Matcher):
    """A match of requests that name a foreign host, and of websockets opened by pages of another site."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Return None for legitimate requests, which other handlers answer."""
        if not self._hosts.allows(request.headers.get("Host", "")):
            return {}
        return {} if _is_websocket(request) and not self._hosts.is_own_request(request) else None


class HostRefusal(RequestHandler):
    """A handler that answers every foreign request with 403 and one sentence."""

    def initialize(self, hosts: Hosts) -> None:
        """Store the hosts."""
        self._hosts = hosts

    def prepare(self) -> None:
        """Answer every method and path."""
        host, origin = (self.request.headers.get(name, "") for name in ("Host", "Origin"))
        refused = f"pages of {origin!r}" if self._hosts.allows(host) else f"the host {host!r}"
        sentence = f"This server does not answer to {refused}; start it with --allow-host NAME if that is its name."
        send_sentence(self, 403, sentence)


def send_sentence(answer: RequestHandler, status: int, sentence: str) -> None:
    """Answer a request with a status and one sentence of plain text."""
    answer.set_status(status)
    answer.set_header("Content-Type", "text/plain; charset=utf-8")
    answer.finish(f"{sentence}\n")


def read_host(host: str) -> HostName | None:
    """Return a host written as in a header, with or without a port; None unless the whole text is valid."""
    match = _HOST_PATTERN.fullmatch(host.strip().lower())
    if match is None or (match[1] and not _is_ip_address(match[1])):
        return None
    return HostName(_shorten(match[1] or match[2]), int(match[3]) if match[3] else None)


def _read_name(text: str) -> HostName:
    """Return the host in a value of ``--allow-host``; an IPv6 address may lack its brackets."""
    bare = text.strip().lower()
    host_name = HostName(_shorten(bare)) if _is_ip_address(bare) else read_host(bare)
    if host_name is None:
        raise ServeError(
            f"--allow-host takes a name as in an address, such as papers.example or papers.example:8443, not {text!r}"
        )
    return host_name


def _shorten(name: str) -> str:
    """Return an IPv6 address in its shortest form, and any other name unchanged."""
    return str(ipaddress.ip_address(name)) if _is_ip_address(name) else name


def _is_ip_address(name: str) -> bool:
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
BARE = f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; {SEALED}"  # for files, errors and forms
# A page may load scripts, styles, fonts and pictures from this server only.  Inline scripts run only with the nonce of
# their answer, which injected HTML cannot know.  BokehJS needs ``unsafe-eval`` because it compiles the code of
# CustomJS, CustomJSTicker and CustomJSTickFormatter with ``new Function``, for the axes of curves, the switch between
# light and dark, and the note about a lost connection.  ``unsafe-inline`` is allowed for styles only, because BokehJS
# and Material add style elements and attributes at run time.
_PAGE_POLICY = (
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
    """A transform that adds security headers to every answer, including errors, redirects and refused websockets."""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002, FBT001 - the parent's signature
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the security headers, and remove the header that names the server software and its version."""
        for name, value in SAFE_HEADERS.items():
            headers[name] = value
        headers.setdefault(POLICY, BARE)
        headers.pop("Server", None)
        return status_code, headers, chunk


def make_nonce() -> str:
    """Return a random nonce for the inline scripts of one answer."""
    return secrets.token_urlsafe(18)


def make_policy(nonce: str) -> str:
    """Return the content security policy of a page whose inline scripts carry a nonce."""
    return "; ".join(_PAGE_POLICY).format(nonce=nonce)


IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
_LOCAL = ("127.0.0.0/8", "::1/128")


class Proxies:
    """The trusted proxies.

    Parameters
    ----------
    addresses : iterable of str
        Addresses or networks, such as ``127.0.0.1`` or ``10.0.0.0/8``, or ``localhost``.

    Raises
    ------
    ServeError
        When one of them is not an address or network.
    """

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._networks = [network for text in addresses for network in _read_networks(text)]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: IPAddress) -> bool:
        """Return whether an address belongs to a trusted proxy."""
        return any(address in network for network in self._networks if network.version == address.version)

    def apply(self, request: HTTPServerRequest) -> None:
        """Set the address, protocol and host of a request from the headers, if a trusted proxy sent it."""
        peer = read_address(request.remote_ip or "")
        if peer is None:
            return
        request.remote_ip = str(peer)
        if not self.trusts(peer):
            return
        request.remote_ip = str(self._find_browser(peer, _read_list(request, "X-Forwarded-For")))
        protocol, host = (_read_list(request, f"X-Forwarded-{name}")[-1:] for name in ("Proto", "Host"))
        if protocol in (["http"], ["https"]):
            request.protocol = protocol[0]
        if host:
            request.headers["Host"] = request.host = host[0]
            request.host_name = split_host_and_port(host[0].lower())[0]

    def _find_browser(self, browser: IPAddress, forwarded: list[str]) -> IPAddress:
        """Return the last address on the way that is not a trusted proxy; addresses before it may be forged."""
        for text in reversed(forwarded):
            address = read_address(text)
            if address is None:
                break
            browser = address
            if not self.trusts(address):
                break
        return browser


class ProxyRouter(Router):
    """A router that first applies the headers of trusted proxies to a request.

    Parameters
    ----------
    inner : Router
        The router that finds the handlers.
    """

    def __init__(self, inner: Router, proxies: Proxies) -> None:
        self._inner, self._proxies = inner, proxies

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> HTTPMessageDelegate | None:
        """Find the handler of a request as the browser sent it to the proxy."""
        self._proxies.apply(request)
        return self._inner.find_handler(request, **kwargs)


def read_address(text: str) -> IPAddress | None:
    """Return an IP address written with or without a port, IPv4-mapped ones as IPv4; None for other texts."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _read_networks(text: str) -> list[IPNetwork]:
    try:
        return [
            ipaddress.ip_network(network, strict=False)
            for network in (_LOCAL if text == "localhost" else (text.strip(),))
        ]
    except ValueError:
        raise ServeError(
            f"--behind-proxy takes the address or network of a proxy, such as 127.0.0.1 or 10.0.0.0/8; got {text!r}"
        ) from None


def _read_list(request: HTTPServerRequest, name: str) -> list[str]:
    """Return the comma-separated values of a header; the nearest proxy adds the last one."""
    return [value for item in request.headers.get(name, "").split(",") if (value := item.strip())]


USUAL_PORT = 5006
TRIED_PORTS = 20  # from USUAL_PORT on, if no port is given
LAST_PORT = 65_535


class ServeError(Exception):
    """An error: the server cannot start; its message is one sentence for the user."""


def choose_port(address: str, port: int | None) -> int:
    """Return the port to listen on: ``port`` itself, any free port for 0, the first free one from 5006 for None.

    Raises
    ------
    ServeError
        When the port is taken, or there is no such port or address.
    """
    if port is not None and not 0 <= port <= LAST_PORT:
        raise ServeError(f"a port is a number from 0 to {LAST_PORT}; got {port}")
    free = _find_free(address)
    if port == 0:
        return free
    if port is not None:
        if not _is_free(address, port):
            raise ServeError(
                f"port {port} of {address} is taken; choose another with --port, or --port 0 for any free one"
            )
        return port
    for candidate in range(USUAL_PORT, USUAL_PORT + TRIED_PORTS):
        if _is_free(address, candidate):
            return candidate
    raise ServeError(
        f"ports {USUAL_PORT} to {USUAL_PORT + TRIED_PORTS - 1} of {address} are all taken; choose one with --port"
    )


def _find_free(address: str) -> int:
    with _open_probe(address) as probe:
        try:
            probe.bind((address, 0))
        except (OSError, UnicodeError):
            raise ServeError(
                f"this machine cannot listen at the address {address!r}; choose another with --address, or leave it out"
            ) from None
        return int(probe.getsockname()[1])


def _is_free(address: str, port: int) -> bool:
    with _open_probe(address) as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _open_probe(address: str) -> socket.socket:
    probe = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":  # on Windows this option would let two servers share a port
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return probe
