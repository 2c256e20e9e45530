"""The map of documents in a browser: its points, a line and what it selects, a topic from the tree, keys, a phone."""

import pytest
from trend_samples import DOCUMENTS, plant_map


@pytest.fixture(scope="session")
def map_server(share_server):
    return share_server(plant_map)


def open_map(server, page):
    page.goto(f"{server.url}?page=documents&run=1&tab=map")
    page.wait_for_selector(f".dm-stage[data-shown='{DOCUMENTS}']")
    page.wait_for_selector(".dm-table tr[data-point]")


def measure_map(page):
    """Where the map is, once all parts of the page have their places."""
    before, now = None, page.locator(".dm-points").bounding_box()
    while now != before:
        page.wait_for_timeout(300)
        before, now = now, page.locator(".dm-points").bounding_box()
    return now["x"], now["y"], now["width"], now["height"]


def read_selection(page):
    """How many documents are selected, once the sentence and the table say the same."""
    told = ()
    for _ in range(200):
        told = {page.locator(place).first.inner_text().split()[0] for place in (".ex-answer em", ".dm-card h2")}
        if len(told) == 1:
            break
        page.wait_for_timeout(50)
    (number,) = told
    return int(number)


def test_a_line_a_caption_and_a_filter_select_in_map_table_and_sentence_and_the_address_keeps_them(map_server, page):
    open_map(map_server, page)
    assert read_selection(page) == DOCUMENTS
    assert page.locator(".dm-caption:visible").count() == 2
    left, top, width, height = measure_map(page)
    page.keyboard.down("Shift")
    page.mouse.move(left + 5, top + 5)
    page.mouse.down()
    for x, y in ((width / 2, 5), (width / 2, height - 5), (5, height - 5)):
        page.mouse.move(left + x, top + y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_url("**where=map:**")
    page.locator(".ex-answer", has_text="inside the line").wait_for()
    number = read_selection(page)
    assert 0 < number < DOCUMENTS
    page.locator(".dm-table tr[data-point]").first.hover()
    assert page.locator(".dm-ring").is_visible()
    page.reload()
    page.locator(".ex-answer", has_text="inside the line").wait_for()
    page.wait_for_selector(".dm-table tr[data-point]")
    assert read_selection(page) == number
    page.locator(".fl-chip").click()
    page.locator(".dm-caption:visible").first.click()
    page.locator(".ex-answer", has_text="as their strongest topic").wait_for()
    assert page.locator(".dm-caption[aria-selected=true] small").inner_text() == f"{read_selection(page)} documents"
    page.get_by_label("First day").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**day%3D2004-**")
    page.locator(".ex-answer", has_text="fit the filters").wait_for()
    page.locator(".dm-table a").first.click()
    page.wait_for_selector(".dc-reader")


def test_keys_select_what_is_on_screen_and_clear_it(map_server, page):
    open_map(map_server, page)
    page.locator(".dm-points").focus()
    page.keyboard.press("s")
    page.locator(".ex-answer", has_text="inside the line").wait_for()
    assert read_selection(page) == DOCUMENTS
    page.locator(".dm-points").focus()
    page.keyboard.press("Escape")
    page.locator(".ex-answer", has_text="most often their strongest topic").wait_for()


@pytest.mark.nightly
def test_a_topic_leads_from_the_tree_to_its_documents_and_back_on_a_phone(map_server, new_page):
    page = new_page(width=390, height=844)
    page.goto(f"{map_server.url}?page=explore&run=1&layer=1&topic=1&tab=more")
    page.locator("[data-do='map']").click()
    page.wait_for_selector(f".dm-stage[data-shown='{DOCUMENTS}']")
    page.locator(".fl-chip", has_text="20% or more").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("[data-do='explore']").click()
    page.wait_for_selector(".ex-detail")
