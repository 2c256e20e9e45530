"""What a proxy in front of the server says about the browser behind it; only the addresses named are believed.

A proxy opens the connections itself, so that the server sees its address, its way of speaking and often its name for
the server instead of the browser's.  It passes those on in the headers ``X-Forwarded-For``, ``-Proto`` and ``-Host``,
which everybody can write: from any other address they mean nothing.
"""

import ipaddress
from collections.abc import Iterable
from typing import Any

from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest, split_host_and_port
from tornado.routing import Router

from app.server.ports import ServeError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_LOCAL = ("127.0.0.0/8", "::1/128")


class Proxies:
    """The proxies whose word counts.

    Parameters
    ----------
    addresses : iterable of str
        Addresses or networks, as in ``127.0.0.1`` and ``10.0.0.0/8``, or ``localhost``.

    Raises
    ------
    ServeError
        When one of them is none of these.
    """

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._networks = [network for text in addresses for network in _read_networks(text)]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: Address) -> bool:
        """Whether an address is that of one of the proxies."""
        return any(address in network for network in self._networks if network.version == address.version)

    def apply(self, request: HTTPServerRequest) -> None:
        """Put into a request what its proxy says; a request of anybody else stays as it is."""
        peer = read_address(request.remote_ip or "")
        if peer is None:
            return
        request.remote_ip = str(peer)
        if not self.trusts(peer):
            return
        request.remote_ip = str(self._find_browser(peer, _listed(request, "X-Forwarded-For")))
        protocol, host = (_listed(request, f"X-Forwarded-{name}")[-1:] for name in ("Proto", "Host"))
        if protocol in (["http"], ["https"]):
            request.protocol = protocol[0]
        if host:
            request.headers["Host"] = request.host = host[0]
            request.host_name = split_host_and_port(host[0].lower())[0]

    def _find_browser(self, peer: Address, stations: list[str]) -> Address:
        """Return the last station that is no proxy of ours: what stands before it may be made up."""
        for text in reversed(stations):
            station = read_address(text)
            if station is None:
                break
            peer = station
            if not self.trusts(station):
                break
        return peer


class Entrance(Router):
    """Where every request comes in, before anything is decided about it.

    Parameters
    ----------
    inner : Router
        Answers the requests.
    proxies : Proxies
    """

    def __init__(self, inner: Router, proxies: Proxies) -> None:
        self._inner, self._proxies = inner, proxies

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> HTTPMessageDelegate | None:
        """Find what answers a request, as the browser sent it to the proxy."""
        self._proxies.apply(request)
        return self._inner.find_handler(request, **kwargs)


def read_address(text: str) -> Address | None:
    """Read an address, with or without a port; one of IPv4 in the clothes of IPv6 is one of IPv4."""
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


def _read_networks(text: str) -> list[Network]:
    try:
        return [
            ipaddress.ip_network(each, strict=False) for each in (_LOCAL if text == "localhost" else (text.strip(),))
        ]
    except ValueError:
        raise ServeError(
            f"--behind-proxy takes the address or network of a proxy, such as 127.0.0.1 or 10.0.0.0/8; got {text!r}"
        ) from None


def _listed(request: HTTPServerRequest, name: str) -> list[str]:
    """Return the values of a header, those of several proxies in the order in which they were passed."""
    return [value for each in request.headers.get(name, "").split(",") if (value := each.strip())]
