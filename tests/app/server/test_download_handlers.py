"""Downloads: a file is sent once, to viewers too, with its name, and to nobody without a login."""

from raw_sessions import VIEWERS


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
