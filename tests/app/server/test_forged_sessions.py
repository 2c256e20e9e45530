"""What a viewer, or a stranger, sends with a program instead of a browser: no action of any kind gets through."""

import asyncio
import sys
from contextlib import suppress

import pytest
from raw_sessions import ANALYSTS, VIEWERS, RawSession, in_loop, unsigned_token
from tornado.httpclient import HTTPClientError

from app.live.actions import Actions
from store.errors import StoreError

FILE = {"do": "sent", "of": 1, "name": "papers.txt"}
FORGED = {  # by the page that hears it: what is sent, and the action it would be
    "page=runs": (
        ("pause", {"do": "pause", "run": "1"}),
        ("resume", {"do": "resume", "run": "1"}),
        ("stop", {"do": "stop", "run": "1"}),
        ("move", {"do": "move", "run": "1"}),
        ("rename_run", {"do": "rename", "run": "1", "value": "stolen"}),
        ("delete", {"do": "delete", "run": "1", "form": {"typed": "first spring"}}),
        ("demo", {"do": "demo"}),
    ),
    "page=runs&tab=new": (("create", {"do": "start", "form": {}}),),
    "page=runs&tab=add": (
        ("delete_corpus", {"do": "delete", "corpus": "1", "form": {"typed": "allotment"}}),
        ("add_corpus", {"do": "make", "form": {}}),
    ),
    "page=watch&run=1": (
        ("retry", {"do": "retry"}),
        ("log", {"do": "log"}),
        ("delete", {"do": "delete", "form": {"typed": "first spring"}}),
        ("pause", {"do": "pause"}),
    ),
    "page=explore&run=1": (("rename_topic", {"do": "rename", "id": "L1:1", "value": "stolen"}),),
    "page=compare&run=1&partner=2": (
        ("match_topics", {"do": "match", "side": "b", "id": "L1:1", "value": "L1:2"}),
        ("unmatch_topics", {"do": "unmatch", "side": "b", "id": "L1:1"}),
    ),
}


@pytest.fixture
def passed(monkeypatch):
    """Names of the actions that were let through; none of them changes anything."""
    names, real = [], Actions._writing

    def note(self):
        db = real(self)
        if self.visitor.address:
            names.append(sys._getframe(1).f_code.co_name)
            raise StoreError("an action got through")
        return db

    monkeypatch.setattr(Actions, "_writing", note)
    return names


async def act(place, token, cookie, forged):
    """Send every forged message to everything on a page, whatever was taken from the page's boards."""
    session = await RawSession.open(place, token, cookie)
    await session.boards()
    await session.press("document_ready")
    await asyncio.sleep(0.4)  # what a page reads from the store is there then
    boards = await session.boards()
    for board in boards:
        await session.change(board, "refused", [])
    for _, message in forged:
        for board in boards:
            for each in (FILE, message) if message["do"] == "make" else (message,):
                await session.tell(board, each)
        await asyncio.sleep(0.02)
    await session.boards()  # everything before it was heard
    await asyncio.sleep(0.3)  # what runs in a thread is done
    await session.close()


def test_the_actions_tried_here_get_through_for_an_analyst(server, passed):
    cookie = server.log_in(ANALYSTS)
    for query, forged in FORGED.items():
        in_loop(act(server.place, server.page_token(query, cookie), cookie, forged))
    assert set(passed) == {name for forged in FORGED.values() for name, _ in forged}


def attacks(server, query):
    """Tokens and cookies that somebody who knows the viewers' password can bring together, by the way it was done."""
    viewer, analyst = server.log_in(VIEWERS), server.log_in(ANALYSTS)
    server.ask(f"/?{query}&bokeh-session-id=chosen-{len(query)}", Cookie=analyst)  # the analyst opens a link
    yield "a session the viewer chose", unsigned_token(f"chosen-{len(query)}"), viewer
    server.ask(f"/?{query}", Cookie=analyst, Bokeh_Session_Id=f"header-{len(query)}")
    yield "a session chosen in a header", unsigned_token(f"header-{len(query)}"), viewer
    of_analyst, of_viewer = (server.page_token(query, cookie) for cookie in (analyst, viewer))
    yield "the token of an analyst's page", of_analyst, viewer
    yield "the token of an analyst's page without a cookie", of_analyst, ""
    yield "a viewer's page with an analyst's cookie", of_viewer, analyst
    yield "a viewer's page", of_viewer, viewer


def test_none_of_the_forged_actions_gets_through(server, passed):
    tried, through = 0, set()
    for query, forged in FORGED.items():
        for how, token, cookie in attacks(server, query):
            tried += len(forged)
            before = len(passed)
            with suppress(HTTPClientError, ConnectionError):
                in_loop(act(server.place, token, cookie, forged))
            through |= {f"{name} on {query} by {how}" for name in passed[before:]}
    assert through == set(), f"{len(through)} of {tried} got through"
    assert tried >= 40
