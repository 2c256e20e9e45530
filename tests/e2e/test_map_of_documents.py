"""The map of documents in a browser: its points, a line and what it selects, a topic from the tree, keys, a phone."""

import pytest
from trend_samples import DOCUMENTS, plant_map


@pytest.fixture(scope="session")
def map_server(share_server):
    return share_server(plant_map)


def open_map(server, page):
    page.goto(f"{server.url}?page=documents&run=1&tab=map")
    page.wait_for_selector(f".dm-stage[data-shown='{DOCUMENTS}']")
    page.wait_for_selector(".dm-help")
    page.wait_for_selector(".dm-legend")


def measure_map(page):
    """Where the map is, once all parts of the page have their places."""
    before, now = None, page.locator(".dm-points").bounding_box()
    while now != before:
        page.wait_for_timeout(300)
        before, now = now, page.locator(".dm-points").bounding_box()
    return now["x"], now["y"], now["width"], now["height"]


def test_a_line_selects_documents_and_the_address_keeps_them(map_server, page):
    open_map(map_server, page)
    assert page.locator(".dm-caption:visible").count() >= 2
    left, top, width, height = measure_map(page)
    page.keyboard.down("Shift")
    page.mouse.move(left + 30, top + 30)
    page.mouse.down()
    for x, y in ((width / 2, 30), (width / 2, height - 30), (30, height - 30)):
        page.mouse.move(left + x, top + y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_selector(".dm-docs li")
    told = page.locator(".dm-card h3").inner_text()
    number = int(told.split()[0])
    assert 0 < number < DOCUMENTS
    assert page.locator(".dm-live").inner_text() == f"{number} documents selected"
    assert page.locator(".dm-topics li").count() >= 1
    page.reload()
    page.wait_for_selector(".dm-docs li")
    assert page.locator(".dm-card h3").inner_text() == told
    page.locator(".dm-open").first.click()
    page.wait_for_selector(".dc-reader")


def test_keys_select_what_is_on_screen_and_clear_it(map_server, page):
    open_map(map_server, page)
    page.locator(".dm-points").focus()
    page.keyboard.press("s")
    page.wait_for_selector(".dm-acts")
    assert page.locator(".dm-card h3").inner_text().endswith(f"of {DOCUMENTS} documents")
    page.locator(".dm-points").focus()
    page.keyboard.press("Escape")
    page.wait_for_selector(".dm-help")


def test_a_topic_leads_from_the_tree_to_its_documents_and_back_on_a_phone(map_server, new_page):
    page = new_page(width=400, height=800)
    page.goto(f"{map_server.url}?page=explore&run=1&layer=1&topic=1&tab=more")
    page.locator("[data-do='map']").click()
    page.wait_for_selector(".dm-acts")
    page.wait_for_selector(f".dm-stage[data-shown='{DOCUMENTS}']")
    assert "topic=1" in page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator("[data-do='explore']").click()
    page.wait_for_selector(".ex-detail")
