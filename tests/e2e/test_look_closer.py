"""In a real browser: from a topic's panel to a queued run on its documents and back, and a table as a download."""

from pathlib import Path

import garden
import pytest
from playwright.sync_api import expect
from trend_samples import DOCUMENTS, plant_trends

from topiary.store.database import open_database


@pytest.mark.nightly
def test_a_topic_is_refined_by_a_queued_run_and_a_table_is_downloaded(
    store_url, start_server, page, monkeypatch, choose
):
    monkeypatch.setenv("TOPIARY_WORKERS", "1")
    db = open_database(store_url)
    origin = plant_trends(db)
    garden.begin(db, origin.corpus, "takes the only place")  # so that the new run stays queued
    db.close()
    server = start_server(store_url)
    page.goto(f"{server.url}?page=explore&run=1&layer=3&topic=1&tab=more")
    section = page.locator(".ex-closer")
    expect(section).to_contain_text(f"Of {DOCUMENTS} documents")
    section.get_by_role("combobox").select_option(label="50% of it: 200 documents, 10,000 words")
    section.get_by_role("button", name="Train a run on these").click()
    link = section.get_by_role("link", name="Refined in run 3")
    expect(link).to_be_visible()
    expect(section).to_contain_text("200 documents with at least 50% of the topic · waiting")
    with page.expect_download() as downloading:
        choose(page, "Save", "Table")
        dialog = page.get_by_role("dialog", name="Save a table")
        dialog.get_by_label("Table").select_option("groups")
        dialog.get_by_role("button", name="Save").click()
    assert downloading.value.suggested_filename == "topiary-run-1-groups.csv"
    table = Path(downloading.value.path()).read_text(encoding="utf-8")
    assert table.startswith("topic,title,share,low,high,group,")
    link.click()
    page.wait_for_url("**run=3**")
    assert server.complaints == []
