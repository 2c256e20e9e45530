"""Who begins a session and who speaks to it, and how much they may send.

The tests at the end send forged actions of every kind with a program instead of a browser: none may get through.
"""

import asyncio
import importlib.util
import json
import re
import socket
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import garden
import panel as pn
import pytest
from bokeh.document import Document
from bokeh.document.callbacks import invoke_with_curdoc
from bokeh.io import doc as current_document
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import generate_jwt_token, get_session_id, get_token_payload
from panel.io import document as panel_document
from panel.io.state import set_curdoc
from raw_sessions import ANALYSTS, VIEWERS, RawSession, in_loop, running, unsigned_token
from tornado import locks
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from topiary.app.jobs import logs
from topiary.app.live.actions import Actions
from topiary.app.live.feed import Feed
from topiary.app.pages.new_corpus import NewCorpusForm
from topiary.app.server import access, serve, sessions
from topiary.app.server.access import Passwords
from topiary.app.server.hosts import Hosts, Proxies
from topiary.app.server.sessions import (
    SessionPage,
    SessionSocket,
    close_connections,
    forget_document,
    repair_current_document,
    repair_message_order,
)
from topiary.app.server.visit import SessionShell, Site
from topiary.app.views.text import escape
from topiary.engine import models
from topiary.store import notes as annotations
from topiary.store.errors import StoreError

CHOSEN = (
    ("/?bokeh-session-id=X", {}),
    ("/?page=runs&Bokeh-Session-Id=X", {}),
    ("/?bokeh-token=X", {}),
    ("/", {"Bokeh_Session_Id": "X"}),
    ("/?bokeh-absolute-url=https://evil.example", {}),
    ("/?bokeh-app-path=/x", {}),
    ("/runs?bokeh-session-id=X", {}),
    ("/login?bokeh-session-id=X", {}),
    ("/autoload.js?bokeh-autoload-element=1&bokeh-session-id=X", {}),
    ("/metadata?bokeh-session-id=X", {}),
)
BUFFERS = {"num_buffers": 30}


def test_a_page_has_its_own_alone_and_all_else_of_it_is_kept(open_server):
    page = open_server.ask("/?page=guide")
    assert page.headers["Cache-Control"] == "no-store"  # it has the token of its session
    assert len(page.text) < 15_000
    addresses = re.findall(r'(?:src|href)="((?:static|topiary|styles)/[^"]+)"', page.text)
    names = {address.partition("?")[0].rpartition("/")[2] for address in addresses}
    assert {"bokeh.min.js", "panel.min.js", "board.js", "inter.woff2"} <= names
    assert not {"bokeh-gl.min.js", "bokeh-tables.min.js", "bokeh-widgets.min.js"} & names
    for address in addresses:
        kept = open_server.ask(f"/{address}").headers.get("Cache-Control", "")
        assert address.endswith(".png") or re.search(r"max-age=\d{8}", kept), address


def test_a_page_begins_before_its_session_is_built_and_sessions_are_built_in_turn(open_server, monkeypatch):
    begun, may_end, build = [], Event(), SessionPage.get_session

    async def wait_and_build(page: SessionPage) -> Any:
        begun.append(page)
        while not may_end.is_set():
            await asyncio.sleep(0.01)
        return await build(page)

    monkeypatch.setattr(SessionPage, "get_session", wait_and_build)
    address = f"{open_server.home}/?page=guide"
    with urlopen(address, timeout=20) as first, urlopen(address, timeout=20) as second:
        assert b"tp-skeleton" in first.read1(100_000)
        assert b"tp-skeleton" in second.read1(100_000)
        while not begun:
            assert open_server.ask("/topiary/icons/topiary.svg").status == 200
        time.sleep(2 * sessions._HEAD_START)
        assert len(begun) == 1
        may_end.set()
        assert b'"token"' in first.read()
        assert b'"token"' in second.read()


