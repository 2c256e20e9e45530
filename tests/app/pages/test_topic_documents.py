"""The panel of a topic in Explore: its documents, and names for it.

Passages that say most of the topic come first, with its words marked; names are proposed when a visitor asks, sent for
after the text was shown, and taken by a click.
"""

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
from topiary.app.pages.topic_documents import TopicDocuments
from topiary.engine.hierarchy.tree import Node
from topiary.store import notes
from topiary.store.errors import StoreError

KEY = {"id": "L3:1"}


def test_the_passages_that_say_most_of_a_topic_come_first(db):
    corpus = garden.corpus(db)
    row = garden.begin(db, corpus.number, "run")
    garden.advance(db, row, 400, snapshot=True)
    session = PageSession(db, "explore")
    documents, hierarchy = TopicDocuments(session.context), session.feed.hierarchy(1)
    node = Node(1, 0)  # of gardens
    assert documents.of(hierarchy, node, lambda: None) is None
    session.work()
    found = documents.of(hierarchy, node, lambda: None)
    scores = [each.passage.score for each in found]
    assert len(found) == 8
    assert scores == sorted(scores, reverse=True)
    assert [each.number % 4 for each in found[:5]] == [0] * 5, "the examples of every topic are documents 0 to 19"
    marked = {each.passage.text[begin:end] for each in found[:5] for begin, end in each.passage.marks}
    assert marked
    assert marked <= set(garden.SUBJECTS[0].split())


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
    assert notes.read_remarks(session.context.db, 1).names == {(3, 1): "Hedge rows"}


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
