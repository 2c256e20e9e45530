"""The first view of Explore: tiles of the top layer, lines between the tiles of a child, and the way to its tree."""

from playwright.sync_api import expect

FOCUSED = """() => {
  let here = document.activeElement
  while (here.shadowRoot) { here = here.shadowRoot.activeElement }
  return here.dataset
}"""
TILES = ".tp-tile[aria-level='1']"


def test_a_tile_is_selected_joined_with_its_others_and_opens_its_tree(shared_server, new_page):
    page = new_page()
    page.goto(f"{shared_server.url}?page=explore&run=1")
    expect(page.locator(TILES).first).to_be_visible()
    assert page.locator(".tp-edge").count() == 0
    child = page.locator(".tp-tile[data-parents*=' ']").first  # it has several parents
    parts = child.get_attribute("data-parents").split()
    identity = child.get_attribute("data-id")
    child.click()
    expect(page.locator(".tp-joins rect")).to_have_count(len(parts))
    expect(page.locator(".tp-joins path")).to_have_count(len(parts) - 1)
    expect(page.locator(f".ex-detail[data-key='{identity}']")).to_be_visible()
    rest = page.locator(".tp-rest[data-of]").first
    rest.click()
    expect(page.locator(f".ex-detail[data-key='{rest.get_attribute('data-of')}']")).to_be_visible()
    root = page.locator(TILES).first.get_attribute("data-id")
    page.locator(TILES).first.dblclick(position={"x": 12, "y": 8})
    page.wait_for_url(f"**roots={root}**")
    expect(page.locator(".tp-edge").first).to_be_attached()
    page.get_by_role("button", name="Topics", exact=True).click()
    expect(page.locator(TILES).first).to_be_visible()
    page.wait_for_url(lambda url: "roots" not in url)


def test_keys_walk_into_a_tile_and_out_of_it_and_open_the_list(shared_server, new_page):
    page = new_page()
    page.goto(f"{shared_server.url}?page=explore&run=1")
    first = page.locator(TILES).first
    expect(first).to_be_visible()
    first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED)["in"] == first.get_attribute("data-id")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(FOCUSED)["id"] == first.get_attribute("data-id")
    page.keyboard.press("/")
    page.keyboard.type("rhea")  # r opens a tree, h sets a topic apart
    expect(page.locator(".ex-top input[type=search]")).to_be_focused()
    expect(page.locator(".ex-top input[type=search]")).to_have_value("rhea")
    page.get_by_text("No topic has “rhea”").wait_for()
    assert "roots" not in page.url
    assert "hidden" not in page.url


def test_a_phone_has_the_list_in_place_of_tiles(shared_server, new_page):
    page = new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{shared_server.url}?page=explore&run=1")
    expect(page.locator(".ex-answer")).to_be_visible()
    expect(page.locator(".ex-rows [data-do=select]").first).to_be_visible()
    expect(page.locator(TILES).first).not_to_be_visible()


# Opens what a preview keeps closed, and measures its parts, and then those of the page.
OPENED = """() => {
  const attach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function() { return attach.call(this, {mode: "open"}) }
}"""
MEASURE = """within => ["top", "tree", "side", "film", "foot"].map(name => {
  const list = (root) => root ? [...root.querySelectorAll("*")].flatMap(each => [each, ...list(each.shadowRoot)]) : []
  const part = list(document.querySelector(within)).find(each => each.matches(`.ex-${name}`)).getBoundingClientRect()
  return [part.x, part.y, part.width, part.height].map(Math.round)
})"""


def test_a_view_stands_where_it_will_be_before_the_scripts_are_there(shared_server, new_page):
    def hold(route):
        while not may_come:
            page.wait_for_timeout(20)
        route.continue_()

    address, may_come = f"{shared_server.url}?page=explore&run=1", []
    page = new_page()
    for _ in range(2):  # the second has the size of its window
        page.goto(address)
        expect(page.locator(TILES).first).to_be_visible()
        expect(page.locator(".tp-stage[data-told]")).to_be_visible()
    page.route("**/bokeh.min.js*", hold)
    page.add_init_script(f"({OPENED})()")
    page.goto(address, wait_until="commit")
    expect(page.locator("#tp-preview .tp-tile").first).to_be_visible()
    places = page.evaluate(MEASURE, "#tp-preview")
    may_come.append(True)
    expect(page.locator("#tp-preview")).to_have_count(0)
    assert page.evaluate(MEASURE, "body") == places
