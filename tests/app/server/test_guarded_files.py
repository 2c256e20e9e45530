"""Odd paths are not found: no error of the server, no module imported, no file outside."""

import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_sessions import ANALYSTS, VIEWERS
from tornado.httputil import HTTPServerRequest, RequestStartLine
from tornado.testing import AsyncHTTPTestCase
from tornado.web import Application, HTTPError

from topiary.app.server.guarded_files import COMPONENTS, ComponentFiles, MalformedPath, UnreadableQuery, read_prefix
from topiary.app.server.ports import ServeError


def malformed(path):
    return MalformedPath().match(HTTPServerRequest(start_line=RequestStartLine("GET", path, "HTTP/1.0"))) is not None


@pytest.mark.parametrize(
    "path",
    [
        "/components/../",
        "/components/..",
        "/topiary/../../etc/passwd",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static/%252e%252e/x",
        "/static/..%2f..%2fetc/passwd",
        "/topiary/..\\..\\x",
        "/a%00b",
        "/a%0d%0ab",
        "/%ff%fe",
        "/" + "a" * 5000,
        "*",
        "",
    ],
)
def test_paths_that_lead_upwards_or_hold_odd_letters_are_malformed(path):
    assert malformed(path)


@pytest.mark.parametrize("path", ["/", "/runs", "/topiary/js/board.js", "/static/js/bokeh.min.js", "/a..b/c", "/ä"])
def test_other_paths_are_not(path):
    assert not malformed(path)


@pytest.mark.parametrize(("query", "unreadable"), [("page=%c3%28", True), ("page=%C3%A4&run=1", False), ("", False)])
def test_a_query_that_is_no_text_is_left_out(query, unreadable):
    request = HTTPServerRequest(start_line=RequestStartLine("GET", f"/?{query}", "HTTP/1.0"))
    assert (UnreadableQuery().match(request) is not None) is unreadable


@pytest.mark.parametrize(
    ("text", "prefix"),
    [("", ""), ("/", ""), ("/topiary", "/topiary"), (" topiary/ ", "/topiary"), ("/a/b-c.d_e~f", "/a/b-c.d_e~f")],
)
def test_a_prefix_is_read_with_or_without_its_slashes(text, prefix):
    assert read_prefix(text) == prefix


@pytest.mark.parametrize(
    "text", ["https://papers.example/topiary", "/a//b", "/a b", "/a?b", "/../a", "/a/.", "/ä", "/a%20b"]
)
def test_what_is_no_path_is_refused_at_the_start(text):
    with pytest.raises(ServeError, match="--prefix takes a path of letters, digits and"):
        read_prefix(text)


class Server(AsyncHTTPTestCase):
    def get_app(self):
        return Application([(COMPONENTS, ComponentFiles)])

    def ask(self):
        """Nothing by itself; the tests below ask."""


@pytest.fixture
def alone():
    case = Server("ask")
    case.setUp()
    yield case
    case.tearDown()


STEPS = st.lists(
    st.sampled_from(
        ["panel", "panel.pane.base", "panel_material_ui.base", "panel.io.state", "PaneBase",
         "MaterialComponent", "state", "_css", "_resources", "_stylesheets", "modifiers", "css", "__css__",
         "antigravity", "os", "..", "%2e%2e", "", "x.css", "__class__", "a b", "\u00e4"]
    )
    | st.text(max_size=12),
    max_size=6,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_any_path_below_components_is_answered_without_an_error_of_the_server(steps):
    handler = ComponentFiles.__new__(ComponentFiles)
    answered = 200
    with suppress(HTTPError):  # anything else fails
        answered = 404
        handler.parse_url_path("/".join(steps))
    assert answered in (200, 404)


def test_no_module_is_imported_because_an_address_names_it(alone):
    sys.modules.pop("antigravity", None)
    for path in ("/components/antigravity/a/_css/b", "/components/", "/components/panel", "/components/x"):
        assert alone.fetch(path).code == 404
    assert "antigravity" not in sys.modules


NAME = "0123456789abcdef" * 4
DATA = bytes(range(256)) * 6


def offer(site, text):
    downloads = site.actions.downloads
    path = downloads.begin("topics of run 1.csv")
    path.write_text(text, encoding="utf-8")
    return path, f"/download/{downloads.offer(path)}"


def test_a_file_is_sent_whole_and_once_and_then_it_is_gone(server, site):
    path, address = offer(site, "ä," * 1_500_000)
    viewer = server.log_in(VIEWERS)
    assert server.ask(address).status == 401
    assert path.exists(), "somebody without a login took the file away"
    answer = server.ask(address, Cookie=viewer)
    assert (answer.status, len(answer.text)) == (200, 3_000_000)
    assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''topics%20of%20run%201.csv"
    assert answer.headers["Cache-Control"] == "no-store"
    assert server.ask(address, Cookie=viewer).status == 404
    assert not path.parent.exists()


def find_points(site):
    site.feed.points.put(NAME, DATA)
    return f"/points/{NAME}"


def test_points_are_sent_to_viewers_too_and_may_be_kept(site, server):
    path = find_points(site)
    for password in (ANALYSTS, VIEWERS):
        answer = server.ask(path, Cookie=server.log_in(password))
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Cache-Control"] == "private, max-age=31536000, immutable"
        assert int(answer.headers["Content-Length"]) == len(DATA)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_without_a_login_there_are_none(site, server):
    answer = server.ask(find_points(site))
    assert answer.status != 200
    assert "immutable" not in str(answer.headers["Cache-Control"])


def test_points_that_are_gone_are_not_kept(server):
    answer = server.ask(f"/points/{'f' * 64}", Cookie=server.log_in(VIEWERS))
    assert answer.status == 404
    assert "immutable" not in str(answer.headers["Cache-Control"])
    assert server.ask("/points/../../etc/passwd", Cookie=server.log_in(VIEWERS)).status == 404
