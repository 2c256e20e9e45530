"""The main job by the keyboard alone: ways past lists, names in the tree, text that can be read, tips beside."""

import pytest

DEEPEST = """() => {
  let here = document.activeElement
  while (here?.shadowRoot?.activeElement) { here = here.shadowRoot.activeElement }
  return here
}"""
SMALLEST = """() => {
  const seen = []
  const walk = (root) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.shadowRoot) { walk(each.shadowRoot) }
      if (each.nodeName !== "text" || !each.textContent.trim()) { continue }
      if (!each.checkVisibility({visibilityProperty: true, opacityProperty: true})) { continue }
      if (!each.getBoundingClientRect().width) { continue } // in an SVG, that call says nothing of display: none
      seen.push([each.getScreenCTM().a * parseFloat(getComputedStyle(each).fontSize), each.textContent])
    }
  }
  walk(document)
  return seen.sort((a, b) => a[0] - b[0])
}"""
COVERED = """() => {
  const find = (root, what) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.matches(what)) { return each }
      const within = each.shadowRoot && find(each.shadowRoot, what)
      if (within) { return within }
    }
  }
  const stage = find(document, ".tp-stage")
  const tip = stage.querySelector(".tp-tip").getBoundingClientRect()
  const id = stage.querySelector(".tp-node:focus").dataset.id
  const edges = [...stage.querySelectorAll(".tp-edge")].filter(each => each.dataset.from === id)
  const boxes = [id, ...edges.map(each => each.dataset.to)].map(
    each => stage.querySelector(`.tp-node[data-id="${each}"] .tp-box`).getBoundingClientRect())
  const over = (box) => Math.max(0, Math.min(tip.right, box.right) - Math.max(tip.left, box.left))
    * Math.max(0, Math.min(tip.bottom, box.bottom) - Math.max(tip.top, box.top))
  return [tip.width > 0, edges.length, boxes.reduce((sum, box) => sum + over(box), 0)]
}"""


def here(page):
    """What has the focus, however deep: its text, its class and its data-id."""
    return page.evaluate(f"""() => {{
      const here = ({DEEPEST})()
      return here ? [here.textContent.trim(), here.getAttribute("class") ?? "", here.dataset?.id ?? ""] : ["", "", ""]
    }}""")


def tab_to(page, wanted, most=60):
    """Press Tab until ``wanted(text, class, id)``; how often that was."""
    for pressed in range(1, most + 1):
        page.keyboard.press("Tab")
        if wanted(*here(page)):
            return pressed
    raise AssertionError(f"not reached by {most} Tabs; the focus is on {here(page)}")


@pytest.fixture
def open_tree(page, wait_until_laid_out):
    """Open the page Explore of a server and wait for its tree."""

    def open_page(server):
        page.goto(f"{server.url}?page=explore&run=1&threshold=0.5&tab=list-more")
        page.get_by_role("treeitem").first.wait_for()
        wait_until_laid_out(page)
        return page

    return open_page


@pytest.fixture
def explore(shared_server, open_tree):
    """The page Explore with its tree drawn."""
    return open_tree(shared_server)


def test_one_key_leads_to_the_tree_and_few_do_without_it(explore, wait_until_laid_out):
    assert tab_to(explore, lambda text, *_: text == "Skip to the tree") == 1
    explore.keyboard.press("Enter")
    assert "tp-node" in here(explore)[1]
    explore.reload()
    explore.get_by_role("treeitem").first.wait_for()
    wait_until_laid_out(explore)
    assert tab_to(explore, lambda _, kind, __: "tp-node" in kind, 45) < 45


def test_a_list_is_one_stop_and_arrows_walk_along_it(explore):
    cards = explore.locator(".ex-topic")
    keys = cards.evaluate_all("all => all.map(each => each.dataset.id)")
    cards.nth(0).focus()
    explore.keyboard.press("ArrowDown")
    assert here(explore)[2] == keys[1]
    explore.keyboard.press("ArrowRight")
    assert here(explore)[1] == "ex-pin"
    explore.keyboard.press("ArrowUp")
    assert here(explore)[1:] == ["ex-pin", keys[0]]
    explore.keyboard.press("End")
    assert here(explore)[2] == keys[-1]
    stops = explore.locator(".ex-cards button").evaluate_all("all => all.filter(each => each.tabIndex === 0).length")
    assert stops == 1


@pytest.mark.nightly
def test_f2_names_a_topic_in_the_tree_and_escape_leaves_it(server, open_tree):
    explore = open_tree(server)
    topic = explore.get_by_role("treeitem").first
    key = topic.get_attribute("data-id")
    topic.focus()
    explore.keyboard.press("F2")
    explore.get_by_label("Name of the topic:").wait_for()
    explore.keyboard.type("not this")
    explore.keyboard.press("Escape")
    assert here(explore)[2] == key
    explore.keyboard.press("F2")
    explore.keyboard.type("The best of gardens")
    explore.keyboard.press("Enter")
    explore.locator(f'.tp-node[data-id="{key}"][data-tip^="The best of gardens"]').wait_for()
    assert here(explore)[2] == key


def test_no_text_of_the_tree_is_under_twelve_pixels_at_any_zoom(explore, wait_until_still):
    explore.get_by_role("treeitem").first.focus()
    sizes = set()
    for key in ("0", *"-" * 7, *"+" * 14):
        explore.keyboard.press(key)
        wait_until_still(explore)
        seen = explore.evaluate(SMALLEST)
        assert seen == [] or seen[0][0] >= 11.9, seen[0]
        sizes.add(len(seen))
    assert len(sizes) > 2  # words, titles and ranks come and go


def test_the_tip_of_a_topic_stands_beside_it_and_covers_no_child(explore, wait_until_still):
    explore.get_by_role("treeitem").first.focus()
    found = 0
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight"):
        explore.keyboard.press(key)
        wait_until_still(explore)
        shown, children, area = explore.evaluate(COVERED)
        assert shown
        found += children
        assert area < 60, key
    assert found > 0


def test_the_main_job_is_done_by_keys_alone(server, page, wait_until_laid_out, wait_until_quiet):
    page.goto(f"{server.url}?page=runs&run=1")
    page.get_by_text("1 in this store").wait_for()
    wait_until_quiet(page)
    tab_to(page, lambda _, kind, __: "tp-run-title" in kind)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert here(page)[0] == "Explore"
    page.keyboard.press("Enter")
    page.get_by_role("treeitem").first.wait_for()
    wait_until_laid_out(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("rose")
    page.locator(".ex-note").first.wait_for()
    tab_to(page, lambda _, kind, __: kind == "ex-topic")
    page.keyboard.press("Enter")
    page.locator(".ex-detail .ex-name").wait_for()
    tab_to(page, lambda _, kind, __: "tp-node" in kind)
    page.keyboard.press("ArrowDown")
    key = here(page)[2]
    page.keyboard.press("Enter")
    page.locator(f".ex-detail[data-key='{key}']").wait_for()
    tab_to(page, lambda _, kind, __: kind == "ex-name")
    page.keyboard.press("F2")
    page.keyboard.type("named by keys")
    page.keyboard.press("Enter")
    page.locator(".tp-node[data-tip^='named by keys']").first.wait_for()
    tab_to(page, lambda text, *_: text == "⋯")
    page.keyboard.press("Enter")
    tab_to(page, lambda _, kind, __: kind == "ex-place")
    page.keyboard.press("Enter")
    page.locator(".dc-answer").wait_for()
