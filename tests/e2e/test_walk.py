"""An analyst's walk by page: a raw table with dates and a category becomes topics over time, by group and a report."""

import re

import pytest
from orchard import wait_for
from playwright.sync_api import expect
from speeches import PARTIES, THEMES, write_speeches

from store import runs
from store.database import open_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PARAGRAPHS = 5  # of a year
BUSY = 150_000  # milliseconds; reading files and training take seconds of a processor that others may use


def make_corpus(page, url, path):
    """Choose a file on the page of a new corpus, and make a corpus of it."""
    page.goto(url)
    page.get_by_role("button", name="Add documents").click()
    page.get_by_label("Choose files").set_input_files(path)
    page.get_by_role("group", name="What came in").get_by_text(f"{100 * PARAGRAPHS} documents").first.wait_for()
    page.get_by_role("button", name="Make a corpus").click()
    page.get_by_role("button", name="New run on it").click()


def train(page, store):
    """Start a small run by the form and wait until it has ended."""
    page.get_by_text("All settings").click()
    page.get_by_label("Topics per layer").fill("12-6")
    page.get_by_label("Steps", exact=True).fill("60")
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url("**page=watch**")
    db = open_database(store)
    wait_for(db, 1, lambda row: row.state == "finished")
    assert runs.get_run(db, 1).layers == (12, 6)
    db.close()


def read_titles(page):
    """The topics that the table of groups lists."""
    page.locator(".tr-heat").wait_for()
    return page.locator(".tr-heat tbody th button").all_inner_texts()


def test_a_raw_table_becomes_a_report_by_page(start_server, store_url, page, new_page, guard, tmp_path):
    page.set_default_timeout(BUSY)
    server = start_server(store_url)
    make_corpus(page, server.url, write_speeches(tmp_path / "speeches.csv", PARAGRAPHS))
    train(page, store_url)

    page.get_by_role("link", name="Trends").click()
    page.locator(".tr-chart").wait_for()
    grown = page.locator(".tr-card").filter(has=page.get_by_role("heading", name="What grew"))
    assert any(word in grown.inner_text() for word in THEMES["clinics"].words.split())
    page.get_by_role("button", name="By group").click()
    titles = read_titles(page)
    assert len(titles) == 6
    assert page.locator(".tr-heat thead th").all_inner_texts()[1:] == list(PARTIES)

    page.get_by_role("combobox", name="Column of the filter").select_option("date")
    page.get_by_label("Value", exact=True).fill("1950..")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_text(f"{50 * PARAGRAPHS} of {100 * PARAGRAPHS} documents").wait_for()
    assert "1950.." in page.url

    page.get_by_role("link", name="Explore").click()
    page.locator(".tp-node").first.wait_for()
    with page.expect_download() as download:
        page.get_by_label("Save the tree as").select_option("report")
    path = tmp_path / "report.html"
    download.value.save_as(path)
    guard.local = (*guard.local, "file://")
    report, asked = new_page(), []
    report.on("request", lambda request: asked.append(request.url))
    report.goto(path.as_uri())
    expect(report.locator("#layer-2 article")).to_have_count(6)
    assert sorted(report.locator("#layer-2 h3").all_inner_texts()) == sorted(titles)
    assert report.locator("blockquote").count() > 6
    assert [url for url in asked if not re.match(r"data:|file://.*report\.html", url)] == []
    assert server.complaints == []