def test_the_next_visitor_sees_a_view_before_a_session_is_built_until_its_topics_change(open_server, site):
    def read_first() -> str:
        answer = open_server.ask("/?page=explore&run=2").text
        return answer.partition("<body>")[2].partition("bokeh.min.js?")[0].partition('id="tp-preview"')[2]

    site.feed.hierarchy(2)
    assert read_first() == ""
    assert open_server.ask("/?page=explore&run=2").text.count('id="tp-preview"') == 1
    top = site.feed.hierarchy(2).nodes(2)[0]
    assert escape(site.feed.hierarchy(2).title(top)) in read_first()
    assert "data-sheets" not in open_server.ask("/?page=guide&run=2").text
    annotations.set_label(site.db, 2, top.layer, top.column + 1, "of oaks")
    site.feed.relabel(2)
    assert read_first() == ""
    assert "of oaks" in read_first()


def test_a_document_defines_the_components_of_pages_alone(open_server):
    async def pull() -> Any:
        session = await RawSession.open(open_server.place, token)
        return (await session.send("PULL-DOC-REQ", {}))["doc"]

    token = open_server.page_token()
    document = in_loop(pull())
    names = {re.sub(r"\d+$", "", each["name"]) for each in document["defs"]}
    assert {"Board", "TreeView", "FilmBar", "MapView", "Page", "NotificationArea"} <= names
    assert "IntSlider" not in names
    assert len(json.dumps(document)) < 60_000


@pytest.mark.parametrize(("proxies", "compression"), [(Proxies(), ""), (Proxies(["192.0.2.1"]), "permessage-deflate")])
def test_websockets_are_compressed_where_browsers_may_be_far(make_site, proxies, compression):
    async def open_socket() -> str:
        request = HTTPRequest(f"ws://{server.place}/ws")
        socket = await websocket_connect(request, subprotocols=["bokeh", token], compression_options={})
        socket.close()
        while await socket.read_message() is not None:
            pass
        return str(socket.headers.get("Sec-WebSocket-Extensions", "")).partition(";")[0]

    site, reach = make_site(Passwords()), serve.ServerReach(Hosts("127.0.0.1"), proxies)
    with running(lambda: serve._bind_server(site, "127.0.0.1", 0, reach)) as server:
        token = server.page_token()
        assert in_loop(open_socket()) == compression


@pytest.mark.parametrize(("path", "headers"), CHOSEN)
def test_a_session_that_a_visitor_chose_is_refused_with_a_sentence(open_server, path, headers):
    answer = open_server.ask(path, **headers)
    assert answer.status == 403
    assert answer.text.startswith("This link names a session, which only the server may do; open it without the parts")


def test_a_session_chosen_in_the_body_of_a_request_is_refused_too(server):
    form = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": server.log_in(ANALYSTS)}
    for field in (b"bokeh-session-id=X", b"bokeh-token=X"):
        assert server.ask("/?page=runs", field, "GET", **form).status == 403


def test_the_token_of_a_page_is_signed_and_holds_no_cookie(server):
    cookie = server.log_in(ANALYSTS)
    token = server.page_token("page=guide", f"{cookie}; topiary_theme=dark; other=x")
    payload = get_token_payload(token)
    assert payload["cookies"] == {"topiary_theme": "dark"}
    assert payload["headers"] == {}
    assert cookie.partition("=")[2].strip('"') not in str(payload)
    assert "." in token
    assert "." in get_session_id(token)


def test_a_websocket_opens_for_the_login_that_its_session_began_with_and_for_nobody_else(server, monkeypatch):
    mine, same_role, viewer = (server.log_in(each) for each in (ANALYSTS, ANALYSTS, VIEWERS))
    token = server.page_token("page=guide", mine)
    assert server.opened(token, mine) == (101, "")
    for cookie, status, sentence in (
        (same_role, 403, "its session belongs to another login"),
        (viewer, 403, "its session belongs to another login"),
        ("", 401, "Log in first"),
        (mine.replace("=", "=x", 1), 401, "Log in first"),
    ):
        found = server.opened(token, cookie)
        assert found[0] == status
        assert sentence in found[1]
    lone = get_session_id(token)
    wrong = [unsigned_token(lone), generate_jwt_token(lone, b"another key", signed=True), token[:-1], f"{token}.x"]
    wrong += ["none", ".", "a.b", "eyJ9.x", f"{token.partition('.')[0]}."]
    for each in wrong:
        assert server.opened(each, mine)[0] == 403
    monkeypatch.setattr(time, "gmtime", lambda: (2100, 1, 1, 0, 0, 0, 0, 1, 0))
    assert server.opened(token, mine)[0] == 403  # too old


