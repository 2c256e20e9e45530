"""What a proxy says of the browser behind it counts, and what anybody else says does not."""

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from topiary.app.server.ports import ServeError
from topiary.app.server.proxies import Proxies, read_address


def asked(peer, proxies, **said):
    """Address, protocol and host of a request, as they are after the proxies had their say."""
    headers = HTTPHeaders({"Host": "127.0.0.1:5006"})
    for name, value in said.items():
        for each in value if isinstance(value, list) else [value]:
            headers.add(f"X-Forwarded-{name}", each)
    request = HTTPServerRequest(start_line=RequestStartLine("GET", "/", "HTTP/1.0"), headers=headers)
    request.remote_ip = peer
    Proxies(proxies).apply(request)
    assert request.host == request.headers["Host"]
    return request.remote_ip, request.protocol, request.host


def test_the_word_of_a_named_address_counts_and_that_of_others_does_not():
    said = {"For": "192.0.2.7", "Proto": "https", "Host": "papers.example"}
    believed = ("192.0.2.7", "https", "papers.example")
    assert asked("127.0.0.1", ["127.0.0.1"], **said) == believed
    assert asked("127.0.0.2", ["127.0.0.1"], **said) == ("127.0.0.2", "http", "127.0.0.1:5006")
    assert asked("127.0.0.1", [], **said) == ("127.0.0.1", "http", "127.0.0.1:5006")
    for peer, proxy in (("10.1.2.3", "10.0.0.0/8"), ("::1", "localhost"), ("::ffff:127.0.0.1", "127.0.0.1")):
        assert asked(peer, [proxy], **said) == believed


@pytest.mark.parametrize(
    ("stations", "browser"),
    [
        ("192.0.2.1, 192.0.2.7", "192.0.2.7"),  # whatever a browser sends itself stands further left
        (["192.0.2.1", "192.0.2.7"], "192.0.2.7"),
        ("192.0.2.1, 192.0.2.7, 10.0.0.9", "192.0.2.7"),  # two proxies of ours
        ("192.0.2.7:51234", "192.0.2.7"),
        ("[2001:db8::7]:51234", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("192.0.2.1, unknown", "127.0.0.1"),
        ("192.0.2.1, unknown, 10.0.0.9", "10.0.0.9"),
        ("", "127.0.0.1"),
    ],
)
def test_the_browser_is_the_last_station_that_is_no_proxy_of_ours(stations, browser):
    assert asked("127.0.0.1", ["127.0.0.1", "10.0.0.0/8"], For=stations)[0] == browser


def test_of_several_hosts_and_protocols_the_last_counts_and_odd_ones_do_not():
    found = asked("127.0.0.1", ["127.0.0.1"], Host="evil.example, papers.example", Proto="http, https")
    assert found[1:] == ("https", "papers.example")
    assert asked("127.0.0.1", ["127.0.0.1"], Host="", Proto="gopher")[1:] == ("http", "127.0.0.1:5006")


@pytest.mark.parametrize("text", ["papers.example", "127.0.0.1:80", "10.0.0.0/33", "", "everybody"])
def test_what_is_no_address_is_refused_at_the_start(text):
    with pytest.raises(ServeError, match="--behind-proxy takes the address or network of a proxy"):
        Proxies([text])


def test_an_address_is_read_without_its_port_and_zone():
    assert [str(read_address(text)) for text in ("192.0.2.7", "fe80::1%eth0", "::ffff:192.0.2.7")] == [
        "192.0.2.7",
        "fe80::1",
        "192.0.2.7",
    ]
    assert read_address("nobody") is None
