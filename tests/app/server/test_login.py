"""Where the form leads, and what it says."""

from urllib.parse import urlencode

import pytest
from raw_sessions import ANALYSTS
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from topiary.app.server.access import Authentication, Passwords
from topiary.app.server.login import WithoutLogin, _format_span, _make_target
from topiary.app.views.html import render


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("", "./"),
        ("page=runs&run=3", "./?page=runs&run=3"),
        ("//evil.example", "./?//evil.example"),  # a query of this server
        ("x\r\nSet-Cookie: a=b", "./"),
    ],
)
def test_a_login_leads_to_a_view_of_this_server_only(asked, there):
    assert _make_target(asked) == there


def test_a_request_without_a_login_matches_and_one_with_it_does_not():
    authentication = Authentication(Passwords("analysts-secret"))
    _, cookie = authentication.log_in("analysts-secret")
    line = RequestStartLine("GET", "/", "HTTP/1.0")
    request = HTTPServerRequest(start_line=line, headers=HTTPHeaders({"Cookie": f"{authentication.cookie}={cookie}"}))
    assert WithoutLogin(authentication).match(request) is None
    assert WithoutLogin(authentication).match(HTTPServerRequest(start_line=line, headers=HTTPHeaders())) == {}


def test_wrong_passwords_are_refused_and_soon_have_to_wait(server):
    answers = [server.ask("/login", urlencode({"password": f"guess {n}"}).encode()).status for n in range(7)]
    assert answers[:5] == [403] * 5
    assert answers[-1] == 429
    answer = server.ask("/login", urlencode({"password": ANALYSTS}).encode())
    assert answer.status == 429  # not even the right one, until the time is over
    assert int(answer.headers["Retry-After"]) >= 1
    assert "Too many wrong passwords" in answer.text


def test_a_wait_is_said_in_words():
    assert _format_span(3.2) == "4 seconds"
    assert _format_span(400.0) == "7 minutes"


def test_words_are_escaped_and_the_field_has_a_label():
    page = render("login.login", '/login?next="><script>', "<b>wrong</b>", True)
    assert "<script>" not in page
    assert "<b>wrong" not in page
    assert '<label for="password">' in page
    assert "viewers' password" in page


def test_without_viewers_nothing_is_said_of_them():
    assert "viewers" not in render("login.login", "/login", "", False)


def test_a_tab_whose_login_is_over_says_so_in_one_sentence_with_a_link_back():
    page = render("login.ended", "You have logged out", '/?page=runs&run=1"><script>')
    assert 'You have logged out; <a href="/?page=runs&amp;run=1&#34;&gt;&lt;script&gt;">log in again</a>.' in page
    assert "<script>" not in page
