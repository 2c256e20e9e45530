"""The map of documents in a browser: with and without WebGL, what a line encloses, captions, keys."""

import base64
import json

import numpy as np
import pytest

from topiary.app.machine import find_asset
from topiary.app.views.documents.map_page import pack_map
from topiary.engine.document_map.areas import find_inside
from topiary.engine.document_map.layout import DocumentMap

ADDRESS = "http://127.0.0.1:9/"  # every answer is made here
STYLES = ("tokens", "explore", "document_map")
N = 70_000  # more than are drawn while the map moves


def plant() -> DocumentMap:
    """Documents in four discs, a topic each."""
    rng = np.random.default_rng(4)
    topics = rng.integers(4, size=N)
    centres = np.array([(-8, -8), (8, -8), (-8, 8), (8, 8)])[topics]
    return DocumentMap((centres + rng.normal(0, 1.2, (N, 2))).astype(np.float32), topics.astype(np.int32))


MAP = plant()
PACKED = pack_map(MAP.positions, MAP.topics)
CHOSEN = pack_map(MAP.positions, MAP.topics, MAP.topics == 2)


def place_captions() -> list[dict[str, object]]:
    """Four captions of layer 3, one of them long, and for each of their topics many of layer 2, more than have room."""
    captions = []
    for topic in range(4):
        x, y = PACKED.place(MAP.positions[MAP.topics == topic].mean(axis=0)[None])[0].tolist()
        title = "a title of many words that is longer than two lines" if topic == 3 else f"3-{topic}"
        about = {"documents": 1000 - topic, "hue": topic + 1, "x": x, "y": y}
        captions.append({"id": f"L3:{topic}", "title": title, "layer": 3} | about)
        about |= {"x": 0.45 + topic / 30, "y": 0.5}  # where they are still seen from nearer
        captions += [{"id": f"L2:{9 * topic + n}", "title": f"2-{9 * topic + n}", "layer": 2} | about for n in range(9)]
    return captions


def make_page(raster: bool) -> str:
    model = {
        "url": f"{ADDRESS}points",
        "hues": [1, 2, 3, 4],
        "captions": place_captions(),
        "layer": 3,
        "chosen": [],
        "frame": PACKED.frame,
        "note": "12 far-off documents are drawn at the border",
        "selected": -1,
        "raster": raster,
    }
    styles = {name: find_asset(f"css/{name}.css").read_text(encoding="utf-8") for name in STYLES}
    return f"""<!doctype html><html data-tp="light"><title>Map</title><style>{styles["tokens"]}</style>
<div id="host" style="display:block;width:800px;height:600px"></div><script>
const topiary_styles = {json.dumps(styles)}, Bokeh = {{}}
{find_asset("js/page.js").read_text(encoding="utf-8")}</script><script type="module">
import {{render}} from "./map.js"
const host = document.getElementById("host"), heard = window.heard = [], on = window.on = {{}}
const model = window.model = {{sheets: ["explore", "document_map"], on: (name, act) => {{ on[name] = act }},
  send_msg: (message) => heard.push(message), ...{json.dumps(model)}}}
const root = host.attachShadow({{mode: "open"}})
root.append(render({{model, view: {{shadow_el: root, model: {{}}}}}}))
root.firstChild.style.height = "600px"
on.hues() // colours may come before the first frame
const shown = window.shown = [] // numbers of points drawn, one for each picture
new MutationObserver(() => shown.push(Number(root.firstChild.dataset.shown))).observe(root.firstChild, {{attributeFilter: ["data-shown"]}})
</script>"""  # noqa: E501


@pytest.fixture
def kind():
    """How points are drawn where a test does not say it."""
    return "webgl"


BOTH = pytest.mark.parametrize("kind", ["webgl", "raster"])
RASTER_AT_NIGHT = pytest.mark.parametrize("kind", ["webgl", pytest.param("raster", marks=pytest.mark.nightly)])


@pytest.fixture
def page(kind, chromium):
    context = chromium.new_context(viewport={"width": 820, "height": 640})
    opened = context.new_page()
    errors = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    answers = {
        ADDRESS: ("text/html", make_page(kind == "raster")),
        f"{ADDRESS}map.js": ("text/javascript", find_asset("js/document_map.js").read_text(encoding="utf-8")),
        f"{ADDRESS}points": ("application/octet-stream", PACKED.data),
        f"{ADDRESS}chosen": ("application/octet-stream", CHOSEN.data),
    }

    def answer(route):
        kind, body = answers.get(route.request.url, ("text/plain", ""))
        route.fulfill(content_type=kind, body=body)

    context.route("**/*", answer)
    opened.goto(ADDRESS)
    opened.wait_for_selector(f".dm-stage[data-shown='{N}']")
    opened.kind = kind
    yield opened
    context.close()
    assert errors == []


