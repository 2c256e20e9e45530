"""The film in a browser: it plays on Explore and Watch without filling the history, and plays from a file."""

import garden
import pytest
from playwright.sync_api import expect

from topiary.store import runs
from topiary.store.database import Database

KEPT = (10, 20, 30, 40, 50, 60, 400)


def plant(db: Database) -> None:
    """A finished run of seven snapshots."""
    row = garden.begin(db, garden.corpus(db).number, "first spring")
    for minibatch in KEPT:
        garden.advance(db, row, minibatch, snapshot=True)
    runs.finish_run(db, row.number, row.attempt, "finished")


@pytest.fixture(scope="module")
def server(share_server):
    return share_server(plant)


def test_it_plays_on_explore_to_the_end_and_back_leads_to_where_it_began(server, moving, wait_until_quiet):
    page = moving
    page.goto(f"{server.url}?page=explore&run=1&picture=tree")
    page.locator(".tp-node").first.wait_for()
    bar = page.locator(".fm-bar")
    expect(bar.locator(".fm-place")).to_have_text("Mini-batch 400")
    wait_until_quiet(page)
    before = page.evaluate("history.length")
    bar.get_by_role("button", name="Play").click()
    page.wait_for_function("() => location.search.includes('snapshot=')")
    expect(bar.locator(".fm-place")).to_have_text("Mini-batch 400")
    expect(bar.get_by_role("button", name="Play")).to_be_visible()
    page.wait_for_function("() => !location.search.includes('snapshot=')")
    assert page.evaluate("history.length") <= before + 1


@pytest.mark.nightly
def test_keys_move_the_cursor(server, page, wait_until_quiet):
    page.goto(f"{server.url}?page=watch&run=1")
    bar = page.locator(".fm-bar")
    slider = bar.get_by_role("slider", name="Snapshot")
    expect(bar.locator(".fm-place")).to_have_text("Mini-batch 400")
    wait_until_quiet(page)
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text("pinned at mini-batch 10").wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_text("pinned at mini-batch 20").wait_for()
    expect(slider).to_have_attribute("aria-valuetext", "Mini-batch 20, snapshot 2 of 7")


@pytest.mark.nightly
def test_the_saved_file_plays_without_the_server(server, page, new_page, guard, tmp_path, wait_until_quiet, choose):
    page.goto(f"{server.url}?page=explore&run=1&picture=tree")
    page.locator(".tp-node").first.wait_for()
    wait_until_quiet(page)
    with page.expect_download() as download:
        choose(page, "Film", "Save film")
    path = tmp_path / "film.html"
    download.value.save_as(path)
    guard.local = (*guard.local, "file://")
    film = new_page()
    film.emulate_media(reduced_motion="no-preference")
    film.goto(path.as_uri())
    film.wait_for_function("() => document.body.dataset.shown === '6'")  # it plays by itself
    expect(film.locator("#place")).to_have_text("Mini-batch 400")
    assert film.locator("#tree svg [data-id]").count() > 1
    film.get_by_role("slider", name="Snapshot").press("Home")
    expect(film.locator("#place")).to_have_text("Mini-batch 10")
