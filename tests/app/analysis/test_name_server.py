"""Names by a language model: what is sent is what was shown, and whatever a server answers is names or a sentence."""

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis import name_server
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.name_server import KEY, NameRequest, NameServer, ask_names, find_server, write_request


def answer(content):
    return 200, json.dumps({"choices": [{"message": {"content": content}}]}).encode()


ANSWERS = {  # by the model that is asked
    "good": answer(
        'Sure!\n```json\n{"names": ["Oil prices", " Oil\\n prices", "Crude  oil", 7, "' + "x" * 61 + '"]}\n```'
    ),
    "many": answer('{"names": ["a", "b", "c", "d"]}'),
    "prose": answer("I would call it oil."),
    "none": answer('{"names": []}'),
    "text": answer('{"names": "Oil"}'),
    "page": (200, b"<html>"),
    "list": (200, b"[1]"),
    "deep": (200, b"[" * 100_000),
    "locked": (401, b"no"),
    "missing": (404, b"no such model"),
    "moved": (302, b""),
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        model = json.loads(body)["model"]
        if model == "slow":
            time.sleep(1.0)
        status, text = ANSWERS.get(model, (500, b""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        with suppress(ConnectionError):  # whoever asked may have left
            self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked = []
    thread = threading.Thread(target=made.serve_forever, args=(0.02,))
    thread.start()
    made.url = f"http://127.0.0.1:{made.server_address[1]}/v1"
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def request(server, model):
    return NameRequest(f"{server.url}/chat/completions", json.dumps({"model": model}))


def test_exactly_the_text_that_is_shown_is_sent_and_no_documents_unless_they_are_in_it(server, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    hierarchy = make_hierarchy((8, 4), n_words=40)
    node = hierarchy.nodes(1)[0]
    shown = write_request(find_server(f"{server.url}/", "good"), None, hierarchy, node, passages=False)
    assert ask_names(shown) == ["Oil prices", "Crude oil"]
    path, headers, body = server.asked[-1]
    assert (path, body.decode()) == ("/v1/chat/completions", shown.body)
    assert headers["authorization"] == "Bearer secret"
    assert "secret" not in shown.body + shown.address
    said = json.loads(shown.body)["messages"][1]["content"]
    assert (
        said
        == f"The words of the topic, the most telling first: {', '.join(w.text for w in hierarchy.top_words(node, 20))}"
    )
    monkeypatch.setattr(name_server, "_quote_documents", lambda *_: ["a passage"])
    quoted = write_request(find_server(server.url, "good"), None, hierarchy, node, passages=True)
    assert json.loads(quoted.body)["messages"][1]["content"] == f"{said}\n\nPassages of its documents:\n- a passage"
    assert (shown.passages, quoted.passages) == (0, 1)


def test_whatever_a_server_answers_is_names_or_a_sentence(server, monkeypatch):
    assert ask_names(request(server, "many")) == ["a", "b", "c"]
    wrong = {
        **dict.fromkeys(("prose", "none", "text", "page", "list", "deep"), "has no names in it; ask again"),
        "locked": rf"refuses the request \(status 401\); set {KEY} to a key that it takes",
        "missing": r"refuses the request \(status 404\); check address and name of the model",
        "moved": r"refuses the request \(status 302\)",
    }
    for model, sentence in wrong.items():
        with pytest.raises(ReadError, match=sentence):
            ask_names(request(server, model))
    assert {path for path, _, _ in server.asked} == {"/v1/chat/completions"}, "it goes nowhere else"
    monkeypatch.setattr(name_server, "_TIMEOUT", 0.4)
    with pytest.raises(ReadError, match="did not answer in 0 seconds; ask again"):
        ask_names(request(server, "slow"))
    with pytest.raises(ReadError, match="cannot be reached; start the server, or correct the address"):
        ask_names(NameRequest("http://127.0.0.1:1/v1/chat/completions", "{}"))


@pytest.mark.parametrize(
    ("url", "model", "sentence"),
    [
        ("localhost:11434", "x", "'localhost:11434' is no address of a server; give one such as http://localhost"),
        ("http://[::1", "x", "is no address of a server"),
        ("http://host/v1?key=1", "x", "is no address of a server"),
        ("https://me:key@host/v1", "x", f"is no address of a server; give one such as .*, and a key in {KEY}"),
        ("http://host/v1", " ", "name the model that the server is to use"),
        ("http://host/v1", "x", "is sent beyond this machine by https only"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_in_a_sentence(url, model, sentence, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    with pytest.raises(ReadError, match=sentence) as refused:
        find_server(url, model)
    assert "secret" not in str(refused.value)


def test_an_address_may_be_that_of_the_whole_path():
    wanted = NameServer("http://localhost:11434/v1", "x")
    assert {find_server(f"http://localhost:11434/v1{end}", "x") for end in ("", "/", "/chat/completions")} == {wanted}


def test_a_key_that_no_header_can_have_is_refused_without_saying_it(server, monkeypatch):
    monkeypatch.setenv(KEY, "se\ncret")
    with pytest.raises(ReadError, match="has other characters") as refused:
        ask_names(request(server, "many"))
    assert "cret" not in str(refused.value)


def test_without_httpx_the_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(name_server, "find_spec", lambda name: None)
    with pytest.raises(ReadError, match=r"pip install 'topiary-explorer\[names\]'"):
        find_server("http://localhost/v1", "x")
