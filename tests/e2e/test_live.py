"""While a run writes, open pages follow; the server may come and go."""

import json

import garden
import numpy as np
import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import InnerServer
from topiary.app.machine import find_asset
from topiary.store import corpora, runs
from topiary.store.database import open_database
from topiary.store.points import Point

CODE = {
    name: json.dumps(find_asset(f"js/{name}.js").read_text(encoding="utf-8")) for name in ("log_ticks", "log_labels")
}
LENGTH = """() => Math.max(0, ...[...(Bokeh.documents[0]?.all_models ?? [])]
    .filter(model => model.type === "ColumnDataSource" && model.data.value && !model.data.low)
    .map(model => model.data.value.length))"""

SENT = """window.sent = []
const send = WebSocket.prototype.send
WebSocket.prototype.send = function (data) {
    if (String(data).startsWith('{"events"')) { sent.push(data) }
    return send.call(this, data)
}"""


@pytest.fixture
def writer(planted):
    """The database opened as a worker would, and a run that this process claims to train."""
    db = open_database(planted)
    row = garden.begin(db, corpora.list_corpora(db)[0].number, "growing")
    for minibatch in range(10, 101, 10):
        garden.advance(db, row, minibatch, snapshot=minibatch == 100)
    yield db, row
    db.close()


def test_a_new_snapshot_and_new_points_reach_an_open_page_and_its_zoom_stays(start_server, planted, writer, page):
    db, row = writer
    server = start_server(planted)
    page.goto(f"{server.url}?page=watch&run={row.number}")
    page.get_by_text("latest · mini-batch 100").wait_for()
    page.wait_for_function(f"() => ({LENGTH})() === 10")
    garden.advance(db, row, 110, snapshot=True)
    page.get_by_text("latest · mini-batch 110").wait_for()
    page.wait_for_function(f"() => ({LENGTH})() === 11")
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
    for minibatch in range(120, 151, 10):
        garden.advance(db, row, minibatch)
    page.wait_for_function(f"() => ({LENGTH})() >= 15")
    assert page.evaluate(read) == [20, 60]


@pytest.mark.nightly
@pytest.mark.parametrize("side", ["light", "dark"])
def test_figures_come_as_the_theme_wants_them(start_server, planted, writer, page, side):
    _, row = writer
    server = start_server(planted)
    page.context.add_cookies([{"name": "topiary_theme", "value": side, "url": server.url}])
    page.add_init_script(SENT)
    page.goto(f"{server.url}?page=watch&run={row.number}")
    page.wait_for_function("() => sent.some(each => each.includes('--highlight-color'))")  # the theme was there
    page.wait_for_timeout(500)
    told = [event for each in page.evaluate("() => sent") for event in json.loads(each)["events"]]
    changed = {event["attr"] for event in told if event["kind"] == "ModelChanged"}
    assert not {name for name in changed if name.startswith(("axis_", "major_", "grid_")) or name.endswith("_color")}


def test_a_chart_says_what_it_waits_for_until_there_is_a_curve(start_server, planted, page):
    db = open_database(planted)
    row = garden.begin(db, corpora.list_corpora(db)[0].number, "early")
    page.goto(f"{start_server(planted).url}?page=watch&run={row.number}")
    waiting = page.get_by_text("The curve begins with the second evaluation.")
    expect(waiting).to_have_count(3, timeout=30_000)
    charts = page.locator(".bk-Figure:visible")
    assert charts.count() == 0  # no bare toolbar either
    for minibatch in (10, 20):
        garden.advance(db, row, minibatch)
    expect(waiting).to_have_count(0, timeout=60_000)
    expect(charts).to_have_count(3, timeout=30_000)
    assert all(chart.bounding_box()["width"] > 300 for chart in charts.all())
    db.close()


