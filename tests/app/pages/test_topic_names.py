"""Names in the panel of a topic: proposed when a visitor asks, sent for after the text was shown, taken by a click."""

import html
import re
from dataclasses import replace
from types import SimpleNamespace

import garden
import pytest
from page_sessions import PageSession

from topiary.app.analysis import topic_names
from topiary.app.analysis.name_server import NameServer
from topiary.app.analysis.topic_names import ProposedName
from topiary.app.pages.explore import ExplorePage
from topiary.engine.hierarchy.tree import Node
from topiary.store import notes
from topiary.store.errors import StoreError

KEY = {"id": "L3:1"}


@pytest.fixture
def session(db, monkeypatch):
    """A session at a topic; its ``sent`` are the requests sent, and ``answer`` what comes back."""
    garden.plant(db)
    found = {Node(3, 0): (ProposedName("Hedge rows", 0.34, 12.0),)}
    monkeypatch.setattr(topic_names, "propose_names", lambda *_: found)
    made = PageSession(db, "explore", layer=3, topic=1)
    made.sent, made.answer = [], ["Rose beds"]

    def ask(run, topic, request):
        made.sent.append((run, topic, request))
        if isinstance(made.answer, str):
            raise StoreError(made.answer)
        return made.answer

    actions = SimpleNamespace(
        ask_names=ask, rename_topic=lambda run, layer, topic, text: notes.set_label(db, run, layer, topic, text)
    )
    made.context = replace(made.context, actions=actions, names=NameServer("http://localhost:1/v1", "tiny"))
    return made


def read(page):
    """The part of the panel about names, as words."""
    inside = re.search(r'<div class="ex-naming">(.*?)</header>', page._detail.html, re.DOTALL)
    return inside and " ".join(html.unescape(re.sub(r"<[^>]*>", " ", inside[1])).split())


def say(session, page, do, **more):
    assert page.handle({"do": do, **KEY, **more})
    session.work()
    return read(page)


def test_phrases_are_proposed_once_asked_for_and_one_click_takes_one(session):
    page = ExplorePage(session.context)
    session.work()
    assert read(page) == "Suggest names Ask tiny …"
    page.handle({"do": "propose-names"})
    assert read(page).startswith("Looking for phrases of its documents …")
    session.work()
    assert read(page) == "Name it Hedge rows Ask tiny …"
    (button,) = re.findall(r"<button[^>]*>Hedge rows", page._detail.html)
    assert 'title="Name it so: in 34% of its documents, 12 times as often as in others"' in button
    fields = dict(re.findall(r'data-(do|id|value)="([^"]*)"', button))
    assert fields == {"do": "rename", "id": "L3:1", "value": "Hedge rows"}
    page.handle({"do": "select", "id": "L3:2"})
    session.work()
    assert read(page).startswith("No phrase of two or three words stands out in its documents.")
    page.handle({"do": "select", "id": "L3:1"})
    page.handle(fields)
    session.feed.look_now()
    page._fetch()
    session.work()
    assert notes.list_labels(session.context.db, 1) == {(3, 1): "Hedge rows"}


def test_nothing_is_sent_that_was_not_on_screen(session):
    page = ExplorePage(session.context)
    session.work()
    assert say(session, page, "send-names")
    assert session.sent == [], "nothing was shown"
    shown = say(session, page, "name-request", value="words")
    assert shown.startswith("Suggest names What is sent no documents POST http://localhost:1/v1/chat/completions {")
    assert "Passages" not in shown.partition("}")[0]
    shown = say(session, page, "name-request", value="passages")
    assert "Passages of its documents:" in shown
    assert "no documents" not in shown
    session.answer = "the server cannot be reached"
    assert say(session, page, "send-names") == shown, "it can be sent again"
    session.answer = ["Rose beds"]
    shown = say(session, page, "send-names")
    assert shown == "Suggest names Name it Rose beds Ask tiny …"
    (_, first), (run, topic, request) = session.sent[0][1:], session.sent[1]
    assert (run, topic, request) == (1, Node(3, 0), first)
    assert "Passages" in request.body
    say(session, page, "name-request", value="words")
    assert say(session, page, "close-request") == "Suggest names Name it Rose beds Ask tiny …"


def test_without_a_server_there_is_nothing_to_send(session):
    session.context = replace(session.context, names=None)
    page = ExplorePage(session.context)
    session.work()
    assert say(session, page, "name-request", value="words") == "Suggest names"
    say(session, page, "send-names")
    assert session.sent == []
