"""Files that browsers send: where they land, what is refused, and that nothing is left behind."""

import asyncio
import shutil
import urllib.error
import urllib.request
from threading import Event, Thread

import pytest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application

from app.uploads import ADDRESS, Receiver, Uploads


@pytest.fixture
def uploads(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Uploads()
    yield made
    made.close()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def address(uploads):
    """A server in a thread that takes files, and nothing else."""
    ready, held = Event(), {}

    async def serve():
        held["loop"], held["over"] = asyncio.get_running_loop(), asyncio.Event()
        server = HTTPServer(Application([(rf"/{ADDRESS}/([\w-]+)", Receiver, {"uploads": uploads})]))
        sockets = bind_sockets(0, "127.0.0.1")
        held["port"] = sockets[0].getsockname()[1]
        server.add_sockets(sockets)
        ready.set()
        await held["over"].wait()
        server.stop()

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    yield f"http://127.0.0.1:{held['port']}/{ADDRESS}"
    held["loop"].call_soon_threadsafe(held["over"].set)
    thread.join()


def send(url, body, method="PUT"):
    """The status that came back."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_file_lands_under_its_name_in_the_folder_of_its_form(uploads, address):
    token, large = uploads.begin(), bytes(range(256)) * 4096
    assert send(f"{address}/{token}?name=letters/home/1861.txt", large) == 204
    sent = uploads.hand_over(token)
    assert sent.path.name == "letters"
    assert (sent.path / "home" / "1861.txt").read_bytes() == large
    shutil.rmtree(sent.folder)


@pytest.mark.parametrize("name", ["../a.txt", "/etc/a.txt", "a/../../b", "C:/a.txt", "..%5Ca.txt", "", "."])
def test_names_that_lead_out_of_the_folder_are_refused(uploads, address, name):
    token = uploads.begin()
    assert send(f"{address}/{token}?name={name}", b"x") in (400, 404)
    assert uploads.hand_over(token) is None


def test_a_token_that_nobody_gave_or_that_is_used_up_is_refused(uploads, address):
    token = uploads.begin()
    assert send(f"{address}/nobody?name=a.txt", b"x") == 404
    assert send(f"{address}/{token}?name=a.txt", b"x") == 204
    shutil.rmtree(uploads.hand_over(token).folder)
    assert send(f"{address}/{token}?name=b.txt", b"x") == 404
    assert uploads.hand_over(token) is None


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "GET"])
def test_what_pages_of_others_could_send_is_not_taken(uploads, address, method):
    """A form of another site can POST; for PUT a browser asks first with OPTIONS."""
    token = uploads.begin()
    assert send(f"{address}/{token}?name=a.txt", b"x" if method == "POST" else None, method) == 405
    assert uploads.hand_over(token) is None


def test_several_files_are_one_folder_and_one_is_itself(uploads):
    one, several = uploads.begin(), uploads.begin()
    for token, names in ((one, ["a.csv"]), (several, ["docword.x.txt", "vocab.x.txt"])):
        for name in names:
            uploads.place(token, name).write_text("x")
    alone, together = uploads.hand_over(one), uploads.hand_over(several)
    assert alone.path.name == "a.csv"
    assert together.path.name == "documents"
    assert sorted(file.name for file in together.path.iterdir()) == ["docword.x.txt", "vocab.x.txt"]
    shutil.rmtree(alone.folder)
    shutil.rmtree(together.folder)


def test_a_file_larger_than_the_room_is_refused_before_it_is_sent(uploads, address, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    token = uploads.begin()
    assert send(f"{address}/{token}?name=a.txt", b"x" * 11) == 507
    assert uploads.hand_over(token) is None


def test_a_form_that_is_given_up_leaves_nothing(uploads, address, tmp_path):
    token = uploads.begin()
    send(f"{address}/{token}?name=a.txt", b"x")
    assert len(list(tmp_path.iterdir())) == 1
    uploads.forget(token)
    assert list(tmp_path.iterdir()) == []
