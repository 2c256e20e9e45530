"""Trusted proxies: restore the address, protocol and host that the browser used.

Behind a proxy, the server sees the proxy's address and protocol, and often another host.  The proxy passes on the
browser's in the headers ``X-Forwarded-For``, ``X-Forwarded-Proto`` and ``X-Forwarded-Host``.  Any client can send these
headers, so they are trusted only if they come from an address given with ``--behind-proxy``.
"""

import ipaddress
from collections.abc import Iterable
from typing import Any

from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest, split_host_and_port
from tornado.routing import Router

from topiary.app.server.ports import ServeError

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
    proxies : Proxies
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
