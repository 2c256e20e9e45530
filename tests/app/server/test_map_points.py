"""The points of a map are sent to those who are logged in, to be kept forever, and to nobody else."""

from raw_sessions import ANALYSTS, VIEWERS

NAME = "0123456789abcdef" * 4
DATA = bytes(range(256)) * 6


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