def count_colours(page) -> int:
    """The number of different colours in a picture of the page, of which there are few without points."""
    return page.evaluate(
        """async (png) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
      const paint = new OffscreenCanvas(image.width, image.height).getContext("2d")
      paint.drawImage(image, 0, 0)
      return new Set(new Uint32Array(paint.getImageData(0, 0, image.width, image.height).data.buffer)).size
    }""",
        base64.b64encode(page.locator(".dm-points").screenshot()).decode(),
    )


def count_amber(page) -> int:
    """The number of pixels in the colour of what is selected."""
    return page.evaluate(
        """async (png) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
      const paint = new OffscreenCanvas(image.width, image.height).getContext("2d")
      paint.drawImage(image, 0, 0)
      const {data} = paint.getImageData(0, 0, image.width, image.height)
      let n = 0
      for (let i = 0; i < data.length; i += 4) { n += Math.abs(data[i] - 224) < 8 && Math.abs(data[i + 1] - 142) < 8 && data[i + 2] < 12 ? 1 : 0 }
      return n
    }""",  # noqa: E501
        base64.b64encode(page.locator(".dm-points").screenshot()).decode(),
    )


def find_corner(page, topic: int) -> tuple[float, float]:
    """The centre of a topic's disc on screen."""
    x, y = PACKED.place(MAP.positions[MAP.topics == topic].mean(axis=0)[None])[0]
    width, height = PACKED.frame
    box = page.locator(".dm-points").bounding_box()
    side = min((box["width"] - 20) / width, (box["height"] - 40) / height)
    return box["x"] + box["width"] / 2 + (x - width / 2) * side, box["y"] + box["height"] / 2 - (y - height / 2) * side


@BOTH
def test_points_are_drawn_and_fewer_while_the_map_moves(page):
    stage = page.locator(".dm-stage")
    assert stage.get_attribute("data-drawn") == page.kind
    assert count_colours(page) > 20
    page.locator(".dm-points").focus()
    page.keyboard.press("+")
    page.wait_for_function(f"shown.includes(60000) && shown.at(-1) === {N}")
    assert float(stage.get_attribute("data-zoom")) == pytest.approx(1.4)
    page.keyboard.press("0")
    page.wait_for_selector(".dm-stage[data-zoom='1.000']")


@RASTER_AT_NIGHT
def test_a_line_selects_what_it_encloses_here_and_on_the_server(page):
    x, y = find_corner(page, 1)
    page.keyboard.down("Shift")
    page.mouse.move(x - 110, y - 110)
    page.mouse.down()
    for corner in ((x + 110, y - 110), (x + 110, y + 110), (x - 110, y + 110)):
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function("heard.some(message => message.do === 'lasso')")
    (message,) = page.evaluate("heard.filter(message => message.do === 'lasso')")
    inside = find_inside(MAP.positions, PACKED.trace(np.array(message["polygon"])))
    assert (MAP.topics[inside] == 1).all()
    assert inside.sum() > 0.9 * (MAP.topics == 1).sum()
    told = int(page.locator(".dm-stage").get_attribute("data-enclosed"))
    assert abs(told - inside.sum()) < 0.005 * N
    page.locator(".dm-points").focus()
    page.keyboard.press("Escape")
    page.wait_for_function("heard.at(-1).polygon.length === 0")


def list_captions(page) -> list:
    """The captions that are seen: text, place, and whether the text is whole or ends with an ellipsis."""
    return page.locator(".dm-caption:visible").all()


@RASTER_AT_NIGHT
def test_captions_stand_in_the_gutters_where_none_covers_another_and_lead_to_their_topics(page):
    seen = list_captions(page)
    assert len(seen) == 4
    points = page.locator(".dm-points").bounding_box()
    left, right = points["x"], points["x"] + points["width"]
    for number, caption in enumerate(seen):
        box, topic = caption.bounding_box(), caption.evaluate("it => Number(it.title.split('-')[1] ?? 3)")
        x, y = find_corner(page, topic)
        assert (box["x"] + box["width"] <= left) == (x < (left + right) / 2)
        assert box["x"] + box["width"] <= left or box["x"] >= right
        for other in (each.bounding_box() for each in seen[:number]):
            apart = box["y"] + box["height"] <= other["y"] + 0.5 or other["y"] + other["height"] <= box["y"] + 0.5
            assert apart or box["x"] != other["x"]
        dots = [dot.bounding_box() for dot in page.locator(".dm-line g circle:visible").all()]
        assert min(abs(dot["x"] + 4 - x) + abs(dot["y"] + 4 - y) for dot in dots) < 4
    assert page.locator(".dm-more").is_hidden()
    assert page.locator(".dm-live").inner_text() == "12 far-off documents are drawn at the border"
    seen[0].click()
    assert page.evaluate("heard.at(-1)") == {"do": "select", "id": "L3:0"}


