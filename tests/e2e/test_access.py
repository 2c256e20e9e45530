"""A server with passwords: nothing without one, everything looked at with the viewers', changed with the analysts'."""

import http.client
import re
import time
from urllib.parse import urlencode

import garden
import pytest
from databases import open_filled
from playwright.sync_api import expect

from tests.e2e.conftest import InnerServer
from topiary.store import runs
from topiary.store.database import open_database

ANALYSTS, VIEWERS = "analysts-secret", "viewers-secret"
WEBSOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZQ==",
    "Sec-WebSocket-Protocol": "bokeh, none",
}


PASSWORDS = {"analyst": ANALYSTS, "viewer": VIEWERS}  # test_proxies has a process that reads them from files


@pytest.fixture
def guarded(planted, tmp_path, monkeypatch):
    """A server with two passwords on the planted store."""
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    server = InnerServer(planted, **PASSWORDS)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def shared_guarded(tmp_path_factory):
    """Such a server for tests that change nothing in its store and are refused by it."""
    path = tmp_path_factory.mktemp("guarded") / "store.db"
    open_filled(path, garden.plant).close()
    server = InnerServer(f"sqlite:///{path}", **PASSWORDS)
    yield server
    server.stop()


def ask(server, method, path, body=None, **headers):
    """Status, headers and text of an answer; no redirection is followed."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    line.request(method, path, body, headers)
    answer = line.getresponse()
    text = "" if answer.status == 101 else answer.read().decode("utf-8", "replace")
    line.close()
    return answer.status, dict(answer.getheaders()), text


def log_in(server, password):
    """The cookie that a password gives."""
    status, headers, _ = ask(server, "POST", "/login?next=page%3Druns", urlencode({"password": password}))
    assert (status, headers["Location"]) == (303, "./?page=runs")
    assert "HttpOnly" in headers["Set-Cookie"]
    return headers["Set-Cookie"].partition(";")[0]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/?page=runs"),
        ("GET", "/runs"),
        ("GET", "/ws"),
        ("GET", "/autoload.js"),
        ("GET", "/metadata"),
        ("GET", "/static/js/bokeh.min.js"),
        ("GET", "/topiary/js/board.js"),
        ("GET", "/components/panel.pane.base/PaneBase/_css/x"),
        ("PUT", "/upload/token?name=a.txt"),
        ("DELETE", "/"),
    ],
)
def test_nothing_is_served_without_a_password(shared_guarded, method, path):
    status, headers, text = ask(shared_guarded, method, path)
    if path == "/?page=runs":
        assert (status, headers["Location"]) == (302, "login?next=page%3Druns")
    else:
        assert status in (401, 405)
    assert "Runs" not in text


def test_a_websocket_needs_the_cookie_of_a_login(shared_guarded):
    own = {"Origin": f"http://127.0.0.1:{shared_guarded.port}", **WEBSOCKET}
    assert ask(shared_guarded, "GET", "/ws", **own)[0] == 401
    cookie = log_in(shared_guarded, VIEWERS)
    forged = cookie.replace("dmlld2Vy", "YW5hbHlzdA==")
    assert ask(shared_guarded, "GET", "/ws", **own, Cookie=forged)[0] == 401
    assert ask(shared_guarded, "GET", "/ws", **own, Cookie=cookie)[0] == 403  # of no session
    token = re.search(r'"token":"([^"]+)"', ask(shared_guarded, "GET", "/?page=guide", Cookie=cookie)[2])[1]
    own |= {"Sec-WebSocket-Protocol": f"bokeh, {token}"}
    assert ask(shared_guarded, "GET", "/ws", **own, Cookie=cookie)[0] == 101


def test_a_form_of_another_site_logs_nobody_in(shared_guarded):
    body = urlencode({"password": ANALYSTS})
    assert ask(shared_guarded, "POST", "/login", body, Origin="http://evil.example")[0] == 403
    assert ask(shared_guarded, "POST", "/login", "x" * 20_000)[0] in (400, 413)


def test_viewers_send_no_files(shared_guarded):
    viewer, analyst = log_in(shared_guarded, VIEWERS), log_in(shared_guarded, ANALYSTS)
    assert ask(shared_guarded, "PUT", "/upload/token?name=a.txt", b"x", Cookie=viewer)[0] == 403
    assert ask(shared_guarded, "PUT", "/upload/token?name=a.txt", b"x", Cookie=analyst)[0] == 404  # no such form


def come_in(page, server, password):
    page.goto(f"{server.url}?page=runs")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()


def test_a_viewer_looks_and_changes_nothing(shared_guarded, page):
    come_in(page, shared_guarded, VIEWERS)
    for name in ("New run", "Add documents"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    expect(page.get_by_role("button", name="delete run 1")).to_be_disabled()
    expect(page.get_by_role("button", name="delete run 1")).to_have_attribute("title", re.compile("You only look here"))
    page.goto(f"{shared_guarded.url}?page=runs&tab=new")
    expect(page.get_by_role("button", name=re.compile("Start|Train"))).to_be_disabled()
    page.goto(f"{shared_guarded.url}?page=explore&run=1")
    page.get_by_role("button", name="Log out (viewer)").click()
    expect(page.get_by_label("Password")).to_be_visible()


def test_logging_out_in_one_tab_ends_the_others_and_no_other_browser(shared_guarded, page, new_page, guard):
    come_in(page, shared_guarded, ANALYSTS)
    elsewhere = new_page()
    come_in(elsewhere, shared_guarded, ANALYSTS)
    other, sockets = guard.watch(page.context.new_page()), []
    other.on("websocket", lambda socket: sockets.append(socket))  # noqa: PLW0108 - a method of a list takes no notes
    for query in ("page=runs", "page=explore&run=1&layer=1&topic=2"):
        other.goto(f"{shared_guarded.url}?{query}")
        expect(other.get_by_role("navigation", name="Pages", exact=True)).to_be_visible()
    page.get_by_role("button", name="Log out (analyst)").click()
    expect(page.get_by_label("Password")).to_be_visible()
    expect(other.get_by_text("You have logged out; log in again.")).to_be_visible()
    assert "Topic" not in other.content()  # nothing of the view is left
    assert sockets[-1].is_closed()
    other.go_back()
    again = other.get_by_role("link", name="log in again")
    expect(again.or_(other.get_by_label("Password"))).to_be_visible()
    expect(other.get_by_role("button", name="New run")).to_be_hidden()
    other.goto(f"{shared_guarded.url}ended?next=page%3Dexplore%26run%3D1%26layer%3D1%26topic%3D2")
    other.get_by_role("link", name="log in again").click()
    other.get_by_label("Password").fill(ANALYSTS)
    other.get_by_role("button", name="Log in").click()
    other.wait_for_url("**/?page=explore&run=1&layer=1&topic=2")
    elsewhere.get_by_role("button", name="New run").click()
    expect(elsewhere.get_by_role("heading", name="New run")).to_be_visible()


@pytest.mark.nightly
def test_a_tab_follows_when_its_browser_logs_in_as_somebody_else(shared_guarded, page, guard):
    come_in(page, shared_guarded, VIEWERS)
    other = guard.watch(page.context.new_page())
    other.goto(f"{shared_guarded.url}login?next=page%3Druns")
    other.get_by_label("Password").fill(ANALYSTS)
    other.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out (analyst)")).to_be_visible()


@pytest.mark.nightly
def test_what_a_viewers_browser_sends_all_the_same_is_not_heard(guarded, planted, page):
    come_in(page, guarded, VIEWERS)
    page.goto(f"{guarded.url}?page=runs&tab=new")
    start = page.get_by_role("button", name=re.compile("Start|Train"))
    expect(start).to_be_disabled()
    start.evaluate("button => { button.disabled = false; button.click() }")
    page.goto(f"{guarded.url}?page=runs")
    delete = page.get_by_role("button", name="delete run 1")
    expect(delete).to_be_disabled()
    delete.evaluate("button => { button.disabled = false; button.click() }")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Number of the run").fill(dialog.locator("b").inner_text())
    dialog.get_by_role("button", name="Delete").evaluate("button => { button.disabled = false; button.click() }")
    page.goto(f"{guarded.url}?page=watch&run=1")
    expect(page.get_by_role("button", name="Log out (viewer)")).to_be_visible()
    db = open_database(planted, readonly=True)
    assert [row.number for row in runs.list_runs(db)] == [1]
    db.close()


def test_an_analyst_deletes_and_the_audit_log_says_who_and_when(guarded, planted, page, tmp_path):
    come_in(page, guarded, ANALYSTS)
    page.get_by_role("button", name="delete run 1").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Number of the run").fill(dialog.locator("b").inner_text())
    dialog.get_by_role("button", name="Delete").click()
    log = tmp_path / "data" / "topiary" / "logs" / "audit.log"
    until = time.monotonic() + 30
    while not (log.exists() and "deleted" in log.read_text(encoding="utf-8")) and time.monotonic() < until:
        time.sleep(0.1)
    came, deleted = (line.split(" | ") for line in log.read_text(encoding="utf-8").splitlines())
    assert came[3] == "logged in"
    assert deleted[3].startswith("deleted run 1")
    assert re.fullmatch(r"analyst in the browser at 127\.0\.0\.1 \(login [0-9a-f]{6}\)", deleted[2])
    assert came[2] == deleted[2]


def test_a_link_of_another_site_logs_nobody_out_and_its_form_does_not_either(shared_guarded):
    cookie = log_in(shared_guarded, ANALYSTS)
    status, _, text = ask(shared_guarded, "GET", "/logout", Cookie=cookie)
    assert status == 200
    assert 'method="post"' in text
    assert ask(shared_guarded, "POST", "/logout", "", Cookie=cookie, Origin="http://evil.example")[0] == 403
    assert ask(shared_guarded, "GET", "/?page=runs", Cookie=cookie)[0] == 200
    own = {"Cookie": cookie, "Origin": shared_guarded.url.rstrip("/")}
    status, headers, _ = ask(shared_guarded, "POST", "/logout", "", **own)
    assert (status, headers["Location"]) == (303, "login")
    assert ask(shared_guarded, "GET", "/?page=runs", Cookie=cookie)[0] == 302


def test_a_page_of_another_site_frames_nothing_of_ours(shared_server, chromium, tmp_path):
    outside = tmp_path / "outside.html"
    outside.write_text(f'<iframe src="{shared_server.url}?page=runs"></iframe>', encoding="utf-8")
    page = chromium.new_page()
    with page.expect_console_message(lambda message: "frame-ancestors 'none'" in message.text):
        page.goto(outside.as_uri())
    page.frames[1].wait_for_url("chrome-error://chromewebdata/", wait_until="commit")
    page.close()
