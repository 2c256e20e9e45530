"""Every page opens, in both themes, without asking anybody else, and says what it should."""

from itertools import pairwise

import garden
import pytest
from addresses import says
from playwright.sync_api import expect

from topiary.store import runs
from topiary.store.database import open_database

SEEN = {
    "runs": "1 in this store",
    "watch": "Layer-adaptive step sizes",
    "explore": "Area = share of all words",
    "compare": "There is only one run yet",
    "documents": "Place a text",
    "guide": "What Topiary does",
}
SLASH = """topic => {
  topic.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true, composed: true, cancelable: true}))
  let here = document.activeElement
  while (here.shadowRoot?.activeElement) { here = here.shadowRoot.activeElement }
  return here.type
}"""
_UNCUT = """(place, [said, lines]) => {
  place.textContent = said
  const one = parseFloat(getComputedStyle(place).lineHeight)
  return place.scrollWidth <= place.clientWidth && place.scrollHeight <= place.clientHeight + 1
    && place.clientHeight < (lines + 0.5) * one
}"""
_CHOSEN = "([list, wanted]) => list.value === wanted"


@pytest.mark.parametrize(
    ("side", "names"),
    [("dark", ["watch"]), *(pytest.param(side, [*SEEN], marks=pytest.mark.nightly) for side in ("light", "dark"))],
)
def test_every_page_opens_on_the_side_the_visitor_prefers_and_fits_a_phone(shared_server, new_page, side, names):
    """By day axe opens the others and sees that they fit."""
    page = new_page(side)
    for name in names:
        page.set_viewport_size({"width": 1440, "height": 960})
        page.goto(f"{shared_server.url}?page={name}&run=1")
        page.get_by_text(SEEN[name]).first.wait_for()
        page.wait_for_function("wanted => document.documentElement.dataset.tp === wanted", arg=side)
        page.set_viewport_size({"width": 420, "height": 900})
        page.wait_for_function("document.documentElement.scrollWidth <= 420")
    assert shared_server.complaints == []


@pytest.mark.nightly
def test_the_name_of_a_page_is_an_address_of_it(shared_server, new_page):
    page = new_page()
    page.goto(f"{shared_server.url}explore?run=1")
    page.get_by_text(SEEN["explore"]).first.wait_for()
    assert "page=explore" in page.url
    assert "run=1" in page.url


@pytest.mark.nightly
def test_a_page_of_a_phone_is_not_wider_than_the_phone(shared_server, new_page):
    page = new_page(width=420, height=900)
    for name, words in SEEN.items():
        page.goto(f"{shared_server.url}?page={name}&run=1")
        shown = page.locator(".ex-answer") if name == "explore" else page.get_by_text(words)
        shown.first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 420, name


