"""What every answer says to the browser about itself."""

import re

from raw_sessions import ANALYSTS

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