@pytest.mark.nightly
def test_charts_of_rarer_measures_look_like_the_others_and_stand_above_what_happened(
    start_server, planted, writer, page
):
    db, row = writer
    page.goto(f"{start_server(planted).url}?page=watch&run={row.number}")
    charts = page.locator(".bk-Figure:visible")
    expect(charts).to_have_count(3, timeout=30_000)
    for minibatch in (110, 120):
        found = [Point(minibatch, minibatch, 1.0, name, 0, -minibatch) for name in ("label_error", "elbo")]
        runs.record_progress(db, row.number, row.attempt, minibatch=minibatch, seconds=1.0, points=found)
    expect(charts).to_have_count(5, timeout=30_000)
    page.wait_for_function(
        """() => new Set([...Bokeh.documents[0].all_models].filter(model => model.type === "LinearAxis")
            .map(axis => [axis.major_label_text_font, axis.axis_label_text_font_style].join())).size === 1""",
        timeout=60_000,
    )
    cards = [chart.bounding_box() for chart in charts.all()]
    below = page.get_by_role("heading", name="What happened").bounding_box()["y"]
    assert max(card["y"] + card["height"] for card in cards) < below


@pytest.mark.parametrize(("low", "high"), [(3.4e-4, 3.9e-4), (1e-5, 8e-4), (2e-4, 1.4e-3), (1e-7, 0.2), (1e-12, 1.0)])
def test_labels_of_a_log_axis_never_crowd(chromium, low, high):
    page = chromium.new_page()
    ticks = page.evaluate(f"new Function('cb_data', {CODE['log_ticks']})({{range: {{start: {low}, end: {high}}}}})")
    assert 2 <= len(ticks) <= 10
    gaps = np.diff(np.log(ticks)) / np.log(high / low)
    assert gaps.min() > 0.06  # of 260 pixels
    labels = page.evaluate(f"ticks => ticks.map(tick => new Function('tick', {CODE['log_labels']})(tick))", ticks)
    assert len(set(labels)) == len(labels)
    assert all(len(label) <= 9 and "e" not in label for label in labels)
    page.close()


def test_a_page_comes_back_to_its_view_when_the_server_was_restarted(start_server, planted, page, guard):
    first = InnerServer(planted)
    page.goto(f"{first.url}?page=guide&tab=watch")
    page.get_by_role("heading", name="The strip of numbers").wait_for()
    first.stop()
    page.get_by_text("The server is not answering").wait_for()
    assert start_server(planted).url == first.url
    page.get_by_text("The server is not answering").wait_for(state="detached", timeout=30_000)
    page.get_by_role("heading", name="The strip of numbers").wait_for()
    assert "page=guide" in page.url
    assert "tab=watch" in page.url


@pytest.mark.nightly
def test_five_open_tabs_never_lock_the_writer(start_server, planted, writer, new_page):
    db, row = writer
    server = start_server(planted)
    pages = [new_page() for _ in range(5)]
    for each, name in zip(pages, ("watch", "runs", "explore", "watch", "runs"), strict=True):
        each.goto(f"{server.url}?page={name}&run={row.number}")
    for minibatch in range(110, 311, 2):  # any "database is locked" raises here
        garden.advance(db, row, minibatch, snapshot=minibatch % 20 == 0)
    pages[0].get_by_text("latest · mini-batch 300").wait_for()
    assert runs.get_run(db, row.number).minibatch == 310
    assert server.complaints == []


@pytest.mark.nightly
def test_a_server_on_a_taken_port_says_so_in_one_sentence(start_process, planted):
    first = start_process(planted)
    with pytest.raises(AssertionError, match=f"port {first.port} of 127.0.0.1 is taken"):
        start_process(planted, first.port)


@pytest.mark.nightly
def test_until_there_are_topics_the_page_says_what_one_waits_for_and_then_shows_them(
    start_server, planted, writer, page
):
    db, _ = writer
    row = garden.begin(db, 1, "without topics yet")
    server = start_server(planted)
    page.goto(f"{server.url}?page=explore&run={row.number}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Your first topics appear in about")
    expect(page.locator(".wt-steps li")).to_have_count(3)
    assert page.locator(".wt-page :is(button, a, input, select)").count() == 0
    garden.advance(db, row, 10, snapshot=True)
    expect(page.locator(".tp-tile").first).to_be_visible()
    expect(page.locator(".wt-page")).to_have_count(0)
    assert server.complaints == []
