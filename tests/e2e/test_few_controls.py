"""How much stands on Explore at once: controls, elements, and texts too small to be read."""

import pytest
from playwright.sync_api import expect
from trend_samples import plant_trends

from topiary.store.database import open_database

# A control is what can be clicked or typed in and is on screen.  What is in a tree, a grid or a list of options is one
# control together: it has one stop of the Tab key, and arrows move in it.
FOUND = """least => {
  const seen = each => {
    const box = each.getBoundingClientRect(), style = getComputedStyle(each)
    const isFolded = each.closest("details:not([open]) > :not(summary)") !== null
    return box.width > 1 && box.height > 1 && box.right > 0 && style.visibility !== "hidden" && !isFolded
  }
  const WIDGET = "[role=tree], [role=grid], [role=listbox], [role=tablist]"
  const CONTROL = "button, select, input, textarea, a[href], summary, [role=button]"
  const found = {controls: [], nodes: 0, small: []}
  const widgets = new Set()
  const walk = root => {
    for (const each of root.querySelectorAll("*")) {
      found.nodes += 1
      if (each.shadowRoot) { walk(each.shadowRoot) }
      if (each.matches(CONTROL) && seen(each)) {
        const widget = each.closest(WIDGET)
        if (!widget) { found.controls.push((each.getAttribute("aria-label") ?? each.textContent).trim().slice(0, 30)) }
      }
      if (each.matches(WIDGET) && seen(each) && !widgets.has(each)) {
        widgets.add(each)
        found.controls.push(`all of ${each.getAttribute("aria-label")}`)
      }
      const text = [...each.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.textContent.trim())
      if (text && !/^(STYLE|SCRIPT|TITLE|OPTION)$/i.test(each.nodeName) && seen(each)) {
        const scale = each.ownerSVGElement ? each.getScreenCTM().a : 1
        const size = scale * parseFloat(getComputedStyle(each).fontSize)
        if (size < least - 0.05) { found.small.push(`${size.toFixed(1)} px: ${each.textContent.trim().slice(0, 30)}`) }
      }
    }
  }
  walk(document)
  return found
}"""
LEAST = 12  # pixels of the smallest text


@pytest.fixture
def opened(start_server, store_url, new_page):
    """The first view of a run with dates and groups, its panel complete."""

    def open_page(width, query=""):
        page = new_page(width=width, height=900)
        page.goto(f"{server.url}?page=explore&run=1{query}")
        return page

    db = open_database(store_url)
    plant_trends(db)
    db.close()
    server = start_server(store_url)
    return open_page


def look(page, most_controls, most_nodes, least=LEAST):
    """What is too much, or too small, on a page."""
    found = page.evaluate(FOUND, least)
    controls, nodes = found["controls"], found["nodes"]
    wrong = [f"{len(controls)} controls: {controls}"] if len(controls) > most_controls else []
    return [*wrong, *([f"{nodes} elements"] if nodes > most_nodes else []), *found["small"]]


def test_the_first_view_has_few_controls_and_no_small_text_with_a_menu_open_too(opened, wait_until_quiet):
    page = opened(1400)
    expect(page.locator(".ex-two-up section")).to_have_count(2)
    expect(page.locator(".ex-three button")).to_have_count(3)
    wait_until_quiet(page)
    assert look(page, 35, 900) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    for menu in ("View", "Save"):
        page.get_by_role("button", name=menu, exact=True).click()
        expect(page.locator(f"#{menu.lower()}-menu")).to_be_visible()
        assert look(page, 40, 900) == []
        page.keyboard.press("Escape")
    for most, nodes, least, what in ((20, 1000, 12, "controls"), (35, 500, 12, "elements"), (35, 1000, 13, "px")):
        assert what in "".join(look(page, most, nodes, least))  # each of them can be found
    page.get_by_role("button", name="Tree", exact=True).click()
    page.locator(".tp-edge").first.wait_for()
    wait_until_quiet(page)
    assert look(page, 35, 1100) == []


@pytest.mark.nightly
def test_a_phone_has_fewer_still(opened, wait_until_quiet):
    page = opened(390)
    page.locator(".ex-rows button").first.wait_for()
    wait_until_quiet(page)
    assert look(page, 22, 900) == []


def test_menus_open_by_keys_and_escape_gives_the_focus_back(opened):
    page = opened(1400)
    page.locator(".tp-tile").first.wait_for()
    view = page.get_by_role("button", name="View", exact=True)
    view.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#view-menu").get_by_role("button").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#view-menu").get_by_role("button").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#view-menu")).to_be_hidden()
    expect(view).to_be_focused()
    page.keyboard.press("2")  # the key of an entry, without the menu
    page.locator(".ex-card").first.wait_for()
    view.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#view-menu")).to_be_visible()
    page.locator(".ex-reading").click()
    expect(page.locator("#view-menu")).to_be_hidden()
