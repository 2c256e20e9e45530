"""Files that browsers send: where they land, what is refused, and that nothing is left behind."""

import asyncio
import errno
import logging
import shutil
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from threading import Event, Thread

import pytest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application

from topiary.app.jobs.process import OWNER_NOTE
from topiary.app.jobs.uploads import ADDRESS, Uploads
from topiary.app.server.access import Authentication
from topiary.app.server.guarded_files import UploadReceiver


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
        server = HTTPServer(
            Application(
                [(rf"/{ADDRESS}/([\w-]+)", UploadReceiver, {"uploads": uploads, "authentication": Authentication()})]
            )
        )
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


def answer_to(url, body, method="PUT"):
    """The status that came back, and the sentence that a page shows."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=10) as answer:
            return answer.status, answer.reason
    except urllib.error.HTTPError as error:
        return error.code, error.reason


def send(url, body, method="PUT"):
    """The status that came back."""
    return answer_to(url, body, method)[0]


def begin_to_send(url, body, promised):
    """A connection on which so many bytes were promised, and fewer sent."""
    parts = urllib.parse.urlsplit(url)
    line = socket.create_connection((parts.hostname, parts.port), timeout=10)
    head = f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: here\r\nContent-Length: {promised}\r\n\r\n"
    line.sendall(head.encode() + body)
    return line


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != OWNER_NOTE)


def soon(holds):
    """Whether something comes true within ten seconds."""
    until = time.monotonic() + 10
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


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
            coming = uploads.place(token, name)
            coming.half.write_text("x")
            assert uploads.keep(token, coming)
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


@pytest.mark.parametrize("size", ["ten", "", "-5", "1_000", "9" * 5000])
def test_a_size_that_is_no_number_is_refused_in_a_sentence(uploads, address, size, caplog):
    token = uploads.begin()
    with caplog.at_level(logging.ERROR), begin_to_send(f"{address}/{token}?name=a.txt", b"x", size) as line:
        said = line.makefile("r", encoding="latin-1").readline().split(" ", 2)
    assert said[1:] == ["400", "What was sent does not say its size as a number of bytes; choose the file again\n"]
    assert caplog.records == []
    assert uploads.hand_over(token) is None


def test_a_form_that_is_given_up_leaves_nothing(uploads, address, tmp_path):
    token = uploads.begin()
    send(f"{address}/{token}?name=a.txt", b"x")
    assert len(list(tmp_path.iterdir())) == 1
    uploads.forget(token)
    assert list(tmp_path.iterdir()) == []


def test_the_half_of_a_file_is_never_handed_over_and_goes_when_the_connection_breaks(uploads, address, tmp_path):
    token = uploads.begin()
    line = begin_to_send(f"{address}/{token}?name=big.csv", b"text,label\nball goal", 100_000)
    assert soon(lambda: len(files_in(tmp_path)) == 1)
    assert uploads.hand_over(token) is None
    line.close()
    assert soon(lambda: files_in(tmp_path) == [])
    assert send(f"{address}/{token}?name=other.csv", b"x") == 204  # the form goes on
    sent = uploads.hand_over(token)
    assert sent.path.name == "other.csv"
    assert files_in(sent.folder) == ["other.csv"]
    shutil.rmtree(sent.folder)


def test_a_file_that_is_all_there_only_after_the_others_were_handed_over_is_refused(uploads, address):
    token = uploads.begin()
    assert send(f"{address}/{token}?name=a.txt", b"x") == 204
    coming = uploads.place(token, "b.txt")
    coming.half.write_text("x")
    sent = uploads.hand_over(token)
    assert not uploads.keep(token, coming)
    assert [path.name for path in sent.path.parent.iterdir()] == ["a.txt"]
    shutil.rmtree(sent.folder)


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "a.csv/inside.csv", "folder", "\N{GREEK SMALL LETTER PI}" * 200])
def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(uploads, address, name, caplog):
    token = uploads.begin()
    for there in ("a.csv", "folder/b.csv"):
        assert send(f"{address}/{token}?name={there}", b"x") == 204
    with caplog.at_level(logging.ERROR):
        status, said = answer_to(f"{address}/{token}?name={urllib.parse.quote(name)}", b"x")
    assert status == 400
    assert said.endswith("; rename it and choose it again")
    assert caplog.records == []
    sent = uploads.hand_over(token)
    assert files_in(sent.folder) == ["a.csv", "b.csv"]
    shutil.rmtree(sent.folder)


def test_a_disk_that_fills_up_is_told_when_the_file_has_come(uploads, address, tmp_path, monkeypatch, caplog):
    class Full:
        def write(self, chunk):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, *how, **more: Full() if path.parent.name == "halves" else real(path, *how, **more)
    )
    token = uploads.begin()
    with caplog.at_level(logging.ERROR):
        status, said = answer_to(f"{address}/{token}?name=a.txt", b"x")
    assert (status, said.partition(":")[0]) == (507, "a.txt")
    assert [record for record in caplog.records if record.name != "tornado.access"] == []  # a line, no traceback
    assert uploads.hand_over(token) is None


def test_a_form_may_send_so_much_in_all_and_no_more(uploads, address, monkeypatch):
    monkeypatch.setattr(uploads, "_largest", 10)
    token = uploads.begin()
    assert send(f"{address}/{token}?name=a.txt", b"12345678") == 204
    status, sentence = answer_to(f"{address}/{token}?name=b.txt", b"12345")
    assert status == 413
    assert sentence == "This server takes 10 bytes and 1,000,000 files for a corpus; use topiary import for more"
    assert send(f"{address}/{uploads.begin()}?name=b.txt", b"12345") == 204  # another form


def test_a_form_may_send_so_many_files(uploads, address, monkeypatch):
    monkeypatch.setattr("topiary.app.jobs.uploads.MOST_FILES", 2)
    token = uploads.begin()
    assert [send(f"{address}/{token}?name={n}.txt", b"x") for n in range(3)] == [204, 204, 413]
