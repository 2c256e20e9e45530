"""Names of topics by a language model: what is sent to a server that a user named, and what its answer says.

The server speaks the protocol of OpenAI, as local ones do, too.  Nothing else is ever asked, and a request is the text
that was shown, byte by byte.
"""

import json
import os
import re
from importlib.util import find_spec
from typing import Any, NamedTuple

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.passages import choose_passages, weigh_words
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.ingest.new_documents import find_rules
from topiary.app.ingest.text.cleaning import make_storable
from topiary.app.machine import LOOPBACK
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora

KEY = "TOPIARY_NAMES_KEY"  # environment variable with the key of the server
EXTRA_MISSING = "names by a language model need httpx, which is not installed; pip install 'topiary-explorer[names]'"
WORDS, PASSAGES = 20, 3  # of a topic that are sent
NAMES, LONGEST = 3, 60  # names of an answer, and characters of a name
_READ = 24  # documents among which passages are chosen
_PATH = "/chat/completions"
_ADDRESS = re.compile(r"http(?P<secure>s?)://(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+)(:\d{1,5})?(/[^\s?#@]*)?")
_TIMEOUT = 60.0  # seconds that an answer may take
_TASK = (
    "You name topics that were found in a collection of documents. Answer only with JSON of the form "
    '{"names": ["...", "...", "..."]}: three names of one to four words, the best first, in the language of the words.'
)


class NameServer(NamedTuple):
    """A server of language models, and the model that is asked; ``url`` is the base, such as that ends in ``/v1``."""

    url: str
    model: str


class NameRequest(NamedTuple):
    """A request as it is sent: its address, and the text of its body, with so many passages of documents."""

    address: str
    body: str
    passages: int = 0


def find_server(url: str, model: str) -> NameServer:
    """Return the server at an address that a user gave.

    Raises
    ------
    ReadError
        If it is no such address, no model is named, or httpx is not installed.
    """
    if find_spec("httpx") is None:
        raise ReadError(EXTRA_MISSING)
    found = _ADDRESS.fullmatch(url)
    if found is None:
        raise ReadError(
            f"{url!r} is no address of a server; give one such as http://localhost:11434/v1, and a key in {KEY}"
        )
    if not model.strip():
        raise ReadError("name the model that the server is to use, such as llama3.2")
    if os.environ.get(KEY) and found["host"].strip("[]") not in LOOPBACK and not found["secure"]:
        raise ReadError(f"the key in {KEY} is sent beyond this machine by https only; give an address with https")
    return NameServer(url.rstrip("/").removesuffix(_PATH), model.strip())


def write_request(
    server: NameServer, reader: TopicReader, hierarchy: Hierarchy, node: Node, *, passages: bool
) -> NameRequest:
    """Return the request for names of a topic: its words and, if they may be sent, passages of its documents."""
    words = ", ".join(word.text for word in hierarchy.top_words(node, WORDS))
    asked = f"The words of the topic, the most telling first: {words}"
    quotes = _quote_documents(reader, hierarchy, node) if passages else []
    if quotes:
        asked += "\n\nPassages of its documents:\n" + "\n".join(f"- {each}" for each in quotes)
    messages = [{"role": "system", "content": _TASK}, {"role": "user", "content": asked}]
    body = {"model": server.model, "temperature": 0, "messages": messages}
    return NameRequest(server.url + _PATH, json.dumps(body, ensure_ascii=False, indent=1), len(quotes))


def _quote_documents(reader: TopicReader, hierarchy: Hierarchy, node: Node) -> list[str]:
    """Return the passages of documents that say most of a topic."""
    corpus = corpora.get_run_corpus(reader.db, reader.find_run(hierarchy.run))
    numbers = reader.rank(hierarchy, node).numbers[:_READ].tolist()
    documents = [each for each in corpora.read_documents(reader.db, corpus.number, numbers) if each.text.strip()]
    rules = find_rules(corpus.meta, corpus.kind, hierarchy.vocabulary)
    return [each.text for each in choose_passages(documents, rules, weigh_words(hierarchy, node), PASSAGES)]


def ask_names(request: NameRequest) -> list[str]:
    """Send a request, and return the names in the answer, the best first.

    Raises
    ------
    ReadError
        If the server does not answer or refuses, or its answer has no names.
    """
    import httpx  # an extra

    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ReadError(f"the key in {KEY} has other characters than letters, digits and signs; set it again")
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    place, is_https = request.address, request.address.startswith("https:")  # reading certificates takes half a second
    try:
        with httpx.Client(timeout=_TIMEOUT, trust_env=False, verify=is_https) as client:  # no proxies of the machine
            answer = client.post(place, content=request.body.encode("utf-8", "replace"), headers=headers)
    except httpx.TimeoutException:
        raise ReadError(f"{place} did not answer in {_TIMEOUT:.0f} seconds; ask again, or a smaller model") from None
    except (httpx.HTTPError, httpx.InvalidURL):
        raise ReadError(f"{place} cannot be reached; start the server, or correct the address") from None
    if (status := answer.status_code) != 200:
        wrong = f"set {KEY} to a key that it takes" if status in (401, 403) else "check address and name of the model"
        raise ReadError(f"{place} refuses the request (status {status}); {wrong}")
    return _read_names(place, answer.content)


def _read_names(place: str, raw: bytes) -> list[str]:
    """Return the names in an answer, which may have words around its JSON."""
    try:
        content: Any = json.loads(raw)["choices"][0]["message"]["content"]
        listed = json.loads(content[content.rindex("{") : content.rindex("}") + 1])["names"]
        given = listed if isinstance(listed, list) else []
        texts = [" ".join(make_storable(each).split()) for each in given if isinstance(each, str)]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        texts = []
    names = list(dict.fromkeys(each for each in texts if 0 < len(each) <= LONGEST))[:NAMES]
    if not names:
        raise ReadError(f"the answer of {place} has no names in it; ask again, or another model")
    return names
