"""The compare page in a real browser: two trees that move, light up and are chosen together; the address; decisions."""

import json
import re

import garden
import pytest
from addresses import says
from databases import open_filled
from playwright.sync_api import expect

from topiary.app.jobs import process
from topiary.engine import models, settings
from topiary.store import notes, runs, snapshots
from topiary.store.database import open_database

BROKEN = """cells => cells.flatMap(cell => [...cell.textContent.matchAll(/[^\\s-]+/g)].filter(word => {
  const range = document.createRange()
  range.setStart(cell.firstChild, word.index)
  range.setEnd(cell.firstChild, word.index + word[0].length)
  return range.getClientRects().length > 1
}).map(word => word[0]))"""


def plant_two(db):
    """Make two finished runs of one corpus: run 2 is compared with run 1."""
    first = garden.plant(db)
    second = garden.begin(db, first.corpus, "second spring")
    for minibatch in range(20, 401, 20):
        garden.advance(db, second, minibatch)
        if minibatch in (20, 300):
            snapshots.append_snapshot(
                db, second.number, second.attempt, minibatch, 1.0, turned(garden.arrays(minibatch))
            )
    runs.finish_run(db, second.number, second.attempt, "finished")


@pytest.fixture
def planted(store_url, tmp_path):
    """Address of a store with two runs."""
    open_filled(tmp_path / "store.db", plant_two).close()
    return store_url


@pytest.fixture(scope="module")
def shared_server(share_server):
    """A server on two runs, for tests that change nothing in the store."""
    return share_server(plant_two)


@pytest.fixture
def open_both(moving, wait_until_laid_out):
    """Open the compare page of a server and wait for both trees."""

    def open_page(server):
        moving.goto(f"{server.url}?page=compare&run=2&threshold=1&whole=shown")
        moving.locator(".cm-tree-b .tp-node").first.wait_for()
        moving.locator(".cm-tree-a .tp-node").first.wait_for()
        wait_until_laid_out(moving)
        return moving

    return open_page


@pytest.fixture
def opened(shared_server, open_both):
    """The compare page with both trees drawn."""
    return open_both(shared_server)


def turned(arrays):
    """The same topics, those of layer 1 under other numbers."""
    return arrays | {"phi.0": arrays["phi.0"][:, ::-1], "phi.1": arrays["phi.1"][::-1]}


def twins(page):
    """A topic of layer 1 of A, and its partner of another number."""
    nodes = page.locator('.cm-tree-a .tp-node[data-twin][data-id^="L1"]')
    pairs = [(node.get_attribute("data-id"), node.get_attribute("data-twin")) for node in nodes.all()]
    return next((a, b) for a, b in pairs if a != b and b not in [one for one, two in pairs if one == two])


def node(page, side, key):
    return page.locator(f'.cm-tree-{side} .tp-node[data-id="{key}"]')


def turn(page, down, held=None):
    """Turn the wheel where the mouse is."""
    if held:
        page.keyboard.down(held)
    page.mouse.wheel(0, down)
    if held:
        page.keyboard.up(held)
    page.wait_for_timeout(500)


def height_of(page, selector):
    """How far down the window something stands."""
    return page.locator(selector).bounding_box()["y"]


@pytest.mark.nightly
def test_the_page_begins_with_a_sentence_and_the_largest_topics_and_ends_with_the_settings(opened, shared_server):
    sentence = opened.locator(".cm-say")
    expect(sentence).to_contain_text(re.compile(r"^With another seed|^In run 2"))
    tops = [
        height_of(opened, place)
        for place in (".cm-say", ".cm-strip", ".cm-card", ".cm-tree-a", ".cm-list", ".cm-curves", ".cm-set")
    ]
    assert tops == sorted(tops)
    topic = opened.locator(".cm-strip button").first
    key = topic.get_attribute("data-id")
    topic.click()
    opened.locator('.cm-strip button[aria-pressed="true"]').wait_for()
    opened.wait_for_url(says(topic=re.findall(r"\d+", key)[1]))
    opened.locator("tr.cm-chosen").wait_for()
    assert not opened.locator(".cm-settings").is_visible()
    opened.get_by_text("Settings", exact=True).click()
    opened.locator(".cm-settings").wait_for()
    opened.get_by_role("button", name=re.compile(r"Show \d+ identical")).click()
    opened.get_by_role("button", name=re.compile(r"Hide \d+ identical")).wait_for()  # and it stays open
    assert shared_server.complaints == []


