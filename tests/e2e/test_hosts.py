"""A name that a foreign site lets lead to this machine (DNS rebinding) gets nothing from the server."""

import re
import socket
import urllib.request

import pytest

KEY = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n"
)
PATHS = (
    "GET /",
    "GET /?page=runs",
    "GET /runs",
    "GET /metadata",
    "GET /autoload.js",
    "GET /static/js/bokeh.min.js",
    "GET /topiary/css/page.css",
    "GET /components/../x",
    "GET /not/there",
    "PUT /upload/token?name=a.txt",
    "DELETE /",
    "OPTIONS /",
)


def ask(server, request, host, more=""):
    """The status and the text of an answer to one request, header by header as written."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        close = "" if more else "Connection: close\r\n"
        line.sendall(f"{request} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n{close}{more}\r\n".encode())
        found = line.makefile("rb").readline() if more else b"".join(iter(lambda: line.recv(65536), b""))
    return int(found.split()[1]), found.decode("utf-8", "replace")


@pytest.mark.parametrize("request_line", PATHS)
def test_a_foreign_host_is_refused_on_every_path(shared_server, request_line):
    status, text = ask(shared_server, request_line, f"evil.example:{shared_server.port}")
    assert status == 403
    assert request_line == "DELETE /" or "--allow-host" in text
    assert ask(shared_server, request_line, f"localhost:{shared_server.port}")[0] != 403


@pytest.mark.parametrize("host", ["evil.example", "localhost"])
def test_a_websocket_opens_for_our_own_pages_only(shared_server, host):
    with urllib.request.urlopen(f"{shared_server.url}?page=guide") as answer:
        token = re.search(r'"token":"([^"]+)"', answer.read().decode())[1]
    origin = f"Origin: http://{host}:{shared_server.port}\r\nSec-WebSocket-Protocol: bokeh, {token}\r\n"
    status, _ = ask(shared_server, "GET /ws", f"{host}:{shared_server.port}", KEY + origin)
    assert (status == 403) is (host == "evil.example")
    page_elsewhere = f"Origin: http://evil.example:{shared_server.port}\r\nSec-WebSocket-Protocol: bokeh, {token}\r\n"
    assert ask(shared_server, "GET /ws", f"localhost:{shared_server.port}", KEY + page_elsewhere)[0] == 403


@pytest.mark.nightly
def test_a_browser_that_was_misled_sees_one_sentence_and_opens_no_websocket(shared_server, chromium_program, chromium):
    misled = chromium.browser_type.launch(
        executable_path=chromium_program,
        args=["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP evil.example 127.0.0.1"],
    )
    try:
        page = misled.new_page()
        sockets = []
        page.on("websocket", lambda opened: sockets.append(opened.url))
        answer = page.goto(f"http://evil.example:{shared_server.port}/?page=runs")
        assert answer.status == 403
        assert re.search(r"does not answer to the host 'evil\.example:\d+'", page.inner_text("body"))
        assert sockets == []
        assert page.goto(f"http://localhost:{shared_server.port}/?page=runs").status == 200
    finally:
        misled.close()