@RASTER_AT_NIGHT
def test_near_by_captions_are_of_the_layer_below_as_many_as_have_room_and_the_others_are_counted(page):
    page.locator(".dm-points").focus()
    for _ in range(2):
        page.keyboard.press("+")
    page.wait_for_function("document.getElementById('host').shadowRoot.firstChild.dataset.zoom > 1.8")
    seen = list_captions(page)
    assert {each.inner_text()[0] for each in seen} == {"2"}
    more = int(page.locator(".dm-more").inner_text().split()[0])
    assert len(seen) + more == 36
    assert 10 < len(seen) <= 24
    height = page.locator(".dm-points").bounding_box()["height"]
    assert all(each.bounding_box()["y"] + each.bounding_box()["height"] <= height for each in seen)


@RASTER_AT_NIGHT
def test_arrows_walk_through_captions_which_are_one_stop_of_the_tab_key(page):
    assert page.locator(".dm-caption:visible[tabindex='0']").count() == 1
    page.locator(".dm-caption:visible[tabindex='0']").focus()
    names = []
    for _ in range(4):
        names.append(page.locator(".dm-caption:focus").get_attribute("title"))
        page.keyboard.press("ArrowDown")
    assert len(set(names)) == 4
    page.keyboard.press("Enter")
    assert page.evaluate("heard.at(-1).do") == "select"


@BOTH
def test_what_is_selected_is_amber_above_the_others_and_its_caption_is_marked(page):
    before = count_amber(page)
    page.evaluate("""() => {
      Object.assign(model, {url: model.url.replace("points", "chosen"), selected: 9, chosen: ["L3:2"]})
      on.chosen(); on.selected(); on.url()
    }""")
    page.wait_for_timeout(500)
    assert count_amber(page) > before + 500
    assert page.locator(".dm-caption[aria-selected=true]").get_attribute("title") == "3-2"


@RASTER_AT_NIGHT
def test_a_row_of_the_table_rings_its_point(page):
    point = int(np.flatnonzero(MAP.topics[PACKED.order] == 1)[0])
    page.evaluate("point => document.dispatchEvent(new CustomEvent('topiary-point', {detail: point}))", point)
    ring = page.locator(".dm-ring").bounding_box()
    x, y = find_corner(page, 1)
    assert abs(ring["x"] + 9 - x) < 150
    assert abs(ring["y"] + 9 - y) < 150
    page.evaluate("document.dispatchEvent(new CustomEvent('topiary-point', {detail: -1}))")
    assert page.locator(".dm-ring").is_hidden()


@RASTER_AT_NIGHT
def test_on_a_narrow_screen_captions_are_a_row_of_chips_below_the_points(page):
    page.evaluate("document.getElementById('host').style.width = '390px'")
    page.locator(".dm-narrow").wait_for()
    points = page.locator(".dm-points").bounding_box()
    for caption in list_captions(page):
        assert caption.bounding_box()["y"] >= points["y"] + points["height"]
    assert points["width"] > 380


@RASTER_AT_NIGHT
def test_the_document_under_the_pointer_is_asked_for_and_its_title_shown(page):
    x, y = find_corner(page, 2)
    page.mouse.move(x, y)
    page.wait_for_function("heard.some(message => message.do === 'hover')")
    point = page.evaluate("heard.find(message => message.do === 'hover').point")
    assert MAP.topics[PACKED.order[point]] == 2
    page.evaluate("on['msg:custom']({point: heard.at(-1).point, text: 'A title'})")
    assert page.locator(".dm-tip").inner_text() == "A title"


def test_points_come_back_after_the_graphics_memory_was_taken_away(page):
    page.evaluate("""() => {
      const canvas = document.getElementById("host").shadowRoot.querySelector("canvas")
      const taker = canvas.getContext("webgl2").getExtension("WEBGL_lose_context")
      canvas.addEventListener("webglcontextlost", () => setTimeout(() => taker.restoreContext(), 50), {once: true})
      taker.loseContext()
    }""")
    page.wait_for_timeout(600)
    assert count_colours(page) > 20
