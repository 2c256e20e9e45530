"""The main job on a phone of 400 pixels: nothing that one asks for comes off the screen."""

import pytest

WIDTH, HEIGHT = 400, 800
INSIDE = """it => {
  const box = it.getBoundingClientRect()
  return box.width > 0 && box.left >= 0 && box.right <= innerWidth + 1 && box.top >= 0 && box.top < innerHeight - 60
}"""
SCROLLED = """() => [...document.querySelectorAll("*")]
  .map(each => each.shadowRoot?.querySelector(".main-content")).find(Boolean).scrollTop"""


@pytest.fixture
def phone(shared_server, new_page):
    """A page of a phone on the planted store."""
    page = new_page(width=WIDTH, height=HEIGHT)
    page.base = shared_server.url
    return page


def inside(place):
    """Whether a place begins in the window, once the page has come to rest (it is scrolled to, softly)."""
    return becomes(place, INSIDE)


def becomes(place, what):
    """Whether this comes to hold of a place within seconds, also where the page draws the place anew meanwhile."""
    place.wait_for()
    for _ in range(100):
        if place.evaluate(what):
            return True
        place.page.wait_for_timeout(50)
    return False


def test_from_a_search_to_a_topic_its_details_and_a_document_nothing_lies_off_the_screen(phone):
    phone.goto(f"{phone.base}?page=explore&run=1&picture=tree")
    phone.locator(".ex-rows button").first.wait_for()
    field = phone.get_by_role("searchbox")
    assert inside(field)
    assert inside(phone.locator(".ex-rows button").first)
    field.fill("rose")
    found = phone.locator(".ex-topic").first
    found.locator(".ex-note").wait_for()
    assert inside(found)
    found.click()
    detail = phone.locator(".ex-side .ex-name")
    assert inside(detail)
    document = phone.locator(".ex-three button").first
    document.click()
    assert becomes(phone.locator(".dc-answer"), "it => it.getBoundingClientRect().top < 0.6 * innerHeight")


def test_details_are_closed_by_their_button(phone):
    phone.goto(f"{phone.base}?page=explore&run=1&layer=1&topic=1")
    close = phone.get_by_role("button", name="Close the details")
    assert inside(close)
    close.click()
    phone.wait_for_function("() => !location.search.includes('topic=')")


def test_a_row_opens_the_panel_of_its_topic_and_view_draws_the_tree(phone, choose):
    phone.goto(f"{phone.base}?page=explore&run=1")
    row = phone.locator(".ex-rows button").first
    assert inside(row)
    row.click()
    assert inside(phone.locator(f".ex-detail[data-key='{row.get_attribute('data-id')}'] .ex-name"))
    phone.get_by_role("button", name="Close the details").click()
    choose(phone, "View", "Tree")
    phone.locator(".ex-rows [style*='--deep:1']").first.wait_for()


def test_another_page_begins_at_its_top_and_other_results_at_the_first(shared_server, new_page):
    page = new_page(width=1300, height=500)
    page.goto(f"{shared_server.url}?page=guide")
    page.get_by_text("What Topiary does").first.wait_for()
    page.mouse.move(650, 300)
    page.mouse.wheel(0, 900)
    page.wait_for_function(f"() => ({SCROLLED})() > 100")
    page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name="Runs").click()
    page.get_by_text("1 in this store").wait_for()
    page.wait_for_function(f"() => ({SCROLLED})() === 0")
    page.goto(f"{shared_server.url}?page=explore&run=1&picture=tree&tab=list")
    board = page.locator(".ex-list")
    page.locator(".ex-topic").first.wait_for()
    for name, height in (("min-height", "0"), ("height", "200px")):
        board.evaluate(f"it => it.style.setProperty('{name}', '{height}', 'important')")
    board.evaluate("it => { it.scrollTop = 9999 }")
    assert board.evaluate("it => it.scrollTop") > 0
    page.get_by_role("searchbox").fill("rose")
    page.locator(".ex-note").first.wait_for()
    page.wait_for_function("it => it.scrollTop === 0", arg=board.element_handle())