def test_a_session_has_one_websocket_and_none_after_the_login(server):
    cookie = server.log_in(ANALYSTS)
    token = server.page_token("page=guide", cookie)

    async def twice():
        first = await RawSession.open(server.place, token, cookie)
        with pytest.raises(HTTPClientError, match="403"):
            await RawSession.open(server.place, token, cookie)
        server_side = server.ask("/logout", b"", Cookie=cookie)
        assert server_side.status == 303
        with pytest.raises((ConnectionError, WebSocketClosedError)):
            await first.boards()

    in_loop(twice())
    assert server.opened(token, cookie)[0] == 401


def test_an_analyst_logs_out_everywhere_from_the_page_and_a_viewer_cannot(server):
    mine, others, viewer = (server.log_in(each) for each in (ANALYSTS, ANALYSTS, VIEWERS))
    assert "Log out everywhere" in server.ask("/logout", Cookie=mine).text
    assert "everywhere" not in server.ask("/logout", Cookie=viewer).text
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert server.ask("/logout", b"everywhere=1", Cookie=viewer, **form).status == 303
    assert server.ask("/", Cookie=others).status == 200
    assert server.ask("/logout", b"everywhere=1", Cookie=mine, **form).status == 303
    assert server.ask("/", Cookie=others).status == 302


def test_a_socket_whose_session_was_discarded_first_closes_without_an_error(open_server):
    token = open_server.page_token("page=guide")

    async def discard():
        others = {*SessionSocket._sockets}  # of sessions that earlier tests left
        session = await RawSession.open(open_server.place, token)
        async with asyncio.timeout(30):
            while not (sockets := [each for each in SessionSocket._sockets if each not in others and each.connection]):
                await asyncio.sleep(0.01)
        socket = sockets[0]
        socket.connection.detach_session()
        session._socket.close()
        async with asyncio.timeout(30):
            while socket.connection is not None:
                await asyncio.sleep(0.01)

    in_loop(discard())


def test_a_role_that_was_changed_counts_for_a_session_that_is_open(server, site, monkeypatch):
    done = []
    monkeypatch.setattr(logs, "record_action", lambda _, what, who: done.append(what))
    cookie = server.log_in(ANALYSTS)
    login = site.authentication.find_visitor(cookie.partition("=")[2].strip('"'), "").login

    async def rename():
        session = await RawSession.open(server.place, server.page_token("page=runs", cookie), cookie)
        boards = await session.boards()
        await session.press("document_ready")
        for role, name in (("analyst", "first"), ("viewer", "second")):
            site.authentication.logins._open[login] = role
            for board in boards:
                await session.tell(board, {"do": "rename", "run": "1", "value": name})
            await session.boards()
            await asyncio.sleep(0.3)
        del site.authentication.logins._open[login]
        with pytest.raises((ConnectionError, WebSocketClosedError)):
            await session.boards()

    in_loop(rename())
    assert {each for each in done if each.startswith("renamed")} == {"renamed run 1 to first"}


def test_without_passwords_a_page_opens_its_websocket_and_no_other(open_server):
    token = open_server.page_token()
    assert open_server.opened(token) == (101, "")
    assert open_server.opened(unsigned_token("chosen"))[0] == 403
    assert open_server.opened(open_server.page_token("page=runs"))[0] == 101


