"""The map of documents in a browser: with and without WebGL, what a line encloses, captions, keys."""

import base64
import json

import numpy as np
import pytest

from topiary.app.machine import find_asset
from topiary.app.views.document_map import list_captions, pack_map
from topiary.engine.document_map.areas import find_inside, find_islands
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
PACKED = pack_map(MAP)
ISLANDS = find_islands(MAP, [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])])


def make_page(raster: bool) -> str:
    captions = list_captions(PACKED, ISLANDS, lambda layer, column: (f"L{layer}:{column}", f"{layer}-{column}", column))
    model = {
        "url": f"{ADDRESS}points",
        "hues": [1, 2, 3, 4],
        "captions": captions,
        "frame": PACKED.view,
        "raster": raster,
    }
    styles = {name: find_asset(f"css/{name}.css").read_text(encoding="utf-8") for name in STYLES}
    return f"""<!doctype html><html data-tp="light"><title>Map</title>
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


@pytest.fixture(params=[False, True], ids=["webgl", "raster"])
def page(request, chromium):
    context = chromium.new_context(viewport={"width": 820, "height": 640})
    opened = context.new_page()
    errors = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    answers = {
        ADDRESS: ("text/html", make_page(request.param)),
        f"{ADDRESS}map.js": ("text/javascript", find_asset("js/document_map.js").read_text(encoding="utf-8")),
        f"{ADDRESS}points": ("application/octet-stream", PACKED.data),
    }

    def answer(route):
        kind, body = answers.get(route.request.url, ("text/plain", ""))
        route.fulfill(content_type=kind, body=body)

    context.route("**/*", answer)
    opened.goto(ADDRESS)
    opened.wait_for_selector(f".dm-stage[data-shown='{N}']")
    opened.kind = "raster" if request.param else "webgl"
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


def find_corner(page, topic: int) -> tuple[float, float]:
    """The centre of a topic's disc on screen."""
    x, y = PACKED.place(MAP.positions[MAP.topics == topic].mean(axis=0)[None])[0]
    centre_x, centre_y, size = PACKED.view
    box = page.locator(".dm-points").bounding_box()
    side = 0.96 * min(box["width"], box["height"]) / size
    return box["x"] + box["width"] / 2 + (x - centre_x) * side, box["y"] + box["height"] / 2 - (y - centre_y) * side


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
    told = page.locator(".dm-live").inner_text()
    assert abs(int(told.split()[0].replace(",", "")) - inside.sum()) < 0.005 * N
    page.locator(".dm-points").focus()
    page.keyboard.press("Escape")
    page.wait_for_function("heard.at(-1).polygon.length === 0")
    assert page.locator(".dm-live").inner_text() == ""


def test_a_line_may_begin_on_a_caption(page):
    box = page.locator(".dm-caption:visible").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    for corner in ((x + 60, y), (x + 60, y + 60), (x, y + 60)):
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function("heard.length > 0")
    assert page.evaluate("heard.map(message => message.do)") == ["lasso"]


def test_captions_are_of_higher_layers_from_afar_and_do_not_cover_each_other(page):
    def read():
        return page.locator(".dm-caption:visible").all_inner_texts()

    assert {text[0] for text in read()} == {"3"}
    boxes = [each.bounding_box() for each in page.locator(".dm-caption:visible").all()]
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            apart_x = one["x"] + one["width"] <= other["x"] + 1 or other["x"] + other["width"] <= one["x"] + 1
            apart_y = one["y"] + one["height"] <= other["y"] + 1 or other["y"] + other["height"] <= one["y"] + 1
            assert apart_x or apart_y
    page.locator(".dm-caption:visible").first.click()
    assert page.evaluate("heard.at(-1)") == {"do": "select", "id": "L3:0"}
    page.mouse.move(*find_corner(page, 3))
    page.locator(".dm-points").focus()
    for _ in range(5):
        page.keyboard.press("+")
    page.wait_for_function("document.getElementById('host').shadowRoot.firstChild.dataset.zoom > 5")
    assert all(text.startswith(("1-", "2-")) for text in read())


def test_the_document_under_the_pointer_is_asked_for_and_its_title_shown(page):
    x, y = find_corner(page, 2)
    page.mouse.move(x, y + 20)  # below the caption
    page.wait_for_function("heard.some(message => message.do === 'hover')")
    point = page.evaluate("heard.find(message => message.do === 'hover').point")
    assert MAP.topics[PACKED.order[point]] == 2
    page.evaluate("on['msg:custom']({point: heard.at(-1).point, text: 'A title'})")
    assert page.locator(".dm-tip").inner_text() == "A title"


def test_points_come_back_after_the_graphics_memory_was_taken_away(page):
    if page.kind == "raster":
        pytest.skip("no graphics memory is used")
    page.evaluate("""() => {
      const canvas = document.getElementById("host").shadowRoot.querySelector("canvas")
      const taker = canvas.getContext("webgl2").getExtension("WEBGL_lose_context")
      canvas.addEventListener("webglcontextlost", () => setTimeout(() => taker.restoreContext(), 50), {once: true})
      taker.loseContext()
    }""")
    page.wait_for_timeout(600)
    assert count_colours(page) > 20