def test_hovering_a_topic_of_one_tree_lights_its_partner_in_the_other(opened, shared_server):
    a, b = twins(opened)
    node(opened, "a", a).hover()
    node(opened, "b", b).and_(opened.locator(".tp-lit")).wait_for()
    assert opened.locator(".cm-tree-b .tp-stage.tp-dim").count() == 1
    node(opened, "b", a).and_(opened.locator(":not(.tp-lit)")).wait_for()  # not the one of the same number
    opened.locator(".cm-say").hover()
    opened.locator(".cm-tree-b .tp-stage:not(.tp-dim)").wait_for()
    edge = opened.locator(".cm-tree-b .tp-edge").first
    ends = edge.get_attribute("data-from"), edge.get_attribute("data-to")
    edge.locator(".tp-hit").dispatch_event("pointermove", {"bubbles": True})
    for end in ends:
        partner = node(opened, "b", end).get_attribute("data-twin")
        if partner:
            node(opened, "a", partner).and_(opened.locator(".tp-lit")).wait_for()
    assert shared_server.complaints == []


def test_both_trees_zoom_and_move_together_and_partners_stay_in_the_same_place(opened, wait_until_still):
    a, b = twins(opened)
    stages = [opened.locator(f".cm-tree-{side} .tp-stage") for side in ("a", "b")]
    before = stages[1].get_attribute("data-scale")
    opened.locator(".cm-tree-a .tp-node").first.press("+")
    wait_until_still(opened)
    stages[0].hover(position={"x": 60, "y": 300})
    turn(opened, -300, held="Control")
    opened.mouse.down()
    opened.mouse.move(300, 300, steps=4)
    opened.mouse.up()
    wait_until_still(opened)
    scales = [stage.get_attribute("data-scale") for stage in stages]
    assert scales[0] == scales[1] != before
    places = []
    for side, key in (("a", a), ("b", b)):
        box = node(opened, side, key).locator(".tp-box").bounding_box()
        hierarchy = opened.locator(f".cm-tree-{side}").bounding_box()
        places.append((box["x"] - hierarchy["x"], box["y"] - hierarchy["y"], box["width"], box["height"]))
    assert places[0] == pytest.approx(places[1], abs=1.0)


def test_over_a_tree_the_wheel_scrolls_the_page_and_only_with_ctrl_it_zooms(opened):
    stage = opened.locator(".cm-tree-a .tp-stage")
    stage.hover(position={"x": 60, "y": 200})
    scale, top = stage.get_attribute("data-scale"), height_of(opened, ".cm-tree-a")
    turn(opened, 120)
    assert height_of(opened, ".cm-tree-a") == pytest.approx(top - 120, abs=2)
    assert stage.get_attribute("data-scale") == scale
    how = opened.locator(".tp-how:visible")
    expect(how).to_contain_text("+ wheel zooms")
    turn(opened, -100, held="Control")
    assert height_of(opened, ".cm-tree-a") == pytest.approx(top - 120, abs=2)
    assert 1.2 < float(stage.get_attribute("data-scale")) / float(scale) < 1.4  # one notch is one step
    how.wait_for(state="hidden")
    turn(opened, -120)
    assert how.count() == 0  # said once


