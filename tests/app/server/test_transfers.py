"""Files are sent once, and points of a map are kept forever: to viewers too, and to nobody without a login."""

from raw_sessions import ANALYSTS, VIEWERS

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
