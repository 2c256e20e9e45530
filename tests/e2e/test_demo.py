"""The demo on screen: how far it is, and three callouts that point at things, once in every browser."""

import garden
import pytest
from playwright.sync_api import expect

from topiary.store import runs
from topiary.store.database import Database, open_database

WIDTHS = [(1400, 900), pytest.param(400, 800, marks=pytest.mark.nightly)]
OVERLAP = """([note, thing]) => {
  const a = note.getBoundingClientRect(), b = thing.getBoundingClientRect()
  const over = Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left))
    * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top))
  return [over, a.left >= 0 && a.right <= innerWidth && a.top >= 0 && a.bottom <= innerHeight]
}"""


def plant_demo(db: Database) -> None:
    """The first run of a gallery, finished, and the second, which trains."""
    row = garden.plant(db)
    runs.rename_run(db, row.number, "demo")
    garden.advance(db, garden.begin(db, row.corpus, "demo, mini-batches"), 200, snapshot=True)


@pytest.fixture(scope="module")
def demo_server(share_server):
    """A server on a store in which a demo is under way."""
    return share_server(plant_demo)


@pytest.fixture
def callout(demo_server, new_page):
    """Open a page of a width and return its callout."""

    def look(width, height, query="page=explore&run=1"):
        page = new_page(width=width, height=height)
        page.goto(f"{demo_server.url}?{query}")
        return page, page.locator("#tp-callout")

    return look


@pytest.mark.nightly
@pytest.mark.parametrize("names", [("explore", "guide"), ("runs", "watch", "documents")])
def test_every_page_says_how_far_the_demo_is(demo_server, page, names):
    for name in names:
        page.goto(f"{demo_server.url}?page={name}")
        strip = page.get_by_role("region", name="Demo")
        expect(strip).to_contain_text("Demo: 1 of 2 runs ready · DLDA by mini-batches is training · about ")
        meter = strip.get_by_role("progressbar")
        assert 30 < int(meter.get_attribute("aria-valuenow")) < 95


@pytest.mark.nightly
def test_the_strip_is_gone_when_nothing_is_under_way(start_server, store_url, page):
    db = open_database(store_url)
    plant_demo(db)
    page.goto(f"{start_server(store_url).url}?page=explore&run=1&picture=tree")
    strip = page.get_by_role("region", name="Demo")
    strip.wait_for()
    runs.finish_run(db, 2, runs.get_run(db, 2).attempt, "finished")
    db.close()
    strip.wait_for(state="detached")


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_three_callouts_point_at_their_things_one_after_the_other(
    callout, width, height, wait_until_quiet, wait_until_laid_out
):
    page, note = callout(width, height)
    expect(note).to_contain_text("Click a topic")
    if width > 760:  # phones have the list
        wait_until_laid_out(page)
    tile = page.locator(".ex-tree .tp-tile" if width > 760 else ".ex-rows button").first
    page.wait_for_timeout(300)  # a callout follows its thing four times a second
    assert page.evaluate(OVERLAP, [note.element_handle(), tile.element_handle()]) == [0, True]
    tile.click(position={"x": 20, "y": 10})
    expect(note).to_contain_text("Read its documents")
    documents = page.locator(".ex-documents")
    assert page.evaluate(OVERLAP, [note.element_handle(), documents.element_handle()]) == [0, True]
    note.get_by_role("button", name="Got it").click()
    expect(note).to_contain_text("Add your own")
    link = page.locator(".tp-nav [data-page='runs']")
    assert page.evaluate(OVERLAP, [note.element_handle(), link.element_handle()]) == [0, True]
    link.click()
    page.get_by_role("button", name="Add documents").wait_for()
    expect(note).to_be_hidden()
    page.reload()
    page.get_by_role("button", name="Add documents").wait_for()
    wait_until_quiet(page)
    expect(note).to_be_hidden()


def test_the_keys_reach_a_callout_and_escape_closes_it(callout):
    page, note = callout(*WIDTHS[0])
    expect(note).to_contain_text("Click a topic")
    page.keyboard.press("Tab")
    expect(note.get_by_role("button", name="Got it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(note).to_contain_text("Read its documents")
    page.reload()
    expect(note).to_contain_text("Read its documents")
    page.keyboard.press("Escape")
    expect(note).to_contain_text("Add your own")
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


@pytest.mark.nightly
def test_other_runs_have_no_callouts(shared_server, page, wait_until_laid_out):
    page.goto(f"{shared_server.url}?page=explore&run=1&picture=tree")
    page.locator(".tp-node").first.wait_for()
    wait_until_laid_out(page)
    expect(page.locator("#tp-callout")).to_be_hidden()
    assert page.get_by_role("region", name="Demo").count() == 0


@pytest.mark.nightly
def test_the_search_is_in_the_address_and_comes_back_with_it(shared_server, page):
    page.goto(f"{shared_server.url}?page=explore&run=1&picture=tree")
    page.get_by_role("searchbox").fill("rose")
    page.locator(".ex-note").first.wait_for()
    page.wait_for_function("() => location.search.includes('search=rose')")
    page.reload()
    page.locator(".ex-note").first.wait_for()
    expect(page.get_by_role("searchbox")).to_have_value("rose")
