"""Requests that come through a trusted proxy, restored to what the browser sent.

Behind a proxy the server sees the proxy's address and protocol, and often another host.  The proxy passes the
browser's on in the headers ``X-Forwarded-For``, ``X-Forwarded-Proto`` and ``X-Forwarded-Host``.  Anybody can send
these headers, so they count only when they come from an address that was named with ``--behind-proxy``.
"""

import ipaddress
from collections.abc import Iterable
from typing import Any

from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest, split_host_and_port
from tornado.routing import Router

from app.server.ports import ServeError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
_LOCAL = ("127.0.0.0/8", "::1/128")


class Proxies:
    """The proxies that are trusted.

    Parameters
    ----------
    addresses : iterable of str
        Addresses or networks, as in ``127.0.0.1`` and ``10.0.0.0/8``, or ``localhost``.

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
        """Return whether an address is that of one of the proxies."""
        return any(address in network for network in self._networks if network.version == address.version)

    def apply(self, request: HTTPServerRequest) -> None:
        """Set address, protocol and host of a request from the headers of a trusted proxy."""
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

    def _find_browser(self, peer: IPAddress, stations: list[str]) -> IPAddress:
        """Return the last station that is not a trusted proxy; everything before it may be forged."""
        for text in reversed(stations):
            station = read_address(text)
            if station is None:
                break
            peer = station
            if not self.trusts(station):
                break
        return peer


class ProxyRouter(Router):
    """A router that applies the headers of trusted proxies to every request.

    Parameters
    ----------
    inner : Router
        Finds the handlers.
    proxies : Proxies
    """

    def __init__(self, inner: Router, proxies: Proxies) -> None:
        self._inner, self._proxies = inner, proxies

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> HTTPMessageDelegate | None:
        """Find the handler of a request as the browser sent it to the proxy."""
        self._proxies.apply(request)
        return self._inner.find_handler(request, **kwargs)


def read_address(text: str) -> IPAddress | None:
    """Read an IP address with or without a port; an IPv4-mapped IPv6 address becomes the IPv4 address."""
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
            ipaddress.ip_network(each, strict=False) for each in (_LOCAL if text == "localhost" else (text.strip(),))
        ]
    except ValueError:
        raise ServeError(
            f"--behind-proxy takes the address or network of a proxy, such as 127.0.0.1 or 10.0.0.0/8; got {text!r}"
        ) from None


def _read_list(request: HTTPServerRequest, name: str) -> list[str]:
    """Return the comma-separated values of a header, the nearest proxy's last."""
    return [value for each in request.headers.get(name, "").split(",") if (value := each.strip())]
