"""A range of dates is selected by dragging over the picture, by a click, and by two fields."""

import re

from playwright.sync_api import expect
from trend_samples import plant_trends


def test_a_drag_over_the_picture_sets_the_filter_of_all_pages_and_so_do_two_fields(share_server, page):
    server = share_server(plant_trends)
    page.goto(f"{server.url}?page=trends&run=1&unit=month")
    places = page.locator(".tr-wide .tr-period")
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
