"""Hosts that a server answers to, and those that only pretend to be it."""

import re
from types import SimpleNamespace

import pytest
from raw_sessions import ANALYSTS
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from topiary.app.server.hosts import ForeignRequest, Hosts, Proxies, read_address
from topiary.app.server.ports import ServeError


def foreign(hosts, **headers):
    return ForeignRequest(hosts).match(SimpleNamespace(headers=HTTPHeaders(headers))) is not None


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:5006", "localhost:5006", "LocalHost", "[::1]", "[::1]:5006", "papers.example:80"]
)
def test_our_own_names_and_those_that_were_allowed_are_hosts(host):
    assert Hosts("127.0.0.1", ["Papers.example"]).allows(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:5006",
        "localhost.",
        "localhost.evil.example",
        "127.0.0.1.evil.example:5006",
        "localhost,evil.example",
        "evil.example,localhost",
        "localhost@evil.example",
        "[::2]:5006",
        "10.0.0.7:5006",
        "papers.example.evil:80",
        "[::1].evil",
        "[::1].evil.example:5006",
        "[::1]evil",
        "[::1]:5006.evil",
        "[::1",
        "::1]",
        "[localhost]",
        "localhost:5006:5006",
        "localhost:port",
        "localhost/evil",
        "x@localhost",
    ],
)
def test_everything_else_is_none(host):
    assert not Hosts("127.0.0.1", ["papers.example"]).allows(host)


def test_a_server_open_to_all_answers_to_numbers_but_to_no_name_that_was_not_allowed():
    hosts = Hosts("0.0.0.0")
    assert hosts.allows("10.0.0.7:5006")
    assert hosts.allows("[fe80::1]:5006")
    assert not hosts.allows("evil.example:5006")
    assert not hosts.allows("10.0.0.7.evil.example")


def test_the_bound_address_is_a_host():
    assert Hosts("10.0.0.7").allows("10.0.0.7:5006")
    assert not Hosts("10.0.0.7").allows("10.0.0.8:5006")


@pytest.mark.parametrize(
    ("origin", "refused"),
    [
        ("http://10.0.0.7:5006", False),
        ("http://evil.example:5006", True),
        ("http://10.0.0.8:5006", True),
        ("https://papers.example", False),
        ("null", True),
        ("http://10.0.0.7:8080", True),
        ("http://10.0.0.7", True),
        ("https://papers.example:8443", True),
        ("https://books.example:8443", False),
        ("https://books.example", True),
        ("ftp://10.0.0.7:5006", True),
        ("http://x@10.0.0.7:5006", True),
        ("http://10.0.0.7:5006/", True),
        ("http://[::1].evil", True),
        ("https://books.example:9443", False),
    ],
)
def test_a_websocket_is_opened_by_pages_of_the_same_host_and_port_only(origin, refused):
    hosts = Hosts("0.0.0.0", ["papers.example", "Books.example:8443", "books.example:9443"])
    assert foreign(hosts, Host="10.0.0.7:5006", Origin=origin, Upgrade="websocket") is refused


def test_a_program_without_an_origin_may_open_a_websocket():
    assert not foreign(Hosts("127.0.0.1"), Host="localhost:5006", Upgrade="websocket")


def test_an_address_of_ipv6_is_a_host_however_it_is_written():
    hosts = Hosts("fd00::2", ["fd00:0:0:0:0:0:0:3", "[fd00::4]:8443"])
    for host in ("[fd00::2]:5006", "[FD00:0::2]", "[fd00::3]:80", "[fd00::4]:8443"):
        assert hosts.allows(host)
    assert hosts.is_own_page("https://[fd00::4]:8443", "127.0.0.1:5006")


def test_a_page_behind_a_proxy_that_replaces_the_host_is_ours_when_its_name_was_allowed():
    hosts = Hosts("127.0.0.1", ["papers.example"])
    assert hosts.is_own_page("https://papers.example", "127.0.0.1:5006")
    assert not hosts.is_own_page("https://evil.example", "127.0.0.1:5006")


@pytest.mark.parametrize("name", ["https://papers.example", "papers.example/topiary", "", "a b", "papers.example:port"])
def test_a_name_that_browsers_never_send_is_refused_at_the_start(name):
    with pytest.raises(ServeError, match="--allow-host takes a name as in an address"):
        Hosts("127.0.0.1", [name])


ANSWERS = (
    ("GET", "/?page=guide", 200),
    ("GET", "/runs", 302),
    ("GET", "/static/js/bokeh.min.js", 200),
    ("GET", "/topiary/fonts/inter.woff2", 200),
    ("GET", "/favicon.ico", 200),
    ("GET", "/not/there", 404),
    ("GET", "/components/../x", 404),
    ("GET", "/autoload.js", 404),
    ("GET", "/ws", 403),
    ("GET", "/login", 200),
    ("GET", "/logout", 200),
    ("GET", "/ended", 302),
    ("GET", "/?bokeh-token=x", 403),
    ("GET", "/?page=%ff", 302),
    ("DELETE", "/", 405),
    ("PUT", "/upload/nobody?name=a", 404),
    ("BREW", "/", 405),
)


def test_every_answer_is_sealed(server):
    cookie = server.log_in(ANALYSTS)
    for known in ({"Cookie": cookie}, {}):
        for host in (server.place, "evil.example"):
            for method, path, status in ANSWERS:
                answer = server.ask(path, method=method, Host=host, **known)
                assert answer.status == status or host == "evil.example" or not known, path
                assert answer.headers["X-Frame-Options"] == "DENY", path
                assert answer.headers["X-Content-Type-Options"] == "nosniff", path
                assert answer.headers["Referrer-Policy"] == "same-origin", path
                for rule in ("frame-ancestors 'none'", "default-src 'none'", "base-uri 'none'"):
                    assert rule in answer.headers["Content-Security-Policy"], path
                assert answer.headers["Server"] is None, path


def test_scripts_of_a_page_bear_the_nonce_of_that_answer(open_server):
    nonces = set()
    for _ in range(2):
        answer = open_server.ask("/?page=guide")
        policy = answer.headers["Content-Security-Policy"]
        nonces.add(re.search(r"script-src 'self' 'nonce-([\w-]{20,})' 'unsafe-eval';", policy)[1])
        assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
        tags = re.findall(r"<script[^>]*>", answer.text)
        assert len(tags) > 4
        assert {re.search(r'nonce="([\w-]+)"', tag)[1] for tag in tags} <= nonces
    assert len(nonces) == 2


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
