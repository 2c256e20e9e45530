"""Trends in a browser: few controls, one stop of Tab for all cells, and dates selected by a drag or in two fields."""

import re

import pytest
from playwright.sync_api import expect
from trend_samples import plant_trends

# What can be operated outside of lists that are one stop, and the smallest text, of what is seen on a page.
SEEN = """root => {
  const shut = "dialog:not([open]), details:not([open]) > :not(summary)"
  const shown = it => it.getClientRects().length > 0 && !it.closest(shut)
  const controls = [...root.querySelectorAll("button, select, input, a[href], summary")]
    .filter(it => shown(it) && !it.closest("[data-rove]"))
  const sizes = [...root.querySelectorAll("*")]
    .filter(it => shown(it) && [...it.childNodes].some(each => each.nodeType === 3 && each.textContent.trim()))
    .map(it => {
      const svg = it.closest("svg")
      const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1
      return scale * parseFloat(getComputedStyle(it).fontSize)
    })
  return [controls.length, Math.min(...sizes)]
}"""


@pytest.mark.parametrize(("trend", "most"), [("time", 6), pytest.param("groups", 9, marks=pytest.mark.nightly)])
def test_the_page_has_few_controls_and_no_small_text(share_server, new_page, trend, most):
    server = share_server(plant_trends)
    page = new_page()
    page.goto(f"{server.url}?page=trends&run=1&trend={trend}")
    page.locator(".tr-answer").wait_for()
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 880})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        controls, smallest = page.locator(".tr-page").evaluate(SEEN)
        assert controls <= most
        assert smallest >= 11.95


def test_keys_walk_over_the_cells_and_mark_the_row_of_one(share_server, page):
    server = share_server(plant_trends)
    page.goto(f"{server.url}?page=trends&run=1&trend=groups")
    cells = page.locator(".tr-heat [data-do=cell]")
    expect(cells).to_have_count(4)
    page.locator(".tr-heat th button").first.focus()
    page.keyboard.press("ArrowDown")
    expect(cells.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".tr-effects tr[aria-current]")).to_have_count(1)
    expect(cells.nth(1)).to_be_focused()
    page.get_by_role("button", name="View", exact=True).click()
    expect(page.get_by_label("Show", exact=True)).to_be_visible()
    page.get_by_label("Show", exact=True).select_option("share")
    expect(cells.first).to_contain_text("%")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Show", exact=True)).not_to_be_visible()
    page.get_by_role("button", name=re.compile("^read ")).click()
    page.wait_for_url(re.compile("page=documents"))
    assert server.complaints == []


@pytest.mark.nightly
def test_a_drag_over_the_picture_sets_the_filter_of_all_pages_and_so_do_two_fields(share_server, page):
    server = share_server(plant_trends)
    page.goto(f"{server.url}?page=trends&run=1&unit=month&trend_topic=L3:1")
    places = page.locator(".tr-card").first.locator(".tr-wide .tr-period")
    expect(places).to_have_count(14)
    first, last = places.nth(2).bounding_box(), places.nth(4).bounding_box()
    middle = first["y"] + first["height"] / 2
    page.mouse.move(first["x"] + first["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] / 2, middle + 300, steps=4)  # it may leave the picture
    expect(page.locator(".tr-wide .tp-brushed")).to_have_count(3)
    page.mouse.up()
    chip = page.locator(".fl-chip")
    expect(chip).to_have_text("day=2004-03..2004-05")
    expect(page.locator(".tp-brushed")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"where=day%3D2004-03\.\.2004-05"))
    places.nth(6).click()
    expect(chip).to_have_text("day=2004-07")
    page.mouse.move(first["x"] + first["width"] / 2, middle)
    page.mouse.down()
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(chip).to_have_text("day=2004-07")
    page.get_by_label("From").fill("2004-08-03")
    page.get_by_label("to", exact=True).fill("2004-09-04")
    page.keyboard.press("Enter")
    expect(chip).to_have_text("day=2004-08-03..2004-09-04")
    page.goto(f"{server.url}?page=explore&run=1&where=day%3D2004-07")
    expect(page.locator(".fl-row")).to_contain_text("31 of 400 documents")
    assert server.complaints == []
