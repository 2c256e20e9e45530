"""Which names a server answers to: whoever makes a browser believe that a foreign name is this machine gets nothing.

A page of a foreign site may let its own name lead to this machine (DNS rebinding); to the browser server and page then
are of one origin.  Only the name it asks for, in the header ``Host``, tells such a request from our own.
"""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import RequestHandler

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound


class Hosts:
    """The hosts of a server.

    Parameters
    ----------
    address : str
        Where it listens; where that is every address of the machine, any numeric address is a host.
    names : iterable of str
        Further names that people reach it by; with a port, as in ``papers.example:8443``, where a proxy has another
        than those that browsers leave out.
    """

    def __init__(self, address: str, names: Iterable[str] = ()) -> None:
        every = tuple(dict.fromkeys(name.strip().lower() for name in names))
        self._pages = {host_name(name): _port_in(name) for name in every}
        self._known = {*LOOPBACK, *self._pages, address.lower()}
        self._any_number = address in EVERYWHERE

    def allows(self, host: str) -> bool:
        """Whether a request may ask for a host, as in a header: ``localhost:5006``, ``[::1]``."""
        name = host_name(host)
        return name in self._known or (self._any_number and _is_number(name))

    def origins(self, port: int) -> list[str]:
        """Origins that may open a websocket, as Bokeh lists them; :meth:`is_own_page` is asked besides."""
        own = [f"*:{port}"] if self._any_number else [f"{name}:{port}" for name in sorted(self._known - {"::1"})]
        behind = [f"{name}:{said or 80}" for name, said in self._pages.items()]  # 80 is Bokeh's word for no port
        return [*own, *behind]

    def is_own_page(self, origin: str, host: str) -> bool:
        """Whether a page of an origin is one of ours, to a host asked for: the same host and port, or a name allowed.

        A name that was allowed without a port is that of a proxy at the port that browsers leave out.
        """
        page = urlsplit(origin.lower())
        if page.scheme not in ("http", "https") or origin.lower() != f"{page.scheme}://{page.netloc}":
            return False
        name = host_name(page.netloc)
        return page.netloc == host.lower() or (name in self._pages and _port_in(page.netloc) == self._pages[name])


class ForeignRequest(Matcher):
    """Matches every request that asks for a foreign host, or comes from the page of another one.

    Parameters
    ----------
    hosts : Hosts
    """

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        """Nothing for our own requests, which other handlers then take."""
        host = request.headers.get("Host", "")
        if not self._hosts.allows(host):
            return {}
        origin = request.headers.get("Origin")
        if origin is None or not _is_websocket(request):
            return None
        return None if self._hosts.is_own_page(origin, host) else {}


class Refusal(RequestHandler):
    """403 and one sentence, whatever is asked for and however."""

    def prepare(self) -> None:
        """Answer before a method or a path counts."""
        asked = self.request.headers.get("Host", "")
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(
            f"This server does not answer to the host {asked!r}; start it with --allow-host NAME if that is its name.\n"
        )


def host_name(host: str) -> str:
    """The name in a host with or without a port, in small letters; an address of IPv6 without its brackets."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port_in(host: str) -> int | None:
    """The port in a host, None where it has none."""
    port = host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
    return int(port) if port.isdecimal() else None


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_websocket(request: HTTPServerRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"