def test_a_view_too_many_is_refused_with_a_sentence(server, monkeypatch):
    monkeypatch.setattr(access, "MOST_SESSIONS", 2)
    cookie, other = server.log_in(VIEWERS), server.log_in(VIEWERS)
    answers = [server.ask("/?page=guide", Cookie=each) for each in (cookie, cookie, cookie, other)]
    assert [answer.status for answer in answers] == [200, 200, 429, 200]
    assert answers[2].text == "You have 2 views open, and there can be no more; close some, then reload.\n"


async def send_all(session, *parts):
    """Send parts of a message, until the server hangs up."""
    for part in parts:
        await session.write(part)
    await session.message()


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([json.dumps({"msgid": "x" * 20_000, "msgtype": "PATCH-DOC"})], id="a header too long"),
        pytest.param(['{"msgid":"1","msgtype":"PATCH-DOC"}', f'{{"x":"{"x" * 20_000}"}}'], id="metadata too long"),
        pytest.param(
            [json.dumps({"msgid": "1", "msgtype": "PATCH-DOC", **BUFFERS}), "{}", '{"events":[]}']
            + ['{"id":"b"}', b"x"] * 17,
            id="too many buffers",
        ),
        pytest.param(
            [json.dumps({"msgid": "1", "msgtype": "PATCH-DOC", **BUFFERS}), "{}", '{"events":[]}']
            + ['{"id":"b"}', bytes(3_000_000)] * 5,
            id="too many bytes",
        ),
        pytest.param(['{"msgid":"1","msgtype":"NO-SUCH"}', "{}", "{}"], id="no such message"),
        pytest.param([b"\x00\x01"], id="bytes instead of a header"),
        pytest.param(["[" * 9_000, "{}", "{}"], id="a header of brackets"),
    ],
)
def test_what_no_page_sends_ends_the_connection(open_server, parts):
    async def send():
        session = await RawSession.open(open_server.place, open_server.page_token())
        with pytest.raises((ConnectionError, WebSocketClosedError)):
            await send_all(session, *parts)

    in_loop(send())


def test_unfinished_messages_end_after_a_while_and_when_all_of_them_are_too_much(open_server, monkeypatch):
    monkeypatch.setattr(sessions, "LONGEST_WAIT", 0.5)
    monkeypatch.setattr(sessions, "MOST_UNFINISHED", 1_000_000)

    async def begin(size):
        session = await RawSession.open(open_server.place, open_server.page_token())
        with suppress(WebSocketClosedError):
            await session.begin("PATCH-DOC", {"events": []}, **BUFFERS)
            await session.write('{"id":"b"}')
            await session.write(bytes(size))
        return session

    async def crowd():
        small, large, larger = [await begin(size) for size in (10, 400_000, 700_000)]
        with pytest.raises(ConnectionError):
            await larger.message()  # at once
        began = time.monotonic()
        for session in (small, large):
            with pytest.raises(ConnectionError):
                await session.message()
        assert time.monotonic() - began < 5

    in_loop(crowd())