@pytest.mark.nightly
def test_one_finger_scrolls_the_page_and_two_move_and_zoom_the_tree(
    shared_server, chromium, guard, wait_until_laid_out
):
    context = chromium.new_context(viewport={"width": 420, "height": 850}, has_touch=True)
    page = guard.watch(context.new_page())
    page.goto(f"{shared_server.url}?page=compare&run=2&threshold=1&whole=shown")
    page.locator(".cm-tree-a .tp-node").first.wait_for()
    wait_until_laid_out(page)
    fingers = context.new_cdp_session(page)

    def touch(kind, *points):
        found = [{"x": x, "y": y, "id": place} for place, (x, y) in enumerate(points)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": found})

    stage = page.locator(".cm-tree-a .tp-stage")
    stage.evaluate("tree => tree.scrollIntoView({block: 'center'})")  # on a phone it is below what is said of it
    page.wait_for_timeout(300)
    scale, top = stage.get_attribute("data-scale"), height_of(page, ".cm-tree-a")
    y = min(top + 200, 760)
    touch("touchStart", (200, y))
    for step in range(1, 16):
        touch("touchMove", (200, y - 10 * step))
    touch("touchEnd")
    page.wait_for_timeout(600)
    expect(page.locator(".tp-how:visible")).to_have_text("Two fingers move and zoom")
    assert height_of(page, ".cm-tree-a") < top - 80
    assert stage.get_attribute("data-scale") == scale
    # How far a finger scrolls depends on how busy the machine is: the second gesture must not land on the bar beneath.
    stage.evaluate("stage => stage.scrollIntoView({block: 'center', behavior: 'instant'})")
    page.wait_for_timeout(300)
    top = height_of(page, ".cm-tree-a")
    y = top + 200
    assert y < 760
    place = stage.locator(".tp-world").evaluate("world => new DOMMatrix(world.style.transform).f")
    touch("touchStart", (170, y), (230, y))
    for step in range(1, 11):
        touch("touchMove", (170, y + 4 * step), (230, y + 4 * step))
    touch("touchMove", (140, y + 40), (260, y + 40))
    touch("touchEnd")
    page.wait_for_timeout(600)
    assert height_of(page, ".cm-tree-a") == top
    assert float(stage.get_attribute("data-scale")) == pytest.approx(2 * float(scale), rel=0.02)
    moved = stage.locator(".tp-world").evaluate("world => new DOMMatrix(world.style.transform).f")
    assert moved == pytest.approx(240 - 2 * (200 - place), abs=3)  # what was between the fingers still is
    context.close()


def test_a_topic_chosen_in_one_tree_is_chosen_everywhere_and_reload_and_back_restore_the_view(opened):
    a, b = twins(opened)
    node(opened, "a", a).click()
    node(opened, "b", b).and_(opened.locator('[aria-selected="true"]')).wait_for()
    layer, topic = re.findall(r"\d+", a)
    opened.wait_for_url(says(layer=None if layer == "1" else layer, topic=topic, side="partner"))
    opened.locator("tr.cm-chosen").wait_for()
    opened.get_by_label("Order of the topics").select_option("margin")
    opened.wait_for_url("**sort=margin**")
    opened.reload()
    node(opened, "b", b).and_(opened.locator('[aria-selected="true"]')).wait_for()
    node(opened, "a", a).and_(opened.locator('[aria-selected="true"]')).wait_for()
    assert opened.get_by_label("Order of the topics").input_value() == "margin"
    opened.get_by_role("button", name="View", exact=True).click()
    opened.get_by_label("Snapshot of B").select_option(label="Mini-batch 20")
    opened.wait_for_url(re.compile(r"[?&]snapshot=[1-9]"))
    opened.go_back()
    opened.wait_for_url(says(snapshot=None))
    opened.locator("tr.cm-chosen").wait_for()


@pytest.mark.nightly
def test_a_match_is_changed_by_hand_and_undone(server, open_both, planted):
    opened = open_both(server)
    a, b = twins(opened)
    node(opened, "b", b).click()
    opened.get_by_label("Partner in A").select_option("none")
    opened.get_by_text("decided by hand").wait_for()
    node(opened, "b", b).and_(opened.locator(":not([data-twin])")).wait_for()
    layer, column = map(int, re.findall(r"\d+", b))
    db = open_database(planted, readonly=True)
    assert notes.list_matches(db, 1, 2) == [(layer, 0, column)]
    opened.get_by_role("button", name="Undo").click()
    node(opened, "b", b).and_(opened.locator(f'[data-twin="{a}"]')).wait_for()
    assert notes.list_matches(db, 1, 2) == []
    db.close()


def test_the_comparison_is_saved_as_a_file_and_both_trees_as_one_picture_with_what_is_on_screen(opened, shared_server):
    with opened.expect_download() as download:
        opened.get_by_label("Save the comparison as").select_option("json")
    assert download.value.suggested_filename == "topiary-run-1-and-2.json"
    report = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert (report["a"]["run"], report["b"]["run"]) == (1, 2)
    assert report["topic_matches"]
    shown = [opened.locator(f".cm-tree-{side} .tp-node").count() for side in ("a", "b")]
    with opened.expect_download() as download:
        opened.get_by_label("Save the comparison as").select_option("svg")
    assert download.value.suggested_filename == "topiary-run-1-and-2.svg"
    text = download.value.path().read_text(encoding="utf-8")
    titles = re.findall(r"<title>Topic tree, (\d+) topics</title>", text)
    assert [int(each) for each in titles] == shown
    assert "var(" not in text
    assert "<script" not in text
    with opened.expect_download() as download:
        opened.get_by_label("Save the comparison as").select_option("png")
    assert download.value.suggested_filename == "topiary-run-1-and-2.png"
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    assert shared_server.complaints == []


@pytest.mark.nightly
def test_no_number_or_word_of_the_settings_is_broken_and_both_runs_stand_in_the_card(start_server, planted, new_page):
    db = open_database(planted)
    usual = {about.name: about.default for about in settings.describe(models.load("dlda").Config)}
    more = {
        "model": "dlda",
        "inference": "tlasgr",
        "layers": garden.LAYERS,
        "options": {"minibatches": 12_000},
        "seed": 1,
    }
    row = runs.create_run(db, corpus=1, settings=usual, **more)
    garden.advance(db, runs.claim_run(db, row.number, process.identify_process()), 12_000)
    db.close()
    page = new_page(width=1280)
    page.goto(f"{start_server(planted).url}?page=compare&run=3&threshold=1&whole=shown")
    page.locator(".cm-fold > summary").click()
    page.locator(".cm-settings td").first.wait_for()
    assert page.locator(".cm-settings td", has_text="collapsed").count() == 1
    assert page.locator(".cm-settings td:not(.cm-long)").evaluate_all(BROKEN) == []
    assert page.locator(".cm-set .cm-scroll").evaluate("box => box.scrollWidth - box.clientWidth") <= 0


@pytest.mark.nightly
def test_with_one_run_the_curve_follows_the_sentence_and_nothing_empty_stands_beside_it(
    start_server, store_url, new_page
):
    db = open_database(store_url)
    garden.plant(db)
    db.close()
    page = new_page()
    page.goto(f"{start_server(store_url).url}?page=compare")
    expect(page.locator(".cm-wait")).to_contain_text("only one run")
    curves = page.locator(".cm-curves")
    expect(curves.locator(".tp-legend")).to_have_text(re.compile(r"^\s*1 · "))
    sentence = page.locator(".cm-wait").bounding_box()
    assert curves.bounding_box()["y"] - sentence["y"] - sentence["height"] < 60
    assert not page.locator(".cm-set").is_visible()


@pytest.mark.nightly
def test_a_run_in_training_is_followed_and_what_was_chosen_stays(server, page, planted, wait_until_laid_out):
    db = open_database(planted)
    living = garden.begin(db, 1, "third spring")
    garden.advance(db, living, 10, snapshot=True)
    page.goto(f"{server.url}?page=compare&run={living.number}&partner=1&threshold=1&whole=shown")
    page.locator(".cm-tree-b .tp-node").first.wait_for()
    wait_until_laid_out(page)
    key = page.locator(".cm-tree-b .tp-node").first.get_attribute("data-id")
    node(page, "b", key).click()
    page.locator(".cm-pair").wait_for()
    before = page.locator(".cm-list .tp-board").inner_text()
    garden.advance(db, living, 30, snapshot=True)
    page.get_by_label("Snapshot of B").get_by_text("Latest · 30").wait_for(state="attached")
    expect(page.locator(".cm-list .tp-board")).not_to_have_text(before, use_inner_text=True, timeout=60_000)
    node(page, "b", key).and_(page.locator('[aria-selected="true"]')).wait_for()
    db.close()
    assert server.complaints == []


def test_the_page_has_few_controls_and_a_pair_opens_beside_them_and_closes(shared_server, page):
    page.goto(f"{shared_server.url}?page=compare&run=2")
    cards = page.locator(".cm-cards button")
    expect(cards.first).to_be_visible()
    outside = "it => !it.closest('[data-rove]') && it.getClientRects().length > 0"
    controls = page.locator(".cm-top :is(button, select, input), .cm-lead button, .cm-moved-card :is(button, a)")
    assert sum(each.evaluate(outside) for each in controls.all()) <= 6
    assert page.locator(".cm-tree-a").is_hidden()
    cards.first.focus()
    page.keyboard.press("ArrowRight")
    expect(cards.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".cm-pair")).to_be_visible()
    page.get_by_role("button", name="Close the details").click()
    expect(page.locator(".cm-pair")).to_have_count(0)
    page.get_by_role("button", name="View", exact=True).click()
    page.get_by_role("button", name="Whole trees and all figures").click()
    expect(page.locator(".cm-tree-a .tp-node").first).to_be_visible()
