"""Hosts that a server answers to, and those that only pretend to be it."""

from types import SimpleNamespace

import pytest
from tornado.httputil import HTTPHeaders

from app.server.hosts import ForeignRequest, Hosts


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
    ],
)
def test_a_websocket_is_opened_by_pages_of_the_same_host_and_port_only(origin, refused):
    hosts = Hosts("0.0.0.0", ["papers.example", "Books.example:8443"])
    assert foreign(hosts, Host="10.0.0.7:5006", Origin=origin, Upgrade="websocket") is refused


def test_a_program_without_an_origin_may_open_a_websocket():
    assert not foreign(Hosts("127.0.0.1"), Host="localhost:5006", Upgrade="websocket")


def test_origins_are_exact_where_the_address_is():
    assert Hosts("127.0.0.1").origins(5006) == ["127.0.0.1:5006", "localhost:5006"]
    assert Hosts("0.0.0.0").origins(5006) == ["*:5006"]