def test_while_a_page_opens_blocks_of_its_whole_width_stand_one_beneath_the_other(shared_server, chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(shared_server.url)
    boxes = [block.bounding_box() for block in page.locator(".tp-sk-body > *").all()]
    assert len({box["x"] for box in boxes}) == 1
    assert all(below["y"] >= above["y"] + above["height"] for above, below in pairwise(boxes))
    assert boxes[-1]["y"] + boxes[-1]["height"] == pytest.approx(page.viewport_size["height"] - 24, abs=1)
    context.close()


def test_on_a_phone_a_long_name_pushes_nothing_away_and_a_run_can_be_stopped(start_server, planted, new_page):
    db = open_database(planted)
    row = garden.begin(db, 1, "a name as long as the winter before the first spring " * 2, fork=2)
    garden.advance(db, row, 10)
    runs.finish_run(db, row.number, row.attempt, "paused")
    db.close()
    server, page = start_server(planted), new_page(width=420, height=900)
    page.goto(f"{server.url}?page=explore&run=2")
    bar = page.get_by_role("banner").first  # the same on every page
    bar.get_by_text("paused").wait_for()
    for what in ("Copy link", "resume run 2", "stop run 2"):
        assert inside(bar.get_by_role("button", name=what), bar), what
    assert inside(page.get_by_role("combobox", name="Run", exact=True), bar)
    assert inside(bar.locator(".MuiIconButton-root"), bar)  # light and dark
    assert bar.bounding_box()["height"] == page.locator("main > div > .MuiToolbar-root").bounding_box()["height"]
    page.goto(f"{server.url}?page=runs&run=2")
    card = page.locator(".tp-run").first
    assert inside(card.get_by_role("button", name="delete run 2"), card)
    page.goto(f"{server.url}?page=watch&run=2")
    name = page.locator(".tp-own .tp-clip")
    assert name.evaluate("it => it.scrollWidth > it.clientWidth && getComputedStyle(it).textOverflow") == "ellipsis"


def test_what_is_said_of_a_state_in_the_list_of_runs_is_not_cut(start_server, planted, page):
    db = open_database(planted)
    row = garden.begin(db, 1, "a name as long as the winter", fork=2)  # with all the buttons there are
    garden.advance(db, row, 10)
    db.close()
    page.goto(f"{start_server(planted).url}?page=runs&run=1")
    place = page.locator(".tp-run-state .tp-dim").first
    place.wait_for()
    page.evaluate("document.fonts.ready")
    for width in (1000, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        for said, lines in (("heartbeat just now", 1), ("heartbeat 59 s ago", 1), ("no heartbeat for 3 min 20 s", 2)):
            assert place.evaluate(_UNCUT, [said, lines]), f"{said} at {width}"


def test_the_last_words_of_a_finished_run_are_not_cut(start_server, planted, page):
    db = open_database(planted)
    row = garden.begin(db, 1, "second spring")
    scores = {"point_perplexity": 2508.6, "averaged_perplexity": 2411.3}
    runs.record_progress(db, row.number, row.attempt, minibatch=400, seconds=20, **scores)
    last = "finished: last evaluation on 18,846 test documents, 600 sweeps"
    runs.finish_run(db, row.number, row.attempt, "finished", last)
    db.close()
    page.goto(f"{start_server(planted).url}?page=watch&run=2")
    page.locator(".tp-kpi", has_text="last evaluation on").wait_for()
    page.evaluate("document.fonts.ready")
    page.locator(".tp-kpi b").last.evaluate("date => { date.textContent = '30 Mar 20:00' }")  # wide figures: the worst
    for width in (1920, 1500, 1280, 1000, 420):
        page.set_viewport_size({"width": width, "height": 800})
        cut = "all => all.filter(it => it.scrollHeight > it.clientHeight + 1 || it.scrollWidth > it.clientWidth)"
        assert page.locator(".tp-kpi, .tp-kpi > *").evaluate_all(f"{cut}.map(it => it.textContent)") == [], width


def inside(inner, outer):
    """Whether something that can be seen stands within something else."""
    small, large = inner.bounding_box(), outer.bounding_box()
    return small is not None and all(
        large[at] <= small[at] and small[at] + small[size] <= large[at] + large[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


@pytest.mark.nightly
def test_the_address_holds_the_whole_view_and_back_goes_back(shared_server, page):
    page.goto(f"{shared_server.url}?page=watch&run=1")
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("heading", name="Runs", exact=True).wait_for()
    page.wait_for_url("**page=runs**")
    assert page.url.partition("?")[2] == "page=runs&run=1"
    page.go_back()
    page.get_by_text("Layer-adaptive step sizes").wait_for()
    assert "page=watch" in page.url


def test_another_page_is_a_step_back_however_quick_and_a_burst_on_one_page_is_one(shared_server, page):
    page.goto(f"{shared_server.url}?page=watch&run=1")
    page.get_by_role("button", name="Documents seen").wait_for()
    page.evaluate("performance.now = () => 1e6")  # no time passes: every change is quick
    page.get_by_role("link", name="Runs").click()
    page.wait_for_url("**page=runs**")
    page.get_by_role("link", name="Watch").click()
    page.wait_for_url("**page=watch**")
    page.get_by_role("button", name="Documents seen").click()
    page.wait_for_url("**axis=documents**")
    page.go_back()
    page.wait_for_url("**page=runs**")
    page.go_back()
    page.wait_for_url(says(page="watch", axis=None))


@pytest.mark.nightly
def test_the_chooser_follows_back_and_leads_to_the_list_where_not_all_runs_are_in_it(start_server, planted, page):
    db = open_database(planted)
    for _ in range(55):
        row = garden.begin(db, 1)
        runs.finish_run(db, row.number, row.attempt, "finished")
    db.close()
    page.goto(f"{start_server(planted).url}?page=watch&run=1")
    chooser = page.get_by_role("combobox", name="Run", exact=True)
    chooser.wait_for()
    page.evaluate("let now = 0; performance.now = () => now += 1e6")  # every change is a step of its own
    for number in ("40", "50"):
        chooser.select_option(number)
        page.wait_for_url(says(run=number))
    page.go_back()
    page.wait_for_url(says(run=40))
    page.wait_for_function(_CHOSEN, arg=[chooser.element_handle(), "40"])
    chooser.select_option("All 56 runs …")
    page.wait_for_url(says(page="runs", run=40))
    page.get_by_text("56 in this store").wait_for()
    page.wait_for_function(_CHOSEN, arg=[chooser.element_handle(), "40"])


@pytest.mark.nightly
def test_going_to_another_page_leaves_no_complaint_in_the_terminal(start_process, planted, page, wait_until_laid_out):
    server = start_process(planted)
    page.goto(f"{server.url}?page=runs&run=1")
    page.get_by_role("link", name="Explore").click()
    page.get_by_role("treeitem").first.wait_for()
    wait_until_laid_out(page)
    page.close()
    server.stop()
    assert [line for line in server.log if "Warning" in line or "Traceback" in line] == []


@pytest.mark.nightly
def test_words_that_look_like_markup_are_shown_as_text(shared_server, page):
    page.on("dialog", lambda dialog: pytest.fail("a word of the corpus was run as a script"))
    page.goto(f"{shared_server.url}?page=watch&run=1")
    page.get_by_text(garden.NASTY).first.wait_for()


def test_the_words_of_a_topic_stay_within_its_box(shared_server, page):
    page.goto(f"{shared_server.url}?page=explore&run=1&threshold=0")
    page.get_by_role("treeitem").first.wait_for()
    page.evaluate("document.fonts.ready")
    page.get_by_role("treeitem").first.focus()
    for _ in range(8):  # until there is room for all words
        page.keyboard.press("+")
    expect(page.locator(".tp-words").first).to_be_attached()
    expect(page.locator(".tp-words tspan:empty")).to_have_count(0)
    room = page.locator(".tp-node").evaluate_all(
        """nodes => nodes.flatMap(node => [...node.querySelectorAll(".tp-words tspan")]
          .filter(line => line.getNumberOfChars()).map(line => {
          const right = line.getStartPositionOfChar(0).x + line.getComputedTextLength()
          return node.querySelector(".tp-box").width.baseVal.value - right
        }))"""
    )
    assert len(room) > 40
    assert min(room) > 5  # the padding, less what a line may be off in small letters


@pytest.mark.parametrize("width", [1240, pytest.param(1440, marks=pytest.mark.nightly)])
def test_the_controls_stand_in_one_row_and_several_roots_are_marked_above_the_tree(shared_server, new_page, width):
    page = new_page(width=width)
    page.goto(f"{shared_server.url}?page=explore&run=1&direction=up&roots=L1:1,L1:2")
    expect(page.locator(".ex-shares [aria-current]")).to_have_count(2)
    tools = [tool.bounding_box() for tool in page.locator(".ex-tools > :not([popover])").all()]
    middles = {round(box["y"] + box["height"] / 2) for box in tools}
    assert max(middles) - min(middles) <= 2
    assert max(middles) < page.locator(".ex-shares").bounding_box()["y"]


@pytest.mark.nightly
@pytest.mark.parametrize("tab", ["", "wide"])
def test_what_is_typed_right_after_a_slash_is_searched_and_does_nothing_to_the_tree(
    shared_server, page, wait_until_laid_out, tab
):
    page.goto(f"{shared_server.url}?page=explore&run=1&picture=tree&tab={tab}")
    topic = page.get_by_role("treeitem").first
    topic.wait_for()
    wait_until_laid_out(page)
    topic.focus()
    assert topic.evaluate(SLASH) == "search"  # before any answer of the shared_server
    page.keyboard.type("rhea")  # r fixes a root, h hides a topic
    assert page.get_by_label("Search words, topic names and documents").input_value() == "rhea"
    page.get_by_text("No topic has “rhea”").wait_for()
    assert says(hidden=None, roots=None, tab=tab or None)(page.url)
    page.get_by_label("Search words, topic names and documents").fill("")
    page.get_by_text("No topic has “rhea”").wait_for(state="hidden")


def test_a_link_to_only_the_picture_can_be_left(shared_server, page, choose):
    page.goto(f"{shared_server.url}?page=explore&run=1&tab=wide")
    expect(page.locator(".ex-detail")).to_be_hidden()
    choose(page, "View", "Only the picture")
    expect(page.locator(".ex-detail")).to_be_visible()


def test_a_tree_sticks_to_no_mouse_that_was_let_go_elsewhere_is_saved_again_and_keeps_the_keys_when_a_topic_is_hidden(
    shared_server, page, wait_until_laid_out, choose
):
    page.goto(f"{shared_server.url}?page=explore&run=1&picture=tree")
    page.get_by_role("treeitem").first.wait_for()
    wait_until_laid_out(page)
    world, box = page.locator(".tp-world"), page.locator(".tp-stage").bounding_box()
    before = world.get_attribute("style")
    for pressed in ({"button": 2, "buttons": 2}, {"button": 0, "buttons": 1}):
        page.mouse.move(box["x"] + 40, box["y"] + 40)
        world.dispatch_event("pointerdown", {"bubbles": True, "pointerType": "mouse", "pointerId": 1} | pressed)
        page.mouse.move(box["x"] + 240, box["y"] + 140, steps=4)
        assert world.get_attribute("style") == before
    for _ in range(2):
        with page.expect_download() as saved:
            choose(page, "Save", "JSON")
        assert saved.value.suggested_filename.endswith(".json")
    topic = page.locator(".tp-world .tp-node[aria-level='2']").first  # the only root stays
    key = topic.get_attribute("data-id")
    topic.focus()
    page.keyboard.press("h")
    page.locator(f'.tp-world [data-id="{key}"]').wait_for(state="detached")
    focused = page.locator(".tp-world .tp-node:focus")
    focused.wait_for()
    assert focused.get_attribute("data-id") != key


@pytest.mark.nightly
def test_an_empty_store_says_what_to_do(start_server, store_url, page):
    page.goto(start_server(store_url).url)
    page.get_by_role("button", name="Try the demo").wait_for()
    page.get_by_role("button", name="Add documents").wait_for()


@pytest.mark.nightly
def test_a_junk_link_opens_the_nearest_view(shared_server, page):
    page.goto(f"{shared_server.url}?page=nowhere&run=99999999999&threshold=nan&roots=%00,L0:1&axis=x&tab=%3Cb%3E")
    page.get_by_text("Layer-adaptive step sizes").wait_for()
    page.goto(f"{shared_server.url}nowhere?run=1")
    page.get_by_text("Layer-adaptive step sizes").wait_for()


def test_a_run_is_renamed_in_place_and_deleted_only_by_its_number(server, page, planted):
    page.goto(f"{server.url}?page=runs")
    page.locator(".tp-run-title").dblclick()
    page.get_by_label("Name of the run").first.fill("second spring")
    page.keyboard.press("Enter")
    page.locator(".tp-run-title[data-value='second spring']").wait_for()  # the server has drawn it
    page.get_by_role("button", name="delete run 1").click()
    delete = page.get_by_role("button", name="Delete", exact=True)
    page.get_by_role("dialog").get_by_label("Number of the run").press_sequentially("2")
    assert delete.is_disabled()
    page.get_by_role("dialog").get_by_label("Number of the run").fill("1")
    delete.click()
    page.get_by_text("No runs yet").wait_for()
    db = open_database(planted, readonly=True)
    assert runs.list_runs(db) == []
    db.close()


@pytest.mark.parametrize(
    ("query", "what"), [("runs", ".tp-run-title"), pytest.param("explore", ".ex-name", marks=pytest.mark.nightly)]
)
def test_after_a_name_was_typed_the_keys_go_on_from_it(server, page, query, what):
    page.goto(f"{server.url}?page={query}&run=1")
    name = page.locator(what)
    name.focus()
    for last in ("Escape", "Enter"):
        name.press("F2")
        name.get_by_role("textbox").fill("herbs")
        page.keyboard.press(last)
        if last == "Enter":
            page.locator(f"{what}[data-value='herbs']").wait_for()  # the server has drawn it
        assert name.evaluate("it => it.matches(':focus')"), last
    assert name.inner_text() == "herbs"


def test_a_name_half_typed_stays_while_the_run_goes_on(start_server, planted, page):
    db = open_database(planted)
    row = garden.begin(db, 1, "second spring")
    garden.advance(db, row, 10)
    page.goto(f"{start_server(planted).url}?page=runs&run=2")
    page.get_by_text("10 / 400").first.wait_for()
    page.locator(".tp-run-title").first.dblclick()
    page.get_by_label("Name of the run").first.press_sequentially("third")
    garden.advance(db, row, 20)
    page.get_by_text("20 / 400").first.wait_for()
    page.keyboard.type(" spring")
    page.keyboard.press("Enter")
    page.locator(".tp-run-title[data-value='third spring']").wait_for()  # what is stored has come back
    assert runs.get_run(db, 2).name == "third spring"
    db.close()


@pytest.mark.nightly
def test_where_there_is_no_clipboard_the_visitor_is_told_to_copy_the_address(shared_server, page):
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.goto(f"{shared_server.url}?page=watch&run=1")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("copy the address instead").wait_for()


@pytest.mark.nightly
def test_after_the_run_looked_at_is_deleted_that_is_said_and_without_any_the_runs_page_is_shown(
    start_server, planted, page
):
    db = open_database(planted)
    row = garden.begin(db, 1, "second spring")
    garden.advance(db, row, 10, snapshot=True)
    runs.finish_run(db, row.number, row.attempt, "finished")
    page.goto(f"{start_server(planted).url}?page=watch&run=2")
    page.get_by_text("latest · mini-batch 10").wait_for()
    runs.delete_run(db, 2)
    page.get_by_role("heading", name="There is no run 2 in this store").wait_for()
    page.wait_for_url(says(page="watch", run=2))
    page.get_by_role("button", name="Show run 1").click()
    page.get_by_text("latest · mini-batch 400").wait_for()
    page.wait_for_url(says(page="watch", run=1))
    assert page.get_by_role("combobox", name="Run", exact=True).input_value() == "1"
    page.go_back()  # to where run 2 was
    page.get_by_role("heading", name="There is no run 2 in this store").wait_for()
    runs.delete_run(db, 1)
    page.get_by_text("No runs yet").wait_for()
    page.wait_for_url(says(page="runs", run=0))
    for name in ("Watch", "Compare"):
        page.get_by_role("link", name=name).click()
        page.get_by_text("There is no run yet").wait_for()
        assert page.get_by_role("main").locator("input, textarea, select").count() == 0
        page.get_by_role("button", name="Go to the Runs page").click()
        page.get_by_text("No runs yet").wait_for()
    db.close()


@pytest.mark.nightly
def test_a_link_to_what_is_not_there_says_so_and_shows_what_is(shared_server, page):
    page.goto(f"{shared_server.url}?page=explore&run=77&snapshot=5&layer=2&topic=3")
    page.get_by_role("heading", name="There is no run 77 in this store").wait_for()
    page.get_by_role("button", name="Show run 1").click()
    page.wait_for_url(says(run=1, snapshot=None, layer=None, topic=None))
    page.get_by_role("treeitem").first.wait_for()
    page.goto(f"{shared_server.url}?page=watch&run=1&snapshot=77777")
    page.get_by_text("Run 1 has no such snapshot").wait_for()
    page.get_by_text("latest · mini-batch 400").wait_for()
    page.wait_for_url(says(run=1, snapshot=None))
    assert page.locator(".tp-pin").count() == 0


@pytest.mark.nightly
def test_the_form_says_what_is_wrong_at_the_setting(shared_server, page):
    page.goto(f"{shared_server.url}?page=runs&tab=new")
    page.get_by_text("All settings").click()
    widths = page.get_by_label("Topics per layer")
    widths.fill("128-0")
    page.get_by_text("Topics per layer must be at least 1; got 0", exact=True).wait_for()
    assert page.get_by_role("button", name="Start training").is_disabled()
    widths.fill("8-4")
    page.get_by_text("Topics per layer must be at least 1; got 0", exact=True).wait_for(state="detached")
    assert page.get_by_role("button", name="Start training").is_enabled()


@pytest.mark.nightly
def test_a_run_is_continued_from_the_bar_by_a_form_that_knows_its_parent(shared_server, page):
    page.goto(f"{shared_server.url}?page=watch&run=1")
    page.get_by_role("button", name="Continue run 1 as ...").click()
    page.get_by_role("heading", name="Continue run 1").wait_for()
    page.wait_for_url("**tab=fork-1*")
    page.get_by_text("All settings").click()
    widths = page.get_by_label("Topics per layer")
    assert widths.input_value() == "8-4-2"
    assert not widths.is_editable()
    page.get_by_text("Those of the snapshot").wait_for()
    assert page.get_by_label("Corpus").is_disabled()
    assert page.get_by_role("button", name="Start training").is_enabled()
    page.reload()
    page.get_by_role("heading", name="Continue run 1").wait_for()
    page.get_by_role("button", name="Back to the runs").click()
    page.get_by_role("heading", name="Runs", exact=True).wait_for()
    page.goto(f"{shared_server.url}?page=runs&run=1&tab=fork-1-99")
    page.get_by_text("Run 1 has no such snapshot (any more); continue it from another one.").wait_for()
    page.get_by_role("button", name="Back to the runs").click()
    page.get_by_role("heading", name="Runs", exact=True).wait_for()


@pytest.mark.nightly
def test_the_bars_of_the_watch_page_have_the_colours_of_their_layers(shared_server, page):
    colours = set()
    for layer in (1, 2):
        page.goto(f"{shared_server.url}?page=watch&run=1&layer={layer}")
        bar = page.locator(f'.tp-topic[data-layer="{layer}"] .tp-topic-bar i').first
        colours.add(bar.evaluate("bar => getComputedStyle(bar).backgroundColor"))
    assert len(colours) == 2
    assert "rgba(0, 0, 0, 0)" not in colours


@pytest.mark.nightly
def test_the_guide_is_searched_and_a_result_opened_by_the_keyboard_alone(shared_server, new_page):
    page = new_page(width=1300, height=700)
    page.goto(f"{shared_server.url}?page=guide")
    page.get_by_role("searchbox", name="Search the guide").focus()
    page.keyboard.type("strip of numbers")
    result = page.get_by_role("link", name="Watch › The strip of numbers")
    result.wait_for()
    while not result.evaluate("it => it === it.getRootNode().activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", name="The strip of numbers")
    expect(heading).to_be_focused()
    assert 0 <= heading.bounding_box()["y"] < 700
    page.wait_for_function("() => location.search.includes('tab=watch')")
    page.get_by_role("searchbox", name="Search the guide").fill("zzqy")
    page.get_by_text("No section of the guide contains “zzqy”").wait_for()
    page.get_by_role("navigation", name="Chapters").get_by_role("link", name="Models").click()
    page.get_by_role("link", name="measurements", exact=True).first.click()
    page.get_by_role("heading", name="Measurements", exact=True).wait_for()
    assert shared_server.complaints == []


@pytest.mark.parametrize("lost", [1, pytest.param(99, marks=pytest.mark.nightly)])
def test_a_page_whose_scripts_did_not_arrive_loads_again_and_at_last_says_so(shared_server, page, lost):
    asked = []

    def answer(route):
        asked.append(route.request.url)
        if len(asked) <= lost:
            route.abort("failed")
        else:
            route.continue_()

    page.route("**/bokeh.min.js*", answer)
    page.goto(f"{shared_server.url}?page=runs", wait_until="commit")
    if lost == 1:
        page.get_by_role("heading", name="Runs").first.wait_for()
        assert len(asked) == 2
    else:
        page.get_by_text("A part of this page did not arrive. Check the connection").wait_for()
        assert len(asked) == 4
