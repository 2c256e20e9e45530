"""While a run writes, open pages follow; the server may come and go."""

import garden
import pytest

from store import corpora, runs
from store.database import open_database

LENGTH = """() => Math.max(0, ...[...(Bokeh.documents[0]?.all_models ?? [])]
    .filter(model => model.type === "ColumnDataSource" && model.data.value && !model.data.low)
    .map(model => model.data.value.length))"""


@pytest.fixture
def writer(planted):
    """The database opened as a worker would, and a run that this process claims to train."""
    db = open_database(planted)
    row = garden.begin(db, corpora.every(db)[0].number, "growing")
    for minibatch in range(10, 101, 10):
        garden.advance(db, row, minibatch, snapshot=minibatch == 100)
    yield db, row
    db.close()


def test_a_new_snapshot_and_new_points_reach_an_open_page(start_server, planted, writer, page):
    db, row = writer
    server = start_server(planted)
    page.goto(f"{server.url}?page=watch&run={row.number}")
    page.get_by_text("mini-batch 100").wait_for()
    page.wait_for_function(f"() => ({LENGTH})() === 40 || ({LENGTH})() >= 10")
    garden.advance(db, row, 110, snapshot=True)
    page.get_by_text("mini-batch 110").wait_for(timeout=10_000)
    page.wait_for_function(f"() => ({LENGTH})() >= 11", timeout=10_000)


def test_zoom_stays_while_points_arrive(start_server, planted, writer, page):
    db, row = writer
    page.goto(f"{start_server(planted).url}?page=watch&run={row.number}")
    page.wait_for_function(f"() => ({LENGTH})() >= 10")
    zoomed = """() => {
        const plot = [...Bokeh.documents[0].all_models].find(m => m.type === "Figure")
        plot.x_range.setv({start: 20, end: 60})
        plot.x_range.have_updated_interactively = true
        return [plot.x_range.start, plot.x_range.end]
    }"""
    read = """() => {
        const plot = [...Bokeh.documents[0].all_models].find(m => m.type === "Figure")
        return [plot.x_range.start, plot.x_range.end]
    }"""
    assert page.evaluate(zoomed) == [20, 60]
    for minibatch in range(110, 141, 10):
        garden.advance(db, row, minibatch)
    page.wait_for_function(f"() => ({LENGTH})() >= 14", timeout=15_000)
    assert page.evaluate(read) == [20, 60]


def test_a_page_comes_back_to_its_view_when_the_server_was_restarted(start_server, planted, page, guard):
    first = start_server(planted)
    page.goto(f"{first.url}?page=guide&tab=watch")
    page.get_by_role("heading", name="The strip of numbers").wait_for()
    port = first.port
    assert first.stop() == 0
    page.get_by_text("The server is not answering").wait_for()
    start_server(planted, port)
    page.get_by_text("The server is not answering").wait_for(state="detached", timeout=30_000)
    page.get_by_role("heading", name="The strip of numbers").wait_for()
    assert "page=guide" in page.url
    assert "tab=watch" in page.url


def test_five_open_tabs_never_lock_the_writer(start_server, planted, writer, new_page):
    db, row = writer
    server = start_server(planted)
    pages = [new_page() for _ in range(5)]
    for each, name in zip(pages, ("watch", "runs", "explore", "watch", "runs"), strict=True):
        each.goto(f"{server.url}?page={name}&run={row.number}")
    for minibatch in range(110, 311, 2):  # any "database is locked" raises here
        garden.advance(db, row, minibatch, snapshot=minibatch % 20 == 0)
    pages[0].get_by_text("mini-batch 300").wait_for(timeout=15_000)
    assert runs.get(db, row.number).minibatch == 310
    assert server.complaints == []


def test_a_server_on_a_taken_port_says_so_in_one_sentence(start_server, planted):
    first = start_server(planted)
    with pytest.raises(AssertionError, match=f"port {first.port} of 127.0.0.1 is taken"):
        start_server(planted, first.port)
