"""Nothing of a session that is over is kept."""

import asyncio
import importlib.util
from types import SimpleNamespace

import garden
import panel as pn
import pytest
from bokeh.document import Document
from bokeh.document.callbacks import invoke_with_curdoc
from bokeh.io import doc as current_document
from panel.io.state import set_curdoc

from app.live.actions import Actions
from app.live.feed import Feed
from app.server.forgetting import forget, hang_up, restore_documents
from app.server.visit import Shell, Site


def test_only_the_notes_about_that_document_go(monkeypatch):
    one, other = Document(), Document()
    views = {"a": (None, None, one, None), "b": (None, None, other, None), "c": (None, None, one, None)}
    monkeypatch.setattr(pn.state, "_views", views, raising=False)
    forget(one)
    assert list(views) == ["b"]


def followers():
    """How many things follow whether the server is busy."""
    return len(pn.state.param.watchers.get("busy", {}).get("value", []))


def test_no_page_follows_the_server_once_its_session_is_over(db):
    garden.plant(db)
    feed = Feed(db)
    feed.look_now()
    site = Site(db, feed, Actions(db.url, feed), {})

    async def visit():
        document = Document()
        with set_curdoc(document):
            shell = Shell(site, "?page=runs", dark=False)
            shell.page.server_doc(document)
        for call in document.session_destroyed_callbacks:
            call(SimpleNamespace(_document=document, id="1", server_context=None))
        shell.close()
        forget(document)
        return [view for view in pn.state._views.values() if view[2] is document]

    before = followers()
    left = asyncio.run(visit())
    feed.stop()
    assert followers() == before
    assert left == []


def test_a_browser_is_cut_off_at_once():
    cut = []
    stream = SimpleNamespace(close=lambda: cut.append("stream"))
    socket = SimpleNamespace(close=lambda: cut.append("socket"), ws_connection=SimpleNamespace(stream=stream))
    gone = SimpleNamespace(close=lambda: cut.append("gone"), ws_connection=None)
    session = SimpleNamespace(_subscribed_connections=[SimpleNamespace(_socket=each) for each in (socket, gone)])
    hang_up(SimpleNamespace(session_context=SimpleNamespace(session=session)))
    assert sorted(cut) == ["gone", "socket", "stream"]
    hang_up(Document())  # of no session


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
    restore_documents()
    with pytest.raises(ValueError, match=r"^$"):
        invoke_with_curdoc(Document(), fail)
    assert current_document._PATCHED_CURDOCS == []