def test_frames_that_are_not_finished_count_as_well(open_server, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_UNFINISHED", 300_000)

    async def half():
        session = await RawSession.open(open_server.place, open_server.page_token())
        frame = b"\x81\xff" + (1_000_000).to_bytes(8, "big") + b"mask" + bytes(500_000)
        await session._socket.protocol.stream.write(frame)
        with pytest.raises(ConnectionError):
            await session.message()

    in_loop(half())


def test_an_error_says_nothing_of_the_program_and_too_many_end_the_connection(open_server, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_FAULTS", 3)

    async def stumble():
        session = await RawSession.open(open_server.place, open_server.page_token())
        board = (await session.boards())[0]
        await session.change(board, "nonsense", 1)  # not an error: Bokeh leaves it out
        answers = [await session.send("PUSH-DOC", {"doc": {}}) for _ in range(3)]
        assert {answer["msgtype"] for answer in answers} == {"ERROR"}
        assert "Traceback" not in str(answers)
        assert await session.boards()  # one that makes sense, and the count begins again
        for _ in range(4):
            await session.begin("PATCH-DOC", {"events": [{"kind": "Nonsense"}]})
        with pytest.raises(ConnectionError):
            await session.send("PULL-DOC-REQ", {})

    in_loop(stumble())


def test_connections_that_send_nothing_or_not_all_of_it_are_closed(site, monkeypatch):
    monkeypatch.setattr(serve, "IDLE", 0.5)
    monkeypatch.setattr(serve, "SLOW", 0.5)
    begun = (
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n",
    )
    with running(lambda: serve._bind_server(site, "127.0.0.1", 0, serve.ServerReach(Hosts("127.0.0.1")))) as server:
        lines = [socket.create_connection(("127.0.0.1", server.server.port), timeout=5) for _ in begun]
        for line, part in zip(lines, begun, strict=True):
            line.sendall(part)
        for line in lines:
            with line:
                assert line.recv(100) == b""


FILE = {"do": "sent", "of": 1, "name": "papers.txt"}
FORGED = {  # by the page that hears it: what is sent, and the action it would be
    "page=runs": (
        ("pause", {"do": "pause", "run": "1"}),
        ("resume", {"do": "resume", "run": "1"}),
        ("stop", {"do": "stop", "run": "1"}),
        ("move", {"do": "move", "run": "1"}),
        ("rename_run", {"do": "rename", "run": "1", "value": "stolen"}),
        ("delete", {"do": "delete", "run": "1", "form": {"typed": "1"}}),
        ("demo", {"do": "demo"}),
    ),
    "page=runs&tab=new": (("create", {"do": "start", "form": {}}),),
    "page=runs&tab=add": (
        ("delete_corpus", {"do": "delete", "corpus": "1", "form": {"typed": "1"}}),
        ("add_corpus", {"do": "make", "form": {}}),
    ),
    "page=watch&run=1": (
        ("retry", {"do": "retry"}),
        ("log", {"do": "log"}),
        ("delete", {"do": "delete", "form": {"typed": "1"}}),
        ("pause", {"do": "pause"}),
        ("train_more", {"do": "train-more", "run": "1"}),
    ),
    "page=explore&run=1": (
        ("rename_topic", {"do": "rename", "id": "L1:1", "value": "stolen"}),
        ("add_topic_notes", {"do": "note-add", "id": "L1:1", "form": {"text": "stolen"}}),
        ("change_note", {"do": "note-change", "number": "1", "value": "stolen"}),
        ("delete_note", {"do": "note-delete", "number": "1"}),
    ),
    "page=documents&run=1&documents=1": (
        ("add_document_notes", {"do": "note-add", "id": "1", "form": {"tag": "stolen"}}),
    ),
    "page=seeds&run=1": (("train_seeds", {"do": "more-seeds"}),),
    "page=compare&run=1&partner=2": (
        ("match_topics", {"do": "match", "side": "b", "id": "L1:1", "value": "L1:2"}),
        ("unmatch_topics", {"do": "unmatch", "side": "b", "id": "L1:1"}),
        ("carry_annotations", {"do": "carry"}),
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
    monkeypatch.setattr(NewCorpusForm, "_is_ready", lambda _: True)  # as if the files that were sent had been read
    return names


@pytest.fixture(scope="module", autouse=True)
def _loaded_models():
    """The form of a new run is there at once when its models were loaded before."""
    for name in models.list_names():
        models.load(name)


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


def act_at_once(place, attempts):
    """Send what is forged by several sessions at once, for each of which there is a token, a cookie and messages."""

    async def act_all():
        return await asyncio.gather(*(act(place, *attempt) for attempt in attempts), return_exceptions=True)

    found = in_loop(act_all(), patience=280)  # of all of them together
    for error in found:
        if error is not None and not isinstance(error, HTTPClientError | ConnectionError):
            raise error
    return found


def test_the_actions_tried_here_get_through_for_an_analyst(server, passed):
    cookie = server.log_in(ANALYSTS)
    attempts = [(server.page_token(query, cookie), cookie, forged) for query, forged in FORGED.items()]
    assert act_at_once(server.place, attempts) == [None] * len(FORGED)
    assert set(passed) == {name for forged in FORGED.values() for name, _ in forged}


def attacks(server, query):
    """Ways to combine tokens and cookies for an attacker who knows the viewers' password."""
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
    ways = [[(way, forged) for way in attacks(server, query)] for query, forged in FORGED.items()]
    for same_way in zip(*ways, strict=True):  # on every page
        tried += sum(len(forged) for _, forged in same_way)
        before = len(passed)
        act_at_once(server.place, [(token, cookie, forged) for (_, token, cookie), forged in same_way])
        through |= {f"{name} by {same_way[0][0][0]}" for name in passed[before:]}
    assert through == set(), f"{len(through)} of {tried} got through"
    assert tried >= 40


def test_only_the_notes_about_that_document_go(monkeypatch):
    one, other = Document(), Document()
    views = {"a": (None, None, one, None), "b": (None, None, other, None), "c": (None, None, one, None)}
    monkeypatch.setattr(pn.state, "_views", views, raising=False)
    forget_document(one)
    assert list(views) == ["b"]


def followers():
    """How many things follow whether the server is busy."""
    return len(pn.state.param.watchers.get("busy", {}).get("value", []))


def test_no_page_follows_the_server_once_its_session_is_over(db):
    row = garden.begin(db, garden.corpus(db).number)
    garden.advance(db, row, 10, snapshot=True)
    feed = Feed(db)
    feed.look_now()
    site = Site(db, feed, Actions(db.url, feed), {})

    async def visit():
        document = Document()
        with set_curdoc(document):
            shell = SessionShell(site, "?page=runs", {})
            shell.page.server_doc(document)
        for call in document.session_destroyed_callbacks:
            call(SimpleNamespace(_document=document, id="1", server_context=None))
        shell.close()
        forget_document(document)
        return [view for view in pn.state._views.values() if view[2] is document]

    before = followers()
    left = in_loop(visit())
    feed.stop()
    assert followers() == before
    assert left == []


def test_a_browser_is_cut_off_at_once():
    cut = []
    stream = SimpleNamespace(close=lambda: cut.append("stream"))
    socket = SimpleNamespace(close=lambda: cut.append("socket"), ws_connection=SimpleNamespace(stream=stream))
    gone = SimpleNamespace(close=lambda: cut.append("gone"), ws_connection=None)
    session = SimpleNamespace(_subscribed_connections=[SimpleNamespace(_socket=each) for each in (socket, gone)])
    close_connections(SimpleNamespace(session_context=SimpleNamespace(session=session)))
    assert sorted(cut) == ["gone", "socket", "stream"]
    close_connections(Document())  # of no session


def fail():
    raise ValueError


def test_bokeh_alone_leaves_the_document_of_a_failed_callback_behind():
    """The reason for restore_documents: once this fails, Bokeh has mended it and the function can go."""
    spec = importlib.util.spec_from_file_location("bokeh.io.fresh", current_document.__file__)
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    with pytest.raises(ValueError, match=r"^$"), fresh.patch_curdoc(Document()):
        fail()
    assert len(fresh._PATCHED_CURDOCS) == 1


def test_the_document_of_a_failed_callback_is_not_the_current_one(monkeypatch):
    monkeypatch.setattr(current_document, "_PATCHED_CURDOCS", [])
    repair_current_document()
    with pytest.raises(ValueError, match=r"^$"):
        invoke_with_curdoc(Document(), fail)
    assert current_document._PATCHED_CURDOCS == []


class Socket:
    """Remembers what it is given; the last part of each message is written when the test says so."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.last: asyncio.Future[None] | None = None

    def send(self, *, text_data: str) -> "asyncio.Future[None]":
        self.written.append(text_data)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if text_data.endswith("content"):
            self.last = done
        else:
            done.set_result(None)
        return done


class Connection:
    """As much of a connection as writing needs."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self.protocol = SimpleNamespace(create=self._create)

    @staticmethod
    def _create(_: str, events: list[str]) -> Any:
        parts = {f"{part}_json": f"{events[0]} {part}" for part in ("header", "metadata", "content")}
        return SimpleNamespace(**parts, _buffers=[])


async def _second_while_first_ends() -> list[str]:
    """Contents written where a message comes in the very moment in which the one before it has been written."""
    doc, socket = Document(), Socket()
    connection: Any = Connection(socket)
    panel_document.schedule_write_events(doc, [connection], ["first"])  # type: ignore[list-item]
    while socket.last is None:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    first, socket.last = socket.last, None
    first.set_result(None)
    panel_document.schedule_write_events(doc, [connection], ["second"])  # type: ignore[list-item]
    for _ in range(50):
        await asyncio.sleep(0)
        if socket.last is not None and not socket.last.done():
            socket.last.set_result(None)
    return [text for text in socket.written if text.endswith("content")]


def _run(coroutine: Coroutine[Any, Any, list[str]]) -> list[str]:
    """Run it on a loop of its own thread: in that of the tests a browser may have left one running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@pytest.fixture
def panel_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panel's own writing, whatever another test has made of it."""
    write = panel_document._dispatch_msgs
    monkeypatch.setattr(panel_document, "_dispatch_msgs", getattr(write, "__wrapped__", write))
    send = WSHandler.send_message
    monkeypatch.setattr(WSHandler, "send_message", getattr(send, "__wrapped__", send))


@pytest.mark.usefixtures("panel_as_it_is")
def test_panel_alone_leaves_the_second_message_lying() -> None:
    """The reason for `repair_message_order`: once this fails, Panel has mended it and the function can go."""
    assert _run(_second_while_first_ends()) == ["first content"]


@pytest.mark.usefixtures("panel_as_it_is")
def test_every_message_is_written() -> None:
    repair_message_order()
    assert _run(_second_while_first_ends()) == ["first content", "second content"]


@pytest.mark.usefixtures("panel_as_it_is")
def test_twice_is_once() -> None:
    repair_message_order()
    write = panel_document._dispatch_msgs
    repair_message_order()
    assert panel_document._dispatch_msgs is write


class Written:
    """A message that notes when it is written; the first one takes a while, as a large one does."""

    msgtype = "PATCH-DOC"

    def __init__(self, name: str, into: list[str], *, slow: bool = False) -> None:
        self.name, self.into, self.slow = name, into, slow

    async def send(self, socket: Any) -> None:
        with await socket.write_lock.acquire():
            for _ in range(20 if self.slow else 1):
                await asyncio.sleep(0)
            self.into.append(self.name)


class Busy(SimpleNamespace):
    """A connection, which Panel keeps as the key of what waits."""

    __hash__ = object.__hash__


async def _data_after_its_figure() -> list[str]:
    """Names in the order in which they are written: Panel's figure waits for a busy socket, then Bokeh has its data."""
    doc, into = Document(), []
    socket: Any = SimpleNamespace(write_lock=locks.Lock())
    made = {"figure": Written("figure", into)}
    connection: Any = Busy(_socket=socket, protocol=SimpleNamespace(create=lambda _, events: made[events[0]]))
    busy = asyncio.ensure_future(WSHandler.send_message(socket, Written("large", into, slow=True)))
    await asyncio.sleep(0)
    panel_document.schedule_write_events(doc, [connection], ["figure"])  # type: ignore[list-item]
    await WSHandler.send_message(socket, Written("data", into))
    await busy
    panel_document._WRITE_MSGS.pop(doc, None)
    panel_document._WRITE_BLOCK.pop(doc, None)
    return into


@pytest.mark.usefixtures("panel_as_it_is")
def test_bokeh_alone_writes_data_before_their_figure() -> None:
    """The reason for the second half of `repair_message_order`."""
    assert _run(_data_after_its_figure()) == ["large", "data"]


@pytest.mark.usefixtures("panel_as_it_is")
def test_data_come_after_their_figure() -> None:
    repair_message_order()
    assert _run(_data_after_its_figure()) == ["large", "figure", "data"]
